/* SPDX-License-Identifier: MIT */
/* hadamard_rows: the Hadamard transform of each few channels of a row, in place. */
#include <math.h>

#include "check.h"
#include "plain.h"

typedef struct hadamard_shape {
    size_t size, n, n_rows;
    ptrdiff_t stride;
} hadamard_shape;

static void hadamard_arguments(const kernel_call *call, kernel_args *to) {
    const hadamard_shape *s = call->shape;
    posenc_hadamard_args args = {
        .x = call_data(call, 0, rows_origin(s->n_rows, s->stride)),
        .stride = s->stride,
        .factor = 1.0f / sqrtf((float)s->size),
        .size = s->size,
        .n = s->n,
        .n_rows = s->n_rows,
    };
    to->hadamard_rows = args;
}

static void describe_hadamard(kernel_call *call, const hadamard_shape *s) {
    call_begin(call, KERNEL_hadamard_rows, hadamard_arguments, s);
    call_rows(call, "x", OPERAND_IN_OUT, ELEMENT_F32, s->n_rows, s->stride, s->n);
}

void sweep_hadamard_rows(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t size = 2, which = 0; size <= 1024; size *= 2)
        for (size_t blocks = 0; blocks <= 35 && blocks * size <= 1024; blocks++)
            for (size_t k = 0; k < FILL_COUNT; k++, which++) {
                hadamard_shape s = {.size = size, .n = blocks * size, .n_rows = test_counts[which % test_n_counts]};
                s.stride = test_stride(which % 3, s.n);
                test_fill fill = (test_fill)k;
                if (!test_case("hadamard_rows size=%zu n=%zu rows=%zu stride=%td %s", s.size, s.n, s.n_rows, s.stride,
                               test_fill_name(fill)))
                    continue;
                describe_hadamard(&call, &s);
                call_fill(&call, fill);
                call_check(&call, variant, fill != FILL_ORDINARY || s.n > 128 ? FEW_PLACES : EVERY_PLACE);
            }
}

/* ---- Benchmark ---- */

enum { HEAD_DIM = 128 };

/* In place again and again: the transform is its own inverse, and data stay what they are. */
static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static hadamard_shape s;
    (void)types;
    s = (hadamard_shape){.size = HEAD_DIM, .n = HEAD_DIM, .n_rows = n, .stride = HEAD_DIM};
    describe_hadamard(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_hadamard_rows(const kernel_args *args) {
    const posenc_hadamard_args *a = &args->hadamard_rows;
    for (size_t r = 0; r < a->n_rows; r++)
        plain_hadamard(a->x + (ptrdiff_t)r * a->stride, a->n, a->size);
}

static void limit_hadamard(const bench_limits *limits, const kernel_args *args) {
    const posenc_hadamard_args *a = &args->hadamard_rows;
    bench_rows x = {a->x, POSENC_F32, a->stride * (ptrdiff_t)sizeof(float)};
    limits->scale(x, x, a->n_rows, a->n, 1.0f);
}

const kernel_bench bench_hadamard_rows = {
    .unit = "heads",
    .elements = HEAD_DIM,
    .describe = bench_describe,
    .plain = plain_hadamard_rows,
    .limit = limit_hadamard,
};
