/* SPDX-License-Identifier: MIT */
/* Sweeps of the kernels behind relative terms: weighted sums of rows, affine rows, contextual positions. */
#include "check.h"
#include "plain.h"

#include <float.h>
#include <math.h>

/* ---- weighted_rows ---- */

enum { N_TABLE = 7 }; /* rows to choose from, where there is an index */

typedef struct weighted_shape {
    posenc_dtype type;
    int has_index, has_shift, relu;
    size_t dim, n;
    ptrdiff_t weight_stride, row_stride; /* in elements */
    float factor;
} weighted_shape;

enum { WEIGHTS, ROWS, INDEX, SHIFT, SUM };

static size_t rows_of(const weighted_shape *s) {
    return s->has_index ? N_TABLE : s->n;
}

static void weighted_arguments(const kernel_call *call, kernel_args *to) {
    const weighted_shape *s = call->shape;
    posenc_weighted_rows_args args = {
        .weights = call_data(call, WEIGHTS, rows_origin(s->n, s->weight_stride)),
        .weight_stride = element_bytes(s->weight_stride, POSENC_F32),
        .factor = s->factor,
        .rows = call_data(call, ROWS, rows_origin(rows_of(s), s->row_stride)),
        .rows_type = s->type,
        .row_stride = element_bytes(s->row_stride, s->type),
        .index = s->has_index ? call_data(call, INDEX, 0) : NULL,
        .shift = s->has_shift ? call_data(call, SHIFT, 0) : NULL,
        .relu = s->relu,
        .y = call_data(call, SUM, 0),
        .dim = s->dim,
        .n = s->n,
    };
    to->weighted_rows = args;
}

static void describe_weighted(kernel_call *call, const weighted_shape *s) {
    call_begin(call, KERNEL_weighted_rows, weighted_arguments, s);
    operand *weights = call_operand(call, "weights", OPERAND_IN, ELEMENT_F32, rows_extent(s->n, s->weight_stride, 1));
    operand_rows(weights, s->n, s->weight_stride, 0, 1, 1);
    operand *rows =
        call_operand(call, "rows", OPERAND_IN, (element_type)s->type, rows_extent(rows_of(s), s->row_stride, s->dim));
    operand_rows(rows, rows_of(s), s->row_stride, 0, s->dim, 1);
    call_row(call, "index", OPERAND_IN, ELEMENT_I32, s->n);
    call_row(call, "shift", OPERAND_IN, ELEMENT_F32, s->dim);
    call_row(call, "y", OPERAND_IN_OUT, ELEMENT_F32, s->dim);
}

static void check_weighted(kernel_call *call, const posenc_kernels *variant, const weighted_shape *s, test_fill fill) {
    if (!test_case("weighted_rows %s dim=%zu n=%zu weight_stride=%td row_stride=%td factor=%g%s%s%s %s",
                   element_name(s->type), s->dim, s->n, s->weight_stride, s->row_stride, (double)s->factor,
                   s->has_index ? " index" : "", s->has_shift ? " shift" : "", s->relu ? " relu" : "",
                   test_fill_name(fill)))
        return;
    describe_weighted(call, s);
    call_fill(call, fill);
    for (size_t k = 0; k < s->n; k++)
        operand_set(&call->operands[INDEX], k, (double)test_random_below(N_TABLE));
    call_check(call, variant, test_size_is_large(s->dim) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

/* Eleven rounds for each size: prime to the periods of what varies, so that every type meets every fill. */
void sweep_weighted_rows(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t counts[] = {1, 3, 64, 0, 17, 2, 130};
    static const float factors[] = {1.0f, -0.125f, 0.3f, 0.0f, 1e30f};
    for (size_t i = 0, which = 0; i < test_n_sizes; i++)
        for (size_t k = 0; k < FILL_COUNT + 4; k++, which++) {
            weighted_shape s = {
                .type = (posenc_dtype)(which % 3),
                .has_index = which % 5 < 2,
                .has_shift = which % 7 < 2,
                .dim = test_sizes[i],
                .n = counts[which % 7],
                .weight_stride = which % 4 == 0   ? 3
                                 : which % 4 == 1 ? -1
                                                  : 1,
                .factor = factors[which / 2 % 5],
            };
            ptrdiff_t strides[] = {(ptrdiff_t)s.dim, (ptrdiff_t)s.dim + 3, -(ptrdiff_t)s.dim - 1, 0};
            s.row_stride = strides[which / 3 % 4];
            s.relu = s.type == POSENC_F32 && !s.has_shift && which / 12 % 2;
            check_weighted(&call, variant, &s, k < FILL_COUNT ? (test_fill)k : FILL_ORDINARY);
        }
}

/* ---- Benchmark ---- */

enum { DIM = 64 };

static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static weighted_shape s;
    s = (weighted_shape){.type = types.x, .dim = DIM, .n = n, .weight_stride = 1, .row_stride = DIM, .factor = 1.0f};
    describe_weighted(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_weighted(const kernel_args *args) {
    const posenc_weighted_rows_args *a = &args->weighted_rows;
    plain_weighted_sum(a->weights, a->rows, a->y, a->n, a->dim);
}

static void limit_weighted(const bench_limits *limits, const kernel_args *args) {
    limits->multiply(args->weighted_rows.dim * args->weighted_rows.n);
}

const kernel_bench bench_weighted_rows = {
    .unit = "rows", .elements = DIM, .describe = bench_describe, .plain = plain_weighted, .limit = limit_weighted};
