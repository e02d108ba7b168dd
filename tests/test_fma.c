/* SPDX-License-Identifier: MIT */
/* Fused multiply-add without an instruction (src/kernels/fma.h) against MPFR, which rounds once. */
#include "truth.h"

#include <mpfr.h>

#include "fused_cases.h"

enum { ROUNDS = 2000000 };

/* A format of IEEE 754 as MPFR sees it: numbers are 0.1... 2^exponent. */
typedef struct format {
    mpfr_prec_t bits;
    mpfr_exp_t least, largest;
} format;

static const format in_double = {53, -1073, 1024}, in_float = {24, -148, 128};

typedef struct operands {
    mpfr_t a, b, c, sum;
} operands;

static void begin(operands *o, const format *f) {
    mpfr_set_emin(f->least);
    mpfr_set_emax(f->largest);
    mpfr_inits2(f->bits, o->a, o->b, o->c, o->sum, (mpfr_ptr)NULL);
}

static void end(operands *o) {
    mpfr_clears(o->a, o->b, o->c, o->sum, (mpfr_ptr)NULL);
}

/* a b + c in the format, as a double, which has every float. */
static double truth_of(operands *o, double a, double b, double c) {
    mpfr_set_d(o->a, a, MPFR_RNDN);
    mpfr_set_d(o->b, b, MPFR_RNDN);
    mpfr_set_d(o->c, c, MPFR_RNDN);
    int beyond = mpfr_fma(o->sum, o->a, o->b, o->c, MPFR_RNDN);
    mpfr_subnormalize(o->sum, beyond, MPFR_RNDN);
    return mpfr_get_d(o->sum, MPFR_RNDN);
}

static int is_same(double got, double want) {
    return (isnan(got) && isnan(want)) || posenc_bits_of_double(got) == posenc_bits_of_double(want);
}

static void expect(double got, double want, const char *function, double a, double b, double c) {
    if (!is_same(got, want))
        fail_msg("%s(%a, %a, %a) is %a instead of %a", function, a, b, c, got, want);
}

static random_state seeded(void) {
    return (random_state){truth_random()};
}

static void test_double(void **state) {
    (void)state;
    random_state random = seeded();
    operands o;
    begin(&o, &in_double);
    for (int round = 0; round < ROUNDS; round++) {
        double a, b, c;
        fused_doubles(&random, round, &a, &b, &c);
        double truth = truth_of(&o, a, b, c);
        expect(posenc_fma_exact(a, b, c), truth, "posenc_fma_exact", a, b, c);
        expect(posenc_fma(a, b, c), truth, "posenc_fma", a, b, c);
        if (isfinite(a) && isfinite(b) && isfinite(c) && a != 0.0 &&
            b != 0.0) /* by integers, where the other way serves */
            expect(posenc_fma_finite(a, b, c), truth, "posenc_fma_finite", a, b, c);
    }
    end(&o);
}

static void test_float(void **state) {
    (void)state;
    random_state random = seeded();
    operands o;
    begin(&o, &in_float);
    for (int round = 0; round < ROUNDS; round++) {
        float a, b, c;
        fused_floats(&random, round, &a, &b, &c);
        double truth = truth_of(&o, (double)a, (double)b, (double)c);
        expect((double)posenc_fmaf_exact(a, b, c), truth, "posenc_fmaf_exact", (double)a, (double)b, (double)c);
        expect((double)posenc_fmaf(a, b, c), truth, "posenc_fmaf", (double)a, (double)b, (double)c);
    }
    end(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_double), truth_test(test_float)};
    return truth_run(tests);
}
