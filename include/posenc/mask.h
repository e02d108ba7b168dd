/* SPDX-License-Identifier: MIT */
/** @file
 * Masks: which keys a query may see, by position, bytes or a tree (FORMULAS C.22 - C.25).
 *
 * Lengths and packed documents are fields of posenc_score_params (softmax.h). A mask tensor of 0 and -inf is a bias
 * there.
 *
 * Example: writes a causal sliding window of 4096 keys as 0 and -inf, for n_q queries at the end of n_k keys
 *
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.mask = posenc_mask_window(4096);
 *     posenc_view y = posenc_view_dense(memory, POSENC_F32, n_k, n_q, 1, 1);
 *     posenc_status status = posenc_logits(&params, NULL, &y, posenc_range_all());
 */
#ifndef POSENC_MASK_H
#define POSENC_MASK_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Position of query 0 (posenc_score_params.positions): the last query has the position of the last key, as in decoding
 * and prefill with a cache (FlashAttention's bottom-right). The default. */
#define POSENC_ALIGN_LAST_KEY INT64_MIN

/** Position of query 0: that of key 0 (top-left). */
#define POSENC_ALIGN_FIRST_KEY 0

/** Mask by position. A query at position p sees the key at position j if all of these hold:
 *
 *     p - j <= before          (FlashAttention's window_size), or 0 <= j < n_first
 *     j - p <= after
 *     j / chunk == p / chunk   rounded towards minus infinity (Llama 4)
 *
 * Masked keys are not read, unless positions of keys or lists of keys are given. */
typedef struct posenc_mask {
    int64_t before, after; /**< negative: no limit; at most 2^30 */
    int64_t chunk;         /**< 0: none; at most 2^30 */
    int64_t n_first;       /**< first keys that stay visible outside the window (StreamingLLM, arXiv 2309.17453): 0 ..
                                2^30; 0 with a chunk or positions of keys */
} posenc_mask;

/** There is no default mask: a forgotten one gives plausible nonsense. Refused where it is used
 * (POSENC_ERR_MASK_UNSET). */
#define POSENC_MASK_UNSET                                                                                              \
    { 0, 0, 0, POSENC_MASK_UNSET_FIRST }
#define POSENC_MASK_UNSET_FIRST (-1) /* as n_first */

#define POSENC_MASK_NONE                                                                                               \
    { -1, -1, 0, 0 }
#define POSENC_MASK_CAUSAL                                                                                             \
    { -1, 0, 0, 0 }

/** Every key. */
static inline posenc_mask posenc_mask_none(void) {
    posenc_mask mask = POSENC_MASK_NONE;
    return mask;
}

/** The query's own key and all before it. */
static inline posenc_mask posenc_mask_causal(void) {
    posenc_mask mask = POSENC_MASK_CAUSAL;
    return mask;
}

/** Sliding window: the query's own key and the width - 1 before it (Mistral, gpt-oss, llama.cpp). width: 1 .. 2^30;
 * others are refused where the mask is used (POSENC_ERR_MASK). */
static inline posenc_mask posenc_mask_window(int64_t width) {
    posenc_mask mask = {width > 0 && width <= (int64_t)1 << 30 ? width - 1 : INT64_MAX, 0, 0, 0};
    return mask;
}

/** `before` keys before the query's own and `after` behind it; -1: all. Prefer this call to an initialiser: gcc 12 with
 * AVX-512 passes the constant {2, 2, 0, 0} by value as {2, 2, 2, 2}. */
static inline posenc_mask posenc_mask_sides(int64_t before, int64_t after) {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14 && defined(__AVX__)
    __asm__("" : "+r"(before));
#endif
    posenc_mask mask = {before, after, 0, 0};
    return mask;
}

/** Symmetric window: `side` keys on either side (ModernBERT: window / 2). side: 0 .. 2^30 (POSENC_ERR_MASK). */
static inline posenc_mask posenc_mask_symmetric(int64_t side) {
    int64_t reach = side >= 0 ? side : INT64_MAX;
    return posenc_mask_sides(reach, reach);
}

/** Causal within chunks of `chunk` positions, 1 or more. */
static inline posenc_mask posenc_mask_chunked(int64_t chunk) {
    posenc_mask mask = {-1, 0, chunk > 0 ? chunk : -1, 0};
    return mask;
}

/** Meaning of a nonzero byte. */
typedef enum posenc_polarity {
    POSENC_POLARITY_UNSET = 0,
    POSENC_KEEP, /**< the key is seen (Hugging Face's attention_mask) */
    POSENC_DROP  /**< the key is masked (PyTorch's key_padding_mask) */
} posenc_polarity;

/** Mask by bytes, one for each [key, query, head, batch]. nb[] are strides in bytes, 0 where shared: a padding mask
 * [n_batch][n_k] has {1, 0, 0, n_k}. nb[0] is 1 unless n_k is. */
typedef struct posenc_bool_mask {
    const uint8_t *data;
    int64_t nb[4];
    posenc_polarity polarity;
} posenc_bool_mask;

/* ---- Trees of draft tokens ---- */

#define POSENC_MAX_TREE 1024

/** Speculative decoding (SpecInfer, arXiv 2305.09781; Medusa, arXiv 2401.10774): the queries of a call are draft
 * tokens, and the last n_q keys of each sequence are theirs, in the same order. A token sees the keys before the tree,
 * itself and its ancestors. Results are bit-identical to the same mask as bytes.
 *
 * Distances (window, chunk, ALiBi, relative bias) need positions.queries and positions.keys from posenc_tree_positions,
 * because keys of one depth share a position; without positions they are refused (POSENC_ERR_POSITION). Positions, and
 * then the tree, are shared by all sequences of a call.
 *
 *     static const int32_t parents[] = {-1, 0, 0, 1}; // a root with two children, the first of which has a child
 *     posenc_tree tree = {parents, 0};
 *     params.mask = posenc_mask_causal();
 *     params.tree = &tree; // the call has 4 queries
 */
typedef struct posenc_tree {
    /** [n_q] for each sequence, n_q up to POSENC_MAX_TREE (POSENC_ERR_SHAPE): parent of each token, a smaller number,
     * or -1 for a root (POSENC_ERR_MASK). */
    const int32_t *parents;
    int64_t batch_stride; /**< entries from sequence to sequence; 0: all have one tree */
} posenc_tree;

/** Writes the positions of n tokens of a tree: `start` for a root, one more than the parent's for others. start: -2^30
 * + 1 .. 2^30 - n (POSENC_ERR_POSITION). positions may not be parents. */
POSENC_API posenc_status posenc_tree_positions(const int32_t *parents, int64_t n, int32_t start, int32_t *positions);

/** Writes 0 to the rows of padded queries, whatever they held (FORMULAS C.25). y: [dim, n_heads, n_q, n_batch], f32,
 * f16 or bf16. keep: [n_batch][n_q], nonzero for real queries. */
POSENC_API posenc_status posenc_zero_padded(const uint8_t *keep, const posenc_view *y);

/** Mean of the losses of kept tokens, 0 if none is kept. Summed in double, ascending. */
POSENC_API posenc_status posenc_masked_mean(const float *losses, const uint8_t *keep, int64_t n, double *mean);

#ifdef __cplusplus
}
#endif
#endif
