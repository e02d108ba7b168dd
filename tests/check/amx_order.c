/* SPDX-License-Identifier: MIT */
/* TDPBF16PS and TDPBSSD, as this CPU computes them: against the order that src/scalar/bf16.c states, and against plain
 * integers. */
#include <stdio.h>
#include <string.h>

#include "amx_order.h"

#include "case.h"
#include "core/features.h"
#include "values.h"

enum { SIDE = POSENC_PANEL, DEPTH = POSENC_BF16_BLOCK, ROUNDS = 1000 };

/* Operands of one kind: bf16 of exponents low .. high, some of them special. */
typedef struct operand_kind {
    const char *name;
    int low, high;
    const uint16_t *specials;
    size_t n_specials;
    int is_stated; /* 0: outside of what kernels hand to the instruction */
} operand_kind;

static const uint16_t zeros[] = {0x0000, 0x8000};
static const uint16_t infinities[] = {0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81, 0x0000};
static const uint16_t denormals[] = {0x0001, 0x8001, 0x007f, 0x807f, 0x0000};

static const operand_kind kinds[] = {
    {"numbers of 40 binades, zeros", -20, 20, zeros, 2, 1},
    {"numbers from 2^-56 on", -56, -50, zeros, 2, 1},
    {"numbers up to the largest, sums that overflow", 60, 127, zeros, 2, 1},
    {"infinities and NaN among numbers", -20, 20, infinities, 6, 1},
    {"numbers below 2^-56", -126, -57, zeros, 2, 0},
    {"denormal numbers among others", -10, 10, denormals, 5, 0},
};

static uint16_t draw_number(const operand_kind *kind) {
    if (kind->n_specials > 0 && test_random_below(16) == 0)
        return kind->specials[test_random_below(kind->n_specials)];
    uint64_t bits = test_random();
    int exponent = kind->low + (int)test_random_below((size_t)(kind->high - kind->low + 1));
    return (uint16_t)((bits & 0x807f) | (uint64_t)(exponent + 127) << 7);
}

/* Number of differing sums of SIDE * SIDE. */
static int compare(const posenc_kernels *tiles, const operand_kind *kind) {
    static uint16_t x[SIDE * 2 * DEPTH];
    static uint32_t words[SIDE * DEPTH / 2];
    static float got[SIDE * SIDE], want[SIDE * SIDE];
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = draw_number(kind);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        words[i] = draw_number(kind);
        words[i] |= (uint32_t)draw_number(kind) << 16;
    }
    posenc_multiply_pairs_args args = {.x = x,
                                       .x_stride = 2 * DEPTH,
                                       .n_parts = 2,
                                       .words = words,
                                       .y = got,
                                       .y_stride = SIDE,
                                       .depth = DEPTH,
                                       .n_x = SIDE,
                                       .n_columns = SIDE};
    tiles->multiply_pairs(&args);
    args.y = want;
    posenc_kernels_scalar.multiply_pairs(&args);
    int n = 0;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        n += !test_same_float(got[i], want[i]);
    return n;
}

/* ---- Integers ---- */

/* Largest digits of numbers of 16 bits, 256 high + low. With one digit alone a block's sum is exact as a float: nothing
 * of the instruction is rounded. */
typedef struct digit_kind {
    const char *name;
    int high, low, is_extreme;
} digit_kind;

static const digit_kind digit_kinds[] = {
    {"bytes, low digits", 0, 128, 0},
    {"bytes, high digits", 127, 0, 0},
    {"-128 and 127, low digits", 0, 128, 1},
    {"numbers of 16 bits", 127, 128, 0},
    {"the largest numbers of 16 bits", 127, 128, 1},
};

/* From -most to most or, as a byte has no more, to 127; extreme: one of these. */
static int draw_digit(int most, int is_extreme) {
    int top = most > 127 ? 127 : most;
    if (is_extreme)
        return test_random_below(2) ? top : -most;
    return (int)test_random_below((size_t)(most + top + 1)) - most;
}

/* Number of a block's SIDE * SIDE sums that differ from int64. */
static int compare_digits(const posenc_kernels *tiles, const digit_kind *kind) {
    static int16_t x[SIDE * POSENC_QUANT_BLOCK];
    static int8_t panels[POSENC_PANEL * POSENC_QUANT_BLOCK];
    static float ones[SIDE], got[SIDE * SIDE];
    static const size_t place[4] = {0, 2, 1, 3};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = (int16_t)(256 * draw_digit(kind->high, kind->is_extreme) + draw_digit(kind->low, kind->is_extreme));
    for (size_t i = 0; i < sizeof panels; i++)
        panels[i] = (int8_t)draw_digit(128, kind->is_extreme);
    for (size_t i = 0; i < SIDE; i++)
        ones[i] = 1.0f;
    posenc_dot_quants_args args = {.x = x,
                                   .x_scales = ones,
                                   .x_stride = POSENC_QUANT_BLOCK,
                                   .scales_stride = 1,
                                   .panels = panels,
                                   .scales = ones,
                                   .y = got,
                                   .y_stride = SIDE,
                                   .dim = POSENC_QUANT_BLOCK,
                                   .n_x = SIDE,
                                   .n_rows = SIDE};
    tiles->dot_quants(&args);
    int n = 0;
    for (size_t i = 0; i < SIDE; i++)
        for (size_t t = 0; t < SIDE; t++) {
            int64_t sum = 0;
            for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++)
                sum += (int64_t)x[i * POSENC_QUANT_BLOCK + c / 4 * 4 + place[c % 4]] *
                       panels[(c / 4 * POSENC_PANEL + t) * 4 + c % 4];
            n += got[i * SIDE + t] != (float)sum;
        }
    return n;
}

/* ---- All ---- */

static const posenc_kernels *kernels_with_tiles(void) {
    const posenc_feature *feature;
    for (int i = 0; (feature = posenc_feature_at(i)) != NULL; i++)
        if (feature->of_cpu == POSENC_CPU_AMX)
            return feature->kernels;
    return NULL;
}

/* A line; 1 if what has to be equal is not. */
static int report(const char *name, long n, int rounds, int is_stated) {
    printf("%-48s %9ld of %d sums differ%s\n", name, n, rounds * SIDE * SIDE,
           is_stated ? n > 0 ? ": FAILED" : "" : " (kernels hand over none)");
    return n > 0 && is_stated;
}

int check_amx_order_of(const posenc_kernels *kernels, int rounds) {
    int failed = 0;
    puts("TDPBF16PS and its stated order:");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        long n = 0;
        test_case("%s", kinds[k].name);
        for (int round = 0; round < rounds; round++)
            n += compare(kernels, &kinds[k]);
        failed |= report(kinds[k].name, n, rounds, kinds[k].is_stated);
    }
    puts("TDPBSSD and integers of 64 bits:");
    for (size_t k = 0; k < sizeof digit_kinds / sizeof digit_kinds[0]; k++) {
        long n = 0;
        test_case("%s", digit_kinds[k].name);
        for (int round = 0; round < rounds; round++)
            n += compare_digits(kernels, &digit_kinds[k]);
        failed |= report(digit_kinds[k].name, n, rounds, 1);
    }
    return failed;
}

int check_amx_order(void) {
    const posenc_kernels *kernels = kernels_with_tiles();
    if (kernels == NULL || !posenc_cpu_has(POSENC_CPU_AMX)) {
        puts("skipped: TDPBF16PS and TDPBSSD: this CPU, this system or this build has no AMX");
        return CHECK_NO_AMX;
    }
    return check_amx_order_of(kernels, ROUNDS);
}
