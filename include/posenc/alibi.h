/* posenc/alibi.h - attention with linear biases (arXiv 2108.12409; FORMULAS C.2, C.3).
 *
 * Head h adds -slope_h * |i_abs - j| to the score of query i and key j, i_abs = q_off + i. On the keys a causal model
 * may see (j <= i_abs) this is the paper's slope_h * (j - i_abs). softmax.h applies it from the slopes alone, without
 * ever storing it; posenc_logits with x NULL writes it out. Where ALiBi is to be added up with other biases of the
 * offset, or where other code needs it, it is a line, or a single row for all queries.
 *
 * Example: 32 heads, decoding behind a cache: the newest of 4096 keys has bias 0
 *
 *     posenc_status status = posenc_alibi_slopes(32, 8.0, slopes);
 *     posenc_view bias = posenc_view_dense(bias_data, POSENC_F32, 4096, 1, 32, 1);
 *     status = posenc_alibi_one_row(slopes, POSENC_ONE_ROW_FROM_LAST, NULL, &bias);
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.scale = 0.0883883f;
 *     params.bias = &bias;
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, 4096, 1, 32, 1);
 *     status = posenc_softmax(&params, &s, &s, posenc_all_rows());
 */
#ifndef POSENC_ALIBI_H
#define POSENC_ALIBI_H

#include <posenc/line.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The published slopes for any number of heads, with max_bias = 8 as in the paper. With c the largest power of two
 * that is at most n_heads: 2^(-max_bias (h+1)/c) for h < c, then 2^(-max_bias (2(h-c)+1)/(2c)), as trained
 * checkpoints have them. slopes[n_heads]; n_heads: 1 .. 2^20; max_bias: 0 .. 100. Each slope is
 * known to 2^-90 and correctly rounded. */
POSENC_API posenc_status posenc_alibi_slopes(int64_t n_heads, double max_bias, float *slopes);

/* 2^(-max_bias (h+1)/n_heads): the same for powers of two, and what no published checkpoint uses otherwise. */
POSENC_API posenc_status posenc_alibi_slopes_plain(int64_t n_heads, double max_bias, float *slopes);

/* line_h[o] = -(slopes[h] * |o|), the distance rounded to float32 and then the product: the bits of softmax.h's slopes.
 * slopes[line->n_heads], finite. */
POSENC_API posenc_status posenc_line_alibi(const float *slopes, const posenc_line *line);

/* One row for all queries: the symmetric bias plus slope_h * i_abs, which cancels in a causal softmax. The
 * probabilities are the same, the logits are not: not to be used with sinks, for logits that are handed on, or where
 * keys follow the query.
 *
 *     POSENC_ONE_ROW_FROM_FIRST   slope_h * j                  (the official code)
 *     POSENC_ONE_ROW_FROM_LAST    slope_h * (j - (n_k - 1))    (MPT)
 *     POSENC_ONE_ROW_COUNTED      slope_h * (real keys before j), 0 for padded keys (BLOOM)
 */
typedef enum posenc_one_row {
    POSENC_ONE_ROW_UNSET = 0,
    POSENC_ONE_ROW_FROM_FIRST,
    POSENC_ONE_ROW_FROM_LAST,
    POSENC_ONE_ROW_COUNTED
} posenc_one_row;

/* bias: f32 [n_k, 1, n_heads, n_batch], n_k at most 2^30; as it stands it is posenc_score_params' bias.
 * slopes[n_heads], finite.
 * keep[n_batch][n_k], nonzero where the key is real, is read by COUNTED only. */
POSENC_API posenc_status posenc_alibi_one_row(const float *slopes, posenc_one_row form, const uint8_t *keep,
                                              const posenc_view *bias);

#ifdef __cplusplus
}
#endif
#endif
