/* SPDX-License-Identifier: MIT */
/* The canonical sum of the softmax. */
#ifndef POSENC_KERNELS_SUM_H
#define POSENC_KERNELS_SUM_H

#include <posenc/softmax.h>

/* Lanes and block of the canonical sum: key j joins lane j % LANES; after BLOCK keys the lanes, so far in float32, are
 * added to 32 lanes in double. 16 terms a lane keep the float32 part below 1e-6; see docs/numerics.md. */
#define POSENC_SUM_LANES 32
#define POSENC_SUM_BLOCK 512

/* Masked keys that are left unwritten go by groups, as softmax.h promises. */
_Static_assert(POSENC_SUM_LANES == POSENC_MASKED_GROUP, "groups of masked keys are the lanes of the sum");

#endif
