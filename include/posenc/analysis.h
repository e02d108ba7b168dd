/* SPDX-License-Identifier: MIT */
/** @file
 * Analysis of encodings: similarities, offsets, frequencies, costs (D).
 *
 *     posenc_view rows = posenc_view_dense(encoding, POSENC_F32, 64, 128, 1, 1);
 *     posenc_view similarity = posenc_view_dense(matrix, POSENC_F32, 128, 128, 1, 1);
 *     posenc_status status = posenc_cosine_similarity(&rows, 0.0, &similarity, posenc_range_all());
 */
#ifndef POSENC_ANALYSIS_H
#define POSENC_ANALYSIS_H

#include <posenc/angles.h>

POSENC_BEGIN_C

/* ---- Rows of an encoding, f32 [dim, n, 1, 1] (D.1 - D.3) ---- */

/** Writes E_a . E_b / (|E_a| |E_b| + eps), f32 [n, n, 1, 1], apart; 0 where the denominator is 0. Error at most dim
 * 2^-23. eps: >= 0. rows: of similarity. */
POSENC_API posenc_status posenc_cosine_similarity(const posenc_view *e, double eps, const posenc_view *similarity,
                                                  posenc_range rows);

/** Similarity of row `query` (POSENC_ERR_ROWS) with rows query + t, t = 0..n_offsets-1; NaN where there is none. */
POSENC_API posenc_status posenc_similarity_profile(const posenc_view *e, int64_t query, double eps, int64_t n_offsets,
                                                   float *profile);

/* ---- Frequencies (D.4, D.5, D.8) ---- */

/** Writes PE(t) . PE(t + offsets[k]) of sinusoidal rows, for any t. */
POSENC_API posenc_status posenc_dot_by_offset(const posenc_freq *freq, const int32_t *offsets, int64_t n_offsets,
                                              double *dots);

/** Writes |PE(t) - PE(t + offsets[k])| of sinusoidal rows: near 0 positions alias. */
POSENC_API posenc_status posenc_alias_distance(const posenc_freq *freq, const int32_t *offsets, int64_t n_offsets,
                                               double *distances);

typedef struct posenc_frequency {
    double theta;      /**< radians per position */
    double wavelength; /**< 2 pi / |theta| positions; infinite for 0 */
    double turns;      /**< |theta| context / (2 pi) */
} posenc_frequency;

/** Reports theta[n], at most POSENC_MAX_FREQUENCY in size. context: positions, >= 0. */
POSENC_API posenc_status posenc_frequency_report(const double *theta, int64_t n, double context,
                                                 posenc_frequency *report);

POSENC_END_C
#endif
