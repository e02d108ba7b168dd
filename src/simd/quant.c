/* SPDX-License-Identifier: MIT */
/* SIMD body of attention over quantised rows in integers; src/scalar/quant.c is the specification.
 * Needs: vec.h. Produces: pack_quants and, unless POSENC_OWN_QUANT_PRODUCTS is defined, dot_quants and attend_quants.
 *
 * Products: lanes are rows of the table. Four channels of a row are one lane of bytes, multiplied by four 16-bit
 * numbers at once. Weighted sums: lanes are channels, four rows of one channel are a lane. */
#include "vec.h"

#include <string.h>

#include "simd/typed.h"

#include "simd/groups.h"
#include "simd/prefetch.h"
#include "kernels/variant.h"

enum { QUADS = POSENC_QUANT_BLOCK / 4 };

/* ---- Packing ---- */

/* Blocks whose integers fit one vector of bytes, at least 1. */
V_INLINE size_t blocks_of_vector(const posenc_packing packing) {
    switch (packing) {
    case POSENC_IN_BYTES: return VF < 8 ? 1 : VF / 8;
    case POSENC_IN_NIBBLES:
    case POSENC_IN_FIVE_BITS: return VF / 4;
    }
    return 1;
}

/* Vectors that the integers of a block take. */
V_INLINE size_t vectors_of_block(const posenc_packing packing) {
    switch (packing) {
    case POSENC_IN_BYTES: return VF < 8 ? 2 : 1;
    case POSENC_IN_NIBBLES:
    case POSENC_IN_FIVE_BITS: return 1;
    }
    return 1;
}

/* Loads the bytes of a vector of blocks that are `step` bytes apart. step 0: of one block. */
V_INLINE vi load_integers(const char *at, size_t step, const posenc_packing packing) {
    switch (packing) {
    case POSENC_IN_BYTES: return vi_load_blocks(at, step);
    case POSENC_IN_NIBBLES: return vi_load_halves(at, step);
    case POSENC_IN_FIVE_BITS: return vi_load_halves(at + sizeof(uint32_t), step);
    }
    return vi_set1(0);
}

/* Stores the integers of four channels, and of the four half a block further, by nibbles of VF rows. bits: words of
 * fifth bits, that of the first channel in bit `first`; all are 0 for a format of nibbles. */
V_INLINE void store_nibbles(int8_t *quad, vi nibbles, vi bits, const size_t first, const posenc_dtype type) {
    const size_t half = POSENC_QUANT_BLOCK / 2;
    vi low = vi_low_nibbles(nibbles, posenc_integers_of(type));
    vi high = vi_high_nibbles(nibbles, posenc_integers_of(type));
    if (posenc_packing_of(type) == POSENC_IN_FIVE_BITS) {
        low = vi_add_fifth(low, bits, first);
        high = vi_add_fifth(high, bits, first + half);
    }
    vi_store(quad, low);
    vi_store(quad + half * POSENC_PANEL, high);
}

/* Packs blocks [b, b + n) of VF rows from row t on. n is the blocks of a vector, or 1: then vector `part` of the
 * block. */
V_INLINE void pack_blocks(const posenc_pack_quants_args *a, size_t t, size_t b, const size_t n, const size_t part,
                          int8_t *to, const posenc_dtype type) {
    const size_t bytes = (size_t)posenc_block_bytes(type), step = n > 1 ? bytes : 0;
    const size_t first = numbers_at(b, type) + part * sizeof(vi);
    const posenc_packing packing = posenc_packing_of(type);
    vf block[VF];
    for (size_t k = 0; k < VF; k++) {
        const char *at = (const char *)a->rows[t + k] + first;
        block[k] = v_from_bits(load_integers(at, step, packing));
    }
    v_transpose(block);
    int8_t *quad = to + (b * QUADS + part * VF) * POSENC_PANEL * 4;
    if (packing == POSENC_IN_BYTES) {
        for (size_t k = 0; k < n * QUADS / vectors_of_block(packing); k++)
            vi_store(quad + k * POSENC_PANEL * 4, vi_from_bits(block[k]));
        return;
    }
    for (size_t k = 0; k < n; k++, quad += QUADS * POSENC_PANEL * 4) {
        vi bits = packing == POSENC_IN_FIVE_BITS ? vi_load_words(a->rows + t, first + k * bytes) : vi_set1(0);
        for (size_t q = 0; q < QUADS / 2; q++)
            store_nibbles(quad + q * POSENC_PANEL * 4, vi_from_bits(block[k * (QUADS / 2) + q]), bits, q * 4, type);
    }
}

V_INLINE void pack_typed(const posenc_pack_quants_args *args, const posenc_dtype type) {
    const posenc_pack_quants_args a = *args; /* a copy: no store changes it */
    const posenc_packing packing = posenc_packing_of(type);
    const size_t together = blocks_of_vector(packing), bytes = (size_t)posenc_block_bytes(type);
    size_t n_blocks = a.dim / POSENC_QUANT_BLOCK;
    fetching f = fetching_of(a.ahead, a.n_rows * a.dim);
    for (size_t t = 0; t < a.n_rows; t += VF) {
        int8_t *to = a.panels + t / POSENC_PANEL * a.dim * POSENC_PANEL + t % POSENC_PANEL * 4;
        float *scales = a.scales + t / POSENC_PANEL * n_blocks * POSENC_PANEL + t % POSENC_PANEL;
        for (size_t b = 0; b < n_blocks; b++) {
            vf of_block = v_gather_f16(a.rows + t, b * bytes);
            v_store(scales + b * POSENC_PANEL, of_block);
            if (posenc_has_offset(type))
                v_store(a.offsets + (scales - a.scales) + b * POSENC_PANEL,
                        gather_offsets(a.rows + t, b * bytes, of_block, type));
        }
        for (size_t b = 0, n; b < n_blocks; b += n) {
            n = b + together <= n_blocks ? together : 1;
            fetch_some(&f, n * POSENC_QUANT_BLOCK * VF / 2); /* the other half behind the blocks: all at once waits */
            if (n == together && together > 1)
                pack_blocks(&a, t, b, together, 0, to, type);
            else
                for (size_t part = 0; part < vectors_of_block(packing); part++)
                    pack_blocks(&a, t, b, 1, part, to, type);
            fetch_some(&f, n * POSENC_QUANT_BLOCK * VF / 2);
        }
    }
}

/* One function for each format, as pack.c has for each type. In one for all of them AVX-512 takes 1.02 times as long
 * (AMD Zen 4). */
#define PACK(type, name, ...)                                                                                          \
    static __attribute__((noinline)) void pack_quants_##name(const posenc_pack_quants_args *a) {                       \
        pack_typed(a, type);                                                                                           \
    }
POSENC_EACH_FORMAT(PACK)

void VARIANT(pack_quants)(const posenc_pack_quants_args *a) {
    switch (a->rows_type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, ...)                                                                                          \
    case type: pack_quants_##name(a); break;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
}

/* Splits four 16-bit numbers into words of signed digits, n = 256 high + low, for tiers that multiply digits. */
V_INLINE void split_digits(int n0, int n1, int n2, int n3, int32_t words[2]) {
    const int n[4] = {n0, n1, n2, n3};
    int8_t digits[2][4];
    for (int k = 0; k < 4; k++) {
        digits[0][k] = (int8_t)((n[k] + 128) >> 8);
        digits[1][k] = (int8_t)(n[k] - 256 * digits[0][k]);
    }
    memcpy(words, digits, sizeof digits);
}

/* ---- Products ---- */

enum { DOT_X = VF == 16 ? 8 : 4, DOT_VECTORS = 2 }; /* sums in registers */

/* Rows are prefetched after each quad, or each block: by quads AVX2 is short of registers, by blocks AVX-512 waits. */
enum { FETCHES_BY_QUADS = VF == 16 };

/* Rows of x as words: the numbers in place, or their digits. */
typedef struct dot_rows {
    const void *words;
    size_t stride; /* from row to row, in words */
} dot_rows;

V_INLINE dot_rows dot_words(const posenc_dot_quants_args *a, size_t i, size_t n_x, int32_t *digits) {
    const int16_t *x = a->x + i * a->x_stride;
    if (!V_DIGITS)
        return (dot_rows){x, a->x_stride / 2};
    for (size_t r = 0; r < n_x; r++)
        for (size_t c = 0; c < a->dim; c += 4) {
            const int16_t *n = x + r * a->x_stride + c; /* channels 0 2 1 3 */
            split_digits(n[0], n[2], n[1], n[3], digits + r * (a->dim / 2) + c / 2);
        }
    return (dot_rows){digits, a->dim / 2};
}

V_INLINE int32_t word_at(const void *p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Adds the offsets of a block, which begins at number `at` of them. */
V_INLINE void dot_offsets(const posenc_dot_quants_args *a, size_t i, size_t b, size_t at, const size_t n_x,
                          vf sum[DOT_X][DOT_VECTORS]) {
    for (size_t r = 0; r < n_x; r++) {
        vf x_sum = v_set1(a->x_sums[(i + r) * a->scales_stride + b]);
        for (size_t v = 0; v < DOT_VECTORS; v++)
            sum[r][v] = v_fma(x_sum, v_load(a->offsets + at + v * VF), sum[r][v]);
    }
}

/* Multiplies n_x rows of x from row i on with DOT_VECTORS vectors of rows from row t on. */
V_INLINE void dot_tile(const posenc_dot_quants_args *a, dot_rows x, size_t i, size_t t, const size_t n_x, fetching *f) {
    size_t n_blocks = a->dim / POSENC_QUANT_BLOCK;
    const int8_t *panel = a->panels + t / POSENC_PANEL * a->dim * POSENC_PANEL + t % POSENC_PANEL * 4;
    const float *scales = a->scales + t / POSENC_PANEL * n_blocks * POSENC_PANEL + t % POSENC_PANEL;
    vf sum[DOT_X][DOT_VECTORS];
    for (size_t r = 0; r < n_x; r++)
        for (size_t v = 0; v < DOT_VECTORS; v++)
            sum[r][v] = v_set1(0.0f);
    for (size_t b = 0; b < n_blocks; b++) {
        vp exact[DOT_X][DOT_VECTORS];
        for (size_t r = 0; r < n_x; r++)
            for (size_t v = 0; v < DOT_VECTORS; v++)
                exact[r][v] = vp_zero();
        if (i == 0 && !FETCHES_BY_QUADS) /* with the first rows of x */
            fetch_some(f, DOT_VECTORS * VF * POSENC_QUANT_BLOCK);
        for (size_t quad = b * QUADS; quad < (b + 1) * QUADS; quad++) {
            if (i == 0 && FETCHES_BY_QUADS)
                fetch_some(f, DOT_VECTORS * VF * 4);
            vq numbers[DOT_VECTORS];
            for (size_t v = 0; v < DOT_VECTORS; v++)
                numbers[v] = vq_bytes(vi_load(panel + (quad * POSENC_PANEL + v * VF) * 4));
            for (size_t r = 0; r < n_x; r++) {
                const char *words = (const char *)x.words + (r * x.stride + quad * 2) * sizeof(int32_t);
                vi first = vi_set1(word_at(words)), second = vi_set1(word_at(words + sizeof(int32_t)));
                for (size_t v = 0; v < DOT_VECTORS; v++)
                    exact[r][v] = vp_add(numbers[v], first, second, exact[r][v]);
            }
        }
        for (size_t r = 0; r < n_x; r++) {
            vf x_scale = v_set1(a->x_scales[(i + r) * a->scales_stride + b]);
            for (size_t v = 0; v < DOT_VECTORS; v++)
                sum[r][v] = v_fma(v_from_int(vp_sum(exact[r][v])),
                                  v_mul(x_scale, v_load(scales + b * POSENC_PANEL + v * VF)), sum[r][v]);
        }
        if (RARELY(a->offsets != NULL))
            dot_offsets(a, i, b, (size_t)(scales - a->scales) + b * POSENC_PANEL, n_x, sum);
    }
    for (size_t r = 0; r < n_x; r++)
        for (size_t v = 0; v < DOT_VECTORS; v++) {
            size_t first = t + v * VF, lanes = first < a->n_rows ? lanes_from(first, a->n_rows) : 0;
            store_typed(a->y + (i + r) * a->y_stride, first, sum[r][v], lanes, POSENC_F32);
        }
}

V_INLINE void dot_band(const posenc_dot_quants_args *a, size_t i, const size_t n_x, fetching *f) {
    int32_t digits[V_DIGITS ? DOT_X * POSENC_QUANT_DIM / 2 : 1];
    dot_rows x = dot_words(a, i, n_x, digits);
    for (size_t t = 0; t < a->n_rows; t += DOT_VECTORS * VF)
        dot_tile(a, x, i, t, n_x, f);
}

#ifndef POSENC_OWN_QUANT_PRODUCTS
void VARIANT(dot_quants)(const posenc_dot_quants_args *args) {
    const posenc_dot_quants_args a = *args; /* a copy: no store changes it */
    fetching f = fetching_of(a.ahead, a.n_rows * a.dim);
    size_t i = 0;
    for (; i + DOT_X <= a.n_x; i += DOT_X)
        dot_band(&a, i, DOT_X, &f);
    for (; DOT_X > 4 && i + 4 <= a.n_x; i += 4)
        dot_band(&a, i, 4, &f);
    for (; i + 2 <= a.n_x; i += 2)
        dot_band(&a, i, 2, &f);
    if (i < a.n_x)
        dot_band(&a, i, 1, &f);
}
#endif

/* ---- Weighted sums ---- */

enum {
    SUMS = 4, /* sums added to at a time; with eight, gcc 12 keeps some in memory */
    ROW_QUADS = GROUP / 4,
    BLOCK_VECTORS = POSENC_QUANT_BLOCK / VF
};

/* Numbers of a block of a group: four rows side by side, channel by channel. */
typedef struct block_quads {
    vq at[ROW_QUADS][BLOCK_VECTORS];
} block_quads;

/* Integer weights W of a group in one sum and block, as words of four rows, the factor of their exact sum, and the
 * share of the offsets. */
typedef struct shares {
    int32_t words[GROUP / 4][2];
    float factor, offset;
} shares;

V_INLINE void find_words(const posenc_attend_quants_args *a, const group *g, size_t i, size_t at, shares *to,
                         const posenc_dtype type) {
    vi numbers[SHARE_VECTORS];
    int16_t rounded[GROUP];
    to->factor = find_shares(a, g, i, at, numbers);
    to->offset = posenc_has_offset(type) ? find_offset(g, i, at) : 0.0f;
    for (size_t v = 0; v < SHARE_VECTORS; v++)
        vi_store_16(rounded + v * VF, numbers[v]);
    if (!V_DIGITS)
        memcpy(to->words, rounded, sizeof rounded);
    for (size_t k = 0; V_DIGITS && k < GROUP; k += 4)
        split_digits(rounded[k], rounded[k + 1], rounded[k + 2], rounded[k + 3], to->words[k / 4]);
}

/* The numbers of four rows: two vectors from vector v of the block on, which begins `at` bytes into the rows. */
V_INLINE void take_rows(const void *const *rows, size_t at, size_t v, const posenc_dtype type, vq *low, vq *high) {
    switch (posenc_packing_of(type)) {
    case POSENC_IN_BYTES: vq_rows(rows, at + v * VF, low, high); break;
    case POSENC_IN_NIBBLES: vq_row_nibbles(rows, at, v * VF, posenc_integers_of(type), low, high); break;
    case POSENC_IN_FIVE_BITS: vq_row_fives(rows, at, v * VF, posenc_integers_of(type), low, high); break;
    }
}

/* Keeps all quads of a block, which are used several times. */
V_INLINE void keep_quads(const group *g, size_t at, const posenc_dtype type, block_quads *quads) {
    for (size_t k = 0; k < ROW_QUADS; k++)
        for (size_t v = 0; v < BLOCK_VECTORS; v += 2)
            take_rows(g->rows + 4 * k, at, v, type, &quads->at[k][v], &quads->at[k][v + 1]);
}

/* Adds vectors v and v + 1 of block b's channels to n sums from number i of the group on; their channels alternate, as
 * those of quads do. kept: quads of the block, or NULL. */
V_INLINE void add_vectors(const posenc_attend_quants_args *a, const group *g, const shares *s, size_t i, size_t b,
                          size_t v, const size_t n, const block_quads *kept, const posenc_dtype type) {
    vp low[SUMS], high[SUMS];
    for (size_t r = 0; r < n; r++)
        low[r] = high[r] = vp_zero();
#pragma GCC unroll 1 /* gcc 12 otherwise keeps AVX2's sums in memory: decode takes 1.06 times as long */
    for (size_t k = 0; k < ROW_QUADS; k++) {
        vq low_quad, high_quad;
        if (kept != NULL)
            low_quad = kept->at[k][v], high_quad = kept->at[k][v + 1];
        else
            take_rows(g->rows + 4 * k, numbers_at(b, type), v, type, &low_quad, &high_quad);
        for (size_t r = 0; r < n; r++) {
            vi first = vi_set1(s[r].words[k][0]), second = vi_set1(s[r].words[k][1]);
            low[r] = vp_add(low_quad, first, second, low[r]);
            high[r] = vp_add(high_quad, first, second, high[r]);
        }
    }
    for (size_t r = 0; r < n; r++) {
        float *sums = a->sums + (g->first + i + r) * a->sums_stride + b * POSENC_QUANT_BLOCK + v * VF;
        vf factor = v_set1(s[r].factor), offset = v_set1(s[r].offset);
        v_store(sums, v_fma(v_from_int(vp_sum(low[r])), factor, load_sums(sums, offset, type)));
        v_store(sums + VF, v_fma(v_from_int(vp_sum(high[r])), factor, load_sums(sums + VF, offset, type)));
    }
}

V_INLINE void add_sums(const posenc_attend_quants_args *a, const group *g, const shares *s, size_t i, size_t b,
                       const size_t n, const block_quads *kept, const posenc_dtype type) {
    for (size_t v = 0; v < BLOCK_VECTORS; v += 2)
        if (g->n > n)
            add_vectors(a, g, s, i, b, v, n, kept, type);
        else
            add_vectors(a, g, s, i, b, v, n, NULL, type);
}

V_INLINE void add_block(const posenc_attend_quants_args *a, const group *g, size_t b, size_t at,
                        const posenc_dtype type) {
    block_quads kept;
    for (size_t i = 0, n; i < g->n; i += n) {
        shares s[SUMS];
        n = i + SUMS <= g->n ? SUMS : 1;
        if (i == 0 && n < g->n)
            keep_quads(g, numbers_at(b, type), type, &kept);
        for (size_t r = 0; r < n; r++)
            find_words(a, g, i + r, at, &s[r], type);
        if (n == SUMS)
            add_sums(a, g, s, i, b, SUMS, &kept, type);
        else
            add_sums(a, g, s, i, b, 1, &kept, type);
    }
}

#ifndef POSENC_OWN_QUANT_PRODUCTS
/* One function for each format, as pack.c has for each type. In one for all of them AVX-512 takes 1.05 times as long
 * (AMD Zen 4). */
#define ATTEND(type, name, ...)                                                                                        \
    static __attribute__((noinline)) void attend_quants_##name(const posenc_attend_quants_args *args) {                \
        const posenc_attend_quants_args a = *args; /* a copy: no store changes it */                                   \
        walk_typed(&a, add_block, type);                                                                               \
        keep_and_add(&a, 1);                                                                                           \
    }
POSENC_EACH_FORMAT(ATTEND)

void VARIANT(attend_quants)(const posenc_attend_quants_args *args) {
    switch (args->rows_type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, ...)                                                                                          \
    case type: attend_quants_##name(args); break;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
}
#endif
