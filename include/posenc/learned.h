/* SPDX-License-Identifier: MIT */
/** @file
 * Learned tables and convolutional encodings (A.7-A.12, E.1, E.2).
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

POSENC_BEGIN_C

/** Policy for rows outside the table. */
typedef enum posenc_out_of_range {
    POSENC_OUT_OF_RANGE_ERROR, /**< refuses the call (POSENC_ERR_POSITION) */
    POSENC_OUT_OF_RANGE_CLAMP, /**< takes the nearest row */
    POSENC_OUT_OF_RANGE_ZERO   /**< adds nothing */
} posenc_out_of_range;

/** Look-up: E = scale * table[id + offset]. */
typedef struct posenc_lookup {
    int64_t offset;             /**< BART, OPT: 2; up to 2^62 in size (POSENC_ERR_POSITION) */
    float scale;                /**< finite; 0 makes every E 0 */
    posenc_out_of_range policy; /**< POSENC_ERR_ENUM */
} posenc_lookup;

#define POSENC_LOOKUP_DEFAULTS                                                                                         \
    { 0, 1.0f, POSENC_OUT_OF_RANGE_ERROR }

/** Builds a learned encoding. table: [dim, n_rows, 1, 1], any type, dim 1..2^21. It is not copied: it must stay in
 * place, apart from outputs. Ids are int32 or int64. lookup: NULL for defaults. */
POSENC_API posenc_status posenc_learned_create(const posenc_view *table, const posenc_lookup *lookup,
                                               posenc_encoding **e);

/** Adds dtable[r] += scale * dy[t] (E.1). dy: [dim, n_tokens, n_batch, 1], any type. dtable: f32 [dim, n_rows, 1, 1],
 * apart. rows: of dtable. */
POSENC_API posenc_status posenc_learned_backward(const posenc_lookup *lookup, const posenc_coords *ids,
                                                 const posenc_view *dy, const posenc_view *dtable, posenc_range rows);

/* ---- Resizing (A.12) ---- */

typedef enum posenc_resize_method { POSENC_RESIZE_LINEAR, POSENC_RESIZE_CUBIC } posenc_resize_method;

/** Row-major grids of h x w tokens after n_prefix copied tokens, as PyTorch's interpolate; h = 1 in one dimension.
 * antialias (SigLIP 2, timm) takes no align_corners (POSENC_ERR_ENUM). */
typedef struct posenc_resize_params {
    posenc_resize_method method;
    int align_corners;
    int64_t h_in, w_in, h_out, w_out; /**< 1..2^20 */
    int64_t n_prefix;
    double h_ratio, w_ratio; /**< old tokens per new one (DINOv2), not with align_corners; 0: in/out */
    double cubic_a;          /**< within [-4, 4] */
    int antialias;
} posenc_resize_params;

#define POSENC_RESIZE_DEFAULTS                                                                                         \
    { POSENC_RESIZE_LINEAR, 0, 1, 0, 1, 0, 0, 0.0, 0.0, -0.75, 0 }

/** Resizes x [dim, n_prefix + h_in w_in, 1, 1] to y [dim, n_prefix + h_out w_out, 1, 1], any types, apart. rows: of y.
 */
POSENC_API posenc_status posenc_table_resize(const posenc_resize_params *params, const posenc_view *x,
                                             const posenc_view *y, posenc_range rows);

/** Adds the gradient of resizing: dx += weights^T dy; dx f32. */
POSENC_API posenc_status posenc_table_resize_backward(const posenc_resize_params *params, const posenc_view *dy,
                                                      const posenc_view *dx);

/* ---- Seeded initial values ---- */

/** Fills y (any type) with normal random values, by seed and place row * ne[0] + column; mean up to 1e30 in size,
 * deviation in [0, 1e30]. A row is one of ne[1] * ne[2] * ne[3]. */
POSENC_API posenc_status posenc_fill_normal(uint64_t seed, double mean, double deviation, const posenc_view *y,
                                            posenc_range rows);
/** Fills y with uniform random values of [low, high), up to 1e30 in size. */
POSENC_API posenc_status posenc_fill_uniform(uint64_t seed, double low, double high, const posenc_view *y,
                                             posenc_range rows);

/* ---- Depth-wise convolution: conditional encoding (CPVT, arXiv:2102.10882; Twins; A.20, E.2) ----
 *
 * y = conv, or x + conv with a residual. Tokens in a line, or in a row-major grid. */

#define POSENC_MAX_CONV_KERNEL 31    /**< in one dimension */
#define POSENC_MAX_CONV_KERNEL_2D 15 /**< in two */

typedef struct posenc_conv_params {
    int64_t n_channels; /**< 0..2^21 */
    int n_dims;         /**< 1 or 2 (POSENC_ERR_SECTIONS) */
    int64_t kernel;     /**< odd unless causal */
    int is_causal;      /**< one dimension only (POSENC_ERR_ENUM) */
    int has_residual;
} posenc_conv_params;

#define POSENC_CONV_DEFAULTS                                                                                           \
    { 0, 1, 3, 0, 1 }

/** Tokens: n_prefix, which are copied, then height * width (height 1 in one dimension). */
typedef struct posenc_conv_grid {
    int64_t n_prefix, height, width;
} posenc_conv_grid;

typedef struct posenc_conv posenc_conv;

/** Builds a convolution. weights [n_channels][K] or [n_channels][K][K] and bias [n_channels] (NULL: none) are copied.
 */
POSENC_API posenc_status posenc_conv_create(const posenc_conv_params *params, const float *weights, const float *bias,
                                            posenc_conv **conv);
POSENC_API void posenc_conv_free(posenc_conv *conv);

/** Applies it. x, y: [n_channels, n_prefix + height*width, n_batch, 1], any types, apart. rows: of encodings. */
POSENC_API posenc_status posenc_conv_apply(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *x,
                                           const posenc_view *y, posenc_range rows);

POSENC_API posenc_status posenc_conv_backward_input(const posenc_conv *conv, posenc_conv_grid grid,
                                                    const posenc_view *dy, const posenc_view *dx, posenc_range rows);

/** Adds gradients of weights and bias (or NULL). x, dy: f32. rows: taps; tap 0 has the bias. */
POSENC_API posenc_status posenc_conv_backward_weights(const posenc_conv *conv, posenc_conv_grid grid,
                                                      const posenc_view *x, const posenc_view *dy, float *dw, float *db,
                                                      posenc_range rows);

/* ---- Grouped convolution of speech models (Wav2Vec2, arXiv:2006.11477; HuBERT, WavLM, data2vec; A.24) ----
 *
 * PyTorch's weights are [n_channels][W][kernel]: exchange the first and last dimension. */

#define POSENC_MAX_GROUPED_KERNEL 4096

typedef struct posenc_grouped_conv_params {
    int64_t n_channels; /**< 0..2^21 */
    int64_t n_groups;   /**< 1..2^21, divides n_channels */
    int64_t kernel;     /**< data2vec: 19 */
    int has_backward;   /**< 1: allows backward_input, keeps weights twice */
} posenc_grouped_conv_params;

#define POSENC_GROUPED_CONV_DEFAULTS                                                                                   \
    { 0, 16, 128, 0 }

typedef struct posenc_grouped_conv posenc_grouped_conv;

/** Builds a grouped convolution. weights [K][W][n_channels], W = n_channels / n_groups, and bias [n_channels] (NULL:
 * none) are copied. */
POSENC_API posenc_status posenc_grouped_conv_create(const posenc_grouped_conv_params *params, const float *weights,
                                                    const float *bias, posenc_grouped_conv **conv);
POSENC_API void posenc_grouped_conv_free(posenc_grouped_conv *conv);

/** Applies it. x, y: [n_channels, n_tokens, n_batch, 1], any types, apart. */
POSENC_API posenc_status posenc_grouped_conv_apply(const posenc_grouped_conv *conv, const posenc_view *x,
                                                   const posenc_view *y, posenc_range rows);

/** POSENC_ERR_UNSET: no has_backward. */
POSENC_API posenc_status posenc_grouped_conv_backward_input(const posenc_grouped_conv *conv, const posenc_view *dy,
                                                            const posenc_view *dx, posenc_range rows);

/** As posenc_conv_backward_weights. */
POSENC_API posenc_status posenc_grouped_conv_backward_weights(const posenc_grouped_conv *conv, const posenc_view *x,
                                                              const posenc_view *dy, float *dw, float *db,
                                                              posenc_range rows);

POSENC_END_C
#endif
