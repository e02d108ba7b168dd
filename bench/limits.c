/* Compiled once per tier, with its flags and full-width vectors; the compiler vectorises (meson.build keeps it from
 * calling memset and memcpy instead). The scalar tier gets what the baseline instruction set has. */
#include "limits.h"

static void scale_dense(float *x, size_t n, float factor) {
    for (size_t i = 0; i < n; i++)
        x[i] *= factor;
}

/* Rows are short. */
static void scale_row(float *x, size_t n, float factor) {
#ifdef __clang__ /* which otherwise takes four vectors a turn and leaves what is less to scalar code */
#pragma clang loop interleave_count(1)
#endif
    for (size_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void scale(float *x, size_t n_rows, size_t n, size_t stride, float factor) {
    if (n == stride) {
        scale_dense(x, n_rows * n, factor);
        return;
    }
    for (size_t r = 0; r < n_rows; r++)
        scale_row(x + r * stride, n, factor);
}

static void fill(float *y, size_t n, float value) {
    for (size_t i = 0; i < n; i++)
        y[i] = value;
}

static void copy(float *restrict y, const float *restrict x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = x[i];
}

#define LIMITS_(tier) bench_limits_##tier
#define LIMITS(tier) LIMITS_(tier)
const bench_limits LIMITS(POSENC_VARIANT) = {scale, fill, copy};
