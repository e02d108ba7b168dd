/* SPDX-License-Identifier: MIT */
/* pack_rows and pack_values: rows of a matrix into panels of rows, transposed, and of channels. */
#include "check.h"

typedef struct pack_shape {
    posenc_dtype type;
    size_t dim, n_rows, n_ahead;
    ptrdiff_t stride; /* in elements */
    row_order order;
} pack_shape;

static size_t panels_size(const pack_shape *s) {
    return (s->n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL * s->dim;
}

static void pack_arguments(const kernel_call *call, kernel_args *to) {
    const pack_shape *s = call->shape;
    posenc_pack_rows_args args = {
        .rows = call_row_addresses(call, 0, s->n_rows, s->stride, s->order),
        .rows_type = s->type,
        .panels = call_data(call, 1, 0),
        .dim = s->dim,
        .n_rows = s->n_rows,
    };
    args.ahead[s->dim % 2] = (posenc_rows_ahead){args.rows, 2 * s->dim, s->n_ahead};
    to->pack_rows = args;
}

static void describe_pack(kernel_call *call, const pack_shape *s) {
    call_begin(call, KERNEL_pack_rows, pack_arguments, s);
    call_stored_rows(call, "rows", OPERAND_IN, s->type, s->n_rows, s->stride, s->dim);
    call_row(call, "panels", OPERAND_OUT, ELEMENT_F32, panels_size(s));
}

static void check_pack(kernel_call *call, const posenc_kernels *variant, const pack_shape *s, test_fill fill) {
    if (!test_case("pack_rows %s dim=%zu n_rows=%zu stride=%td %s", element_name(s->type), s->dim, s->n_rows, s->stride,
                   test_fill_name(fill)))
        return;
    describe_pack(call, s);
    call_fill(call, fill);
    call_check(call, variant, FEW_PLACES);
}

static void pack_rows_typed(const posenc_kernels *variant, int round) {
    static kernel_call call;
    static const size_t counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 0, 48, 65, 7};
    size_t which = 0;
    for (size_t i = 0; i < test_n_sizes && test_sizes[i] <= 600; i += 1 + 2 * (size_t)round)
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++, which++) {
            pack_shape s = {.type = test_type(round, which, test_sizes[i]), .dim = test_sizes[i], .n_rows = counts[k]};
            ptrdiff_t width = (ptrdiff_t)element_count(s.dim, s.type);
            s.n_ahead = s.n_rows / 2;
            s.order = which / 5 % 2 ? MIXED : IN_ORDER;
            s.stride = which / 3 % 3 == 0 ? width : which / 3 % 3 == 1 ? width + 3 : -width - 1;
            check_pack(&call, variant, &s, (test_fill)(which % FILL_COUNT));
        }
}

void sweep_pack_rows(const posenc_kernels *variant) {
    for (int round = 0; round < TEST_TYPE_ROUNDS; round++)
        pack_rows_typed(variant, round);
}

/* ---- pack_values ---- */

typedef struct values_shape {
    posenc_dtype type;
    size_t dim, n_rows, panel_stride;
    ptrdiff_t stride; /* in elements */
    row_order order;
} values_shape;

static void values_arguments(const kernel_call *call, kernel_args *to) {
    const values_shape *s = call->shape;
    posenc_pack_values_args args = {
        .rows = call_row_addresses(call, 0, s->n_rows, s->stride, s->order),
        .rows_type = s->type,
        .panels = call_data(call, 1, 0),
        .panel_stride = s->panel_stride,
        .dim = s->dim,
        .n_rows = s->n_rows,
    };
    to->pack_values = args;
}

static void describe_values(kernel_call *call, const values_shape *s) {
    size_t n_panels = (s->dim + POSENC_VALUE_PANEL - 1) / POSENC_VALUE_PANEL, width = s->n_rows * POSENC_VALUE_PANEL;
    call_begin(call, KERNEL_pack_values, values_arguments, s);
    call_stored_rows(call, "rows", OPERAND_IN, s->type, s->n_rows, s->stride, s->dim);
    call_rows(call, "panels", OPERAND_OUT, ELEMENT_F32, n_panels, (ptrdiff_t)s->panel_stride, width);
}

static void check_values(kernel_call *call, const posenc_kernels *variant, const values_shape *s, test_fill fill) {
    if (!test_case("pack_values %s dim=%zu n_rows=%zu panel_stride=%zu stride=%td %s", element_name(s->type), s->dim,
                   s->n_rows, s->panel_stride, s->stride, test_fill_name(fill)))
        return;
    describe_values(call, s);
    call_fill(call, fill);
    call_check(call, variant, FEW_PLACES);
}

static void pack_values_typed(const posenc_kernels *variant, int round) {
    static kernel_call call;
    static const size_t counts[] = {1, 2, 3, 0, 17, 64, 7};
    size_t which = 0;
    for (size_t i = 0; i < test_n_sizes && test_sizes[i] <= 600; i += 1 + 2 * (size_t)round)
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++, which++) {
            values_shape s = {
                .type = test_type(round, which, test_sizes[i]), .dim = test_sizes[i], .n_rows = counts[k]};
            ptrdiff_t width = (ptrdiff_t)element_count(s.dim, s.type);
            s.panel_stride = s.n_rows * POSENC_VALUE_PANEL + which / 2 % 3 * 5;
            s.order = which / 5 % 2 ? MIXED : IN_ORDER;
            s.stride = which / 3 % 3 == 0 ? width : which / 3 % 3 == 1 ? width + 3 : -width - 1;
            check_values(&call, variant, &s, (test_fill)(which % FILL_COUNT));
        }
}

void sweep_pack_values(const posenc_kernels *variant) {
    for (int round = 0; round < TEST_TYPE_ROUNDS; round++)
        pack_values_typed(variant, round);
}

/* ---- Benchmark ---- */

enum { DIM = 64 };

static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static pack_shape s;
    s = (pack_shape){.type = types.x, .dim = DIM, .n_rows = n, .stride = DIM};
    describe_pack(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_pack(const kernel_args *args) {
    const posenc_pack_rows_args *a = &args->pack_rows;
    size_t padded = (a->n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
    for (size_t t = 0; t < padded; t++)
        for (size_t c = 0; c < DIM; c++)
            a->panels[t / POSENC_PANEL * DIM * POSENC_PANEL + c * POSENC_PANEL + t % POSENC_PANEL] =
                t < a->n_rows ? ((const float *)a->rows[t])[c] : 0.0f;
}

static void limit_pack(const bench_limits *limits, const kernel_args *args) {
    limits->copy(args->pack_rows.panels, args->pack_rows.rows[0], args->pack_rows.n_rows * DIM);
}

const kernel_bench bench_pack_rows = {
    .unit = "rows", .elements = DIM, .describe = bench_describe, .plain = plain_pack, .limit = limit_pack};

static void values_describe(kernel_call *call, size_t n, kernel_types types) {
    static values_shape s;
    s = (values_shape){.type = types.x, .dim = DIM, .n_rows = n, .stride = DIM};
    s.panel_stride = (n + 1) * POSENC_VALUE_PANEL;
    describe_values(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_values(const kernel_args *args) {
    const posenc_pack_values_args *a = &args->pack_values;
    for (size_t k = 0; k < a->n_rows; k++)
        for (size_t c = 0; c < DIM; c++)
            a->panels[c / POSENC_VALUE_PANEL * a->panel_stride + k * POSENC_VALUE_PANEL + c % POSENC_VALUE_PANEL] =
                ((const float *)a->rows[k])[c];
}

static void limit_values(const bench_limits *limits, const kernel_args *args) {
    limits->copy(args->pack_values.panels, args->pack_values.rows[0], args->pack_values.n_rows * DIM);
}

const kernel_bench bench_pack_values = {
    .unit = "rows", .elements = DIM, .describe = values_describe, .plain = plain_values, .limit = limit_values};
