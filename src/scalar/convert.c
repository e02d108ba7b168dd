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
            float z = posenc_load(x, i, a->x_type) * head_factor;
            posenc_store(y, i, z * (weight * a->factor), a->y_type);
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
    int8_t *numbers = (int8_t *)block + sizeof(uint16_t);
    float scale = fabsf(largest_of(x)) / 127.0f, reciprocal = reciprocal_of(scale);
    write_scale(block, scale);
    for (size_t c = 0; c < POSENC_QUANT_BLOCK; c++)
        numbers[c] = isnan(scale) ? 0 : (int8_t)nearest(x[c] * reciprocal);
}

static int nibble_of(float x, float scale, float reciprocal) {
    int number = isnan(scale) ? 8 : (int)(x * reciprocal + 8.5f);
    return number > 15 ? 15 : number;
}

static void quantise_q4_0(const float x[POSENC_QUANT_BLOCK], char *block) {
    enum { HALF = POSENC_QUANT_BLOCK / 2 };
    uint8_t *numbers = (uint8_t *)block + sizeof(uint16_t);
    float scale = largest_of(x) / -8.0f, reciprocal = reciprocal_of(scale);
    write_scale(block, scale);
    for (size_t c = 0; c < HALF; c++)
        numbers[c] = (uint8_t)(nibble_of(x[c], scale, reciprocal) | nibble_of(x[c + HALF], scale, reciprocal) << 4);
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
