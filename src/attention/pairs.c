/* SPDX-License-Identifier: MIT */
/* Attention, fused: products in bf16 (POSENC_MATH_BF16, _BF16X2 and _BF16X3). */
#include "attention/attention.h"

#include "core/minmax.h"
#include "core/view.h"

enum { BLOCK = POSENC_PAIR_BLOCK };

int posenc_attention_has_pairs(const posenc_attention_call *call) {
    posenc_attention_math math = call->args->math;
    return math == POSENC_MATH_BF16 || math == POSENC_MATH_BF16X2 || math == POSENC_MATH_BF16X3;
}

/* Of each number of q, k or v; the second of a bf16 would be 0. */
static size_t parts_of(const posenc_attention_unit *u, posenc_dtype type) {
    return u->call->args->math == POSENC_MATH_BF16X3 && type != POSENC_BF16 ? 2 : 1;
}

static size_t whole(size_t n, size_t of) {
    return (n + of - 1) / of * of;
}

/* Numbers of a row of so many floats that are rounded where they stand. */
static uint16_t *numbers_of(float *x) {
    return (uint16_t *)(void *)x;
}

void posenc_attention_round_queries(const posenc_attention_unit *u) {
    size_t dim = (size_t)u->call->args->q.ne[0], stride = posenc_query_floats((int64_t)dim);
    posenc_round_rows_args args = {
        .x = u->queries,
        .y = numbers_of(u->queries),
        .x_stride = stride,
        .y_stride = 2 * stride,
        .n = dim,
        .n_rows = (size_t)u->n,
        .n_parts = parts_of(u, u->call->args->q.dtype),
    };
    u->call->kernels->round_rows(&args);
}

void posenc_attention_multiply_pairs(const posenc_attention_unit *u, const posenc_attention_keys *keys, float *scores) {
    const void *rows[POSENC_KEYS_PACKED];
    posenc_attention_stored stored = posenc_attention_rotated(u, keys, rows);
    size_t dim = (size_t)u->call->args->k.ne[0];
    posenc_pack_pairs_args pack = {
        .rows = stored.rows,
        .rows_type = stored.type,
        .words = (uint32_t *)(void *)u->panels,
        .dim = dim,
        .n_rows = (size_t)keys->n,
        .ahead = {keys->ahead[0], keys->ahead[1]},
    };
    posenc_multiply_pairs_args multiply = {
        .x = numbers_of(u->queries),
        .x_stride = 2 * posenc_query_floats((int64_t)dim),
        .n_parts = parts_of(u, u->call->args->q.dtype),
        .words = pack.words,
        .y = scores,
        .y_stride = POSENC_KEY_BLOCK,
        .depth = whole(dim, BLOCK),
        .n_x = (size_t)u->n,
        .n_columns = (size_t)keys->n,
    };
    size_t n_parts = parts_of(u, pack.rows_type);
    for (; pack.part < n_parts; pack.part++) {
        u->call->kernels->pack_pairs(&pack);
        u->call->kernels->multiply_pairs(&multiply);
        multiply.n_parts = multiply.adds = 1; /* second parts meet the queries' first ones alone */
        pack.ahead[0].n = pack.ahead[1].n = 0;
    }
}

/* ---- Values ---- */

/* Keys whose values are paired at a time: what the memory of packed and of staged keys has room for. */
static size_t keys_at_a_time(const posenc_attention_unit *u) {
    size_t floats = posenc_attention_panel_floats(u->call->args->q.ne[0], u->call->args->v.ne[0]);
    return floats * 2 / whole((size_t)u->call->args->v.ne[0], POSENC_PANEL) / BLOCK * BLOCK;
}

/* y = keep * y + side, row by row. */
static void join(const posenc_attention_unit *u, const float *keep, posenc_attention_sums sums) {
    static const int32_t nothing[POSENC_UNIT_ROWS];
    posenc_attend_rows_args args = {
        .weights = u->scores,
        .from = u->side,
        .keep = keep,
        .begin = nothing,
        .end = nothing,
        .y = sums.rows,
        .y_stride = sums.stride,
        .dim = (size_t)u->call->args->v.ne[0],
        .n = (size_t)u->n,
    };
    u->call->kernels->attend_rows(&args);
}

void posenc_attention_sum_pairs(const posenc_attention_unit *u, const void *const *rows, size_t begin, size_t n_rows,
                                const float *keep, posenc_attention_sums sums) {
    const posenc_view *v = &u->call->args->v;
    size_t first = begin / BLOCK * BLOCK, end = whole(n_rows, BLOCK), at_a_time = keys_at_a_time(u);
    posenc_round_rows_args weights = {
        .x = u->scores + first,
        .y = numbers_of(u->scores + first),
        .x_stride = POSENC_KEY_BLOCK,
        .y_stride = 2 * POSENC_KEY_BLOCK,
        .n = end - first,
        .n_rows = (size_t)u->n,
        .n_parts = u->call->args->math == POSENC_MATH_BF16 ? 1 : 2,
    };
    u->call->kernels->round_rows(&weights);
    for (size_t part = 0; part < parts_of(u, v->dtype); part++)
        for (size_t j = first; j < end; j += at_a_time) {
            int is_finite;
            posenc_pair_rows_args pair = {
                .rows = rows + j,
                .rows_type = v->dtype,
                .words = (uint32_t *)(void *)u->panels,
                .is_finite = &is_finite,
                .dim = (size_t)v->ne[0],
                .n_rows = posenc_min_size(n_rows - j, at_a_time),
                .part = part,
            };
            u->call->kernels->pair_rows(&pair);
            posenc_multiply_pairs_args multiply = {
                .x = numbers_of(u->scores + j),
                .x_stride = weights.y_stride,
                .n_parts = part == 0 ? weights.n_parts : 1,
                .words = pair.words,
                .y = u->side,
                .y_stride = sums.stride,
                .depth = whole(pair.n_rows, BLOCK),
                .n_x = (size_t)u->n,
                .n_columns = pair.dim,
                .adds = part > 0 || j > first,
                .leaves_out_zeros = !is_finite,
            };
            u->call->kernels->multiply_pairs(&multiply);
        }
    join(u, keep, sums);
}
