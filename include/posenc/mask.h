/* SPDX-License-Identifier: MIT */
/** @file
 * Masks by position, bytes or a tree (C.22 - C.25). Lengths, packed documents and mask tensors are fields of
 * posenc_score_params (softmax.h).
 *
 * Example: a causal window of 4096 keys as 0 and -inf
 *
 *     posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_window(4096));
 *     posenc_view y = posenc_view_dense(memory, POSENC_F32, n_k, n_q, 1, 1);
 *     posenc_status status = posenc_logits(&params, NULL, &y, posenc_range_all());
 */
#ifndef POSENC_MASK_H
#define POSENC_MASK_H

#include <posenc/types.h>

POSENC_BEGIN_C

/** As position of query 0, the default: the last query is at the last key, as in decoding with a cache
 * (bottom-right). */
#define POSENC_ALIGN_LAST_KEY INT64_MIN

/** As position of query 0: that of key 0 (top-left). */
#define POSENC_ALIGN_FIRST_KEY 0

/** Mask by position: a query at p sees the key at j if p - j <= before or 0 <= j < o + n_first; j - p <= after; and
 * (j - o) / chunk == (p - o) / chunk (floor; Llama 4). The origin o is 0, or the sequence's of
 * posenc_score_params.sequences.origins. Masked keys are not read, unless positions or lists of keys are given. */
typedef struct posenc_mask {
    int64_t before, after; /**< negative: no limit; at most 2^30 */
    int64_t chunk;         /**< 0: none; at most 2^30 */
    int64_t n_first; /**< first keys that stay visible (StreamingLLM): 0..2^30; 0 with a chunk or positions of keys */
} posenc_mask;

/** Refused (POSENC_ERR_MASK_UNSET). */
#define POSENC_MASK_UNSET                                                                                              \
    { 0, 0, 0, POSENC_MASK_UNSET_FIRST }
#define POSENC_MASK_UNSET_FIRST (-1) /* as n_first */

#define POSENC_MASK_NONE                                                                                               \
    { -1, -1, 0, 0 }
#define POSENC_MASK_CAUSAL                                                                                             \
    { -1, 0, 0, 0 }

static inline posenc_mask posenc_mask_none(void) {
    posenc_mask mask = POSENC_MASK_NONE;
    return mask;
}

/** The query's own key and all before it. */
static inline posenc_mask posenc_mask_causal(void) {
    posenc_mask mask = POSENC_MASK_CAUSAL;
    return mask;
}

/** Sliding window: the query's own key and the width - 1 before it (Mistral); 1..2^30. */
static inline posenc_mask posenc_mask_window(int64_t width) {
    posenc_mask mask = {width > 0 && width <= (int64_t)1 << 30 ? width - 1 : INT64_MAX, 0, 0, 0};
    return mask;
}

/** `before` keys before the query's own, `after` behind it (ModernBERT: both window / 2); -1: all. (gcc 12 miscompiles
 * an initialiser {2, 2, 0, 0}.) */
static inline posenc_mask posenc_mask_sides(int64_t before, int64_t after) {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14 && defined(__AVX__)
    __asm__("" : "+r"(before));
#endif
    posenc_mask mask = {before, after, 0, 0};
    return mask;
}

/** Causal within chunks, 1 or more positions each. */
static inline posenc_mask posenc_mask_chunked(int64_t chunk) {
    posenc_mask mask = {-1, 0, chunk > 0 ? chunk : -1, 0};
    return mask;
}

typedef enum posenc_polarity {
    POSENC_POLARITY_UNSET = 0,
    POSENC_KEEP, /**< the key is seen (Hugging Face's attention_mask) */
    POSENC_DROP  /**< the key is masked (PyTorch's key_padding_mask) */
} posenc_polarity;

/** Mask by bytes [key, query, head, batch]; strides are 0 where shared: {1, 0, 0, n_k} for [n_batch][n_k]. */
typedef struct posenc_bool_mask {
    const uint8_t *data;
    int64_t nb[4];
    posenc_polarity polarity;
} posenc_bool_mask;

/** Block mask, as FlexAttention's BlockMask: query i sees key j where block (i / q_block, j / k_block) is full, or
 * partial and bool_mask (NULL: all) leaves j. Other masks hold too. Blocks in no list are not read. Lists of
 * (sequence b, head h, i / q_block) have counts[r] ascending blocks from entry r * n_max on, r = b * batch_stride + h *
 * head_stride + i / q_block (POSENC_ERR_ROWS). Not with a tree (POSENC_ERR_MASK). */
typedef struct posenc_block_mask {
    const int32_t *partial_counts, *partial_blocks; /**< kv_num_blocks, kv_indices; NULL: none */
    const int32_t *full_counts, *full_blocks;       /**< full_kv_num_blocks, full_kv_indices; NULL: none */
    int64_t n_max;
    int64_t head_stride, batch_stride; /**< in rows; 0: shared */
    int64_t q_block, k_block;          /**< queries, 1 or more, and keys, 16, 32, 64 or 128 (POSENC_ERR_SHAPE) */
} posenc_block_mask;

/* ---- Trees of draft tokens ---- */

#define POSENC_MAX_TREE 1024

/** Speculative decoding (SpecInfer, arXiv:2305.09781; Medusa, arXiv:2401.10774): the queries are draft tokens, the
 * last n_q keys of each sequence are theirs. A token sees the keys before the tree, itself and its ancestors.
 * Windows, chunks and biases by offset need positions (posenc_tree_positions), shared by all sequences. A root, two
 * children, a child of the first: {-1, 0, 0, 1}. */
typedef struct posenc_tree {
    /** [n_q], up to POSENC_MAX_TREE, for each sequence: a smaller number, or -1 for a root. */
    const int32_t *parents;
    int64_t batch_stride; /**< in entries; 0: all sequences have one tree */
} posenc_tree;

/** Writes positions of tree tokens: `start` for a root, else the parent's plus 1. start: -2^30 + 1 .. 2^30 - n
 * (POSENC_ERR_POSITION). */
POSENC_API posenc_status posenc_tree_positions(const int32_t *parents, int64_t n, int32_t start, int32_t *positions);

/** Writes 0 to the rows of padded queries. y: heads, any type. keep: [n_batch][n_q], nonzero for real queries. */
POSENC_API posenc_status posenc_zero_padded(const uint8_t *keep, const posenc_view *y);

POSENC_END_C
#endif
