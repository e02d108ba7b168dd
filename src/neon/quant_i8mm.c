/* SPDX-License-Identifier: MIT */
/* Attention over quantised rows on ARM CPUs with i8mm; src/scalar/quant.c is the specification. Needs: vec.h. Produces:
 * pack_quants (the shared body), dot_quants, attend_quants. Used by: neon-i8mm.
 *
 * SMMLA adds the products of two rows of eight bytes with two other rows: twice the work of SDOT. The first two rows
 * are digits of two queries or sums, the other two the numbers that they are multiplied with. Results of the first row
 * are in the lower half. High digits come first; their sum is shifted before the low digits are added. */
#include "vec.h"

#define POSENC_OWN_QUANT_PRODUCTS
#include "simd/quant.c"

enum { OCTET = 8, OCTETS = POSENC_QUANT_BLOCK / OCTET };

/* Digits of eight numbers of each of two rows: the high ones, then the low ones. n = 256 high + low. */
typedef struct digit_rows {
    int8x16_t of[2];
} digit_rows;

V_INLINE digit_rows digits_of(int16x8_t row0, int16x8_t row1) {
    return (digit_rows){{vrshrn_high_n_s16(vrshrn_n_s16(row0, 8), row1, 8), vmovn_high_s16(vmovn_s16(row0), row1)}};
}

V_INLINE vf both_halves(float lower, float upper) {
    return vcombine_f32(vdup_n_f32(lower), vdup_n_f32(upper));
}

/* Four floats of each of two rows out of halves that belong together, or the reverse. */
V_INLINE void swap_halves(vf *row0, vf *row1) {
    float64x2_t a = vreinterpretq_f64_f32(*row0), b = vreinterpretq_f64_f32(*row1);
    *row0 = vreinterpretq_f32_f64(vzip1q_f64(a, b));
    *row1 = vreinterpretq_f32_f64(vzip2q_f64(a, b));
}

/* Four bytes of each of four rows, and the next four of each: eight of rows 0 and 1, and of rows 2 and 3. */
V_INLINE void join_quads(vi first, vi next, int8x16_t rows[2]) {
    rows[0] = vreinterpretq_s8_s32(vzip1q_s32(first, next));
    rows[1] = vreinterpretq_s8_s32(vzip2q_s32(first, next));
}

/* ---- Products: eight rows of x or fewer, with a vector of rows ---- */

enum { MOST_PAIRS = 4 };

/* Pairs of rows of x at work: for each block the digits of each octet and pair, and the scales of each pair. */
typedef struct x_pairs {
    int8x16_t digits[POSENC_QUANT_DIM / OCTET * MOST_PAIRS * 2];
    vf scales[POSENC_QUANT_DIM / POSENC_QUANT_BLOCK * MOST_PAIRS];
} x_pairs;

/* The digits of block b, high (0) or low (1) ones: of octet 0, then 1 .., each the pairs in their order. */
V_INLINE size_t digits_at(size_t b, size_t digit, const size_t n_pairs) {
    return (b * 2 + digit) * OCTETS * n_pairs;
}

V_INLINE void find_pairs(const posenc_dot_quants_args *a, size_t i, const size_t n_pairs, x_pairs *to) {
    const uint8x16_t in_order = {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15};
    for (size_t b = 0; b < a->dim / POSENC_QUANT_BLOCK; b++)
        for (size_t pair = 0; pair < n_pairs; pair++) {
            const int16_t *row0 = a->x + (i + 2 * pair) * a->x_stride + b * POSENC_QUANT_BLOCK;
            const float *scale = a->x_scales + (i + 2 * pair) * a->scales_stride + b;
            to->scales[b * n_pairs + pair] = both_halves(scale[0], scale[a->scales_stride]);
            for (size_t octet = 0; octet < OCTETS; octet++) {
                const int16_t *row = row0 + octet * OCTET;
                digit_rows both = digits_of(vld1q_s16(row), vld1q_s16(row + a->x_stride));
                for (size_t digit = 0; digit < 2; digit++)
                    to->digits[digits_at(b, digit, n_pairs) + octet * n_pairs + pair] =
                        vqtbl1q_s8(both.of[digit], in_order);
            }
        }
}

/* The exact sums of block b of four rows, whose quads begin at `from`: for each pair of x those of rows 0 and 1, and of
 * rows 2 and 3. */
V_INLINE void multiply_block(const x_pairs *x, size_t b, const size_t n_pairs, const int8_t *from,
                             vi exact[MOST_PAIRS][2]) {
    int8x16_t rows[OCTETS][2];
    for (size_t octet = 0; octet < OCTETS; octet++) {
        const int8_t *quad = from + octet * 2 * POSENC_PANEL * 4;
        join_quads(vi_load(quad), vi_load(quad + POSENC_PANEL * 4), rows[octet]);
    }
    for (size_t pair = 0; pair < n_pairs; pair++)
        exact[pair][0] = exact[pair][1] = vi_set1(0);
    for (size_t digit = 0; digit < 2; digit++) {
        const int8x16_t *digits = x->digits + digits_at(b, digit, n_pairs);
        for (size_t pair = 0; digit == 1 && pair < n_pairs; pair++)
            for (size_t k = 0; k < 2; k++)
                exact[pair][k] = vshlq_n_s32(exact[pair][k], 8);
        for (size_t octet = 0; octet < OCTETS; octet++)
            for (size_t pair = 0; pair < n_pairs; pair++)
                for (size_t k = 0; k < 2; k++)
                    exact[pair][k] = vmmlaq_s32(exact[pair][k], digits[octet * n_pairs + pair], rows[octet][k]);
    }
}

/* Adds the offsets of block b of four rows, the first of which is number `at` of them. */
V_INLINE void pair_offsets(const posenc_dot_quants_args *a, size_t i, size_t b, size_t at, const size_t n_pairs,
                           vf sums[MOST_PAIRS][2]) {
    vf low = v_load(a->offsets + at), high = low;
    swap_halves(&low, &high);
    for (size_t pair = 0; pair < n_pairs; pair++) {
        const float *x_sum = a->x_sums + (i + 2 * pair) * a->scales_stride + b;
        vf x_sums = both_halves(x_sum[0], x_sum[a->scales_stride]);
        sums[pair][0] = v_fma(x_sums, low, sums[pair][0]);
        sums[pair][1] = v_fma(x_sums, high, sums[pair][1]);
    }
}

V_INLINE void pair_tile(const posenc_dot_quants_args *a, const x_pairs *x, size_t i, size_t t, const size_t n_pairs,
                        const int has_offsets) {
    size_t n_blocks = a->dim / POSENC_QUANT_BLOCK;
    const int8_t *panel = a->panels + t / POSENC_PANEL * a->dim * POSENC_PANEL + t % POSENC_PANEL * 4;
    const float *scales = a->scales + t / POSENC_PANEL * n_blocks * POSENC_PANEL + t % POSENC_PANEL;
    vf sums[MOST_PAIRS][2];
    for (size_t pair = 0; pair < n_pairs; pair++)
        sums[pair][0] = sums[pair][1] = v_set1(0.0f);
    for (size_t b = 0; b < n_blocks; b++) {
        vi exact[MOST_PAIRS][2];
        multiply_block(x, b, n_pairs, panel + b * QUADS * POSENC_PANEL * 4, exact);
        vf low = v_load(scales + b * POSENC_PANEL), high = low;
        swap_halves(&low, &high); /* twice rows 0 and 1, and twice rows 2 and 3 */
        for (size_t pair = 0; pair < n_pairs; pair++) {
            vf x_scales = x->scales[b * n_pairs + pair];
            sums[pair][0] = v_fma(v_from_int(exact[pair][0]), v_mul(x_scales, low), sums[pair][0]);
            sums[pair][1] = v_fma(v_from_int(exact[pair][1]), v_mul(x_scales, high), sums[pair][1]);
        }
        if (has_offsets)
            pair_offsets(a, i, b, (size_t)(scales - a->scales) + b * POSENC_PANEL, n_pairs, sums);
    }
    for (size_t pair = 0; pair < n_pairs; pair++) {
        swap_halves(&sums[pair][0], &sums[pair][1]);
        for (size_t k = 0; k < 2; k++)
            store_typed(a->y + (i + 2 * pair + k) * a->y_stride, t, sums[pair][k], lanes_from(t, a->n_rows),
                        POSENC_F32);
    }
}

V_INLINE void pair_band(const posenc_dot_quants_args *a, size_t i, const size_t n_pairs, fetching *f) {
    x_pairs x;
    find_pairs(a, i, n_pairs, &x);
    for (size_t t = 0; t < a->n_rows; t += VF) {
        if (a->offsets != NULL)
            pair_tile(a, &x, i, t, n_pairs, 1);
        else
            pair_tile(a, &x, i, t, n_pairs, 0);
        if (i == 0) /* with the first rows of x */
            fetch_some(f, VF * a->dim);
    }
}

/* A row that is left alone has no use for SMMLA: with its own two digits for a pair it takes half as many instructions
 * as SDOT, and as many again to join the quads. */
void VARIANT(dot_quants)(const posenc_dot_quants_args *args) {
    const posenc_dot_quants_args a = *args; /* a copy: no store changes it */
    fetching f = fetching_of(a.ahead, a.n_rows * a.dim);
    size_t i = 0;
    for (; i + 8 <= a.n_x; i += 8)
        pair_band(&a, i, 4, &f);
    for (; i + 4 <= a.n_x; i += 4)
        pair_band(&a, i, 2, &f);
    for (; i + 2 <= a.n_x; i += 2)
        pair_band(&a, i, 1, &f);
    if (i < a.n_x)
        dot_band(&a, i, 1, &f);
}

/* ---- Weighted sums, two at a time ---- */

enum { GROUP_OCTETS = GROUP / OCTET, CHANNEL_PAIRS = POSENC_QUANT_BLOCK / 2 };

/* Weights of a group's rows in two sums, as digits. */
typedef struct pair_shares {
    digit_rows octets[GROUP_OCTETS];
    vf factors, offsets;
} pair_shares;

V_INLINE int16x8_t narrow(const vi numbers[2]) {
    return vmovn_high_s32(vmovn_s32(numbers[0]), numbers[1]);
}

/* Finds the weights in sums i and i + 1. */
V_INLINE void find_pair_shares(const posenc_attend_quants_args *a, const group *g, size_t i, size_t at, pair_shares *to,
                               const posenc_dtype type) {
    vi numbers[2][SHARE_VECTORS];
    float factor0 = find_shares(a, g, i, at, numbers[0]), factor1 = find_shares(a, g, i + 1, at, numbers[1]);
    to->factors = both_halves(factor0, factor1);
    to->offsets = v_set1(0.0f);
    if (posenc_has_offset(type))
        to->offsets = both_halves(find_offset(g, i, at), find_offset(g, i + 1, at));
    for (size_t octet = 0; octet < GROUP_OCTETS; octet++)
        to->octets[octet] = digits_of(narrow(numbers[0] + 2 * octet), narrow(numbers[1] + 2 * octet));
}

/* The numbers of a group's rows in a block: in each vector two channels of eight rows. */
typedef struct joined_rows {
    int8x16_t of[CHANNEL_PAIRS][GROUP_OCTETS];
} joined_rows;

V_INLINE void join_rows(const group *g, size_t at, const posenc_dtype type, joined_rows *to) {
    for (size_t octet = 0; octet < GROUP_OCTETS; octet++)
        for (size_t v = 0; v < BLOCK_VECTORS; v += 2) {
            vq quads[2][2];
            for (size_t k = 0; k < 2; k++)
                take_rows(g->rows + octet * OCTET + 4 * k, at, v, type, &quads[k][0], &quads[k][1]);
            for (size_t k = 0; k < 2; k++) {
                int8x16_t pairs[2];
                join_quads(quads[0][k], quads[1][k], pairs);
                to->of[2 * (v + k)][octet] = pairs[0];
                to->of[2 * (v + k) + 1][octet] = pairs[1];
            }
        }
}

/* Adds to two sums. Until all groups are added, the rows of the two hold pairs of channels: 0 and 1 of the first and of
 * the second in one, 2 and 3 in the other. */
V_INLINE void add_pair(const posenc_attend_quants_args *a, const pair_shares *s, size_t i, size_t b,
                       const joined_rows *values, const posenc_dtype type) {
    float *sums = a->sums + i * a->sums_stride + b * POSENC_QUANT_BLOCK;
#pragma GCC unroll 1 /* gcc 12 otherwise makes 190 instructions of it that are estimated to take as long */
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        for (size_t half = 0; half < 2; half++) {
            const int8x16_t *rows = values->of[2 * v + half];
            vi exact = vi_set1(0);
            for (size_t octet = 0; octet < GROUP_OCTETS; octet++)
                exact = vmmlaq_s32(exact, s->octets[octet].of[0], rows[octet]);
            exact = vshlq_n_s32(exact, 8);
            for (size_t octet = 0; octet < GROUP_OCTETS; octet++)
                exact = vmmlaq_s32(exact, s->octets[octet].of[1], rows[octet]);
            float *at = sums + half * a->sums_stride + v * VF;
            v_store(at, v_fma(v_from_int(exact), s->factors, load_sums(at, s->offsets, type)));
        }
}

/* All but the last of an odd number. */
V_INLINE void add_pairs(const posenc_attend_quants_args *a, const group *g, size_t b, size_t at,
                        const posenc_dtype type) {
    joined_rows values;
    join_rows(g, numbers_at(b, type), type, &values);
    for (size_t i = 0; i + 2 <= g->n; i += 2) {
        pair_shares s;
        find_pair_shares(a, g, i, at, &s, type);
        add_pair(a, &s, g->first + i, b, &values, type);
    }
}

/* Alone it goes by SDOT: its two digits for a pair would take as many instructions, joining included. */
V_INLINE void add_last(const posenc_attend_quants_args *a, const group *g, size_t b, size_t at,
                       const posenc_dtype type) {
    shares s;
    find_words(a, g, g->n - 1, at, &s, type);
    for (size_t v = 0; v < BLOCK_VECTORS; v += 2)
        add_vectors(a, g, &s, g->n - 1, b, v, 1, NULL, type);
}

V_INLINE void add_block_by_pairs(const posenc_attend_quants_args *a, const group *g, size_t b, size_t at,
                                 const posenc_dtype type) {
    if (g->n > 1)
        add_pairs(a, g, b, at, type);
    if (g->n % 2 == 1)
        add_last(a, g, b, at, type);
}

/* Each sum into a row of its own. */
V_INLINE void part_pairs(const posenc_attend_quants_args *a) {
    for (size_t i = 0; i + 2 <= a->n; i += 2)
        for (size_t c = 0; c < a->dim; c += VF) {
            float *at = a->sums + i * a->sums_stride + c;
            vf row0 = v_load(at), row1 = v_load(at + a->sums_stride);
            swap_halves(&row0, &row1);
            v_store(at, row0);
            v_store(at + a->sums_stride, row1);
        }
}

void VARIANT(attend_quants)(const posenc_attend_quants_args *args) {
    const posenc_attend_quants_args a = *args; /* a copy: no store changes it */
    walk_groups(&a, add_block_by_pairs);
    if (a.keep != NULL)
        part_pairs(&a);
    keep_and_add(&a, 0);
}
