#include "fixed.h"

#include <math.h>
#include <string.h>

static const fixed zero;
static const fixed one = {.limb = {[FIXED_FRACTION] = 1}};

fixed fixed_from_double(double x) {
    fixed a = zero;
    for (int k = FIXED_LIMBS - 1; k >= 0; k--) {
        double weight = ldexp(1.0, 32 * (k - FIXED_FRACTION));
        a.limb[k] = (uint32_t)(x / weight);
        x -= a.limb[k] * weight;
    }
    return a;
}

double fixed_to_double(const fixed *a) {
    double x = 0.0;
    for (int k = 0; k < FIXED_LIMBS; k++)
        x += ldexp(a->limb[k], 32 * (k - FIXED_FRACTION));
    return x;
}

int fixed_compare(const fixed *a, const fixed *b) {
    for (int k = FIXED_LIMBS - 1; k >= 0; k--)
        if (a->limb[k] != b->limb[k])
            return a->limb[k] < b->limb[k] ? -1 : 1;
    return 0;
}

fixed fixed_add(const fixed *a, const fixed *b) {
    fixed sum;
    uint64_t carry = 0;
    for (int k = 0; k < FIXED_LIMBS; k++) {
        carry += (uint64_t)a->limb[k] + b->limb[k];
        sum.limb[k] = (uint32_t)carry;
        carry >>= 32;
    }
    return sum;
}

fixed fixed_sub(const fixed *a, const fixed *b) {
    fixed difference;
    uint64_t borrow = 0;
    for (int k = 0; k < FIXED_LIMBS; k++) {
        uint64_t limb = (uint64_t)a->limb[k] - b->limb[k] - borrow;
        difference.limb[k] = (uint32_t)limb;
        borrow = limb >> 63;
    }
    return difference;
}

fixed fixed_mul(const fixed *a, const fixed *b) {
    uint32_t full[2 * FIXED_LIMBS] = {0};
    for (int i = 0; i < FIXED_LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < FIXED_LIMBS; j++) {
            carry += (uint64_t)a->limb[i] * b->limb[j] + full[i + j];
            full[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        full[i + FIXED_LIMBS] = (uint32_t)carry;
    }
    fixed product;
    memcpy(product.limb, full + FIXED_FRACTION, sizeof product.limb);
    return product;
}

static fixed power(fixed a, uint64_t n) {
    fixed result = one;
    for (; n > 0; n >>= 1) {
        if (n & 1)
            result = fixed_mul(&result, &a);
        a = fixed_mul(&a, &a);
    }
    return result;
}

/* The largest r <= 1 that is not too large, bit by bit. */
static fixed search(int (*too_large)(const fixed *r, const fixed *a, uint64_t n), const fixed *a, uint64_t n) {
    fixed r = zero;
    for (int bit = 32 * FIXED_FRACTION; bit >= 0; bit--) {
        fixed candidate = r;
        candidate.limb[bit / 32] |= (uint32_t)1 << bit % 32;
        if (fixed_compare(&candidate, &one) <= 0 && !too_large(&candidate, a, n))
            r = candidate;
    }
    return r;
}

static int product_exceeds_one(const fixed *r, const fixed *a, uint64_t n) {
    (void)n;
    fixed product = fixed_mul(r, a);
    return fixed_compare(&product, &one) > 0;
}

static int power_exceeds(const fixed *r, const fixed *a, uint64_t n) {
    fixed p = power(*r, n);
    return fixed_compare(&p, a) > 0;
}

fixed fixed_inverse(const fixed *a) {
    return search(product_exceeds_one, a, 0);
}

fixed fixed_root(const fixed *a, uint64_t n) {
    return search(power_exceeds, a, n);
}

fixed fixed_div(const fixed *a, const fixed *b) {
    fixed dividend = *a, divisor = *b;
    while (fixed_compare(&divisor, &one) < 0) {
        dividend = fixed_add(&dividend, &dividend);
        divisor = fixed_add(&divisor, &divisor);
    }
    fixed inverse = fixed_inverse(&divisor);
    return fixed_mul(&dividend, &inverse);
}

/* Bit by bit: the square of a number has twice its logarithm. */
fixed fixed_log2(const fixed *a) {
    fixed x = *a, result = zero, half = fixed_from_double(0.5), two = fixed_from_double(2.0);
    for (; fixed_compare(&x, &two) >= 0; x = fixed_mul(&x, &half))
        result = fixed_add(&result, &one);
    fixed weight = half;
    for (int bit = 0; bit < 80; bit++, weight = fixed_mul(&weight, &half)) {
        x = fixed_mul(&x, &x);
        if (fixed_compare(&x, &two) < 0)
            continue;
        x = fixed_mul(&x, &half);
        result = fixed_add(&result, &weight);
    }
    return result;
}

fixed fixed_fraction(const fixed *a) {
    fixed fraction = *a;
    for (int k = FIXED_FRACTION; k < FIXED_LIMBS; k++)
        fraction.limb[k] = 0;
    return fraction;
}

fixed fixed_inverse_two_pi(void) {
    return (fixed){.limb = {0x4f10e410, 0x36d8a566, 0x7d4d3770, 0x7f09d5f4, 0x9391054a, 0x28be60db}};
}
