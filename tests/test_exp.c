/* The score path's exponential and hyperbolic tangent, dense over their whole range. The scalar form is the
 * specification; that the tiers give its bits is what tests of kernels show. */
#include "scalar/exp.h"
#include "truth.h"

#include <float.h>
#include <string.h>

/* Error of got in ulps of the truth, a double that stands for a float32 result. */
static double ulps(float got, double truth) {
    int exponent;
    frexp(truth, &exponent);
    return fabs((double)got - truth) / ldexp(1.0, exponent - 24);
}

static float next_down(float x) { /* towards -inf, x <= 0 */
    return nextafterf(x, -INFINITY);
}

/* libm's double exponential is off by less than 2^-28 of a float32 ulp: it stands for the truth. */
static void test_accuracy(void **state) {
    (void)state;
    enum { STRIDE = 13 }; /* of the floats from -2^-30 down; a prime, so that every low bit pattern occurs */
    double worst = 0.0;
    float worst_at = 0.0f;
    long long n = 0;
    for (float x = -0x1p-30f; x >= POSENC_EXP_LOWEST; n++) {
        double error = ulps(posenc_exp_nonpositive(x), exp((double)x));
        if (!(error <= worst)) {
            worst = error;
            worst_at = x;
        }
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits += STRIDE;
        memcpy(&x, &bits, sizeof bits);
    }
    truth_report("exp of the score path, all of its range", n, worst, "ulp", "%a", (double)worst_at);
    assert_true(n > 10000000);
    assert_true(worst < 1.0);
}

static void test_edges(void **state) {
    (void)state;
    static const float one[] = {0.0f, -0.0f, -0x1p-149f, -0x1p-126f, -0x1p-26f};
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        assert_true(posenc_exp_nonpositive(one[i]) == 1.0f);
    /* The last argument before 0 still has a normal result, and the one after it a denormal true value. */
    assert_true(posenc_exp_nonpositive(POSENC_EXP_LOWEST) >= FLT_MIN);
    assert_true(exp((double)next_down(POSENC_EXP_LOWEST)) < (double)FLT_MIN);
    assert_true(posenc_exp_nonpositive(next_down(POSENC_EXP_LOWEST)) == 0.0f);
    static const float zero[] = {-88.0f, -104.0f, -1000.0f, -FLT_MAX, -INFINITY};
    for (size_t i = 0; i < sizeof zero / sizeof zero[0]; i++)
        assert_true(posenc_exp_nonpositive(zero[i]) == 0.0f);
    assert_true(isnan(posenc_exp_nonpositive(NAN)));
}

/* libm's double tanh stands for the truth, as its exp does. */
static void test_tanh(void **state) {
    (void)state;
    enum { STRIDE = 17 };
    double worst = 0.0;
    float worst_at = 0.0f;
    long long n = 0;
    for (uint32_t bits = 0x30800000; bits < 0x42000000; bits += STRIDE, n++) { /* 2^-30 .. 32 */
        float x = posenc_float(bits);
        double error = ulps(posenc_tanh(x), tanh((double)x));
        if (!(error <= worst)) {
            worst = error;
            worst_at = x;
        }
        assert_true(posenc_tanh(-x) == -posenc_tanh(x));
    }
    truth_report("tanh of the soft cap, 2^-30 to 32", n, worst, "ulp", "%a", (double)worst_at);
    assert_true(n > 10000000);
    assert_true(worst < 2.0);
    static const float one[] = {20.0f, 100.0f, FLT_MAX, INFINITY};
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        assert_true(posenc_tanh(one[i]) == 1.0f && posenc_tanh(-one[i]) == -1.0f);
    static const float same[] = {0.0f, -0.0f, 0x1p-149f, -0x1p-126f, 0x1p-30f};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_true(posenc_tanh(same[i]) == same[i]);
    assert_true(isnan(posenc_tanh(NAN)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_tanh),
        truth_test(test_accuracy),
        truth_test(test_edges),
    };
    return truth_run(tests);
}
