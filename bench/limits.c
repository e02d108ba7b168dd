/* SPDX-License-Identifier: MIT */
/* Compiled once per tier, with its flags and full-width vectors; the compiler vectorises (meson.build keeps it from
 * calling memset and memcpy instead). The scalar tier gets what the baseline instruction set has. */
#include "bench_limits.h"

#include <stdint.h>

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

static void read_all(const void *x, size_t bytes) {
    const uint32_t *from = x;
    uint32_t sum = 0;
    for (size_t i = 0; i < bytes / sizeof *from; i++)
        sum += from[i];
    __asm__ volatile("" : : "r"(sum));
}

#define TIER_(name, tier) bench_##name##_##tier
#define TIER(name, tier) TIER_(name, tier)
const bench_limits TIER(limits, POSENC_VARIANT) = {TIER(scale, POSENC_VARIANT),   fill, copy, add, read_all,
                                                   TIER(multiply, POSENC_VARIANT)};
