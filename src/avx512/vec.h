/* SPDX-License-Identifier: MIT */
/* The vector layer on AVX-512 F, BW, DQ, VL. docs/vector-layer.md states each operation; tests/test_vec.c holds every
 * tier to it. */
#ifndef POSENC_VEC_H
#define POSENC_VEC_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/sleef.h"

#define VF 16 /* float32 lanes */
#define VD 8  /* float64 lanes */
#define V_MASKED_STORES 1

typedef __m512 vf;
typedef __m512i vi;
typedef __m512d vd;
typedef __mmask16 vm;

#define V_INLINE static inline __attribute__((always_inline))

/* The value, held in a register from here on: gcc 12 otherwise loads it from memory again at each use. */
V_INLINE vf v_keep(vf a) {
    __asm__("" : "+v"(a));
    return a;
}
V_INLINE vd vd_keep(vd a) {
    __asm__("" : "+v"(a));
    return a;
}

/* ---- load and store; n counts lanes, 0 .. VF ---- */

V_INLINE __mmask16 v_first_lanes_(size_t n) { return (__mmask16)((1u << n) - 1u); }
V_INLINE vf v_load(const float *p) { return _mm512_loadu_ps(p); }
V_INLINE vf v_load_n(const float *p, size_t n) { return _mm512_maskz_loadu_ps(v_first_lanes_(n), p); }
V_INLINE void v_store(float *p, vf a) { _mm512_storeu_ps(p, a); }
V_INLINE void v_store_n(float *p, vf a, size_t n) { _mm512_mask_storeu_ps(p, v_first_lanes_(n), a); }
/* p0 p0 p1 p1 ...: n counts lanes of the result, even */
V_INLINE vf v_twice_(__m256 half) {
    const __m512i index = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(index, _mm512_castps256_ps512(half));
}
V_INLINE vf v_load_twice(const float *p) { return v_twice_(_mm256_loadu_ps(p)); }
V_INLINE vf v_load_twice_n(const float *p, size_t n) {
    return v_twice_(_mm256_maskz_loadu_ps((__mmask8)v_first_lanes_(n / 2), p));
}

/* ---- f16, bf16 and 8-bit floats at p, widened and rounded to nearest even; a NaN stays one ---- */

V_INLINE __m256i v_load_16_n_(const uint16_t *p, size_t n) { return _mm256_maskz_loadu_epi16(v_first_lanes_(n), p); }
V_INLINE vf v_from_bf16_(__m256i a) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(a), 16)); }
/* Not vcvtneps2bf16: it flushes denormals. */
V_INLINE __m512i v_round_to_bf16_(vf a) { /* in the high halves */
    __m512i bits = _mm512_castps_si512(a);
    __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    __m512i rounded = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
    rounded = _mm512_mask_add_epi32(rounded, odd, rounded, _mm512_set1_epi32(1));
    return _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
}
V_INLINE __m256i v_to_bf16_(vf a) {
    const __m512i high_halves = _mm512_set_epi16(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
                                                 31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_castsi512_si256(_mm512_permutexvar_epi16(high_halves, v_round_to_bf16_(a)));
}
V_INLINE vf v_load_f16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
V_INLINE vf v_load_f16_n(const uint16_t *p, size_t n) { return _mm512_cvtph_ps(v_load_16_n_(p, n)); }
V_INLINE void v_store_f16(uint16_t *p, vf a) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
V_INLINE void v_store_f16_n(uint16_t *p, vf a, size_t n) {
    _mm256_mask_storeu_epi16(p, v_first_lanes_(n), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
V_INLINE vf v_set1_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_set1_epi16((short)*p)); }
V_INLINE vf v_load_i8(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
/* Exponent and fraction become those of an f16 of 2^-8 the size. The highest bit of its exponent, a second sign at
 * first, becomes 1 for a NaN alone: adding 1 in the last place carries there. */
V_INLINE vf v_from_f8_e4m3_(__m128i bytes) {
    __m256i words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
    __m256i carry = _mm256_and_si256(_mm256_add_epi16(words, _mm256_set1_epi16(0x80)), _mm256_set1_epi16(0x4000));
    return _mm512_mul_ps(_mm512_cvtph_ps(_mm256_xor_si256(words, carry)), _mm512_set1_ps(0x1p8f));
}
V_INLINE vf v_load_f8_e4m3(const uint8_t *p) {
    return v_from_f8_e4m3_(_mm_loadu_si128((const __m128i *)(const void *)p));
}
V_INLINE void v_load_f8_e4m3_pair(const uint8_t *p, vf *first, vf *second) {
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m512i words = _mm512_slli_epi16(_mm512_cvtepi8_epi16(bytes), 7);
    __m512i next = _mm512_add_epi16(words, _mm512_set1_epi16(0x80)), bit = _mm512_set1_epi16(0x4000);
    __m512i halves = _mm512_ternarylogic_epi32(words, next, bit, 0x78); /* words ^ (next & bit) */
    *first = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves)), _mm512_set1_ps(0x1p8f));
    *second = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)), _mm512_set1_ps(0x1p8f));
}
/* 16 bytes of rows 0, 4, 8 and 12, from byte `first` on */
V_INLINE __m512i v_four_lanes_(const void *const *rows, size_t first) {
    __m128i lane[4];
    for (int i = 0; i < 4; i++)
        lane[i] = _mm_loadu_si128((const __m128i *)(const void *)((const char *)rows[4 * i] + first));
    __m512i four = _mm512_inserti32x4(_mm512_castsi128_si512(lane[0]), lane[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(four, lane[2], 2), lane[3], 3);
}
enum { V_COLUMNS_OF_8 = 16 };
/* V_COLUMNS_OF_8 numbers of 8 bits of each of VF rows: out[c * VF + t] is number first + c of row t. Rows t, t + 4, ..
 * lie in one register, so that the lanes of 128 bits need no more than one permutation. */
V_INLINE void v_transpose_8(const void *const *rows, size_t first, uint8_t *out) {
    __m512i four[4], pair[4], done[4];
    for (int t = 0; t < 4; t++)
        four[t] = v_four_lanes_(rows + t, first);
    for (int t = 0; t < 4; t += 2) {
        pair[t / 2] = _mm512_unpacklo_epi8(four[t], four[t + 1]);
        pair[t / 2 + 2] = _mm512_unpackhi_epi8(four[t], four[t + 1]);
    }
    for (int c = 0; c < 4; c += 2) {
        done[c] = _mm512_unpacklo_epi16(pair[c], pair[c + 1]);
        done[c + 1] = _mm512_unpackhi_epi16(pair[c], pair[c + 1]);
    }
    const __m512i by_number = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (int c = 0; c < 4; c++)
        _mm512_storeu_si512(out + 64 * c, _mm512_permutexvar_epi32(by_number, done[c]));
}
V_INLINE vf v_load_f8_e4m3_n(const uint8_t *p, size_t n) {
    return v_from_f8_e4m3_(_mm_maskz_loadu_epi8(v_first_lanes_(n), p));
}
/* As posenc_to_f8_e4m3(). */
V_INLINE __m128i v_to_f8_e4m3_(vf a) {
    __m512i bits = _mm512_castps_si512(a), size = _mm512_castps_si512(_mm512_abs_ps(a));
    __m512i sign = _mm512_and_si512(_mm512_srli_epi32(bits, 24), _mm512_set1_epi32(0x80));
    __m512i most = _mm512_min_epi32(size, _mm512_set1_epi32(0x43e00000));
    __mmask16 odd = _mm512_test_epi32_mask(most, _mm512_set1_epi32(0x100000));
    __m512i rounded = _mm512_add_epi32(most, _mm512_set1_epi32(0x7ffff - (120 << 23)));
    rounded = _mm512_mask_add_epi32(rounded, odd, rounded, _mm512_set1_epi32(1));
    __m512 steps = _mm512_add_ps(_mm512_castsi512_ps(most), _mm512_set1_ps(0x1p14f));
    __m512i denormal = _mm512_sub_epi32(_mm512_castps_si512(steps), _mm512_set1_epi32(0x46800000));
    __mmask16 is_denormal = _mm512_cmplt_epi32_mask(size, _mm512_set1_epi32(0x3c800000));
    __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    __m512i bytes = _mm512_mask_or_epi32(_mm512_srli_epi32(rounded, 20), is_denormal, denormal, denormal);
    bytes = _mm512_mask_or_epi32(bytes, (__mmask16)~nan, bytes, sign);
    return _mm512_cvtepi32_epi8(_mm512_mask_or_epi32(bytes, nan, _mm512_set1_epi32(0x7f), _mm512_set1_epi32(0x7f)));
}
V_INLINE void v_store_f8_e4m3(uint8_t *p, vf a) { _mm_storeu_si128((__m128i *)(void *)p, v_to_f8_e4m3_(a)); }
V_INLINE void v_store_f8_e4m3_n(uint8_t *p, vf a, size_t n) {
    _mm_mask_storeu_epi8(p, v_first_lanes_(n), v_to_f8_e4m3_(a));
}
V_INLINE vf v_load_bf16(const uint16_t *p) {
    return v_from_bf16_(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
V_INLINE vf v_load_bf16_n(const uint16_t *p, size_t n) { return v_from_bf16_(v_load_16_n_(p, n)); }
V_INLINE void v_store_bf16(uint16_t *p, vf a) { _mm256_storeu_si256((__m256i *)(void *)p, v_to_bf16_(a)); }
V_INLINE void v_store_bf16_n(uint16_t *p, vf a, size_t n) {
    _mm256_mask_storeu_epi16(p, v_first_lanes_(n), v_to_bf16_(a));
}
/* 8 numbers of 16 bits of each of VF rows: out[c * VF + t] is number first + c of row t, as above. */
V_INLINE void v_transpose_16(const void *const *rows, size_t first, uint16_t *out) {
    __m512i four[4], pair[4], done[4];
    for (int t = 0; t < 4; t++)
        four[t] = v_four_lanes_(rows + t, 2 * first);
    for (int t = 0; t < 4; t += 2) {
        pair[t / 2] = _mm512_unpacklo_epi16(four[t], four[t + 1]);
        pair[t / 2 + 2] = _mm512_unpackhi_epi16(four[t], four[t + 1]);
    }
    for (int c = 0; c < 4; c += 2) {
        done[c] = _mm512_unpacklo_epi32(pair[c], pair[c + 1]);
        done[c + 1] = _mm512_unpackhi_epi32(pair[c], pair[c + 1]);
    }
    const __m512i by_number = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (int c = 0; c < 4; c++)
        _mm512_storeu_si512(out + 32 * c, _mm512_permutexvar_epi64(by_number, done[c]));
}
/* 32 numbers of 16 bits of each of VF rows, as above. A row's 64 bytes are loaded at once. */
V_INLINE void v_transpose_line_16(const void *const *rows, size_t first, uint16_t *out) {
    __m512i four[4][4]; /* four[g][c], lane i: numbers 8 i + 2 c and 8 i + 2 c + 1 of rows 4 g to 4 g + 3 */
    for (int g = 0; g < 4; g++) {
        __m512i row[4], pair[4];
        for (int t = 0; t < 4; t++)
            row[t] = _mm512_loadu_si512((const uint16_t *)rows[4 * g + t] + first);
        for (int t = 0; t < 2; t++) {
            pair[t] = _mm512_unpacklo_epi16(row[2 * t], row[2 * t + 1]);
            pair[t + 2] = _mm512_unpackhi_epi16(row[2 * t], row[2 * t + 1]);
        }
        for (int c = 0; c < 4; c += 2) {
            four[g][c] = _mm512_unpacklo_epi32(pair[c], pair[c + 1]);
            four[g][c + 1] = _mm512_unpackhi_epi32(pair[c], pair[c + 1]);
        }
    }
    const __m512i half[2] = {_mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                             _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15)};
    const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i odd = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 2; i++) { /* lanes 2 i and 2 i + 1 */
            __m512i eight[2];         /* rows 0 to 7 and 8 to 15 */
            for (int g = 0; g < 2; g++)
                eight[g] = _mm512_permutex2var_epi64(four[2 * g][c], half[i], four[2 * g + 1][c]);
            uint16_t *to = out + (16 * i + 2 * c) * VF;
            _mm512_storeu_si512(to, _mm512_permutex2var_epi64(eight[0], even, eight[1]));
            _mm512_storeu_si512(to + 8 * VF, _mm512_permutex2var_epi64(eight[0], odd, eight[1]));
        }
}
/* n pairs of bf16 at p: each is a lane of 32 bits, whose high half is the second */
V_INLINE void v_load_bf16_pairs(const uint16_t *p, size_t n, vf *first, vf *second) {
    __m512i pairs = _mm512_maskz_loadu_epi32(v_first_lanes_(n), p);
    *first = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    *second = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000)));
}
V_INLINE void v_store_bf16_pairs(uint16_t *p, vf first, vf second, size_t n) {
    __m512i low = _mm512_srli_epi32(v_round_to_bf16_(first), 16);
    _mm512_mask_storeu_epi32(p, v_first_lanes_(n), _mm512_mask_blend_epi16(0xaaaaaaaa, low, v_round_to_bf16_(second)));
}
V_INLINE void v_store_high_pairs(uint16_t *p, vf first, vf second) {
    __m512i low = _mm512_srli_epi32(_mm512_castps_si512(first), 16);
    _mm512_storeu_si512(p, _mm512_mask_blend_epi16(0xaaaaaaaa, low, _mm512_castps_si512(second)));
}

/* ---- float32 ---- */

V_INLINE vf v_set1(float a) { return _mm512_set1_ps(a); }
V_INLINE vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
V_INLINE vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
V_INLINE vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
V_INLINE vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
V_INLINE vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
V_INLINE vf v_fms(vf a, vf b, vf c) { return _mm512_fmsub_ps(a, b, c); }
V_INLINE vf v_neg(vf a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
V_INLINE vf v_abs(vf a) { return _mm512_abs_ps(a); }
V_INLINE vf v_neg_even(vf a) { return _mm512_mask_xor_ps(a, 0x5555, a, _mm512_set1_ps(-0.0f)); }
V_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
V_INLINE vm v_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
V_INLINE vf v_zero_if(vm m, vf a) { return _mm512_maskz_mov_ps((__mmask16)~m, a); }
V_INLINE vf v_select(vm m, vf a, vf b) { return _mm512_mask_mov_ps(b, m, a); }
/* lanes n and beyond become those of fill */
V_INLINE vf v_first_or(vf a, size_t n, vf fill) { return _mm512_mask_mov_ps(fill, v_first_lanes_(n), a); }
/* lane k: one where bit k of bits is set, else zero */
V_INLINE vf v_select_bits(uint32_t bits, vf one, vf zero) { return _mm512_mask_mov_ps(zero, (__mmask16)bits, one); }
/* lanes n and beyond of a, then the first n of b */
V_INLINE vf v_slide(vf a, vf b, size_t n) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_permutex2var_ps(a, _mm512_add_epi32(lane, _mm512_set1_epi32((int)n)), b);
}
V_INLINE vf v_swap_pairs(vf a) { return _mm512_permute_ps(a, 0xb1); }
V_INLINE vf v_permute(vf a, vi index) { return _mm512_permutexvar_ps(index, a); }
V_INLINE vf v_reverse(vf a) {
    const __m512i index = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_ps(index, a);
}
/* a0 b0 a1 b1 ... : the first VF values in *lo, the rest in *hi */
V_INLINE void v_zip(vf a, vf b, vf *lo, vf *hi) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    *lo = _mm512_permutex2var_ps(a, low, b);
    *hi = _mm512_permutex2var_ps(a, high, b);
}
/* even lanes of the 2 VF values a, b in *even, odd ones in *odd */
V_INLINE void v_unzip(vf a, vf b, vf *even, vf *odd) {
    const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odds = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    *even = _mm512_permutex2var_ps(a, evens, b);
    *odd = _mm512_permutex2var_ps(a, odds, b);
}
/* 4 rows x 4 columns inside of each quarter: columns k, k + 4, k + 8 and k + 12 in *rk. */
V_INLINE void v_transpose_four_(vf *r0, vf *r1, vf *r2, vf *r3) {
    __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(*r0, *r1)), b = _mm512_castps_pd(_mm512_unpackhi_ps(*r0, *r1));
    __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(*r2, *r3)), d = _mm512_castps_pd(_mm512_unpackhi_ps(*r2, *r3));
    *r0 = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    *r1 = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    *r2 = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    *r3 = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
}
/* VF rows: lane i of row k and lane k of row i change places */
V_INLINE void v_transpose(vf *rows) {
    for (int k = 0; k < 16; k += 4)
        v_transpose_four_(rows + k, rows + k + 1, rows + k + 2, rows + k + 3);
    for (int k = 0; k < 4; k++) { /* quarters, of rows 0 .. 7 and of the others: even ones and odd ones */
        vf even0 = _mm512_shuffle_f32x4(rows[k], rows[k + 4], 0x88);
        vf odd0 = _mm512_shuffle_f32x4(rows[k], rows[k + 4], 0xdd);
        vf even1 = _mm512_shuffle_f32x4(rows[k + 8], rows[k + 12], 0x88);
        vf odd1 = _mm512_shuffle_f32x4(rows[k + 8], rows[k + 12], 0xdd);
        rows[k] = _mm512_shuffle_f32x4(even0, even1, 0x88);
        rows[k + 4] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
        rows[k + 8] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
        rows[k + 12] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
    }
}
V_INLINE float v_max_lanes(vf a) {
    __m256 half = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
V_INLINE float v_sum_lanes(vf a) {
    __m256 half = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* ---- int32 ---- */

V_INLINE vi vi_set1(int32_t a) { return _mm512_set1_epi32(a); }
V_INLINE vi vi_iota(void) { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
V_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
V_INLINE vi vi_abs(vi a) { return _mm512_abs_epi32(a); }
V_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
V_INLINE vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
V_INLINE vi vi_min(vi a, vi b) { return _mm512_min_epi32(a, b); }
V_INLINE vi vi_max(vi a, vi b) { return _mm512_max_epi32(a, b); }
V_INLINE vm vi_lt(vi a, vi b) { return _mm512_cmplt_epi32_mask(a, b); }
V_INLINE int vi_same(vi a, vi b) { return _mm512_cmpneq_epi32_mask(a, b) == 0; }
V_INLINE vi vi_load_n(const int32_t *p, size_t n) { return _mm512_maskz_loadu_epi32(v_first_lanes_(n), p); }
V_INLINE vi vi_load_u8_n(const uint8_t *p, size_t n) {
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(v_first_lanes_(n), p));
}
V_INLINE vf v_gather_n(const float *p, vi index, size_t n) {
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), v_first_lanes_(n), index, p, 4);
}
V_INLINE __m128 v_pick_four_(const float *p, ptrdiff_t stride, const int32_t *index) {
    __m128 a = _mm_load_ss(p + index[0]);
    a = _mm_insert_ps(a, _mm_load_ss(p + stride + index[1]), 0x10);
    a = _mm_insert_ps(a, _mm_load_ss(p + 2 * stride + index[2]), 0x20);
    return _mm_insert_ps(a, _mm_load_ss(p + 3 * stride + index[3]), 0x30);
}
V_INLINE __m256 v_pick_eight_(const float *p, ptrdiff_t stride, const int32_t *index) {
    return _mm256_set_m128(v_pick_four_(p + 4 * stride, stride, index + 4), v_pick_four_(p, stride, index));
}
V_INLINE vf v_pick(const float *p, ptrdiff_t stride, const int32_t *index) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(v_pick_eight_(p, stride, index)),
                              v_pick_eight_(p + 8 * stride, stride, index + 8), 1);
}
V_INLINE vi vi_gather_n(const int32_t *p, vi index, size_t n) {
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), v_first_lanes_(n), index, p, 4);
}
V_INLINE vf v_from_int(vi a) { return _mm512_cvtepi32_ps(a); }
V_INLINE vf v_exponent(vf a) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a), 23)); }

/* ---- bytes and 16 bits inside of the lanes of 32 ---- */

V_INLINE vf v_from_bits(vi a) { return _mm512_castsi512_ps(a); }
V_INLINE vi vi_from_bits(vf a) { return _mm512_castps_si512(a); }
V_INLINE vi vi_load(const void *p) { return _mm512_loadu_si512(p); }
V_INLINE void vi_store(void *p, vi a) { _mm512_storeu_si512(p, a); }
V_INLINE vi vi_load_blocks(const void *p, size_t step) {
    const __m256i *first = (const __m256i *)p, *second = (const __m256i *)(const void *)((const char *)p + step);
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(first)), _mm256_loadu_si256(second), 1);
}
V_INLINE __m256i v_load_two_(const char *p, size_t step) {
    return _mm256_set_m128i(_mm_loadu_si128((const __m128i *)(const void *)(p + step)),
                            _mm_loadu_si128((const __m128i *)(const void *)p));
}
V_INLINE vi vi_load_halves(const void *p, size_t step) {
    const char *at = (const char *)p;
    return _mm512_inserti64x4(_mm512_castsi256_si512(v_load_two_(at, step)), v_load_two_(at + 2 * step, step), 1);
}
V_INLINE __m128i v_gather_eight_(const void *const *p, size_t at) {
#define HALF(k) (*(const short *)(const void *)((const char *)p[k] + at))
    __m128i low = _mm_cvtsi32_si128((unsigned short)HALF(0)), high = _mm_cvtsi32_si128((unsigned short)HALF(4));
    low = _mm_insert_epi16(low, HALF(1), 1);
    high = _mm_insert_epi16(high, HALF(5), 1);
    low = _mm_insert_epi16(low, HALF(2), 2);
    high = _mm_insert_epi16(high, HALF(6), 2);
    low = _mm_insert_epi16(low, HALF(3), 3);
    high = _mm_insert_epi16(high, HALF(7), 3);
    return _mm_unpacklo_epi64(low, high);
#undef HALF
}
V_INLINE vf v_gather_f16(const void *const *p, size_t at) {
    return _mm512_cvtph_ps(_mm256_set_m128i(v_gather_eight_(p + 8, at), v_gather_eight_(p, at)));
}
V_INLINE vi vi_load_words(const void *const *p, size_t at) {
    int32_t words[16];
    for (int k = 0; k < 16; k++)
        memcpy(&words[k], (const char *)p[k] + at, sizeof words[k]);
    return _mm512_setr_epi32(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8],
                             words[9], words[10], words[11], words[12], words[13], words[14], words[15]);
}
V_INLINE __m128i v_16_bytes_(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
V_INLINE vi v_nibbles_(__m512i a, const int8_t *integers) {
    __m512i table = _mm512_broadcast_i32x4(v_16_bytes_(integers));
    return _mm512_shuffle_epi8(table, _mm512_and_si512(a, _mm512_set1_epi8(15)));
}
V_INLINE vi vi_low_nibbles(vi a, const int8_t *integers) { return v_nibbles_(a, integers); }
V_INLINE vi vi_high_nibbles(vi a, const int8_t *integers) { return v_nibbles_(_mm512_srli_epi16(a, 4), integers); }
V_INLINE vi vi_add_fifth(vi a, vi bits, size_t first) {
    const __m512i lane = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
    const __m512i mask = _mm512_set1_epi32(first % 8 == 0 ? 0x08040201 : (int)0x80402010);
    __m512i bytes = _mm512_shuffle_epi8(bits, _mm512_add_epi8(lane, _mm512_set1_epi8((char)(first / 8))));
    return _mm512_mask_add_epi8(a, _mm512_test_epi8_mask(bytes, mask), a, _mm512_set1_epi8(16));
}
/* Four numbers a lane, as two pairs of 16 bits. */
typedef struct vq {
    vi first, second;
} vq;
typedef vi vp;
enum { V_DIGITS = 0 };
V_INLINE vq vq_bytes(vi a) {
    return (vq){_mm512_srai_epi16(_mm512_slli_epi16(a, 8), 8), _mm512_srai_epi16(a, 8)};
}
V_INLINE vp vp_zero(void) { return _mm512_setzero_si512(); }
V_INLINE vp v_madd_(vi a, vi b, vi c) {
#ifdef __AVX512VNNI__
    return _mm512_dpwssd_epi32(c, a, b);
#else
    return _mm512_add_epi32(_mm512_madd_epi16(a, b), c);
#endif
}
V_INLINE vp vp_add(vq a, vi w0, vi w1, vp sum) { return v_madd_(a.second, w1, v_madd_(a.first, w0, sum)); }
V_INLINE vi vp_sum(vp a) { return a; }
V_INLINE void v_pair_(__m256i a, __m256i b, vi *lo, vi *hi) {
    __m512i x = _mm512_cvtepi8_epi16(a), y = _mm512_cvtepi8_epi16(b);
    *lo = _mm512_unpacklo_epi16(x, y);
    *hi = _mm512_unpackhi_epi16(x, y);
}
V_INLINE __m256i v_32_bytes_(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
V_INLINE void vq_rows(const void *const *p, size_t at, vq *lo, vq *hi) {
#define ROW(k) v_32_bytes_((const char *)p[k] + at)
    v_pair_(ROW(0), ROW(1), &lo->first, &hi->first);
    v_pair_(ROW(2), ROW(3), &lo->second, &hi->second);
#undef ROW
}
V_INLINE __m256i v_32_nibbles_(const void *p, const int8_t *integers) {
    __m128i a = v_16_bytes_(p);
    __m256i both = _mm256_set_m128i(_mm_srli_epi16(a, 4), a);
    __m256i table = _mm256_broadcastsi128_si256(v_16_bytes_(integers));
    return _mm256_shuffle_epi8(table, _mm256_and_si256(both, _mm256_set1_epi8(15)));
}
V_INLINE void vq_row_nibbles(const void *const *p, size_t at, size_t first, const int8_t *integers, vq *lo, vq *hi) {
    (void)first; /* 0: both halves of a block at once */
#define ROW(k) v_32_nibbles_((const char *)p[k] + at, integers)
    v_pair_(ROW(0), ROW(1), &lo->first, &hi->first);
    v_pair_(ROW(2), ROW(3), &lo->second, &hi->second);
#undef ROW
}
V_INLINE __m256i v_32_fives_(const char *p, const int8_t *integers) {
    uint32_t bits;
    memcpy(&bits, p, sizeof bits);
    __m256i numbers = v_32_nibbles_(p + sizeof bits, integers);
    return _mm256_mask_add_epi8(numbers, bits, numbers, _mm256_set1_epi8(16));
}
V_INLINE void vq_row_fives(const void *const *p, size_t at, size_t first, const int8_t *integers, vq *lo, vq *hi) {
    (void)first;
#define ROW(k) v_32_fives_((const char *)p[k] + at, integers)
    v_pair_(ROW(0), ROW(1), &lo->first, &hi->first);
    v_pair_(ROW(2), ROW(3), &lo->second, &hi->second);
#undef ROW
}
V_INLINE void v_unpair(vf lo, vf hi, vf *first, vf *second) {
    const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i high = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    *first = _mm512_permutex2var_ps(lo, low, hi);
    *second = _mm512_permutex2var_ps(lo, high, hi);
}
V_INLINE vf v_load_u4(const uint8_t *p, int is_high, const int8_t *integers) {
    __m128i a = v_16_bytes_(p), nibbles = _mm_and_si128(is_high ? _mm_srli_epi16(a, 4) : a, _mm_set1_epi8(15));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_shuffle_epi8(v_16_bytes_(integers), nibbles)));
}
V_INLINE int32_t vi_max_lanes(vi a) {
    __m256i half = _mm256_max_epi32(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}
V_INLINE vi vi_round(vf a) { return _mm512_cvtps_epi32(a); }
V_INLINE vi vi_trunc(vf a) { return _mm512_cvttps_epi32(a); }
/* Adds the neighbour of 0.5: with that, what is just below a half would become the next integer. */
V_INLINE vi vi_round_away(vf a) {
    vf half = _mm512_or_ps(_mm512_and_ps(a, _mm512_set1_ps(-0.0f)), _mm512_set1_ps(0x1.fffffep-2f));
    return _mm512_cvttps_epi32(_mm512_add_ps(a, half));
}
V_INLINE uint32_t v_lane_bits(vm m) { return m; }
V_INLINE void vi_store_8(int8_t *p, const vi *a, size_t n) {
    for (size_t k = 0; k < n / 16; k++)
        _mm_storeu_si128((__m128i *)(void *)(p + 16 * k), _mm512_cvtepi32_epi8(a[k]));
}
V_INLINE void vi_store_16(int16_t *p, vi a) { _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(a)); }

/* ---- float64 ---- */

V_INLINE vd vd_load(const double *p) { return _mm512_loadu_pd(p); }
V_INLINE void vd_store(double *p, vd a) { _mm512_storeu_pd(p, a); }
V_INLINE vd vd_set1(double a) { return _mm512_set1_pd(a); }
V_INLINE vd vd_add(vd a, vd b) { return _mm512_add_pd(a, b); }
V_INLINE vd vd_mul(vd a, vd b) { return _mm512_mul_pd(a, b); }
V_INLINE vd vd_fma(vd a, vd b, vd c) { return _mm512_fmadd_pd(a, b, c); }
V_INLINE vd vd_fms(vd a, vd b, vd c) { return _mm512_fmsub_pd(a, b, c); }
V_INLINE vd vd_round(vd a) { return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
V_INLINE void vd_sincospi(vd a, vd *s, vd *c) {
    Sleef___m512d_2 r = POSENC_SINCOSPI(d8_u35avx512f)(a);
    *s = r.x;
    *c = r.y;
}
V_INLINE vd vd_exp(vd a) { return POSENC_EXP(d8_u10avx512f)(a); }
V_INLINE vf v_from_vd(vd lo, vd hi) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lo)), _mm512_cvtpd_ps(hi), 1);
}
V_INLINE void v_store_vd(float *p, vd lo, vd hi) {
    _mm256_storeu_ps(p, _mm512_cvtpd_ps(lo));
    _mm256_storeu_ps(p + 8, _mm512_cvtpd_ps(hi));
}
V_INLINE void v_stream_vd(float *p, vd lo, vd hi) {
    _mm256_stream_ps(p, _mm512_cvtpd_ps(lo));
    _mm256_stream_ps(p + 8, _mm512_cvtpd_ps(hi));
}
V_INLINE void v_end_stream(void) { _mm_sfence(); }
V_INLINE vd vd_low(vf a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
V_INLINE vd vd_high(vf a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }

#endif
