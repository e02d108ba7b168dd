/* Races of the kernels of absolute encodings: rows of 768 channels. */
#include "kernel_race.h"

enum { DIM = 768, CALL_ROWS = 64, TERMS = 9, MIX_DIM = 256 };

static size_t rows_of_call(const kernel_job *job, size_t first) {
    return job->n - first < CALL_ROWS ? job->n - first : CALL_ROWS;
}

/* ---- place_rows: rows of a table, in no order, added to embeddings in place ---- */

static void open_place(bench_job *base) {
    kernel_job *job = kernel_start(base, DIM, 3 * DIM * sizeof(float));
    job->x = bench_floats(base, job->n * DIM);
    job->results = (bench_rows){bench_floats(base, job->n * DIM), POSENC_F32, DIM * sizeof(float)};
    bench_compare(base, job->results.data, POSENC_F32, job->n * DIM);
}

static void fill_place(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    bench_random(job->x, POSENC_F32, job->n * DIM, 1.0f);
    bench_random(job->results.data, POSENC_F32, job->n * DIM, 1.0f);
}

static float *row_of(const kernel_job *job, size_t row) {
    return (float *)job->results.data + row * DIM;
}

/* 5 and a power of two have no common factor. */
static const float *source_of(const kernel_job *job, size_t row) {
    return job->x + 5 * row % job->n * DIM;
}

static void ours_place(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    const void *sources[CALL_ROWS];
    for (size_t first = 0; first < job->n; first += CALL_ROWS) {
        size_t n_rows = rows_of_call(job, first);
        for (size_t r = 0; r < n_rows; r++)
            sources[r] = source_of(job, first + r);
        job->args.place_rows = (posenc_place_rows_args){
            .sources = sources,
            .factor = 1.0f,
            .x = row_of(job, first),
            .y = row_of(job, first),
            .x_stride = DIM * sizeof(float),
            .y_stride = DIM * sizeof(float),
            .n = DIM,
            .n_rows = n_rows,
        };
        run_place_rows(base);
    }
}

static void plain_place(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    for (size_t r = 0; r < job->n; r++)
        plain_add_row(row_of(job, r), source_of(job, r), DIM);
}

static void limit_place(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    base->limits->add(job->results.data, job->x, job->n * DIM);
}

const kernel_race race_place_rows = {
    .race = {KERNEL_JOB, .open = open_place, .fill = fill_place, .racers = {ours_place, plain_place, limit_place}},
    .unit = "rows",
    .bytes_per_unit = 2 * DIM * sizeof(float),
};

/* ---- mix_row: a 3 x 3 kernel, as many channels as the convolution takes at a time ---- */

static void open_mix(bench_job *base) {
    kernel_job *job = kernel_start(base, MIX_DIM, 2 * MIX_DIM * sizeof(float));
    job->x = bench_floats(base, (job->n + TERMS - 1) * MIX_DIM);
    job->weight = bench_floats(base, TERMS * MIX_DIM);
    job->results = (bench_rows){bench_floats(base, job->n * MIX_DIM), POSENC_F32, MIX_DIM * sizeof(float)};
    bench_compare(base, job->results.data, POSENC_F32, job->n * MIX_DIM);
}

static void fill_mix(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    bench_random(job->x, POSENC_F32, (job->n + TERMS - 1) * MIX_DIM, 1.0f);
    bench_random(job->weight, POSENC_F32, TERMS * MIX_DIM, 1.0f);
}

static void ours_mix(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    const void *x[TERMS];
    const float *weights[TERMS];
    for (size_t row = 0; row < job->n; row++) {
        for (size_t k = 0; k < TERMS; k++) {
            x[k] = job->x + (row + k) * MIX_DIM;
            weights[k] = job->weight + k * MIX_DIM;
        }
        job->args.mix_row = (posenc_mix_row_args){
            .x = x,
            .weights = weights,
            .weight_step = 1,
            .y = (float *)job->results.data + row * MIX_DIM,
            .n = MIX_DIM,
            .n_terms = TERMS,
        };
        run_mix_row(base);
    }
}

static void plain_mix(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    for (size_t row = 0; row < job->n; row++)
        plain_convolution(job->x + row * MIX_DIM, job->weight, (float *)job->results.data + row * MIX_DIM, MIX_DIM,
                          TERMS);
}

static void limit_mix(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    base->limits->copy(job->results.data, job->x, job->n * MIX_DIM);
}

const kernel_race race_mix_row = {
    .race = {KERNEL_JOB, .open = open_mix, .fill = fill_mix, .racers = {ours_mix, plain_mix, limit_mix}},
    .unit = "rows",
    .bytes_per_unit = 2 * MIX_DIM * sizeof(float),
};

/* ---- bit_rows, rbf_rows: written ---- */

static void open_made(bench_job *base) {
    kernel_job *job = kernel_start(base, DIM, DIM * sizeof(float));
    job->results = (bench_rows){bench_floats(base, job->n * DIM), POSENC_F32, DIM * sizeof(float)};
    job->frequency = bench_alloc(base, (DIM + POSENC_COLUMN) * sizeof(double));
    bench_compare(base, job->results.data, POSENC_F32, job->n * DIM);
}

static void fill_made(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    for (size_t i = 0; i < DIM + POSENC_COLUMN; i++)
        job->frequency[i] = -2.0 * (double)i;
    bench_random(job->results.data, POSENC_F32, job->n * DIM, 1.0f);
}

static void ours_bits(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    uint64_t codes[CALL_ROWS];
    for (size_t first = 0; first < job->n; first += CALL_ROWS) {
        size_t n_rows = rows_of_call(job, first);
        for (size_t r = 0; r < n_rows; r++)
            codes[r] = POSITION + first + r;
        job->args.bit_rows = (posenc_bit_rows_args){
            .codes = codes,
            .one = 1.0f,
            .y = row_of(job, first),
            .stride = DIM,
            .n = DIM,
            .n_rows = n_rows,
        };
        run_bit_rows(base);
    }
}

static void plain_bits(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    for (size_t row = 0; row < job->n; row++)
        plain_binary(POSITION + row, row_of(job, row), DIM);
}

static void ours_rbf(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    double positions[CALL_ROWS];
    for (size_t first = 0; first < job->n; first += CALL_ROWS) {
        size_t n_rows = rows_of_call(job, first);
        for (size_t r = 0; r < n_rows; r++)
            positions[r] = (double)((first + r) % (2 * DIM));
        job->args.rbf_rows = (posenc_rbf_rows_args){
            .positions = positions,
            .minus_centres = job->frequency,
            .minus_k = -0.0001,
            .y = row_of(job, first),
            .stride = DIM,
            .n = DIM,
            .n_rows = n_rows,
        };
        run_rbf_rows(base);
    }
}

static void plain_rbf_rows(bench_job *base) {
    kernel_job *job = (kernel_job *)base;
    for (size_t row = 0; row < job->n; row++)
        plain_rbf((float)(row % (2 * DIM)), 2.0f, 0.01f, row_of(job, row), DIM);
}

static void limit_made(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    base->limits->fill(job->results.data, job->n * DIM, 1.0f);
}

#define MADE_RACE(kernel, ours, plain_loop)                                                                            \
    const kernel_race race_##kernel = {                                                                                \
        .race = {KERNEL_JOB, .open = open_made, .fill = fill_made, .racers = {ours, plain_loop, limit_made}},          \
        .unit = "rows",                                                                                                \
        .bytes_per_unit = DIM * sizeof(float),                                                                         \
    };

MADE_RACE(bit_rows, ours_bits, plain_bits)
MADE_RACE(rbf_rows, ours_rbf, plain_rbf_rows)
