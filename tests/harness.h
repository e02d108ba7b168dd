/* SPDX-License-Identifier: MIT */
/* Shared by tests of kernels and of the vector layer: cmocka around the cases of check/case.h, and tiers.
 *
 * Environment:
 *   POSENC_TEST_SEED=n           draws the numbers that a run printed at its start
 *   POSENC_TEST_SCALE=n          runs one case in n (for emulators); printed too
 *   POSENC_TEST_REQUIRE=a,b      tiers that must run here: a missing one fails instead of being skipped
 *   POSENC_TEST_SIGNALS=no       leaves out calls in handlers, for an emulator that does not save vectors there
 */
#ifndef POSENC_TESTS_HARNESS_H
#define POSENC_TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <posenc/isa.h>

#include "check/case.h"
#include "check/guarded.h"
#include "check/tiers.h"
#include "check/values.h"

/* 1 if the tier can run here. If not, fails when POSENC_TEST_REQUIRE names it. */
int test_tier_ready(posenc_isa_tier tier);

/* Runs the tests under a name and prints the seed before and the number of comparisons after. The return value is for
 * main: 0, the number of failures, or TEST_EXIT_SKIPPED if the tier cannot run. */
int test_run_tier(const char *group, posenc_isa_tier tier, const struct CMUnitTest *tests, size_t n);

/* Reports that so many values were compared and none was off, as truth_report() does; scripts/prove collects it. */
void test_report_exact(const char *what, size_t n);

/* 0: calls in handlers, and calls that a handler interrupts, are left out. */
static inline int test_signals_save_vectors(void) {
    const char *signals = getenv("POSENC_TEST_SIGNALS");
    return signals == NULL || strcmp(signals, "no") != 0;
}

#endif
