/* SPDX-License-Identifier: MIT */
/* Scalar conversion: the specification. */
#include <math.h>

#include "kernels/half.h"
#include "kernels/variant.h"

void VARIANT(convert_rows)(const posenc_convert_args *a) {
    for (size_t h = 0; h < a->n_heads; h++) {
        const char *x = (const char *)a->x + (ptrdiff_t)h * a->x_stride;
        char *y = (char *)a->y + (ptrdiff_t)h * a->y_stride;
        float head_factor = a->head_factors != NULL ? a->head_factors[h] : 1.0f;
        for (size_t i = 0; i < a->n; i++) {
            float weight = a->weight != NULL ? a->weight[i] : 1.0f;
            float z = posenc_load_stored(x, i, a->x_type) * head_factor;
            posenc_store_plain(y, i, z * (weight * a->factor), a->y_type);
        }
    }
}

/* ---- Blocks ---- */

/* The value of largest size, of several the first; NaN if one is not finite. */
static float largest_of(const float x[POSENC_QUANT_BLOCK]) {
    float largest = 0.0f;
    for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++) {
        if (!isfinite(x[c]))
            return NAN;
        if (fabsf(x[c]) > fabsf(largest))
            largest = x[c];
    }
    return largest;
}

static float reciprocal_of(float scale) {
    float reciprocal = scale != 0.0f ? 1.0f / scale : 0.0f;
    return isinf(reciprocal) ? 0.0f : reciprocal;
}

static void write_scale(char *block, float scale) {
    *(uint16_t *)(void *)block = isnan(scale) ? 0x7e00 : posenc_to_f16(scale);
}

/* The nearest whole number, of two the one farther from 0, for |x| < 2^30. Not roundf: mingw-w64's makes 1 of the
 * number below 0.5. */
static int nearest(float x) {
    int whole = (int)x;
    float rest = x - (float)whole; /* exact */
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

static void quantise_q8_0(const float x[POSENC_QUANT_BLOCK], char *block) {
    int8_t *numbers = (int8_t *)block + posenc_header_bytes(POSENC_Q8_0);
    float scale = fabsf(largest_of(x)) / 127.0f, reciprocal = reciprocal_of(scale);
    write_scale(block, scale);
    for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++)
        numbers[c] = isnan(scale) ? 0 : (int8_t)nearest(x[c] * reciprocal);
}

/* Writes places in the format's table, 0 .. 15 or 0 .. 31. */
static void write_places(const int places[POSENC_QUANT_BLOCK], char *block, posenc_dtype type) {
    enum { HALF = POSENC_QUANT_BLOCK / 2 };
    uint8_t *at = (uint8_t *)block + posenc_header_bytes(type);
    uint32_t bits = 0;
    if (posenc_packing_of(type) == POSENC_IN_FIVE_BITS) {
        for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++)
            bits |= (uint32_t)(places[c] >> 4) << c;
        memcpy(at, &bits, sizeof bits);
        at += sizeof bits;
    }
    for (size_t c = 0; c < HALF; c++)
        at[c] = (uint8_t)((places[c] & 15) | (places[c + HALF] & 15) << 4);
}

/* The value of largest size becomes the integer -n of 2 n. */
static inline __attribute__((always_inline)) void quantise_even(const float x[POSENC_QUANT_BLOCK], char *block, int n,
                                                                posenc_dtype type) {
    int places[POSENC_QUANT_BLOCK];
    float scale = largest_of(x) / (float)-n, reciprocal = reciprocal_of(scale);
    write_scale(block, scale);
    for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++) {
        int place = isnan(scale) ? n : (int)(x[c] * reciprocal + ((float)n + 0.5f));
        places[c] = place > 2 * n - 1 ? 2 * n - 1 : place;
    }
    write_places(places, block, type);
}

static void quantise_q4_0(const float x[POSENC_QUANT_BLOCK], char *block) {
    quantise_even(x, block, 8, POSENC_Q4_0);
}

static void quantise_q5_0(const float x[POSENC_QUANT_BLOCK], char *block) {
    quantise_even(x, block, 16, POSENC_Q5_0);
}

/* The least value, of several the first, and how far the others rise above it; NaN if one is not finite. */
static float range_of(const float x[POSENC_QUANT_BLOCK], float *least) {
    float most = x[0];
    *least = x[0];
    for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++) {
        if (!isfinite(x[c]))
            return NAN;
        if (x[c] < *least)
            *least = x[c];
        if (x[c] > most)
            most = x[c];
    }
    return isfinite(most - *least) ? most - *least : NAN;
}

/* The least value becomes the integer 0, the largest becomes n. */
static void quantise_above(const float x[POSENC_QUANT_BLOCK], char *block, int n, posenc_dtype type) {
    int places[POSENC_QUANT_BLOCK];
    float least, scale = range_of(x, &least) / (float)n, reciprocal = reciprocal_of(scale);
    write_scale(block, scale);
    write_scale(block + sizeof(uint16_t), isnan(scale) ? 0.0f : least);
    for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++) {
        int place = isnan(scale) ? 0 : (int)((x[c] - least) * reciprocal + 0.5f);
        places[c] = place > n ? n : place;
    }
    write_places(places, block, type);
}

static void quantise_q4_1(const float x[POSENC_QUANT_BLOCK], char *block) {
    quantise_above(x, block, 15, POSENC_Q4_1);
}

static void quantise_q5_1(const float x[POSENC_QUANT_BLOCK], char *block) {
    quantise_above(x, block, 31, POSENC_Q5_1);
}

/* Place of the nearest integer of a format with uneven ones, of two the larger. */
static int nearest_place(float x, const int8_t integers[16]) {
    int place = 0;
    while (place < 15 && x >= 0.5f * (float)(integers[place] + integers[place + 1]))
        place++;
    return place;
}

/* The value of largest size chooses the integers; the scale then fits them best, values by their squares. */
static void quantise_iq4_nl(const float x[POSENC_QUANT_BLOCK], char *block) {
    const int8_t *integers = posenc_integers_of(POSENC_IQ4_NL);
    float largest = largest_of(x), products = 0.0f, squares = 0.0f;
    int places[POSENC_QUANT_BLOCK], is_zero = fabsf(largest) < 1e-15f;
    float reciprocal = is_zero ? 0.0f : 1.0f / (largest / (float)integers[0]);
    for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++) {
        places[c] = nearest_place(x[c] * reciprocal, integers);
        float share = x[c] * x[c] * (float)integers[places[c]];
        products += share * x[c];
        squares += share * (float)integers[places[c]];
    }
    float scale = is_zero ? 0.0f : isnan(largest) ? NAN : products / squares;
    for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++)
        places[c] = isnan(scale) ? 8 : places[c];
    write_scale(block, scale);
    write_places(places, block, POSENC_IQ4_NL);
}

static void quantise(const float x[POSENC_QUANT_BLOCK], char *block, posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
#define CASE(type, name, ...)                                                                                          \
    case type: quantise_##name(x, block); break;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
}

void VARIANT(quantise_rows)(const posenc_quantise_args *a) {
    size_t bytes = (size_t)posenc_block_bytes(a->y_type);
    for (size_t h = 0; h < a->n_heads; h++)
        for (size_t b = 0; b < a->n / POSENC_QUANT_BLOCK; b++) {
            const char *x = (const char *)a->x + (ptrdiff_t)h * a->x_stride;
            char *block = (char *)a->y + (ptrdiff_t)h * a->y_stride + b * bytes;
            float values[POSENC_QUANT_BLOCK];
            for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++)
                values[c] = posenc_load(x, b * POSENC_QUANT_BLOCK + c, a->x_type);
            quantise(values, block, a->y_type);
        }
}
