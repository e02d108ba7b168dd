/* posenc_rope_apply and posenc_rope_apply_rows on the heads of real models, and what setting up costs. */
#include <posenc/rope.h>

#include <stdio.h>

#include "bench.h"
#include "plain.h"

typedef struct model {
    const char *name;
    int64_t q_heads, kv_heads; /* one call rotates Q, another K; no K when kv_heads is 0 */
    int64_t head_dim, n_rot;
    posenc_rope_layout layout;
    double base;
} model;

static const model models[] = {
    {"32x128", 32, 0, 128, 128, POSENC_ROPE_HALF, 10000.0},
    {"32x128", 32, 0, 128, 128, POSENC_ROPE_INTERLEAVED, 10000.0},
    {"llama-3.1-8b", 32, 8, 128, 128, POSENC_ROPE_HALF, 500000.0},
    {"gpt-neox-20b", 64, 64, 96, 24, POSENC_ROPE_HALF, 10000.0},
    {"gpt-j-6b", 16, 16, 256, 64, POSENC_ROPE_INTERLEAVED, 10000.0},
    {"falcon-7b", 71, 1, 64, 64, POSENC_ROPE_HALF, 10000.0},
    {"phi-3-mini", 32, 32, 96, 96, POSENC_ROPE_HALF, 10000.0},
};

static const int64_t token_counts[] = {1, 512}; /* decode, prefill */

typedef struct rope_shape {
    const model *model;
    int64_t n_tokens;
    int ready; /* cos and sin rows are there; otherwise the call makes them */
} rope_shape;

typedef struct rope_job {
    bench_job base;
    rope_shape shape;
    posenc_rope *rope;
    posenc_view q, k;
    int32_t *positions;
    float *cos_rows, *sin_rows;
    float *inv_freq;
    unsigned turns, plain_turns; /* even: forward, odd: back */
} rope_job;

static posenc_view heads_of(bench_job *base, const rope_shape *shape, int64_t n_heads) {
    float *data = bench_floats(base, (size_t)(shape->model->head_dim * n_heads * shape->n_tokens));
    return posenc_view_dense(data, POSENC_F32, shape->model->head_dim, n_heads, shape->n_tokens, 1);
}

static posenc_status create(const model *m, posenc_rope **rope) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = m->layout;
    params.head_dim = m->head_dim;
    params.n_rot = m->n_rot;
    params.base = m->base;
    return posenc_rope_create(&params, rope);
}

static void open_rope(bench_job *base) {
    rope_job *job = (rope_job *)base;
    job->shape = *(const rope_shape *)base->shape;
    const model *m = job->shape.model;
    bench_check(create(m, &job->rope));
    size_t n_tokens = (size_t)job->shape.n_tokens, pairs = (size_t)m->n_rot / 2;
    job->q = heads_of(base, &job->shape, m->q_heads);
    job->k = heads_of(base, &job->shape, m->kv_heads);
    job->positions = bench_alloc(base, n_tokens * sizeof(int32_t));
    job->cos_rows = bench_floats(base, n_tokens * pairs);
    job->sin_rows = bench_floats(base, n_tokens * pairs);
    job->inv_freq = bench_floats(base, pairs);
    base->out = job->q.data;
    base->n_out = (size_t)(m->head_dim * m->q_heads * job->shape.n_tokens);
    base->elements = (double)((m->q_heads + m->kv_heads) * m->n_rot * job->shape.n_tokens);
    base->bytes = 2 * sizeof(float) * base->elements;
}

static void fill_view(const posenc_view *x) {
    bench_random(x->data, (size_t)(x->ne[0] * x->ne[1] * x->ne[2]), 1.0f);
}

static void fill_rope(bench_job *base) {
    rope_job *job = (rope_job *)base;
    const model *m = job->shape.model;
    fill_view(&job->q);
    fill_view(&job->k);
    for (int32_t t = 0; t < job->shape.n_tokens; t++)
        job->positions[t] = 3000 + t;
    plain_frequencies(job->inv_freq, (size_t)m->n_rot, (float)m->base);
    bench_check(posenc_angle_rows(posenc_rope_freq(job->rope), job->positions, job->shape.n_tokens, job->cos_rows,
                                  job->sin_rows, m->n_rot / 2));
}

static void close_rope(bench_job *base) {
    posenc_rope_free(((rope_job *)base)->rope);
}

static void apply(rope_job *job, const posenc_view *x, posenc_direction direction) {
    bench_check(job->shape.ready ? posenc_rope_apply_rows(job->rope, x, job->cos_rows, job->sin_rows,
                                                          job->shape.model->n_rot / 2, x, direction, posenc_all_rows())
                                 : posenc_rope_apply(job->rope, x, job->positions, x, direction, posenc_all_rows()));
}

static void run_rope(bench_job *base) {
    rope_job *job = (rope_job *)base;
    posenc_direction direction = job->turns++ % 2 == 0 ? POSENC_FORWARD : POSENC_INVERSE;
    apply(job, &job->q, direction);
    if (job->shape.model->kv_heads > 0)
        apply(job, &job->k, direction);
}

static void plain_heads(const rope_job *job, const posenc_view *x, int64_t t, float sin_sign) {
    const model *m = job->shape.model;
    plain_rope((float *)x->data + t * x->ne[0] * x->ne[1], (size_t)x->ne[1], (size_t)m->head_dim, (size_t)m->n_rot,
               m->layout == POSENC_ROPE_INTERLEAVED, job->cos_rows + t * m->n_rot / 2, job->sin_rows + t * m->n_rot / 2,
               sin_sign);
}

/* The row of a token is made once, as careful users do. */
static void plain_rope_call(bench_job *base) {
    rope_job *job = (rope_job *)base;
    int64_t pairs = job->shape.model->n_rot / 2;
    float sin_sign = job->plain_turns++ % 2 == 0 ? 1.0f : -1.0f;
    for (int64_t t = 0; t < job->shape.n_tokens; t++) {
        if (!job->shape.ready)
            plain_angles(job->inv_freq, (size_t)pairs, job->positions[t], job->cos_rows + t * pairs,
                         job->sin_rows + t * pairs);
        plain_heads(job, &job->q, t, sin_sign);
        plain_heads(job, &job->k, t, sin_sign);
    }
}

/* The rotated channels, scaled in place. */
static void limit_rope_call(bench_job *base) {
    rope_job *job = (rope_job *)base;
    const model *m = job->shape.model;
    float factor = bench_factor(base);
    const posenc_view *views[] = {&job->q, &job->k};
    for (int i = 0; i < 2; i++)
        base->limits->scale(views[i]->data, (size_t)(views[i]->ne[1] * views[i]->ne[2]), (size_t)m->n_rot,
                            (size_t)m->head_dim, factor);
}

static const bench_race rope_race = {
    .job_size = sizeof(rope_job),
    .shape_size = sizeof(rope_shape),
    .open = open_rope,
    .fill = fill_rope,
    .close = close_rope,
    .racers = {run_rope, plain_rope_call, limit_rope_call},
};

/* ---- posenc_rope_create: pairs set up and freed ---- */

static void open_create(bench_job *base) {
    rope_job *job = (rope_job *)base;
    job->shape = *(const rope_shape *)base->shape;
    size_t pairs = (size_t)job->shape.model->n_rot / 2;
    job->inv_freq = bench_floats(base, pairs);
    base->elements = (double)pairs;
    base->bytes = sizeof(float) * base->elements;
}

static void fill_nothing(bench_job *base) {
    (void)base;
}

static void run_create(bench_job *base) {
    posenc_rope *rope;
    bench_check(create(((rope_job *)base)->shape.model, &rope));
    posenc_rope_free(rope);
}

static void plain_create(bench_job *base) {
    const rope_job *job = (rope_job *)base;
    plain_frequencies(job->inv_freq, (size_t)job->shape.model->n_rot, (float)job->shape.model->base);
}

static void limit_create(bench_job *base) {
    const rope_job *job = (rope_job *)base;
    base->limits->fill(job->inv_freq, (size_t)job->shape.model->n_rot / 2, 1.0f);
}

static const bench_race create_race = {
    .job_size = sizeof(rope_job),
    .shape_size = sizeof(rope_shape),
    .open = open_create,
    .fill = fill_nothing,
    .racers = {run_create, plain_create, limit_create},
};

/* ---- all of them ---- */

static void register_shape(const rope_shape *shape) {
    posenc_isa_tier tier;
    for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
        char name[128];
        snprintf(name, sizeof name, "posenc_rope_apply%s/%s/%s/%s/tokens:%d", shape->ready ? "_rows" : "",
                 posenc_isa_name(tier), shape->model->name,
                 shape->model->layout == POSENC_ROPE_HALF ? "half" : "interleaved", (int)shape->n_tokens);
        bench_register(&rope_race, shape, tier, name);
    }
}

void bench_register_rope(void) {
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
        for (size_t n = 0; n < sizeof token_counts / sizeof token_counts[0]; n++)
            for (int ready = 0; ready <= 1; ready++)
                register_shape(&(rope_shape){&models[m], token_counts[n], ready});
    bench_register(&create_race, &(rope_shape){&models[0], 0, 0}, posenc_isa(), "posenc_rope_create/n_rot:128");
}
