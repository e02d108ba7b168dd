/* SPDX-License-Identifier: MIT */
/* add_axes: the sum of row and column terms. */
#include "check.h"
#include "plain.h"

typedef struct axes_shape {
    size_t height, width;
} axes_shape;

static void axes_arguments(const kernel_call *call, kernel_args *to) {
    const axes_shape *s = call->shape;
    posenc_add_axes_args args = {call_data(call, 0, 0), call_data(call, 1, 0), call_data(call, 2, 0), s->height,
                                 s->width};
    to->add_axes = args;
}

static void describe_axes(kernel_call *call, const axes_shape *s) {
    call_begin(call, KERNEL_add_axes, axes_arguments, s);
    call_row(call, "y", OPERAND_IN_OUT, ELEMENT_F32, s->height * s->width);
    call_row(call, "by_row", OPERAND_IN, ELEMENT_F32, s->height);
    call_row(call, "by_column", OPERAND_IN, ELEMENT_F32, s->width);
}

void sweep_add_axes(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t i = 0; i < test_n_sizes; i++)
        for (size_t k = 0; k < test_n_counts; k++)
            for (int fill = 0; fill <= FILL_ADVERSARIAL; fill++) {
                axes_shape s = {test_counts[k], test_sizes[i]};
                if (!test_case("add_axes %zux%zu %s", s.height, s.width, test_fill_name((test_fill)fill)))
                    continue;
                describe_axes(&call, &s);
                call_fill(&call, (test_fill)fill);
                call_check(&call, variant, test_size_is_large(s.width) || fill ? FEW_PLACES : EVERY_PLACE);
            }
}

/* ---- Benchmark ---- */

enum { WIDTH = 64 }; /* as SAM's global attention has them */

static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static axes_shape s;
    (void)types;
    s = (axes_shape){n, WIDTH};
    describe_axes(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_axes(const kernel_args *args) {
    const posenc_add_axes_args *a = &args->add_axes;
    plain_add_axes(a->y, a->by_row, a->by_column, a->height, a->width);
}

static void limit_axes(const bench_limits *limits, const kernel_args *args) {
    bench_rows y = {args->add_axes.y, POSENC_F32, WIDTH * sizeof(float)};
    limits->scale(y, y, args->add_axes.height, WIDTH, 1.0f);
}

const kernel_bench bench_add_axes = {
    .unit = "rows", .elements = WIDTH, .describe = bench_describe, .plain = plain_axes, .limit = limit_axes};
