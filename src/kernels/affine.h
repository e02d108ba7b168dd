/* SPDX-License-Identifier: MIT */
/* Arguments of affine_row. */
#ifndef POSENC_KERNELS_AFFINE_H
#define POSENC_KERNELS_AFFINE_H

#include <stddef.h>

/* y[j] = fma(a, x[j], b), or y[j] plus that, j < n; x and y do not overlap. */
typedef struct posenc_affine_row_args {
    const float *x;
    float *y;
    float a, b;
    size_t n;
    int add;
} posenc_affine_row_args;

#endif
