/* posenc_softmax, and posenc_logits without scores: decode rows over a cache, and causal prefill. */
#include <posenc/alibi.h>
#include <posenc/softmax.h>

#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "plain.h"
#include "serve.h"

enum { MAX_HEADS = 32 };

typedef struct score_shape {
    const char *name;
    int64_t n_heads, n_q, n_k;
    int alibi;
    posenc_mask mask;
    posenc_hidden hidden;
} score_shape;

/* Decode over a growing cache, then causal prefill. */
static const score_shape softmax_shapes[] = {
    {"plain", 32, 1, 256, 0, POSENC_MASK_NONE, POSENC_HIDDEN_WRITTEN},
    {"alibi", 32, 1, 256, 1, POSENC_MASK_NONE, POSENC_HIDDEN_WRITTEN},
    {"alibi_causal", 32, 1, 256, 1, POSENC_MASK_CAUSAL, POSENC_HIDDEN_WRITTEN},
    {"plain", 32, 1, 1024, 0, POSENC_MASK_NONE, POSENC_HIDDEN_WRITTEN},
    {"alibi", 32, 1, 1024, 1, POSENC_MASK_NONE, POSENC_HIDDEN_WRITTEN},
    {"alibi_causal", 32, 1, 1024, 1, POSENC_MASK_CAUSAL, POSENC_HIDDEN_WRITTEN},
    {"plain", 32, 1, 4096, 0, POSENC_MASK_NONE, POSENC_HIDDEN_WRITTEN},
    {"alibi", 32, 1, 4096, 1, POSENC_MASK_NONE, POSENC_HIDDEN_WRITTEN},
    {"alibi_causal", 32, 1, 4096, 1, POSENC_MASK_CAUSAL, POSENC_HIDDEN_WRITTEN},
    {"plain", 32, 1, 32768, 0, POSENC_MASK_NONE, POSENC_HIDDEN_WRITTEN},
    {"alibi", 32, 1, 32768, 1, POSENC_MASK_NONE, POSENC_HIDDEN_WRITTEN},
    {"alibi_causal", 32, 1, 32768, 1, POSENC_MASK_CAUSAL, POSENC_HIDDEN_WRITTEN},
    {"causal", 4, 2048, 2048, 0, POSENC_MASK_CAUSAL, POSENC_HIDDEN_WRITTEN},
    {"causal_untouched", 4, 2048, 2048, 0, POSENC_MASK_CAUSAL, POSENC_HIDDEN_UNTOUCHED},
    {"alibi_causal", 4, 2048, 2048, 1, POSENC_MASK_CAUSAL, POSENC_HIDDEN_WRITTEN},
};

static const score_shape bias_shapes[] = {
    {"alibi", 32, 1, 4096, 1, POSENC_MASK_NONE, POSENC_HIDDEN_WRITTEN},
    {"alibi_causal", 4, 2048, 2048, 1, POSENC_MASK_CAUSAL, POSENC_HIDDEN_WRITTEN},
};

typedef struct score_job {
    bench_job base;
    score_shape shape;
    posenc_view x, y;
    float slopes[MAX_HEADS];
    posenc_score_params params;
} score_job;

static size_t allowed_keys(const score_job *job, int64_t query) {
    int64_t seen = job->params.q_off + query + 1;
    return (size_t)(job->shape.mask.after == 0 && seen < job->shape.n_k ? seen : job->shape.n_k);
}

static posenc_view scores_of(score_job *job) {
    const score_shape *s = &job->shape;
    float *data = bench_floats(&job->base, (size_t)(s->n_k * s->n_q * s->n_heads));
    return posenc_view_dense(data, POSENC_F32, s->n_k, s->n_q, s->n_heads, 1);
}

static void open_scores(bench_job *base) {
    score_job *job = (score_job *)base;
    job->shape = *(const score_shape *)base->shape;
    const score_shape *s = &job->shape;
    bench_check(posenc_alibi_slopes(s->n_heads, 8.0, job->slopes));
    job->params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    job->params.scale = 0.0883883f;
    job->params.slopes = s->alibi ? job->slopes : NULL;
    job->params.mask = s->mask;
    job->params.hidden = s->hidden;
    job->params.q_off = s->n_k - s->n_q;
    job->x = scores_of(job);
    job->y = scores_of(job);
    bench_compare(base, job->y.data, POSENC_F32, (size_t)(s->n_k * s->n_q * s->n_heads));
    for (int64_t i = 0; i < s->n_q; i++)
        base->elements += (double)(allowed_keys(job, i) * (size_t)s->n_heads);
}

/* The limit reads what is allowed and writes everything; as much as it reads if the rest is not touched. */
static void open_softmax(bench_job *base) {
    open_scores(base);
    const score_shape *s = &((score_job *)base)->shape;
    double written = s->hidden == POSENC_HIDDEN_UNTOUCHED ? base->elements : (double)(s->n_k * s->n_q * s->n_heads);
    base->bytes = sizeof(float) * (base->elements + written);
}

/* The limit writes everything. */
static void open_bias(bench_job *base) {
    open_scores(base);
    const score_shape *s = &((score_job *)base)->shape;
    base->bytes = sizeof(float) * (double)(s->n_k * s->n_q * s->n_heads);
}

static void fill_scores(bench_job *base) {
    const score_job *job = (score_job *)base;
    size_t n = (size_t)(job->shape.n_k * job->shape.n_q * job->shape.n_heads);
    bench_random(job->x.data, POSENC_F32, n, 16.0f);
    if (job->shape.hidden == POSENC_HIDDEN_UNTOUCHED) /* as the layer before has left it */
        memset(job->y.data, 0, n * sizeof(float));
}

/* One row of a plain or limiting pass. */
typedef void row_call(const score_job *job, const float *x, float *y, size_t n_allowed, int64_t query, float slope);

static void every_row(bench_job *base, row_call *call) {
    const score_job *job = (score_job *)base;
    const score_shape *s = &job->shape;
    for (int64_t h = 0; h < s->n_heads; h++) {
        for (int64_t i = 0; i < s->n_q; i++) {
            int64_t at = (h * s->n_q + i) * s->n_k;
            call(job, (float *)job->x.data + at, (float *)job->y.data + at, allowed_keys(job, i), job->params.q_off + i,
                 s->alibi ? job->slopes[h] : 0.0f);
        }
    }
}

static void plain_softmax_row(const score_job *job, const float *x, float *y, size_t n_allowed, int64_t query,
                              float slope) {
    plain_softmax(x, y, (size_t)job->shape.n_k, n_allowed, (int32_t)query, job->params.scale, slope);
}

static void limit_softmax_row(const score_job *job, const float *x, float *y, size_t n_allowed, int64_t query,
                              float slope) {
    (void)query, (void)slope;
    job->base.limits->copy(y, x, n_allowed);
    if (job->shape.hidden == POSENC_HIDDEN_WRITTEN)
        job->base.limits->fill(y + n_allowed, (size_t)job->shape.n_k - n_allowed, 0.0f);
}

static void plain_bias_row(const score_job *job, const float *x, float *y, size_t n_allowed, int64_t query,
                           float slope) {
    (void)x;
    plain_alibi(y, (size_t)job->shape.n_k, n_allowed, (int32_t)query, slope);
}

static void limit_bias_row(const score_job *job, const float *x, float *y, size_t n_allowed, int64_t query,
                           float slope) {
    (void)x, (void)n_allowed, (void)query;
    job->base.limits->fill(y, (size_t)job->shape.n_k, slope);
}

static void run_softmax(bench_job *base) {
    const score_job *job = (score_job *)base;
    bench_check(posenc_softmax(&job->params, &job->x, &job->y, posenc_all_rows()));
}

static void plain_softmax_call(bench_job *base) {
    every_row(base, plain_softmax_row);
}

static void limit_softmax_call(bench_job *base) {
    every_row(base, limit_softmax_row);
}

static void run_bias(bench_job *base) {
    const score_job *job = (score_job *)base;
    bench_check(posenc_logits(&job->params, NULL, &job->y, posenc_all_rows()));
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
                          w->untouched ? POSENC_HIDDEN_UNTOUCHED : POSENC_HIDDEN_WRITTEN};
    if (w->causal)
        shape.mask = posenc_mask_causal();
    return (bench_match){is_softmax ? &softmax_race : &bias_race, &shape};
}

static void register_shapes(const char *call, const bench_race *race, const score_shape *shapes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            char name[128];
            snprintf(name, sizeof name, "%s/%s/%s/%dx%dx%d", call, posenc_isa_name(tier), shapes[i].name,
                     (int)shapes[i].n_heads, (int)shapes[i].n_q, (int)shapes[i].n_k);
            bench_register(race, &shapes[i], tier, name);
        }
    }
}

void bench_register_softmax(void) {
    register_shapes("posenc_softmax", &softmax_race, softmax_shapes, sizeof softmax_shapes / sizeof softmax_shapes[0]);
    register_shapes("posenc_logits", &bias_race, bias_shapes, sizeof bias_shapes / sizeof bias_shapes[0]);
}
