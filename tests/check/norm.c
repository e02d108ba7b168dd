/* SPDX-License-Identifier: MIT */
/* rms_factors: the factor of each head's RMS-norm. */
#include "check.h"
#include "plain.h"

#include <float.h>
#include <math.h>

/* Contents of the heads: random numbers, or, in every second head, values that sums of squares trip over. */
typedef enum norm_input { FILLED, ZEROS, ONE_NAN, ONE_INFINITE, ONE_LARGE, TINY, N_INPUTS } norm_input;

static const char *const input_names[] = {"", " zeros", " one NaN", " one infinite", " one large", " tiny"};

typedef struct norm_shape {
    posenc_dtype x_type;
    size_t n, n_heads;
    ptrdiff_t x_stride; /* in elements */
    float eps;
    norm_input input;
} norm_shape;

enum { X, Y };

static void norm_arguments(const kernel_call *call, kernel_args *to) {
    const norm_shape *s = call->shape;
    posenc_rms_factors_args args = {
        .x = call_data(call, X, rows_origin(s->n_heads, s->x_stride)),
        .x_type = s->x_type,
        .x_stride = element_bytes(s->x_stride, s->x_type),
        .factors = call_data(call, Y, 0),
        .eps = s->eps,
        .n = s->n,
        .n_heads = s->n_heads,
    };
    to->rms_factors = args;
}

/* The squares of the large value overflow in float32 and bfloat16; those of the tiny ones vanish. */
static void spoil(kernel_call *call, const norm_shape *s) {
    static const double single[N_INPUTS] = {[ONE_NAN] = NAN, [ONE_INFINITE] = -INFINITY, [ONE_LARGE] = 0x1p120};
    operand *x = &call->operands[X];
    for (size_t h = 0; s->input != FILLED && h < s->n_heads; h += 2) {
        size_t row = rows_origin(s->n_heads, s->x_stride) + (size_t)((ptrdiff_t)h * s->x_stride);
        if (s->input == ZEROS || s->input == TINY)
            for (size_t i = 0; i < s->n; i++)
                operand_set(x, row + i, s->input == TINY ? 0x1p-80 : i % 2 ? -0.0 : 0.0);
        else
            operand_set(x, row + test_random_below(s->n), single[s->input]);
    }
}

static void describe_norm(kernel_call *call, const norm_shape *s) {
    call_begin(call, KERNEL_rms_factors, norm_arguments, s);
    call_stored_rows(call, "x", OPERAND_IN, s->x_type, s->n_heads, s->x_stride, s->n);
    call_stored_rows(call, "factors", OPERAND_OUT, POSENC_F32, s->n_heads, 1, 1);
}

static void check_norm(kernel_call *call, const posenc_kernels *variant, const norm_shape *s, test_fill fill) {
    if (!test_case("rms_factors %s n=%zu heads=%zu x_stride=%td eps=%g %s%s", element_name(s->x_type), s->n, s->n_heads,
                   s->x_stride, (double)s->eps, test_fill_name(fill), input_names[s->input]))
        return;
    describe_norm(call, s);
    call_fill(call, fill);
    spoil(call, s);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

void sweep_rms_factors(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t head_counts[] = {0,  1, 2,  3, 7, 16,
                                         19, 5, 33, 8, 4}; /* heads are the lanes of the last steps */
    static const float epsilons[] = {1e-6f, 0.0f, 1e-5f, 0x1p-149f, 1.0f, FLT_MAX};
    for (int type = POSENC_F32; type <= POSENC_BF16; type++)
        for (size_t i = 0, which = 0; i < test_n_sizes; i++)
            for (size_t k = 0; k < (size_t)FILL_COUNT + N_INPUTS; k++, which++) {
                norm_shape s = {
                    .x_type = (posenc_dtype)type,
                    .n = test_sizes[i],
                    .n_heads = head_counts[which % (sizeof head_counts / sizeof head_counts[0])],
                    .x_stride = test_stride(which / 2, test_sizes[i]),
                    .eps = epsilons[which % 3 == 0 ? which / 3 % (sizeof epsilons / sizeof epsilons[0]) : which % 2],
                    .input = k < FILL_COUNT ? FILLED : (norm_input)(k - FILL_COUNT),
                };
                if (s.n > 0)
                    check_norm(&call, variant, &s, k < FILL_COUNT ? (test_fill)k : FILL_ORDINARY);
            }
}

/* ---- Benchmark ---- */

enum { HEAD_DIM = 128 };

static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static norm_shape s;
    s = (norm_shape){.x_type = types.x, .n = HEAD_DIM, .n_heads = n, .x_stride = HEAD_DIM, .eps = 1e-6f};
    describe_norm(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_norm(const kernel_args *args) {
    const posenc_rms_factors_args *a = &args->rms_factors;
    plain_heads heads = {.x = a->x, .x_type = a->x_type, .n_heads = a->n_heads, .head_dim = a->n};
    plain_rms_factors(&heads, a->eps, a->factors);
}

static void limit_norm(const bench_limits *limits, const kernel_args *args) {
    const posenc_rms_factors_args *a = &args->rms_factors;
    limits->read(a->x, a->n_heads * (size_t)a->x_stride);
}

static const kernel_types bench_types[] = {
    {POSENC_F32, POSENC_F32}, {POSENC_F16, POSENC_F16}, {POSENC_BF16, POSENC_BF16}};

const kernel_bench bench_rms_factors = {
    .unit = "heads",
    .elements = HEAD_DIM,
    .types = bench_types,
    .n_types = sizeof bench_types / sizeof bench_types[0],
    .describe = bench_describe,
    .plain = plain_norm,
    .limit = limit_norm,
};
