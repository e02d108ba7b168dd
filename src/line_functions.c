/* Bias lines from functions of the offset (FORMULAS C.16, C.18, C.30). */
#include <posenc/line_functions.h>

#include <float.h>
#include <math.h>

#include "angles.h"
#include "kerple.h"
#include "line.h"
#include "view.h"

/* ---- KERPLE ---- */

posenc_status posenc_line_kerple(const posenc_kerple *kerple, const posenc_line *line) {
    int64_t n_heads;
    posenc_status status = posenc_check_whole_line(line, &n_heads);
    if (status == POSENC_OK)
        status = posenc_check_kerple(kerple, n_heads);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h++) {
        posenc_kerple_head head = posenc_kerple_of_head(kerple, h);
        for (int64_t t = 0; t < line->n_offsets; t++)
            posenc_line_of_head(line, h)[t] = posenc_rounded(posenc_kerple_value(&head, posenc_line_distance(line, t)));
    }
    return POSENC_OK;
}

posenc_status posenc_line_rbf(const float *sigma, const posenc_line *line) {
    int64_t n_heads;
    posenc_status status = posenc_check_whole_line(line, &n_heads);
    if (status == POSENC_OK)
        status = posenc_check_numbers(sigma, n_heads, 0x1p-20, 0x1p40);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t t = 0; t < line->n_offsets; t++) {
            double ratio = posenc_line_distance(line, t) / (double)sigma[h], exponent = -0.5 * ratio * ratio;
            posenc_line_of_head(line, h)[t] = exponent < -100.0 ? 0.0f : posenc_rounded(posenc_exp_double(exponent));
        }
    return POSENC_OK;
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

/* The sum of cos(distance theta_k), ascending. */
static double sum_of_cosines(const posenc_kernels *kernels, const posenc_freq *freq, double distance) {
    double cosines[POSENC_COLUMN], sines[POSENC_COLUMN], sum = 0.0;
    for (int64_t i = 0; i < freq->n; i += POSENC_COLUMN) {
        posenc_angle_anchors_args args = {
            .hi = freq->hi + i,
            .lo = freq->lo + i,
            .magnitude = 1.0,
            .position = distance,
            .cos_out = cosines,
            .sin_out = sines,
            .n = POSENC_COLUMN,
        };
        kernels->angle_anchors(&args);
        for (int64_t k = 0; k < POSENC_COLUMN && i + k < freq->n; k++)
            sum += cosines[k];
    }
    return sum;
}

posenc_status posenc_line_sandwich(const posenc_sandwich *sandwich, const posenc_line *line) {
    int64_t n_heads;
    posenc_freq *freq;
    posenc_status status = posenc_check_whole_line(line, &n_heads);
    if (status == POSENC_OK)
        status = check_sandwich(sandwich);
    if (status == POSENC_OK)
        status = posenc_freq_build(sandwich_theta, sandwich, sandwich->dim / 2, &freq);
    if (status != POSENC_OK)
        return status;
    double constant = sandwich->centred ? (double)(sandwich->dim / 2) : 0.0;
    for (int64_t t = 0; t < line->n_offsets; t++) {
        double sum = sum_of_cosines(posenc_active_kernels(), freq, posenc_line_distance(line, t)) - constant;
        for (int64_t h = 0; h < n_heads; h++)
            posenc_line_of_head(line, h)[t] = posenc_rounded((double)n_heads * sum / (double)(8 * (h + 1)));
    }
    posenc_freq_free(freq);
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

/* Cosines and sines of n <= POSENC_COLUMN angles times a position. */
typedef struct wave_column {
    double hi[POSENC_COLUMN], lo[POSENC_COLUMN], cosine[POSENC_COLUMN], sine[POSENC_COLUMN];
} wave_column;

static void set_angles(wave_column *column, const double *radians, int64_t n) {
    *column = (wave_column){{0.0}, {0.0}, {0.0}, {0.0}};
    for (int64_t k = 0; radians != NULL && k < n; k++) {
        posenc_dd half_turns = posenc_dd_mul(posenc_dd_from(radians[k]), posenc_dd_inv_pi());
        column->hi[k] = half_turns.hi;
        column->lo[k] = half_turns.lo;
    }
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

/* cos(omega o + phi) by the sum formula: the product omega o is exact, as everywhere in this library. */
posenc_status posenc_line_cosine(const double *omega, const double *phi, const float *amplitude,
                                 const posenc_line *line) {
    int64_t n_heads;
    posenc_status status = posenc_check_whole_line(line, &n_heads);
    if (status == POSENC_OK)
        status = check_cosines(omega, phi, amplitude, n_heads);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h += POSENC_COLUMN) {
        int64_t n = n_heads - h < POSENC_COLUMN ? n_heads - h : POSENC_COLUMN;
        wave_column wave, phase;
        set_angles(&wave, omega + h, n);
        set_angles(&phase, phi != NULL ? phi + h : NULL, n);
        turn(&phase, 1.0);
        for (int64_t t = 0; t < line->n_offsets; t++) {
            turn(&wave, (double)(line->first + t));
            for (int64_t k = 0; k < n; k++) {
                double cosine = wave.cosine[k] * phase.cosine[k] - wave.sine[k] * phase.sine[k];
                posenc_line_of_head(line, h + k)[t] =
                    posenc_rounded(amplitude != NULL ? (double)amplitude[h + k] * cosine : cosine);
            }
        }
    }
    return POSENC_OK;
}
