/* SIMD body of attention over quantised rows in integers; src/scalar/quant.c is the specification.
 * Needs: vec.h. Produces: pack_quants, dot_quants, attend_quants. Used by: avx2, avx512, neon.
 *
 * Lanes are rows of the table: four channels of a row are one lane of bytes, so that two multiplications of pairs of
 * 16 bits take in four channels of VF rows. The weighted sums multiply pairs of rows instead, lanes being channels. */
#include "vec.h"

#include <float.h>
#include <string.h>

#include "simd/typed.h"

#include "simd/prefetch.h"
#include "kernels/half.h"
#include "kernels/variant.h"

enum {
    PIECE = 16,        /* bytes: half a block of Q8_0, all channels of one of Q4_0 */
    N_PIECES = VF / 4, /* of a vector */
    PANEL_VECTORS = POSENC_PANEL / VF,
    QUADS = POSENC_QUANT_BLOCK / 4
};

V_INLINE const char *block_at(const void *row, size_t b, const posenc_dtype type) {
    return (const char *)row + b * (type == POSENC_Q8_0 ? POSENC_Q8_BYTES : POSENC_Q4_BYTES);
}

V_INLINE float scale_at(const void *row, size_t b, const posenc_dtype type) {
    return posenc_from_f16(*(const uint16_t *)(const void *)block_at(row, b, type));
}

/* ---- Packing ---- */

/* Rows become lanes, as in pack.c. */
V_INLINE void transpose(vf *block) {
    vf other[VF];
    for (int bit = 1; bit < VF; bit *= 2) {
        for (int k = 0; k < VF / 2; k++)
            v_zip(block[k], block[k + VF / 2], &other[2 * k], &other[2 * k + 1]);
        for (int k = 0; k < VF; k++)
            block[k] = other[k];
    }
}

/* Piece number `piece` of a row: of Q8_0 two make a block. */
V_INLINE const void *piece_at(const void *row, size_t piece, const posenc_dtype type) {
    if (type == POSENC_Q8_0)
        return block_at(row, piece / 2, type) + sizeof(uint16_t) + piece % 2 * PIECE;
    return block_at(row, piece, type) + sizeof(uint16_t);
}

/* The quad that lane `quad` of a piece belongs to: four channels, of Q4_0 the first of two. */
V_INLINE size_t quad_of(size_t piece, size_t quad, const posenc_dtype type) {
    return type == POSENC_Q8_0 ? piece * (PIECE / 4) + quad : piece * QUADS + quad;
}

/* Where rows are missing: zeros, as each type has them. */
static const uint8_t no_q8[PIECE],
    no_q4[PIECE] = {0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88};

/* Pieces first .. first + N_PIECES - 1, as far as there are any, of the VF rows from row t on, of which n are there. */
V_INLINE void pack_pieces(const posenc_pack_quants_args *a, size_t t, size_t n, size_t first, size_t n_pieces,
                          int8_t *to, const posenc_dtype type) {
    vf block[VF];
    for (size_t k = 0; k < VF; k++) {
        const void *pieces[N_PIECES];
        for (size_t p = 0; p < N_PIECES; p++)
            pieces[p] = k >= n ? (type == POSENC_Q8_0 ? no_q8 : no_q4)
                               : piece_at(a->rows[t + k], first + p < n_pieces ? first + p : first, type);
        block[k] = v_from_bits(vi_load_pieces(pieces));
    }
    transpose(block);
    for (size_t p = 0; p < N_PIECES && first + p < n_pieces; p++)
        for (size_t k = 0; k < PIECE / 4; k++) {
            vi bytes = vi_from_bits(block[p * (PIECE / 4) + k]);
            int8_t *at = to + quad_of(first + p, k, type) * POSENC_PANEL * 4;
            if (type == POSENC_Q8_0) {
                vi_store(at, bytes);
                continue;
            }
            vi_store(at, vi_low_nibbles(bytes));
            vi_store(at + PIECE / 4 * POSENC_PANEL * 4, vi_high_nibbles(bytes));
        }
}

/* VF rows from row t on, of which n are there. */
V_INLINE void pack_vector(const posenc_pack_quants_args *a, size_t t, size_t n, fetching *f, const posenc_dtype type) {
    size_t n_blocks = a->dim / POSENC_QUANT_BLOCK, n_pieces = type == POSENC_Q8_0 ? 2 * n_blocks : n_blocks;
    int8_t *to = a->panels + t / POSENC_PANEL * a->dim * POSENC_PANEL + t % POSENC_PANEL * 4;
    float *scales = a->scales + t / POSENC_PANEL * n_blocks * POSENC_PANEL + t % POSENC_PANEL;
    for (size_t b = 0; b < n_blocks; b++) {
        uint16_t halves[VF];
        for (size_t k = 0; k < VF; k++)
            halves[k] = k < n ? *(const uint16_t *)(const void *)block_at(a->rows[t + k], b, type) : 0;
        v_store(scales + b * POSENC_PANEL, v_load_f16(halves));
    }
    for (size_t p = 0; p < n_pieces; p += N_PIECES) {
        pack_pieces(a, t, n, p, n_pieces, to, type);
        fetch_some(f, N_PIECES * PIECE * VF);
    }
}

V_INLINE void pack_typed(const posenc_pack_quants_args *args, const posenc_dtype type) {
    const posenc_pack_quants_args a = *args; /* a copy: no store changes it */
    size_t padded = (a.n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
    fetching f = fetching_of(a.ahead, type == POSENC_Q8_0 ? a.dim : a.dim / 2);
    for (size_t t = 0; t < padded; t += VF) {
        size_t n = t < a.n_rows ? lanes_from(t, a.n_rows) : 0;
        if (n == VF)
            pack_vector(&a, t, VF, &f, type);
        else
            pack_vector(&a, t, n, &f, type);
    }
}

void VARIANT(pack_quants)(const posenc_pack_quants_args *a) {
    a->rows_type == POSENC_Q8_0 ? pack_typed(a, POSENC_Q8_0) : pack_typed(a, POSENC_Q4_0);
}

/* ---- Products ---- */

enum { DOT_X = VF == 8 ? 3 : 8, DOT_VECTORS = 2 }; /* sums that the registers hold */

/* n_x rows of x from row i on, with DOT_VECTORS vectors of rows from row t on. */
V_INLINE void dot_tile(const posenc_dot_quants_args *a, size_t i, size_t t, const size_t n_x) {
    size_t n_blocks = a->dim / POSENC_QUANT_BLOCK;
    const int8_t *panel = a->panels + t / POSENC_PANEL * a->dim * POSENC_PANEL + t % POSENC_PANEL * 4;
    const float *scales = a->scales + t / POSENC_PANEL * n_blocks * POSENC_PANEL + t % POSENC_PANEL;
    vf sum[DOT_X][DOT_VECTORS];
    for (size_t r = 0; r < n_x; r++)
        for (size_t v = 0; v < DOT_VECTORS; v++)
            sum[r][v] = v_set1(0.0f);
    for (size_t b = 0; b < n_blocks; b++) {
        vi exact[DOT_X][DOT_VECTORS];
        for (size_t r = 0; r < n_x; r++)
            for (size_t v = 0; v < DOT_VECTORS; v++)
                exact[r][v] = vi_set1(0);
        for (size_t quad = b * QUADS; quad < (b + 1) * QUADS; quad++) {
            vi even[DOT_VECTORS], odd[DOT_VECTORS];
            for (size_t v = 0; v < DOT_VECTORS; v++) {
                vi bytes = vi_load(panel + (quad * POSENC_PANEL + v * VF) * 4);
                even[v] = vi_even_bytes(bytes);
                odd[v] = vi_odd_bytes(bytes);
            }
            for (size_t r = 0; r < n_x; r++) {
                int32_t pairs[2]; /* channels 0 and 2, 1 and 3 */
                memcpy(pairs, a->x + (i + r) * a->x_stride + quad * 4, sizeof pairs);
                vi first = vi_set1(pairs[0]), second = vi_set1(pairs[1]);
                for (size_t v = 0; v < DOT_VECTORS; v++) {
                    exact[r][v] = vi_madd(even[v], first, exact[r][v]);
                    exact[r][v] = vi_madd(odd[v], second, exact[r][v]);
                }
            }
        }
        for (size_t r = 0; r < n_x; r++) {
            vf x_scale = v_set1(a->x_scales[(i + r) * a->scales_stride + b]);
            for (size_t v = 0; v < DOT_VECTORS; v++)
                sum[r][v] = v_fma(v_from_int(exact[r][v]), v_mul(x_scale, v_load(scales + b * POSENC_PANEL + v * VF)),
                                  sum[r][v]);
        }
    }
    for (size_t r = 0; r < n_x; r++)
        for (size_t v = 0; v < DOT_VECTORS; v++) {
            size_t first = t + v * VF, lanes = first < a->n_rows ? lanes_from(first, a->n_rows) : 0;
            store_typed(a->y + (i + r) * a->y_stride, first, sum[r][v], lanes, POSENC_F32);
        }
}

V_INLINE void dot_band(const posenc_dot_quants_args *a, size_t i, const size_t n_x) {
    for (size_t t = 0; t < a->n_rows; t += DOT_VECTORS * VF)
        dot_tile(a, i, t, n_x);
}

void VARIANT(dot_quants)(const posenc_dot_quants_args *args) {
    const posenc_dot_quants_args a = *args; /* a copy: no store changes it */
    size_t i = 0;
    for (; i + DOT_X <= a.n_x; i += DOT_X)
        dot_band(&a, i, DOT_X);
    for (; DOT_X > 4 && i + 4 <= a.n_x; i += 4)
        dot_band(&a, i, 4);
    for (; i + 2 <= a.n_x; i += 2)
        dot_band(&a, i, 2);
    if (i < a.n_x)
        dot_band(&a, i, 1);
}

/* ---- Weighted sums ---- */

enum {
    GROUP = POSENC_QUANT_GROUP,
    SUMS = VF == 8 ? 4 : 8,    /* that are added to at a time */
    STEP = 2 * VF,             /* channels that a pair of rows is taken of at a time */
    SHARE_VECTORS = GROUP / VF /* of the rows of a group */
};

/* What a group's rows count in one sum and block: pairs of W, and what their exact sums are multiplied by. */
typedef struct shares {
    int32_t pairs[GROUP / 2];
    float factor; /* 0: nothing */
} shares;

V_INLINE void find_shares(const float *weights, const float *scales, shares *to) {
    vf share[SHARE_VECTORS], largest = v_set1(0.0f), nothing = v_set1(0.0f);
    for (size_t v = 0; v < SHARE_VECTORS; v++) {
        vf weight = v_load(weights + v * VF);
        share[v] = v_zero_if(v_lt(weight, v_set1(FLT_MIN)), v_mul(weight, v_load(scales + v * VF)));
        largest = v_max(v_max(share[v], v_neg(share[v])), largest);
        nothing = v_add(v_mul(share[v], v_set1(0.0f)), nothing); /* NaN where a share is not finite */
    }
    float bad = v_sum_lanes(nothing), most = bad == 0.0f ? v_max_lanes(largest) : 0.0f;
    to->factor = bad == 0.0f ? 0.0f : bad;
    if (most < POSENC_QUANT_LEAST)
        return;
    int16_t rounded[GROUP];
    vf scale = v_set1(POSENC_QUANT_WEIGHT / most);
    for (size_t v = 0; v < SHARE_VECTORS; v++)
        vi_store_16(rounded + v * VF, vi_round(v_mul(share[v], scale)));
    memcpy(to->pairs, rounded, sizeof rounded);
    to->factor = most / POSENC_QUANT_WEIGHT;
}

/* Channels c .. c + STEP - 1 of n sums: a group's rows, which lie at `numbers`, times their shares. */
V_INLINE void add_step(const posenc_attend_quants_args *a, const char *const *blocks, const shares *s, size_t first,
                       size_t b, size_t c, const size_t n, const posenc_dtype type) {
    vi low[SUMS], high[SUMS];
    for (size_t i = 0; i < n; i++)
        low[i] = high[i] = vi_set1(0);
    for (size_t k = 0; k < GROUP / 2; k++) {
        vi lo, hi;
        const char *one = blocks[2 * k] + sizeof(uint16_t), *other = blocks[2 * k + 1] + sizeof(uint16_t);
        if (type == POSENC_Q8_0)
            vi_zip_bytes((const int8_t *)one + c, (const int8_t *)other + c, &lo, &hi);
        else
            vi_zip_nibbles((const uint8_t *)one, (const uint8_t *)other, c, &lo, &hi);
        for (size_t i = 0; i < n; i++) {
            vi pair = vi_set1(s[i].pairs[k]);
            low[i] = vi_madd(lo, pair, low[i]);
            high[i] = vi_madd(hi, pair, high[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        float *sums = a->sums + (first + i) * a->sums_stride + b * POSENC_QUANT_BLOCK + c;
        vf factor = v_set1(s[i].factor);
        v_store(sums, v_fma(v_from_int(low[i]), factor, v_load(sums)));
        v_store(sums + VF, v_fma(v_from_int(high[i]), factor, v_load(sums + VF)));
    }
}

V_INLINE void add_sums(const posenc_attend_quants_args *a, const char *const *blocks, const shares *s, size_t first,
                       size_t b, const size_t n, const posenc_dtype type) {
    for (size_t c = 0; c < POSENC_QUANT_BLOCK; c += STEP)
        add_step(a, blocks, s, first, b, c, n, type);
}

/* The rows of a group, of which some may be missing, and what each sum's weights are; a copy where there are fewer. */
typedef struct group {
    const void *const *rows;
    const float *weights;
    size_t stride;
} group;

V_INLINE void add_block(const posenc_attend_quants_args *a, const group *g, size_t b, const posenc_dtype type) {
    static const char no_block[POSENC_Q8_BYTES];
    const char *blocks[GROUP];
    float scales[GROUP];
    uint16_t halves[GROUP];
    for (size_t k = 0; k < GROUP; k++) {
        blocks[k] = g->rows[k] == NULL ? no_block : block_at(g->rows[k], b, type);
        halves[k] = *(const uint16_t *)(const void *)blocks[k];
    }
    for (size_t v = 0; v < SHARE_VECTORS; v++)
        v_store(scales + v * VF, v_load_f16(halves + v * VF));
    for (size_t i = 0; i < a->n; i += SUMS) {
        shares s[SUMS];
        size_t n = a->n - i < SUMS ? a->n - i : SUMS, n_some = 0;
        for (size_t r = 0; r < n; r++) {
            find_shares(g->weights + (i + r) * g->stride, scales, &s[r]);
            n_some += s[r].factor != 0.0f;
            if (s[r].factor == 0.0f)
                memset(s[r].pairs, 0, sizeof s[r].pairs);
        }
        if (n_some == 0)
            continue;
        if (n == SUMS)
            add_sums(a, blocks, s, i, b, SUMS, type);
        else if (n == 4)
            add_sums(a, blocks, s, i, b, 4, type);
        else
            for (size_t r = 0; r < n; r++)
                add_sums(a, blocks, s + r, i + r, b, 1, type);
    }
}

V_INLINE void attend_typed(const posenc_attend_quants_args *args, const posenc_dtype type) {
    const posenc_attend_quants_args a = *args; /* a copy: no store changes it */
    for (size_t i = 0; i < a.n; i++)
        memset(a.sums + i * a.sums_stride, 0, a.dim * sizeof(float));
    for (size_t first = 0; first < a.n_rows; first += GROUP) {
        group g = {a.rows + first, a.weights + first, a.weight_stride};
        for (size_t b = 0; b < a.dim / POSENC_QUANT_BLOCK; b++)
            add_block(&a, &g, b, type);
    }
    for (size_t i = 0; i < a.n; i++)
        for (size_t c = 0; c < a.dim; c += VF) {
            float *y = a.y + i * a.y_stride + c;
            v_store(y, v_fma(v_set1(a.keep[i]), v_load(y), v_load(a.sums + i * a.sums_stride + c)));
        }
}

void VARIANT(attend_quants)(const posenc_attend_quants_args *a) {
    a->rows_type == POSENC_Q8_0 ? attend_typed(a, POSENC_Q8_0) : attend_typed(a, POSENC_Q4_0);
}
