/* SPDX-License-Identifier: MIT */
/** @file
 * Absolute encodings: rows made from positions, written, added or gated into a tensor (FORMULAS part A).
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
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Encoding: maps the position of a token (or several) to a row E of dim channels. Immutable; threads may share it.
 * Calls that create one, here or in learned.h, set it to NULL on failure. */
typedef struct posenc_encoding posenc_encoding;

/** Number of channels of a row; 0 if NULL. */
POSENC_API int64_t posenc_encoding_dim(const posenc_encoding *e);
/** Number of coordinates of a token; 0 if NULL. */
POSENC_API int posenc_encoding_axis_count(const posenc_encoding *e);

/** Frees it; NULL is allowed. Encodings that concat or sum made from it stay valid. */
POSENC_API void posenc_encoding_free(posenc_encoding *e);

/* ---- Writing and adding rows ---- */

/** Computes y = x + gate * E. Product and sum are one float32 operation each, and y is rounded once
 * (docs/numerics.md#absolute-encodings). Channels that are 0 by definition (odd column of a sinusoid,
 * POSENC_OUT_OF_RANGE_ZERO) leave x as it is.
 *
 *     y      [dim, n_tokens, n_batch, 1], f32, f16 or bf16
 *     x      the extents and type of y, the same view or apart; NULL: y = gate * E
 *     gate   f32 [1 or dim, n_tokens, n_batch, 1], apart from y (FORMULAS A.9); NULL: 1
 *     at     positions; all are checked, whatever the rows
 *     rows   row = batch * n_tokens + token */
POSENC_API posenc_status posenc_encoding_apply(const posenc_encoding *e, const posenc_coords *at, const posenc_view *x,
                                               const posenc_view *gate, const posenc_view *y, posenc_range rows);

/** Writes y = E for all rows; positions: int32 planes [n_axes][n_tokens] shared by the batch. */
POSENC_API posenc_status posenc_encoding_write(const posenc_encoding *e, const int32_t *positions,
                                               const posenc_view *y);
/** Adds the encoding, y += E, for all rows. */
POSENC_API posenc_status posenc_encoding_add(const posenc_encoding *e, const int32_t *positions, const posenc_view *y);

/** Status of posenc_encoding_apply for these positions. *row: the first row that causes POSENC_ERR_POSITION; else
 * -1. */
POSENC_API posenc_status posenc_encoding_check(const posenc_encoding *e, const posenc_coords *at, int64_t n_tokens,
                                               int64_t n_batch, int64_t *row);

/** Gradients of y = x + gate * E (FORMULAS E.2): dgate = dy * E, summed over the channels if there is one gate for each
 * token; de = gate * dy (dx is dy). All are f32 [dim, n_tokens, n_batch, 1], gate and dgate [1 or dim, ..]. dgate or de
 * may be NULL, then e or gate too. de may be dy; other outputs are apart from inputs and each other. */
POSENC_API posenc_status posenc_gate_backward(const posenc_view *e, const posenc_view *gate, const posenc_view *dy,
                                              const posenc_view *dgate, const posenc_view *de, posenc_range rows);

/* ---- Combining encodings ---- */

/** Columns first .. first + width - 1 of an encoding at mapped positions: its axis a reads axis `axis` + a of the
 * result, and a position p becomes floor(p / divide) mod modulo. divide and modulo (>= 0, POSENC_ERR_CONTEXT) take
 * integer positions and cannot be nested (POSENC_ERR_SECTIONS). */
typedef struct posenc_part {
    const posenc_encoding *encoding; /**< NULL: `width` zero columns (concat only) */
    int64_t first, width;            /**< width 0: all from first on */
    int axis;
    int64_t divide; /**< 0, 1: none */
    int64_t modulo; /**< 0: none */
} posenc_part;

#define POSENC_MAX_PARTS 8
#define POSENC_MAX_COORDS 4

/** Concatenates encodings. Parts may be freed afterwards; tables of learned parts may not. Up to POSENC_MAX_PARTS
 * parts, in sums of sums POSENC_MAX_PARTS terms together, POSENC_MAX_COORDS axes (POSENC_ERR_SECTIONS), 32 fields of
 * columns (POSENC_ERR_SHAPE).
 *
 *     posenc_part hybrid[2] = {{.encoding = sinusoid}, {.encoding = learned}};                         // FORMULAS A.10
 *     posenc_status status = posenc_encoding_concat(hybrid, 2, &e);
 *     posenc_part blocks[2] = {{.encoding = global, .divide = 64}, {.encoding = local, .modulo = 64}}; // A.11
 *     status = posenc_encoding_sum(blocks, 2, &e);
 *     posenc_part axial[2] = {{.encoding = y_table}, {.encoding = x_table, .axis = 1}};                // A.22
 *     status = posenc_encoding_sum(axial, 2, &e);
 */
POSENC_API posenc_status posenc_encoding_concat(const posenc_part *parts, int64_t n_parts, posenc_encoding **e);
/** Sums encodings of one width in float32, in order, terms of nested sums in place. A trainable sinusoid (A.8) is a
 * sinusoid plus a table with POSENC_OUT_OF_RANGE_ZERO. */
POSENC_API posenc_status posenc_encoding_sum(const posenc_part *parts, int64_t n_parts, posenc_encoding **e);

/* ---- Sinusoidal encodings (arXiv 1706.03762; FORMULAS A.1-A.6, A.17, A.21, A.22) ----
 *
 * Whisper's encoding:
 *
 *     posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
 *     params.layout = POSENC_SINUSOIDAL_CONCAT;
 *     params.schedule = POSENC_SCHEDULE_HALF_MINUS_1;
 *     params.dim = 512;
 *     posenc_encoding *whisper;
 *     posenc_status status = posenc_sinusoidal_create(&params, &whisper);
 *     posenc_view table = posenc_view_dense(memory, POSENC_F16, 512, 4, 1, 1);
 *     status = posenc_encoding_write(whisper, positions, &table);
 *     posenc_encoding_free(whisper);
 */

/** Columns of pair i = 0 .. half-1, half = floor(dim/2). A last odd column is 0 in CONCAT*; COMPLEX needs an even
 * dim. */
typedef enum posenc_sinusoidal_layout {
    POSENC_SINUSOIDAL_LAYOUT_UNSET = 0,
    POSENC_SINUSOIDAL_INTERLEAVED, /**< 2i: sin(p f_i), 2i+1: cos(p f_i): the paper */
    POSENC_SINUSOIDAL_CONCAT,      /**< i: sin, half+i: cos: Transformer-XL, fairseq, Whisper */
    POSENC_SINUSOIDAL_COMPLEX,     /**< 2i: cos, 2i+1: sin: e^(j p f_i) as (re, im) */
    POSENC_SINUSOIDAL_CONCAT_COS   /**< i: cos, half+i: sin: diffusion (flip_sin_to_cos), ggml */
} posenc_sinusoidal_layout;

/** Frequencies f_i, before the factor `scale`. */
typedef enum posenc_schedule {
    POSENC_SCHEDULE_UNSET = 0,    /**< as HALF, for the interleaved layouts only */
    POSENC_SCHEDULE_HALF,         /**< base^(-2i/dim), concatenated base^(-i/half): the paper, Transformer-XL, MAE */
    POSENC_SCHEDULE_HALF_MINUS_1, /**< min_timescale * (base/min_timescale)^(-i/max(half-1, 1)), concatenated only:
                                       Tensor2Tensor, fairseq, Whisper */
    POSENC_SCHEDULE_SHIFT /**< base^(-i/(half - shift)), concatenated only: get_timestep_embedding, DDPM (shift 1) */
} posenc_schedule;

/** Last column of an odd dim, interleaved: sin(p base^(-(dim-1)/dim)), or 0. */
typedef enum posenc_odd { POSENC_ODD_SIN = 0, POSENC_ODD_ZERO } posenc_odd;

typedef struct posenc_sinusoidal_params {
    posenc_sinusoidal_layout layout;
    posenc_schedule schedule;
    posenc_odd odd;
    int64_t dim;          /**< columns, 1 .. 2*POSENC_MAX_PAIRS */
    double base;          /**< in [1, 1e30]; HALF_MINUS_1: the largest timescale */
    double min_timescale; /**< HALF_MINUS_1 only: in (0, base], at most POSENC_MAX_FREQUENCY */
    double shift;         /**< SHIFT only: finite, not half (POSENC_ERR_SCALING) */
    double scale;         /**< finite (POSENC_ERR_SCALING), every scale * f_i at most POSENC_MAX_FREQUENCY */
} posenc_sinusoidal_params;

#define POSENC_SINUSOIDAL_DEFAULTS                                                                                     \
    { POSENC_SINUSOIDAL_LAYOUT_UNSET, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN, 0, 10000.0, 1.0, 1.0, 1.0 }

/** Builds a sinusoidal encoding: one axis, integer or real positions, the accuracy of angles.h. */
POSENC_API posenc_status posenc_sinusoidal_create(const posenc_sinusoidal_params *params, posenc_encoding **e);

/** Builds a timestep embedding (FORMULAS A.3) by the arguments of diffusers' get_timestep_embedding: SHIFT with CONCAT,
 * or CONCAT_COS if flip_sin_to_cos is not 0. Timesteps are real numbers.
 *
 *     float steps[2] = {999.0f, 12.5f};
 *     posenc_coords at = posenc_coords_of(steps, POSENC_COORD_F32);
 *     posenc_encoding *e;
 *     posenc_status status = posenc_timestep_create(320, 1, 0.0, 1.0, 10000.0, &e);
 *     status = posenc_encoding_apply(e, &at, NULL, NULL, &y, posenc_range_all());
 */
POSENC_API posenc_status posenc_timestep_create(int64_t dim, int flip_sin_to_cos, double downscale_freq_shift,
                                                double scale, double max_period, posenc_encoding **e);

/** Writes the matrix M_k with PE[p + k] = M_k PE[p] for every p (FORMULAS A.6). m: f32 [dim, dim, 1, 1], row r of M_k
 * is row r of m. e: made by posenc_sinusoidal_create (POSENC_ERR_ENUM), dim even (POSENC_ERR_HEAD_DIM). */
POSENC_API posenc_status posenc_sinusoidal_shift(const posenc_encoding *e, int32_t k, const posenc_view *m);

/* ---- Grids ---- */

/** Sinusoids of several coordinates side by side, S_w(v) = [sin(v f_j) | cos(v f_j)], f_j = base^(-j/(w/2)). Axes are
 * y, x; t, y, x; or as given. posenc_positions_grid makes their planes. */
typedef enum posenc_grid {
    POSENC_GRID_W_FIRST = 0, /**< [S(x) | S(y)], dim a multiple of 4: MAE (which calls it emb_h) */
    POSENC_GRID_H_FIRST,     /**< [S(y) | S(x)]: MoCo v3 */
    POSENC_GRID_TIMM,        /**< [sin y | sin x | cos y | cos x]: timm's build_sincos2d_pos_embed */
    POSENC_GRID_VOLUME, /**< [S_{d/4}(t) | S_{3d/8}(x) | S_{3d/8}(y)], dim a multiple of 16: CogVideoX, diffusers */
    POSENC_GRID_TENSOR2TENSOR /**< 2 floor(dim / (2 n_axes)) channels for each of 1 .. 4 axes, HALF_MINUS_1, then zeros:
                                   add_timing_signal_nd */
} posenc_grid;

/** Builds a sinusoidal encoding of a grid. POSENC_ERR_HEAD_DIM: dim does not fit. n_axes: for TENSOR2TENSOR, else 0
 * (POSENC_ERR_SECTIONS). */
POSENC_API posenc_status posenc_grid_create(posenc_grid grid, int64_t dim, int n_axes, double base,
                                            posenc_encoding **e);

/* ---- Random Fourier features (arXiv 2006.10739; FORMULAS A.18) ----
 *
 * E = [cos z | sin z] or [sin z | cos z], z = 2 pi B p, dim = 2 n_features, for the n_coords coordinates p of a token:
 * float32 (map them first where a model does, such as SAM's 2p - 1) or integers up to 2^29 in size. Values are within 1
 * ulp, or 2^-40 n_coords.
 *
 *     posenc_fourier_params params = POSENC_FOURIER_DEFAULTS;
 *     params.n_features = 128;
 *     params.n_coords = 2;
 *     params.sigma = 10.0;
 *     params.seed = 42;
 *     posenc_encoding *e;
 *     posenc_status status = posenc_fourier_create(&params, &e);
 *     posenc_coords at = posenc_coords_of(points, POSENC_COORD_F32);
 *     posenc_view y = posenc_view_dense(memory, POSENC_F32, 256, n_points, 1, 1);
 *     status = posenc_encoding_apply(e, &at, NULL, NULL, &y, posenc_range_all());
 *     posenc_encoding_free(e);
 */

/** Order of the halves: Tancik and tutorials have cosines first, SAM and diffusers sines. */
typedef enum posenc_fourier_order { POSENC_FOURIER_COS_SIN = 0, POSENC_FOURIER_SIN_COS } posenc_fourier_order;

typedef struct posenc_fourier_params {
    int64_t n_features; /**< 1 .. 65536 (POSENC_ERR_HEAD_DIM) */
    int n_coords;       /**< 1 .. POSENC_MAX_COORDS (POSENC_ERR_SECTIONS) */
    posenc_fourier_order order;
    const float *matrix; /**< B [n_features][n_coords], copied; |entry| <= 65536 (POSENC_ERR_FREQUENCY). NULL: drawn by
                              posenc_fill_normal(seed, 0, sigma) */
    double sigma;        /**< in (0, 4096] (POSENC_ERR_SCALE) */
    uint64_t seed;
} posenc_fourier_params;

#define POSENC_FOURIER_DEFAULTS                                                                                        \
    { 0, 1, POSENC_FOURIER_COS_SIN, NULL, 1.0, 0 }

/** Builds random Fourier features. */
POSENC_API posenc_status posenc_fourier_create(const posenc_fourier_params *params, posenc_encoding **e);

/* ---- Encodings by integers, bits and Gaussian bumps (FORMULAS A.13-A.16, A.19), of one axis ----
 *
 *     posenc_encoding *gray;
 *     posenc_status status = posenc_bits_create(16, POSENC_BITS_GRAY, -1.0f, 1.0f, &gray);
 *     posenc_view rows = posenc_view_dense(memory, POSENC_F32, 16, 4, 1, 1);
 *     status = posenc_encoding_write(gray, positions, &rows);
 *     posenc_encoding_free(gray);
 */

/** Builds the integer encoding E[p][i] = p/(length-1) * (i/(dim-1))^alpha (FORMULAS A.14; alpha 0: A.13). length 1
 * makes every value 0; dim 1 has the factor 1. dim: 1 .. 2^21 (POSENC_ERR_HEAD_DIM). length: 1 .. 2^31
 * (POSENC_ERR_CONTEXT). alpha: in [0, 1000] (POSENC_ERR_SCALING). Integer or real positions. */
POSENC_API posenc_status posenc_integer_create(int64_t dim, int64_t length, double alpha, posenc_encoding **e);

/** Code of the position: bit i of p, or of p ^ (p >> 1), lowest first (FORMULAS A.15, A.16). */
typedef enum posenc_bit_code { POSENC_BITS_BINARY = 0, POSENC_BITS_GRAY } posenc_bit_code;

/** Builds an encoding by bits, each written as `zero` or `one` (finite, POSENC_ERR_SCALE; often 0 and 1, or -1 and 1).
 * Positions: int64 >= 0 (POSENC_ERR_POSITION). dim: 1 .. 2^21; higher bits are dropped, columns after bit 62 are
 * zero. */
POSENC_API posenc_status posenc_bits_create(int64_t dim, posenc_bit_code code, float zero, float one,
                                            posenc_encoding **e);

/** Gray code of a number. */
POSENC_API uint64_t posenc_gray_encode(uint64_t p);
/** Number of a Gray code. */
POSENC_API uint64_t posenc_gray_decode(uint64_t gray);

/** Builds Gaussian bumps E[t][k] = exp(-(t - centre_k)^2 / (2 sigma^2)) (FORMULAS A.19); values below FLT_MIN are 0.
 * centres[n], n 1 .. 2^21 (POSENC_ERR_HEAD_DIM), copied, within +-2^40. sigma: in [2^-60, 2^60] (POSENC_ERR_SCALE).
 * Integer or real positions. */
POSENC_API posenc_status posenc_rbf_create(const double *centres, int64_t n, double sigma, posenc_encoding **e);

#ifdef __cplusplus
}
#endif
#endif
