/* SPDX-License-Identifier: MIT */
#include "tiers.h"

#include <stdlib.h>

#if defined(__x86_64__)
#define ARCHITECTURE "x86-64"
enum { HAS_x86_64 = 1, HAS_aarch64 = 0 };
#elif defined(__aarch64__)
#define ARCHITECTURE "AArch64"
enum { HAS_x86_64 = 0, HAS_aarch64 = 1 };
#elif defined(__arm__)
#define ARCHITECTURE "32-bit Arm"
enum { HAS_x86_64 = 0, HAS_aarch64 = 0 };
#else
#define ARCHITECTURE "another architecture"
enum { HAS_x86_64 = 0, HAS_aarch64 = 0 };
#endif

const char *architecture_name(void) {
    return ARCHITECTURE;
}

static int belongs_here(posenc_isa_tier tier) {
    static const int here[POSENC_ISA_COUNT] = {
        [POSENC_ISA_SCALAR] = 1,
#define TIER(name, NAME, architecture, ...) [POSENC_ISA_##NAME] = HAS_##architecture,
#include "tiers.def"
    };
    return here[tier];
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
