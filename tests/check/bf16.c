/* SPDX-License-Identifier: MIT */
/* round_rows, pack_pairs, pair_rows, multiply_pairs: products of bf16 matrices. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "kernels/half.h"
#include "plain.h"

enum { BLOCK = POSENC_BF16_BLOCK, MOST_ROWS = 128 };

static size_t whole(size_t n, size_t of) {
    return (n + of - 1) / of * of;
}

/* ---- Numbers ---- */

/* 0 or at least 2^-56 in size. */
static uint16_t random_number(test_fill fill) {
    uint16_t bits = test_random_half(fill, 7);
    return fabsf(posenc_from_bf16(bits)) < POSENC_BF16_LEAST ? 0 : bits;
}

static void set_words(operand *o, test_fill fill) {
    for (size_t i = 0; i < o->count; i++) {
        uint32_t word = random_number(fill);
        word |= (uint32_t)random_number(fill) << 16;
        operand_set(o, i, (double)(int32_t)word);
    }
}

static void set_numbers(operand *o, test_fill fill) {
    for (size_t i = 0; i < o->count; i++)
        operand_set(o, i, (double)(test_random() % 8 ? random_number(fill) : 0));
}

/* Values about the least number, and values that round to infinity. */
static void set_limits(operand *o) {
    static const float limits[] = {0x1.ffp-57f,   -0x1.fefffep-57f, 0x1p-56f,    -0x1p-57f,        0x1.fefffep+127f,
                                   -0x1.ffp+127f, 0x1.fffffep+127f, 0x1.01p-56f, -0x1.0100fep-48f, 0x1p-64f};
    for (size_t i = 0; i < o->count; i += 1 + test_random() % 3)
        operand_set(o, i, (double)limits[test_random() % (sizeof limits / sizeof limits[0])]);
}

typedef struct pair_rows {
    posenc_dtype type;
    size_t dim, n_rows, n_ahead, part;
    ptrdiff_t stride; /* in elements of the buffer */
} pair_rows;

/* Next case of both kernels of rows, of 4 * test_n_sizes: cycles through dimensions, numbers of rows, types and
 * strides. */
static int next_rows(pair_rows *r, size_t which, const char *name, test_fill *fill) {
    static const size_t counts[] = {32, 1, 64, 33, 0, 31, 17, 2, 100};
    size_t dim = test_sizes[which % test_n_sizes];
    if (dim > 300)
        dim = dim % 100 + 200;
    *r = (pair_rows){
        .type = test_type(which >= 3 * test_n_sizes, which / 2, dim), .dim = dim, .n_rows = counts[which / 3 % 9]};
    ptrdiff_t width = (ptrdiff_t)element_count(dim, r->type);
    r->stride = which / 5 % 3 == 0 ? width : which / 5 % 3 == 1 ? width + 3 : -width - 1;
    r->n_ahead = r->n_rows / 2;
    r->part = which / 7 % 2;
    *fill = (test_fill)(which % FILL_COUNT);
    if (r->part == 1 && (*fill == FILL_MASKED || *fill == FILL_SPARSE || *fill == FILL_ADVERSARIAL))
        *fill = FILL_FINITE; /* the second part of infinity is a NaN, of either sign */
    return test_case("%s %s dim=%zu n_rows=%zu stride=%td part %zu %s", name, element_name(r->type), dim, r->n_rows,
                     r->stride, r->part, test_fill_name(*fill));
}

/* ---- round_rows ---- */

typedef struct round_shape {
    size_t n, n_rows, n_parts;
    int in_place;
} round_shape;

static size_t round_stride(const round_shape *s) {
    return whole(s->n, BLOCK) + (s->in_place ? 0 : 5); /* in floats */
}

static void round_arguments(const kernel_call *call, kernel_args *to) {
    const round_shape *s = call->shape;
    posenc_round_rows_args args = {
        .x = call_data(call, 0, 0),
        .y = call_data(call, s->in_place ? 0 : 1, 0),
        .x_stride = round_stride(s),
        .y_stride = 2 * whole(s->n, BLOCK) + (s->in_place ? 0 : 7),
        .n = s->n,
        .n_rows = s->n_rows,
        .n_parts = s->n_parts,
    };
    to->round_rows = args;
}

static void describe_round(kernel_call *call, const round_shape *s) {
    size_t width = whole(s->n, BLOCK), y_stride = 2 * width + 7;
    call_begin(call, KERNEL_round_rows, round_arguments, s);
    if (s->in_place) { /* as integers, of which every bit counts */
        operand *both = call_operand(call, "x and y", OPERAND_IN_OUT, ELEMENT_I32, s->n_rows * width);
        for (size_t b = 0; b < width; b += BLOCK)
            operand_rows(both, s->n_rows, (ptrdiff_t)width, b, BLOCK * s->n_parts / 2, 1);
        return;
    }
    call_rows(call, "x", OPERAND_IN, ELEMENT_F32, s->n_rows, (ptrdiff_t)round_stride(s), s->n);
    operand *y =
        call_operand(call, "y", OPERAND_OUT, ELEMENT_BF16, rows_extent(s->n_rows, (ptrdiff_t)y_stride, 2 * width));
    for (size_t b = 0; b < 2 * width; b += 2 * BLOCK)
        operand_rows(y, s->n_rows, (ptrdiff_t)y_stride, b, BLOCK * s->n_parts, 1);
}

/* Floats where a buffer of integers will be read as such. The second part of infinity is a NaN, of either
 * sign: with second parts, all numbers are finite. */
static void set_float_bits(operand *o, test_fill fill, size_t n_parts) {
    for (size_t i = 0; i < o->count; i++) {
        float value = test_random_float(fill);
        operand_set(o, i, (double)(int32_t)test_bits_of_float(n_parts == 1 || isfinite(value) ? value : 1.5f));
    }
}

void sweep_round_rows(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t which = 0; which < 4 * test_n_sizes; which++) {
        round_shape s = {.n = test_sizes[which / 4], .n_rows = which % 5, .n_parts = 1 + which / 2 % 2};
        s.in_place = which % 3 == 0;
        if (s.n > 600)
            continue;
        test_fill fill = (test_fill)(which % FILL_COUNT);
        if (!test_case("round_rows n=%zu n_rows=%zu parts %zu%s %s", s.n, s.n_rows, s.n_parts,
                       s.in_place ? " in place" : "", test_fill_name(fill)))
            continue;
        describe_round(&call, &s);
        call_fill(&call, fill);
        if (s.in_place)
            set_float_bits(&call.operands[0], fill, s.n_parts);
        else if (which % 4 == 1)
            set_limits(&call.operands[0]);
        call_check(&call, variant, FEW_PLACES);
    }
}

/* ---- pack_pairs ---- */

static void pack_arguments(const kernel_call *call, kernel_args *to) {
    const pair_rows *r = call->shape;
    posenc_pack_pairs_args args = {
        .rows = call_row_addresses(call, 0, r->n_rows, r->stride, MIXED),
        .rows_type = r->type,
        .words = call_data(call, 1, 0),
        .dim = r->dim,
        .n_rows = r->n_rows,
        .part = r->part,
    };
    args.ahead[r->n_rows % 2] = (posenc_rows_ahead){args.rows, 34, r->n_ahead};
    to->pack_pairs = args;
}

static void describe_pack(kernel_call *call, const pair_rows *r) {
    call_begin(call, KERNEL_pack_pairs, pack_arguments, r);
    call_stored_rows(call, "rows", OPERAND_IN, r->type, r->n_rows, r->stride, r->dim);
    call_row(call, "words", OPERAND_OUT, ELEMENT_I32, whole(r->n_rows, POSENC_PANEL) * whole(r->dim, BLOCK) / 2);
}

void sweep_pack_pairs(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t which = 0; which < 4 * test_n_sizes; which++) {
        pair_rows r;
        test_fill fill;
        if (!next_rows(&r, which, "pack_pairs", &fill))
            continue;
        describe_pack(&call, &r);
        call_fill(&call, fill);
        if (which % 4 == 1 && r.type == POSENC_F32)
            set_limits(&call.operands[0]);
        call_check(&call, variant, FEW_PLACES);
    }
}

/* ---- pair_rows ---- */

static void pair_arguments(const kernel_call *call, kernel_args *to) {
    const pair_rows *r = call->shape;
    posenc_pair_rows_args args = {
        .rows = call_row_addresses(call, 0, r->n_rows, r->stride, MIXED),
        .rows_type = r->type,
        .words = call_data(call, 1, 0),
        .is_finite = call_data(call, 2, 0),
        .dim = r->dim,
        .n_rows = r->n_rows,
        .part = r->part,
    };
    to->pair_rows = args;
}

static void describe_pair(kernel_call *call, const pair_rows *r) {
    call_begin(call, KERNEL_pair_rows, pair_arguments, r);
    call_stored_rows(call, "rows", OPERAND_IN, r->type, r->n_rows, r->stride, r->dim);
    call_row(call, "words", OPERAND_OUT, ELEMENT_I32, whole(r->n_rows, BLOCK) * whole(r->dim, POSENC_PANEL) / 2);
    call_row(call, "is finite", OPERAND_OUT, ELEMENT_I32, 1);
}

void sweep_pair_rows(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t which = 0; which < 4 * test_n_sizes; which++) {
        pair_rows r;
        test_fill fill;
        if (!next_rows(&r, which, "pair_rows", &fill))
            continue;
        describe_pair(&call, &r);
        call_fill(&call, fill);
        operand *rows = &call.operands[0];
        if (which % 4 == 1 && r.type == POSENC_F32)
            set_limits(rows);
        if (which % 8 == 2 && r.type == POSENC_F32) /* the largest number that rounds to one, or to none, last */
            for (size_t i = 0; i < rows->count; i++)
                operand_set(rows, i, (double)(which % 16 == 2 ? 0x1.fefffep+127f : i % 97 == 3 ? 0x1.ffp+127f : 1.0f));
        call_check(&call, variant, FEW_PLACES);
    }
}

/* ---- multiply_pairs ---- */

typedef struct multiply_shape {
    size_t depth, n_x, n_columns, n_parts, x_pad, y_pad;
    int adds, leaves_out_zeros;
} multiply_shape;

enum { X, WORDS, Y };

static void multiply_arguments(const kernel_call *call, kernel_args *to) {
    const multiply_shape *s = call->shape;
    posenc_multiply_pairs_args args = {
        .x = call_data(call, X, 0),
        .x_stride = 2 * s->depth + s->x_pad,
        .n_parts = s->n_parts,
        .words = call_data(call, WORDS, 0),
        .y = call_data(call, Y, 0),
        .y_stride = s->n_columns + s->y_pad,
        .depth = s->depth,
        .n_x = s->n_x,
        .n_columns = s->n_columns,
        .adds = s->adds,
        .leaves_out_zeros = s->leaves_out_zeros,
    };
    to->multiply_pairs = args;
}

static void describe_multiply(kernel_call *call, const multiply_shape *s) {
    ptrdiff_t x_stride = (ptrdiff_t)(2 * s->depth + s->x_pad);
    call_begin(call, KERNEL_multiply_pairs, multiply_arguments, s);
    call_rows(call, "x", OPERAND_IN, ELEMENT_U16, s->n_x, x_stride, 2 * s->depth);
    call_row(call, "words", OPERAND_IN, ELEMENT_I32, whole(s->n_columns, POSENC_PANEL) * s->depth / 2);
    call_rows(call, "y", OPERAND_IN_OUT, ELEMENT_F32, s->n_x, (ptrdiff_t)(s->n_columns + s->y_pad), s->n_columns);
}

void sweep_multiply_pairs(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t rows_of_x[] = {1, 6, 16, 3, 35, 0, 7, 4}, columns[] = {32, 64, 1, 33, 16, 0, 17, 100, 31};
    for (size_t which = 0; which < 8 * 9 * 6; which++) {
        multiply_shape s = {
            .depth = BLOCK * (which / 7 % 5),
            .n_x = rows_of_x[which % 8],
            .n_columns = columns[which / 8 % 9],
            .n_parts = 1 + which / 3 % 2,
            .x_pad = which / 5 % 2 * 3,
            .y_pad = which / 2 % 3,
            .adds = which / 4 % 2 != 0,
            .leaves_out_zeros = which % 5 == 4,
        };
        test_fill fill = (test_fill)(which / 2 % FILL_COUNT);
        if (!test_case("multiply_pairs depth=%zu n_x=%zu columns=%zu parts %zu pads %zu %zu%s%s %s", s.depth, s.n_x,
                       s.n_columns, s.n_parts, s.x_pad, s.y_pad, s.adds ? " adds" : "",
                       s.leaves_out_zeros ? " leaves out" : "", test_fill_name(fill)))
            continue;
        describe_multiply(&call, &s);
        call_fill(&call, fill);
        set_numbers(&call.operands[X], fill);
        set_words(&call.operands[WORDS], fill);
        call_check(&call, variant, FEW_PLACES);
    }
}

/* ---- Benchmarks ---- */

enum { BENCH_DIM = 128, BENCH_X = 6 };

static void bench_round(kernel_call *call, size_t n, kernel_types types) {
    static round_shape s;
    (void)types;
    s = (round_shape){.n = BENCH_DIM, .n_rows = n, .n_parts = 2};
    describe_round(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_round(const kernel_args *args) {
    const posenc_round_rows_args *a = &args->round_rows;
    for (size_t i = 0; i < a->n_rows; i++)
        for (size_t b = 0; b < a->n; b += BLOCK) {
            const float *x = a->x + i * a->x_stride + b;
            uint16_t *y = a->y + i * a->y_stride + 2 * b;
            float rest[BLOCK], number[BLOCK];
            plain_convert_row(x, POSENC_F32, y, POSENC_BF16, BLOCK);
            plain_convert_row(y, POSENC_BF16, number, POSENC_F32, BLOCK);
            for (size_t k = 0; k < BLOCK; k++)
                rest[k] = x[k] - number[k];
            plain_convert_row(rest, POSENC_F32, y + BLOCK, POSENC_BF16, BLOCK);
        }
}

static void limit_round(const bench_limits *limits, const kernel_args *args) {
    const posenc_round_rows_args *a = &args->round_rows;
    limits->copy((float *)(void *)a->y, a->x, a->n_rows * BENCH_DIM);
}

const kernel_bench bench_round_rows = {
    .unit = "rows", .elements = BENCH_DIM, .describe = bench_round, .plain = plain_round, .limit = limit_round};

static void set_bench_rows(pair_rows *r, size_t n, kernel_types types) {
    *r = (pair_rows){.type = types.x, .dim = BENCH_DIM, .n_rows = n < MOST_ROWS ? n : MOST_ROWS, .stride = BENCH_DIM};
}

static const kernel_types row_types[] = {{POSENC_BF16, POSENC_BF16}, {POSENC_F32, POSENC_BF16}};

static void bench_pack(kernel_call *call, size_t n, kernel_types types) {
    static pair_rows r;
    set_bench_rows(&r, n, types);
    describe_pack(call, &r);
    call_fill(call, FILL_ORDINARY);
}

static void plain_pack(const kernel_args *args) {
    const posenc_pack_pairs_args *a = &args->pack_pairs;
    for (size_t t = 0; t < a->n_rows; t++) {
        uint16_t numbers[BENCH_DIM];
        plain_convert_row(a->rows[t], a->rows_type, numbers, POSENC_BF16, BENCH_DIM);
        uint32_t *to = a->words + t / POSENC_PANEL * (BENCH_DIM / 2) * POSENC_PANEL + t % POSENC_PANEL;
        for (size_t j = 0; j < BENCH_DIM / 2; j++)
            to[j * POSENC_PANEL] = (uint32_t)numbers[2 * j] | (uint32_t)numbers[2 * j + 1] << 16;
    }
}

static void limit_pack(const bench_limits *limits, const kernel_args *args) {
    const posenc_pack_pairs_args *a = &args->pack_pairs;
    limits->copy((float *)(void *)a->words, a->rows[0], a->n_rows * BENCH_DIM / 2);
}

const kernel_bench bench_pack_pairs = {.unit = "rows",
                                       .elements = BENCH_DIM,
                                       .types = row_types,
                                       .n_types = 2,
                                       .describe = bench_pack,
                                       .plain = plain_pack,
                                       .limit = limit_pack};

static void bench_pair(kernel_call *call, size_t n, kernel_types types) {
    static pair_rows r;
    set_bench_rows(&r, n, types);
    describe_pair(call, &r);
    call_fill(call, FILL_ORDINARY);
}

static void plain_pair(const kernel_args *args) {
    const posenc_pair_rows_args *a = &args->pair_rows;
    size_t depth = whole(a->n_rows, BLOCK);
    for (size_t k = 0; k + 1 < a->n_rows; k += 2) {
        uint16_t even[BENCH_DIM], odd[BENCH_DIM];
        plain_convert_row(a->rows[k], a->rows_type, even, POSENC_BF16, BENCH_DIM);
        plain_convert_row(a->rows[k + 1], a->rows_type, odd, POSENC_BF16, BENCH_DIM);
        for (size_t t = 0; t < BENCH_DIM; t++)
            a->words[(t / POSENC_PANEL * (depth / 2) + k / 2) * POSENC_PANEL + t % POSENC_PANEL] =
                (uint32_t)even[t] | (uint32_t)odd[t] << 16;
    }
    *a->is_finite = 1;
}

static void limit_pair(const bench_limits *limits, const kernel_args *args) {
    const posenc_pair_rows_args *a = &args->pair_rows;
    limits->copy((float *)(void *)a->words, a->rows[0], a->n_rows * BENCH_DIM / 2);
}

const kernel_bench bench_pair_rows = {.unit = "rows",
                                      .elements = BENCH_DIM,
                                      .types = row_types,
                                      .n_types = 2,
                                      .describe = bench_pair,
                                      .plain = plain_pair,
                                      .limit = limit_pair};

static void bench_product(kernel_call *call, size_t n, kernel_types types) {
    static multiply_shape s;
    (void)types;
    s = (multiply_shape){.depth = BENCH_DIM, .n_x = BENCH_X, .n_columns = n * POSENC_PANEL, .n_parts = 1};
    describe_multiply(call, &s);
    call_fill(call, FILL_ORDINARY);
    set_numbers(&call->operands[X], FILL_ORDINARY);
    set_words(&call->operands[WORDS], FILL_ORDINARY);
}

static void plain_multiply(const kernel_args *args) {
    const posenc_multiply_pairs_args *a = &args->multiply_pairs;
    for (size_t i = 0; i < a->n_x; i++)
        for (size_t t = 0; t < a->n_columns; t++) {
            const uint32_t *words = a->words + t / POSENC_PANEL * (BENCH_DIM / 2) * POSENC_PANEL + t % POSENC_PANEL;
            float sum = 0.0f;
            for (size_t k = 0; k < BENCH_DIM; k++) {
                uint16_t bits = (uint16_t)(words[k / 2 * POSENC_PANEL] >> (k % 2 * 16));
                sum += posenc_from_bf16(a->x[i * a->x_stride + k / BLOCK * 2 * BLOCK + k % BLOCK]) *
                       posenc_from_bf16(bits);
            }
            a->y[i * a->y_stride + t] = sum;
        }
}

static void limit_multiply(const bench_limits *limits, const kernel_args *args) {
    const posenc_multiply_pairs_args *a = &args->multiply_pairs;
    limits->multiply(a->n_x * BENCH_DIM * a->n_columns);
}

const kernel_bench bench_multiply_pairs = {.unit = "panels",
                                           .elements = BENCH_X * POSENC_PANEL * BENCH_DIM,
                                           .describe = bench_product,
                                           .plain = plain_multiply,
                                           .limit = limit_multiply};
