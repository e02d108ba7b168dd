/* SPDX-License-Identifier: MIT */
/* Attention over a ragged batch: the calls of its sequences alone leave the same outputs. */
#include "data.h"

#include <math.h>

enum { MOST_SEQUENCES = 5 };

typedef struct ragged_call {
    posenc_score_params params;
    posenc_attention_args args;
    posenc_attention_ragged ragged;
    posenc_attention_pages pages;
    posenc_attention_lists lists;
    posenc_view lse;
    void *scratch;
} ragged_call;

static size_t scratch_bytes(const ragged_call *c) {
    return posenc_attention_workspace_bytes(c->args.q.ne[0], c->args.v.ne[0]);
}

static posenc_status attend(const void *arguments, posenc_range units) {
    const ragged_call *c = arguments;
    return posenc_attention_run_ragged(&c->args, &c->ragged, c->scratch, scratch_bytes(c), units);
}

/* ---- Alone ---- */

static const int32_t *of_sequence(const int32_t *array, int64_t b) {
    return array != NULL ? array + b : NULL;
}

static posenc_view keys_of(const ragged_call *c, const posenc_view *x, int64_t b) {
    const int32_t *ends = c->ragged.cu_k;
    if (c->args.pages != NULL)
        return *x;
    return ends != NULL ? posenc_view_slice(*x, 2, ends[b], ends[b + 1] - ends[b]) : posenc_view_slice(*x, 3, b, 1);
}

static posenc_status attend_one(const ragged_call *c, int64_t b) {
    int64_t first = c->ragged.cu_q[b], n = c->ragged.cu_q[b + 1] - first;
    posenc_score_params params = c->params;
    params.n_batch = 1;
    params.bias.alibi_slopes = c->params.bias.alibi_slopes + b * c->params.bias.alibi_batch_stride;
    params.sequences.k_begin = of_sequence(params.sequences.k_begin, b);
    params.sequences.k_end = of_sequence(params.sequences.k_end, b);
    params.positions.query_starts = of_sequence(params.positions.query_starts, b);
    posenc_view lse = posenc_view_slice(c->lse, 2, first, n);
    posenc_attention_args args = c->args;
    args.params = &params;
    args.q = posenc_view_slice(args.q, 2, first, n);
    args.out = posenc_view_slice(args.out, 2, first, n);
    args.k = keys_of(c, &c->args.k, b);
    args.v = keys_of(c, &c->args.v, b);
    args.lse = &lse;
    posenc_attention_pages pages = {of_sequence(c->pages.table, b * c->pages.stride), 0, c->pages.n_k};
    posenc_attention_lists lists = c->lists;
    lists.keys = of_sequence(lists.keys, first * lists.query_stride);
    args.pages = args.pages != NULL ? &pages : NULL;
    args.lists = args.lists != NULL ? &lists : NULL;
    return posenc_attention_run(&args, c->scratch, scratch_bytes(c), posenc_range_all());
}

static posenc_status attend_alone(const void *arguments, posenc_range sequences) {
    const ragged_call *c = arguments;
    int64_t end = sequences.end < 0 ? c->ragged.n_batch : sequences.end;
    posenc_status status = POSENC_OK;
    for (int64_t b = sequences.begin; b < end && status == POSENC_OK; b++)
        status = attend_one(c, b);
    return status;
}

/* ---- Random calls ---- */

/* Queries of each sequence, and as many keys or more. Returns the most keys of one. */
static int64_t draw_lengths(ragged_call *c, int32_t *k_end) {
    int64_t n_batch = c->ragged.n_batch, most = 0;
    int32_t *cu_q = data_block(n_batch + 1, sizeof *cu_q), *cu_k = data_block(n_batch + 1, sizeof *cu_k);
    cu_q[0] = cu_k[0] = 0;
    for (int64_t b = 0; b < n_batch; b++) {
        int64_t n_q = draw_rarely(3) ? draw_size(110) : (b == 0) + draw(3), n_k = n_q + draw_size(130) - draw(2);
        cu_q[b + 1] = cu_q[b] + (int32_t)n_q;
        cu_k[b + 1] = cu_k[b] + (int32_t)n_k;
        k_end[b] = (int32_t)n_k;
        most = n_k > most ? n_k : most;
    }
    c->ragged.cu_q = cu_q;
    c->ragged.cu_k = cu_k;
    return most;
}

/* Keys and values: cut by cu_k, side by side, or in pages of which sequences have as many. */
static void draw_keys(ragged_call *c, int64_t most, int64_t dim, int64_t n_heads, const int32_t *k_end) {
    int64_t n_batch = c->ragged.n_batch, n_k = c->ragged.cu_k[n_batch], n = 1;
    int order = (int)draw(3);
    if (order > 0) {
        c->ragged.cu_k = NULL;
        c->params.sequences.k_end = k_end;
        n_k = most;
        n = n_batch;
    }
    if (order == 2) {
        n_k = 16;
        int64_t per_sequence = most / n_k + 1;
        n = per_sequence * n_batch;
        int32_t *table = data_block(n, sizeof *table);
        for (int64_t i = 0; i < n; i++)
            table[i] = (int32_t)(data_random() % (uint64_t)n);
        c->pages = (posenc_attention_pages){table, per_sequence, most};
        c->args.pages = &c->pages;
    }
    c->args.k = data_input(draw_type(), 1.0, dim, n_heads, n_k, n);
    c->args.v = data_input(draw_type(), 1.0, dim, n_heads, n_k, n);
}

/* Any keys of a token's sequence. */
static void draw_lists(ragged_call *c, const int32_t *k_end) {
    int64_t n_tokens = c->ragged.cu_q[c->ragged.n_batch], n_max = draw_size(40);
    int32_t *keys = data_block(n_tokens * n_max, sizeof *keys);
    for (int64_t b = 0; b < c->ragged.n_batch; b++)
        for (int64_t t = c->ragged.cu_q[b] * n_max; t < c->ragged.cu_q[b + 1] * n_max; t++)
            keys[t] = k_end[b] > 0 && data_random() % 16 > 0 ? (int32_t)(data_random() % (uint64_t)k_end[b])
                                                             : POSENC_LIST_END;
    c->lists = (posenc_attention_lists){keys, n_max, n_max, 0, 0, 0};
    c->args.lists = &c->lists;
}

void data_ragged(void) {
    ragged_call c = {.ragged = {.n_batch = draw_between(1, MOST_SEQUENCES)}};
    int64_t n_batch = c.ragged.n_batch, n_kv_heads = draw_between(1, 2), n_heads = n_kv_heads * draw_between(1, 4);
    int64_t dim = draw_size(100);
    const posenc_mask masks[] = {posenc_mask_none(), posenc_mask_causal(), posenc_mask_window(1 + draw(60)),
                                 posenc_mask_chunked(1 + draw(60))};
    int32_t *k_end = data_block(n_batch, sizeof *k_end);
    int64_t most = draw_lengths(&c, k_end), n_tokens = c.ragged.cu_q[n_batch];
    c.params = posenc_score_params_of((float)(1.0 / sqrt((double)dim)), masks[draw(4)]);
    c.params.n_heads = n_heads;
    c.params.n_batch = n_batch;
    c.params.bias.alibi_slopes = data_floats(n_batch * n_heads, 0.1);
    c.params.bias.alibi_batch_stride = draw(2) * n_heads;
    c.params.sinks = draw_rarely(2) ? data_floats(n_heads, 2.0) : NULL;
    c.params.positions.query_starts = draw_rarely(2) ? data_int32s(n_batch, -50, 200) : NULL;
    c.args.params = &c.params;
    c.args.math = (posenc_attention_math)draw(5);
    c.args.q = data_input(draw_type(), 1.0, dim, n_heads, n_tokens, 1);
    draw_keys(&c, most, dim, n_kv_heads, k_end);
    c.args.out = data_output(draw_type(), 1.0, dim, n_heads, n_tokens, 1);
    c.lse = data_output(POSENC_F32, 1.0, 1, n_heads, n_tokens, 1);
    c.args.lse = &c.lse;
    if (draw_rarely(3))
        draw_lists(&c, k_end);
    c.scratch = data_scratch(scratch_bytes(&c));
    data_ok(attend, &c, posenc_attention_ragged_unit_count(&c.args, &c.ragged));
    data_ok(attend_alone, &c, n_batch);
}
