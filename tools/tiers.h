/* SPDX-License-Identifier: MIT */
/* Words about tiers that several commands print. */
#ifndef POSENC_TOOLS_TIERS_H
#define POSENC_TOOLS_TIERS_H

#include <posenc/isa.h>

/* Why the tier does not run here, in a few words; NULL if it does. */
const char *tier_absence(posenc_isa_tier tier);

/* Value of POSENC_ISA in the environment; NULL if unset. */
const char *tier_forced(void);

/* "x86-64", "AArch64" ... */
const char *architecture_name(void);

#endif
