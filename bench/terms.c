/* SPDX-License-Identifier: MIT */
#include "terms.h"

#include <string.h>

#include <posenc/bias.h>
#include <posenc/relative.h>

#include "visible.h"

enum { N_ROWS = 64, T5_DISTANCE = 128, DEBERTA_BUCKETS = 256, DEBERTA_POSITIONS = 512 };

void terms_open(bench_terms *t, bench_job *job, int64_t n_heads, int64_t n_q, int64_t n_k) {
    t->job = job;
    t->n_heads = n_heads;
    t->n_q = n_q;
    t->n_k = n_k;
    t->params = posenc_score_params_of(0.0883883f, posenc_mask_none());
    t->params.positions.query_start = n_k - n_q;
}

static void offsets_of(const bench_terms *t, int64_t *first, int64_t *n) {
    bench_check(posenc_rel_bias_range(t->params.mask, t->params.positions.query_start, t->n_q, t->n_k, first, n));
}

/* ---- Biases ---- */

void terms_alibi(bench_terms *t) {
    bench_check(posenc_alibi_slopes(t->n_heads, 8.0, t->slopes));
    t->params.bias.alibi_slopes = t->slopes;
    t->params.n_heads = t->n_heads;
}

static void add_rel_bias(bench_terms *t) {
    posenc_rel_bias *rel_bias = &t->rel_bias;
    rel_bias->n_heads = t->n_heads;
    rel_bias->stride = rel_bias->n_offsets;
    size_t n = (size_t)(rel_bias->n_heads * rel_bias->stride);
    rel_bias->data = bench_floats(t->job, n);
    bench_random(rel_bias->data, POSENC_F32, n, 4.0f);
    t->params.bias.relative = rel_bias;
}

void terms_rel_bias(bench_terms *t) {
    offsets_of(t, &t->rel_bias.first, &t->rel_bias.n_offsets);
    add_rel_bias(t);
}

void terms_t5(bench_terms *t) {
    t->rel_bias = (posenc_rel_bias){.first = -T5_DISTANCE, .n_offsets = 2 * T5_DISTANCE + 1, .is_clamped = 1};
    add_rel_bias(t);
}

static void add_mask(bench_terms *t, posenc_dtype type) {
    t->bias = bench_view(t->job, type, t->n_k, t->n_q, 1);
    bench_random_view(&t->bias, 4.0f);
    t->params.bias.tensor = &t->bias;
}

void terms_mask_f32(bench_terms *t) {
    add_mask(t, POSENC_F32);
}

void terms_mask_f16(bench_terms *t) {
    add_mask(t, POSENC_F16);
}

void terms_cap(bench_terms *t) {
    t->params.cap = 50.0f;
}

/* ---- Masks ---- */

void terms_causal(bench_terms *t) {
    t->params.mask = posenc_mask_causal();
}

void terms_window_256(bench_terms *t) {
    t->params.mask = posenc_mask_window(256);
}

void terms_window_512(bench_terms *t) {
    t->params.mask = posenc_mask_window(512);
}

static uint8_t *add_bytes(bench_terms *t) {
    uint8_t *bytes = bench_alloc(t->job, (size_t)(t->n_q * t->n_k));
    t->bytes = (posenc_bool_mask){bytes, {1, t->n_k, 0, 0}, POSENC_KEEP};
    t->params.bool_mask = &t->bytes;
    return bytes;
}

void terms_bytes(bench_terms *t) {
    memset(add_bytes(t), 1, (size_t)(t->n_q * t->n_k));
}

enum { BLOCK = 128 };

static int32_t *new_integers(bench_terms *t, int64_t n) {
    return bench_alloc(t->job, (size_t)n * sizeof(int32_t));
}

void terms_tenth_of_blocks(bench_terms *t) {
    int64_t n_rows = t->n_q / BLOCK, n_max = t->n_k / BLOCK;
    int32_t *counts = new_integers(t, n_rows), *blocks = new_integers(t, n_rows * n_max);
    for (int64_t i = 0; i < n_rows; i++) {
        counts[i] = 0;
        for (int64_t j = 0; j < n_max; j++)
            if ((3 * i + 7 * j) % 10 == 0)
                blocks[i * n_max + counts[i]++] = (int32_t)j;
        t->n_visible += counts[i] * BLOCK * BLOCK;
    }
    t->blocks = (posenc_block_mask){
        .full_counts = counts, .full_blocks = blocks, .n_max = n_max, .q_block = BLOCK, .k_block = BLOCK};
    t->params.block_mask = &t->blocks;
}

void terms_blocks_of_mask(bench_terms *t) {
    const int64_t n_rows = t->n_q / BLOCK, n_max = t->n_k / BLOCK, ne[4] = {t->n_k, t->n_q, 1, 1};
    t->blocks = (posenc_block_mask){
        .partial_counts = new_integers(t, n_rows),
        .partial_blocks = new_integers(t, n_rows * n_max),
        .full_counts = new_integers(t, n_rows),
        .full_blocks = new_integers(t, n_rows * n_max),
        .n_max = n_max,
        .q_block = BLOCK,
        .k_block = BLOCK,
    };
    bench_check(posenc_block_mask_build(&t->params, ne, &t->blocks));
    t->n_visible = bench_count_visible(&t->params, t->n_q, t->n_k);
    uint8_t *bytes = add_bytes(t);
    memset(bytes, 0, (size_t)(t->n_q * t->n_k));
    for (int64_t i = 0; i < t->n_q; i++) {
        bench_visible visible = bench_visible_to(&t->params, i, t->n_k);
        memset(bytes + i * t->n_k + visible.begin, 1, (size_t)(visible.end - visible.begin));
    }
    t->params.mask = posenc_mask_none();
    t->params.block_mask = &t->blocks;
}

/* ---- Relative terms ---- */

static void make_index(bench_terms *t) {
    offsets_of(t, &t->index.first, &t->index.n_offsets);
    t->index.data = bench_alloc(t->job, (size_t)t->index.n_offsets * sizeof *t->index.data);
}

static void fill_index(bench_terms *t, posenc_rel_index_rule rule) {
    make_index(t);
    bench_check(posenc_rel_index_fill(&rule, &t->index));
}

static posenc_relative products(bench_terms *t, posenc_view *of, int64_t n_tokens) {
    *of = bench_view(t->job, POSENC_F32, t->index.n_rows, n_tokens, t->n_heads);
    bench_random_view(of, 4.0f);
    return (posenc_relative){of, &t->index};
}

void terms_by_query(bench_terms *t) {
    make_index(t);
    t->index.n_rows = N_ROWS;
    for (int64_t o = 0; o < t->index.n_offsets; o++)
        t->index.data[o] = (int32_t)(o % N_ROWS);
    t->params.bias.by_query = products(t, &t->by_query, t->n_q);
}

void terms_transformer_xl(bench_terms *t) {
    fill_index(t, posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, t->n_k, 0));
    t->params.bias.by_query = products(t, &t->by_query, t->n_q);
}

void terms_by_key(bench_terms *t) {
    fill_index(t, posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, DEBERTA_BUCKETS, DEBERTA_POSITIONS));
    t->params.bias.by_key = products(t, &t->by_key, t->n_k);
}

void terms_deberta(bench_terms *t) {
    terms_by_key(t);
    t->params.bias.by_query = products(t, &t->by_query, t->n_q);
}
