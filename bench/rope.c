/* SPDX-License-Identifier: MIT */
/* posenc_rope_apply and posenc_rope_apply_table on the heads of real models, making a table, and what set-up costs. */
#include <posenc/rope.h>

#include <stdio.h>

#include "heads.h"
#include "plain.h"
#include "serve.h"

typedef struct model {
    const char *name;
    int64_t q_heads, kv_heads; /* one call rotates Q, another K; no K when kv_heads is 0 */
    int64_t head_dim, n_rot;
    posenc_rope_layout layout; /* in place, unless the layout forbids it */
    double base;
    posenc_dtype type;
    posenc_rope_axes axes;
} model;

#define QWEN2_VL_AXES                                                                                                  \
    {                                                                                                                  \
        POSENC_AXES_MROPE, 3, {                                                                                        \
            16, 24, 24, 0                                                                                              \
        }                                                                                                              \
    }

static const model models[] = {
    {"32x128", 32, 0, 128, 128, POSENC_ROPE_HALF, 1e4, POSENC_F32, {0}},
    {"32x128", 32, 0, 128, 128, POSENC_ROPE_INTERLEAVED, 1e4, POSENC_F32, {0}},
    {"llama-3.1-8b", 32, 8, 128, 128, POSENC_ROPE_HALF, 5e5, POSENC_F32, {0}},
    {"llama-3.1-8b", 32, 8, 128, 128, POSENC_ROPE_HALF, 5e5, POSENC_F16, {0}},
    {"llama-3.1-8b", 32, 8, 128, 128, POSENC_ROPE_HALF, 5e5, POSENC_BF16, {0}},
    {"gpt-neox-20b", 64, 64, 96, 24, POSENC_ROPE_HALF, 1e4, POSENC_F32, {0}},
    {"gpt-j-6b", 16, 16, 256, 64, POSENC_ROPE_INTERLEAVED, 1e4, POSENC_F32, {0}},
    {"falcon-7b", 71, 1, 64, 64, POSENC_ROPE_HALF, 1e4, POSENC_F32, {0}},
    {"phi-3-mini", 32, 32, 96, 96, POSENC_ROPE_HALF, 1e4, POSENC_F32, {0}},
    {"deepseek-v3", 128, 1, 64, 64, POSENC_ROPE_DEINTERLEAVE, 1e4, POSENC_F32, {0}},
    {"deepseek-v3", 128, 1, 64, 64, POSENC_ROPE_DEINTERLEAVE, 1e4, POSENC_BF16, {0}},
    {"qwen2-vl-7b", 28, 4, 128, 128, POSENC_ROPE_HALF, 1e6, POSENC_F32, QWEN2_VL_AXES},
};

static const int64_t token_counts[] = {1, 512}; /* decode, prefill */

typedef struct rope_shape {
    const model *model;
    int64_t n_tokens;
    int ready; /* cos and sin rows are there; otherwise the call makes them */
} rope_shape;

static posenc_rope_params params_of(const model *m) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = m->layout;
    params.head_dim = m->head_dim;
    params.n_rot = m->n_rot;
    params.base = m->base;
    params.axes = m->axes;
    return params;
}

static void add_tensor(heads_job *job, const model *m, int64_t n_heads) {
    posenc_view x = heads_input(job, m->type, n_heads), y = x;
    if (m->layout == POSENC_ROPE_DEINTERLEAVE)
        y = heads_output(job, m->type, n_heads);
    posenc_rope_tensor task = heads_rotation(&x, &y);
    heads_add(job, &task);
}

static void open_rope(bench_job *base) {
    const rope_shape *shape = base->shape;
    const model *m = shape->model;
    heads_job *job = (heads_job *)base;
    posenc_rope_params params = params_of(m);
    heads_open(job, &params, shape->n_tokens, shape->ready);
    add_tensor(job, m, m->q_heads);
    if (m->kv_heads > 0)
        add_tensor(job, m, m->kv_heads);
}

static void run_rope(bench_job *base) {
    const heads_job *job = (heads_job *)base;
    posenc_range all = posenc_range_all();
    for (int i = 0; i < job->n_tasks; i++) {
        const posenc_view *x = &job->tasks[i].x, *y = &job->tasks[i].y;
        bench_check(job->ready ? posenc_rope_apply_table(job->rope, x, &job->table, y, POSENC_FORWARD, all)
                               : posenc_rope_apply(job->rope, x, job->positions, y, POSENC_FORWARD, all));
    }
}

static const bench_race rope_race = {
    .job_size = sizeof(heads_job),
    .shape_size = sizeof(rope_shape),
    .open = open_rope,
    .fill = heads_fill,
    .close = heads_close,
    .racers = {run_rope, heads_plain, heads_limit},
};

/* ---- posenc_rope_table_fill: the rows of a prefill ---- */

static void open_table(bench_job *base) {
    const rope_shape *shape = base->shape;
    heads_job *job = (heads_job *)base;
    posenc_rope_params params = params_of(shape->model);
    heads_open(job, &params, shape->n_tokens, 0);
    base->elements = (double)(shape->n_tokens * params.n_rot);
    base->bytes = sizeof(float) * base->elements;
    bench_compare(base, job->table.cos, POSENC_F32, (size_t)base->elements);
}

static void run_table(bench_job *base) {
    const heads_job *job = (heads_job *)base;
    bench_check(posenc_rope_table_fill(job->rope, job->positions, job->n_tokens, POSENC_FORWARD, &job->table));
}

static void limit_table(bench_job *base) {
    base->limits->fill(((heads_job *)base)->table.cos, (size_t)base->elements, 1.0f);
}

static const bench_race table_race = {
    .job_size = sizeof(heads_job),
    .shape_size = sizeof(rope_shape),
    .open = open_table,
    .fill = heads_fill_input, /* the rows are the output */
    .close = heads_close,
    .racers = {run_table, heads_plain, limit_table},
};

/* ---- posenc_rope_create: pairs set up and freed ---- */

typedef struct create_job {
    bench_job base;
    posenc_rope_params params;
    float *inv_freq;
} create_job;

static void open_create(bench_job *base) {
    create_job *job = (create_job *)base;
    job->params = params_of(((const rope_shape *)base->shape)->model);
    size_t pairs = (size_t)job->params.n_rot / 2;
    job->inv_freq = bench_floats(base, pairs);
    base->elements = (double)pairs;
    base->bytes = sizeof(float) * base->elements;
}

static void fill_nothing(bench_job *base) {
    (void)base;
}

static void run_create(bench_job *base) {
    posenc_rope *rope;
    bench_check(posenc_rope_create(&((create_job *)base)->params, &rope));
    posenc_rope_free(rope);
}

static void plain_create(bench_job *base) {
    const create_job *job = (create_job *)base;
    plain_frequencies(job->inv_freq, (size_t)job->params.n_rot, (float)job->params.base);
}

static void limit_create(bench_job *base) {
    const create_job *job = (create_job *)base;
    base->limits->fill(job->inv_freq, (size_t)job->params.n_rot / 2, 1.0f);
}

static const bench_race create_race = {
    .job_size = sizeof(create_job),
    .shape_size = sizeof(rope_shape),
    .open = open_create,
    .fill = fill_nothing,
    .racers = {run_create, plain_create, limit_create},
};

/* ---- for peers ---- */

bench_match bench_match_rope(const work *w) {
    static model asked;
    static rope_shape shape;
    if (!work_is(w, "rope") || w->tokens < 1)
        return (bench_match){NULL, NULL};
    posenc_rope_layout layout = (posenc_rope_layout)w->layout;
    asked = (model){"", w->heads, 0, w->dim, w->dim, layout, 1e4, (posenc_dtype)w->type, {0}};
    shape = (rope_shape){&asked, w->tokens, (int)w->ready};
    return (bench_match){&rope_race, &shape};
}

/* ---- all of them ---- */

static void register_shape(const rope_shape *shape) {
    static const char *const layouts[] = {
        [POSENC_ROPE_HALF] = "half",
        [POSENC_ROPE_INTERLEAVED] = "interleaved",
        [POSENC_ROPE_DEINTERLEAVE] = "deinterleave",
    };
    const model *m = shape->model;
    posenc_isa_tier tier;
    for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
        char name[128];
        snprintf(name, sizeof name, "posenc_rope_apply%s/%s/%s/%s/%s%stokens:%d", shape->ready ? "_table" : "",
                 posenc_isa_name(tier), m->name, layouts[m->layout],
                 m->type == POSENC_F32 ? "" : bench_type_name(m->type, m->type), m->type == POSENC_F32 ? "" : "/",
                 (int)shape->n_tokens);
        bench_register(&rope_race, shape, tier, name);
    }
}

void bench_register_rope(void) {
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
        for (size_t n = 0; n < sizeof token_counts / sizeof token_counts[0]; n++)
            for (int ready = 0; ready <= 1; ready++)
                register_shape(&(rope_shape){&models[m], token_counts[n], ready});
    posenc_isa_tier tier;
    for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
        char name[128];
        snprintf(name, sizeof name, "posenc_rope_table_fill/%s/512x64", posenc_isa_name(tier));
        bench_register(&table_race, &(rope_shape){&models[0], 512, 0}, tier, name);
    }
    bench_register(&create_race, &(rope_shape){&models[0], 0, 0}, posenc_isa(), "posenc_rope_create/n_rot:128");
}
