/* SPDX-License-Identifier: MIT */
/** @file
 * Attention, fused: softmax(logits of Q K^T) V without the score matrix (FORMULAS C.32).
 *
 *     O = P V,   P = posenc_softmax(params, Q K^T)
 *
 * with all of posenc_score_params but POSENC_FULLY_MASKED_UNIFORM (POSENC_ERR_ENUM; the reference below takes
 * it). Query head h uses head h / (n_heads / n_kv_heads) of k and v. Encodings of q and k (rotary, additive) are the
 * caller's, before the call; or k is rotated on load, below.
 *
 * The order of the arithmetic is part of the result, and the same for prefill, decode, any batch, split and instruction
 * set:
 *
 *     x_ij = chain of fma over the channels, ascending, from 0, in float32
 *     keys are taken in segments of 4096 and these in blocks of 512, counted from key 0. In each segment, from m = -inf
 *     and s = o = 0, for each block that holds an unmasked key of the query
 *         m' = max(m, largest logit of the block),  f = exp(m - m')
 *         e_j = exp(l_j - m'),  s = fma(s, f, sum e_j) in the order of softmax.h;  f and e_j below 2^-100, beside an
 *         s of at least 1, are 0, so that no sum here is denormal unless values are below 2^-26
 *         a[c] = fma(e_j, v_j[c], a[c]) for each key of the block from the first to the last unmasked one, from -0
 *         o[c] = fma(o[c], f, a[c])
 *     segments in ascending order are joined to m = sink, s = 1 (without a sink -inf, 0) and o = 0
 *         m, s, f, g = posenc_softmax_combine of both,  o[c] = fma(g, o_segment[c], o[c] f)
 *     out[c] = o[c] (1 / s), rounded once;  lse = m + ln s in double, rounded once
 *
 * What hides a key decides what k and v may hold there:
 *
 *     position, lengths, documents             skipped: anything. A block of 512 keys of which no query of a unit sees
 *                                              one is not read, nor are keys of such a panel of 32
 *     a bias of -inf at either end of a block  the same, of tensor_slopes > 0 (the hole of n_first has ends of its
 *     of keys                                  own): a causal mask as a tensor costs one look
 *     a bias of -inf among unmasked keys       e_j = 0: v must be finite, and the score not NaN
 *     bytes; a tree; positions given; lists   e_j = 0: v must be finite
 *
 * Against the exact function of the same numbers, for n <= 2^20 keys, with p_j the probabilities and S_j the sum of
 * the sizes of all that is added up in a logit (|scale q_c k_jc| of each channel, and each of its terms): a logit is
 * wrong by d_j <= (head_dim + 8) 2^-24 S_j, and with a soft cap by 2^-22 cap more; mostly by a few 2^-24 l_j. That
 * changes a weight by a factor of up to e^d_j. With w_j = e^d_j - 1, W = sum_j p_j w_j, in each channel
 *
 *     |error of out| <= c max |v| + min((1 + W) sum_j p_j w_j |v_j - out|, max |v_j - out|) + 2^-129, and out's
 *                       rounding to its type; c = 4e-6 + 6e-8 min(n, 512) + 6e-11 n
 *     |error of lse| <= 3e-6 + 3e-11 n + 2^-24 |lse| + ln(1 + W)
 *
 * where a sink is a key of value 0. While d_j are small, this is sum_j p_j d_j |v_j - out|, and sum_j p_j d_j, beside c
 * and 3e-6. Where they reach 1 (S_j near 2^24 / head_dim: huge scores, ALiBi far away) float32 no longer tells logits
 * apart that differ by 1. c is 4e-6 in practice: the rest is for roundings that all go one way. Where one key outweighs
 * many and all hold the same, 3.0e-5 max |v| was seen with 512 keys and 4.3e-5 with 2^20.
 *
 * All this is in the range of float32: |scale| <= 2^100, and at most 3.4e38 each for sum_c |q_c k_jc|, for S_j (unless
 * a bias such as -FLT_MAX hides the key) and, in each channel, for the sum of |v_j| over the keys that a query sees.
 * Beyond, a result may be infinite or NaN where the exact one is neither: v = 1e37 of 40 keys that weigh alike. f16 and
 * Q8_0 values are never beyond. posenc_attention_reference divides by the sum first, and takes any finite v.
 *
 * Work is cut into units of up to 96 (query, head) pairs that share keys and values; threads share units, each with its
 * own scratch (head_dim 128: 1 MB, whatever the number of keys). Where units are fewer than threads, as in decode, a
 * unit is cut into parts by segments of keys: posenc_attention_split, and when all are done
 * posenc_attention_combine_splits.
 *
 * Example: causal, 8 heads that share 2 of keys and values, one thread; scratch has
 * posenc_attention_workspace_bytes(64, 64) bytes
 *
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.scale = 0.125f;
 *     params.mask = posenc_mask_causal();
 *     posenc_view q = posenc_view_dense(queries, POSENC_F32, 64, 8, n_q, 1);
 *     posenc_view k = posenc_view_dense(keys, POSENC_F32, 64, 2, n_q, 1);
 *     posenc_view v = posenc_view_dense(values, POSENC_F32, 64, 2, n_q, 1);
 *     posenc_view o = posenc_view_dense(out, POSENC_F32, 64, 8, n_q, 1);
 *     posenc_status status = posenc_attention(&params, &q, &k, &v, &o, scratch, posenc_range_all());
 */
#ifndef POSENC_ATTENTION_H
#define POSENC_ATTENTION_H

#include <posenc/rope.h>
#include <posenc/softmax.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Number of units that posenc_attention cuts this into, of k in one piece or in pages; 0 if head_dim or the numbers of
 * heads do not fit each other. */
POSENC_API int64_t posenc_attention_tile_count(const posenc_view *q, const posenc_view *k);

/** Bytes of scratch that a call (a thread) needs; 0 if a dimension is not 1 .. POSENC_MAX_HEAD_DIM. */
POSENC_API size_t posenc_attention_workspace_bytes(int64_t head_dim, int64_t v_dim);

/** Computes attention, softmax(Q K^T) V. q: [head_dim, n_heads, n_q, n_batch]; k: [head_dim, n_kv_heads, n_k, n_batch];
 * v: [v_dim, n_kv_heads, n_k, n_batch]; out: [v_dim, n_heads, n_q, n_batch]; each f32, f16 or bf16, k and v also Q8_0
 * or Q4_0 (types.h). n_kv_heads divides n_heads (POSENC_ERR_N_HEADS). head_dim and v_dim: 1 .. POSENC_MAX_HEAD_DIM
 * (POSENC_ERR_HEAD_DIM); any other extent may be 0. v may be a view into k. out overlaps nothing. units: which of the
 * units to compute. scratch needs the alignment of a float. */
POSENC_API posenc_status posenc_attention(const posenc_score_params *params, const posenc_view *q, const posenc_view *k,
                                          const posenc_view *v, const posenc_view *out, void *scratch,
                                          posenc_range units);

/* ---- The same with more: log-sum-exp, RoPE applied to K on load, pages, lists of keys ---- */

/** How products with keys and sums of values are computed. INT16 is for those that are quantised (Q8_0, Q4_0); other
 * types, and keys that are rotated on load, are computed in float32 with it; of such alone the bits are F32's. BF16,
 * BF16X2 and BF16X3 are for any.
 *
 * F32, the default: all of it in float32; a channel of Q8_0 or Q4_0 is the product of its integer and its scale. It is
 * the most exact one, and the fastest for prompts on x86 with neither VNNI nor AMX.
 *
 * INT16: keys 0 .. 127 (of a list its first 128) are a block of their own, computed as in F32: a query may see few
 * others, and models give the first ones most of their weight. From key 128 on, the sums over channels and over keys
 * are exact sums of integers, the same in any order. In each block of 32 channels the query becomes n_c = q_c (32639 /
 * max |q_c|), rounded to the nearest integer, with the scale s = max |q_c| / 32639. With d_jb the scale of key or value
 * j in block b:
 *
 *     x_ij = chain of fma((float)(sum of n_c k_jc over the block), s d_jb, x_ij) over the blocks, ascending, from 0
 *     values in groups of 16, counted from key 0, those of weight 0 left out: m = max e_j, d = max |d_jb|,
 *         W_j = (e_j (32639 / m)) (d_jb (1 / d)) rounded to the nearest integer,
 *         a[c] = fma((float)(sum of W_j v_jc over the group), (m / 32639) d, a[c]), from 0 in each block of keys
 *
 * where k and v are the integers. A query's block below 2^-100 counts as 0. Beside the errors above, a logit is wrong
 * by up to |scale| sum_c max_b |q| |k_jc| / 65278 more, and a channel by the sum over groups of m d sum_j |v_jc| /
 * 65278: together at most 2.5e-4 of max |v| for logits of a few units. With random numbers it is 2e-5 of max |v| (of 17
 * million results one was 2.1e-5 off), and 8e-5 for a query that sees fewer than 128 keys but not the first ones, as in
 * a narrow window.
 *
 * BF16: q, k and v (k after its rotation) are rounded to bf16, to nearest even, and 0 where that is below 2^-56 in
 * size. Products are summed in the order of Intel's TDPBF16PS, 32 at a time, the last filled up with zeros; with +0 for
 * e, o and at first x:
 *
 *     x + (e + o),    e = chain of fma(a_2k, b_2k, e),    o = chain of fma(a_2k+1, b_2k+1, o),    k = 0 .. 15
 *
 * over the channels for x_ij = q_i . k_j; and over keys, 32 at a time from each multiple of 512 on, for the sums of
 * values, with e_j rounded to bf16 like the others. What has a weight of 0 is left out. BF16X2: e_j is h + l, h as
 * above and l = e_j - h rounded likewise; each 32 keys are added with h, then with l, and a value that is infinite
 * may make NaN.
 *
 * For q, k and v of bf16 the products are exact. A channel is wrong by up to max |v| 2^-8 more with BF16, as in
 * PyTorch, and 2^-16 with BF16X2; with random numbers by 5e-4 and 2e-5 of max |v| in all. Other types lose up to 2^-8
 * of each number first.
 *
 * BF16X3: near float32 for any type, in three products of bf16. q, k and v too are h + l, but those stored in bf16 (k
 * rotated on load is not), which are h alone. Sums start as those of BF16X2: each 32 channels are added with h of q,
 * then with l of q, both times h of k; and each 32 keys with h, then with l of e_j, both times h of v. Behind the last
 * channel, or the last key of 512, l of k or v is added likewise, each 32 with h of q or e_j. Where there is an l, an
 * infinite number makes NaN, and so does one of 3.39e38 or more in size, which rounds to infinity.
 *
 * What is left out, l times l and what l itself is rounded by, is up to 2^-15 of a product, and of two numbers of f16
 * 2^-16. A logit is wrong by up to 2^-15 |scale| sum_c |q_c k_jc| more than above, and a channel by 2^-15 max |v|, as
 * long as the numbers are 0 or at least 2^-39 in size; smaller ones lose up to 2^-56 each. With random numbers it is
 * 4e-6 of max |v| in all. Without AMX prompts take up to 3 times as long as with F32, decode 5. */
typedef enum posenc_attention_math {
    POSENC_MATH_F32 = 0,
    POSENC_MATH_INT16,
    POSENC_MATH_BF16,
    POSENC_MATH_BF16X2,
    POSENC_MATH_BF16X3
} posenc_attention_math;

/** Keys and values in pages: key j of sequence b is row j % page_size of page table[b * stride + j / page_size]. */
typedef struct posenc_attention_pages {
    const int32_t *table;
    int64_t stride; /**< entries from sequence to sequence; 0: all have the same pages */
    int64_t n_k;    /**< keys of the longest sequence; those of each: sequences.k_end, and its queries': query_starts */
} posenc_attention_pages;

/** Ends a list of keys that is shorter than n_max. */
#define POSENC_LIST_END (-1)

/** Sparse attention: query i of sequence b, in all its heads, sees the keys of its list alone (FORMULAS C.33). Entry t
 * is keys[b * batch_stride + i * query_stride + t], t < n_max, up to the first POSENC_LIST_END; a list may be empty.
 * Each is the number of a key, k_begin[b] <= key < k_end[b], in any order: every call looks at all lists first, and
 * writes nothing if one is not (POSENC_ERR_ROWS). A key that is named twice counts as two keys.
 *
 * The order of the arithmetic is that of the list: its entry t stands where key t does above, so the list 0, 1, 2 ..
 * gives the bits of the call without lists, and any list those of the same keys and values gathered, if no logit goes
 * by position. n_max and not n_k decides how many segments there are.
 *
 * The number of a key is its position, for the mask (causal, window, chunk), ALiBi, relative biases and by_query, and
 * its row of k_table; in pages too. A key that the mask hides counts for nothing, but its v must be finite. What has
 * an entry for each key in order is refused: bias.tensor, by_key, bool_mask, tree, cu_seqlens, a mask with n_first
 * (POSENC_ERR_MASK), and given positions (POSENC_ERR_POSITION): leave those keys out of the lists. */
typedef struct posenc_attention_lists {
    const int32_t *keys;
    int64_t n_max;                      /**< 0 .. 2^30 (POSENC_ERR_SHAPE) */
    int64_t query_stride, batch_stride; /**< entries from list to list; 0: all queries, or sequences, have the same */
} posenc_attention_lists;

/** A call in one piece. What is NULL is not there. */
typedef struct posenc_attention_args {
    const posenc_score_params *params;
    posenc_view q, k, v, out; /**< as above */
    /** f32 [1, n_heads, n_q, n_batch], written: ln of the sum of exp(logit), the sink's included; -inf for a row that
     * sees nothing, without a finite sink */
    const posenc_view *lse;
    /** k is stored before its rotation: key j, of every head and sequence, is rotated by row j of the table as
     * posenc_rope_apply_table does FORWARD, and stays float32. rope->head_dim is k's; both or neither. A context shift
     * is another table. */
    const posenc_rope *k_rope;
    const posenc_rope_table *k_table;
    /** k and v are [dim, n_kv_heads, page_size, n_pages]. Entries of the table that hold keys below the sequence's
     * k_end are looked at, and checked (POSENC_ERR_ROWS): for keys that no query sees any more, name any page that is
     * there. Any page_size. */
    const posenc_attention_pages *pages;
    posenc_attention_math math;
    const posenc_attention_lists *lists;
} posenc_attention_args;

/** Attention with log-sum-exp, RoPE applied to K on load, pages, and lists of keys; as many units as posenc_attention.
 * lse overlaps nothing. */
POSENC_API posenc_status posenc_attention_run(const posenc_attention_args *args, void *scratch, posenc_range units);

/* ---- Parts: a unit's keys shared by several threads ---- */

#define POSENC_ATTENTION_SEGMENT 4096

/** Number of parts, units times segments of keys; 0 if the extents do not fit each other. */
POSENC_API int64_t posenc_attention_split_count(const posenc_attention_args *args);

/** Bytes of the memory that all parts share: v_dim + 2 floats for each query, head and segment. 0 if there are none, or
 * if they are more than can be. */
POSENC_API size_t posenc_attention_split_bytes(const posenc_attention_args *args);

/** Computes some of the parts: every thread its own range and scratch, one `parts`. Then, with all of them done, the
 * units are joined and written. The bits are those of posenc_attention_run. */
POSENC_API posenc_status posenc_attention_split(const posenc_attention_args *args, void *scratch, void *parts,
                                                posenc_range range);
/** Combines the parts of units and writes their outputs. */
POSENC_API posenc_status posenc_attention_combine_splits(const posenc_attention_args *args, const void *parts,
                                                         posenc_range units);

/* ---- Results of different keys joined ---- */

/** What attention over some keys gave. */
typedef struct posenc_attention_state {
    posenc_view out; /**< [v_dim, n_heads, n_q, n_batch] */
    posenc_view lse; /**< f32 [1, n_heads, n_q, n_batch] */
} posenc_attention_state;

/** Joins results over two disjoint sets of keys, made anywhere (the sink counted in one of them):
 *     m = max(lse_a, lse_b),  w = exp(lse - m) of each,  s = w_a + w_b
 *     out = fma(w_b / s, out_b, fma(w_a / s, out_a, 0)),  lse = m + ln s
 * A result with an lse of -inf has weight 0, whatever its out holds. Types are f32, f16 or bf16, the same for a and b;
 * joined may be a or b, or overlaps neither. The order matters in last places. A row, for row ranges, is one head of
 * one query, as in rope.h: row = (batch * n_q + query) * n_heads + head. */
POSENC_API posenc_status posenc_attention_combine(const posenc_attention_state *a, const posenc_attention_state *b,
                                                  const posenc_attention_state *joined, posenc_range rows);

/* ---- Reference ---- */

/** The same as a reference, plain and slow, for tests and examples: dot products and P V are summed in double in
 * ascending order and rounded once. It allocates the probabilities, unless they are asked for: f32 [n_k, n_q, n_heads,
 * n_batch], which overlap nothing. q, k, v and out as for posenc_attention. */
POSENC_API posenc_status posenc_attention_reference(const posenc_score_params *params, const posenc_view *q,
                                                    const posenc_view *k, const posenc_view *v, const posenc_view *out,
                                                    const posenc_view *probabilities);

#ifdef __cplusplus
}
#endif
#endif
