/* SPDX-License-Identifier: MIT */
/* convert_rows: conversion between storage types, a factor, and a norm in some cases. quantise_rows: into blocks. */
#include <math.h>

#include "check.h"
#include "plain.h"

typedef struct convert_shape {
    posenc_dtype x_type, y_type;
    int in_place, is_normed;
    size_t n, n_heads;
    ptrdiff_t x_stride, y_stride; /* in elements */
    float factor;
} convert_shape;

enum { WEIGHT, HEAD_FACTORS, CONVERT_X, CONVERT_Y };

static void convert_arguments(const kernel_call *call, kernel_args *to) {
    const convert_shape *s = call->shape;
    posenc_convert_args args = {
        .x = call_data(call, CONVERT_X, rows_origin(s->n_heads, s->x_stride)),
        .y = call_data(call, s->in_place ? CONVERT_X : CONVERT_Y, rows_origin(s->n_heads, s->y_stride)),
        .x_type = s->x_type,
        .y_type = s->y_type,
        .x_stride = element_bytes(s->x_stride, s->x_type),
        .y_stride = element_bytes(s->y_stride, s->y_type),
        .factor = s->factor,
        .weight = s->is_normed ? call_data(call, WEIGHT, 0) : NULL,
        .head_factors = s->is_normed ? call_data(call, HEAD_FACTORS, 0) : NULL,
        .n = s->n,
        .n_heads = s->n_heads,
        .y_ahead = s->n % 2 ? 8192 : 0,
    };
    to->convert_rows = args;
}

static void describe_convert(kernel_call *call, const convert_shape *s, int varies) {
    call_begin(call, KERNEL_convert_rows, convert_arguments, s);
    call_row(call, "weight", OPERAND_IN, ELEMENT_F32, s->n);
    call_head_factors(call, s->n_heads, varies);
    call_stored_rows(call, "x", s->in_place ? OPERAND_IN_OUT : OPERAND_IN, s->x_type, s->n_heads, s->x_stride, s->n);
    if (!s->in_place)
        call_stored_rows(call, "y", OPERAND_OUT, s->y_type, s->n_heads, s->y_stride, s->n);
}

static void check_convert(kernel_call *call, const posenc_kernels *variant, const convert_shape *s, test_fill fill) {
    if (!test_case("convert_rows %s to %s n=%zu heads=%zu x_stride=%td y_stride=%td factor=%g%s%s %s",
                   element_name(s->x_type), element_name(s->y_type), s->n, s->n_heads, s->x_stride, s->y_stride,
                   (double)s->factor, s->in_place ? " in place" : "", s->is_normed ? " normed" : "",
                   test_fill_name(fill)))
        return;
    describe_convert(call, s, 1);
    call_fill(call, fill);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

static void check_lanes_of_convert(kernel_call *call, const posenc_kernels *variant, convert_shape s) {
    s.n_heads = 1;
    for (size_t i = 0; i < s.n; i++)
        if (test_case("convert_rows %s to %s n=%zu%s lane %zu", element_name(s.x_type), element_name(s.y_type), s.n,
                      s.is_normed ? " normed" : "", i)) {
            describe_convert(call, &s, 0);
            call_fill(call, FILL_ORDINARY);
            call_check_lane(call, variant, (int32_t)i);
        }
}

static void sweep_conversion(const posenc_kernels *variant, posenc_dtype x_type, posenc_dtype y_type) {
    static kernel_call call;
    static const test_fill fills[] = {FILL_ORDINARY, FILL_TIES, FILL_ADVERSARIAL};
    static const float factors[] = {1.0f, 0.125f, 1.0f, -0.08838835f, 1.0f, 0.0f, 1.0f, 1e30f};
    for (size_t i = 0, which = 0; i < test_n_sizes; i++) {
        convert_shape s = {.x_type = x_type, .y_type = y_type, .n = test_sizes[i]};
        for (size_t k = 0; k < 6; k++, which++) {
            s.n_heads = test_counts[which % test_n_counts];
            s.x_stride = test_stride(which, s.n);
            s.y_stride = (ptrdiff_t)s.n + (ptrdiff_t)(which % 3) * 5;
            s.factor = factors[(which + which / 6) % 8];
            s.is_normed = which / 2 % 3 == 0 && !posenc_is_cache_type(x_type) && !posenc_is_cache_type(y_type);
            s.in_place = x_type == y_type && s.x_stride != 0 && which % 2 == 0;
            if (s.in_place)
                s.y_stride = s.x_stride;
            check_convert(&call, variant, &s, fills[k % 3]);
        }
        if (!test_size_is_large(s.n))
            check_lanes_of_convert(&call, variant, s);
    }
}

enum { N_FORMATS = POSENC_FORMATS_END - POSENC_FLOAT_TYPES };

/* Blocks, which become float32 only, without a norm. */
static void sweep_blocks(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t i = 0, which = 0; i < test_n_sizes; i++)
        for (size_t k = 0; k < 6 * N_FORMATS && test_sizes[i] % POSENC_QUANT_BLOCK == 0; k++, which++) {
            posenc_dtype type = (posenc_dtype)(POSENC_FLOAT_TYPES + k / 6);
            convert_shape s = {.x_type = type, .y_type = POSENC_F32, .n = test_sizes[i], .factor = 1.0f};
            s.n_heads = test_counts[which % test_n_counts];
            s.x_stride = test_stride(which, element_count(s.n, type));
            s.y_stride = (ptrdiff_t)s.n + (ptrdiff_t)(which % 3) * 5;
            check_convert(&call, variant, &s, k % 2 ? FILL_ADVERSARIAL : FILL_ORDINARY);
        }
}

void sweep_convert_rows(const posenc_kernels *variant) {
    sweep_blocks(variant);
    for (int x_type = POSENC_F32; x_type <= POSENC_BF16; x_type++)
        for (int y_type = POSENC_F32; y_type <= POSENC_BF16; y_type++)
            sweep_conversion(variant, (posenc_dtype)x_type, (posenc_dtype)y_type);
    for (int type = POSENC_FORMATS_END; type < POSENC_TYPES; type++) {
        sweep_conversion(variant, (posenc_dtype)type, POSENC_F32);
        for (int x_type = POSENC_F32; x_type <= POSENC_BF16; x_type++)
            sweep_conversion(variant, (posenc_dtype)x_type, (posenc_dtype)type);
    }
}

/* ---- quantise_rows ---- */

typedef struct quantise_shape {
    posenc_dtype x_type, y_type;
    size_t n, n_heads;
    ptrdiff_t x_stride, y_stride; /* in elements */
} quantise_shape;

enum { QUANTISE_X, QUANTISE_Y };

static void quantise_arguments(const kernel_call *call, kernel_args *to) {
    const quantise_shape *s = call->shape;
    posenc_quantise_args args = {
        .x = call_data(call, QUANTISE_X, rows_origin(s->n_heads, s->x_stride)),
        .y = call_data(call, QUANTISE_Y, rows_origin(s->n_heads, s->y_stride)),
        .x_type = s->x_type,
        .y_type = s->y_type,
        .x_stride = element_bytes(s->x_stride, s->x_type),
        .y_stride = element_bytes(s->y_stride, s->y_type),
        .n = s->n,
        .n_heads = s->n_heads,
    };
    to->quantise_rows = args;
}

static void describe_quantise(kernel_call *call, const quantise_shape *s) {
    call_begin(call, KERNEL_quantise_rows, quantise_arguments, s);
    call_stored_rows(call, "x", OPERAND_IN, s->x_type, s->n_heads, s->x_stride, s->n);
    call_rows(call, "y", OPERAND_OUT, ELEMENT_U16, s->n_heads, s->y_stride, element_count(s->n, s->y_type));
}

/* The largest integer of a format; of one with offsets half of it, which is its size on either side of the middle. */
static double most_of(posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
    case POSENC_Q8_0: return 127.0;
    case POSENC_Q4_0: return 8.0;
    case POSENC_Q5_0: return 16.0;
    case POSENC_Q4_1: return 7.5;
    case POSENC_Q5_1: return 15.5;
    case POSENC_IQ4_NL: return 127.0;
    }
    return 0.0;
}

/* A block of whole and half steps, some of them one bit off, up to the largest, which may be there several times and
 * with both signs. The step is anything that a float can be: scales of 0, denormal and infinite in half precision. */
static void set_steps(operand *x, size_t at, posenc_dtype y_type) {
    static const int exponents[] = {-149, -140, -129, -128, -127, -126, -125, -100, -33, -25, -24, -14, 0, 15, 16, 120};
    double most = most_of(y_type);
    double step = ldexp(1.0, exponents[test_random_below(sizeof exponents / sizeof exponents[0])]);
    for (size_t i = 0; i < POSENC_QUANT_BLOCK; i++) {
        double value = (0.5 * (double)test_random_below((size_t)(4 * most + 1)) - most) * step;
        size_t shift = test_random_below(6);
        if (shift < 2 && x->type == ELEMENT_F32)
            value = (double)nextafterf((float)value, shift ? INFINITY : -INFINITY);
        operand_set(x, at + i, value);
    }
    for (size_t i = 0; i < 3; i++) {
        size_t where = at + test_random_below(POSENC_QUANT_BLOCK);
        operand_set(x, where, test_random() % 2 ? most * step : -most * step);
    }
}

/* Half of the blocks; in half of the others one value is zero, infinite or NaN. */
static void set_blocks(kernel_call *call, const quantise_shape *s) {
    static const double single[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 3e38};
    operand *x = &call->operands[QUANTISE_X];
    for (size_t h = 0; h < s->n_heads; h++)
        for (size_t i = 0; i < s->n; i += POSENC_QUANT_BLOCK) {
            size_t at = rows_origin(s->n_heads, s->x_stride) + (size_t)((ptrdiff_t)h * s->x_stride) + i;
            size_t kind = test_random_below(4);
            size_t where = test_random_below(POSENC_QUANT_BLOCK); /* in an order that is not the compiler's */
            size_t which = test_random_below(6);
            if (kind < 2)
                set_steps(x, at, s->y_type);
            else if (kind == 2)
                operand_set(x, at + where, single[which]);
        }
}

static void sweep_quantisation(const posenc_kernels *variant, posenc_dtype x_type, posenc_dtype y_type) {
    static kernel_call call;
    static const size_t blocks[] = {1, 2, 3, 4, 0, 5, 8, 16, 32};
    for (size_t which = 0; which < 9 * FILL_COUNT * 6; which++) {
        quantise_shape s = {.x_type = x_type, .y_type = y_type, .n = blocks[which % 9] * POSENC_QUANT_BLOCK};
        s.n_heads = test_counts[which / 2 % test_n_counts];
        s.x_stride = test_stride(which / 3, s.n);
        s.y_stride = (ptrdiff_t)element_count(s.n, y_type) + (ptrdiff_t)(which % 3) * 5;
        test_fill fill = (test_fill)(which / 9 % FILL_COUNT);
        if (!test_case("quantise_rows %s to %s n=%zu heads=%zu x_stride=%td y_stride=%td %s, %zu", element_name(x_type),
                       element_name(y_type), s.n, s.n_heads, s.x_stride, s.y_stride, test_fill_name(fill), which))
            continue;
        describe_quantise(&call, &s);
        call_fill(&call, fill);
        if (which % 2)
            set_blocks(&call, &s);
        call_check(&call, variant, which % 8 == 0 ? EVERY_PLACE : FEW_PLACES);
    }
}

void sweep_quantise_rows(const posenc_kernels *variant) {
    for (int x_type = POSENC_F32; x_type <= POSENC_BF16; x_type++)
        for (int y_type = POSENC_FLOAT_TYPES; y_type < POSENC_FORMATS_END; y_type++)
            sweep_quantisation(variant, (posenc_dtype)x_type, (posenc_dtype)y_type);
}

/* ---- Benchmarks ---- */

enum { HEAD_DIM = 128 };

static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static convert_shape s;
    s = (convert_shape){.x_type = types.x, .y_type = types.y, .n = HEAD_DIM, .n_heads = n, .factor = 0.125f};
    s.x_stride = s.y_stride = HEAD_DIM;
    describe_convert(call, &s, 1);
    call_fill(call, FILL_ORDINARY);
}

static void plain_convert(const kernel_args *args) {
    const posenc_convert_args *a = &args->convert_rows;
    plain_heads heads = {.x = a->x,
                         .y = a->y,
                         .x_type = a->x_type,
                         .y_type = a->y_type,
                         .n_heads = a->n_heads,
                         .head_dim = a->n,
                         .scale = a->factor};
    plain_task(&heads);
}

static void limit_convert(const bench_limits *limits, const kernel_args *args) {
    const posenc_convert_args *a = &args->convert_rows;
    bench_rows x = {(void *)(uintptr_t)a->x, a->x_type, a->x_stride}, y = {a->y, a->y_type, a->y_stride};
    limits->scale(x, y, a->n_heads, a->n, 1.0f);
}

static const kernel_types bench_types[] = {
    {POSENC_F32, POSENC_F16}, {POSENC_F32, POSENC_BF16}, {POSENC_F16, POSENC_F32}, {POSENC_BF16, POSENC_F32}};

const kernel_bench bench_convert_rows = {
    .unit = "heads",
    .elements = HEAD_DIM,
    .types = bench_types,
    .n_types = sizeof bench_types / sizeof bench_types[0],
    .describe = bench_describe,
    .plain = plain_convert,
    .limit = limit_convert,
};

static void bench_blocks(kernel_call *call, size_t n, kernel_types types) {
    static quantise_shape s;
    s = (quantise_shape){.x_type = types.x, .y_type = types.y, .n = HEAD_DIM, .n_heads = n, .x_stride = HEAD_DIM};
    s.y_stride = (ptrdiff_t)element_count(HEAD_DIM, types.y);
    describe_quantise(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_blocks(const kernel_args *args) {
    const posenc_quantise_args *a = &args->quantise_rows;
    plain_heads heads = {.x = a->x,
                         .y = a->y,
                         .x_type = a->x_type,
                         .y_type = a->y_type,
                         .n_heads = a->n_heads,
                         .head_dim = a->n,
                         .scale = 1.0f};
    plain_task(&heads);
}

static void limit_blocks(const bench_limits *limits, const kernel_args *args) {
    const posenc_quantise_args *a = &args->quantise_rows;
    limits->read(a->x, a->n_heads * (size_t)a->x_stride);
}

static const kernel_types block_types[] = {
#define TYPES(type, ...) {POSENC_F32, type}, {POSENC_F16, type},
    POSENC_EACH_FORMAT(TYPES)
#undef TYPES
};

const kernel_bench bench_quantise_rows = {
    .unit = "heads",
    .elements = HEAD_DIM,
    .types = block_types,
    .n_types = sizeof block_types / sizeof block_types[0],
    .describe = bench_blocks,
    .plain = plain_blocks,
    .limit = limit_blocks,
};
