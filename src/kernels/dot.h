/* SPDX-License-Identifier: MIT */
/* Arguments of dot_rows and dot_few: products with the rows of a table. */
#ifndef POSENC_KERNELS_DOT_H
#define POSENC_KERNELS_DOT_H

#include <stddef.h>

#include <posenc/types.h>

#include "kernels/panels.h"

/* Products of every row of x with every row of a table: y[i][t] = sum of (x[i][c] + shift[c]) * table[t][c] over
 * c < dim, for i < n_x, t < n_rows. Each is one chain of fma from 0 in ascending c: rows of y may be
 * computed in any pieces, and the table in any runs of whole panels, with the same result. y overlaps no operand. Rows
 * ahead as in pack_rows. */
typedef struct posenc_dot_rows_args {
    const void *x;
    posenc_dtype x_type;
    ptrdiff_t x_stride;  /* in bytes */
    const float *shift;  /* added to every row of x, rounded; NULL: none */
    const float *panels; /* of the first row of the table */
    float *y;
    ptrdiff_t y_stride; /* in bytes */
    size_t dim, n_x, n_rows;
    posenc_rows_ahead ahead[2];
} posenc_dot_rows_args;

/* Products as above of up to POSENC_FEW rows of x, float32, with rows that are not packed, each at its own address and
 * of any type. Packing pays for more rows of x only. Head h < n_heads: rows h * n_x + i of x and y, rows of the table h
 * * head_stride bytes further. n_rows is a multiple of POSENC_FEW_ROWS. Rows ahead as in pack_rows. */
#define POSENC_FEW 4
#define POSENC_FEW_ROWS 16
typedef struct posenc_dot_few_args {
    const float *x;
    ptrdiff_t x_stride; /* in bytes, as y_stride and head_stride */
    const void *const *rows;
    posenc_dtype rows_type;
    float *y;
    ptrdiff_t y_stride, head_stride;
    size_t dim, n_x, n_rows, n_heads;
    posenc_rows_ahead ahead[2];
} posenc_dot_few_args;

#endif
