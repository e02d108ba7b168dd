/* SPDX-License-Identifier: MIT */
/* The limit of what multiplies and adds: as many chains of fma in registers as keep the units busy, and no memory. The
 * scalar tier multiplies and adds apart, as the baseline of the architecture does. Compiled once per tier. */
#include "bench_limits.h"

#ifdef BENCH_VEC_H
#include BENCH_VEC_H
#else
#define VF 1
#define V_INLINE static inline __attribute__((always_inline))
typedef float vf;

V_INLINE vf v_set1(float a) {
    return a;
}
V_INLINE vf v_keep(vf a) {
    __asm__ volatile("" : "+m"(a));
    return a;
}
V_INLINE vf v_add(vf a, vf b) {
    return a + b;
}
V_INLINE vf v_fma(vf a, vf b, vf c) {
    return a * b + c;
}
#endif

enum { CHAINS = 12 };

#define TIER_(tier) bench_multiply_##tier
#define TIER(tier) TIER_(tier)
void TIER(POSENC_VARIANT)(size_t n) {
    vf a = v_keep(v_set1(0.5f)), b = v_keep(v_set1(0.25f)), sum[CHAINS];
    for (int k = 0; k < CHAINS; k++)
        sum[k] = v_set1((float)k);
    for (size_t i = 0; i < n; i += CHAINS * VF)
        for (int k = 0; k < CHAINS; k++)
            sum[k] = v_fma(sum[k], a, b);
    for (int k = 1; k < CHAINS; k++)
        sum[0] = v_add(sum[0], sum[k]);
    __asm__ volatile("" : : "r"(&sum[0]) : "memory");
}
