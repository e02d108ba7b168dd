/* SPDX-License-Identifier: MIT */
#include "data_scores.h"

#include <math.h>

#include "../truth_score.h"

enum { MOST_ROWS = 9 /* of a relative table */, MOST_OFFSETS = 20000 };

/* Terms of a logit. Loops of their own serve calls with one term or none, which half of the calls are. */
enum {
    TERM_SLOPES = 1 << 0,
    TERM_LINE = 1 << 1,
    TERM_BIAS = 1 << 2,
    TERM_BY_QUERY = 1 << 3,
    TERM_BY_KEY = 1 << 4,
    TERM_CAP = 1 << 5,
    TERM_POSITIONS = 1 << 6,
    TERM_BYTES = 1 << 7,
    TERM_COUNT = 8
};

static int draw_terms(void) {
    return (int)(draw_rarely(2) ? draw(1 << TERM_COUNT) & draw(1 << TERM_COUNT) : 1 << draw(TERM_COUNT + 2));
}

static posenc_mask draw_mask(void) {
    int64_t size = draw_rarely(2) ? 1 + draw(900) : 1 + draw(40);
    posenc_mask mask = posenc_mask_none();
    switch (draw(6)) {
    case 0: return mask;
    case 1: return posenc_mask_causal();
    case 2: return posenc_mask_sides(size, size);
    case 3:
        mask = posenc_mask_chunked(size);
        if (draw_rarely(2))
            mask.before = draw(size), mask.after = draw(size + 1) - 1;
        return mask;
    case 4: mask = posenc_mask_window(size); break;
    default: mask = posenc_mask_sides(size, draw(5));
    }
    mask.n_first = draw_rarely(2) ? draw(70) : 0;
    return mask;
}

static void draw_positions(data_scores *s, int terms) {
    static const int64_t far[] = {1 << 24, 1 << 25, (1 << 30) - 4096, -(1 << 24), -(1 << 30)};
    posenc_score_params *p = &s->params;
    p->mask = draw_mask();
    p->positions.query_start = s->n_k - s->n_q;
    if (draw_rarely(4))
        p->positions.query_start = draw_between(-30, s->n_k + 30);
    if (terms & TERM_SLOPES && draw_rarely(4)) /* where float32 does not hold every distance */
        p->positions.query_start = far[draw(5)] + draw(9);
    if (terms & TERM_POSITIONS && p->mask.n_first == 0) {
        p->positions.queries = data_int32s(s->n_q, -100, 900);
        p->positions.keys = data_int32s(s->n_k, -100, 900);
    } else if (draw_rarely(3)) {
        p->positions.query_start = POSENC_ALIGN_LAST_KEY;
        p->positions.query_starts = data_int32s(s->n_batch, -150, 150);
    }
}

/* Ascending, from 0, within the keys. */
static void draw_documents(data_scores *s) {
    s->params.sequences.n_seqs = draw_between(1, 6);
    int32_t *ends = data_block(s->params.sequences.n_seqs + 1, sizeof *ends);
    ends[0] = 0;
    for (int64_t d = 1; d <= s->params.sequences.n_seqs; d++)
        ends[d] = ends[d - 1] + (int32_t)draw(2 * s->n_k / s->params.sequences.n_seqs + 1);
    s->params.sequences.cu_seqlens = ends;
}

static void draw_lengths(data_scores *s) {
    int32_t *k_begin = data_block(s->n_batch, sizeof *k_begin), *k_end = data_block(s->n_batch, sizeof *k_end);
    for (int64_t b = 0; b < s->n_batch; b++) {
        k_end[b] = (int32_t)(s->n_k - draw(s->n_k + 1));
        k_begin[b] = (int32_t)draw(k_end[b] + 1);
    }
    int64_t which = draw(3);
    s->params.sequences.k_begin = which != 1 ? k_begin : NULL;
    s->params.sequences.k_end = which != 0 ? k_end : NULL;
    s->params.sequences.origins = draw_rarely(2) ? k_begin : NULL;
}

static void draw_bytes(data_scores *s) {
    int64_t shared = draw(4), by_query = shared & 1 ? 0 : s->n_k, by_head = shared & 2 ? 0 : s->n_k * s->n_q;
    int64_t by_batch = by_head * s->n_heads + s->n_k * draw(3), n = s->n_k;
    n += (s->n_q - 1) * by_query + (s->n_heads - 1) * by_head + (s->n_batch - 1) * by_batch;
    int is_dense = draw_rarely(2);
    uint8_t *data = data_block(n, 1);
    for (int64_t k = 0; k < n; k++)
        data[k] = data_random() % 8 < (is_dense ? 7 : 2) ? (uint8_t)(1 + data_random() % 255) : 0;
    s->bool_mask = (posenc_bool_mask){data, {1, by_query, by_head, by_batch}, draw(2) ? POSENC_DROP : POSENC_KEEP};
    s->params.bool_mask = &s->bool_mask;
}

/* The offsets of the call, as softmax.h says. */
static void offsets(const data_scores *s, int64_t *first, int64_t *n) {
    const posenc_score_params *p = &s->params;
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    for (int64_t b = 0; b < s->n_batch; b++) {
        int64_t at = truth_query(p, 0, b);
        least = at < least ? at : least;
        greatest = at > greatest ? at : greatest;
    }
    if (posenc_rel_bias_range(p->mask, least, greatest - least + s->n_q, s->n_k, first, n) != POSENC_OK)
        data_fail("offsets");
    if (p->positions.keys != NULL) {
        *first = -1000;
        *n = 2001;
    }
}

static void draw_rel_bias(data_scores *s, int64_t first, int64_t n) {
    int is_shared = draw_rarely(3), is_clamped = draw_rarely(2);
    if (is_clamped || n > MOST_OFFSETS) {
        is_clamped = 1;
        first += draw(600) - 300;
        n = draw_size(300);
    }
    int64_t stride = is_shared ? 0 : n + draw(5), count = (s->n_heads - 1) * stride + n;
    s->rel_bias = (posenc_rel_bias){data_floats(count, 2.0), first, n, s->n_heads, stride, is_clamped};
    s->params.bias.relative = &s->rel_bias;
}

/* Shared along a dimension, or not. */
static int64_t one_or(int64_t n) {
    return draw_rarely(3) ? 1 : n;
}

static void draw_relative(data_scores *s, int by_key, int64_t first, int64_t n) {
    posenc_view *products = by_key ? &s->by_key : &s->by_query;
    posenc_rel_index *index = by_key ? &s->key_index : &s->query_index;
    *index = (posenc_rel_index){data_int32s(n, 0, MOST_ROWS - 1), first, n, MOST_ROWS};
    *products = data_input(POSENC_F32, 1.0, MOST_ROWS, one_or(by_key ? s->n_k : s->n_q), one_or(s->n_heads),
                           one_or(s->n_batch));
    *(by_key ? &s->params.bias.by_key : &s->params.bias.by_query) = (posenc_relative){products, index};
}

/* A bias of numbers, or a mask as a tensor. */
static void draw_bias(data_scores *s) {
    posenc_dtype type = draw_type();
    int is_mask = draw_rarely(2);
    s->bias = data_input(type, is_mask ? 0.0 : 2.0, s->n_k, one_or(s->n_q), one_or(s->n_heads), one_or(s->n_batch));
    s->params.bias.tensor = &s->bias;
    int64_t begin = draw(s->n_k + 1), end = draw(s->n_k + 1), by_query = draw(2);
    for (int64_t b = 0; is_mask && b < s->bias.ne[3]; b++)
        for (int64_t i = 0; i < s->bias.ne[1]; i++)
            for (int64_t j = 0; j < s->n_k; j++)
                if (j < begin || j > end + by_query * i || data_random() % 32 == 0)
                    data_set(&s->bias, j, i, 0, b, -INFINITY);
    if (draw_rarely(2)) {
        float *slopes = data_block(s->n_heads, sizeof *slopes);
        for (int64_t h = 0; h < s->n_heads; h++)
            slopes[h] = (float)data_uniform(0.1, 1.0);
        s->params.bias.tensor_slopes = slopes;
    }
}

static void draw_sinks(data_scores *s) {
    float *sinks = data_floats(s->n_heads, 4.0);
    for (int64_t h = 0; h < s->n_heads; h++)
        sinks[h] = data_random() % 4 == 0 ? -INFINITY : sinks[h];
    s->params.sinks = sinks;
}

int64_t data_first_key(const data_scores *s, int64_t b) {
    return s->params.sequences.k_begin != NULL ? s->params.sequences.k_begin[b] : 0;
}

int64_t data_end_of_keys(const data_scores *s, int64_t b) {
    return s->params.sequences.k_end != NULL ? s->params.sequences.k_end[b] : s->n_k;
}

/* ---- Trees of draft tokens ---- */

/* Every sequence has a key for each token; without given positions nothing counts distances. */
static int may_have_tree(const data_scores *s) {
    const posenc_score_params *p = &s->params;
    const posenc_score_bias *bias = &p->bias;
    for (int64_t b = 0; b < s->n_batch; b++)
        if (data_end_of_keys(s, b) - data_first_key(s, b) < s->n_q)
            return 0;
    int counts = p->mask.before >= 0 || p->mask.chunk > 0 || bias->alibi_slopes != NULL || bias->relative != NULL ||
                 bias->by_query.products != NULL || bias->by_key.products != NULL;
    return p->bool_mask == NULL && p->sequences.cu_seqlens == NULL && (p->positions.keys != NULL || !counts);
}

/* A token sees itself and its ancestors. */
static void show_ancestors(const data_scores *s, int64_t b, int64_t token, uint8_t *keys) {
    int64_t first = data_end_of_keys(s, b) - s->n_q;
    for (int64_t j = 0; j < s->n_k; j++)
        keys[j] = j < first;
    for (int64_t t = token; t >= 0; t = s->tree.parents[b * s->tree.batch_stride + t])
        keys[first + t] = 1;
}

static void draw_tree(data_scores *s) {
    int is_shared = s->params.positions.keys != NULL || draw_rarely(2);
    int64_t stride = is_shared ? 0 : s->n_q + draw(3);
    int32_t *parents = data_block((s->n_batch - 1) * stride + s->n_q, sizeof *parents);
    for (int64_t b = 0; b < s->n_batch; b++)
        for (int64_t t = 0; t < s->n_q && (b == 0 || stride > 0); t++)
            parents[b * stride + t] = (int32_t)(data_random() % (uint64_t)(t + 1)) - 1;
    s->tree = (posenc_tree){parents, stride};
    s->params.tree = &s->tree;
    s->params.positions.query_start = POSENC_ALIGN_LAST_KEY;
    s->params.positions.query_starts = NULL;

    int32_t *starts = data_block(s->n_batch, sizeof *starts);
    uint8_t *bytes = data_block(s->n_batch * s->n_q * s->n_k, 1);
    for (int64_t b = 0; b < s->n_batch; b++) {
        starts[b] = (int32_t)(data_end_of_keys(s, b) - s->n_q);
        for (int64_t i = 0; i < s->n_q; i++)
            show_ancestors(s, b, i, bytes + (b * s->n_q + i) * s->n_k);
    }
    s->bool_mask = (posenc_bool_mask){bytes, {1, s->n_k, 0, s->n_q * s->n_k}, POSENC_KEEP};
    s->plain = s->params;
    s->plain.tree = NULL;
    s->plain.bool_mask = &s->bool_mask;
    s->plain.positions.query_starts = starts;
}

void data_draw_scores(data_scores *s) {
    posenc_score_params *p = &s->params;
    *p = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    p->mask = posenc_mask_none();
    p->scale = (float)data_uniform(0.05, 1.0);
    p->n_heads = s->n_heads;
    p->n_batch = s->n_batch;
    int terms = draw_terms();
    p->cap = terms & TERM_CAP ? (float)data_uniform(0.5, 60.0) : 0.0f;
    draw_positions(s, terms);
    if (draw_rarely(5))
        draw_documents(s);
    if (draw_rarely(4))
        draw_lengths(s);
    if (terms & TERM_BYTES)
        draw_bytes(s);
    if (terms & TERM_SLOPES)
        p->bias.alibi_slopes = data_floats(s->n_heads, 0.01);
    if (draw_rarely(4))
        draw_sinks(s);
    if (terms & TERM_BIAS)
        draw_bias(s);
    int64_t first, n;
    offsets(s, &first, &n);
    if (terms & TERM_LINE)
        draw_rel_bias(s, first, n);
    if (terms & TERM_BY_QUERY && n <= MOST_OFFSETS)
        draw_relative(s, 0, first, n);
    if (terms & TERM_BY_KEY && n <= MOST_OFFSETS)
        draw_relative(s, 1, first, n);
    p->fully_masked = (posenc_fully_masked_row)draw(3);
    p->masked_output = (posenc_masked_output)draw_rarely(4);
    s->plain = *p;
    if (may_have_tree(s) && draw_rarely(4))
        draw_tree(s);
}

data_row data_new_row(void) {
    static double logits[DATA_MOST_KEYS], errors[DATA_MOST_KEYS];
    return (data_row){.logits = logits, .errors = errors};
}

static double count_of(const data_row *row, int64_t j) {
    return row->counts != NULL ? row->counts[j] : 1.0;
}

void data_make_row(const data_scores *s, const double *scores, int64_t i, int64_t h, int64_t b, data_row *row) {
    const posenc_score_params *p = &s->params;
    row->max = p->sinks != NULL ? (double)p->sinks[h] : -INFINITY;
    row->sum = row->error = 0.0;
    for (int64_t j = 0; j < s->n_k; j++) {
        double size = 0.0;
        row->logits[j] = count_of(row, j) > 0.0 ? truth_logit(&s->plain, scores[j], j, i, h, b, &size) : -INFINITY;
        row->errors[j] += size * 0x1p-21 + (double)p->cap * 0x1p-22;
        if (row->logits[j] == -INFINITY)
            continue;
        row->max = fmax(row->max, row->logits[j]);
        row->error = fmax(row->error, row->errors[j]);
    }
    if (row->max == -INFINITY)
        return;
    row->sum = p->sinks != NULL ? exp((double)p->sinks[h] - row->max) : 0.0;
    for (int64_t j = 0; j < s->n_k; j++)
        row->sum += count_of(row, j) * exp(row->logits[j] - row->max);
}
