/* SPDX-License-Identifier: MIT */
/* Softmax with scale, ALiBi and mask against a plain double reference (FORMULAS C.3, C.23, C.26), its edges, and the
 * independence from how it is called.
 *
 * softmax.h allows 2e-6 absolute against the exact function of the inputs while |l| <= 16. Beyond, the float32 rounding
 * of the logits comes on top, without limit as they grow; so the reference then starts from the logits as softmax.h
 * defines them in float32, and the same 2e-6 holds for all that follows.
 *
 * Beside the largest of a long row everything is small: so each value is also held to the exact softmax of the float32
 * logits relative to itself, by (3e-6 + 2^-24 (max l - l_j)).
 */
#include "truth.h"
#include "truth_view.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROMISED 2e-6
#define PROMISED_WHILE 16.0
#define PROMISED_RELATIVE 3e-6
#define PROMISED_PER_LOGIT 0x1p-24 /* for each unit below the largest logit */

/* One row by the formula. */
typedef struct reference {
    double *p;
    int64_t n_allowed;
    int rounds; /* the logits are rounded to float32 first */
} reference;

static float distance(int64_t position, int64_t j) {
    return (float)(position > j ? position - j : j - position);
}

static int64_t count_allowed(int64_t n, const posenc_score_params *params, int64_t position) {
    if (params->mask.after != 0)
        return n;
    return position < 0 ? 0 : position + 1 < n ? position + 1 : n;
}

/* As softmax.h defines it in float32. */
static double rounded_logit(const float *x, int64_t j, const posenc_score_params *params, float slope,
                            int64_t position) {
    return (double)fmaf(x[j], params->scale, -(slope * distance(position, j)));
}

static void make_reference(const float *x, int64_t n, const posenc_score_params *params, float slope, int64_t position,
                           reference *r) {
    r->n_allowed = count_allowed(n, params, position);
    double largest = 0.0, max = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < r->n_allowed; j++) {
        double penalty = (double)slope * (double)distance(position, j);
        r->p[j] = (double)params->scale * (double)x[j] - penalty;
        largest = fmax(largest, fmax(fabs(r->p[j]), fabs(penalty)));
    }
    r->rounds = largest > PROMISED_WHILE;
    for (int64_t j = 0; j < r->n_allowed; j++) {
        if (r->rounds)
            r->p[j] = rounded_logit(x, j, params, slope, position);
        max = fmax(max, r->p[j]);
    }
    for (int64_t j = 0; j < r->n_allowed; j++)
        sum += r->p[j] = exp(r->p[j] - max);
    for (int64_t j = 0; j < r->n_allowed; j++)
        r->p[j] /= sum;
}

static reference new_reference(int64_t n) {
    reference r = {malloc((size_t)(n + 1) * sizeof(double)), 0, 0};
    if (r.p == NULL)
        abort();
    return r;
}

/* The worst error of a row, in parts of what is allowed; forbidden keys must be exactly 0, nothing may be denormal. */
static double check_row(const float *y, int64_t n, const reference *r, const char *what) {
    double worst = 0.0;
    for (int64_t j = 0; j < n; j++) {
        if (j >= r->n_allowed) {
            float zero = 0.0f;
            truth_same_bits(y + j, &zero, 1, "%s: forbidden key %lld", what, (long long)j);
            continue;
        }
        truth_close((double)y[j], r->p[j], PROMISED, "%s: key %lld of %lld", what, (long long)j, (long long)n);
        if (y[j] != 0.0f && y[j] < FLT_MIN)
            fail_msg("%s: key %lld is denormal: %a", what, (long long)j, (double)y[j]);
        worst = fmax(worst, fabs((double)y[j] - r->p[j]) / PROMISED);
    }
    return worst;
}

static double worst_relative; /* in parts of what is allowed */

/* Relative to each probability, from the logits in float32. Probabilities below FLT_MIN may be 0. */
static void check_relative(const float *x, const float *y, int64_t n, const posenc_score_params *params, float slope,
                           int64_t position) {
    int64_t n_allowed = count_allowed(n, params, position);
    double max = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < n_allowed; j++)
        max = fmax(max, rounded_logit(x, j, params, slope, position));
    for (int64_t j = 0; j < n_allowed; j++)
        sum += exp(rounded_logit(x, j, params, slope, position) - max);
    for (int64_t j = 0; j < n_allowed; j++) {
        double below = max - rounded_logit(x, j, params, slope, position), p = exp(-below) / sum;
        double bound = p * (PROMISED_RELATIVE + PROMISED_PER_LOGIT * below);
        if (y[j] == 0.0f && p < (double)FLT_MIN * (1.0 + 0x1p-20) + bound)
            continue;
        truth_close((double)y[j], p, bound, "relative: key %lld of %lld", (long long)j, (long long)n);
        worst_relative = fmax(worst_relative, fabs((double)y[j] - p) / bound);
    }
}

/* ---- Against the reference ---- */

static int64_t random_offset(int64_t n_q, int64_t n_k) {
    switch (truth_below(6)) {
    case 0: return 0;
    case 1: return n_k - n_q;
    case 2: return -truth_below(n_q + 3);
    case 3: return truth_below(2 * n_k);
    case 4: return 1000000000;
    default: return -1000000000;
    }
}

static long long n_exact, n_rounded; /* rows */

enum { SEQUENCES = 4 };

/* All rows of one random call, on every tier. */
static double check_random_call(const int64_t ne[4], int with_alibi, double spread) {
    float slopes[SEQUENCES * 16];
    int64_t stride = truth_below(2) * ne[2]; /* slopes for each sequence, or for all */
    assert_true(ne[2] <= 16 && ne[3] <= SEQUENCES);
    for (int64_t b = 0; b < ne[3]; b++)
        truth_ok(posenc_alibi_slopes(ne[2], 8.0 + (double)(stride > 0 ? b : 0), slopes + b * stride));
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.scale = (float)truth_uniform(0.01, 1.0);
    params.bias.alibi_slopes = with_alibi ? slopes : NULL;
    params.n_heads = ne[2];
    params.bias.alibi_batch_stride = stride;
    params.mask = truth_below(2) ? posenc_mask_causal() : posenc_mask_none();
    params.positions.query_start = random_offset(ne[1], ne[0]);
    if (truth_below(8) == 0)
        params.scale = -params.scale;
    truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne), first = truth_tensor_random(ne);
    for (size_t i = 0; i < x.n_elements; i++)
        ((float *)x.buffer)[i] = (float)(truth_uniform(-spread, spread) / fabs((double)params.scale));
    truth_mark(&x);
    for (int tier = -1, n_tiers = 0; truth_next_tier(&tier); n_tiers++) {
        truth_ok(posenc_softmax(&params, &x.view, &y.view, posenc_range_all()));
        truth_nothing_changed(&x, "input");
        truth_nothing_else_changed(&y, 0, ne[0], "softmax");
        if (n_tiers == 0)
            truth_copy(&y.view, &first.view);
        truth_same_views(&y.view, &first.view, "tiers differ");
    }
    reference r = new_reference(ne[0]);
    double worst = 0.0;
    for (int64_t b = 0; b < ne[3]; b++)
        for (int64_t h = 0; h < ne[2]; h++)
            for (int64_t i = 0; i < ne[1]; i++) {
                make_reference(truth_at(&x.view, 0, i, h, b), ne[0], &params,
                               with_alibi ? slopes[b * stride + h] : 0.0f, params.positions.query_start + i, &r);
                worst = fmax(worst, check_row(truth_at(&y.view, 0, i, h, b), ne[0], &r, "random"));
                check_relative(truth_at(&x.view, 0, i, h, b), truth_at(&y.view, 0, i, h, b), ne[0], &params,
                               with_alibi ? slopes[b * stride + h] : 0.0f, params.positions.query_start + i);
                *(r.rounds ? &n_rounded : &n_exact) += 1;
            }
    /* In place gives the same. */
    truth_ok(posenc_softmax(&params, &x.view, &x.view, posenc_range_all()));
    truth_same_views(&x.view, &y.view, "in place");
    truth_nothing_else_changed(&x, 0, ne[0], "in place");
    free(r.p);
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&first);
    return worst;
}

static void test_random_calls(void **state) {
    (void)state;
    double worst = 0.0;
    long long n_values = 0;
    n_exact = n_rounded = 0;
    worst_relative = 0.0;
    for (int round = 0; round < 400; round++) {
        int64_t ne[4] = {1 + truth_below(round % 4 ? 100 : 2000), 1 + truth_below(5), 1 + truth_below(6),
                         1 + truth_below(2)};
        double spread = round % 3 == 0 ? truth_log_uniform(16.0, 1e30) : truth_log_uniform(0.01, 16.0);
        worst = fmax(worst, check_random_call(ne, round % 2, spread));
        n_values += ne[0] * ne[1] * ne[2] * ne[3];
    }
    truth_report("softmax", n_values, worst, TRUTH_ALLOWED, "%lld rows with |l| <= 16, %lld beyond", (long long)n_exact,
                 (long long)n_rounded);
    truth_report("softmax, relative", n_values, worst_relative, TRUTH_ALLOWED, "from logits in float32");
    assert_true(n_exact > 0 && n_rounded > 0);
}

static void test_long_rows(void **state) {
    (void)state;
    static const int64_t lengths[] = {4096, 32768, 131072, 1000003, 1 << 20};
    double worst = 0.0;
    long long n_values = 0;
    worst_relative = 0.0;
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
        for (int alibi = 0; alibi < 2; alibi++, n_values += lengths[k])
            worst = fmax(worst, check_random_call((int64_t[4]){lengths[k], 1, 1, 1}, alibi, alibi ? 16.0 : 4.0));
    truth_report("softmax, long rows", n_values, worst, TRUTH_ALLOWED, "4096 to 2^20 keys");
    truth_report("softmax, long rows, relative", n_values, worst_relative, TRUTH_ALLOWED, "4096 to 2^20 keys");
}

/* Equal scores: p = 1/n, where every rounding of the sum goes the same way; and one key far above a million others. */
static void test_worst_sums(void **state) {
    (void)state;
    enum { N = 1000003 };
    float *x = malloc(N * sizeof(float)), *y = malloc(N * sizeof(float));
    assert_true(x != NULL && y != NULL);
    reference r = new_reference(N);
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    double worst = 0.0;
    for (int shape = 0; shape < 4; shape++) {
        for (int64_t j = 0; j < N; j++) /* e^-0.4 makes exponentials whose sums round the same way over and over */
            x[j] = shape == 0   ? 3.0f
                   : shape == 1 ? (j == 77 ? 0.0f : -0.4f)
                   : shape == 2 ? (j == 0 ? 14.0f : 0.0f)
                                : (float)(j % 32) * -0.01f;
        posenc_view from = posenc_view_dense(x, POSENC_F32, N, 1, 1, 1),
                    to = posenc_view_dense(y, POSENC_F32, N, 1, 1, 1);
        make_reference(x, N, &params, 0.0f, 0, &r);
        for (int tier = -1; truth_next_tier(&tier);) {
            truth_ok(posenc_softmax(&params, &from, &to, posenc_range_all()));
            worst = fmax(worst, check_row(y, N, &r, "worst sum"));
            for (int64_t j = 0; j < N; j++) /* and relative to p, since p is tiny here */
                truth_close((double)y[j], r.p[j], 3e-6 * r.p[j], "shape %d: relative, key %lld", shape, (long long)j);
        }
    }
    truth_report("softmax, sums where every rounding goes one way", N, worst, TRUTH_ALLOWED, "%d keys", N);
    free(r.p);
    free(x);
    free(y);
}

/* ---- Edges ---- */

enum { MAX_EDGE = 1100 };

static void run_row(const float *x, float *y, int64_t n, posenc_score_params params) {
    posenc_view from = posenc_view_dense((float *)(uintptr_t)x, POSENC_F32, n, 1, 1, 1);
    posenc_view to = posenc_view_dense(y, POSENC_F32, n, 1, 1, 1);
    truth_ok(posenc_softmax(&params, &from, &to, posenc_range_all()));
}

static void expect_all(const float *y, int64_t n, float want, const char *what) {
    for (int64_t j = 0; j < n; j++)
        if (isnan(want) ? !isnan(y[j]) : memcmp(y + j, &want, sizeof want) != 0)
            fail_msg("%s: %s: key %lld of %lld is %a", posenc_isa_name(posenc_isa()), what, (long long)j, (long long)n,
                     (double)y[j]);
}

/* x is 0 but for one key. */
static void one_odd_key(float *x, int64_t n, int64_t at, float value) {
    for (int64_t j = 0; j < n; j++)
        x[j] = 0.0f;
    x[at] = value;
}

static void check_edges(int64_t n) {
    float x[MAX_EDGE], y[MAX_EDGE], slope = 0.5f;
    posenc_score_params plain = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_score_params masked = plain, doubled = plain;
    masked.bias.alibi_slopes = &slope;
    masked.n_heads = 1;
    masked.mask = posenc_mask_causal();
    doubled.scale = 2.0f;
    int64_t at = truth_below(n);

    for (int64_t j = 0; j < n; j++)
        x[j] = -INFINITY;
    run_row(x, y, n, plain);
    expect_all(y, n, 0.0f, "all -inf");
    x[at] = -3e38f;
    run_row(x, y, n, plain);
    assert_true(y[at] == 1.0f);

    one_odd_key(x, n, at, INFINITY);
    run_row(x, y, n, plain);
    expect_all(y, n, NAN, "one +inf");
    x[at] = NAN;
    run_row(x, y, n, plain);
    expect_all(y, n, NAN, "one NaN");
    x[at] = -NAN;
    run_row(x, y, n, plain);
    expect_all(y, n, NAN, "one -NaN");
    one_odd_key(x, n, at, 3e38f);
    run_row(x, y, n, doubled);
    expect_all(y, n, NAN, "a logit that overflows");
    run_row(x, y, n, plain);
    for (int64_t j = 0; j < n; j++)
        assert_true(y[j] == (j == at ? 1.0f : 0.0f));
    for (int64_t j = 0; j < n; j++)
        x[j] = j == at ? 3e38f : -3e38f;
    run_row(x, y, n, plain);
    for (int64_t j = 0; j < n; j++)
        assert_true(y[j] == (j == at ? 1.0f : 0.0f));
    one_odd_key(x, n, at, -3e38f);
    run_row(x, y, n, doubled);
    for (int64_t j = 0; j < n; j++)
        assert_true(n == 1 || (j == at) == (y[j] == 0.0f));

    /* Poison behind the mask is not read. */
    masked.positions.query_start = at;
    for (int64_t j = 0; j < n; j++)
        x[j] = j <= at ? 1.0f : j % 2 ? NAN : INFINITY;
    run_row(x, y, n, masked);
    expect_all(y + at + 1, n - at - 1, 0.0f, "behind the mask");
    for (int64_t j = 0; j <= at; j++)
        assert_true(y[j] >= 0.0f && y[j] <= 1.0f);
    for (int64_t query_start = -1; query_start >= -1000000000; query_start = query_start * 10 - 7) {
        masked.positions.query_start = query_start;
        run_row(x, y, n, masked);
        expect_all(y, n, 0.0f, "no key allowed");
    }
}

/* Keys that bytes or positions hide stay 0 beside a NaN, as those beyond a bound do: they became NaN. */
static void test_masked_beside_nan(void **state) {
    (void)state;
    enum { N = 70, NANS = 3 };
    float x[N], y[N];
    uint8_t keep[N];
    int32_t q_pos = 40, k_pos[N];
    posenc_bool_mask mask = {keep, {1, N, N, N}, POSENC_KEEP};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 200; round++) {
            int64_t n = 1 + truth_below(N);
            posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
            int by_position = round % 2, visible[N];
            for (int64_t j = 0; j < n; j++) {
                x[j] = 0.5f;
                keep[j] = (uint8_t)truth_below(2);
                k_pos[j] = (int32_t)truth_below(80);
                visible[j] = by_position ? k_pos[j] <= q_pos : keep[j];
            }
            int64_t bad = truth_below(n);
            x[bad] = round % 3 ? NAN : INFINITY;
            if (by_position) {
                params.positions.queries = &q_pos;
                params.positions.keys = k_pos;
                params.mask = posenc_mask_causal();
            } else {
                params.bool_mask = &mask;
            }
            run_row(x, y, n, params);
            for (int64_t j = 0; j < n; j++)
                assert_true(visible[j] ? isnan(y[j]) == visible[bad] : y[j] == 0.0f);
        }
}

enum { N_WRONG = 20 };

/* A row against its exact function, logits of any size: the share of 2e-6 + tanh(d / 2) that is used, d being the error
 * of a logit, at most four roundings (the distance, its product, the bias, the score). */
static double share_of_wrong_logits(const float *x, const float *bias, float slope, int64_t position, int64_t n) {
    double l[N_WRONG], sum = 0.0, max = -INFINITY, d = 0.0, worst = 0.0;
    float y[N_WRONG];
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_view terms = posenc_view_dense((void *)(uintptr_t)bias, POSENC_F32, n, 1, 1, 1);
    params.bias.tensor = &terms;
    params.bias.alibi_slopes = &slope;
    params.n_heads = 1;
    params.positions.query_start = position;
    run_row(x, y, n, params);
    for (int64_t j = 0; j < n; j++) {
        double penalty = (double)slope * fabs((double)(j - position));
        l[j] = (double)x[j] - penalty + (double)bias[j];
        max = fmax(max, l[j]);
        d = fmax(d, 4.0 * 0x1p-24 * (fabs((double)x[j]) + penalty + fabs((double)bias[j])));
    }
    for (int64_t j = 0; j < n; j++)
        sum += exp(l[j] - max);
    for (int64_t j = 0; j < n; j++)
        worst = fmax(worst, fabs((double)y[j] - exp(l[j] - max) / sum) / (PROMISED + tanh(0.5 * d)));
    return worst;
}

static void test_wrong_logits(void **state) {
    (void)state;
    static const float zeros[2], huge[2] = {0x1p30f, 0x1p30f}, bias[2] = {0.0f, 30.0f};
    double worst = 0.0;
    for (int tier = -1; truth_next_tier(&tier);) {
        assert_true(share_of_wrong_logits(huge, bias, 0.0f, 0, 2) <= 1.0);
        assert_true(share_of_wrong_logits(zeros, zeros, 8.0f, 1 << 26, 2) <= 1.0);
        for (int round = 0; round < 20000; round++) {
            int64_t n = 1 + truth_below(N_WRONG);
            float x[N_WRONG], terms[N_WRONG], size = (float)truth_log_uniform(1.0, 0x1p22);
            for (int64_t j = 0; j < n; j++) {
                x[j] = size + (float)truth_uniform(-4.0, 4.0);
                terms[j] = (float)truth_uniform(-4.0, 4.0);
            }
            float slope = round % 2 ? 0.0f : (float)truth_log_uniform(0x1p-8, 8.0);
            int64_t position = (int64_t)truth_log_uniform(1.0, 0x1p19);
            worst = fmax(worst, share_of_wrong_logits(x, terms, slope, position, n));
        }
    }
    truth_report("softmax, logits up to 2^22", 20000, worst, TRUTH_ALLOWED, "random rows");
    assert_true(worst <= 1.0);
}

static void test_minus_zero_slope(void **state) {
    (void)state;
    const float slope = -0.0f, x = -0.0f;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_view from = posenc_view_dense((void *)(uintptr_t)&x, POSENC_F32, 1, 1, 1, 1);
    params.bias.alibi_slopes = &slope;
    params.n_heads = 1;
    for (int tier = -1; truth_next_tier(&tier);) {
        float y = 1.0f;
        posenc_view to = posenc_view_dense(&y, POSENC_F32, 1, 1, 1, 1);
        truth_ok(posenc_logits(&params, &from, &to, posenc_range_all()));
        assert_true(y == 0.0f && signbit(y));
    }
}

/* Exponentials are a part of a row: without a key it is 0, whatever an empty row is. */
static void test_empty_part(void **state) {
    (void)state;
    float x[2] = {1.0f, 2.0f}, y[2];
    posenc_softmax_sum sum;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal());
    posenc_view from = posenc_view_dense(x, POSENC_F32, 2, 1, 1, 1), to = posenc_view_dense(y, POSENC_F32, 2, 1, 1, 1);
    params.positions.query_start = -1;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int empty = POSENC_FULLY_MASKED_ZEROS; empty <= POSENC_FULLY_MASKED_NAN; empty++) {
            params.fully_masked = (posenc_fully_masked_row)empty;
            truth_ok(posenc_softmax_partial(&params, &from, &to, &sum, posenc_range_all()));
            assert_true(y[0] == 0.0f && y[1] == 0.0f && sum.sum == 0.0f && sum.max == -INFINITY);
        }
}

static void test_edges(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int64_t n = 1; n <= MAX_EDGE; n = n < 70 ? n + 1 : n * 5 / 4)
            check_edges(n);
}

/* Around FLT_MIN: nothing denormal, nothing flushed that softmax.h does not allow, and what stays is right. */
static void test_flush(void **state) {
    (void)state;
    enum { N = 64, STEPS = 3000 };
    float x[N], y[N];
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    long long n_flushed = 0, n_kept = 0;
    double largest_flushed = 0.0;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int heavy = 1; heavy < N; heavy += 10) /* keys that share the weight */
            for (int step = 0; step < STEPS; step++) {
                /* float32 logits near -87 step by 8e-6; a random weight moves the probabilities between the steps. */
                double weight = 1.0;
                for (int j = 0; j < heavy; j++) {
                    x[j] = j == 0 ? 0.0f : (float)truth_uniform(-0.1, 0.0);
                    weight += j == 0 ? 0.0 : exp((double)x[j]);
                }
                double edge = log((double)FLT_MIN * weight), spread = step % 2 ? 1e-5 : 1.0;
                for (int j = heavy; j < N; j++)
                    x[j] = (float)(edge + truth_uniform(-spread, spread));
                run_row(x, y, N, params);
                for (int j = heavy; j < N; j++) {
                    double p = exp((double)x[j]) / weight;
                    if (y[j] == 0.0f) {
                        n_flushed++;
                        largest_flushed = fmax(largest_flushed, p);
                    } else {
                        n_kept++;
                        assert_true(y[j] >= FLT_MIN);
                        truth_close((double)y[j], p, 1e-6 * p, "heavy %d, logit %a", heavy, (double)x[j]);
                    }
                }
            }
    print_message("%lld flushed, %lld kept; largest flushed %.9g FLT_MIN\n", n_flushed, n_kept,
                  largest_flushed / (double)FLT_MIN);
    assert_true(n_flushed > 0 && n_kept > 0);
    /* 2^-20 as promised, and one rounding of the exponential it is decided on. */
    assert_true(largest_flushed < (double)FLT_MIN * (1.0 + 0x1p-20 + 0x1p-23));
}

/* ---- The same bits however it is called ---- */

static void test_row_ranges(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 80; round++) {
            int64_t ne[4] = {1 + truth_below(300), 1 + truth_below(9), 1 + truth_below(5), 1 + truth_below(3)};
            float slopes[5];
            truth_ok(posenc_alibi_slopes(ne[2], 8.0, slopes));
            posenc_score_params params = posenc_score_params_of(0.5f, posenc_mask_causal());
            params.bias.alibi_slopes = slopes;
            params.n_heads = ne[2];
            params.positions.query_start = random_offset(ne[1], ne[0]);
            truth_tensor x = truth_tensor_random(ne), whole = truth_tensor_random(ne), split = truth_tensor_random(ne);
            truth_ok(posenc_softmax(&params, &x.view, &whole.view, posenc_range_all()));
            for (int64_t end = ne[1] * ne[2] * ne[3]; end > 0;) {
                int64_t begin = truth_below(end);
                truth_ok(posenc_softmax(&params, &x.view, &split.view, (posenc_range){begin, end}));
                for (int64_t row = 0; row < begin; row++) {
                    int64_t i = row % ne[1], h = row / ne[1] % ne[2], b = row / ne[1] / ne[2];
                    float was = truth_was(&split, 0, i, h, b);
                    truth_same_bits(truth_at(&split.view, 0, i, h, b), &was, 1, "row before the range");
                }
                end = begin;
            }
            truth_same_views(&split.view, &whole.view, "split");
            truth_nothing_else_changed(&split, 0, ne[0], "split");
            truth_tensor_free(&x);
            truth_tensor_free(&whole);
            truth_tensor_free(&split);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_random_calls),
        truth_test(test_long_rows),
        truth_test(test_worst_sums),
        truth_test(test_edges),
        truth_test(test_flush),
        truth_test(test_row_ranges),
        truth_test(test_masked_beside_nan),
        truth_test(test_wrong_logits),
        truth_test(test_minus_zero_slope),
        truth_test(test_empty_part),
    };
    return truth_run(tests);
}
