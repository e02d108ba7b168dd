/* SPDX-License-Identifier: MIT */
/* Functions of SLEEF 3.9 that posenc calls, as SLEEF's own header declares them: sin and cos of pi x, and e^x, in double. The same bits
 * from every set (finz), and the form for CPUs without FMA (cinz). Linked into the library they have names of posenc, so that
 * a program may link SLEEF too. */
#ifndef SLEEF_H
#define SLEEF_H

#define SLEEF_VERSION_MAJOR 3
#define SLEEF_VERSION_MINOR 9
#define SLEEF_VERSION_PATCHLEVEL 0

#define Sleef_finz_sincospid1_u35purecfma posenc_sleef_sincospi_fma
#define Sleef_cinz_sincospid1_u35purec posenc_sleef_sincospi_nofma
#define Sleef_finz_expd1_u10purecfma posenc_sleef_exp_fma
#define Sleef_cinz_expd1_u10purec posenc_sleef_exp_nofma

typedef struct { double x, y; } Sleef_double_2;
Sleef_double_2 Sleef_finz_sincospid1_u35purecfma(double);
Sleef_double_2 Sleef_cinz_sincospid1_u35purec(double);
double Sleef_finz_expd1_u10purecfma(double);
double Sleef_cinz_expd1_u10purec(double);

#ifdef __AVX2__
#include <immintrin.h>
#define Sleef_finz_sincospid4_u35avx2 posenc_sleef_sincospi_avx2
#define Sleef_finz_expd4_u10avx2 posenc_sleef_exp_avx2
typedef struct { __m256d x, y; } Sleef___m256d_2;
Sleef___m256d_2 Sleef_finz_sincospid4_u35avx2(__m256d);
__m256d Sleef_finz_expd4_u10avx2(__m256d);
#endif

#ifdef __AVX512F__
#define Sleef_finz_sincospid8_u35avx512f posenc_sleef_sincospi_avx512f
#define Sleef_finz_expd8_u10avx512f posenc_sleef_exp_avx512f
typedef struct { __m512d x, y; } Sleef___m512d_2;
Sleef___m512d_2 Sleef_finz_sincospid8_u35avx512f(__m512d);
__m512d Sleef_finz_expd8_u10avx512f(__m512d);
#endif

#ifdef __aarch64__
#include <arm_neon.h>
#define Sleef_finz_sincospid2_u35advsimd posenc_sleef_sincospi_advsimd
#define Sleef_finz_expd2_u10advsimd posenc_sleef_exp_advsimd
typedef struct { float64x2_t x, y; } Sleef_float64x2_t_2;
Sleef_float64x2_t_2 Sleef_finz_sincospid2_u35advsimd(float64x2_t);
float64x2_t Sleef_finz_expd2_u10advsimd(float64x2_t);
#endif

#endif
