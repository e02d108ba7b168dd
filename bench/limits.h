/* What no kernel can beat: the same bytes moved with next to no arithmetic, once per tier. */
#ifndef POSENC_BENCH_LIMITS_H
#define POSENC_BENCH_LIMITS_H

#include <stddef.h>

#include <posenc/isa.h>

typedef struct bench_limits {
    /* x[r * stride + i] *= factor, r < n_rows, i < n */
    void (*scale)(float *x, size_t n_rows, size_t n, size_t stride, float factor);
    /* y[i] = value, i < n */
    void (*fill)(float *y, size_t n, float value);
    /* y[i] = x[i], i < n */
    void (*copy)(float *y, const float *x, size_t n);
} bench_limits;

/* The loops compiled for the tier, which must be one that is built. */
const bench_limits *bench_limits_of(posenc_isa_tier tier);

#define BENCH_DECLARE_LIMITS(isa) extern const bench_limits bench_limits_##isa;
BENCH_DECLARE_LIMITS(scalar)
BENCH_DECLARE_LIMITS(avx2)
BENCH_DECLARE_LIMITS(avx512)
BENCH_DECLARE_LIMITS(neon)
#undef BENCH_DECLARE_LIMITS

#endif
