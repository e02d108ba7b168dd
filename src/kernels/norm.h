/* SPDX-License-Identifier: MIT */
/* Arguments of rms_factors: the factors of an RMS norm, one for each head. */
#ifndef POSENC_KERNELS_NORM_H
#define POSENC_KERNELS_NORM_H

#include <stddef.h>

#include <posenc/types.h>

/* factors[h] = 1 / sqrt(mean(x^2) + eps) over the n channels of head h, n > 0. The squares are summed in
 * POSENC_SUM_LANES lanes of float32, then lane k and lane k + 16, 8, .. 1 are added. */
typedef struct posenc_rms_factors_args {
    const void *x;
    posenc_dtype x_type;
    ptrdiff_t x_stride; /* in bytes */
    float *factors;
    float eps;
    size_t n, n_heads;
} posenc_rms_factors_args;

#endif
