#include "plain.h"

#include <math.h>
#include <stdlib.h>

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

void plain_angles_double(const double *frequency, size_t n, double position, double *cos_out, double *sin_out) {
    for (size_t i = 0; i < n; i++) {
        double angle = position * frequency[i];
        cos_out[i] = cos(angle);
        sin_out[i] = sin(angle);
    }
}

static void rotate_half(float *x, size_t half, const float *cos_row, const float *sin_row, float sin_sign) {
    for (size_t i = 0; i < half; i++) {
        float x0 = x[i], x1 = x[i + half], c = cos_row[i], s = sin_sign * sin_row[i];
        x[i] = x0 * c - x1 * s;
        x[i + half] = x1 * c + x0 * s;
    }
}

static void rotate_interleaved(float *x, size_t half, const float *cos_row, const float *sin_row, float sin_sign) {
    for (size_t i = 0; i < half; i++) {
        float x0 = x[2 * i], x1 = x[2 * i + 1], c = cos_row[i], s = sin_sign * sin_row[i];
        x[2 * i] = x0 * c - x1 * s;
        x[2 * i + 1] = x1 * c + x0 * s;
    }
}

void plain_rope(float *x, size_t n_heads, size_t head_dim, size_t n_rot, int interleaved, const float *cos_row,
                const float *sin_row, float sin_sign) {
    for (size_t h = 0; h < n_heads; h++)
        (interleaved ? rotate_interleaved : rotate_half)(x + h * head_dim, n_rot / 2, cos_row, sin_row, sin_sign);
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
