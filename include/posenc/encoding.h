/* SPDX-License-Identifier: MIT */
/** @file
 * Absolute encodings of positions, written, added or gated into a tensor (FORMULAS part A).
 *
 *     posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
 *     params.layout = POSENC_SINUSOIDAL_INTERLEAVED;
 *     params.dim = 768;
 *     posenc_encoding *e;
 *     posenc_status status = posenc_sinusoidal_create(&params, &e);
 *     posenc_view x = posenc_view_dense(embeddings, POSENC_F32, 768, n_tokens, 1, 1);
 *     status = posenc_encoding_add(e, positions, &x);
 *     posenc_encoding_free(e);
 */
#ifndef POSENC_ENCODING_H
#define POSENC_ENCODING_H

#include <posenc/angles.h>

POSENC_BEGIN_C

/** Encoding: a row E of dim channels for each position. */
typedef struct posenc_encoding posenc_encoding;

POSENC_API int64_t posenc_encoding_dim(const posenc_encoding *e);
POSENC_API int posenc_encoding_axis_count(const posenc_encoding *e);

/** Encodings made from it stay valid. */
POSENC_API void posenc_encoding_free(posenc_encoding *e);

/** Computes y = x + gate * E.
 *
 *     y      [dim, n_tokens, n_batch, 1], any type
 *     x      extents and type of y, the same view or apart; NULL: y = gate * E
 *     gate   f32 [1 or dim, n_tokens, n_batch, 1], apart (A.9); NULL: 1
 *     at     positions; all are checked, whatever the rows */
POSENC_API posenc_status posenc_encoding_apply(const posenc_encoding *e, const posenc_coords *at, const posenc_view *x,
                                               const posenc_view *gate, const posenc_view *y, posenc_range rows);

/** Writes y = E, or adds y += E, for all rows; positions: int32 planes [n_axes][n_tokens] shared by the batch. */
static inline posenc_status posenc_encoding_write(const posenc_encoding *e, const int32_t *positions,
                                                  const posenc_view *y) {
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32);
    return posenc_encoding_apply(e, &at, NULL, NULL, y, posenc_range_all());
}
static inline posenc_status posenc_encoding_add(const posenc_encoding *e, const int32_t *positions,
                                                const posenc_view *y) {
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32);
    return posenc_encoding_apply(e, &at, y, NULL, y, posenc_range_all());
}

/** Checks positions. *row: the first row with POSENC_ERR_POSITION, else -1. */
POSENC_API posenc_status posenc_encoding_check(const posenc_encoding *e, const posenc_coords *at, int64_t n_tokens,
                                               int64_t n_batch, int64_t *row);

/** Gradients of y = x + gate * E (E.2): dgate = dy * E, summed over channels for one gate a token; de = gate * dy. f32,
 * extents as above. dgate or de may be NULL, then e or gate too. de may be dy. */
POSENC_API posenc_status posenc_gate_backward(const posenc_view *e, const posenc_view *gate, const posenc_view *dy,
                                              const posenc_view *dgate, const posenc_view *de, posenc_range rows);

/* ---- Combining encodings ---- */

/** Columns first .. first + width - 1 of an encoding; its axis a reads axis `axis` + a, at floor(p / divide) mod modulo
 * (integers, not nested: POSENC_ERR_SECTIONS). */
typedef struct posenc_part {
    const posenc_encoding *encoding; /**< NULL: zero columns (concat) */
    int64_t first, width;            /**< width 0: all */
    int axis;
    int64_t divide; /**< 0, 1: none */
    int64_t modulo; /**< 0: none */
} posenc_part;

#define POSENC_MAX_PARTS 8
#define POSENC_MAX_COORDS 4

/** Concatenates encodings (docs/recipes.md). At most POSENC_MAX_PARTS parts, POSENC_MAX_COORDS axes, 32 fields of
 * columns. */
POSENC_API posenc_status posenc_encoding_concat(const posenc_part *parts, int64_t n_parts, posenc_encoding **e);
/** Sums encodings of one width in float32, in order; nested sums count by their terms. */
POSENC_API posenc_status posenc_encoding_sum(const posenc_part *parts, int64_t n_parts, posenc_encoding **e);

/* ---- Sinusoidal encodings (arXiv:1706.03762; A.1-A.6, A.17, A.21, A.22) ---- */

/** Columns of pair i = 0..half-1, half = floor(dim/2). CONCAT*: a last odd column is 0. COMPLEX: even dim. */
typedef enum posenc_sinusoidal_layout {
    POSENC_SINUSOIDAL_LAYOUT_UNSET = 0,
    POSENC_SINUSOIDAL_INTERLEAVED, /**< 2i: sin(p f_i), 2i+1: cos(p f_i): the paper */
    POSENC_SINUSOIDAL_CONCAT,      /**< i: sin, half+i: cos: Transformer-XL, fairseq, Whisper */
    POSENC_SINUSOIDAL_COMPLEX,     /**< 2i: cos, 2i+1: sin: e^(j p f_i) as (re, im) */
    POSENC_SINUSOIDAL_CONCAT_COS   /**< i: cos, half+i: sin: diffusion (flip_sin_to_cos), ggml */
} posenc_sinusoidal_layout;

/** Frequencies f_i, before the factor `scale`. */
typedef enum posenc_schedule {
    POSENC_SCHEDULE_UNSET = 0,    /**< HALF; interleaved layouts only */
    POSENC_SCHEDULE_HALF,         /**< base^(-2i/dim), concatenated base^(-i/half): the paper */
    POSENC_SCHEDULE_HALF_MINUS_1, /**< concatenated only: Tensor2Tensor, fairseq, Whisper (A.2) */
    POSENC_SCHEDULE_SHIFT         /**< concatenated only: diffusers, DDPM (A.3) */
} posenc_schedule;

/** Last odd column, interleaved: sin(p base^(-(dim-1)/dim)), or 0. */
typedef enum posenc_odd { POSENC_ODD_SIN, POSENC_ODD_ZERO } posenc_odd;

typedef struct posenc_sinusoidal_params {
    posenc_sinusoidal_layout layout;
    posenc_schedule schedule;
    posenc_odd odd;
    int64_t dim;          /**< columns, 1..2*POSENC_MAX_PAIRS */
    double base;          /**< in [1e-30, 1e30], below 1 ascending; HALF_MINUS_1: the largest timescale */
    double min_timescale; /**< HALF_MINUS_1 only: in (0, base], at most POSENC_MAX_FREQUENCY */
    double shift;         /**< SHIFT only: finite, not half */
    double scale;         /**< finite, every scale * f_i <= POSENC_MAX_FREQUENCY */
} posenc_sinusoidal_params;

#define POSENC_SINUSOIDAL_DEFAULTS                                                                                     \
    { POSENC_SINUSOIDAL_LAYOUT_UNSET, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN, 0, 10000.0, 1.0, 1.0, 1.0 }

/** Builds a sinusoidal encoding of one axis, for integer or real positions. */
POSENC_API posenc_status posenc_sinusoidal_create(const posenc_sinusoidal_params *params, posenc_encoding **e);

/** Builds diffusers' get_timestep_embedding (A.3), for real timesteps. max_period below 1: Stable Audio 3. */
POSENC_API posenc_status posenc_timestep_create(int64_t dim, int flip_sin_to_cos, double downscale_freq_shift,
                                                double scale, double max_period, posenc_encoding **e);

/** Writes M_k with PE[p + k] = M_k PE[p] (A.6), f32 [dim, dim, 1, 1], row by row. e: made by posenc_sinusoidal_create
 * (POSENC_ERR_ENUM), dim even. */
POSENC_API posenc_status posenc_sinusoidal_shift(const posenc_encoding *e, int32_t k, const posenc_view *m);

/** Sinusoids S of each axis side by side (A.21, A.22); planes by posenc_positions_grid. */
typedef enum posenc_grid {
    POSENC_GRID_W_FIRST,      /**< [S(x) | S(y)], dim a multiple of 4: MAE */
    POSENC_GRID_H_FIRST,      /**< [S(y) | S(x)]: MoCo v3 */
    POSENC_GRID_TIMM,         /**< [sin y | sin x | cos y | cos x]: timm */
    POSENC_GRID_VOLUME,       /**< t, x, y, dim a multiple of 16: CogVideoX (A.22) */
    POSENC_GRID_TENSOR2TENSOR /**< add_timing_signal_nd: 1..4 axes (A.22) */
} posenc_grid;

/** Builds a grid encoding. n_axes: TENSOR2TENSOR, else 0 (POSENC_ERR_SECTIONS). */
POSENC_API posenc_status posenc_grid_create(posenc_grid grid, int64_t dim, int n_axes, double base,
                                            posenc_encoding **e);

/* ---- Random Fourier features (arXiv:2006.10739; A.18) ----
 *
 * E = [cos z | sin z] or [sin z | cos z], z = 2 pi B p, dim = 2 n_features. Coordinates p: real, or integers up to
 * 2^29 in size. */

/** Order of the halves: Tancik's; SAM's and diffusers'. */
typedef enum posenc_fourier_order { POSENC_FOURIER_COS_SIN, POSENC_FOURIER_SIN_COS } posenc_fourier_order;

typedef struct posenc_fourier_params {
    int64_t n_features; /**< 1..65536 */
    int n_coords;       /**< 1..POSENC_MAX_COORDS (POSENC_ERR_SECTIONS) */
    posenc_fourier_order order;
    const float *matrix; /**< B [n_features][n_coords], copied, at most 65536 in size; NULL, as matrix_f64:
                              posenc_fill_normal(seed, 0, sigma) */
    double sigma;        /**< in (0, 4096] */
    uint64_t seed;
    const double *matrix_f64; /**< B in double instead (both: POSENC_ERR_ENUM) */
} posenc_fourier_params;

#define POSENC_FOURIER_DEFAULTS                                                                                        \
    { 0, 1, POSENC_FOURIER_COS_SIN, NULL, 1.0, 0, NULL }

POSENC_API posenc_status posenc_fourier_create(const posenc_fourier_params *params, posenc_encoding **e);

/* ---- Encodings by integers, bits and Gaussian bumps, of one axis (A.13-A.16, A.19) ---- */

/** Builds E[p][i] = p/(length-1) * (i/(dim-1))^alpha (A.13, A.14). dim: 1..2^21. length: 1..2^31. alpha: in [0, 1000].
 * Integer or real positions. */
POSENC_API posenc_status posenc_integer_create(int64_t dim, int64_t length, double alpha, posenc_encoding **e);

/** Bit i of p, or of p ^ (p >> 1), lowest first (A.15, A.16). */
typedef enum posenc_bit_code { POSENC_BITS_BINARY, POSENC_BITS_GRAY } posenc_bit_code;

/** Builds an encoding by bits, written as `zero` or `one`. Positions: int64 >= 0 (POSENC_ERR_POSITION). dim: 1..2^21;
 * higher bits are dropped. */
POSENC_API posenc_status posenc_bits_create(int64_t dim, posenc_bit_code code, float zero, float one,
                                            posenc_encoding **e);

/** Builds E[t][k] = exp(-(t - centre_k)^2 / (2 sigma^2)) (A.19), 0 below FLT_MIN. centres[n], n 1..2^21, within +-2^40.
 * sigma: in [2^-60, 2^60]. Integer or real positions. */
POSENC_API posenc_status posenc_rbf_create(const double *centres, int64_t n, double sigma, posenc_encoding **e);

POSENC_END_C
#endif
