/* Compiled once per tier, with its flags and full-width vectors; the compiler vectorises (meson.build keeps it from
 * calling memset and memcpy instead). The scalar tier gets what the baseline instruction set has. */
#include "limits.h"

static void fill(float *y, size_t n, float value) {
    for (size_t i = 0; i < n; i++)
        y[i] = value;
}

static void copy(float *restrict y, const float *restrict x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = x[i];
}

static void add(float *restrict y, const float *restrict x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

#define TIER_(name, tier) bench_##name##_##tier
#define TIER(name, tier) TIER_(name, tier)
const bench_limits TIER(limits, POSENC_VARIANT) = {TIER(scale, POSENC_VARIANT), fill, copy, add,
                                                   TIER(multiply, POSENC_VARIANT)};
