/* SPDX-License-Identifier: MIT */
/* Arguments of cope_row. */
#ifndef POSENC_KERNELS_COPE_H
#define POSENC_KERNELS_COPE_H

#include <stddef.h>

/* The logits of cope.h for keys j < n_visible, -inf for n_visible <= j < n. x and gates may be y. */
typedef struct posenc_cope_row_args {
    const float *x, *gates;
    const float *z; /* [n_positions] */
    float *y;
    float scale;
    int is_scaled; /* the interpolated term too */
    size_t n, n_visible, n_positions;
} posenc_cope_row_args;

#endif
