/* Races of the kernels that read heads, a token at a time, and write heads. */
#include "kernel_race.h"
#include "view.h"

enum { HEAD_DIM = 128, PAIRS = HEAD_DIM / 2, TOKEN_HEADS = 32 };

static const float eps = 1e-6f;

/* Allocates n heads to read, and as many to write or the same. */
static kernel_job *start_heads(bench_job *base) {
    const kernel_shape *shape = base->shape;
    size_t x_size = (size_t)posenc_dtype_size(shape->x_type), y_size = (size_t)posenc_dtype_size(shape->y_type);
    kernel_job *job = kernel_start(base, HEAD_DIM, (double)(HEAD_DIM * (x_size + y_size)));
    ptrdiff_t x_stride = (ptrdiff_t)(HEAD_DIM * x_size), y_stride = (ptrdiff_t)(HEAD_DIM * y_size);
    job->heads = (bench_rows){bench_alloc(base, job->n * HEAD_DIM * x_size), shape->x_type, x_stride};
    job->results = job->heads;
    if (!shape->in_place)
        job->results = (bench_rows){bench_alloc(base, job->n * HEAD_DIM * y_size), shape->y_type, y_stride};
    bench_compare(base, job->results.data, shape->y_type, job->n * HEAD_DIM);
    return job;
}

static void fill_heads(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    bench_random(job->heads.data, job->heads.type, job->n * HEAD_DIM, 1.0f);
}

static size_t heads_per_call(const kernel_job *job) {
    return job->n < TOKEN_HEADS ? job->n : TOKEN_HEADS;
}

/* One call of the kernel a token: where to look. */
typedef void token_call(kernel_job *job, const void *x, void *y);

static void every_token(bench_job *base, token_call *call) {
    kernel_job *job = (kernel_job *)base;
    for (size_t head = 0; head < job->n; head += TOKEN_HEADS)
        call(job, (const char *)job->heads.data + (ptrdiff_t)head * job->heads.stride,
             (char *)job->results.data + (ptrdiff_t)head * job->results.stride);
}

static void limit_heads(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    base->limits->scale(job->heads, job->results, job->n, HEAD_DIM, 1.0f);
}

/* All heads; what is done to them is for the caller to add. */
static plain_heads plain_heads_of(const kernel_job *job) {
    return (plain_heads){
        .x = job->heads.data,
        .y = job->results.data,
        .x_type = job->heads.type,
        .y_type = job->results.type,
        .n_heads = job->n,
        .head_dim = HEAD_DIM,
        .scale = 1.0f,
    };
}

/* ---- rope_half, rope_interleaved, rope_deinterleave ---- */

static void open_rope(bench_job *base) {
    kernel_job *job = start_heads(base);
    job->cos_row = bench_floats(base, PAIRS);
    job->sin_row = bench_floats(base, PAIRS);
    job->args.rope_half = (posenc_rope_args){
        .x_type = job->heads.type,
        .y_type = job->results.type,
        .x_stride = job->heads.stride,
        .y_stride = job->results.stride,
        .cos_row = job->cos_row,
        .sin_row = job->sin_row,
        .cos_factor = 1.0f,
        .sin_factor = 1.0f,
        .half = PAIRS,
        .n = PAIRS,
        .n_heads = heads_per_call(job),
    };
}

static void fill_rope(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    float inv_freq[PAIRS];
    plain_frequencies(inv_freq, HEAD_DIM, 10000.0f);
    plain_angles(inv_freq, PAIRS, POSITION, job->cos_row, job->sin_row);
    fill_heads(base);
}

static void plain_rotation(bench_job *base, posenc_rope_layout layout) {
    const kernel_job *job = (kernel_job *)base;
    plain_heads heads = plain_heads_of(job);
    heads.n_rot = HEAD_DIM;
    heads.layout = layout;
    heads.cos_row = job->cos_row;
    heads.sin_row = job->sin_row;
    plain_task(&heads);
}

static const kernel_types rope_types[] = {
    {POSENC_F32, POSENC_F32},
    {POSENC_F16, POSENC_F16},
    {POSENC_BF16, POSENC_BF16},
    {POSENC_F32, POSENC_F16},
};

/* The kernels take the same arguments: a union holds them once. */
#define ROPE_RACE(kernel, rope_layout, is_apart)                                                                       \
    static void token_##kernel(kernel_job *job, const void *x, void *y) {                                              \
        job->args.kernel.x = x;                                                                                        \
        job->args.kernel.y = y;                                                                                        \
        run_##kernel(&job->base);                                                                                      \
    }                                                                                                                  \
    static void ours_##kernel(bench_job *base) {                                                                       \
        every_token(base, token_##kernel);                                                                             \
    }                                                                                                                  \
    static void plain_##kernel(bench_job *base) {                                                                      \
        plain_rotation(base, rope_layout);                                                                             \
    }                                                                                                                  \
    const kernel_race race_##kernel = {                                                                                \
        .race = {KERNEL_JOB, .open = open_rope, .fill = fill_rope,                                                     \
                 .racers = {ours_##kernel, plain_##kernel, limit_heads}},                                              \
        .unit = "heads",                                                                                               \
        .elements_per_unit = HEAD_DIM,                                                                                 \
        .apart = is_apart,                                                                                             \
        .types = rope_types,                                                                                           \
        .n_types = sizeof rope_types / sizeof rope_types[0],                                                           \
    };

ROPE_RACE(rope_half, POSENC_ROPE_HALF, 0)
ROPE_RACE(rope_interleaved, POSENC_ROPE_INTERLEAVED, 0)
ROPE_RACE(rope_deinterleave, POSENC_ROPE_DEINTERLEAVE, 1)

/* ---- rms_factors: a float for every head; the limit also writes the heads ---- */

static void open_norm(bench_job *base) {
    kernel_job *job = start_heads(base);
    float *factors = bench_floats(base, job->n);
    job->args.rms_factors = (posenc_rms_factors_args){
        .x_type = job->heads.type,
        .x_stride = job->heads.stride,
        .factors = factors,
        .eps = eps,
        .n = HEAD_DIM,
        .n_heads = heads_per_call(job),
    };
    base->n_outputs = 0; /* not the heads */
    bench_compare(base, factors, POSENC_F32, job->n);
    job->factors = factors;
}

static void ours_norm(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    for (size_t head = 0; head < job->n; head += TOKEN_HEADS) {
        job->args.rms_factors.x = (const char *)job->heads.data + (ptrdiff_t)head * job->heads.stride;
        job->args.rms_factors.factors = job->factors + head;
        run_rms_factors(base);
    }
}

static void plain_norm(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    plain_heads heads = plain_heads_of(job);
    plain_rms_factors(&heads, eps, job->factors);
}

static const kernel_types norm_types[] = {
    {POSENC_F32, POSENC_F32}, {POSENC_F16, POSENC_F16}, {POSENC_BF16, POSENC_BF16}};

const kernel_race race_rms_factors = {
    .race = {KERNEL_JOB, .open = open_norm, .fill = fill_heads, .racers = {ours_norm, plain_norm, limit_heads}},
    .unit = "heads",
    .elements_per_unit = HEAD_DIM,
    .types = norm_types,
    .n_types = sizeof norm_types / sizeof norm_types[0],
};

/* ---- convert_rows ---- */

static void open_convert(bench_job *base) {
    kernel_job *job = start_heads(base);
    job->args.convert_rows = (posenc_convert_args){
        .x_type = job->heads.type,
        .y_type = job->results.type,
        .x_stride = job->heads.stride,
        .y_stride = job->results.stride,
        .factor = 0.125f,
        .n = HEAD_DIM,
        .n_heads = heads_per_call(job),
    };
}

static void convert_token(kernel_job *job, const void *x, void *y) {
    job->args.convert_rows.x = x;
    job->args.convert_rows.y = y;
    run_convert_rows(&job->base);
}

static void ours_convert(bench_job *base) {
    every_token(base, convert_token);
}

static void plain_convert(bench_job *base) {
    plain_heads heads = plain_heads_of((kernel_job *)base);
    heads.scale = 0.125f;
    plain_task(&heads);
}

static const kernel_types convert_types[] = {
    {POSENC_F32, POSENC_F16}, {POSENC_F32, POSENC_BF16}, {POSENC_F16, POSENC_F32}, {POSENC_BF16, POSENC_F32}};

const kernel_race race_convert_rows = {
    .race = {KERNEL_JOB, .open = open_convert, .fill = fill_heads,
             .racers = {ours_convert, plain_convert, limit_heads}},
    .unit = "heads",
    .elements_per_unit = HEAD_DIM,
    .apart = 1,
    .types = convert_types,
    .n_types = sizeof convert_types / sizeof convert_types[0],
};
