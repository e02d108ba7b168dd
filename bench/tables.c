/* SPDX-License-Identifier: MIT */
/* Cosine and sine rows and the sinusoidal encoding, for positions in a row and for lone ones. */
#include <posenc/angles.h>
#include <posenc/encoding.h>

#include <stdio.h>

#include "bench.h"
#include "plain.h"
#include "serve.h"

enum { ANGLE_ROWS, INTERLEAVED, CONCAT };

typedef struct table_shape {
    int kind;
    int64_t dim; /* twice the number of pairs */
    int64_t n_positions;
    int lone; /* positions in no order, so that each needs an anchor of its own */
    int add;
} table_shape;

static const table_shape shapes[] = {
    {ANGLE_ROWS, 128, 1, 0, 0},      /* decode */
    {ANGLE_ROWS, 128, 32, 0, 0},     /* 16 KiB: L1 */
    {ANGLE_ROWS, 128, 512, 0, 0},    /* 256 KiB: L2 */
    {ANGLE_ROWS, 128, 16384, 0, 0},  /* 8 MiB: L3 */
    {ANGLE_ROWS, 128, 262144, 0, 0}, /* 128 MiB: DRAM */
    {ANGLE_ROWS, 128, 32, 1, 0},     /* the same, lone */
    {ANGLE_ROWS, 128, 512, 1, 0},    /* L2 */
    {ANGLE_ROWS, 128, 16384, 1, 0},  /* L3 */
    {INTERLEAVED, 768, 2048, 0, 0},  /* 6 MiB, written */
    {INTERLEAVED, 768, 2048, 0, 1},  /* added */
    {CONCAT, 768, 2048, 0, 0},       /* written */
    {CONCAT, 768, 2048, 0, 1},       /* added */
};

typedef struct table_job {
    bench_job base;
    table_shape shape;
    posenc_freq *freq;
    posenc_encoding *pe;
    float *table; /* angle rows: all cosines, then all sines */
    size_t n;     /* floats in it */
    int32_t *positions;
    float *inv_freq;
} table_job;

static posenc_status create(table_job *job) {
    if (job->shape.kind == ANGLE_ROWS)
        return posenc_freq_create(10000.0, job->shape.dim, &job->freq);
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = job->shape.kind == CONCAT ? POSENC_SINUSOIDAL_CONCAT : POSENC_SINUSOIDAL_INTERLEAVED;
    params.schedule = POSENC_SCHEDULE_HALF;
    params.dim = job->shape.dim;
    return posenc_sinusoidal_create(&params, &job->pe);
}

static void open_table(bench_job *base) {
    table_job *job = (table_job *)base;
    job->shape = *(const table_shape *)base->shape;
    bench_check(create(job));
    job->n = (size_t)(job->shape.n_positions * job->shape.dim);
    job->table = bench_floats(base, job->n);
    job->positions = bench_alloc(base, (size_t)job->shape.n_positions * sizeof(int32_t));
    job->inv_freq = bench_floats(base, (size_t)job->shape.dim / 2);
    base->elements = (double)job->n;
    bench_compare(base, job->table, POSENC_F32, job->n);
    base->bytes = (job->shape.add ? 8 : 4) * base->elements; /* one float read and written, or only written */
}

/* Single positions stride through 2^17, a long context, so that no two neighbours share a block. */
static void fill_table(bench_job *base) {
    table_job *job = (table_job *)base;
    bench_random(job->table, POSENC_F32, job->n, 1.0f);
    plain_frequencies(job->inv_freq, (size_t)job->shape.dim, 10000.0f);
    for (int64_t t = 0; t < job->shape.n_positions; t++)
        job->positions[t] = (int32_t)(job->shape.lone ? t * 40503 % (1 << 17) : 3000 + t);
}

static void close_table(bench_job *base) {
    table_job *job = (table_job *)base;
    posenc_freq_free(job->freq);
    posenc_encoding_free(job->pe);
}

static void run_angle_rows(bench_job *base) {
    const table_job *job = (table_job *)base;
    bench_check(posenc_angle_rows(job->freq, job->positions, job->shape.n_positions, job->table,
                                  job->table + job->n / 2, job->shape.dim / 2));
}

static void plain_angle_rows(bench_job *base) {
    const table_job *job = (table_job *)base;
    size_t pairs = (size_t)job->shape.dim / 2;
    for (size_t t = 0; t < (size_t)job->shape.n_positions; t++)
        plain_angles(job->inv_freq, pairs, job->positions[t], job->table + t * pairs,
                     job->table + job->n / 2 + t * pairs);
}

static void run_sinusoidal(bench_job *base) {
    const table_job *job = (table_job *)base;
    posenc_view y = posenc_view_dense(job->table, POSENC_F32, job->shape.dim, job->shape.n_positions, 1, 1);
    bench_check((job->shape.add ? posenc_encoding_add : posenc_encoding_write)(job->pe, job->positions, &y));
}

static void plain_sinusoidal_rows(bench_job *base) {
    const table_job *job = (table_job *)base;
    size_t dim = (size_t)job->shape.dim;
    for (size_t t = 0; t < (size_t)job->shape.n_positions; t++)
        plain_sinusoidal(job->inv_freq, dim, job->shape.kind == INTERLEAVED, job->positions[t], job->table + t * dim,
                         job->shape.add);
}

/* Writing the table, or reading and writing it where rows are added. */
static void limit_table(bench_job *base) {
    const table_job *job = (table_job *)base;
    bench_rows table = {job->table, POSENC_F32, (ptrdiff_t)(job->n * sizeof(float))};
    if (job->shape.add)
        base->limits->scale(table, table, 1, job->n, 1.0f);
    else
        base->limits->fill(job->table, job->n, 1.0f);
}

static const bench_race angle_race = {
    .job_size = sizeof(table_job),
    .shape_size = sizeof(table_shape),
    .open = open_table,
    .fill = fill_table,
    .close = close_table,
    .racers = {run_angle_rows, plain_angle_rows, limit_table},
};
static const bench_race sinusoidal_race = {
    .job_size = sizeof(table_job),
    .shape_size = sizeof(table_shape),
    .open = open_table,
    .fill = fill_table,
    .close = close_table,
    .racers = {run_sinusoidal, plain_sinusoidal_rows, limit_table},
};

bench_match bench_match_rows(const work *w) {
    static table_shape shape;
    if (!work_is(w, "rows") || w->tokens < 1)
        return (bench_match){NULL, NULL};
    shape = (table_shape){ANGLE_ROWS, w->dim, w->tokens, (int)w->lone, 0};
    return (bench_match){&angle_race, &shape};
}

static void name_shape(char *name, size_t size, const table_shape *s, posenc_isa_tier tier) {
    static const char *const calls[] = {"angle_rows", "sinusoidal_write", "sinusoidal_add"};
    const char *call = calls[s->kind == ANGLE_ROWS ? 0 : 1 + s->add];
    const char *what = s->kind == INTERLEAVED ? "interleaved" : s->kind == CONCAT ? "concat" : s->lone ? "lone" : "run";
    snprintf(name, size, "posenc_%s/%s/%s/%dx%d", call, posenc_isa_name(tier), what, (int)s->n_positions,
             (int)(s->kind == ANGLE_ROWS ? s->dim / 2 : s->dim));
}

void bench_register_tables(void) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            char name[128];
            name_shape(name, sizeof name, &shapes[i], tier);
            bench_register(shapes[i].kind == ANGLE_ROWS ? &angle_race : &sinusoidal_race, &shapes[i], tier, name);
        }
    }
}
