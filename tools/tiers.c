/* SPDX-License-Identifier: MIT */
#include "tiers.h"

#include <stdlib.h>
#include <string.h>

/* As people and as src/tiers.def call it. */
#if defined(__x86_64__)
#define ARCHITECTURE "x86-64"
#define FAMILY "x86_64"
#elif defined(__aarch64__)
#define ARCHITECTURE "AArch64"
#define FAMILY "aarch64"
#elif defined(__arm__)
#define ARCHITECTURE "32-bit Arm"
#define FAMILY "arm"
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE "64-bit RISC-V"
#define FAMILY "riscv64"
#else
#define ARCHITECTURE "another architecture"
#define FAMILY ""
#endif

const char *architecture_name(void) {
    return ARCHITECTURE;
}

static int belongs_here(posenc_isa_tier tier) {
    static const char *const families[POSENC_ISA_COUNT] = {
        [POSENC_ISA_SCALAR] = FAMILY,
#define TIER(name, NAME, architecture, ...) [POSENC_ISA_##NAME] = #architecture,
#include "tiers.def"
    };
    return strcmp(families[tier], FAMILY) == 0;
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
