/* SPDX-License-Identifier: MIT */
/* Gradients of the softmax path (FORMULAS E.4 - E.6): the softmax's against a plain double reference and against
 * differences of a loss; sums over diagonals, tables and parameters against loops in the order that backward.h
 * states, bit for bit. */
#include "truth.h"
#include "truth_view.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROMISED 2e-6
#define PROMISED_WITH_CAP 4e-6

/* ---- Random calls ---- */

enum { MAX_KEYS = 2200, MAX_BATCH = 3, MAX_HEADS = 4, MAX_QUERIES = 5 };

static float bias_slopes[MAX_HEADS], sinks[MAX_HEADS];
static int32_t k_begin[MAX_BATCH], k_end[MAX_BATCH], query_starts[MAX_BATCH];

/* Masks and factors of all kinds; scores of ne. */
static posenc_score_params random_params(const int64_t ne[4]) {
    posenc_score_params params =
        posenc_score_params_of((float)truth_uniform(0.05, 1.5) * (truth_below(8) ? 1.0f : -1.0f), posenc_mask_none());
    params.cap = truth_below(2) ? 0.0f : (float)truth_log_uniform(1.0, 60.0);
    params.positions.query_start = truth_below(2 * ne[0] + 3) - 3;
    switch (truth_below(6)) {
    case 0: break;
    case 1: params.mask = posenc_mask_window(1 + truth_below(ne[0] + 5)); break;
    case 2: params.mask.before = params.mask.after = truth_below(ne[0] + 5); break;
    case 3: params.mask = posenc_mask_chunked(1 + truth_below(ne[0] + 5)); break;
    case 4:
        params.mask = posenc_mask_window(1 + truth_below(ne[0] + 5));
        params.mask.n_first = truth_below(50);
        break;
    default: params.mask = posenc_mask_causal();
    }
    for (int64_t h = 0; h < ne[2]; h++) {
        bias_slopes[h] = (float)truth_uniform(-2.0, 2.0);
        sinks[h] = (float)truth_uniform(-3.0, 3.0);
    }
    params.n_heads = ne[2];
    params.n_batch = ne[3];
    params.bias.tensor_slopes = truth_below(2) ? bias_slopes : NULL;
    params.sinks = truth_below(2) ? sinks : NULL;
    for (int64_t b = 0; b < ne[3]; b++) {
        k_begin[b] = (int32_t)truth_below(ne[0] / 4 + 1);
        k_end[b] = (int32_t)(ne[0] - truth_below(ne[0] / 4 + 1));
        query_starts[b] = (int32_t)(truth_below(61) - 30);
    }
    if (truth_below(3) == 0) {
        params.positions.query_starts = query_starts;
        params.positions.query_start = POSENC_ALIGN_LAST_KEY;
    }
    if (truth_below(3) == 0) {
        params.sequences.k_begin = k_begin;
        params.sequences.k_end = k_end;
    }
    return params;
}

/* ---- The softmax against the formula ---- */

typedef struct tensors {
    truth_tensor s, p, dp, dx, db;
    float dsink_rows[MAX_BATCH * MAX_HEADS * MAX_QUERIES];
} tensors;

static tensors new_tensors(const int64_t ne[4], float spread) {
    tensors t = {truth_tensor_random(ne), truth_tensor_random(ne), truth_tensor_random(ne),
                 truth_tensor_random(ne), truth_tensor_random(ne), {0}};
    for (size_t i = 0; i < t.s.n_elements; i++)
        ((float *)t.s.buffer)[i] = (float)truth_uniform(-(double)spread, (double)spread);
    truth_mark(&t.s);
    return t;
}

static void free_tensors(tensors *t) {
    truth_tensor *all[] = {&t->s, &t->p, &t->dp, &t->dx, &t->db};
    for (int i = 0; i < 5; i++)
        truth_tensor_free(all[i]);
}

/* One row by the formula, from the float32 probabilities; returns the worst error in parts of what is allowed. */
static double check_row(const posenc_score_params *params, const tensors *t, int64_t i, int64_t h, int64_t b) {
    int64_t n = t->p.view.ne[0], n_q = t->p.view.ne[1], n_heads = t->p.view.ne[2];
    const float *p = truth_at(&t->p.view, 0, i, h, b), *dp = truth_at(&t->dp.view, 0, i, h, b);
    const float *s = truth_at(&t->s.view, 0, i, h, b);
    double g = 0.0, sum = 0.0, largest = 0.0, worst = 0.0, scale = (double)params->scale, cap = (double)params->cap;
    for (int64_t j = 0; j < n; j++) {
        g += (double)p[j] * (double)dp[j];
        sum += (double)p[j];
        largest = fmax(largest, fabs((double)dp[j]));
    }
    double slope = params->bias.tensor_slopes != NULL ? (double)bias_slopes[h] : 1.0;
    for (int64_t j = 0; j < n; j++) {
        double dl = (double)p[j] * ((double)dp[j] - g), dx = scale * dl, tiny = (double)FLT_MIN;
        double allowed = (double)p[j] * largest * (cap > 0.0 ? PROMISED_WITH_CAP : PROMISED) * fabs(scale) + tiny;
        if (cap > 0.0)
            dx *= 1.0 - pow(tanh(scale * (double)s[j] / cap), 2.0);
        double got_dx = (double)*truth_at(&t->dx.view, j, i, h, b), got_db = (double)*truth_at(&t->db.view, j, i, h, b);
        truth_close(got_dx, dx, allowed, "dx of key %lld of %lld", (long long)j, (long long)n);
        truth_close(got_db, slope * dl, (double)p[j] * largest * PROMISED * fabs(slope) + tiny, "db of key %lld",
                    (long long)j);
        worst = fmax(worst, fabs(got_dx - dx) / allowed);
    }
    double of_sink = (double)t->dsink_rows[(b * n_heads + h) * n_q + i];
    truth_close(of_sink, -(1.0 - sum) * g, 2e-6 * largest, "sink of row %lld", (long long)i);
    return worst;
}

/* Every row of a random call on every tier, by ranges of rows; then in place. */
static double check_call(const int64_t ne[4], float spread) {
    posenc_score_params params = random_params(ne);
    tensors t = new_tensors(ne, spread);
    truth_ok(posenc_softmax(&params, &t.s.view, &t.p.view, posenc_range_all()));
    params.masked_output = (posenc_masked_output)(ne[0] % 2); /* means nothing here */
    truth_mark(&t.p);
    truth_tensor first = truth_tensor_random(ne);
    int64_t n_rows = ne[1] * ne[2] * ne[3];
    for (int tier = -1, n_tiers = 0; truth_next_tier(&tier); n_tiers++) {
        posenc_range range = {0, truth_below(n_rows + 1)}, rest = {range.end, n_rows};
        truth_ok(posenc_softmax_backward(&params, &t.p.view, &t.dp.view, &t.s.view, &t.dx.view, &t.db.view,
                                         t.dsink_rows, range));
        truth_ok(posenc_softmax_backward(&params, &t.p.view, &t.dp.view, &t.s.view, &t.dx.view, &t.db.view,
                                         t.dsink_rows, rest));
        truth_nothing_changed(&t.s, "scores");
        truth_nothing_changed(&t.p, "probabilities");
        truth_nothing_changed(&t.dp, "dp");
        truth_nothing_else_changed(&t.dx, 0, ne[0], "dx");
        truth_nothing_else_changed(&t.db, 0, ne[0], "db");
        if (n_tiers == 0)
            truth_copy(&t.dx.view, &first.view);
        truth_same_views(&t.dx.view, &first.view, "tiers differ");
    }
    double worst = 0.0;
    for (int64_t row = 0; row < n_rows; row++)
        worst = fmax(worst, check_row(&params, &t, row % ne[1], row / ne[1] % ne[2], row / ne[1] / ne[2]));
    /* In place of dp, with db in place of p. */
    truth_tensor db = truth_tensor_random(ne);
    truth_copy(&t.db.view, &db.view);
    truth_ok(posenc_softmax_backward(&params, &t.p.view, &t.dp.view, &t.s.view, &t.dp.view, &t.p.view, NULL,
                                     posenc_range_all()));
    truth_same_views(&t.dp.view, &first.view, "dx in place of dp");
    truth_same_views(&t.p.view, &db.view, "db in place of p");
    truth_tensor_free(&first);
    truth_tensor_free(&db);
    free_tensors(&t);
    return worst;
}

static void test_formula(void **state) {
    (void)state;
    double worst = 0.0;
    long long n_values = 0;
    for (int round = 0; round < 200; round++) {
        int64_t ne[4] = {1 + truth_below(round % 5 ? 100 : MAX_KEYS), 1 + truth_below(MAX_QUERIES),
                         1 + truth_below(MAX_HEADS), 1 + truth_below(MAX_BATCH)};
        worst = fmax(worst, check_call(ne, round % 3 ? 4.0f : 100.0f));
        n_values += ne[0] * ne[1] * ne[2] * ne[3];
    }
    truth_report("softmax backward", n_values, worst, TRUTH_ALLOWED, "random calls");
}

static void test_long_rows(void **state) {
    (void)state;
    double worst = 0.0;
    static const int64_t lengths[] = {4096, 32768, 131072, 1000003};
    long long n_values = 0;
    for (int k = 0; k < 4; k++)
        for (int round = 0; round < (k < 3 ? 3 : 1); round++, n_values += lengths[k])
            worst = fmax(worst, check_call((int64_t[4]){lengths[k], 1, 1, 1}, 4.0f));
    truth_report("softmax backward, long rows", n_values, worst, TRUTH_ALLOWED, "4096 to 1000003 keys");
}

/* dp up to half of FLT_MAX. Beyond, the difference from their mean may be infinite where the gradient is not. */
static void test_range(void **state) {
    (void)state;
    float p[2] = {0.9f, 0.1f}, dp[2], dx[2];
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_view view = posenc_view_dense(p, POSENC_F32, 2, 1, 1, 1), gradient = view, to = view;
    gradient.data = dp;
    to.data = dx;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int is_beyond = 0; is_beyond < 2; is_beyond++) {
            dp[0] = is_beyond ? 3e38f : 1.7e38f;
            dp[1] = -dp[0];
            truth_ok(posenc_softmax_backward(&params, &view, &gradient, NULL, &to, NULL, NULL, posenc_range_all()));
            double g = (double)p[0] * (double)dp[0] + (double)p[1] * (double)dp[1];
            for (int j = 0; j < 2; j++) {
                double want = (double)p[j] * ((double)dp[j] - g);
                if (is_beyond && j == 1)
                    assert_true(isinf(dx[j]) && isfinite((float)want));
                else
                    truth_close((double)dx[j], want, PROMISED * (double)p[j] * (double)dp[0], "dx of key %d", j);
            }
        }
}

/* ---- The softmax against differences of a loss ---- */

enum { N = 9 };

/* sum dp_j p_j(s), in double; masked keys are keys to which the library gives 0. */
static double loss(const posenc_score_params *params, const double *s, const double *bias, double sink, const float *dp,
                   const float *p) {
    double max = sink, sum, total = 0.0, l[N];
    for (int j = 0; j < N; j++) {
        l[j] = (double)params->scale * s[j];
        if (params->cap > 0.0f)
            l[j] = (double)params->cap * tanh(l[j] / (double)params->cap);
        l[j] += bias[j];
        max = p[j] > 0.0f ? fmax(max, l[j]) : max;
    }
    sum = exp(sink - max);
    for (int j = 0; j < N; j++)
        sum += p[j] > 0.0f ? exp(l[j] - max) : 0.0;
    for (int j = 0; j < N; j++)
        total += p[j] > 0.0f ? (double)dp[j] * exp(l[j] - max) / sum : 0.0;
    return total;
}

static void check_differences(void) {
    float s[N], bias[N], p[N], dp[N], dx[N], db[N], dsink_row, dsink, sink = (float)truth_uniform(-2.0, 2.0);
    double at[N], of_bias[N], step = 1e-5;
    posenc_score_params params = random_params((int64_t[4]){N, 1, 1, 1});
    posenc_view views[6];
    float *data[] = {s, bias, p, dp, dx, db};
    for (int i = 0; i < 6; i++) {
        views[i] = posenc_view_dense(data[i], POSENC_F32, N, 1, 1, 1);
        truth_fill(data[i], N);
    }
    params.bias.tensor = &views[1];
    params.bias.tensor_slopes = NULL;
    params.sinks = &sink;
    params.n_heads = 1;
    truth_ok(posenc_softmax(&params, &views[0], &views[2], posenc_range_all()));
    truth_ok(posenc_softmax_backward(&params, &views[2], &views[3], &views[0], &views[4], &views[5], &dsink_row,
                                     posenc_range_all()));
    truth_ok(posenc_sink_backward(&dsink_row, 1, 1, 1, &dsink));
    for (int j = 0; j < N; j++) {
        at[j] = (double)s[j];
        of_bias[j] = (double)bias[j];
    }
#define DIFFERENCE(x)                                                                                                  \
    (x += step, up = loss(&params, at, of_bias, of_sink, dp, p), x -= 2 * step,                                        \
     down = loss(&params, at, of_bias, of_sink, dp, p), x += step, (up - down) / (2 * step))
    double up, down, of_sink = (double)sink;
    for (int j = 0; j < N; j++) {
        truth_close((double)dx[j], DIFFERENCE(at[j]), 1e-5, "dx[%d]", j);
        truth_close((double)db[j], DIFFERENCE(of_bias[j]), 1e-5, "db[%d]", j);
    }
    truth_close((double)dsink, DIFFERENCE(of_sink), 1e-5, "dsink");
}

static void test_differences(void **state) {
    (void)state;
    for (int round = 0; round < 500; round++)
        check_differences();
}

/* ---- Edges ---- */

/* Numbers at keys without a probability do not matter; nothing is denormal; NaN spoils its row and no other. */
static void test_edges(void **state) {
    (void)state;
    enum { KEYS = 70 };
    static const float adversarial[] = {NAN, INFINITY, -INFINITY, FLT_MAX, 1e-40f};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int k = 0; k < 5; k++) {
            float p[KEYS], dp[KEYS], s[KEYS], dx[KEYS], db[KEYS], want_dx[KEYS], want_db[KEYS], dsink;
            posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_window(40));
            params.cap = 30.0f;
            params.positions.query_start = 60; /* keys 21 .. 60 */
            for (int j = 0; j < KEYS; j++)
                p[j] = j % 3 == 0 || j < 21 || j > 60 ? 0.0f : 1.0f / 26.0f;
            truth_fill(dp, KEYS);
            truth_fill(s, KEYS);
            posenc_view v[5];
            float *data[] = {p, dp, s, dx, db};
            for (int i = 0; i < 5; i++)
                v[i] = posenc_view_dense(data[i], POSENC_F32, KEYS, 1, 1, 1);
            params.bias.tensor = &v[0]; /* which is not read, and may lie anywhere */
            truth_ok(posenc_softmax_backward(&params, &v[0], &v[1], &v[2], &v[3], &v[4], &dsink, posenc_range_all()));
            memcpy(want_dx, dx, sizeof dx);
            memcpy(want_db, db, sizeof db);
            for (int j = 0; j < KEYS; j++)
                if (p[j] == 0.0f) {
                    dp[j] = s[j] = adversarial[k];
                    p[j] = j < 21 || j > 60 ? adversarial[k] : 1e-40f;
                }
            truth_ok(posenc_softmax_backward(&params, &v[0], &v[1], &v[2], &v[3], &v[4], &dsink, posenc_range_all()));
            truth_same_bits(dx, want_dx, KEYS, "dx beside %g", (double)adversarial[k]);
            truth_same_bits(db, want_db, KEYS, "db beside %g", (double)adversarial[k]);
            const int32_t query = 60;
            int32_t keys[KEYS];
            for (int32_t j = 0; j < KEYS; j++)
                keys[j] = j;
            params.positions.queries = &query;
            params.positions.keys = keys;
            truth_ok(posenc_softmax_backward(&params, &v[0], &v[1], &v[2], &v[3], &v[4], &dsink, posenc_range_all()));
            truth_same_bits(dx, want_dx, KEYS, "dx beside %g, positions given", (double)adversarial[k]);
            truth_same_bits(db, want_db, KEYS, "db beside %g, positions given", (double)adversarial[k]);
            dp[40] = NAN;
            truth_ok(posenc_softmax_backward(&params, &v[0], &v[1], &v[2], &v[3], &v[4], &dsink, posenc_range_all()));
            for (int j = 0; j < KEYS; j++)
                assert_true(j < 21 || j > 60 || j % 3 == 0 ? dx[j] == 0.0f : isnan(dx[j]));
            assert_true(isnan(dsink));
            dp[40] = 1.0f;
            p[40] = NAN; /* as of a row whose score is NaN */
            truth_ok(posenc_softmax_backward(&params, &v[0], &v[1], &v[2], &v[3], &v[4], &dsink, posenc_range_all()));
            assert_true(isnan(dx[40]) && isnan(db[40]) && isnan(dsink));
        }
}

/* ---- Lines ---- */

static int32_t q_pos[MAX_QUERIES * 20], k_pos[400];

static int64_t offset_of(const posenc_score_params *params, int64_t i, int64_t j, int64_t b) {
    int64_t start =
        params->positions.query_starts != NULL ? params->positions.query_starts[b] : params->positions.query_start;
    return params->positions.queries != NULL ? k_pos[j] - q_pos[i] : j - start - i;
}

/* The sum for one offset of the line, or what its end takes, in the order that is promised. */
static float sum_of(const posenc_score_params *params, const posenc_view *ds, int64_t head, int64_t end,
                    const posenc_rel_bias *rel_bias, int64_t offset) {
    int64_t last = rel_bias->first + rel_bias->n_offsets - 1;
    double sum = 0.0;
    for (int64_t b = 0; b < ds->ne[3]; b++)
        for (int64_t h = head; h < end; h++)
            for (int64_t i = 0; i < ds->ne[1]; i++)
                for (int64_t j = 0; j < ds->ne[0]; j++) {
                    int64_t o = offset_of(params, i, j, b);
                    if (rel_bias->is_clamped)
                        o = o < rel_bias->first ? rel_bias->first : o > last ? last : o;
                    if (o == offset)
                        sum += (double)*truth_at(ds, j, i, h, b);
                }
    return (float)sum;
}

/* Numbers whose sum depends on the order: large ones that cancel swallow what came before. */
static void make_order_matter(truth_tensor *x) {
    for (size_t i = 0; i < x->n_elements; i++)
        if (truth_below(3) == 0)
            ((float *)x->buffer)[i] = truth_below(2) ? 0x1p60f : -0x1p60f;
    truth_mark(x);
}

static void test_rel_bias(void **state) {
    (void)state;
    enum { MOST_HEADS = 12 }; /* more than rows go together */
    for (int round = 0; round < 4000; round++) {
        int is_small = round >= 60; /* large numbers cancel in the end where there are few */
        int64_t ne[4] = {1 + truth_below(is_small ? 9 : 40), 1 + truth_below(is_small ? 9 : 20),
                         1 + truth_below(round % 8 ? 3 : MOST_HEADS), 1 + truth_below(is_small ? 1 : 3)};
        truth_tensor ds = truth_tensor_random(ne);
        if (round >= 20)
            make_order_matter(&ds);
        posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
        params.positions.query_start = is_small ? truth_below(6) - 3 : truth_below(60) - 30;
        for (int64_t i = 0; i < ne[1]; i++)
            q_pos[i] = (int32_t)truth_below(50);
        for (int64_t j = 0; j < ne[0]; j++)
            k_pos[j] = (int32_t)truth_below(50);
        if (round % 2) {
            params.positions.queries = q_pos;
            params.positions.keys = k_pos;
        } else if (round % 4) {
            params.n_batch = ne[3];
            for (int b = 0; b < 3; b++)
                query_starts[b] = (int32_t)(truth_below(21) - 10);
            params.positions.query_starts = query_starts;
            params.positions.query_start = POSENC_ALIGN_LAST_KEY;
        }
        if (round % 5 == 0)
            params.bias.tensor = &ds.view; /* which is not read, and may lie anywhere */
        int shared = round % 3 == 0;
        float data[MOST_HEADS * 90];
        int extended = (int)truth_below(2);
        int64_t first = is_small ? truth_below(12) - 8 : truth_below(80) - 60;
        int64_t n_offsets = extended + truth_below(is_small ? 6 : 80);
        posenc_rel_bias rel_bias = {data, first, n_offsets, ne[2], shared ? 0 : 90, extended};
        truth_ok(posenc_rel_bias_backward(&params, &ds.view, &rel_bias));
        for (int64_t h = 0; h < (shared ? 1 : ne[2]); h++)
            for (int64_t t = 0; t < rel_bias.n_offsets; t++) {
                float want = sum_of(&params, &ds.view, h, shared ? ne[2] : h + 1, &rel_bias, rel_bias.first + t);
                truth_same_bits(data + h * 90 + t, &want, 1, "head %lld, offset %lld", (long long)h,
                                (long long)(rel_bias.first + t));
            }
        truth_nothing_changed(&ds, "ds");
        truth_tensor_free(&ds);
    }
}

/* Longer than a block of sums, and in parts. */
static void test_long_rel_bias(void **state) {
    (void)state;
    enum { KEYS = 9000, QUERIES = 7 };
    float *ds = malloc(KEYS * QUERIES * sizeof(float)), *whole = malloc(2 * KEYS * sizeof(float));
    float *part = malloc(2 * KEYS * sizeof(float));
    assert_true(ds != NULL && whole != NULL && part != NULL);
    truth_fill(ds, KEYS * QUERIES);
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = 100;
    posenc_view view = posenc_view_dense(ds, POSENC_F32, KEYS, QUERIES, 1, 1);
    posenc_rel_bias rel_bias = {whole, -(100 + QUERIES - 1), KEYS + QUERIES - 1, 1, 2 * KEYS, 0};
    truth_ok(posenc_rel_bias_backward(&params, &view, &rel_bias));
    for (int64_t t = 0; t < rel_bias.n_offsets; t++) {
        double sum = 0.0;
        for (int64_t i = 0; i < QUERIES; i++) {
            int64_t j = rel_bias.first + t + 100 + i;
            sum += j >= 0 && j < KEYS ? (double)ds[i * KEYS + j] : 0.0;
        }
        float want = (float)sum;
        truth_same_bits(whole + t, &want, 1, "offset %lld", (long long)(rel_bias.first + t));
    }
    for (int round = 0; round < 20; round++) {
        int64_t skip = truth_below(KEYS), n = truth_below(KEYS - skip);
        posenc_rel_bias shard = {part, rel_bias.first + skip, n, 1, n, 0};
        truth_ok(posenc_rel_bias_backward(&params, &view, &shard));
        truth_same_bits(part, whole + skip, (size_t)n, "part from %lld", (long long)skip);
        if (n < 2)
            continue;
        shard.is_clamped = 1; /* only its ends take what lies beyond */
        truth_ok(posenc_rel_bias_backward(&params, &view, &shard));
        truth_same_bits(part + 1, whole + skip + 1, (size_t)n - 2, "inside an extended line from %lld",
                        (long long)skip);
        double sums[2] = {0.0, 0.0};
        for (int64_t t = 0; t < rel_bias.n_offsets; t++)
            sums[t > skip] += t <= skip || t >= skip + n - 1 ? (double)whole[t] : 0.0;
        truth_close((double)part[0], sums[0], 1e-2, "lower end");
        truth_close((double)part[n - 1], sums[1], 1e-2, "upper end");
    }
    free(ds);
    free(whole);
    free(part);
}

/* ---- Parameters of relative biases ---- */

static void test_table(void **state) {
    (void)state;
    enum { ROWS = 5000, OFFSETS = 6000, HEADS = 3 };
    static float rel_bias_data[HEADS * OFFSETS], table_data[ROWS * HEADS];
    static int32_t rows[OFFSETS + 10];
    for (int round = 0; round < 20; round++) {
        int64_t n_rows = round % 2 ? ROWS : 1 + truth_below(40), n = truth_below(OFFSETS + 1);
        float scale = round % 3 ? 1.0f : -0.3f;
        truth_fill(rel_bias_data, HEADS * OFFSETS);
        posenc_rel_bias rel_bias = {rel_bias_data, -500, n, HEADS, OFFSETS, 0};
        posenc_rel_index index = {rows, -507, OFFSETS + 10, n_rows};
        for (int i = 0; i < OFFSETS + 10; i++)
            rows[i] = (int32_t)truth_below(n_rows);
        posenc_bias_table table = {table_data, n_rows, HEADS, round % 2 ? HEADS : 1, round % 2 ? 1 : n_rows};
        truth_ok(posenc_bias_table_backward(&index, &rel_bias, scale, &table));
        for (int k = 0; k < 200; k++) {
            int64_t row = truth_below(n_rows), h = truth_below(HEADS);
            double sum = 0.0;
            for (int64_t t = 0; t < n; t++)
                sum += rows[t + 7] == row ? (double)rel_bias_data[h * OFFSETS + t] : 0.0;
            float want = (float)((double)scale * sum);
            truth_same_bits(&table_data[row * table.row_stride + h * table.head_stride], &want, 1, "row %lld",
                            (long long)row);
        }
    }
}

static void test_parameters(void **state) {
    (void)state;
    enum { OFFSETS = 400, HEADS = 6 };
    for (int round = 0; round < 50; round++) {
        float g[HEADS * OFFSETS], dslopes[HEADS], dp[HEADS], da[HEADS], p[HEADS], a[HEADS];
        posenc_rel_bias rel_bias = {g, truth_below(600) - 500, truth_below(OFFSETS + 1), HEADS, OFFSETS, 0};
        truth_fill(g, HEADS * OFFSETS);
        if (round % 10 == 9)
            memset(g, 0, sizeof g); /* of nothing, exactly nothing */
        for (int h = 0; h < HEADS; h++) {
            p[h] = (float)truth_uniform(-0.2, 2.3);
            a[h] = (float)truth_uniform(-0.2, 1.0);
        }
        int is_log = round % 2;
        posenc_clamped clamped = round % 4 < 2 ? POSENC_CLAMPED_PASSES : POSENC_CLAMPED_STOPS;
        posenc_kerple kerple = {is_log ? POSENC_KERPLE_LOG : POSENC_KERPLE_POWER, p, a, 0.01f};
        truth_ok(posenc_alibi_backward(&rel_bias, dslopes));
        truth_ok(posenc_kerple_backward(&kerple, clamped, &rel_bias, dp, da));
        for (int h = 0; h < HEADS; h++) {
            double by_slope = 0.0, by_p = 0.0, by_a = 0.0, size = 0.0;
            double pc = fmin(fmax((double)p[h], (double)0.01f), is_log ? 1e9 : 2.0),
                   ac = fmax((double)a[h], (double)0.01f);
            for (int64_t t = 0; t < rel_bias.n_offsets; t++) {
                double d = fabs((double)(rel_bias.first + t)), of_o = (double)g[h * OFFSETS + t];
                by_slope -= of_o * d;
                double to_p = is_log ? log1p(ac * d) : d > 0.0 ? ac * pow(d, pc) * log(d) : 0.0;
                double to_a = is_log ? pc * d / (1.0 + ac * d) : pow(d, pc) * (d > 0.0);
                by_p -= of_o * to_p;
                by_a -= of_o * to_a;
                size += fabs(of_o) * (to_p + to_a);
            }
            int stops = clamped == POSENC_CLAMPED_STOPS;
            if (stops && (p[h] < 0.01f || (!is_log && p[h] > 2.0f)))
                by_p = 0.0;
            if (stops && a[h] < 0.01f)
                by_a = 0.0;
            truth_close((double)dslopes[h], by_slope, 1e-7 * fabs(by_slope), "slope of head %d", h);
            truth_close((double)dp[h], by_p, 1e-7 * fabs(by_p) + 1e-12 * size, "p of head %d", h);
            truth_close((double)da[h], by_a, 1e-7 * fabs(by_a) + 1e-12 * size, "a of head %d", h);
        }
    }
}

/* KERPLE's parameters at their clamps, which let the gradient through, and at the next floats, which do not. */
static void test_ends_of_clamps(void **state) {
    (void)state;
    enum { HEADS = 4 };
    const float low = 0.25f, p[HEADS] = {low, nextafterf(low, 0.0f), 2.0f, nextafterf(2.0f, 3.0f)};
    const float a[HEADS] = {low, nextafterf(low, 0.0f), 1.0f, 0x1p20f};
    float g[HEADS] = {1.0f, 1.0f, 1.0f, 1.0f}, dp[HEADS], da[HEADS];
    const posenc_kerple kerple = {POSENC_KERPLE_POWER, p, a, low};
    const posenc_rel_bias rel_bias = {g, 3, 1, HEADS, 1, 0};
    truth_ok(posenc_kerple_backward(&kerple, POSENC_CLAMPED_STOPS, &rel_bias, dp, da));
    for (int h = 0; h < HEADS; h++) {
        assert_true((dp[h] == 0.0f) == (h % 2 == 1));
        assert_true((da[h] == 0.0f) == (h == 1));
    }
}

static void test_sinks(void **state) {
    (void)state;
    float rows[4 * 3 * 50], dsinks[3];
    truth_fill(rows, 600);
    truth_ok(posenc_sink_backward(rows, 50, 3, 4, dsinks));
    for (int h = 0; h < 3; h++) {
        double sum = 0.0;
        for (int i = 0; i < 200; i++)
            sum += (double)rows[(i / 50 * 3 + h) * 50 + i % 50];
        float want = (float)sum;
        truth_same_bits(&dsinks[h], &want, 1, "head %d", h);
    }
    const float nothing[3] = {0.0f};
    truth_ok(posenc_sink_backward(nothing, 1, 3, 1, dsinks));
    truth_same_bits(dsinks, nothing, 3, "of zeros");

    /* Rows without keys have gradients of sinks too. */
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_view none = posenc_view_dense(NULL, POSENC_F32, 0, 3, 1, 1);
    truth_ok(posenc_softmax_backward(&params, &none, &none, NULL, &none, NULL, rows, posenc_range_all()));
    for (int i = 0; i < 3; i++)
        assert_true(rows[i] == 0.0f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_formula), truth_test(test_long_rows),  truth_test(test_differences),
        truth_test(test_edges),   truth_test(test_rel_bias),   truth_test(test_long_rel_bias),
        truth_test(test_table),   truth_test(test_parameters), truth_test(test_ends_of_clamps),
        truth_test(test_sinks),   truth_test(test_range),
    };
    return truth_run(tests);
}
