/* SPDX-License-Identifier: MIT */
/** @file
 * Gradients of softmax and attention logits (E.4 - E.6). dX is the gradient of a scalar loss for X.
 *
 * Example: the table of T5's bias, from probabilities p and their gradients dp; params, bias and buckets as in bias.h
 *
 *     posenc_status status = posenc_softmax_backward(&params, &p, &dp, NULL, &dp, NULL, NULL, posenc_range_all());
 *     status = posenc_rel_bias_backward(&params, &dp, &bias_gradient);
 *     status = posenc_bias_table_backward(&buckets, &bias_gradient, 1.0f, &table_gradient);
 */
#ifndef POSENC_BACKWARD_H
#define POSENC_BACKWARD_H

#include <posenc/softmax.h>

POSENC_BEGIN_C

/** Gradients of scores (dx) and biases (db) for p of posenc_softmax (E.6). p, dp, dx: f32 scores; dx
 * may be p or dp. s: scores with relative terms, needed with a cap. db: or NULL; apart from dx, may be p, dp or s.
 * dsink_rows: NULL, or an entry for each row of the tensor, -p_sink sum p dp. */
POSENC_API posenc_status posenc_softmax_backward(const posenc_score_params *params, const posenc_view *p,
                                                 const posenc_view *dp, const posenc_view *s, const posenc_view *dx,
                                                 const posenc_view *db, float *dsink_rows, posenc_range rows);

/** Gradient of sinks: dsinks[h] = sum of dsink_rows [n_batch][n_heads][n_q]. */
POSENC_API posenc_status posenc_sink_backward(const float *dsink_rows, int64_t n_q, int64_t n_heads, int64_t n_batch,
                                              float *dsinks);

/** Gradient of a relative bias: gradient_h[o] = sum of ds (f32 scores) over pairs of offset o; heads too for a stride
 * of 0. params: positions and sequences.k_end. Offsets beyond a clamped bias go to its ends. */
POSENC_API posenc_status posenc_rel_bias_backward(const posenc_score_params *params, const posenc_view *ds,
                                                  const posenc_rel_bias *gradient);

/* ---- Parameters of relative biases ---- */

/** Gradient of a table of biases: table[r][h] = scale * sum of the gradient over the offsets with index r. */
POSENC_API posenc_status posenc_bias_table_backward(const posenc_rel_index *index, const posenc_rel_bias *gradient,
                                                    float scale, const posenc_bias_table *table);

/** Gradient of ALiBi slopes: -sum |o| gradient_h[o]. A clamped bias is refused, also for KERPLE (POSENC_ERR_OFFSETS).
 */
POSENC_API posenc_status posenc_alibi_backward(const posenc_rel_bias *gradient, float *slopes);

/** Gradient beyond the clamp: as in KERPLE's code, or 0. */
typedef enum posenc_clamped { POSENC_CLAMPED_PASSES, POSENC_CLAMPED_STOPS } posenc_clamped;

/** Gradients of KERPLE's p[n_heads] and a[n_heads]. */
POSENC_API posenc_status posenc_kerple_backward(const posenc_kerple *kerple, posenc_clamped clamped,
                                                const posenc_rel_bias *gradient, float *dp, float *da);

/** Gradient of Swin's table. ds: f32 [n, n, n_heads, n_batch], n = height * width. */
POSENC_API posenc_status posenc_swin_backward(int64_t height, int64_t width, const posenc_view *ds,
                                              const posenc_bias_table *table);

/* ---- Relative terms (E.5) ----
 *
 * docs/recipes.md has each scheme. combine and collect add to y. */

/** Writes w[r,i,h,b] = sum of x[j,i,h,b] over the keys j with table row r. x: f32 scores; keys masked by offset are not
 * read, other masked keys must hold 0. w: f32 [n_rows, n_q, n_heads, n_batch], apart. */
POSENC_API posenc_status posenc_relative_sums_by_query(const posenc_rel_index *index, posenc_mask mask,
                                                       int64_t query_start, const posenc_view *x, const posenc_view *w,
                                                       posenc_range rows);

/** Writes w[r,j,h,b] = sum of x[j,i,h,b] over the queries i. w: f32 [n_rows, n_k, n_heads, n_batch]. row = (batch *
 * n_heads + head) * n_k + key. */
POSENC_API posenc_status posenc_relative_sums_by_key(const posenc_rel_index *index, posenc_mask mask,
                                                     int64_t query_start, const posenc_view *x, const posenc_view *w,
                                                     posenc_range rows);

/** Adds y[c,h,i,b] += sum over r of factor w[r,i,h,b] table[c,h,r,b]. w: f32 [n, n_q, n_heads, n_batch]. table: any
 * type [dim, n_heads or 1, n, n_batch or 1]. y: f32 heads, apart. rows: of w. */
POSENC_API posenc_status posenc_relative_combine(const posenc_view *w, const posenc_view *table, float factor,
                                                 const posenc_view *y, posenc_range rows);

/** Adds y[c,h,r,b] += sum over i of factor w[r,i,h,b] (x[c,h,i,b] + shift[h][c]). w as above. x: heads, f32, f16 or
 * bf16. shift: [n_heads][dim], or NULL. y: f32 [dim, n_heads or 1, n, n_batch or 1], apart; shared heads and batches
 * are summed. */
POSENC_API posenc_status posenc_relative_collect(const posenc_view *w, const posenc_view *x, const float *shift,
                                                 float factor, const posenc_view *y, posenc_range rows);

POSENC_END_C
#endif
