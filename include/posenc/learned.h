/* SPDX-License-Identifier: MIT */
/** @file
 * Learned tables: look-up, gradient, resizing (FORMULAS A.7-A.12, E.1, E.2).
 *
 *     r = id + offset,    E = scale * table[r]
 *
 * Ids are int32 or int64. What happens to r < 0 and r >= n_rows is the policy's: with ERROR the whole call is refused
 * (POSENC_ERR_POSITION; posenc_encoding_check names the row), CLAMP takes the nearest row, ZERO adds nothing.
 *
 *     posenc_view table = posenc_view_dense(weights, POSENC_BF16, 768, 514, 1, 1);
 *     posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS;
 *     lookup.offset = 2;
 *     posenc_encoding *e;
 *     posenc_status status = posenc_learned_create(&table, &lookup, &e);
 *     posenc_coords at = posenc_coords_of(ids, POSENC_COORD_I64);
 *     status = posenc_encoding_apply(e, &at, &x, NULL, &x, posenc_range_all());
 *     posenc_encoding_free(e);
 */
#ifndef POSENC_LEARNED_H
#define POSENC_LEARNED_H

#include <posenc/encoding.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum posenc_out_of_range {
    POSENC_OUT_OF_RANGE_ERROR = 0,
    POSENC_OUT_OF_RANGE_CLAMP,
    POSENC_OUT_OF_RANGE_ZERO
} posenc_out_of_range;

typedef struct posenc_lookup {
    int64_t offset;             /**< BART and OPT: 2; magnitude up to 2^62 (POSENC_ERR_POSITION) */
    float scale;                /**< finite (POSENC_ERR_SCALE); in a struct of zeros 0, and then every E is 0 */
    posenc_out_of_range policy; /**< POSENC_ERR_ENUM */
} posenc_lookup;

#define POSENC_LOOKUP_DEFAULTS                                                                                         \
    { 0, 1.0f, POSENC_OUT_OF_RANGE_ERROR }

/** Builds a learned encoding from the rows of table, [dim, n_rows, 1, 1] in f32, f16 or bf16,
 * dim 1 .. 2^21. The table is not copied: it must stay where it is, and outside what the encoding writes to; its values
 * may change between calls. lookup: NULL for the defaults. */
POSENC_API posenc_status posenc_learned_create(const posenc_view *table, const posenc_lookup *lookup,
                                               posenc_encoding **e);

/** The gradient of its table (FORMULAS E.1): dtable[r] += scale * dy[t] for the tokens in ascending order, batches in
 * order, so that the bits do not depend on how the work is split. dy is [dim, n_tokens, n_batch, 1] of any type,
 * dtable [dim, n_rows, 1, 1] in float32 and apart from it. A row, for row ranges, is a row of dtable: threads take
 * ranges of those. */
POSENC_API posenc_status posenc_learned_backward(const posenc_lookup *lookup, const posenc_coords *ids,
                                                 const posenc_view *dy, const posenc_view *dtable, posenc_range rows);

/* ---- Resizing (FORMULAS A.12) ---- */

typedef enum posenc_resize_method { POSENC_RESIZE_LINEAR = 0, POSENC_RESIZE_CUBIC } posenc_resize_method;

/** A grid of h x w tokens, row-major, behind n_prefix tokens that are copied (-0 as 0). One dimension is h = 1 on both
 * sides. As PyTorch's interpolate: linear or bilinear, and bicubic with a = -0.75.
 *
 * With antialias (SigLIP 2, DINOv2 with registers, timm by default), as interpolate has it: new row o, with its centre
 * at c = (o + 1/2) r, r = in/out or the ratio, is made of the old rows j with the weights K((j + 1/2 - c) / max(r, 1)),
 * divided by their sum; K is 1 - |t|, or the cubic with a = -1/2, whatever cubic_a. At the border rows outside are left
 * out. It differs from the plain call in larger grids too. POSENC_ERR_ENUM with align_corners (for what interpolate
 * makes of both give the ratio (in - 1)/(out - 1)); POSENC_ERR_SCALING for a ratio by which the centre of the last row
 * lies beyond the old grid. */
typedef struct posenc_resize_params {
    posenc_resize_method method;
    int align_corners;
    int64_t h_in, w_in, h_out, w_out; /**< 1 .. 2^20 (POSENC_ERR_SHAPE) */
    int64_t n_prefix;
    double h_ratio, w_ratio; /**< old tokens per new one, where it is not in/out (DINOv2): finite, > 0, and not with
                                align_corners (POSENC_ERR_SCALING); 0: in/out */
    double cubic_a;          /**< finite, within [-4, 4] (POSENC_ERR_SCALING) */
    int antialias;
} posenc_resize_params;

#define POSENC_RESIZE_DEFAULTS                                                                                         \
    { POSENC_RESIZE_LINEAR, 0, 1, 0, 1, 0, 0, 0.0, 0.0, -0.75, 0 }

/** Resizes a table of a grid. x [dim, n_prefix + h_in w_in, 1, 1] to y [dim, n_prefix + h_out w_out, 1, 1], any types,
 * apart. Each weight is rounded to float32 once, the terms of an element are added by fma in row-major order. A row is
 * a row of y. */
POSENC_API posenc_status posenc_table_resize(const posenc_resize_params *params, const posenc_view *x,
                                             const posenc_view *y, posenc_range rows);

/** Gradient of resizing. Its transpose: dx += weights^T dy, for dy in ascending order; dx float32. */
POSENC_API posenc_status posenc_table_resize_backward(const posenc_resize_params *params, const posenc_view *dy,
                                                      const posenc_view *dx);

/* ---- Seeded initial values for tables: the same numbers on every machine.
 *
 * The value of an element depends on the seed and on its place (row * ne[0] + column, rows counted in order) alone,
 * however the work is split: splitmix64 started with the seed gives it after `place` others. The generator is for
 * initial values, not for secrets.
 *
 *     posenc_view table = posenc_view_dense(weights, POSENC_F32, 768, 512, 1, 1);
 *     posenc_status status = posenc_fill_normal(42, 0.0, 0.02, &table, posenc_range_all());
 *     double limit = posenc_xavier_uniform(512, 768);
 *     status = posenc_fill_uniform(42, -limit, limit, &table, posenc_range_all());
 */

/** Normal random values of that mean and standard deviation. y is of any type, rounded
 * once from double (a bound of the interval may be hit by that). A row is one of ne[1] * ne[2] * ne[3]. mean, low, high
 * finite and within 1e30 and low <= high, deviation in [0, 1e30] (POSENC_ERR_SCALE). */
POSENC_API posenc_status posenc_fill_normal(uint64_t seed, double mean, double deviation, const posenc_view *y,
                                            posenc_range rows);
/** Random values even over [low, high), likewise. */
POSENC_API posenc_status posenc_fill_uniform(uint64_t seed, double low, double high, const posenc_view *y,
                                             posenc_range rows);

/** Limit of the uniform Xavier (Glorot) initialisation, sqrt(6 / (fan_in + fan_out)); 0 where both fans are 0 or one is
 * negative. */
POSENC_API double posenc_xavier_uniform(int64_t fan_in, int64_t fan_out);
/** Standard deviation of the normal one, sqrt(2 / (fan_in + fan_out)), likewise. */
POSENC_API double posenc_xavier_normal(int64_t fan_in, int64_t fan_out);

/* ---- Conditional positional encoding: a depth-wise convolution over the tokens (CPVT's PEG, arXiv
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
 *     status = posenc_conv_apply(peg, grid, &x, &y, posenc_range_all());
 *     posenc_conv_free(peg);
 */

#define POSENC_MAX_CONV_KERNEL 31    /**< in one dimension */
#define POSENC_MAX_CONV_KERNEL_2D 15 /**< in two */

typedef struct posenc_conv_params {
    int64_t n_channels; /**< 0 .. 2^21 (POSENC_ERR_HEAD_DIM) */
    int n_dims;         /**< 1 or 2 (POSENC_ERR_SECTIONS) */
    int64_t kernel;     /**< K: 1 .. the largest, odd unless causal (POSENC_ERR_SHAPE) */
    int is_causal;      /**< one dimension only (POSENC_ERR_ENUM) */
    int has_residual;
} posenc_conv_params;

#define POSENC_CONV_DEFAULTS                                                                                           \
    { 0, 1, 3, 0, 1 }

/** n_prefix tokens, which are copied (their gradient too), then height * width; in one dimension height is 1. */
typedef struct posenc_conv_grid {
    int64_t n_prefix, height, width;
} posenc_conv_grid;

typedef struct posenc_conv posenc_conv;

/** Builds a depth-wise convolution. weights [n_channels][K] or [n_channels][K][K] and bias [n_channels], or NULL for
 * none, are copied. On failure *conv is set to NULL. */
POSENC_API posenc_status posenc_conv_create(const posenc_conv_params *params, const float *weights, const float *bias,
                                            posenc_conv **conv);
/** Frees it; NULL is allowed. */
POSENC_API void posenc_conv_free(posenc_conv *conv);

/** Applies the convolution to tokens. x and y [n_channels, n_prefix + height*width, n_batch, 1], of any types, apart
 * from each other. A row is one token: row = batch * n_tokens + token. */
POSENC_API posenc_status posenc_conv_apply(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *x,
                                           const posenc_view *y, posenc_range rows);

/** Gradient of the input. dx[s][c] = sum over u of w[c][u] dy[s - u + pad][c], plus dy[s][c] with a residual; in the
 * order of w. */
POSENC_API posenc_status posenc_conv_backward_input(const posenc_conv *conv, posenc_conv_grid grid,
                                                    const posenc_view *dy, const posenc_view *dx, posenc_range rows);

/** Gradient of weights and bias. dw[c][u] += sum over t of dy[t][c] x[t + u - pad][c] and db[c] += sum over t of
 * dy[t][c]: sums in float32, that of dw by fma from 0, that of db from what stands there, tokens in ascending order,
 * batches in order. x and dy are float32; dw is as the weights, db [n_channels] or NULL. A row is one tap u: threads
 * take ranges of those; db belongs to tap 0. */
POSENC_API posenc_status posenc_conv_backward_weights(const posenc_conv *conv, posenc_conv_grid grid,
                                                      const posenc_view *x, const posenc_view *dy, float *dw, float *db,
                                                      posenc_range rows);

/* ---- Convolutional positional embedding of speech models: a grouped convolution over the tokens (Wav2Vec2, arXiv
 * 2006.11477; HuBERT, WavLM, data2vec; FORMULAS A.24).
 *
 *     y[t][c] = bias[c] + sum over u, i of w[u][i][c] x[t + u - floor(K/2)][g W + i],    0 outside
 *
 * with W = n_channels / n_groups channels of a group, i = 0 .. W-1, and g = floor(c/W) the group of channel c. An even
 * kernel reads one token more before than behind: padding of K/2 on both sides whose last output is dropped, as the
 * published code has it. What follows it there, GELU (data2vec: norm, GELU and the next convolution) and the sum with
 * x, is the caller's.
 *
 * Order: for each tap u a sum over i from 0, by fma in float32, i ascending; these sums are added to the bias one after
 * the other, u ascending. Taps outside are left out.
 *
 * w is [kernel][W][n_channels]: PyTorch's [n_channels][W][kernel] with the first and last dimension exchanged.
 * Checkpoints with weight norm have two tensors, v and g [kernel]; w is g[u] v[..][u] / |v[..][u]|, the norm over all
 * but the taps.
 *
 *     posenc_grouped_conv_params params = POSENC_GROUPED_CONV_DEFAULTS;
 *     params.n_channels = 768;
 *     posenc_grouped_conv *conv;
 *     posenc_status status = posenc_grouped_conv_create(&params, weights, bias, &conv);
 *     posenc_view x = posenc_view_dense(tokens, POSENC_F32, 768, n_tokens, n_batch, 1);
 *     posenc_view y = posenc_view_dense(result, POSENC_F32, 768, n_tokens, n_batch, 1);
 *     status = posenc_grouped_conv_apply(conv, &x, &y, posenc_range_all());
 *     posenc_grouped_conv_free(conv);
 */

#define POSENC_MAX_GROUPED_KERNEL 4096

typedef struct posenc_grouped_conv_params {
    int64_t n_channels; /**< 0 .. 2^21 (POSENC_ERR_HEAD_DIM) */
    int64_t n_groups;   /**< 1 .. 2^21, and it divides n_channels (POSENC_ERR_SHAPE) */
    int64_t kernel;     /**< K: 1 .. the largest (POSENC_ERR_SHAPE); data2vec: 19 */
    int has_backward;   /**< keep the weights in the other order too, for backward_input */
} posenc_grouped_conv_params;

#define POSENC_GROUPED_CONV_DEFAULTS                                                                                   \
    { 0, 16, 128, 0 }

typedef struct posenc_grouped_conv posenc_grouped_conv;

/** Builds a grouped convolution. weights [K][W][n_channels] and bias [n_channels], or NULL for none, are copied: each
 * weight once, W being rounded up to a multiple of 32, or with has_backward twice. On failure *conv is set to NULL. */
POSENC_API posenc_status posenc_grouped_conv_create(const posenc_grouped_conv_params *params, const float *weights,
                                                    const float *bias, posenc_grouped_conv **conv);
/** Frees it; NULL is allowed. */
POSENC_API void posenc_grouped_conv_free(posenc_grouped_conv *conv);

/** Applies the convolution to tokens. x and y [n_channels, n_tokens, n_batch, 1], of any types, apart from each other.
 * A row is one token: row = batch * n_tokens + token. Ranges of 24 rows and more are fastest. */
POSENC_API posenc_status posenc_grouped_conv_apply(const posenc_grouped_conv *conv, const posenc_view *x,
                                                   const posenc_view *y, posenc_range rows);

/** Gradient of the input. dx[s][g W + i] = sum over u, c of w[u][i][c] dy[s - u + floor(K/2)][c], c over the channels
 * of the group, in the same order; no bias. POSENC_ERR_UNSET without has_backward. */
POSENC_API posenc_status posenc_grouped_conv_backward_input(const posenc_grouped_conv *conv, const posenc_view *dy,
                                                            const posenc_view *dx, posenc_range rows);

/** Gradient of weights and bias. dw[u][i][c] += sum over t of x[t + u - floor(K/2)][g W + i] dy[t][c] and db[c] += sum
 * over t of dy[t][c]: float32, from what stands there, dw by fma; tokens in ascending order, batches in order. x and dy
 * are float32; dw is as the weights, db [n_channels] or NULL. A row is one tap u: threads take ranges of those; db
 * belongs to tap 0. */
POSENC_API posenc_status posenc_grouped_conv_backward_weights(const posenc_grouped_conv *conv, const posenc_view *x,
                                                              const posenc_view *dy, float *dw, float *db,
                                                              posenc_range rows);

#ifdef __cplusplus
}
#endif
#endif
