/* SPDX-License-Identifier: MIT */
/* Stands before the compiler's <immintrin.h> in a build with -Demulate_avx512=true: what src/avx512/vec.h takes from
 * AVX-512, made of AVX2 and plain C, so that the tests run that header's logic, and the bodies with 16 lanes, on a CPU
 * without AVX-512. For tests only, and no word on the instructions that a compiler makes of the real tier.
 *
 * A vector is its two halves of 256 bits, or its lanes. Operations lane by lane are AVX2's instruction on either half.
 * Moves of lanes, and choices by a mask, are loops over lanes as Intel's manual states them. A masked
 * load, store or gather touches the lanes of its mask and no other. */
#ifndef POSENC_TESTS_EMULATED_IMMINTRIN_H
#define POSENC_TESTS_EMULATED_IMMINTRIN_H

#include_next <immintrin.h>

/* All that the tier and its tests include of the system, before __asm__ goes (at the end). */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sleef.h"

/* ---- Names: the compiler's header has declared, or defined as macros, those of Intel ---- */

#include "names.h"

#define EMULATED static inline __attribute__((always_inline))

typedef union __m512 {
    struct {
        __m256 low, high;
    };
    float f32[16];
} __m512;
typedef union __m512d {
    struct {
        __m256d low, high;
    };
} __m512d;
typedef union __m512i {
    struct {
        __m256i low, high;
    };
    __m128i quarter[4];
    int8_t i8[64];
    int16_t i16[32];
    int32_t i32[16];
    int64_t i64[8];
} __m512i;

/* ---- Lane by lane ---- */

#define EMULATED_OF_1(type, name, of_half)                                                                             \
    EMULATED type name(type a) {                                                                                       \
        return (type){.low = of_half(a.low), .high = of_half(a.high)};                                                 \
    }
#define EMULATED_OF_2(type, name, of_half)                                                                             \
    EMULATED type name(type a, type b) {                                                                               \
        return (type){.low = of_half(a.low, b.low), .high = of_half(a.high, b.high)};                                  \
    }
#define EMULATED_OF_3(type, name, of_half)                                                                             \
    EMULATED type name(type a, type b, type c) {                                                                       \
        return (type){.low = of_half(a.low, b.low, c.low), .high = of_half(a.high, b.high, c.high)};                   \
    }

EMULATED_OF_2(__m512, _mm512_add_ps, _mm256_add_ps)
EMULATED_OF_2(__m512, _mm512_sub_ps, _mm256_sub_ps)
EMULATED_OF_2(__m512, _mm512_mul_ps, _mm256_mul_ps)
EMULATED_OF_2(__m512, _mm512_div_ps, _mm256_div_ps)
EMULATED_OF_2(__m512, _mm512_max_ps, _mm256_max_ps)
EMULATED_OF_2(__m512, _mm512_xor_ps, _mm256_xor_ps)
EMULATED_OF_1(__m512, _mm512_sqrt_ps, _mm256_sqrt_ps)
EMULATED_OF_3(__m512, _mm512_fmadd_ps, _mm256_fmadd_ps)
EMULATED_OF_3(__m512, _mm512_fmsub_ps, _mm256_fmsub_ps)

EMULATED_OF_2(__m512, _mm512_unpacklo_ps, _mm256_unpacklo_ps)
EMULATED_OF_2(__m512, _mm512_unpackhi_ps, _mm256_unpackhi_ps)

EMULATED_OF_2(__m512d, _mm512_unpacklo_pd, _mm256_unpacklo_pd)
EMULATED_OF_2(__m512d, _mm512_unpackhi_pd, _mm256_unpackhi_pd)
EMULATED_OF_2(__m512d, _mm512_add_pd, _mm256_add_pd)
EMULATED_OF_2(__m512d, _mm512_sub_pd, _mm256_sub_pd)
EMULATED_OF_2(__m512d, _mm512_mul_pd, _mm256_mul_pd)
EMULATED_OF_3(__m512d, _mm512_fmadd_pd, _mm256_fmadd_pd)
EMULATED_OF_3(__m512d, _mm512_fmsub_pd, _mm256_fmsub_pd)

EMULATED_OF_2(__m512i, _mm512_add_epi32, _mm256_add_epi32)
EMULATED_OF_2(__m512i, _mm512_sub_epi32, _mm256_sub_epi32)
EMULATED_OF_2(__m512i, _mm512_mullo_epi32, _mm256_mullo_epi32)
EMULATED_OF_2(__m512i, _mm512_min_epi32, _mm256_min_epi32)
EMULATED_OF_2(__m512i, _mm512_max_epi32, _mm256_max_epi32)
EMULATED_OF_2(__m512, _mm512_and_ps, _mm256_and_ps)
EMULATED_OF_2(__m512, _mm512_or_ps, _mm256_or_ps)
EMULATED_OF_2(__m512i, _mm512_and_si512, _mm256_and_si256)
EMULATED_OF_2(__m512i, emulated_or_si512, _mm256_or_si256)
EMULATED_OF_1(__m512i, _mm512_abs_epi32, _mm256_abs_epi32)
EMULATED_OF_2(__m512i, _mm512_add_epi8, _mm256_add_epi8)
EMULATED_OF_2(__m512i, _mm512_madd_epi16, _mm256_madd_epi16)
/* Within each 128 bits, in 512 as in 256. */
EMULATED_OF_2(__m512i, _mm512_shuffle_epi8, _mm256_shuffle_epi8)
EMULATED_OF_2(__m512i, _mm512_unpacklo_epi16, _mm256_unpacklo_epi16)
EMULATED_OF_2(__m512i, _mm512_unpackhi_epi16, _mm256_unpackhi_epi16)
EMULATED_OF_2(__m512i, _mm512_unpacklo_epi32, _mm256_unpacklo_epi32)
EMULATED_OF_2(__m512i, _mm512_unpackhi_epi32, _mm256_unpackhi_epi32)

#define EMULATED_SHIFT(name, of_half)                                                                                  \
    EMULATED __m512i name(__m512i a, unsigned bits) {                                                                  \
        return (__m512i){.low = of_half(a.low, (int)bits), .high = of_half(a.high, (int)bits)};                        \
    }
EMULATED_SHIFT(_mm512_slli_epi32, _mm256_slli_epi32)
EMULATED_SHIFT(_mm512_srli_epi32, _mm256_srli_epi32)
EMULATED_SHIFT(_mm512_slli_epi16, _mm256_slli_epi16)
EMULATED_SHIFT(_mm512_srli_epi16, _mm256_srli_epi16)
EMULATED_SHIFT(_mm512_srai_epi16, _mm256_srai_epi16)
EMULATED __m512 _mm512_abs_ps(__m512 a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return (__m512){.low = _mm256_andnot_ps(sign, a.low), .high = _mm256_andnot_ps(sign, a.high)};
}
/* A macro, as are others below: AVX2's form wants a constant. The roundings have the same numbers. */
#define emulated_mm512_roundscale_pd(a, rounding)                                                                      \
    ((__m512d){.low = _mm256_round_pd((a).low, rounding), .high = _mm256_round_pd((a).high, rounding)})

/* ---- Constants, bits of another type, parts ---- */

/* Bits above a narrower register, which are undefined: all are set here, so that nothing can rely on zeros. */
#define EMULATED_UNDEFINED _mm256_set1_epi32(-1)

EMULATED __m512 _mm512_set1_ps(float a) {
    return (__m512){.low = _mm256_set1_ps(a), .high = _mm256_set1_ps(a)};
}
EMULATED __m512d _mm512_set1_pd(double a) {
    return (__m512d){.low = _mm256_set1_pd(a), .high = _mm256_set1_pd(a)};
}
EMULATED __m512i _mm512_set1_epi32(int a) {
    return (__m512i){.low = _mm256_set1_epi32(a), .high = _mm256_set1_epi32(a)};
}
EMULATED __m512i _mm512_set1_epi8(char a) {
    return (__m512i){.low = _mm256_set1_epi8(a), .high = _mm256_set1_epi8(a)};
}
EMULATED __m512 _mm512_setzero_ps(void) {
    return _mm512_set1_ps(0.0f);
}
EMULATED __m512i _mm512_setzero_si512(void) {
    return _mm512_set1_epi32(0);
}
#define emulated_mm512_setr_epi32(...) ((__m512i){.i32 = {__VA_ARGS__}})
#define emulated_mm512_setr_epi64(...) ((__m512i){.i64 = {__VA_ARGS__}})
/* The highest lane comes first. */
EMULATED __m512i emulated_reversed(__m512i a) {
    __m512i to;
    for (int k = 0; k < 32; k++)
        to.i16[k] = a.i16[31 - k];
    return to;
}
#define emulated_mm512_set_epi16(...) emulated_reversed((__m512i){.i16 = {__VA_ARGS__}})

EMULATED __m512 _mm512_castsi512_ps(__m512i a) {
    return (__m512){.low = _mm256_castsi256_ps(a.low), .high = _mm256_castsi256_ps(a.high)};
}
EMULATED __m512i _mm512_castps_si512(__m512 a) {
    return (__m512i){.low = _mm256_castps_si256(a.low), .high = _mm256_castps_si256(a.high)};
}
EMULATED __m512d _mm512_castps_pd(__m512 a) {
    return (__m512d){.low = _mm256_castps_pd(a.low), .high = _mm256_castps_pd(a.high)};
}
EMULATED __m512 _mm512_castpd_ps(__m512d a) {
    return (__m512){.low = _mm256_castpd_ps(a.low), .high = _mm256_castpd_ps(a.high)};
}
EMULATED __m256 _mm512_castps512_ps256(__m512 a) {
    return a.low;
}
EMULATED __m256i _mm512_castsi512_si256(__m512i a) {
    return a.low;
}
EMULATED __m512i _mm512_castsi256_si512(__m256i a) {
    return (__m512i){.low = a, .high = EMULATED_UNDEFINED};
}
EMULATED __m512 _mm512_castps256_ps512(__m256 a) {
    return (__m512){.low = a, .high = _mm256_castsi256_ps(EMULATED_UNDEFINED)};
}
EMULATED __m512i _mm512_castsi128_si512(__m128i a) {
    return (__m512i){.low = _mm256_inserti128_si256(EMULATED_UNDEFINED, a, 0), .high = EMULATED_UNDEFINED};
}
EMULATED __m256 _mm512_extractf32x8_ps(__m512 a, int half) {
    return half ? a.high : a.low;
}
/* Two quarters of a, then two of b. */
EMULATED __m512 _mm512_shuffle_f32x4(__m512 a, __m512 b, int which) {
    __m512 y;
    for (int k = 0; k < 16; k++) {
        int quarter = which >> (2 * (k / 4)) & 3;
        y.f32[k] = (k < 8 ? a : b).f32[4 * quarter + k % 4];
    }
    return y;
}
EMULATED __m512 _mm512_insertf32x8(__m512 a, __m256 b, int half) {
    return (__m512){.low = half ? a.low : b, .high = half ? b : a.high};
}
EMULATED __m256i _mm512_extracti64x4_epi64(__m512i a, int half) {
    return half ? a.high : a.low;
}
EMULATED __m512i _mm512_inserti64x4(__m512i a, __m256i b, int half) {
    return (__m512i){.low = half ? a.low : b, .high = half ? b : a.high};
}
EMULATED __m512i _mm512_inserti32x4(__m512i a, __m128i b, int quarter) {
    a.quarter[quarter] = b;
    return a;
}

/* ---- Conversions ---- */

EMULATED __m512 _mm512_cvtepi32_ps(__m512i a) {
    return (__m512){.low = _mm256_cvtepi32_ps(a.low), .high = _mm256_cvtepi32_ps(a.high)};
}
EMULATED __m512i _mm512_cvtps_epi32(__m512 a) {
    return (__m512i){.low = _mm256_cvtps_epi32(a.low), .high = _mm256_cvtps_epi32(a.high)};
}
EMULATED __m512i _mm512_cvtepi8_epi16(__m256i a) {
    return (__m512i){.low = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(a)),
                     .high = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(a, 1))};
}
/* The lower half of each lane. */
EMULATED __m256i _mm512_cvtepi32_epi16(__m512i a) {
    __m512i to = {.low = EMULATED_UNDEFINED};
    for (int k = 0; k < 16; k++)
        to.i16[k] = (int16_t)a.i32[k];
    return to.low;
}
EMULATED __m512i _mm512_cvtepi8_epi32(__m128i a) {
    return (__m512i){.low = _mm256_cvtepi8_epi32(a), .high = _mm256_cvtepi8_epi32(_mm_srli_si128(a, 8))};
}
EMULATED __m512i _mm512_cvtepu8_epi32(__m128i a) {
    return (__m512i){.low = _mm256_cvtepu8_epi32(a), .high = _mm256_cvtepu8_epi32(_mm_srli_si128(a, 8))};
}
EMULATED __m512i _mm512_cvtepu16_epi32(__m256i a) {
    return (__m512i){.low = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)),
                     .high = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1))};
}
EMULATED __m512 _mm512_cvtph_ps(__m256i a) {
    return (__m512){.low = _mm256_cvtph_ps(_mm256_castsi256_si128(a)),
                    .high = _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1))};
}
EMULATED __m512i _mm512_cvttps_epi32(__m512 a) {
    return (__m512i){.low = _mm256_cvttps_epi32(a.low), .high = _mm256_cvttps_epi32(a.high)};
}
EMULATED __m128i _mm512_cvtepi32_epi8(__m512i a) {
    int8_t lanes[16];
    for (int k = 0; k < 16; k++)
        lanes[k] = (int8_t)(a.i32[k] & 255);
    return _mm_loadu_si128((const __m128i *)(const void *)lanes);
}
#define emulated_mm512_cvtps_ph(a, rounding)                                                                           \
    _mm256_set_m128i(_mm256_cvtps_ph((a).high, rounding), _mm256_cvtps_ph((a).low, rounding))
EMULATED __m512d _mm512_cvtps_pd(__m256 a) {
    return (__m512d){.low = _mm256_cvtps_pd(_mm256_castps256_ps128(a)),
                     .high = _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))};
}
EMULATED __m256 _mm512_cvtpd_ps(__m512d a) {
    return _mm256_set_m128(_mm256_cvtpd_ps(a.high), _mm256_cvtpd_ps(a.low));
}

/* ---- Masks: bit k is lane k ---- */

/* All bits of lane k where bit k is set, as AVX2 wants a mask; of the lower half. */
EMULATED __m256i emulated_lanes(unsigned mask) {
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bits), bits);
}
#define emulated_mm512_cmp_ps_mask(a, b, order)                                                                        \
    ((__mmask16)(_mm256_movemask_ps(_mm256_cmp_ps((a).low, (b).low, order)) |                                          \
                 _mm256_movemask_ps(_mm256_cmp_ps((a).high, (b).high, order)) << 8))

#define EMULATED_COMPARISON(name, condition)                                                                           \
    EMULATED __mmask16 name(__m512i a, __m512i b) {                                                                    \
        unsigned mask = 0;                                                                                             \
        for (int k = 0; k < 16; k++)                                                                                   \
            mask |= (unsigned)(condition) << k;                                                                        \
        return (__mmask16)mask;                                                                                        \
    }
EMULATED_COMPARISON(_mm512_cmplt_epi32_mask, a.i32[k] < b.i32[k])
EMULATED_COMPARISON(_mm512_cmpneq_epi32_mask, a.i32[k] != b.i32[k])
EMULATED_COMPARISON(_mm512_test_epi32_mask, (a.i32[k] & b.i32[k]) != 0)

/* a where the mask is set, else as it was */
EMULATED __m512 _mm512_mask_mov_ps(__m512 was, __mmask16 mask, __m512 a) {
    return (__m512){.low = _mm256_blendv_ps(was.low, a.low, _mm256_castsi256_ps(emulated_lanes(mask))),
                    .high = _mm256_blendv_ps(was.high, a.high, _mm256_castsi256_ps(emulated_lanes(mask >> 8)))};
}
EMULATED __m512 _mm512_maskz_mov_ps(__mmask16 mask, __m512 a) {
    return _mm512_mask_mov_ps(_mm512_setzero_ps(), mask, a);
}
EMULATED __m512i emulated_mask_mov_epi32(__m512i was, __mmask16 mask, __m512i a) {
    return _mm512_castps_si512(_mm512_mask_mov_ps(_mm512_castsi512_ps(was), mask, _mm512_castsi512_ps(a)));
}
EMULATED __m512 _mm512_mask_xor_ps(__m512 was, __mmask16 mask, __m512 a, __m512 b) {
    return _mm512_mask_mov_ps(was, mask, _mm512_xor_ps(a, b));
}
EMULATED __m512i _mm512_mask_add_epi32(__m512i was, __mmask16 mask, __m512i a, __m512i b) {
    return emulated_mask_mov_epi32(was, mask, _mm512_add_epi32(a, b));
}
EMULATED __m512i _mm512_mask_or_epi32(__m512i was, __mmask16 mask, __m512i a, __m512i b) {
    return emulated_mask_mov_epi32(was, mask, emulated_or_si512(a, b));
}
EMULATED __m512i _mm512_mask_blend_epi16(__mmask32 mask, __m512i a, __m512i b) {
    for (int k = 0; k < 32; k++)
        a.i16[k] = mask >> k & 1 ? b.i16[k] : a.i16[k];
    return a;
}

/* ---- Permutations: lane k of the result is the lane of a (then of b) that index names, modulo their number ---- */

#define EMULATED_PERMUTATION(type, name, lanes, lanes_of_index, n)                                                     \
    EMULATED type name(__m512i index, type a) {                                                                        \
        type to;                                                                                                       \
        for (int k = 0; k < n; k++)                                                                                    \
            to.lanes[k] = a.lanes[index.lanes_of_index[k] & (n - 1)];                                                  \
        return to;                                                                                                     \
    }
EMULATED_PERMUTATION(__m512, _mm512_permutexvar_ps, f32, i32, 16)
EMULATED_PERMUTATION(__m512i, _mm512_permutexvar_epi16, i16, i16, 32)
EMULATED_PERMUTATION(__m512i, _mm512_permutexvar_epi64, i64, i64, 8)

EMULATED __m512 _mm512_permutex2var_ps(__m512 a, __m512i index, __m512 b) {
    const __m512 of[2] = {a, b};
    __m512 to;
    for (int k = 0; k < 16; k++)
        to.f32[k] = of[index.i32[k] >> 4 & 1].f32[index.i32[k] & 15];
    return to;
}
/* Within each 128 bits, by two bits of the constant for each lane. */
EMULATED __m512 _mm512_permute_ps(__m512 a, int lanes) {
    __m512 to;
    for (int k = 0; k < 16; k++)
        to.f32[k] = a.f32[k / 4 * 4 + (lanes >> k % 4 * 2 & 3)];
    return to;
}

/* ---- Memory ---- */

EMULATED __m512 _mm512_loadu_ps(const void *p) {
    const float *from = (const float *)p;
    return (__m512){.low = _mm256_loadu_ps(from), .high = _mm256_loadu_ps(from + 8)};
}
EMULATED __m512d _mm512_loadu_pd(const void *p) {
    const double *from = (const double *)p;
    return (__m512d){.low = _mm256_loadu_pd(from), .high = _mm256_loadu_pd(from + 4)};
}
EMULATED __m512i _mm512_loadu_si512(const void *p) {
    const __m256i *from = (const __m256i *)p;
    return (__m512i){.low = _mm256_loadu_si256(from), .high = _mm256_loadu_si256(from + 1)};
}
EMULATED void _mm512_storeu_ps(void *p, __m512 a) {
    _mm256_storeu_ps((float *)p, a.low);
    _mm256_storeu_ps((float *)p + 8, a.high);
}
EMULATED void _mm512_storeu_pd(void *p, __m512d a) {
    _mm256_storeu_pd((double *)p, a.low);
    _mm256_storeu_pd((double *)p + 4, a.high);
}
EMULATED void _mm512_storeu_si512(void *p, __m512i a) {
    _mm256_storeu_si256((__m256i *)p, a.low);
    _mm256_storeu_si256((__m256i *)p + 1, a.high);
}
/* Aligned load, which only injected faults use: faults at an unaligned address. */
EMULATED __m512 _mm512_load_ps(const void *p) {
    if ((uintptr_t)p % 64 != 0)
        __builtin_trap();
    return _mm512_loadu_ps(p);
}
EMULATED __m512d _mm512_load_pd(const void *p) {
    if ((uintptr_t)p % 64 != 0)
        __builtin_trap();
    return _mm512_loadu_pd(p);
}

EMULATED __m256 _mm256_maskz_loadu_ps(__mmask8 mask, const void *p) {
    return _mm256_maskload_ps((const float *)p, emulated_lanes(mask));
}
EMULATED __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void *p) {
    return (__m512){.low = _mm256_maskz_loadu_ps((__mmask8)mask, p),
                    .high = _mm256_maskz_loadu_ps((__mmask8)(mask >> 8), (const float *)p + 8)};
}
EMULATED __m512i _mm512_maskz_loadu_epi32(__mmask16 mask, const void *p) {
    return _mm512_castps_si512(_mm512_maskz_loadu_ps(mask, p));
}
EMULATED void _mm512_mask_storeu_ps(void *p, __mmask16 mask, __m512 a) {
    _mm256_maskstore_ps((float *)p, emulated_lanes(mask), a.low);
    _mm256_maskstore_ps((float *)p + 8, emulated_lanes(mask >> 8), a.high);
}
EMULATED void _mm512_mask_storeu_epi32(void *p, __mmask16 mask, __m512i a) {
    _mm512_mask_storeu_ps(p, mask, _mm512_castsi512_ps(a));
}

EMULATED __m512i _mm512_broadcast_i32x4(__m128i a) {
    return (__m512i){.low = _mm256_broadcastsi128_si256(a), .high = _mm256_broadcastsi128_si256(a)};
}

/* Lanes of 8 and 16 bits, and gathers, one lane after the other. */
EMULATED __mmask64 _mm512_test_epi8_mask(__m512i a, __m512i b) {
    __mmask64 mask = 0;
    for (int k = 0; k < 64; k++)
        mask |= (__mmask64)((a.i8[k] & b.i8[k]) != 0) << k;
    return mask;
}
EMULATED __m512i _mm512_mask_add_epi8(__m512i other, __mmask64 mask, __m512i a, __m512i b) {
    for (int k = 0; k < 64; k++)
        if (mask >> k & 1)
            other.i8[k] = (int8_t)(a.i8[k] + b.i8[k]);
    return other;
}
EMULATED __m256i _mm256_mask_add_epi8(__m256i other, __mmask32 mask, __m256i a, __m256i b) {
    __m512i all = {.low = other, .high = other};
    return _mm512_mask_add_epi8(all, mask, (__m512i){.low = a, .high = a}, (__m512i){.low = b, .high = b}).low;
}
EMULATED __m128i _mm_maskz_loadu_epi8(__mmask16 mask, const void *p) {
    uint8_t lanes[16] = {0};
    for (int k = 0; k < 16; k++)
        if (mask >> k & 1)
            lanes[k] = ((const uint8_t *)p)[k];
    return _mm_loadu_si128((const __m128i *)(const void *)lanes);
}
EMULATED void _mm_mask_storeu_epi8(void *p, __mmask16 mask, __m128i a) {
    uint8_t lanes[16];
    _mm_storeu_si128((__m128i *)(void *)lanes, a);
    for (int k = 0; k < 16; k++)
        if (mask >> k & 1)
            ((uint8_t *)p)[k] = lanes[k];
}
EMULATED __m256i _mm256_maskz_loadu_epi16(__mmask16 mask, const void *p) {
    uint16_t lanes[16] = {0};
    for (int k = 0; k < 16; k++)
        if (mask >> k & 1)
            lanes[k] = ((const uint16_t *)p)[k];
    return _mm256_loadu_si256((const __m256i *)(const void *)lanes);
}
EMULATED void _mm256_mask_storeu_epi16(void *p, __mmask16 mask, __m256i a) {
    uint16_t lanes[16];
    _mm256_storeu_si256((__m256i *)(void *)lanes, a);
    for (int k = 0; k < 16; k++)
        if (mask >> k & 1)
            ((uint16_t *)p)[k] = lanes[k];
}
EMULATED __m512 _mm512_mask_i32gather_ps(__m512 was, __mmask16 mask, __m512i index, const void *p, int scale) {
    for (int k = 0; k < 16; k++)
        if (mask >> k & 1)
            memcpy(&was.f32[k], (const char *)p + (ptrdiff_t)index.i32[k] * scale, sizeof was.f32[k]);
    return was;
}
EMULATED __m512i _mm512_mask_i32gather_epi32(__m512i was, __mmask16 mask, __m512i index, const void *p, int scale) {
    return _mm512_castps_si512(_mm512_mask_i32gather_ps(_mm512_castsi512_ps(was), mask, index, p, scale));
}

/* ---- SLEEF, under the names that kernels/sleef.h makes: the deterministic forms of four lanes, twice ---- */

typedef struct Sleef___m512d_2 {
    __m512d x, y;
} Sleef___m512d_2;

EMULATED Sleef___m512d_2 POSENC_SINCOSPI(d8_u35avx512f)(__m512d a) {
    Sleef___m256d_2 low = POSENC_SINCOSPI(d4_u35avx2)(a.low), high = POSENC_SINCOSPI(d4_u35avx2)(a.high);
    return (Sleef___m512d_2){{.low = low.x, .high = high.x}, {.low = low.y, .high = high.y}};
}
EMULATED_OF_1(__m512d, POSENC_EXP(d8_u10avx512f), POSENC_EXP(d4_u10avx2))

/* v_keep's hint to the compiler holds a value in one register, which a vector does not have here. */
#define __asm__(...)

#endif
