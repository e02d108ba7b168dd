/* SPDX-License-Identifier: MIT */
/* SIMD body of the conversion; src/scalar/convert.c is the specification.
 * Needs: vec.h. Produces: convert_rows, quantise_rows. Used by: avx2, avx512, neon. */
#include "vec.h"

#include <string.h>

#include "simd/typed.h"
#include "kernels/variant.h"

/* n <= VF channels of a head, from channel i on. */
V_INLINE void convert_some(const posenc_convert_args *a, const char *x, char *y, size_t i, size_t n, vf head_factor,
                           const posenc_dtype x_type, const posenc_dtype y_type, const int is_normed) {
    vf factor = v_set1(a->factor), value = load_typed(x, i, n, x_type);
    if (is_normed) {
        factor = v_mul(load_typed(a->weight, i, n, POSENC_F32), factor);
        value = v_mul(value, head_factor);
    }
    store_typed(y, i, v_mul(value, factor), n, y_type);
}

V_INLINE void convert(const posenc_convert_args *a, const posenc_dtype x_type, const posenc_dtype y_type,
                      const int is_normed) {
    const char *x = a->x;
    char *y = a->y;
    for (size_t h = 0; h < a->n_heads; h++) {
        vf head_factor = v_set1(is_normed ? a->head_factors[h] : 1.0f);
        size_t i = 0;
        if (a->y_ahead != 0)
            fetch_typed(y + a->y_ahead, 0, a->n, y_type);
        for (; i + VF <= a->n; i += VF)
            convert_some(a, x, y, i, VF, head_factor, x_type, y_type, is_normed);
        if (i < a->n)
            convert_some(a, x, y, i, a->n - i, head_factor, x_type, y_type, is_normed);
        x += a->x_stride;
        y += a->y_stride;
    }
}

void VARIANT(convert_rows)(const posenc_convert_args *args) {
    const posenc_convert_args a = *args; /* a copy: no store changes it */
    switch (POSENC_TYPE_PAIR(a.x_type, a.y_type)) {
#define CASE(x_type, y_type)                                                                                           \
    case POSENC_TYPE_PAIR(x_type, y_type):                                                                             \
        a.head_factors != NULL ? convert(&a, x_type, y_type, 1) : convert(&a, x_type, y_type, 0);                      \
        break;
        POSENC_EACH_TYPE_PAIR(CASE)
#undef CASE
#define CASE(type, ...)                                                                                                \
    case POSENC_TYPE_PAIR(type, POSENC_F32): convert(&a, type, POSENC_F32, 0); break;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
}

/* ---- Blocks ---- */

enum { BLOCK_VECTORS = POSENC_QUANT_BLOCK / VF, HALF_VECTORS = BLOCK_VECTORS / 2, INFINITE = 0x7f800000 };

/* Blocks on their way, as many as have their scales divided by one instruction: two divisions for each block alone took
 * 1.3 times as long. */
typedef struct blocks {
    const void *x[VF];
    int8_t *y[VF];
    int32_t largest[VF]; /* bits of the value of largest size; see largest_number() about its sign */
    uint16_t scales[VF];
    float reciprocals[VF];
} blocks;

V_INLINE vf value_of(const void *x, size_t v, const posenc_dtype type) {
    return load_typed(x, v * VF, VF, type);
}

/* The sign bit of the first of the values of that size. */
V_INLINE uint32_t sign_of_first(const void *x, int32_t size, const posenc_dtype type) {
    uint32_t largest = 0, negative = 0;
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        vf value = value_of(x, v, type);
        largest |= v_lane_bits(vi_lt(vi_set1(size - 1), vi_from_bits(v_abs(value)))) << (v * VF);
        negative |= v_lane_bits(vi_lt(vi_from_bits(value), vi_set1(0))) << (v * VF);
    }
    return negative >> __builtin_ctz(largest) << 31;
}

/* The value of largest size divided by its scale; positive if any sign becomes it. */
V_INLINE float largest_number(const posenc_dtype y_type) {
    switch (y_type) {
        POSENC_TAKES_NO_FLOATS;
    case POSENC_Q8_0: return 127.0f;
    case POSENC_Q4_0: return -8.0f;
    }
    return 1.0f;
}

/* Bits of sizes, as integers, are in the order of floats; infinity and NaN come last. */
V_INLINE int32_t largest_of(const void *x, const posenc_dtype x_type, const posenc_dtype y_type) {
    vi sizes = vi_set1(0);
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        sizes = vi_max(sizes, vi_from_bits(v_abs(value_of(x, v, x_type))));
    int32_t size = vi_max_lanes(sizes);
    return largest_number(y_type) > 0.0f ? size : (int32_t)((uint32_t)size | sign_of_first(x, size, x_type));
}

V_INLINE void find_scales(blocks *b, const posenc_dtype y_type) {
    vf largest = v_add(v_from_bits(vi_load(b->largest)), v_set1(0.0f)); /* -0 becomes 0 */
    vf scale = v_div(largest, v_set1(largest_number(y_type)));
    vm has_reciprocal = v_lt(v_set1(0x1p-128f), v_abs(scale));
    v_store_f16(b->scales, scale);
    v_store(b->reciprocals, v_select(has_reciprocal, v_div(v_set1(1.0f), scale), v_set1(0.0f)));
}

V_INLINE void write_q8_0(const void *x, vf reciprocal, int8_t *to, const posenc_dtype x_type) {
    vi numbers[BLOCK_VECTORS];
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        numbers[v] = vi_round_away(v_mul(value_of(x, v, x_type), reciprocal));
    vi_store_8(to, numbers, POSENC_QUANT_BLOCK);
}

V_INLINE void write_q4_0(const void *x, vf reciprocal, int8_t *to, const posenc_dtype x_type) {
    vi numbers[BLOCK_VECTORS], both[HALF_VECTORS];
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        vf value = v_add(v_mul(value_of(x, v, x_type), reciprocal), v_set1(8.5f));
        numbers[v] = vi_min(vi_trunc(value), vi_set1(15));
    }
    for (size_t v = 0; v < HALF_VECTORS; v++)
        both[v] = vi_add(vi_mul(numbers[v + HALF_VECTORS], vi_set1(16)), numbers[v]);
    vi_store_8(to, both, POSENC_QUANT_BLOCK / 2);
}

/* Writes a block with a value that is not finite: scale NaN, integers of 0. */
V_INLINE void write_nothing(int8_t *y, const posenc_dtype y_type) {
    const uint16_t nan = 0x7e00;
    memcpy(y, &nan, sizeof nan);
    switch (y_type) {
        POSENC_TAKES_NO_FLOATS;
    case POSENC_Q8_0: memset(y + sizeof nan, 0, POSENC_QUANT_BLOCK); break;
    case POSENC_Q4_0: memset(y + sizeof nan, 0x88, POSENC_QUANT_BLOCK / 2); break;
    }
}

V_INLINE void write_blocks(blocks *b, size_t n, const posenc_dtype x_type, const posenc_dtype y_type) {
    find_scales(b, y_type);
    for (size_t k = 0; k < n; k++) {
        int8_t *to = b->y[k] + sizeof b->scales[k];
        if ((b->largest[k] & INT32_MAX) >= INFINITE) {
            write_nothing(b->y[k], y_type);
            continue;
        }
        memcpy(b->y[k], &b->scales[k], sizeof b->scales[k]);
        switch (y_type) {
            POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, ...)                                                                                          \
    case type: write_##name(b->x[k], v_set1(b->reciprocals[k]), to, x_type); break;
            POSENC_EACH_FORMAT(CASE)
#undef CASE
        }
    }
}

V_INLINE void quantise(const posenc_quantise_args *a, const posenc_dtype x_type, const posenc_dtype y_type) {
    const size_t bytes = (size_t)posenc_block_bytes(y_type);
    blocks b;
    memset(b.largest, 0, sizeof b.largest); /* what the last blocks lack is divided too */
    size_t k = 0;
    for (size_t h = 0; h < a->n_heads; h++) {
        const char *x = (const char *)a->x + (ptrdiff_t)h * a->x_stride;
        int8_t *y = (int8_t *)a->y + (ptrdiff_t)h * a->y_stride;
        for (size_t i = 0; i < a->n; i += POSENC_QUANT_BLOCK, y += bytes) {
            b.x[k] = typed_at(x, i, x_type);
            b.y[k] = y;
            b.largest[k] = largest_of(b.x[k], x_type, y_type);
            if (++k == VF) {
                write_blocks(&b, VF, x_type, y_type);
                k = 0;
            }
        }
    }
    write_blocks(&b, k, x_type, y_type);
}

V_INLINE void quantise_from(const posenc_quantise_args *a, const posenc_dtype x_type) {
    switch (a->y_type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, ...)                                                                                                \
    case type: quantise(a, x_type, type); break;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
}

void VARIANT(quantise_rows)(const posenc_quantise_args *args) {
    const posenc_quantise_args a = *args; /* a copy: no store changes it */
    switch (a.x_type) {
        POSENC_TAKES_NO_BLOCKS;
    case POSENC_F32: quantise_from(&a, POSENC_F32); break;
    case POSENC_F16: quantise_from(&a, POSENC_F16); break;
    case POSENC_BF16: quantise_from(&a, POSENC_BF16); break;
    }
}
