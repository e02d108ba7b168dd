/* SPDX-License-Identifier: MIT */
/* affine_row: a x + b, as FIRE has it. */
#include "check.h"

#include <float.h>

typedef struct affine_shape {
    size_t n;
    float a, b;
    int add;
} affine_shape;

static void affine_arguments(const kernel_call *call, kernel_args *to) {
    const affine_shape *s = call->shape;
    posenc_affine_row_args args = {
        .x = call_data(call, 0, 0), .y = call_data(call, 1, 0), .a = s->a, .b = s->b, .n = s->n, .add = s->add};
    to->affine_row = args;
}

static void describe_affine(kernel_call *call, const affine_shape *s) {
    call_begin(call, KERNEL_affine_row, affine_arguments, s);
    call_row(call, "x", OPERAND_IN, ELEMENT_F32, s->n);
    call_row(call, "y", s->add ? OPERAND_IN_OUT : OPERAND_OUT, ELEMENT_F32, s->n);
}

static void check_affine(kernel_call *call, const posenc_kernels *variant, const affine_shape *s, test_fill fill) {
    if (!test_case("affine_row n=%zu a=%g b=%g%s %s", s->n, (double)s->a, (double)s->b, s->add ? " add" : "",
                   test_fill_name(fill)))
        return;
    describe_affine(call, s);
    call_fill(call, fill);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

static void check_lanes_of_affine(kernel_call *call, const posenc_kernels *variant, const affine_shape *s) {
    for (size_t j = 0; j < s->n; j++)
        if (test_case("affine_row n=%zu%s lane %zu", s->n, s->add ? " add" : "", j)) {
            describe_affine(call, s);
            call_fill(call, FILL_ORDINARY);
            call_check_lane(call, variant, (int32_t)j);
        }
}

void sweep_affine_row(const posenc_kernels *variant) {
    static kernel_call call;
    static const float numbers[] = {0.3f, -1.5f, 0.0f, 1e-30f, FLT_MAX, 1.0f};
    for (size_t i = 0, which = 0; i < test_n_sizes; i++)
        for (int add = 0; add < 2; add++) {
            affine_shape s = {test_sizes[i], 0.7f, -0.2f, add};
            if (!test_size_is_large(s.n))
                check_lanes_of_affine(&call, variant, &s);
            for (int fill = 0; fill < FILL_COUNT; fill++, which++) {
                s.a = numbers[which % 6];
                s.b = numbers[which / 6 % 6];
                check_affine(&call, variant, &s, (test_fill)fill);
            }
        }
}

/* ---- Benchmark ---- */

static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static affine_shape s;
    (void)types;
    s = (affine_shape){.n = n, .a = 0.3f, .b = -0.7f};
    describe_affine(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_affine_row(const kernel_args *args) {
    const posenc_affine_row_args *a = &args->affine_row;
    for (size_t j = 0; j < a->n; j++)
        a->y[j] = a->a * a->x[j] + a->b;
}

static void limit_affine(const bench_limits *limits, const kernel_args *args) {
    limits->copy(args->affine_row.y, args->affine_row.x, args->affine_row.n);
}

const kernel_bench bench_affine_row = {
    .unit = "n", .elements = 1, .describe = bench_describe, .plain = plain_affine_row, .limit = limit_affine};
