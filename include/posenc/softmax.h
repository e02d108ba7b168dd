/* SPDX-License-Identifier: MIT */
/** @file
 * Softmax of attention logits: scale, soft cap, biases, masks and sinks in one call (C.22 - C.28).
 *
 * Example: causal with ALiBi, 32 heads, 8 queries behind a KV cache of n_k - 8 keys
 *
 *     posenc_score_params params = posenc_score_params_of(0.0883883f, posenc_mask_causal());
 *     params.bias.alibi_slopes = slopes;
 *     params.n_heads = 32;
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, n_k, 8, 32, 1);
 *     posenc_status status = posenc_softmax(&params, &s, &s, posenc_range_all());
 */
#ifndef POSENC_SOFTMAX_H
#define POSENC_SOFTMAX_H

#include <posenc/bias.h>

POSENC_BEGIN_C

/** Relative term (relative.h). */
typedef struct posenc_relative {
    const posenc_view *products; /**< f32 [n_rows, n_q or n_k, n_heads, n_batch], or strides of 0 */
    const posenc_rel_index *index;
} posenc_relative;

/** Output of a row whose logits are all -inf (with a finite sink: zeros). */
typedef enum posenc_fully_masked_row {
    POSENC_FULLY_MASKED_ZEROS,   /**< FlashAttention */
    POSENC_FULLY_MASKED_UNIFORM, /**< 1/n_k for every key */
    POSENC_FULLY_MASKED_NAN      /**< PyTorch */
} posenc_fully_masked_row;

/** Output of keys masked by position (unless positions are given), lengths, documents or block_mask. */
typedef enum posenc_masked_output {
    POSENC_MASKED_WRITTEN,  /**< 0, or -inf for logits */
    POSENC_MASKED_UNTOUCHED /**< groups of POSENC_MASKED_GROUP masked keys, and fully masked rows, are not written: for
                                    outputs that hold zeros */
} posenc_masked_output;

#define POSENC_MASKED_GROUP 32

/** Biases; NULL: absent. */
typedef struct posenc_score_bias {
    const float *alibi_slopes;  /**< ALiBi: [n_heads], finite */
    int64_t alibi_batch_stride; /**< in floats; 0: all sequences have the same slopes */
    /** Clamped, or covering posenc_rel_bias_range of mask, starts, n_q and n_k (POSENC_ERR_OFFSETS), like the indices
     * of by_query and by_key. Given positions: all offsets that the mask allows. */
    const posenc_rel_bias *relative;
    const posenc_view *tensor;  /**< scores of any type; extents of 1, but n_k, are shared */
    const float *tensor_slopes; /**< [n_heads], ggml's slope * mask; > 0 where the tensor is -inf; NULL: 1 */
    posenc_relative by_query;   /**< by_query.products[index[offset],i,h,b] */
    posenc_relative by_key;     /**< by_key.products[index[offset],j,h,b]; |nb[1]| < 2^28 */
} posenc_score_bias;

/** Positions. Key j has position j unless `keys` is given. */
typedef struct posenc_score_positions {
    /** Position of query 0, >= -2^30. POSENC_ALIGN_LAST_KEY, the default, is n_k - n_q, or k_end[b] - n_q, and refuses
     * sequences with fewer keys than queries, where positions matter (POSENC_ERR_POSITION). */
    int64_t query_start;
    const int32_t *query_starts; /**< [n_batch], for each sequence, instead of query_start */
    /** [n_q] and [n_k], below 2^30 in size, shared by all sequences, instead of a start. Empty cells of a cache: 2^30 -
     * 1, and a finite v. */
    const int32_t *queries, *keys;
} posenc_score_positions;

typedef struct posenc_score_sequences {
    const int32_t *k_begin, *k_end; /**< [n_batch], real keys are k_begin <= j < k_end; NULL: 0, n_k */
    /** Packed documents: keys j, and queries at start + i, with cu_seqlens[d] <= . < cu_seqlens[d + 1] see each other.
     * n_seqs + 1 entries, ascending from 0. NULL: one document. */
    const int32_t *cu_seqlens;
    int64_t n_seqs;
    /** [n_batch]: position from which the mask's chunk and n_first count, at most 2^30 in size (POSENC_ERR_POSITION);
     * NULL: 0. k_begin itself for left padding, as Hugging Face Transformers counts chunks. */
    const int32_t *origins;
} posenc_score_sequences;

/** Logit of key j, in float32:
 *
 *     s_j = x_j + by_query_j + by_key_j
 *     b_j = -(slope_h |offset_j|) + relative_h[offset_j] + tensor_slope_h tensor_j,   offset_j = key - query position
 *     l_j = scale s_j + b_j,   or with a soft cap   cap tanh(scale s_j / cap) + b_j
 *
 * **Begin with posenc_score_params_of: in zeros query_start is 0, and the mask {0, 0}, a query's own key.** Refused:
 * POSENC_MASK_UNSET (POSENC_ERR_MASK_UNSET), scale 0 where there are scores (POSENC_ERR_UNSET). */
typedef struct posenc_score_params {
    float scale;        /**< finite, not 0: 1 / sqrt(head_dim), or 1 where Q has it */
    float cap;          /**< soft cap (Gemma 2: 50), finite, at least FLT_MIN; 0: none */
    const float *sinks; /**< [n_heads], logits of sinks (gpt-oss); finite or -inf; NULL: none */
    int64_t n_heads;    /**< length of sinks, alibi_slopes, tensor_slopes (POSENC_ERR_N_HEADS); else not read */
    int64_t n_batch;    /**< length of query_starts, k_begin, k_end, origins (POSENC_ERR_SHAPE); else not read */
    posenc_score_bias bias;
    posenc_mask mask;
    const posenc_bool_mask *bool_mask; /**< in addition; NULL: none */
    const posenc_block_mask *block_mask;
    const posenc_tree *tree; /**< in addition; NULL: none. Not with bool_mask, documents, query_start */
    posenc_score_positions positions;
    posenc_score_sequences sequences;
    posenc_fully_masked_row fully_masked;
    posenc_masked_output masked_output; /**< not for attention */
} posenc_score_params;

#define POSENC_SCORE_DEFAULTS                                                                                          \
    {                                                                                                                  \
        0.0f, 0.0f, NULL, 0, 0, {NULL, 0, NULL, NULL, NULL, {NULL, NULL}, {NULL, NULL}}, POSENC_MASK_UNSET, NULL,      \
            NULL, NULL, {POSENC_ALIGN_LAST_KEY, NULL, NULL, NULL}, {NULL, NULL, NULL, 0, NULL},                        \
            POSENC_FULLY_MASKED_ZEROS, POSENC_MASKED_WRITTEN                                                           \
    }

static inline posenc_score_params posenc_score_params_of(float scale, posenc_mask mask) {
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.scale = scale;
    params.mask = mask;
    return params;
}

/** Computes y_j = exp(l_j - max l) / sum exp(l - max l), 0 for masked keys. x, y: scores, any type, the same view or
 * apart. Probabilities below FLT_MIN are 0. A NaN or +inf logit makes the unmasked
 * entries of its row NaN. Keys masked by position, lengths, documents or block_mask are not read. **Not seen: a view
 * unlike its memory (posenc_view).** */
POSENC_API posenc_status posenc_softmax(const posenc_score_params *params, const posenc_view *x, const posenc_view *y,
                                        posenc_range rows);

/** Writes the logits l_j, -inf for masked keys. x NULL: s_j starts from 0. sinks and fully_masked are not used. */
POSENC_API posenc_status posenc_logits(const posenc_score_params *params, const posenc_view *x, const posenc_view *y,
                                       posenc_range rows);

/** Writes the lists of a block mask from the masks of params: position, lengths, documents, bool_mask. ne: extents of
 * the scores. The mask's sizes, strides and n_max (n_k / k_block rounded up, or more) are set, and its arrays are
 * written. Full blocks of shared lists are seen by all heads and sequences, partial ones by some. */
POSENC_API posenc_status posenc_block_mask_build(const posenc_score_params *params, const int64_t ne[4],
                                                 const posenc_block_mask *mask);

/** Largest logit of a row, sink included, and the sum of exp(l - max); -inf and 0 for none. */
typedef struct posenc_softmax_sum {
    float max, sum;
} posenc_softmax_sum;

/** Computes y_j = exp(l_j - max) and sums[row] (an entry for each row of the tensor), to divide later, or for a row in
 * partitions (the sink in one). A partition without unmasked keys is 0. */
POSENC_API posenc_status posenc_softmax_partial(const posenc_score_params *params, const posenc_view *x,
                                                const posenc_view *y, posenc_softmax_sum *sums, posenc_range rows);

/** Combines partitions of a row: multiply results over a by *factor_a, over b by *factor_b; *combined is the sum of
 * both.
 */
POSENC_API posenc_status posenc_softmax_combine(const posenc_softmax_sum *a, const posenc_softmax_sum *b,
                                                posenc_softmax_sum *combined, float *factor_a, float *factor_b);

POSENC_END_C
#endif
