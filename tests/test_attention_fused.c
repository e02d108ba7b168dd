/* SPDX-License-Identifier: MIT */
/* Fused attention (attention.h) with everything that posenc_score_params may hold: against the reference, against plain
 * double, and the same bits however it is called. */
#include "truth_attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double rounding(posenc_dtype type) {
    return type == POSENC_F32 ? 0.0 : type == POSENC_F16 ? 0x1p-10 : 0x1p-7; /* of numbers below 2 */
}

/* The call that is open, beside the reference; the worst error of float32, and how many values there were, are kept. */
static void compare_call(double *worst, long long *n_values) {
    truth_tensor want = truth_tensor_random(out.view.ne);
    truth_ok(posenc_attention_reference(&s.params, &q.view, &k.view, &v.view, &want.view, NULL));
    attend(&out.view);
    TRUTH_EACH(&out.view, c, h, i, b) {
        double got = (double)truth_get(&out.view, c, h, i, b), expected = (double)*truth_at(&want.view, c, h, i, b);
        assert_int_equal(isnan(got), isnan(expected));
        if (isnan(expected))
            continue; /* a row that sees nothing */
        double bound = 4e-6 * LARGEST_V + rounding(out.view.dtype);
        truth_close(got, expected, bound, "channel %lld of query %lld, head %lld", (long long)c, (long long)i,
                    (long long)h);
        *worst = out.view.dtype == POSENC_F32 ? fmax(*worst, fabs(got - expected) / bound) : *worst;
        ++*n_values;
    }
    truth_nothing_else_changed(&out, 0, out.view.ne[0], "attention");
    truth_nothing_changed(&q, "q");
    truth_nothing_changed(&k, "k");
    truth_nothing_changed(&v, "v");
    truth_tensor_free(&want);
}

static void test_against_reference(void **state) {
    (void)state;
    double worst = 0.0;
    long long n_values = 0;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 100; round++) {
            open_attention(1 + truth_below(round % 12 ? 150 : SCENE_K - 1));
            compare_call(&worst, &n_values);
            close_attention();
        }
    }
    truth_report("fused attention, float32", n_values, worst, TRUTH_ALLOWED, "random calls");
}

/* ---- Against plain double ---- */

/* One row of attention, with nothing of the library's: visible keys, and their logits, by their definitions. */
typedef struct plain_row {
    double sum, lse, out[POSENC_MAX_HEAD_DIM];
    double beyond; /* mean, by weight, of what |slope offset| exceeds 16 by */
} plain_row;

static double dot(int64_t j, int64_t i, int64_t h, int64_t kv_head, int64_t b) {
    double sum = 0.0;
    for (int64_t c = 0; c < q.view.ne[0]; c++)
        sum += (double)truth_get(&q.view, c, h, i, b) * (double)truth_get(&k.view, c, kv_head, j, b);
    return sum;
}

static double penalty_beyond(int64_t j, int64_t i, int64_t h, int64_t b) {
    const posenc_score_params *p = &s.params;
    int64_t offset =
        p->positions.keys != NULL ? (int64_t)p->positions.keys[j] - p->positions.queries[i] : j - scene_query(&s, i, b);
    return p->bias.alibi_slopes != NULL ? fmax((double)p->bias.alibi_slopes[h] * fabs((double)offset) - 16.0, 0.0)
                                        : 0.0;
}

static void attend_plainly(int64_t i, int64_t h, int64_t b, double *l, plain_row *row) {
    double sink = s.params.sinks != NULL ? (double)s.params.sinks[h] : -INFINITY, max = sink;
    int64_t kv_head = h / (s.n_heads / k.view.ne[1]);
    memset(row, 0, sizeof *row);
    for (int64_t j = 0; j < s.n_k; j++) {
        l[j] = scene_sees(&s, j, i, h, b) ? scene_logit(&s, dot(j, i, h, kv_head, b), j, i, h, b) : -INFINITY;
        max = fmax(max, l[j]);
    }
    row->lse = -INFINITY;
    if (max == -INFINITY)
        return;
    row->sum = exp(sink - max);
    for (int64_t j = 0; j < s.n_k; j++) {
        if (l[j] == -INFINITY)
            continue;
        double e = exp(l[j] - max);
        row->sum += e;
        row->beyond += e * penalty_beyond(j, i, h, b);
        for (int64_t c = 0; c < v.view.ne[0]; c++)
            row->out[c] += e * (double)truth_get(&v.view, c, kv_head, j, b);
    }
    row->lse = max + log(row->sum);
    row->beyond /= row->sum;
    for (int64_t c = 0; c < v.view.ne[0]; c++)
        row->out[c] /= row->sum;
}

/* Random values stay within 4e-6 max |v|, and 4e-6 + 2^-24 |lse|, while the terms of a logit are at most 16. The scene
 * has one that may be more, slope times distance; what exceeds 16 is rounded up to four times on its way into the logit
 * (the product, the line, the bias, the score), by 2^-24 of it each. A small error d_j of a logit moves lse by at most
 * the sum of p_j |d_j|, and the result by that of p_j |d_j| |v_j - out|: twice max |v| for the last. */
static void compare_row(const plain_row *row, const truth_tensor *lse, int64_t i, int64_t h, int64_t b, double *worst,
                        long long *n_values) {
    double logit = 4.0 * 0x1p-24 * row->beyond, got = (double)*truth_at(&lse->view, 0, h, i, b);
    if (row->sum == 0.0)
        assert_true(got == -INFINITY);
    else
        truth_close(got, row->lse, 4e-6 + 0x1p-24 * fabs(row->lse) + logit, "lse of query %lld, head %lld",
                    (long long)i, (long long)h);
    for (int64_t c = 0; c < v.view.ne[0]; c++, ++*n_values) {
        double bound = (4e-6 + 2.0 * logit) * LARGEST_V + rounding(out.view.dtype);
        got = (double)truth_get(&out.view, c, h, i, b);
        if (row->sum == 0.0 && s.params.fully_masked == POSENC_FULLY_MASKED_NAN) {
            assert_true(isnan(got));
            continue;
        }
        truth_close(got, row->out[c], bound, "plain double, channel %lld of query %lld, head %lld", (long long)c,
                    (long long)i, (long long)h);
        *worst = out.view.dtype == POSENC_F32 ? fmax(*worst, fabs(got - row->out[c]) / bound) : *worst;
    }
}

/* The call that is open, on every tier. */
static void compare_with_plain(double *l, plain_row *rows, double *worst, long long *n_values) {
    truth_tensor lse = truth_tensor_dense(1, s.n_heads, s.n_q, s.n_batch);
    posenc_attention_args task = {
        .params = &s.params, .q = q.view, .k = k.view, .v = v.view, .out = out.view, .lse = &lse.view};
    plain_row *row = rows;
    TRUTH_EACH(&lse.view, c, h, i, b)
    attend_plainly(i, h, b, l, row++);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_attention_run(&task, scratch, posenc_attention_workspace_bytes(task.q.ne[0], task.v.ne[0]),
                                      posenc_range_all()));
        row = rows;
        TRUTH_EACH(&lse.view, c, h, i, b)
        compare_row(row++, &lse, i, h, b, worst, n_values);
    }
    truth_tensor_free(&lse);
}

/* Many keys with narrow heads, which are quick, and few with wide ones. */
static void test_against_plain_double(void **state) {
    (void)state;
    double *l = malloc(SCENE_K * sizeof *l), worst = 0.0;
    long long n_values = 0;
    plain_row *rows = malloc(SCENE_Q * SCENE_HEADS * SCENE_BATCH * sizeof *rows);
    assert_true(l != NULL && rows != NULL);
    for (int round = 0; round < 60; round++) {
        if (round % 6)
            open_attention(1 + truth_below(150));
        else
            open_attention_of(1 + truth_below(SCENE_K - 1), 1 + truth_below(20), 1 + truth_below(20));
        compare_with_plain(l, rows, &worst, &n_values);
        close_attention();
    }
    truth_report("fused attention and plain double, float32", n_values, worst, TRUTH_ALLOWED, "random calls");
    free(rows);
    free(l);
}

/* ---- Shapes ---- */

/* Heads as wide as they may be: random calls are narrower. */
static void test_widest(void **state) {
    (void)state;
    static const int64_t widths[][2] = {
        {POSENC_MAX_HEAD_DIM, POSENC_MAX_HEAD_DIM}, {POSENC_MAX_HEAD_DIM, 1}, {1, POSENC_MAX_HEAD_DIM}};
    double worst = 0.0;
    long long n_values = 0;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 9; round++) {
            open_attention_of(1 + truth_below(150), widths[round % 3][0], widths[round % 3][1]);
            compare_call(&worst, &n_values);
            close_attention();
        }
    }
    truth_report("widest heads, float32", n_values, worst, TRUTH_ALLOWED, "random calls");
}

/* Every tier, unit by unit from the last to the first, and each query alone: the bits of the whole. */
static void test_same_bits(void **state) {
    (void)state;
    for (int round = 0; round < 50; round++) {
        open_attention(1 + truth_below(round % 10 ? 150 : SCENE_K - 1));
        truth_tensor first = truth_tensor_random_of(out.view.dtype, out.view.ne);
        posenc_isa_select(POSENC_ISA_SCALAR);
        attend(&first.view);
        for (int tier = -1; truth_next_tier(&tier);) {
            attend(&out.view);
            truth_same_views(&out.view, &first.view, "tiers differ");
            truth_reset(&out);
            for (int64_t unit = posenc_attention_unit_count(&q.view, &k.view) - 1; unit >= 0; unit--)
                truth_ok(posenc_attention(&s.params, &q.view, &k.view, &v.view, &out.view, scratch,
                                          posenc_attention_workspace_bytes(q.view.ne[0], v.view.ne[0]),
                                          (posenc_range){unit, unit + 1}));
            truth_same_views(&out.view, &first.view, "unit by unit");
        }
        truth_reset(&out);
        posenc_score_params all = s.params;
        for (int64_t i = 0; i < s.n_q; i++) {
            posenc_view one = q.view, to = out.view, products = s.by_query.view, bias = s.bias.view;
            one.ne[2] = to.ne[2] = products.ne[1] = 1;
            one.data = truth_address(&q.view, 0, 0, i, 0);
            to.data = truth_address(&out.view, 0, 0, i, 0);
            if (s.by_query.view.ne[1] > 1)
                products.data = truth_address(&s.by_query.view, 0, i, 0, 0);
            if (bias.ne[1] > 1)
                bias.data = truth_address(&s.bias.view, 0, i, 0, 0);
            bias.ne[1] = 1;
            posenc_bool_mask bytes = s.bool_mask;
            if (all.bool_mask != NULL) {
                bytes.data += i * bytes.nb[1];
                s.params.bool_mask = &bytes;
            }
            int32_t starts[SCENE_BATCH];
            for (int64_t b = 0; all.positions.query_starts != NULL && b < s.n_batch; b++)
                starts[b] = all.positions.query_starts[b] + (int32_t)i;
            if (all.positions.query_starts != NULL)
                s.params.positions.query_starts = starts;
            else
                s.params.positions.query_start = all.positions.query_start + i;
            s.params.positions.queries = all.positions.queries != NULL ? all.positions.queries + i : NULL;
            s.params.bias.tensor = all.bias.tensor != NULL ? &bias : NULL;
            if (all.bias.by_query.products != NULL)
                s.params.bias.by_query.products = &products;
            truth_ok(posenc_attention(&s.params, &one, &k.view, &v.view, &to, scratch,
                                      posenc_attention_workspace_bytes(one.ne[0], v.view.ne[0]), posenc_range_all()));
        }
        s.params = all;
        truth_same_views(&out.view, &first.view, "query by query");
        truth_tensor_free(&first);
        close_attention();
    }
}

static const char canary[16] = "behind the work";

/* Checks one head, with the parameters as given, against the reference on every tier. */
static void compare_with_reference(const posenc_score_params *params, int64_t n_q, int64_t n_k) {
    enum { DIM = 8 };
    truth_tensor x = truth_tensor_dense(DIM, 1, n_q, 1), keys = truth_tensor_dense(DIM, 1, n_k, 1);
    truth_tensor got = truth_tensor_dense(DIM, 1, n_q, 1), want = truth_tensor_dense(DIM, 1, n_q, 1);
    size_t bytes = posenc_attention_workspace_bytes(DIM, DIM);
    char *memory = malloc(bytes + sizeof canary);
    memcpy(memory + bytes, canary, sizeof canary);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_attention_reference(params, &x.view, &keys.view, &keys.view, &want.view, NULL));
        truth_ok(posenc_attention(params, &x.view, &keys.view, &keys.view, &got.view, memory,
                                  posenc_attention_workspace_bytes(x.view.ne[0], keys.view.ne[0]), posenc_range_all()));
        TRUTH_EACH(&got.view, c, h, i, b)
        truth_close((double)truth_get(&got.view, c, h, i, b), (double)*truth_at(&want.view, c, h, i, b), 4e-6,
                    "channel %lld of query %lld", (long long)c, (long long)i);
        assert_memory_equal(memory + bytes, canary, sizeof canary);
    }
    free(memory);
    truth_tensor *all[] = {&x, &keys, &got, &want};
    for (int i = 0; i < 4; i++)
        truth_tensor_free(all[i]);
}

/* Queries around the number of pairs of a work unit, whatever that is. */
static void test_whole_units(void **state) {
    (void)state;
    static const int64_t counts[] = {63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 192, 193, 256, 287, 288, 289, 385};
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal());
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        compare_with_reference(&params, counts[i], 400);
}

/* Without keys every row is empty; the reference gave 0 for it whatever `empty` says. */
static void test_no_keys(void **state) {
    (void)state;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    const float sinks[] = {-INFINITY, 0.5f};
    for (int round = 0; round < 6; round++) { /* without a sink, with each of these */
        enum { DIM = 8, N_Q = 3 };
        int is_nan = round % 2 && round / 2 != 2; /* a row with a finite sink has a sum */
        params.fully_masked = round % 2 ? POSENC_FULLY_MASKED_NAN : POSENC_FULLY_MASKED_ZEROS;
        params.sinks = round < 2 ? NULL : &sinks[round / 2 - 1];
        params.n_heads = 1;
        float x[DIM * N_Q] = {0}, fused[DIM * N_Q], plain[DIM * N_Q];
        posenc_view queries = posenc_view_dense(x, POSENC_F32, DIM, 1, N_Q, 1);
        posenc_view keys = posenc_view_dense(NULL, POSENC_F32, DIM, 1, 0, 1);
        posenc_view got = posenc_view_dense(fused, POSENC_F32, DIM, 1, N_Q, 1), want = got;
        want.data = plain;
        void *memory = malloc(posenc_attention_workspace_bytes(DIM, DIM));
        truth_ok(posenc_attention(&params, &queries, &keys, &keys, &got, memory,
                                  posenc_attention_workspace_bytes(queries.ne[0], keys.ne[0]), posenc_range_all()));
        truth_ok(posenc_attention_reference(&params, &queries, &keys, &keys, &want, NULL));
        for (int i = 0; i < DIM * N_Q; i++)
            assert_true(is_nan ? isnan(fused[i]) && isnan(plain[i]) : fused[i] == 0.0f && plain[i] == 0.0f);
        free(memory);
    }
}

/* A key block whose exponentials are all 0 beside another block's: it made NaN of rows that see keys. */
static void test_nothing_in_a_block(void **state) {
    (void)state;
    const float slope = 0.5f;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.bias.alibi_slopes = &slope;
    params.n_heads = 1;
    for (int empty = POSENC_FULLY_MASKED_ZEROS; empty <= POSENC_FULLY_MASKED_NAN; empty += POSENC_FULLY_MASKED_NAN) {
        params.fully_masked = (posenc_fully_masked_row)empty;
        compare_with_reference(&params, 1200, 1200);
    }
}

/* There are no scores to leave alone. */
static void test_masked_means_nothing(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        open_attention(1 + truth_below(150));
        truth_tensor first = truth_tensor_random_of(out.view.dtype, out.view.ne);
        attend(&first.view);
        s.params.masked_output = POSENC_MASKED_UNTOUCHED;
        attend(&out.view);
        truth_same_views(&out.view, &first.view, "masked keys untouched");
        truth_tensor_free(&first);
        close_attention();
    }
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.masked_output = POSENC_MASKED_UNTOUCHED;
    compare_with_reference(&params, 200, 200);
}

/* First keys that reach into a later block, and a window behind them in the same one. */
static void test_hole_in_a_later_block(void **state) {
    (void)state;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_window(10));
    params.mask.n_first = 600;
    params.positions.query_start = 900;
    compare_with_reference(&params, 300, 1200);
}

/* Keys that no query sees are not read: NaN there changes nothing. */
static void test_out_of_sight(void **state) {
    (void)state;
    for (int round = 0; round < 70; round++) {
        open_attention(1 + truth_below(round % 10 ? 150 : SCENE_K - 1));
        s.params.bool_mask = NULL;
        s.params.bias.by_key = (posenc_relative){NULL, NULL};
        if (s.params.positions.keys != NULL) {
            close_attention();
            continue;
        }
        truth_tensor clean = truth_tensor_random_of(out.view.dtype, out.view.ne);
        attend(&clean.view);
        for (int64_t b = 0; b < s.n_batch; b++)
            for (int64_t j = 0; j < s.n_k; j++) {
                int is_visible = 0;
                for (int64_t i = 0; i < s.n_q; i++)
                    is_visible |= scene_sees(&s, j, i, 0, b);
                for (int64_t h = 0; h < k.view.ne[1] && !is_visible; h++) {
                    posenc_view nan_k = k.view, nan_v = v.view,
                                nan = posenc_view_dense(&(float){NAN}, POSENC_F32, 1, 1, 1, 1);
                    for (int64_t c = 0; c < k.view.ne[0]; c++) {
                        nan_k.data = truth_address(&k.view, c, h, j, b);
                        nan_k.ne[0] = nan_k.ne[1] = nan_k.ne[2] = nan_k.ne[3] = 1;
                        truth_convert(&nan, &nan_k);
                    }
                    for (int64_t c = 0; c < v.view.ne[0]; c++) {
                        nan_v.data = truth_address(&v.view, c, h, j, b);
                        nan_v.ne[0] = nan_v.ne[1] = nan_v.ne[2] = nan_v.ne[3] = 1;
                        truth_convert(&nan, &nan_v);
                    }
                }
            }
        attend(&out.view);
        truth_same_views(&out.view, &clean.view, "NaN out of sight");
        truth_tensor_free(&clean);
        close_attention();
    }
}

/* Result for a key of value 2^100 beside a key of logit 0 and value 0; all other keys are far below both. */
static float visible_beside_zero(float logit, size_t at, size_t zero) {
    enum { N_K = 600 };
    float query = 1.0f, keys[N_K], values[N_K] = {0}, result;
    for (size_t j = 0; j < N_K; j++)
        keys[j] = -1000.0f;
    keys[zero] = 0.0f;
    keys[at] = logit;
    values[at] = 0x1p100f;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    posenc_view one = posenc_view_dense(&query, POSENC_F32, 1, 1, 1, 1), to = one;
    posenc_view k_view = posenc_view_dense(keys, POSENC_F32, 1, 1, N_K, 1), v_view = k_view;
    to.data = &result;
    v_view.data = values;
    void *memory = malloc(posenc_attention_workspace_bytes(1, 1));
    truth_ok(posenc_attention(&params, &one, &k_view, &v_view, &to, memory,
                              posenc_attention_workspace_bytes(one.ne[0], v_view.ne[0]), posenc_range_all()));
    free(memory);
    return result;
}

/* Weights are cut off at 2^-100, ln of which is -69.3147: in the block of the largest logit (7 and 40), and in one
 * before it (7 and 590). */
static void test_least_weight(void **state) {
    (void)state;
    for (size_t zero = 40; zero < 600; zero += 550) {
        assert_true(fabsf(visible_beside_zero(-69.3f, 7, zero) - 1.0148f) < 1e-3f);
        assert_true(visible_beside_zero(-69.32f, 7, zero) == 0.0f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_against_reference),
        truth_test(test_against_plain_double),
        truth_test(test_widest),
        truth_test(test_same_bits),
        truth_test(test_out_of_sight),
        truth_test(test_nothing_in_a_block),
        truth_test(test_hole_in_a_later_block),
        truth_test(test_masked_means_nothing),
        truth_test(test_whole_units),
        truth_test(test_no_keys),
        truth_test(test_least_weight),
    };
    return truth_run(tests);
}
