/* SPDX-License-Identifier: MIT */
/* Sweeps of the products with the rows of a table, packed or where they stand. */
#include "check.h"
#include "plain.h"

typedef struct dot_shape {
    posenc_dtype x_type;
    int has_shift;
    size_t dim, n_x, n_rows;
    ptrdiff_t x_stride, y_stride; /* in elements */
} dot_shape;

enum { X, SHIFT, PANELS, Y };

static void dot_arguments(const kernel_call *call, kernel_args *to) {
    const dot_shape *s = call->shape;
    posenc_dot_rows_args args = {
        .x = call_data(call, X, rows_origin(s->n_x, s->x_stride)),
        .x_type = s->x_type,
        .x_stride = element_bytes(s->x_stride, s->x_type),
        .shift = s->has_shift ? call_data(call, SHIFT, 0) : NULL,
        .panels = call_data(call, PANELS, 0),
        .y = call_data(call, Y, rows_origin(s->n_x, s->y_stride)),
        .y_stride = element_bytes(s->y_stride, POSENC_F32),
        .dim = s->dim,
        .n_x = s->n_x,
        .n_rows = s->n_rows,
    };
    args.ahead[s->dim % 2] =
        (posenc_rows_ahead){call_row_addresses(call, X, s->n_x, s->x_stride, IN_ORDER), s->dim, s->n_x};
    to->dot_rows = args;
}

static void describe_dot(kernel_call *call, const dot_shape *s) {
    size_t panels = (s->n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL * s->dim;
    call_begin(call, KERNEL_dot_rows, dot_arguments, s);
    operand *x = call_operand(call, "x", OPERAND_IN, (element_type)s->x_type, rows_extent(s->n_x, s->x_stride, s->dim));
    operand_rows(x, s->n_x, s->x_stride, 0, s->dim, 1);
    call_row(call, "shift", OPERAND_IN, ELEMENT_F32, s->dim);
    call_row(call, "panels", OPERAND_IN, ELEMENT_F32, panels);
    operand *y = call_operand(call, "y", OPERAND_OUT, ELEMENT_F32, rows_extent(s->n_x, s->y_stride, s->n_rows));
    operand_rows(y, s->n_x, s->y_stride, 0, s->n_rows, 1);
}

static void check_dot(kernel_call *call, const posenc_kernels *variant, const dot_shape *s, test_fill fill) {
    if (!test_case("dot_rows %s dim=%zu n_x=%zu n_rows=%zu x_stride=%td y_stride=%td%s %s", element_name(s->x_type),
                   s->dim, s->n_x, s->n_rows, s->x_stride, s->y_stride, s->has_shift ? " shift" : "",
                   test_fill_name(fill)))
        return;
    describe_dot(call, s);
    call_fill(call, fill);
    int is_large = test_size_is_large(s->dim) || test_size_is_large(s->n_rows);
    call_check(call, variant, is_large || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

/* Every number of rows of the table and some widths; then every width, across where rows are widened in parts. */
void sweep_dot_rows(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t dims[] = {1, 2, 3, 7, 8, 17, 64, 0, 255, 257}, rows_of_x[] = {1, 6, 7, 2, 13, 0, 5, 12};
    static const size_t some_rows[] = {1, 33, 64, 257, 31, 130};
    size_t n_dims = sizeof dims / sizeof dims[0], n_counts = sizeof rows_of_x / sizeof rows_of_x[0];
    for (size_t pass = 0, which = 0; pass < 2; pass++)
        for (size_t i = 0; i < test_n_sizes; i++)
            for (size_t k = 0; k < FILL_COUNT + 2 && test_sizes[i] <= 1000; k++, which++) {
                dot_shape s = {
                    .x_type = (posenc_dtype)(which % 3),
                    .has_shift = which / 3 % 3 == 0,
                    .dim = pass == 0 ? dims[which % n_dims] : test_sizes[i],
                    .n_x = rows_of_x[which / 2 % n_counts],
                    .n_rows = pass == 0 ? test_sizes[i] : some_rows[which % 6],
                };
                ptrdiff_t strides[] = {(ptrdiff_t)s.dim, (ptrdiff_t)s.dim + 3, -(ptrdiff_t)s.dim - 1, 0};
                s.x_stride = strides[which / 5 % 4];
                s.y_stride = (ptrdiff_t)s.n_rows + (ptrdiff_t)(which % 2) * 5;
                check_dot(&call, variant, &s, k < FILL_COUNT ? (test_fill)k : FILL_ORDINARY);
            }
}

/* ---- dot_few ---- */

typedef struct few_shape {
    posenc_dtype rows_type;
    size_t dim, n_x, n_rows, n_heads, n_ahead;
    ptrdiff_t x_stride, row_stride, y_stride; /* in elements */
    row_order order;
} few_shape;

enum { FEW_X, FEW_ROWS, FEW_Y };

/* Elements from head to head of a row, which are dense in it. */
static ptrdiff_t few_head_stride(const few_shape *s) {
    return element_bytes((ptrdiff_t)element_count(s->dim, s->rows_type), s->rows_type);
}

static void few_arguments(const kernel_call *call, kernel_args *to) {
    const few_shape *s = call->shape;
    size_t n_x = s->n_heads * s->n_x;
    posenc_dot_few_args args = {
        .x = call_data(call, FEW_X, rows_origin(n_x, s->x_stride)),
        .x_stride = element_bytes(s->x_stride, POSENC_F32),
        .rows = call_row_addresses(call, FEW_ROWS, s->n_rows, s->row_stride, s->order),
        .rows_type = s->rows_type,
        .y = call_data(call, FEW_Y, rows_origin(n_x, s->y_stride)),
        .y_stride = element_bytes(s->y_stride, POSENC_F32),
        .head_stride = few_head_stride(s),
        .dim = s->dim,
        .n_x = s->n_x,
        .n_rows = s->n_rows,
        .n_heads = s->n_heads,
    };
    args.ahead[s->n_x % 2] = (posenc_rows_ahead){args.rows, s->n_heads * (size_t)few_head_stride(s), s->n_ahead};
    to->dot_few = args;
}

static void describe_few(kernel_call *call, const few_shape *s) {
    size_t n_x = s->n_heads * s->n_x;
    call_begin(call, KERNEL_dot_few, few_arguments, s);
    operand *x = call_operand(call, "x", OPERAND_IN, ELEMENT_F32, rows_extent(n_x, s->x_stride, s->dim));
    operand_rows(x, n_x, s->x_stride, 0, s->dim, 1);
    call_stored_rows(call, "rows", OPERAND_IN, s->rows_type, s->n_rows, s->row_stride, s->n_heads * s->dim);
    operand *y = call_operand(call, "y", OPERAND_OUT, ELEMENT_F32, rows_extent(n_x, s->y_stride, s->n_rows));
    operand_rows(y, n_x, s->y_stride, 0, s->n_rows, 1);
}

static void check_few(kernel_call *call, const posenc_kernels *variant, const few_shape *s, test_fill fill) {
    if (!test_case("dot_few %s dim=%zu n_x=%zu n_rows=%zu n_heads=%zu strides %td %td %td %s",
                   element_name(s->rows_type), s->dim, s->n_x, s->n_rows, s->n_heads, s->x_stride, s->row_stride,
                   s->y_stride, test_fill_name(fill)))
        return;
    describe_few(call, s);
    call_fill(call, fill);
    call_check(call, variant, fill == FILL_ORDINARY ? EVERY_PLACE : FEW_PLACES);
}

/* Rows of every type, whole steps of them, and heads side by side. */
static void dot_few_typed(const posenc_kernels *variant, int round) {
    static kernel_call call;
    static const size_t dims[] = {8, 0, 64, 16, 72, 128, 24, 576, 1, 33, 40, 96};
    for (size_t which = 0; which < 12 * (POSENC_FEW + 1) * 4 * FILL_COUNT; which += 1 + 2 * (size_t)round) {
        few_shape s = {
            .dim = dims[which / 2 % 12],
            .n_x = which / 16 % (POSENC_FEW + 1),
            .n_rows = which / 3 % 5 * POSENC_FEW_ROWS,
            .n_heads = which / 23 % 4,
            .order = which / 19 % 2 ? MIXED : IN_ORDER,
        };
        s.rows_type = test_type(round, which, s.dim);
        ptrdiff_t dim = (ptrdiff_t)s.dim, width = (ptrdiff_t)element_count(s.n_heads * s.dim, s.rows_type);
        ptrdiff_t strides[] = {dim, dim + 3, -dim - 1, 0}, row_strides[] = {width, width + 3, -width - 1, 0};
        s.n_ahead = s.n_rows / 2;
        s.x_stride = strides[which / 5 % 4];
        s.row_stride = row_strides[which / 7 % 4];
        s.y_stride = (ptrdiff_t)s.n_rows + (ptrdiff_t)(which / 11 % 2) * 5;
        check_few(&call, variant, &s, (test_fill)(which / 13 % FILL_COUNT));
    }
}

void sweep_dot_few(const posenc_kernels *variant) {
    for (int round = 0; round < TEST_TYPE_ROUNDS; round++)
        dot_few_typed(variant, round);
}

/* ---- Benchmark ---- */

enum { BENCH_X = 48, BENCH_DIM = 64 };

static void bench_dot(kernel_call *call, size_t n, kernel_types types) {
    static dot_shape s;
    s = (dot_shape){.x_type = types.x, .dim = BENCH_DIM, .n_x = BENCH_X, .n_rows = n, .x_stride = BENCH_DIM};
    s.y_stride = (ptrdiff_t)n;
    describe_dot(call, &s);
    call_fill(call, FILL_ORDINARY);
}

/* Row t of the table, as float32, times each x. */
static void plain_column(const float *x, const float *row, float *y, size_t n_x, size_t n_rows, size_t t) {
    float column[BENCH_X];
    plain_dots(x, row, column, n_x, 1, BENCH_DIM);
    for (size_t i = 0; i < n_x; i++)
        y[i * n_rows + t] = column[i];
}

/* Each row is taken out of its panel first, which is a small part of the work. */
static void plain_dot(const kernel_args *args) {
    const posenc_dot_rows_args *a = &args->dot_rows;
    for (size_t t = 0; t < a->n_rows; t++) {
        const float *panel = a->panels + t / POSENC_PANEL * BENCH_DIM * POSENC_PANEL;
        float row[BENCH_DIM];
        for (size_t c = 0; c < BENCH_DIM; c++)
            row[c] = panel[c * POSENC_PANEL + t % POSENC_PANEL];
        plain_column(a->x, row, a->y, a->n_x, a->n_rows, t);
    }
}

static void limit_dot(const bench_limits *limits, const kernel_args *args) {
    limits->multiply(args->dot_rows.n_x * args->dot_rows.dim * args->dot_rows.n_rows);
}

const kernel_bench bench_dot_rows = {
    .unit = "rows",
    .elements = BENCH_X * BENCH_DIM,
    .describe = bench_dot,
    .plain = plain_dot,
    .limit = limit_dot,
};

/* Rows are whole panels. */
static void bench_few(kernel_call *call, size_t n, kernel_types types) {
    static few_shape s;
    s = (few_shape){
        .rows_type = types.y, .dim = BENCH_DIM, .n_x = POSENC_FEW, .n_rows = n * POSENC_PANEL, .n_heads = 1};
    s.x_stride = s.row_stride = BENCH_DIM;
    s.y_stride = (ptrdiff_t)s.n_rows;
    describe_few(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_few(const kernel_args *args) {
    const posenc_dot_few_args *a = &args->dot_few;
    for (size_t t = 0; t < a->n_rows; t++) {
        float row[BENCH_DIM];
        plain_convert_row(a->rows[t], a->rows_type, row, POSENC_F32, BENCH_DIM);
        plain_column(a->x, row, a->y, a->n_x, a->n_rows, t);
    }
}

static void limit_few(const bench_limits *limits, const kernel_args *args) {
    limits->multiply(args->dot_few.n_x * args->dot_few.dim * args->dot_few.n_rows);
}

static const kernel_types few_types[] = {{POSENC_F32, POSENC_F16}, {POSENC_F32, POSENC_BF16}};

const kernel_bench bench_dot_few = {
    .unit = "panels",
    .elements = POSENC_FEW * POSENC_PANEL * BENCH_DIM,
    .types = few_types,
    .n_types = sizeof few_types / sizeof few_types[0],
    .describe = bench_few,
    .plain = plain_few,
    .limit = limit_few,
};
