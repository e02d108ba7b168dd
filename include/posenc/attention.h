/* SPDX-License-Identifier: MIT */
/** @file
 * Fused attention, out = softmax(logits of Q K^T) V, without a score matrix (C.32).
 *
 * Example: causal, 8 query heads share 2 KV heads
 *
 *     posenc_score_params params = posenc_score_params_of(0.125f, posenc_mask_causal());
 *     posenc_view q = posenc_view_dense(queries, POSENC_F32, 64, 8, n_q, 1);
 *     posenc_view k = posenc_view_dense(keys, POSENC_F32, 64, 2, n_q, 1);
 *     posenc_view v = posenc_view_dense(values, POSENC_F32, 64, 2, n_q, 1);
 *     posenc_view o = posenc_view_dense(out, POSENC_F32, 64, 8, n_q, 1);
 *     posenc_status status = posenc_attention(&params, &q, &k, &v, &o, scratch, scratch_bytes, posenc_range_all());
 */
#ifndef POSENC_ATTENTION_H
#define POSENC_ATTENTION_H

#include <posenc/rope.h>
#include <posenc/softmax.h>

POSENC_BEGIN_C

/** Number of work units, for threads to share: up to 96 (query, head) pairs of one KV head each. 0: shapes do not fit.
 */
POSENC_API int64_t posenc_attention_unit_count(const posenc_view *q, const posenc_view *k);

/** Bytes of scratch for one thread (head_dim 128: 1.5 MB); 0: refused. */
POSENC_API size_t posenc_attention_workspace_bytes(int64_t head_dim, int64_t v_dim);

/** Arithmetic, with its error of max |v|. BF16X2, BF16X3: infinite numbers may make NaN. */
typedef enum posenc_attention_math {
    POSENC_MATH_F32,    /**< 4e-6: float32 */
    POSENC_MATH_INT16,  /**< 2e-5: integers for blocks from key 128 on; else as F32 */
    POSENC_MATH_BF16,   /**< 5e-4: rounds all to bf16; for prompts, with AMX */
    POSENC_MATH_BF16X2, /**< 2e-5 for tensors of bf16: weights of 16 bits */
    POSENC_MATH_BF16X3  /**< 4e-6 for any type; slow without AMX */
} posenc_attention_math;

/** Paged KV cache: key j of sequence b is row j % page_size of page table[b * stride + j / page_size]. */
typedef struct posenc_attention_pages {
    const int32_t *table;
    int64_t stride; /**< in entries; 0: all sequences have the same pages */
    int64_t n_k;    /**< keys of the longest sequence; lengths: sequences.k_end */
} posenc_attention_pages;

/** Ends a list of keys that is shorter than n_max. */
#define POSENC_LIST_END (-1)

/** Sparse attention: query i of sequence b sees keys[b * batch_stride + g * head_stride + i * query_stride + t], t <
 * n_max, up to the first POSENC_LIST_END (C.33), in the query heads h with h / (q's n_heads / n_heads) = g. Any order;
 * k_begin[b] <= key < k_end[b] (POSENC_ERR_ROWS). Their numbers remain positions and rows of k_table. Masked keys in a
 * list need a finite v. Not with per-key arrays: bias.tensor, by_key, bool_mask, block_mask, tree, cu_seqlens, n_first
 * (POSENC_ERR_MASK), given positions (POSENC_ERR_POSITION). */
typedef struct posenc_attention_lists {
    const int32_t *keys;
    int64_t n_max;                      /**< 0..2^30 */
    int64_t query_stride, batch_stride; /**< in entries; 0: queries, or sequences, share one */
    int64_t head_stride;                /**< in entries; 0: heads share one, and n_heads is not read */
    /** Heads with a list each (POSENC_ERR_N_HEADS): q's n_heads (MoBA), n_kv_heads (NSA, MiniMax M3, eviction by head;
     * reads fewer rows), or between. */
    int64_t n_heads;
} posenc_attention_lists;

/** Members that are NULL are absent. */
typedef struct posenc_attention_args {
    const posenc_score_params *params;
    posenc_view q, k, v, out; /**< see posenc_attention_run */
    /** Output, f32 [1, n_heads, n_q, n_batch], apart: ln of the sum of exp(logit), sink included; -inf if that is 0. */
    const posenc_view *lse;
    /** Un-rotated KV cache: row j of k_table rotates key j on load, FORWARD. Both or neither; rope->head_dim is k's. */
    const posenc_rope *k_rope;
    const posenc_rope_table *k_table;
    /** k and v are [dim, n_kv_heads, page_size, n_pages]. Pages of all keys below k_end must exist
     * (POSENC_ERR_ROWS). */
    const posenc_attention_pages *pages;
    posenc_attention_math math;
    const posenc_attention_lists *lists;
} posenc_attention_args;

static inline posenc_attention_args posenc_attention_args_of(const posenc_score_params *params, const posenc_view *q,
                                                             const posenc_view *k, const posenc_view *v,
                                                             const posenc_view *out) {
    posenc_attention_args args = {params, *q, *k, *v, *out, NULL, NULL, NULL, NULL, POSENC_MATH_F32, NULL};
    return args;
}

/** Computes attention with the logits of softmax.h.
 *
 *     q     [head_dim, n_heads, n_q, n_batch]      any type
 *     k     [head_dim, n_kv_heads, n_k, n_batch]   also blocks
 *     v     [v_dim, n_kv_heads, n_k, n_batch]      also blocks; may be a view into k
 *     out   [v_dim, n_heads, n_q, n_batch]         any type, apart
 *
 * n_kv_heads divides n_heads; query head h uses KV head h / (n_heads / n_kv_heads). head_dim, v_dim:
 * 1..POSENC_MAX_HEAD_DIM. Refused: POSENC_FULLY_MASKED_UNIFORM (POSENC_ERR_ENUM). units: range of work units.
 * scratch: of this thread, posenc_attention_workspace_bytes or more (POSENC_ERR_WORKSPACE), aligned as a float. k and v
 * of masked keys may hold
 *
 *     masked by position, lengths or documents    anything
 *     bias.tensor -inf at an end of a key block   anything, if tensor_slopes > 0
 *     bias.tensor -inf between unmasked keys      finite v, and a score that is not NaN
 *     bool_mask, tree, given positions, lists     finite v; likewise in panels of listed blocks
 *
 * Key blocks (512 keys) and panels (32) that a work unit's queries all have masked are not read. **Not seen: a
 * view unlike its memory (posenc_view); query_start forgotten for a whole cache, avoided by posenc_step (step.h).** */
POSENC_API posenc_status posenc_attention_run(const posenc_attention_args *args, void *scratch, size_t scratch_bytes,
                                              posenc_range units);

static inline posenc_status posenc_attention(const posenc_score_params *params, const posenc_view *q,
                                             const posenc_view *k, const posenc_view *v, const posenc_view *out,
                                             void *scratch, size_t scratch_bytes, posenc_range units) {
    if (q == NULL || k == NULL || v == NULL || out == NULL)
        return posenc_attention_run(NULL, scratch, scratch_bytes, units); /* POSENC_ERR_NULL */
    posenc_attention_args args = posenc_attention_args_of(params, q, k, v, out);
    return posenc_attention_run(&args, scratch, scratch_bytes, units);
}

/* ---- Split-KV (flash-decoding): threads share the keys of a work unit ----
 *
 * For fewer work units than threads, as in decode. Bit-identical to posenc_attention_run. */

/** Keys of a partition. */
#define POSENC_ATTENTION_SEGMENT 4096

/** Number of partitions: work units times segments; 0: refused. */
POSENC_API int64_t posenc_attention_split_count(const posenc_attention_args *args);

/** Bytes of `partitions`, the memory of all partitions; 0 if too many. */
POSENC_API size_t posenc_attention_split_bytes(const posenc_attention_args *args);

/** Computes a range of partitions with scratch of this thread. Combine when all are done. */
POSENC_API posenc_status posenc_attention_split(const posenc_attention_args *args, void *scratch, size_t scratch_bytes,
                                                void *partitions, size_t partitions_bytes, posenc_range range);
/** Combines the partitions of work units and writes their outputs. */
POSENC_API posenc_status posenc_attention_combine_splits(const posenc_attention_args *args, const void *partitions,
                                                         size_t partitions_bytes, posenc_range units);

/* ---- Ragged batches (varlen) ---- */

/** Sequences with different numbers of queries, as prefill beside decode. q, out and lse are [.., n_heads, n_tokens,
 * 1]; tokens cu_q[b] <= i < cu_q[b + 1] are the queries of sequence b. */
typedef struct posenc_attention_ragged {
    const int32_t *cu_q; /**< [n_batch + 1], ascending from 0 to n_tokens (POSENC_ERR_SHAPE) */
    const int32_t *cu_k; /**< keys likewise, in k and v of one sequence; NULL: k and v have n_batch, or pages */
    int64_t n_batch;
} posenc_attention_ragged;

/** Number of work units; 0: refused. */
POSENC_API int64_t posenc_attention_ragged_unit_count(const posenc_attention_args *args,
                                                      const posenc_attention_ragged *ragged);

/** Computes each sequence as posenc_attention_run does alone, bit for bit: its queries and keys count from 0. Starts,
 * lengths and slopes have n_batch entries, lists n_tokens. Not with arrays by query or key: bool_mask, tree,
 * cu_seqlens, bias.tensor, by_query, by_key (POSENC_ERR_MASK), given positions (POSENC_ERR_POSITION). */
POSENC_API posenc_status posenc_attention_run_ragged(const posenc_attention_args *args,
                                                     const posenc_attention_ragged *ragged, void *scratch,
                                                     size_t scratch_bytes, posenc_range units);

/* ---- Attention over different keys, combined ---- */

/** Result of attention over some keys. */
typedef struct posenc_attention_state {
    posenc_view out; /**< [v_dim, n_heads, n_q, n_batch] */
    posenc_view lse; /**< f32 [1, n_heads, n_q, n_batch] */
} posenc_attention_state;

/** Combines results over disjoint sets of keys by their lse, a sink in one of them. a and b have one type. combined
 * may be a or b, or is apart. */
POSENC_API posenc_status posenc_attention_combine(const posenc_attention_state *a, const posenc_attention_state *b,
                                                  const posenc_attention_state *combined, posenc_range rows);

/** Computes attention plainly, for tests; also POSENC_FULLY_MASKED_UNIFORM. probabilities: output, f32 scores,
 * apart; NULL: allocated. */
POSENC_API posenc_status posenc_attention_reference(const posenc_score_params *params, const posenc_view *q,
                                                    const posenc_view *k, const posenc_view *v, const posenc_view *out,
                                                    const posenc_view *probabilities);

POSENC_END_C
#endif
