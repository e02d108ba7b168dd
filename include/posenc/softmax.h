/* SPDX-License-Identifier: MIT */
/** @file
 * Raw attention scores to probabilities in one call (FORMULAS 0.3, C.3, C.22 - C.28).
 *
 *     s_j = x_j + by_query_j + by_key_j                            relative terms, query-dependent
 *     b_j = -(slope_h |offset_j|) + relative_h[offset_j] + tensor_slope_h tensor_j
 *     l_j = scale s_j + b_j                                        or cap tanh(scale s_j / cap) + b_j
 *     y_j = exp(l_j - max l) / sum exp(l - max l), and 0 for the keys that a mask forbids
 *
 * with offset_j = position of key j - position of the query. In float32, each term that is given: s_j and b_j are added
 * up in this order, tensor_slope * tensor joining by fma; l_j = fma(s_j, scale, b_j), or fma(tanh, cap, b_j).
 *
 * What to expect:
 *   - No bias matrix is built; each bias is one load more in the pass that makes the logits.
 *   - Work is proportional to the keys that position, lengths and documents allow. Others are set to 0, or are not even
 *     touched (output.masked), and their scores do not matter. Keys forbidden by bytes, or by a bias of -inf, are
 *     computed.
 *   - Probabilities below FLT_MIN are 0 (values within 2^-20 above it may be): none is denormal, unless as an f16.
 *   - A row whose every logit is -inf, or that may see no key, is what output.fully_masked says; with a finite sink,
 *     zeros. Keys that output.masked leaves stay what they are all the same.
 *   - A NaN or +inf among the logits makes every allowed entry of its row NaN.
 *   - Against the exact function of the same inputs, y in float32: |error| <= 2e-6 absolute for rows up to 2^20 keys
 *     with a score and one bias, while l and both are at most 16 in size. More terms, or larger ones, are rounded on
 *     their way into l, each time by 2^-24 of the sum so far (ALiBi far behind may cancel a score, and leave its own
 *     rounding): logits that are wrong by up to d multiply y by e^(-2d) to e^(2d), at most tanh(d / 2) on top. Soft
 *     cap: tanh within 1.51 ulp. f16 and bf16 results are rounded once more.
 *   - In float32, for rows up to 2^20 keys and logits of any size, each y_j that is not 0 is right relative to itself:
 *     |error| <= (3e-6 + 2^-24 (max l - l_j)) y_j against the exact softmax of what posenc_logits gives.
 *   - The sum is taken in a fixed order (key j joins lane j mod 32; every 512 keys the lanes move on to double), so the
 *     bits do not depend on instruction set, split, alignment, or on how a mask is given.
 *
 * Example: causal, 32 heads, 8 queries behind a KV cache of n_k - 8 keys: the last query stands at the last key
 *
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.scale = 0.0883883f;
 *     params.bias.alibi_slopes = slopes;
 *     params.mask = posenc_mask_causal();
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, n_k, 8, 32, 1);
 *     posenc_status status = posenc_softmax(&params, &s, &s, posenc_range_all());
 */
#ifndef POSENC_SOFTMAX_H
#define POSENC_SOFTMAX_H

#include <posenc/bias.h>
#include <posenc/mask.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A query-dependent term: products holds one float for each row of a relative table, index says which row an offset
 * stands for (relative.h makes both). */
typedef struct posenc_relative {
    const posenc_view *products; /**< f32 [n_rows, n_q or n_k, n_heads, n_batch], or strides of 0 */
    const posenc_rel_index *index;
} posenc_relative;

typedef enum posenc_fully_masked_row {
    POSENC_FULLY_MASKED_ZEROS = 0, /**< FlashAttention, ggml's flash attention */
    POSENC_FULLY_MASKED_UNIFORM,   /**< 1/n_k for every key (eager code with finite masks) */
    POSENC_FULLY_MASKED_NAN        /**< PyTorch with -inf, ggml's soft_max */
} posenc_fully_masked_row;

/** What becomes of the masked keys of a row, those that position, lengths or documents forbid: they are set to 0
 * (logits: -inf), or whole groups of POSENC_MASKED_GROUP of them, counted from key 0, stay what they are. Those that
 * share a group with an unmasked key are set all the same; a row of which they forbid every key is not written at all,
 * whatever output.fully_masked says. For an output that holds zeros already, because it is that of the layer before, or
 * a product with V that stops where the groups do: a causal prefill then reads and writes half. With given positions it
 * is lengths and documents only. */
typedef enum posenc_masked_output { POSENC_MASKED_WRITTEN = 0, POSENC_MASKED_UNTOUCHED } posenc_masked_output;

#define POSENC_MASKED_GROUP 32

/** What is added to the scores. Each that is not NULL. */
typedef struct posenc_score_bias {
    const float *alibi_slopes;  /**< ALiBi: [n_heads], finite; or for each sequence */
    int64_t alibi_batch_stride; /**< floats from sequence to sequence; 0: all have the same slopes */
    /** By relative position, of n_heads heads or shared. It is clamped, or covers posenc_rel_bias_range of mask,
     * query_start, n_q and n_k (sequences that start apart: from that of the least start to that of the greatest; given
     * positions: what the mask leaves between the least and the greatest of them), as do the indices of by_query and
     * by_key: documents, bytes and a query's place in its chunk do not shorten it. */
    const posenc_rel_bias *relative;
    const posenc_view *tensor; /**< f32, f16 or bf16 [n_k, n_q, n_heads, n_batch]; extents of 1 are shared, but n_k */
    /** [n_heads], finite; NULL: 1. ggml's slope * mask. More than 0 where the tensor is -inf: 0 times that is NaN, and
     * less makes +inf of it. */
    const float *tensor_slopes;
    posenc_relative by_query; /**< row of the query, by_query.products[index[offset], i, h, b] */
    posenc_relative by_key;   /**< row of the key, by_key.products[index[offset], j, h, b]; |nb[1]| < 2^28,
                               * and at most 2^30 rows (POSENC_ERR_STRIDE, POSENC_ERR_SHAPE) */
} posenc_score_bias;

/** Where queries and keys stand. Key j has position j unless positions are given. */
typedef struct posenc_score_positions {
    /** Position of query 0. POSENC_ALIGN_LAST_KEY, the default: the last query stands at the last key of its sequence,
     * so it is n_k - n_q, or k_end[b] - n_q. That is prefill, and decoding with a KV cache. A sequence of fewer keys
     * than queries (but of some) is refused then, where positions matter (POSENC_ERR_POSITION): if its queries are
     * padded like its keys, query i at key i, say POSENC_ALIGN_FIRST_KEY. */
    int64_t query_start;
    /** [n_batch]: the position of query 0 of each sequence, instead of query_start, which keeps its default */
    const int32_t *query_starts;
    /** Or positions [n_q] and [n_k] of all sequences, each below 2^30 in size, instead of a start; both or neither
     * (POSENC_ERR_NULL). A cell of a cache that holds no key is to be behind every query, at 2^30 - 1 say, under a
     * causal mask, and its v finite; -1 is a position like others. */
    const int32_t *queries, *keys;
} posenc_score_positions;

/** Which keys belong to a sequence. */
typedef struct posenc_score_sequences {
    const int32_t *k_begin, *k_end; /**< [n_batch]: real keys are k_begin <= j < k_end; NULL: 0, n_k */
    /** Packed documents: key j, and query i by its start plus i (whatever positions are given), belong to document d if
     * cu_seqlens[d] <= . < cu_seqlens[d + 1]; from 0, ascending; n_seqs + 1 entries. NULL: one. */
    const int32_t *cu_seqlens;
    int64_t n_seqs;
    /** [n_batch]: the position from which the mask's chunk and n_first count, at most 2^30 in size
     * (POSENC_ERR_POSITION); NULL: 0. Of sequences that are padded on the left, k_begin: their first chunk begins with
     * their first key, as in Hugging Face Transformers (since its pull request 40324). */
    const int32_t *origins;
} posenc_score_sequences;

/** What is written where there is nothing to see. */
typedef struct posenc_score_output {
    posenc_fully_masked_row fully_masked;
    posenc_masked_output masked; /**< of posenc_softmax, posenc_logits and posenc_softmax_partial alone */
} posenc_score_output;

/** Begin with POSENC_SCORE_DEFAULTS: scale 1, everything else absent, the last query at the position of the last key.
 * The mask has no default and has to be set. All zeros is another thing, and not refused: a scale of 0, and a mask that
 * shows each query the key at its own position alone. */
typedef struct posenc_score_params {
    float scale;        /**< finite */
    float cap;          /**< soft cap (Gemma 2: 50), finite, at least FLT_MIN; 0: none */
    const float *sinks; /**< [n_heads] logits that join maximum and sum only (gpt-oss); finite or -inf; NULL: none */
    posenc_score_bias bias;
    posenc_mask mask;                  /**< by position */
    const posenc_bool_mask *bool_mask; /**< by bytes, beside it; NULL: none */
    /** The queries are the tokens of a tree, beside the mask; NULL: none. Not with bool_mask, documents
     * (POSENC_ERR_MASK) or a query_start (POSENC_ERR_POSITION): the tree is at the end of each sequence. */
    const posenc_tree *tree;
    posenc_score_positions positions;
    posenc_score_sequences sequences;
    posenc_score_output output;
} posenc_score_params;

#define POSENC_SCORE_DEFAULTS                                                                                          \
    {                                                                                                                  \
        1.0f, 0.0f, NULL, {NULL, 0, NULL, NULL, NULL, {NULL, NULL}, {NULL, NULL}}, POSENC_MASK_UNSET, NULL, NULL,      \
            {POSENC_ALIGN_LAST_KEY, NULL, NULL, NULL}, {NULL, NULL, NULL, 0, NULL}, {                                  \
            POSENC_FULLY_MASKED_ZEROS, POSENC_MASKED_WRITTEN                                                           \
        }                                                                                                              \
    }

/** Computes softmax over scores, with scale, bias and mask. x and y: [n_k, n_q, n_heads, n_batch], the same view or no
 * overlap, each f32, f16 or bf16; arithmetic is float32, and an f16 or bf16 result is rounded once. A row is one query
 * of one head: row = (batch * n_heads + head) * n_q + query; a single query of 32 heads is 32 rows to share between
 * threads. A query_start is at least -2^30, query_start + n_q and n_k are at most 2^30 (POSENC_ERR_POSITION,
 * POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_softmax(const posenc_score_params *params, const posenc_view *x, const posenc_view *y,
                                        posenc_range rows);

/** Computes logits without softmax: scale, bias and mask. y_j = l_j, and -inf for forbidden keys. With x
 * NULL, s_j starts from 0: y is bias and mask written out, on which a matrix product can then be accumulated. sinks and
 * output.fully_masked are not used. */
POSENC_API posenc_status posenc_logits(const posenc_score_params *params, const posenc_view *x, const posenc_view *y,
                                       posenc_range rows);

/** Largest logit of a row (with its sink), and the sum of exp(l - max) over it; -inf and 0 for a row that is empty. */
typedef struct posenc_softmax_sum {
    float max;
    float sum;
} posenc_softmax_sum;

/** Computes exponentials and their sums, without dividing. y_j = exp(l_j - max) and sums[row], for a
 * caller that divides by the sum later: for all rows of the tensor, those of the range are written. A long row may be
 * taken in parts, each with its own sum (and the sink in one of them). A part that sees no key is 0, whatever
 * output.fully_masked says: others may not be. */
POSENC_API posenc_status posenc_softmax_partial(const posenc_score_params *params, const posenc_view *x,
                                                const posenc_view *y, posenc_softmax_sum *sums, posenc_range rows);

/** Combines two parts of one row: what was accumulated over a is to be multiplied by
 * *factor_a, over b by *factor_b, and *joined is the sum of both. */
POSENC_API posenc_status posenc_softmax_combine(const posenc_softmax_sum *a, const posenc_softmax_sum *b,
                                                posenc_softmax_sum *joined, float *factor_a, float *factor_b);

#ifdef __cplusplus
}
#endif
#endif
