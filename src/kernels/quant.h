/* SPDX-License-Identifier: MIT */
/* Arguments of pack_quants, dot_quants and attend_quants: attention over quantised keys and values in integers, whose
 * sums are exact in any order. */
#ifndef POSENC_KERNELS_QUANT_H
#define POSENC_KERNELS_QUANT_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/types.h>

#include "kernels/formats.h"
#include "kernels/panels.h"

#define POSENC_LENGTH(type, name, channels, ...) &&(channels) == POSENC_QUANT_BLOCK
_Static_assert(1 POSENC_EACH_FORMAT(POSENC_LENGTH), "kernels take blocks of one length");
#undef POSENC_LENGTH

/* Packs n_rows rows of blocks, whole panels, each row at its own address, for dot_quants. Row t is in panel t /
 * POSENC_PANEL. Its int8 of channel c is byte ((c / 4) * POSENC_PANEL + t % POSENC_PANEL) * 4 + c % 4, its scale of
 * block b is float32 number b * POSENC_PANEL + t % POSENC_PANEL of the panel's scales. Where there are offsets, the
 * value of the block's integer 0 likewise. Rows that the last panel lacks are 0. Rows ahead are prefetched. */
typedef struct posenc_pack_quants_args {
    const void *const *rows;
    posenc_dtype rows_type;
    int8_t *panels; /* dim bytes a row */
    float *scales;  /* dim / POSENC_QUANT_BLOCK a row */
    float *offsets; /* the same; written for a format with offsets only */
    size_t dim, n_rows;
    posenc_rows_ahead ahead[2];
} posenc_pack_quants_args;

/* Products of rows of 16 bits with rows of 8 packed by pack_quants. With I_b the exact sum of block b's 32 products,
 * y[i][t] = fma((float)I_b, x_scales[i][b] * scales[t][b], y[i][t]) from 0 for b = 0, 1 .. Where there are offsets,
 * y[i][t] = fma(x_sums[i][b], offsets[t][b], y[i][t]) follows. x[i] has the channels of each four in the order 0 2 1 3,
 * each at most POSENC_QUANT_MAX in size. y overlaps nothing. */
typedef struct posenc_dot_quants_args {
    const int16_t *x;
    const float *x_scales;          /* dim / POSENC_QUANT_BLOCK a row */
    const float *x_sums;            /* sums of a block's numbers times its scale; read where there are offsets */
    size_t x_stride, scales_stride; /* from row to row of x, and of its scales and sums; in elements */
    const int8_t *panels;
    const float *scales, *offsets; /* offsets: NULL for a format without */
    float *y;
    size_t y_stride; /* in floats */
    size_t dim, n_x, n_rows;
    posenc_rows_ahead ahead[2]; /* fetched on the way */
} posenc_dot_quants_args;

enum {
    POSENC_QUANT_MAX = 32639, /* 127 * 256 + 127: as two signed bytes too */
    POSENC_QUANT_DIM = 1024   /* dim is no more */
};

/* Weighted sums of rows of blocks, each at its own address. In groups of POSENC_QUANT_GROUP rows from row 0 on,
 * for each sum i, of the rows with a weight of FLT_MIN or more: the largest weight m, and for each block of channels
 * the largest |scale_k| d; w_k = weights[i][k] * (POSENC_QUANT_MAX / m), r_k = scale_k * (1 / d). Where an |r_k| is
 * below POSENC_QUANT_UNEVEN and the largest |w_k r_k| t is POSENC_QUANT_LEAST or more, r_k is multiplied by
 * (POSENC_QUANT_MAX / t) and d by (t / POSENC_QUANT_MAX): a row with a large scale and a small weight takes no digits
 * from the others. W_k = w_k r_k rounded to the nearest integer, to even between two; sums[i][c] = fma((float)(exact
 * sum of W_k row_k[c]), (m / POSENC_QUANT_MAX) * d, sums[i][c]) from 0. An m below POSENC_QUANT_LEAST is 0, and where m
 * or d is 0, W is; weights or scales that are not finite make NaN of the block. Then y[i][c] = fma(keep[i], y[i][c],
 * sums[i][c]). n_rows is a multiple of the group's. A row of weight 0 may be any that can be read.
 *
 * In a format with offsets sums[i][c] is raised before by (m / POSENC_QUANT_MAX) * s. s adds the products of w_k, where
 * that is above 0, with the values of the integer 0: k to k + 8, then to k + 4, k + 2, k + 1.
 *
 * Rows may come in several calls: all but the last have no keep and leave y alone, and all but the first set `adds`, so
 * that sums go on from the call before. Between calls sums are the kernel's: their channels may be in any order. */
typedef struct posenc_attend_quants_args {
    const float *weights; /* not negative, or NaN */
    size_t weight_stride; /* from row to row, in floats */
    const void *const *rows;
    posenc_dtype rows_type;
    const float *keep; /* NULL: more rows follow */
    float *y, *sums;
    size_t y_stride, sums_stride; /* in floats */
    size_t dim, n, n_rows;
    int adds;
    posenc_rows_ahead ahead[2]; /* fetched on the way */
} posenc_attend_quants_args;

#define POSENC_QUANT_GROUP 16
#define POSENC_QUANT_LEAST 0x1p-112f
#define POSENC_QUANT_UNEVEN 0.25f

#endif
