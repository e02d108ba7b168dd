/* SPDX-License-Identifier: MIT */
/* Which tier runs. The table in use starts as scalar, so that a call made before the constructor is right, only slow;
 * every public call reaches its kernels through this object, so that a static link cannot drop the constructor. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/features.h"

static _Atomic(const posenc_kernels *) active = &posenc_kernels_scalar;

static const posenc_kernels *const built[POSENC_ISA_COUNT] = {
    [POSENC_ISA_SCALAR] = &posenc_kernels_scalar,
#ifdef POSENC_HAVE_AVX2
    [POSENC_ISA_AVX2] = &posenc_kernels_avx2,
#endif
#ifdef POSENC_HAVE_AVX512
    [POSENC_ISA_AVX512] = &posenc_kernels_avx512,
#endif
#ifdef POSENC_HAVE_NEON
    [POSENC_ISA_NEON] = &posenc_kernels_neon,
#endif
};

/* Best first; each entry includes those after it. */
static const posenc_feature features[] = {
#ifdef POSENC_HAVE_AVX2_VNNI
    {"avx2-vnni", POSENC_ISA_AVX2, POSENC_CPU_AVX_VNNI, &posenc_kernels_avx2_vnni},
#else
    {"avx2-vnni", POSENC_ISA_AVX2, POSENC_CPU_AVX_VNNI, NULL},
#endif
#ifdef POSENC_HAVE_AVX512_AMX
    {"avx512-amx", POSENC_ISA_AVX512, POSENC_CPU_AMX, &posenc_kernels_avx512_amx},
#else
    {"avx512-amx", POSENC_ISA_AVX512, POSENC_CPU_AMX, NULL},
#endif
#ifdef POSENC_HAVE_AVX512_VNNI
    {"avx512-vnni", POSENC_ISA_AVX512, POSENC_CPU_AVX512_VNNI, &posenc_kernels_avx512_vnni},
#else
    {"avx512-vnni", POSENC_ISA_AVX512, POSENC_CPU_AVX512_VNNI, NULL},
#endif
#ifdef POSENC_HAVE_NEON_I8MM
    {"neon-i8mm", POSENC_ISA_NEON, POSENC_CPU_I8MM, &posenc_kernels_neon_i8mm},
#else
    {"neon-i8mm", POSENC_ISA_NEON, POSENC_CPU_I8MM, NULL},
#endif
#ifdef POSENC_HAVE_NEON_DOTPROD
    {"neon-dotprod", POSENC_ISA_NEON, POSENC_CPU_DOTPROD, &posenc_kernels_neon_dotprod},
#else
    {"neon-dotprod", POSENC_ISA_NEON, POSENC_CPU_DOTPROD, NULL},
#endif
};

/* Feature disabled by POSENC_ISA; set by the constructor. */
static const posenc_feature *left_out;

const posenc_feature *posenc_feature_at(int i) {
    return (size_t)i < sizeof features / sizeof features[0] ? &features[i] : NULL;
}

int posenc_feature_is_on(const posenc_feature *feature) {
    int is_left_out = left_out != NULL && left_out->tier == feature->tier && left_out >= feature;
    return feature->kernels != NULL && !is_left_out && posenc_cpu_has(feature->of_cpu);
}

static const posenc_feature *feature_named(const char *name) {
    const posenc_feature *feature;
    for (int i = 0; (feature = posenc_feature_at(i)) != NULL; i++)
        if (strcmp(name, feature->name) == 0)
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
    [POSENC_ISA_AVX2] = "avx2",
    [POSENC_ISA_AVX512] = "avx512",
    [POSENC_ISA_NEON] = "neon",
};

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
        return POSENC_ERR_ENUM;
    if (!posenc_isa_supported(tier))
        return POSENC_ERR_ISA;
    atomic_store_explicit(&active, table_of(tier), memory_order_release);
    return POSENC_OK;
}

static posenc_isa_tier tier_by_name(const char *name) {
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (strcmp(name, names[tier]) == 0)
            return (posenc_isa_tier)tier;
    return POSENC_ISA_COUNT;
}

static posenc_isa_tier best_tier(void) {
    static const posenc_isa_tier preference[] = {POSENC_ISA_AVX512, POSENC_ISA_AVX2, POSENC_ISA_NEON};
    for (size_t i = 0; i < sizeof preference / sizeof preference[0]; i++)
        if (posenc_isa_supported(preference[i]))
            return preference[i];
    return POSENC_ISA_SCALAR;
}

__attribute__((constructor)) static void choose_at_load(void) {
    const char *forced = getenv("POSENC_ISA");
    if (forced == NULL || forced[0] == '\0') {
        posenc_isa_select(best_tier());
        return;
    }
    left_out = feature_named(forced);
    posenc_isa_select(left_out != NULL ? left_out->tier : tier_by_name(forced)); /* refused: stays scalar */
}
