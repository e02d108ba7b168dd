/* SPDX-License-Identifier: MIT */
/* Words about tiers that several commands print. */
#ifndef POSENC_TOOLS_TIERS_H
#define POSENC_TOOLS_TIERS_H

#include <posenc/isa.h>

/* Why the tier does not run here, in a few words; NULL if it does. */
const char *tier_absence(posenc_isa_tier tier);

/* The tier of that name; POSENC_ISA_COUNT if there is none. */
posenc_isa_tier tier_named(const char *name);

/* Value of POSENC_ISA in the environment; NULL if unset. */
const char *tier_forced(void);

/* One line on standard error if the library, when it was loaded, did not take what POSENC_ISA asks for. */
void tier_tell_refusal(void);

/* "x86-64", "AArch64" ... */
const char *architecture_name(void);

#endif
