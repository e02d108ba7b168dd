/* Runs the conformance test of one tier's vector layer: vec_<tier>. Compiled for the baseline, so that a CPU without
 * the tier gets as far as the skip. */
#include "vec_tests.h"

#include "kernels/variant.h"

#include <stdio.h>

#define THESE_TESTS POSENC_PASTE(vec_tests, _, POSENC_VARIANT)

static void test_skipped(void **state) {
    (void)state;
    (void)test_tier_ready(POSENC_TIER);
    skip();
}

int main(void) {
    static const struct CMUnitTest skipped[] = {cmocka_unit_test(test_skipped)};
    char group[64];
    snprintf(group, sizeof group, "vector layer, %s", posenc_isa_name(POSENC_TIER));
    if (!posenc_isa_supported(POSENC_TIER))
        return test_run_tier(group, POSENC_TIER, skipped, 1);
    return test_run_tier(group, POSENC_TIER, THESE_TESTS.tests, THESE_TESTS.n);
}
