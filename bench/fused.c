/* SPDX-License-Identifier: MIT */
/* posenc_rope_apply_tensors against the calls that it replaces. */
#include <posenc/rope.h>

#include <stdio.h>

#include "heads.h"

/* The fused call is all tasks of `heads` together. */
typedef struct fused_job {
    heads_job heads;
    posenc_rope_tensor steps[5]; /* what it replaces: one call each */
    int n_steps;
    posenc_rope_tensor alone[2]; /* what it adds something to: one call, too */
    int n_alone;
} fused_job;

typedef struct fused_case {
    const char *name;
    void (*open)(fused_job *job); /* makes tensors, tasks and steps */
    int64_t head_dim;
    double base;
    posenc_dtype type;
    int has_alone;
} fused_case;

typedef struct fused_shape {
    const fused_case *what;
    int64_t n_tokens;
    int ready;
} fused_shape;

static void add_step(fused_job *job, posenc_rope_tensor step) {
    job->steps[job->n_steps++] = step;
}

static posenc_dtype type_of(const fused_job *job) {
    return ((const fused_shape *)job->heads.base.shape)->what->type;
}

/* ---- Q and K in one call: Llama-3.1-8B ---- */

static void open_qk(fused_job *job) {
    int64_t n_heads[] = {32, 8};
    for (int i = 0; i < 2; i++) {
        posenc_view x = heads_input(&job->heads, type_of(job), n_heads[i]);
        posenc_rope_tensor task = heads_rotation(&x, &x);
        heads_add(&job->heads, &task);
        add_step(job, task);
    }
}

/* ---- The softmax scale in Q's rotation ---- */

/* It is -1 here: in place it is applied again and again, and data must not grow or vanish. */
static void open_q_scale(fused_job *job) {
    posenc_view q = heads_input(&job->heads, type_of(job), 32);
    posenc_rope_tensor scaled = heads_rotation(&q, &q), scaling = heads_transfer(&q, &q);
    scaled.scale = scaling.scale = -1.0f;
    heads_add(&job->heads, &scaled);
    add_step(job, heads_rotation(&q, &q));
    add_step(job, scaling);
}

/* ---- RMS-norm of Q's and K's heads, and rotation: Qwen3-8B ---- */

/* Weights are 1 and -1, for the same reason. */
static float *weights(fused_job *job) {
    int64_t n = job->heads.params.head_dim;
    float *weight = bench_floats(&job->heads.base, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        weight[i] = i % 3 == 0 ? -1.0f : 1.0f;
    return weight;
}

static void open_qk_norm(fused_job *job) {
    int64_t n_heads[] = {32, 8};
    posenc_rope_tensor norms[2], rotations[2];
    for (int i = 0; i < 2; i++) {
        posenc_view x = heads_input(&job->heads, type_of(job), n_heads[i]);
        rotations[i] = heads_rotation(&x, &x);
        norms[i] = heads_transfer(&x, &x);
        posenc_rope_tensor both = rotations[i];
        both.weight = norms[i].weight = weights(job);
        both.eps = norms[i].eps = 1e-6f;
        heads_add(&job->heads, &both);
        job->alone[job->n_alone++] = rotations[i];
    }
    for (int i = 0; i < 2; i++)
        add_step(job, norms[i]);
    for (int i = 0; i < 2; i++)
        add_step(job, rotations[i]);
}

/* ---- K, or K and V, to an f16 cache: Llama-3.1-8B ---- */

/* A ring that goes round within the tokens, so that every row of the cache is written. */
static int32_t *ring_rows(fused_job *job) {
    int64_t n = job->heads.n_tokens;
    int32_t *rows = bench_alloc(&job->heads.base, (size_t)n * sizeof *rows);
    for (int64_t t = 0; t < n; t++)
        rows[t] = (int32_t)((t + n / 2) % n);
    return rows;
}

/* x as it is to the cache, and how it gets there. */
static posenc_rope_tensor to_cache(fused_job *job, const posenc_view *x, const int32_t *rows) {
    posenc_view cache = heads_output(&job->heads, POSENC_F16, x->ne[1]);
    posenc_rope_tensor task = heads_transfer(x, &cache);
    task.rows32 = rows;
    return task;
}

static void open_cache(fused_job *job, int n_tensors) {
    int32_t *rows = ring_rows(job);
    for (int i = 0; i < n_tensors; i++) {
        posenc_view x = heads_input(&job->heads, type_of(job), 8);
        posenc_rope_tensor copy = to_cache(job, &x, rows), fused = copy;
        fused.rotates = i == 0;
        heads_add(&job->heads, &fused);
        if (fused.rotates)
            add_step(job, heads_rotation(&x, &x));
        add_step(job, copy);
    }
}

static void open_k_cache(fused_job *job) {
    open_cache(job, 1);
}

static void open_kv_cache(fused_job *job) {
    open_cache(job, 2);
}

/* ---- Packed QKV taken apart: Phi-3-mini ---- */

static posenc_view slice_of(const posenc_view *packed, int64_t first_head, int64_t n_heads) {
    posenc_view slice = *packed;
    slice.data = (char *)packed->data + first_head * packed->nb[1];
    slice.ne[1] = n_heads;
    return slice;
}

static void open_packed(fused_job *job) {
    enum { HEADS = 32, Q = 0, K = 1, V = 2 };
    posenc_view packed = heads_input(&job->heads, type_of(job), 3 * HEADS);
    for (int i = Q; i <= V; i++) {
        posenc_view x = slice_of(&packed, i * HEADS, HEADS), y = heads_output(&job->heads, type_of(job), HEADS);
        posenc_rope_tensor copy = heads_transfer(&x, &y), fused = copy;
        fused.rotates = i != V;
        heads_add(&job->heads, &fused);
        add_step(job, copy);
    }
    for (int i = Q; i <= K; i++)
        add_step(job, heads_rotation(&job->heads.tasks[i].y, &job->heads.tasks[i].y));
}

/* ---- The race ---- */

static void open_fused(bench_job *base) {
    const fused_shape *shape = base->shape;
    fused_job *job = (fused_job *)base;
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = shape->what->head_dim;
    params.base = shape->what->base;
    heads_open(&job->heads, &params, shape->n_tokens, shape->ready);
    shape->what->open(job);
}

static void apply(const heads_job *job, const posenc_rope_tensor *tasks, int64_t n_tasks) {
    bench_check(posenc_rope_apply_tensors(job->rope, tasks, n_tasks, job->ready ? NULL : job->positions, &job->table,
                                          POSENC_FORWARD, posenc_range_all()));
}

static void run_fused(bench_job *base) {
    const fused_job *job = (fused_job *)base;
    apply(&job->heads, job->heads.tasks, job->heads.n_tasks);
}

static void run_unfused(bench_job *base) {
    const fused_job *job = (fused_job *)base;
    for (int i = 0; i < job->n_steps; i++)
        apply(&job->heads, &job->steps[i], 1);
}

static void run_alone(bench_job *base) {
    const fused_job *job = (fused_job *)base;
    apply(&job->heads, job->alone, job->n_alone);
}

#define FUSED_RACE(...)                                                                                                \
    {                                                                                                                  \
        .job_size = sizeof(fused_job), .shape_size = sizeof(fused_shape), .open = open_fused, .fill = heads_fill,      \
        .close = heads_close, .racers = {run_fused, heads_plain, heads_limit, run_unfused, __VA_ARGS__},               \
    }
static const bench_race fused_race = FUSED_RACE(NULL);
static const bench_race fused_race_with_alone = FUSED_RACE(run_alone);

static const fused_case qk = {"qk", open_qk, 128, 5e5, POSENC_F32, 0};
static const fused_case q_scale = {"q_scale", open_q_scale, 128, 5e5, POSENC_F32, 0};
static const fused_case qk_norm = {"qk_norm", open_qk_norm, 128, 1e6, POSENC_F32, 1};
static const fused_case qk_norm_bf16 = {"qk_norm/bf16", open_qk_norm, 128, 1e6, POSENC_BF16, 1};
static const fused_case k_cache = {"k_cache/f32_f16", open_k_cache, 128, 5e5, POSENC_F32, 0};
static const fused_case kv_cache = {"kv_cache/f32_f16", open_kv_cache, 128, 5e5, POSENC_F32, 0};
static const fused_case packed_qkv = {"packed_qkv", open_packed, 96, 1e4, POSENC_F32, 0};

/* 1 and 16 tokens fit L1 and L2. */
static const fused_shape shapes[] = {
    {&qk, 1, 0},
    {&qk, 512, 0},
    {&qk, 1, 1},
    {&qk, 512, 1},
    {&q_scale, 1, 1},
    {&q_scale, 512, 1},
    {&qk_norm, 1, 0},
    {&qk_norm, 1, 1},
    {&qk_norm, 16, 1},
    {&qk_norm, 512, 1},
    {&qk_norm_bf16, 1, 1},
    {&qk_norm_bf16, 16, 1},
    {&qk_norm_bf16, 512, 1},
    {&k_cache, 1, 0},
    {&k_cache, 16, 1},
    {&k_cache, 512, 0},
    {&k_cache, 512, 1},
    {&kv_cache, 1, 0},
    {&kv_cache, 16, 1},
    {&kv_cache, 512, 0},
    {&kv_cache, 512, 1},
    {&packed_qkv, 1, 0},
    {&packed_qkv, 16, 1},
    {&packed_qkv, 512, 0},
};

void bench_register_fused(void) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const fused_case *what = shapes[i].what;
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            char name[128];
            snprintf(name, sizeof name, "posenc_rope_apply_tensors/%s/%s%s/tokens:%d", posenc_isa_name(tier),
                     what->name, shapes[i].ready ? "/table" : "", (int)shapes[i].n_tokens);
            bench_register(what->has_alone ? &fused_race_with_alone : &fused_race, &shapes[i], tier, name);
        }
    }
}
