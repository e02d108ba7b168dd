/* posenc/line_functions.h - bias lines from functions of the offset: KERPLE, Sandwich, cosines (FORMULAS C.16, C.18,
 * C.30).
 *
 * d = |o| is the distance, o = key - query. Each value is within 1 ulp of the formula's (next to the zeros of sums of
 * cosines, within 2^-40 of the sum of their amplitudes); what would be denormal is 0. line.h says what a line may be.
 *
 * Example: KERPLE's logarithmic form for a causal decoder of 1024 tokens
 *
 *     posenc_kerple kerple = {POSENC_KERPLE_LOG, p, a, 0.01f};
 *     int64_t first, n;
 *     posenc_status status = posenc_line_range(posenc_mask_causal(), 0, 1024, 1024, &first, &n);
 *     posenc_line line = {line_data, first, n, n_heads, n, 0};
 *     status = posenc_line_kerple(&kerple, &line);
 */
#ifndef POSENC_LINE_FUNCTIONS_H
#define POSENC_LINE_FUNCTIONS_H

#include <posenc/line.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* KERPLE (arXiv 2205.09921), the two forms of its code:
 *
 *     POSENC_KERPLE_LOG     -p_h ln(1 + a_h d)
 *     POSENC_KERPLE_POWER   -a_h d^p_h, 0 for d = 0
 *
 * with p and a raised to `min` where they are below it, and the p of POWER lowered to 2: the clamps of the training
 * code, which has 0.01. p[n_heads], a[n_heads]: finite, at most 2^20 in size; min: in [2^-20, 1] (POSENC_ERR_SCALE). */
typedef enum posenc_kerple_kind { POSENC_KERPLE_UNSET = 0, POSENC_KERPLE_LOG, POSENC_KERPLE_POWER } posenc_kerple_kind;

typedef struct posenc_kerple {
    posenc_kerple_kind kind;
    const float *p, *a;
    float min;
} posenc_kerple;

POSENC_API posenc_status posenc_line_kerple(const posenc_kerple *kerple, const posenc_line *line);

/* The Gaussian kernel e^(-d^2 / (2 sigma_h^2)): a line of positive numbers, to add or to multiply with as the caller
 * sees fit. sigma[n_heads]: in [2^-20, 2^40] (POSENC_ERR_SCALE). */
POSENC_API posenc_status posenc_line_rbf(const float *sigma, const posenc_line *line);

/* Sandwich (arXiv 2212.10356), head h = 0 .. n_heads-1:
 *
 *     n_heads / (8 (h+1)) * (sum of cos(d base^(-2k/dim)), k = first .. first + dim/2 - 1,  - dim/2 if centred)
 *
 * The paper's listing begins with k = 0, its equation with 1. centred makes 0 of the value at d = 0, which softmax does
 * not notice. */
typedef struct posenc_sandwich {
    int64_t dim;   /* even, 2 .. 8192 (POSENC_ERR_HEAD_DIM) */
    double base;   /* in [1, 1e30] (POSENC_ERR_BASE) */
    int64_t first; /* 0 or 1 (POSENC_ERR_SHAPE) */
    int centred;
} posenc_sandwich;

#define POSENC_SANDWICH_DEFAULTS                                                                                       \
    { 128, 10000.0, 0, 0 }

POSENC_API posenc_status posenc_line_sandwich(const posenc_sandwich *sandwich, const posenc_line *line);

/* amplitude_h cos(omega_h o + phi_h): what one rotary pair adds to the score of constant content. omega in radians per
 * position and phi in radians, at most POSENC_MAX_FREQUENCY in size, taken as exact (POSENC_ERR_FREQUENCY); NULL phi:
 * 0; NULL amplitude: 1, else finite (POSENC_ERR_SCALE). Each [n_heads]. */
POSENC_API posenc_status posenc_line_cosine(const double *omega, const double *phi, const float *amplitude,
                                            const posenc_line *line);

#ifdef __cplusplus
}
#endif
#endif
