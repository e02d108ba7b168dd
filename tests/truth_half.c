/* SPDX-License-Identifier: MIT */
#include "truth_half.h"
#include "truth.h"

#include <math.h>
#include <string.h>

/* sign, exponent, fraction */
typedef struct format {
    int exponent_bits, fraction_bits;
} format;

static format format_of(posenc_dtype type) {
    return type == POSENC_F16 ? (format){5, 10} : (format){8, 7};
}

static int bias_of(format f) {
    return (1 << (f.exponent_bits - 1)) - 1;
}

size_t truth_size(posenc_dtype type) {
    return type == POSENC_F32 ? 4 : type == POSENC_F8_E4M3 ? 1 : 2;
}

/* OCP 8-bit floating point, E4M3: exponents 0 and 1 count steps of 2^-9, all bits set is NaN. */
static float widen_e4m3(uint8_t bits) {
    int exponent = bits >> 3 & 15, fraction = bits & 7;
    double magnitude = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    if ((bits & 127) == 127)
        magnitude = (double)NAN;
    return (float)(bits >> 7 ? -magnitude : magnitude);
}

/* The nearest in a table of all values, of two the even one. */
static uint8_t narrow_e4m3(float value) {
    int nearest = 0, sign = signbit(value) ? 128 : 0;
    if (isnan(value))
        return 127;
    for (int bits = 1; bits < 127; bits++) {
        double size = fabs((double)value), from = fabs(size - (double)widen_e4m3((uint8_t)bits)),
               best = fabs(size - (double)widen_e4m3((uint8_t)nearest));
        if (from < best || (from == best && bits % 2 == 0) || isinf(size))
            nearest = bits;
    }
    return (uint8_t)(sign | nearest);
}

float truth_widen(uint16_t bits, posenc_dtype type) {
    if (type == POSENC_F8_E4M3)
        return widen_e4m3((uint8_t)bits);
    format f = format_of(type);
    int exponent = bits >> f.fraction_bits & ((1 << f.exponent_bits) - 1),
        fraction = bits & ((1 << f.fraction_bits) - 1);
    int least = 1 - bias_of(f) - f.fraction_bits;
    double magnitude;
    if (exponent == (1 << f.exponent_bits) - 1)
        magnitude = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, least);
    else
        magnitude = ldexp(fraction + (1 << f.fraction_bits), least + exponent - 1);
    return (float)(bits >> 15 ? -magnitude : magnitude);
}

uint16_t truth_narrow(float value, posenc_dtype type) {
    if (type == POSENC_F8_E4M3)
        return narrow_e4m3(value);
    format f = format_of(type);
    int sign = signbit(value) ? 1 << 15 : 0, infinite = ((1 << f.exponent_bits) - 1) << f.fraction_bits;
    if (isnan(value))
        return (uint16_t)(sign | infinite | 1 << (f.fraction_bits - 1));
    if (isinf(value))
        return (uint16_t)(sign | infinite);
    int exponent;
    frexp(fabs((double)value), &exponent);
    exponent--; /* |value| is 1.something times 2^exponent */
    int normal = exponent + bias_of(f) >= 1 && value != 0.0f;
    if (!normal)
        exponent = 1 - bias_of(f);
    int units = (int)rint(ldexp(fabs((double)value), f.fraction_bits - exponent));
    if (normal) /* a fraction rounded up to 2 carries into the exponent, as it should */
        units += (exponent + bias_of(f) - 1) * (1 << f.fraction_bits);
    return (uint16_t)(sign | (units > infinite ? infinite : units));
}

float truth_load(const void *element, posenc_dtype type) {
    float value;
    uint16_t bits;
    if (type == POSENC_F32) {
        memcpy(&value, element, sizeof value);
        return value;
    }
    if (type == POSENC_F8_E4M3)
        return truth_widen(*(const uint8_t *)element, type);
    memcpy(&bits, element, sizeof bits);
    return truth_widen(bits, type);
}

void truth_store(void *element, float value, posenc_dtype type) {
    uint16_t bits = type == POSENC_F32 ? 0 : truth_narrow(value, type);
    uint8_t byte = (uint8_t)bits;
    memcpy(element,
           type == POSENC_F32       ? (const void *)&value
           : type == POSENC_F8_E4M3 ? (const void *)&byte
                                    : &bits,
           truth_size(type));
}

int truth_holds(const void *element, float value, posenc_dtype type) {
    unsigned char stored[4];
    truth_store(stored, value, type);
    return isnan(value) ? isnan(truth_load(element, type)) : memcmp(element, stored, truth_size(type)) == 0;
}

float truth_random_bits(posenc_dtype type) {
    uint32_t bits = (uint32_t)truth_random();
    return truth_load(&bits, type);
}
