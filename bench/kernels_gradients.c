/* Races of the softmax's gradient, and of the sum of row and column terms. */
#include "kernel_race.h"

/* ---- softmax_backward: n keys, all seen, no cap; the limit copies dp to dx and p to memory that nobody reads ---- */

static void open_backward(bench_job *base) {
    kernel_job *job = kernel_start(base, 1, 4 * sizeof(float));
    job->x = bench_floats(base, job->n);
    job->weight = bench_floats(base, job->n);
    job->cos_row = bench_floats(base, job->n);
    job->args.softmax_backward = (posenc_softmax_backward_args){
        .p = job->x,
        .dp = job->weight,
        .dx = bench_floats(base, job->n),
        .n = job->n,
        .end = job->n,
        .scale = 0.125f,
        .bias_slope = 1.0f,
    };
    bench_compare(base, job->args.softmax_backward.dx, POSENC_F32, job->n);
}

static void fill_backward(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->x, POSENC_F32, job->n, 1.0f);
    bench_random(job->weight, POSENC_F32, job->n, 1.0f);
    for (size_t j = 0; j < job->n; j++)
        job->x[j] = (1.0f + job->x[j]) / (float)job->n;
}

static void plain_backward(bench_job *base) {
    const posenc_softmax_backward_args *a = &((kernel_job *)base)->args.softmax_backward;
    plain_softmax_backward(a->p, a->dp, a->dx, a->n, a->scale);
}

static void limit_backward(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    base->limits->copy(job->args.softmax_backward.dx, job->weight, job->n);
    base->limits->copy(job->cos_row, job->x, job->n);
}

const kernel_race race_softmax_backward = {
    .race = {KERNEL_JOB, .open = open_backward, .fill = fill_backward,
             .racers = {run_softmax_backward, plain_backward, limit_backward}},
    .unit = "n",
    .bytes_per_unit = 3 * sizeof(float),
};

/* ---- add_axes: n rows of 64 columns, as SAM's global attention has them ---- */

enum { WIDTH = 64 };

static void open_axes(bench_job *base) {
    kernel_job *job = kernel_start(base, WIDTH, 2 * WIDTH * sizeof(float));
    job->args.add_axes = (posenc_add_axes_args){
        .y = bench_floats(base, job->n * WIDTH),
        .by_row = bench_floats(base, job->n),
        .by_column = bench_floats(base, WIDTH),
        .height = job->n,
        .width = WIDTH,
    };
}

static void fill_axes(bench_job *base) {
    const posenc_add_axes_args *a = &((kernel_job *)base)->args.add_axes;
    bench_random(a->y, POSENC_F32, a->height * WIDTH, 1.0f);
    bench_random((float *)(uintptr_t)a->by_row, POSENC_F32, a->height, 1.0f);
    bench_random((float *)(uintptr_t)a->by_column, POSENC_F32, WIDTH, 1.0f);
}

static void plain_axes(bench_job *base) {
    const posenc_add_axes_args *a = &((kernel_job *)base)->args.add_axes;
    plain_add_axes(a->y, a->by_row, a->by_column, a->height, a->width);
}

static void limit_axes(bench_job *base) {
    const posenc_add_axes_args *a = &((kernel_job *)base)->args.add_axes;
    bench_rows y = {a->y, POSENC_F32, WIDTH * sizeof(float)};
    base->limits->scale(y, y, 1, a->height * WIDTH, 1.0f);
}

const kernel_race race_add_axes = {
    .race = {KERNEL_JOB, .open = open_axes, .fill = fill_axes, .racers = {run_add_axes, plain_axes, limit_axes}},
    .unit = "rows",
    .bytes_per_unit = WIDTH * sizeof(float),
};
