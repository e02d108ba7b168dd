/* posenc/softmax_backward.h - gradients through the score path (FORMULAS E.4 - E.6). dX is the gradient of a scalar
 * loss with respect to X.
 *
 * Softmax, with p the probabilities that posenc_softmax gave and l its logits:
 *
 *     g    = sum p_j dp_j
 *     dl_j = p_j (dp_j - g)                                   0 where p_j < FLT_MIN, whatever dp_j is
 *     db_j = bias_slope_h dl_j                                what a bias gets: bias tensors, lines
 *     dx_j = scale (1 - tanh^2(scale s_j / cap)) dl_j         without a cap, scale dl_j
 *
 * In float32, g summed in double in the order of softmax.h (products joining by fma) and rounded once; so the bits do
 * not depend on instruction set or split. |error| <= 2e-6 p_j max |dp| times bias_slope or scale; with a cap, 4e-6 for
 * dx. This is for |dp| <= 1.7e38, half of FLT_MAX: beyond, dp_j - g may be infinite. A p_j below FLT_MIN, negative ones
 * too, counts as 0 everywhere: posenc_softmax gives none but 0.
 *
 * From there: a bias line's gradient is the sum of db over each diagonal, and everything that a line was made of has
 * its gradient from that of the line.
 *
 * Example: causal attention with T5's bias; buckets as in line.h
 *
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.mask = posenc_mask_causal();
 *     params.line = &line;
 *     posenc_view p = posenc_view_dense(probabilities, POSENC_F32, 64, 64, n_heads, 1);
 *     posenc_view d = posenc_view_dense(gradients, POSENC_F32, 64, 64, n_heads, 1);
 *     posenc_status status = posenc_softmax_backward(&params, &p, &d, NULL, &d, NULL, NULL, posenc_all_rows());
 *     status = posenc_line_gradient(&params, &d, &line_gradient);
 *     status = posenc_table_gradient(&buckets, &line_gradient, 1.0f, &table_gradient);
 */
#ifndef POSENC_SOFTMAX_BACKWARD_H
#define POSENC_SOFTMAX_BACKWARD_H

#include <posenc/line.h>
#include <posenc/line_functions.h>
#include <posenc/softmax.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* p, dp, dx: [n_k, n_q, n_heads, n_batch], f32; rows and params as for posenc_softmax. dx may be the view of dp or p.
 *
 *   s           the scores s_j of softmax.h, relative terms added; needed with a cap, else not read
 *   db          NULL, or where db goes; apart from dx, and the view of dp, p or s, or apart from them
 *   dsink_rows  NULL, or [all rows]: -p_sink g of each row of the range, p_sink = 1 - sum p; posenc_sink_gradient
 *               adds them up
 *
 * Keys that position, lengths or documents forbid get 0, whatever stands there. */
POSENC_API posenc_status posenc_softmax_backward(const posenc_score_params *params, const posenc_view *p,
                                                 const posenc_view *dp, const posenc_view *s, const posenc_view *dx,
                                                 const posenc_view *db, float *dsink_rows, posenc_rows rows);

/* dsinks[h] = sum of dsink_rows over batch, then query, ascending in double; dsink_rows is [n_batch][n_heads][n_q]. */
POSENC_API posenc_status posenc_sink_gradient(const float *dsink_rows, int64_t n_q, int64_t n_heads, int64_t n_batch,
                                              float *dsinks);

/* gradient_h[o] = sum of ds over the queries and keys of offset o, ds: [n_k, n_q, n_heads, n_batch], f32. Summed in
 * double, ascending by batch, then (for a line of stride 0) head, then query, then key, and rounded once. Of params,
 * q_off with q_offs, or q_pos and k_pos are used. Offsets beyond a line that is extended go to its ends; beyond another
 * they are left out, so that a long line can be made in parts. With q_pos, ds is read once for every 4096 offsets. */
POSENC_API posenc_status posenc_line_gradient(const posenc_score_params *params, const posenc_view *ds,
                                              const posenc_line *gradient);

/* ---- From the gradient of a line to that of what it was made of ----
 *
 * Sums in double, ascending by offset, rounded once. */

/* table[r][h] = scale * sum of the line's gradient over the offsets whose index is r; 0 for a row that none has. T5,
 * clipped scalars. */
POSENC_API posenc_status posenc_table_gradient(const posenc_index_line *index, const posenc_line *gradient, float scale,
                                               const posenc_bias_table *table);

/* slopes[h] = -sum |o| gradient_h[o]: learned ALiBi slopes. Here and for KERPLE the line is not extended
 * (POSENC_ERR_OFFSETS). */
POSENC_API posenc_status posenc_alibi_gradient(const posenc_line *gradient, float *slopes);

/* What a parameter beyond its clamp gets: its gradient all the same, as in KERPLE's code, which overwrites the
 * parameter; or 0. */
typedef enum posenc_clamped { POSENC_CLAMPED_PASSES = 0, POSENC_CLAMPED_STOPS } posenc_clamped;

/* Gradients of p[n_heads] and a[n_heads]. */
POSENC_API posenc_status posenc_kerple_gradient(const posenc_kerple *kerple, posenc_clamped clamped,
                                                const posenc_line *gradient, float *dp, float *da);

/* Swin: table[r][h] = sum of ds over batch, query and key, ascending; ds: f32 [n, n, n_heads, n_batch] with n = height
 * * width. */
POSENC_API posenc_status posenc_swin_gradient(int64_t height, int64_t width, const posenc_view *ds,
                                              const posenc_bias_table *table);

#ifdef __cplusplus
}
#endif
#endif
