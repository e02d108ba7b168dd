/* Races of the kernels that make cosines and sines. */
#include "kernel_race.h"

/* ---- angle_anchors: n pairs ---- */

static void open_anchors(bench_job *base) {
    kernel_job *job = kernel_start(base, 2, 2 * sizeof(double));
    size_t bytes = job->n * sizeof(double);
    job->frequency = bench_alloc(base, bytes);
    job->zeros = bench_alloc(base, bytes);
    job->args.angle_anchors = (posenc_angle_anchors_args){
        .hi = job->frequency,
        .lo = job->zeros,
        .magnitude = 1.0,
        .position = POSITION,
        .n = job->n,
        .cos_out = bench_alloc(base, bytes),
        .sin_out = bench_alloc(base, bytes),
    };
}

static void fill_anchors(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    for (size_t i = 0; i < job->n; i++) {
        job->frequency[i] = 0.3 / (double)(i % 64 + 1);
        job->zeros[i] = 0.0;
    }
}

static void plain_anchors(bench_job *base) {
    const posenc_angle_anchors_args *a = &((kernel_job *)base)->args.angle_anchors;
    plain_angles_double(a->hi, a->n, a->position, a->cos_out, a->sin_out);
}

static void limit_anchors(bench_job *base) {
    const posenc_angle_anchors_args *a = &((kernel_job *)base)->args.angle_anchors;
    base->limits->fill((float *)a->cos_out, 2 * a->n, 1.0f); /* a double is two floats */
    base->limits->fill((float *)a->sin_out, 2 * a->n, 1.0f);
}

const kernel_race race_angle_anchors = {
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
    kernel_job *job = kernel_start(base, 2 * ROWS, 2 * ROWS * sizeof(float));
    job->cos = bench_alloc(base, columns(job->n) * POSENC_COLUMN * sizeof(double));
    job->sin = bench_alloc(base, columns(job->n) * POSENC_COLUMN * sizeof(double));
    job->offsets = bench_alloc(base, columns(job->n) * sizeof(posenc_turn_column));
    job->inv_freq = bench_floats(base, job->n);
    job->args.angle_rows = (posenc_angle_rows_args){
        .anchor_cos = job->cos,
        .anchor_sin = job->sin,
        .blocks = job->offsets,
        .offsets = job->offsets,
        .first_offset = -POSENC_ANCHOR_REACH,
        .cos_out = bench_floats(base, ROWS * job->n),
        .sin_out = bench_floats(base, ROWS * job->n),
        .cos_stride = (ptrdiff_t)job->n,
        .sin_stride = (ptrdiff_t)job->n,
        .n = job->n,
        .n_rows = ROWS,
        .step = 1,
    };
    bench_compare(base, job->args.angle_rows.cos_out, POSENC_F32, ROWS * job->n);
    bench_compare(base, job->args.angle_rows.sin_out, POSENC_F32, ROWS * job->n);
}

static void fill_rows(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    plain_frequencies(job->inv_freq, 2 * job->n, 10000.0f);
    for (size_t i = 0; i < columns(job->n) * POSENC_COLUMN; i++) {
        double frequency = i < job->n ? (double)job->inv_freq[i] : 0.0;
        plain_angles_double(&frequency, 1, POSITION + POSENC_ANCHOR_REACH, &job->cos[i], &job->sin[i]);
        posenc_turn_column *column = &job->offsets[i / POSENC_COLUMN];
        for (size_t k = 0; k <= POSENC_ANCHOR_REACH; k++)
            plain_angles_double(&frequency, 1, (double)k, &column->cos_sin[k][0][i % POSENC_COLUMN],
                                &column->cos_sin[k][1][i % POSENC_COLUMN]);
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

const kernel_race race_angle_rows = {
    .race = {KERNEL_JOB, .open = open_rows, .fill = fill_rows, .racers = {run_angle_rows, plain_rows, limit_rows}},
    .unit = "pairs",
    .bytes_per_unit = 2 * (POSENC_ANCHOR_REACH + 1) * sizeof(double) + ROWS * 2 * sizeof(float),
};
