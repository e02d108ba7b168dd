/* posenc/cope.h - contextual position encoding: positions that count gates (FORMULAS C.19).
 *
 *     s_j = scale x_j,   g_j = 1 / (1 + exp(-s_j))                              for keys j = 0 .. i_abs
 *     P_j = min(g_j + g_(j+1) + .. + g_(i_abs), n_positions - 1)
 *     b_j = (1 - w) z_(floor P) + w z_(ceil P),   w = P - floor P,   z_n = q_i . E[n]
 *
 * (arXiv 2405.18719). z are the products of relative.h with the table E, so that a row costs one pass; past the key
 * where P reaches n_positions - 1 no gate is evaluated any more.
 *
 * What to expect: gates within 4 ulp for s_j, itself rounded, and 0 below FLT_MIN; their sum in double, from the query
 * backwards, one after the other; the interpolation in float32. A NaN among the gates counts as the end: it and the
 * keys before it get z_(n_positions - 1). The same bits on every tier, and however rows are split.
 *
 * Example: causal, logits of all rows in place, then their softmax
 *
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, n_k, n_q, 8, 1);
 *     posenc_view z = posenc_view_dense(products, POSENC_F32, 64, n_q, 8, 1);
 *     posenc_cope_params cope = POSENC_COPE_DEFAULTS;
 *     cope.scale = 0.125f;
 *     cope.q_off = n_k - n_q;
 *     posenc_status status = posenc_cope_logits(&cope, &s, NULL, &z, &s, posenc_all_rows());
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.mask = posenc_mask_causal();
 *     params.q_off = n_k - n_q;
 *     status = posenc_softmax(&params, &s, &s, posenc_all_rows());
 */
#ifndef POSENC_COPE_H
#define POSENC_COPE_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum posenc_cope_form {
    POSENC_COPE_LISTING = 0, /* logit = scale x_j + b_j: the paper's listing */
    POSENC_COPE_SCALED       /* logit = scale (x_j + b_j): the default of the published repository */
} posenc_cope_form;

typedef struct posenc_cope_params {
    float scale; /* finite; 1/sqrt(head_dim) */
    posenc_cope_form form;
    int64_t q_off; /* position of query 0 among the keys, n_k - n_q with a cache; -2^30 .., q_off + n_q at most 2^30 */
} posenc_cope_params;

#define POSENC_COPE_DEFAULTS                                                                                           \
    { 1.0f, POSENC_COPE_LISTING, 0 }

/* y[j] = the logit of key j for j <= q_off + i, -inf beyond. x: scores q . k, f32 [n_k, n_q, n_heads, n_batch], y the
 * same view or apart; gates: scores that make the gates instead of x (the published option of separate gate keys),
 * like x, apart from y, or NULL; z: f32 [n_positions, n_q, n_heads, n_batch], 1 <= n_positions <= 2^24, apart from y.
 * A row is one query of one head: row = (batch * n_heads + head) * n_q + query. */
POSENC_API posenc_status posenc_cope_logits(const posenc_cope_params *params, const posenc_view *x,
                                            const posenc_view *gates, const posenc_view *z, const posenc_view *y,
                                            posenc_rows rows);

#ifdef __cplusplus
}
#endif
#endif
