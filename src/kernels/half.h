/* SPDX-License-Identifier: MIT */
/* f16 and bf16 to float32 and back, in integers, for the scalar tier: the specification of every conversion
 * instruction. Rounds to nearest, ties to even; larger numbers become infinite; a NaN becomes some NaN. */
#ifndef POSENC_HALF_H
#define POSENC_HALF_H

#include <stdint.h>
#include <string.h>

#include <posenc/types.h>

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

/* Channel i of a row of blocks. The product of 11 bits and 8 is exact. */
static inline float posenc_from_q8_0(const void *p, size_t i) {
    const char *block = (const char *)p + i / POSENC_QUANT_BLOCK * POSENC_Q8_BYTES;
    float scale = posenc_from_f16(*(const uint16_t *)(const void *)block);
    return scale * (float)((const int8_t *)block)[sizeof(uint16_t) + i % POSENC_QUANT_BLOCK];
}

static inline float posenc_from_q4_0(const void *p, size_t i) {
    const uint8_t *block = (const uint8_t *)p + i / POSENC_QUANT_BLOCK * POSENC_Q4_BYTES;
    size_t c = i % POSENC_QUANT_BLOCK;
    int both = block[sizeof(uint16_t) + c % (POSENC_QUANT_BLOCK / 2)];
    float scale = posenc_from_f16(*(const uint16_t *)(const void *)block);
    return scale * (float)((c < POSENC_QUANT_BLOCK / 2 ? both & 15 : both >> 4) - 8);
}

/* Element i of an array of the type. */
static inline float posenc_load(const void *p, size_t i, posenc_dtype type) {
    switch (type) {
    case POSENC_F16: return posenc_from_f16(((const uint16_t *)p)[i]);
    case POSENC_BF16: return posenc_from_bf16(((const uint16_t *)p)[i]);
    case POSENC_Q8_0: return posenc_from_q8_0(p, i);
    case POSENC_Q4_0: return posenc_from_q4_0(p, i);
    default: return ((const float *)p)[i];
    }
}

static inline void posenc_store(void *p, size_t i, float value, posenc_dtype type) {
    switch (type) {
    case POSENC_F16: ((uint16_t *)p)[i] = posenc_to_f16(value); break;
    case POSENC_BF16: ((uint16_t *)p)[i] = posenc_to_bf16(value); break;
    default: ((float *)p)[i] = value;
    }
}

#endif
