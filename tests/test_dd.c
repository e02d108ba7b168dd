/* SPDX-License-Identifier: MIT */
/* Double-double set-up arithmetic (src/core/dd.h) against MPFR. */
#include "truth.h"

#include <math.h>

#include <mpfr.h>

#include "core/dd.h"

enum { BITS = 320, ROUNDS = 4000 };

#define LIMIT 0x1p-95 /* relative, as src/core/dd.h promises */

typedef struct record {
    double error;
    double a, b, c; /* arguments */
} record;

/* |got - truth| / |truth|; a truth of 0 wants 0. */
static void compare(record *worst, posenc_dd got, mpfr_t truth, double a, double b, double c) {
    mpfr_t difference;
    mpfr_init2(difference, BITS);
    mpfr_sub_d(difference, truth, got.hi, MPFR_RNDN);
    mpfr_sub_d(difference, difference, got.lo, MPFR_RNDN);
    if (!mpfr_zero_p(truth))
        mpfr_div(difference, difference, truth, MPFR_RNDN);
    double error = fabs(mpfr_get_d(difference, MPFR_RNDN));
    mpfr_clear(difference);
    if (!(error <= worst->error))
        *worst = (record){isnan(error) ? INFINITY : error, a, b, c};
}

static void judge(const char *function, const record *worst) {
    truth_report(function, ROUNDS, worst->error, "relative", "(%a, %a, %a)", worst->a, worst->b, worst->c);
    if (!(worst->error <= LIMIT))
        fail_msg("%s(%a, %a, %a) is off by 2^%.1f", function, worst->a, worst->b, worst->c, log2(worst->error));
}

static void test_log(void **state) {
    (void)state;
    static const double special[] = {1.0,
                                     2.0,
                                     10000.0,
                                     5e-324,
                                     0x1p-1022,
                                     0x1.fffffffffffffp1023,
                                     0x1.6a09e667f3bccp-1,
                                     0x1.6a09e667f3bcdp-1,
                                     0x1.fffffffffffffp-1,
                                     0x1.0000000000001p0,
                                     0x1.6a09e667f3bcdp0};
    enum { SPECIAL = sizeof special / sizeof special[0] };
    record worst = {0};
    mpfr_t x;
    mpfr_init2(x, BITS);
    for (int k = 0; k < ROUNDS; k++) {
        double a = k < SPECIAL ? special[k] : k % 2 ? truth_log_uniform(1e-300, 1e300) : truth_log_uniform(0.4, 2.5);
        mpfr_set_d(x, a, MPFR_RNDN);
        mpfr_log(x, x, MPFR_RNDN);
        compare(&worst, posenc_dd_log(a), x, a, 0.0, 0.0);
    }
    mpfr_clear(x);
    judge("double-double log", &worst);
}

static void test_exp(void **state) {
    (void)state;
    record worst = {0};
    mpfr_t x;
    mpfr_init2(x, BITS);
    for (int k = 0; k < ROUNDS; k++) {
        posenc_dd a = {k < 2 ? (k ? POSENC_DD_MAX_EXP : -POSENC_DD_MAX_EXP)
                             : truth_uniform(-POSENC_DD_MAX_EXP, POSENC_DD_MAX_EXP),
                       0.0};
        if (k >= 2 && k % 2)
            a.hi /= 1000.0;
        if (k >= 2)
            a.lo = a.hi * truth_uniform(-0x1p-54, 0x1p-54);
        mpfr_set_d(x, a.hi, MPFR_RNDN);
        mpfr_add_d(x, x, a.lo, MPFR_RNDN);
        mpfr_exp(x, x, MPFR_RNDN);
        compare(&worst, posenc_dd_exp(a), x, a.hi, a.lo, 0.0);
    }
    mpfr_clear(x);
    judge("double-double exp", &worst);
}

static void test_pow(void **state) {
    (void)state;
    record worst = {0};
    mpfr_t x, base;
    mpfr_inits2(BITS, x, base, (mpfr_ptr)NULL);
    for (int k = 0; k < ROUNDS; k++) {
        double b = k % 3 ? truth_log_uniform(1.0, 1e30) : 10000.0;
        double denominator = (double)(2 * (1 + truth_below(1 << (1 + truth_below(20)))));
        double numerator = -2.0 * (double)truth_below((int64_t)denominator / 2);
        mpfr_set_d(base, b, MPFR_RNDN);
        mpfr_set_d(x, numerator, MPFR_RNDN);
        mpfr_div_d(x, x, denominator, MPFR_RNDN);
        mpfr_pow(x, base, x, MPFR_RNDN);
        compare(&worst, posenc_dd_pow(b, numerator, denominator), x, b, numerator, denominator);
    }
    mpfr_clears(x, base, (mpfr_ptr)NULL);
    judge("double-double pow", &worst);
}

static void test_inv_pi(void **state) {
    (void)state;
    record worst = {0};
    mpfr_t x;
    mpfr_init2(x, BITS);
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_ui_div(x, 1, x, MPFR_RNDN);
    compare(&worst, posenc_dd_inv_pi(), x, 0.0, 0.0, 0.0);
    mpfr_clear(x);
    judge("double-double 1/pi", &worst);
}

/* Numbers near the middle of two floats, and elsewhere. */
static void test_to_float(void **state) {
    (void)state;
    mpfr_t x;
    mpfr_init2(x, BITS);
    for (int k = 0; k < 10 * ROUNDS; k++) {
        double middle = (double)(2 * truth_below((int64_t)1 << 24) + (k % 4 != 0)), sign = k % 2 ? 1.0 : -1.0;
        posenc_dd a = {sign * ldexp(middle + (double)(truth_below(5) - 2) * 0x1p-28, (int)truth_below(200) - 120), 0.0};
        if (k % 3 != 0)
            a.lo = a.hi * truth_uniform(-0x1p-54, 0x1p-54) * ldexp(1.0, -(int)truth_below(50));
        mpfr_set_d(x, a.hi, MPFR_RNDN);
        mpfr_add_d(x, x, a.lo, MPFR_RNDN);
        float got = posenc_dd_to_float(a), want = mpfr_get_flt(x, MPFR_RNDN);
        truth_same_bits(&got, &want, 1, "%a + %a as a float", a.hi, a.lo);
    }
    mpfr_clear(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_log),    truth_test(test_exp),      truth_test(test_pow),
        truth_test(test_inv_pi), truth_test(test_to_float),
    };
    return truth_run(tests);
}
