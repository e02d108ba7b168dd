/* SPDX-License-Identifier: MIT */
/* cope_row: contextual positions (CoPE). */
#include "check.h"
#include "plain.h"

typedef struct cope_shape {
    size_t n, n_visible, n_positions;
    float scale;
    int is_scaled, in_place, own_gates;
} cope_shape;

enum { X, GATES, Z, Y };

static void cope_arguments(const kernel_call *call, kernel_args *to) {
    const cope_shape *s = call->shape;
    posenc_cope_row_args args = {
        .x = call_data(call, X, 0),
        .gates = call_data(call, s->own_gates ? GATES : X, 0),
        .z = call_data(call, Z, 0),
        .y = call_data(call, s->in_place ? X : Y, 0),
        .scale = s->scale,
        .is_scaled = s->is_scaled,
        .n = s->n,
        .n_visible = s->n_visible,
        .n_positions = s->n_positions,
    };
    to->cope_row = args;
}

/* Keys that are not seen are not read: x and the gates end before them, so that the guard page is there. */
static void describe_cope(kernel_call *call, const cope_shape *s) {
    call_begin(call, KERNEL_cope_row, cope_arguments, s);
    call_row(call, "x", s->in_place ? OPERAND_IN_OUT : OPERAND_IN, ELEMENT_F32, s->in_place ? s->n : s->n_visible);
    call_row(call, "gates", OPERAND_IN, ELEMENT_F32, s->n_visible);
    call_row(call, "z", OPERAND_IN, ELEMENT_F32, s->n_positions);
    if (!s->in_place)
        call_row(call, "y", OPERAND_OUT, ELEMENT_F32, s->n);
}

static void check_cope(kernel_call *call, const posenc_kernels *variant, const cope_shape *s, test_fill fill) {
    if (!test_case("cope_row n=%zu seen=%zu positions=%zu scale=%g%s%s%s %s", s->n, s->n_visible, s->n_positions,
                   (double)s->scale, s->is_scaled ? " scaled" : "", s->in_place ? " in place" : "",
                   s->own_gates ? " gates" : "", test_fill_name(fill)))
        return;
    describe_cope(call, s);
    call_fill(call, fill);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

void sweep_cope_row(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t positions[] = {64, 1, 2, 17, 1000, 5};
    static const float scales[] = {0.125f, 1.0f, -1.0f, 0.0f, 30.0f};
    for (size_t i = 0, which = 0; i < test_n_sizes; i++)
        for (size_t k = 0; k < 3 * FILL_COUNT; k++, which++) {
            size_t n = test_sizes[i];
            cope_shape s = {
                .n = n,
                .n_visible = which % 3 == 0 ? n : test_random_below(n + 1),
                .n_positions = positions[which % 6],
                .scale = scales[which / 2 % 5],
                .is_scaled = which % 5 < 2,
                .in_place = which % 7 < 3,
                .own_gates = which % 4 == 0,
            };
            check_cope(&call, variant, &s, (test_fill)(k % FILL_COUNT));
        }
}

/* ---- Benchmark ---- */

enum { BENCH_POSITIONS = 64 };

static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static cope_shape s;
    (void)types;
    s = (cope_shape){.n = n, .n_visible = n, .n_positions = BENCH_POSITIONS, .scale = 0.5f};
    describe_cope(call, &s);
    call->operands[GATES].count = 0; /* they are x */
    call_fill(call, FILL_ORDINARY);
}

static void plain_cope_row(const kernel_args *args) {
    const posenc_cope_row_args *a = &args->cope_row;
    plain_cope(a->x, a->z, a->y, a->n, a->n_positions, a->scale);
}

static void limit_cope(const bench_limits *limits, const kernel_args *args) {
    limits->copy(args->cope_row.y, args->cope_row.x, args->cope_row.n);
}

const kernel_bench bench_cope_row = {
    .unit = "n", .elements = 1, .describe = bench_describe, .plain = plain_cope_row, .limit = limit_cope};
