/* SPDX-License-Identifier: MIT */
/* The vector layer on AArch64 Advanced SIMD. docs/vector-layer.md states each operation; tests/test_vec.c holds every
 * tier to it. */
#ifndef POSENC_VEC_H
#define POSENC_VEC_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/sleef.h"

#define VF 4 /* float32 lanes */
#define VD 2 /* float64 lanes */
#define V_MASKED_STORES 0

typedef float32x4_t vf;
typedef int32x4_t vi;
typedef float64x2_t vd;
typedef uint32x4_t vm; /* all bits of a lane set or clear */

#define V_INLINE static inline __attribute__((always_inline))

/* The value, held in a register from here on: gcc 12 otherwise loads it from memory again at each use. */
V_INLINE vf v_keep(vf a) {
    __asm__("" : "+w"(a));
    return a;
}
V_INLINE vd vd_keep(vd a) {
    __asm__("" : "+w"(a));
    return a;
}

/* ---- load and store; n counts lanes, 0 .. VF; the partial forms are a few instructions and branches ---- */

V_INLINE vf v_load(const float *p) { return vld1q_f32(p); }
V_INLINE vf v_load_n(const float *p, size_t n) {
    vf a = vdupq_n_f32(0.0f);
    if (n >= 4)
        return vld1q_f32(p);
    if (n >= 1)
        a = vld1q_lane_f32(p, a, 0);
    if (n >= 2)
        a = vld1q_lane_f32(p + 1, a, 1);
    if (n >= 3)
        a = vld1q_lane_f32(p + 2, a, 2);
    return a;
}
V_INLINE void v_store(float *p, vf a) { vst1q_f32(p, a); }
V_INLINE void v_store_n(float *p, vf a, size_t n) {
    if (n >= 4) {
        vst1q_f32(p, a);
        return;
    }
    if (n >= 1)
        vst1q_lane_f32(p, a, 0);
    if (n >= 2)
        vst1q_lane_f32(p + 1, a, 1);
    if (n >= 3)
        vst1q_lane_f32(p + 2, a, 2);
}
/* p0 p0 p1 p1: n counts lanes of the result, even */
V_INLINE vf v_load_twice(const float *p) {
    float32x2_t half = vld1_f32(p);
    return vcombine_f32(vdup_lane_f32(half, 0), vdup_lane_f32(half, 1));
}
V_INLINE vf v_load_twice_n(const float *p, size_t n) {
    vf a = v_load_n(p, n / 2);
    return vzip1q_f32(a, a);
}

/* ---- f16, bf16 and 8-bit floats at p, widened and rounded to nearest even; a NaN stays one ---- */

V_INLINE uint16x4_t v_load_16_n_(const uint16_t *p, size_t n) {
    uint16_t lanes[4] = {0};
    for (size_t i = 0; i < n; i++)
        lanes[i] = p[i];
    return vld1_u16(lanes);
}
V_INLINE void v_store_16_n_(uint16_t *p, uint16x4_t a, size_t n) {
    uint16_t lanes[4];
    vst1_u16(lanes, a);
    for (size_t i = 0; i < n; i++)
        p[i] = lanes[i];
}
V_INLINE vf v_from_f16_(uint16x4_t a) { return vcvt_f32_f16(vreinterpret_f16_u16(a)); }
V_INLINE uint16x4_t v_to_f16_(vf a) { return vreinterpret_u16_f16(vcvt_f16_f32(a)); }
V_INLINE vf v_from_bf16_(uint16x4_t a) { return vreinterpretq_f32_u32(vshll_n_u16(a, 16)); }
V_INLINE uint32x4_t v_round_to_bf16_(vf a) { /* in the high halves */
    uint32x4_t bits = vreinterpretq_u32_f32(a);
    uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vbslq_u32(vceqq_f32(a, a), rounded, quiet);
}
V_INLINE uint16x4_t v_to_bf16_(vf a) { return vshrn_n_u32(v_round_to_bf16_(a), 16); }
V_INLINE vf v_load_f16(const uint16_t *p) { return v_from_f16_(vld1_u16(p)); }
V_INLINE vf v_load_f16_n(const uint16_t *p, size_t n) { return v_from_f16_(v_load_16_n_(p, n)); }
V_INLINE void v_store_f16(uint16_t *p, vf a) { vst1_u16(p, v_to_f16_(a)); }
V_INLINE void v_store_f16_n(uint16_t *p, vf a, size_t n) { v_store_16_n_(p, v_to_f16_(a), n); }
V_INLINE vf v_set1_f16(const uint16_t *p) { return v_from_f16_(vdup_n_u16(*p)); }
V_INLINE vf v_load_i8(const int8_t *p) {
    uint32_t lanes;
    memcpy(&lanes, p, sizeof lanes);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(lanes)))));
}
/* Exponent and fraction become those of an f16 of 2^-8 the size. The highest bit of its exponent, a second sign at
 * first, becomes 1 for a NaN alone: adding 1 in the last place carries there. */
V_INLINE vf v_load_f8_e4m3_n(const uint8_t *p, size_t n) {
    uint32_t lanes = 0;
    memcpy(&lanes, p, n);
    uint16x4_t words = vreinterpret_u16_s16(vget_low_s16(vshll_n_s8(vcreate_s8(lanes), 7)));
    uint16x4_t carry = vand_u16(vadd_u16(words, vdup_n_u16(0x80)), vdup_n_u16(0x4000));
    return vmulq_n_f32(v_from_f16_(veor_u16(words, carry)), 0x1p8f);
}
V_INLINE vf v_load_f8_e4m3(const uint8_t *p) { return v_load_f8_e4m3_n(p, 4); }
V_INLINE void v_load_f8_e4m3_pair(const uint8_t *p, vf *first, vf *second) {
    uint16x8_t words = vreinterpretq_u16_s16(vshll_n_s8(vreinterpret_s8_u8(vld1_u8(p)), 7));
    uint16x8_t carry = vandq_u16(vaddq_u16(words, vdupq_n_u16(0x80)), vdupq_n_u16(0x4000));
    float16x8_t numbers = vreinterpretq_f16_u16(veorq_u16(words, carry));
    *first = vmulq_n_f32(vcvt_f32_f16(vget_low_f16(numbers)), 0x1p8f);
    *second = vmulq_n_f32(vcvt_high_f32_f16(numbers), 0x1p8f);
}
enum { V_COLUMNS_OF_8 = 8 };
/* V_COLUMNS_OF_8 numbers of 8 bits of each of VF rows: out[c * VF + t] is number first + c of row t */
V_INLINE void v_transpose_8(const void *const *rows, size_t first, uint8_t *out) {
    uint8x8x4_t four;
    for (int t = 0; t < 4; t++)
        four.val[t] = vld1_u8((const uint8_t *)rows[t] + first);
    vst4_u8(out, four);
}
/* As posenc_to_f8_e4m3(). */
V_INLINE void v_store_f8_e4m3_n(uint8_t *p, vf a, size_t n) {
    uint32x4_t bits = vreinterpretq_u32_f32(a), size = vreinterpretq_u32_f32(vabsq_f32(a));
    uint32x4_t sign = vandq_u32(vshrq_n_u32(bits, 24), vdupq_n_u32(0x80));
    uint32x4_t most = vminq_u32(size, vdupq_n_u32(0x43e00000));
    uint32x4_t odd = vandq_u32(vshrq_n_u32(most, 20), vdupq_n_u32(1));
    uint32x4_t rounded = vaddq_u32(vaddq_u32(most, odd), vdupq_n_u32(0x7ffffu - (120u << 23)));
    float32x4_t steps = vaddq_f32(vreinterpretq_f32_u32(most), vdupq_n_f32(0x1p14f));
    uint32x4_t denormal = vsubq_u32(vreinterpretq_u32_f32(steps), vdupq_n_u32(0x46800000));
    uint32x4_t is_denormal = vcltq_u32(size, vdupq_n_u32(0x3c800000));
    uint32x4_t numbers = vorrq_u32(vbslq_u32(is_denormal, denormal, vshrq_n_u32(rounded, 20)), sign);
    uint16x4_t words = vmovn_u32(vbslq_u32(vceqq_f32(a, a), numbers, vdupq_n_u32(0x7f)));
    uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(words, words))), 0);
    memcpy(p, &bytes, n);
}
V_INLINE void v_store_f8_e4m3(uint8_t *p, vf a) { v_store_f8_e4m3_n(p, a, 4); }
V_INLINE vf v_load_bf16(const uint16_t *p) { return v_from_bf16_(vld1_u16(p)); }
V_INLINE vf v_load_bf16_n(const uint16_t *p, size_t n) { return v_from_bf16_(v_load_16_n_(p, n)); }
V_INLINE void v_store_bf16(uint16_t *p, vf a) { vst1_u16(p, v_to_bf16_(a)); }
V_INLINE void v_store_bf16_n(uint16_t *p, vf a, size_t n) { v_store_16_n_(p, v_to_bf16_(a), n); }
/* 8 numbers of 16 bits of each of VF rows: out[c * VF + t] is number first + c of row t */
V_INLINE void v_transpose_16(const void *const *rows, size_t first, uint16_t *out) {
    uint16x8_t row[4];
    for (int t = 0; t < 4; t++)
        row[t] = vld1q_u16((const uint16_t *)rows[t] + first);
    uint32x4_t low01 = vreinterpretq_u32_u16(vzip1q_u16(row[0], row[1]));
    uint32x4_t low23 = vreinterpretq_u32_u16(vzip1q_u16(row[2], row[3]));
    uint32x4_t high01 = vreinterpretq_u32_u16(vzip2q_u16(row[0], row[1]));
    uint32x4_t high23 = vreinterpretq_u32_u16(vzip2q_u16(row[2], row[3]));
    vst1q_u16(out, vreinterpretq_u16_u32(vzip1q_u32(low01, low23)));
    vst1q_u16(out + 8, vreinterpretq_u16_u32(vzip2q_u32(low01, low23)));
    vst1q_u16(out + 16, vreinterpretq_u16_u32(vzip1q_u32(high01, high23)));
    vst1q_u16(out + 24, vreinterpretq_u16_u32(vzip2q_u32(high01, high23)));
}
/* 32 numbers of 16 bits of each of VF rows, as above */
V_INLINE void v_transpose_line_16(const void *const *rows, size_t first, uint16_t *out) {
    for (size_t c = 0; c < 32; c += 8)
        v_transpose_16(rows, first + c, out + c * VF);
}
/* n pairs of bf16 at p: each is a lane of 32 bits, whose high half is the second */
V_INLINE void v_load_bf16_pairs(const uint16_t *p, size_t n, vf *first, vf *second) {
    uint16_t lanes[8] = {0};
    for (size_t i = 0; n < VF && i < 2 * n; i++)
        lanes[i] = p[i];
    uint32x4_t pairs = vreinterpretq_u32_u16(vld1q_u16(n == VF ? p : lanes));
    *first = vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16));
    *second = vreinterpretq_f32_u32(vandq_u32(pairs, vdupq_n_u32(0xffff0000)));
}
V_INLINE void v_store_bf16_pairs(uint16_t *p, vf first, vf second, size_t n) {
    uint16_t lanes[8];
    uint32x4_t pairs = vsriq_n_u32(v_round_to_bf16_(second), v_round_to_bf16_(first), 16);
    vst1q_u16(n == VF ? p : lanes, vreinterpretq_u16_u32(pairs));
    for (size_t i = 0; n < VF && i < 2 * n; i++)
        p[i] = lanes[i];
}
V_INLINE void v_store_high_pairs(uint16_t *p, vf first, vf second) {
    uint32x4_t pairs = vsriq_n_u32(vreinterpretq_u32_f32(second), vreinterpretq_u32_f32(first), 16);
    vst1q_u16(p, vreinterpretq_u16_u32(pairs));
}

/* ---- float32 ---- */

V_INLINE vf v_set1(float a) { return vdupq_n_f32(a); }
V_INLINE vf v_add(vf a, vf b) { return vaddq_f32(a, b); }
V_INLINE vf v_sub(vf a, vf b) { return vsubq_f32(a, b); }
V_INLINE vf v_mul(vf a, vf b) { return vmulq_f32(a, b); }
V_INLINE vf v_div(vf a, vf b) { return vdivq_f32(a, b); }
V_INLINE vf v_sqrt(vf a) { return vsqrtq_f32(a); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
V_INLINE vf v_neg(vf a) { return vnegq_f32(a); }
V_INLINE vf v_fms(vf a, vf b, vf c) { return vfmaq_f32(vnegq_f32(c), a, b); } /* two instructions */
V_INLINE vf v_abs(vf a) { return vabsq_f32(a); }
V_INLINE vf v_neg_even(vf a) {
    const uint32x4_t even = {0x80000000u, 0u, 0x80000000u, 0u};
    return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a), even));
}
/* Two instructions: fmax has other rules for NaN and -0. */
V_INLINE vf v_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
V_INLINE vm v_lt(vf a, vf b) { return vcltq_f32(a, b); }
V_INLINE vf v_zero_if(vm m, vf a) { return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(a), m)); }
V_INLINE vf v_select(vm m, vf a, vf b) { return vbslq_f32(m, a, b); }
/* lanes n and beyond become those of fill */
V_INLINE vf v_first_or(vf a, size_t n, vf fill) {
    const uint32x4_t lane = {0, 1, 2, 3};
    return vbslq_f32(vcltq_u32(lane, vdupq_n_u32((uint32_t)n)), a, fill);
}
/* lanes n and beyond of a, then the first n of b */
V_INLINE vf v_slide(vf a, vf b, size_t n) {
    const uint8x16_t byte = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint8x16x2_t both = {{vreinterpretq_u8_f32(a), vreinterpretq_u8_f32(b)}};
    return vreinterpretq_f32_u8(vqtbl2q_u8(both, vaddq_u8(byte, vdupq_n_u8((uint8_t)(4 * n)))));
}
/* lane k: one where bit k of bits is set, else zero */
V_INLINE vf v_select_bits(uint32_t bits, vf one, vf zero) {
    const uint32x4_t lane = {1, 2, 4, 8};
    return vbslq_f32(vtstq_u32(vdupq_n_u32(bits), lane), one, zero);
}
V_INLINE vf v_swap_pairs(vf a) { return vrev64q_f32(a); }
V_INLINE vf v_permute(vf a, vi index) {
    uint32x4_t bytes = vmlaq_n_u32(vdupq_n_u32(0x03020100), vreinterpretq_u32_s32(index), 0x04040404);
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(a), vreinterpretq_u8_u32(bytes)));
}
V_INLINE vf v_reverse(vf a) {
    vf pairs = vrev64q_f32(a);
    return vextq_f32(pairs, pairs, 2);
}
/* a0 b0 a1 b1 ... : the first VF values in *lo, the rest in *hi */
V_INLINE void v_zip(vf a, vf b, vf *lo, vf *hi) {
    *lo = vzip1q_f32(a, b);
    *hi = vzip2q_f32(a, b);
}
/* even lanes of the 2 VF values a, b in *even, odd ones in *odd */
V_INLINE void v_unzip(vf a, vf b, vf *even, vf *odd) {
    *even = vuzp1q_f32(a, b);
    *odd = vuzp2q_f32(a, b);
}
/* VF rows: lane i of row k and lane k of row i change places */
V_INLINE void v_transpose(vf *rows) {
    vf a, b, c, d;
    v_zip(rows[0], rows[2], &a, &b);
    v_zip(rows[1], rows[3], &c, &d);
    v_zip(a, c, &rows[0], &rows[1]);
    v_zip(b, d, &rows[2], &rows[3]);
}
V_INLINE float v_max_lanes(vf a) {
    vf m = v_max(a, vextq_f32(a, a, 2));
    return vgetq_lane_f32(v_max(m, vextq_f32(m, m, 1)), 0);
}
V_INLINE float v_sum_lanes(vf a) {
    float32x2_t s = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
}

/* ---- int32 ---- */

V_INLINE vi vi_set1(int32_t a) { return vdupq_n_s32(a); }
V_INLINE vi vi_iota(void) {
    const vi iota = {0, 1, 2, 3};
    return iota;
}
V_INLINE vi vi_add(vi a, vi b) { return vaddq_s32(a, b); }
V_INLINE vi vi_abs(vi a) { return vabsq_s32(a); }
V_INLINE vi vi_sub(vi a, vi b) { return vsubq_s32(a, b); }
V_INLINE vi vi_mul(vi a, vi b) { return vmulq_s32(a, b); }
V_INLINE vi vi_min(vi a, vi b) { return vminq_s32(a, b); }
V_INLINE vi vi_max(vi a, vi b) { return vmaxq_s32(a, b); }
V_INLINE vm vi_lt(vi a, vi b) { return vcltq_s32(a, b); }
V_INLINE int vi_same(vi a, vi b) { return vminvq_u32(vceqq_s32(a, b)) != 0; }
V_INLINE vi vi_load_n(const int32_t *p, size_t n) {
    int32_t lanes[4] = {0};
    memcpy(lanes, p, n * sizeof *p);
    return vld1q_s32(lanes);
}
V_INLINE vi vi_load_u8_n(const uint8_t *p, size_t n) {
    int32_t lanes[4] = {0};
    for (size_t i = 0; i < n; i++)
        lanes[i] = p[i];
    return vld1q_s32(lanes);
}
/* There is no gather: a load for each lane. */
V_INLINE vf v_gather_n(const float *p, vi index, size_t n) {
    int32_t at[4];
    float lanes[4] = {0.0f};
    vst1q_s32(at, index);
    for (size_t i = 0; i < n; i++)
        lanes[i] = p[at[i]];
    return vld1q_f32(lanes);
}
V_INLINE vf v_pick(const float *p, ptrdiff_t stride, const int32_t *index) {
    float lanes[4];
    for (int i = 0; i < 4; i++)
        lanes[i] = p[i * stride + index[i]];
    return vld1q_f32(lanes);
}
V_INLINE vi vi_gather_n(const int32_t *p, vi index, size_t n) {
    int32_t at[4], lanes[4] = {0};
    vst1q_s32(at, index);
    for (size_t i = 0; i < n; i++)
        lanes[i] = p[at[i]];
    return vld1q_s32(lanes);
}
V_INLINE vf v_from_int(vi a) { return vcvtq_f32_s32(a); }
V_INLINE vf v_exponent(vf a) { return vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(a), 23)); }

/* ---- bytes and 16 bits inside of the lanes of 32 ---- */

V_INLINE vf v_from_bits(vi a) { return vreinterpretq_f32_s32(a); }
V_INLINE vi vi_from_bits(vf a) { return vreinterpretq_s32_f32(a); }
V_INLINE vi vi_load(const void *p) { return vreinterpretq_s32_u8(vld1q_u8(p)); }
V_INLINE void vi_store(void *p, vi a) { vst1q_u8(p, vreinterpretq_u8_s32(a)); }
V_INLINE vi vi_load_blocks(const void *p, size_t step) {
    (void)step; /* half of a block */
    return vi_load(p);
}
V_INLINE vi vi_load_halves(const void *p, size_t step) {
    (void)step; /* one */
    return vi_load(p);
}
V_INLINE vf v_gather_f16(const void *const *p, size_t at) {
    uint16_t halves[4];
    for (int k = 0; k < 4; k++)
        memcpy(&halves[k], (const char *)p[k] + at, sizeof halves[k]);
    return v_load_f16(halves);
}
V_INLINE vi vi_load_words(const void *const *p, size_t at) {
    int32_t words[4];
    for (int k = 0; k < 4; k++)
        memcpy(&words[k], (const char *)p[k] + at, sizeof words[k]);
    return vld1q_s32(words);
}
V_INLINE vi vi_low_nibbles(vi a, const int8_t *integers) {
    uint8x16_t low = vandq_u8(vreinterpretq_u8_s32(a), vdupq_n_u8(15));
    return vreinterpretq_s32_s8(vqtbl1q_s8(vld1q_s8(integers), low));
}
V_INLINE vi vi_high_nibbles(vi a, const int8_t *integers) {
    uint8x16_t high = vshrq_n_u8(vreinterpretq_u8_s32(a), 4);
    return vreinterpretq_s32_s8(vqtbl1q_s8(vld1q_s8(integers), high));
}
V_INLINE vi vi_add_fifth(vi a, vi bits, size_t first) {
    const uint8x16_t lane = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
    uint8x16_t mask = vreinterpretq_u8_u32(vdupq_n_u32(first % 8 == 0 ? 0x08040201 : 0x80402010));
    uint8x16_t bytes = vqtbl1q_u8(vreinterpretq_u8_s32(bits), vaddq_u8(lane, vdupq_n_u8((uint8_t)(first / 8))));
    uint8x16_t added = vandq_u8(vtstq_u8(bytes, mask), vdupq_n_u8(16));
    return vreinterpretq_s32_u8(vaddq_u8(vreinterpretq_u8_s32(a), added));
}
/* Four numbers a lane; sums of their products. */
#ifdef __ARM_FEATURE_DOTPROD
typedef vi vq; /* as bytes */
typedef struct vp {
    int32x4_t high, low; /* digits of the other factor: 256 high + low */
} vp;
enum { V_DIGITS = 1 };
V_INLINE vq vq_bytes(vi a) { return a; }
V_INLINE vp vp_zero(void) { return (vp){vdupq_n_s32(0), vdupq_n_s32(0)}; }
V_INLINE vp vp_add(vq a, vi w0, vi w1, vp sum) {
    int8x16_t x = vreinterpretq_s8_s32(a);
    sum.high = vdotq_s32(sum.high, x, vreinterpretq_s8_s32(w0));
    sum.low = vdotq_s32(sum.low, x, vreinterpretq_s8_s32(w1));
    return sum;
}
V_INLINE vi vp_sum(vp a) { return vaddq_s32(vshlq_n_s32(a.high, 8), a.low); }
V_INLINE void v_quads_(int8x8_t a, int8x8_t b, int8x8_t c, int8x8_t d, vq *lo, vq *hi) {
    int16x8_t x = vreinterpretq_s16_s8(vzip1q_s8(vcombine_s8(a, a), vcombine_s8(b, b)));
    int16x8_t y = vreinterpretq_s16_s8(vzip1q_s8(vcombine_s8(c, c), vcombine_s8(d, d)));
    *lo = vreinterpretq_s32_s16(vzip1q_s16(x, y));
    *hi = vreinterpretq_s32_s16(vzip2q_s16(x, y));
}
#else
typedef struct vq {
    int16x8_t first, second; /* as two pairs of 16 bits */
} vq;
typedef struct vp {
    int32x4_t low, high; /* of lanes 0 and 1, 2 and 3: the two products of a pair side by side */
} vp;
enum { V_DIGITS = 0 };
V_INLINE vq vq_bytes(vi a) {
    int16x8_t x = vreinterpretq_s16_s32(a);
    return (vq){vshrq_n_s16(vshlq_n_s16(x, 8), 8), vshrq_n_s16(x, 8)};
}
V_INLINE vp vp_zero(void) { return (vp){vdupq_n_s32(0), vdupq_n_s32(0)}; }
V_INLINE vp vp_add(vq a, vi w0, vi w1, vp sum) {
    int16x8_t x = vreinterpretq_s16_s32(w0), y = vreinterpretq_s16_s32(w1);
    sum.low = vmlal_s16(sum.low, vget_low_s16(a.first), vget_low_s16(x));
    sum.high = vmlal_high_s16(sum.high, a.first, x);
    sum.low = vmlal_s16(sum.low, vget_low_s16(a.second), vget_low_s16(y));
    sum.high = vmlal_high_s16(sum.high, a.second, y);
    return sum;
}
V_INLINE vi vp_sum(vp a) { return vpaddq_s32(a.low, a.high); }
V_INLINE void v_quads_(int8x8_t a, int8x8_t b, int8x8_t c, int8x8_t d, vq *lo, vq *hi) {
    int16x8_t w = vmovl_s8(a), x = vmovl_s8(b), y = vmovl_s8(c), z = vmovl_s8(d);
    *lo = (vq){vzip1q_s16(w, x), vzip1q_s16(y, z)};
    *hi = (vq){vzip2q_s16(w, x), vzip2q_s16(y, z)};
}
#endif
V_INLINE void vq_rows(const void *const *p, size_t at, vq *lo, vq *hi) {
#define ROW(k) vld1_s8((const int8_t *)p[k] + at)
    v_quads_(ROW(0), ROW(1), ROW(2), ROW(3), lo, hi);
#undef ROW
}
V_INLINE int8x8_t v_8_nibbles_(const uint8_t *p, size_t first, const int8_t *integers) {
    uint8x8_t a = vld1_u8(p + first % 16);
    return vqtbl1_s8(vld1q_s8(integers), first < 16 ? vand_u8(a, vdup_n_u8(15)) : vshr_n_u8(a, 4));
}
V_INLINE void vq_row_nibbles(const void *const *p, size_t at, size_t first, const int8_t *integers, vq *lo, vq *hi) {
#define ROW(k) v_8_nibbles_((const uint8_t *)p[k] + at, first, integers)
    v_quads_(ROW(0), ROW(1), ROW(2), ROW(3), lo, hi);
#undef ROW
}
V_INLINE int8x8_t v_8_fives_(const uint8_t *p, size_t first, const int8_t *integers) {
    const uint8x8_t mask = {1, 2, 4, 8, 16, 32, 64, 128};
    uint8x8_t added = vand_u8(vtst_u8(vdup_n_u8(p[first / 8]), mask), vdup_n_u8(16));
    return vadd_s8(v_8_nibbles_(p + 4, first, integers), vreinterpret_s8_u8(added));
}
V_INLINE void vq_row_fives(const void *const *p, size_t at, size_t first, const int8_t *integers, vq *lo, vq *hi) {
#define ROW(k) v_8_fives_((const uint8_t *)p[k] + at, first, integers)
    v_quads_(ROW(0), ROW(1), ROW(2), ROW(3), lo, hi);
#undef ROW
}
V_INLINE void v_unpair(vf lo, vf hi, vf *first, vf *second) {
    *first = lo;
    *second = hi;
}
V_INLINE vf v_load_u4(const uint8_t *p, int is_high, const int8_t *integers) {
    uint32_t lanes;
    memcpy(&lanes, p, sizeof lanes);
    lanes = (is_high ? lanes >> 4 : lanes) & 0x0f0f0f0f;
    int16x8_t a = vmovl_s8(vqtbl1_s8(vld1q_s8(integers), vcreate_u8(lanes)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(a)));
}
V_INLINE int32_t vi_max_lanes(vi a) { return vmaxvq_s32(a); }
V_INLINE vi vi_round(vf a) { return vcvtnq_s32_f32(a); }
V_INLINE vi vi_trunc(vf a) { return vcvtq_s32_f32(a); }
V_INLINE vi vi_round_away(vf a) { return vcvtaq_s32_f32(a); }
V_INLINE uint32_t v_lane_bits(vm m) {
    const uint32x4_t lane = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(m, lane));
}
V_INLINE uint8x16_t v_low_halves_(vi a, vi b) {
    return vreinterpretq_u8_u16(vuzp1q_u16(vreinterpretq_u16_s32(a), vreinterpretq_u16_s32(b)));
}
V_INLINE void vi_store_8(int8_t *p, const vi *a, size_t n) {
    for (size_t k = 0; k < n; k += 16, a += 4)
        vst1q_u8((uint8_t *)p + k, vuzp1q_u8(v_low_halves_(a[0], a[1]), v_low_halves_(a[2], a[3])));
}
V_INLINE void vi_store_16(int16_t *p, vi a) { vst1_s16(p, vmovn_s32(a)); }

/* ---- float64 ---- */

V_INLINE vd vd_load(const double *p) { return vld1q_f64(p); }
V_INLINE void vd_store(double *p, vd a) { vst1q_f64(p, a); }
V_INLINE vd vd_set1(double a) { return vdupq_n_f64(a); }
V_INLINE vd vd_add(vd a, vd b) { return vaddq_f64(a, b); }
V_INLINE vd vd_mul(vd a, vd b) { return vmulq_f64(a, b); }
V_INLINE vd vd_fma(vd a, vd b, vd c) { return vfmaq_f64(c, a, b); }
V_INLINE vd vd_fms(vd a, vd b, vd c) { return vfmaq_f64(vnegq_f64(c), a, b); } /* two instructions */
V_INLINE vd vd_round(vd a) { return vrndnq_f64(a); }
V_INLINE void vd_sincospi(vd a, vd *s, vd *c) {
    Sleef_float64x2_t_2 r = POSENC_SINCOSPI(d2_u35advsimd)(a);
    *s = r.x;
    *c = r.y;
}
V_INLINE vd vd_exp(vd a) { return POSENC_EXP(d2_u10advsimd)(a); }
V_INLINE vf v_from_vd(vd lo, vd hi) { return vcvt_high_f32_f64(vcvt_f32_f64(lo), hi); }
V_INLINE void v_store_vd(float *p, vd lo, vd hi) { v_store(p, v_from_vd(lo, hi)); }
V_INLINE void v_stream_vd(float *p, vd lo, vd hi) { v_store_vd(p, lo, hi); }
V_INLINE void v_end_stream(void) {}
V_INLINE vd vd_low(vf a) { return vcvt_f64_f32(vget_low_f32(a)); }
V_INLINE vd vd_high(vf a) { return vcvt_high_f64_f32(a); }

#endif
