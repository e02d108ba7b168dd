/* SPDX-License-Identifier: MIT */
/** @file
 * Gradients of softmax and attention logits (FORMULAS E.4 - E.6). dX is the gradient of a scalar loss for X.
 *
 * Example: causal attention with T5's bias; buckets as in bias.h
 *
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.mask = posenc_mask_causal();
 *     params.bias.relative = &bias;
 *     posenc_view p = posenc_view_dense(probabilities, POSENC_F32, 64, 64, n_heads, 1);
 *     posenc_view d = posenc_view_dense(gradients, POSENC_F32, 64, 64, n_heads, 1);
 *     posenc_status status = posenc_softmax_backward(&params, &p, &d, NULL, &d, NULL, NULL, posenc_range_all());
 *     status = posenc_rel_bias_backward(&params, &d, &bias_gradient);
 *     status = posenc_bias_table_backward(&buckets, &bias_gradient, 1.0f, &table_gradient);
 */
#ifndef POSENC_BACKWARD_H
#define POSENC_BACKWARD_H

#include <posenc/bias.h>
#include <posenc/mask.h>
#include <posenc/softmax.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Gradient of the softmax, for p of posenc_softmax. Error 2e-6 p_j max |dp|, for |dp| <= 1.7e38:
 * docs/numerics.md#gradients.
 *
 *     dl_j = p_j (dp_j - sum p dp)                         logits; 0 where p_j < FLT_MIN
 *     dx_j = scale (1 - tanh^2(scale s_j / cap)) dl_j      scores; without a cap, scale dl_j
 *     db_j = tensor_slope_h dl_j                           biases
 *
 *     p, dp, dx    f32 [n_k, n_q, n_heads, n_batch]; dx may be the view of dp or p; masked keys get 0
 *     s            scores of softmax.h with relative terms; needed with a cap, else not read
 *     db           output or NULL; apart from dx, may be the view of dp, p or s
 *     dsink_rows   NULL, or an entry for each row of the tensor: -p_sink g for rows of the range, p_sink = 1 - sum p
 *     rows         as for posenc_softmax */
POSENC_API posenc_status posenc_softmax_backward(const posenc_score_params *params, const posenc_view *p,
                                                 const posenc_view *dp, const posenc_view *s, const posenc_view *dx,
                                                 const posenc_view *db, float *dsink_rows, posenc_range rows);

/** Gradient of attention sinks: dsinks[h] = sum of dsink_rows [n_batch][n_heads][n_q] over batch and query. */
POSENC_API posenc_status posenc_sink_backward(const float *dsink_rows, int64_t n_q, int64_t n_heads, int64_t n_batch,
                                              float *dsinks);

/** Gradient of a relative bias: gradient_h[o] = sum of ds over the queries and keys of offset o; heads too for a stride
 * of 0. ds: f32 [n_k, n_q, n_heads, n_batch]. params: only positions (and sequences.k_end) are used. Offsets beyond a
 * clamped bias go to its ends; otherwise they are left out, so a long bias can be made in several calls. Given
 * positions: ds is read once for every 4096 offsets. */
POSENC_API posenc_status posenc_rel_bias_backward(const posenc_score_params *params, const posenc_view *ds,
                                                  const posenc_rel_bias *gradient);

/* ---- Parameters of relative biases, from the bias's gradient ---- */

/** Gradient of a table of biases (T5, clipped scalars): table[r][h] = scale * sum of the bias's gradient over the
 * offsets with index r; 0 for other rows. */
POSENC_API posenc_status posenc_bias_table_backward(const posenc_rel_index *index, const posenc_rel_bias *gradient,
                                                    float scale, const posenc_bias_table *table);

/** Gradient of learned ALiBi slopes: slopes[h] = -sum |o| gradient_h[o]. A clamped bias is refused, here and for KERPLE
 * (POSENC_ERR_OFFSETS). */
POSENC_API posenc_status posenc_alibi_backward(const posenc_rel_bias *gradient, float *slopes);

/** Gradient of a parameter beyond its clamp: passed on, as in KERPLE's code, or 0. */
typedef enum posenc_clamped { POSENC_CLAMPED_PASSES = 0, POSENC_CLAMPED_STOPS } posenc_clamped;

/** Gradients of KERPLE's p[n_heads] and a[n_heads]. */
POSENC_API posenc_status posenc_kerple_backward(const posenc_kerple *kerple, posenc_clamped clamped,
                                                const posenc_rel_bias *gradient, float *dp, float *da);

/** Gradient of Swin's table: table[r][h] = sum of ds over batch, query and key. ds: f32 [n, n, n_heads, n_batch], n =
 * height * width. */
POSENC_API posenc_status posenc_swin_backward(int64_t height, int64_t width, const posenc_view *ds,
                                              const posenc_bias_table *table);

/* ---- Relative terms (FORMULAS E.5) ----
 *
 * dS is the gradient of s_j (softmax.h) times the scale. sums_by_* reduce it to table rows, W; combine and collect are
 * matrix products that add to y, so set y to 0 first.
 *
 *   Shaw, keys       W = sums_by_query(dS);   dq = combine(W, A^K);   dA^K = collect(W, q)
 *   Shaw, values     W = sums_by_query(P);    dA^V = collect(W, dz);
 *                    dp_ij += dz_i . A^V[row]: products of dz with A^V (relative.h), added by posenc_logits
 *   Transformer-XL   W = sums_by_query(dS);   dq_r = combine(W, R);   dR = collect(W, q, shift v)
 *                    dq_k = combine(dS, k);   dk = collect(dS, q, shift u);   dq = dq_k + dq_r
 *                    du = collect(ones, dq_k);   dv = collect(ones, dq_r)
 *   DeBERTa          c2p as Shaw's keys with K^r; p2c: W = sums_by_key(dS);   dk = combine(W, Q^r);   dQ^r = collect(W, k)
 *
 * ones: view of a single 1.0f, [1, n_q, n_heads, n_batch], strides {4, 0, 0, 0}. du, dv: [head_dim, n_heads, 1, 1].
 *
 * Example: du of one head of two queries of four channels
 *
 *     posenc_view x = posenc_view_dense(dq_k, POSENC_F32, 4, 1, 2, 1);
 *     posenc_view y = posenc_view_dense(du, POSENC_F32, 4, 1, 1, 1);
 *     posenc_view ones = {&one, POSENC_F32, {1, 2, 1, 1}, {4, 0, 0, 0}};
 *     posenc_status status = posenc_relative_collect(&ones, &x, NULL, 1.0f, &y, posenc_range_all());
 */

/** Sums a gradient of scores by query and table row: w[r, i, h, b] = sum of x[j, i, h, b] over the keys j with row r,
 * or 0. x: f32 [n_k, n_q, n_heads, n_batch]; keys masked by offset are not read, other masked keys must hold 0. w: f32
 * [n_rows, n_q, n_heads, n_batch], apart. rows: of x. */
POSENC_API posenc_status posenc_relative_sums_by_query(const posenc_rel_index *index, posenc_mask mask,
                                                       int64_t query_start, const posenc_view *x, const posenc_view *w,
                                                       posenc_range rows);

/** Sums by key and table row: w[r, j, h, b] = sum of x[j, i, h, b] over the queries i for which key j has row r. w: f32
 * [n_rows, n_k, n_heads, n_batch]. row = (batch * n_heads + head) * n_k + key. Otherwise as by query. */
POSENC_API posenc_status posenc_relative_sums_by_key(const posenc_rel_index *index, posenc_mask mask,
                                                     int64_t query_start, const posenc_view *x, const posenc_view *w,
                                                     posenc_range rows);

/** Adds weighted table rows: y[c, h, i, b] += sum over r of factor w[r, i, h, b] table[c, h, r, b].
 *
 *     w       f32 [n, n_q, n_heads, n_batch]
 *     table   f32, f16 or bf16 [dim, n_heads or 1, n, n_batch or 1]
 *     y       f32 [dim, n_heads, n_q, n_batch], apart from both
 *     rows    row = (batch * n_heads + head) * n_q + query; factor: finite */
POSENC_API posenc_status posenc_relative_combine(const posenc_view *w, const posenc_view *table, float factor,
                                                 const posenc_view *y, posenc_range rows);

/** Adds weighted tokens to table rows: y[c, h, r, b] += sum over i of factor w[r, i, h, b] (x[c, h, i, b] +
 * shift[h][c]).
 *
 *     w       f32 [n, n_q, n_heads, n_batch]
 *     x       f32, f16 or bf16 [dim, n_heads, n_q, n_batch]
 *     shift   [n_heads][dim], or NULL
 *     y       f32 [dim, n_heads or 1, n, n_batch or 1], apart from both; shared heads and batches are summed
 *     rows    row = (batch * n + r) * n_heads + head of y's extents; factor: finite */
POSENC_API posenc_status posenc_relative_collect(const posenc_view *w, const posenc_view *x, const float *shift,
                                                 float factor, const posenc_view *y, posenc_range rows);

#ifdef __cplusplus
}
#endif
#endif
