/* SPDX-License-Identifier: MIT */
/* Absolute encodings other than sinusoids, by their public call: 2048 tokens x 768. */
#include <posenc/encoding.h>
#include <posenc/learned.h>

#include <stdio.h>

#include "bench.h"
#include "plain.h"

enum { N_TOKENS = 2048, DIM = 768, N = N_TOKENS * DIM };

typedef enum encoding_kind { LOOKUP, INTEGER, BINARY, BUMPS, N_KINDS } encoding_kind;

static const char *const kind_names[] = {"lookup_add", "integer", "binary", "rbf"};

static const double sigma = 70.0, spacing = 3.0;

typedef struct encoding_job {
    bench_job base;
    encoding_kind kind;
    posenc_encoding *e;
    float *table, *y;
    int32_t *ids;
} encoding_job;

static posenc_status create(encoding_job *job) {
    posenc_view table = posenc_view_dense(job->table, POSENC_F32, DIM, N_TOKENS, 1, 1);
    double centres[DIM];
    for (int i = 0; i < DIM; i++)
        centres[i] = spacing * i;
    switch (job->kind) {
    case LOOKUP: return posenc_learned_create(&table, NULL, &job->e);
    case INTEGER: return posenc_integer_create(DIM, N_TOKENS, 0.0, &job->e);
    case BINARY: return posenc_bits_create(DIM, POSENC_BITS_BINARY, 0.0f, 1.0f, &job->e);
    default: return posenc_rbf_create(centres, DIM, sigma, &job->e);
    }
}

static void open_encoding(bench_job *base) {
    encoding_job *job = (encoding_job *)base;
    job->kind = *(const encoding_kind *)base->shape;
    job->table = bench_floats(base, N);
    job->y = bench_floats(base, N);
    job->ids = bench_alloc(base, N_TOKENS * sizeof *job->ids);
    bench_check(create(job));
    base->elements = N;
    base->bytes = (job->kind == LOOKUP ? 3 : 1) * N * sizeof(float);
    bench_compare(base, job->y, POSENC_F32, N);
}

/* 5 and 2048 have no common factor: rows in no order. */
static void fill_encoding(bench_job *base) {
    encoding_job *job = (encoding_job *)base;
    bench_random(job->table, POSENC_F32, N, 1.0f);
    bench_random(job->y, POSENC_F32, N, 1.0f);
    for (int t = 0; t < N_TOKENS; t++)
        job->ids[t] = 5 * t % N_TOKENS;
}

static void close_encoding(bench_job *base) {
    posenc_encoding_free(((encoding_job *)base)->e);
}

static void run_encoding(bench_job *base) {
    const encoding_job *job = (encoding_job *)base;
    posenc_view y = posenc_view_dense(job->y, POSENC_F32, DIM, N_TOKENS, 1, 1);
    bench_check((job->kind == LOOKUP ? posenc_encoding_add : posenc_encoding_write)(job->e, job->ids, &y));
}

static void plain_encoding(bench_job *base) {
    const encoding_job *job = (encoding_job *)base;
    for (size_t t = 0; t < N_TOKENS; t++) {
        float *row = job->y + t * DIM, position = (float)job->ids[t];
        switch (job->kind) {
        case LOOKUP: plain_add_row(row, job->table + (size_t)job->ids[t] * DIM, DIM); break;
        case INTEGER: plain_constant(position / (float)(N_TOKENS - 1), row, DIM); break;
        case BINARY: plain_binary((uint64_t)job->ids[t], row, DIM); break;
        default: plain_rbf(position, (float)spacing, (float)(0.70710678118654752 / sigma), row, DIM);
        }
    }
}

static void limit_encoding(bench_job *base) {
    const encoding_job *job = (encoding_job *)base;
    if (job->kind == LOOKUP)
        base->limits->add(job->y, job->table, N);
    else
        base->limits->fill(job->y, N, 1.0f);
}

void bench_register_encodings(void) {
    static const bench_race race = {
        .job_size = sizeof(encoding_job),
        .shape_size = sizeof(encoding_kind),
        .open = open_encoding,
        .fill = fill_encoding,
        .close = close_encoding,
        .racers = {run_encoding, plain_encoding, limit_encoding},
    };
    for (int kind = 0; kind < N_KINDS; kind++) {
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            char name[128];
            snprintf(name, sizeof name, "posenc_encoding/%s/%s/%dx%d", posenc_isa_name(tier), kind_names[kind],
                     N_TOKENS, DIM);
            bench_register(&race, &(encoding_kind){(encoding_kind)kind}, tier, name);
        }
    }
}
