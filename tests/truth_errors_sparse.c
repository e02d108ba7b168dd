/* SPDX-License-Identifier: MIT */
/* Refusals of the indexer of sparse attention and of top-k. */
#include "truth_errors.h"

#include <stdint.h>

enum { HEADS_OF_INDEX = 4, N_Q = 3, N_K = 10 };

static float scratch[120000];
static const int64_t limit = (int64_t)1 << 30;

/* Bounds of either call; a macro: a failure tells the line of the case. */
#define EVERY_BAD_BOUND(bounds, good, ...)                                                                             \
    do {                                                                                                               \
        static const int32_t beyond[] = {0, 10, 11, 0, 0, 0}, below[] = {0, 0, 0, 0, -1, 0}, right[6] = {0};           \
        BAD_BOUND(bounds, good, (bounds).begin = beyond, POSENC_ERR_MASK, __VA_ARGS__);                                \
        BAD_BOUND(bounds, good, (bounds).end = beyond, POSENC_ERR_MASK, __VA_ARGS__);                                  \
        BAD_BOUND(bounds, good, (bounds).begin = below, POSENC_ERR_MASK, __VA_ARGS__);                                 \
        BAD_BOUND(bounds, good, (bounds).end = below, POSENC_ERR_MASK, __VA_ARGS__);                                   \
        BAD_BOUND(bounds, good, (bounds).end = shifted(right, 1), POSENC_ERR_STRIDE, __VA_ARGS__);                     \
        BAD_BOUND(bounds, good, (bounds).begin = shifted(right, 2), POSENC_ERR_STRIDE, __VA_ARGS__);                   \
        BAD_BOUND(bounds, good, (bounds).end = right; (bounds).query_stride = -1, POSENC_ERR_SHAPE, __VA_ARGS__);      \
        BAD_BOUND(bounds, good, (bounds).end = right; (bounds).batch_stride = -1, POSENC_ERR_SHAPE, __VA_ARGS__);      \
        BAD_BOUND(bounds, good, (bounds).end = right;                                                                  \
                  (bounds).query_stride = INT64_MAX, POSENC_ERR_SHAPE, __VA_ARGS__);                                   \
        BAD_BOUND(bounds, good, (bounds).end = right;                                                                  \
                  (bounds).batch_stride = INT64_MAX, POSENC_ERR_SHAPE, __VA_ARGS__);                                   \
    } while (0)

#define BAD_BOUND(bounds, good, change, status, ...)                                                                   \
    change;                                                                                                            \
    RETURNS(status, __VA_ARGS__);                                                                                      \
    bounds = good

static posenc_index_args good_index(void) {
    return (posenc_index_args){
        .q = posenc_view_dense(in, POSENC_F32, 8, HEADS_OF_INDEX, N_Q, 2),
        .k = posenc_view_dense(in, POSENC_F32, 8, 1, N_K, 2),
        .weights = posenc_view_dense(rows_a, POSENC_F32, 1, HEADS_OF_INDEX, N_Q, 2),
        .scores = posenc_view_dense(out, POSENC_F32, N_K, N_Q, 1, 2),
        .bounds = {NULL, NULL, 1, N_Q},
    };
}

void test_index_scores(void **state) {
    (void)state;
    const posenc_index_args good = good_index();
    posenc_index_args a = good;
    posenc_range all = posenc_range_all();
    RETURNS(POSENC_ERR_NULL, posenc_index_scores, NULL, scratch, sizeof scratch, all);
    RETURNS(POSENC_ERR_NULL, posenc_index_scores, &a, NULL, sizeof scratch, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_index_scores, &a, shifted(scratch, 1), sizeof scratch, all);
#define BAD_INDEX(status, change)                                                                                      \
    change;                                                                                                            \
    RETURNS(status, posenc_index_scores, &a, scratch, sizeof scratch, all);                                            \
    a = good
    BAD_INDEX(POSENC_ERR_NULL, a.q.data = NULL);
    BAD_INDEX(POSENC_ERR_NULL, a.k.data = NULL);
    BAD_INDEX(POSENC_ERR_NULL, a.weights.data = NULL);
    BAD_INDEX(POSENC_ERR_NULL, a.scores.data = NULL);
    BAD_INDEX(POSENC_ERR_DTYPE, a.q.dtype = POSENC_Q8_0);
    BAD_INDEX(POSENC_ERR_DTYPE, a.k.dtype = (posenc_dtype)99);
    BAD_INDEX(POSENC_ERR_DTYPE, a.weights = posenc_view_dense(in, POSENC_F16, 1, HEADS_OF_INDEX, N_Q, 2));
    BAD_INDEX(POSENC_ERR_DTYPE, a.scores = posenc_view_dense(out, POSENC_BF16, N_K, N_Q, 1, 2));
    BAD_INDEX(POSENC_ERR_SHAPE, a.k.dtype = POSENC_Q8_0); /* blocks of 32 */
    BAD_INDEX(POSENC_ERR_SHAPE, a.k.ne[0] = 7);
    BAD_INDEX(POSENC_ERR_N_HEADS, a.k.ne[1] = 2);
    BAD_INDEX(POSENC_ERR_N_HEADS, a.k.ne[1] = 0);
    BAD_INDEX(POSENC_ERR_SHAPE, a.k.ne[2] = N_K - 1);
    BAD_INDEX(POSENC_ERR_SHAPE, a.k.ne[3] = 1);
    BAD_INDEX(POSENC_ERR_SHAPE, a.q.ne[1] = HEADS_OF_INDEX - 1);
    BAD_INDEX(POSENC_ERR_SHAPE, a.q.ne[2] = N_Q - 1);
    BAD_INDEX(POSENC_ERR_SHAPE, a.weights.ne[0] = 2; a.weights.nb[1] = 8);
    BAD_INDEX(POSENC_ERR_SHAPE, a.scores.ne[1] = N_Q - 1);
    BAD_INDEX(POSENC_ERR_SHAPE, a.scores = posenc_view_dense(out, POSENC_F32, N_K, N_Q, 2, 2));
    BAD_INDEX(POSENC_ERR_SHAPE, a.scores.ne[3] = 1);
    BAD_INDEX(POSENC_ERR_HEAD_DIM, a.q.ne[0] = a.k.ne[0] = 0);
    BAD_INDEX(POSENC_ERR_STRIDE, a.k.nb[2] = 3);
    BAD_INDEX(POSENC_ERR_STRIDE, a.scores.nb[1] = 4 * (N_K - 1));
    BAD_INDEX(POSENC_ERR_OVERLAP, a.q.data = out);
    BAD_INDEX(POSENC_ERR_OVERLAP, a.k.data = out + N_K);
    BAD_INDEX(POSENC_ERR_OVERLAP, a.weights.data = out + 2 * N_K * N_Q - 1);
    EVERY_BAD_BOUND(a.bounds, good.bounds, posenc_index_scores, &a, scratch, sizeof scratch, all);
    RETURNS(POSENC_ERR_ROWS, posenc_index_scores, &a, scratch, sizeof scratch, ((posenc_range){0, 3}));
    RETURNS(POSENC_ERR_ROWS, posenc_index_scores, &a, scratch, sizeof scratch, ((posenc_range){-1, 1}));

    ANSWERS(== 2, posenc_index_unit_count, &a); /* one of each sequence */
    ANSWERS(== 0, posenc_index_unit_count, NULL);
    a.scores.ne[0] = -1;
    ANSWERS(== 0, posenc_index_unit_count, &a);
    a.scores.ne[0] = INT64_MAX;
    ANSWERS(== 0, posenc_index_unit_count, &a);
    a = good;
    a.q.ne[1] = INT64_MIN;
    ANSWERS(== 0, posenc_index_unit_count, &a);
    ANSWERS(== 0, posenc_index_workspace_bytes, 0);
    ANSWERS(== 0, posenc_index_workspace_bytes, POSENC_MAX_HEAD_DIM + 1);
    ANSWERS(<= sizeof scratch, posenc_index_workspace_bytes, 128);

    RETURNS(POSENC_ERR_WORKSPACE, posenc_index_scores, &good, scratch, posenc_index_workspace_bytes(8) - 1, all);
    posenc_view *views[] = {&a.q, &a.k, &a.weights, &a.scores};
    for (int i = 0; i < 4; i++) {
        a = good;
        views[i]->data = scratch;
        RETURNS(POSENC_ERR_OVERLAP, posenc_index_scores, &a, scratch, sizeof scratch, all);
    }
    static const int64_t nothing[4] = {N_K, 0, 1, 2}; /* no query; no key; no sequence */
    for (int dim = 1; dim < 4; dim++) {
        a = good;
        a.q.ne[2] = a.weights.ne[2] = a.scores.ne[1] = dim == 1 ? nothing[1] : N_Q;
        a.k.ne[2] = a.scores.ne[0] = dim == 2 ? 0 : N_K;
        a.q.ne[3] = a.k.ne[3] = a.weights.ne[3] = a.scores.ne[3] = dim == 3 ? 0 : 2;
        RETURNS(POSENC_OK, posenc_index_scores, &a, scratch, sizeof scratch, all);
    }
}

void test_top_k(void **state) {
    (void)state;
    const posenc_view good = posenc_view_dense(in, POSENC_F32, N_K, N_Q, 1, 2);
    const posenc_key_bounds good_bounds = {NULL, NULL, 1, N_Q};
    posenc_view scores = good;
    posenc_key_bounds bounds = good_bounds;
    posenc_range all = posenc_range_all();
    int32_t *keys = (int32_t *)(void *)out;
    enum { K = 4 };
    RETURNS(POSENC_ERR_WORKSPACE, posenc_top_k, &scores, NULL, K, keys, scratch,
            posenc_top_k_workspace_bytes(N_K, K) - 1, all);
    RETURNS(POSENC_ERR_NULL, posenc_top_k, NULL, NULL, K, keys, scratch, sizeof scratch, all);
    RETURNS(POSENC_ERR_NULL, posenc_top_k, &scores, NULL, K, NULL, scratch, sizeof scratch, all);
    RETURNS(POSENC_ERR_NULL, posenc_top_k, &scores, NULL, K, keys, NULL, sizeof scratch, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_top_k, &scores, NULL, K, keys, shifted(scratch, 2), sizeof scratch, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_top_k, &scores, NULL, K, shifted(keys, 1), scratch, sizeof scratch, all);
    static const int64_t bad_k[] = {0, -1, limit + 1, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 5; i++) {
        RETURNS(POSENC_ERR_SHAPE, posenc_top_k, &scores, NULL, bad_k[i], keys, scratch, sizeof scratch, all);
        ANSWERS(== 0, posenc_top_k_workspace_bytes, N_K, bad_k[i]);
    }
    ANSWERS(== 0, posenc_top_k_workspace_bytes, -1, K);
    ANSWERS(== 0, posenc_top_k_workspace_bytes, limit + 1, K);
    ANSWERS(<= sizeof scratch, posenc_top_k_workspace_bytes, N_K, limit);
    scores.data = NULL;
    RETURNS(POSENC_ERR_NULL, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, all);
    scores = posenc_view_dense(in, POSENC_F16, N_K, N_Q, 1, 2);
    RETURNS(POSENC_ERR_DTYPE, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, all);
    scores = good;
    scores.ne[0] = -1;
    RETURNS(POSENC_ERR_SHAPE, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, all);
    scores.ne[0] = limit + 1;
    scores.nb[1] = scores.nb[3] = 0;
    RETURNS(POSENC_ERR_SHAPE, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, all);
    scores = good;
    scores.nb[1] = 2;
    RETURNS(POSENC_ERR_STRIDE, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, all);
    scores = good;
    scores.data = out;
    RETURNS(POSENC_ERR_OVERLAP, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, all);
    scores.data = scratch;
    RETURNS(POSENC_ERR_OVERLAP, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_top_k, &good, NULL, K, keys, keys, sizeof scratch, all);
    scores.data = out + K * N_Q * 2 - 1;
    RETURNS(POSENC_ERR_OVERLAP, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, all);
    scores = good;
    EVERY_BAD_BOUND(bounds, good_bounds, posenc_top_k, &scores, &bounds, K, keys, scratch, sizeof scratch, all);
    RETURNS(POSENC_ERR_ROWS, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, ((posenc_range){0, 7}));
    RETURNS(POSENC_OK, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, ((posenc_range){6, 6}));
    scores.ne[1] = 0;
    RETURNS(POSENC_OK, posenc_top_k, &scores, NULL, K, keys, scratch, sizeof scratch, all);
}
