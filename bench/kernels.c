/* Every kernel of kernels.def on every tier, from L1 to DRAM. A kernel without a race here does not compile. */
#include <stdio.h>

#include "bench.h"
#include "plain.h"

/* Memory that one call touches, at most. */
static const size_t working_sets[] = {4 << 10, 16 << 10, 256 << 10, 4 << 20, 128 << 20};

enum { HEAD_DIM = 128, PAIRS = HEAD_DIM / 2, TOKEN_HEADS = 32, POSITION = 4096 };

typedef struct kernel_job {
    bench_job base;
    size_t n;
    union {
#define KERNEL(name, type) type name;
#include "kernels/kernels.def"
#undef KERNEL
    } args;
    float *x;                  /* rope: the heads; softmax: the scores */
    float *cos_row, *sin_row;  /* rope: ready rows */
    float *inv_freq;           /* angle_rows: what the plain loop starts from */
    double *frequency, *zeros; /* angle_anchors: tables */
    double *cos, *sin;         /* angle_rows: anchors */
    posenc_offset_column *offsets;
    float plain_sign;
} kernel_job;

typedef struct kernel_race {
    bench_race race;
    const char *unit;      /* what n counts */
    size_t bytes_per_unit; /* memory that one unit touches */
} kernel_race;

#define KERNEL_JOB .job_size = sizeof(kernel_job), .shape_size = sizeof(size_t)

/* The kernel of the job's tier with the job's arguments. */
#define KERNEL(name, type)                                                                                             \
    static void run_##name(bench_job *base) {                                                                          \
        base->kernels->name(&((kernel_job *)base)->args.name);                                                         \
    }
#include "kernels/kernels.def"
#undef KERNEL

static kernel_job *start(bench_job *base, double elements, double bytes) {
    kernel_job *job = (kernel_job *)base;
    job->n = *(const size_t *)base->shape;
    base->elements = elements * (double)job->n;
    base->bytes = bytes * (double)job->n;
    return job;
}

/* ---- angle_anchors: n pairs ---- */

static void open_anchors(bench_job *base) {
    kernel_job *job = start(base, 2, 2 * sizeof(double));
    size_t bytes = job->n * sizeof(double);
    job->frequency = bench_alloc(base, bytes);
    job->zeros = bench_alloc(base, bytes);
    job->args.angle_anchors = (posenc_angle_anchors_args){
        .hi = job->frequency,
        .lo = job->zeros,
        .position = POSITION,
        .n = job->n,
        .cos_out = bench_alloc(base, bytes),
        .sin_out = bench_alloc(base, bytes),
    };
}

static void fill_anchors(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    for (size_t i = 0; i < job->n; i++) {
        job->frequency[i] = 0.3 / (double)(i % PAIRS + 1);
        job->zeros[i] = 0.0;
    }
}

static void plain_anchors(bench_job *base) {
    const posenc_angle_anchors_args *a = &((kernel_job *)base)->args.angle_anchors;
    plain_angles_double(a->hi, a->n, a->position, a->cos_out, a->sin_out);
}

static void limit_anchors(bench_job *base) {
    const posenc_angle_anchors_args *a = &((kernel_job *)base)->args.angle_anchors;
    base->limits->fill((float *)a->cos_out, 2 * a->n, 1.0f);
    base->limits->fill((float *)a->sin_out, 2 * a->n, 1.0f);
}

static const kernel_race race_angle_anchors = {
    .race = {KERNEL_JOB, .open = open_anchors, .fill = fill_anchors,
             .racers = {run_angle_anchors, plain_anchors, limit_anchors}},
    .unit = "n",
    .bytes_per_unit = 4 * sizeof(double),
};

/* ---- angle_rows: the rows of one block, n pairs each ---- */

enum { ROWS = POSENC_ANCHOR_BLOCK };

static size_t columns(size_t pairs) {
    return (pairs + POSENC_COLUMN - 1) / POSENC_COLUMN;
}

static void open_rows(bench_job *base) {
    kernel_job *job = start(base, 2 * ROWS, 2 * ROWS * sizeof(float));
    job->cos = bench_alloc(base, columns(job->n) * POSENC_COLUMN * sizeof(double));
    job->sin = bench_alloc(base, columns(job->n) * POSENC_COLUMN * sizeof(double));
    job->offsets = bench_alloc(base, columns(job->n) * sizeof(posenc_offset_column));
    job->inv_freq = bench_floats(base, job->n);
    job->args.angle_rows = (posenc_angle_rows_args){
        .anchor_cos = job->cos,
        .anchor_sin = job->sin,
        .offsets = job->offsets,
        .cos_out = bench_floats(base, ROWS * job->n),
        .sin_out = bench_floats(base, ROWS * job->n),
        .cos_stride = (ptrdiff_t)job->n,
        .sin_stride = (ptrdiff_t)job->n,
        .n = job->n,
        .n_rows = ROWS,
        .step = 1,
    };
    base->out = job->args.angle_rows.cos_out;
    base->n_out = ROWS * job->n;
}

static void fill_rows(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    plain_frequencies(job->inv_freq, 2 * job->n, 10000.0f);
    for (size_t i = 0; i < columns(job->n) * POSENC_COLUMN; i++) {
        double frequency = i < job->n ? (double)job->inv_freq[i] : 0.0;
        plain_angles_double(&frequency, 1, POSITION, &job->cos[i], &job->sin[i]);
        posenc_offset_column *column = &job->offsets[i / POSENC_COLUMN];
        for (size_t r = 0; r < ROWS; r++)
            plain_angles_double(&frequency, 1, (double)r, &column->cos_sin[r][0][i % POSENC_COLUMN],
                                &column->cos_sin[r][1][i % POSENC_COLUMN]);
    }
}

static void plain_rows(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    const posenc_angle_rows_args *a = &job->args.angle_rows;
    for (size_t r = 0; r < a->n_rows; r++)
        plain_angles(job->inv_freq, a->n, (int32_t)(POSITION + r), a->cos_out + r * a->n, a->sin_out + r * a->n);
}

static void limit_rows(bench_job *base) {
    const posenc_angle_rows_args *a = &((kernel_job *)base)->args.angle_rows;
    base->limits->fill(a->cos_out, a->n_rows * a->n, 1.0f);
    base->limits->fill(a->sin_out, a->n_rows * a->n, 1.0f);
}

static const kernel_race race_angle_rows = {
    .race = {KERNEL_JOB, .open = open_rows, .fill = fill_rows, .racers = {run_angle_rows, plain_rows, limit_rows}},
    .unit = "pairs",
    .bytes_per_unit = ROWS * 2 * (sizeof(double) + sizeof(float)),
};

/* ---- rope_half, rope_interleaved: n heads, 32 of them a token, in place, forward and back by turns ---- */

static void open_rope(bench_job *base) {
    kernel_job *job = start(base, HEAD_DIM, 2 * HEAD_DIM * sizeof(float));
    job->x = bench_floats(base, job->n * HEAD_DIM);
    job->cos_row = bench_floats(base, PAIRS);
    job->sin_row = bench_floats(base, PAIRS);
    job->plain_sign = 1.0f;
    job->args.rope_half = (posenc_rope_args){
        .x = job->x,
        .y = job->x,
        .x_stride = HEAD_DIM,
        .y_stride = HEAD_DIM,
        .cos_row = job->cos_row,
        .sin_row = job->sin_row,
        .sin_sign = 1.0f,
        .half = PAIRS,
        .n = PAIRS,
        .n_heads = job->n < TOKEN_HEADS ? job->n : TOKEN_HEADS,
    };
    job->args.rope_interleaved = job->args.rope_half;
    base->out = job->x;
    base->n_out = job->n * HEAD_DIM;
}

static void fill_rope(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    float inv_freq[PAIRS];
    plain_frequencies(inv_freq, HEAD_DIM, 10000.0f);
    plain_angles(inv_freq, PAIRS, POSITION, job->cos_row, job->sin_row);
    bench_random(job->x, job->n * HEAD_DIM, 1.0f);
}

/* One call of the kernel a token. */
static void every_token(kernel_job *job, posenc_rope_args *args, bench_call *kernel) {
    for (size_t head = 0; head < job->n; head += args->n_heads) {
        args->x = args->y = job->x + head * HEAD_DIM;
        kernel(&job->base);
    }
    args->sin_sign *= -1.0f;
}

static void run_half(bench_job *base) {
    every_token((kernel_job *)base, &((kernel_job *)base)->args.rope_half, run_rope_half);
}

static void run_interleaved(bench_job *base) {
    every_token((kernel_job *)base, &((kernel_job *)base)->args.rope_interleaved, run_rope_interleaved);
}

static void plain_turn(bench_job *base, int interleaved) {
    kernel_job *job = (kernel_job *)base;
    plain_rope(job->x, job->n, HEAD_DIM, HEAD_DIM, interleaved, job->cos_row, job->sin_row, job->plain_sign);
    job->plain_sign *= -1.0f;
}

static void plain_half(bench_job *base) {
    plain_turn(base, 0);
}

static void plain_interleaved(bench_job *base) {
    plain_turn(base, 1);
}

static void limit_rope(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    base->limits->scale(job->x, job->n, HEAD_DIM, HEAD_DIM, bench_factor(base));
}

static const kernel_race race_rope_half = {
    .race = {KERNEL_JOB, .open = open_rope, .fill = fill_rope, .racers = {run_half, plain_half, limit_rope}},
    .unit = "heads",
    .bytes_per_unit = HEAD_DIM * sizeof(float),
};
static const kernel_race race_rope_interleaved = {
    .race = {KERNEL_JOB, .open = open_rope, .fill = fill_rope,
             .racers = {run_interleaved, plain_interleaved, limit_rope}},
    .unit = "heads",
    .bytes_per_unit = HEAD_DIM * sizeof(float),
};

/* ---- alibi_row: n keys, all allowed ---- */

static void open_alibi(bench_job *base) {
    kernel_job *job = start(base, 1, sizeof(float));
    job->args.alibi_row = (posenc_alibi_row_args){
        .y = bench_floats(base, job->n),
        .n = job->n,
        .n_allowed = job->n,
        .query = (int32_t)job->n - 1,
        .slope = 0.25f,
    };
    base->out = job->args.alibi_row.y;
    base->n_out = job->n;
}

static void fill_alibi(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->args.alibi_row.y, job->n, 1.0f);
}

static void plain_alibi_row(bench_job *base) {
    const posenc_alibi_row_args *a = &((kernel_job *)base)->args.alibi_row;
    plain_alibi(a->y, a->n, a->n_allowed, a->query, a->slope);
}

static void limit_alibi(bench_job *base) {
    const posenc_alibi_row_args *a = &((kernel_job *)base)->args.alibi_row;
    base->limits->fill(a->y, a->n, 1.0f);
}

static const kernel_race race_alibi_row = {
    .race = {KERNEL_JOB, .open = open_alibi, .fill = fill_alibi,
             .racers = {run_alibi_row, plain_alibi_row, limit_alibi}},
    .unit = "n",
    .bytes_per_unit = sizeof(float),
};

/* ---- softmax_row: n keys, all allowed, with a bias that takes the far end to e^-8 ---- */

static void open_softmax(bench_job *base) {
    kernel_job *job = start(base, 1, 2 * sizeof(float));
    job->x = bench_floats(base, job->n);
    job->args.softmax_row = (posenc_softmax_row_args){
        .x = job->x,
        .y = bench_floats(base, job->n),
        .n = job->n,
        .n_allowed = job->n,
        .query = (int32_t)job->n - 1,
        .scale = 0.125f,
        .slope = 8.0f / (float)job->n,
    };
    base->out = job->args.softmax_row.y;
    base->n_out = job->n;
}

static void fill_softmax(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->x, job->n, 16.0f);
}

static void plain_softmax_row(bench_job *base) {
    const posenc_softmax_row_args *a = &((kernel_job *)base)->args.softmax_row;
    plain_softmax(a->x, a->y, a->n, a->n_allowed, a->query, a->scale, a->slope);
}

static void limit_softmax(bench_job *base) {
    const posenc_softmax_row_args *a = &((kernel_job *)base)->args.softmax_row;
    base->limits->copy(a->y, a->x, a->n);
}

static const kernel_race race_softmax_row = {
    .race = {KERNEL_JOB, .open = open_softmax, .fill = fill_softmax,
             .racers = {run_softmax_row, plain_softmax_row, limit_softmax}},
    .unit = "n",
    .bytes_per_unit = 2 * sizeof(float),
};

/* ---- all of them ---- */

/* The largest power of two that fits, so that names are round. */
static size_t units_in(size_t bytes, const kernel_race *k) {
    size_t n = 1;
    while (2 * n * k->bytes_per_unit <= bytes)
        n *= 2;
    return n;
}

static void register_kernel(const char *kernel, const kernel_race *k) {
    for (size_t i = 0; i < sizeof working_sets / sizeof working_sets[0]; i++) {
        size_t n = units_in(working_sets[i], k);
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            char name[128];
            snprintf(name, sizeof name, "%s/%s/%s:%zu", kernel, posenc_isa_name(tier), k->unit, n);
            bench_register(&k->race, &n, tier, name);
        }
    }
}

void bench_register_kernels(void) {
#define KERNEL(name, type) register_kernel(#name, &race_##name);
#include "kernels/kernels.def"
#undef KERNEL
}
