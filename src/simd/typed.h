/* SPDX-License-Identifier: MIT */
/* Loads and stores of n <= VF elements of a storage type, from element i on, and fetching them ahead. In the bodies
 * type and, mostly, n are constants, so that one instruction remains. Needs: vec.h. */
#ifndef POSENC_SIMD_TYPED_H
#define POSENC_SIMD_TYPED_H

#include "vec.h"

#include <string.h>

#include "kernels/formats.h"

/* Elements of a vector that begins at element i of n. */
V_INLINE size_t lanes_from(size_t i, size_t n) {
    return n - i < VF ? n - i : VF;
}

/* Bytes of a row of blocks before the block of channel i. */
V_INLINE size_t bytes_before(size_t i, const posenc_dtype type) {
    return i / POSENC_QUANT_BLOCK * (size_t)posenc_block_bytes(type);
}

/* Nibbles of VF channels of a block, from channel `at` on, by the table. */
V_INLINE vf load_nibbles(const uint8_t *nibbles, size_t at, const int8_t *integers) {
    const size_t half = POSENC_QUANT_BLOCK / 2;
    return at < half ? v_load_u4(nibbles + at, 0, integers) : v_load_u4(nibbles + at - half, 1, integers);
}

/* The integers of VF channels of a row of blocks, from channel i on, a multiple of VF, with the rise. */
V_INLINE vf load_numbers(const void *p, size_t i, const posenc_dtype type) {
    const uint8_t *numbers = (const uint8_t *)p + bytes_before(i, type) + posenc_header_bytes(type);
    const size_t at = i % POSENC_QUANT_BLOCK;
    const float rise = (float)posenc_rise_of(type);
    uint32_t bits;
    vf low;
    switch (posenc_packing_of(type)) {
    case POSENC_IN_BYTES: return v_load_i8((const int8_t *)numbers + at);
    case POSENC_IN_NIBBLES:
        low = load_nibbles(numbers, at, posenc_integers_of(type));
        return rise > 0.0f ? v_add(low, v_set1(rise)) : low;
    case POSENC_IN_FIVE_BITS:
        memcpy(&bits, numbers, sizeof bits);
        low = load_nibbles(numbers + sizeof bits, at, posenc_integers_of(type));
        return v_add(low, v_select_bits(bits >> at, v_set1(rise + 16.0f), v_set1(rise)));
    }
    return v_set1(0.0f);
}

/* Values of the integer 0 in blocks of VF rows, `at` bytes behind their addresses, by the scales of these blocks. */
V_INLINE vf gather_offsets(const void *const *rows, size_t at, vf scales, const posenc_dtype type) {
    return v_fma(v_set1((float)posenc_rise_of(type)), scales, v_gather_f16(rows, at + sizeof(uint16_t)));
}

/* Scales and offsets of a block, or of one block of each of VF rows. */
typedef struct block_headers {
    vf scales, offsets;
} block_headers;

/* Headers of blocks of VF rows, `at` bytes behind their addresses. */
V_INLINE block_headers gather_headers(const void *const *rows, size_t at, const posenc_dtype type) {
    block_headers h = {v_gather_f16(rows, at), v_set1(0.0f)};
    if (posenc_has_offset(type))
        h.offsets = v_gather_f16(rows, at + sizeof(uint16_t));
    return h;
}

/* Channels by their integers, with the rise. */
V_INLINE vf scale_numbers(block_headers h, vf numbers, const posenc_dtype type) {
    return posenc_has_offset(type) ? v_fma(h.scales, numbers, h.offsets) : v_mul(h.scales, numbers);
}

V_INLINE vf load_blocks(const void *p, size_t i, const posenc_dtype type) {
    const uint16_t *header = (const uint16_t *)(const void *)((const char *)p + bytes_before(i, type));
    block_headers h = {v_set1_f16(header), posenc_has_offset(type) ? v_set1_f16(header + 1) : v_set1(0.0f)};
    return scale_numbers(h, load_numbers(p, i, type), type);
}

/* Loads elements of a float type. Where the type is no constant, a loop keeps one comparison for each type: with the
 * formats beside them, softmax with a mask of numbers took 1.1 times as long. */
V_INLINE vf load_float(const void *p, size_t i, size_t n, const posenc_dtype type) {
    const uint16_t *half = (const uint16_t *)p + i;
    const float *single = (const float *)p + i;
    switch (type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: return n == VF ? v_load(single) : v_load_n(single, n);
    case POSENC_F16: return n == VF ? v_load_f16(half) : v_load_f16_n(half, n);
    case POSENC_BF16: return n == VF ? v_load_bf16(half) : v_load_bf16_n(half, n);
    }
    return v_set1(0.0f);
}

V_INLINE vf load_typed(const void *p, size_t i, size_t n, const posenc_dtype type) {
    const uint8_t *byte = (const uint8_t *)p + i;
    switch (type) {
        POSENC_EACH_FORMAT(POSENC_CASE)
        return load_blocks(p, i, type); /* rows are whole vectors */
    case POSENC_F8_E4M3:
        return n == VF ? v_load_f8_e4m3(byte) : v_load_f8_e4m3_n(byte, n);
        POSENC_EACH_FLOAT_TYPE(POSENC_CASE)
        break;
    }
    return load_float(p, i, n, type);
}

/* Two vectors of elements, from element i on. */
V_INLINE void load_pair_typed(const void *p, size_t i, const posenc_dtype type, vf *first, vf *second) {
    if (type == POSENC_F8_E4M3) {
        v_load_f8_e4m3_pair((const uint8_t *)p + i, first, second);
        return;
    }
    *first = load_typed(p, i, VF, type);
    *second = load_typed(p, i + VF, VF, type);
}

/* Types of 16 bits and of 8 are transposed before they are widened: at a time EARLY_BYTES of a row at most. */
enum { EARLY_BYTES = 16 };

/* Channels that are transposed at a time. */
V_INLINE size_t early_channels(const posenc_dtype type) {
    return posenc_element_bytes(type) == 1 ? V_COLUMNS_OF_8 : EARLY_BYTES / sizeof(uint16_t);
}

V_INLINE int is_transposed_early(const posenc_dtype type) {
    return posenc_element_bytes(type) == 1 || posenc_element_bytes(type) == 2;
}

/* Element c * VF + t of columns becomes element first + c of row t, for early_channels() channels of VF rows. */
V_INLINE void transpose_early(const void *const *rows, size_t first, void *columns, const posenc_dtype type) {
    if (posenc_element_bytes(type) == 1)
        v_transpose_8(rows, first, columns);
    else
        v_transpose_16(rows, first, columns);
}

/* Stores elements of a float type. */
V_INLINE void store_typed(void *p, size_t i, vf a, size_t n, const posenc_dtype type) {
    uint16_t *half = (uint16_t *)p + i;
    float *single = (float *)p + i;
    switch (type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F16: n == VF ? v_store_f16(half, a) : v_store_f16_n(half, a, n); break;
    case POSENC_BF16: n == VF ? v_store_bf16(half, a) : v_store_bf16_n(half, a, n); break;
    case POSENC_F32: n == VF ? v_store(single, a) : v_store_n(single, a, n); break;
    }
}

/* Stores elements of a type without blocks. */
V_INLINE void store_plain(void *p, size_t i, vf a, size_t n, const posenc_dtype type) {
    uint8_t *byte = (uint8_t *)p + i;
    switch (type) {
        POSENC_EACH_FORMAT(POSENC_CASE)
        break;
    case POSENC_F8_E4M3:
        n == VF ? v_store_f8_e4m3(byte, a) : v_store_f8_e4m3_n(byte, a, n);
        break;
        POSENC_EACH_FLOAT_TYPE(POSENC_CASE)
        store_typed(p, i, a, n, type);
        break;
    }
}

/* Bytes of n elements. */
V_INLINE size_t typed_bytes(size_t n, const posenc_dtype type) {
    return posenc_has_blocks(type) ? bytes_before(n, type) : n * (size_t)posenc_element_bytes(type);
}

/* Address of element i. Bodies hoist it, so that what is left inside their loops is a constant offset. */
V_INLINE const void *typed_at(const void *p, size_t i, const posenc_dtype type) {
    return (const char *)p + typed_bytes(i, type);
}

V_INLINE void *typed_out(void *p, size_t i, const posenc_dtype type) {
    return (char *)p + typed_bytes(i, type);
}

/* Marks a condition as rare: moves its code out of the loop. */
#define RARELY(condition) __builtin_expect(condition, 0)

/* Starts to fetch the lines of elements i .. i + n - 1 into the second cache, to read them or to write there soon.
 * Prefetching into the first cache, which other data needs, took 1.1 to 1.8 times as long for output (AMD Zen 4, beyond
 * 1 MB). Addresses are numbers here, because they may lie past the array. */
V_INLINE void fetch_typed(const void *p, size_t i, size_t n, const posenc_dtype type) {
    const size_t before = typed_bytes(i, type), bytes = typed_bytes(n, type);
    for (size_t byte = 0; byte < bytes; byte += 64)
        __builtin_prefetch((const void *)((uintptr_t)p + before + byte), 0, 2);
}

#endif
