/* SPDX-License-Identifier: MIT */
/** @file
 * Which keys a query may see (FORMULAS C.22 - C.25).
 *
 * What position decides is a posenc_mask. It becomes the bounds of the loops over keys: masked keys are not read and
 * cost writing their zeros only, unless positions of keys or lists of keys are given. What bytes decide is a
 * posenc_bool_mask. Lengths and packed documents are fields of posenc_score_params (softmax.h); a mask that is a tensor
 * of 0 and -inf goes there as a bias. Draft tokens of speculative decoding are a posenc_tree.
 *
 * A query at position p sees the key at position j if all of these hold:
 *
 *     p - j <= before                          unless before is negative, or 0 <= j < o + n_first
 *     j - p <= after                           unless after is negative
 *     (j - o) / chunk == (p - o) / chunk       unless chunk is 0 (rounding towards minus infinity)
 *
 * where the origin o is 0 unless posenc_score_params.sequences.origins has one for each sequence.
 *
 *     POSENC_MASK_NONE               every key
 *     POSENC_MASK_CAUSAL             the query's own and all before it
 *     posenc_mask_window(w)          the query's own and the w - 1 before it (Mistral, gpt-oss, llama.cpp)
 *     posenc_mask_symmetric(s)       s keys on either side, and its own (ModernBERT: s = window / 2)
 *     posenc_mask_sides(b, a)        b keys before it and a behind it, -1 for all
 *
 * Which position the queries have: posenc_score_params.positions. By default the last query stands at the last key,
 * as in FlashAttention (aligned bottom-right), so that a KV cache needs no other word.
 *
 * before and after are FlashAttention's window_size. n_first keeps the first keys of the cache visible whatever the
 * window (arXiv 2309.17453). chunk is Llama 4's. Positions are rows and columns unless posenc_score_params gives
 * others.
 */
#ifndef POSENC_MASK_H
#define POSENC_MASK_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As the position of query 0: the last query stands at the position of the last key, which is what decoding and
 * prefill with a cache mean (FlashAttention's bottom-right). */
#define POSENC_ALIGN_LAST_KEY INT64_MIN

/** As the position of query 0: it stands at the position of key 0 (top-left). */
#define POSENC_ALIGN_FIRST_KEY 0

typedef struct posenc_mask {
    int64_t before, after; /**< negative: no limit; else at most 2^30 */
    int64_t chunk;         /**< 0: none; else at most 2^30 */
    int64_t n_first;       /**< 0 .. 2^30; 0 with a chunk, and where positions of keys are given */
} posenc_mask;

/** There is no default mask: one that is forgotten gives plausible nonsense. Refused where it is used
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

/** Sliding window: the query's own key and the width - 1 before it. width: 1 .. 2^30; another is refused where the mask
 * is used (POSENC_ERR_MASK) */
static inline posenc_mask posenc_mask_window(int64_t width) {
    posenc_mask mask = {width > 0 && width <= (int64_t)1 << 30 ? width - 1 : INT64_MAX, 0, 0, 0};
    return mask;
}

/** FlashAttention's window_size. To be preferred to a mask written down as {2, 2, 0, 0}: compiled for AVX-512, gcc 12
 * passes that by value as {2, 2, 2, 2}, unless it is kept from seeing the constant. */
static inline posenc_mask posenc_mask_sides(int64_t before, int64_t after) {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14 && defined(__AVX__)
    __asm__("" : "+r"(before));
#endif
    posenc_mask mask = {before, after, 0, 0};
    return mask;
}

/** Symmetric window: so many keys on either side. side: 0 .. 2^30, likewise */
static inline posenc_mask posenc_mask_symmetric(int64_t side) {
    int64_t reach = side >= 0 ? side : INT64_MAX;
    return posenc_mask_sides(reach, reach);
}

/** Causal within chunks of so many positions, 1 or more. */
static inline posenc_mask posenc_mask_chunked(int64_t chunk) {
    posenc_mask mask = {-1, 0, chunk > 0 ? chunk : -1, 0};
    return mask;
}

/** One byte for each [key, query, head, batch]: 0 or anything else. nb[] are its strides in bytes, 0 where it is
 * shared; a key padding mask [n_batch][n_k] has {1, 0, 0, n_k}. nb[0] is 1 unless n_k is. */
typedef enum posenc_polarity {
    POSENC_POLARITY_UNSET = 0,
    POSENC_KEEP, /**< nonzero: the key is seen (Hugging Face's attention_mask) */
    POSENC_DROP  /**< nonzero: the key is masked (PyTorch's key_padding_mask) */
} posenc_polarity;

typedef struct posenc_bool_mask {
    const uint8_t *data;
    int64_t nb[4];
    posenc_polarity polarity;
} posenc_bool_mask;

/* ---- Trees of draft tokens ---- */

#define POSENC_MAX_TREE 1024

/** Speculative decoding: the queries of a call are draft tokens, and the last keys of each sequence are theirs, in the
 * same order. A token sees the keys before the tree, its own and those of its ancestors. The bits are those of the same
 * mask as bytes (SpecInfer, arXiv 2305.09781; Medusa, arXiv 2401.10774).
 *
 * Where a window, a chunk, ALiBi or a relative bias counts distances, keys of one depth share a position: give
 * positions.queries and .keys then (posenc_tree_positions), as RoPE has them too. Without them such parameters are
 * refused (POSENC_ERR_POSITION). Positions are those of all sequences of a call, and so then is the tree.
 *
 * Example: a root with two children, of which the first has a child
 *
 *     static const int32_t parents[] = {-1, 0, 0, 1};
 *     posenc_tree tree = {parents, 0};
 *     params.mask = posenc_mask_causal();
 *     params.tree = &tree; // the call has 4 queries
 */
typedef struct posenc_tree {
    /** [n_q] for each sequence: the token that each follows, 0 .. its own number - 1, or -1 for a root
     * (POSENC_ERR_MASK). At most POSENC_MAX_TREE (POSENC_ERR_SHAPE). */
    const int32_t *parents;
    int64_t batch_stride; /**< entries from sequence to sequence; 0: all have the same tree */
} posenc_tree;

/** Writes the position of each of n tokens of a tree: that of a root is `start`, that of others one more than their
 * parent's. start: -2^30 + 1 .. 2^30 - n (POSENC_ERR_POSITION). positions may not be parents. */
POSENC_API posenc_status posenc_tree_positions(const int32_t *parents, int64_t n, int32_t start, int32_t *positions);

/** Writes 0 to the rows of padded queries, whatever they held: y [dim, n_heads, n_q, n_batch], keep [n_batch][n_q],
 * nonzero where the query is real (C.25). y: f32, f16 or bf16. */
POSENC_API posenc_status posenc_zero_padded(const uint8_t *keep, const posenc_view *y);

/** Mean of the losses of kept tokens, 0 if none is kept. Summed in double, ascending. */
POSENC_API posenc_status posenc_masked_mean(const float *losses, const uint8_t *keep, int64_t n, double *mean);

#ifdef __cplusplus
}
#endif
#endif
