/* SPDX-License-Identifier: MIT */
/** @file
 * Gradients through softmax and attention logits (FORMULAS E.4 - E.6). dX is the gradient of a
 * scalar loss with respect to X.
 *
 * Softmax, with p the probabilities that posenc_softmax gave and l its logits:
 *
 *     g    = sum p_j dp_j
 *     dl_j = p_j (dp_j - g)                                   0 where p_j < FLT_MIN, whatever dp_j is
 *     db_j = bias_slope_h dl_j                                what a bias gets: tensors, relative biases
 *     dx_j = scale (1 - tanh^2(scale s_j / cap)) dl_j         without a cap, scale dl_j
 *
 * In float32, g summed in double in the order of softmax.h (products joining by fma) and rounded once; so the bits do
 * not depend on instruction set or split. |error| <= 2e-6 p_j max |dp| times bias_slope or scale; with a cap, 4e-6 for
 * dx. This is for |dp| <= 1.7e38, half of FLT_MAX: beyond, dp_j - g may be infinite. A p_j below FLT_MIN, negative ones
 * too, counts as 0 everywhere: posenc_softmax gives none but 0.
 *
 * From there: a relative bias's gradient is the sum of db over each diagonal, and everything that a relative bias was
 * made of has its gradient from that.
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

/** Gradient of the softmax, and of what it takes. p, dp, dx: [n_k, n_q, n_heads, n_batch], f32; rows and params as for
 * posenc_softmax. dx may be the view of dp or p.
 *
 *   s           the scores s_j of softmax.h, relative terms added; needed with a cap, else not read
 *   db          NULL, or where db goes; apart from dx, and the view of dp, p or s, or apart from them
 *   dsink_rows  NULL, or [all rows]: -p_sink g of each row of the range, p_sink = 1 - sum p; posenc_sink_backward
 *               adds them up
 *
 * Keys that position, lengths or documents forbid get 0, whatever stands there. */
POSENC_API posenc_status posenc_softmax_backward(const posenc_score_params *params, const posenc_view *p,
                                                 const posenc_view *dp, const posenc_view *s, const posenc_view *dx,
                                                 const posenc_view *db, float *dsink_rows, posenc_range rows);

/** Gradient of attention sinks. dsinks[h] = sum of dsink_rows over batch, then query, ascending in double; dsink_rows
 * is [n_batch][n_heads][n_q]. */
POSENC_API posenc_status posenc_sink_backward(const float *dsink_rows, int64_t n_q, int64_t n_heads, int64_t n_batch,
                                              float *dsinks);

/** Gradient of a relative bias. gradient_h[o] = sum of ds over the queries and keys of offset o, ds: [n_k, n_q,
 * n_heads, n_batch], f32. Summed in double, ascending by batch, then (for a stride of 0) head, then query, then key,
 * and rounded once. Of params, the positions are used (and sequences.k_end, for alignment). Offsets beyond the ends of
 * a clamped bias go to its ends; of another they are left out, so that a long one can be made in parts. With given
 * positions, ds is read once for every 4096 offsets. */
POSENC_API posenc_status posenc_rel_bias_backward(const posenc_score_params *params, const posenc_view *ds,
                                                  const posenc_rel_bias *gradient);

/* ---- From the gradient of a relative bias to that of what it was made of ----
 *
 * Sums in double, ascending by offset, rounded once. */

/** Gradient of a table of biases. table[r][h] = scale * sum of the bias's gradient over the offsets whose index is r; 0
 * for a row that none has. T5, clipped scalars. */
POSENC_API posenc_status posenc_bias_table_backward(const posenc_rel_index *index, const posenc_rel_bias *gradient,
                                                    float scale, const posenc_bias_table *table);

/** Gradient of learned ALiBi slopes: slopes[h] = -sum |o| gradient_h[o]. Here and for KERPLE the bias is
 * not clamped (POSENC_ERR_OFFSETS). */
POSENC_API posenc_status posenc_alibi_backward(const posenc_rel_bias *gradient, float *slopes);

/** What a parameter beyond its clamp gets: its gradient all the same, as in KERPLE's code, which overwrites the
 * parameter; or 0. */
typedef enum posenc_clamped { POSENC_CLAMPED_PASSES = 0, POSENC_CLAMPED_STOPS } posenc_clamped;

/** Gradients of KERPLE's parameters, p[n_heads] and a[n_heads]. */
POSENC_API posenc_status posenc_kerple_backward(const posenc_kerple *kerple, posenc_clamped clamped,
                                                const posenc_rel_bias *gradient, float *dp, float *da);

/** Gradient of Swin's table. table[r][h] = sum of ds over batch, query and key, ascending; ds: f32 [n, n,
 * n_heads, n_batch] with n = height * width. */
POSENC_API posenc_status posenc_swin_backward(int64_t height, int64_t width, const posenc_view *ds,
                                              const posenc_bias_table *table);

/* ---- Gradients of the relative terms (FORMULAS E.5).
 *
 * Let dS be the gradient of the loss with respect to s_j of softmax.h times the scale: what the softmax's backward pass
 * gives. Scores take products through an index; backwards, what reaches a product is the sum of dS over all keys of its
 * row: W = posenc_relative_sums. Everything else is products of matrices, two of them for every scheme:
 *
 *   posenc_relative_combine    y_i += factor sum over r of w[r, i] rows_r
 *   posenc_relative_collect    y_r += factor sum over i of w[r, i] (x_i + shift)
 *
 *   Shaw, keys       W = sums_by_query(dS);   dq = combine(W, A^K);   dA^K = collect(W, q)
 *   Shaw, values     W = sums_by_query(P);    dA^V = collect(W, dz);
 *                    dp_ij += dz_i . A^V[row]: the products of dz with A^V (relative.h), taken by posenc_logits
 *   Transformer-XL   W = sums_by_query(dS);   dq_r = combine(W, R);   dR = collect(W, q, shift v)
 *                    dq_k = combine(dS, k);   dk = collect(dS, q, shift u);   dq = dq_k + dq_r
 *                    du = collect(ones, dq_k);   dv = collect(ones, dq_r)
 *   DeBERTa          c2p as Shaw's keys with K^r; p2c:
 *                    W = sums_by_key(dS);   dk = combine(W, Q^r);   dQ^r = collect(W, k)
 *
 * where ones is the view of a single 1.0f, [1, n_q, n_heads, n_batch] with strides {4, 0, 0, 0}, and du, dv are
 * [head_dim, n_heads, 1, 1]. Outputs of combine and collect are added to: set them to 0 first, or let them gather
 * several terms, or batches. Sums are float32 in a stated order, so the bits depend neither on threads nor on the
 * machine.
 *
 * Example: du of one head of two queries of four channels
 *
 *     posenc_view x = posenc_view_dense(dq_k, POSENC_F32, 4, 1, 2, 1);
 *     posenc_view y = posenc_view_dense(du, POSENC_F32, 4, 1, 1, 1);
 *     posenc_view ones = {&one, POSENC_F32, {1, 2, 1, 1}, {4, 0, 0, 0}};
 *     posenc_status status = posenc_relative_collect(&ones, &x, NULL, 1.0f, &y, posenc_range_all());
 */

/** Sums of a gradient of scores by query and row of the table. w[r, i, h, b] = the sum of x[j, i, h, b] over the keys j
 * with row r; 0 if there is none. x: f32 [n_k, n_q, n_heads, n_batch]; w: f32 [n_rows, n_q, n_heads, n_batch], apart.
 * Keys whose offset the mask lets no query see are not looked at; the others that are masked must hold 0. Rows are
 * those of x. Each run of neighbouring keys with the same row is added up as in posenc_relative_values, which has the
 * same offsets; runs join in ascending order. */
POSENC_API posenc_status posenc_relative_sums_by_query(const posenc_rel_index *index, posenc_mask mask,
                                                       int64_t query_start, const posenc_view *x, const posenc_view *w,
                                                       posenc_range rows);

/** Sums of a gradient of scores by key and row of the table. w[r, j, h, b] = the sum of x[j, i, h, b] over the queries
 * i for which key j has row r, in ascending order; w: [n_rows, n_k, n_heads, n_batch], and rows are its: row = (batch *
 * n_heads + head) * n_k + key. Otherwise as above. */
POSENC_API posenc_status posenc_relative_sums_by_key(const posenc_rel_index *index, posenc_mask mask,
                                                     int64_t query_start, const posenc_view *x, const posenc_view *w,
                                                     posenc_range rows);

/** Adds rows of a table, weighted by sums. y[c, h, i, b] += (factor * w[r, i, h, b]) * table[c, h, r, b] for r = 0 .. n
 * - 1, one fma after the other. w: f32 [n, n_q, n_heads, n_batch]; table: f32, f16 or bf16 [dim, n_heads or 1, n,
 * n_batch or 1]; y: f32 [dim, n_heads, n_q, n_batch], apart from both; factor: finite. Rows are those of w: row =
 * (batch * n_heads + head) * n_q + query. */
POSENC_API posenc_status posenc_relative_combine(const posenc_view *w, const posenc_view *table, float factor,
                                                 const posenc_view *y, posenc_range rows);

/** Adds tokens, weighted by sums, to the rows of a table. y[c, h, r, b] += (factor * w[r, i, h, b]) * (x[c, h, i, b] +
 * shift[h][c]) for i = 0 .. n_q - 1, one fma after the other. w: f32 [n, n_q, n_heads, n_batch]; x: f32, f16 or bf16
 * [dim, n_heads, n_q, n_batch]; shift: [n_heads][dim], or NULL; y: f32 [dim, n_heads or 1, n, n_batch or 1], apart from
 * both, which adds up the heads and batches that it shares: batches ascending, in each the heads, in each the queries.
 * factor: finite. Rows are those of y: row = (batch * n + r) * n_heads + head of its own extents. */
POSENC_API posenc_status posenc_relative_collect(const posenc_view *w, const posenc_view *x, const float *shift,
                                                 float factor, const posenc_view *y, posenc_range rows);

#ifdef __cplusplus
}
#endif
#endif
