/* SPDX-License-Identifier: MIT */
#include "truth_mpfr.h"

#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static truth_table new_table(int64_t n) {
    truth_table table = {n, malloc((size_t)(n > 0 ? n : 1) * sizeof(mpfr_t))};
    if (table.theta == NULL)
        abort();
    for (int64_t i = 0; i < n; i++)
        mpfr_init2(table.theta[i], TRUTH_BITS);
    return table;
}

truth_table truth_powers(double scale, double base, int64_t numerator, int64_t denominator, int64_t n) {
    truth_table table = new_table(n);
    mpfr_t b;
    mpfr_init2(b, TRUTH_BITS);
    mpfr_set_d(b, base, MPFR_RNDN);
    for (int64_t i = 0; i < n; i++) {
        mpfr_set_si(table.theta[i], (long)(-i * numerator), MPFR_RNDN);
        mpfr_div_si(table.theta[i], table.theta[i], (long)denominator, MPFR_RNDN);
        mpfr_pow(table.theta[i], b, table.theta[i], MPFR_RNDN);
        mpfr_mul_d(table.theta[i], table.theta[i], scale, MPFR_RNDN);
    }
    mpfr_clear(b);
    return table;
}

truth_table truth_values(const double *theta, int64_t n) {
    truth_table table = new_table(n);
    for (int64_t i = 0; i < n; i++)
        mpfr_set_d(table.theta[i], theta[i], MPFR_RNDN);
    return table;
}

void truth_table_free(truth_table *table) {
    for (int64_t i = 0; i < table->n; i++)
        mpfr_clear(table->theta[i]);
    free(table->theta);
}

void truth_angle(const truth_table *table, int64_t i, double p, mpfr_t cosine, mpfr_t sine) {
    mpfr_mul_d(sine, table->theta[i], p, MPFR_RNDN);
    mpfr_sin_cos(sine, cosine, sine, MPFR_RNDN);
}

void truth_angle_d(const truth_table *table, int64_t i, double p, double *cosine, double *sine) {
    mpfr_t c, s;
    mpfr_inits2(TRUTH_BITS, c, s, (mpfr_ptr)NULL);
    truth_angle(table, i, p, c, s);
    *cosine = mpfr_get_d(c, MPFR_RNDN);
    *sine = mpfr_get_d(s, MPFR_RNDN);
    mpfr_clears(c, s, (mpfr_ptr)NULL);
}

double truth_error(float got, const mpfr_t truth) {
    mpfr_t difference;
    mpfr_init2(difference, TRUTH_BITS);
    mpfr_sub_d(difference, truth, (double)got, MPFR_RNDN);
    double error = fabs(mpfr_get_d(difference, MPFR_RNDN));
    mpfr_clear(difference);
    /* MPFR has truth = m 2^e with 1/2 <= |m| < 1, so its float32 ulp is 2^(e-24). */
    double ulp = mpfr_zero_p(truth) ? 0.0 : ldexp(1.0, (int)fmax((double)mpfr_get_exp(truth) - 24.0, -149.0));
    return error / fmax(ulp, 0x1p-45);
}

void truth_compare(truth_worst *worst, float got, const mpfr_t truth, const char *function, double p, const char *table,
                   int64_t i) {
    double error = truth_error(got, truth);
    worst->n_compared++;
    if (error <= worst->error)
        return;
    worst->error = isnan(error) ? INFINITY : error;
    snprintf(worst->where, sizeof worst->where, "%s(%.17g theta_%lld), %s: %a, truth %.17g", function, p, (long long)i,
             table, (double)got, mpfr_get_d(truth, MPFR_RNDN));
}

void truth_judge(const char *what, const truth_worst *worst) {
    truth_report(what, worst->n_compared, worst->error, TRUTH_ALLOWED, "%s", worst->where);
    assert_true(worst->n_compared > 0);
    if (!(worst->error <= 1.0))
        fail_msg("%s is off by %g times the allowed error", worst->where, worst->error);
}

int truth_near_zeros(const truth_table *table, int64_t i, int32_t positions[64]) {
    mpfr_t x, whole;
    mpfr_inits2(TRUTH_BITS, x, whole, (mpfr_ptr)NULL);
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_div_2ui(x, x, 1, MPFR_RNDN);
    mpfr_div(x, table->theta[i], x, MPFR_RNDN);
    mpfr_abs(x, x, MPFR_RNDN);

    double before = 1.0, denominator = 0.0; /* of the last two convergents */
    int n = 0;
    while (n < 64) {
        mpfr_floor(whole, x);
        double next = mpfr_get_d(whole, MPFR_RNDN) * denominator + before;
        if (!(next <= INT32_MAX))
            break;
        before = denominator;
        denominator = next;
        positions[n++] = (int32_t)next;
        mpfr_sub(x, x, whole, MPFR_RNDN);
        if (mpfr_zero_p(x))
            break;
        mpfr_ui_div(x, 1, x, MPFR_RNDN);
    }
    mpfr_clears(x, whole, (mpfr_ptr)NULL);
    return n;
}
