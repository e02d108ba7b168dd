/* SPDX-License-Identifier: MIT */
/* Shared by the tests against independent truth: tiers, random numbers, comparison. tests/truth_mpfr.h adds the
 * angles. */
#ifndef TRUTH_H
#define TRUTH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <posenc/posenc.h>

/* Runs the tests of one file: prints the seed and the tiers first, and names the tiers that cannot run here. */
#define truth_run(tests) (truth_announce(), cmocka_run_group_tests(tests, NULL, NULL))
void truth_announce(void);

/* for (int tier = -1; truth_next_tier(&tier);) runs its body with every tier this machine has, and ends with the
 * one that was in use before. */
int truth_next_tier(int *tier);

/* Makes a test independent of those before it: the generator starts again from the seed (POSENC_TEST_SEED=number). */
int truth_reseed(void **state);
#define truth_test(function) cmocka_unit_test_prestate_setup_teardown(function, truth_begin, truth_end, #function)
int truth_begin(void **name);
int truth_end(void **name);

uint64_t truth_random(void);
int64_t truth_below(int64_t n);                /* 0 .. n-1 */
double truth_uniform(double low, double high); /* [low, high) */
double truth_log_uniform(double low, double high);
int32_t truth_position(void);        /* |p| log-uniform up to 2^31, either sign; often next to a multiple of 32 */
void truth_fill(float *x, size_t n); /* [-2, 2) */

/* Prints what was measured, how often, and the worst error with its unit, as scripts/prove collects it. The rest says,
 * printf-like, where that was. */
void truth_report(const char *what, long long n, double worst, const char *unit, const char *where, ...)
    __attribute__((format(printf, 5, 6)));
#define TRUTH_ALLOWED "of the allowed"

/* Fails unless |got - want| <= bound; a NaN in got fails. The rest says, printf-like, where. The worst of a test, in
 * parts of its bound, is reported at its end. */
void truth_close(double got, double want, double bound, const char *where, ...) __attribute__((format(printf, 4, 5)));

/* Fails unless the n floats have the same bits. */
void truth_same_bits(const float *got, const float *want, size_t n, const char *where, ...)
    __attribute__((format(printf, 4, 5)));

/* The call must return POSENC_OK. */
#define truth_ok(call) assert_string_equal(posenc_status_string(call), posenc_status_string(POSENC_OK))

#endif
