/* SPDX-License-Identifier: MIT */
/* The spectrum of every channel: how strongly it swings at wavelengths evenly spaced on a logarithmic scale. Each is
 * looked at through Hann's window over the middle of the positions, some tens of waves wide, or all positions if those
 * are fewer (a constant-Q transform), so that lines are as broad for short waves as for long ones. The mean under the
 * window is taken off. Cosines and sines come from the library's angle engine. */
#include "plot_spectrum.h"

#include <math.h>
#include <stdlib.h>

#include "progress.h"

enum { WAVES = 200, WAVES_IN_WINDOW = 40 };

#define TWO_PI 6.283185307179586
#define SHORTEST 2.0 /* positions: half the sampling rate */

typedef struct work {
    const float *vectors;
    int64_t n, width;
    int32_t *positions;         /* [n]: 0, 1, .. */
    float *cos_rows, *sin_rows; /* [n] of one wavelength */
    double *sums;               /* [3][width]: the values, and times cosine and sine, under the window */
} work;

/* One wavelength: values[c] for every channel. */
static posenc_status transform(const work *w, double wavelength, float *values) {
    int64_t length = (int64_t)fmin((double)w->n, ceil(WAVES_IN_WINDOW * wavelength)), first = (w->n - length) / 2;
    double theta = TWO_PI / wavelength, *sum = w->sums, *cosine = sum + w->width, *sine = cosine + w->width;
    double weights = 0.0, cosines = 0.0, sines = 0.0;
    posenc_freq *freq;
    posenc_status status = posenc_freq_create_values(&theta, 1, &freq);
    if (status == POSENC_OK)
        status = posenc_angle_rows(freq, w->positions, length, w->cos_rows, w->sin_rows, 1);
    posenc_freq_free(freq);
    for (int64_t c = 0; c < 3 * w->width; c++)
        sum[c] = 0.0;
    for (int64_t p = 0; p < length && status == POSENC_OK; p++) {
        const float *row = w->vectors + (first + p) * w->width;
        double weight = 0.5 - 0.5 * cos(TWO_PI * ((double)p + 0.5) / (double)length);
        double by_cosine = weight * (double)w->cos_rows[p], by_sine = weight * (double)w->sin_rows[p];
        weights += weight;
        cosines += by_cosine;
        sines += by_sine;
        for (int64_t c = 0; c < w->width; c++) {
            sum[c] += weight * (double)row[c];
            cosine[c] += by_cosine * (double)row[c];
            sine[c] += by_sine * (double)row[c];
        }
    }
    for (int64_t c = 0; c < w->width; c++) {
        double mean = sum[c] / weights;
        values[c] = (float)(2.0 / weights * hypot(cosine[c] - mean * cosines, sine[c] - mean * sines));
    }
    return status;
}

static posenc_status transform_all(const work *w, double longest, float *values) {
    posenc_status status = posenc_positions_range(0, w->n, w->positions);
    for (int k = 0; k < WAVES && status == POSENC_OK; k++) { /* the longest at the top */
        status = transform(w, longest * pow(SHORTEST / longest, (k + 0.5) / WAVES), values + k * w->width);
        progress("transforming", (double)k / WAVES);
    }
    progress("transforming", 1.0);
    return status;
}

posenc_status plot_spectrum(const float *vectors, int64_t n, int64_t width, plot_panel *panel, float **values) {
    double longest = 2.0 * (double)n;
    work w = {
        .vectors = vectors,
        .n = n,
        .width = width,
        .positions = malloc((size_t)n * sizeof(int32_t)),
        .cos_rows = malloc((size_t)n * sizeof(float)),
        .sin_rows = malloc((size_t)n * sizeof(float)),
        .sums = malloc((size_t)(3 * width) * sizeof(double)),
    };
    *values = malloc((size_t)(WAVES * width) * sizeof **values);
    int has_memory = w.positions && w.cos_rows && w.sin_rows && w.sums && *values;
    posenc_status status = has_memory ? transform_all(&w, longest, *values) : POSENC_ERR_MEMORY;
    free(w.positions);
    free(w.cos_rows);
    free(w.sin_rows);
    free(w.sums);
    panel->y = (plot_axis){"wavelength in positions", longest, SHORTEST, 1, 0};
    panel->values = *values;
    panel->n_rows = WAVES;
    panel->n_columns = width;
    panel->unit = "amplitude";
    return status;
}
