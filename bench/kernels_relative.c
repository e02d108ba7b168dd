/* Races of the kernels behind relative terms. */
#include "kernel_race.h"

#include "kernels/half.h"
#include "panels.h"

/* As many rows in whole panels. */
static size_t padded(size_t n_rows) {
    return (n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
}

/* ---- dot_rows: DOT_X queries of DOT_DIM channels with a table of n rows ---- */

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

/* ---- dot_few: POSENC_FEW queries of DOT_DIM channels with n rows of f16, rounded up to panels ---- */

static void open_few(bench_job *base) {
    kernel_job *job = kernel_start(base, POSENC_FEW * DOT_DIM, DOT_DIM * sizeof(uint16_t) + POSENC_FEW * sizeof(float));
    size_t n_rows = padded(job->n);
    base->elements *= (double)n_rows / (double)job->n; /* those that are added count */
    base->bytes *= (double)n_rows / (double)job->n;
    job->x = bench_floats(base, POSENC_FEW * DOT_DIM);
    job->table = bench_floats(base, n_rows * DOT_DIM);
    job->args.dot_few = (posenc_dot_few_args){
        .x = job->x,
        .x_stride = DOT_DIM * sizeof(float),
        .rows = bench_alloc(base, n_rows * DOT_DIM * sizeof(uint16_t)),
        .rows_type = POSENC_F16,
        .row_stride = DOT_DIM * sizeof(uint16_t),
        .y = bench_floats(base, POSENC_FEW * n_rows),
        .y_stride = (ptrdiff_t)(n_rows * sizeof(float)),
        .dim = DOT_DIM,
        .n_x = POSENC_FEW,
        .n_rows = n_rows,
    };
    bench_compare(base, job->args.dot_few.y, POSENC_F32, POSENC_FEW * n_rows);
}

static void fill_few(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    size_t n = job->args.dot_few.n_rows * DOT_DIM;
    uint16_t *halves = (uint16_t *)(uintptr_t)job->args.dot_few.rows;
    bench_random(job->x, POSENC_F32, POSENC_FEW * DOT_DIM, 1.0f);
    bench_random(halves, POSENC_F16, n, 1.0f);
    for (size_t i = 0; i < n; i++)
        job->table[i] = posenc_from_f16(halves[i]);
}

/* Of rows that are float32 already. */
static void plain_few(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    plain_dots(job->x, job->table, job->args.dot_few.y, POSENC_FEW, job->args.dot_few.n_rows, DOT_DIM);
}

static void limit_few(bench_job *base) {
    base->limits->multiply(POSENC_FEW * DOT_DIM * ((kernel_job *)base)->args.dot_few.n_rows);
}

const kernel_race race_dot_few = {
    .race = {KERNEL_JOB, .open = open_few, .fill = fill_few, .racers = {run_dot_few, plain_few, limit_few}},
    .unit = "rows",
    .bytes_per_unit = DOT_DIM * sizeof(uint16_t) + POSENC_FEW * sizeof(float),
};

/* ---- weighted_rows: n rows of DOT_DIM channels ---- */

static void open_weighted(bench_job *base) {
    kernel_job *job = kernel_start(base, DOT_DIM, (1 + DOT_DIM) * sizeof(float));
    job->weight = bench_floats(base, job->n);
    job->table = bench_floats(base, job->n * DOT_DIM);
    job->args.weighted_rows = (posenc_weighted_rows_args){
        .weights = job->weight,
        .weight_stride = sizeof(float),
        .factor = 1.0f,
        .rows = job->table,
        .rows_type = POSENC_F32,
        .row_stride = DOT_DIM * sizeof(float),
        .y = bench_floats(base, DOT_DIM),
        .dim = DOT_DIM,
        .n = job->n,
    };
}

static void fill_weighted(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->weight, POSENC_F32, job->n, 1.0f);
    bench_random(job->table, POSENC_F32, job->n * DOT_DIM, 1.0f);
    bench_random(job->args.weighted_rows.y, POSENC_F32, DOT_DIM, 1.0f);
}

static void plain_weighted(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    plain_weighted_sum(job->weight, job->table, job->args.weighted_rows.y, job->n, DOT_DIM);
}

static void limit_weighted(bench_job *base) {
    base->limits->multiply(DOT_DIM * ((kernel_job *)base)->n);
}

const kernel_race race_weighted_rows = {
    .race = {KERNEL_JOB, .open = open_weighted, .fill = fill_weighted,
             .racers = {run_weighted_rows, plain_weighted, limit_weighted}},
    .unit = "rows",
    .bytes_per_unit = (1 + DOT_DIM) * sizeof(float),
};

/* ---- pack_rows: n rows of DOT_DIM channels ---- */

static void open_pack(bench_job *base) {
    kernel_job *job = kernel_start(base, DOT_DIM, 2 * DOT_DIM * sizeof(float));
    job->table = bench_floats(base, job->n * DOT_DIM);
    job->args.pack_rows = (posenc_pack_rows_args){
        .rows = job->table,
        .rows_type = POSENC_F32,
        .row_stride = DOT_DIM * sizeof(float),
        .panels = bench_floats(base, (size_t)posenc_panels_size(DOT_DIM, (int64_t)job->n)),
        .dim = DOT_DIM,
        .n_rows = job->n,
    };
    bench_compare(base, job->args.pack_rows.panels, POSENC_F32, padded(job->n) * DOT_DIM);
}

static void fill_table(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->table, POSENC_F32, job->n * DOT_DIM, 1.0f);
}

static float *panel_at(const posenc_pack_rows_args *a, size_t t, size_t c) {
    return &a->panels[t / POSENC_PANEL * DOT_DIM * POSENC_PANEL + c * POSENC_PANEL + t % POSENC_PANEL];
}

static void plain_pack(bench_job *base) {
    const posenc_pack_rows_args *a = &((kernel_job *)base)->args.pack_rows;
    for (size_t t = 0; t < a->n_rows; t++)
        for (size_t c = 0; c < DOT_DIM; c++)
            *panel_at(a, t, c) = ((const float *)a->rows)[t * DOT_DIM + c];
    for (size_t t = a->n_rows; t < padded(a->n_rows); t++)
        for (size_t c = 0; c < DOT_DIM; c++)
            *panel_at(a, t, c) = 0.0f;
}

static void limit_pack(bench_job *base) {
    const posenc_pack_rows_args *a = &((kernel_job *)base)->args.pack_rows;
    base->limits->copy(a->panels, a->rows, a->n_rows * DOT_DIM);
}

const kernel_race race_pack_rows = {
    .race = {KERNEL_JOB, .open = open_pack, .fill = fill_table, .racers = {run_pack_rows, plain_pack, limit_pack}},
    .unit = "rows",
    .bytes_per_unit = 2 * DOT_DIM * sizeof(float),
};

/* ---- attend_rows: DOT_X sums of n rows of DOT_DIM channels ---- */

static void open_attend(bench_job *base) {
    kernel_job *job = kernel_start(base, DOT_X * DOT_DIM, (DOT_X + DOT_DIM) * sizeof(float));
    job->weight = bench_floats(base, DOT_X * job->n);
    job->table = bench_floats(base, job->n * DOT_DIM);
    int32_t *begin = bench_alloc(base, DOT_X * sizeof *begin), *end = bench_alloc(base, DOT_X * sizeof *end);
    for (int i = 0; i < DOT_X; i++) {
        begin[i] = 0;
        end[i] = (int32_t)job->n;
    }
    job->args.attend_rows = (posenc_attend_rows_args){
        .weights = job->weight,
        .weight_stride = job->n,
        .begin = begin,
        .end = end,
        .rows = job->table,
        .rows_type = POSENC_F32,
        .row_stride = DOT_DIM * sizeof(float),
        .y = bench_floats(base, DOT_X * DOT_DIM),
        .y_stride = DOT_DIM,
        .dim = DOT_DIM,
        .n = DOT_X,
    };
    bench_compare(base, job->args.attend_rows.y, POSENC_F32, DOT_X * DOT_DIM);
}

static void fill_attend(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    fill_table(base);
    bench_random(job->weight, POSENC_F32, DOT_X * job->n, 1.0f);
    bench_random(job->args.attend_rows.y, POSENC_F32, DOT_X * DOT_DIM, 1.0f);
}

static void plain_attend(bench_job *base) {
    const posenc_attend_rows_args *a = &((kernel_job *)base)->args.attend_rows;
    for (size_t i = 0; i < DOT_X; i++) {
        float *y = a->y + i * DOT_DIM;
        for (size_t c = 0; c < DOT_DIM; c++)
            y[c] = 0.0f;
        plain_weighted_sum(a->weights + i * a->weight_stride, a->rows, y, (size_t)a->end[i], DOT_DIM);
    }
}

static void limit_attend(bench_job *base) {
    base->limits->multiply(DOT_X * DOT_DIM * ((kernel_job *)base)->n);
}

const kernel_race race_attend_rows = {
    .race = {KERNEL_JOB, .open = open_attend, .fill = fill_attend,
             .racers = {run_attend_rows, plain_attend, limit_attend}},
    .unit = "rows",
    .bytes_per_unit = (DOT_X + DOT_DIM) * sizeof(float),
};

/* ---- affine_row: n keys ---- */

static void open_affine(bench_job *base) {
    kernel_job *job = kernel_start(base, 1, 2 * sizeof(float));
    job->x = bench_floats(base, job->n);
    job->args.affine_row =
        (posenc_affine_row_args){.x = job->x, .y = bench_floats(base, job->n), .a = 0.3f, .b = -0.7f, .n = job->n};
    bench_compare(base, job->args.affine_row.y, POSENC_F32, job->n);
}

static void fill_x(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->x, POSENC_F32, job->n, 4.0f);
}

static void plain_affine_row(bench_job *base) {
    const posenc_affine_row_args *a = &((kernel_job *)base)->args.affine_row;
    plain_affine(a->x, a->y, a->a, a->b, a->n);
}

static void limit_affine(bench_job *base) {
    const posenc_affine_row_args *a = &((kernel_job *)base)->args.affine_row;
    base->limits->copy(a->y, a->x, a->n);
}

const kernel_race race_affine_row = {
    .race = {KERNEL_JOB, .open = open_affine, .fill = fill_x,
             .racers = {run_affine_row, plain_affine_row, limit_affine}},
    .unit = "n",
    .bytes_per_unit = 2 * sizeof(float),
};

/* ---- cope_row: n keys, of 64 positions ---- */

enum { COPE_POSITIONS = 64 };

static void open_cope(bench_job *base) {
    kernel_job *job = kernel_start(base, 1, 2 * sizeof(float));
    job->x = bench_floats(base, job->n);
    job->weight = bench_floats(base, COPE_POSITIONS);
    job->args.cope_row = (posenc_cope_row_args){
        .x = job->x,
        .gates = job->x,
        .z = job->weight,
        .y = bench_floats(base, job->n),
        .scale = 0.5f,
        .n = job->n,
        .n_seen = job->n,
        .n_positions = COPE_POSITIONS,
    };
    bench_compare(base, job->args.cope_row.y, POSENC_F32, job->n);
}

static void fill_cope(bench_job *base) {
    bench_random(((kernel_job *)base)->weight, POSENC_F32, COPE_POSITIONS, 2.0f);
    fill_x(base);
}

static void plain_cope_row(bench_job *base) {
    const posenc_cope_row_args *a = &((kernel_job *)base)->args.cope_row;
    plain_cope(a->x, a->z, a->y, a->n, a->n_positions, a->scale);
}

static void limit_cope(bench_job *base) {
    const posenc_cope_row_args *a = &((kernel_job *)base)->args.cope_row;
    base->limits->copy(a->y, a->x, a->n);
}

const kernel_race race_cope_row = {
    .race = {KERNEL_JOB, .open = open_cope, .fill = fill_cope, .racers = {run_cope_row, plain_cope_row, limit_cope}},
    .unit = "n",
    .bytes_per_unit = 2 * sizeof(float),
};
