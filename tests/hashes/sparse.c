/* SPDX-License-Identifier: MIT */
/* Hash of sparse attention's indexer: scores, and the keys of the k largest. */
#include "public.h"

enum { QUERIES = 5, BATCH = 2 };

static void hash_top_k(sweep *s, const posenc_view *scores, const posenc_key_bounds *bounds, int64_t k) {
    int64_t n_rows = scores->ne[1] * scores->ne[2] * scores->ne[3];
    void *scratch = take(ASK(posenc_top_k_workspace_bytes, scores->ne[0], k));
    int32_t *keys = take((size_t)(n_rows * k) * sizeof *keys);
    CALL(posenc_top_k, scores, bounds, k, keys, scratch, posenc_top_k_workspace_bytes(scores->ne[0], k),
         posenc_range_all());
    hash_integers(s, keys, (size_t)(n_rows * k));
}

void hash_sparse(sweep *s) {
    static const int64_t dims[] = {1, 40, 128}, head_counts[] = {1, 13, 64, 110}, key_counts[] = {1, 63, 300, 1100};
    for (size_t round = 0; round < 3 * COUNT(dims) * COUNT(head_counts); round++) {
        fresh();
        posenc_dtype type = (posenc_dtype)(round % 3), k_type = (posenc_dtype)(round / 2 % 3);
        int64_t dim = dims[round / 3 % 3], n_heads = head_counts[round % 4], n_k = key_counts[round / 5 % 4];
        posenc_key_bounds bounds = {NULL, NULL, 1, QUERIES};
        if (round % 2) {
            bounds.begin = integers(s, QUERIES * BATCH, 0, (int32_t)(n_k / 3));
            bounds.end = integers(s, QUERIES * BATCH, 0, (int32_t)n_k);
        }
        posenc_index_args args = {
            .q = tensor(s, type, dim, n_heads, QUERIES, BATCH),
            .k = tensor(s, k_type, dim, 1, n_k, BATCH),
            .weights = tensor(s, POSENC_F32, 1, n_heads, QUERIES, BATCH),
            .scores = zeros(POSENC_F32, n_k, QUERIES, 1, BATCH),
            .bounds = bounds,
        };
        void *scratch = take(ASK(posenc_index_workspace_bytes, dim));
        hash_bytes(&s->hash, (uint64_t)ASK(posenc_index_unit_count, &args), 8);
        CALL(posenc_index_scores, &args, scratch, posenc_index_workspace_bytes(args.q.ne[0]), posenc_range_all());
        hash_view(s, &args.scores);
        hash_top_k(s, &args.scores, &bounds, 1 + (int64_t)round * 7);
        posenc_view any = adversarial(s, POSENC_F32, n_k, QUERIES, 1, BATCH);
        hash_top_k(s, &any, NULL, 1 + n_k / 2);
    }
}
