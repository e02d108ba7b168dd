/* SPDX-License-Identifier: MIT */
/* Arguments of weighted_rows. */
#ifndef POSENC_KERNELS_WEIGHTED_H
#define POSENC_KERNELS_WEIGHTED_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/types.h>

/* A weighted sum of rows, added to y: y[c] = fma(factor * weight_k, row_k[c] + shift[c], y[c]) for k = 0 .. n - 1, in
 * order, c < dim. Row k is row index[k] of the table where there is an index. With relu, for float32 rows without
 * shift, 0 > row_k[c] ? 0 : row_k[c] takes the place of row_k[c]. y overlaps nothing. */
typedef struct posenc_weighted_rows_args {
    const float *weights;
    ptrdiff_t weight_stride; /* in bytes */
    float factor;
    const void *rows;
    posenc_dtype rows_type;
    ptrdiff_t row_stride; /* in bytes */
    const int32_t *index; /* or NULL */
    const float *shift;   /* or NULL */
    int relu;
    float *y;
    size_t dim, n;
} posenc_weighted_rows_args;

#endif
