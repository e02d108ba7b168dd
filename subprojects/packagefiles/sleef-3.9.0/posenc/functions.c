/* SPDX-License-Identifier: MIT */
/* One set of what posenc calls of SLEEF; the build defines ENABLE_AVX2 or another, by which SLEEF's source knows its vectors.
 * Every function of that source becomes static, and functions that are not called are not compiled. */
#include "misc.h"

#undef EXPORT
#define EXPORT static __attribute__((unused))
#include "sleefsimddp.c"

#include "sleef.h"

#if defined ENABLE_AVX512F
#define SINCOSPI Sleef_finz_sincospid8_u35avx512f
#define EXP Sleef_finz_expd8_u10avx512f
typedef Sleef___m512d_2 pair;
#elif defined ENABLE_AVX2
#define SINCOSPI Sleef_finz_sincospid4_u35avx2
#define EXP Sleef_finz_expd4_u10avx2
typedef Sleef___m256d_2 pair;
#elif defined ENABLE_ADVSIMD
#define SINCOSPI Sleef_finz_sincospid2_u35advsimd
#define EXP Sleef_finz_expd2_u10advsimd
typedef Sleef_float64x2_t_2 pair;
#elif defined ENABLE_PURECFMA_SCALAR
#define SINCOSPI Sleef_finz_sincospid1_u35purecfma
#define EXP Sleef_finz_expd1_u10purecfma
typedef Sleef_double_2 pair;
#else
#define SINCOSPI Sleef_cinz_sincospid1_u35purec
#define EXP Sleef_cinz_expd1_u10purec
typedef Sleef_double_2 pair;
#endif

pair SINCOSPI(vdouble half_turns) {
    vdouble2 r = xsincospi_u35(half_turns);
    return (pair){vd2getx_vd_vd2(r), vd2gety_vd_vd2(r)};
}

vdouble EXP(vdouble x) { return xexp(x); }
