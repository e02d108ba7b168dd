/* SPDX-License-Identifier: MIT */
/** @file
 * Absolute encodings: a row of channels for each token, made from its position and written, added
 * or gated into a tensor (FORMULAS part A).
 *
 * An encoding turns the coordinate of a token (several, for some) into a row E of dim channels. Who makes one:
 *
 *     encoding.h   sinusoids of every layout, timestep embedding, complex, grids of two and three dimensions
 *     encoding.h      random Fourier features
 *     learned.h      rows of a table
 *     encoding.h      integers, binary and Gray code, Gaussian bumps
 *
 * and concat and sum below make new ones of them: hybrids, trainable sinusoids, block-wise and axial encodings.
 * Whatever it is, one call takes it to its place:
 *
 *     y = E,    y = x + E,    y = gate * E,    y = x + gate * E
 *
 * E is float32. Each of product and sum is one float32 operation, and f16 and bf16 are rounded once, at the store. So
 * adding is the float32 sum of x and of what would have been written, and the value for a coordinate depends on
 * nothing else. Channels that are 0 by definition (the odd column of a sinusoid, rows out of range with
 * POSENC_OUT_OF_RANGE_ZERO) leave x as it is.
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

/** Immutable, to be shared by threads. A call that makes one, here or in another header, sets it to NULL on failure. */
typedef struct posenc_encoding posenc_encoding;

/** Number of channels of a row; 0 if NULL. */
POSENC_API int64_t posenc_encoding_dim(const posenc_encoding *e);
/** Number of coordinates of a token; 0 if NULL. */
POSENC_API int posenc_encoding_axis_count(const posenc_encoding *e);

/** Frees it; NULL is allowed. What was made of it by concat or sum stays good. */
POSENC_API void posenc_encoding_free(posenc_encoding *e);

/* ---- Rows to their place ---- */

/** Writes an encoding to tokens, or adds it to them. y is [dim, n_tokens, n_batch, 1] in f32, f16 or bf16. A slice of a
 * wider row is a view with a larger nb[1].
 *
 * x      NULL: nothing is added to. Otherwise of y's extents and type, and the same view as y or one apart from it.
 * gate   NULL: none. Otherwise float32, apart from y: [1, n_tokens, n_batch, 1], a factor for each token, or
 *        [dim, n_tokens, n_batch, 1], one for each channel (FORMULAS A.9).
 *
 * A row, for row ranges, is one token: row = batch * n_tokens + token. Coordinates of all rows are checked, whatever
 * the range, before anything is written; those of rows outside the range are not used. */
POSENC_API posenc_status posenc_encoding_apply(const posenc_encoding *e, const posenc_coords *at, const posenc_view *x,
                                               const posenc_view *gate, const posenc_view *y, posenc_range rows);

/** Writes the encoding: y = E, for int32 planes [n_axes][n_tokens] shared by the batch, all rows. */
POSENC_API posenc_status posenc_encoding_write(const posenc_encoding *e, const int32_t *positions,
                                               const posenc_view *y);
/** Adds the encoding: y += E, likewise. */
POSENC_API posenc_status posenc_encoding_add(const posenc_encoding *e, const int32_t *positions, const posenc_view *y);

/** What apply says of these coordinates, and, when it is POSENC_ERR_POSITION, the first row that is to blame; -1
 * otherwise. */
POSENC_API posenc_status posenc_encoding_check(const posenc_encoding *e, const posenc_coords *at, int64_t n_tokens,
                                               int64_t n_batch, int64_t *row);

/** Gradients of y = x + gate * E for a gate (FORMULAS E.2); dx is dy. All views are float32 and [dim, n_tokens,
 * n_batch, 1], gate and dgate [1, ..] or [dim, ..] alike.
 *
 *     dgate = dy * E, summed over the channels where there is one gate for each token: in double, channel c in sum
 *             c mod 8, the eight sums added in order
 *     de    = gate * dy
 *
 * dgate or de may be NULL, and then e or gate too. de may be the same view as dy; otherwise outputs lie apart from
 * inputs and from each other. */
POSENC_API posenc_status posenc_gate_backward(const posenc_view *e, const posenc_view *gate, const posenc_view *dy,
                                              const posenc_view *dgate, const posenc_view *de, posenc_range rows);

/* ---- New encodings of old ---- */

/** Columns first .. first + width - 1 of an encoding, at other coordinates: axis a of the part reads axis `axis` + a of
 * the whole, and a coordinate p becomes floor(p / divide) and then that modulo `modulo`, in 0 .. modulo-1. Parts that
 * divide or have a modulo take integers only, and no parts that do either (POSENC_ERR_SECTIONS); neither number is
 * negative (POSENC_ERR_CONTEXT). */
typedef struct posenc_part {
    const posenc_encoding *encoding; /**< NULL: `width` columns that are 0 by definition (concat only) */
    int64_t first, width;            /**< width 0: all from first on */
    int axis;
    int64_t divide; /**< 0, 1: as it is */
    int64_t modulo; /**< 0: as it is */
} posenc_part;

#define POSENC_MAX_PARTS 8
#define POSENC_MAX_COORDS 4

/** Encodings side by side. Up to
 * POSENC_MAX_PARTS parts; a sum may contain sums of together POSENC_MAX_PARTS terms, which are added one after the
 * other as if they stood in it, and of tables that all leave a row out it makes a row of zeros, which is added like any
 * other; a result has up to POSENC_MAX_COORDS axes (POSENC_ERR_SECTIONS) and 32 fields of columns (POSENC_ERR_SHAPE).
 * The parts' encodings may be freed afterwards; learned tables, which they refer to, may not.
 *
 * Hybrid (FORMULAS A.10), block-wise (A.11), trainable sinusoid (A.8: a table with POSENC_OUT_OF_RANGE_ZERO), axial
 * (A.22):
 *
 *     posenc_part hybrid[2] = {{.encoding = sinusoid}, {.encoding = learned}};
 *     posenc_status status = posenc_encoding_concat(hybrid, 2, &e);
 *     posenc_part blocks[2] = {{.encoding = global, .divide = 64}, {.encoding = local, .modulo = 64}};
 *     status = posenc_encoding_sum(blocks, 2, &e);
 *     posenc_part trainable[2] = {{.encoding = sinusoid}, {.encoding = learned}};
 *     status = posenc_encoding_sum(trainable, 2, &e);
 *     posenc_part axial[2] = {{.encoding = y_table}, {.encoding = x_table, .axis = 1}};
 *     status = posenc_encoding_sum(axial, 2, &e);
 */
POSENC_API posenc_status posenc_encoding_concat(const posenc_part *parts, int64_t n_parts, posenc_encoding **e);
/** Encodings of the same width added up, in order, in float32. */
POSENC_API posenc_status posenc_encoding_sum(const posenc_part *parts, int64_t n_parts, posenc_encoding **e);

/* ---- Sinusoidal encodings (arXiv 1706.03762; FORMULAS A.1-A.6, A.17, A.21, A.22).
 *
 * With pairs i = 0 .. half-1, half = floor(dim/2), and frequencies f_i:
 *
 *     POSENC_SINUSOIDAL_INTERLEAVED   PE[p][2i] = sin(p f_i), PE[p][2i+1] = cos(p f_i)     the paper
 *     POSENC_SINUSOIDAL_CONCAT        PE[p][i]  = sin(p f_i), PE[p][half+i] = cos(p f_i)   Transformer-XL, fairseq
 *     POSENC_SINUSOIDAL_COMPLEX       PE[p][2i] = cos(p f_i), PE[p][2i+1] = sin(p f_i)     e^(j p f_i) as (re, im)
 *     POSENC_SINUSOIDAL_CONCAT_COS    PE[p][i]  = cos(p f_i), PE[p][half+i] = sin(p f_i)   diffusion, ggml
 *
 * CONCAT is Whisper's layout too, CONCAT_COS that of flip_sin_to_cos.
 *
 * Frequencies f_i, by schedule; all are multiplied by `scale`:
 *
 *     POSENC_SCHEDULE_HALF            base^(-2i/dim) interleaved, base^(-i/half) concatenated: the same
 *                                     numbers for even dim (the paper, Transformer-XL, MAE)
 *     POSENC_SCHEDULE_HALF_MINUS_1    min_timescale * (base/min_timescale)^(-i/max(half-1, 1)); concatenated
 *                                     only (Tensor2Tensor, fairseq, Whisper)
 *     POSENC_SCHEDULE_SHIFT           base^(-i/(half - shift)); concatenated only (diffusers' get_timestep_embedding,
 *                                     DDPM with shift 1)
 *
 * Odd dim, interleaved: the last column is sin(p base^(-(dim-1)/dim)) with POSENC_ODD_SIN, or 0 with
 * POSENC_ODD_ZERO. Odd dim, concatenated: the last column is 0. COMPLEX needs an even dim.
 *
 * Values are those of angles.h: right at any int32 position, whatever is asked for beside it; and at any real position
 * of magnitude up to 2^31, taken as exact.
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

typedef enum posenc_sinusoidal_layout {
    POSENC_SINUSOIDAL_LAYOUT_UNSET = 0,
    POSENC_SINUSOIDAL_INTERLEAVED,
    POSENC_SINUSOIDAL_CONCAT,
    POSENC_SINUSOIDAL_COMPLEX,
    POSENC_SINUSOIDAL_CONCAT_COS
} posenc_sinusoidal_layout;

typedef enum posenc_schedule {
    POSENC_SCHEDULE_UNSET = 0, /**< allowed with the interleaved layouts, which have one schedule only */
    POSENC_SCHEDULE_HALF,
    POSENC_SCHEDULE_HALF_MINUS_1,
    POSENC_SCHEDULE_SHIFT
} posenc_schedule;

typedef enum posenc_odd { POSENC_ODD_SIN = 0, POSENC_ODD_ZERO } posenc_odd;

typedef struct posenc_sinusoidal_params {
    posenc_sinusoidal_layout layout;
    posenc_schedule schedule;
    posenc_odd odd;
    int64_t dim; /**< columns, 1 .. 2*POSENC_MAX_PAIRS */
    double base; /**< in [1e-30, 1e30]; below 1 the frequencies ascend. The largest timescale of HALF_MINUS_1 */
    double min_timescale; /**< HALF_MINUS_1 only: finite, in (0, base] and at most POSENC_MAX_FREQUENCY */
    double shift;         /**< SHIFT only: finite, not half (POSENC_ERR_SCALING) */
    double scale;         /**< finite (POSENC_ERR_SCALING), and every scale * f_i at most POSENC_MAX_FREQUENCY */
} posenc_sinusoidal_params;

#define POSENC_SINUSOIDAL_DEFAULTS                                                                                     \
    { POSENC_SINUSOIDAL_LAYOUT_UNSET, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN, 0, 10000.0, 1.0, 1.0, 1.0 }

/** Checks the parameters and builds the frequency table. One axis; integers and real numbers. */
POSENC_API posenc_status posenc_sinusoidal_create(const posenc_sinusoidal_params *params, posenc_encoding **e);

/** Timestep embedding (FORMULAS A.3), as diffusers' get_timestep_embedding names its arguments: SHIFT with CONCAT, or
 * CONCAT_COS where flip_sin_to_cos is not 0. Timesteps are real numbers. Frequencies that ascend from scale to f have a
 * max_period of scale / f, below 1 (Stable Audio 3: from 0.5 to 10000 turns, shift 1, scale pi, max_period 5e-5).
 *
 *     float steps[2] = {999.0f, 12.5f};
 *     posenc_coords at = posenc_coords_of(steps, POSENC_COORD_F32);
 *     posenc_encoding *e;
 *     posenc_status status = posenc_timestep_create(320, 1, 0.0, 1.0, 10000.0, &e);
 *     status = posenc_encoding_apply(e, &at, NULL, NULL, &y, posenc_range_all());
 */
POSENC_API posenc_status posenc_timestep_create(int64_t dim, int flip_sin_to_cos, double downscale_freq_shift,
                                                double scale, double max_period, posenc_encoding **e);

/** The matrix M_k with PE[p + k] = M_k PE[p] for every p (FORMULAS A.6): cosines and sines of k f_i in blocks of two, 0
 * elsewhere. m is [dim, dim, 1, 1], float32; row r of M_k is row r of m. Of an encoding that
 * posenc_sinusoidal_create made (POSENC_ERR_ENUM) for an even dim (POSENC_ERR_HEAD_DIM). */
POSENC_API posenc_status posenc_sinusoidal_shift(const posenc_encoding *e, int32_t k, const posenc_view *m);

/* ---- Grids ---- */

/** Sinusoids of several coordinates, S_w(v) = [sin(v f_j) | cos(v f_j)], f_j = base^(-j/(w/2)), side by side:
 *
 *     W_FIRST         [S(x) | S(y)], dim a multiple of 4: MAE, whose variable for it is called emb_h
 *     H_FIRST         [S(y) | S(x)]: MoCo v3
 *     TIMM            [sin y | sin x | cos y | cos x]: timm's build_sincos2d_pos_embed
 *     VOLUME          [S_{d/4}(t) | S_{3d/8}(x) | S_{3d/8}(y)], dim a multiple of 16: CogVideoX in diffusers
 *     TENSOR2TENSOR   2 floor(dim / (2 n_axes)) channels for each axis in order, with HALF_MINUS_1 frequencies, then
 *                     zeros: add_timing_signal_nd; n_axes 1 .. 4
 *
 * Axes are y, x; t, y, x; or as they come. posenc_positions_grid makes their planes. */
typedef enum posenc_grid {
    POSENC_GRID_W_FIRST = 0,
    POSENC_GRID_H_FIRST,
    POSENC_GRID_TIMM,
    POSENC_GRID_VOLUME,
    POSENC_GRID_TENSOR2TENSOR
} posenc_grid;

/** Sinusoidal encoding of a grid. dim that does not fit is POSENC_ERR_HEAD_DIM; n_axes is for TENSOR2TENSOR only, else
 * 0 (POSENC_ERR_SECTIONS). */
POSENC_API posenc_status posenc_grid_create(posenc_grid grid, int64_t dim, int n_axes, double base,
                                            posenc_encoding **e);

/* ---- Random Fourier features (arXiv 2006.10739; FORMULAS A.18).
 *
 *     z = 2 pi B p,    E = [cos z | sin z] or [sin z | cos z],    dim = 2 n_features
 *
 * for a token with n_coords coordinates p and a matrix B [n_features][n_coords], drawn once or given. Coordinates are
 * real numbers (a model's own mapping, such as SAM's 2p - 1, is applied before) or integers up to 2^29 in magnitude.
 * What products and sums round away is kept, and turns are reduced before they are multiplied by 2 pi. Each value is
 * within 1 ulp of that of the exact B and p, or within 2^-40 * n_coords where that is larger.
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

typedef enum posenc_fourier_order { POSENC_FOURIER_COS_SIN = 0, POSENC_FOURIER_SIN_COS } posenc_fourier_order;

typedef struct posenc_fourier_params {
    int64_t n_features;         /**< 1 .. 65536 (POSENC_ERR_HEAD_DIM) */
    int n_coords;               /**< 1 .. POSENC_MAX_COORDS (POSENC_ERR_SECTIONS) */
    posenc_fourier_order order; /**< Tancik and the tutorials; SAM and diffusers */
    const float *matrix;        /**< B, copied; each |entry| <= 65536 (POSENC_ERR_FREQUENCY). NULL, and matrix_f64 too:
                                   drawn, as posenc_fill_normal(seed, 0, sigma) fills [n_coords, n_features] */
    double sigma;               /**< for drawing: in (0, 4096] (POSENC_ERR_SCALE) */
    uint64_t seed;
    const double *matrix_f64; /**< B in double, copied; one of the two (POSENC_ERR_ENUM) */
} posenc_fourier_params;

#define POSENC_FOURIER_DEFAULTS                                                                                        \
    { 0, 1, POSENC_FOURIER_COS_SIN, NULL, 1.0, 0, NULL }

/** Builds random Fourier features. */
POSENC_API posenc_status posenc_fourier_create(const posenc_fourier_params *params, posenc_encoding **e);

/* ---- Encodings by integers, bits and Gaussian bumps (FORMULAS A.13-A.16, A.19). Each has one axis.
 *
 *     posenc_encoding *gray;
 *     posenc_status status = posenc_bits_create(16, POSENC_BITS_GRAY, -1.0f, 1.0f, &gray);
 *     posenc_view rows = posenc_view_dense(memory, POSENC_F32, 16, 4, 1, 1);
 *     status = posenc_encoding_write(gray, positions, &rows);
 *     posenc_encoding_free(gray);
 */

/** Integer encoding. E[p][i] = p/(length-1) * (i/(dim-1))^alpha, i = 0 .. dim-1 (FORMULAS A.14). alpha 0 is the plain
 * p/(length-1) in every column (A.13). length 1 makes every value 0; dim 1 has the factor 1. The quotient, taken in
 * double, and the power are rounded to float32, their product once more. dim 1 .. 2^21 (POSENC_ERR_HEAD_DIM); length 1
 * .. 2^31 (POSENC_ERR_CONTEXT); alpha in [0, 1000] (POSENC_ERR_SCALING). Integers and real numbers. */
POSENC_API posenc_status posenc_integer_create(int64_t dim, int64_t length, double alpha, posenc_encoding **e);

/** E[p][i] = bit i of p, or of its Gray code p ^ (p >> 1), as `zero` or `one`; lowest bit first (FORMULAS A.15, A.16).
 * Positions are any int64 that is not negative (POSENC_ERR_POSITION); bits beyond dim are dropped, columns beyond the
 * 63rd bit are zero. dim 1 .. 2^21; zero and one finite (POSENC_ERR_SCALE): 0 and 1, or -1 and 1. */
typedef enum posenc_bit_code { POSENC_BITS_BINARY = 0, POSENC_BITS_GRAY } posenc_bit_code;

/** Binary or Gray code of the position. */
POSENC_API posenc_status posenc_bits_create(int64_t dim, posenc_bit_code code, float zero, float one,
                                            posenc_encoding **e);

/** Gray code of a number. */
POSENC_API uint64_t posenc_gray_encode(uint64_t p);
/** Number of a Gray code. */
POSENC_API uint64_t posenc_gray_decode(uint64_t gray);

/** Gaussian bumps. E[t][k] = exp(-(t - centre_k)^2 / (2 sigma^2)) (FORMULAS A.19); below FLT_MIN it is 0. The exponent
 * is computed in double and rounded to float32 once, so the relative error is below 2^-24 (|exponent| + 2). n 1 .. 2^21
 * (POSENC_ERR_HEAD_DIM) centres, copied, finite and within 2^40; sigma in [2^-60, 2^60] (POSENC_ERR_SCALE). Integers
 * and real numbers. */
POSENC_API posenc_status posenc_rbf_create(const double *centres, int64_t n, double sigma, posenc_encoding **e);

#ifdef __cplusplus
}
#endif
#endif
