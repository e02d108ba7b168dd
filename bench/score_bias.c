/* posenc_softmax with each bias and mask, against the same call without it: x_alone is what the bias costs. */
#include <posenc/alibi.h>
#include <posenc/softmax.h>

#include <stdio.h>

#include "bench.h"

enum { MAX_HEADS = 32, N_ROWS = 64 };

typedef struct bias_shape bias_shape;

typedef struct bias_job {
    bench_job base;
    posenc_view x, y, bias, products;
    float slopes[MAX_HEADS];
    posenc_line line;
    posenc_index_line index;
    posenc_score_params with, without;
} bias_job;

struct bias_shape {
    const char *name;
    void (*add)(bias_job *job); /* what the call is given more than the other */
};

static posenc_view new_view(bias_job *job, posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2) {
    size_t size = type == POSENC_F32 ? 4 : 2;
    return posenc_view_dense(bench_alloc(&job->base, (size_t)(ne0 * ne1 * ne2) * size), type, ne0, ne1, ne2, 1);
}

static void random_view(const posenc_view *v, float bound) {
    bench_random(v->data, v->dtype, (size_t)(v->ne[0] * v->ne[1] * v->ne[2]), bound);
}

/* ---- What is added ---- */

static void add_alibi(bias_job *job) {
    bench_check(posenc_alibi_slopes(job->x.ne[2], 8.0, job->slopes));
    job->with.slopes = job->slopes;
}

static void add_line(bias_job *job) {
    posenc_line *line = &job->line;
    bench_check(
        posenc_line_range(job->with.mask, job->with.q_off, job->x.ne[1], job->x.ne[0], &line->first, &line->n_offsets));
    line->n_heads = job->x.ne[2];
    line->stride = line->n_offsets;
    line->data = bench_floats(&job->base, (size_t)(line->n_heads * line->stride));
    bench_random(line->data, POSENC_F32, (size_t)(line->n_heads * line->stride), 4.0f);
    job->with.line = line;
}

/* T5's: constant beyond its max_distance. */
static void add_t5(bias_job *job) {
    enum { MAX_DISTANCE = 128 };
    posenc_line *line = &job->line;
    *line = (posenc_line){.first = -MAX_DISTANCE,
                          .n_offsets = 2 * MAX_DISTANCE + 1,
                          .n_heads = job->x.ne[2],
                          .stride = 2 * MAX_DISTANCE + 1,
                          .is_extended = 1};
    line->data = bench_floats(&job->base, (size_t)(line->n_heads * line->stride));
    bench_random(line->data, POSENC_F32, (size_t)(line->n_heads * line->stride), 4.0f);
    job->with.line = line;
}

/* ggml's mask: one for all heads. */
static void add_mask(bias_job *job, posenc_dtype type) {
    job->bias = new_view(job, type, job->x.ne[0], job->x.ne[1], 1);
    random_view(&job->bias, 4.0f);
    job->with.bias = &job->bias;
}

static void add_mask_f32(bias_job *job) {
    add_mask(job, POSENC_F32);
}

static void add_mask_f16(bias_job *job) {
    add_mask(job, POSENC_F16);
}

static void add_cap(bias_job *job) {
    job->with.cap = 50.0f;
}

/* Shaw's keys, 2 k + 1 = 64 rows or so. */
static void add_by_query(bias_job *job) {
    add_line(job);
    job->with.line = NULL;
    int32_t *index = bench_alloc(&job->base, (size_t)job->line.n_offsets * sizeof *index);
    for (int64_t o = 0; o < job->line.n_offsets; o++)
        index[o] = (int32_t)(o % N_ROWS);
    job->index = (posenc_index_line){index, job->line.first, job->line.n_offsets, N_ROWS};
    job->products = new_view(job, POSENC_F32, N_ROWS, job->x.ne[1], job->x.ne[2]);
    random_view(&job->products, 4.0f);
    job->with.by_query = (posenc_relative){&job->products, &job->index};
}

static void add_causal(bias_job *job) {
    job->with.mask = posenc_mask_causal();
}

static void add_window(bias_job *job) {
    job->with.mask = posenc_mask_window(512);
}

static const bias_shape shapes[] = {
    {"alibi", add_alibi},       {"line", add_line},         {"t5", add_t5},
    {"mask_f32", add_mask_f32}, {"mask_f16", add_mask_f16}, {"by_query", add_by_query},
    {"cap", add_cap},           {"causal", add_causal},     {"window_512", add_window},
};

/* ---- The race ---- */

typedef struct sized_shape {
    const bias_shape *what;
    int64_t n_heads, n_q, n_k;
} sized_shape;

static void open_bias(bench_job *base) {
    bias_job *job = (bias_job *)base;
    const sized_shape *s = base->shape;
    job->x = new_view(job, POSENC_F32, s->n_k, s->n_q, s->n_heads);
    job->y = new_view(job, POSENC_F32, s->n_k, s->n_q, s->n_heads);
    job->without = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    job->without.scale = 0.0883883f;
    job->without.q_off = s->n_k - s->n_q;
    job->with = job->without;
    s->what->add(job);
    base->elements = (double)(s->n_k * s->n_q * s->n_heads);
    base->bytes = 2.0 * sizeof(float) * base->elements;
}

static void fill_bias(bench_job *base) {
    random_view(&((bias_job *)base)->x, 16.0f);
}

static void run_with(bench_job *base) {
    const bias_job *job = (bias_job *)base;
    bench_check(posenc_softmax(&job->with, &job->x, &job->y, posenc_all_rows()));
}

static void run_without(bench_job *base) {
    const bias_job *job = (bias_job *)base;
    bench_check(posenc_softmax(&job->without, &job->x, &job->y, posenc_all_rows()));
}

static void run_copy(bench_job *base) {
    const bias_job *job = (bias_job *)base;
    base->limits->copy(job->y.data, job->x.data, (size_t)base->elements);
}

static const bench_race race = {
    .job_size = sizeof(bias_job),
    .shape_size = sizeof(sized_shape),
    .open = open_bias,
    .fill = fill_bias,
    .racers = {[BENCH_OURS] = run_with, [BENCH_LIMIT] = run_copy, [BENCH_ALONE] = run_without},
};

/* Decode over a cache, then prefill. */
void bench_register_score_bias(void) {
    static const int64_t sizes[][3] = {{32, 1, 256}, {32, 1, 4096}, {32, 1, 32768}, {1, 2048, 2048}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            posenc_isa_tier tier;
            for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
                sized_shape shape = {&shapes[k], sizes[i][0], sizes[i][1], sizes[i][2]};
                char name[128];
                snprintf(name, sizeof name, "softmax_bias/%s/%s/%dx%dx%d", posenc_isa_name(tier), shapes[k].name,
                         (int)shape.n_heads, (int)shape.n_q, (int)shape.n_k);
                bench_register(&race, &shape, tier, name);
            }
        }
}
