/* SPDX-License-Identifier: MIT */
/** @file
 * Which keys a query attends to, by an indexer (FORMULAS C.34): its scores of all keys, the k largest of them, and with
 * these as lists posenc_attention_run. DeepSeek-V3.2 and V4, GLM-5.
 *
 * Example: one new token, 64 heads of 128 channels of the indexer, 2048 keys of n_k
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

/** Which keys a query sees: key j if begin <= j < end, for query i of sequence b begin[b * batch_stride + i *
 * query_stride] and end likewise; NULL: 0, and n_k. Each is 0 .. n_k (POSENC_ERR_MASK); a query whose end is not beyond
 * its begin sees nothing. Causal behind a cache: end of query i is n_k - n_q + i + 1. */
typedef struct posenc_key_bounds {
    const int32_t *begin, *end;
    int64_t query_stride, batch_stride; /**< entries from query to query and sequence to sequence; 0: all have one */
} posenc_key_bounds;

/** The indexer's scores I_ij = sum_h w_ih relu(q_ih . k_j). Its factors (1 / sqrt(dim), 1 / sqrt(n_heads)) belong in
 * the weights. */
typedef struct posenc_index_args {
    posenc_view q;       /**< [dim, n_heads, n_q, n_batch]: f32, f16 or bf16 */
    posenc_view k;       /**< [dim, 1, n_k, n_batch], which all heads share: also Q8_0 or Q4_0 */
    posenc_view weights; /**< f32 [1, n_heads, n_q, n_batch] */
    posenc_view scores;  /**< f32 [n_k, n_q, 1, n_batch], written where the query sees the key; overlaps nothing */
    posenc_key_bounds bounds;
} posenc_index_args;

/** Number of tiles that posenc_index_scores cuts this into, by queries and by keys; 0 if the extents cannot be. */
POSENC_API int64_t posenc_index_tile_count(const posenc_index_args *args);

/** Bytes of scratch that a call (a thread) of posenc_index_scores needs; 0 if dim is not 1 .. POSENC_MAX_HEAD_DIM. */
POSENC_API size_t posenc_index_workspace_bytes(int64_t dim);

/** Computes the scores of an indexer, in this order, whatever the tiles are:
 *
 *     x_hj = chain of fma over the channels, ascending, from 0, in float32
 *     I_j = fma(w_h, 0 > x_hj ? 0 : x_hj, I_j) for each head, ascending, from 0
 *
 * A NaN among the products of a key makes its score NaN. Keys that a query does not see may hold anything.
 * dim: 1 .. POSENC_MAX_HEAD_DIM (POSENC_ERR_HEAD_DIM); any other extent may be 0, and n_k is at most 2^30
 * (POSENC_ERR_SHAPE). Heads of k: 1 (POSENC_ERR_N_HEADS). tiles: which of them to compute. scratch needs the alignment
 * of a float. Against the exact sum of the same numbers: |error| <= (dim + n_heads) 2^-24 sum_h |w_h| sum_c |q_hc k_jc|
 * to first order, in the range of float32. */
POSENC_API posenc_status posenc_index_scores(const posenc_index_args *args, void *scratch, posenc_range tiles);

/** Bytes of scratch that a call (a thread) of posenc_top_k needs; 0 if n_k or k is not in its range. */
POSENC_API size_t posenc_top_k_workspace_bytes(int64_t n_k, int64_t k);

/** Writes the numbers of the k largest scores of each row among the keys that its query sees, in descending order of
 * score, then POSENC_LIST_END where they are fewer. Of equal scores the lower number comes first; -0 and +0 are equal,
 * and NaN comes behind -inf. That is a score like others: bounds keep keys out of a list, -inf does not. Scores of keys
 * that the query does not see are not read.
 *
 * scores: f32 [n_k, n_q, n_heads, n_batch], n_k at most 2^30; bounds are shared by heads, NULL: every key. k: 1 .. 2^30
 * (POSENC_ERR_SHAPE). keys: int32 [n_batch][n_heads][n_q][k], those of the rows of the range are written; it does not
 * overlap the scores (POSENC_ERR_OVERLAP). For one head these are posenc_attention_lists {keys, k, k, n_q * k}. A row
 * is one query of one head: row = (batch * n_heads + head) * n_q + query. scratch needs the alignment of a float.
 * Time: in proportion to n_k + k, and at most four times as long for some scores as for others, most where all agree in
 * their upper 11 bits: sign, exponent and two more. */
POSENC_API posenc_status posenc_top_k(const posenc_view *scores, const posenc_key_bounds *bounds, int64_t k,
                                      int32_t *keys, void *scratch, posenc_range rows);

#ifdef __cplusplus
}
#endif
#endif
