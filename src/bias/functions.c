/* SPDX-License-Identifier: MIT */
/* Relative biases from functions of the offset (FORMULAS C.16, C.18, C.30). */
#include <posenc/bias.h>

#include <float.h>
#include <math.h>

#include "bias/kerple.h"
#include "bias/rel_bias.h"
#include "core/angles.h"
#include "core/minmax.h"
#include "core/view.h"

/* ---- KERPLE, Gaussians ---- */

posenc_status posenc_rel_bias_kerple(const posenc_kerple *kerple, const posenc_rel_bias *rel_bias) {
    int64_t n_heads;
    posenc_status status = posenc_check_whole_rel_bias(rel_bias, &n_heads);
    if (status == POSENC_OK)
        status = posenc_check_kerple(kerple, n_heads);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h++) {
        posenc_kerple_head head = posenc_kerple_of_head(kerple, h);
        for (int64_t t = 0; t < rel_bias->n_offsets; t++)
            posenc_rel_bias_of_head(rel_bias, h)[t] =
                posenc_rounded(posenc_kerple_value(&head, posenc_rel_bias_distance(rel_bias, t)));
    }
    return POSENC_OK;
}

posenc_status posenc_rel_bias_rbf(const float *sigma, const posenc_rel_bias *rel_bias) {
    int64_t n_heads;
    posenc_status status = posenc_check_whole_rel_bias(rel_bias, &n_heads);
    if (status == POSENC_OK)
        status = posenc_check_numbers(sigma, n_heads, 0x1p-20, 0x1p40);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t t = 0; t < rel_bias->n_offsets; t++) {
            double ratio = posenc_rel_bias_distance(rel_bias, t) / (double)sigma[h], exponent = -0.5 * ratio * ratio;
            posenc_rel_bias_of_head(rel_bias, h)[t] =
                exponent < -100.0 ? 0.0f : posenc_rounded(posenc_exp_double(exponent));
        }
    return POSENC_OK;
}

/* ---- Columns of waves ---- */

/* Angles in half turns, and cosines and sines of these times a position. */
typedef struct wave_column {
    double hi[POSENC_COLUMN], lo[POSENC_COLUMN], cosine[POSENC_COLUMN], sine[POSENC_COLUMN];
} wave_column;

static void set_angle(wave_column *column, int64_t k, posenc_dd radians) {
    posenc_dd half_turns = posenc_dd_mul(radians, posenc_dd_inv_pi());
    column->hi[k] = half_turns.hi;
    column->lo[k] = half_turns.lo;
}

static void turn(wave_column *column, double position) {
    posenc_angle_anchors_args args = {
        .hi = column->hi,
        .lo = column->lo,
        .magnitude = 1.0,
        .position = position,
        .cos_out = column->cosine,
        .sin_out = column->sine,
        .n = POSENC_COLUMN,
    };
    posenc_active_kernels()->angle_anchors(&args);
}

/* ---- Sandwich ---- */

#define MAX_DIM 8192

static posenc_status check_sandwich(const posenc_sandwich *s) {
    if (s == NULL)
        return POSENC_ERR_NULL;
    if (s->dim < 2 || s->dim % 2 != 0 || s->dim > MAX_DIM)
        return POSENC_ERR_HEAD_DIM;
    if (!posenc_base_is_valid(s->base))
        return POSENC_ERR_BASE;
    return s->first == 0 || s->first == 1 ? POSENC_OK : POSENC_ERR_SHAPE;
}

static posenc_dd sandwich_theta(const void *context, int64_t i) {
    const posenc_sandwich *s = context;
    return posenc_dd_pow(s->base, -2.0 * (double)(s->first + i), (double)s->dim);
}

/* Sums over k of cos(distance theta_k), ascending, for n offsets of the relative bias from the first on. */
static void sum_cosines(const posenc_sandwich *sandwich, const posenc_rel_bias *rel_bias, int64_t first, int64_t n,
                        double *sums) {
    int64_t n_angles = sandwich->dim / 2;
    for (int64_t t = 0; t < n; t++)
        sums[t] = 0.0;
    for (int64_t i = 0; i < n_angles; i += POSENC_COLUMN) {
        int64_t n_column = posenc_min(n_angles - i, POSENC_COLUMN);
        wave_column wave = {.hi = {0.0}};
        for (int64_t k = 0; k < n_column; k++)
            set_angle(&wave, k, sandwich_theta(sandwich, i + k));
        for (int64_t t = 0; t < n; t++) {
            turn(&wave, posenc_rel_bias_distance(rel_bias, first + t));
            for (int64_t k = 0; k < n_column; k++)
                sums[t] += wave.cosine[k];
        }
    }
}

posenc_status posenc_rel_bias_sandwich(const posenc_sandwich *sandwich, const posenc_rel_bias *rel_bias) {
    enum { BLOCK = 1024 }; /* offsets for which an angle is made once */
    int64_t n_heads;
    posenc_status status = posenc_check_whole_rel_bias(rel_bias, &n_heads);
    if (status == POSENC_OK)
        status = check_sandwich(sandwich);
    if (status != POSENC_OK)
        return status;
    double constant = sandwich->centred ? (double)(sandwich->dim / 2) : 0.0, sums[BLOCK];
    for (int64_t first = 0; first < rel_bias->n_offsets; first += BLOCK) {
        int64_t n = posenc_min(rel_bias->n_offsets - first, BLOCK);
        sum_cosines(sandwich, rel_bias, first, n, sums);
        for (int64_t h = 0; h < n_heads; h++)
            for (int64_t t = 0; t < n; t++)
                posenc_rel_bias_of_head(rel_bias, h)[first + t] =
                    posenc_rounded((double)n_heads * (sums[t] - constant) / (double)(8 * (h + 1)));
    }
    return POSENC_OK;
}

/* ---- Cosines ---- */

static posenc_status check_angles(const double *radians, int64_t n) {
    if (!posenc_is_aligned(radians, 8))
        return POSENC_ERR_STRIDE;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(radians[i]) <= POSENC_MAX_FREQUENCY))
            return POSENC_ERR_FREQUENCY;
    return POSENC_OK;
}

static posenc_status check_cosines(const double *omega, const double *phi, const float *amplitude, int64_t n_heads) {
    if (omega == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = check_angles(omega, n_heads);
    if (status == POSENC_OK && phi != NULL)
        status = check_angles(phi, n_heads);
    if (status == POSENC_OK && amplitude != NULL)
        status = posenc_check_numbers(amplitude, n_heads, -(double)FLT_MAX, (double)FLT_MAX);
    return status;
}

static wave_column column_of(const double *radians, int64_t n) {
    wave_column column = {.hi = {0.0}};
    for (int64_t k = 0; radians != NULL && k < n; k++)
        set_angle(&column, k, posenc_dd_from(radians[k]));
    return column;
}

/* cos(omega o + phi) by the sum formula: the product omega o is exact, as everywhere in this library. */
posenc_status posenc_rel_bias_cosine(const double *omega, const double *phi, const float *amplitude,
                                     const posenc_rel_bias *rel_bias) {
    int64_t n_heads;
    posenc_status status = posenc_check_whole_rel_bias(rel_bias, &n_heads);
    if (status == POSENC_OK)
        status = check_cosines(omega, phi, amplitude, n_heads);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h += POSENC_COLUMN) {
        int64_t n = posenc_min(n_heads - h, POSENC_COLUMN);
        wave_column wave = column_of(omega + h, n), phase = column_of(phi != NULL ? phi + h : NULL, n);
        turn(&phase, 1.0);
        for (int64_t t = 0; t < rel_bias->n_offsets; t++) {
            turn(&wave, (double)(rel_bias->first + t));
            for (int64_t k = 0; k < n; k++) {
                double cosine = wave.cosine[k] * phase.cosine[k] - wave.sine[k] * phase.sine[k];
                posenc_rel_bias_of_head(rel_bias, h + k)[t] =
                    posenc_rounded(amplitude != NULL ? (double)amplitude[h + k] * cosine : cosine);
            }
        }
    }
    return POSENC_OK;
}
