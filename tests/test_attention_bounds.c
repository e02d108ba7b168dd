/* SPDX-License-Identifier: MIT */
/* Error bounds of attention.h where they are hardest to keep: logits too large for float32, roundings that
 * all go one way, values next to the ends of float32. One query of one head, against sums in double. */
#include "truth.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_KEYS = 1 << 20, FEW_KEYS = 40, MOST_CHANNELS = 256 };

typedef struct row {
    const float *query, *keys, *values; /* one value for each key */
    const float *bias;                  /* or NULL */
    float scale, slope, cap;
    int64_t dim, n_k, position;
} row;

/* The exact result, and what attention.h adds up to its bounds: w_j = e^d_j - 1. */
typedef struct exact_row {
    double out, lse;
    double largest;    /* |v_j| */
    double farthest;   /* |v_j - out| */
    double moved;      /* (1 + W) sum p_j w_j |v_j - out| */
    double moved_by_d; /* sum p_j d_j |v_j - out|, which it is while all d_j are small */
    double moved_lse;  /* ln(1 + W), the logarithm of sum p_j e^d_j */
} exact_row;

typedef struct result {
    float out, lse;
} result;

/* In parts of what is promised. */
typedef struct share {
    double out, lse;
} share;

/* ---- The exact row ---- */

/* Logits, which become logarithms of the probabilities, and the errors that they may have. */
static double l[MOST_KEYS], d[MOST_KEYS];

static void set_logit(const row *r, int64_t j) {
    double penalty = (double)r->slope * fabs((double)(j - r->position)),
           bias = r->bias != NULL ? (double)r->bias[j] : 0.0;
    double score = 0.0, sizes = penalty + fabs(bias), cap = (double)r->cap;
    for (int64_t c = 0; c < r->dim; c++) {
        double product = (double)r->scale * (double)r->query[c] * (double)r->keys[j * r->dim + c];
        score += product;
        sizes += fabs(product);
    }
    l[j] = (cap > 0.0 ? cap * tanh(score / cap) : score) - penalty + bias;
    d[j] = (double)(r->dim + 8) * 0x1p-24 * sizes + 0x1p-22 * cap;
}

/* p_j w_j; e^300 stands for what is more. */
static double moved_weight(double log_p, double error) {
    return error < 1.0 ? exp(log_p) * expm1(error) : exp(fmin(log_p + error, 300.0)) - exp(log_p);
}

/* W may be beyond double. */
static void allow_for_logits(const row *r, exact_row *x) {
    double weight = 0.0, largest = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < r->n_k; j++) {
        double far = fabs((double)r->values[j] - x->out), w = moved_weight(l[j], d[j]);
        x->farthest = fmax(x->farthest, far);
        x->moved += w * far;
        x->moved_by_d += exp(l[j]) * d[j] * far;
        weight += w;
        largest = fmax(largest, l[j] + d[j]);
    }
    x->moved *= 1.0 + weight;
    for (int64_t j = 0; j < r->n_k; j++)
        sum += exp(l[j] + d[j] - largest);
    x->moved_lse = weight < 1.0 ? log1p(weight) : largest + log(sum);
}

static exact_row solve(const row *r) {
    exact_row x = {0};
    double max = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < r->n_k; j++) {
        set_logit(r, j);
        max = fmax(max, l[j]);
    }
    for (int64_t j = 0; j < r->n_k; j++) {
        sum += exp(l[j] - max);
        x.out += exp(l[j] - max) * (double)r->values[j];
        x.largest = fmax(x.largest, fabs((double)r->values[j]));
    }
    x.out /= sum;
    x.lse = max + log(sum);
    for (int64_t j = 0; j < r->n_k; j++)
        l[j] = l[j] - max - log(sum);
    allow_for_logits(r, &x);
    return x;
}

/* ---- Promised bounds ---- */

static double promised_of_largest(int64_t n) {
    return 4e-6 + 6e-8 * (double)(n < 512 ? n : 512) + 6e-11 * (double)n;
}

static double promised_out(const exact_row *x, int64_t n) {
    return promised_of_largest(n) * x->largest + 0x1p-129 + fmin(x->moved, x->farthest);
}

static double promised_lse(const exact_row *x, int64_t n) {
    return 3e-6 + 3e-11 * (double)n + 0x1p-24 * fabs(x->lse) + x->moved_lse;
}

static result attend(const row *r) {
    result y;
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.mask = posenc_mask_none();
    params.scale = r->scale;
    params.cap = r->cap;
    params.positions.query_start = r->position;
    params.bias.alibi_slopes = r->slope != 0.0f ? &r->slope : NULL;
    posenc_view bias = posenc_view_dense((void *)(uintptr_t)r->bias, POSENC_F32, r->n_k, 1, 1, 1);
    params.bias.tensor = r->bias != NULL ? &bias : NULL;
    posenc_view lse = posenc_view_dense(&y.lse, POSENC_F32, 1, 1, 1, 1);
    posenc_attention_args task = {
        .params = &params,
        .q = posenc_view_dense((void *)(uintptr_t)r->query, POSENC_F32, r->dim, 1, 1, 1),
        .k = posenc_view_dense((void *)(uintptr_t)r->keys, POSENC_F32, r->dim, 1, r->n_k, 1),
        .v = posenc_view_dense((void *)(uintptr_t)r->values, POSENC_F32, 1, 1, r->n_k, 1),
        .out = posenc_view_dense(&y.out, POSENC_F32, 1, 1, 1, 1),
        .lse = &lse,
    };
    void *scratch = malloc(posenc_attention_workspace_bytes(r->dim, 1));
    assert_non_null(scratch);
    truth_ok(posenc_attention_run(&task, scratch, posenc_range_all()));
    free(scratch);
    return y;
}

static share share_of(const exact_row *x, const row *r) {
    result y = attend(r);
    return (share){fabs((double)y.out - x->out) / promised_out(x, r->n_k),
                   fabs((double)y.lse - x->lse) / promised_lse(x, r->n_k)};
}

/* ---- Large logits ---- */

static float query[MOST_CHANNELS], few_keys[FEW_KEYS * MOST_CHANNELS], few_values[FEW_KEYS], few_bias[FEW_KEYS];

/* By how much the result is off beside random roundings, for which 4e-6 is enough. */
static double share_of_random(const exact_row *x, const row *r, double allowed_logits) {
    result y = attend(r);
    double out = 4e-6 * x->largest + allowed_logits * x->moved;
    double lse = 4e-6 + 0x1p-24 * fabs(x->lse) + allowed_logits * x->moved_lse;
    return fmax(fabs((double)y.out - x->out) / out, fabs((double)y.lse - x->lse) / lse);
}

/* Keys that go with the query, so that logits are near 16 and each addition of the chain is of numbers that large. */
static void test_large_logits(void **state) {
    (void)state;
    double worst = 0.0;
    int n_beyond = 0, n = 0;
    for (int64_t dim = 64; dim <= MOST_CHANNELS; dim *= 2)
        for (int round = 0; round < 200; round++, n++) {
            int64_t n_k = 1 + truth_below(FEW_KEYS);
            truth_fill(query, (size_t)dim);
            truth_fill(few_keys, (size_t)(n_k * dim));
            truth_fill(few_values, (size_t)n_k);
            double size = 0.0;
            for (int64_t c = 0; c < dim; c++)
                size += (double)query[c] * (double)query[c];
            for (int64_t i = 0; i < n_k * dim; i++)
                few_keys[i] = query[i % dim] + 0.2f * few_keys[i];
            row r = {query, few_keys, few_values, .scale = (float)(15.0 / size), .dim = dim, .n_k = n_k};
            exact_row x = solve(&r);
            worst = fmax(worst, share_of_random(&x, &r, 1.0));
            n_beyond += share_of_random(&x, &r, 0.0) > 1.0;
        }
    truth_report("attention, logits near 16", n, worst, TRUTH_ALLOWED, "%d beyond the rest of it", n_beyond);
    assert_true(worst < 1.0);

    /* From 8 on each addition of key 0 drops nearly half an ulp. */
    for (int c = 0; c < 240; c++) {
        query[c] = 1.0f;
        few_keys[c] = 0x1p-4f + 0x1p-21f - 0x1p-27f;
        few_keys[240 + c] = 0x1p-4f;
    }
    row r = {query, few_keys, (float[]){1.0f, -1.0f}, .scale = 1.0f, .dim = 240, .n_k = 2};
    exact_row x = solve(&r);
    double ratio = share_of_random(&x, &r, 1.0);
    truth_report("attention, roundings that all go one way", 1, ratio, TRUTH_ALLOWED, "240 channels");
    assert_true(ratio < 1.0 && share_of_random(&x, &r, 0.0) > 4.0);
}

/* Rows whose d_j are far above 1: what float32 drops of a logit decides which key counts. An error of d_j |v_j - out|
 * for each probability, as for small d_j, would be too little. */
static void test_beyond_float32(void **state) {
    (void)state;
    static const float zeros[16], ones[1] = {1.0f}, huge[2] = {0x1p30f, 0x1p30f};
    const row rows[] = {
        {ones, huge, (float[]){0.0f, 1.0f}, (float[]){0.0f, 30.0f}, 1.0f, 0.0f, 0.0f, 1, 2, 0},
        {ones, huge, (float[]){-1.0f, 1.0f}, (float[]){0.0f, 63.0f}, 1.0f, 0.0f, 0.0f, 1, 2, 0},
        {zeros, zeros, (float[]){0.0f, 1.0f}, NULL, 1.0f, 8.0f, 0.0f, 8, 2, 1 << 26}, /* ALiBi */
        {zeros, zeros, (float[]){0.0f, 1.0f}, NULL, 1.0f, 8.0f, 0.0f, 1, 2, 1 << 26},
        {zeros, zeros, (float[]){0.0f, 1.0f}, NULL, 1.0f, 0.5f, 0.0f, 1, 2, (1 << 29) - 1},
        {zeros, zeros, (float[]){1.0f, -1.0f}, (float[]){-1e30f, -1.00001e30f}, 1.0f, 0.0f, 0.0f, 1, 2, 0},
    };
    int n_rows = (int)(sizeof rows / sizeof rows[0]);
    for (int i = 0; i < n_rows; i++) {
        exact_row x = solve(&rows[i]);
        for (int tier = -1; truth_next_tier(&tier);) {
            share of = share_of(&x, &rows[i]);
            if (!(of.out <= 1.0 && of.lse <= 1.0))
                fail_msg("row %d: %g and %g of what is promised", i, of.out, of.lse);
        }
        if (i < 4) /* what was dropped counts */
            assert_true(fabs((double)attend(&rows[i]).out - x.out) > 4e-6 * x.largest + x.moved_by_d);
    }
}

/* Logits, values and biases of every size, with and without a cap. */
static void test_sizes(void **state) {
    (void)state;
    share worst = {0.0, 0.0}; /* that of out while it is not beyond all values */
    int n_beyond = 0, n_rounds = 20000;
    for (int round = 0; round < n_rounds; round++) {
        double size = truth_log_uniform(1.0, 0x1p36), size_v = truth_log_uniform(0x1p-149, 0x1p118);
        row r = {query, few_keys, few_values, .scale = (float)truth_log_uniform(0x1p-10, 0x1p10)};
        r.dim = 1 + truth_below(8);
        r.n_k = 1 + truth_below(FEW_KEYS);
        r.bias = truth_below(2) ? few_bias : NULL;
        r.slope = truth_below(2) ? 0.0f : (float)truth_log_uniform(0x1p-8, 8.0);
        r.cap = truth_below(3) ? 0.0f : (float)truth_log_uniform(1.0, 0x1p20);
        r.position = (int64_t)truth_log_uniform(1.0, 0x1p29);
        truth_fill(query, (size_t)r.dim);
        truth_fill(few_keys, (size_t)(r.n_k * r.dim));
        for (int64_t i = 0; i < r.n_k * r.dim; i++) /* often nearly the same, so that small differences count */
            few_keys[i] = round % 2 ? (float)size + few_keys[i] : (float)size * few_keys[i];
        for (int64_t j = 0; j < r.n_k; j++) {
            few_values[j] = (float)truth_uniform(-size_v, size_v);
            few_bias[j] = (float)truth_uniform(-30.0, 30.0);
        }
        exact_row x = solve(&r);
        share of = share_of(&x, &r);
        if (!(of.out <= 1.0 && of.lse <= 1.0))
            fail_msg("round %d: %g and %g of what is promised", round, of.out, of.lse);
        worst = (share){x.moved < x.farthest ? fmax(worst.out, of.out) : worst.out, fmax(worst.lse, of.lse)};
        n_beyond +=
            fabs((double)attend(&r).out - x.out) > promised_of_largest(r.n_k) * x.largest + 0x1p-129 + x.moved_by_d;
    }
    truth_report("attention, logits and values of every size", n_rounds, worst.out, TRUTH_ALLOWED,
                 "%d beyond sum p d |v - out|", n_beyond);
    truth_report("lse, logits of every size", n_rounds, worst.lse, TRUTH_ALLOWED, "random rows");
    assert_true(n_beyond > 0);
}

/* ---- Roundings that go one way ---- */

static float many_keys[MOST_KEYS], many_values[MOST_KEYS];

/* Key 0 of a logit of 0, all others x below it, of one value. */
static row outweighed(float x, float value, int64_t n_k) {
    static const float one = 1.0f;
    for (int64_t j = 0; j < n_k; j++) {
        many_keys[j] = j == 0 ? 0.0f : -x;
        many_values[j] = value;
    }
    return (row){&one, many_keys, many_values, .scale = 1.0f, .dim = 1, .n_k = n_k};
}

/* The mean of equal values is that value. Where one key outweighs the others, each addition to it may drop or add
 * nearly half an ulp; these are the worst that a search found. */
static void test_one_way(void **state) {
    (void)state;
    static const struct {
        float x, value;
        int64_t n_k;
        double least,
            least_lse; /* of the error by the value, and of that of lse: what docs/numerics.md says was seen */
    } cases[] = {
        {16.6355f, 1.0000001f, 512, 2.9e-5, 0.0},
        {16.6355f, 1.0000001f, 4096, 2.9e-5, 0.0},
        {0x1.fa45e8p+3f, 0x1.55ce08p+0f, MOST_KEYS, 4.3e-5, 1.28e-5},
        {0.0f, 0x1.fe06p+0f, 255 * 4096, 1.15e-5, 0.0}, /* of all values for equal keys */
        {0.0f, 0.9950103163719177f, MOST_KEYS, 1.14e-5, 0.0},
    };
    double worst = 0.0, worst_lse = 0.0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        row r = outweighed(cases[i].x, cases[i].value, cases[i].n_k);
        exact_row x = solve(&r);
        for (int tier = -1; truth_next_tier(&tier);) {
            share of = share_of(&x, &r);
            double error = fabs((double)attend(&r).out - x.out) / x.out, of_lse = fabs((double)attend(&r).lse - x.lse);
            if (!(of.out <= 1.0 && of.lse <= 1.0 && error >= cases[i].least && of_lse >= cases[i].least_lse))
                fail_msg("case %d: off by %g and %g, %g and %g of what is promised", (int)i, error, of_lse, of.out,
                         of.lse);
            worst = fmax(worst, of.out);
            worst_lse = fmax(worst_lse, of.lse);
        }
    }
    truth_report("attention, one key that outweighs", (long long)(sizeof cases / sizeof cases[0]), worst, TRUTH_ALLOWED,
                 "512 to 2^20 keys");
    truth_report("lse, one key that outweighs", (long long)(sizeof cases / sizeof cases[0]), worst_lse, TRUTH_ALLOWED,
                 "512 to 2^20 keys");
    for (int round = 0; round < 2000; round++) {
        row r = outweighed((float)truth_uniform(0.0, 20.0), (float)truth_uniform(1.0, 2.0), 1 + truth_below(1000));
        exact_row x = solve(&r);
        share of = share_of(&x, &r);
        assert_true(of.out <= 1.0 && of.lse <= 1.0);
    }
}

/* ---- The range of values ---- */

/* n_k keys that weigh alike, all of one value but for those from `first` to `end`, which have 0. */
static double mean_of(float value, int64_t n_k, int64_t first, int64_t end, double *want) {
    row r = outweighed(0.0f, value, n_k);
    for (int64_t j = first; j < end; j++)
        many_values[j] = 0.0f;
    *want = solve(&r).out;
    double got = (double)attend(&r).out;
    for (int tier = -1; truth_next_tier(&tier);)
        truth_same_bits(&(float){attend(&r).out}, &(float){(float)got}, 1, "tiers differ");
    return got;
}

/* The sizes of a query's values may add up to 3.4e38; FLT_MAX is 3.4028e38. */
static void test_range_of_values(void **state) {
    (void)state;
    static const struct {
        float value; /* that many times inside, and once more outside */
        int64_t n_k, first, end;
    } cases[] = {
        {1e37f, 34, 0, 0},           {-1e37f, 34, 0, 0},     {3.4e33f, 100000, 0, 0},
        {3.24e32f, MOST_KEYS, 0, 0}, {1.7e38f, 600, 1, 599}, /* one in each of two blocks */
        {1.7e38f, 5000, 1, 4999},                            /* of two segments */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double want, got = mean_of(cases[i].value, cases[i].n_k, cases[i].first, cases[i].end, &want);
        truth_close(got, want, promised_of_largest(cases[i].n_k) * fabs((double)cases[i].value), "values, case %d",
                    (int)i);
        got = mean_of(cases[i].value * 1.02f, cases[i].n_k, cases[i].first, cases[i].end, &want);
        assert_true(isinf(got) && isfinite((float)want)); /* beyond: a status of OK, and no number */
    }
    double want, got = mean_of(1e37f, 40, 0, 0, &want);
    assert_true(isinf(got) && fabs(want - 1e37) < 1e32);
    /* An infinite sum becomes NaN when a larger logit multiplies it by 0. */
    row r = outweighed(0.0f, 1e37f, 600);
    many_keys[599] = 100.0f;
    assert_true(isnan(attend(&r).out));
    /* The reference divides by the sum first. */
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.mask = posenc_mask_none();
    float zero = 0.0f, plain;
    outweighed(0.0f, 1e37f, 40);
    posenc_view q = posenc_view_dense(&zero, POSENC_F32, 1, 1, 1, 1),
                to = posenc_view_dense(&plain, POSENC_F32, 1, 1, 1, 1);
    posenc_view k = posenc_view_dense(many_keys, POSENC_F32, 1, 1, 40, 1),
                v = posenc_view_dense(many_values, POSENC_F32, 1, 1, 40, 1);
    truth_ok(posenc_attention_reference(&params, &q, &k, &v, &to, NULL));
    truth_close((double)plain, 1e37, 1e32, "reference");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_large_logits), truth_test(test_beyond_float32),  truth_test(test_sizes),
        truth_test(test_one_way),      truth_test(test_range_of_values),
    };
    return truth_run(tests);
}
