/* SPDX-License-Identifier: MIT */
#include "truth_blocks.h"

#include <math.h>
#include <string.h>

#include "truth_half.h"

size_t truth_block_bytes(posenc_dtype type) {
    return type == POSENC_Q8_0 ? 2 + TRUTH_BLOCK : 2 + TRUTH_BLOCK / 2;
}

/* The first of those of largest size, and whether all are finite. */
static float first_largest(const float *x, int *is_finite) {
    float largest = 0.0f;
    *is_finite = 1;
    for (int i = 0; i < TRUTH_BLOCK; i++) {
        if (isnan(x[i]) || isinf(x[i]))
            *is_finite = 0;
        else if (fabs((double)x[i]) > fabs((double)largest))
            largest = x[i];
    }
    return largest;
}

/* Ties away from zero: in double half an integer is exact. */
static int nearest(float product) {
    double size = floor(fabs((double)product) + 0.5);
    return (int)(product < 0.0f ? -size : size);
}

static void quantise_block(const float *x, posenc_dtype type, unsigned char *y) {
    int is_finite, numbers[TRUTH_BLOCK];
    float largest = first_largest(x, &is_finite), scale, reciprocal;
    scale = type == POSENC_Q8_0 ? (float)fabs((double)largest) / 127.0f : largest / -8.0f;
    reciprocal = fabs((double)scale) > 0x1p-128 ? 1.0f / scale : 0.0f;
    uint16_t half = is_finite ? truth_narrow(scale, POSENC_F16) : 0x7e00;
    for (int i = 0; i < TRUTH_BLOCK; i++) {
        float product = is_finite ? x[i] * reciprocal : 0.0f;
        float raised = product + 8.5f;
        int number = (int)floor((double)raised);
        numbers[i] = type == POSENC_Q8_0 ? nearest(product) : number < 15 ? number : 15;
    }
    memcpy(y, &half, sizeof half);
    for (int i = 0; i < TRUTH_BLOCK && type == POSENC_Q8_0; i++)
        y[2 + i] = (unsigned char)numbers[i];
    for (int i = 0; i < TRUTH_BLOCK / 2 && type == POSENC_Q4_0; i++)
        y[2 + i] = (unsigned char)(numbers[i] + 16 * numbers[i + TRUTH_BLOCK / 2]);
}

void truth_quantise(const float *x, int64_t n, posenc_dtype type, void *y) {
    for (int64_t b = 0; b < n / TRUTH_BLOCK; b++)
        quantise_block(x + b * TRUTH_BLOCK, type, (unsigned char *)y + (size_t)b * truth_block_bytes(type));
}

double truth_read_block(const void *row, int64_t i, posenc_dtype type) {
    const unsigned char *block = (const unsigned char *)row + (size_t)(i / TRUTH_BLOCK) * truth_block_bytes(type);
    int64_t at = i % TRUTH_BLOCK, half = TRUTH_BLOCK / 2;
    uint16_t bits;
    memcpy(&bits, block, sizeof bits);
    double scale = (double)truth_widen(bits, POSENC_F16);
    if (type == POSENC_Q8_0)
        return scale * (block[2 + at] < 128 ? block[2 + at] : block[2 + at] - 256);
    return scale * ((at < half ? block[2 + at] % 16 : block[2 + at - half] / 16) - 8);
}

void truth_transform(float *x, int64_t n, int64_t size) {
    for (int64_t distance = 1; distance < size; distance *= 2)
        for (int64_t i = 0; i < n; i++)
            if (i / distance % 2 == 0) {
                float a = x[i], b = x[i + distance];
                x[i] = a + b;
                x[i + distance] = a - b;
            }
    for (int64_t i = 0; i < n; i++)
        x[i] *= (float)(1.0 / sqrt((double)size));
}
