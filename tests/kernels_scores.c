/* Sweeps of the kernels on rows of scores. */
#include "kernel_call.h"

#include <float.h>

/* Numbers of keys to allow, of n: all of 0 .. n for small n, the ends and a few between for large ones. */
static size_t allowed_step(size_t n) {
    return test_size_is_large(n) ? n / 3 : 1;
}

/* Positions of the query: among the keys, before and behind them, and as far as the kernels are promised to go. */
static int32_t query_of(size_t which, size_t n) {
    const int32_t queries[] = {(int32_t)n - 1, 0, (int32_t)n / 2, -3, (int32_t)n + 1000, 1 << 30, -(1 << 30), 1 << 24};
    return queries[which % (sizeof queries / sizeof queries[0])];
}

static const float slopes[] = {0.5f, 0.00390625f, 0.7071067f, -0.25f, 0.0f, -0.0f, 1e-30f, 0x1p-149f, FLT_MAX};
enum { N_SLOPES = sizeof slopes / sizeof slopes[0] };

/* ---- alibi_row ---- */

typedef struct alibi_shape {
    size_t n, n_allowed;
    int32_t query;
    float slope;
} alibi_shape;

static void run_alibi(const posenc_kernels *kernels, const kernel_call *call) {
    const alibi_shape *s = call->shape;
    posenc_alibi_row_args args = {
        .y = call_data(call, 0, 0), .n = s->n, .n_allowed = s->n_allowed, .query = s->query, .slope = s->slope};
    kernels->alibi_row(&args);
}

static void check_alibi(kernel_call *call, const posenc_kernels *variant, const alibi_shape *s) {
    if (!test_case("alibi_row n=%zu allowed=%zu query=%d slope=%g", s->n, s->n_allowed, (int)s->query,
                   (double)s->slope))
        return;
    call_begin(call, run_alibi, s);
    operand_row(call_operand(call, "y", OPERAND_OUT, ELEMENT_F32, s->n), 0, s->n, 1);
    call_fill(call, FILL_ORDINARY);
    call_check(call, variant, test_size_is_large(s->n) ? FEW_PLACES : EVERY_PLACE);
}

void sweep_alibi_row(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t i = 0; i < test_n_sizes; i++) {
        size_t n = test_sizes[i], which = i;
        for (size_t allowed = 0; allowed <= n; allowed += allowed_step(n), which++) {
            alibi_shape s = {n, allowed, query_of(which, n), slopes[which / 2 % N_SLOPES]};
            check_alibi(&call, variant, &s);
            s.query = query_of(which + 3, n);
            s.slope = slopes[(which + 1) % N_SLOPES];
            check_alibi(&call, variant, &s);
        }
    }
}

/* ---- softmax_row ---- */

typedef struct softmax_shape {
    size_t n, n_allowed;
    int32_t query;
    float scale, slope;
    int in_place;
} softmax_shape;

enum { X, Y };

static void run_softmax(const posenc_kernels *kernels, const kernel_call *call) {
    const softmax_shape *s = call->shape;
    posenc_softmax_row_args args = {
        .x = call_data(call, X, 0),
        .y = call_data(call, s->in_place ? X : Y, 0),
        .n = s->n,
        .n_allowed = s->n_allowed,
        .query = s->query,
        .scale = s->scale,
        .slope = s->slope,
    };
    kernels->softmax_row(&args);
}

/* Keys that are not allowed are not read: x ends before them, so that the guard page is there. */
static void check_softmax(kernel_call *call, const posenc_kernels *variant, const softmax_shape *s, test_fill fill) {
    if (!test_case("softmax_row n=%zu allowed=%zu query=%d scale=%g slope=%g%s %s", s->n, s->n_allowed, (int)s->query,
                   (double)s->scale, (double)s->slope, s->in_place ? " in place" : "", test_fill_name(fill)))
        return;
    call_begin(call, run_softmax, s);
    size_t n_x = s->in_place ? s->n : s->n_allowed;
    operand_row(call_operand(call, "x", s->in_place ? OPERAND_IN_OUT : OPERAND_IN, ELEMENT_F32, n_x), 0, n_x, 1);
    if (!s->in_place)
        operand_row(call_operand(call, "y", OPERAND_OUT, ELEMENT_F32, s->n), 0, s->n, 1);
    call_fill(call, fill);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

void sweep_softmax_row(const posenc_kernels *variant) {
    static kernel_call call;
    static const float scales[] = {0.125f, 1.0f, -1.0f, 0.0f, 0x1p-149f, 100.0f, FLT_MAX};
    for (size_t i = 0; i < test_n_sizes; i++) {
        size_t n = test_sizes[i], which = i;
        for (size_t allowed = 0; allowed <= n; allowed += allowed_step(n))
            for (int fill = 0; fill <= FILL_HOSTILE; fill++, which++) {
                softmax_shape s = {
                    .n = n,
                    .n_allowed = allowed,
                    .query = query_of(which / 2, n),
                    .scale = scales[which % 3 == 0 ? which / 3 % (sizeof scales / sizeof scales[0]) : 0],
                    .slope = slopes[which % 2 == 0 ? which / 2 % N_SLOPES : 4], /* half of them without a bias */
                    .in_place = which / 5 % 2 == 0,
                };
                check_softmax(&call, variant, &s, (test_fill)fill);
            }
    }
}
