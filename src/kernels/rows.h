/* SPDX-License-Identifier: MIT */
/* Arguments of the kernels of absolute encodings: place_rows, mix_row, bit_rows, rbf_rows. */
#ifndef POSENC_KERNELS_ROWS_H
#define POSENC_KERNELS_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/types.h>

#include "kernels/type_pairs.h"

/* Takes rows to their place: v = source[i] * factor * gate, y[i] = x[i] + v, or v where x is NULL; each operation
 * rounded to float32, y once more to its type. A source that is NULL is 0 by definition: y = x, whatever the gate, or
 * 0. Rows are done in order, each as a whole, so that a y_stride of 0 adds them up. x is y or apart from it. */
typedef struct posenc_place_rows_args {
    const void *const *sources; /* [n_rows] */
    posenc_dtype source_type;
    float factor;
    const float *gate; /* NULL: 1. Row r at gate + r * gate_stride, channel i of it at i * gate_step */
    ptrdiff_t gate_stride;
    int gate_step; /* 0: one gate for each row; 1: one for each channel */
    const void *x;
    void *y;
    posenc_dtype type; /* of x and y */
    ptrdiff_t x_stride, y_stride;
    size_t n, n_rows;
} posenc_place_rows_args;

/* y[i] = start[i] + w_0[i] x_0[i] + w_1[i] x_1[i] .., by fma in that order, + residual[i]; start and residual may be
 * NULL: 0. y may be start, or one of x if the types are the same. */
typedef struct posenc_mix_row_args {
    const void *const *x; /* [n_terms] */
    posenc_dtype x_type, y_type;
    const float *const *weights; /* [n_terms]: of term k for channel i at weights[k][i * weight_step] */
    int weight_step;             /* 0: one weight for all channels; 1: one for each */
    const float *start;
    const void *residual; /* of x_type */
    void *y;
    size_t n, n_terms;
} posenc_mix_row_args;

/* y[i] of row r is one where bit i of codes[r] is set, else zero; from the 64th on none is. With add, y += that. */
typedef struct posenc_bit_rows_args {
    const uint64_t *codes;
    float zero, one;
    float *y;
    ptrdiff_t stride; /* in floats */
    size_t n, n_rows;
    int add;
} posenc_bit_rows_args;

/* y[i] of row r is exp(d^2 * minus_k), d = positions[r] - centre_i; the argument in double, rounded to float32 once,
 * exp as exp.h has it. minus_k is negative. With add, y += that. */
typedef struct posenc_rbf_rows_args {
    const double *positions;
    const double *minus_centres; /* padded by POSENC_COLUMN */
    double minus_k;
    float *y;
    ptrdiff_t stride; /* in floats */
    size_t n, n_rows;
    int add;
} posenc_rbf_rows_args;

#endif
