/* SPDX-License-Identifier: MIT */
/* The vector layer on RISC-V vectors of a length that is known when it is compiled (-mrvv-vector-bits=zvl): a vector is
 * one register. docs/vector-layer.md states each operation; tests/test_vec.c holds every tier to it. */
#ifndef POSENC_VEC_H
#define POSENC_VEC_H

#include <riscv_vector.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/sleef.h"

#define VF (__riscv_v_fixed_vlen / 32) /* float32 lanes */
#define VD (__riscv_v_fixed_vlen / 64) /* float64 lanes */
#define V_MASKED_STORES 0
#define V_BYTES_ ((size_t)4 * VF) /* of a register */

/* Types with a size, of one register and of two side by side: arrays and structures may hold them. */
#define V_FIXED_(registers) __attribute__((riscv_rvv_vector_bits(registers * __riscv_v_fixed_vlen)))
typedef vfloat32m1_t vf V_FIXED_(1);
typedef vint32m1_t vi V_FIXED_(1);
typedef vfloat64m1_t vd V_FIXED_(1);
typedef vbool32_t vm; /* a bit a lane; never held in memory */

#define V_INLINE static inline __attribute__((always_inline))

V_INLINE vuint32m1_t v_bits_(vf a) { return __riscv_vreinterpret_v_f32m1_u32m1(a); }
V_INLINE vf v_of_bits_(vuint32m1_t a) { return __riscv_vreinterpret_v_u32m1_f32m1(a); }
V_INLINE vuint32m1_t v_unsigned_(vi a) { return __riscv_vreinterpret_v_i32m1_u32m1(a); }
V_INLINE vi v_signed_(vuint32m1_t a) { return __riscv_vreinterpret_v_u32m1_i32m1(a); }
V_INLINE vuint8m1_t v_to_bytes_(vi a) { return __riscv_vreinterpret_v_u32m1_u8m1(v_unsigned_(a)); }
V_INLINE vi v_of_bytes_(vuint8m1_t a) { return v_signed_(__riscv_vreinterpret_v_u8m1_u32m1(a)); }
V_INLINE vuint32m1_t v_lanes_(void) { return __riscv_vid_v_u32m1(VF); }

/* The value, held in a register from here on. */
V_INLINE vf v_keep(vf a) {
    vfloat32m1_t held = a;
    __asm__("" : "+vr"(held));
    return held;
}
V_INLINE vd vd_keep(vd a) {
    vfloat64m1_t held = a;
    __asm__("" : "+vr"(held));
    return held;
}

/* ---- load and store; n counts lanes, 0 .. VF ---- */

V_INLINE vf v_set1(float a) { return __riscv_vfmv_v_f_f32m1(a, VF); }
V_INLINE vf v_load(const float *p) { return __riscv_vle32_v_f32m1(p, VF); }
V_INLINE vf v_load_n(const float *p, size_t n) { return __riscv_vle32_v_f32m1_tu(v_set1(0.0f), p, n); }
V_INLINE void v_store(float *p, vf a) { __riscv_vse32_v_f32m1(p, a, VF); }
V_INLINE void v_store_n(float *p, vf a, size_t n) { __riscv_vse32_v_f32m1(p, a, n); }
V_INLINE vf v_twice_(vf a) { return __riscv_vrgather_vv_f32m1(a, __riscv_vsrl_vx_u32m1(v_lanes_(), 1, VF), VF); }
/* p0 p0 p1 p1 ..: n counts lanes of the result, even */
V_INLINE vf v_load_twice(const float *p) { return v_twice_(__riscv_vle32_v_f32m1(p, VF / 2)); }
V_INLINE vf v_load_twice_n(const float *p, size_t n) { return v_twice_(v_load_n(p, n / 2)); }

/* ---- f16, bf16 and 8-bit floats at p, widened and rounded to nearest even; a NaN stays one. Conversions are V's own
 * alone: not every CPU has Zvfhmin and Zvfbfmin ---- */

V_INLINE vuint16mf2_t v_load_16_n_(const uint16_t *p, size_t n) {
    return __riscv_vle16_v_u16mf2_tu(__riscv_vmv_v_x_u16mf2(0, VF), p, n);
}
/* f16 times a power of 2. The exponent is that of a float 2^112 times as small, but of infinity and NaN, which become
 * 2^16 and more. */
V_INLINE vf v_scaled_f16_(vuint16mf2_t a, float power) {
    vint32m1_t wide = __riscv_vwmul_vx_i32m1(__riscv_vreinterpret_v_u16mf2_i16mf2(a), 1 << 13, VF);
    vuint32m1_t small = __riscv_vand_vx_u32m1(v_unsigned_(wide), 0x8fffffff, VF);
    vuint32m1_t bits = v_bits_(__riscv_vfmul_vf_f32m1(v_of_bits_(small), power * 0x1p112f, VF));
    vbool32_t is_beyond = __riscv_vmsgtu_vx_u32m1_b32(__riscv_vsll_vx_u32m1(bits, 1, VF), 0x8effffff, VF);
    return v_of_bits_(__riscv_vor_vx_u32m1_mu(is_beyond, bits, bits, 0x7f800000, VF));
}
V_INLINE vf v_from_f16_(vuint16mf2_t a) { return v_scaled_f16_(a, 1.0f); }
/* To add a number 2^13 times as large rounds to 11 bits, or to a multiple of 2^-24. */
V_INLINE vuint16mf2_t v_to_f16_(vf a) {
    vuint32m1_t bits = v_bits_(a);
    vfloat32m1_t size = __riscv_vfmin_vf_f32m1(__riscv_vfabs_v_f32m1(a, VF), 0x1p16f, VF);
    vuint32m1_t power = __riscv_vand_vx_u32m1(v_bits_(size), 0x7f800000, VF);
    power = __riscv_vadd_vx_u32m1(__riscv_vmaxu_vx_u32m1(power, 0x38800000, VF), 13 << 23, VF);
    size = __riscv_vfsub_vv_f32m1(__riscv_vfadd_vv_f32m1(size, v_of_bits_(power), VF), v_of_bits_(power), VF);
    size = __riscv_vfmul_vf_f32m1(size, 0x1p-112f, VF);
    vuint16mf2_t rounded = __riscv_vnsrl_wx_u16mf2(v_bits_(size), 13, VF);
    rounded = __riscv_vmerge_vxm_u16mf2(rounded, 0x7e00, __riscv_vmfne_vv_f32m1_b32(a, a, VF), VF);
    vuint16mf2_t sign = __riscv_vand_vx_u16mf2(__riscv_vnsrl_wx_u16mf2(bits, 16, VF), 0x8000, VF);
    return __riscv_vor_vv_u16mf2(rounded, sign, VF);
}
V_INLINE vf v_from_bf16_(vuint16mf2_t a) {
    return v_of_bits_(__riscv_vsll_vx_u32m1(__riscv_vzext_vf2_u32m1(a, VF), 16, VF));
}
V_INLINE vuint16mf2_t v_to_bf16_(vf a) {
    vuint16mf2_t rounded = __riscv_vnclipu_wx_u16mf2(v_bits_(a), 16, __RISCV_VXRM_RNE, VF);
    vuint16mf2_t quiet = __riscv_vor_vx_u16mf2(__riscv_vnsrl_wx_u16mf2(v_bits_(a), 16, VF), 0x40, VF);
    return __riscv_vmerge_vvm_u16mf2(rounded, quiet, __riscv_vmfne_vv_f32m1_b32(a, a, VF), VF);
}
V_INLINE vf v_load_f16(const uint16_t *p) { return v_from_f16_(__riscv_vle16_v_u16mf2(p, VF)); }
V_INLINE vf v_load_f16_n(const uint16_t *p, size_t n) { return v_from_f16_(v_load_16_n_(p, n)); }
V_INLINE void v_store_f16_n(uint16_t *p, vf a, size_t n) { __riscv_vse16_v_u16mf2(p, v_to_f16_(a), n); }
V_INLINE void v_store_f16(uint16_t *p, vf a) { v_store_f16_n(p, a, VF); }
V_INLINE vf v_set1_f16(const uint16_t *p) { return v_from_f16_(__riscv_vmv_v_x_u16mf2(*p, VF)); }
V_INLINE vf v_load_i8(const int8_t *p) {
    return __riscv_vfcvt_f_x_v_f32m1(__riscv_vsext_vf4_i32m1(__riscv_vle8_v_i8mf4(p, VF), VF), VF);
}
V_INLINE vf v_load_bf16(const uint16_t *p) { return v_from_bf16_(__riscv_vle16_v_u16mf2(p, VF)); }
V_INLINE vf v_load_bf16_n(const uint16_t *p, size_t n) { return v_from_bf16_(v_load_16_n_(p, n)); }
V_INLINE void v_store_bf16_n(uint16_t *p, vf a, size_t n) { __riscv_vse16_v_u16mf2(p, v_to_bf16_(a), n); }
V_INLINE void v_store_bf16(uint16_t *p, vf a) { v_store_bf16_n(p, a, VF); }
/* Exponent and fraction become those of an f16 of 2^-8 the size. The highest bit of its exponent, a second sign at
 * first, becomes 1 for a NaN alone: adding 1 in the last place carries there. */
V_INLINE vf v_from_f8_e4m3_(vint8mf4_t bytes) {
    vuint16mf2_t words = __riscv_vreinterpret_v_i16mf2_u16mf2(__riscv_vsext_vf2_i16mf2(bytes, VF));
    words = __riscv_vsll_vx_u16mf2(words, 7, VF);
    vuint16mf2_t carry = __riscv_vand_vx_u16mf2(__riscv_vadd_vx_u16mf2(words, 0x80, VF), 0x4000, VF);
    return v_scaled_f16_(__riscv_vxor_vv_u16mf2(words, carry, VF), 0x1p8f);
}
V_INLINE vf v_load_f8_e4m3(const uint8_t *p) {
    return v_from_f8_e4m3_(__riscv_vle8_v_i8mf4((const int8_t *)p, VF));
}
V_INLINE vf v_load_f8_e4m3_n(const uint8_t *p, size_t n) {
    return v_from_f8_e4m3_(__riscv_vle8_v_i8mf4_tu(__riscv_vmv_v_x_i8mf4(0, VF), (const int8_t *)p, n));
}
V_INLINE void v_load_f8_e4m3_pair(const uint8_t *p, vf *first, vf *second) {
    *first = v_load_f8_e4m3(p);
    *second = v_load_f8_e4m3(p + VF);
}
/* As posenc_to_f8_e4m3(). */
V_INLINE void v_store_f8_e4m3_n(uint8_t *p, vf a, size_t n) {
    vuint32m1_t bits = v_bits_(a), size = __riscv_vand_vx_u32m1(bits, 0x7fffffff, VF);
    vuint32m1_t most = __riscv_vminu_vx_u32m1(size, 0x43e00000, VF);
    vuint32m1_t odd = __riscv_vand_vx_u32m1(__riscv_vsrl_vx_u32m1(most, 20, VF), 1, VF);
    vuint32m1_t rounded =
        __riscv_vadd_vx_u32m1(__riscv_vadd_vv_u32m1(most, odd, VF), 0x7ffffu - (120u << 23), VF);
    vuint32m1_t steps = v_bits_(__riscv_vfadd_vf_f32m1(v_of_bits_(most), 0x1p14f, VF));
    vbool32_t is_denormal = __riscv_vmsltu_vx_u32m1_b32(size, 0x3c800000, VF);
    vuint32m1_t numbers = __riscv_vmerge_vvm_u32m1(__riscv_vsrl_vx_u32m1(rounded, 20, VF),
                                                   __riscv_vsub_vx_u32m1(steps, 0x46800000, VF), is_denormal, VF);
    vuint32m1_t sign = __riscv_vand_vx_u32m1(__riscv_vsrl_vx_u32m1(bits, 24, VF), 0x80, VF);
    numbers = __riscv_vor_vv_u32m1(numbers, sign, VF);
    numbers = __riscv_vmerge_vxm_u32m1(numbers, 0x7f, __riscv_vmfne_vv_f32m1_b32(a, a, VF), VF);
    __riscv_vse8_v_u8mf4(p, __riscv_vnsrl_wx_u8mf4(__riscv_vnsrl_wx_u16mf2(numbers, 0, VF), 0, VF), n);
}
V_INLINE void v_store_f8_e4m3(uint8_t *p, vf a) { v_store_f8_e4m3_n(p, a, VF); }
enum { V_COLUMNS_OF_8 = 8 };
/* V_COLUMNS_OF_8 numbers of 8 bits of each of VF rows: out[c * VF + t] is number first + c of row t */
V_INLINE void v_transpose_8(const void *const *rows, size_t first, uint8_t *out) {
#if VF == 4
#define ROW(t) __riscv_vle8_v_u8mf2((const uint8_t *)rows[t] + first, 8)
    __riscv_vsseg4e8_v_u8mf2x4(out, __riscv_vcreate_v_u8mf2x4(ROW(0), ROW(1), ROW(2), ROW(3)), 8);
#else
#define ROW(t) __riscv_vle8_v_u8mf4((const uint8_t *)rows[t] + first, 8)
    __riscv_vsseg8e8_v_u8mf4x8(
        out, __riscv_vcreate_v_u8mf4x8(ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7)), 8);
#endif
#undef ROW
}
/* 8 numbers of 16 bits of each of VF rows: out[c * VF + t] is number first + c of row t */
V_INLINE void v_transpose_16(const void *const *rows, size_t first, uint16_t *out) {
#if VF == 4
#define ROW(t) __riscv_vle16_v_u16m1((const uint16_t *)rows[t] + first, 8)
    __riscv_vsseg4e16_v_u16m1x4(out, __riscv_vcreate_v_u16m1x4(ROW(0), ROW(1), ROW(2), ROW(3)), 8);
#else
#define ROW(t) __riscv_vle16_v_u16mf2((const uint16_t *)rows[t] + first, 8)
    __riscv_vsseg8e16_v_u16mf2x8(
        out, __riscv_vcreate_v_u16mf2x8(ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7)), 8);
#endif
#undef ROW
}
/* 32 numbers of 16 bits of each of VF rows, as above */
V_INLINE void v_transpose_line_16(const void *const *rows, size_t first, uint16_t *out) {
    for (size_t c = 0; c < 32; c += 8)
        v_transpose_16(rows, first + c, out + c * VF);
}
/* Pairs of 16 bits: each is a lane of 32 bits, whose high half is the second. */
V_INLINE vuint32m1_t v_pair_16_(vuint16mf2_t first, vuint16mf2_t second) {
    return __riscv_vwmaccu_vx_u32m1(__riscv_vwaddu_vv_u32m1(first, second, VF), 0xffff, second, VF);
}
V_INLINE void v_store_pairs_(uint16_t *p, vuint32m1_t pairs, size_t n) {
    __riscv_vse8_v_u8m1((uint8_t *)p, __riscv_vreinterpret_v_u32m1_u8m1(pairs), 4 * n);
}
V_INLINE void v_load_bf16_pairs(const uint16_t *p, size_t n, vf *first, vf *second) {
    vuint8m1_t bytes = __riscv_vle8_v_u8m1_tu(__riscv_vmv_v_x_u8m1(0, V_BYTES_), (const uint8_t *)p, 4 * n);
    vuint32m1_t pairs = __riscv_vreinterpret_v_u8m1_u32m1(bytes);
    *first = v_of_bits_(__riscv_vsll_vx_u32m1(pairs, 16, VF));
    *second = v_of_bits_(__riscv_vand_vx_u32m1(pairs, 0xffff0000, VF));
}
V_INLINE void v_store_bf16_pairs(uint16_t *p, vf first, vf second, size_t n) {
    v_store_pairs_(p, v_pair_16_(v_to_bf16_(first), v_to_bf16_(second)), n);
}
V_INLINE void v_store_high_pairs(uint16_t *p, vf first, vf second) {
    vuint32m1_t high = __riscv_vand_vx_u32m1(v_bits_(second), 0xffff0000, VF);
    v_store_pairs_(p, __riscv_vor_vv_u32m1(high, __riscv_vsrl_vx_u32m1(v_bits_(first), 16, VF), VF), VF);
}

/* ---- float32 ---- */

V_INLINE vf v_add(vf a, vf b) { return __riscv_vfadd_vv_f32m1(a, b, VF); }
V_INLINE vf v_sub(vf a, vf b) { return __riscv_vfsub_vv_f32m1(a, b, VF); }
V_INLINE vf v_mul(vf a, vf b) { return __riscv_vfmul_vv_f32m1(a, b, VF); }
V_INLINE vf v_div(vf a, vf b) { return __riscv_vfdiv_vv_f32m1(a, b, VF); }
V_INLINE vf v_sqrt(vf a) { return __riscv_vfsqrt_v_f32m1(a, VF); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return __riscv_vfmacc_vv_f32m1(c, a, b, VF); }
V_INLINE vf v_fms(vf a, vf b, vf c) { return __riscv_vfmsac_vv_f32m1(c, a, b, VF); }
V_INLINE vf v_neg(vf a) { return __riscv_vfneg_v_f32m1(a, VF); }
V_INLINE vf v_abs(vf a) { return __riscv_vfabs_v_f32m1(a, VF); }
V_INLINE vf v_neg_even(vf a) {
    vuint64m1_t pairs = __riscv_vreinterpret_v_u32m1_u64m1(v_bits_(a));
    return v_of_bits_(__riscv_vreinterpret_v_u64m1_u32m1(__riscv_vxor_vx_u64m1(pairs, 0x80000000, VD)));
}
V_INLINE vm v_lt(vf a, vf b) { return __riscv_vmflt_vv_f32m1_b32(a, b, VF); }
V_INLINE vf v_zero_if(vm m, vf a) { return __riscv_vfmerge_vfm_f32m1(a, 0.0f, m, VF); }
V_INLINE vf v_select(vm m, vf a, vf b) { return __riscv_vmerge_vvm_f32m1(b, a, m, VF); }
/* Two instructions: vfmax has other rules for NaN and -0. */
V_INLINE vf v_max(vf a, vf b) { return v_select(v_lt(b, a), a, b); }
/* lanes n and beyond become those of fill */
V_INLINE vf v_first_or(vf a, size_t n, vf fill) { return __riscv_vmv_v_v_f32m1_tu(fill, a, n); }
/* lanes n and beyond of a, then the first n of b */
V_INLINE vf v_slide(vf a, vf b, size_t n) {
    return __riscv_vslideup_vx_f32m1(__riscv_vslidedown_vx_f32m1(a, n, VF), b, VF - n, VF);
}
/* lane k: one where bit k of bits is set, else zero */
V_INLINE vf v_select_bits(uint32_t bits, vf one, vf zero) {
    return v_select(__riscv_vreinterpret_v_u32m1_b32(__riscv_vmv_s_x_u32m1(bits, VF)), one, zero);
}
V_INLINE vf v_swap_pairs(vf a) {
    return __riscv_vrgather_vv_f32m1(a, __riscv_vxor_vx_u32m1(v_lanes_(), 1, VF), VF);
}
V_INLINE vf v_permute(vf a, vi index) {
    return __riscv_vrgather_vv_f32m1(a, v_unsigned_(index), VF);
}
V_INLINE vf v_reverse(vf a) {
    return __riscv_vrgather_vv_f32m1(a, __riscv_vrsub_vx_u32m1(v_lanes_(), VF - 1, VF), VF);
}
/* a0 b0 a1 b1 ... : the first VF values in *lo, the rest in *hi */
V_INLINE void v_zip(vf a, vf b, vf *lo, vf *hi) {
    vuint64m2_t sum = __riscv_vwaddu_vv_u64m2(v_bits_(a), v_bits_(b), VF);
    vuint32m2_t pairs = __riscv_vreinterpret_v_u64m2_u32m2(__riscv_vwmaccu_vx_u64m2(sum, 0xffffffff, v_bits_(b), VF));
    *lo = v_of_bits_(__riscv_vget_v_u32m2_u32m1(pairs, 0));
    *hi = v_of_bits_(__riscv_vget_v_u32m2_u32m1(pairs, 1));
}
/* even lanes of the 2 VF values a, b in *even, odd ones in *odd */
V_INLINE void v_unzip(vf a, vf b, vf *even, vf *odd) {
    vuint64m2_t pairs = __riscv_vreinterpret_v_u32m2_u64m2(__riscv_vcreate_v_u32m1_u32m2(v_bits_(a), v_bits_(b)));
    *even = v_of_bits_(__riscv_vnsrl_wx_u32m1(pairs, 0, VF));
    *odd = v_of_bits_(__riscv_vnsrl_wx_u32m1(pairs, 32, VF));
}
/* VF rows: lane i of row k and lane k of row i change places */
V_INLINE void v_transpose(vf *rows) {
    for (int width = 1; width < VF; width *= 2) {
        vf next[VF];
        for (int i = 0; i < VF / 2; i++)
            v_zip(rows[i], rows[i + VF / 2], &next[2 * i], &next[2 * i + 1]);
        for (int i = 0; i < VF; i++)
            rows[i] = next[i];
    }
}
V_INLINE float v_max_lanes(vf a) { return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredmax_vs_f32m1_f32m1(a, a, VF)); }
V_INLINE float v_sum_lanes(vf a) {
    for (size_t width = VF / 2; width > 0; width /= 2)
        a = v_add(a, __riscv_vslidedown_vx_f32m1(a, width, VF));
    return __riscv_vfmv_f_s_f32m1_f32(a);
}

/* ---- int32 ---- */

V_INLINE vi vi_set1(int32_t a) { return __riscv_vmv_v_x_i32m1(a, VF); }
V_INLINE vi vi_iota(void) { return v_signed_(v_lanes_()); }
V_INLINE vi vi_add(vi a, vi b) { return __riscv_vadd_vv_i32m1(a, b, VF); }
V_INLINE vi vi_sub(vi a, vi b) { return __riscv_vsub_vv_i32m1(a, b, VF); }
V_INLINE vi vi_mul(vi a, vi b) { return __riscv_vmul_vv_i32m1(a, b, VF); }
V_INLINE vi vi_min(vi a, vi b) { return __riscv_vmin_vv_i32m1(a, b, VF); }
V_INLINE vi vi_max(vi a, vi b) { return __riscv_vmax_vv_i32m1(a, b, VF); }
V_INLINE vi vi_abs(vi a) { return vi_max(a, __riscv_vneg_v_i32m1(a, VF)); }
V_INLINE vm vi_lt(vi a, vi b) { return __riscv_vmslt_vv_i32m1_b32(a, b, VF); }
V_INLINE int vi_same(vi a, vi b) { return __riscv_vfirst_m_b32(__riscv_vmsne_vv_i32m1_b32(a, b, VF), VF) < 0; }
V_INLINE vi vi_load_n(const int32_t *p, size_t n) { return __riscv_vle32_v_i32m1_tu(vi_set1(0), p, n); }
V_INLINE vi vi_load_u8_n(const uint8_t *p, size_t n) {
    vuint8mf4_t bytes = __riscv_vle8_v_u8mf4_tu(__riscv_vmv_v_x_u8mf4(0, VF), p, n);
    return v_signed_(__riscv_vzext_vf4_u32m1(bytes, VF));
}
/* Bytes from p to the elements of 4 bytes; 64 bits, for an offset of 32 has no sign. */
V_INLINE vuint64m2_t v_offsets_(vi index) {
    return __riscv_vreinterpret_v_i64m2_u64m2(__riscv_vwmul_vx_i64m2(index, 4, VF));
}
V_INLINE vf v_gather_n(const float *p, vi index, size_t n) {
    return __riscv_vluxei64_v_f32m1_tu(v_set1(0.0f), p, v_offsets_(index), n);
}
V_INLINE vi vi_gather_n(const int32_t *p, vi index, size_t n) {
    return __riscv_vluxei64_v_i32m1_tu(vi_set1(0), p, v_offsets_(index), n);
}
V_INLINE vf v_pick(const float *p, ptrdiff_t stride, const int32_t *index) {
    vuint64m2_t starts = __riscv_vmul_vx_u64m2(__riscv_vid_v_u64m2(VF), (uint64_t)stride * sizeof *p, VF);
    vuint64m2_t offsets = __riscv_vadd_vv_u64m2(v_offsets_(__riscv_vle32_v_i32m1(index, VF)), starts, VF);
    return __riscv_vluxei64_v_f32m1(p, offsets, VF);
}
V_INLINE vf v_from_int(vi a) { return __riscv_vfcvt_f_x_v_f32m1(a, VF); }
V_INLINE vf v_exponent(vf a) { return v_of_bits_(__riscv_vsll_vx_u32m1(v_bits_(a), 23, VF)); }

/* ---- bytes and 16 bits inside of the lanes of 32 ---- */

V_INLINE vf v_from_bits(vi a) { return __riscv_vreinterpret_v_i32m1_f32m1(a); }
V_INLINE vi vi_from_bits(vf a) { return __riscv_vreinterpret_v_f32m1_i32m1(a); }
V_INLINE vi vi_load(const void *p) { return v_of_bytes_(__riscv_vle8_v_u8m1(p, V_BYTES_)); }
V_INLINE void vi_store(void *p, vi a) { __riscv_vse8_v_u8m1(p, v_to_bytes_(a), V_BYTES_); }
/* `size` bytes at each of the n addresses side by side, in one register */
V_INLINE vi vi_join_(const uint8_t *const *p, size_t n, size_t size) {
    vuint8m1_t all = __riscv_vle8_v_u8m1(p[0], size);
    for (size_t k = 1; k < n; k++)
        all = __riscv_vslideup_vx_u8m1_tu(all, __riscv_vle8_v_u8m1(p[k], size), k * size, (k + 1) * size);
    return v_of_bytes_(all);
}
V_INLINE vi vi_load_blocks(const void *p, size_t step) {
    (void)step; /* one, or half of it */
    return vi_load(p);
}
V_INLINE vi vi_load_halves(const void *p, size_t step) {
    const uint8_t *const halves[2] = {p, (const uint8_t *)p + step};
    return vi_join_(halves, VF / 4, 16);
}
V_INLINE vi vi_load_each_(const void *const *p, size_t at, size_t size) {
    const uint8_t *from[VF];
    for (int k = 0; k < VF; k++)
        from[k] = (const uint8_t *)p[k] + at;
    return vi_join_(from, VF, size);
}
V_INLINE vf v_gather_f16(const void *const *p, size_t at) {
    vuint16m1_t halves = __riscv_vreinterpret_v_u8m1_u16m1(v_to_bytes_(vi_load_each_(p, at, 2)));
    return v_from_f16_(__riscv_vlmul_trunc_v_u16m1_u16mf2(halves));
}
V_INLINE vi vi_load_words(const void *const *p, size_t at) { return vi_load_each_(p, at, 4); }
V_INLINE vint8m1_t v_numbers_(const int8_t *integers, vuint8m1_t places) {
    return __riscv_vrgather_vv_i8m1(__riscv_vle8_v_i8m1(integers, 16), places, V_BYTES_);
}
V_INLINE vi vi_nibbles_(vuint8m1_t places, const int8_t *integers) {
    return v_of_bytes_(__riscv_vreinterpret_v_i8m1_u8m1(v_numbers_(integers, places)));
}
V_INLINE vi vi_low_nibbles(vi a, const int8_t *integers) {
    return vi_nibbles_(__riscv_vand_vx_u8m1(v_to_bytes_(a), 15, V_BYTES_), integers);
}
V_INLINE vi vi_high_nibbles(vi a, const int8_t *integers) {
    return vi_nibbles_(__riscv_vsrl_vx_u8m1(v_to_bytes_(a), 4, V_BYTES_), integers);
}
/* A product spreads the four bits over bytes. */
V_INLINE vi vi_add_fifth(vi a, vi bits, size_t first) {
    vuint32m1_t four = __riscv_vsrl_vx_u32m1(v_unsigned_(bits), first, VF);
    vuint32m1_t spread = __riscv_vmul_vx_u32m1(__riscv_vand_vx_u32m1(four, 15, VF), 0x02040810, VF);
    vuint8m1_t added = __riscv_vreinterpret_v_u32m1_u8m1(__riscv_vand_vx_u32m1(spread, 0x10101010, VF));
    return v_of_bytes_(__riscv_vadd_vv_u8m1(v_to_bytes_(a), added, V_BYTES_));
}
/* Four numbers a lane, as two pairs of 16 bits; sums of their products, the two of a pair side by side. */
typedef vint16m1_t v_halves_ V_FIXED_(1);
typedef vint32m2_t vp V_FIXED_(2);
typedef struct vq {
    v_halves_ first, second;
} vq;
enum { V_DIGITS = 0 };
V_INLINE vint16m1_t v_to_halves_(vi a) { return __riscv_vreinterpret_v_i32m1_i16m1(a); }
V_INLINE vq vq_bytes(vi a) {
    vint16m1_t low = __riscv_vsll_vx_i16m1(v_to_halves_(a), 8, 2 * VF);
    return (vq){__riscv_vsra_vx_i16m1(low, 8, 2 * VF), __riscv_vsra_vx_i16m1(v_to_halves_(a), 8, 2 * VF)};
}
V_INLINE vp vp_zero(void) { return __riscv_vmv_v_x_i32m2(0, 2 * VF); }
V_INLINE vp vp_add(vq a, vi w0, vi w1, vp sum) {
    vint32m2_t more = __riscv_vwmacc_vv_i32m2(sum, a.first, v_to_halves_(w0), 2 * VF);
    return __riscv_vwmacc_vv_i32m2(more, a.second, v_to_halves_(w1), 2 * VF);
}
V_INLINE vi vp_sum(vp a) {
    vint64m2_t pairs = __riscv_vreinterpret_v_i32m2_i64m2(a);
    return vi_add(__riscv_vnsra_wx_i32m1(pairs, 0, VF), __riscv_vnsra_wx_i32m1(pairs, 32, VF));
}
/* Lanes of 32 bits: a in the low 16, b in the high ones; of 2 VF channels, the first VF in *lo */
V_INLINE void v_pair_8_(vint8mf2_t a, vint8mf2_t b, v_halves_ *lo, v_halves_ *hi) {
    vuint16m1_t low = __riscv_vreinterpret_v_i16m1_u16m1(__riscv_vsext_vf2_i16m1(a, 2 * VF));
    vuint16m1_t high = __riscv_vreinterpret_v_i16m1_u16m1(__riscv_vsext_vf2_i16m1(b, 2 * VF));
    vuint32m2_t pairs = __riscv_vwmaccu_vx_u32m2(__riscv_vwaddu_vv_u32m2(low, high, 2 * VF), 0xffff, high, 2 * VF);
    vint16m2_t all = __riscv_vreinterpret_v_i32m2_i16m2(__riscv_vreinterpret_v_u32m2_i32m2(pairs));
    *lo = __riscv_vget_v_i16m2_i16m1(all, 0);
    *hi = __riscv_vget_v_i16m2_i16m1(all, 1);
}
V_INLINE void v_quads_(vint8mf2_t a, vint8mf2_t b, vint8mf2_t c, vint8mf2_t d, vq *lo, vq *hi) {
    v_pair_8_(a, b, &lo->first, &hi->first);
    v_pair_8_(c, d, &lo->second, &hi->second);
}
V_INLINE void vq_rows(const void *const *p, size_t at, vq *lo, vq *hi) {
#define ROW(k) __riscv_vle8_v_i8mf2((const int8_t *)p[k] + at, 2 * VF)
    v_quads_(ROW(0), ROW(1), ROW(2), ROW(3), lo, hi);
#undef ROW
}
V_INLINE vint8mf2_t v_row_nibbles_(const uint8_t *p, size_t first, const int8_t *integers) {
    vuint8m1_t a = __riscv_vle8_v_u8m1(p + first % 16, 2 * VF);
    a = first < 16 ? __riscv_vand_vx_u8m1(a, 15, 2 * VF) : __riscv_vsrl_vx_u8m1(a, 4, 2 * VF);
    return __riscv_vlmul_trunc_v_i8m1_i8mf2(v_numbers_(integers, a));
}
V_INLINE void vq_row_nibbles(const void *const *p, size_t at, size_t first, const int8_t *integers, vq *lo, vq *hi) {
#define ROW(k) v_row_nibbles_((const uint8_t *)p[k] + at, first, integers)
    v_quads_(ROW(0), ROW(1), ROW(2), ROW(3), lo, hi);
#undef ROW
}
V_INLINE vint8mf2_t v_row_fives_(const uint8_t *p, size_t first, const int8_t *integers) {
    uint32_t bits = (p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24) >> first;
    vbool16_t is_set = __riscv_vreinterpret_v_u32m1_b16(__riscv_vmv_s_x_u32m1(bits, VF));
    vint8mf2_t a = v_row_nibbles_(p + 4, first, integers);
    return __riscv_vadd_vx_i8mf2_mu(is_set, a, a, 16, 2 * VF);
}
V_INLINE void vq_row_fives(const void *const *p, size_t at, size_t first, const int8_t *integers, vq *lo, vq *hi) {
#define ROW(k) v_row_fives_((const uint8_t *)p[k] + at, first, integers)
    v_quads_(ROW(0), ROW(1), ROW(2), ROW(3), lo, hi);
#undef ROW
}
V_INLINE void v_unpair(vf lo, vf hi, vf *first, vf *second) {
    *first = lo;
    *second = hi;
}
V_INLINE vf v_load_u4(const uint8_t *p, int is_high, const int8_t *integers) {
    vuint8m1_t a = __riscv_vle8_v_u8m1(p, VF);
    a = is_high ? __riscv_vsrl_vx_u8m1(a, 4, VF) : __riscv_vand_vx_u8m1(a, 15, VF);
    vint8mf4_t numbers = __riscv_vlmul_trunc_v_i8m1_i8mf4(v_numbers_(integers, a));
    return v_from_int(__riscv_vsext_vf4_i32m1(numbers, VF));
}
V_INLINE int32_t vi_max_lanes(vi a) { return __riscv_vmv_x_s_i32m1_i32(__riscv_vredmax_vs_i32m1_i32m1(a, a, VF)); }
V_INLINE vi vi_round(vf a) { return __riscv_vfcvt_x_f_v_i32m1(a, VF); }
V_INLINE vi vi_trunc(vf a) { return __riscv_vfcvt_rtz_x_f_v_i32m1(a, VF); }
/* The number below 1/2 takes no other number over the next integer, and 1/2 itself by the rounding of the sum. */
V_INLINE vi vi_round_away(vf a) { return vi_trunc(v_add(a, __riscv_vfsgnj_vv_f32m1(v_set1(0x1.fffffep-2f), a, VF))); }
V_INLINE uint32_t v_lane_bits(vm m) {
    return __riscv_vmv_x_s_u32m1_u32(__riscv_vreinterpret_v_b32_u32m1(m)) & ((1u << VF) - 1);
}
V_INLINE vuint16mf2_t v_low_halves_(vi a) { return __riscv_vncvt_x_x_w_u16mf2(v_unsigned_(a), VF); }
V_INLINE void vi_store_8(int8_t *p, const vi *a, size_t n) {
    for (size_t k = 0; k < n; k += VF, a++)
        __riscv_vse8_v_u8mf4((uint8_t *)p + k, __riscv_vncvt_x_x_w_u8mf4(v_low_halves_(*a), VF), VF);
}
V_INLINE void vi_store_16(int16_t *p, vi a) { __riscv_vse16_v_u16mf2((uint16_t *)p, v_low_halves_(a), VF); }

/* ---- float64 ---- */

V_INLINE vd vd_load(const double *p) { return __riscv_vle64_v_f64m1(p, VD); }
V_INLINE void vd_store(double *p, vd a) { __riscv_vse64_v_f64m1(p, a, VD); }
V_INLINE vd vd_set1(double a) { return __riscv_vfmv_v_f_f64m1(a, VD); }
V_INLINE vd vd_add(vd a, vd b) { return __riscv_vfadd_vv_f64m1(a, b, VD); }
V_INLINE vd vd_mul(vd a, vd b) { return __riscv_vfmul_vv_f64m1(a, b, VD); }
V_INLINE vd vd_fma(vd a, vd b, vd c) { return __riscv_vfmacc_vv_f64m1(c, a, b, VD); }
V_INLINE vd vd_fms(vd a, vd b, vd c) { return __riscv_vfmsac_vv_f64m1(c, a, b, VD); }
/* Numbers from 2^52 on are integers, and stay as they are. */
V_INLINE vd vd_round(vd a) {
    vbool64_t has_fraction = __riscv_vmflt_vf_f64m1_b64(__riscv_vfabs_v_f64m1(a, VD), 0x1p52, VD);
    vfloat64m1_t rounded = __riscv_vfcvt_f_x_v_f64m1(__riscv_vfcvt_x_f_v_i64m1_m(has_fraction, a, VD), VD);
    return __riscv_vfsgnj_vv_f64m1_mu(has_fraction, a, rounded, a, VD);
}
/* SLEEF's functions for one number, lane by lane. */
V_INLINE void vd_sincospi(vd a, vd *s, vd *c) {
    double lanes[VD], cosines[VD];
    vd_store(lanes, a);
    for (int k = 0; k < VD; k++) {
        Sleef_double_2 r = POSENC_SINCOSPI(d1_u35purecfma)(lanes[k]);
        lanes[k] = r.x;
        cosines[k] = r.y;
    }
    *s = vd_load(lanes);
    *c = vd_load(cosines);
}
V_INLINE vd vd_exp(vd a) {
    double lanes[VD];
    vd_store(lanes, a);
    for (int k = 0; k < VD; k++)
        lanes[k] = POSENC_EXP(d1_u10purecfma)(lanes[k]);
    return vd_load(lanes);
}
V_INLINE vf v_from_vd(vd lo, vd hi) {
    return __riscv_vfncvt_f_f_w_f32m1(__riscv_vcreate_v_f64m1_f64m2(lo, hi), VF);
}
V_INLINE void v_store_vd(float *p, vd lo, vd hi) { v_store(p, v_from_vd(lo, hi)); }
V_INLINE void v_stream_vd(float *p, vd lo, vd hi) { v_store_vd(p, lo, hi); }
V_INLINE void v_end_stream(void) {}
V_INLINE vd vd_low(vf a) { return __riscv_vfwcvt_f_f_v_f64m1(__riscv_vlmul_trunc_v_f32m1_f32mf2(a), VD); }
V_INLINE vd vd_high(vf a) { return vd_low(__riscv_vslidedown_vx_f32m1(a, VD, VF)); }

#endif
