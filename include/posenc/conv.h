/* posenc/conv.h - conditional positional encoding: a depth-wise convolution over the tokens (CPVT's PEG, arXiv
 * 2102.10882; Twins' PosCNN; FORMULAS A.20, E.2).
 *
 *     conv[t][c] = bias[c] + sum over u of w[c][u] x[t + u - pad][c],    0 outside,    y = conv, or x + conv (residual)
 *
 * Over tokens in a line, pad = (K-1)/2 or, causal, K-1; or over a grid of height x width tokens, row-major, w
 * [C][K][K] and two sums. It is cross-correlation, as in every deep-learning library. Terms are added by fma in
 * float32, from the bias on in the order of w (row-major), x last; terms outside are left out.
 *
 *     posenc_conv_params params = POSENC_CONV_DEFAULTS;
 *     params.n_channels = 64;
 *     params.n_dims = 2;
 *     posenc_conv *peg;
 *     posenc_status status = posenc_conv_create(&params, weights, bias, &peg);
 *     posenc_conv_grid grid = {1, 14, 14};
 *     posenc_view x = posenc_view_dense(tokens, POSENC_F32, 64, 197, n_batch, 1);
 *     posenc_view y = posenc_view_dense(result, POSENC_F32, 64, 197, n_batch, 1);
 *     status = posenc_conv_apply(peg, grid, &x, &y, posenc_all_rows());
 *     posenc_conv_free(peg);
 */
#ifndef POSENC_CONV_H
#define POSENC_CONV_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POSENC_MAX_CONV_KERNEL 31    /* in one dimension */
#define POSENC_MAX_CONV_KERNEL_2D 15 /* in two */

typedef struct posenc_conv_params {
    int64_t n_channels; /* 0 .. 2^21 (POSENC_ERR_HEAD_DIM) */
    int n_dims;         /* 1 or 2 (POSENC_ERR_SECTIONS) */
    int64_t kernel;     /* K: 1 .. the largest, odd unless causal (POSENC_ERR_SHAPE) */
    int is_causal;      /* one dimension only (POSENC_ERR_ENUM) */
    int has_residual;
} posenc_conv_params;

#define POSENC_CONV_DEFAULTS                                                                                           \
    { 0, 1, 3, 0, 1 }

/* n_prefix tokens, which are copied (their gradient too), then height * width; in one dimension height is 1. */
typedef struct posenc_conv_grid {
    int64_t n_prefix, height, width;
} posenc_conv_grid;

typedef struct posenc_conv posenc_conv;

/* weights [n_channels][K] or [n_channels][K][K] and bias [n_channels], or NULL for none, are copied. On failure *conv
 * is set to NULL. */
POSENC_API posenc_status posenc_conv_create(const posenc_conv_params *params, const float *weights, const float *bias,
                                            posenc_conv **conv);
POSENC_API void posenc_conv_free(posenc_conv *conv);

/* x and y [n_channels, n_prefix + height*width, n_batch, 1], of any types, apart from each other. A row is one token:
 * row = batch * n_tokens + token. */
POSENC_API posenc_status posenc_conv_apply(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *x,
                                           const posenc_view *y, posenc_rows rows);

/* dx[s][c] = sum over u of w[c][u] dy[s - u + pad][c], plus dy[s][c] with a residual; in the order of w. */
POSENC_API posenc_status posenc_conv_grad_input(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *dy,
                                                const posenc_view *dx, posenc_rows rows);

/* dw[c][u] += sum over t of dy[t][c] x[t + u - pad][c] and db[c] += sum over t of dy[t][c]: sums in float32, that of dw
 * by fma from 0, that of db from what stands there, tokens in ascending order, batches in order. x and dy are float32;
 * dw is as the weights, db [n_channels] or NULL. A row is one tap u: threads take ranges of those; db belongs to
 * tap 0. */
POSENC_API posenc_status posenc_conv_grad_weights(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *x,
                                                  const posenc_view *dy, float *dw, float *db, posenc_rows rows);

#ifdef __cplusplus
}
#endif
#endif
