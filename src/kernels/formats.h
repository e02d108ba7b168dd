/* SPDX-License-Identifier: MIT */
/* Table of storage types. Rows of a format are blocks of POSENC_QUANT_BLOCK channels: a scale in half precision, then
 * the integers, as bytes. A channel is scale times integer. docs/adding-a-format.md says how to add a row. */
#ifndef POSENC_KERNELS_FORMATS_H
#define POSENC_KERNELS_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/types.h>

/* FORMAT(type, name, channels of a block, bytes of a block). By the name: posenc_NAME_number() below, quantise_NAME()
 * in src/scalar/convert.c. */
#define POSENC_EACH_FORMAT(FORMAT)                                                                                     \
    FORMAT(POSENC_Q8_0, q8_0, 32, POSENC_Q8_BYTES)                                                                     \
    FORMAT(POSENC_Q4_0, q4_0, 32, POSENC_Q4_BYTES)

/* The same columns of types without blocks: one channel, and its bytes. */
#define POSENC_EACH_FLOAT_TYPE(TYPE)                                                                                   \
    TYPE(POSENC_F32, f32, 1, 4) TYPE(POSENC_F16, f16, 1, 2) TYPE(POSENC_BF16, bf16, 1, 2)
#define POSENC_EACH_TYPE(TYPE) POSENC_EACH_FLOAT_TYPE(TYPE) POSENC_EACH_FORMAT(TYPE)

/* First lines of a switch that has no default, so that the compiler names a format that it lacks: types that cannot
 * come there. */
#define POSENC_CASE(type, ...) case type:
#define POSENC_TAKES_NO_BLOCKS POSENC_EACH_FORMAT(POSENC_CASE) break
#define POSENC_TAKES_NO_FLOATS POSENC_EACH_FLOAT_TYPE(POSENC_CASE) break

/* Formats are the types POSENC_FLOAT_TYPES .. POSENC_TYPES - 1. */
#define POSENC_COUNT_ONE(type, ...) +1
enum {
    POSENC_FLOAT_TYPES = 0 POSENC_EACH_FLOAT_TYPE(POSENC_COUNT_ONE),
    POSENC_TYPES = 0 POSENC_EACH_TYPE(POSENC_COUNT_ONE)
};

/* Bytes of a block; 0 for a type without blocks. */
static inline __attribute__((always_inline)) int posenc_block_bytes(posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, channels, bytes)                                                                              \
    case type: return bytes;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
    return 0;
}

static inline __attribute__((always_inline)) int posenc_has_blocks(posenc_dtype type) {
    return posenc_block_bytes(type) != 0;
}

/* ---- Integers: channel c of the block whose scale is in front of `numbers` ---- */

static inline int posenc_q8_0_number(const void *numbers, size_t c) {
    return ((const int8_t *)numbers)[c];
}

static inline int posenc_q4_0_number(const void *numbers, size_t c) {
    int both = ((const uint8_t *)numbers)[c % (POSENC_QUANT_BLOCK / 2)];
    return (c < POSENC_QUANT_BLOCK / 2 ? both & 15 : both >> 4) - 8;
}

/* The integer of channel i of a row. */
static inline int posenc_number(const void *row, size_t i, posenc_dtype type) {
    const char *block = (const char *)row + i / POSENC_QUANT_BLOCK * (size_t)posenc_block_bytes(type);
    const char *numbers = block + sizeof(uint16_t);
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, ...)                                                                                          \
    case type: return posenc_##name##_number(numbers, i % POSENC_QUANT_BLOCK);
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
    return 0;
}

#endif
