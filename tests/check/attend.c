/* SPDX-License-Identifier: MIT */
/* attend_rows and attend_panels: weighted sums of rows of values, where these stand or in panels. */
#include "check.h"
#include "plain.h"

enum { MAX_SUMS = 42 };

typedef struct attend_shape {
    posenc_dtype type;
    size_t dim, n, n_rows, n_heads;
    ptrdiff_t stride;
    row_order order;
    int32_t begin[MAX_SUMS], end[MAX_SUMS];
    enum { FROM_NOTHING, FROM_OTHERS, FROM_Y } from;
    int keeps;
    size_t gap; /* in floats, between panels */
} attend_shape;

enum { WEIGHTS, KEEP, ROWS, Y, FROM };

static void attend_arguments(const kernel_call *call, kernel_args *to) {
    const attend_shape *s = call->shape;
    posenc_attend_rows_args args = {
        .weights = call_data(call, WEIGHTS, 0),
        .weight_stride = s->n_rows,
        .from = s->from == FROM_NOTHING ? NULL : call_data(call, s->from == FROM_Y ? Y : FROM, 0),
        .keep = s->keeps ? call_data(call, KEEP, 0) : NULL,
        .begin = s->begin,
        .end = s->end,
        .rows = call_row_addresses(call, ROWS, s->n_rows, s->stride, s->order),
        .rows_type = s->type,
        .y = call_data(call, Y, 0),
        .y_stride = s->dim + 2,
        .head_stride = element_bytes((ptrdiff_t)element_count(s->dim, s->type), s->type),
        .dim = s->dim,
        .n = s->n,
        .n_heads = s->n_heads,
    };
    args.ahead[0] = (posenc_rows_ahead){args.rows, s->n_heads * (size_t)args.head_stride, s->n_rows / 2};
    to->attend_rows = args;
}

static void describe_sums(kernel_call *call, const attend_shape *s) {
    ptrdiff_t y_stride = (ptrdiff_t)s->dim + 2;
    operand *y = call_operand(call, "y", OPERAND_IN_OUT, ELEMENT_F32, rows_extent(s->n, y_stride, s->dim));
    operand_rows(y, s->n, y_stride, 0, s->dim, 1);
    operand *from = call_operand(call, "from", OPERAND_IN, ELEMENT_F32, rows_extent(s->n, y_stride, s->dim));
    operand_rows(from, s->n, y_stride, 0, s->dim, 1);
}

static void describe_attend(kernel_call *call, const attend_shape *s) {
    size_t n = s->n_heads * s->n;
    call_begin(call, KERNEL_attend_rows, attend_arguments, s);
    call_row(call, "weights", OPERAND_IN, ELEMENT_F32, n * s->n_rows);
    call_row(call, "keep", OPERAND_IN, ELEMENT_F32, n);
    call_stored_rows(call, "rows", OPERAND_IN, s->type, s->n_rows, s->stride, s->n_heads * s->dim);
    ptrdiff_t y_stride = (ptrdiff_t)s->dim + 2;
    operand *y = call_operand(call, "y", OPERAND_IN_OUT, ELEMENT_F32, rows_extent(n, y_stride, s->dim));
    operand_rows(y, n, y_stride, 0, s->dim, 1);
    operand *from = call_operand(call, "from", OPERAND_IN, ELEMENT_F32, rows_extent(n, y_stride, s->dim));
    operand_rows(from, n, y_stride, 0, s->dim, 1);
}

static void check_attend(kernel_call *call, const posenc_kernels *variant, const attend_shape *s, test_fill fill) {
    if (!test_case("attend_rows %s dim=%zu n=%zu n_rows=%zu n_heads=%zu stride=%td from %d%s %s", element_name(s->type),
                   s->dim, s->n, s->n_rows, s->n_heads, s->stride, s->from, s->keeps ? " keeps" : "",
                   test_fill_name(fill)))
        return;
    describe_attend(call, s);
    call_fill(call, fill);
    call_check(call, variant, FEW_PLACES);
}

/* Sums that see the same rows, rows that begin or end one apart as causal ones do, and any. */
static void set_ranges(attend_shape *s, size_t which) {
    for (size_t i = 0; i < s->n_heads * s->n; i++) {
        size_t n = s->n_rows;
        s->begin[i] = which % 3 == 2 ? (int32_t)(test_random() % (n + 1)) : 0;
        s->end[i] = (int32_t)n;
        if (which % 3 == 1)
            s->end[i] = n > s->n - i % s->n ? (int32_t)(n - (s->n - i % s->n)) : 0;
        if (which % 3 == 2)
            s->end[i] = s->begin[i] + (int32_t)(test_random() % (n - (size_t)s->begin[i] + 1));
    }
}

static void attend_rows_typed(const posenc_kernels *variant, int round) {
    static kernel_call call;
    static const size_t sums[] = {1, 6, 7, 2, 13, 0, 5, 12}, rows[] = {1, 2, 9, 33, 0, 64};
    size_t which = 0;
    for (size_t i = 0; i < test_n_sizes && test_sizes[i] <= 600; i += 1 + 2 * (size_t)round)
        for (size_t k = 0; k < 8; k++, which++) {
            attend_shape s = {.type = test_type(round, which, test_sizes[i]),
                              .dim = test_sizes[i],
                              .n = sums[(which / 3) % 8],
                              .n_heads = 1 + which / 7 % 3};
            ptrdiff_t width = (ptrdiff_t)element_count(s.n_heads * s.dim, s.type);
            s.n_rows = rows[(which / 2) % 6];
            s.stride = which / 5 % 2 ? width + 3 : -width - 1;
            s.from = which % 5 == 0 ? FROM_Y : which % 5 < 3 ? FROM_OTHERS : FROM_NOTHING;
            s.keeps = which % 7 > 2;
            s.order = which / 3 % 2 ? MIXED : IN_ORDER;
            set_ranges(&s, which / 4);
            check_attend(&call, variant, &s, (test_fill)(which % FILL_COUNT));
        }
}

void sweep_attend_rows(const posenc_kernels *variant) {
    for (int round = 0; round < TEST_TYPE_ROUNDS; round++)
        attend_rows_typed(variant, round);
}

/* ---- Panels ---- */

static size_t panel_stride(const attend_shape *s) {
    return s->n_rows * POSENC_VALUE_PANEL + s->gap;
}

static void panels_arguments(const kernel_call *call, kernel_args *to) {
    const attend_shape *s = call->shape;
    posenc_attend_panels_args args = {
        .weights = call_data(call, WEIGHTS, 0),
        .weight_stride = s->n_rows,
        .from = s->from == FROM_NOTHING ? NULL : call_data(call, s->from == FROM_Y ? Y : FROM, 0),
        .keep = s->keeps ? call_data(call, KEEP, 0) : NULL,
        .begin = s->begin,
        .end = s->end,
        .panels = call_data(call, ROWS, 0),
        .panel_stride = panel_stride(s),
        .y = call_data(call, Y, 0),
        .y_stride = s->dim + 2,
        .dim = s->dim,
        .n = s->n,
    };
    ptrdiff_t stride = (ptrdiff_t)s->dim + 2;
    args.ahead[s->dim % 2] = (posenc_rows_ahead){call_row_addresses(call, Y, s->n, stride, IN_ORDER), s->dim, s->n};
    to->attend_panels = args;
}

static void describe_panels(kernel_call *call, const attend_shape *s) {
    size_t n_panels = (s->dim + POSENC_VALUE_PANEL - 1) / POSENC_VALUE_PANEL, width = s->n_rows * POSENC_VALUE_PANEL;
    call_begin(call, KERNEL_attend_panels, panels_arguments, s);
    call_row(call, "weights", OPERAND_IN, ELEMENT_F32, s->n * s->n_rows);
    call_row(call, "keep", OPERAND_IN, ELEMENT_F32, s->n);
    call_rows(call, "panels", OPERAND_IN, ELEMENT_F32, n_panels, (ptrdiff_t)panel_stride(s), width);
    describe_sums(call, s);
}

static void check_panels(kernel_call *call, const posenc_kernels *variant, const attend_shape *s, test_fill fill) {
    if (!test_case("attend_panels dim=%zu n=%zu n_rows=%zu gap=%zu from %d%s %s", s->dim, s->n, s->n_rows, s->gap,
                   s->from, s->keeps ? " keeps" : "", test_fill_name(fill)))
        return;
    describe_panels(call, s);
    call_fill(call, fill);
    call_check(call, variant, FEW_PLACES);
}

void sweep_attend_panels(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t sums[] = {1, 6, 7, 2, 13, 0, 5, 12, 14}, rows[] = {1, 2, 9, 33, 0, 64};
    size_t which = 0;
    for (size_t i = 0; i < test_n_sizes && test_sizes[i] <= 600; i++)
        for (size_t k = 0; k < 8; k++, which++) {
            attend_shape s = {.dim = test_sizes[i], .n = sums[(which / 3) % 9], .n_heads = 1};
            s.n_rows = rows[(which / 2) % 6];
            s.from = which % 5 == 0 ? FROM_Y : which % 5 < 3 ? FROM_OTHERS : FROM_NOTHING;
            s.keeps = which % 7 > 2;
            s.gap = which / 3 % 2 * POSENC_VALUE_PANEL;
            set_ranges(&s, which / 4);
            check_panels(&call, variant, &s, (test_fill)(which % FILL_COUNT));
        }
}

/* ---- Benchmark ---- */

enum { BENCH_SUMS = 12, BENCH_DIM = 64 };

static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static attend_shape s;
    s = (attend_shape){
        .type = types.x, .dim = BENCH_DIM, .n = BENCH_SUMS, .n_rows = n, .n_heads = 1, .stride = BENCH_DIM};
    set_ranges(&s, 0);
    describe_attend(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_attend(const kernel_args *args) {
    const posenc_attend_rows_args *a = &args->attend_rows;
    for (size_t i = 0; i < a->n; i++) {
        float *y = a->y + i * a->y_stride;
        for (size_t c = 0; c < a->dim; c++)
            y[c] = 0.0f;
        plain_weighted_sum(a->weights + i * a->weight_stride, a->rows[0], y, (size_t)a->end[i], a->dim);
    }
}

static void limit_attend(const bench_limits *limits, const kernel_args *args) {
    const posenc_attend_rows_args *a = &args->attend_rows;
    limits->multiply(a->n * a->dim * (size_t)a->end[0]);
}

const kernel_bench bench_attend_rows = {
    .unit = "rows",
    .elements = BENCH_SUMS * BENCH_DIM,
    .describe = bench_describe,
    .plain = plain_attend,
    .limit = limit_attend,
};

static void panels_describe(kernel_call *call, size_t n, kernel_types types) {
    static attend_shape s;
    (void)types;
    s = (attend_shape){.dim = BENCH_DIM, .n = BENCH_SUMS, .n_rows = n, .n_heads = 1, .gap = POSENC_VALUE_PANEL};
    set_ranges(&s, 0);
    describe_panels(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_panels(const kernel_args *args) {
    const posenc_attend_panels_args *a = &args->attend_panels;
    for (size_t i = 0; i < a->n; i++) {
        float *y = a->y + i * a->y_stride;
        for (size_t c = 0; c < a->dim; c++)
            y[c] = 0.0f;
        for (size_t k = 0; k < (size_t)a->end[i]; k++)
            for (size_t c = 0; c < a->dim; c++)
                y[c] +=
                    a->weights[i * a->weight_stride + k] * a->panels[c / POSENC_VALUE_PANEL * a->panel_stride +
                                                                     k * POSENC_VALUE_PANEL + c % POSENC_VALUE_PANEL];
    }
}

static void limit_panels(const bench_limits *limits, const kernel_args *args) {
    const posenc_attend_panels_args *a = &args->attend_panels;
    limits->multiply(a->n * a->dim * (size_t)a->end[0]);
}

const kernel_bench bench_attend_panels = {
    .unit = "rows",
    .elements = BENCH_SUMS * BENCH_DIM,
    .describe = panels_describe,
    .plain = plain_panels,
    .limit = limit_panels,
};
