/* posenc/attention.h - attention as a reference: plain, slow, readable (FORMULAS C.32).
 *
 *     P = posenc_softmax(params, Q K^T),   O = P V
 *
 * with everything that posenc_score_params can say, for tests and examples. Query head h uses head h / (n_heads /
 * n_kv_heads) of k and v. Encodings of q and k (rotary, additive) are the caller's, before the call. Dot products and
 * P V are summed in double in ascending order and rounded once. Unlike the other calls on data, this one allocates:
 * the probabilities, unless they are asked for.
 *
 * Example: causal, 8 heads that share 2 of keys and values
 *
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.scale = 0.125f;
 *     params.mask = posenc_mask_causal();
 *     posenc_view q = posenc_view_dense(queries, POSENC_F32, 64, n_q, 8, 1);
 *     posenc_view k = posenc_view_dense(keys, POSENC_F32, 64, n_q, 2, 1);
 *     posenc_view v = posenc_view_dense(values, POSENC_F32, 64, n_q, 2, 1);
 *     posenc_view o = posenc_view_dense(out, POSENC_F32, 64, n_q, 8, 1);
 *     posenc_status status = posenc_attention_reference(&params, &q, &k, &v, &o, NULL);
 */
#ifndef POSENC_ATTENTION_H
#define POSENC_ATTENTION_H

#include <posenc/softmax.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* q: [head_dim, n_q, n_heads, n_batch]; k: [head_dim, n_k, n_kv_heads, n_batch]; v: [v_dim, n_k, n_kv_heads,
 * n_batch]; out: [v_dim, n_q, n_heads, n_batch]; each f32, f16 or bf16. probabilities: f32 [n_k, n_q, n_heads,
 * n_batch], or NULL. n_kv_heads divides n_heads (POSENC_ERR_N_HEADS). out and probabilities overlap nothing. */
POSENC_API posenc_status posenc_attention_reference(const posenc_score_params *params, const posenc_view *q,
                                                    const posenc_view *k, const posenc_view *v, const posenc_view *out,
                                                    const posenc_view *probabilities);

#ifdef __cplusplus
}
#endif
#endif
