/* Races of the kernels that work on rows of scores. */
#include "kernel_race.h"

/* ---- alibi_row: n keys, all allowed ---- */

static void open_alibi(bench_job *base) {
    kernel_job *job = kernel_start(base, 1, sizeof(float));
    job->args.alibi_row = (posenc_alibi_row_args){
        .y = bench_floats(base, job->n),
        .n = job->n,
        .n_allowed = job->n,
        .query = (int32_t)job->n - 1,
        .slope = 0.25f,
    };
    bench_compare(base, job->args.alibi_row.y, POSENC_F32, job->n);
}

static void fill_alibi(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->args.alibi_row.y, POSENC_F32, job->n, 1.0f);
}

static void plain_alibi_row(bench_job *base) {
    const posenc_alibi_row_args *a = &((kernel_job *)base)->args.alibi_row;
    plain_alibi(a->y, a->n, a->n_allowed, a->query, a->slope);
}

static void limit_alibi(bench_job *base) {
    const posenc_alibi_row_args *a = &((kernel_job *)base)->args.alibi_row;
    base->limits->fill(a->y, a->n, 1.0f);
}

const kernel_race race_alibi_row = {
    .race = {KERNEL_JOB, .open = open_alibi, .fill = fill_alibi,
             .racers = {run_alibi_row, plain_alibi_row, limit_alibi}},
    .unit = "n",
    .bytes_per_unit = sizeof(float),
};

/* ---- softmax_row: n keys, all allowed, with a bias that takes the far end to e^-8 ---- */

static void open_softmax(bench_job *base) {
    kernel_job *job = kernel_start(base, 1, 2 * sizeof(float));
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
    bench_compare(base, job->args.softmax_row.y, POSENC_F32, job->n);
}

static void fill_softmax(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->x, POSENC_F32, job->n, 16.0f);
}

static void plain_softmax_row(bench_job *base) {
    const posenc_softmax_row_args *a = &((kernel_job *)base)->args.softmax_row;
    plain_softmax(a->x, a->y, a->n, a->n_allowed, a->query, a->scale, a->slope);
}

static void limit_softmax(bench_job *base) {
    const posenc_softmax_row_args *a = &((kernel_job *)base)->args.softmax_row;
    base->limits->copy(a->y, a->x, a->n);
}

const kernel_race race_softmax_row = {
    .race = {KERNEL_JOB, .open = open_softmax, .fill = fill_softmax,
             .racers = {run_softmax_row, plain_softmax_row, limit_softmax}},
    .unit = "n",
    .bytes_per_unit = 2 * sizeof(float),
};
