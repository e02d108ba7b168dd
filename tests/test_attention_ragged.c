/* SPDX-License-Identifier: MIT */
/* Ragged batches: bit for bit the calls of each sequence alone, over copies of its queries, keys and values; with keys
 * one behind the other, side by side and in pages. */
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6, DIM = 32, PAGE = 16, MOST_TOKENS = 700, MOST_KEYS = 1400, MOST_HEADS = 8, LISTED = 5 };
typedef enum key_order { PACKED, SIDE_BY_SIDE, IN_PAGES, N_ORDERS } key_order;

/* A batch, and what it is made of. */
typedef struct batch {
    posenc_score_params params;
    posenc_attention_args args;
    posenc_attention_ragged ragged;
    posenc_attention_pages pages;
    posenc_attention_lists lists;
    posenc_view lse;
    key_order order;
    int64_t n_heads, n_kv_heads, n_k; /* n_k: most keys of a sequence */
    int32_t cu_q[MOST + 1], cu_k[MOST + 1];
    int32_t k_begin[MOST], k_end[MOST], starts[MOST], origins[MOST];
    float slopes[MOST * MOST_HEADS], sinks[MOST_HEADS];
} batch;

static float q[MOST_TOKENS * MOST_HEADS * DIM], out[MOST_TOKENS * MOST_HEADS * DIM], lse[MOST_TOKENS * MOST_HEADS];
static float want[MOST_TOKENS * MOST_HEADS * DIM], want_lse[MOST_TOKENS * MOST_HEADS];
static float keys[MOST_KEYS * MOST_HEADS * DIM], values[MOST_KEYS * MOST_HEADS * DIM];
static int32_t table[MOST * MOST_KEYS], listed[MOST_TOKENS * LISTED];
static void *scratch;
static size_t scratch_bytes;

/* ---- Random batches ---- */

static void draw_lengths(batch *c) {
    c->ragged.n_batch = 1 + truth_below(MOST);
    for (int64_t b = 0; b < c->ragged.n_batch; b++) { /* decode, speculation, none, a prompt */
        int64_t n_q = truth_below(3) ? 1 + truth_below(4) * truth_below(2) : truth_below(100);
        int64_t n_k = n_q + truth_below(truth_below(4) ? 40 : 120);
        c->cu_q[b + 1] = c->cu_q[b] + (int32_t)n_q;
        c->cu_k[b + 1] = c->cu_k[b] + (int32_t)n_k;
        c->k_end[b] = (int32_t)n_k;
        c->k_begin[b] = (int32_t)truth_below(n_k - n_q + 1);
        c->starts[b] = (int32_t)truth_below(200);
        c->origins[b] = (int32_t)truth_below(20);
        c->n_k = n_k > c->n_k ? n_k : c->n_k;
    }
    c->ragged.cu_q = c->cu_q;
}

static void draw_params(batch *c) {
    posenc_score_params *p = &c->params;
    const posenc_mask masks[] = {posenc_mask_causal(), posenc_mask_window(7), posenc_mask_none(),
                                 posenc_mask_chunked(9)};
    *p = posenc_score_params_of(0.2f, masks[truth_below(4)]);
    p->n_heads = c->n_heads;
    p->n_batch = c->ragged.n_batch;
    truth_fill(c->slopes, MOST * MOST_HEADS);
    truth_fill(c->sinks, MOST_HEADS);
    if (truth_below(2)) {
        p->bias.alibi_slopes = c->slopes;
        p->bias.alibi_batch_stride = truth_below(2) * MOST_HEADS;
    }
    p->sinks = truth_below(2) ? c->sinks : NULL;
    p->sequences.k_end = c->order != PACKED ? c->k_end : NULL;
    p->sequences.k_begin = truth_below(3) ? NULL : c->k_begin;
    p->sequences.origins = truth_below(3) ? NULL : c->origins;
    p->positions.query_starts = truth_below(3) ? NULL : c->starts;
}

/* Pages in reverse order, PAGE keys each. */
static void draw_pages(batch *c) {
    int64_t per_sequence = c->n_k / PAGE + 1, n_pages = per_sequence * c->ragged.n_batch;
    for (int64_t i = 0; i < n_pages; i++)
        table[i] = (int32_t)(n_pages - 1 - i);
    c->pages = (posenc_attention_pages){table, per_sequence, c->n_k};
    c->args.pages = &c->pages;
}

/* Each token's keys, among those of its sequence. */
static void draw_lists(batch *c) {
    for (int64_t b = 0; b < c->ragged.n_batch; b++)
        for (int64_t i = c->cu_q[b]; i < c->cu_q[b + 1]; i++)
            for (int64_t t = 0; t < LISTED; t++) {
                int64_t begin = c->params.sequences.k_begin != NULL ? c->k_begin[b] : 0, n = c->k_end[b] - begin;
                int is_key = n > 0 && truth_below(8);
                listed[i * LISTED + t] = is_key ? (int32_t)(begin + truth_below(n)) : POSENC_LIST_END;
            }
    c->lists = (posenc_attention_lists){listed, LISTED, LISTED, 0, 0, 0};
    c->args.lists = &c->lists;
}

/* Keys, or values, of the batch. */
static posenc_view stored(const batch *c, float *data) {
    int64_t n_batch = c->ragged.n_batch, n_pages = (c->n_k / PAGE + 1) * n_batch;
    int64_t ne[N_ORDERS][2] = {{c->cu_k[n_batch], 1}, {c->n_k, n_batch}, {PAGE, n_pages}};
    return posenc_view_dense(data, POSENC_F32, DIM, c->n_kv_heads, ne[c->order][0], ne[c->order][1]);
}

static void open_batch(batch *c, int round) {
    *c = (batch){.order = (key_order)(round % N_ORDERS)};
    c->n_kv_heads = 1 + truth_below(2);
    c->n_heads = c->n_kv_heads * (1 + truth_below(4));
    draw_lengths(c);
    draw_params(c);
    int64_t n = c->cu_q[c->ragged.n_batch];
    c->lse = posenc_view_dense(lse, POSENC_F32, 1, c->n_heads, n, 1);
    posenc_view queries = posenc_view_dense(q, POSENC_F32, DIM, c->n_heads, n, 1), to = queries;
    posenc_view k = stored(c, keys), v = stored(c, values);
    assert_true(queries.nb[3] <= (int64_t)sizeof q && k.nb[3] * k.ne[3] <= (int64_t)sizeof keys);
    to.data = out;
    c->args = posenc_attention_args_of(&c->params, &queries, &k, &v, &to);
    c->args.lse = &c->lse;
    c->ragged.cu_k = c->order == PACKED ? c->cu_k : NULL;
    if (c->order == IN_PAGES)
        draw_pages(c);
    if (truth_below(3) == 0)
        draw_lists(c);
    truth_fill(q, sizeof q / sizeof *q);
    truth_fill(keys, sizeof keys / sizeof *keys);
    truth_fill(values, sizeof values / sizeof *values);
}

/* ---- Each sequence alone ---- */

/* Copies a sequence's keys or values, one behind the other. */
static void copy_rows(const batch *c, const float *from, int64_t b, float *to) {
    size_t row = (size_t)(c->n_kv_heads * DIM);
    for (int64_t j = 0; j < c->k_end[b]; j++) {
        int64_t at[N_ORDERS] = {c->cu_k[b] + j, b * c->n_k + j, 0};
        if (c->order == IN_PAGES)
            at[IN_PAGES] = (int64_t)table[b * c->pages.stride + j / PAGE] * PAGE + j % PAGE;
        memcpy(to + (size_t)j * row, from + (size_t)at[c->order] * row, row * sizeof *to);
    }
}

static void attend_alone(const batch *c, int64_t b) {
    static float own_keys[MOST_KEYS * MOST_HEADS * DIM], own_values[MOST_KEYS * MOST_HEADS * DIM];
    int64_t first = c->cu_q[b], n_q = c->cu_q[b + 1] - first;
    copy_rows(c, keys, b, own_keys);
    copy_rows(c, values, b, own_values);
    posenc_score_params params = posenc_score_params_of(c->params.scale, c->params.mask);
    params.n_heads = c->n_heads;
    params.n_batch = 1;
    params.sinks = c->params.sinks;
    if (c->params.bias.alibi_slopes != NULL)
        params.bias.alibi_slopes = c->slopes + (c->params.bias.alibi_batch_stride > 0 ? b * MOST_HEADS : 0);
    params.sequences.k_begin = c->params.sequences.k_begin != NULL ? c->k_begin + b : NULL;
    params.sequences.origins = c->params.sequences.origins != NULL ? c->origins + b : NULL;
    params.positions.query_starts = c->params.positions.query_starts != NULL ? c->starts + b : NULL;
    posenc_view queries = posenc_view_dense(q + first * c->n_heads * DIM, POSENC_F32, DIM, c->n_heads, n_q, 1);
    posenc_view k = posenc_view_dense(own_keys, POSENC_F32, DIM, c->n_kv_heads, c->k_end[b], 1), v = k, to = queries;
    posenc_view own_lse = posenc_view_dense(want_lse + first * c->n_heads, POSENC_F32, 1, c->n_heads, n_q, 1);
    v.data = own_values;
    to.data = want + first * c->n_heads * DIM;
    posenc_attention_args args = posenc_attention_args_of(&params, &queries, &k, &v, &to);
    args.lse = &own_lse;
    posenc_attention_lists lists = {listed + first * LISTED, LISTED, LISTED, 0, 0, 0};
    args.lists = c->args.lists != NULL ? &lists : NULL;
    truth_ok(posenc_attention_run(&args, scratch, scratch_bytes, posenc_range_all()));
}

/* All at once, or unit by unit from the last. */
static void attend_batch(const batch *c, int is_whole) {
    memset(out, 0x7f, sizeof out);
    memset(lse, 0x7f, sizeof lse);
    if (is_whole) {
        truth_ok(posenc_attention_run_ragged(&c->args, &c->ragged, scratch, scratch_bytes, posenc_range_all()));
        return;
    }
    for (int64_t unit = posenc_attention_ragged_unit_count(&c->args, &c->ragged) - 1; unit >= 0; unit--)
        truth_ok(
            posenc_attention_run_ragged(&c->args, &c->ragged, scratch, scratch_bytes, (posenc_range){unit, unit + 1}));
}

static void test_alone(void **state) {
    (void)state;
    static batch c;
    for (int round = 0; round < 150; round++) {
        open_batch(&c, round);
        for (int64_t b = 0; b < c.ragged.n_batch; b++)
            attend_alone(&c, b);
        size_t n = (size_t)(c.cu_q[c.ragged.n_batch] * c.n_heads);
        for (int tier = -1; truth_next_tier(&tier);)
            for (int is_whole = 0; is_whole < 2; is_whole++) {
                attend_batch(&c, is_whole);
                truth_same_bits(out, want, n * DIM, "ragged batch");
                truth_same_bits(lse, want_lse, n, "its log-sum-exp");
            }
    }
}

/* A bad sequence behind good ones: nothing is written, and the text names it. */
static void test_refused(void **state) {
    (void)state;
    static batch c;
    do
        open_batch(&c, SIDE_BY_SIDE);
    while (c.ragged.n_batch < 2);
    c.params.positions.query_starts = NULL;
    c.params.sequences.k_begin = NULL;
    c.args.lists = NULL;
    c.params.mask = posenc_mask_causal();
    int64_t last = c.ragged.n_batch - 1;
    c.k_end[last] = (int32_t)c.n_k + 1;
    memset(out, 0x7f, sizeof out);
    assert_int_equal(posenc_attention_run_ragged(&c.args, &c.ragged, scratch, scratch_bytes, posenc_range_all()),
                     POSENC_ERR_MASK);
    char text[64];
    snprintf(text, sizeof text, "sequence %d: sequences.k_end: ", (int)last);
    assert_int_equal(strncmp(posenc_last_error(), text, strlen(text)), 0);
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(((const unsigned char *)out)[i], 0x7f);
}

int main(void) {
    scratch_bytes = posenc_attention_workspace_bytes(DIM, DIM);
    scratch = malloc(scratch_bytes);
    const struct CMUnitTest tests[] = {
        truth_test(test_alone),
        truth_test(test_refused),
    };
    int status = truth_run(tests);
    free(scratch);
    return status;
}
