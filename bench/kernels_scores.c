/* Races of the kernels that work on rows of scores. */
#include <math.h>

#include "kernel_race.h"
#include "kernels/exp.h"

/* ---- softmax_row: n keys, all allowed, with a bias that takes the far end to e^-8 ---- */

static void open_softmax(bench_job *base) {
    kernel_job *job = kernel_start(base, 1, 2 * sizeof(float));
    job->x = bench_floats(base, job->n);
    job->args.softmax_row = (posenc_softmax_row_args){
        .x = job->x,
        .y = bench_floats(base, job->n),
        .n = job->n,
        .seen.end = job->n,
        .position = (int32_t)job->n - 1,
        .scale = 0.125f,
        .slope = 8.0f / (float)job->n,
        .exp_lowest = POSENC_EXP_LOWEST,
        .sink = -INFINITY,
    };
    bench_compare(base, job->args.softmax_row.y, POSENC_F32, job->n);
}

static void fill_softmax(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->x, POSENC_F32, job->n, 16.0f);
}

static void plain_softmax_row(bench_job *base) {
    const posenc_softmax_row_args *a = &((kernel_job *)base)->args.softmax_row;
    plain_softmax(a->x, a->y, a->n, a->seen.end, a->position, a->scale, a->slope);
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
