/* SPDX-License-Identifier: MIT */
/* pack_quants, dot_quants, attend_quants: attention over quantised rows in integers. */
#include <float.h>
#include <math.h>

#include "check.h"
#include "plain.h"

enum { MOST_ROWS = 128 };

static posenc_dtype quant_type(size_t which) {
    return (posenc_dtype)(POSENC_FLOAT_TYPES + which % (POSENC_FORMATS_END - POSENC_FLOAT_TYPES));
}

static size_t padded(size_t n_rows) {
    return (n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
}

/* Rows of blocks. */
typedef struct quant_rows {
    posenc_dtype type;
    size_t dim, n_rows;
    ptrdiff_t stride; /* in halves */
} quant_rows;

static const void *const *row_addresses(const kernel_call *call, int index, const quant_rows *r) {
    return call_row_addresses(call, index, r->n_rows, r->stride, MIXED);
}

static int call_quant_rows(kernel_call *call, const quant_rows *r) {
    return call_stored_rows(call, "rows", OPERAND_IN, r->type, r->n_rows, r->stride, r->dim);
}

static void set_words(operand *o, double most) {
    for (size_t i = 0; i < o->count; i++) {
        uint32_t low = (uint32_t)(int32_t)lrint(((double)(test_random() % 65537) / 32768.0 - 1.0) * most);
        uint32_t high = (uint32_t)(int32_t)lrint(((double)(test_random() % 65537) / 32768.0 - 1.0) * most);
        operand_set(o, i, (double)(int32_t)((low & 0xffff) | high << 16));
    }
}

/* ---- pack_quants ---- */

typedef struct pack_shape {
    quant_rows rows;
    size_t n_ahead;
} pack_shape;

static void pack_arguments(const kernel_call *call, kernel_args *to) {
    const pack_shape *s = call->shape;
    posenc_pack_quants_args args = {
        .rows = row_addresses(call, 0, &s->rows),
        .rows_type = s->rows.type,
        .panels = call_data(call, 1, 0),
        .scales = call_data(call, 2, 0),
        .offsets = posenc_has_offset(s->rows.type) ? call_data(call, 3, 0) : NULL,
        .dim = s->rows.dim,
        .n_rows = s->rows.n_rows,
    };
    args.ahead[s->n_ahead % 2] = (posenc_rows_ahead){args.rows, 34, s->n_ahead};
    to->pack_quants = args;
}

static void describe_pack(kernel_call *call, const pack_shape *s) {
    size_t n = padded(s->rows.n_rows);
    call_begin(call, KERNEL_pack_quants, pack_arguments, s);
    call_quant_rows(call, &s->rows);
    call_row(call, "panels", OPERAND_OUT, ELEMENT_I32, n * s->rows.dim / 4);
    call_row(call, "scales", OPERAND_OUT, ELEMENT_F32, n * s->rows.dim / POSENC_QUANT_BLOCK);
    if (posenc_has_offset(s->rows.type))
        call_row(call, "offsets", OPERAND_OUT, ELEMENT_F32, n * s->rows.dim / POSENC_QUANT_BLOCK);
}

void sweep_pack_quants(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t counts[] = {32, 64, 0, 96};
    for (size_t which = 0; which < 12 * 8 * 4; which++) {
        pack_shape s = {.rows = {.type = quant_type(which), .dim = POSENC_QUANT_BLOCK * (1 + which / 12 % 8)}};
        ptrdiff_t width = (ptrdiff_t)element_count(s.rows.dim, s.rows.type);
        s.rows.n_rows = counts[which / 2 % 4];
        s.n_ahead = s.rows.n_rows / 2;
        s.rows.stride = which / 3 % 3 == 0 ? width : which / 3 % 3 == 1 ? width + 3 : -width - 1;
        test_fill fill = (test_fill)(which % FILL_COUNT);
        if (!test_case("pack_quants %s dim=%zu n_rows=%zu stride=%td %s", element_name(s.rows.type), s.rows.dim,
                       s.rows.n_rows, s.rows.stride, test_fill_name(fill)))
            continue;
        describe_pack(&call, &s);
        call_fill(&call, fill);
        call_check(&call, variant, FEW_PLACES);
    }
}

/* ---- dot_quants ---- */

typedef struct dot_shape {
    size_t dim, n_x, n_rows, x_pad, y_pad;
    int has_offsets;
} dot_shape;

enum { X, X_SCALES, PANELS, SCALES, Y, X_SUMS, OFFSETS };

static void dot_arguments(const kernel_call *call, kernel_args *to) {
    const dot_shape *s = call->shape;
    posenc_dot_quants_args args = {
        .x = call_data(call, X, 0),
        .x_scales = call_data(call, X_SCALES, 0),
        .x_stride = s->dim + 2 * s->x_pad,
        .x_sums = s->has_offsets ? call_data(call, X_SUMS, 0) : NULL,
        .scales_stride = s->dim / POSENC_QUANT_BLOCK + s->x_pad,
        .panels = call_data(call, PANELS, 0),
        .scales = call_data(call, SCALES, 0),
        .offsets = s->has_offsets ? call_data(call, OFFSETS, 0) : NULL,
        .y = call_data(call, Y, 0),
        .y_stride = s->n_rows + s->y_pad,
        .dim = s->dim,
        .n_x = s->n_x,
        .n_rows = s->n_rows,
    };
    to->dot_quants = args;
}

static void describe_dot(kernel_call *call, const dot_shape *s) {
    size_t n = padded(s->n_rows), n_blocks = s->dim / POSENC_QUANT_BLOCK;
    call_begin(call, KERNEL_dot_quants, dot_arguments, s);
    call_rows(call, "x", OPERAND_IN, ELEMENT_I32, s->n_x, (ptrdiff_t)(s->dim / 2 + s->x_pad), s->dim / 2);
    call_rows(call, "x scales", OPERAND_IN, ELEMENT_F32, s->n_x, (ptrdiff_t)(n_blocks + s->x_pad), n_blocks);
    call_row(call, "panels", OPERAND_IN, ELEMENT_I32, n * s->dim / 4);
    call_row(call, "scales", OPERAND_IN, ELEMENT_F32, n * n_blocks);
    call_rows(call, "y", OPERAND_OUT, ELEMENT_F32, s->n_x, (ptrdiff_t)(s->n_rows + s->y_pad), s->n_rows);
    if (s->has_offsets) {
        call_rows(call, "x sums", OPERAND_IN, ELEMENT_F32, s->n_x, (ptrdiff_t)(n_blocks + s->x_pad), n_blocks);
        call_row(call, "offsets", OPERAND_IN, ELEMENT_F32, n * n_blocks);
    }
}

/* Integers up to the largest; in the first of eight cases all of them largest, of one sign or the other. */
static void set_dot(kernel_call *call, size_t which) {
    operand *x = &call->operands[X], *panels = &call->operands[PANELS];
    set_words(x, POSENC_QUANT_MAX);
    set_words(panels, 32767.0);
    for (size_t i = 0; which % 8 == 0 && i < x->count; i++)
        operand_set(x, i, which % 16 ? (double)(int32_t)0x80818081 : (double)0x7f7f7f7f);
    for (size_t i = 0; which % 8 == 0 && i < panels->count; i++)
        operand_set(panels, i, which / 16 % 2 ? (double)(int32_t)0x80808080 : (double)0x7f7f7f7f);
}

static void sweep_products(const posenc_kernels *variant, int has_offsets) {
    static kernel_call call;
    static const size_t counts[] = {64, 1, 33, 31, 32, 17, 0, 5}, rows_of_x[] = {1, 8, 21, 2, 15, 0, 35, 3};
    for (size_t which = 0; which < 8 * 8 * 4 * 2; which++) {
        dot_shape s = {
            .dim = POSENC_QUANT_BLOCK * (which / 5 % 6),
            .n_x = rows_of_x[which / 8 % 8],
            .n_rows = counts[which % 8],
            .x_pad = which / 3 % 3,
            .y_pad = which / 7 % 2 * 5,
            .has_offsets = has_offsets,
        };
        test_fill fill = (test_fill)(which / 2 % FILL_COUNT);
        if (!test_case("dot_quants dim=%zu n_x=%zu n_rows=%zu pads %zu %zu, %zu %s%s", s.dim, s.n_x, s.n_rows, s.x_pad,
                       s.y_pad, which % 32, test_fill_name(fill), has_offsets ? " offsets" : ""))
            continue;
        describe_dot(&call, &s);
        call_fill(&call, fill);
        set_dot(&call, which);
        call_check(&call, variant, FEW_PLACES);
    }
}

void sweep_dot_quants(const posenc_kernels *variant) {
    sweep_products(variant, 0);
    sweep_products(variant, 1);
}

/* ---- attend_quants ---- */

typedef struct attend_shape {
    quant_rows rows;
    size_t n, n_missing, n_zero; /* sums; weights that are 0, the first and the last */
} attend_shape;

enum { WEIGHTS, KEEP, ROWS, SUMS, ATTEND_Y };

static void attend_arguments(const kernel_call *call, kernel_args *to) {
    const attend_shape *s = call->shape;
    posenc_attend_quants_args args = {
        .weights = call_data(call, WEIGHTS, 0),
        .weight_stride = s->rows.n_rows,
        .rows = row_addresses(call, ROWS, &s->rows),
        .rows_type = s->rows.type,
        .keep = call_data(call, KEEP, 0),
        .sums = call_data(call, SUMS, 0),
        .sums_stride = s->rows.dim + 3,
        .y = call_data(call, ATTEND_Y, 0),
        .y_stride = s->rows.dim + 2,
        .dim = s->rows.dim,
        .n = s->n,
        .n_rows = s->rows.n_rows,
    };
    to->attend_quants = args;
}

static void describe_attend(kernel_call *call, const attend_shape *s) {
    size_t dim = s->rows.dim;
    call_begin(call, KERNEL_attend_quants, attend_arguments, s);
    call_row(call, "weights", OPERAND_IN, ELEMENT_F32, s->n * s->rows.n_rows);
    call_row(call, "keep", OPERAND_IN, ELEMENT_F32, s->n);
    call_quant_rows(call, &s->rows);
    call_rows(call, "sums", OPERAND_OUT, ELEMENT_F32, s->n, (ptrdiff_t)dim + 3, dim);
    call_rows(call, "y", OPERAND_IN_OUT, ELEMENT_F32, s->n, (ptrdiff_t)dim + 2, dim);
}

/* Weights at which a row begins to count in a group, and a group in the sums. In every other group no weight is large
 * enough. */
static float limiting_weight(size_t row) {
    static const float limits[] = {0.0f,      0x1.fffffcp-127f, FLT_MIN, 2.0f * FLT_MIN, 0x1.fffffep-113f,
                                   0x1p-112f, 0x1.000002p-112f};
    return limits[test_random() % (row / POSENC_QUANT_GROUP % 2 ? 5 : 7)];
}

/* Weights are not negative. */
static void set_weights(kernel_call *call, const attend_shape *s, int are_limits) {
    operand *o = &call->operands[WEIGHTS];
    float *weights = (float *)(void *)o->before;
    for (size_t i = 0; i < o->count; i++) {
        size_t row = i % s->rows.n_rows;
        int is_zero = row < s->n_missing || row >= s->rows.n_rows - s->n_zero;
        weights[i] = is_zero ? 0.0f : are_limits ? limiting_weight(row) : fabsf(weights[i]);
    }
}

void sweep_attend_quants(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t sums[] = {1, 8, 19, 2, 70, 0, 4, 5};
    for (size_t which = 0; which < 8 * 8 * 4 * 2; which++) {
        attend_shape s = {.rows = {.type = quant_type(which), .dim = POSENC_QUANT_BLOCK * (which / 5 % 5)},
                          .n = sums[which / 2 % 8]};
        ptrdiff_t width = (ptrdiff_t)element_count(s.rows.dim, s.rows.type);
        s.rows.n_rows = POSENC_QUANT_GROUP * (which / 3 % 5);
        s.n_missing = s.rows.n_rows > 0 && which % 3 == 0 ? test_random() % s.rows.n_rows : 0;
        s.n_zero = s.rows.n_rows > 0 && which % 4 == 1 ? test_random() % s.rows.n_rows : 0;
        s.rows.stride = which / 4 % 2 ? width + 3 : -width - 1;
        test_fill fill = (test_fill)(which / 7 % FILL_COUNT);
        if (!test_case("attend_quants %s dim=%zu n=%zu n_rows=%zu missing %zu zero %zu stride=%td %s",
                       element_name(s.rows.type), s.rows.dim, s.n, s.rows.n_rows, s.n_missing, s.n_zero, s.rows.stride,
                       test_fill_name(fill)))
            continue;
        describe_attend(&call, &s);
        call_fill(&call, fill);
        set_weights(&call, &s, which / 5 % 4 == 3);
        call_check(&call, variant, FEW_PLACES);
    }
}

/* ---- Benchmarks ---- */

enum { BENCH_DIM = 128, BENCH_X = 4 };

static void bench_pack(kernel_call *call, size_t n, kernel_types types) {
    static pack_shape s;
    (void)types;
    s = (pack_shape){.rows = {.type = POSENC_Q8_0, .dim = BENCH_DIM, .n_rows = n < MOST_ROWS ? padded(n) : MOST_ROWS}};
    s.rows.stride = (ptrdiff_t)element_count(BENCH_DIM, POSENC_Q8_0);
    describe_pack(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static float plain_scale(const void *row, size_t b) {
    float scale;
    plain_convert_row((const char *)row + b * POSENC_Q8_BYTES, POSENC_F16, &scale, POSENC_F32, 1);
    return scale;
}

static int8_t plain_number(const void *row, size_t c) {
    return ((const int8_t *)row)[c / POSENC_QUANT_BLOCK * POSENC_Q8_BYTES + 2 + c % POSENC_QUANT_BLOCK];
}

/* One byte after the other. */
static void plain_pack(const kernel_args *args) {
    const posenc_pack_quants_args *a = &args->pack_quants;
    for (size_t t = 0; t < a->n_rows; t++) {
        size_t panel = t / POSENC_PANEL * POSENC_PANEL, column = t % POSENC_PANEL;
        for (size_t c = 0; c < BENCH_DIM; c++)
            a->panels[panel * BENCH_DIM + (c / 4 * POSENC_PANEL + column) * 4 + c % 4] = plain_number(a->rows[t], c);
        for (size_t b = 0; b < BENCH_DIM / POSENC_QUANT_BLOCK; b++)
            a->scales[panel * (BENCH_DIM / POSENC_QUANT_BLOCK) + b * POSENC_PANEL + column] =
                plain_scale(a->rows[t], b);
    }
}

static void limit_pack(const bench_limits *limits, const kernel_args *args) {
    const posenc_pack_quants_args *a = &args->pack_quants;
    limits->copy((float *)(void *)a->panels, a->rows[0], a->n_rows * BENCH_DIM / 4);
}

const kernel_bench bench_pack_quants = {
    .unit = "rows", .elements = BENCH_DIM, .describe = bench_pack, .plain = plain_pack, .limit = limit_pack};

static void bench_dot(kernel_call *call, size_t n, kernel_types types) {
    static dot_shape s;
    (void)types;
    s = (dot_shape){.dim = BENCH_DIM, .n_x = BENCH_X, .n_rows = n * POSENC_PANEL};
    describe_dot(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_dot(const kernel_args *args) {
    const posenc_dot_quants_args *a = &args->dot_quants;
    static const size_t place[4] = {0, 2, 1, 3};
    for (size_t i = 0; i < a->n_x; i++)
        for (size_t t = 0; t < a->n_rows; t++) {
            const int8_t *row = a->panels + t / POSENC_PANEL * BENCH_DIM * POSENC_PANEL + t % POSENC_PANEL * 4;
            float sum = 0.0f;
            for (size_t b = 0; b < BENCH_DIM / POSENC_QUANT_BLOCK; b++) {
                int32_t exact = 0;
                for (size_t c = b * POSENC_QUANT_BLOCK; c < (b + 1) * POSENC_QUANT_BLOCK; c++)
                    exact += a->x[i * BENCH_DIM + c / 4 * 4 + place[c % 4]] * row[c / 4 * 4 * POSENC_PANEL + c % 4];
                size_t panel = t / POSENC_PANEL * (BENCH_DIM / POSENC_QUANT_BLOCK) + b;
                sum += (float)exact * a->x_scales[i * a->scales_stride + b] *
                       a->scales[panel * POSENC_PANEL + t % POSENC_PANEL];
            }
            a->y[i * a->y_stride + t] = sum;
        }
}

static void limit_dot(const bench_limits *limits, const kernel_args *args) {
    limits->multiply(args->dot_quants.n_x * BENCH_DIM * args->dot_quants.n_rows);
}

const kernel_bench bench_dot_quants = {.unit = "panels",
                                       .elements = BENCH_X * POSENC_PANEL * BENCH_DIM,
                                       .describe = bench_dot,
                                       .plain = plain_dot,
                                       .limit = limit_dot};

static void bench_attend(kernel_call *call, size_t n, kernel_types types) {
    static attend_shape s;
    (void)types;
    size_t n_rows = n < MOST_ROWS ? n : MOST_ROWS;
    s = (attend_shape){.rows = {.type = POSENC_Q8_0, .dim = BENCH_DIM}, .n = BENCH_X};
    s.rows.n_rows = (n_rows + POSENC_QUANT_GROUP - 1) / POSENC_QUANT_GROUP * POSENC_QUANT_GROUP;
    s.rows.stride = (ptrdiff_t)element_count(BENCH_DIM, POSENC_Q8_0);
    describe_attend(call, &s);
    call_fill(call, FILL_ORDINARY);
    set_weights(call, &s, 0);
}

static void plain_attend(const kernel_args *args) {
    const posenc_attend_quants_args *a = &args->attend_quants;
    for (size_t i = 0; i < a->n; i++) {
        float *y = a->y + i * a->y_stride, *sums = a->sums + i * a->sums_stride;
        for (size_t c = 0; c < BENCH_DIM; c++)
            sums[c] = 0.0f;
        for (size_t k = 0; k < a->n_rows; k++)
            for (size_t b = 0; b < BENCH_DIM / POSENC_QUANT_BLOCK; b++) {
                float share = a->weights[i * a->weight_stride + k] * plain_scale(a->rows[k], b);
                for (size_t c = b * POSENC_QUANT_BLOCK; c < (b + 1) * POSENC_QUANT_BLOCK; c++)
                    sums[c] += share * (float)plain_number(a->rows[k], c);
            }
        for (size_t c = 0; c < BENCH_DIM; c++)
            y[c] = a->keep[i] * y[c] + sums[c];
    }
}

static void limit_attend(const bench_limits *limits, const kernel_args *args) {
    limits->multiply(args->attend_quants.n * BENCH_DIM * args->attend_quants.n_rows);
}

const kernel_bench bench_attend_quants = {.unit = "rows",
                                          .elements = BENCH_X * BENCH_DIM,
                                          .describe = bench_attend,
                                          .plain = plain_attend,
                                          .limit = limit_attend};
