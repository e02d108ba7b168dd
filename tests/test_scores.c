/* SPDX-License-Identifier: MIT */
/* The softmax path with everything at once (softmax.h) against a plain double reference: each key's logit by its
 * formula, and whether it is seen by the definition of each mask, with no thought of loops. Random calls of all
 * combinations. */
#include "truth_scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/for_python.h"

/* ---- The reference ---- */

static double logit(const scene *s, int64_t j, int64_t i, int64_t h, int64_t b, int has_scores) {
    return scene_logit(s, has_scores ? (double)truth_get(&s->x.view, j, i, h, b) : 0.0, j, i, h, b);
}

/* The largest logit with the sink, and the sum of exponentials over it. */
static double reference_row(const scene *s, int64_t i, int64_t h, int64_t b, int has_scores, double *l, double *max) {
    double sink = s->params.sinks != NULL ? (double)s->params.sinks[h] : -INFINITY, sum = 0.0;
    *max = sink;
    for (int64_t j = 0; j < s->n_k; j++) {
        l[j] = logit(s, j, i, h, b, has_scores);
        *max = fmax(*max, l[j]);
    }
    if (*max == -INFINITY)
        return 0.0;
    for (int64_t j = 0; j < s->n_k; j++)
        sum += exp(l[j] - *max);
    return sum + exp(sink - *max);
}

/* ---- Comparison ---- */

static long long n_values, n_empty;

/* Error of storing the value. */
static double rounding(posenc_dtype type, double value) {
    return type == POSENC_F32 ? 0.0 : type == POSENC_F16 ? fmax(fabs(value) * 0x1p-11, 0x1p-25) : fabs(value) * 0x1p-8;
}

static void check_value(const scene *s, double want, double bound, int64_t j, int64_t i, int64_t h, int64_t b,
                        const char *what) {
    double got = (double)truth_get(&s->y.view, j, i, h, b);
    n_values++;
    if (isnan(want) ? isnan(got) : isinf(want) && got == want)
        return;
    truth_close(got, want, bound + rounding(s->y.view.dtype, want), "%s, %s: key %lld of %lld, query %lld, head %lld",
                posenc_isa_name(posenc_isa()), what, (long long)j, (long long)s->n_k, (long long)i, (long long)h);
}

static void check_logits(const scene *s, int has_scores, double *l) {
    for (int64_t b = 0; b < s->n_batch; b++)
        for (int64_t h = 0; h < s->n_heads; h++)
            for (int64_t i = 0; i < s->n_q; i++) {
                double max;
                reference_row(s, i, h, b, has_scores, l, &max);
                for (int64_t j = 0; j < s->n_k; j++)
                    check_value(s, l[j], 1.6e-5, j, i, h, b, "logits"); /* a few roundings of numbers below 64 */
            }
}

/* Probabilities, or exponentials with sums. */
static void check_softmax(const scene *s, const posenc_softmax_sum *sums, double *l) {
    const double empty_rows[] = {0.0, 1.0 / (double)s->n_k, NAN},
                 of_empty = sums != NULL ? 0.0 : empty_rows[s->params.fully_masked];
    for (int64_t b = 0; b < s->n_batch; b++)
        for (int64_t h = 0; h < s->n_heads; h++)
            for (int64_t i = 0; i < s->n_q; i++) {
                double max, sum = reference_row(s, i, h, b, 1, l, &max);
                n_empty += sum == 0.0;
                if (sums != NULL) {
                    const posenc_softmax_sum *got = &sums[(b * s->n_heads + h) * s->n_q + i];
                    assert_true(sum != 0.0 ? fabs((double)got->max - max) < 1.6e-5 : got->max == -INFINITY);
                    truth_close((double)got->sum, sum, 2e-5 * sum, "sum"); /* of a logit's error */
                }
                for (int64_t j = 0; j < s->n_k; j++) {
                    double want = sum == 0.0 ? of_empty : exp(l[j] - max) / (sums != NULL ? 1.0 : sum);
                    check_value(s, want, sums != NULL ? 1.6e-5 : 2e-6, j, i, h, b, "softmax");
                }
            }
}

static void test_everything(void **state) {
    (void)state;
    static scene s;
    static posenc_softmax_sum sums[SCENE_Q * SCENE_HEADS * SCENE_BATCH];
    double *l = malloc(SCENE_K * sizeof *l);
    assert_true(l != NULL);
    n_values = n_empty = 0;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 600; round++) {
            scene_open(&s, 1 + truth_below(round % 8 ? 140 : SCENE_K - 1));
            truth_ok(posenc_logits(&s.params, &s.x.view, &s.y.view, posenc_range_all()));
            check_logits(&s, 1, l);
            truth_ok(posenc_logits(&s.params, NULL, &s.y.view, posenc_range_all()));
            check_logits(&s, 0, l);
            truth_ok(posenc_softmax_partial(&s.params, &s.x.view, &s.y.view, sums, posenc_range_all()));
            check_softmax(&s, sums, l);
            truth_ok(posenc_softmax(&s.params, &s.x.view, &s.y.view, posenc_range_all()));
            check_softmax(&s, NULL, l);
            truth_nothing_else_changed(&s.y, 0, s.n_k, "scores");
            truth_nothing_changed(&s.x, "scores");
            scene_close(&s);
        }
    }
    print_message("%lld values, %lld rows that see nothing\n", n_values, n_empty);
    assert_true(n_empty > 100);
    free(l);
}

/* ---- The same bits however it is said ---- */

/* Every mask of the call, written out as 0 and -inf. */
static void masks_as_bias(const scene *s, posenc_view *bias) {
    TRUTH_EACH(bias, j, i, h, b)
    *truth_at(bias, j, i, h, b) = scene_sees(s, j, i, h, b) ? 0.0f : -INFINITY;
}

static void test_masks_are_bounds(void **state) {
    (void)state;
    static scene s;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 300; round++) {
            scene_open(&s, 1 + truth_below(round % 4 ? 140 : SCENE_K - 1));
            posenc_score_params said = s.params;
            said.bias.tensor = NULL;
            said.bias.relative = NULL; /* it need not cover what the other call sees */
            said.bias.by_query = said.bias.by_key = (posenc_relative){NULL, NULL};
            posenc_score_params written = said;
            int64_t ne[4] = {s.n_k, s.n_q, s.n_heads, s.n_batch};
            truth_tensor mask = truth_tensor_random(ne), other = truth_tensor_random_of(s.y.view.dtype, ne);
            masks_as_bias(&s, &mask.view);
            written.bias.tensor = &mask.view;
            written.bias.tensor_slopes = NULL;
            written.mask = posenc_mask_none();
            written.sequences.cu_seqlens = NULL;
            written.sequences.n_seqs = 0;
            written.sequences.k_begin = written.sequences.k_end = NULL;
            written.bool_mask = NULL;
            truth_ok(posenc_softmax(&said, &s.x.view, &s.y.view, posenc_range_all()));
            truth_ok(posenc_softmax(&written, &s.x.view, &other.view, posenc_range_all()));
            truth_same_views(&other.view, &s.y.view, "a mask written out");
            truth_tensor_free(&mask);
            truth_tensor_free(&other);
            scene_close(&s);
        }
    }
}

/* Sums stand where those of all rows do, whatever rows a call makes. */
static void check_sums_of_ranges(const scene *s, const posenc_view *y) {
    static posenc_softmax_sum all[SCENE_Q * SCENE_HEADS * SCENE_BATCH], parts[SCENE_Q * SCENE_HEADS * SCENE_BATCH];
    int64_t n = s->n_q * s->n_heads * s->n_batch, middle = truth_below(n + 1);
    truth_ok(posenc_softmax_partial(&s->params, &s->x.view, y, all, posenc_range_all()));
    truth_ok(posenc_softmax_partial(&s->params, &s->x.view, y, parts, (posenc_range){middle, n}));
    truth_ok(posenc_softmax_partial(&s->params, &s->x.view, y, parts, (posenc_range){0, middle}));
    assert_memory_equal(parts, all, (size_t)n * sizeof *all);
}

/* Row by row, and in place where types allow: as in one call. */
static void test_calls(void **state) {
    (void)state;
    static scene s;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 300; round++) {
            scene_open(&s, 1 + truth_below(300));
            int64_t ne[4] = {s.n_k, s.n_q, s.n_heads, s.n_batch};
            truth_tensor other = truth_tensor_random_of(s.y.view.dtype, ne);
            truth_ok(posenc_softmax(&s.params, &s.x.view, &s.y.view, posenc_range_all()));
            for (int64_t row = s.n_q * s.n_heads * s.n_batch - 1; row >= 0; row--)
                truth_ok(posenc_softmax(&s.params, &s.x.view, &other.view, (posenc_range){row, row + 1}));
            truth_same_views(&other.view, &s.y.view, "row by row");
            check_sums_of_ranges(&s, &other.view);
            if (s.x.view.dtype == s.y.view.dtype) {
                truth_ok(posenc_softmax(&s.params, &s.x.view, &s.x.view, posenc_range_all()));
                truth_same_views(&s.x.view, &s.y.view, "in place");
            }
            truth_tensor_free(&other);
            scene_close(&s);
        }
    }
}

/* ---- Alignment ---- */

/* Without a word the last query stands at the last key of its sequence: the same bits as with every start given. */
static void test_alignment(void **state) {
    (void)state;
    enum { KEYS = 40, QUERIES = 3, SEQUENCES = 4, COUNT = KEYS * QUERIES * SEQUENCES };
    static const int32_t k_end[SEQUENCES] = {KEYS, 17, 3, 0}, by_length[SEQUENCES] = {37, 14, 0, -3};
    static const int32_t by_extent[SEQUENCES] = {37, 37, 37, 37};
    float x[COUNT], aligned[COUNT], given[COUNT];
    const float slope = 0.5f;
    truth_fill(x, COUNT);
    for (int with_lengths = 0; with_lengths < 2; with_lengths++) {
        posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_window(9));
        params.bias.alibi_slopes = &slope;
        params.n_heads = 1;
        params.sequences.k_end = with_lengths ? k_end : NULL;
        params.n_batch = SEQUENCES;
        posenc_view in = posenc_view_dense(x, POSENC_F32, KEYS, QUERIES, 1, SEQUENCES), out = in;
        out.data = aligned;
        truth_ok(posenc_softmax(&params, &in, &out, posenc_range_all()));
        params.positions.query_starts = with_lengths ? by_length : by_extent;
        out.data = given;
        truth_ok(posenc_softmax(&params, &in, &out, posenc_range_all()));
        truth_same_bits(aligned, given, COUNT, "lengths %d", with_lengths);
        params.positions.query_starts = NULL;
        params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
        truth_ok(posenc_softmax(&params, &in, &out, posenc_range_all()));
        assert_true(given[0] == 1.0f && aligned[0] == 0.0f); /* query 0 at key 0 sees that alone */
    }
}

/* ---- Documents ---- */

enum { MOST_DOCUMENTS = 1 << 16, N_QUERIES = 4096 };

/* Seconds of this thread for the softmax of queries in the middle of so many documents: the least of a few. */
static double time_of_documents(int64_t n) {
    static int32_t starts[MOST_DOCUMENTS + 1];
    static float scores[N_QUERIES];
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    for (int64_t d = 0; d <= n; d++)
        starts[d] = (int32_t)(d * (MOST_DOCUMENTS / n));
    params.sequences.cu_seqlens = starts;
    params.sequences.n_seqs = n;
    params.positions.query_start = (MOST_DOCUMENTS - N_QUERIES) / 2;
    posenc_view y = posenc_view_dense(scores, POSENC_F32, 1, N_QUERIES, 1, 1);
    double least = HUGE_VAL;
    for (int try = 0; try < 5; try++) {
        struct timespec before, after;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
        truth_ok(posenc_softmax(&params, &y, &y, posenc_range_all()));
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
        least = fmin(least, (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec));
    }
    return least;
}

/* A query's document is found by halving: 64 times as many take 6 steps more for each query. */
static void test_many_documents(void **state) {
    (void)state;
    double few = time_of_documents(1 << 10), many = time_of_documents(MOST_DOCUMENTS);
    print_message("%.0f and %.0f us\n", few * 1e6, many * 1e6);
    assert_true(many < 8.0 * few);
}

/* ---- Masked keys that are not touched ---- */

/* The same scene with those masks alone that make the bounds of a row. */
static void keep_bounds(scene *s) {
    s->params.bool_mask = NULL;
    if (s->params.positions.keys == NULL)
        return;
    s->params.positions.keys = s->params.positions.queries = NULL;
    s->params.mask = posenc_mask_none();
}

static int is_untouched(const scene *bounds, int64_t j, int64_t i, int64_t b) {
    int64_t first = j / POSENC_MASKED_GROUP * POSENC_MASKED_GROUP;
    for (j = first; j < first + POSENC_MASKED_GROUP && j < bounds->n_k; j++)
        if (scene_sees(bounds, j, i, 0, b))
            return 0;
    return 1;
}

/* Checks that groups without a key within the bounds are unchanged, and that others are the plain call's. */
static long long check_untouched(const scene *bounds, const truth_tensor *plain, const truth_tensor *got) {
    long long n = 0;
    TRUTH_EACH(&got->view, j, i, h, b) {
        int stays = is_untouched(bounds, j, i, b);
        float is = truth_get(&got->view, j, i, h, b), was = truth_was(got, j, i, h, b),
              written = truth_get(&plain->view, j, i, h, b);
        truth_same_bits(&is, stays ? &was : &written, 1, "masked keys untouched");
        n += stays;
    }
    truth_nothing_else_changed(got, 0, bounds->n_k, "masked keys untouched");
    return n;
}

static posenc_status call_of_form(int form, const scene *s, const truth_tensor *y, posenc_softmax_sum *sums) {
    switch (form) {
    case 0: return posenc_softmax(&s->params, &s->x.view, &y->view, posenc_range_all());
    case 1: return posenc_logits(&s->params, &s->x.view, &y->view, posenc_range_all());
    default: return posenc_softmax_partial(&s->params, &s->x.view, &y->view, sums, posenc_range_all());
    }
}

static void test_untouched(void **state) {
    (void)state;
    static scene s, bounds;
    static posenc_softmax_sum sums[2][SCENE_Q * SCENE_HEADS * SCENE_BATCH];
    long long n = 0;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 300; round++) {
            scene_open(&s, 1 + truth_below(300));
            truth_tensor other = truth_tensor_random_of(s.y.view.dtype, s.y.view.ne);
            bounds = s;
            keep_bounds(&bounds);
            truth_ok(call_of_form(round % 3, &s, &s.y, sums[0]));
            s.params.masked_output = POSENC_MASKED_UNTOUCHED;
            truth_ok(call_of_form(round % 3, &s, &other, sums[1]));
            n += check_untouched(&bounds, &s.y, &other);
            if (round % 3 == 2)
                assert_memory_equal(sums[1], sums[0],
                                    (size_t)(s.n_q * s.n_heads * s.n_batch) * sizeof(posenc_softmax_sum));
            truth_tensor_free(&other);
            scene_close(&s);
        }
    }
    print_message("%lld keys not touched\n", n);
    assert_true(n > 10000);
}

/* ---- Parts of a row ---- */

/* A row of keys taken in two parts and joined gives the probabilities of the whole. */
static void test_join(void **state) {
    (void)state;
    enum { N = 200 };
    for (int round = 0; round < 2000; round++) {
        float x[N], y[N], whole[N], a, b;
        posenc_softmax_sum sums[2], joined;
        int64_t n = 1 + truth_below(N - 1), cut = truth_below(n + 1);
        for (int64_t j = 0; j < n; j++)
            x[j] = truth_below(5) ? (float)truth_uniform(-20.0, 20.0) : -INFINITY;
        posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
        posenc_view all = posenc_view_dense(x, POSENC_F32, n, 1, 1, 1),
                    p = posenc_view_dense(whole, POSENC_F32, n, 1, 1, 1);
        truth_ok(posenc_softmax(&params, &all, &p, posenc_range_all()));
        posenc_view from[2] = {posenc_view_dense(x, POSENC_F32, cut, 1, 1, 1),
                               posenc_view_dense(x + cut, POSENC_F32, n - cut, 1, 1, 1)};
        posenc_view to[2] = {posenc_view_dense(y, POSENC_F32, cut, 1, 1, 1),
                             posenc_view_dense(y + cut, POSENC_F32, n - cut, 1, 1, 1)};
        for (int part = 0; part < 2; part++)
            truth_ok(posenc_softmax_partial(&params, &from[part], &to[part], &sums[part], posenc_range_all()));
        truth_ok(posenc_softmax_combine(&sums[0], &sums[1], &joined, &a, &b));
        for (int64_t j = 0; j < n; j++)
            truth_close(joined.sum == 0.0f ? 0.0 : (double)y[j] * (double)(j < cut ? a : b) / (double)joined.sum,
                        (double)whole[j], 1e-6, "round %d, key %lld, cut %lld of %lld", round, (long long)j,
                        (long long)cut, (long long)n);
        float other_a, other_b;
        posenc_softmax_sum other;
        truth_ok(posenc_softmax_combine(&sums[1], &sums[0], &other, &other_b, &other_a));
        assert_memory_equal(&other, &joined, sizeof other);
        assert_true(other_a == a && other_b == b);
    }
}

/* ---- Origins ---- */

/* A sequence that is padded on the left, with its first key as the origin, has the logits that it has alone: chunks and
 * first keys are its own. Without the origin they are others. */
static void test_origins(void **state) {
    (void)state;
    enum { MOST = 90 };
    int n_others = 0;
    for (int round = 0; round < 300; round++) {
        static float x[2 * MOST * MOST], alone[MOST * MOST], padded[2 * MOST * MOST];
        int64_t n = 1 + truth_below(40), pad = 1 + truth_below(MOST - n - 1), n_all = n + pad;
        int32_t begins[2] = {0, (int32_t)pad}, k_pos[MOST];
        truth_fill(x, sizeof x / sizeof *x);
        posenc_score_params params = POSENC_SCORE_DEFAULTS;
        params.scale = 1.0f;
        params.mask =
            truth_below(2) ? posenc_mask_chunked(1 + truth_below(12)) : posenc_mask_window(1 + truth_below(5));
        params.mask.n_first = params.mask.chunk > 0 ? 0 : truth_below(6);
        posenc_view all = {x, POSENC_F32, {n_all, n_all, 1, 2}, {4, 4 * n_all, 0, 4 * n_all * n_all}};
        posenc_view to = posenc_view_dense(padded, POSENC_F32, n_all, n_all, 1, 2);
        posenc_view own = posenc_view_dense(x + n_all * n_all + pad * n_all + pad, POSENC_F32, n, n, 1, 1);
        own.nb[1] = all.nb[1];
        posenc_view own_to = posenc_view_dense(alone, POSENC_F32, n, n, 1, 1);
        truth_ok(posenc_logits(&params, &own, &own_to, posenc_range_all()));
        params.sequences.k_begin = begins;
        params.n_batch = 2;
        truth_ok(posenc_logits(&params, &all, &to, posenc_range_all()));
        const float *rows = padded + n_all * n_all + pad * n_all + pad;
        for (int64_t i = 0; i < n; i++)
            n_others += memcmp(rows + i * n_all, alone + i * n, (size_t)n * sizeof *alone) != 0;
        params.sequences.origins = begins;
        for (int by_position = 0; by_position <= (params.mask.n_first == 0); by_position++) {
            for (int32_t j = 0; j < n_all; j++)
                k_pos[j] = j;
            params.positions.queries = params.positions.keys = by_position ? k_pos : NULL;
            truth_ok(posenc_logits(&params, &all, &to, posenc_range_all()));
            for (int64_t i = 0; i < n; i++)
                truth_same_bits(rows + i * n_all, alone + i * n, (size_t)n, "query %lld of %lld behind %lld",
                                (long long)i, (long long)n, (long long)pad);
        }
    }
    print_message("%d rows are others without origins\n", n_others);
    assert_true(n_others > 1000);
}

/* ---- Outputs of padded queries, and losses ---- */

static void test_padded(void **state) {
    (void)state;
    for (int round = 0; round < 100; round++) {
        int64_t ne[4] = {1 + truth_below(20), 1 + truth_below(4), 1 + truth_below(9), 1 + truth_below(3)};
        truth_tensor y = truth_tensor_random_of((posenc_dtype)truth_below(3), ne);
        uint8_t keep[27];
        double sum = 0.0, mean;
        float losses[27];
        int64_t n = ne[2] * ne[3], n_kept = 0;
        for (int64_t t = 0; t < n; t++) {
            keep[t] = (uint8_t)(truth_below(2) * truth_below(256));
            losses[t] = keep[t] ? (float)truth_uniform(0.0, 9.0) : NAN;
            sum += keep[t] ? (double)losses[t] : 0.0;
            n_kept += keep[t] != 0;
        }
        truth_ok(posenc_zero_padded(keep, &y.view));
        TRUTH_EACH(&y.view, c, h, i, b) {
            float got = truth_get(&y.view, c, h, i, b), was = truth_was(&y, c, h, i, b);
            float want = keep[b * ne[2] + i] ? was : 0.0f;
            truth_same_bits(&got, &want, 1, "padded");
        }
        truth_nothing_else_changed(&y, 0, ne[0], "padded");
        truth_ok(posenc_masked_mean(losses, keep, n, &mean));
        truth_close(mean, n_kept ? sum / (double)n_kept : 0.0, 1e-14, "mean");
        truth_tensor_free(&y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_everything), truth_test(test_masks_are_bounds), truth_test(test_calls),
        truth_test(test_alignment),  truth_test(test_many_documents),   truth_test(test_untouched),
        truth_test(test_join),       truth_test(test_padded),           truth_test(test_origins),
    };
    return truth_run(tests);
}
