/* posenc/alibi.h - attention with linear biases (arXiv 2108.12409; FORMULAS C.2, C.3).
 *
 * Head h adds -slope_h * |i_abs - j| to the score of query i and key j, i_abs = q_off + i. On the keys a causal
 * model may see (j <= i_abs) this is the paper's slope_h * (j - i_abs). softmax.h applies it in the score path
 * without ever storing it; posenc_logits without scores writes it out.
 */
#ifndef POSENC_ALIBI_H
#define POSENC_ALIBI_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The published slopes for any number of heads, with max_bias = 8 as in the paper. With c the largest power of two
 * that is at most n_heads: 2^(-max_bias (h+1)/c) for h < c, then 2^(-max_bias (2(h-c)+1)/(2c)), as trained
 * checkpoints have them. slopes[n_heads]; n_heads: 1 .. 2^20; max_bias: 0 .. 100. Each slope is
 * correctly rounded. */
POSENC_API posenc_status posenc_alibi_slopes(int64_t n_heads, double max_bias, float *slopes);

/* 2^(-max_bias (h+1)/n_heads): the same for powers of two, and what no published checkpoint uses otherwise. */
POSENC_API posenc_status posenc_alibi_slopes_plain(int64_t n_heads, double max_bias, float *slopes);

#ifdef __cplusplus
}
#endif
#endif
