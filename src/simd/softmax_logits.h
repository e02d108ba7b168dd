/* SPDX-License-Identifier: MIT */
/* Attention logits of one vector of keys; src/scalar/softmax.c is the specification. plain_logits: unmasked keys with
 * at most one bias, term or cap. any_logits: everything that a row can have. Needs: vec.h. Used by: softmax_passes. */
#ifndef POSENC_SIMD_SOFTMAX_LOGITS_H
#define POSENC_SIMD_SOFTMAX_LOGITS_H

#include "vec.h"

#include <math.h>

#include "simd/exp.h"
#include "simd/softmax_blocks.h"
#include "simd/typed.h"
#include "kernels/kernels.h"

/* Terms of the logits of a row. Common kinds have loops of their own. */
typedef enum logit_kind {
    SCALED,
    WITH_ALIBI,
    WITH_REL_BIAS,
    WITH_CONSTANT,
    WITH_BIAS,
    WITH_QUERY_TERM,
    WITH_CAP,
    WITH_ANYTHING
} logit_kind;

V_INLINE logit_kind kind_of(const row *a) {
    int is_plain = a->k_pos == NULL && a->by_key.product == NULL;
    int has_alibi = a->slope != 0.0f, has_rel_bias = a->rel_bias.at != NULL, has_bias = a->bias != NULL;
    int has_query_term = a->by_query.product != NULL, has_cap = a->cap != 0.0f;
    if (!is_plain || has_alibi + has_rel_bias + has_bias + has_query_term + has_cap > 1)
        return WITH_ANYTHING;
    if (has_query_term || has_cap)
        return has_cap ? WITH_CAP : WITH_QUERY_TERM;
    return has_alibi ? WITH_ALIBI : has_rel_bias ? WITH_REL_BIAS : has_bias ? WITH_BIAS : SCALED;
}

V_INLINE vf alibi_penalty(vi offsets, float slope) {
    return v_mul(v_set1(slope), v_from_int(vi_abs(offsets)));
}

/* product[index[k]] for k < n. Rules of relative tables (relative.h) mostly give neighbouring keys one row, or rows
 * side by side in either direction, and a load does; or, by logarithms, rows nearby, which are moved within a vector.
 * Gathers take twice as long as the rest of the softmax: with them the term cost 200 %, so it costs 10 to 25 % (AMD Zen
 * 4, AVX-512 and AVX2). */
V_INLINE vf products_along(const float *product, const int32_t *index, int32_t last_row, size_t n) {
    vi at = vi_load_n(index, n);
    if (n == VF) {
        const float *first = product + index[0];
        vi steps = vi_sub(at, vi_set1(index[0]));
        if (vi_same(steps, vi_set1(0)))
            return v_set1(*first);
        if (vi_same(steps, vi_iota()))
            return v_load(first);
        if (vi_same(steps, vi_sub(vi_set1(0), vi_iota())))
            return v_reverse(v_load(first - (VF - 1)));
        int32_t low = index[0] < index[VF - 1] ? index[0] : index[VF - 1];
        vi from_low = vi_sub(at, vi_set1(low));
        size_t n_rows = last_row - low < VF ? (size_t)(last_row - low) + 1 : VF;
        if (vi_same(from_low, vi_min(vi_max(from_low, vi_set1(0)), vi_set1(VF - 1))))
            return v_permute(v_load_n(product + low, n_rows), from_low);
    }
    return v_gather_n(product, at, n);
}

/* Terms of plain logits, in registers: the compiler cannot take a store to the result for a change of them. */
typedef struct plain_terms {
    vf scale, bias_slope, constant; /* constant: one bias for all keys of a run */
    vf slope, step;                 /* ALiBi's slope; difference of distances between two steps */
    vf cap, inv_cap;
    const float *x, *rel_bias;
    ptrdiff_t key_0; /* index of key 0 in rel_bias */
    const float *product;
    const int32_t *index;
    int32_t last_row;
    ptrdiff_t index_0; /* index of key 0 in the relative index */
    const void *bias;
    posenc_dtype bias_type;
} plain_terms;

/* direction: 1 for keys up to the query's own, -1 for keys behind it. */
V_INLINE plain_terms plain_terms_of(const row *a, float constant, int32_t direction) {
    return (plain_terms){
        .constant = v_set1(constant),
        .scale = v_set1(a->scale),
        .bias_slope = v_set1(a->bias_slope),
        .slope = v_set1(a->slope),
        .step = v_set1((float)(-direction * LANES)),
        .cap = v_set1(a->cap),
        .inv_cap = v_set1(a->inv_cap),
        .x = a->x,
        .rel_bias = a->rel_bias.at,
        .key_0 = -(ptrdiff_t)a->position - a->rel_bias.first,
        .product = a->by_query.product,
        .index = a->by_query.index,
        .last_row = a->by_query.last_row,
        .index_0 = -(ptrdiff_t)a->position - a->by_query.first,
        .bias = a->bias,
        .bias_type = a->bias_type,
    };
}

/* Scores of n keys; without any, zeros. */
V_INLINE vf scores_at(const float *x, size_t j, size_t n, const int has_scores) {
    return has_scores ? load_typed(x, j, n, POSENC_F32) : v_set1(0.0f);
}

/* Logits of n visible keys from j on. Only ALiBi uses the distances. */
V_INLINE vf plain_logits(const plain_terms *t, vf distances, size_t j, size_t n, const logit_kind kind,
                         const int has_scores) {
    vf s = scores_at(t->x, j, n, has_scores);
    switch (kind) {
    case WITH_ALIBI: return v_fms(s, t->scale, v_mul(t->slope, distances));
    case WITH_REL_BIAS:
        return v_fma(s, t->scale, load_typed(t->rel_bias + (t->key_0 + (ptrdiff_t)j), 0, n, POSENC_F32));
    case WITH_CONSTANT: return v_fma(s, t->scale, t->constant);
    case WITH_QUERY_TERM:
        s = v_add(s, products_along(t->product, t->index + (t->index_0 + (ptrdiff_t)j), t->last_row, n));
        return v_mul(s, t->scale);
    case WITH_CAP: return v_mul(tanh_any(v_mul(v_mul(s, t->scale), t->inv_cap)), t->cap);
    case WITH_BIAS: return v_fma(s, t->scale, v_mul(t->bias_slope, load_float(t->bias, j, n, t->bias_type)));
    default: return v_mul(s, t->scale);
    }
}

/* ---- Logits of any row ---- */

/* Keys of one vector. scattered: their biases are gathered, because keys have given positions, or because some are
 * masked and need no entry in a relative bias. */
typedef struct keys {
    size_t j, n;
    vi offsets;
    int scattered;
    cell_mask mask;
} keys;

V_INLINE vi clamped_indices(const keys *k, int32_t first, int32_t last) {
    vi inside = vi_min(vi_max(k->offsets, vi_set1(first)), vi_set1(last));
    return vi_sub(inside, vi_set1(first));
}

/* 1 if some of the keys are beyond an end of the relative bias. */
V_INLINE int is_beyond(const row *a, const keys *k) {
    ptrdiff_t offset = (ptrdiff_t)k->j - a->position;
    return offset < a->rel_bias.first || offset + (ptrdiff_t)k->n - 1 > a->rel_bias.last;
}

V_INLINE vf rel_bias_values(const row *a, const keys *k) {
    if (k->scattered || is_beyond(a, k))
        return v_gather_n(a->rel_bias.at, clamped_indices(k, a->rel_bias.first, a->rel_bias.last), k->n);
    return v_load_n(a->rel_bias.at + ((ptrdiff_t)k->j - a->position - a->rel_bias.first), k->n);
}

V_INLINE vf rel_term_values(const row *a, const posenc_rel_term *r, const keys *k) {
    const int32_t *here = r->index + ((ptrdiff_t)k->j - a->position - r->first);
    if (!k->scattered && r->key_stride == 0)
        return products_along(r->product, here, r->last_row, k->n);
    if (!k->scattered && k->n == VF) /* a row for each key: DeBERTa's softmax takes 0.8 times as long as by a gather */
        return v_pick(r->product + (ptrdiff_t)k->j * r->key_stride, r->key_stride, here);
    vi index =
        k->scattered ? vi_gather_n(r->index, clamped_indices(k, r->first, r->last), k->n) : vi_load_n(here, k->n);
    if (k->scattered) /* masked keys have unchecked entries */
        index = vi_min(vi_max(index, vi_set1(0)), vi_set1(r->last_row));
    vi of_key = vi_mul(vi_iota(), vi_set1((int32_t)r->key_stride));
    return v_gather_n(r->product + (ptrdiff_t)k->j * r->key_stride, vi_add(index, of_key), k->n);
}

/* Logits of n keys, -inf where their bytes mask them. */
V_INLINE vf mask_bytes(const uint8_t *bytes, size_t n, int keep, vf l) {
    vm is_set = vi_lt(vi_set1(0), vi_load_u8_n(bytes, n));
    return keep ? v_select(is_set, l, v_set1(-INFINITY)) : v_select(is_set, v_set1(-INFINITY), l);
}

/* -inf for keys masked by bytes, positions or bounds. */
V_INLINE vf mask_keys(const row *a, const keys *k, vf l) {
    vf masked = v_set1(-INFINITY);
    if (k->mask == CELL_MASKED)
        return masked;
    if (k->mask == CELL_BY_BYTES)
        l = mask_bytes(a->bytes + (k->j - a->bytes_begin), k->n, a->keep, l);
    if (a->k_pos != NULL)
        l = mask_far_keys(k->offsets, a->lowest, a->highest, l, masked);
    return k->scattered ? mask_outside_bounds(&a->visible, k->j, l, masked) : l;
}

/* n keys of a run, from j on. Bounds may mask some of a ragged one. */
V_INLINE keys keys_at(const row *a, size_t j, size_t n, const run *r) {
    keys k = {
        .j = j,
        .n = n,
        .offsets = vi_sub(key_numbers(j), vi_set1(a->position)),
        .scattered = r->is_ragged || a->k_pos != NULL,
        .mask = r->cells[j / CELL % (LANES / CELL)],
    };
    if (a->k_pos != NULL)
        k.offsets = vi_sub(vi_load_n(a->k_pos + j, n), vi_set1(a->position));
    return k;
}

/* Logits of n keys of a run, from j on, with all terms of the row. */
static __attribute__((noinline)) vf any_logits(const row *a, size_t j, size_t n, const run *r) {
    keys k = keys_at(a, j, n, r);
    vf s = scores_at(a->x, j, n, a->x != NULL);
    if (a->by_query.product != NULL)
        s = v_add(s, rel_term_values(a, &a->by_query, &k));
    if (a->by_key.product != NULL)
        s = v_add(s, rel_term_values(a, &a->by_key, &k));
    vf b = v_neg(alibi_penalty(k.offsets, a->slope));
    if (a->rel_bias.at != NULL)
        b = v_add(b, rel_bias_values(a, &k));
    if (a->bias != NULL)
        b = v_fma(v_set1(a->bias_slope), load_float(a->bias, j, n, a->bias_type), b);
    vf l = v_fma(s, v_set1(a->scale), b);
    if (a->cap != 0.0f) {
        vf u = v_mul(v_mul(s, v_set1(a->scale)), v_set1(a->inv_cap));
        l = v_fma(tanh_any(u), v_set1(a->cap), b);
    }
    return mask_keys(a, &k, l);
}

#endif
