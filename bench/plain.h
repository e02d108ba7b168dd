/* The same work as a user would write it with libm: float32 loops, one after the other, no intrinsics. */
#ifndef POSENC_BENCH_PLAIN_H
#define POSENC_BENCH_PLAIN_H

#include <stddef.h>
#include <stdint.h>

/* inv_freq[i] = base^(-2i/dim), i < dim/2 */
void plain_frequencies(float *inv_freq, size_t dim, float base);

/* cos_row[i], sin_row[i] of the angle position * inv_freq[i], i < n */
void plain_angles(const float *inv_freq, size_t n, int32_t position, float *cos_row, float *sin_row);

/* The same in double. */
void plain_angles_double(const double *frequency, size_t n, double position, double *cos_out, double *sin_out);

/* Rotates n_rot channels of each head in place; sin_sign -1 rotates back. */
void plain_rope(float *x, size_t n_heads, size_t head_dim, size_t n_rot, int interleaved, const float *cos_row,
                const float *sin_row, float sin_sign);

/* One row of the sinusoidal encoding, written or added; dim even. */
void plain_sinusoidal(const float *inv_freq, size_t dim, int interleaved, int32_t position, float *row, int add);

/* The rows of alibi.h and softmax.h; a slope of 0 means no bias. */
void plain_alibi(float *y, size_t n, size_t n_allowed, int32_t query, float slope);
void plain_softmax(const float *x, float *y, size_t n, size_t n_allowed, int32_t query, float scale, float slope);

#endif
