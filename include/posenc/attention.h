/* posenc/attention.h - attention, fused: softmax(score path of Q K^T) V without the score matrix (FORMULAS C.32).
 *
 *     O = P V,   P = posenc_softmax(params, Q K^T)
 *
 * with everything that posenc_score_params can say but POSENC_EMPTY_UNIFORM. Query head h uses head h / (n_heads / n_kv_heads)
 * of k and v. Encodings of q and k (rotary, additive) are the caller's, before the call.
 *
 * The order of the arithmetic is part of the result, and the same for prefill, decode, any batch, split and instruction set:
 *
 *     x_ij = chain of fma over the channels, ascending, from 0, in float32
 *     keys are taken in blocks of 512, counted from key 0; for each block that holds a key in sight of the query
 *         m' = max(m, largest logit of the block),  f = exp(m - m')           m starts at the sink, or -inf
 *         e_j = exp(l_j - m'),  s = fma(s, f, sum e_j) in the order of softmax.h     s starts at 1 with a sink, or 0
 *         o[c] = o[c] f, then o[c] = fma(e_j, v_j[c], o[c]) for each key of the block from the first to the last in sight
 *     out[c] = o[c] (1 / s), rounded once
 *
 * Keys out of sight by position, lengths or documents are skipped, whatever k and v hold there; a block, or a panel of 32
 * keys, that no query of a unit sees is not touched. So are keys of a block before the first and behind the last whose bias is
 * not -inf (bias_slope > 0): a causal mask as a tensor costs one look at what it hides. Keys hidden by bytes, or by a bias of
 * -inf among others, get e_j = 0, and their v must be finite.
 *
 * Against the exact function: |error| <= 4e-6 max |v| for head_dim <= 256, |l| <= 16 and up to 2^17 keys.
 *
 * Work is cut into units of up to 64 (query, head) pairs that share keys and values; threads share units, each with its own
 * scratch (head_dim 128: 240 KB).
 *
 * Example: causal, 8 heads that share 2 of keys and values, one thread; scratch has posenc_attention_scratch(64, 64) bytes
 *
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.scale = 0.125f;
 *     params.mask = posenc_mask_causal();
 *     posenc_view q = posenc_view_dense(queries, POSENC_F32, 64, n_q, 8, 1);
 *     posenc_view k = posenc_view_dense(keys, POSENC_F32, 64, n_q, 2, 1);
 *     posenc_view v = posenc_view_dense(values, POSENC_F32, 64, n_q, 2, 1);
 *     posenc_view o = posenc_view_dense(out, POSENC_F32, 64, n_q, 8, 1);
 *     posenc_status status = posenc_attention(&params, &q, &k, &v, &o, scratch, posenc_all_rows());
 */
#ifndef POSENC_ATTENTION_H
#define POSENC_ATTENTION_H

#include <posenc/softmax.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of units that posenc_attention cuts this into; 0 if the extents do not fit each other. */
POSENC_API int64_t posenc_attention_units(const posenc_view *q, const posenc_view *k);

/* Bytes of scratch that a call (a thread) needs; 0 if a dimension is not 1 .. POSENC_MAX_HEAD_DIM. */
POSENC_API size_t posenc_attention_scratch(int64_t head_dim, int64_t v_dim);

#define POSENC_MAX_HEAD_DIM 1024

/* q: [head_dim, n_q, n_heads, n_batch]; k: [head_dim, n_k, n_kv_heads, n_batch]; v: [v_dim, n_k, n_kv_heads, n_batch];
 * out: [v_dim, n_q, n_heads, n_batch]; each f32, f16 or bf16. n_kv_heads divides n_heads (POSENC_ERR_N_HEADS). v may be a
 * view into k. out overlaps nothing. units: which of the units to compute. scratch needs the alignment of a float. */
POSENC_API posenc_status posenc_attention(const posenc_score_params *params, const posenc_view *q, const posenc_view *k,
                                          const posenc_view *v, const posenc_view *out, void *scratch,
                                          posenc_rows units);

/* The same as a reference, plain and slow, for tests and examples: dot products and P V are summed in double in ascending
 * order and rounded once. It allocates the probabilities, unless they are asked for: f32 [n_k, n_q, n_heads, n_batch], which
 * overlap nothing. q: [head_dim, n_q, n_heads, n_batch]; k: [head_dim, n_k, n_kv_heads, n_batch]; v: [v_dim, n_k, n_kv_heads, n_batch];
 * out: [v_dim, n_q, n_heads, n_batch]; each f32, f16 or bf16. */
POSENC_API posenc_status posenc_attention_reference(const posenc_score_params *params, const posenc_view *q,
                                                    const posenc_view *k, const posenc_view *v, const posenc_view *out,
                                                    const posenc_view *probabilities);

#ifdef __cplusplus
}
#endif
#endif
