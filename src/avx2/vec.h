/* SPDX-License-Identifier: MIT */
/* The vector layer on AVX2 + FMA. docs/vector-layer.md states each operation; tests/test_vec.c holds tiers to it. */
#ifndef POSENC_VEC_H
#define POSENC_VEC_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/sleef.h"

#define VF 8 /* float32 lanes */
#define VD 4 /* float64 lanes */
#define V_MASKED_STORES 0

typedef __m256 vf;
typedef __m256i vi;
typedef __m256d vd;
typedef __m256 vm; /* all bits of a lane set or clear */

#define V_INLINE static inline __attribute__((always_inline))

/* The value, held in a register from here on: gcc 12 otherwise loads it from memory again at each use. */
V_INLINE vf v_keep(vf a) {
    __asm__("" : "+x"(a));
    return a;
}
V_INLINE vd vd_keep(vd a) {
    __asm__("" : "+x"(a));
    return a;
}

/* ---- load and store; n counts lanes, 0 .. VF ---- */

V_INLINE __m256i v_first_lanes_(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
V_INLINE vf v_load(const float *p) { return _mm256_loadu_ps(p); }
V_INLINE vf v_load_n(const float *p, size_t n) { return _mm256_maskload_ps(p, v_first_lanes_(n)); }
V_INLINE void v_store(float *p, vf a) { _mm256_storeu_ps(p, a); }
/* Not maskstore: it is microcoded on AMD (18 cycles on Zen 3, one per two lanes here). */
V_INLINE void v_store_n(float *p, vf a, size_t n) {
    __m128 half = _mm256_castps256_ps128(a);
    if (n >= 8) {
        _mm256_storeu_ps(p, a);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(p, half);
        half = _mm256_extractf128_ps(a, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)p, half);
        half = _mm_movehl_ps(half, half);
        p += 2;
    }
    if (n & 1) { /* not _mm_store_ss: gcc's stores a float, and a pair of bf16 is aligned to 2 */
        int last = _mm_cvtsi128_si32(_mm_castps_si128(half));
        memcpy(p, &last, sizeof last);
    }
}
/* p0 p0 p1 p1 ...: n counts lanes of the result, even */
V_INLINE vf v_twice_(__m128 half) {
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(half), _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}
V_INLINE vf v_load_twice(const float *p) { return v_twice_(_mm_loadu_ps(p)); }
V_INLINE vf v_load_twice_n(const float *p, size_t n) {
    return v_twice_(_mm_maskload_ps(p, _mm256_castsi256_si128(v_first_lanes_(n / 2))));
}

/* ---- f16, bf16 and 8-bit floats at p, widened and rounded to nearest even; a NaN stays one ---- */

/* n <= 8 numbers of 16 bits, by words that overlap: one by one they would have to wait for each other in memory. A head
 * of 30 took 6 times as long a channel as one of 32. */
V_INLINE __m128i v_load_16_n_(const uint16_t *p, size_t n) {
    uint64_t low = 0, high = 0;
    if (n >= 4) {
        memcpy(&low, p, 8);
        if (n > 4) {
            memcpy(&high, p + n - 4, 8);
            high >>= 16 * (8 - n);
        }
    } else {
        if (n >= 2)
            memcpy(&low, p, 4);
        if (n % 2 == 1)
            low |= (uint64_t)p[n - 1] << (16 * (n - 1));
    }
    return _mm_set_epi64x((long long)high, (long long)low);
}
V_INLINE void v_store_16_n_(uint16_t *p, __m128i a, size_t n) {
    uint64_t low = (uint64_t)_mm_cvtsi128_si64(a), high = (uint64_t)_mm_extract_epi64(a, 1);
    if (n >= 4) {
        memcpy(p, &low, 8);
        if (n > 4) {
            uint64_t last = high << (16 * (8 - n)) | low >> (16 * (n - 5)) >> 16;
            memcpy(p + n - 4, &last, 8);
        }
    } else {
        if (n >= 2)
            memcpy(p, &low, 4);
        if (n % 2 == 1)
            p[n - 1] = (uint16_t)(low >> (16 * (n - 1)));
    }
}
V_INLINE vf v_from_bf16_(__m128i a) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16)); }
V_INLINE __m256i v_round_to_bf16_(vf a) { /* in the high halves */
    __m256i bits = _mm256_castps_si256(a);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(rounded, quiet, nan);
}
V_INLINE __m128i v_to_bf16_(vf a) {
    __m256i halves = _mm256_srli_epi32(v_round_to_bf16_(a), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}
V_INLINE vf v_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)); }
V_INLINE vf v_load_f16_n(const uint16_t *p, size_t n) { return _mm256_cvtph_ps(v_load_16_n_(p, n)); }
V_INLINE void v_store_f16(uint16_t *p, vf a) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
V_INLINE void v_store_f16_n(uint16_t *p, vf a, size_t n) {
    v_store_16_n_(p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT), n);
}
V_INLINE vf v_set1_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_set1_epi16((short)*p)); }
V_INLINE vf v_load_i8(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
/* Exponent and fraction become those of an f16 of 2^-8 the size. The highest bit of its exponent, a second sign at
 * first, becomes 1 for a NaN alone: adding 1 in the last place carries there. */
V_INLINE vf v_from_f8_e4m3_(__m128i bytes) {
    __m128i words = _mm_slli_epi16(_mm_cvtepi8_epi16(bytes), 7);
    __m128i carry = _mm_and_si128(_mm_add_epi16(words, _mm_set1_epi16(0x80)), _mm_set1_epi16(0x4000));
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_xor_si128(words, carry)), _mm256_set1_ps(0x1p8f));
}
V_INLINE vf v_load_f8_e4m3(const uint8_t *p) {
    return v_from_f8_e4m3_(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
V_INLINE void v_load_f8_e4m3_pair(const uint8_t *p, vf *first, vf *second) {
    __m256i words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p)), 7);
    __m256i carry = _mm256_and_si256(_mm256_add_epi16(words, _mm256_set1_epi16(0x80)), _mm256_set1_epi16(0x4000));
    __m256i halves = _mm256_xor_si256(words, carry);
    *first = _mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), _mm256_set1_ps(0x1p8f));
    *second = _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)), _mm256_set1_ps(0x1p8f));
}
/* 16 bytes of rows 0 and 4, from byte `first` on */
V_INLINE __m256i v_two_lanes_(const void *const *rows, size_t first) {
    const __m128i *low = (const __m128i *)(const void *)((const char *)rows[0] + first);
    const __m128i *high = (const __m128i *)(const void *)((const char *)rows[4] + first);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)), _mm_loadu_si128(high), 1);
}
enum { V_COLUMNS_OF_8 = 16 };
/* V_COLUMNS_OF_8 numbers of 8 bits of each of VF rows: out[c * VF + t] is number first + c of row t. Rows t and t + 4
 * lie in one register, so that its halves need no more than one permutation. */
V_INLINE void v_transpose_8(const void *const *rows, size_t first, uint8_t *out) {
    __m256i two[4], pair[4], done[4];
    for (int t = 0; t < 4; t++)
        two[t] = v_two_lanes_(rows + t, first);
    for (int t = 0; t < 4; t += 2) {
        pair[t / 2] = _mm256_unpacklo_epi8(two[t], two[t + 1]);
        pair[t / 2 + 2] = _mm256_unpackhi_epi8(two[t], two[t + 1]);
    }
    for (int c = 0; c < 4; c += 2) {
        done[c] = _mm256_unpacklo_epi16(pair[c], pair[c + 1]);
        done[c + 1] = _mm256_unpackhi_epi16(pair[c], pair[c + 1]);
    }
    const __m256i by_number = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int c = 0; c < 4; c++)
        _mm256_storeu_si256((__m256i *)(void *)(out + 32 * c), _mm256_permutevar8x32_epi32(done[c], by_number));
}
V_INLINE vf v_load_f8_e4m3_n(const uint8_t *p, size_t n) {
    uint64_t bytes = 0;
    memcpy(&bytes, p, n);
    return v_from_f8_e4m3_(_mm_cvtsi64_si128((long long)bytes));
}
/* As posenc_to_f8_e4m3(). */
V_INLINE uint64_t v_to_f8_e4m3_(vf a) {
    const __m256i low_bytes = _mm256_broadcastsi128_si256(_mm_cvtsi32_si128(0x0c080400));
    __m256i bits = _mm256_castps_si256(a), size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(0x80));
    __m256i most = _mm256_min_epi32(size, _mm256_set1_epi32(0x43e00000));
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(most, 20), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(most, odd), _mm256_set1_epi32(0x7ffff - (120 << 23)));
    __m256 steps = _mm256_add_ps(_mm256_castsi256_ps(most), _mm256_set1_ps(0x1p14f));
    __m256i denormal = _mm256_sub_epi32(_mm256_castps_si256(steps), _mm256_set1_epi32(0x46800000));
    __m256i is_denormal = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x3c800000), size);
    __m256i bytes = _mm256_blendv_epi8(_mm256_srli_epi32(rounded, 20), denormal, is_denormal);
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    bytes = _mm256_blendv_epi8(_mm256_or_si256(bytes, sign), _mm256_set1_epi32(0x7f), nan);
    bytes = _mm256_shuffle_epi8(bytes, low_bytes);
    __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    return (uint64_t)_mm_cvtsi128_si64(both);
}
V_INLINE void v_store_f8_e4m3_n(uint8_t *p, vf a, size_t n) {
    uint64_t bytes = v_to_f8_e4m3_(a);
    memcpy(p, &bytes, n);
}
V_INLINE void v_store_f8_e4m3(uint8_t *p, vf a) { v_store_f8_e4m3_n(p, a, 8); }
V_INLINE vf v_load_bf16(const uint16_t *p) { return v_from_bf16_(_mm_loadu_si128((const __m128i *)(const void *)p)); }
V_INLINE vf v_load_bf16_n(const uint16_t *p, size_t n) { return v_from_bf16_(v_load_16_n_(p, n)); }
V_INLINE void v_store_bf16(uint16_t *p, vf a) { _mm_storeu_si128((__m128i *)(void *)p, v_to_bf16_(a)); }
V_INLINE void v_store_bf16_n(uint16_t *p, vf a, size_t n) { v_store_16_n_(p, v_to_bf16_(a), n); }
/* 8 numbers of 16 bits of each of VF rows: out[c * VF + t] is number first + c of row t, as above. */
V_INLINE void v_transpose_16(const void *const *rows, size_t first, uint16_t *out) {
    __m256i two[4], pair[4], done[4];
    for (int t = 0; t < 4; t++)
        two[t] = v_two_lanes_(rows + t, 2 * first);
    for (int t = 0; t < 4; t += 2) {
        pair[t / 2] = _mm256_unpacklo_epi16(two[t], two[t + 1]);
        pair[t / 2 + 2] = _mm256_unpackhi_epi16(two[t], two[t + 1]);
    }
    for (int c = 0; c < 4; c += 2) {
        done[c] = _mm256_unpacklo_epi32(pair[c], pair[c + 1]);
        done[c + 1] = _mm256_unpackhi_epi32(pair[c], pair[c + 1]);
    }
    for (int c = 0; c < 4; c++)
        _mm256_storeu_si256((__m256i *)(void *)(out + 16 * c), _mm256_permute4x64_epi64(done[c], 0xd8));
}
/* 32 numbers of 16 bits of each of VF rows, as above */
V_INLINE void v_transpose_line_16(const void *const *rows, size_t first, uint16_t *out) {
    for (size_t c = 0; c < 32; c += 8)
        v_transpose_16(rows, first + c, out + c * VF);
}
/* n pairs of bf16 at p: each is a lane of 32 bits, whose high half is the second */
V_INLINE void v_load_bf16_pairs(const uint16_t *p, size_t n, vf *first, vf *second) {
    const float *lanes = (const float *)(const void *)p;
    __m256i pairs = _mm256_castps_si256(n == VF ? v_load(lanes) : v_load_n(lanes, n));
    *first = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
    *second = _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32((int)0xffff0000)));
}
V_INLINE void v_store_bf16_pairs(uint16_t *p, vf first, vf second, size_t n) {
    __m256i low = _mm256_srli_epi32(v_round_to_bf16_(first), 16);
    v_store_n((float *)(void *)p, _mm256_castsi256_ps(_mm256_blend_epi16(low, v_round_to_bf16_(second), 0xaa)), n);
}
V_INLINE void v_store_high_pairs(uint16_t *p, vf first, vf second) {
    __m256i low = _mm256_srli_epi32(_mm256_castps_si256(first), 16);
    _mm256_storeu_si256((__m256i *)(void *)p, _mm256_blend_epi16(low, _mm256_castps_si256(second), 0xaa));
}

/* ---- float32 ---- */

V_INLINE vf v_set1(float a) { return _mm256_set1_ps(a); }
V_INLINE vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
V_INLINE vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
V_INLINE vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
V_INLINE vf v_div(vf a, vf b) { return _mm256_div_ps(a, b); }
V_INLINE vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
V_INLINE vf v_fms(vf a, vf b, vf c) { return _mm256_fmsub_ps(a, b, c); }
V_INLINE vf v_neg(vf a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
V_INLINE vf v_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
V_INLINE vf v_neg_even(vf a) {
    return _mm256_xor_ps(a, _mm256_setr_ps(-0.0f, 0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f, 0.0f));
}
V_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
V_INLINE vm v_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
V_INLINE vf v_zero_if(vm m, vf a) { return _mm256_andnot_ps(m, a); }
V_INLINE vf v_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
/* lanes n and beyond of a, then the first n of b */
V_INLINE vf v_slide(vf a, vf b, size_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    vf both = _mm256_blendv_ps(a, b, _mm256_castsi256_ps(v_first_lanes_(n)));
    return _mm256_permutevar8x32_ps(both, _mm256_add_epi32(lane, _mm256_set1_epi32((int)n))); /* modulo 8 */
}
/* lanes n and beyond become those of fill */
V_INLINE vf v_first_or(vf a, size_t n, vf fill) {
    return _mm256_blendv_ps(fill, a, _mm256_castsi256_ps(v_first_lanes_(n)));
}
/* lane k: one where bit k of bits is set, else zero */
V_INLINE vf v_select_bits(uint32_t bits, vf one, vf zero) {
    __m256i to_sign = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    return _mm256_blendv_ps(zero, one, _mm256_castsi256_ps(_mm256_sllv_epi32(_mm256_set1_epi32((int)bits), to_sign)));
}
V_INLINE vf v_swap_pairs(vf a) { return _mm256_permute_ps(a, 0xb1); }
V_INLINE vf v_permute(vf a, vi index) { return _mm256_permutevar8x32_ps(a, index); }
V_INLINE vf v_reverse(vf a) { return _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)); }
/* a0 b0 a1 b1 ... : the first VF values in *lo, the rest in *hi */
V_INLINE void v_zip(vf a, vf b, vf *lo, vf *hi) {
    __m256 even = _mm256_unpacklo_ps(a, b), odd = _mm256_unpackhi_ps(a, b);
    *lo = _mm256_permute2f128_ps(even, odd, 0x20);
    *hi = _mm256_permute2f128_ps(even, odd, 0x31);
}
/* even lanes of the 2 VF values a, b in *even, odd ones in *odd */
V_INLINE void v_unzip(vf a, vf b, vf *even, vf *odd) {
    __m256 lo = _mm256_permute2f128_ps(a, b, 0x20), hi = _mm256_permute2f128_ps(a, b, 0x31);
    *even = _mm256_shuffle_ps(lo, hi, 0x88);
    *odd = _mm256_shuffle_ps(lo, hi, 0xdd);
}
/* 4 rows x 4 columns inside of each half: column k of the low half, and column k + 4, in *rk. */
V_INLINE void v_transpose_four_(vf *r0, vf *r1, vf *r2, vf *r3) {
    __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(*r0, *r1)), b = _mm256_castps_pd(_mm256_unpackhi_ps(*r0, *r1));
    __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(*r2, *r3)), d = _mm256_castps_pd(_mm256_unpackhi_ps(*r2, *r3));
    *r0 = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
    *r1 = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
    *r2 = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
    *r3 = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
}
/* VF rows: lane i of row k and lane k of row i change places */
V_INLINE void v_transpose(vf *rows) {
    v_transpose_four_(rows, rows + 1, rows + 2, rows + 3);
    v_transpose_four_(rows + 4, rows + 5, rows + 6, rows + 7);
    for (int k = 0; k < 4; k++) {
        vf low = rows[k], high = rows[k + 4];
        rows[k] = _mm256_permute2f128_ps(low, high, 0x20);
        rows[k + 4] = _mm256_permute2f128_ps(low, high, 0x31);
    }
}
V_INLINE float v_max_lanes(vf a) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
V_INLINE float v_sum_lanes(vf a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* ---- int32 ---- */

V_INLINE vi vi_set1(int32_t a) { return _mm256_set1_epi32(a); }
V_INLINE vi vi_iota(void) { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
V_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
V_INLINE vi vi_abs(vi a) { return _mm256_abs_epi32(a); }
V_INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
V_INLINE vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
V_INLINE vi vi_min(vi a, vi b) { return _mm256_min_epi32(a, b); }
V_INLINE vi vi_max(vi a, vi b) { return _mm256_max_epi32(a, b); }
V_INLINE vm vi_lt(vi a, vi b) { return _mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a)); }
V_INLINE int vi_same(vi a, vi b) { return _mm256_movemask_epi8(_mm256_cmpeq_epi32(a, b)) == -1; }
V_INLINE vi vi_load_n(const int32_t *p, size_t n) { return _mm256_maskload_epi32(p, v_first_lanes_(n)); }
V_INLINE vi vi_load_u8_n(const uint8_t *p, size_t n) {
    uint64_t bytes = 0;
    memcpy(&bytes, p, n);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
}
V_INLINE vf v_gather_n(const float *p, vi index, size_t n) {
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, index, _mm256_castsi256_ps(v_first_lanes_(n)), 4);
}
V_INLINE __m128 v_pick_four_(const float *p, ptrdiff_t stride, const int32_t *index) {
    __m128 a = _mm_load_ss(p + index[0]);
    a = _mm_insert_ps(a, _mm_load_ss(p + stride + index[1]), 0x10);
    a = _mm_insert_ps(a, _mm_load_ss(p + 2 * stride + index[2]), 0x20);
    return _mm_insert_ps(a, _mm_load_ss(p + 3 * stride + index[3]), 0x30);
}
V_INLINE vf v_pick(const float *p, ptrdiff_t stride, const int32_t *index) {
    return _mm256_set_m128(v_pick_four_(p + 4 * stride, stride, index + 4), v_pick_four_(p, stride, index));
}
V_INLINE vi vi_gather_n(const int32_t *p, vi index, size_t n) {
    return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), p, index, v_first_lanes_(n), 4);
}
V_INLINE vf v_from_int(vi a) { return _mm256_cvtepi32_ps(a); }
V_INLINE vf v_exponent(vf a) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a), 23)); }

/* ---- bytes and 16 bits inside of the lanes of 32 ---- */

V_INLINE vf v_from_bits(vi a) { return _mm256_castsi256_ps(a); }
V_INLINE vi vi_from_bits(vf a) { return _mm256_castps_si256(a); }
V_INLINE vi vi_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
V_INLINE void vi_store(void *p, vi a) { _mm256_storeu_si256((__m256i *)p, a); }
V_INLINE vi vi_load_blocks(const void *p, size_t step) {
    (void)step; /* one block */
    return vi_load(p);
}
V_INLINE vi vi_load_halves(const void *p, size_t step) {
    const char *at = (const char *)p;
    return _mm256_set_m128i(_mm_loadu_si128((const __m128i *)(const void *)(at + step)),
                            _mm_loadu_si128((const __m128i *)(const void *)at));
}
V_INLINE vf v_gather_f16(const void *const *p, size_t at) {
#define HALF(k) (*(const short *)(const void *)((const char *)p[k] + at))
    __m128i low = _mm_cvtsi32_si128((unsigned short)HALF(0)), high = _mm_cvtsi32_si128((unsigned short)HALF(4));
    low = _mm_insert_epi16(low, HALF(1), 1);
    high = _mm_insert_epi16(high, HALF(5), 1);
    low = _mm_insert_epi16(low, HALF(2), 2);
    high = _mm_insert_epi16(high, HALF(6), 2);
    low = _mm_insert_epi16(low, HALF(3), 3);
    high = _mm_insert_epi16(high, HALF(7), 3);
    return _mm256_cvtph_ps(_mm_unpacklo_epi64(low, high));
#undef HALF
}
V_INLINE vi vi_load_words(const void *const *p, size_t at) {
    int32_t words[8];
    for (int k = 0; k < 8; k++)
        memcpy(&words[k], (const char *)p[k] + at, sizeof words[k]);
    return _mm256_setr_epi32(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]);
}
V_INLINE __m128i v_16_bytes_(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
V_INLINE vi v_nibbles_(__m256i a, const int8_t *integers) {
    __m256i table = _mm256_broadcastsi128_si256(v_16_bytes_(integers));
    return _mm256_shuffle_epi8(table, _mm256_and_si256(a, _mm256_set1_epi8(15)));
}
V_INLINE vi vi_low_nibbles(vi a, const int8_t *integers) { return v_nibbles_(a, integers); }
V_INLINE vi vi_high_nibbles(vi a, const int8_t *integers) { return v_nibbles_(_mm256_srli_epi16(a, 4), integers); }
V_INLINE vi vi_add_fifth(vi a, vi bits, size_t first) {
    const __m256i lane = _mm256_broadcastsi128_si256(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
    const __m256i mask = _mm256_set1_epi32(first % 8 == 0 ? 0x08040201 : (int)0x80402010);
    __m256i bytes = _mm256_shuffle_epi8(bits, _mm256_add_epi8(lane, _mm256_set1_epi8((char)(first / 8))));
    __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, mask), mask);
    return _mm256_add_epi8(a, _mm256_and_si256(is_set, _mm256_set1_epi8(16)));
}
/* Four numbers a lane, as two pairs of 16 bits. */
typedef struct vq {
    vi first, second;
} vq;
typedef vi vp;
enum { V_DIGITS = 0 };
V_INLINE vq vq_bytes(vi a) {
    return (vq){_mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8), _mm256_srai_epi16(a, 8)};
}
V_INLINE vp vp_zero(void) { return _mm256_setzero_si256(); }
V_INLINE vp v_madd_(vi a, vi b, vi c) {
#ifdef __AVXVNNI__
    return _mm256_dpwssd_avx_epi32(c, a, b);
#else
    return _mm256_add_epi32(_mm256_madd_epi16(a, b), c);
#endif
}
V_INLINE vp vp_add(vq a, vi w0, vi w1, vp sum) { return v_madd_(a.second, w1, v_madd_(a.first, w0, sum)); }
V_INLINE vi vp_sum(vp a) { return a; }
V_INLINE void v_pair_(__m128i a, __m128i b, vi *lo, vi *hi) {
    __m256i x = _mm256_cvtepi8_epi16(a), y = _mm256_cvtepi8_epi16(b);
    *lo = _mm256_unpacklo_epi16(x, y);
    *hi = _mm256_unpackhi_epi16(x, y);
}
V_INLINE void vq_rows(const void *const *p, size_t at, vq *lo, vq *hi) {
#define ROW(k) v_16_bytes_((const char *)p[k] + at)
    v_pair_(ROW(0), ROW(1), &lo->first, &hi->first);
    v_pair_(ROW(2), ROW(3), &lo->second, &hi->second);
#undef ROW
}
V_INLINE __m128i v_16_nibbles_(__m128i a, const int8_t *integers) {
    return _mm_shuffle_epi8(v_16_bytes_(integers), _mm_and_si128(a, _mm_set1_epi8(15)));
}
V_INLINE __m128i v_nibbles_at_(const void *p, size_t first, const int8_t *integers) {
    __m128i a = v_16_bytes_(p);
    return v_16_nibbles_(first > 0 ? _mm_srli_epi16(a, 4) : a, integers);
}
V_INLINE void vq_row_nibbles(const void *const *p, size_t at, size_t first, const int8_t *integers, vq *lo, vq *hi) {
#define ROW(k) v_nibbles_at_((const char *)p[k] + at, first, integers)
    v_pair_(ROW(0), ROW(1), &lo->first, &hi->first);
    v_pair_(ROW(2), ROW(3), &lo->second, &hi->second);
#undef ROW
}
V_INLINE __m128i v_fives_at_(const char *p, size_t first, const int8_t *integers) {
    const __m128i mask = _mm_set1_epi64x((long long)0x8040201008040201);
    int16_t bits;
    memcpy(&bits, p + first / 8, sizeof bits);
    __m128i bytes = _mm_shuffle_epi8(_mm_set1_epi16(bits), _mm_set_epi64x(0x0101010101010101, 0));
    __m128i is_set = _mm_cmpeq_epi8(_mm_and_si128(bytes, mask), mask);
    return _mm_add_epi8(v_nibbles_at_(p + 4, first, integers), _mm_and_si128(is_set, _mm_set1_epi8(16)));
}
V_INLINE void vq_row_fives(const void *const *p, size_t at, size_t first, const int8_t *integers, vq *lo, vq *hi) {
#define ROW(k) v_fives_at_((const char *)p[k] + at, first, integers)
    v_pair_(ROW(0), ROW(1), &lo->first, &hi->first);
    v_pair_(ROW(2), ROW(3), &lo->second, &hi->second);
#undef ROW
}
V_INLINE void v_unpair(vf lo, vf hi, vf *first, vf *second) {
    *first = _mm256_permute2f128_ps(lo, hi, 0x20);
    *second = _mm256_permute2f128_ps(lo, hi, 0x31);
}
V_INLINE vf v_load_u4(const uint8_t *p, int is_high, const int8_t *integers) {
    __m128i a = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v_16_nibbles_(is_high ? _mm_srli_epi16(a, 4) : a, integers)));
}
V_INLINE int32_t vi_max_lanes(vi a) {
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}
V_INLINE vi vi_round(vf a) { return _mm256_cvtps_epi32(a); }
V_INLINE vi vi_trunc(vf a) { return _mm256_cvttps_epi32(a); }
/* Adds the neighbour of 0.5: with that, what is just below a half would become the next integer. */
V_INLINE vi vi_round_away(vf a) {
    vf half = _mm256_or_ps(_mm256_and_ps(a, _mm256_set1_ps(-0.0f)), _mm256_set1_ps(0x1.fffffep-2f));
    return _mm256_cvttps_epi32(_mm256_add_ps(a, half));
}
V_INLINE uint32_t v_lane_bits(vm m) { return (uint32_t)_mm256_movemask_ps(m); }
/* as 16 bits, four of a and four of b by turns */
V_INLINE __m256i v_low_bytes_(vi a, vi b) {
    const __m256i byte = _mm256_set1_epi32(255);
    return _mm256_packus_epi32(_mm256_and_si256(a, byte), _mm256_and_si256(b, byte));
}
V_INLINE void vi_store_8(int8_t *p, const vi *a, size_t n) {
    __m256i low = v_low_bytes_(a[0], a[1]), high = n > 16 ? v_low_bytes_(a[2], a[3]) : low;
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), in_order);
    if (n > 16)
        _mm256_storeu_si256((__m256i *)(void *)p, bytes);
    else
        _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(bytes));
}
V_INLINE void vi_store_16(int16_t *p, vi a) {
    _mm_storeu_si128((__m128i *)(void *)p,
                     _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}

/* ---- float64 ---- */

V_INLINE vd vd_load(const double *p) { return _mm256_loadu_pd(p); }
V_INLINE void vd_store(double *p, vd a) { _mm256_storeu_pd(p, a); }
V_INLINE vd vd_set1(double a) { return _mm256_set1_pd(a); }
V_INLINE vd vd_add(vd a, vd b) { return _mm256_add_pd(a, b); }
V_INLINE vd vd_mul(vd a, vd b) { return _mm256_mul_pd(a, b); }
V_INLINE vd vd_fma(vd a, vd b, vd c) { return _mm256_fmadd_pd(a, b, c); }
V_INLINE vd vd_fms(vd a, vd b, vd c) { return _mm256_fmsub_pd(a, b, c); }
V_INLINE vd vd_round(vd a) { return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
V_INLINE void vd_sincospi(vd a, vd *s, vd *c) {
    Sleef___m256d_2 r = POSENC_SINCOSPI(d4_u35avx2)(a);
    *s = r.x;
    *c = r.y;
}
V_INLINE vd vd_exp(vd a) { return POSENC_EXP(d4_u10avx2)(a); }
V_INLINE vf v_from_vd(vd lo, vd hi) { return _mm256_set_m128(_mm256_cvtpd_ps(hi), _mm256_cvtpd_ps(lo)); }
V_INLINE void v_store_vd(float *p, vd lo, vd hi) { v_store(p, v_from_vd(lo, hi)); }
V_INLINE void v_stream_vd(float *p, vd lo, vd hi) { _mm256_stream_ps(p, v_from_vd(lo, hi)); }
V_INLINE void v_end_stream(void) { _mm_sfence(); }
V_INLINE vd vd_low(vf a) { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
V_INLINE vd vd_high(vf a) { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }

#endif
