/* SPDX-License-Identifier: MIT */
/* Frequencies and magnitude of a scaling. */
#ifndef POSENC_SRC_ROPE_SCALING_H
#define POSENC_SRC_ROPE_SCALING_H

#include <posenc/rope.h>

#include "core/dd.h"

/* theta[0 .. n_rot/2 - 1] and the magnitude that params ask for; n_rot is resolved and, like base and axes, already
 * checked. On failure nothing is written. */
posenc_status posenc_rope_compile(const posenc_rope_params *params, posenc_dd *theta, double *magnitude);

/* Status of posenc_rope_compile for these parameters, without a check of the lists. */
posenc_status posenc_rope_check_scaling(const posenc_rope_params *params);

#endif
