/* SPDX-License-Identifier: MIT */
/* Features of a tier: instructions that some of its CPUs have, and kernels that use them, with the same bits.
 * POSENC_ISA=TIER-FEATURE forces the tier and leaves the feature out. */
#ifndef POSENC_CORE_FEATURES_H
#define POSENC_CORE_FEATURES_H

#include "core/cpu.h"
#include "kernels/kernels.h"

typedef struct posenc_feature {
    const char *name; /* TIER-FEATURE */
    posenc_isa_tier tier;
    posenc_cpu_feature of_cpu;
    const posenc_kernels *kernels; /* NULL: left out of this build */
} posenc_feature;

/* "scalar, avx2, ...", for messages. */
extern const char posenc_tier_names[];

/* Number i of all, or NULL behind the last. */
const posenc_feature *posenc_feature_at(int i);

/* 1 if the tier's table has it here. */
int posenc_feature_is_on(const posenc_feature *feature);

/* Tier of a name in POSENC_ISA, of a tier or a feature, in any case; POSENC_ISA_COUNT if there is none. */
posenc_isa_tier posenc_tier_named(const char *name);

#endif
