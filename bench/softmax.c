/* SPDX-License-Identifier: MIT */
/* posenc_softmax, and posenc_logits without scores: decode rows over a cache, and causal prefill. */
#include <posenc/bias.h>
#include <posenc/softmax.h>

#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "plain.h"
#include "visible.h"
#include "serve.h"
#include "core/view.h"

enum { MAX_HEADS = 32 };

typedef struct score_shape {
    const char *name;
    int64_t n_heads, n_q, n_k;
    int alibi;
    posenc_mask mask;
    posenc_masked_output masked;
    posenc_dtype type;
} score_shape;

/* Decode over a growing cache, then causal prefill; scores in 16 bits. */
static const score_shape softmax_shapes[] = {
    {"plain", 32, 1, 256, 0, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi", 32, 1, 256, 1, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi_causal", 32, 1, 256, 1, POSENC_MASK_CAUSAL, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"plain", 32, 1, 1024, 0, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi", 32, 1, 1024, 1, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi_causal", 32, 1, 1024, 1, POSENC_MASK_CAUSAL, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"plain", 32, 1, 4096, 0, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi", 32, 1, 4096, 1, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi_causal", 32, 1, 4096, 1, POSENC_MASK_CAUSAL, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"plain", 32, 1, 32768, 0, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi", 32, 1, 32768, 1, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi_causal", 32, 1, 32768, 1, POSENC_MASK_CAUSAL, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"plain", 32, 1, 131072, 0, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi", 32, 1, 131072, 1, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi", 1, 1, 131072, 1, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32}, /* as many bytes as 32 x 4096 */
    {"causal", 4, 2048, 2048, 0, POSENC_MASK_CAUSAL, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"causal_untouched", 4, 2048, 2048, 0, POSENC_MASK_CAUSAL, POSENC_MASKED_UNTOUCHED, POSENC_F32},
    {"alibi_causal", 4, 2048, 2048, 1, POSENC_MASK_CAUSAL, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"plain", 32, 1, 4096, 0, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F16},
    {"plain", 32, 1, 4096, 0, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_BF16},
    {"alibi", 32, 1, 4096, 1, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F16},
    {"alibi", 32, 1, 4096, 1, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_BF16},
    {"causal", 4, 2048, 2048, 0, POSENC_MASK_CAUSAL, POSENC_MASKED_WRITTEN, POSENC_F16},
    {"causal", 4, 2048, 2048, 0, POSENC_MASK_CAUSAL, POSENC_MASKED_WRITTEN, POSENC_BF16},
};

/* Exponentials and their sums, for a caller that divides later. */
static const score_shape partial_shapes[] = {
    {"plain", 32, 1, 4096, 0, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
};

static const score_shape bias_shapes[] = {
    {"alibi", 32, 1, 4096, 1, POSENC_MASK_NONE, POSENC_MASKED_WRITTEN, POSENC_F32},
    {"alibi_causal", 4, 2048, 2048, 1, POSENC_MASK_CAUSAL, POSENC_MASKED_WRITTEN, POSENC_F32},
};

typedef struct score_job {
    bench_job base;
    score_shape shape;
    posenc_view x, y;
    float slopes[MAX_HEADS];
    posenc_score_params params;
    float *row; /* of the plain loop's, where scores are not float32 */
    posenc_softmax_sum *sums;
} score_job;

static size_t score_count(const score_job *job) {
    return (size_t)(job->shape.n_k * job->shape.n_q * job->shape.n_heads);
}

static size_t bytes_of(const score_job *job, size_t n) {
    return n * (size_t)posenc_dtype_size(job->shape.type);
}

/* No mask here hides keys but at the end. */
static size_t allowed_keys(const score_job *job, int64_t query) {
    return (size_t)bench_visible_to(&job->params, query, job->shape.n_k).end;
}

static void open_scores(bench_job *base) {
    score_job *job = (score_job *)base;
    job->shape = *(const score_shape *)base->shape;
    const score_shape *s = &job->shape;
    bench_check(posenc_alibi_slopes(s->n_heads, 8.0, job->slopes));
    job->params = posenc_score_params_of(0.0883883f, s->mask);
    job->params.bias.alibi_slopes = s->alibi ? job->slopes : NULL;
    job->params.n_heads = s->n_heads;
    job->params.masked_output = s->masked;
    job->params.positions.query_start = s->n_k - s->n_q;
    job->x = bench_view(base, s->type, s->n_k, s->n_q, s->n_heads);
    job->y = bench_view(base, s->type, s->n_k, s->n_q, s->n_heads);
    job->row = bench_floats(base, (size_t)s->n_k);
    job->sums = bench_alloc(base, (size_t)(s->n_q * s->n_heads) * sizeof *job->sums);
    bench_compare(base, job->y.data, s->type, score_count(job));
    base->elements = (double)(s->n_heads * bench_count_visible(&job->params, s->n_q, s->n_k));
}

/* The limit reads what is allowed and writes everything; as much as it reads if the rest is not touched. */
static void open_softmax(bench_job *base) {
    open_scores(base);
    const score_job *job = (score_job *)base;
    size_t visible = (size_t)base->elements,
           written = job->shape.masked == POSENC_MASKED_UNTOUCHED ? visible : score_count(job);
    base->bytes = (double)bytes_of(job, visible + written);
}

/* The limit writes everything. */
static void open_bias(bench_job *base) {
    open_scores(base);
    const score_job *job = (score_job *)base;
    base->bytes = (double)bytes_of(job, score_count(job));
}

static void fill_scores(bench_job *base) {
    const score_job *job = (score_job *)base;
    bench_random_view(&job->x, 16.0f);
    if (job->shape.masked == POSENC_MASKED_UNTOUCHED) /* as the layer before has left it */
        memset(job->y.data, 0, bytes_of(job, score_count(job)));
}

/* One row of a plain or limiting pass. */
typedef void row_call(const score_job *job, const void *x, void *y, size_t n_allowed, int64_t query, float slope);

static void every_row(bench_job *base, row_call *call) {
    const score_job *job = (score_job *)base;
    const score_shape *s = &job->shape;
    for (int64_t h = 0; h < s->n_heads; h++) {
        for (int64_t i = 0; i < s->n_q; i++) {
            size_t at = bytes_of(job, (size_t)((h * s->n_q + i) * s->n_k));
            call(job, (char *)job->x.data + at, (char *)job->y.data + at, allowed_keys(job, i),
                 job->params.positions.query_start + i, s->alibi ? job->slopes[h] : 0.0f);
        }
    }
}

static void plain_softmax_row(const score_job *job, const void *x, void *y, size_t n_allowed, int64_t query,
                              float slope) {
    size_t n = (size_t)job->shape.n_k;
    posenc_dtype type = job->shape.type;
    float *row = type == POSENC_F32 ? y : job->row;
    if (type != POSENC_F32)
        plain_convert_row(x, type, row, POSENC_F32, n_allowed);
    plain_softmax(type == POSENC_F32 ? x : row, row, n, n_allowed, (int32_t)query, job->params.scale, slope);
    if (type != POSENC_F32)
        plain_convert_row(row, POSENC_F32, y, type, n);
}

/* Copies and fills as many bytes as the row has. */
static void limit_softmax_row(const score_job *job, const void *x, void *y, size_t n_allowed, int64_t query,
                              float slope) {
    (void)query, (void)slope;
    int64_t visible = (int64_t)(bytes_of(job, n_allowed) / sizeof(float)),
            all = (int64_t)(bytes_of(job, (size_t)job->shape.n_k) / sizeof(float));
    int64_t written = job->shape.masked == POSENC_MASKED_WRITTEN ? all : visible;
    bench_copy_visible(job->base.limits, y, x, (bench_visible){0, visible}, written);
}

static void plain_bias_row(const score_job *job, const void *x, void *y, size_t n_allowed, int64_t query, float slope) {
    (void)x;
    plain_alibi(y, (size_t)job->shape.n_k, n_allowed, (int32_t)query, slope);
}

static void limit_bias_row(const score_job *job, const void *x, void *y, size_t n_allowed, int64_t query, float slope) {
    (void)x, (void)n_allowed, (void)query;
    job->base.limits->fill(y, (size_t)job->shape.n_k, slope);
}

static void run_softmax(bench_job *base) {
    const score_job *job = (score_job *)base;
    bench_check(posenc_softmax(&job->params, &job->x, &job->y, posenc_range_all()));
}

static void run_partial(bench_job *base) {
    const score_job *job = (score_job *)base;
    bench_check(posenc_softmax_partial(&job->params, &job->x, &job->y, job->sums, posenc_range_all()));
}

static void plain_softmax_call(bench_job *base) {
    every_row(base, plain_softmax_row);
}

static void limit_softmax_call(bench_job *base) {
    every_row(base, limit_softmax_row);
}

static void run_bias(bench_job *base) {
    const score_job *job = (score_job *)base;
    bench_check(posenc_logits(&job->params, NULL, &job->y, posenc_range_all()));
}

static void plain_bias_call(bench_job *base) {
    every_row(base, plain_bias_row);
}

static void limit_bias_call(bench_job *base) {
    every_row(base, limit_bias_row);
}

static const bench_race softmax_race = {
    .job_size = sizeof(score_job),
    .shape_size = sizeof(score_shape),
    .open = open_softmax,
    .fill = fill_scores,
    .racers = {run_softmax, plain_softmax_call, limit_softmax_call},
};
static const bench_race partial_race = {
    .job_size = sizeof(score_job),
    .shape_size = sizeof(score_shape),
    .open = open_softmax,
    .fill = fill_scores,
    .racers = {[BENCH_OURS] = run_partial, [BENCH_LIMIT] = limit_softmax_call, [BENCH_ALONE] = run_softmax},
};
static const bench_race bias_race = {
    .job_size = sizeof(score_job),
    .shape_size = sizeof(score_shape),
    .open = open_bias,
    .fill = fill_scores,
    .racers = {run_bias, plain_bias_call, limit_bias_call},
};

bench_match bench_match_softmax(const work *w) {
    static score_shape shape;
    int is_softmax = work_is(w, "softmax");
    if ((!is_softmax && !work_is(w, "logits")) || w->heads < 1 || w->heads > MAX_HEADS)
        return (bench_match){NULL, NULL};
    shape = (score_shape){"",
                          w->heads,
                          w->queries,
                          w->keys,
                          (int)w->alibi,
                          POSENC_MASK_NONE,
                          w->untouched ? POSENC_MASKED_UNTOUCHED : POSENC_MASKED_WRITTEN,
                          POSENC_F32};
    if (w->causal)
        shape.mask = posenc_mask_causal();
    return (bench_match){is_softmax ? &softmax_race : &bias_race, &shape};
}

static void register_shapes(const char *call, const bench_race *race, const score_shape *shapes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            char name[128];
            posenc_dtype type = shapes[i].type;
            snprintf(name, sizeof name, "%s/%s/%s/%s%s%dx%dx%d", call, posenc_isa_name(tier), shapes[i].name,
                     type == POSENC_F32 ? "" : bench_type_name(type, type), type == POSENC_F32 ? "" : "/",
                     (int)shapes[i].n_heads, (int)shapes[i].n_q, (int)shapes[i].n_k);
            bench_register(race, &shapes[i], tier, name);
        }
    }
}

void bench_register_softmax(void) {
    register_shapes("posenc_softmax", &softmax_race, softmax_shapes, sizeof softmax_shapes / sizeof softmax_shapes[0]);
    register_shapes("posenc_softmax_partial", &partial_race, partial_shapes,
                    sizeof partial_shapes / sizeof partial_shapes[0]);
    register_shapes("posenc_logits", &bias_race, bias_shapes, sizeof bias_shapes / sizeof bias_shapes[0]);
}
