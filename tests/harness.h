/* What every test of the kernels uses: cmocka, tiers, numbers to feed, guarded memory, and the case being run.
 *
 * Environment:
 *   POSENC_TEST_SEED=n           draws the numbers that a run printed at its start
 *   POSENC_TEST_SCALE=n          runs one case in n (for emulators); printed too
 *   POSENC_TEST_REQUIRE=a,b      tiers that must run here: a missing one fails instead of being skipped
 */
#ifndef POSENC_TESTS_HARNESS_H
#define POSENC_TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <posenc/isa.h>

/* ---- Runs ---- */

/* Exit status that meson reports as skipped. */
#define TEST_EXIT_SKIPPED 77

/* The tier called `name`, or POSENC_ISA_COUNT. */
posenc_isa_tier test_tier_by_name(const char *name);

/* 1 if the tier can run here. If not, fails when POSENC_TEST_REQUIRE names it. */
int test_tier_ready(posenc_isa_tier tier);

/* Runs the tests under a name and prints the seed before and the number of comparisons after. The return value is for
 * main: 0, the number of failures, or TEST_EXIT_SKIPPED if the tier cannot run. */
int test_run_tier(const char *group, posenc_isa_tier tier, const struct CMUnitTest *tests, size_t n);

/* Catches SIGSEGV, SIGBUS and SIGILL for the rest of the running test: the case is printed and the test fails. */
void test_catch_faults(void);

/* ---- The case being run ---- */

/* Names the case, and starts the random numbers anew from seed and name. 0: POSENC_TEST_SCALE leaves it out. */
int test_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds to the name, replacing what an earlier call added. Random numbers go on. */
void test_case_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For fuzzers: from now on only the case of this number is wanted, and what it draws is taken from these bytes as long
 * as there are any. test_driven_cases() says how many cases came by. */
void test_drive(const unsigned char *bytes, size_t n, uint64_t wanted);
uint64_t test_driven_cases(void);

/* Fails the test, with the case in the message. */
void test_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Counts values that were compared. */
void test_count(size_t n);

/* Reports that so many values were compared and none was off, as truth_report() does; scripts/prove collects it. */
void test_report_exact(const char *what, size_t n);

/* ---- Numbers ---- */

typedef enum test_fill {
    FILL_ORDINARY, /* even over [-4, 4) */
    FILL_WIDE,     /* even over [-256, 256) */
    FILL_MASKED,   /* ordinary, half of it -inf */
    FILL_FINITE,   /* random bits, but finite */
    FILL_SPARSE,   /* ordinary, one in 16 hostile */
    FILL_HOSTILE,  /* NaN, infinities, zeros, denormals, extremes, random bits */
    FILL_TIES,     /* half way between two values of f16 or bf16, or next to it; otherwise ordinary */
    FILL_COUNT
} test_fill;

const char *test_fill_name(test_fill fill);

uint64_t test_random(void);
size_t test_random_below(size_t n);
float test_random_float(test_fill fill);
double test_random_double(test_fill fill);

/* The bits of a value of f16 (10 bits of fraction) or bf16 (7). */
uint16_t test_random_half(test_fill fill, int fraction_bits);

/* Values with traps in them. */
extern const float test_special_floats[];
extern const double test_special_doubles[];
extern const size_t test_n_special_floats, test_n_special_doubles;

/* The same bits, or both NaN. */
int test_same_float(float a, float b);
int test_same_double(double a, double b);

uint32_t test_bits_of_float(float a);
uint64_t test_bits_of_double(double a);

/* ---- Memory between two pages that must not be touched ---- */

typedef struct test_guarded {
    unsigned char *first; /* accessible bytes */
    size_t size;
    unsigned char *data; /* what was placed last */
    size_t bytes;
} test_guarded;

/* Against which guard page the data lies, and how many bytes away from it. */
typedef struct test_placement {
    int at_end;
    size_t distance;
} test_placement;

/* Byte that stands wherever nothing should be read or written: a NaN in float32 and float64. */
#define TEST_CANARY 0xff

/* Room for `bytes` in the given place, with canaries around. Grows the mapping if it must. */
void *test_guarded_place(test_guarded *memory, size_t bytes, test_placement placement);

/* 1 if the canaries around the data are as they were. */
int test_guarded_intact(const test_guarded *memory);

void test_guarded_free(test_guarded *memory);

#endif
