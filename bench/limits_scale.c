/* SPDX-License-Identifier: MIT */
/* The limit of what reads, computes a little and writes: scaling, with the conversions that the types ask for. Compiled
 * once per tier, mostly on its vector layer, because compilers do not vectorise conversions from f16, and because the
 * last vector of a short row has to be a partial one. Rounding to bf16 takes the vector layer several instructions,
 * which could be better or worse chosen; there the compiler has its way. */
#include "bench_limits.h"

#include "kernels/half.h"
#include "kernels/kernels.h"

#ifdef BENCH_VEC_H
#include BENCH_VEC_H
#include "simd/typed.h"
#else /* the scalar tier: elements, which the compiler may vectorise with what the baseline has */
#define VF 1
#define V_INLINE static inline __attribute__((always_inline))
typedef float vf;

V_INLINE vf v_set1(float a) {
    return a;
}
V_INLINE vf v_mul(vf a, vf b) {
    return a * b;
}
V_INLINE vf load_typed(const void *p, size_t i, size_t n, const posenc_dtype type) {
    (void)n;
    return posenc_load(p, i, type);
}
V_INLINE void store_typed(void *p, size_t i, vf a, size_t n, const posenc_dtype type) {
    (void)n;
    posenc_store(p, i, a, type);
}
#endif

/* To the nearest bf16, ties to even; whoever scales knows that there is no NaN. */
static inline uint16_t round_to_bf16(float a) {
    uint32_t bits = posenc_bits(a);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void scale_bf16_in_place(uint16_t *x, size_t n, float factor) {
    for (size_t i = 0; i < n; i++)
        x[i] = round_to_bf16(posenc_from_bf16(x[i]) * factor);
}

static void scale_bf16(const uint16_t *restrict x, uint16_t *restrict y, size_t n, float factor) {
    for (size_t i = 0; i < n; i++)
        y[i] = round_to_bf16(posenc_from_bf16(x[i]) * factor);
}

static void scale_to_bf16(const float *restrict x, uint16_t *restrict y, size_t n, float factor) {
    for (size_t i = 0; i < n; i++)
        y[i] = round_to_bf16(x[i] * factor);
}

V_INLINE void scale_row(const void *x, void *y, size_t n, float factor, const posenc_dtype x_type,
                        const posenc_dtype y_type) {
    vf factors = v_set1(factor);
    size_t i = 0;
    for (; i + VF <= n; i += VF)
        store_typed(y, i, v_mul(load_typed(x, i, VF, x_type), factors), VF, y_type);
    if (i < n)
        store_typed(y, i, v_mul(load_typed(x, i, n - i, x_type), factors), n - i, y_type);
}

V_INLINE void scale_rows(bench_rows x, bench_rows y, size_t n_rows, size_t n, float factor, const posenc_dtype x_type,
                         const posenc_dtype y_type) {
    char *from = x.data, *to = y.data;
    for (size_t r = 0; r < n_rows; r++, from += x.stride, to += y.stride) {
        if (x_type == POSENC_BF16 && y_type == POSENC_BF16 && from == to)
            scale_bf16_in_place((uint16_t *)to, n, factor);
        else if (x_type == POSENC_BF16 && y_type == POSENC_BF16)
            scale_bf16((const uint16_t *)from, (uint16_t *)to, n, factor);
        else if (x_type == POSENC_F32 && y_type == POSENC_BF16)
            scale_to_bf16((const float *)from, (uint16_t *)to, n, factor);
        else if (x_type == y_type && from == to) /* said so that the compiler knows */
            scale_row(to, to, n, factor, x_type, x_type);
        else
            scale_row(from, to, n, factor, x_type, y_type);
    }
}

static int is_dense(bench_rows x, size_t n) {
    return x.stride == (ptrdiff_t)(n * (x.type == POSENC_F32 ? 4 : 2));
}

#define TIER_(tier) bench_scale_##tier
#define TIER(tier) TIER_(tier)
void TIER(POSENC_VARIANT)(bench_rows x, bench_rows y, size_t n_rows, size_t n, float factor) {
    if (is_dense(x, n) && is_dense(y, n)) {
        n *= n_rows;
        n_rows = 1;
    }
    switch (POSENC_TYPE_PAIR(x.type, y.type)) {
#define CASE(x_type, y_type)                                                                                           \
    case POSENC_TYPE_PAIR(x_type, y_type): scale_rows(x, y, n_rows, n, factor, x_type, y_type); break;
        POSENC_EACH_TYPE_PAIR(CASE)
#undef CASE
    }
}
