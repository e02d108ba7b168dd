/* SPDX-License-Identifier: MIT */
/* Arguments of angle_anchors and angle_rows: rows of cosines and sines. */
#ifndef POSENC_KERNELS_ANGLES_H
#define POSENC_KERNELS_ANGLES_H

#include <stddef.h>

/* A position is an anchor, plus -REACH .. REACH-1 blocks, plus -REACH .. REACH-1: the anchor is the middle of its span,
 * and the middle of a block is its own anchor. docs/numerics.md has the scheme. */
#define POSENC_ANCHOR_REACH 16
#define POSENC_ANCHOR_BLOCK (2 * POSENC_ANCHOR_REACH)
#define POSENC_ANCHOR_SPAN (2 * POSENC_ANCHOR_REACH * POSENC_ANCHOR_BLOCK)

/* Tables of doubles are padded to columns of this many pairs, so that kernels load whole vectors of them. */
#define POSENC_COLUMN 16

/* A table of turns is an array of columns: cosines, then sines, of turn 0 .. REACH of a column's pairs. Turn -k has the
 * cosine of turn k and minus its sine. A column is read in a stream while positions count up. */
typedef struct posenc_turn_column {
    double cos_sin[POSENC_ANCHOR_REACH + 1][2][POSENC_COLUMN];
} posenc_turn_column;

/* Growth factors of a column's pairs over -REACH .. REACH - 1 positions. */
typedef struct posenc_growth_column {
    double factor[POSENC_ANCHOR_BLOCK][POSENC_COLUMN];
} posenc_growth_column;

/* cos_out[i], sin_out[i] = cos, sin of pi * (position * frequency_i), frequency_i = hi[i] + lo[i] half turns, times
 * magnitude, and times exp(growth[i] * (position - centre)) where growth is given. n is a multiple of POSENC_COLUMN. */
typedef struct posenc_angle_anchors_args {
    const double *hi, *lo;
    const double *growth; /* xPos; or NULL */
    double centre;
    double magnitude;
    double position; /* any real number, |position| <= 2^31 */
    double *cos_out, *sin_out;
    size_t n;
} posenc_angle_anchors_args;

/* n_rows consecutive positions of blocks side by side: the anchor is rotated by so many blocks, then by an offset of so
 * many positions from the block's middle, and rounded to float32. Row 0 is first_offset positions from the middle of
 * `block`; REACH - 1 is the last of a block. Where growth is given, which is for rows of one block only, the turn is
 * multiplied by that of the offset before it is rounded. With step 1 (planes), value i goes to
 * cos_out[r * cos_stride + i] and sin_out[r * sin_stride + i], i < n. With step 2 (pairs), cos_out and sin_out are one
 * float apart, either first, and value i goes to [r * stride + 2i]; with drop_last the last float of the row, of 2n, is
 * left out. With add, values are added to the contents. */
typedef struct posenc_angle_rows_args {
    const double *anchor_cos, *anchor_sin;      /* padded to POSENC_COLUMN */
    const posenc_turn_column *blocks, *offsets; /* a column for each POSENC_COLUMN pairs */
    const posenc_growth_column *growth;         /* xPos; or NULL */
    int block, first_offset;
    float *cos_out, *sin_out;
    ptrdiff_t cos_stride, sin_stride; /* in floats */
    size_t n, n_rows;
    size_t n_fetch; /* for the first n_fetch <= n_rows rows, the row POSENC_ANCHOR_BLOCK further on is fetched */
    int step;
    int drop_last;
    int add;
    int is_vast; /* the result is larger than any cache, and need not stay there */
} posenc_angle_rows_args;

#endif
