/* SPDX-License-Identifier: MIT */
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static uint64_t seed;
static random_state state;

void truth_announce(void) {
    const char *text = getenv("POSENC_TEST_SEED");
    seed = text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : 20240611;
    printf("seed: POSENC_TEST_SEED=%llu\ntiers:", (unsigned long long)seed);
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_isa_supported((posenc_isa_tier)tier))
            printf(" %s", posenc_isa_name((posenc_isa_tier)tier));
    printf("\n");
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_isa_built((posenc_isa_tier)tier) && !posenc_isa_supported((posenc_isa_tier)tier))
            printf("skipped, this CPU lacks it: %s\n", posenc_isa_name((posenc_isa_tier)tier));
    fflush(stdout);
}

int truth_next_tier(int *tier) {
    static posenc_isa_tier before;
    if (*tier < 0)
        before = posenc_isa();
    while (++*tier < POSENC_ISA_COUNT)
        if (posenc_isa_supported((posenc_isa_tier)*tier)) {
            truth_ok(posenc_isa_select((posenc_isa_tier)*tier));
            assert_int_equal(posenc_isa(), *tier);
            return 1;
        }
    truth_ok(posenc_isa_select(before));
    return 0;
}

int truth_reseed(void **unused) {
    (void)unused;
    state.state = seed;
    return 0;
}

void truth_report(const char *what, long long n, double worst, const char *unit, const char *where, ...) {
    char place[200];
    va_list arguments;
    va_start(arguments, where);
    vsnprintf(place, sizeof place, where, arguments);
    va_end(arguments);
    printf("measured | %s | %lld | %.4g %s | %s\n", what, n, worst, unit, place);
    fflush(stdout);
}

/* Comparisons by truth_close() in this test. */
static struct {
    long long n;
    double worst;
    char where[200];
} closeness;

int truth_begin(void **name) {
    (void)name;
    closeness.n = 0;
    closeness.worst = 0.0;
    closeness.where[0] = '\0';
    return truth_reseed(NULL);
}

int truth_end(void **name) {
    if (closeness.n > 0)
        truth_report(*name, closeness.n, closeness.worst, TRUTH_ALLOWED, "%s", closeness.where);
    return 0;
}

uint64_t truth_random(void) {
    return random_bits(&state);
}

int64_t truth_below(int64_t n) {
    return (int64_t)(truth_random() % (uint64_t)n);
}

double truth_uniform(double low, double high) {
    return random_between(&state, low, high);
}

double truth_log_uniform(double low, double high) {
    return exp(truth_uniform(log(low), log(high)));
}

int32_t truth_position(void) {
    int64_t p = (int64_t)truth_log_uniform(1.0, 0x1p31);
    if (truth_below(4) == 0)
        p = p / 32 * 32 + truth_below(3) - 1;
    if (truth_below(2) == 0)
        p = -p;
    return p < INT32_MIN ? INT32_MIN : p > INT32_MAX ? INT32_MAX : (int32_t)p;
}

void truth_fill(float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = (float)truth_uniform(-2.0, 2.0);
}

/* Prints the place and the tier, then fails the test. */
static _Noreturn void fail_at(const char *what, const char *where, va_list arguments) {
    char place[200];
    vsnprintf(place, sizeof place, where, arguments);
    fail_msg("%s: %s: %s (POSENC_TEST_SEED=%llu)", posenc_isa_name(posenc_isa()), place, what,
             (unsigned long long)seed);
    abort(); /* not reached: fail_msg leaves the test */
}

void truth_close(double got, double want, double bound, const char *where, ...) {
    double error = fabs(got - want);
    va_list arguments;
    va_start(arguments, where);
    if (!(error <= bound)) {
        char what[160];
        snprintf(what, sizeof what, "%.9g instead of %.17g, off by %.3g where %.3g is allowed", got, want, error,
                 bound);
        fail_at(what, where, arguments);
    }
    closeness.n++;
    if (error > closeness.worst * bound) {
        closeness.worst = error / bound;
        vsnprintf(closeness.where, sizeof closeness.where, where, arguments);
    }
    va_end(arguments);
}

void truth_same_bits(const float *got, const float *want, size_t n, const char *where, ...) {
    if (n == 0 || memcmp(got, want, n * sizeof(float)) == 0)
        return;
    size_t i = 0;
    while (memcmp(got + i, want + i, sizeof(float)) == 0)
        i++;
    char what[160];
    snprintf(what, sizeof what, "element %zu is %a instead of %a", i, (double)got[i], (double)want[i]);
    va_list arguments;
    va_start(arguments, where);
    fail_at(what, where, arguments);
}
