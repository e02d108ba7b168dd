/* SPDX-License-Identifier: MIT */
/* The indexer's scores: against the stated order with fmaf, and the exact sum in double; what a query does not see is
 * neither used nor written. Top-k: against a plain sort. */
#include "truth_blocks.h"
#include "truth_half.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The indexer's scores ---- */

enum { MOST_DIM = 200, MOST_HEADS = 200, MOST_Q = 5, MOST_K = 2300, BATCH = 2, N_TYPES = 5 };

static float queries[BATCH * MOST_Q * (MOST_HEADS + 1) * MOST_DIM], weights[3 * BATCH * MOST_Q * MOST_HEADS];
static float keys[BATCH * MOST_K * (MOST_DIM + 8)], scores[BATCH * MOST_Q * (MOST_K + 3)],
    first_scores[BATCH * MOST_Q * (MOST_K + 3)];
static int32_t begins[BATCH * MOST_Q], ends[BATCH * MOST_Q];
static const float untouched = 12345.0f;

typedef struct index_case {
    posenc_index_args args;
    int64_t dim, n_heads, n_q, n_k, n_batch;
} index_case;

static void store_row(const float *x, int64_t dim, posenc_dtype type, char *to) {
    if (truth_is_blocks(type)) {
        truth_quantise(x, dim, type, to);
        return;
    }
    for (int64_t c = 0; c < dim; c++)
        truth_store(to + (size_t)c * truth_size(type), x[c], type);
}

static size_t row_bytes(posenc_dtype type, int64_t dim) {
    return truth_is_blocks(type) ? (size_t)dim / TRUTH_BLOCK * truth_block_bytes(type) : (size_t)dim * truth_size(type);
}

static void fill_view(const posenc_view *view) {
    float row[MOST_DIM];
    for (int64_t b = 0; b < view->ne[3]; b++)
        for (int64_t t = 0; t < view->ne[2]; t++)
            for (int64_t h = 0; h < view->ne[1]; h++) {
                truth_fill(row, (size_t)view->ne[0]);
                store_row(row, view->ne[0], view->dtype,
                          (char *)view->data + h * view->nb[1] + t * view->nb[2] + b * view->nb[3]);
            }
}

/* Rows with a gap behind each, heads beside tokens or tokens beside heads. */
static posenc_view draw_view(float *memory, posenc_dtype type, int64_t dim, int64_t n_heads, int64_t n, int64_t n_batch,
                             int heads_are_outer) {
    posenc_view view = posenc_view_dense(memory, type, dim, n_heads, n, n_batch);
    int64_t row = (int64_t)row_bytes(type, dim) + 4 * truth_below(3);
    view.nb[1] = heads_are_outer ? row * n : row;
    view.nb[2] = heads_are_outer ? row : row * n_heads;
    view.nb[3] = row * n * n_heads;
    fill_view(&view);
    return view;
}

static void draw_bounds(index_case *c, int64_t kind) {
    for (int64_t i = 0; i < c->n_batch * c->n_q; i++) {
        int64_t causal = c->n_k - c->n_q + i % c->n_q + 1;
        begins[i] = (int32_t)truth_below(c->n_k + 1);
        ends[i] = (int32_t)(kind == 1 ? (causal > 0 ? causal : 0) : truth_below(c->n_k + 1));
    }
    posenc_key_bounds bounds = {kind >= 2 ? begins : NULL, kind == 1 || kind == 3 ? ends : NULL, 1, c->n_q};
    if (kind == 3 && truth_below(2))
        bounds.query_stride = 0;
    if (truth_below(2))
        bounds.batch_stride = 0;
    c->args.bounds = bounds;
}

static index_case draw_case(int round) {
    posenc_dtype k_type = (posenc_dtype)(round % N_TYPES), q_type = (posenc_dtype)truth_below(3);
    static const int64_t some_heads[] = {64, 32, 1, 97, 3, 5, 200, 0, 48};
    index_case c = {
        .n_heads = some_heads[round % 9], .n_q = 1 + truth_below(MOST_Q), .n_batch = 1 + truth_below(BATCH)};
    c.dim = truth_is_blocks(k_type) ? 32 * (1 + truth_below(4)) : 1 + truth_below(MOST_DIM);
    c.n_k = truth_below(4) ? truth_below(300) : truth_below(MOST_K);
    c.args = (posenc_index_args){
        .q = draw_view(queries, q_type, c.dim, c.n_heads, c.n_q, c.n_batch, (int)truth_below(2)),
        .k = draw_view(keys, k_type, c.dim, 1, c.n_k, c.n_batch, 0),
        .weights = posenc_view_dense(weights, POSENC_F32, 1, c.n_heads, c.n_q, c.n_batch),
        .scores = posenc_view_dense(scores, POSENC_F32, c.n_k + 3, c.n_q, 1, c.n_batch),
    };
    int64_t step = 1 + truth_below(3);
    for (int i = 1; i < 4; i++)
        c.args.weights.nb[i] *= step;
    truth_fill(weights, sizeof weights / sizeof *weights);
    c.args.scores.ne[0] = c.n_k;
    draw_bounds(&c, round % 4);
    return c;
}

static float key_channel(const char *row, int64_t channel, posenc_dtype type) {
    if (truth_is_blocks(type))
        return (float)truth_read_block(row, channel, type); /* an integer of 8 bits times one of 11: exact */
    return truth_load(row + (size_t)channel * truth_size(type), type);
}

/* The score in the order of sparse.h; the exact sum, and the sum of the sizes of its terms. */
static float plain_score(const index_case *c, int64_t i, int64_t j, int64_t b, double *exact, double *size) {
    const posenc_index_args *a = &c->args;
    const char *key = (const char *)a->k.data + j * a->k.nb[2] + b * a->k.nb[3];
    float channels[MOST_DIM], score = 0.0f;
    for (int64_t d = 0; d < c->dim; d++)
        channels[d] = key_channel(key, d, a->k.dtype);
    *exact = *size = 0.0;
    for (int64_t h = 0; h < c->n_heads; h++) {
        const char *query = (const char *)a->q.data + h * a->q.nb[1] + i * a->q.nb[2] + b * a->q.nb[3];
        float w = *(const float *)(const void *)((const char *)a->weights.data + h * a->weights.nb[1] +
                                                 i * a->weights.nb[2] + b * a->weights.nb[3]);
        float x = 0.0f;
        double x_exact = 0.0, x_size = 0.0;
        for (int64_t d = 0; d < c->dim; d++) {
            float q = truth_load(query + (size_t)d * truth_size(a->q.dtype), a->q.dtype);
            x = fmaf(q, channels[d], x);
            x_exact += (double)q * (double)channels[d];
            x_size += fabs((double)q * (double)channels[d]);
        }
        score = fmaf(w, x < 0.0f ? 0.0f : x, score);
        *exact += (double)w * fmax(x_exact, 0.0);
        *size += fabs((double)w) * x_size;
    }
    return score;
}

static int sees(const index_case *c, int64_t i, int64_t j, int64_t b) {
    const posenc_key_bounds *bounds = &c->args.bounds;
    int64_t at = b * bounds->batch_stride + i * bounds->query_stride;
    return (bounds->begin == NULL || j >= bounds->begin[at]) && (bounds->end == NULL || j < bounds->end[at]);
}

static const float *score_at(const index_case *c, int64_t i, int64_t j, int64_t b) {
    return (const float *)(const void *)((const char *)c->args.scores.data + i * c->args.scores.nb[1] +
                                         b * c->args.scores.nb[3]) +
           j;
}

static void compare_scores(const index_case *c) {
    for (int64_t b = 0; b < c->n_batch; b++)
        for (int64_t i = 0; i < c->n_q; i++)
            for (int64_t j = 0; j < c->n_k + 3; j++) {
                float got = *score_at(c, i, j, b);
                if (j >= c->n_k || !sees(c, i, j, b)) {
                    truth_same_bits(&got, &untouched, 1, "key %lld is not seen", (long long)j);
                    continue;
                }
                double exact, size;
                float want = plain_score(c, i, j, b, &exact, &size);
                truth_same_bits(&got, &want, 1, "query %lld, key %lld, %lld heads of %lld", (long long)i, (long long)j,
                                (long long)c->n_heads, (long long)c->dim);
                truth_close((double)got, exact, (double)(c->dim + c->n_heads) * 0x1p-24 * size + DBL_MIN,
                            "query %lld, key %lld", (long long)i, (long long)j);
            }
}

/* In one range, or in several with a scratch of their own. */
static void run_scores(const posenc_index_args *args, int64_t n_ranges) {
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++)
        scores[i] = untouched;
    size_t bytes = posenc_index_workspace_bytes(args->q.ne[0]);
    for (int64_t r = 0; r < n_ranges; r++) {
        void *scratch = malloc(bytes);
        assert_non_null(scratch);
        memset(scratch, 0xff, bytes);
        truth_ok(posenc_index_scores(args, scratch, bytes,
                                     posenc_range_of_thread(posenc_index_unit_count(args), r, n_ranges)));
        free(scratch);
    }
}

static void test_index_scores(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        index_case c = draw_case(round);
        run_scores(&c.args, 1);
        compare_scores(&c);
        memcpy(first_scores, scores, sizeof scores);
        for (int tier = -1; truth_next_tier(&tier);) {
            run_scores(&c.args, 1 + truth_below(4));
            truth_same_bits(scores, first_scores, sizeof scores / sizeof *scores, "round %d, tier %d", round, tier);
        }
    }
}

/* A NaN channel makes the score of its key NaN, and of no other; keys that are not seen may hold it. */
static void test_nan_keys(void **state) {
    (void)state;
    enum { DIM = 16, HEADS = 8, KEYS = 100 };
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_fill(queries, DIM * HEADS);
        truth_fill(keys, DIM * KEYS);
        truth_fill(weights, HEADS);
        keys[7 * DIM + 3] = keys[50 * DIM] = NAN;
        int32_t end = 50;
        posenc_index_args args = {
            .q = posenc_view_dense(queries, POSENC_F32, DIM, HEADS, 1, 1),
            .k = posenc_view_dense(keys, POSENC_F32, DIM, 1, KEYS, 1),
            .weights = posenc_view_dense(weights, POSENC_F32, 1, HEADS, 1, 1),
            .scores = posenc_view_dense(scores, POSENC_F32, KEYS, 1, 1, 1),
            .bounds = {.end = &end},
        };
        run_scores(&args, 1);
        for (int j = 0; j < KEYS; j++)
            assert_int_equal(!!isnan(scores[j]), j == 7);
    }
}

/* ---- Top-k ---- */

enum { MOST_ROWS = 6, MOST_N = 5000, N_KINDS = 8 };

static float drawn_score(int64_t kind, int64_t j) {
    static const float special[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, FLT_MIN / 2, -FLT_MAX, 1.0f, -NAN};
    switch (kind) {
    case 0: return 3.25f;                                         /* all equal */
    case 1: return (float)j;                                      /* sorted */
    case 2: return (float)-j;                                     /* and the other way */
    case 3: return (float)(truth_below(5) - 2) * -0.5f;           /* few values, and both zeros */
    case 4: return special[truth_below(9)];                       /* NaN, infinities, zeros, a denormal */
    case 5: return truth_random_bits(POSENC_F32);                 /* anything */
    case 6: return 1.0f + (float)truth_below(1 << 12) * 0x1p-23f; /* the upper digits are the same */
    default: return (float)truth_uniform(-10.0, 10.0);
    }
}

typedef struct plain_key {
    float score;
    int32_t key;
} plain_key;

static int compare_keys(const void *a, const void *b) {
    const plain_key *x = a, *y = b;
    if (!isnan(x->score) != !isnan(y->score))
        return isnan(x->score) ? 1 : -1;
    if (!isnan(x->score) && x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->key < y->key ? -1 : 1;
}

static void compare_row(const float *row, int64_t begin, int64_t end, int64_t k, const int32_t *got) {
    static plain_key sorted[MOST_N];
    int64_t n = end > begin ? end - begin : 0;
    for (int64_t j = 0; j < n; j++)
        sorted[j] = (plain_key){row[begin + j], (int32_t)(begin + j)};
    qsort(sorted, (size_t)n, sizeof *sorted, compare_keys);
    for (int64_t t = 0; t < k; t++)
        if (got[t] != (t < n ? sorted[t].key : POSENC_LIST_END))
            fail_msg("place %lld of %lld, %lld keys: %d", (long long)t, (long long)k, (long long)n, got[t]);
}

static void top_k_round(int round) {
    static float rows[MOST_ROWS * (MOST_N + 1)];
    static int32_t got[MOST_ROWS * (MOST_N + 20)];
    static const int64_t some_k[] = {1, 2, 7, 64, 300, 2048};
    int64_t n_k = truth_below(3) ? truth_below(500) : truth_below(MOST_N), n_q = 1 + truth_below(3),
            n_batch = 1 + truth_below(2), k = some_k[truth_below(6)], n_rows = n_q * n_batch;
    k = truth_below(4) ? k : n_k + truth_below(20) + (n_k == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i] = drawn_score(round % N_KINDS, (int64_t)i);
    posenc_view scores_of = posenc_view_dense(rows, POSENC_F32, n_k + 1, n_q, 1, n_batch);
    scores_of.ne[0] = n_k;
    index_case c = {.n_q = n_q, .n_k = n_k, .n_batch = n_batch};
    draw_bounds(&c, round / N_KINDS % 4);
    size_t bytes = posenc_top_k_workspace_bytes(n_k, k);
    void *scratch = malloc(bytes);
    assert_non_null(scratch);
    memset(scratch, 0xff, bytes);
    memset(got, 0x55, sizeof got);
    int64_t first = truth_below(n_rows);
    truth_ok(posenc_top_k(&scores_of, &c.args.bounds, k, got, scratch, bytes, (posenc_range){first, n_rows}));
    for (int64_t t = 0; t < first * k; t++)
        assert_int_equal(got[t], 0x55555555);
    assert_int_equal(got[n_rows * k], 0x55555555);
    truth_ok(posenc_top_k(&scores_of, &c.args.bounds, k, got, scratch, bytes, (posenc_range){0, first}));
    free(scratch);
    for (int64_t row = 0; row < n_rows; row++) {
        const posenc_key_bounds *bounds = &c.args.bounds;
        int64_t at = row / n_q * bounds->batch_stride + row % n_q * bounds->query_stride;
        compare_row(rows + row * (n_k + 1), bounds->begin != NULL ? bounds->begin[at] : 0,
                    bounds->end != NULL ? bounds->end[at] : n_k, k, got + row * k);
    }
}

static void test_top_k(void **state) {
    (void)state;
    for (int round = 0; round < 2000; round++)
        top_k_round(round);
}

/* Without bounds, and several heads. */
static void test_top_k_of_heads(void **state) {
    (void)state;
    enum { N = 40, HEADS = 3, K = 5 };
    float rows[HEADS][N];
    int32_t got[HEADS][K];
    truth_fill(rows[0], HEADS * N);
    posenc_view view = posenc_view_dense(rows, POSENC_F32, N, 1, HEADS, 1);
    size_t bytes = posenc_top_k_workspace_bytes(N, K);
    void *scratch = malloc(bytes);
    assert_non_null(scratch);
    truth_ok(posenc_top_k(&view, NULL, K, got[0], scratch, bytes, posenc_range_all()));
    free(scratch);
    for (int h = 0; h < HEADS; h++)
        compare_row(rows[h], 0, N, K, got[h]);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_index_scores), truth_test(test_nan_keys), truth_test(test_top_k),
                                       truth_test(test_top_k_of_heads)};
    return truth_run(tests);
}
