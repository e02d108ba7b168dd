/* SPDX-License-Identifier: MIT */
/* Sweeps of the softmax's gradient, and of the sum of row and column terms. */
#include "check.h"
#include "plain.h"

#include <float.h>
#include <math.h>

/* ---- softmax_backward ---- */

/* Place of a result: memory of its own, or the memory of an input. */
typedef enum place { APART, OVER_P, OVER_DP, OVER_S, N_PLACES } place;

typedef struct backward_shape {
    size_t n;
    posenc_visible visible;
    int has_cap, has_db, has_sink, has_positions;
    place dx, db;
    float scale, bias_slope;
} backward_shape;

enum { P, DP, S };

static struct { int input[3], dx, db, dsink, k_pos; } operands; /* of the call being made */

static void backward_arguments(const kernel_call *call, kernel_args *to) {
    const backward_shape *s = call->shape;
    posenc_softmax_backward_args args = {
        .p = call_data(call, operands.input[P], 0),
        .dp = call_data(call, operands.input[DP], 0),
        .s = s->has_cap ? call_data(call, operands.input[S], 0) : NULL,
        .dx = call_data(call, operands.dx, 0),
        .db = s->has_db ? call_data(call, operands.db, 0) : NULL,
        .n = s->n,
        .visible = s->visible,
        .k_pos = s->has_positions ? call_data(call, operands.k_pos, 0) : NULL,
        .position = 100,
        .lowest = -9,
        .highest = 3,
        .scale = s->scale,
        .inv_cap = 0.05f,
        .bias_slope = s->bias_slope,
        .dsink = s->has_sink ? call_data(call, operands.dsink, 0) : NULL,
    };
    static posenc_softmax_backward_args next;
    next = args;
    args.next = s->n % 2 ? &next : NULL;
    to->softmax_backward = args;
}

/* Adds an input. Inputs that are not written end at the last visible key: nothing behind it may be read. */
static void add_input(kernel_call *call, const backward_shape *s, int which, place over) {
    static const char *const names[] = {"p", "dp", "s"};
    int is_written = s->dx == over || (s->has_db && s->db == over);
    operands.input[which] = call_row(call, names[which], is_written ? OPERAND_IN_OUT : OPERAND_IN, ELEMENT_F32,
                                     is_written ? s->n : s->visible.end);
}

static int add_output(kernel_call *call, const backward_shape *s, const char *name, place at) {
    return at == APART ? call_row(call, name, OPERAND_OUT, ELEMENT_F32, s->n) : operands.input[at - OVER_P];
}

static void describe_backward(kernel_call *call, const backward_shape *s) {
    call_begin(call, KERNEL_softmax_backward, backward_arguments, s);
    add_input(call, s, P, OVER_P);
    add_input(call, s, DP, OVER_DP);
    if (s->has_cap)
        add_input(call, s, S, OVER_S);
    operands.dx = add_output(call, s, "dx", s->dx);
    if (s->has_db)
        operands.db = add_output(call, s, "db", s->db);
    if (s->has_sink)
        operands.dsink = call_row(call, "dsink", OPERAND_OUT, ELEMENT_F32, 1);
    if (s->has_positions)
        operands.k_pos = call_row(call, "k_pos", OPERAND_IN, ELEMENT_I32, s->visible.end);
}

static void check_backward(kernel_call *call, const posenc_kernels *variant, const backward_shape *s, test_fill fill) {
    if (!test_case("softmax_backward n=%zu [%zu %zu %zu %zu]%s%s%s%s dx=%d db=%d scale=%g slope=%g %s", s->n,
                   s->visible.begin, s->visible.hole_begin, s->visible.hole_end, s->visible.end,
                   s->has_cap ? " cap" : "", s->has_db ? " db" : "", s->has_sink ? " sink" : "",
                   s->has_positions ? " positions" : "", (int)s->dx, (int)s->db, (double)s->scale,
                   (double)s->bias_slope, test_fill_name(fill)))
        return;
    describe_backward(call, s);
    call_fill(call, fill);
    for (size_t j = 0; s->has_positions && j < s->visible.end; j++) /* around the visible offsets */
        operand_set(&call->operands[operands.k_pos], j, (double)(int32_t)(85 + test_random() % 25));
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

void sweep_softmax_backward(const posenc_kernels *variant) {
    static kernel_call call;
    static const float scales[] = {0.125f, 1.0f, -1.0f, 0.0f, 0x1p-149f, 100.0f, FLT_MAX};
    for (size_t i = 0; i < test_n_sizes; i++)
        for (size_t which = 0; which < 48; which++) {
            backward_shape s = {
                .n = test_sizes[i],
                .has_cap = which / 4 % 2,
                .has_db = which / 8 % 2,
                .has_sink = which % 3 == 0,
                .has_positions = which % 5 == 3 || which % 11 == 2,
                .scale = scales[which % 5 == 0 ? which / 5 % 7 : 0],
                .bias_slope = which % 7 == 0 ? -0.25f : 1.0f,
            };
            s.dx = (place)(test_random() % (s.has_cap ? N_PLACES : OVER_S));
            s.db = (place)(test_random() % (s.has_cap ? N_PLACES : OVER_S));
            if (s.db == s.dx)
                s.db = APART;
            s.visible = test_visible(s.n, which);
            check_backward(&call, variant, &s, (test_fill)(which / 2 % (FILL_ADVERSARIAL + 1)));
        }
}

/* ---- Benchmark ---- */

static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static backward_shape s;
    (void)types;
    s = (backward_shape){.n = n, .visible.end = n, .scale = 0.125f, .bias_slope = 1.0f};
    describe_backward(call, &s);
    call_fill(call, FILL_ORDINARY);
    for (size_t j = 0; j < n; j++)
        operand_set(&call->operands[operands.input[P]], j, (double)(1 + j % 3) / (double)n);
}

static void plain_backward(const kernel_args *args) {
    const posenc_softmax_backward_args *a = &args->softmax_backward;
    plain_softmax_backward(a->p, a->dp, a->dx, a->n, a->scale);
}

/* Two reads and a write. */
static void limit_backward(const bench_limits *limits, const kernel_args *args) {
    const posenc_softmax_backward_args *a = &args->softmax_backward;
    limits->copy(a->dx, a->dp, a->n);
    limits->read(a->p, a->n * sizeof(float) / 16 * 16);
}

const kernel_bench bench_softmax_backward = {
    .unit = "n", .elements = 1, .describe = bench_describe, .plain = plain_backward, .limit = limit_backward};
