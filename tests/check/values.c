/* SPDX-License-Identifier: MIT */
#include "values.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "case.h"

const float test_special_floats[] = {
    0.0f,
    -0.0f,
    1.0f,
    -1.0f,
    0.5f,
    -0.5f,
    1.5f,
    2.5f,
    -2.5f,
    0x1p-149f,
    -0x1p-149f,
    0x1p-127f,
    0x1.fffffcp-127f,
    FLT_MIN,
    -FLT_MIN,
    FLT_MAX,
    -FLT_MAX,
    0x1.fffffep126f,
    0x1p23f,
    0x1.000002p23f,
    0x1p24f,
    -0x1p24f,
    0x1p31f,
    -0x1p31f,
    0x1p63f,
    1e-30f,
    1e30f,
    3.14159265f,
    87.3f,
    -87.33654f,
    -87.33655f,
    -88.0f,
    -104.0f,
    88.8f,
    0x1.fffffep-1f,
    0x1.000002p0f,
    65504.0f, /* the largest f16; below, what rounds to it and what no longer does */
    0x1.ffdffep15f,
    -65520.0f,
    0x1.ffcp-15f, /* f16's denormals */
    0x1.ffep-15f,
    -0x1.8p-24f,
    0x1p-25f,
    0x1.000002p-25f,
    0x1.002p0f, /* ties of f16 */
    -0x1.006p0f,
    0x1.01p0f, /* ties of bf16 */
    -0x1.03p0f,
    0x1.fefffep127f,
    0x1.ffp127f,
    0x1p-134f,
    INFINITY,
    -INFINITY,
    NAN,
    -NAN,
};
const size_t test_n_special_floats = sizeof test_special_floats / sizeof test_special_floats[0];

const double test_special_doubles[] = {
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    0.25,
    -0.75,
    1.5,
    2.5,
    -3.5,
    0x1p-1074,
    -0x1p-1074,
    DBL_MIN,
    -DBL_MIN,
    DBL_MAX,
    -DBL_MAX,
    0x1p-149,
    0x1.8p-150,
    0x1p-150,
    0x1.fffffefp127,
    0x1.ffffffp127,
    0x1p52,
    0x1.00000010p0,
    0x1.00000030p0,
    0x1.fffffffffffffp-2,
    1e-300,
    1e300,
    INFINITY,
    -INFINITY,
    NAN,
    -NAN,
};
const size_t test_n_special_doubles = sizeof test_special_doubles / sizeof test_special_doubles[0];

const char *test_fill_name(test_fill fill) {
    /* A case's numbers are drawn by its name, and recorded hashes are of them: names stay what they are. */
    static const char *const names[FILL_COUNT] = {"ordinary", "wide", "masked", "finite", "sparse", "hostile", "ties"};
    return names[fill];
}

uint32_t test_bits_of_float(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

uint64_t test_bits_of_double(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float random_bits_float(void) {
    return float_of_bits((uint32_t)test_random());
}

static double random_bits_double(void) {
    uint64_t bits = test_random();
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Even over [-limit, limit). */
static double even(double limit) {
    return (double)((int64_t)test_random() >> 10) * 0x1p-53 *
           limit; /* as random_symmetric(), but a fuzzer may drive it */
}

static float adversarial_float(void) {
    return test_random() % 2 ? random_bits_float() : test_special_floats[test_random_below(test_n_special_floats)];
}

static double adversarial_double(void) {
    return test_random() % 2 ? random_bits_double() : test_special_doubles[test_random_below(test_n_special_doubles)];
}

static float finite_float(void) {
    float value = random_bits_float();
    return isfinite(value) ? value : 1.0f;
}

static double finite_double(void) {
    double value = random_bits_double();
    return isfinite(value) ? value : 1.0;
}

/* Half way between two neighbours: in the denormals of f16 odd multiples of 2^-25; else the first fraction bit that
 * f16, or bf16, lacks is set, and those behind it are clear. Every third value is one unit off, in either direction. */
static float tie(void) {
    uint32_t random = (uint32_t)test_random(), bits = random & 0x80000000u;
    if (random % 4 == 0) {
        bits |= test_bits_of_float((float)(2 * test_random_below(1024) + 1) * 0x1p-25f);
    } else {
        uint32_t first_lost = random % 4 == 1 ? 1u << 15 : 1u << 12;
        uint32_t exponent = 127 - 15 + (uint32_t)test_random_below(31);
        bits |= exponent << 23 | (random & 0x7fffff & ~(first_lost - 1)) | first_lost;
    }
    return float_of_bits(test_random() % 3 ? bits : bits + 1 - 2 * (uint32_t)test_random_below(2));
}

/* Number of the given exponent and fraction, of either sign. */
static uint16_t half(size_t exponent, size_t fraction, int fraction_bits) {
    return (uint16_t)(test_random_below(2) << 15 | exponent << fraction_bits | fraction);
}

/* Zeros, denormals, the smallest and the largest values, infinities, quiet and signalling NaN, random bits. Draws are
 * statements of their own, for the order of arguments is the compiler's. */
static uint16_t adversarial_half(int fraction_bits) {
    size_t top = ((size_t)1 << (15 - fraction_bits)) - 1, ones = ((size_t)1 << fraction_bits) - 1;
    const size_t exponents[] = {0, 1, top / 2, top - 1, top}, fractions[] = {0, 1, ones / 2 + 1, ones};
    if (test_random() % 2)
        return (uint16_t)test_random();
    size_t exponent = exponents[test_random_below(5)];
    size_t fraction = fractions[test_random_below(4)];
    return half(exponent, fraction, fraction_bits);
}

/* Below 2^limit and not below 2^-4, exponents evenly. */
static uint16_t ordinary_half(size_t limit, int fraction_bits) {
    size_t bias = ((size_t)1 << (14 - fraction_bits)) - 1;
    size_t exponent = bias - 4 + test_random_below(limit + 4);
    size_t fraction = test_random_below((size_t)1 << fraction_bits);
    return half(exponent, fraction, fraction_bits);
}

uint16_t test_random_half(test_fill fill, int fraction_bits) {
    switch (fill) {
    case FILL_WIDE: return ordinary_half(8, fraction_bits);
    case FILL_SPARSE: return test_random() % 16 ? ordinary_half(2, fraction_bits) : adversarial_half(fraction_bits);
    case FILL_ADVERSARIAL: return adversarial_half(fraction_bits);
    default: return ordinary_half(2, fraction_bits);
    }
}

double test_random_double(test_fill fill) {
    switch (fill) {
    case FILL_WIDE: return even(256.0);
    case FILL_MASKED: return test_random() % 2 ? even(4.0) : -INFINITY;
    case FILL_FINITE: return finite_double();
    case FILL_SPARSE: return test_random() % 16 ? even(4.0) : adversarial_double();
    case FILL_ADVERSARIAL: return adversarial_double();
    default: return even(4.0);
    }
}

float test_random_float(test_fill fill) {
    switch (fill) {
    case FILL_WIDE: return (float)even(256.0);
    case FILL_MASKED: return test_random() % 2 ? (float)even(4.0) : -INFINITY;
    case FILL_FINITE: return finite_float();
    case FILL_SPARSE: return test_random() % 16 ? (float)even(4.0) : adversarial_float();
    case FILL_ADVERSARIAL: return adversarial_float();
    case FILL_TIES: return test_random() % 4 ? tie() : (float)even(4.0);
    default: return (float)even(4.0);
    }
}

int test_same_float(float a, float b) {
    return test_bits_of_float(a) == test_bits_of_float(b) || (isnan(a) && isnan(b));
}

int test_same_double(double a, double b) {
    return test_bits_of_double(a) == test_bits_of_double(b) || (isnan(a) && isnan(b));
}
