/* SPDX-License-Identifier: MIT */
/* The softmax path's exponential and hyperbolic tangent, dense over their whole range against libm's double, and less
 * dense against MPFR, which also measures that double. The scalar form is the specification; that the tiers give its
 * bits is what tests of kernels show. usage: test_exp [every]: every argument, which takes minutes (scripts/prove) */
#include "kernels/exp_scalar.h"
#include "truth.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <mpfr.h>

enum {
    STRIDE = 13,             /* of the floats; a prime, so that every low bit pattern occurs */
    FIRST_BITS = 0x30800000, /* 2^-30: below, exp is 1 and tanh its argument */
    MPFR_STRIDE = 509,
    NEAR = 1000, /* floats on either side of a place to look at */
    BINADES = 256,
    FRACTION_BITS = 23,
    MPFR_BITS = 96,
    MAX_EDGES = 200,
};

/* Whether every argument is looked at, from the least float on. */
static int takes_every;

/* A function, and the sizes of its argument between which it is measured, as bits of a float32. */
typedef struct curve {
    const char *name, *range;
    float (*function)(float);
    double (*in_double)(double);
    int (*in_mpfr)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
    float sign; /* of the arguments */
    uint32_t last;
    double bound;           /* ulp */
    float edges[MAX_EDGES]; /* sizes of arguments around which every float is looked at */
    int n_edges;
} curve;

/* The worst of some comparisons. */
typedef struct record {
    double error; /* ulp */
    float at;
    long long n;
} record;

static void note(record *worst, double error, float x) {
    worst->n++;
    if (error <= worst->error)
        return;
    worst->error = isnan(error) ? INFINITY : error;
    worst->at = x;
}

static void judge(const curve *f, const char *where, const record *worst) {
    char what[100];
    snprintf(what, sizeof what, "%s, %s", f->name, where);
    truth_report(what, worst->n, worst->error, "ulp", "%a", (double)worst->at);
    if (!(worst->error < f->bound))
        fail_msg("%s: off by %g ulp at %a", what, worst->error, (double)worst->at);
}

/* ---- Against libm's double ---- */

/* Error of got in ulps of the truth, a double that stands for a float32 result. */
static double ulps(float got, double truth) {
    int exponent;
    frexp(truth, &exponent);
    return fabs((double)got - truth) / ldexp(1.0, exponent - 24);
}

/* The worst of all, and of each binade of the argument. */
static record compare_with_double(const curve *f, record worst_of[BINADES]) {
    record worst = {0};
    uint32_t first = takes_every ? 1 : FIRST_BITS, stride = takes_every ? 1 : STRIDE;
    for (uint32_t bits = first; bits <= f->last; bits += stride) {
        float x = f->sign * posenc_float(bits);
        double error = ulps(f->function(x), f->in_double((double)x));
        note(&worst, error, x);
        note(&worst_of[bits >> FRACTION_BITS], error, x);
    }
    return worst;
}

/* ---- Against MPFR ---- */

typedef struct comparison {
    const curve *f;
    mpfr_t x, truth;
    record worst, of_double;
} comparison;

/* As ulps(). */
static double mpfr_ulps(comparison *c, double got) {
    mpfr_sub_d(c->x, c->truth, got, MPFR_RNDN);
    return fabs(mpfr_get_d(c->x, MPFR_RNDN)) / ldexp(1.0, (int)mpfr_get_exp(c->truth) - 24);
}

static void compare(comparison *c, uint32_t bits) {
    float x = c->f->sign * posenc_float(bits);
    mpfr_set_flt(c->x, x, MPFR_RNDN);
    c->f->in_mpfr(c->truth, c->x, MPFR_RNDN);
    note(&c->worst, mpfr_ulps(c, (double)c->f->function(x)), x);
    note(&c->of_double, mpfr_ulps(c, c->f->in_double((double)x)), x);
}

static void compare_around(comparison *c, float size) {
    uint32_t middle = posenc_bits(size), first = middle > NEAR ? middle - NEAR : 1;
    for (uint32_t bits = first; bits <= middle + NEAR && bits <= c->f->last; bits++)
        compare(c, bits);
}

static void judge_comparison(comparison *c, const char *where) {
    judge(c->f, where, &c->worst);
    c->worst = (record){0};
}

/* worst_of: what compare_with_double saw. */
static void compare_with_mpfr(const curve *f, const record worst_of[BINADES]) {
    comparison c = {.f = f};
    mpfr_inits2(MPFR_BITS, c.x, c.truth, (mpfr_ptr)NULL);
    for (uint32_t bits = FIRST_BITS; bits <= f->last; bits += MPFR_STRIDE)
        compare(&c, bits);
    judge_comparison(&c, "against MPFR");
    for (int i = 0; i < BINADES; i++)
        if (worst_of[i].n > 0)
            compare_around(&c, fabsf(worst_of[i].at));
    judge_comparison(&c, "against MPFR, around the worst of each binade");
    for (int i = 0; i < f->n_edges; i++)
        compare_around(&c, f->edges[i]);
    judge_comparison(&c, "against MPFR, at edges");
    mpfr_clears(c.x, c.truth, (mpfr_ptr)NULL);
    /* Off by so little of a float32 ulp, the double stands for the truth. */
    if (!(c.of_double.error < 0x1p-27))
        fail_msg("libm's double is off by %g ulp at %a", c.of_double.error, (double)c.of_double.at);
}

static void check_curve(const curve *f) {
    record worst_of[BINADES] = {{0}}, worst = compare_with_double(f, worst_of);
    judge(f, takes_every ? "every argument" : f->range, &worst);
    assert_true(worst.n > 10000000);
    compare_with_mpfr(f, worst_of);
}

/* ---- exp ---- */

static float next_down(float x) { /* towards -inf, x <= 0 */
    return nextafterf(x, -INFINITY);
}

static void test_exp(void **state) {
    (void)state;
    curve f = {
        .name = "exp of attention logits",
        .range = "all of its range",
        .function = posenc_exp_nonpositive,
        .in_double = exp,
        .in_mpfr = mpfr_exp,
        .sign = -1.0f,
        .last = posenc_bits(-POSENC_EXP_LOWEST),
        .bound = 0.89,
        .edges = {0x1p-149f, 0x1p-126f, 0x1p-30f, 0x1p-25f, 0x1p-24f, -POSENC_EXP_LOWEST, 0x1.aaf86cp+4f /* worst */},
        .n_edges = 7,
    };
    /* Half way between multiples of ln 2 the polynomial's argument is largest, and n changes. */
    for (int n = 0; n < 126; n++)
        f.edges[f.n_edges++] = (float)((n + 0.5) * log(2.0));
    check_curve(&f);
}

/* Whether the true exp(x) is FLT_MIN or more. */
static int reaches_flt_min(float x) {
    mpfr_t y;
    mpfr_init2(y, MPFR_BITS);
    mpfr_set_flt(y, x, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    int reaches = mpfr_cmp_d(y, (double)FLT_MIN) >= 0;
    mpfr_clear(y);
    return reaches;
}

static void test_edges(void **state) {
    (void)state;
    static const float one[] = {0.0f, -0.0f, -0x1p-149f, -0x1p-126f, -0x1p-26f};
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        assert_true(posenc_exp_nonpositive(one[i]) == 1.0f);
    /* The last argument before 0 still has a normal result, and the one after it a denormal true value. */
    assert_true(reaches_flt_min(POSENC_EXP_LOWEST) && posenc_exp_nonpositive(POSENC_EXP_LOWEST) >= FLT_MIN);
    assert_false(reaches_flt_min(next_down(POSENC_EXP_LOWEST)));
    assert_true(posenc_exp_nonpositive(next_down(POSENC_EXP_LOWEST)) == 0.0f);
    static const float zero[] = {-88.0f, -104.0f, -1000.0f, -FLT_MAX, -INFINITY};
    for (size_t i = 0; i < sizeof zero / sizeof zero[0]; i++)
        assert_true(posenc_exp_nonpositive(zero[i]) == 0.0f);
    assert_true(isnan(posenc_exp_nonpositive(NAN)));
}

/* ---- tanh ---- */

static void test_tanh(void **state) {
    (void)state;
    curve f = {
        .name = "tanh of the soft cap",
        .range = "2^-30 to 32",
        .function = posenc_tanh,
        .in_double = tanh,
        .in_mpfr = mpfr_tanh,
        .sign = 1.0f,
        .last = 0x42000000,
        .bound = 1.51,
        /* where the polynomial ends, where float32 has no more below 1, where the range ends; the worst of all */
        .edges = {0x1p-149f, 0x1p-126f, 0x1p-30f, POSENC_TANH_SMALL, 9.0109f, 32.0f, 0x1.3f65aap+0f},
        .n_edges = 7,
    };
    for (int n = 1; n < 28; n++) /* of exp(-2x), as above */
        f.edges[f.n_edges++] = (float)((n + 0.5) * log(2.0) / 2.0);
    check_curve(&f);
}

static void test_tanh_edges(void **state) {
    (void)state;
    for (uint32_t bits = FIRST_BITS; bits < 0x42000000; bits += STRIDE)
        assert_true(posenc_tanh(-posenc_float(bits)) == -posenc_tanh(posenc_float(bits)));
    static const float one[] = {20.0f, 100.0f, FLT_MAX, INFINITY};
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        assert_true(posenc_tanh(one[i]) == 1.0f && posenc_tanh(-one[i]) == -1.0f);
    static const float same[] = {0.0f, -0.0f, 0x1p-149f, -0x1p-126f, 0x1p-30f};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_true(posenc_tanh(same[i]) == same[i]);
    assert_true(isnan(posenc_tanh(NAN)));
}

int main(int argc, char **argv) {
    takes_every = argc == 2 && strcmp(argv[1], "every") == 0;
    const struct CMUnitTest tests[] = {
        truth_test(test_tanh),
        truth_test(test_tanh_edges),
        truth_test(test_exp),
        truth_test(test_edges),
    };
    return truth_run(tests);
}
