/* SPDX-License-Identifier: MIT */
/* Attention as a whole (attention.h): against a double loop, and what must hold of it. */
#include "truth_relative.h"
#include "truth_rope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Against a plain double loop: RoPE and ALiBi together, heads in groups, every type ---- */

static void rotate(posenc_rope *rope, const posenc_view *x, const int32_t *positions) {
    truth_ok(posenc_rope_apply(rope, x, positions, x, POSENC_FORWARD, posenc_range_all()));
}

static void check_attention(const posenc_score_params *params, const posenc_view *q, const posenc_view *k,
                            const posenc_view *v, const posenc_view *out, const posenc_view *p) {
    int64_t n_k = k->ne[2], group = q->ne[1] / k->ne[1];
    double *weights = malloc((size_t)n_k * sizeof *weights);
    for (int64_t b = 0; b < q->ne[3]; b++)
        for (int64_t h = 0; h < q->ne[1]; h++)
            for (int64_t i = 0; i < q->ne[2]; i++) {
                double sum = 0.0;
                for (int64_t j = 0; j < n_k; j++) {
                    double s = 0.0, distance = fabs((double)(params->positions.query_start + i - j));
                    for (int64_t c = 0; c < q->ne[0]; c++)
                        s += (double)truth_get(q, c, h, i, b) * (double)truth_get(k, c, h / group, j, b);
                    s = (double)params->scale * s -
                        (params->bias.alibi_slopes ? (double)params->bias.alibi_slopes[h] * distance : 0.0);
                    int is_visible = params->mask.after < 0 || j <= params->positions.query_start + i;
                    weights[j] = is_visible ? exp(s) : 0.0; /* scores are small */
                    sum += weights[j];
                }
                for (int64_t j = 0; j < n_k; j++)
                    truth_close((double)truth_get(p, j, i, h, b), sum > 0.0 ? weights[j] / sum : 0.0, 2e-6,
                                "probability");
                for (int64_t c = 0; c < v->ne[0]; c++) {
                    double want = 0.0, ulp = out->dtype == POSENC_F32   ? 0.0
                                             : out->dtype == POSENC_F16 ? 0x1p-10
                                                                        : 0x1p-7;
                    for (int64_t j = 0; j < n_k && sum > 0.0; j++)
                        want += weights[j] / sum * (double)truth_get(v, c, h / group, j, b);
                    truth_close((double)truth_get(out, c, h, i, b), want, 8e-6 + ulp, "output");
                }
            }
    free(weights);
}

static void test_hybrid(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 60; round++) {
            int64_t dim = 2 * (1 + truth_below(20)), kv_heads = 1 + truth_below(3),
                    n_heads = kv_heads * (1 + truth_below(3));
            int64_t n_k = 1 + truth_below(60), n_q = 1 + truth_below(n_k), n_batch = 1 + truth_below(2);
            posenc_dtype type = (posenc_dtype)truth_below(3);
            truth_tensor q = truth_numbers(type, 1.0, dim, n_heads, n_q, n_batch);
            truth_tensor k = truth_numbers(type, 1.0, dim, kv_heads, n_k, n_batch);
            truth_tensor v = truth_numbers(type, 2.0, 1 + truth_below(20), kv_heads, n_k, n_batch);
            truth_tensor out = truth_numbers(type, 1.0, v.view.ne[0], n_heads, n_q, n_batch);
            truth_tensor p = truth_numbers(POSENC_F32, 1.0, n_k, n_q, n_heads, n_batch), again = p;
            int32_t positions[120];
            float slopes[9];
            truth_ok(posenc_alibi_slopes(n_heads, 8.0, slopes));
            posenc_rope_params rope_params = truth_rope_params(POSENC_ROPE_HALF, dim, dim, 0);
            posenc_rope *rope;
            truth_ok(posenc_rope_create(&rope_params, &rope));
            for (int64_t t = 0; t < n_k * n_batch; t++)
                positions[t] = (int32_t)(t % n_k);
            rotate(rope, &k.view, positions);
            for (int64_t t = 0; t < n_q * n_batch; t++)
                positions[t] = (int32_t)(n_k - n_q + t % n_q);
            rotate(rope, &q.view, positions);
            posenc_rope_free(rope);
            posenc_score_params params = POSENC_SCORE_DEFAULTS;
            params.scale = (float)(1.0 / sqrt((double)dim));
            params.positions.query_start = n_k - n_q;
            params.bias.alibi_slopes =
                round % 3 ? slopes : NULL; /* without: RoPE alone; without a mask and NoPE: see below */
            params.mask = truth_below(2) ? posenc_mask_causal() : posenc_mask_none();
            truth_ok(posenc_attention_reference(&params, &q.view, &k.view, &v.view, &out.view, &p.view));
            check_attention(&params, &q.view, &k.view, &v.view, &out.view, &p.view);
            truth_nothing_else_changed(&out, 0, v.view.ne[0], "attention");
            again = truth_numbers(type, 1.0, v.view.ne[0], n_heads, n_q, n_batch);
            truth_ok(posenc_attention_reference(&params, &q.view, &k.view, &v.view, &again.view, NULL));
            truth_same_views(&again.view, &out.view, "attention without probabilities");
            truth_tensor *all[] = {&q, &k, &v, &out, &p, &again};
            for (int t = 0; t < 6; t++)
                truth_tensor_free(all[t]);
        }
    }
}

/* ---- Without positions, permuting tokens permutes outputs (C.32); NoPE with a causal mask does not (C.29) ---- */

/* Softmax sums keys in another order. */
static void check_permuted(const posenc_view *out, const posenc_view *permuted, const int64_t *order, int64_t n,
                           int *n_different) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t c = 0; c < out->ne[0]; c++) {
            double a = (double)truth_get(out, c, 0, order[t], 0), b = (double)truth_get(permuted, c, 0, t, 0);
            *n_different += fabs(a - b) > 1e-5;
        }
}

static void test_permutation(void **state) {
    (void)state;
    enum { N = 30, DIM = 8 };
    for (int tier = -1; truth_next_tier(&tier);) {
        float x[N * DIM], moved[N * DIM], out[N * DIM], permuted[N * DIM];
        int64_t order[N];
        truth_fill(x, N * DIM);
        for (int64_t t = 0; t < N; t++) {
            int64_t at = truth_below(t + 1);
            order[t] = order[at];
            order[at] = t;
        }
        for (int64_t t = 0; t < N; t++)
            memcpy(moved + t * DIM, x + order[t] * DIM, DIM * sizeof(float));
        posenc_view before = posenc_view_dense(x, POSENC_F32, DIM, 1, N, 1), after = before, a = before, b = before;
        after.data = moved;
        a.data = out;
        b.data = permuted;
        posenc_score_params params = POSENC_SCORE_DEFAULTS;
        params.mask = posenc_mask_none();
        int n_different[2] = {0, 0};
        for (int causal = 0; causal < 2; causal++) {
            params.mask = causal ? posenc_mask_causal() : posenc_mask_none();
            truth_ok(posenc_attention_reference(&params, &before, &before, &before, &a, NULL));
            truth_ok(posenc_attention_reference(&params, &after, &after, &after, &b, NULL));
            check_permuted(&a, &b, order, N, &n_different[causal]);
        }
        assert_int_equal(n_different[0], 0);
        assert_true(n_different[1] > N);
    }
}

/* FORMULAS C.29: the example. */
static void test_nope(void **state) {
    (void)state;
    float q[] = {1, 0, 0, 1}, k[] = {1, 0, 1, 1}, v[] = {1, 3}, out[2];
    posenc_view queries = posenc_view_dense(q, POSENC_F32, 2, 1, 2, 1),
                keys = posenc_view_dense(k, POSENC_F32, 2, 1, 2, 1);
    posenc_view values = posenc_view_dense(v, POSENC_F32, 1, 1, 2, 1),
                y = posenc_view_dense(out, POSENC_F32, 1, 1, 2, 1);
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.scale = 0.70710678f;
    params.mask = posenc_mask_causal();
    truth_ok(posenc_attention_reference(&params, &queries, &keys, &values, &y, NULL));
    truth_close((double)out[0], 1.0, 1e-6, "query 0");
    truth_close((double)out[1], 2.3395231, 1e-6, "query 1");
}

/* ---- Block-wise: local attention inside blocks, and a token of each block that all may see ---- */

/* Two calls, local and global, each with its sums, joined: the same as one softmax over both sets of keys. */
static void test_local_global(void **state) {
    (void)state;
    enum { N = 60, BLOCK = 8 };
    for (int tier = -1; truth_next_tier(&tier);) {
        float x[N * N], local[N * N], global[N * N], whole[N * N];
        uint8_t first[N], both[N * N];
        truth_fill(x, N * N);
        for (int j = 0; j < N; j++)
            first[j] = j % BLOCK == 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                both[i * N + j] = j <= i && (j / BLOCK == i / BLOCK || j % BLOCK == 0);
        posenc_view s = posenc_view_dense(x, POSENC_F32, N, N, 1, 1), l = s, g = s, w = s;
        l.data = local;
        g.data = global;
        w.data = whole;
        posenc_softmax_sum sums[2][N];
        posenc_score_params params = POSENC_SCORE_DEFAULTS;
        params.mask = posenc_mask_chunked(BLOCK);
        truth_ok(posenc_softmax_partial(&params, &s, &l, sums[0], posenc_range_all()));
        posenc_bool_mask heads_of_blocks = {first, {1, 0, 0, 0}, POSENC_KEEP};
        params.mask = posenc_mask_causal();
        params.bool_mask = &heads_of_blocks;
        params.sequences.k_end = NULL;
        truth_ok(posenc_softmax_partial(&params, &s, &g, sums[1], posenc_range_all()));
        posenc_bool_mask all = {both, {1, N, 0, 0}, POSENC_KEEP};
        params.mask = posenc_mask_none();
        params.bool_mask = &all;
        truth_ok(posenc_softmax(&params, &s, &w, posenc_range_all()));
        for (int i = 0; i < N; i++) {
            /* The head of the query's own block is in both sets: taken out of the local one by hand. */
            int head = i / BLOCK * BLOCK;
            sums[0][i].sum -= local[i * N + head];
            local[i * N + head] = 0.0f;
            posenc_softmax_sum joined;
            float a, b;
            truth_ok(posenc_softmax_combine(&sums[0][i], &sums[1][i], &joined, &a, &b));
            for (int j = 0; j < N; j++)
                truth_close(((double)local[i * N + j] * (double)a + (double)global[i * N + j] * (double)b) /
                                (double)joined.sum,
                            (double)whole[i * N + j], 2e-6, "query %d, key %d", i, j);
        }
    }
}

/* A key that is not seen does not count, whatever its row of v holds. */
static void test_masked_nan(void **state) {
    (void)state;
    float q = 1.0f, k[2] = {0.5f, 2.0f}, v[2] = {3.0f, NAN}, out, p[2];
    posenc_view queries = posenc_view_dense(&q, POSENC_F32, 1, 1, 1, 1), result = queries;
    posenc_view keys = posenc_view_dense(k, POSENC_F32, 1, 1, 2, 1), values = keys;
    posenc_view probabilities = posenc_view_dense(p, POSENC_F32, 2, 1, 1, 1);
    values.data = v;
    result.data = &out;
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.mask = posenc_mask_causal();
    truth_ok(posenc_attention_reference(&params, &queries, &keys, &values, &result, &probabilities));
    assert_true(out == 3.0f && p[0] == 1.0f && p[1] == 0.0f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_hybrid),       truth_test(test_permutation), truth_test(test_nope),
        truth_test(test_local_global), truth_test(test_masked_nan),
    };
    return truth_run(tests);
}
