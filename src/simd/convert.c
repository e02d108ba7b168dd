/* SPDX-License-Identifier: MIT */
/* SIMD body of the conversion; src/scalar/convert.c is the specification.
 * Needs: vec.h. Produces: convert_rows, quantise_rows. */
#include "vec.h"

#include <float.h>
#include <string.h>

#include "simd/typed.h"
#include "kernels/half.h"
#include "kernels/variant.h"

/* n <= VF channels of a head, from channel i on. */
V_INLINE vf converted(const posenc_convert_args *a, const char *x, size_t i, size_t n, vf head_factor,
                      const posenc_dtype x_type, const int is_normed) {
    vf value = load_typed(x, i, n, x_type), factor = v_set1(a->factor);
    if (is_normed) {
        factor = v_mul(load_typed(a->weight, i, n, POSENC_F32), factor);
        value = v_mul(value, head_factor);
    }
    return v_mul(value, factor);
}

/* By twos, f16 of 4 heads takes 0.75 to 0.88 of the time, bf16 1.05 times as long. */
V_INLINE void convert(const posenc_convert_args *a, const posenc_dtype x_type, const posenc_dtype y_type,
                      const int is_normed) {
    const int is_by_twos = x_type != POSENC_BF16 && y_type != POSENC_BF16;
    const char *x = a->x;
    char *y = a->y;
    for (size_t h = 0; h < a->n_heads; h++) {
        vf head_factor = v_set1(is_normed ? a->head_factors[h] : 1.0f);
        size_t i = 0;
        if (a->y_ahead != 0)
            fetch_typed(y + a->y_ahead, 0, a->n, y_type);
        for (; is_by_twos && i + 2 * VF <= a->n; i += 2 * VF) {
            vf first = converted(a, x, i, VF, head_factor, x_type, is_normed);
            vf second = converted(a, x, i + VF, VF, head_factor, x_type, is_normed);
            store_plain(y, i, first, VF, y_type);
            store_plain(y, i + VF, second, VF, y_type);
        }
        for (; !is_by_twos && i + VF <= a->n; i += VF)
            store_plain(y, i, converted(a, x, i, VF, head_factor, x_type, is_normed), VF, y_type);
        while (i < a->n) { /* twice at most; a branch for each instead takes 1.05 times as long (AMD Zen 4) */
            size_t n = a->n - i < VF ? a->n - i : VF;
            store_plain(y, i, converted(a, x, i, n, head_factor, x_type, is_normed), n, y_type);
            i += n;
        }
        x += a->x_stride;
        y += a->y_stride;
    }
}

/* Formats and float8 have a function of their own, so that floats set up nothing for them. */
static __attribute__((noinline)) void convert_cache_type(const posenc_convert_args *args) {
    const posenc_convert_args a = *args; /* a copy: no store changes it */
    switch (POSENC_TYPE_PAIR(a.x_type, a.y_type)) {
#define CASE(type, ...)                                                                                                \
    case POSENC_TYPE_PAIR(type, POSENC_F32): convert(&a, type, POSENC_F32, 0); break;
        POSENC_EACH_FORMAT(CASE)
        POSENC_EACH_FLOAT8_TYPE(CASE)
#undef CASE
#define CASE(type, ...)                                                                                                \
    case POSENC_TYPE_PAIR(POSENC_F32, type): convert(&a, POSENC_F32, type, 0); break;                                  \
    case POSENC_TYPE_PAIR(POSENC_F16, type): convert(&a, POSENC_F16, type, 0); break;                                  \
    case POSENC_TYPE_PAIR(POSENC_BF16, type): convert(&a, POSENC_BF16, type, 0); break;
        POSENC_EACH_FLOAT8_TYPE(CASE)
#undef CASE
    }
}

void VARIANT(convert_rows)(const posenc_convert_args *args) {
    const posenc_convert_args a = *args;
    switch (POSENC_TYPE_PAIR(a.x_type, a.y_type)) {
#define CASE(x_type, y_type)                                                                                           \
    case POSENC_TYPE_PAIR(x_type, y_type):                                                                             \
        a.head_factors != NULL ? convert(&a, x_type, y_type, 1) : convert(&a, x_type, y_type, 0);                      \
        break;
        POSENC_EACH_TYPE_PAIR(CASE)
#undef CASE
    default: convert_cache_type(args); break;
    }
}

/* ---- Blocks ---- */

enum {
    QUADS = POSENC_QUANT_BLOCK / 4,
    BLOCK_VECTORS = POSENC_QUANT_BLOCK / VF,
    HALF_VECTORS = BLOCK_VECTORS / 2,
    INFINITE = 0x7f800000
};

/* Blocks on their way, as many as have their scales divided by one instruction: two divisions for each block alone took
 * 1.3 times as long. */
typedef struct blocks {
    const void *x[VF];
    int8_t *y[VF];
    int32_t spans[VF]; /* bits of what number_of_span() becomes; infinite or NaN: of a block that is not finite */
    float leasts[VF];  /* of a format with offsets */
    float scales[VF], reciprocals[VF];
    int32_t words[QUADS / 2][VF]; /* nibbles, where a search for the scales finds them */
} blocks;

V_INLINE vf value_of(const void *x, size_t v, const posenc_dtype type) {
    return load_typed(x, v * VF, VF, type);
}

/* The sign bit of the first value of the largest size, or of the first zero. */
V_INLINE uint32_t sign_of_first(const void *x, int32_t largest, const int of_zeros, const posenc_dtype type) {
    uint32_t found = 0, negative = 0;
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        vf value = value_of(x, v, type);
        vi of_value = vi_from_bits(v_abs(value));
        vm is_found = of_zeros ? vi_lt(of_value, vi_set1(1)) : vi_lt(vi_set1(largest - 1), of_value);
        found |= v_lane_bits(is_found) << (v * VF);
        negative |= v_lane_bits(vi_lt(vi_from_bits(value), vi_set1(0))) << (v * VF);
    }
    return negative >> __builtin_ctz(found) << 31;
}

/* The number that the span of a block becomes: the value of largest size, or in a format with offsets the largest value
 * above the least. Positive if any sign of the span becomes it. */
V_INLINE float number_of_span(const posenc_dtype y_type) {
    switch (y_type) {
        POSENC_TAKES_NO_FLOATS;
    case POSENC_Q8_0: return 127.0f;
    case POSENC_Q4_0: return -8.0f;
    case POSENC_Q5_0: return -16.0f;
    case POSENC_Q4_1: return 15.0f;
    case POSENC_Q5_1: return 31.0f;
    case POSENC_IQ4_NL: return -127.0f;
    }
    return 1.0f;
}

/* The least value and how far the largest is above it. The first of several zeros gives its sign. */
V_INLINE int32_t range_of(const void *x, float *least, const posenc_dtype x_type) {
    vf above = v_set1(-FLT_MAX), below = v_set1(-FLT_MAX);
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        vf value = value_of(x, v, x_type);
        above = v_max(value, above);
        below = v_max(v_neg(value), below);
    }
    *least = -v_max_lanes(below);
    if (*least == 0.0f)
        *least = sign_of_first(x, 0, 1, x_type) != 0 ? -0.0f : 0.0f;
    return (int32_t)posenc_bits(v_max_lanes(above) - *least);
}

/* Bits of sizes, as integers, are in the order of floats; infinity and NaN come last. */
V_INLINE void find_span(blocks *b, size_t k, const posenc_dtype x_type, const posenc_dtype y_type) {
    const void *x = b->x[k];
    vi sizes = vi_set1(0);
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        sizes = vi_max(sizes, vi_from_bits(v_abs(value_of(x, v, x_type))));
    int32_t size = vi_max_lanes(sizes), span = size; /* stored last: a store makes gcc load the values again */
    if (posenc_has_offset(y_type)) {
        if (size < INFINITE)
            span = range_of(x, &b->leasts[k], x_type);
    } else if (number_of_span(y_type) < 0.0f) {
        span = (int32_t)((uint32_t)size | sign_of_first(x, size, 0, x_type));
    }
    b->spans[k] = span;
}

V_INLINE vf spans_of(const blocks *b) {
    return v_add(v_from_bits(vi_load(b->spans)), v_set1(0.0f)); /* -0 becomes 0 */
}

/* Scales that make the number of the span. */
V_INLINE void find_scales(blocks *b, const posenc_dtype y_type) {
    vf scale = v_div(spans_of(b), v_set1(number_of_span(y_type)));
    vm has_reciprocal = v_lt(v_set1(0x1p-128f), v_abs(scale));
    v_store(b->scales, scale);
    v_store(b->reciprocals, v_select(has_reciprocal, v_div(v_set1(1.0f), scale), v_set1(0.0f)));
}

/* Place of the nearest of uneven integers, and that integer. Adds 256 and the step to the next integer for each middle
 * between two that is not above x. */
V_INLINE vi nearest_place(vf x, const int8_t *integers, vf *integer) {
    vf sum = v_set1(0.0f);
    for (size_t k = 0; k < 15; k++) {
        vm is_below = v_lt(x, v_set1(0.5f * (float)(integers[k] + integers[k + 1])));
        sum = v_add(sum, v_zero_if(is_below, v_set1((float)(256 + integers[k + 1] - integers[k]))));
    }
    vi place = vi_trunc(v_mul(sum, v_set1(0x1p-8f)));
    *integer = v_add(v_fma(v_from_int(place), v_set1(-256.0f), sum), v_set1((float)integers[0]));
    return place;
}

/* Sums of a search for scales: a block is a lane. */
typedef struct fit {
    vf reciprocals, products, squares;
    vi words[QUADS / 2];
} fit;

V_INLINE void fit_channel(fit *f, vf x, size_t c, const posenc_dtype y_type) {
    const size_t half = POSENC_QUANT_BLOCK / 2, at = c % half;
    vf integer;
    vi place = nearest_place(v_mul(x, f->reciprocals), posenc_integers_of(y_type), &integer);
    vf share = v_mul(v_mul(x, x), integer);
    f->products = v_add(f->products, v_mul(share, x));
    f->squares = v_add(f->squares, v_mul(share, integer));
    vi shift = vi_set1((int32_t)((c < half ? UINT32_C(1) : UINT32_C(16)) << at % 4 * 8));
    f->words[at / 4] = vi_add(f->words[at / 4], vi_mul(place, shift));
}

/* Chooses integers by the values of largest size, then scales that fit them best, values by their squares. */
V_INLINE void fit_scales(blocks *b, size_t n, const posenc_dtype x_type, const posenc_dtype y_type) {
    vf spans = spans_of(b), zero = v_set1(0.0f);
    vm is_zero = v_lt(v_abs(spans), v_set1(1e-15f));
    vf scales = v_div(spans, v_set1(number_of_span(y_type)));
    fit f = {.reciprocals = v_zero_if(is_zero, v_div(v_set1(1.0f), scales)), .products = zero, .squares = zero};
    for (size_t k = 0; k < QUADS / 2; k++)
        f.words[k] = vi_set1(0);
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        vf rows[VF];
        for (size_t k = 0; k < VF; k++)
            rows[k] = value_of(b->x[k < n ? k : 0], v, x_type);
        v_transpose(rows);
        for (size_t k = 0; k < VF; k++)
            fit_channel(&f, rows[k], v * VF + k, y_type);
    }
    v_store(b->scales, v_zero_if(is_zero, v_div(f.products, f.squares)));
    for (size_t k = 0; k < QUADS / 2; k++)
        vi_store(b->words[k], f.words[k]);
    for (size_t k = 0; k < n; k++)
        if (b->scales[k] != b->scales[k]) /* sums that overflow */
            b->spans[k] = INFINITE;
}

V_INLINE void write_q8_0(const blocks *b, size_t k, int8_t *to, const posenc_dtype x_type) {
    vi numbers[BLOCK_VECTORS];
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        numbers[v] = vi_round_away(v_mul(value_of(b->x[k], v, x_type), v_set1(b->reciprocals[k])));
    vi_store_8(to, numbers, POSENC_QUANT_BLOCK);
}

/* Low bits of places in the format's table. */
V_INLINE void write_nibbles(const vi places[BLOCK_VECTORS], int8_t *to) {
    vi both[HALF_VECTORS];
    for (size_t v = 0; v < HALF_VECTORS; v++)
        both[v] = vi_add(vi_mul(places[v + HALF_VECTORS], vi_set1(16)), places[v]);
    vi_store_8(to, both, POSENC_QUANT_BLOCK / 2);
}

/* The fifth bits, then the others. */
V_INLINE void write_five_bits(vi places[BLOCK_VECTORS], int8_t *to) {
    uint32_t bits = 0;
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        vm is_high = vi_lt(vi_set1(15), places[v]);
        bits |= v_lane_bits(is_high) << (v * VF);
        places[v] = vi_sub(places[v], vi_from_bits(v_select(is_high, v_from_bits(vi_set1(16)), v_set1(0.0f))));
    }
    memcpy(to, &bits, sizeof bits);
    write_nibbles(places, to + sizeof bits);
}

V_INLINE void write_places(vi places[BLOCK_VECTORS], int8_t *to, const posenc_dtype y_type) {
    switch (posenc_packing_of(y_type)) {
    case POSENC_IN_BYTES: break;
    case POSENC_IN_NIBBLES: write_nibbles(places, to); break;
    case POSENC_IN_FIVE_BITS: write_five_bits(places, to); break;
    }
}

/* Integers from -n to n - 1. */
V_INLINE void write_even(const blocks *b, size_t k, int8_t *to, int n, const posenc_dtype x_type,
                         const posenc_dtype y_type) {
    const void *x = b->x[k];
    vf reciprocal = v_set1(b->reciprocals[k]);
    vi places[BLOCK_VECTORS];
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        vf value = v_mul(value_of(x, v, x_type), reciprocal);
        places[v] = vi_min(vi_trunc(v_add(value, v_set1((float)n + 0.5f))), vi_set1(2 * n - 1));
    }
    write_places(places, to, y_type);
}

V_INLINE void write_q4_0(const blocks *b, size_t k, int8_t *to, const posenc_dtype x_type) {
    write_even(b, k, to, 8, x_type, POSENC_Q4_0);
}

V_INLINE void write_q5_0(const blocks *b, size_t k, int8_t *to, const posenc_dtype x_type) {
    write_even(b, k, to, 16, x_type, POSENC_Q5_0);
}

/* Integers from 0, the least value, to n. */
V_INLINE void write_above(const blocks *b, size_t k, int8_t *to, int n, const posenc_dtype x_type,
                          const posenc_dtype y_type) {
    vi places[BLOCK_VECTORS];
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        vf above = v_sub(value_of(b->x[k], v, x_type), v_set1(b->leasts[k]));
        vf value = v_add(v_mul(above, v_set1(b->reciprocals[k])), v_set1(0.5f));
        places[v] = vi_min(vi_trunc(value), vi_set1(n));
    }
    write_places(places, to, y_type);
}

V_INLINE void write_q4_1(const blocks *b, size_t k, int8_t *to, const posenc_dtype x_type) {
    write_above(b, k, to, 15, x_type, POSENC_Q4_1);
}

V_INLINE void write_q5_1(const blocks *b, size_t k, int8_t *to, const posenc_dtype x_type) {
    write_above(b, k, to, 31, x_type, POSENC_Q5_1);
}

V_INLINE void write_iq4_nl(const blocks *b, size_t k, int8_t *to, const posenc_dtype x_type) {
    (void)x_type; /* found with the scales */
    for (size_t quad = 0; quad < QUADS / 2; quad++)
        memcpy(to + 4 * quad, &b->words[quad][k], sizeof b->words[quad][k]);
}

/* Writes a block with a value that is not finite: scale NaN, integers of 0, or the nearest to it, and no offset. */
V_INLINE void write_nothing(int8_t *y, const posenc_dtype y_type) {
    const uint16_t header[2] = {0x7e00, 0};
    int8_t *to = y + posenc_header_bytes(y_type);
    memcpy(y, header, posenc_header_bytes(y_type));
    switch (y_type) {
        POSENC_TAKES_NO_FLOATS;
    case POSENC_Q8_0: memset(to, 0, POSENC_QUANT_BLOCK); break;
    case POSENC_Q4_0:
    case POSENC_IQ4_NL: memset(to, 0x88, POSENC_QUANT_BLOCK / 2); break;
    case POSENC_Q5_0:
        memset(to, 0xff, sizeof(uint32_t));
        memset(to + sizeof(uint32_t), 0, POSENC_QUANT_BLOCK / 2);
        break;
    case POSENC_Q4_1: memset(to, 0, POSENC_QUANT_BLOCK / 2); break;
    case POSENC_Q5_1: memset(to, 0, sizeof(uint32_t) + POSENC_QUANT_BLOCK / 2); break;
    }
}

V_INLINE void choose_scales(blocks *b, size_t n, const posenc_dtype x_type, const posenc_dtype y_type) {
    switch (y_type) {
        POSENC_TAKES_NO_FLOATS;
    case POSENC_Q8_0:
    case POSENC_Q4_0:
    case POSENC_Q5_0:
    case POSENC_Q4_1:
    case POSENC_Q5_1: find_scales(b, y_type); break;
    case POSENC_IQ4_NL: fit_scales(b, n, x_type, y_type); break;
    }
}

V_INLINE void write_blocks(blocks *b, size_t n, const posenc_dtype x_type, const posenc_dtype y_type) {
    uint16_t scales[VF], offsets[VF];
    if (n == 0)
        return;
    choose_scales(b, n, x_type, y_type);
    v_store_f16(scales, v_load(b->scales));
    if (posenc_has_offset(y_type))
        v_store_f16(offsets, v_load(b->leasts));
    for (size_t k = 0; k < n; k++) {
        int8_t *to = b->y[k] + posenc_header_bytes(y_type);
        if ((b->spans[k] & INT32_MAX) >= INFINITE) {
            write_nothing(b->y[k], y_type);
            continue;
        }
        memcpy(b->y[k], &scales[k], sizeof scales[k]);
        if (posenc_has_offset(y_type))
            memcpy(b->y[k] + sizeof scales[k], &offsets[k], sizeof offsets[k]);
        switch (y_type) {
            POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, ...)                                                                                          \
    case type: write_##name(b, k, to, x_type); break;
            POSENC_EACH_FORMAT(CASE)
#undef CASE
        }
    }
}

V_INLINE void quantise(const posenc_quantise_args *a, const posenc_dtype x_type, const posenc_dtype y_type) {
    const size_t bytes = (size_t)posenc_block_bytes(y_type);
    blocks b;
    memset(b.spans, 0, sizeof b.spans); /* spans that the last blocks lack are divided too */
    memset(b.leasts, 0, sizeof b.leasts);
    size_t k = 0;
    for (size_t h = 0; h < a->n_heads; h++) {
        const char *x = (const char *)a->x + (ptrdiff_t)h * a->x_stride;
        int8_t *y = (int8_t *)a->y + (ptrdiff_t)h * a->y_stride;
        for (size_t i = 0; i < a->n; i += POSENC_QUANT_BLOCK, y += bytes) {
            b.x[k] = typed_at(x, i, x_type);
            b.y[k] = y;
            find_span(&b, k, x_type, y_type);
            if (++k == VF) {
                write_blocks(&b, VF, x_type, y_type);
                k = 0;
            }
        }
    }
    write_blocks(&b, k, x_type, y_type);
}

V_INLINE void quantise_to(const posenc_quantise_args *a, const posenc_dtype y_type) {
    switch (a->x_type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: quantise(a, POSENC_F32, y_type); break;
    case POSENC_F16: quantise(a, POSENC_F16, y_type); break;
    case POSENC_BF16: quantise(a, POSENC_BF16, y_type); break;
    }
}

/* One function for each format, as pack.c has for each type. */
#define QUANTISE(type, name, ...)                                                                                      \
    static __attribute__((noinline)) void quantise_##name(const posenc_quantise_args *args) {                          \
        const posenc_quantise_args a = *args; /* a copy: no store changes it */                                        \
        quantise_to(&a, type);                                                                                         \
    }
POSENC_EACH_FORMAT(QUANTISE)

void VARIANT(quantise_rows)(const posenc_quantise_args *args) {
    switch (args->y_type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, ...)                                                                                          \
    case type: quantise_##name(args); break;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
}
