/* SPDX-License-Identifier: MIT */
/* Keys masked by a bias of -inf at either end of the keys that a query sees. */
#ifndef POSENC_VISIBLE_H
#define POSENC_VISIBLE_H

#include "kernels/kernels.h"

/* Moves *begin up to the first of the keys *begin <= j < *end whose bias is not -inf, and *end behind the last: they
 * meet if there is none. Nothing moves unless bias_slope is positive: bias_slope * bias may else be no -inf. */
void posenc_skip_masked(const posenc_softmax_row_args *args, size_t *begin, size_t *end);

#endif
