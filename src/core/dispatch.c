/* SPDX-License-Identifier: MIT */
/* Which tier runs. The table in use starts as scalar, so that a call made before the constructor is right, only slow;
 * every public call reaches its kernels through this object, so that a static link cannot drop the constructor. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/features.h"
#include "core/refuse.h"

static _Atomic(const posenc_kernels *) active = &posenc_kernels_scalar;

static const posenc_kernels *const built[POSENC_ISA_COUNT] = {
    [POSENC_ISA_SCALAR] = &posenc_kernels_scalar,
#define TIER(name, NAME, ...) [POSENC_ISA_##NAME] = POSENC_IF_BUILT(POSENC_HAVE_##name, &posenc_kernels_##name),
#include "tiers.def"
};

/* Numbers of the tiers by the name of their folder. */
enum {
#define TIER(name, NAME, ...) TIER_##name = POSENC_ISA_##NAME,
#include "tiers.def"
};

/* Best first in each tier; each entry includes the kernels of the features that it inherits. */
static const posenc_feature features[] = {
#define FEATURE(tier, name, CPU, ...)                                                                                  \
    {#tier "-" #name, (posenc_isa_tier)TIER_##tier, POSENC_CPU_##CPU,                                                  \
     POSENC_IF_BUILT(POSENC_HAVE_##tier##_##name, &posenc_kernels_##tier##_##name)},
#include "tiers.def"
};

/* Feature disabled by POSENC_ISA; set by the constructor. */
static const posenc_feature *left_out;

const posenc_feature *posenc_feature_at(int i) {
    return (size_t)i < sizeof features / sizeof features[0] ? &features[i] : NULL;
}

/* Features stand best first: the one that is left out takes along those before it, which include its kernels. */
int posenc_feature_is_on(const posenc_feature *feature) {
    int is_left_out = left_out != NULL && left_out->tier == feature->tier && left_out >= feature;
    return feature->kernels != NULL && !is_left_out && posenc_cpu_has(feature->of_cpu);
}

/* Compares ASCII names without case, in any locale. */
static int is_named(const char *given, const char *name) {
    for (; *given != '\0' && *name != '\0'; given++, name++) {
        char lower = *given >= 'A' && *given <= 'Z' ? (char)(*given - 'A' + 'a') : *given;
        if (lower != *name)
            return 0;
    }
    return *given == *name;
}

static const posenc_feature *feature_named(const char *name) {
    const posenc_feature *feature;
    for (int i = 0; (feature = posenc_feature_at(i)) != NULL; i++)
        if (is_named(name, feature->name))
            break;
    return feature;
}

static const posenc_kernels *table_of(posenc_isa_tier tier) {
    const posenc_feature *feature;
    for (int i = 0; (feature = posenc_feature_at(i)) != NULL; i++)
        if (feature->tier == tier && posenc_feature_is_on(feature))
            return feature->kernels;
    return built[tier];
}

static const char *const names[POSENC_ISA_COUNT] = {
    [POSENC_ISA_SCALAR] = "scalar",
#define TIER(name, NAME, ...) [POSENC_ISA_##NAME] = #name,
#include "tiers.def"
};

const char posenc_tier_names[] = "scalar"
#define TIER(name, ...) ", " #name
#include "tiers.def"
    ;

static int exists(posenc_isa_tier tier) {
    return (unsigned)tier < POSENC_ISA_COUNT;
}

const posenc_kernels *posenc_active_kernels(void) {
    return atomic_load_explicit(&active, memory_order_acquire);
}

const posenc_kernels *posenc_tier_kernels(posenc_isa_tier tier) {
    return posenc_isa_supported(tier) ? table_of(tier) : NULL;
}

posenc_isa_tier posenc_isa(void) {
    return posenc_active_kernels()->tier;
}

const char *posenc_isa_name(posenc_isa_tier tier) {
    return exists(tier) ? names[tier] : "unknown";
}

int posenc_isa_built(posenc_isa_tier tier) {
    return exists(tier) && built[tier] != NULL;
}

int posenc_isa_supported(posenc_isa_tier tier) {
    return posenc_isa_built(tier) && posenc_cpu_allows(tier);
}

posenc_status posenc_isa_select(posenc_isa_tier tier) {
    if (!exists(tier))
        return posenc_refused(POSENC_ERR_ENUM);
    if (!posenc_isa_supported(tier))
        return posenc_refused(POSENC_ERR_ISA);
    atomic_store_explicit(&active, table_of(tier), memory_order_release);
    return POSENC_OK;
}

posenc_isa_tier posenc_tier_named(const char *name) {
    const posenc_feature *feature = feature_named(name);
    if (feature != NULL)
        return feature->tier;
    int tier = 0;
    while (tier < POSENC_ISA_COUNT && !is_named(name, names[tier]))
        tier++;
    return (posenc_isa_tier)tier;
}

static const char *why_refused(posenc_isa_tier tier) {
    if (!exists(tier))
        return "there is no such tier";
    return posenc_isa_built(tier) ? "this CPU or its operating system lacks it" : "left out of this build";
}

static posenc_isa_tier best_tier(void) {
    posenc_isa_tier best = POSENC_ISA_SCALAR;
#define TIER(name, NAME, ...)                                                                                          \
    if (posenc_isa_supported(POSENC_ISA_##NAME))                                                                       \
        best = POSENC_ISA_##NAME;
#include "tiers.def"
    return best;
}

__attribute__((constructor)) static void choose_at_load(void) {
    const char *forced = getenv("POSENC_ISA");
    if (forced == NULL || forced[0] == '\0') {
        posenc_isa_select(best_tier());
        return;
    }
    left_out = feature_named(forced);
    posenc_isa_tier tier = posenc_tier_named(forced);
    if (posenc_isa_select(tier) != POSENC_OK)
        fprintf(stderr, "posenc: POSENC_ISA=%s was refused (%s), and scalar runs\n", forced, why_refused(tier));
}
