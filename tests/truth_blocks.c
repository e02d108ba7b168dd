/* SPDX-License-Identifier: MIT */
#include "truth_blocks.h"

#include <math.h>
#include <string.h>

#include "truth_half.h"

enum { FIFTH_BITS = TRUTH_BLOCK / 8, NIBBLES = TRUTH_BLOCK / 2 };

size_t truth_block_header(posenc_dtype type) {
    return type == POSENC_Q4_1 || type == POSENC_Q5_1 ? 4 : 2;
}

size_t truth_block_bytes(posenc_dtype type) {
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_F8_E4M3:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return truth_block_header(type) + TRUTH_BLOCK;
    case POSENC_Q4_0:
    case POSENC_Q4_1:
    case POSENC_IQ4_NL: return truth_block_header(type) + NIBBLES;
    case POSENC_Q5_0:
    case POSENC_Q5_1: return truth_block_header(type) + FIFTH_BITS + NIBBLES;
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
    case POSENC_F8_E4M3:
    case POSENC_BF16: break;
    case POSENC_Q8_0:
    case POSENC_IQ4_NL: return 127.0;
    case POSENC_Q4_0: return 8.0;
    case POSENC_Q5_0: return 16.0;
    case POSENC_Q4_1: return 15.0;
    case POSENC_Q5_1: return 31.0;
    }
    return 0.0;
}

/* The first of the least, and the largest. */
static void find_range(const float *x, float *least, float *largest) {
    *least = *largest = x[0];
    for (int i = 1; i < TRUTH_BLOCK; i++) {
        *least = x[i] < *least ? x[i] : *least;
        *largest = x[i] > *largest ? x[i] : *largest;
    }
}

/* Largest error of a number in half precision. */
static double rounding_of(double x) {
    return fmax(0x1p-11 * fabs(x), 0x1p-25);
}

double truth_block_error(const float *x, posenc_dtype type) {
    int is_finite;
    float least, most_value;
    find_range(x, &least, &most_value);
    double largest = fabs((double)first_largest(x, &is_finite)), most = truth_block_most(type);
    double scale = largest / most, range = ((double)most_value - (double)least) / most;
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_F8_E4M3:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return scale < 65504.0 ? 0.5001 * scale + most * rounding_of(scale) : -1.0;
    case POSENC_Q4_0:
    case POSENC_Q5_0: return scale < 65504.0 ? 1.0001 * scale + most * rounding_of(scale) : -1.0;
    case POSENC_Q4_1:
    case POSENC_Q5_1:
        if (range >= 65504.0 || largest >= 65504.0)
            return -1.0;
        return 0.5001 * range + most * rounding_of(range) + rounding_of((double)least);
    case POSENC_IQ4_NL: return scale < 50000.0 ? 0.21 * largest + most * rounding_of(1.2 * scale) : -1.0;
    }
    return 0.0;
}

static float scale_of(float largest, posenc_dtype type) {
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_F8_E4M3:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return (float)fabs((double)largest) / 127.0f;
    case POSENC_Q4_0: return largest / -8.0f;
    case POSENC_Q5_0: return largest / -16.0f;
    case POSENC_Q4_1: return largest / 15.0f;
    case POSENC_Q5_1: return largest / 31.0f;
    case POSENC_IQ4_NL: return largest / -127.0f;
    }
    return 0.0f;
}

static const int uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* The larger one of two that are as near. */
static int nearest_uneven(float product) {
    int nearest_one = 0;
    for (int k = 1; k < 16; k++)
        if (fabs((double)product - uneven[k]) <= fabs((double)product - uneven[nearest_one]))
            nearest_one = k;
    return nearest_one;
}

static int at_most(int number, int most) {
    return number < most ? number : most;
}

/* The integer as it is stored. */
static int number_of(float product, posenc_dtype type) {
    float of_16 = product + 8.5f, of_32 = product + 16.5f, from_0 = product + 0.5f;
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_F8_E4M3:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return nearest(product);
    case POSENC_Q4_0: return at_most((int)floor((double)of_16), 15);
    case POSENC_Q5_0: return at_most((int)floor((double)of_32), 31);
    case POSENC_Q4_1: return at_most((int)floor((double)from_0), 15);
    case POSENC_Q5_1: return (int)floor((double)from_0);
    case POSENC_IQ4_NL: return nearest_uneven(product);
    }
    return 0;
}

/* Fifth bits, as a word in the order of bytes that the CPU has. */
static unsigned char *write_fifth_bits(const int *numbers, unsigned char *y) {
    uint32_t bits = 0;
    for (int i = 0; i < TRUTH_BLOCK; i++)
        bits += numbers[i] >= 16 ? (uint32_t)1 << i : 0;
    memcpy(y, &bits, sizeof bits);
    return y + sizeof bits;
}

static void write_nibbles(const int *numbers, unsigned char *y) {
    for (int i = 0; i < TRUTH_BLOCK / 2; i++)
        y[i] = (unsigned char)(numbers[i] % 16 + 16 * (numbers[i + TRUTH_BLOCK / 2] % 16));
}

static void write_numbers(const int *numbers, posenc_dtype type, unsigned char *y) {
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_F8_E4M3:
    case POSENC_BF16: break;
    case POSENC_Q8_0:
        for (int i = 0; i < TRUTH_BLOCK; i++)
            y[i] = (unsigned char)numbers[i];
        break;
    case POSENC_Q4_0:
    case POSENC_Q4_1:
    case POSENC_IQ4_NL: write_nibbles(numbers, y); break;
    case POSENC_Q5_0:
    case POSENC_Q5_1: write_nibbles(numbers, write_fifth_bits(numbers, y)); break;
    }
}

static void write_half(float x, int is_finite, unsigned char *y) {
    uint16_t half = is_finite && !isnan(x) ? truth_narrow(x, POSENC_F16) : 0x7e00;
    memcpy(y, &half, sizeof half);
}

/* Numbers of a block above a number that is subtracted before; 0 of a block that is not finite. */
static void find_numbers(const float *x, float below, float reciprocal, int is_finite, posenc_dtype type,
                         int *numbers) {
    for (int i = 0; i < TRUTH_BLOCK; i++) {
        float above = is_finite ? x[i] - below : 0.0f, product = above * reciprocal;
        numbers[i] = number_of(product, type);
    }
}

/* The scale that fits the integers best, each value by its square. */
static float fitted_scale(const float *x, const int *numbers) {
    float products = 0.0f, squares = 0.0f;
    for (int i = 0; i < TRUTH_BLOCK; i++) {
        float weight = x[i] * x[i], c = (float)uneven[numbers[i]];
        float by_c = weight * c, product = by_c * x[i], square = by_c * c;
        products = products + product;
        squares = squares + square;
    }
    return products / squares;
}

static void quantise_uneven(const float *x, unsigned char *y) {
    int is_finite, numbers[TRUTH_BLOCK];
    float largest = first_largest(x, &is_finite), fitted = 0.0f;
    int counts = is_finite && fabsf(largest) >= 1e-15f;
    float reciprocal = counts ? 1.0f / scale_of(largest, POSENC_IQ4_NL) : 0.0f;
    find_numbers(x, 0.0f, reciprocal, is_finite, POSENC_IQ4_NL, numbers);
    if (counts)
        fitted = fitted_scale(x, numbers);
    if (isnan(fitted))
        find_numbers(x, 0.0f, 0.0f, 0, POSENC_IQ4_NL, numbers);
    write_half(fitted, is_finite, y);
    write_numbers(numbers, POSENC_IQ4_NL, y + sizeof(uint16_t));
}

static void quantise_block(const float *x, posenc_dtype type, unsigned char *y) {
    int is_finite, numbers[TRUTH_BLOCK], has_offset = truth_block_header(type) > 2;
    float least = 0.0f, largest = first_largest(x, &is_finite);
    if (type == POSENC_IQ4_NL) {
        quantise_uneven(x, y);
        return;
    }
    if (has_offset && is_finite) {
        find_range(x, &least, &largest);
        largest = largest - least;
        is_finite = !isinf(largest);
    }
    float scale = scale_of(largest, type), reciprocal = fabs((double)scale) > 0x1p-128 ? 1.0f / scale : 0.0f;
    find_numbers(x, least, is_finite ? reciprocal : 0.0f, is_finite, type, numbers);
    write_half(scale, is_finite, y);
    if (has_offset)
        write_half(is_finite ? least : 0.0f, 1, y + sizeof(uint16_t));
    write_numbers(numbers, type, y + truth_block_header(type));
}

void truth_quantise(const float *x, int64_t n, posenc_dtype type, void *y) {
    for (int64_t b = 0; b < n / TRUTH_BLOCK; b++)
        quantise_block(x + b * TRUTH_BLOCK, type, (unsigned char *)y + (size_t)b * truth_block_bytes(type));
}

static const unsigned char *block_of(const void *row, int64_t i, posenc_dtype type) {
    return (const unsigned char *)row + (size_t)(i / TRUTH_BLOCK) * truth_block_bytes(type);
}

static int read_nibble(const unsigned char *nibbles, int64_t i) {
    return i < TRUTH_BLOCK / 2 ? nibbles[i] % 16 : nibbles[i - TRUTH_BLOCK / 2] / 16;
}

static int read_five_bits(const unsigned char *numbers, int64_t i) {
    uint32_t bits;
    memcpy(&bits, numbers, sizeof bits);
    return read_nibble(numbers + sizeof bits, i) + (bits / ((uint32_t)1 << i) % 2 ? 16 : 0);
}

int truth_block_number(const void *row, int64_t i, posenc_dtype type) {
    const unsigned char *numbers = block_of(row, i, type) + truth_block_header(type);
    int64_t at = i % TRUTH_BLOCK;
    switch (type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_F8_E4M3:
    case POSENC_BF16: break;
    case POSENC_Q8_0: return numbers[at] < 128 ? numbers[at] : numbers[at] - 256;
    case POSENC_Q4_0: return read_nibble(numbers, at) - 8;
    case POSENC_Q5_0: return read_five_bits(numbers, at) - 16;
    case POSENC_Q4_1: return read_nibble(numbers, at);
    case POSENC_Q5_1: return read_five_bits(numbers, at);
    case POSENC_IQ4_NL: return uneven[read_nibble(numbers, at)];
    }
    return 0;
}

double truth_read_block(const void *row, int64_t i, posenc_dtype type) {
    uint16_t header[2];
    memcpy(header, block_of(row, i, type), truth_block_header(type));
    double product = (double)truth_widen(header[0], POSENC_F16) * truth_block_number(row, i, type);
    return truth_block_header(type) > 2 ? product + (double)truth_widen(header[1], POSENC_F16) : product;
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
