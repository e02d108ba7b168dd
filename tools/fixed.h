/* Fixed-point numbers, 128 bits before the point and 192 after it: what the reference reduces angles with. Slow, plain,
 * the same on every machine, and unrelated to the double-double arithmetic of the library. */
#ifndef POSENC_TOOLS_FIXED_H
#define POSENC_TOOLS_FIXED_H

#include <stdint.h>

enum { FIXED_FRACTION = 6, FIXED_LIMBS = 10 };

/* The sum of limb[k] * 2^(32 (k - FIXED_FRACTION)). */
typedef struct fixed {
    uint32_t limb[FIXED_LIMBS];
} fixed;

/* x, 0 <= x < 2^128, without the bits below 2^-192; and back, rounded to within 1 ulp. */
fixed fixed_from_double(double x);
double fixed_to_double(const fixed *a);

/* Below 0, 0 or above 0 as a is below, equal to or above b. */
int fixed_compare(const fixed *a, const fixed *b);

/* Modulo 2^128; the product is cut off below 2^-192. */
fixed fixed_add(const fixed *a, const fixed *b);
fixed fixed_sub(const fixed *a, const fixed *b);
fixed fixed_mul(const fixed *a, const fixed *b);

/* The largest r <= 1 with r * a <= 1, and the largest r <= 1 with r^n <= a. */
fixed fixed_inverse(const fixed *a);
fixed fixed_root(const fixed *a, uint64_t n);

/* a / b, for b > 0 and a quotient below 2^64; relative error below 2^-150. */
fixed fixed_div(const fixed *a, const fixed *b);

/* log2(a) cut off to 80 bits after the point, a >= 1. */
fixed fixed_log2(const fixed *a);

/* a without its whole part. */
fixed fixed_fraction(const fixed *a);

/* 1 / (2 pi). */
fixed fixed_inverse_two_pi(void);

#endif
