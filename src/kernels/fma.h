/* SPDX-License-Identifier: MIT */
/* a * b + c rounded once: by an instruction where the compiler has one, elsewhere by exact functions of our own, for
 * those of C libraries differ, and some round twice. Rounding mode and errno are left alone.
 */
#ifndef POSENC_FMA_H
#define POSENC_FMA_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* gcc tells by FP_FAST, other compilers by the architecture. */
#if (defined __FP_FAST_FMA && defined __FP_FAST_FMAF) || defined __FMA__ || defined __aarch64__ ||                     \
    (defined __ARM_FEATURE_FMA && defined __ARM_FP && __ARM_FP >= 12) || (defined __riscv_flen && __riscv_flen >= 64)
#define POSENC_HAS_FMA_INSTRUCTION 1
#else
#define POSENC_HAS_FMA_INSTRUCTION 0
#endif

static inline uint64_t posenc_bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double posenc_double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline int posenc_is_negative(double x) {
    return (int)(posenc_bits_of_double(x) >> 63);
}

/* Rounding error of sum = a + b (Knuth); NaN if the sum is not finite. */
static inline double posenc_sum_error(double a, double b, double sum) {
    double part = sum - a;
    return (a - (sum - part)) + (b - part);
}

/* a + b rounded to odd: an inexact sum becomes the neighbour whose last bit is 1. No number halfway between two of a
 * shorter format is odd, so a second rounding gives the result of one (Boldo and Melquiond, 2008). */
static inline double posenc_sum_to_odd(double a, double b) {
    double sum = a + b, lost = posenc_sum_error(a, b, sum);
    int is_inexact = lost < 0.0 || lost > 0.0, is_beyond = is_inexact && (lost < 0.0) != (sum < 0.0);
    return posenc_double_of_bits((posenc_bits_of_double(sum) - (uint64_t)is_beyond) | (uint64_t)is_inexact);
}

/* ---- float: the product is exact in double ---- */

static inline float posenc_fmaf_exact(float a, float b, float c) {
    double product = (double)a * (double)b, sum = product + (double)c;
    /* Rounding twice differs from once only if the first ends halfway between two floats, 2^28 of the 29 bits that the
     * second drops, or if the second drops more. In a chain this takes 2.5 ns, rounding to odd each time 9.6 ns. */
    int is_halfway = (posenc_bits_of_double(sum) & 0x1fffffff) == 0x10000000;
    return (float)(is_halfway || fabs(sum) < (double)FLT_MIN ? posenc_sum_to_odd(product, (double)c) : sum);
}

/* ---- double, by integers: any arguments ---- */

/* A number of 128 bits. */
typedef struct posenc_wide {
    uint64_t high, low;
} posenc_wide;

static inline posenc_wide posenc_wide_product(uint64_t a, uint64_t b) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    return (posenc_wide){a1 * b1 + (middle >> 32) + (other >> 32), a * b};
}

static inline posenc_wide posenc_wide_sum(posenc_wide a, posenc_wide b) {
    uint64_t low = a.low + b.low;
    return (posenc_wide){a.high + b.high + (low < a.low), low};
}

static inline posenc_wide posenc_wide_difference(posenc_wide a, posenc_wide b) {
    return (posenc_wide){a.high - b.high - (a.low < b.low), a.low - b.low};
}

static inline int posenc_wide_is_less(posenc_wide a, posenc_wide b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}

/* a 2^n, where no bit is lost. */
static inline posenc_wide posenc_wide_up(posenc_wide a, int n) {
    if (n >= 64)
        return (posenc_wide){a.low << (n - 64), 0};
    return n == 0 ? a : (posenc_wide){a.high << n | a.low >> (64 - n), a.low << n};
}

/* a 2^-n; bits that are lost leave a 1 in the last. */
static inline posenc_wide posenc_wide_down(posenc_wide a, int n) {
    if (n == 0)
        return a;
    if (n > 127)
        return (posenc_wide){0, (a.high | a.low) != 0};
    if (n >= 64) {
        uint64_t lost = a.low | (n == 64 ? 0 : a.high << (128 - n));
        return (posenc_wide){0, a.high >> (n - 64) | (lost != 0)};
    }
    return (posenc_wide){a.high >> n, a.high << (64 - n) | a.low >> n | (a.low << (64 - n) != 0)};
}

/* The double nearest to a 2^exponent, a not 0. */
static inline double posenc_wide_to_double(posenc_wide a, int exponent, int is_negative) {
    while (a.high >> 63 == 0) {
        a = posenc_wide_up(a, 1);
        exponent--;
    }
    if (exponent < -1149) { /* below 2^-1022, where numbers have fewer than 53 bits */
        a = posenc_wide_down(a, -1149 - exponent);
        exponent = -1149;
    }
    uint64_t kept = a.high >> 11, rest = (a.high & 0x7ff) << 1 | (a.low != 0);
    kept += rest > 0x800 || (rest == 0x800 && kept % 2 == 1);
    uint64_t power = (uint64_t)(exponent + 1149); /* one below the field of bits, to which the first bit kept adds */
    uint64_t bits = power > 2045 ? 0x7ff0000000000000 : (power << 52) + kept;
    return posenc_double_of_bits(bits | (uint64_t)is_negative << 63);
}

static inline uint64_t posenc_significand(double x, int *exponent) {
    return (uint64_t)(frexp(fabs(x), exponent) * 0x1p53);
}

/* a, b and c are finite, a and b not 0. */
static inline double posenc_fma_finite(double a, double b, double c) {
    int of_a, of_b, of_c;
    uint64_t bits_a = posenc_significand(a, &of_a), bits_b = posenc_significand(b, &of_b);
    uint64_t bits_c = posenc_significand(c, &of_c);
    /* Both have their first bit at 124 or 125. Bits that are shifted out are far below the last bit of a sum; a sum
     * that cancels shifts out none. */
    posenc_wide product = posenc_wide_up(posenc_wide_product(bits_a, bits_b), 20), addend = {bits_c << 8, 0};
    int exponent = of_a + of_b - 126, ahead = of_c - 125 - exponent; /* of c */
    if (bits_c == 0)
        ahead = 0;
    if (ahead > 0) {
        product = posenc_wide_down(product, ahead);
        exponent += ahead;
    } else {
        addend = posenc_wide_down(addend, -ahead);
    }
    int is_negative = posenc_is_negative(a) != posenc_is_negative(b), is_sum = is_negative == posenc_is_negative(c);
    if (is_sum)
        return posenc_wide_to_double(posenc_wide_sum(product, addend), exponent, is_negative);
    if (posenc_wide_is_less(addend, product))
        return posenc_wide_to_double(posenc_wide_difference(product, addend), exponent, is_negative);
    if (posenc_wide_is_less(product, addend))
        return posenc_wide_to_double(posenc_wide_difference(addend, product), exponent, !is_negative);
    return 0.0;
}

/* ---- double, where neither the product nor its error leaves the range of numbers of 53 bits ---- */

/* The upper half of x (Veltkamp): 26 bits, and the rest has as many. */
static inline double posenc_upper_half(double x) {
    double scaled = 0x1.0000002p27 * x;
    return scaled - (scaled - x);
}

static inline double posenc_fma_near(double a, double b, double c) {
    double a1 = posenc_upper_half(a), a0 = a - a1, b1 = posenc_upper_half(b), b0 = b - b1;
    double product = a * b, lost = ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0; /* exact (Dekker) */
    double low = c + lost, sum = product + low;
    return sum + posenc_sum_to_odd(posenc_sum_error(c, lost, low), posenc_sum_error(product, low, sum));
}

static inline double posenc_fma_exact(double a, double b, double c) {
    double size_a = fabs(a), size_b = fabs(b);
    if (size_a > 0x1p-400 && size_a < 0x1p400 && size_b > 0x1p-400 && size_b < 0x1p400 && fabs(c) < 0x1p900)
        return posenc_fma_near(a, b, c); /* 7 ns, by integers 14 */
    if (size_a <= DBL_MAX && size_b <= DBL_MAX && fabs(c) > DBL_MAX)
        return c;
    if (a == 0.0 || b == 0.0 || !(size_a <= DBL_MAX && size_b <= DBL_MAX) || c != c)
        return a * b + c;
    return posenc_fma_finite(a, b, c);
}

/* ---- Calls for kernels and set-up ---- */

static inline float posenc_fmaf(float a, float b, float c) {
#if POSENC_HAS_FMA_INSTRUCTION
    return __builtin_fmaf(a, b, c);
#else
    return posenc_fmaf_exact(a, b, c);
#endif
}

static inline double posenc_fma(double a, double b, double c) {
#if POSENC_HAS_FMA_INSTRUCTION
    return __builtin_fma(a, b, c);
#else
    return posenc_fma_exact(a, b, c);
#endif
}

#endif
