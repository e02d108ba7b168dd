/* SPDX-License-Identifier: MIT */
/* Products of bf16 matrices by AMX's tiles: TDPBF16PS has the order of src/scalar/bf16.c, the specification. Produces:
 * multiply_pairs. Used by: avx512-amx.
 *
 * 32 rows by 32 columns of sums are four tiles. Vectors of the tier compute the rest beside whole tiles, and products
 * that leave out zeros. The tiles are configured and released inside the call. */
#include "avx512/tiles.h"

#include "kernels/variant.h"

#define OF_TIER(name) POSENC_PASTE(posenc_##name, _, POSENC_KERNELS_OF)

void OF_TIER(multiply_pairs)(const posenc_multiply_pairs_args *);

enum { BLOCK = POSENC_BF16_BLOCK };

/* Which tile is what, beside those of tiles.h: sums [row][column]. */
#define SUM00 0
#define SUM01 1
#define SUM10 2
#define SUM11 3

_Static_assert(POSENC_PANEL == 2 * SIDE && BLOCK == 2 * SIDE, "two tiles of columns are a panel, one of x is a block");

/* Rows i .. i + 31 with the panel of columns from t on. */
static void multiply_four(const posenc_multiply_pairs_args *a, size_t i, size_t t) {
    const long y_stride = (long)(a->y_stride * sizeof(float)), x_stride = (long)(a->x_stride * sizeof(uint16_t));
    const long words_stride = POSENC_PANEL * sizeof(uint32_t);
    float *y = a->y + i * a->y_stride + t, *lower = y + SIDE * a->y_stride;
    if (a->adds) {
        _tile_loadd(SUM00, y, y_stride);
        _tile_loadd(SUM01, y + SIDE, y_stride);
        _tile_loadd(SUM10, lower, y_stride);
        _tile_loadd(SUM11, lower + SIDE, y_stride);
    } else {
        _tile_zero(SUM00);
        _tile_zero(SUM01);
        _tile_zero(SUM10);
        _tile_zero(SUM11);
    }
    for (size_t k = 0; k < a->depth; k += BLOCK) {
        const uint32_t *words = a->words + (t * a->depth + k * POSENC_PANEL) / 2;
        _tile_loadd(WORDS0, words, words_stride);
        _tile_loadd(WORDS1, words + SIDE, words_stride);
        for (size_t part = 0; part < a->n_parts; part++) {
            const uint16_t *x = a->x + i * a->x_stride + 2 * k + part * BLOCK;
            _tile_loadd(X0, x, x_stride);
            _tile_loadd(X1, x + SIDE * a->x_stride, x_stride);
            _tile_dpbf16ps(SUM00, X0, WORDS0);
            _tile_dpbf16ps(SUM01, X0, WORDS1);
            _tile_dpbf16ps(SUM10, X1, WORDS0);
            _tile_dpbf16ps(SUM11, X1, WORDS1);
        }
    }
    _tile_stored(SUM00, y, y_stride);
    _tile_stored(SUM01, y + SIDE, y_stride);
    _tile_stored(SUM10, lower, y_stride);
    _tile_stored(SUM11, lower + SIDE, y_stride);
}

/* Rows and columns that are no whole tiles, by vectors. */
static void multiply_rest(const posenc_multiply_pairs_args *a, size_t n_x, size_t n_columns) {
    posenc_multiply_pairs_args right = *a, below = *a;
    right.words += n_columns * a->depth / 2;
    right.y += n_columns;
    right.n_columns -= n_columns;
    right.n_x = n_x;
    if (right.n_x > 0 && right.n_columns > 0)
        OF_TIER(multiply_pairs)(&right);
    below.x += n_x * a->x_stride;
    below.y += n_x * a->y_stride;
    below.n_x -= n_x;
    if (below.n_x > 0)
        OF_TIER(multiply_pairs)(&below);
}

void VARIANT(multiply_pairs)(const posenc_multiply_pairs_args *args) {
    const posenc_multiply_pairs_args a = *args; /* a copy: no store changes it */
    size_t n_x = a.n_x / (2 * SIDE) * (2 * SIDE), n_columns = a.n_columns / POSENC_PANEL * POSENC_PANEL;
    if (a.leaves_out_zeros || n_x == 0 || n_columns == 0) {
        OF_TIER(multiply_pairs)(&a);
        return;
    }
    configure_tiles(SIDE);
    for (size_t i = 0; i < n_x; i += 2 * SIDE)
        for (size_t t = 0; t < n_columns; t += POSENC_PANEL)
            multiply_four(&a, i, t);
    _tile_release();
    multiply_rest(&a, n_x, n_columns);
}
