/* SPDX-License-Identifier: MIT */
/** @file
 * Instruction sets: which tier runs, and how to force one.
 *
 * Loading the library picks the best tier that CPU and operating system support; earlier calls run the scalar tier.
 *
 *     posenc_isa_tier best = posenc_isa();
 *     posenc_status status = posenc_isa_select(POSENC_ISA_SCALAR);
 *     ...
 *     status = posenc_isa_select(best);
 */
#ifndef POSENC_ISA_H
#define POSENC_ISA_H

#include <posenc/types.h>

POSENC_BEGIN_C

/** Tiers. CPU features (VNNI, AMX, dot products, i8mm) speed up attention inside a tier and change no bits.
 * POSENC_ISA, read at load time, forces a tier by name: scalar, avx2 ..; or one without a feature: avx2-vnni,
 * avx512-vnni, avx512-amx, neon-dotprod, neon-i8mm. Case does not matter. A name that is unknown, or cannot run
 * here, means scalar, and a line on standard error. */
typedef enum posenc_isa_tier {
    POSENC_ISA_SCALAR, /**< portable C: the specification */
    POSENC_ISA_AVX2,   /**< x86-64 with AVX2, FMA and F16C */
    POSENC_ISA_AVX512, /**< x86-64 with AVX-512 F, BW, DQ and VL */
    POSENC_ISA_NEON,   /**< AArch64 baseline */
    POSENC_ISA_RVV128, /**< RISC-V V 1.0, VLEN 128 */
    POSENC_ISA_RVV256, /**< RISC-V V 1.0, VLEN 256 */
    POSENC_ISA_COUNT
} posenc_isa_tier;

POSENC_API posenc_isa_tier posenc_isa(void);

/** "scalar", "avx2" ..; "unknown" for anything else. */
POSENC_API const char *posenc_isa_name(posenc_isa_tier tier);

/** 1 if the tier is compiled in; 1 if it can also run on this machine. */
POSENC_API int posenc_isa_built(posenc_isa_tier tier);
POSENC_API int posenc_isa_supported(posenc_isa_tier tier);

/** Uses the tier from now on, in all threads. POSENC_ERR_ENUM: no such tier. POSENC_ERR_ISA: it cannot run here. */
POSENC_API posenc_status posenc_isa_select(posenc_isa_tier tier);

POSENC_END_C
#endif
