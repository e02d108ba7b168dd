/* SPDX-License-Identifier: MIT */
/* Every kernel of kernels.def on every tier, from L1 to DRAM: the cases that tests/check benchmarks it with. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "check.h"

/* Memory that one call touches, at most; and a little more, for what a head or row has besides its channels. */
static const size_t working_sets[] = {4 << 10, 16 << 10, 256 << 10, 4 << 20, 128 << 20};
#define WITH_GRACE(bytes) ((bytes) + (bytes) / 16)

/* Largest working set with a 16-bit type: in DRAM all types are alike. */
#define MOST_WITH_16_BITS ((size_t)4 << 20)

typedef struct kernel_shape {
    kernel_id kernel;
    kernel_types types;
    size_t n; /* units */
} kernel_shape;

typedef struct kernel_job {
    bench_job base;
    kernel_call call;
    kernel_args args;
} kernel_job;

static const kernel_bench *bench_of(kernel_id kernel) {
    return check_kernels[kernel].bench;
}

/* The case gives the random numbers: the same every time. */
static void describe(kernel_call *call, const kernel_shape *shape) {
    test_case("%s n=%zu", check_kernels[shape->kernel].name, shape->n);
    bench_of(shape->kernel)->describe(call, shape->n, shape->types);
}

static size_t bytes_of(const operand *o) {
    return o->count * o->element;
}

/* ---- The race ---- */

/* Clears canaries (NaN) in the gaps between rows, which no kernel writes: they could not be compared. */
static void clear_gaps(operand *o) {
    for (size_t i = 0; i < o->count; i++)
        if (o->lane[i] == NO_LANE)
            operand_set(o, i, 0.0);
}

static void open_kernel(bench_job *base) {
    const kernel_shape *shape = base->shape;
    kernel_job *job = (kernel_job *)base;
    describe(&job->call, shape);
    for (int k = 0; k < job->call.n_operands; k++) {
        operand *o = &job->call.operands[k];
        clear_gaps(o);
        o->memory.data = bench_alloc(base, bytes_of(o));
        base->bytes += (double)bytes_of(o) * (o->role == OPERAND_IN_OUT ? 2 : 1);
        if (o->role & OPERAND_OUT)
            bench_compare_elements(base, o->memory.data, o->type, o->count);
    }
    base->elements = (double)shape->n * bench_of(shape->kernel)->elements;
    job->call.arguments(&job->call, &job->args);
}

static void fill_kernel(bench_job *base) {
    const kernel_call *call = &((kernel_job *)base)->call;
    for (int k = 0; k < call->n_operands; k++)
        memcpy(call->operands[k].memory.data, call->operands[k].before, bytes_of(&call->operands[k]));
}

static void close_kernel(bench_job *base) {
    call_free(&((kernel_job *)base)->call);
}

static void ours(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    call_kernel(base->kernels, job->call.kernel, &job->args);
}

static void plain(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    bench_of(job->call.kernel)->plain(&job->args);
}

static void limit(bench_job *base) {
    const kernel_job *job = (kernel_job *)base;
    bench_of(job->call.kernel)->limit(base->limits, &job->args);
}

static const bench_race kernel_race = {
    .job_size = sizeof(kernel_job),
    .shape_size = sizeof(kernel_shape),
    .open = open_kernel,
    .fill = fill_kernel,
    .close = close_kernel,
    .racers = {ours, plain, limit},
};

/* ---- Its sizes ---- */

static size_t bytes_of_call(const kernel_shape *shape) {
    kernel_call call = {0};
    size_t bytes = 0;
    describe(&call, shape);
    for (int k = 0; k < call.n_operands; k++)
        bytes += bytes_of(&call.operands[k]);
    call_free(&call);
    return bytes;
}

/* Bytes that one more unit takes, in whole panels and columns. Memory that does not grow with n is not counted. */
static size_t bytes_of_unit(kernel_shape shape) {
    shape.n = 2 * POSENC_PANEL;
    size_t more = bytes_of_call(&shape);
    shape.n = POSENC_PANEL;
    return (more - bytes_of_call(&shape)) / POSENC_PANEL;
}

/* The largest power of two that fits, so that names are round. */
static size_t units_in(size_t bytes, size_t bytes_per_unit) {
    size_t n = 1;
    while (2 * n * bytes_per_unit <= WITH_GRACE(bytes))
        n *= 2;
    return n;
}

/* ---- Registration ---- */

/* On every tier; the types are named unless they are float32. */
static void register_shape(const kernel_shape *shape, int is_f32) {
    posenc_isa_tier tier;
    for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
        char name[128];
        snprintf(name, sizeof name, "%s/%s/%s%s%s:%zu", check_kernels[shape->kernel].name, posenc_isa_name(tier),
                 is_f32 ? "" : bench_type_name(shape->types.x, shape->types.y), is_f32 ? "" : "/",
                 bench_of(shape->kernel)->unit, shape->n);
        bench_register(&kernel_race, shape, tier, name);
    }
}

static void register_types(kernel_shape shape) {
    int is_f32 = shape.types.x == POSENC_F32 && shape.types.y == POSENC_F32;
    size_t bytes_per_unit = bytes_of_unit(shape);
    for (size_t w = 0; w < sizeof working_sets / sizeof working_sets[0]; w++)
        if (is_f32 || working_sets[w] <= MOST_WITH_16_BITS) {
            shape.n = units_in(working_sets[w], bytes_per_unit);
            register_shape(&shape, is_f32);
        }
}

void bench_register_kernels(void) {
    static const kernel_types f32 = {POSENC_F32, POSENC_F32};
    for (int kernel = 0; kernel < KERNEL_COUNT; kernel++) {
        const kernel_bench *bench = bench_of((kernel_id)kernel);
        const kernel_types *types = bench->types != NULL ? bench->types : &f32;
        for (size_t i = 0; i < (bench->types != NULL ? bench->n_types : 1); i++)
            register_types((kernel_shape){.kernel = (kernel_id)kernel, .types = types[i]});
    }
}
