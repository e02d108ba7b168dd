/* SPDX-License-Identifier: MIT */
#include "tiers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/features.h"

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

posenc_isa_tier tier_named(const char *name) {
    const posenc_feature *feature;
    for (int i = 0; (feature = posenc_feature_at(i)) != NULL; i++)
        if (strcmp(name, feature->name) == 0)
            return feature->tier;
    int tier = 0;
    while (tier < POSENC_ISA_COUNT && strcmp(name, posenc_isa_name((posenc_isa_tier)tier)) != 0)
        tier++;
    return (posenc_isa_tier)tier;
}

const char *tier_forced(void) {
    const char *forced = getenv("POSENC_ISA");
    return forced != NULL && forced[0] != '\0' ? forced : NULL;
}

void tier_tell_refusal(void) {
    const char *forced = tier_forced();
    posenc_isa_tier tier = forced != NULL ? tier_named(forced) : posenc_isa();
    if (tier == posenc_isa())
        return;
    fprintf(stderr, "posenc: POSENC_ISA=%s was refused (%s), and %s runs; take one that runs here, or unset it\n",
            forced, tier == POSENC_ISA_COUNT ? "there is no such tier" : tier_absence(tier),
            posenc_isa_name(posenc_isa()));
}
