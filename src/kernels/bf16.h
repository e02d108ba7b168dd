/* SPDX-License-Identifier: MIT */
/* Arguments of round_rows, pack_pairs, pair_rows and multiply_pairs: products of bf16 matrices in the order of Intel's
 * TDPBF16PS, which every CPU can follow. */
#ifndef POSENC_KERNELS_BF16_H
#define POSENC_KERNELS_BF16_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/types.h>

#include "kernels/panels.h"

/* Numbers are rounded to bf16, to nearest even, and are 0 if the result is below 2^-56 in size. No sum of their
 * products is denormal, so that no CPU flushes one to zero.
 *
 * A matrix of numbers b[k][t] is stored in words of two: b[2j][t] in the low half, b[2j+1][t] in the high half. Word j
 * of column t is words[(t / POSENC_PANEL * depth / 2 + j) * POSENC_PANEL + t % POSENC_PANEL]. depth is the number of k,
 * padded with zeros to whole blocks. Columns are padded to whole panels. */
#define POSENC_BF16_BLOCK 32
#define POSENC_BF16_LEAST 0x1p-56f

/* Rounds rows of float32 to rows of numbers. With n_parts 2 each block is followed by its second part: x minus the
 * number, rounded likewise. Block b of row i is at y + i * y_stride + b * 2 * POSENC_BF16_BLOCK, the last one padded
 * with zeros. y may be x with rows as far apart: a whole block of x has room for both parts, the last block for as many
 * parts as fit in its n channels, rounded up to 16. */
typedef struct posenc_round_rows_args {
    const float *x;
    uint16_t *y;
    size_t x_stride, y_stride; /* in floats and in numbers */
    size_t n, n_rows, n_parts;
} posenc_round_rows_args;

/* Packs rows, each at its own address, as columns: k counts their channels. part: 0 for numbers, 1 for their second
 * parts. Rows ahead as in pack_rows. */
typedef struct posenc_pack_pairs_args {
    const void *const *rows;
    posenc_dtype rows_type;
    uint32_t *words;
    size_t dim, n_rows, part;
    posenc_rows_ahead ahead[2];
} posenc_pack_pairs_args;

/* Packs rows, each at its own address, as rows: k counts rows, t channels. part as above. *is_finite: 1 if all numbers
 * are finite. */
typedef struct posenc_pair_rows_args {
    const void *const *rows;
    posenc_dtype rows_type;
    uint32_t *words;
    int *is_finite;
    size_t dim, n_rows, part;
} posenc_pair_rows_args;

/* Adds the products of row i of x with column t to y[i][t], or to 0 unless `adds`. For each block, and each part of it,
 * y = y + (e + o), where e and o are chains of fma from 0 over its even and its odd k. leaves_out_zeros: skips products
 * with an x of 0, whatever is in the column. Columns that the last panel lacks are not written. */
typedef struct posenc_multiply_pairs_args {
    const uint16_t *x; /* rows written by round_rows */
    size_t x_stride, n_parts;
    const uint32_t *words;
    float *y;
    size_t y_stride; /* in floats */
    size_t depth, n_x, n_columns;
    int adds, leaves_out_zeros;
} posenc_multiply_pairs_args;

#endif
