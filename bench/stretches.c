/* SPDX-License-Identifier: MIT */
/* Cost of rows of any length to memory itself, the measure of a cliff (report/cliffs.py). Each row begins where the
 * last one ends, mostly across cache lines, and ends with a partial vector. */
#include "serve.h"
#include "core/view.h"

typedef struct stretch_shape {
    posenc_dtype type;
    int64_t length, count, apart; /* apart: lengths from row to row */
    int written;                  /* only; otherwise scaled in place */
} stretch_shape;

typedef struct stretch_job {
    bench_job base;
    char *rows, *first; /* the first stays where it is */
} stretch_job;

static void open_stretches(bench_job *base) {
    const stretch_shape *shape = base->shape;
    stretch_job *job = (stretch_job *)base;
    size_t bytes = (size_t)(shape->length * posenc_dtype_size(shape->type));
    job->rows = bench_alloc(base, bytes * (size_t)(shape->count * shape->apart));
    job->first = bench_alloc(base, bytes);
    base->elements = (double)(shape->length * shape->count);
    base->bytes = base->elements * (double)posenc_dtype_size(shape->type) * (shape->written ? 1 : 2);
}

static void fill_stretches(bench_job *base) {
    const stretch_shape *shape = base->shape;
    stretch_job *job = (stretch_job *)base;
    bench_random(job->rows, shape->type, (size_t)(shape->length * shape->count * shape->apart), 1.0f);
    bench_random(job->first, shape->type, (size_t)shape->length, 1.0f);
}

/* Every other row, then those between them: rows without a gap would be taken for one. */
static void limit_stretches(bench_job *base) {
    const stretch_shape *shape = base->shape;
    stretch_job *job = (stretch_job *)base;
    ptrdiff_t stride = (ptrdiff_t)(shape->apart * shape->length * posenc_dtype_size(shape->type));
    for (int odd = 0; odd <= 1; odd++) {
        bench_rows y = {job->rows + odd * stride, shape->type, 2 * stride};
        bench_rows x = shape->written ? (bench_rows){job->first, shape->type, 0} : y;
        base->limits->scale(x, y, (size_t)(shape->count + !odd) / 2, (size_t)shape->length, 1.0f);
    }
}

static const bench_race stretch_race = {
    .job_size = sizeof(stretch_job),
    .shape_size = sizeof(stretch_shape),
    .open = open_stretches,
    .fill = fill_stretches,
    .racers = {[BENCH_LIMIT] = limit_stretches},
};

bench_match bench_match_stretches(const work *w) {
    static stretch_shape shape;
    if (!work_is(w, "stretches") || w->heads < 2)
        return (bench_match){NULL, NULL};
    int64_t apart = w->stride_heads > 0 ? w->stride_heads : 1;
    shape = (stretch_shape){(posenc_dtype)w->type, w->dim, w->heads, apart, !w->ready};
    return (bench_match){&stretch_race, &shape};
}
