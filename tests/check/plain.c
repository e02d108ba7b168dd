/* SPDX-License-Identifier: MIT */
#include "plain.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/half.h"
#include "kernels/kernels.h"

void plain_frequencies(float *inv_freq, size_t dim, float base) {
    for (size_t i = 0; i < dim / 2; i++)
        inv_freq[i] = powf(base, -2.0f * (float)i / (float)dim);
}

void plain_angles(const float *inv_freq, size_t n, int32_t position, float *cos_row, float *sin_row) {
    for (size_t i = 0; i < n; i++) {
        float angle = (float)position * inv_freq[i];
        cos_row[i] = cosf(angle);
        sin_row[i] = sinf(angle);
    }
}

static void rotate_half(float *x, size_t half, const float *cos_row, const float *sin_row) {
    for (size_t i = 0; i < half; i++) {
        float x0 = x[i], x1 = x[i + half], c = cos_row[i], s = sin_row[i];
        x[i] = x0 * c - x1 * s;
        x[i + half] = x1 * c + x0 * s;
    }
}

static void rotate_interleaved(float *x, size_t half, const float *cos_row, const float *sin_row) {
    for (size_t i = 0; i < half; i++) {
        float x0 = x[2 * i], x1 = x[2 * i + 1], c = cos_row[i], s = sin_row[i];
        x[2 * i] = x0 * c - x1 * s;
        x[2 * i + 1] = x1 * c + x0 * s;
    }
}

static float rms_factor(const float *x, size_t n, float eps) {
    float sum = 0.0f;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return 1.0f / sqrtf(sum / (float)n + eps);
}

static void normalise(float *x, size_t n, const float *weight, float eps) {
    float inverse = rms_factor(x, n, eps);
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * inverse * weight[i];
}

/* The types are constants in each loop. */
void plain_convert_row(const void *x, posenc_dtype x_type, void *y, posenc_dtype y_type, size_t n) {
    switch (POSENC_TYPE_PAIR(x_type, y_type)) {
#define CASE(from, to)                                                                                                 \
    case POSENC_TYPE_PAIR(from, to):                                                                                   \
        for (size_t i = 0; i < n; i++)                                                                                 \
            posenc_store(y, i, posenc_load(x, i, from), to);                                                           \
        break;
        POSENC_EACH_TYPE_PAIR(CASE)
#undef CASE
    }
}

/* Pairs that stand side by side come apart. */
static void convert_apart(const void *x, posenc_dtype x_type, float *y, size_t half) {
    for (size_t i = 0; i < half; i++) {
        y[i] = posenc_load(x, 2 * i, x_type);
        y[i + half] = posenc_load(x, 2 * i + 1, x_type);
    }
}

static void quantise_q8_0(const float *x, int8_t *y) {
    float most = 0.0f;
    for (size_t i = 0; i < POSENC_QUANT_BLOCK; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    float scale = most / 127.0f, reciprocal = scale > 0.0f ? 1.0f / scale : 0.0f;
    posenc_store(y, 0, scale, POSENC_F16);
    for (size_t i = 0; i < POSENC_QUANT_BLOCK; i++)
        y[2 + i] = (int8_t)roundf(x[i] * reciprocal);
}

enum { HALF_BLOCK = POSENC_QUANT_BLOCK / 2 };

/* Numbers 0 .. most of a block whose value of largest size is -(most + 1) / 2. */
static void find_even(const float *x, int most, uint8_t *y, int numbers[POSENC_QUANT_BLOCK]) {
    float largest = 0.0f, middle = (float)(most + 1) * 0.5f;
    for (size_t i = 0; i < POSENC_QUANT_BLOCK; i++)
        largest = fabsf(x[i]) > fabsf(largest) ? x[i] : largest;
    float scale = largest / -middle, reciprocal = scale != 0.0f ? 1.0f / scale : 0.0f;
    posenc_store(y, 0, scale, POSENC_F16);
    for (size_t i = 0; i < POSENC_QUANT_BLOCK; i++) {
        int number = (int)(x[i] * reciprocal + middle + 0.5f);
        numbers[i] = number < most ? number : most;
    }
}

static void write_nibbles(const int *numbers, uint8_t *y) {
    for (size_t i = 0; i < HALF_BLOCK; i++)
        y[i] = (uint8_t)((numbers[i] & 15) | (numbers[i + HALF_BLOCK] & 15) << 4);
}

static void write_five_bits(const int *numbers, uint8_t *y) {
    uint32_t bits = 0;
    for (size_t i = 0; i < POSENC_QUANT_BLOCK; i++)
        bits |= (uint32_t)(numbers[i] >> 4) << i;
    memcpy(y, &bits, sizeof bits);
    write_nibbles(numbers, y + sizeof bits);
}

static void quantise_q4_0(const float *x, uint8_t *y) {
    int numbers[POSENC_QUANT_BLOCK];
    find_even(x, 15, y, numbers);
    write_nibbles(numbers, y + 2);
}

static void quantise_q5_0(const float *x, uint8_t *y) {
    int numbers[POSENC_QUANT_BLOCK];
    find_even(x, 31, y, numbers);
    write_five_bits(numbers, y + 2);
}

/* Numbers 0 .. most of a block whose least value is 0. */
static void find_above(const float *x, int most, uint8_t *y, int numbers[POSENC_QUANT_BLOCK]) {
    float least = x[0], largest = x[0];
    for (size_t i = 1; i < POSENC_QUANT_BLOCK; i++) {
        least = x[i] < least ? x[i] : least;
        largest = x[i] > largest ? x[i] : largest;
    }
    float scale = (largest - least) / (float)most, reciprocal = scale != 0.0f ? 1.0f / scale : 0.0f;
    posenc_store(y, 0, scale, POSENC_F16);
    posenc_store(y, 1, least, POSENC_F16);
    for (size_t i = 0; i < POSENC_QUANT_BLOCK; i++)
        numbers[i] = (int)((x[i] - least) * reciprocal + 0.5f);
}

static void quantise_q4_1(const float *x, uint8_t *y) {
    int numbers[POSENC_QUANT_BLOCK];
    find_above(x, 15, y, numbers);
    write_nibbles(numbers, y + 4);
}

static void quantise_q5_1(const float *x, uint8_t *y) {
    int numbers[POSENC_QUANT_BLOCK];
    find_above(x, 31, y, numbers);
    write_five_bits(numbers, y + 4);
}

static void quantise_iq4_nl(const float *x, uint8_t *y) {
    const int8_t *integers = posenc_integers_of(POSENC_IQ4_NL);
    float largest = 0.0f, products = 0.0f, squares = 0.0f;
    int numbers[POSENC_QUANT_BLOCK];
    for (size_t i = 0; i < POSENC_QUANT_BLOCK; i++)
        largest = fabsf(x[i]) > fabsf(largest) ? x[i] : largest;
    float reciprocal = largest != 0.0f ? -127.0f / largest : 0.0f;
    for (size_t i = 0; i < POSENC_QUANT_BLOCK; i++) {
        int number = 0;
        while (number < 15 && 2.0f * x[i] * reciprocal >= (float)(integers[number] + integers[number + 1]))
            number++;
        numbers[i] = number;
        products += x[i] * x[i] * x[i] * (float)integers[number];
        squares += x[i] * x[i] * (float)(integers[number] * integers[number]);
    }
    posenc_store(y, 0, squares > 0.0f ? products / squares : 0.0f, POSENC_F16);
    write_nibbles(numbers, y + 2);
}

/* A finished head on its way out. */
static void write_row(const float *x, void *y, posenc_dtype y_type, size_t n) {
    switch (y_type) {
    case POSENC_F32:
    case POSENC_F16:
    case POSENC_BF16: plain_convert_row(x, POSENC_F32, y, y_type, n); break;
    case POSENC_F8_E4M3:
        for (size_t i = 0; i < n; i++)
            posenc_store_plain(y, i, x[i], y_type);
        break;
#define CASE(type, name, channels, bytes, ...)                                                                         \
    case type:                                                                                                         \
        for (size_t b = 0; b < n / (channels); b++)                                                                    \
            quantise_##name(x + b * (channels), (void *)((char *)y + b * (bytes)));                                    \
        break;
        POSENC_EACH_FORMAT(CASE)
#undef CASE
    }
}

/* In float32, which is the output or a buffer on its way there. */
static void one_head(const plain_heads *a, const void *x, void *y) {
    float buffer[PLAIN_MAX_HEAD], *work = a->y_type == POSENC_F32 ? y : buffer;
    if (a->n_rot > 0 && a->layout == POSENC_ROPE_DEINTERLEAVE)
        convert_apart(x, a->x_type, work, a->n_rot / 2);
    else if (x != work)
        plain_convert_row(x, a->x_type, work, POSENC_F32, a->head_dim);
    if (a->weight != NULL)
        normalise(work, a->head_dim, a->weight, a->eps);
    if (a->n_rot > 0)
        (a->layout == POSENC_ROPE_INTERLEAVED ? rotate_interleaved : rotate_half)(work, a->n_rot / 2, a->cos_row,
                                                                                  a->sin_row);
    if (a->scale != 1.0f)
        for (size_t i = 0; i < a->head_dim; i++)
            work[i] *= a->scale;
    if (y != work)
        write_row(work, y, a->y_type, a->head_dim);
}

static size_t head_bytes(const plain_heads *a, posenc_dtype type) {
    if (posenc_has_blocks(type))
        return a->head_dim / POSENC_QUANT_BLOCK * (size_t)posenc_block_bytes(type);
    return a->head_dim * (size_t)posenc_element_bytes(type);
}

void plain_task(const plain_heads *a) {
    for (size_t h = 0; h < a->n_heads; h++)
        one_head(a, (const char *)a->x + h * head_bytes(a, a->x_type), (char *)a->y + h * head_bytes(a, a->y_type));
}

void plain_rms_factors(const plain_heads *a, float eps, float *factors) {
    for (size_t h = 0; h < a->n_heads; h++) {
        float buffer[PLAIN_MAX_HEAD];
        plain_convert_row((const char *)a->x + h * head_bytes(a, a->x_type), a->x_type, buffer, POSENC_F32,
                          a->head_dim);
        factors[h] = rms_factor(buffer, a->head_dim, eps);
    }
}

void plain_hadamard(float *x, size_t n, size_t size) {
    float factor = 1.0f / sqrtf((float)size);
    for (size_t half = 1; half < size; half *= 2)
        for (size_t block = 0; block < n; block += 2 * half)
            for (size_t i = block; i < block + half; i++) {
                float x0 = x[i], x1 = x[i + half];
                x[i] = x0 + x1;
                x[i + half] = x0 - x1;
            }
    for (size_t i = 0; i < n; i++)
        x[i] *= factor;
}

void plain_sinusoidal(const float *inv_freq, size_t dim, int interleaved, int32_t position, float *row, int add) {
    for (size_t i = 0; i < dim / 2; i++) {
        float angle = (float)position * inv_freq[i];
        float *sine = row + (interleaved ? 2 * i : i);
        float *cosine = sine + (interleaved ? 1 : dim / 2);
        *sine = sinf(angle) + (add ? *sine : 0.0f);
        *cosine = cosf(angle) + (add ? *cosine : 0.0f);
    }
}

void plain_add_row(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

void plain_constant(float value, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = value;
}

void plain_binary(uint64_t p, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = i < 64 ? (float)(p >> i & 1) : 0.0f;
}

void plain_rbf(float t, float spacing, float scale, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float z = (t - (float)i * spacing) * scale;
        y[i] = expf(-(z * z));
    }
}

void plain_alibi(float *y, size_t n, size_t n_allowed, int32_t query, float slope) {
    for (size_t j = 0; j < n; j++)
        y[j] = j < n_allowed ? -slope * (float)abs(query - (int32_t)j) : -INFINITY;
}

void plain_softmax(const float *x, float *y, size_t n, size_t n_allowed, int32_t query, float scale, float slope) {
    float max = -INFINITY, sum = 0.0f;
    for (size_t j = 0; j < n_allowed; j++) {
        y[j] = scale * x[j] - slope * (float)abs(query - (int32_t)j);
        max = y[j] > max ? y[j] : max;
    }
    for (size_t j = 0; j < n_allowed; j++) {
        y[j] = expf(y[j] - max);
        sum += y[j];
    }
    for (size_t j = 0; j < n_allowed; j++)
        y[j] /= sum;
    for (size_t j = n_allowed; j < n; j++)
        y[j] = 0.0f;
}

void plain_dots(const float *x, const float *table, float *y, size_t n_x, size_t n_rows, size_t dim) {
    for (size_t i = 0; i < n_x; i++)
        for (size_t t = 0; t < n_rows; t++) {
            float sum = 0.0f;
            for (size_t c = 0; c < dim; c++)
                sum += x[i * dim + c] * table[t * dim + c];
            y[i * n_rows + t] = sum;
        }
}

void plain_weighted_sum(const float *weights, const float *table, float *y, size_t n, size_t dim) {
    for (size_t k = 0; k < n; k++)
        for (size_t c = 0; c < dim; c++)
            y[c] += weights[k] * table[k * dim + c];
}

void plain_cope(const float *x, const float *z, float *y, size_t n, size_t n_positions, float scale) {
    for (size_t j = 0; j < n; j++)
        y[j] = 1.0f / (1.0f + expf(-scale * x[j]));
    for (size_t j = n - 1; j-- > 0;)
        y[j] += y[j + 1];
    for (size_t j = 0; j < n; j++) {
        float position = y[j] < (float)(n_positions - 1) ? y[j] : (float)(n_positions - 1);
        float low = floorf(position), high = ceilf(position), w = position - low;
        y[j] = scale * x[j] + (1.0f - w) * z[(size_t)low] + w * z[(size_t)high];
    }
}

void plain_softmax_backward(const float *p, const float *dp, float *dx, size_t n, float scale) {
    float g = 0.0f;
    for (size_t j = 0; j < n; j++)
        g += p[j] * dp[j];
    for (size_t j = 0; j < n; j++)
        dx[j] = scale * p[j] * (dp[j] - g);
}

void plain_cap_backward(const float *s, float *dx, size_t n, float scale, float cap) {
    for (size_t j = 0; j < n; j++) {
        float t = tanhf(scale * s[j] / cap);
        dx[j] *= 1.0f - t * t;
    }
}

void plain_add_axes(float *y, const float *by_row, const float *by_column, size_t height, size_t width) {
    for (size_t v = 0; v < height; v++)
        for (size_t u = 0; u < width; u++)
            y[v * width + u] += by_row[v] + by_column[u];
}
