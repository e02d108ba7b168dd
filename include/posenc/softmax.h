/* posenc/softmax.h - raw attention scores to probabilities in one call (FORMULAS C.3, C.23, C.26).
 *
 *     l_j = scale * x_j - slope_h * |q_off + i - j|        for the keys j that the mask allows
 *     y_j = exp(l_j - max l) / sum exp(l - max l), and 0 for the keys it forbids
 *
 * in float32: l_j = fma(x_j, scale, -(slope_h * (float)|q_off + i - j|)).
 *
 * What to expect:
 *   - Work is proportional to the allowed keys; forbidden ones are not read, only set to 0.
 *   - Probabilities below FLT_MIN are 0 (values within 2^-20 above it may be): nothing is denormal, no input is slow.
 *   - A row whose every logit is -inf, or that may see no key, is all zeros.
 *   - A NaN or +inf among the logits makes every allowed entry of its row NaN.
 *   - Against the exact function of the same float32 inputs: |error| <= 2e-6 absolute for rows up to 2^20 keys
 *     while |l| <= 16; beyond, the rounding of l itself, 2^-24 |l| relative, comes on top.
 *   - The sum is taken in a fixed order (key j joins lane j mod 32; every 512 keys the lanes move on to double), so the bits
 *     do not depend on instruction set, split or alignment.
 *
 * Example: a causal row range of 32 heads, 8 queries behind a cache of n_k - 8 keys
 *
 *     posenc_softmax_params params = POSENC_SOFTMAX_DEFAULTS;
 *     params.scale = 0.0883883f;
 *     params.slopes = slopes;
 *     params.mask = POSENC_MASK_CAUSAL;
 *     params.q_off = n_k - 8;
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, n_k, 8, 32, 1);
 *     posenc_status status = posenc_softmax(&params, &s, &s, posenc_all_rows());
 */
#ifndef POSENC_SOFTMAX_H
#define POSENC_SOFTMAX_H

#include <posenc/alibi.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct posenc_softmax_params {
    float scale;         /* finite */
    const float *slopes; /* ALiBi slopes [n_heads], finite; NULL: no bias */
    posenc_mask mask;
    int64_t q_off; /* position of query 0 among the keys, for bias and mask */
} posenc_softmax_params;

#define POSENC_SOFTMAX_DEFAULTS                                                                                        \
    { 1.0f, NULL, POSENC_MASK_NONE, 0 }

/* x and y: [n_k, n_q, n_heads, n_batch], the same view or no overlap. A row is one query of one head:
 * row = (batch * n_heads + head) * n_q + query. q_off is at least -2^30, q_off + n_q and n_k are at most
 * 2^30 (POSENC_ERR_POSITION, POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_softmax(const posenc_softmax_params *params, const posenc_view *x, const posenc_view *y,
                                        posenc_rows rows);

#ifdef __cplusplus
}
#endif
#endif
