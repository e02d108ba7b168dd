/* SPDX-License-Identifier: MIT */
/* ALiBi slopes against MPFR, and the bias against its formula, bit for bit (FORMULAS C.2, C.3, C.23). */
#include "truth.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>

#include <mpfr.h>

#include "core/for_python.h"

enum { BITS = 256, SOME_HEADS = 200 };

/* 2^(-max_bias numerator / denominator), correctly rounded to float32. */
static float true_slope(double max_bias, int64_t numerator, int64_t denominator) {
    mpfr_t x;
    mpfr_init2(x, BITS);
    mpfr_set_d(x, -max_bias, MPFR_RNDN);
    mpfr_mul_si(x, x, (long)numerator, MPFR_RNDN);
    mpfr_div_si(x, x, (long)denominator, MPFR_RNDN);
    mpfr_exp2(x, x, MPFR_RNDN);
    float slope = mpfr_get_flt(x, MPFR_RNDN);
    mpfr_clear(x);
    return slope;
}

/* FORMULAS C.2, head h of n. */
static float published(double max_bias, int64_t h, int64_t n) {
    int64_t c = 1;
    while (c * 2 <= n)
        c *= 2;
    return h < c ? true_slope(max_bias, h + 1, c) : true_slope(max_bias, 2 * (h - c) + 1, 2 * c);
}

static void check_head(double max_bias, int64_t h, int64_t n, const float *slopes, const float *plain) {
    float want = published(max_bias, h, n), want_plain = true_slope(max_bias, h + 1, n);
    truth_same_bits(slopes + h, &want, 1, "slope %lld of %lld, max_bias %g", (long long)h, (long long)n, max_bias);
    truth_same_bits(plain + h, &want_plain, 1, "plain slope %lld of %lld, max_bias %g", (long long)h, (long long)n,
                    max_bias);
}

static void test_slopes(void **state) {
    (void)state;
    static const double max_biases[] = {8.0, 0.0, 1.0, 7.3, 16.0, 100.0};
    long long n_slopes = 0;
    for (size_t k = 0; k < sizeof max_biases / sizeof max_biases[0]; k++)
        for (int64_t n = 1; n <= SOME_HEADS; n += k == 0 ? 1 : 7) {
            float slopes[SOME_HEADS + 1], plain[SOME_HEADS + 1];
            slopes[n] = plain[n] = 77.0f;
            truth_ok(posenc_alibi_slopes(n, max_biases[k], slopes));
            truth_ok(posenc_alibi_slopes_plain(n, max_biases[k], plain));
            assert_true(slopes[n] == 77.0f && plain[n] == 77.0f);
            for (int64_t h = 0; h < n; h++)
                check_head(max_biases[k], h, n, slopes, plain);
            n_slopes += 2 * n;
        }
    print_message("%lld slopes, each correctly rounded\n", n_slopes);
}

/* max_bias next to where a slope lies halfway between two floats: what is rounded more than once goes wrong there. */
static void test_between_floats(void **state) {
    (void)state;
    enum { ROUNDS = 4000, FEW_HEADS = 16 };
    long long n_slopes = 0;
    mpfr_t x;
    mpfr_init2(x, BITS);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t n = 1 + truth_below(FEW_HEADS), h = truth_below(n);
        double middle = ldexp((double)(((int64_t)1 << 24) + 2 * truth_below((int64_t)1 << 23) + 1),
                              -25 - (int)truth_below(99)); /* 25 bits */
        mpfr_set_d(x, middle, MPFR_RNDN);
        mpfr_log2(x, x, MPFR_RNDN);
        mpfr_mul_si(x, x, -(long)n, MPFR_RNDN);
        mpfr_div_si(x, x, (long)(h + 1), MPFR_RNDN);
        double max_bias = mpfr_get_d(x, MPFR_RNDN);
        if (max_bias > 100.0)
            continue;
        float slopes[FEW_HEADS], plain[FEW_HEADS];
        truth_ok(posenc_alibi_slopes(n, max_bias, slopes));
        truth_ok(posenc_alibi_slopes_plain(n, max_bias, plain));
        check_head(max_bias, h, n, slopes, plain);
        n_slopes += 2;
    }
    mpfr_clear(x);
    print_message("%lld slopes, half of them next to the middle of two floats, each correctly rounded\n", n_slopes);
}

static void test_many_heads(void **state) {
    (void)state;
    enum { HEADS = 100003 };
    float *slopes = malloc(HEADS * sizeof(float)), *plain = malloc(HEADS * sizeof(float));
    assert_true(slopes != NULL && plain != NULL);
    truth_ok(posenc_alibi_slopes(HEADS, 8.0, slopes));
    truth_ok(posenc_alibi_slopes_plain(HEADS, 8.0, plain));
    check_head(8.0, 0, HEADS, slopes, plain);
    check_head(8.0, HEADS - 1, HEADS, slopes, plain);
    for (int k = 0; k < 4000; k++)
        check_head(8.0, truth_below(HEADS), HEADS, slopes, plain);
    free(slopes);
    free(plain);
}

/* ---- Bias ---- */

/* -(slope |i_abs - j|): one rounding of the distance to float32, one of the product. */
static float formula(float slope, posenc_mask mask, int64_t position, int64_t j) {
    if (mask.after == 0 && j > position)
        return -INFINITY;
    int64_t distance = position > j ? position - j : j - position;
    return -(slope * (float)distance) + 0.0f; /* a logit is added up from +0 */
}

static int64_t random_offset(int64_t n_k) {
    switch (truth_below(5)) {
    case 0: return 0;
    case 1: return -truth_below(2 * n_k);
    case 2: return truth_below(2 * n_k);
    case 3: return 1000000000 + truth_below(1000);
    default: return -1000000000 - truth_below(1000);
    }
}

static void check_bias(posenc_range rows, posenc_mask mask, int64_t query_start, const float *slopes,
                       const truth_tensor *bias) {
    const int64_t *ne = bias->view.ne;
    for (int64_t row = 0; row < ne[1] * ne[2] * ne[3]; row++)
        for (int64_t j = 0; j < ne[0]; j++) {
            int64_t i = row % ne[1], h = row / ne[1] % ne[2], b = row / ne[1] / ne[2];
            int in_range = row >= rows.begin && row < rows.end;
            float want = in_range ? formula(slopes[h], mask, query_start + i, j) : truth_was(bias, j, i, h, b);
            truth_same_bits(truth_at(&bias->view, j, i, h, b), &want, 1, "key %lld of query %lld, query_start %lld",
                            (long long)j, (long long)i, (long long)query_start);
        }
    truth_nothing_else_changed(bias, 0, ne[0], "bias");
}

static void test_bias(void **state) {
    (void)state;
    long long n_values = 0;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 300; round++) {
            int64_t ne[4] = {1 + truth_below(round % 10 ? 80 : 3000), 1 + truth_below(6), 1 + truth_below(7),
                             1 + truth_below(3)};
            float slopes[7];
            truth_ok(posenc_alibi_slopes(ne[2], 8.0, slopes));
            slopes[truth_below(ne[2])] = truth_below(2) ? (float)truth_uniform(-3.0, 3.0) : 0.0f;
            posenc_mask mask = truth_below(2) ? posenc_mask_causal() : posenc_mask_none();
            int64_t query_start = random_offset(ne[0]), n_rows = ne[1] * ne[2] * ne[3];
            posenc_range rows = {truth_below(n_rows), 0};
            rows.end = rows.begin + truth_below(n_rows - rows.begin + 1);
            truth_tensor bias = truth_tensor_random(ne);
            posenc_score_params params = posenc_score_params_of(1.0f, mask);
            params.bias.alibi_slopes = slopes;
            params.n_heads = ne[2];
            params.positions.query_start = query_start;
            truth_ok(posenc_logits(&params, NULL, &bias.view, rows));
            check_bias(rows, mask, query_start, slopes, &bias);
            n_values += (rows.end - rows.begin) * ne[0];
            truth_tensor_free(&bias);
        }
    }
    print_message("%lld values compared by bits\n", n_values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_slopes),
        truth_test(test_between_floats),
        truth_test(test_many_heads),
        truth_test(test_bias),
    };
    return truth_run(tests);
}
