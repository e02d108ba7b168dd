/* SPDX-License-Identifier: MIT */
/* Limits that no kernel can beat: the same bytes moved with next to no arithmetic, once per tier. */
#ifndef POSENC_CHECK_BENCH_LIMITS_H
#define POSENC_CHECK_BENCH_LIMITS_H

#include <stddef.h>

#include <posenc/isa.h>
#include <posenc/types.h>

/* Rows of elements; the stride in bytes. */
typedef struct bench_rows {
    void *data;
    posenc_dtype type;
    ptrdiff_t stride;
} bench_rows;

typedef struct bench_limits {
    /* Row r, element i of y = that of x, times factor, in float32, r < n_rows, i < n; in place if the data are the
     * same. In place a factor of 1 leaves everything as it was, and takes no less time than another. */
    void (*scale)(bench_rows x, bench_rows y, size_t n_rows, size_t n, float factor);
    /* y[i] = value, i < n */
    void (*fill)(float *y, size_t n, float value);
    /* y[i] = x[i], i < n */
    void (*copy)(float *y, const float *x, size_t n);
    /* y[i] += x[i], i < n */
    void (*add)(float *y, const float *x, size_t n);
    /* reads as many bytes, of a multiple of 16 */
    void (*read)(const void *x, size_t bytes);
    /* n multiplications with their additions, in registers */
    void (*multiply)(size_t n);
} bench_limits;

/* The loops compiled for the tier, which must be one that is built. */
const bench_limits *bench_limits_of(posenc_isa_tier tier);

typedef void bench_scale(bench_rows x, bench_rows y, size_t n_rows, size_t n, float factor);
typedef void bench_multiply(size_t n);

#define BENCH_DECLARE_LIMITS(isa)                                                                                      \
    extern const bench_limits bench_limits_##isa;                                                                      \
    bench_scale bench_scale_##isa;                                                                                     \
    bench_multiply bench_multiply_##isa;
BENCH_DECLARE_LIMITS(scalar)
#define TIER(name, ...) BENCH_DECLARE_LIMITS(name)
#include "tiers.def"
#undef BENCH_DECLARE_LIMITS

#endif
