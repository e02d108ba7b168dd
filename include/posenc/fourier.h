/* posenc/fourier.h - random Fourier features (arXiv 2006.10739; FORMULAS A.18).
 *
 *     z = 2 pi B p,    E = [cos z | sin z] or [sin z | cos z],    dim = 2 n_features
 *
 * for a token with n_coords coordinates p and a matrix B [n_features][n_coords], drawn once. Coordinates are float32
 * (a model's own mapping, such as SAM's 2p - 1, is applied before) or integers up to 2^29 in magnitude, so that each
 * product is exact; turns are reduced before they are multiplied by 2 pi. Each value is within 1 ulp of that of the
 * exact B and p, or within 2^-40 * n_coords where that is larger.
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
 *     status = posenc_encoding_apply(e, &at, NULL, NULL, &y, posenc_all_rows());
 *     posenc_encoding_free(e);
 */
#ifndef POSENC_FOURIER_H
#define POSENC_FOURIER_H

#include <posenc/encoding.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum posenc_fourier_order { POSENC_FOURIER_COS_SIN = 0, POSENC_FOURIER_SIN_COS } posenc_fourier_order;

typedef struct posenc_fourier_params {
    int64_t n_features;         /* 1 .. 65536 (POSENC_ERR_HEAD_DIM) */
    int n_coords;               /* 1 .. POSENC_MAX_COORDS (POSENC_ERR_SECTIONS) */
    posenc_fourier_order order; /* Tancik and the tutorials; SAM and diffusers */
    const float *matrix;        /* B, copied; each |entry| <= 65536 (POSENC_ERR_FREQUENCY). NULL: drawn, as
                                   posenc_fill_normal(seed, 0, sigma) fills [n_coords, n_features] */
    double sigma;               /* for drawing: in (0, 4096] (POSENC_ERR_SCALE) */
    uint64_t seed;
} posenc_fourier_params;

#define POSENC_FOURIER_DEFAULTS                                                                                        \
    { 0, 1, POSENC_FOURIER_COS_SIN, NULL, 1.0, 0 }

POSENC_API posenc_status posenc_fourier_create(const posenc_fourier_params *params, posenc_encoding **e);

#ifdef __cplusplus
}
#endif
#endif
