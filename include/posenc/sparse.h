/* SPDX-License-Identifier: MIT */
/** @file
 * Sparse attention by an indexer: its scores, and the k largest as lists for posenc_attention_run (FORMULAS C.34).
 *
 * DeepSeek-V3.2 and V4, GLM-5. Example: one new token, 64 indexer heads of 128 channels, 2048 of n_k keys
 *
 *     posenc_index_args index = {
 *         .q = posenc_view_dense(index_q, POSENC_BF16, 128, 64, 1, 1),
 *         .k = posenc_view_dense(index_k, POSENC_BF16, 128, 1, n_k, 1),
 *         .weights = posenc_view_dense(w, POSENC_F32, 1, 64, 1, 1),
 *         .scores = posenc_view_dense(scores, POSENC_F32, n_k, 1, 1, 1),
 *     };
 *     posenc_status status = posenc_index_scores(&index, scratch, posenc_range_all());
 *     if (status == POSENC_OK)
 *         status = posenc_top_k(&index.scores, NULL, 2048, keys, top_k_scratch, posenc_range_all());
 *     posenc_attention_lists lists = {keys, 2048, 2048, 2048};
 *     args.lists = &lists; // of posenc_attention_run
 */
#ifndef POSENC_SPARSE_H
#define POSENC_SPARSE_H

#include <posenc/attention.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Range of keys that query i of sequence b sees: begin <= j < end, begin[b * batch_stride + i * query_stride] and end
 * likewise, each 0 .. n_k (POSENC_ERR_MASK). NULL: 0, and n_k. An empty range sees nothing. Causal with a cache: end of
 * query i is n_k - n_q + i + 1. */
typedef struct posenc_key_bounds {
    const int32_t *begin, *end;
    int64_t query_stride, batch_stride; /**< in entries; 0: all have one */
} posenc_key_bounds;

/** Indexer: I_ij = sum_h w_ih relu(q_ih . k_j). Multiply its factors (1 / sqrt(dim), 1 / sqrt(n_heads)) into the
 * weights. */
typedef struct posenc_index_args {
    posenc_view q;       /**< [dim, n_heads, n_q, n_batch], f32, f16 or bf16 */
    posenc_view k;       /**< [dim, 1, n_k, n_batch], shared by the heads (POSENC_ERR_N_HEADS); also Q8_0 or Q4_0 */
    posenc_view weights; /**< f32 [1, n_heads, n_q, n_batch] */
    posenc_view scores;  /**< output, f32 [n_k, n_q, 1, n_batch], only for keys within bounds; overlaps nothing */
    posenc_key_bounds bounds;
} posenc_index_args;

/** Number of tiles of posenc_index_scores, by queries and by keys, for threads to share; 0 if extents are invalid. */
POSENC_API int64_t posenc_index_tile_count(const posenc_index_args *args);

/** Bytes of scratch of one thread for posenc_index_scores; 0 if dim is not 1 .. POSENC_MAX_HEAD_DIM. */
POSENC_API size_t posenc_index_workspace_bytes(int64_t dim);

/** Computes the scores of an indexer (docs/numerics.md#sparse-attention). A NaN among the products of a key makes its
 * score NaN. Keys outside the bounds may hold anything. dim: 1 .. POSENC_MAX_HEAD_DIM (POSENC_ERR_HEAD_DIM); n_k: 0 ..
 * 2^30 (POSENC_ERR_SHAPE); other extents may be 0. tiles: range to compute. scratch: aligned as a float. */
POSENC_API posenc_status posenc_index_scores(const posenc_index_args *args, void *scratch, posenc_range tiles);

/** Bytes of scratch of one thread for posenc_top_k; 0 if n_k or k is out of range. */
POSENC_API size_t posenc_top_k_workspace_bytes(int64_t n_k, int64_t k);

/** Writes the keys of the k largest scores of each row within the bounds, in descending order, then POSENC_LIST_END.
 *
 *     scores   f32 [n_k, n_q, n_heads, n_batch], n_k at most 2^30; those outside the bounds are not read
 *     bounds   shared by the heads; NULL: every key
 *     k        1 .. 2^30 (POSENC_ERR_SHAPE)
 *     keys     int32 [n_batch][n_heads][n_q][k], apart from scores (POSENC_ERR_OVERLAP). For one head these are
 *              posenc_attention_lists {keys, k, k, n_q * k}
 *     scratch  aligned as a float
 *     rows     row = (batch * n_heads + head) * n_q + query
 *
 * Equal scores (also -0 and +0): the lower key first. NaN comes after -inf. -inf is a score; only bounds exclude keys.
 * Time is proportional to n_k + k, at most four times as long for the worst scores, those that agree in their upper 11
 * bits. */
POSENC_API posenc_status posenc_top_k(const posenc_view *scores, const posenc_key_bounds *bounds, int64_t k,
                                      int32_t *keys, void *scratch, posenc_range rows);

#ifdef __cplusplus
}
#endif
#endif
