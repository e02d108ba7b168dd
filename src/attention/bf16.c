/* SPDX-License-Identifier: MIT */
/* Fused attention in bf16 (POSENC_MATH_BF16, _BF16X2 and _BF16X3): scores of keys, and weighted sums of values. */
#include "attention/attention.h"

#include "core/minmax.h"
#include "core/view.h"

enum { BLOCK = POSENC_BF16_BLOCK };

/* bf16 parts of a number: 2 with BF16X3, 1 for bf16 inputs, whose second part is 0. */
static size_t parts_of(const posenc_attention_unit *u, posenc_dtype type) {
    return u->call->args->math == POSENC_MATH_BF16X3 && type != POSENC_BF16 ? 2 : 1;
}

static size_t whole(size_t n, size_t of) {
    return (n + of - 1) / of * of;
}

/* bf16 numbers of a row of floats that is rounded in place. */
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
        .n_rows = (size_t)posenc_attention_pairs(u),
        .n_parts = parts_of(u, u->call->args->q.dtype),
    };
    u->call->kernels->round_rows(&args);
}

static void multiply_head(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at) {
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
        .y = u->scores + at,
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

void posenc_attention_multiply_bf16(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at) {
    posenc_attention_multiply_by_heads(u, keys, at, multiply_head);
}

/* ---- Values ---- */

/* Values that are paired at a time: as many as u->staged holds. */
static size_t values_at_a_time(const posenc_attention_unit *u) {
    size_t floats = posenc_attention_staged_floats(u->call->args->q.ne[0], u->call->args->v.ne[0]);
    return floats * 2 / whole((size_t)u->call->args->v.ne[0], POSENC_PANEL) / BLOCK * BLOCK;
}

/* y = keep * y + side, row by row. */
static void add_side(const posenc_attention_unit *u, const float *keep, posenc_attention_sums sums) {
    static const int32_t nothing[POSENC_UNIT_PAIRS];
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
        .n_heads = 1,
    };
    u->call->kernels->attend_rows(&args);
}

/* Rounds the weights of the values in place. Returns the bf16 parts of each weight. */
static size_t round_weights(const posenc_attention_unit *u, const posenc_attention_values *values) {
    posenc_round_rows_args args = {
        .x = u->scores + values->begin,
        .y = numbers_of(u->scores + values->begin),
        .x_stride = POSENC_KEY_BLOCK,
        .y_stride = 2 * POSENC_KEY_BLOCK,
        .n = values->end - values->begin,
        .n_rows = (size_t)u->n,
        .n_parts = u->call->args->math == POSENC_MATH_BF16 ? 1 : 2,
    };
    u->call->kernels->round_rows(&args);
    return args.n_parts;
}

/* Adds a bf16 part of the values from number j of the block on, as many as fit in u->staged. Returns how many. */
static size_t add_values(const posenc_attention_unit *u, const posenc_attention_values *values, size_t j, size_t part,
                         size_t n_parts) {
    const posenc_view *v = &u->call->args->v;
    int is_finite;
    posenc_pair_rows_args pair = {
        .rows = values->rows + (j - values->begin),
        .rows_type = v->dtype,
        .words = (uint32_t *)(void *)u->staged,
        .is_finite = &is_finite,
        .dim = (size_t)v->ne[0],
        .n_rows = posenc_min_size(values->end - j, values_at_a_time(u)),
        .part = part,
    };
    posenc_multiply_pairs_args multiply = {
        .x = numbers_of(u->scores + j),
        .x_stride = 2 * POSENC_KEY_BLOCK,
        .n_parts = part == 0 ? n_parts : 1,
        .words = pair.words,
        .y = u->side,
        .y_stride = values->sums.stride,
        .depth = pair.n_rows,
        .n_x = (size_t)u->n,
        .n_columns = pair.dim,
        .adds = part > 0 || !values->is_first || j > values->begin,
    };
    u->call->kernels->pair_rows(&pair);
    multiply.leaves_out_zeros = !is_finite;
    u->call->kernels->multiply_pairs(&multiply);
    return pair.n_rows;
}

static void sum_head(const posenc_attention_unit *u, const posenc_attention_values *values) {
    size_t n_parts = round_weights(u, values), n_value_parts = parts_of(u, u->call->args->v.dtype);
    for (size_t part = 0; part < n_value_parts; part++)
        for (size_t j = values->begin; j < values->end;)
            j += add_values(u, values, j, part, n_parts);
    if (values->is_last)
        add_side(u, values->keep, values->sums);
}

void posenc_attention_sum_bf16(const posenc_attention_unit *u, const posenc_attention_values *values) {
    posenc_attention_sum_by_heads(u, values, sum_head);
}
