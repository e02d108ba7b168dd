/* SPDX-License-Identifier: MIT */
/** @file
 * Analysis of encodings: similarity of rows, products by offset (D).
 *
 *     posenc_view rows = posenc_view_dense(encoding, POSENC_F32, 64, 128, 1, 1);
 *     posenc_view similarity = posenc_view_dense(matrix, POSENC_F32, 128, 128, 1, 1);
 *     posenc_status status = posenc_cosine_similarity(&rows, 0.0, &similarity, posenc_range_all());
 */
#ifndef POSENC_ANALYSIS_H
#define POSENC_ANALYSIS_H

#include <posenc/angles.h>

POSENC_BEGIN_C

/* ---- Rows of an encoding, f32 [dim, n, 1, 1] (D.1) ---- */

/** Writes E_a . E_b / (|E_a| |E_b| + eps), f32 [n, n, 1, 1], apart; 0 where the denominator is 0. Error at most dim
 * 2^-23. eps: >= 0. rows: of similarity. */
POSENC_API posenc_status posenc_cosine_similarity(const posenc_view *e, double eps, const posenc_view *similarity,
                                                  posenc_range rows);

/* ---- Frequencies (D.4) ---- */

/** Writes PE(t) . PE(t + offsets[k]) of sinusoidal rows, for any t. */
POSENC_API posenc_status posenc_dot_by_offset(const posenc_freq *freq, const int32_t *offsets, int64_t n_offsets,
                                              double *dots);

POSENC_END_C
#endif
