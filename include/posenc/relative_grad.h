/* posenc/relative_grad.h - gradients of the relative terms (FORMULAS E.5).
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
 * [head_dim, 1, n_heads, 1]. Outputs of combine and collect are added to: set them to 0 first, or let them gather
 * several terms, or batches. Sums are float32 in a stated order, so the bits depend neither on threads nor on the
 * machine.
 *
 * Example: du of one head of two queries, [dim, n_q] = [4, 2]
 *
 *     posenc_view x = posenc_view_dense(dq_k, POSENC_F32, 4, 2, 1, 1);
 *     posenc_view y = posenc_view_dense(du, POSENC_F32, 4, 1, 1, 1);
 *     posenc_view ones = {&one, POSENC_F32, {1, 2, 1, 1}, {4, 0, 0, 0}};
 *     posenc_status status = posenc_relative_collect(&ones, &x, NULL, 1.0f, &y, posenc_all_rows());
 */
#ifndef POSENC_RELATIVE_GRAD_H
#define POSENC_RELATIVE_GRAD_H

#include <posenc/line.h>
#include <posenc/mask.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* w[r, i, h, b] = the sum of x[j, i, h, b] over the keys j with row r; 0 if there is none. x: f32 [n_k, n_q, n_heads,
 * n_batch]; w: f32 [n_rows, n_q, n_heads, n_batch], apart. Keys whose offset the mask lets no query see are not
 * looked at; the others that are masked must hold 0. Rows are those of x. Each run of neighbouring keys with the same
 * row is added up as in posenc_relative_values, which has the same offsets; runs join in ascending order. */
POSENC_API posenc_status posenc_relative_sums_by_query(const posenc_index_line *index, posenc_mask mask, int64_t q_off,
                                                       const posenc_view *x, const posenc_view *w, posenc_rows rows);

/* w[r, j, h, b] = the sum of x[j, i, h, b] over the queries i for which key j has row r, in ascending order; w:
 * [n_rows, n_k, n_heads, n_batch], and rows are its: row = (batch * n_heads + head) * n_k + key. Otherwise as above. */
POSENC_API posenc_status posenc_relative_sums_by_key(const posenc_index_line *index, posenc_mask mask, int64_t q_off,
                                                     const posenc_view *x, const posenc_view *w, posenc_rows rows);

/* y[c, i, h, b] += (factor * w[r, i, h, b]) * table[c, r, h, b] for r = 0 .. n - 1, one fma after the other. w: f32
 * [n, n_q, n_heads, n_batch]; table: f32, f16 or bf16 [dim, n, n_heads or 1, n_batch or 1]; y: f32 [dim, n_q,
 * n_heads, n_batch], apart from both; factor: finite. Rows are those of w: row = (batch * n_heads + head) * n_q +
 * query. */
POSENC_API posenc_status posenc_relative_combine(const posenc_view *w, const posenc_view *table, float factor,
                                                 const posenc_view *y, posenc_rows rows);

/* y[c, r, h, b] += (factor * w[r, i, h, b]) * (x[c, i, h, b] + shift[h][c]) for i = 0 .. n_q - 1, one fma after the
 * other. w: f32 [n, n_q, n_heads, n_batch]; x: f32, f16 or bf16 [dim, n_q, n_heads, n_batch]; shift: [n_heads][dim],
 * or NULL; y: f32 [dim, n, n_heads or 1, n_batch or 1], apart from both, which adds up the heads and batches that it
 * shares: batches ascending, in each the heads, in each the queries. factor: finite. Rows are those of y: row =
 * (batch * n_heads + head) * n + r of its own extents. */
POSENC_API posenc_status posenc_relative_collect(const posenc_view *w, const posenc_view *x, const float *shift,
                                                 float factor, const posenc_view *y, posenc_rows rows);

#ifdef __cplusplus
}
#endif
#endif
