/* SPDX-License-Identifier: MIT */
/* Arguments on which a fused multiply-add is easily wrong: ties and what lies next to them, sums that cancel, results
 * that are denormal, overflow or nearly do, addends far above and below the product, zeros, infinities and NaN. */
#ifndef POSENC_FUSED_CASES_H
#define POSENC_FUSED_CASES_H

#include <float.h>
#include <math.h>

#include "kernels/fma.h"
#include "kernels/half.h"
#include "random.h"

/* A field of exponent bits: any, next to 1, the least, the largest, or where a product becomes denormal. */
static inline uint64_t fused_exponent(random_state *random, uint64_t bias) {
    uint64_t near = random_below(random, 64);
    switch (random_below(random, 6)) {
    case 0: return random_below(random, 2 * bias + 1);
    case 1: return near > 2 * bias ? bias : near;
    case 2: return 2 * bias - near;
    case 3: return bias / 2 - 32 + near;
    case 4: return bias - 4 + near % 8;
    default: return bias - 32 + near;
    }
}

/* A fraction of so many bits: any, or with long runs of equal ones. */
static inline uint64_t fused_fraction(random_state *random, int n_bits) {
    uint64_t all = ((uint64_t)1 << n_bits) - 1, bit = (uint64_t)1 << random_below(random, (uint64_t)n_bits);
    switch (random_below(random, 8)) {
    case 0: return 0;
    case 1: return all;
    case 2: return bit;
    case 3: return all ^ bit;
    case 4: return bit - 1;
    default: return random_bits(random) & all;
    }
}

static inline double fused_double(random_state *random) {
    static const double special[] = {0.0,      -0.0,      INFINITY, -INFINITY, NAN, DBL_MAX,
                                     -DBL_MAX, 0x1p-1074, DBL_MIN,  1.0,       -1.0};
    if (random_below(random, 40) == 0)
        return special[random_below(random, sizeof special / sizeof special[0])];
    uint64_t sign = random_below(random, 2), exponent = fused_exponent(random, 1023);
    return posenc_double_of_bits(sign << 63 | exponent << 52 | fused_fraction(random, 52));
}

static inline float fused_float(random_state *random) {
    static const float special[] = {0.0f,     -0.0f,     INFINITY, -INFINITY, NAN,  FLT_MAX,
                                    -FLT_MAX, 0x1p-149f, FLT_MIN,  1.0f,      -1.0f};
    if (random_below(random, 40) == 0)
        return special[random_below(random, sizeof special / sizeof special[0])];
    uint64_t sign = random_below(random, 2), exponent = fused_exponent(random, 127);
    return posenc_float((uint32_t)(sign << 31 | exponent << 23 | fused_fraction(random, 23)));
}

/* Factors whose product is half a unit in the last place of c, or a hair beside it: the sum is a tie, or almost.
 * Numbers of the format have n_bits and end at 2^least. */
static inline void fused_tie(random_state *random, double c, int n_bits, int least, double *a, double *b) {
    int exponent, n = 1 + (int)random_below(random, (uint64_t)n_bits - 1), is_exact = random_below(random, 4) == 0;
    (void)frexp(c, &exponent);
    int half = (exponent - n_bits < least ? least : exponent - n_bits) - 1;
    double hair = is_exact ? 0.0 : ldexp(random_below(random, 2) ? 1.0 : -1.0, -n);
    *a = ldexp(1.0 + hair, half / 2);
    *b = ldexp(random_below(random, 2) ? hair - 1.0 : 1.0 - hair, half - half / 2);
}

/* Draws operands in rounds of five: one draws the addend by itself, one cancels the product, two come within some units
 * of it, and one is a tie. */
static inline void fused_doubles(random_state *random, int round, double *a, double *b, double *c) {
    *a = fused_double(random);
    *b = fused_double(random);
    *c = fused_double(random);
    int kind = round % 5;
    if (kind == 4 && isfinite(*c))
        fused_tie(random, *c, 53, -1074, a, b);
    else if (kind > 0)
        *c = -(*a * *b);
    if ((kind == 2 || kind == 3) && fabs(*c) > DBL_MIN && fabs(*c) < DBL_MAX)
        *c = posenc_double_of_bits(posenc_bits_of_double(*c) + random_below(random, 5) - 2);
}

static inline void fused_floats(random_state *random, int round, float *a, float *b, float *c) {
    *a = fused_float(random);
    *b = fused_float(random);
    *c = fused_float(random);
    if (round % 5 == 1)
        *c = -(*a * *b);
    if (round % 5 == 4 && isfinite(*c)) {
        double x, y;
        fused_tie(random, (double)*c, 24, -149, &x, &y);
        *a = (float)x;
        *b = (float)y;
    }
}

#endif
