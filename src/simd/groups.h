/* SPDX-License-Identifier: MIT */
/* Weighted sums of quantised rows, POSENC_QUANT_GROUP rows at a time: integer weights of a group's rows, and the walk
 * over groups and blocks, which calls an add_block_function for the products. Needs: vec.h. Used by: quant, and by
 * tiles_quant of AMX. */
#ifndef POSENC_SIMD_GROUPS_H
#define POSENC_SIMD_GROUPS_H

#include "vec.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "simd/prefetch.h"
#include "simd/typed.h"
#include "kernels/half.h"
#include "kernels/kernels.h"

enum { GROUP = POSENC_QUANT_GROUP, SHARE_VECTORS = GROUP / VF /* of the rows of a group */ };

/* Numbers of a group's rows as proportions of the largest: weights in a sum, from 0 to POSENC_QUANT_MAX, or scales of a
 * block, from -1 to 1. */
typedef struct proportions {
    _Alignas(64) float part[GROUP]; /* unaligned, attend_quants takes 1.08 times as long (AMD Zen 4) */
    float largest;                  /* NaN if a number is not finite; 0: no row counts */
    float step;                     /* largest / unit */
} proportions;

/* Largest |x|; NaN if an x is not finite. Compares integers, which have the order of |x|. */
V_INLINE float largest_of(const vf x[SHARE_VECTORS]) {
    vi bits = vi_set1(0);
    for (size_t v = 0; v < SHARE_VECTORS; v++)
        bits = vi_max(vi_from_bits(v_abs(x[v])), bits);
    int32_t most = vi_max_lanes(bits);
    return most >= 0x7f800000 ? NAN : posenc_float((uint32_t)most);
}

/* Scales x so that the largest |x| becomes `unit`. All are 0 if it is less than `least`. */
V_INLINE void find_proportions(const vf x[SHARE_VECTORS], float unit, float least, proportions *to) {
    float largest = largest_of(x);
    to->largest = largest < least ? 0.0f : largest;
    to->step = to->largest / unit;
    vf factor = v_set1(to->largest > 0.0f ? unit / to->largest : 0.0f);
    for (size_t v = 0; v < SHARE_VECTORS; v++)
        v_store(to->part + v * VF, v_mul(x[v], factor));
}

/* Proportions of a block's scales. weights: NULL, or weights of a sum: rows of weight 0 are ignored. Returns 1 if the
 * scale of another row is below POSENC_QUANT_UNEVEN of the largest. */
V_INLINE int find_scales(const float *scales, const float *weights, proportions *to) {
    vf x[SHARE_VECTORS], least = v_set1(FLT_MIN);
    for (size_t v = 0; v < SHARE_VECTORS; v++) {
        x[v] = v_load(scales + v * VF);
        if (weights != NULL)
            x[v] = v_zero_if(v_lt(v_load(weights + v * VF), least), x[v]);
    }
    find_proportions(x, 1.0f, 0.0f, to);
    uint32_t small = 0; /* scales, a bit for each */
    for (size_t v = 0; v < SHARE_VECTORS; v++) {
        uint32_t bits = v_lane_bits(v_lt(v_abs(v_load(to->part + v * VF)), v_set1(POSENC_QUANT_UNEVEN)));
        small |= weights != NULL ? bits & ~v_lane_bits(v_lt(v_load(weights + v * VF), least)) : bits;
    }
    return small != 0;
}

/* Integer weights of rows in a sum, before they are rounded. */
V_INLINE void multiply_parts(const proportions *weights, const proportions *scales, vf x[SHARE_VECTORS]) {
    for (size_t v = 0; v < SHARE_VECTORS; v++)
        x[v] = v_mul(v_load(weights->part + v * VF), v_load(scales->part + v * VF));
}

/* Multiplies the scales so that the largest integer weight becomes POSENC_QUANT_MAX. */
V_INLINE void stretch(const proportions *weights, proportions *scales) {
    vf x[SHARE_VECTORS];
    multiply_parts(weights, scales, x);
    float largest = largest_of(x);
    if (!(largest >= POSENC_QUANT_LEAST))
        return;
    vf factor = v_set1((float)POSENC_QUANT_MAX / largest);
    for (size_t v = 0; v < SHARE_VECTORS; v++)
        v_store(scales->part + v * VF, v_mul(v_load(scales->part + v * VF), factor));
    scales->largest *= largest / (float)POSENC_QUANT_MAX;
}

enum { CHUNK = 64, BLOCKS = 8 };

/* A group of rows, their weights in sums [first, first + n), and their scales in BLOCKS blocks. */
typedef struct group {
    const void *const *rows;
    size_t first_row, first, n;
    proportions weights[CHUNK];
    int counts_all[CHUNK];             /* 1 if no row of the sum has a weight of 0 */
    proportions scales[BLOCKS];        /* for sums without weights of 0 */
    int are_even[BLOCKS];              /* 1 if no scale is below POSENC_QUANT_UNEVEN of the largest */
    float block_scales[BLOCKS][GROUP]; /* scales as stored, widened */
    float block_offsets[BLOCKS][GROUP];
} group;

V_INLINE void find_weights(const posenc_attend_quants_args *a, group *g) {
    for (size_t i = 0; i < g->n; i++) {
        const float *weights = a->weights + (g->first + i) * a->weight_stride + g->first_row;
        vf x[SHARE_VECTORS], least = v_set1(-FLT_MAX); /* minus the least weight */
        for (size_t v = 0; v < SHARE_VECTORS; v++) {
            vf weight = v_load(weights + v * VF);
            least = v_max(v_neg(weight), least);
            x[v] = v_zero_if(v_lt(weight, v_set1(FLT_MIN)), weight);
        }
        g->counts_all[i] = v_max_lanes(least) <= -FLT_MIN;
        find_proportions(x, (float)POSENC_QUANT_MAX, POSENC_QUANT_LEAST, &g->weights[i]);
    }
}

/* Bytes from a row to the numbers of its block b. */
V_INLINE size_t numbers_at(size_t b, const posenc_dtype type) {
    return b * (size_t)posenc_block_bytes(type) + posenc_header_bytes(type);
}

/* Finds the scales of n blocks from block b on before they are needed: each is a long chain of operations. */
V_INLINE void find_block_scales(group *g, size_t b, size_t n, const posenc_dtype type) {
    for (size_t k = 0; k < n; k++) {
        for (size_t v = 0; v < SHARE_VECTORS; v++) {
            const size_t at = (b + k) * (size_t)posenc_block_bytes(type);
            vf scales = v_gather_f16(g->rows + v * VF, at);
            v_store(g->block_scales[k] + v * VF, scales);
            if (posenc_has_offset(type))
                v_store(g->block_offsets[k] + v * VF, gather_offsets(g->rows + v * VF, at, scales, type));
        }
        g->are_even[k] = !find_scales(g->block_scales[k], NULL, &g->scales[k]);
    }
}

/* Proportions of a block's scales for one sum. Not inline, as it is rare. */
__attribute__((noinline)) static void find_own_scales(const float *scales, const float *row, const proportions *weights,
                                                      proportions *own) {
    if (find_scales(scales, row, own))
        stretch(weights, own);
}

/* Integer weights W of the group's rows in its sum i, for the block whose scales are number `at`. Returns the factor of
 * their exact sum. */
V_INLINE float find_shares(const posenc_attend_quants_args *a, const group *g, size_t i, size_t at,
                           vi shares[SHARE_VECTORS]) {
    proportions own;
    const proportions *weights = &g->weights[i], *scales = &g->scales[at];
    if (!(g->counts_all[i] & g->are_even[at])) {
        const float *row = a->weights + (g->first + i) * a->weight_stride + g->first_row;
        find_own_scales(g->block_scales[at], row, weights, &own);
        scales = &own;
    }
    vf x[SHARE_VECTORS];
    multiply_parts(weights, scales, x);
    for (size_t v = 0; v < SHARE_VECTORS; v++)
        shares[v] = vi_round(x[v]);
    return weights->step * scales->largest;
}

/* Share of the offsets in the group's sum i, for the block whose offsets are number `at`. */
V_INLINE float find_offset(const group *g, size_t i, size_t at) {
    const proportions *weights = &g->weights[i];
    vf x[SHARE_VECTORS], zero = v_set1(0.0f);
    for (size_t v = 0; v < SHARE_VECTORS; v++) {
        vf part = v_load(weights->part + v * VF), offset = v_load(g->block_offsets[at] + v * VF);
        x[v] = v_select(v_lt(zero, part), v_mul(part, offset), zero);
    }
    for (size_t n = SHARE_VECTORS / 2; n > 0; n /= 2)
        for (size_t v = 0; v < n; v++)
            x[v] = v_add(x[v], x[v + n]);
    return weights->step * v_sum_lanes(x[0]);
}

/* Sums as a group's block finds them. */
V_INLINE vf load_sums(const float *sums, vf offset, const posenc_dtype type) {
    return posenc_has_offset(type) ? v_add(v_load(sums), offset) : v_load(sums);
}

/* Adds block b of the group's rows to the sums; its scales are number `at` of the group's. */
typedef void add_block_function(const posenc_attend_quants_args *a, const group *g, size_t b, size_t at,
                                const posenc_dtype type);

V_INLINE void walk_blocks(const posenc_attend_quants_args *a, group *g, add_block_function *add_block,
                          const posenc_dtype type, fetching *f) {
    size_t n_blocks = a->dim / POSENC_QUANT_BLOCK;
    g->rows = a->rows + g->first_row;
    find_weights(a, g);
    for (size_t first = 0; first < n_blocks; first += BLOCKS) {
        size_t n = n_blocks - first < BLOCKS ? n_blocks - first : BLOCKS;
        find_block_scales(g, first, n, type);
        for (size_t b = 0; b < n; b++) {
            add_block(a, g, first + b, b, type);
            fetch_some(f, g->n);
        }
    }
}

V_INLINE void walk_typed(const posenc_attend_quants_args *a, add_block_function *add_block, const posenc_dtype type) {
    fetching f = fetching_of(a->ahead, a->n * (a->n_rows / GROUP) * (a->dim / POSENC_QUANT_BLOCK));
    for (size_t i = 0; i < a->n && !a->adds; i++)
        memset(a->sums + i * a->sums_stride, 0, a->dim * sizeof(float));
    for (size_t first = 0; first < a->n; first += CHUNK) {
        group g; /* no initialiser: it would clear all of it */
        g.first = first;
        g.n = a->n - first < CHUNK ? a->n - first : CHUNK;
        for (g.first_row = 0; g.first_row < a->n_rows; g.first_row += GROUP)
            walk_blocks(a, &g, add_block, type, &f);
    }
}

/* Computes the sums, group by group. add_block: the products of a group's block. */
V_INLINE void walk_groups(const posenc_attend_quants_args *a, add_block_function *add_block) {
    switch (a->rows_type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, ...)                                                                                                \
    case type: walk_typed(a, add_block, type); break;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
}

/* y = keep * y + sums. are_paired: the channels of two vectors alternate, as the products leave them; they are put in
 * order. */
V_INLINE void keep_and_add(const posenc_attend_quants_args *a, const int are_paired) {
    for (size_t i = 0; i < a->n && a->keep != NULL; i++) {
        vf keep = v_set1(a->keep[i]);
        for (size_t c = 0; c < a->dim; c += 2 * VF) {
            float *y = a->y + i * a->y_stride + c, *sums = a->sums + i * a->sums_stride + c;
            vf first = v_load(sums), second = v_load(sums + VF);
            if (are_paired) {
                v_unpair(first, second, &first, &second);
                v_store(sums, first);
                v_store(sums + VF, second);
            }
            v_store(y, v_fma(keep, v_load(y), first));
            v_store(y + VF, v_fma(keep, v_load(y + VF), second));
        }
    }
}

#endif
