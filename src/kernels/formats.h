/* SPDX-License-Identifier: MIT */
/* Table of storage types: floats, formats, and 8-bit floats. Rows of a format are blocks of POSENC_QUANT_BLOCK
 * channels: a scale in half precision, an offset in some formats, then the integers, packed. A channel is scale times
 * integer, in a format with offsets scale times (integer + rise) plus the offset: kernels have integers on both sides
 * of 0, whose roundings cost least. docs/adding-a-format.md says how to add a row. */
#ifndef POSENC_KERNELS_FORMATS_H
#define POSENC_KERNELS_FORMATS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <posenc/types.h>

/* How the integers of a block are packed. */
typedef enum posenc_packing {
    POSENC_IN_BYTES,   /* an int8 for each channel */
    POSENC_IN_NIBBLES, /* places in the format's table: of channel j in the low half of byte j, of j + 16 in the high */
    POSENC_IN_FIVE_BITS /* a word, then nibbles as above. Bit c of the word adds 16 to the integer of channel c */
} posenc_packing;

/* Integers by nibble. */
static const int8_t posenc_from_minus_8[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
static const int8_t posenc_from_minus_16[16] = {-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1};
static const int8_t posenc_uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* FORMAT(type, name, channels of a block, bytes of a block, packing, integers by nibble, rise or 0 without offsets). By
 * the name: quantise_NAME() in src/scalar/convert.c. */
#define POSENC_EACH_FORMAT(FORMAT)                                                                                     \
    FORMAT(POSENC_Q8_0, q8_0, 32, POSENC_Q8_BYTES, POSENC_IN_BYTES, NULL, 0)                                           \
    FORMAT(POSENC_Q4_0, q4_0, 32, POSENC_Q4_BYTES, POSENC_IN_NIBBLES, posenc_from_minus_8, 0)                          \
    FORMAT(POSENC_Q5_0, q5_0, 32, 22, POSENC_IN_FIVE_BITS, posenc_from_minus_16, 0)                                    \
    FORMAT(POSENC_Q4_1, q4_1, 32, 20, POSENC_IN_NIBBLES, posenc_from_minus_8, 8)                                       \
    FORMAT(POSENC_Q5_1, q5_1, 32, 24, POSENC_IN_FIVE_BITS, posenc_from_minus_16, 16)                                   \
    FORMAT(POSENC_IQ4_NL, iq4_nl, 32, 18, POSENC_IN_NIBBLES, posenc_uneven, 0)

/* The same columns of types without blocks: one channel, and its bytes. */
#define POSENC_EACH_FLOAT_TYPE(TYPE)                                                                                   \
    TYPE(POSENC_F32, f32, 1, 4) TYPE(POSENC_F16, f16, 1, 2) TYPE(POSENC_BF16, bf16, 1, 2)

/* 8-bit floats, likewise: types of caches alone, as formats are. */
#define POSENC_EACH_FLOAT8_TYPE(TYPE) TYPE(POSENC_F8_E4M3, f8_e4m3, 1, 1)
#define POSENC_EACH_TYPE(TYPE) POSENC_EACH_FLOAT_TYPE(TYPE) POSENC_EACH_FORMAT(TYPE) POSENC_EACH_FLOAT8_TYPE(TYPE)

/* First lines of a switch that has no default, so that the compiler names a type that it lacks: types that cannot come
 * there. */
#define POSENC_CASE(type, ...) case type:
#define POSENC_TAKES_NO_CACHE_TYPES POSENC_EACH_FORMAT(POSENC_CASE) POSENC_EACH_FLOAT8_TYPE(POSENC_CASE) break
#define POSENC_TAKES_NO_FLOATS POSENC_EACH_FLOAT_TYPE(POSENC_CASE) POSENC_EACH_FLOAT8_TYPE(POSENC_CASE) break

/* Formats are the types POSENC_FLOAT_TYPES .. POSENC_FORMATS_END - 1. */
#define POSENC_COUNT_ONE(type, ...) +1
enum {
    POSENC_FLOAT_TYPES = 0 POSENC_EACH_FLOAT_TYPE(POSENC_COUNT_ONE),
    POSENC_FORMATS_END = POSENC_FLOAT_TYPES POSENC_EACH_FORMAT(POSENC_COUNT_ONE),
    POSENC_TYPES = 0 POSENC_EACH_TYPE(POSENC_COUNT_ONE)
};

/* Bytes of an element; 0 for a type that has blocks for elements, or does not exist. */
static inline __attribute__((always_inline)) int posenc_element_bytes(posenc_dtype type) {
    switch (type) {
        POSENC_EACH_FORMAT(POSENC_CASE)
        break;
#define CASE(type, name, channels, bytes)                                                                              \
    case type: return bytes;
        POSENC_EACH_FLOAT_TYPE(CASE)
        POSENC_EACH_FLOAT8_TYPE(CASE)
#undef CASE
    }
    return 0;
}

/* Bytes of a block; 0 for a type without blocks. */
static inline __attribute__((always_inline)) int posenc_block_bytes(posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, channels, bytes, ...)                                                                         \
    case type: return bytes;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
    return 0;
}

static inline __attribute__((always_inline)) int posenc_has_blocks(posenc_dtype type) {
    return posenc_block_bytes(type) != 0;
}

/* 1 for a type of caches alone. Heads are finished in float32 before they are written there, and become float32 when
 * they are read. */
static inline __attribute__((always_inline)) int posenc_is_cache_type(posenc_dtype type) {
    switch (type) {
        POSENC_EACH_FORMAT(POSENC_CASE)
        POSENC_EACH_FLOAT8_TYPE(POSENC_CASE)
        return 1;
        POSENC_EACH_FLOAT_TYPE(POSENC_CASE)
        break;
    }
    return 0;
}

/* ---- Integers ---- */

static inline __attribute__((always_inline)) posenc_packing posenc_packing_of(posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, channels, bytes, packing, ...)                                                                \
    case type: return packing;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
    return POSENC_IN_BYTES;
}

/* Integers by nibble; NULL for a format of bytes. */
static inline __attribute__((always_inline)) const int8_t *posenc_integers_of(posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, channels, bytes, packing, integers, ...)                                                      \
    case type: return integers;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
    return NULL;
}

static inline __attribute__((always_inline)) int posenc_rise_of(posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, channels, bytes, packing, integers, rise)                                                     \
    case type: return rise;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
    return 0;
}

static inline __attribute__((always_inline)) int posenc_has_offset(posenc_dtype type) {
    return posenc_rise_of(type) != 0;
}

/* Bytes of a block before its integers: scale and offset. */
static inline __attribute__((always_inline)) size_t posenc_header_bytes(posenc_dtype type) {
    return (posenc_has_offset(type) ? 2 : 1) * sizeof(uint16_t);
}

/* The integer of channel i of a row. */
static inline int posenc_number(const void *row, size_t i, posenc_dtype type) {
    const size_t c = i % POSENC_QUANT_BLOCK, half = POSENC_QUANT_BLOCK / 2;
    const uint8_t *at = (const uint8_t *)row + i / POSENC_QUANT_BLOCK * (size_t)posenc_block_bytes(type);
    uint32_t bits = 0;
    at += posenc_header_bytes(type);
    switch (posenc_packing_of(type)) {
    case POSENC_IN_BYTES: return ((const int8_t *)at)[c];
    case POSENC_IN_NIBBLES: break;
    case POSENC_IN_FIVE_BITS:
        memcpy(&bits, at, sizeof bits);
        at += sizeof bits;
        break;
    }
    int nibble = at[c % half] >> (c < half ? 0 : 4) & 15;
    return posenc_integers_of(type)[nibble] + (int)(bits >> c & 1) * 16;
}

#endif
