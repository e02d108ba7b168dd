/* SPDX-License-Identifier: MIT */
/* SIMD body of the products of bf16 matrices; src/scalar/bf16.c is the specification.
 * Needs: vec.h. Produces: round_rows, pack_pairs, pair_rows, multiply_pairs.
 *
 * A shift and a mask widen a vector of words to its even and its odd numbers. Each has a chain of fma of its own: a sum
 * has two chains, each half as long as the one chain of float32. */
#include "vec.h"

#include "simd/typed.h"

#include "simd/prefetch.h"
#include "kernels/variant.h"

enum { BLOCK = POSENC_BF16_BLOCK, PAIR_CHANNELS = 2 * VF };

_Static_assert(BLOCK % PAIR_CHANNELS == 0 && POSENC_PANEL % (2 * VF) == 0, "whole steps");

/* ---- Numbers ---- */

/* Half way between 2^-56 and the largest bf16 below it: smaller numbers round to less than 2^-56. */
#define ROUNDS_TO_LEAST (POSENC_BF16_LEAST * (1.0f - 0x1p-9f))

V_INLINE vf with_least(vf x) {
    return v_zero_if(v_lt(v_abs(x), v_set1(ROUNDS_TO_LEAST)), x);
}

/* Stores two numbers a lane, rounded. bf16 inputs are not rounded again. */
V_INLINE void store_pairs(uint16_t *to, vf first, vf second, const posenc_dtype type) {
    if (type == POSENC_BF16)
        v_store_high_pairs(to, with_least(first), with_least(second));
    else
        v_store_bf16_pairs(to, with_least(first), with_least(second), VF);
}

/* Stores the numbers (part 0), or their second parts: first and second minus the numbers. */
V_INLINE void store_part(uint16_t *to, vf first, vf second, size_t part, const posenc_dtype type) {
    vf high[2];
    store_pairs(to, first, second, type);
    if (part == 0)
        return;
    v_load_bf16_pairs(to, VF, &high[0], &high[1]);
    store_pairs(to, v_sub(first, high[0]), v_sub(second, high[1]), type);
}

/* Lanes of a vector that begins at element i of n; 0 behind the last. */
V_INLINE size_t lanes_at(size_t i, size_t n) {
    return i < n ? lanes_from(i, n) : 0;
}

V_INLINE void round_block(const float *x, size_t n, uint16_t *y, size_t n_parts) {
    vf value[BLOCK / VF]; /* all are loaded first: y may be x */
    for (size_t v = 0; v < BLOCK / VF; v++)
        value[v] = load_typed(x, v * VF, lanes_at(v * VF, n), POSENC_F32);
    for (size_t v = 0; v < BLOCK / VF; v++)
        v_store_bf16(y + v * VF, with_least(value[v]));
    for (size_t v = 0; n_parts > 1 && v < BLOCK / VF; v++)
        v_store_bf16(y + BLOCK + v * VF, with_least(v_sub(value[v], v_load_bf16(y + v * VF))));
}

void VARIANT(round_rows)(const posenc_round_rows_args *args) {
    const posenc_round_rows_args a = *args; /* a copy: no store changes it */
    for (size_t i = 0; i < a.n_rows; i++)
        for (size_t c = 0; c < a.n; c += BLOCK) {
            size_t n = a.n - c < BLOCK ? a.n - c : BLOCK;
            round_block(a.x + i * a.x_stride + c, n, a.y + i * a.y_stride + 2 * c, a.n_parts);
        }
}

/* ---- Columns ---- */

/* Words of 2 VF channels from c on; zeros behind the end of the row. */
V_INLINE vf words_of(const void *row, size_t c, size_t dim, size_t part, const posenc_dtype type) {
    uint16_t numbers[PAIR_CHANNELS];
    vf even, odd;
    if (type == POSENC_BF16 && c + PAIR_CHANNELS <= dim) {
        v_load_bf16_pairs((const uint16_t *)row + c, VF, &even, &odd);
    } else {
        vf first = c < dim ? load_typed(row, c, lanes_from(c, dim), type) : v_set1(0.0f);
        vf second = c + VF < dim ? load_typed(row, c + VF, lanes_from(c + VF, dim), type) : v_set1(0.0f);
        v_unzip(first, second, &even, &odd);
    }
    store_part(numbers, even, odd, part, type);
    return v_from_bits(vi_load(numbers));
}

/* Loads words of VF rows from t on, of channels from c on; zeros behind the last. A whole block checks nothing for each
 * row: 0.76 to 0.97 of the time (AMD Zen 4). */
V_INLINE void load_block(vf block[VF], const posenc_pack_pairs_args *a, size_t t, size_t c, const posenc_dtype type) {
    if (t + VF <= a->n_rows && c + PAIR_CHANNELS <= a->dim) {
        for (size_t k = 0; k < VF; k++)
            block[k] = words_of(a->rows[t + k], c, c + PAIR_CHANNELS, a->part, type);
        return;
    }
    for (size_t k = 0; k < VF; k++)
        block[k] = t + k < a->n_rows ? words_of(a->rows[t + k], c, a->dim, a->part, type) : v_set1(0.0f);
}

V_INLINE void pack_typed(const posenc_pack_pairs_args *a, const posenc_dtype type) {
    const size_t depth = (a->dim + BLOCK - 1) / BLOCK * BLOCK;
    const size_t n_padded = (a->n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
    fetching f = fetching_of(a->ahead, a->n_rows * depth);
    for (size_t t = 0; t < n_padded; t += VF) {
        uint32_t *to = a->words + t / POSENC_PANEL * (depth / 2) * POSENC_PANEL + t % POSENC_PANEL;
        for (size_t c = 0; c < depth; c += PAIR_CHANNELS) {
            vf block[VF];
            load_block(block, a, t, c, type);
            v_transpose(block);
            for (size_t k = 0; k < VF; k++)
                vi_store(to + (c / 2 + k) * POSENC_PANEL, vi_from_bits(block[k]));
            fetch_some(&f, VF * PAIR_CHANNELS);
        }
    }
}

/* One function for each type, as pack.c has. */
#define PACK(type, name, ...)                                                                                          \
    static __attribute__((noinline)) void pack_##name(const posenc_pack_pairs_args *args) {                            \
        const posenc_pack_pairs_args a = *args; /* a copy: no store changes it */                                      \
        pack_typed(&a, type);                                                                                          \
    }
POSENC_EACH_TYPE(PACK)

void VARIANT(pack_pairs)(const posenc_pack_pairs_args *args) {
    switch (args->rows_type) {
#define CASE(type, name, ...)                                                                                          \
    case type: pack_##name(args); break;
        POSENC_EACH_TYPE(CASE)
#undef CASE
    }
}

/* ---- Rows ---- */

enum { ROWS_AHEAD = 8 }; /* rows prefetched: with heads side by side, rows are no stream that a CPU foresees */

/* Bits of |x| from which on x rounds to infinity. */
enum { ROUNDS_TO_INFINITY = 0x7f7f8000 };

/* Columns of whole panels; rows of whole blocks. */
V_INLINE size_t padded_dim(const posenc_pair_rows_args *a) {
    return (a->dim + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
}

V_INLINE size_t padded_rows(const posenc_pair_rows_args *a) {
    return (a->n_rows + BLOCK - 1) / BLOCK * BLOCK;
}

/* Words of rows k and k + 1, from column t on. */
V_INLINE uint32_t *words_at(const posenc_pair_rows_args *a, size_t k, size_t t) {
    return a->words + (t / POSENC_PANEL * (padded_rows(a) / 2) + k / 2) * POSENC_PANEL + t % POSENC_PANEL;
}

/* Stores n_rows rows from k on, two or the last, as words. Returns the bits of the largest |x| so far. */
V_INLINE vi pair_two(const posenc_pair_rows_args *a, size_t k, const size_t n_rows, vi largest,
                     const posenc_dtype type) {
    const size_t n_padded = padded_dim(a);
    for (size_t t = 0; t < n_padded; t += VF) {
        vf row[2];
        for (size_t which = 0; which < 2; which++) {
            row[which] = v_set1(0.0f);
            if (which < n_rows && t < a->dim)
                row[which] = load_typed(a->rows[k + which], t, lanes_from(t, a->dim), type);
            largest = vi_max(largest, vi_from_bits(v_abs(row[which])));
        }
        store_part((uint16_t *)(void *)words_at(a, k, t), row[0], row[1], a->part, type);
    }
    return largest;
}

/* Stores zeros as the rows that the last block lacks. */
static void store_zeros(const posenc_pair_rows_args *args) {
    const posenc_pair_rows_args a = *args; /* a copy: no store changes it */
    for (size_t k = (a.n_rows + 1) / 2 * 2; k < padded_rows(&a); k += 2)
        for (size_t t = 0; t < padded_dim(&a); t += VF)
            vi_store(words_at(&a, k, t), vi_set1(0));
}

V_INLINE void pair_typed(const posenc_pair_rows_args *a, const posenc_dtype type) {
    vi largest = vi_set1(0);
    size_t k = 0;
    for (; k + 2 <= a->n_rows; k += 2) {
        for (size_t next = k + ROWS_AHEAD; next < k + ROWS_AHEAD + 2 && next < a->n_rows; next++)
            fetch_typed(a->rows[next], 0, a->dim, type);
        largest = pair_two(a, k, 2, largest, type);
    }
    if (k < a->n_rows)
        largest = pair_two(a, k, 1, largest, type);
    *a->is_finite = vi_max_lanes(largest) < ROUNDS_TO_INFINITY;
}

/* One function for each type, as pack.c has. */
#define PAIR(type, name, ...)                                                                                          \
    static __attribute__((noinline)) void pair_##name(const posenc_pair_rows_args *args) {                             \
        const posenc_pair_rows_args a = *args; /* a copy: no store changes it */                                       \
        pair_typed(&a, type);                                                                                          \
    }
POSENC_EACH_TYPE(PAIR)

void VARIANT(pair_rows)(const posenc_pair_rows_args *args) {
    switch (args->rows_type) {
#define CASE(type, name, ...)                                                                                          \
    case type: pair_##name(args); break;
        POSENC_EACH_TYPE(CASE)
#undef CASE
    }
    store_zeros(args);
}

/* ---- Products ---- */

/* Even and odd chains of a tile run side by side with 32 registers. AVX2's 16 hold one chain for each sum: there they
 * run one after the other. */
enum { TILE_X = 6, TILE_VECTORS = 2, AT_ONCE = VF == 8 ? 1 : 2 };

typedef struct tile_sums {
    vf chain[2][TILE_X][TILE_VECTORS]; /* even, odd */
} tile_sums;

/* Computes chains [first, first + AT_ONCE) of a tile over a block. The factors of a row are BLOCK apart. */
V_INLINE void add_chains(const float *factors, const uint32_t *words, tile_sums *sums, const size_t n_x,
                         const size_t first, const int leaves_out_zeros) {
    vf sum[AT_ONCE][TILE_X][TILE_VECTORS]; /* copies for the loop: gcc otherwise stores them in each iteration */
    for (size_t c = 0; c < AT_ONCE; c++)
        for (size_t r = 0; r < n_x; r++)
            for (size_t v = 0; v < TILE_VECTORS; v++)
                sum[c][r][v] = v_set1(0.0f);
    for (size_t j = 0; j < BLOCK / 2; j++) {
        vf number[TILE_VECTORS][2];
        for (size_t v = 0; v < TILE_VECTORS; v++) {
            const uint32_t *at = words + j * POSENC_PANEL + v * VF;
            v_load_bf16_pairs((const uint16_t *)(const void *)at, VF, &number[v][0], &number[v][1]);
        }
        for (size_t r = 0; r < n_x; r++)
            for (size_t c = 0; c < AT_ONCE; c++) {
                float factor = factors[r * BLOCK + 2 * j + first + c];
                if (leaves_out_zeros && factor == 0.0f)
                    continue;
                for (size_t v = 0; v < TILE_VECTORS; v++)
                    sum[c][r][v] = v_fma(v_set1(factor), number[v][first + c], sum[c][r][v]);
            }
    }
    for (size_t c = 0; c < AT_ONCE; c++)
        for (size_t r = 0; r < n_x; r++)
            for (size_t v = 0; v < TILE_VECTORS; v++)
                sums->chain[first + c][r][v] = sum[c][r][v];
}

/* y = y + (e + o) for TILE_VECTORS vectors of columns from t on. is_whole: none is behind the last column. */
V_INLINE void add_sums(const posenc_multiply_pairs_args *a, float *y, size_t t, const tile_sums *sums, const size_t n_x,
                       const int is_whole) {
#pragma GCC unroll 6 /* gcc 12 otherwise keeps the sums in memory */
    for (size_t r = 0; r < n_x; r++)
#pragma GCC unroll 2
        for (size_t v = 0; v < TILE_VECTORS; v++) {
            float *row = y + r * a->y_stride;
            size_t i = t + v * VF, lanes = is_whole ? VF : lanes_at(i, a->n_columns);
            vf before = load_typed(row, i, lanes, POSENC_F32);
            store_typed(row, i, v_add(before, v_add(sums->chain[0][r][v], sums->chain[1][r][v])), lanes, POSENC_F32);
        }
}

/* Adds one part of a block, for TILE_VECTORS vectors of columns from t on. */
V_INLINE void add_block(const posenc_multiply_pairs_args *a, const float *factors, const uint32_t *words, float *y,
                        size_t t, const size_t n_x, const int leaves_out_zeros) {
    tile_sums sums;
    add_chains(factors, words, &sums, n_x, 0, leaves_out_zeros);
    if (AT_ONCE == 1)
        add_chains(factors, words, &sums, n_x, 1, leaves_out_zeros);
    if (t + TILE_VECTORS * VF <= a->n_columns)
        add_sums(a, y, t, &sums, n_x, 1);
    else
        add_sums(a, y, t, &sums, n_x, 0);
}

/* Multiplies n_x rows of x from row i on, block by block: factors are widened once for all columns. */
V_INLINE void multiply_band(const posenc_multiply_pairs_args *a, size_t i, const size_t n_x,
                            const int leaves_out_zeros) {
    for (size_t k = 0; k < a->depth; k += BLOCK)
        for (size_t part = 0; part < a->n_parts; part++) {
            float factors[TILE_X * BLOCK];
            for (size_t r = 0; r < n_x; r++)
                for (size_t c = 0; c < BLOCK; c += VF)
                    v_store(factors + r * BLOCK + c,
                            v_load_bf16(a->x + (i + r) * a->x_stride + 2 * k + part * BLOCK + c));
            for (size_t t = 0; t < a->n_columns; t += TILE_VECTORS * VF) {
                const uint32_t *words = a->words + (t / POSENC_PANEL * a->depth + k) / 2 * POSENC_PANEL;
                add_block(a, factors, words + t % POSENC_PANEL, a->y + i * a->y_stride, t, n_x, leaves_out_zeros);
            }
        }
}

static void clear(const posenc_multiply_pairs_args *a) {
    for (size_t i = 0; i < a->n_x; i++)
        for (size_t t = 0; t < a->n_columns; t += VF)
            store_typed(a->y + i * a->y_stride, t, v_set1(0.0f), lanes_from(t, a->n_columns), POSENC_F32);
}

void VARIANT(multiply_pairs)(const posenc_multiply_pairs_args *args) {
    const posenc_multiply_pairs_args a = *args; /* a copy: no store changes it */
    size_t i = 0;
    if (!a.adds)
        clear(&a);
    for (; a.leaves_out_zeros && i < a.n_x; i++)
        multiply_band(&a, i, 1, 1);
    for (; i + TILE_X <= a.n_x; i += TILE_X)
        multiply_band(&a, i, TILE_X, 0);
    for (; i + 2 <= a.n_x; i += 2)
        multiply_band(&a, i, 2, 0);
    if (i < a.n_x)
        multiply_band(&a, i, 1, 0);
}
