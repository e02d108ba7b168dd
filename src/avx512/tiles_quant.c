/* SPDX-License-Identifier: MIT */
/* Attention over quantised rows in integers by AMX's tiles; src/scalar/quant.c is the specification.
 * Needs: vec.h. Produces: dot_quants, attend_quants. Used by: avx512-amx.
 *
 * TDPBSSD adds products of signed bytes, exactly: a number of 16 bits is two of them, 256 high + low. 16 rows by 32
 * columns of sums are two tiles for each digit. Rows that are no whole tile, and columns that are no whole panel, the
 * vectors of the tier compute. */
#include "avx512/tiles.h"

#include <string.h>

#include "simd/groups.h"
#include "simd/prefetch.h"
#include "kernels/variant.h"

#define OF_QUANTS(name) POSENC_PASTE(posenc_##name, _, POSENC_QUANTS_OF)

void OF_QUANTS(dot_quants)(const posenc_dot_quants_args *);
void OF_QUANTS(attend_quants)(const posenc_attend_quants_args *);

/* Which tile is what: sums of either digit, of the first and the last 16 columns; rows of digits. */
#define LOW0 0
#define LOW1 1
#define HIGH0 2
#define HIGH1 3
#define X_LOW X0
#define X_HIGH X1

enum { BLOCK = POSENC_QUANT_BLOCK, QUADS = BLOCK / 4, ROW_QUADS = GROUP / 4, COLUMNS = 2 * SIDE };

_Static_assert(POSENC_PANEL == COLUMNS && BLOCK == COLUMNS, "columns are a panel's rows, or a block's channels");
_Static_assert(CHUNK % SIDE == 0, "a chunk of whole tiles");

/* Exact sums of the products with either digit. */
typedef struct digit_sums {
    _Alignas(64) int32_t low[SIDE][COLUMNS];
    int32_t high[SIDE][COLUMNS];
} digit_sums;

/* Loads 16 rows of digits, of n bytes: the low ones of all, then the high ones. */
static void load_rows(const void *digits, size_t n) {
    is_written(digits);
    _tile_loadd(X_LOW, digits, (long)n);
    _tile_loadd(X_HIGH, (const int8_t *)digits + SIDE * n, (long)n);
}

/* Loads 32 columns: rows of their words. */
static void load_columns(const void *words) {
    const long stride = COLUMNS * sizeof(uint32_t);
    is_written(words);
    _tile_loadd(WORDS0, words, stride);
    _tile_loadd(WORDS1, (const uint32_t *)words + SIDE, stride);
}

/* Products of the rows with the columns that are loaded. */
static void multiply(digit_sums *to) {
    const long stride = sizeof to->low[0];
    _tile_zero(LOW0);
    _tile_zero(LOW1);
    _tile_zero(HIGH0);
    _tile_zero(HIGH1);
    _tile_dpbssd(LOW0, X_LOW, WORDS0);
    _tile_dpbssd(LOW1, X_LOW, WORDS1);
    _tile_dpbssd(HIGH0, X_HIGH, WORDS0);
    _tile_dpbssd(HIGH1, X_HIGH, WORDS1);
    _tile_stored(LOW0, to->low[0], stride);
    _tile_stored(LOW1, &to->low[0][SIDE], stride);
    _tile_stored(HIGH0, to->high[0], stride);
    _tile_stored(HIGH1, &to->high[0][SIDE], stride);
}

/* Sums of row r, from column c on. */
V_INLINE vf exact_sums(const digit_sums *s, size_t r, size_t c) {
    vi high = vi_mul(vi_load(&s->high[r][c]), vi_set1(256));
    return v_from_int(vi_add(high, vi_load(&s->low[r][c])));
}

/* ---- Products with packed rows ---- */

/* The digits of block b of 16 rows of x. Its channels stand in the order 0 2 1 3 of each four, so a word of digits is
 * made of a pair of 0 and 2 and one of 1 and 3. In loops over all rows, for gcc 12 takes those over one row apart. */
V_INLINE void split_block(const int16_t *x, size_t x_stride, size_t b, uint32_t digits[2][SIDE * QUADS]) {
    uint16_t bytes[SIDE * BLOCK]; /* the low digit is the low byte, the high digit the high one */
    uint32_t pairs[2 * SIDE * QUADS];
    const uint32_t even = 0x00ff00ff, odd = 0xff00ff00;
    for (size_t r = 0; r < SIDE; r++)
        for (size_t c = 0; c < BLOCK; c++)
            bytes[r * BLOCK + c] = (uint16_t)((x[r * x_stride + b * BLOCK + c] + 128) ^ 128);
    memcpy(pairs, bytes, sizeof bytes);
    for (size_t q = 0; q < SIDE * QUADS; q++) {
        digits[0][q] = (pairs[2 * q] & even) | (pairs[2 * q + 1] << 8 & odd);
        digits[1][q] = (pairs[2 * q] >> 8 & even) | (pairs[2 * q + 1] & odd);
    }
}

/* y with the offsets of c's columns added, where there are any. */
V_INLINE vf add_offsets(const posenc_dot_quants_args *a, vf y, size_t x_block, size_t c) {
    return a->offsets != NULL ? v_fma(v_set1(a->x_sums[x_block]), v_load(a->offsets + c), y) : y;
}

/* Adds block b of rows i .. i + 15, which are loaded, to the sums with the panel of rows from t on. */
V_INLINE void dot_panel(const posenc_dot_quants_args *a, size_t i, size_t b, size_t t) {
    const size_t n_blocks = a->dim / BLOCK, x_step = a->scales_stride, y_step = a->y_stride;
    const size_t block = t * n_blocks + b * POSENC_PANEL;
    const float *scales = a->scales + block, *x_scale = a->x_scales + i * x_step + b;
    float *y = a->y + i * y_step + t;
    digit_sums exact;
    load_columns(a->panels + t * a->dim + b * BLOCK * POSENC_PANEL);
    multiply(&exact);
    for (size_t r = 0; r < SIDE; r++, x_scale += x_step, y += y_step)
        for (size_t c = 0; c < COLUMNS; c += VF) {
            vf scale = v_mul(v_set1(*x_scale), v_load(scales + c)), sum = b == 0 ? v_set1(0.0f) : v_load(y + c);
            sum = v_fma(exact_sums(&exact, r, c), scale, sum);
            v_store(y + c, add_offsets(a, sum, (i + r) * x_step + b, block + c));
        }
}

/* Rows i .. i + 15 with n_rows rows, whole panels. */
static void dot_band(const posenc_dot_quants_args *a, size_t i, size_t n_rows, fetching *f) {
    for (size_t b = 0; b < a->dim / BLOCK; b++) {
        uint32_t digits[2][SIDE * QUADS];
        split_block(a->x + i * a->x_stride, a->x_stride, b, digits);
        load_rows(digits, BLOCK);
        for (size_t t = 0; t < n_rows; t += POSENC_PANEL) {
            if (i == 0) /* with the first rows of x */
                fetch_some(f, POSENC_PANEL * BLOCK);
            dot_panel(a, i, b, t);
        }
    }
}

/* Computes the rest beside whole tiles, by vectors. */
static void dot_rest(const posenc_dot_quants_args *a, size_t n_x, size_t n_rows) {
    posenc_dot_quants_args right = *a, below = *a;
    right.ahead[0].n = right.ahead[1].n = below.ahead[0].n = below.ahead[1].n = 0;
    right.panels += n_rows * a->dim;
    right.scales += n_rows * (a->dim / BLOCK);
    if (a->offsets != NULL) {
        right.offsets += n_rows * (a->dim / BLOCK);
        below.x_sums += n_x * a->scales_stride;
    }
    right.y += n_rows;
    right.n_rows -= n_rows;
    right.n_x = n_x;
    if (right.n_rows > 0)
        OF_QUANTS(dot_quants)(&right);
    below.x += n_x * a->x_stride;
    below.x_scales += n_x * a->scales_stride;
    below.y += n_x * a->y_stride;
    below.n_x -= n_x;
    if (below.n_x > 0)
        OF_QUANTS(dot_quants)(&below);
}

void VARIANT(dot_quants)(const posenc_dot_quants_args *args) {
    const posenc_dot_quants_args a = *args; /* a copy: no store changes it */
    size_t n_x = a.n_x / SIDE * SIDE, n_rows = a.n_rows / POSENC_PANEL * POSENC_PANEL;
    if (n_x == 0 || n_rows == 0 || a.dim == 0) {
        OF_QUANTS(dot_quants)(&a);
        return;
    }
    fetching f = fetching_of(a.ahead, a.n_rows * a.dim);
    configure_tiles(QUADS);
    for (size_t i = 0; i < n_x; i += SIDE)
        dot_band(&a, i, n_rows, &f);
    _tile_release();
    dot_rest(&a, n_x, n_rows);
}

/* ---- Weighted sums ---- */

/* The numbers of a block of four rows. */
typedef struct four_blocks {
    _Alignas(64) int8_t low[4][BLOCK / 2]; /* channels of the first half */
    int8_t high[4][BLOCK / 2];
} four_blocks;

/* Numbers out of nibbles. bits: fifth bits of the rows, 0 for a format of nibbles. */
V_INLINE void unpack_nibbles(int8_t nibbles[4][BLOCK / 2], const uint32_t bits[4], four_blocks *to,
                             const posenc_dtype type) {
    _Alignas(64) uint32_t low[BLOCK / 2], high[BLOCK / 2]; /* bits of four channels a lane */
    for (size_t k = 0; k < BLOCK / 2; k++) {
        low[k] = bits[k / 4] >> k % 4 * 4;
        high[k] = low[k] >> BLOCK / 2;
    }
    for (size_t k = 0; k < BLOCK / 2; k += VF) { /* a lane is four channels, a row four lanes */
        vi both = vi_load(nibbles[k / 4]);
        vi first = vi_low_nibbles(both, posenc_integers_of(type));
        vi second = vi_high_nibbles(both, posenc_integers_of(type));
        if (posenc_packing_of(type) == POSENC_IN_FIVE_BITS) {
            first = vi_add_fifth(first, vi_load(low + k), 0);
            second = vi_add_fifth(second, vi_load(high + k), 0);
        }
        vi_store(to->low[k / 4], first);
        vi_store(to->high[k / 4], second);
    }
}

V_INLINE void take_numbers(const void *const rows[4], size_t b, four_blocks *to, const posenc_dtype type) {
    _Alignas(64) int8_t nibbles[4][BLOCK / 2];
    uint32_t bits[4] = {0};
    for (size_t k = 0; k < 4; k++) {
        const char *from = (const char *)rows[k] + numbers_at(b, type);
        switch (posenc_packing_of(type)) {
        case POSENC_IN_BYTES:
            memcpy(to->low[k], from, BLOCK / 2);
            memcpy(to->high[k], from + BLOCK / 2, BLOCK / 2);
            break;
        case POSENC_IN_NIBBLES: memcpy(nibbles[k], from, BLOCK / 2); break;
        case POSENC_IN_FIVE_BITS:
            memcpy(&bits[k], from, sizeof bits[k]);
            memcpy(nibbles[k], from + sizeof bits[k], BLOCK / 2);
            break;
        }
    }
    if (posenc_packing_of(type) != POSENC_IN_BYTES)
        unpack_nibbles(nibbles, bits, to, type);
}

V_INLINE void join_rows(int8_t numbers[4][BLOCK / 2], uint32_t words[BLOCK / 2]) {
    for (size_t c = 0; c < BLOCK / 2; c++)
        words[c] = (uint32_t)(uint8_t)numbers[0][c] | (uint32_t)(uint8_t)numbers[1][c] << 8 |
                   (uint32_t)(uint8_t)numbers[2][c] << 16 | (uint32_t)(uint8_t)numbers[3][c] << 24;
}

/* The numbers of the group's block as columns: a word is those of four rows in a channel. */
V_INLINE void pack_numbers(const group *g, size_t b, uint32_t words[ROW_QUADS][BLOCK], const posenc_dtype type) {
    for (size_t q = 0; q < ROW_QUADS; q++) {
        four_blocks numbers;
        take_numbers(g->rows + 4 * q, b, &numbers, type);
        join_rows(numbers.low, words[q]);
        join_rows(numbers.high, words[q] + BLOCK / 2);
    }
}

/* Digits of the shares in one sum. (n + 0.5) / 256 is nearest to the high one, and never half way between two. */
V_INLINE void split_shares(const vi shares[SHARE_VECTORS], int8_t low[GROUP], int8_t high[GROUP]) {
    vi high_digits[SHARE_VECTORS];
    for (size_t v = 0; v < SHARE_VECTORS; v++)
        high_digits[v] = vi_round(v_fma(v_from_int(shares[v]), v_set1(0x1p-8f), v_set1(0x1p-9f)));
    vi_store_8(low, shares, GROUP);
    vi_store_8(high, high_digits, GROUP);
}

/* Block b in sums i .. i + 15 of the group. */
V_INLINE void add_band(const posenc_attend_quants_args *a, const group *g, size_t i, size_t b, size_t at,
                       const posenc_dtype type) {
    int8_t digits[2][SIDE][GROUP];
    float factors[SIDE], offsets[SIDE];
    digit_sums exact;
    for (size_t r = 0; r < SIDE; r++) {
        vi shares[SHARE_VECTORS];
        factors[r] = find_shares(a, g, i + r, at, shares);
        offsets[r] = posenc_has_offset(type) ? find_offset(g, i + r, at) : 0.0f;
        split_shares(shares, digits[0][r], digits[1][r]);
    }
    load_rows(digits, GROUP);
    multiply(&exact);
    const size_t step = a->sums_stride;
    float *sums = a->sums + (g->first + i) * step + b * BLOCK;
    for (size_t r = 0; r < SIDE; r++, sums += step)
        for (size_t c = 0; c < COLUMNS; c += VF)
            v_store(sums + c,
                    v_fma(exact_sums(&exact, r, c), v_set1(factors[r]), load_sums(sums + c, v_set1(offsets[r]), type)));
}

V_INLINE void add_block(const posenc_attend_quants_args *a, const group *g, size_t b, size_t at,
                        const posenc_dtype type) {
    uint32_t words[ROW_QUADS][BLOCK];
    pack_numbers(g, b, words, type);
    load_columns(words);
    for (size_t i = 0; i < g->n; i += SIDE)
        add_band(a, g, i, b, at, type);
}

void VARIANT(attend_quants)(const posenc_attend_quants_args *args) {
    posenc_attend_quants_args tiled = *args, rest = *args;
    tiled.n = args->n / SIDE * SIDE;
    if (tiled.n > 0) {
        configure_tiles(ROW_QUADS);
        walk_groups(&tiled, add_block);
        _tile_release();
        keep_and_add(&tiled, 0);
    }
    rest.weights += tiled.n * args->weight_stride;
    rest.keep = args->keep != NULL ? args->keep + tiled.n : NULL;
    rest.y += tiled.n * args->y_stride;
    rest.sums += tiled.n * args->sums_stride;
    rest.n -= tiled.n;
    if (tiled.n > 0) /* fetched already */
        rest.ahead[0].n = rest.ahead[1].n = 0;
    if (rest.n > 0)
        OF_QUANTS(attend_quants)(&rest);
}
