/* SPDX-License-Identifier: MIT */
#include "truth_blocks.h"

#include <math.h>
#include <string.h>

#include "truth_half.h"

size_t truth_block_bytes(posenc_dtype type) {
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return 2 + TRUTH_BLOCK;
    case POSENC_Q4_0: return 2 + TRUTH_BLOCK / 2;
    }
    return 0;
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

double truth_block_most(posenc_dtype type) {
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return 127.0;
    case POSENC_Q4_0: return 8.0;
    }
    return 0.0;
}

static float scale_of(float largest, posenc_dtype type) {
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return (float)fabs((double)largest) / 127.0f;
    case POSENC_Q4_0: return largest / -8.0f;
    }
    return 0.0f;
}

/* The integer as it is stored. */
static int number_of(float product, posenc_dtype type) {
    float raised = product + 8.5f;
    int number = (int)floor((double)raised);
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return nearest(product);
    case POSENC_Q4_0: return number < 15 ? number : 15;
    }
    return 0;
}

static void write_numbers(const int *numbers, posenc_dtype type, unsigned char *y) {
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_BF16: break;
    case POSENC_Q8_0:
        for (int i = 0; i < TRUTH_BLOCK; i++)
            y[i] = (unsigned char)numbers[i];
        break;
    case POSENC_Q4_0:
        for (int i = 0; i < TRUTH_BLOCK / 2; i++)
            y[i] = (unsigned char)(numbers[i] + 16 * numbers[i + TRUTH_BLOCK / 2]);
        break;
    }
}

static void quantise_block(const float *x, posenc_dtype type, unsigned char *y) {
    int is_finite, numbers[TRUTH_BLOCK];
    float largest = first_largest(x, &is_finite), scale, reciprocal;
    scale = scale_of(largest, type);
    reciprocal = fabs((double)scale) > 0x1p-128 ? 1.0f / scale : 0.0f;
    uint16_t half = is_finite ? truth_narrow(scale, POSENC_F16) : 0x7e00;
    for (int i = 0; i < TRUTH_BLOCK; i++) {
        float product = is_finite ? x[i] * reciprocal : 0.0f;
        numbers[i] = number_of(product, type);
    }
    memcpy(y, &half, sizeof half);
    write_numbers(numbers, type, y + sizeof half);
}

void truth_quantise(const float *x, int64_t n, posenc_dtype type, void *y) {
    for (int64_t b = 0; b < n / TRUTH_BLOCK; b++)
        quantise_block(x + b * TRUTH_BLOCK, type, (unsigned char *)y + (size_t)b * truth_block_bytes(type));
}

static const unsigned char *block_of(const void *row, int64_t i, posenc_dtype type) {
    return (const unsigned char *)row + (size_t)(i / TRUTH_BLOCK) * truth_block_bytes(type);
}

int truth_block_number(const void *row, int64_t i, posenc_dtype type) {
    const unsigned char *numbers = block_of(row, i, type) + 2;
    int64_t at = i % TRUTH_BLOCK, half = TRUTH_BLOCK / 2;
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return numbers[at] < 128 ? numbers[at] : numbers[at] - 256;
    case POSENC_Q4_0: return (at < half ? numbers[at] % 16 : numbers[at - half] / 16) - 8;
    }
    return 0;
}

double truth_read_block(const void *row, int64_t i, posenc_dtype type) {
    uint16_t bits;
    memcpy(&bits, block_of(row, i, type), sizeof bits);
    return (double)truth_widen(bits, POSENC_F16) * truth_block_number(row, i, type);
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
