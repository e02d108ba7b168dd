/* SPDX-License-Identifier: MIT */
/* f16, bf16 and 8-bit floats in plain arithmetic: what src/kernels/half.h and the conversions of every vec.h are held
 * to. Nothing here is shared with them. */
#ifndef POSENC_TESTS_HALF_STATEMENT_H
#define POSENC_TESTS_HALF_STATEMENT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct half_format {
    int fraction_bits;
    int least_exponent; /* of values that are not denormal */
} half_format;

static const half_format half_f16 = {10, -14}, half_bf16 = {7, -126};

/* The number that the bits stand for. */
static inline double half_value(uint16_t bits, half_format f) {
    int ones = (1 << (15 - f.fraction_bits)) - 1, implied = 1 << f.fraction_bits;
    int exponent = bits >> f.fraction_bits & ones, fraction = bits & (implied - 1);
    double magnitude;
    if (exponent == ones)
        magnitude = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, f.least_exponent - f.fraction_bits);
    else
        magnitude = ldexp(implied + fraction, f.least_exponent + exponent - 1 - f.fraction_bits);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* The bits nearest to x, which is not a NaN; nearbyint takes ties to even. Counted in steps of the last place from the
 * least exponent on, values follow each other without a gap, the infinity last. */
static inline uint16_t half_nearest(double x, half_format f) {
    int exponent = f.least_exponent, infinity = 0x7fff >> f.fraction_bits << f.fraction_bits;
    if (fabs(x) >= ldexp(1.0, exponent))
        exponent = isinf(x) ? 1024 : ilogb(x);
    double steps = nearbyint(ldexp(fabs(x), f.fraction_bits - exponent));
    int bits = isinf(x) ? infinity : (int)steps + (exponent - f.least_exponent) * (1 << f.fraction_bits);
    return (uint16_t)((bits < infinity ? bits : infinity) | (signbit(x) ? 0x8000 : 0));
}

/* OCP E4M3: exponents from 2^-6 to 2^8, the largest with fractions up to 6; then NaN. */
static inline double e4m3_value(uint8_t bits) {
    int exponent = bits >> 3 & 15, fraction = bits & 7;
    double magnitude = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    if (exponent == 15 && fraction == 7)
        magnitude = (double)NAN;
    return bits & 0x80 ? -magnitude : magnitude;
}

/* The code nearest to x, at most 448 in size; 0x7f for NaN. */
static inline uint8_t e4m3_nearest(float x) {
    double size = fmin(fabs((double)x), 448.0);
    int exponent = size < 0x1p-6 ? -6 : ilogb(size);
    int bits = (int)nearbyint(ldexp(size, 3 - exponent)) + (exponent + 6) * 8;
    return (uint8_t)(isnan(x) ? 0x7f : bits | (signbit(x) ? 0x80 : 0));
}

/* 1 if `got` is right for x: some NaN for a NaN, else the nearest. */
static inline int half_is_rounded(uint16_t got, float x, half_format f) {
    return isnan(x) ? isnan(half_value(got, f)) : got == half_nearest((double)x, f);
}

/* Floats of every sign, exponent and the ten highest bits of the fraction, each with the lower bits at, next to and
 * between where either format rounds the other way. */
enum { HALF_PROBES = 65536 * 8 * 6 };

static inline float half_probe(size_t i) {
    static const uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x1fff};
    uint32_t bits = (uint32_t)(i / 6) << 13 | low[i % 6];
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
