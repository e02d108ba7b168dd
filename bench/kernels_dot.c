/* The race of the kernel that multiplies with a table of rows: DOT_X queries of DOT_DIM channels, n rows of the table. */
#include "kernel_race.h"

#include "panels.h"

enum { DOT_X = 48, DOT_DIM = 64 };

static void open_dot(bench_job *base) {
    kernel_job *job = kernel_start(base, DOT_X * DOT_DIM, (DOT_X + DOT_DIM) * sizeof(float));
    job->x = bench_floats(base, DOT_X * DOT_DIM);
    job->table = bench_floats(base, job->n * DOT_DIM);
    job->args.dot_rows = (posenc_dot_rows_args){
        .x = job->x,
        .x_type = POSENC_F32,
        .x_stride = DOT_DIM * sizeof(float),
        .panels = bench_floats(base, (size_t)posenc_panels_size(DOT_DIM, (int64_t)job->n)),
        .y = bench_floats(base, DOT_X * job->n),
        .y_stride = (ptrdiff_t)(job->n * sizeof(float)),
        .dim = DOT_DIM,
        .n_x = DOT_X,
        .n_rows = job->n,
    };
    bench_compare(base, job->args.dot_rows.y, POSENC_F32, DOT_X * job->n);
}

static void fill_dot(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->x, POSENC_F32, DOT_X * DOT_DIM, 1.0f);
    bench_random(job->table, POSENC_F32, job->n * DOT_DIM, 1.0f);
    posenc_view rows = posenc_view_dense(job->table, POSENC_F32, DOT_DIM, (int64_t)job->n, 1, 1);
    posenc_panels_pack(&rows, 0, 0, (float *)(uintptr_t)job->args.dot_rows.panels);
}

static void plain_dot(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    plain_dots(job->x, job->table, job->args.dot_rows.y, DOT_X, job->n, DOT_DIM);
}

/* The multiplications alone. */
static void limit_dot(bench_job *base) {
    base->limits->multiply(DOT_X * DOT_DIM * ((kernel_job *)base)->n);
}

const kernel_race race_dot_rows = {
    .race = {KERNEL_JOB, .open = open_dot, .fill = fill_dot, .racers = {run_dot_rows, plain_dot, limit_dot}},
    .unit = "rows",
    .bytes_per_unit = (DOT_X + DOT_DIM) * sizeof(float),
};
