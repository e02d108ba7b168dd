/* SPDX-License-Identifier: MIT */
/** @file
 * Sparse attention: scores of an indexer, their k largest, lists for posenc_attention_run (C.34;
 * DeepSeek-V3.2).
 *
 *     posenc_index_args index = {
 *         .q = posenc_view_dense(index_q, POSENC_BF16, 128, 64, 1, 1),
 *         .k = posenc_view_dense(index_k, POSENC_BF16, 128, 1, n_k, 1),
 *         .weights = posenc_view_dense(w, POSENC_F32, 1, 64, 1, 1),
 *         .scores = posenc_view_dense(scores, POSENC_F32, n_k, 1, 1, 1),
 *     };
 *     posenc_status status = posenc_index_scores(&index, scratch, sizeof scratch, posenc_range_all());
 *     if (status == POSENC_OK)
 *         status = posenc_top_k(&index.scores, NULL, 2048, keys, scratch, sizeof scratch, posenc_range_all());
 *     posenc_attention_lists lists = {keys, 2048, 2048, 2048, 0, 0};
 *     args.lists = &lists;
 */
#ifndef POSENC_SPARSE_H
#define POSENC_SPARSE_H

#include <posenc/attention.h>

POSENC_BEGIN_C

/** Keys begin <= j < end of query i of sequence b: begin[b * batch_stride + i * query_stride] and end likewise, 0..n_k
 * (POSENC_ERR_MASK). NULL: 0, and n_k. */
typedef struct posenc_key_bounds {
    const int32_t *begin, *end;
    int64_t query_stride, batch_stride; /**< in entries; 0: shared */
} posenc_key_bounds;

/** Indexer: I_ij = sum_h w_ih relu(q_ih . k_j). Its factors (1 / sqrt(dim), 1 / sqrt(n_heads)) belong in the weights.
 */
typedef struct posenc_index_args {
    posenc_view q;       /**< [dim, n_heads, n_q, n_batch], any type */
    posenc_view k;       /**< [dim, 1, n_k, n_batch], shared by the heads; also blocks */
    posenc_view weights; /**< f32 [1, n_heads, n_q, n_batch] */
    posenc_view scores;  /**< output, f32 [n_k, n_q, 1, n_batch], only for keys within bounds; overlaps nothing */
    posenc_key_bounds bounds;
} posenc_index_args;

/** Number of work units of posenc_index_scores; 0 if extents are invalid. */
POSENC_API int64_t posenc_index_unit_count(const posenc_index_args *args);

/** Bytes of scratch for one thread; 0 if dim is not 1..POSENC_MAX_HEAD_DIM. */
POSENC_API size_t posenc_index_workspace_bytes(int64_t dim);

/** Computes indexer scores. Keys outside the bounds may hold anything. dim: 1..POSENC_MAX_HEAD_DIM.
 * n_k: at most 2^30. units: range of work units. scratch: as for posenc_attention. */
POSENC_API posenc_status posenc_index_scores(const posenc_index_args *args, void *scratch, size_t scratch_bytes,
                                             posenc_range units);

/** Bytes of scratch for one thread; 0 if n_k or k is out of range. */
POSENC_API size_t posenc_top_k_workspace_bytes(int64_t n_k, int64_t k);

/** Writes the keys of the k largest scores of each row (of scores), in descending order, then POSENC_LIST_END.
 *
 *     scores   f32 [n_k, n_q, n_heads, n_batch], n_k <= 2^30
 *     bounds   shared by the heads; NULL: every key
 *     k        1..2^30
 *     keys     int32 [n_batch][n_heads][n_q][k], apart
 *              as posenc_attention_lists {keys, k, k, n_heads * n_q * k, n_q * k, n_heads}
 *     scratch  posenc_top_k_workspace_bytes or more (POSENC_ERR_WORKSPACE), aligned as a float
 *
 * Equal scores: the lower key first. NaN comes after -inf. Only bounds exclude keys; -inf does not. */
POSENC_API posenc_status posenc_top_k(const posenc_view *scores, const posenc_key_bounds *bounds, int64_t k,
                                      int32_t *keys, void *scratch, size_t scratch_bytes, posenc_range rows);

POSENC_END_C
#endif
