/* SPDX-License-Identifier: MIT */
/* posenc_softmax with each bias and mask, against the same call without it: x_alone is what the bias costs. */
#include <stdio.h>

#include "visible.h"
#include "terms.h"

typedef struct bias_job {
    bench_job base;
    posenc_view x, y;
    bench_terms with, without;
} bias_job;

typedef struct bias_shape {
    const char *name;
    terms_add *add; /* what the call is given more than the other */
    int64_t n_heads, n_q, n_k;
} bias_shape;

/* ---- The race ---- */

static void open_bias(bench_job *base) {
    bias_job *job = (bias_job *)base;
    const bias_shape *s = base->shape;
    job->x = bench_view(base, POSENC_F32, s->n_k, s->n_q, s->n_heads);
    job->y = bench_view(base, POSENC_F32, s->n_k, s->n_q, s->n_heads);
    terms_open(&job->without, base, s->n_heads, s->n_q, s->n_k);
    terms_open(&job->with, base, s->n_heads, s->n_q, s->n_k);
    s->add(&job->with);
    base->elements = (double)(s->n_heads * bench_count_visible(&job->with.params, s->n_q, s->n_k));
    base->bytes = sizeof(float) * (base->elements + (double)(s->n_heads * s->n_q * s->n_k));
}

static void fill_bias(bench_job *base) {
    bench_random_view(&((bias_job *)base)->x, 16.0f);
}

static void run_with(bench_job *base) {
    const bias_job *job = (bias_job *)base;
    bench_check(posenc_softmax(&job->with.params, &job->x, &job->y, posenc_range_all()));
}

static void run_without(bench_job *base) {
    const bias_job *job = (bias_job *)base;
    bench_check(posenc_softmax(&job->without.params, &job->x, &job->y, posenc_range_all()));
}

static void run_limit(bench_job *base) {
    const bias_job *job = (bias_job *)base;
    const bias_shape *s = base->shape;
    const float *x = job->x.data;
    float *y = job->y.data;
    for (int64_t row = 0; row < s->n_heads * s->n_q; row++, x += s->n_k, y += s->n_k)
        bench_copy_visible(base->limits, y, x, bench_visible_to(&job->with.params, row % s->n_q, s->n_k), s->n_k);
}

static const bench_race race = {
    .job_size = sizeof(bias_job),
    .shape_size = sizeof(bias_shape),
    .open = open_bias,
    .fill = fill_bias,
    .racers = {[BENCH_OURS] = run_with, [BENCH_LIMIT] = run_limit, [BENCH_ALONE] = run_without},
};

/* ---- All of them ---- */

typedef struct named_term {
    const char *name;
    terms_add *add;
} named_term;

typedef struct score_size {
    int64_t n_heads, n_q, n_k;
} score_size;

/* Decode over a cache, then prefill. */
static const named_term terms[] = {
    {"alibi", terms_alibi},       {"line", terms_rel_bias},     {"t5", terms_t5},
    {"mask_f32", terms_mask_f32}, {"mask_f16", terms_mask_f16}, {"by_query", terms_by_query},
    {"cap", terms_cap},           {"causal", terms_causal},     {"window_512", terms_window_512},
};
static const score_size sizes[] = {{32, 1, 256}, {32, 1, 4096}, {32, 1, 32768}, {1, 2048, 2048}};

/* DeBERTa v3 base, which only encodes. */
static const named_term encoder_terms[] = {{"by_key", terms_by_key}, {"deberta", terms_deberta}};
static const score_size encoder_sizes[] = {{12, 512, 512}};

static void register_shape(const bias_shape *shape) {
    posenc_isa_tier tier;
    for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
        char name[128];
        snprintf(name, sizeof name, "softmax_bias/%s/%s/%dx%dx%d", posenc_isa_name(tier), shape->name,
                 (int)shape->n_heads, (int)shape->n_q, (int)shape->n_k);
        bench_register(&race, shape, tier, name);
    }
}

static void register_all(const named_term *what, size_t n, const score_size *at, size_t n_sizes) {
    for (size_t i = 0; i < n_sizes; i++)
        for (size_t k = 0; k < n; k++)
            register_shape(&(bias_shape){what[k].name, what[k].add, at[i].n_heads, at[i].n_q, at[i].n_k});
}

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

void bench_register_score_bias(void) {
    register_all(terms, LENGTH(terms), sizes, LENGTH(sizes));
    register_all(encoder_terms, LENGTH(encoder_terms), encoder_sizes, LENGTH(encoder_sizes));
}
