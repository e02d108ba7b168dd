/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdio.h>
#include <time.h>

int test_tier_ready(posenc_isa_tier tier) {
    if (posenc_isa_supported(tier))
        return 1;
    if (test_tier_required(tier))
        fail_msg("%s is required by POSENC_TEST_REQUIRE, but is not built in or cannot run here",
                 posenc_isa_name(tier));
    return 0;
}

static void fail_in_cmocka(const char *message) {
    fail_msg("%s", message);
}

int test_run_tier(const char *group, posenc_isa_tier tier, const struct CMUnitTest *tests, size_t n) {
    uint64_t seed = test_seed_or((uint64_t)time(NULL)), scale = test_scale_or(1);
    test_start(seed, scale);
    test_on_failure(fail_in_cmocka);
    printf("%s: POSENC_TEST_SEED=%llu POSENC_TEST_SCALE=%llu\n", group, (unsigned long long)seed,
           (unsigned long long)scale);
    int failed = _cmocka_run_group_tests(group, tests, n, NULL, NULL);
    int supported = posenc_isa_supported(tier);
    printf("%s: %llu cases, %llu values compared%s\n", group, (unsigned long long)test_n_cases(),
           (unsigned long long)test_n_compared(), supported ? "" : ", SKIPPED: the tier cannot run here");
    if (failed != 0)
        return failed;
    return supported ? 0 : TEST_EXIT_SKIPPED;
}

void test_report_exact(const char *what, size_t n) {
    printf("measured | %s | %zu | 0 ulp | every value\n", what, n);
}
