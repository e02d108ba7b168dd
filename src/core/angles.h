/* SPDX-License-Identifier: MIT */
/* Inside of the angle engine: what RoPE and the sinusoidal encoding share. include/posenc/angles.h tells the idea. */
#ifndef POSENC_SRC_ANGLES_H
#define POSENC_SRC_ANGLES_H

#include <posenc/angles.h>

#include "core/dd.h"
#include "kernels/kernels.h"

/* Pairs that one anchor holds; wider tables are walked in slices of this many, whole columns. Covers head_dim 256. */
#define POSENC_SLICE 128

/* Columns of POSENC_COLUMN that n pairs take. */
static inline int64_t posenc_columns_of(int64_t n) {
    return (n + POSENC_COLUMN - 1) / POSENC_COLUMN;
}

struct posenc_freq {
    int64_t n;
    double *hi, *lo; /* half turns per position; padded with zeros to whole columns */
    double *theta;   /* [n]: radians per position, rounded; for people */
    double *growth;  /* xPos: ln of each pair's growth per position; padded; NULL without */
    double centre;   /* xPos: the position where nothing has grown */
    /* Turns by blocks and by positions, and, for xPos, growth over positions: a column for each POSENC_COLUMN pairs. */
    posenc_turn_column *blocks, *offsets;
    posenc_growth_column *offset_growth;
};

/* A table of n frequencies from radians[i](context, i). */
typedef posenc_dd (*posenc_theta)(const void *context, int64_t i);
posenc_status posenc_freq_build(posenc_theta theta, const void *context, int64_t n, posenc_freq **freq);

/* Lets pair i grow by exp(growth[i]) a position, from 1 at the centre: xPos (arXiv 2212.10554). growth is copied. */
posenc_status posenc_freq_set_growth(posenc_freq *freq, const double *growth, double centre);

/* 1 if base is acceptable to every table made from a base. */
int posenc_base_is_valid(double base);

/* Output of rows, as in posenc_angle_rows_args. Value i of the table goes to cos_out[i * step]. */
typedef struct posenc_row_target {
    float *cos_out, *sin_out;
    ptrdiff_t cos_stride, sin_stride;
    int step;
    int drop_last;
    int add;
    int64_t n_far; /* rows from the first on, written now or next, that lie beyond the caches; 0: none */
    int is_vast;   /* together they are larger than any cache */
} posenc_row_target;

/* The target from row t on. */
static inline posenc_row_target posenc_target_from(const posenc_row_target *target, int64_t t) {
    posenc_row_target rest = *target;
    rest.cos_out += t * rest.cos_stride;
    rest.sin_out += t * rest.sin_stride;
    rest.n_far -= t;
    return rest;
}

/* Makes rows for one slice of a table, and keeps the anchor between calls. On the caller's stack. */
typedef struct posenc_row_maker {
    const posenc_kernels *kernels;
    const posenc_freq *freq;
    int64_t first, n;   /* the slice: n <= POSENC_SLICE pairs, first a multiple of POSENC_COLUMN */
    double magnitude;   /* factor on every value */
    double centre;      /* xPos: where nothing has grown */
    double anchored_at; /* position of the anchor; NaN: none yet */
    double anchor_cos[POSENC_SLICE], anchor_sin[POSENC_SLICE];
} posenc_row_maker;

/* Points the maker at pairs first .. first + n - 1, with magnitude 1 and the table's centre; the caller may change both
 * before rows are made. */
void posenc_row_maker_init(posenc_row_maker *maker, const posenc_kernels *kernels, const posenc_freq *freq,
                           int64_t first, int64_t n);

/* Row t of the target, t < n_positions, from positions[t]. The target's outputs begin at the slice's first pair. */
void posenc_make_rows(posenc_row_maker *maker, const int32_t *positions, int64_t n_positions,
                      const posenc_row_target *target);

/* Rows as above of n pairs from pair `first` of the table on, a part of the slice. first is a multiple of
 * POSENC_COLUMN, and the target's outputs begin at that pair. */
void posenc_make_columns(posenc_row_maker *maker, int64_t first, int64_t n, const int32_t *positions,
                         int64_t n_positions, const posenc_row_target *target);

/* Columns as above at real positions, |p| <= 2^31: integers have the rows that they have as int32. */
void posenc_make_real_columns(posenc_row_maker *maker, int64_t first, int64_t n, const double *positions,
                              int64_t n_positions, const posenc_row_target *target);

/* 1 if rows for these positions are made from one anchor. */
int posenc_have_one_anchor(const double *positions, int n);

/* 1 if the rows of a and b, n floats each and stride apart, share a float; one's rows may lie between the other's. */
int posenc_row_sets_overlap(const float *a, const float *b, int64_t n, int64_t n_rows, int64_t stride);

#endif
