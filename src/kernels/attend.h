/* SPDX-License-Identifier: MIT */
/* Arguments of attend_rows and attend_panels: the weighted sums of attention. */
#ifndef POSENC_KERNELS_ATTEND_H
#define POSENC_KERNELS_ATTEND_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/types.h>

#include "kernels/panels.h"

/* Weighted sums of rows, several at a time, for sums i < n and channels c < dim. Each starts from from[i][c], or from
 * -0, which changes no number it is added to: sum = fma(weights[i][k], row_k[c], sum) for k = begin[i] .. end[i] - 1 in
 * that order. Then y[i][c] = fma(keep[i], y[i][c], sum), or sum without keep. from may be y. Each row has its own
 * address, and may be blocks. Head h < n_heads: sums h * n + i, of rows h * head_stride bytes further. Rows ahead
 * as in pack_rows. */
typedef struct posenc_attend_rows_args {
    const float *weights;
    size_t weight_stride;     /* in floats, as y_stride, which is also from's */
    const float *from, *keep; /* each may be NULL */
    const int32_t *begin, *end;
    const void *const *rows;
    posenc_dtype rows_type;
    float *y;
    size_t y_stride;
    ptrdiff_t head_stride;
    size_t dim, n, n_heads;
    posenc_rows_ahead ahead[2];
} posenc_attend_rows_args;

/* Weighted sums as above, of rows packed by pack_values: for many sums at a time. Rows ahead as in pack_rows. */
typedef struct posenc_attend_panels_args {
    const float *weights;
    size_t weight_stride;
    const float *from, *keep;
    const int32_t *begin, *end;
    const float *panels;
    size_t panel_stride; /* in floats */
    float *y;
    size_t y_stride;
    size_t dim, n;
    posenc_rows_ahead ahead[2];
} posenc_attend_panels_args;

#endif
