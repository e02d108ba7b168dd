/* SPDX-License-Identifier: MIT */
/** @file
 * Which instruction set runs, and how to force one.
 *
 * When the library is loaded it picks the best tier that is built in and that both CPU and operating system support.
 * The environment variable POSENC_ISA=scalar|avx2|avx512|neon, read once at load time, forces a tier (avx2-vnni,
 * avx512-vnni, avx512-amx, neon-dotprod, neon-i8mm: the tier without that feature), unless it is empty; a name that is
 * unknown (AVX2, avx-2) or cannot run here means scalar, so that a mistake costs speed and never an illegal
 * instruction. The library says nothing about it: see posenc_isa(). Calls before that, from other code that runs at
 * load time, are right too, and scalar.
 *
 *   scalar   portable C, the specification the others are held to
 *   avx2     x86-64 with AVX2, FMA and F16C; with VNNI too, attention in integers is faster, and the same
 *   avx512   x86-64 with AVX-512 F, BW, DQ and VL; with VNNI too, as avx2; with AMX too (tiles, bf16 and int8), so are
 *            attention in bf16 and many queries in integers: Linux is asked for the use of tiles, once; a call that
 *            uses them leaves them released
 *   neon     AArch64 baseline; with dot products or i8mm too, attention in integers is faster, and the same
 */
#ifndef POSENC_ISA_H
#define POSENC_ISA_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum posenc_isa_tier {
    POSENC_ISA_SCALAR = 0,
    POSENC_ISA_AVX2,
    POSENC_ISA_AVX512,
    POSENC_ISA_NEON,
    POSENC_ISA_COUNT
} posenc_isa_tier;

/** The tier in use.
 *
 * To notice a POSENC_ISA that was refused, compare before the first posenc_isa_select():
 *
 *     const char *forced = getenv("POSENC_ISA");
 *     if (forced != NULL && forced[0] != '\0' && strcmp(forced, posenc_isa_name(posenc_isa())) != 0)
 *         fprintf(stderr, "POSENC_ISA=%s was refused\n", forced);
 */
POSENC_API posenc_isa_tier posenc_isa(void);

/** "scalar", "avx2", "avx512", "neon"; "unknown" for anything else. */
POSENC_API const char *posenc_isa_name(posenc_isa_tier tier);

/** 1 if the tier was compiled into this library. */
POSENC_API int posenc_isa_built(posenc_isa_tier tier);

/** 1 if the tier is built in and can run on this machine. */
POSENC_API int posenc_isa_supported(posenc_isa_tier tier);

/** Uses the tier from now on, in all threads; calls already running may finish with either, and the
 * results are the same. POSENC_ERR_ENUM for a tier that does not exist, POSENC_ERR_ISA for one that
 * cannot run here; the choice then stays as it was. */
POSENC_API posenc_status posenc_isa_select(posenc_isa_tier tier);

#ifdef __cplusplus
}
#endif
#endif
