/* SPDX-License-Identifier: MIT */
/* posenc_softmax_backward and posenc_rel_bias_backward over the scores of 4 heads, 2048^2, what training adds to the
 * forward pass. */
#include <posenc/backward.h>

#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "plain.h"
#include "visible.h"

enum { HEADS = 4, TOKENS = 2048, SCORES = HEADS * TOKENS * TOKENS };

typedef struct gradient_shape {
    const char *name;
    posenc_mask mask;
    float cap;
} gradient_shape;

static const gradient_shape shapes[] = {
    {"full", POSENC_MASK_NONE, 0.0f},
    {"causal", POSENC_MASK_CAUSAL, 0.0f},
    {"causal_cap", POSENC_MASK_CAUSAL, 50.0f},
};

typedef struct gradient_job {
    bench_job base;
    gradient_shape shape;
    posenc_score_params params;
    posenc_view p, dp, s, dx;
    posenc_rel_bias rel_bias;
} gradient_job;

/* No mask here hides keys but at the end. */
static int64_t visible_keys(const gradient_job *job, int64_t query) {
    return bench_visible_to(&job->params, query, TOKENS).end;
}

static posenc_view scores(bench_job *base) {
    return posenc_view_dense(bench_floats(base, SCORES), POSENC_F32, TOKENS, TOKENS, HEADS, 1);
}

static void open_gradient(bench_job *base) {
    gradient_job *job = (gradient_job *)base;
    job->shape = *(const gradient_shape *)base->shape;
    job->params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    job->params.scale = 0.125f;
    job->params.mask = job->shape.mask;
    job->params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    job->params.cap = job->shape.cap;
    job->p = scores(base);
    job->dp = scores(base);
    job->s = scores(base);
    job->dx = scores(base);
    job->rel_bias.n_heads = HEADS;
    bench_check(
        posenc_rel_bias_range(job->shape.mask, 0, TOKENS, TOKENS, &job->rel_bias.first, &job->rel_bias.n_offsets));
    job->rel_bias.stride = job->rel_bias.n_offsets;
    job->rel_bias.data = bench_floats(base, (size_t)(HEADS * job->rel_bias.n_offsets));
    base->elements = (double)(HEADS * bench_count_visible(&job->params, TOKENS, TOKENS));
}

/* The limit copies visible keys of p, of dp and, for a cap, of the scores. */
static void open_backward(bench_job *base) {
    gradient_job *job = (gradient_job *)base;
    open_gradient(base);
    base->bytes = (job->shape.cap != 0.0f ? 6.0 : 4.0) * sizeof(float) * base->elements;
    bench_compare(base, job->dx.data, POSENC_F32, SCORES);
}

/* The limit copies visible keys of ds. */
static void open_rel_bias(bench_job *base) {
    open_gradient(base);
    base->bytes = 2 * sizeof(float) * base->elements;
}

static void fill_gradient(bench_job *base) {
    gradient_job *job = (gradient_job *)base;
    bench_random(job->s.data, POSENC_F32, SCORES, 16.0f);
    bench_random(job->dp.data, POSENC_F32, SCORES, 1.0f);
    bench_check(posenc_softmax(&job->params, &job->s, &job->p, posenc_range_all()));
}

static void run_backward(bench_job *base) {
    gradient_job *job = (gradient_job *)base;
    const posenc_view *s = job->shape.cap != 0.0f ? &job->s : NULL;
    bench_check(posenc_softmax_backward(&job->params, &job->p, &job->dp, s, &job->dx, NULL, NULL, posenc_range_all()));
}

static void plain_backward(bench_job *base) {
    const gradient_job *job = (gradient_job *)base;
    for (int64_t row = 0; row < HEADS * TOKENS; row++) {
        int64_t at = row * TOKENS, n = visible_keys(job, row % TOKENS);
        float *dx = (float *)job->dx.data + at;
        plain_softmax_backward((float *)job->p.data + at, (float *)job->dp.data + at, dx, (size_t)n, job->params.scale);
        if (job->shape.cap != 0.0f)
            plain_cap_backward((float *)job->s.data + at, dx, (size_t)n, job->params.scale, job->shape.cap);
        memset(dx + n, 0, (size_t)(TOKENS - n) * sizeof(float));
    }
}

static void limit_backward(bench_job *base) {
    const gradient_job *job = (gradient_job *)base;
    for (int64_t row = 0; row < HEADS * TOKENS; row++) {
        int64_t at = row * TOKENS, n = visible_keys(job, row % TOKENS);
        base->limits->copy((float *)job->dx.data + at, (float *)job->p.data + at, (size_t)n);
        base->limits->copy((float *)job->dx.data + at, (float *)job->dp.data + at, (size_t)n);
        if (job->shape.cap != 0.0f)
            base->limits->copy((float *)job->dx.data + at, (float *)job->s.data + at, (size_t)n);
    }
}

static void run_rel_bias(bench_job *base) {
    gradient_job *job = (gradient_job *)base;
    bench_check(posenc_rel_bias_backward(&job->params, &job->dp, &job->rel_bias));
}

/* In float32, offset by offset of each row, as one would write it. */
static void plain_rel_bias(bench_job *base) {
    gradient_job *job = (gradient_job *)base;
    memset(job->rel_bias.data, 0, (size_t)(HEADS * job->rel_bias.n_offsets) * sizeof(float));
    for (int64_t row = 0; row < HEADS * TOKENS; row++) {
        int64_t i = row % TOKENS, n = visible_keys(job, i);
        const float *ds = (float *)job->dp.data + row * TOKENS;
        float *sums = job->rel_bias.data + row / TOKENS * job->rel_bias.stride - job->rel_bias.first - i;
        for (int64_t j = 0; j < n; j++)
            sums[j] += ds[j];
    }
}

static void limit_rel_bias(bench_job *base) {
    const gradient_job *job = (gradient_job *)base;
    for (int64_t row = 0; row < HEADS * TOKENS; row++)
        base->limits->copy((float *)job->dx.data, (float *)job->dp.data + row * TOKENS,
                           (size_t)visible_keys(job, row % TOKENS));
}

static const bench_race backward_race = {
    .job_size = sizeof(gradient_job),
    .shape_size = sizeof(gradient_shape),
    .open = open_backward,
    .fill = fill_gradient,
    .racers = {run_backward, plain_backward, limit_backward},
};
static const bench_race rel_bias_race = {
    .job_size = sizeof(gradient_job),
    .shape_size = sizeof(gradient_shape),
    .open = open_rel_bias,
    .fill = fill_gradient,
    .racers = {run_rel_bias, plain_rel_bias, limit_rel_bias},
};

static void register_shape(const char *call, const bench_race *race, const gradient_shape *shape) {
    posenc_isa_tier tier;
    for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
        char name[128];
        snprintf(name, sizeof name, "%s/%s/%s/%dx%dx%d", call, posenc_isa_name(tier), shape->name, HEADS, TOKENS,
                 TOKENS);
        bench_register(race, shape, tier, name);
    }
}

void bench_register_gradients(void) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        register_shape("posenc_softmax_backward", &backward_race, &shapes[i]);
    for (size_t i = 0; i < 2; i++)
        register_shape("posenc_rel_bias_backward", &rel_bias_race, &shapes[i]);
}
