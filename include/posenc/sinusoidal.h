/* posenc/sinusoidal.h - sinusoidal encodings (arXiv 1706.03762; FORMULAS A.1-A.6, A.17, A.21, A.22).
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
#ifndef POSENC_SINUSOIDAL_H
#define POSENC_SINUSOIDAL_H

#include <posenc/angles.h>
#include <posenc/encoding.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum posenc_sinusoidal_layout {
    POSENC_SINUSOIDAL_LAYOUT_UNSET = 0,
    POSENC_SINUSOIDAL_INTERLEAVED,
    POSENC_SINUSOIDAL_CONCAT,
    POSENC_SINUSOIDAL_COMPLEX,
    POSENC_SINUSOIDAL_CONCAT_COS
} posenc_sinusoidal_layout;

typedef enum posenc_schedule {
    POSENC_SCHEDULE_UNSET = 0, /* allowed with the interleaved layouts, which have one schedule only */
    POSENC_SCHEDULE_HALF,
    POSENC_SCHEDULE_HALF_MINUS_1,
    POSENC_SCHEDULE_SHIFT
} posenc_schedule;

typedef enum posenc_odd { POSENC_ODD_SIN = 0, POSENC_ODD_ZERO } posenc_odd;

typedef struct posenc_sinusoidal_params {
    posenc_sinusoidal_layout layout;
    posenc_schedule schedule;
    posenc_odd odd;
    int64_t dim;          /* columns, 1 .. 2*POSENC_MAX_PAIRS */
    double base;          /* finite, in [1, 1e30]; the largest timescale of HALF_MINUS_1 */
    double min_timescale; /* HALF_MINUS_1 only: finite, in (0, base] and at most POSENC_MAX_FREQUENCY */
    double shift;         /* SHIFT only: finite, not half (POSENC_ERR_SCALING) */
    double scale;         /* finite (POSENC_ERR_SCALING), and every scale * f_i at most POSENC_MAX_FREQUENCY */
} posenc_sinusoidal_params;

#define POSENC_SINUSOIDAL_DEFAULTS                                                                                     \
    { POSENC_SINUSOIDAL_LAYOUT_UNSET, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN, 0, 10000.0, 1.0, 1.0, 1.0 }

/* Checks the parameters and builds the frequency table. One axis; integers and real numbers. */
POSENC_API posenc_status posenc_sinusoidal_create(const posenc_sinusoidal_params *params, posenc_encoding **e);

/* Timestep embedding (FORMULAS A.3), as diffusers' get_timestep_embedding names its arguments: SHIFT with CONCAT, or
 * CONCAT_COS where flip_sin_to_cos is not 0. Timesteps are real numbers.
 *
 *     float steps[2] = {999.0f, 12.5f};
 *     posenc_coords at = posenc_coords_of(steps, POSENC_COORD_F32);
 *     posenc_encoding *e;
 *     posenc_status status = posenc_timestep_create(320, 1, 0.0, 1.0, 10000.0, &e);
 *     status = posenc_encoding_apply(e, &at, NULL, NULL, &y, posenc_all_rows());
 */
POSENC_API posenc_status posenc_timestep_create(int64_t dim, int flip_sin_to_cos, double downscale_freq_shift,
                                                double scale, double max_period, posenc_encoding **e);

/* The matrix M_k with PE[p + k] = M_k PE[p] for every p (FORMULAS A.6): cosines and sines of k f_i in blocks of two, 0
 * elsewhere. m is [dim, dim, 1, 1], float32; row r of M_k is row r of m. Of an encoding that
 * posenc_sinusoidal_create made (POSENC_ERR_ENUM) for an even dim (POSENC_ERR_HEAD_DIM). */
POSENC_API posenc_status posenc_sinusoidal_shift(const posenc_encoding *e, int32_t k, const posenc_view *m);

/* ---- Grids ---- */

/* Sinusoids of several coordinates, S_w(v) = [sin(v f_j) | cos(v f_j)], f_j = base^(-j/(w/2)), side by side:
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

/* dim that does not fit is POSENC_ERR_HEAD_DIM; n_axes is for TENSOR2TENSOR only, else 0 (POSENC_ERR_SECTIONS). */
POSENC_API posenc_status posenc_grid_create(posenc_grid grid, int64_t dim, int n_axes, double base,
                                            posenc_encoding **e);

#ifdef __cplusplus
}
#endif
#endif
