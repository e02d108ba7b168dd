/* SPDX-License-Identifier: MIT */
/* Runs the conformance test of one tier's vector layer, or of it with a feature: vec_<tier>, vec_<tier>-<feature>.
 * Compiled for the baseline, so that a CPU without it gets as far as the skip. */
#include "vec_tests.h"

#include "core/features.h"
#include "kernels/variant.h"

#include <stdio.h>
#include <string.h>

#define THESE_TESTS POSENC_PASTE(vec_tests, _, POSENC_VARIANT)

static void test_skipped(void **state) {
    (void)state;
    (void)test_tier_ready(POSENC_TIER);
    skip();
}

/* The feature, if this is one. */
static int has_feature(void) {
    const posenc_feature *feature;
    for (int i = 0; (feature = posenc_feature_at(i)) != NULL; i++)
        if (strcmp(feature->name, VEC_NAME) == 0)
            return posenc_feature_is_on(feature);
    return 1;
}

int main(void) {
    static const struct CMUnitTest skipped[] = {cmocka_unit_test(test_skipped)};
    char group[64];
    snprintf(group, sizeof group, "vector layer, %s", VEC_NAME);
    if (!posenc_isa_supported(POSENC_TIER))
        return test_run_tier(group, POSENC_TIER, skipped, 1);
    if (!has_feature()) {
        printf("%s: SKIPPED: this CPU lacks it\n", group);
        return TEST_EXIT_SKIPPED;
    }
    return test_run_tier(group, POSENC_TIER, THESE_TESTS.tests, THESE_TESTS.n);
}
