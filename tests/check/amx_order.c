/* TDPBF16PS, as this CPU computes it, against the order that src/scalar/pairs.c states. */
#include <stdio.h>
#include <string.h>

#include "amx_order.h"

#include "case.h"
#include "core/features.h"
#include "values.h"

enum { SIDE = 32, DEPTH = POSENC_PAIR_BLOCK, ROUNDS = 1000 };

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

/* How many of SIDE * SIDE sums differ. */
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

int check_amx_order(void) {
    const posenc_feature *feature;
    int failed = 0;
    for (int i = 0; (feature = posenc_feature_at(i)) != NULL; i++)
        if (feature->of_cpu == POSENC_CPU_AMX_BF16)
            break;
    if (feature == NULL || feature->kernels == NULL || !posenc_cpu_has(POSENC_CPU_AMX_BF16)) {
        puts("skipped: TDPBF16PS: this CPU, this system or this build has no AMX");
        return CHECK_NO_AMX;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        long n = 0;
        test_case("%s", kinds[k].name);
        for (int round = 0; round < ROUNDS; round++)
            n += compare(feature->kernels, &kinds[k]);
        failed |= n > 0 && kinds[k].is_stated;
        printf("%-48s %9ld of %d sums differ%s\n", kinds[k].name, n, ROUNDS * SIDE * SIDE,
               kinds[k].is_stated ? n > 0 ? ": FAILED" : "" : " (kernels hand over none)");
    }
    return failed;
}
