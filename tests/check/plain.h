/* SPDX-License-Identifier: MIT */
/* The same work as a user would write it with libm: float32 loops, one after the other, no intrinsics. */
#ifndef POSENC_CHECK_PLAIN_H
#define POSENC_CHECK_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/rope.h>

/* inv_freq[i] = base^(-2i/dim), i < dim/2 */
void plain_frequencies(float *inv_freq, size_t dim, float base);

/* cos_row[i], sin_row[i] of the angle position * inv_freq[i], i < n */
void plain_angles(const float *inv_freq, size_t n, int32_t position, float *cos_row, float *sin_row);

#define PLAIN_MAX_HEAD 256

/* Dense heads of one token, and what is done to them: RMS-norm, rotation, scaling, in this order. */
typedef struct plain_heads {
    const void *x;
    void *y; /* x, or apart from it */
    posenc_dtype x_type, y_type;
    size_t n_heads, head_dim; /* head_dim <= PLAIN_MAX_HEAD */
    size_t n_rot;             /* channels that are rotated, from the first on; all with DEINTERLEAVE */
    posenc_rope_layout layout;
    const float *cos_row, *sin_row;
    const float *weight; /* NULL: no norm */
    float eps;
    float scale;
} plain_heads;

/* One head after the other, each step a loop. Other types than float32 are converted element by element in integers:
 * the baseline has no instruction for it. y may be Q8_0 or Q4_0. */
void plain_task(const plain_heads *heads);

/* y[i] = x[i], in the same way */
void plain_convert_row(const void *x, posenc_dtype x_type, void *y, posenc_dtype y_type, size_t n);

/* factors[h] = 1 / sqrt(mean of the squares of head h + eps) */
void plain_rms_factors(const plain_heads *heads, float eps, float *factors);

/* Each size channels of x times the Hadamard matrix, over sqrt(size). */
void plain_hadamard(float *x, size_t n, size_t size);

/* One row of the sinusoidal encoding, written or added; dim even. */
void plain_sinusoidal(const float *inv_freq, size_t dim, int interleaved, int32_t position, float *row, int add);

/* y[i] += x[i]; a number; the bits of p, lowest first; exp(-((t - i * spacing) * scale)^2). */
void plain_add_row(float *y, const float *x, size_t n);
void plain_constant(float value, float *y, size_t n);
void plain_binary(uint64_t p, float *y, size_t n);
void plain_rbf(float t, float spacing, float scale, float *y, size_t n);

/* The rows of bias.h and softmax.h; a slope of 0 means no bias. */
void plain_alibi(float *y, size_t n, size_t n_allowed, int32_t query, float slope);
void plain_softmax(const float *x, float *y, size_t n, size_t n_allowed, int32_t query, float scale, float slope);

/* y[i][t] = the scalar product of rows i of x and t of the table, all dense */
void plain_dots(const float *x, const float *table, float *y, size_t n_x, size_t n_rows, size_t dim);

/* y[c] += the sum of weights[k] times row k of a dense table */
void plain_weighted_sum(const float *weights, const float *table, float *y, size_t n, size_t dim);

/* The logits of cope.h, listing form, all keys seen: gates, their sums, the interpolation, each a loop. */
void plain_cope(const float *x, const float *z, float *y, size_t n, size_t n_positions, float scale);

/* dx = scale * p (dp - sum p dp) */
void plain_softmax_backward(const float *p, const float *dp, float *dx, size_t n, float scale);

/* dx *= 1 - tanh(scale * s / cap)^2 */
void plain_cap_backward(const float *s, float *dx, size_t n, float scale, float cap);

/* y[v * width + u] += by_row[v] + by_column[u] */
void plain_add_axes(float *y, const float *by_row, const float *by_column, size_t height, size_t width);

#endif
