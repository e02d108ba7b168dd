/* SPDX-License-Identifier: MIT */
/* SLEEF's deterministic sincospi and exp: cos and sin of pi * x, and e^x, in double, the same bits from every variant
 * for any contents of neighbouring lanes. SLEEF 3.5 .. 3.9 have it under the finz prefix; 4.0 made the plain names
 * deterministic and dropped the prefix. The build says which (POSENC_SLEEF_FINZ). Errors are below 3.5 ulp, 2^-51, far
 * below the 2^-25 of the float32 result. */
#ifndef POSENC_SLEEF_H
#define POSENC_SLEEF_H

#include <sleef.h>

#if POSENC_SLEEF_FINZ
#define POSENC_SINCOSPI(kind) Sleef_finz_sincospi##kind
#define POSENC_SINCOSPI_NOFMA Sleef_cinz_sincospid1_u35purec
#define POSENC_EXP(kind) Sleef_finz_exp##kind
#define POSENC_EXP_NOFMA Sleef_cinz_expd1_u10purec
#else
#define POSENC_SINCOSPI(kind) Sleef_sincospi##kind
#define POSENC_SINCOSPI_NOFMA Sleef_sincospid1_u35purec
#define POSENC_EXP(kind) Sleef_exp##kind
#define POSENC_EXP_NOFMA Sleef_expd1_u10purec
#endif

/* The scalar form executes FMA instructions, so sleef.h shows it only to code compiled for them. The scalar tier is
 * not: it asks the CPU first and takes POSENC_SINCOSPI_NOFMA where there is none. */
#ifndef FP_FAST_FMA
Sleef_double_2 POSENC_SINCOSPI(d1_u35purecfma)(double);
double POSENC_EXP(d1_u10purecfma)(double);
#endif

#endif
