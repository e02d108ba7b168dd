/* SPDX-License-Identifier: MIT */
#include "tiers.h"

#include <stdlib.h>

#if defined(__x86_64__)
#define ARCHITECTURE "x86-64"
enum { HAS_AVX = 1, HAS_NEON = 0 };
#elif defined(__aarch64__)
#define ARCHITECTURE "AArch64"
enum { HAS_AVX = 0, HAS_NEON = 1 };
#elif defined(__arm__)
#define ARCHITECTURE "32-bit Arm"
enum { HAS_AVX = 0, HAS_NEON = 0 };
#else
#define ARCHITECTURE "another architecture"
enum { HAS_AVX = 0, HAS_NEON = 0 };
#endif

const char *architecture_name(void) {
    return ARCHITECTURE;
}

static int belongs_here(posenc_isa_tier tier) {
    switch (tier) {
    case POSENC_ISA_AVX2:
    case POSENC_ISA_AVX512: return HAS_AVX;
    case POSENC_ISA_NEON: return HAS_NEON;
    default: return 1;
    }
}

const char *tier_absence(posenc_isa_tier tier) {
    if (posenc_isa_supported(tier))
        return NULL;
    if (!belongs_here(tier))
        return "not for " ARCHITECTURE;
    return posenc_isa_built(tier) ? "this CPU or its operating system lacks it" : "left out of this build";
}

const char *tier_forced(void) {
    const char *forced = getenv("POSENC_ISA");
    return forced != NULL && forced[0] != '\0' ? forced : NULL;
}
