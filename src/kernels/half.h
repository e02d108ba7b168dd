/* SPDX-License-Identifier: MIT */
/* f16, bf16 and 8-bit floats to float32 and back, in integers, for the scalar tier: the specification of every
 * conversion instruction. Rounds to nearest, ties to even; larger numbers become infinite; a NaN becomes some NaN. */
#ifndef POSENC_HALF_H
#define POSENC_HALF_H

#include <stdint.h>
#include <string.h>

#include <posenc/types.h>

#include "kernels/formats.h"

static inline uint32_t posenc_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float posenc_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float posenc_from_bf16(uint16_t b) {
    return posenc_float((uint32_t)b << 16);
}

static inline uint16_t posenc_to_bf16(float x) {
    uint32_t bits = posenc_bits(x);
    if (x != x)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float posenc_from_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31)
        return posenc_float(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) { /* zero or denormal: fraction * 2^-24, exact */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return posenc_float(sign | (exponent + 112) << 23 | fraction << 13);
}

static inline uint16_t posenc_to_f16(float x) {
    uint32_t bits = posenc_bits(x), magnitude = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000)
        return sign | 0x7e00;
    if (magnitude >= 0x477ff000) /* 65520, half way to the first value that is too large */
        return sign | 0x7c00;
    if (magnitude < 0x38800000) { /* below 2^-14: adding 0.5 rounds to multiples of 2^-24 */
        uint32_t rounded = posenc_bits(posenc_float(magnitude) + 0.5f) - posenc_bits(0.5f);
        return sign | (uint16_t)rounded;
    }
    return sign | (uint16_t)((magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

/* OCP E4M3: 4 bits of exponent, 3 of fraction, no infinity; 0x7f and 0xff are NaN. */
static inline float posenc_from_f8_e4m3(uint8_t b) {
    uint32_t sign = (uint32_t)(b & 0x80) << 24, exponent = b >> 3 & 15, fraction = b & 7;
    if ((b & 0x7f) == 0x7f)
        return posenc_float(sign | 0x7ff00000);
    if (exponent == 0) { /* zero or denormal: fraction * 2^-9, exact */
        float magnitude = (float)fraction * 0x1p-9f;
        return sign ? -magnitude : magnitude;
    }
    return posenc_float(sign | (exponent + 120) << 23 | fraction << 20);
}

/* Makes 448 of larger numbers, infinity too, and 0x7f of any NaN. */
static inline uint8_t posenc_to_f8_e4m3(float x) {
    uint32_t bits = posenc_bits(x), magnitude = bits & 0x7fffffff;
    uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
    if (magnitude > 0x7f800000)
        return 0x7f;
    if (magnitude >= 0x43e00000) /* 448 */
        return sign | 0x7e;
    if (magnitude < 0x3c800000) { /* below 2^-6: adding 2^14 rounds to multiples of 2^-9 */
        uint32_t rounded = posenc_bits(posenc_float(magnitude) + 0x1p14f) - posenc_bits(0x1p14f);
        return sign | (uint8_t)rounded;
    }
    return sign | (uint8_t)((magnitude - (120u << 23) + 0x7ffff + (magnitude >> 20 & 1)) >> 20);
}

/* The block of channel i of a row. */
static inline const uint16_t *posenc_block_of(const void *row, size_t i, posenc_dtype type) {
    const char *block = (const char *)row + i / POSENC_QUANT_BLOCK * (size_t)posenc_block_bytes(type);
    return (const uint16_t *)(const void *)block;
}

/* The scale of channel i of a row of blocks. */
static inline float posenc_scale(const void *row, size_t i, posenc_dtype type) {
    return posenc_from_f16(*posenc_block_of(row, i, type));
}

/* The value of integer n in the block of channel i. The product is exact: 11 bits times 8. */
static inline float posenc_value(const void *row, size_t i, int n, posenc_dtype type) {
    float product = posenc_scale(row, i, type) * (float)(n + posenc_rise_of(type));
    return posenc_has_offset(type) ? product + posenc_from_f16(posenc_block_of(row, i, type)[1]) : product;
}

/* The value of the integer 0, in a format with offsets. */
static inline float posenc_offset(const void *row, size_t i, posenc_dtype type) {
    return posenc_value(row, i, 0, type);
}

/* Element i of an array of a type that tensors of any kind have. Float32 is what remains: as a case of its own it costs
 * scalar RoPE 30 % (gcc 12). */
static inline float posenc_load(const void *p, size_t i, posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F16: return posenc_from_f16(((const uint16_t *)p)[i]);
    case POSENC_BF16: return posenc_from_bf16(((const uint16_t *)p)[i]);
    case POSENC_F32: break;
    }
    return ((const float *)p)[i];
}

/* Element i of an array of any type. Loops that read no caches call posenc_load: scalar RoPE takes 1.9 times as long
 * with the formats in its loop. */
static inline float posenc_load_stored(const void *p, size_t i, posenc_dtype type) {
    switch (type) {
        POSENC_EACH_FLOAT_TYPE(POSENC_CASE)
        break;
    case POSENC_F8_E4M3: return posenc_from_f8_e4m3(((const uint8_t *)p)[i]);
#define CASE(type, name, ...)                                                                                          \
    case type: return posenc_value(p, i, posenc_number(p, i, type), type);
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
    return posenc_load(p, i, type);
}

static inline void posenc_store(void *p, size_t i, float value, posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F16: ((uint16_t *)p)[i] = posenc_to_f16(value); return;
    case POSENC_BF16: ((uint16_t *)p)[i] = posenc_to_bf16(value); return;
    case POSENC_F32: break;
    }
    ((float *)p)[i] = value;
}

/* The same for an array of any type without blocks. */
static inline void posenc_store_plain(void *p, size_t i, float value, posenc_dtype type) {
    switch (type) {
        POSENC_EACH_FORMAT(POSENC_CASE)
        POSENC_EACH_FLOAT_TYPE(POSENC_CASE)
        break;
    case POSENC_F8_E4M3: ((uint8_t *)p)[i] = posenc_to_f8_e4m3(value); return;
    }
    posenc_store(p, i, value, type);
}

#endif
