/* SPDX-License-Identifier: MIT */
/** @file
 * Analysis of encodings: similarities, offsets, frequencies, costs (FORMULAS D).
 *
 *     posenc_view rows = posenc_view_dense(encoding, POSENC_F32, 64, 128, 1, 1);
 *     posenc_view similarity = posenc_view_dense(matrix, POSENC_F32, 128, 128, 1, 1);
 *     posenc_status status = posenc_cosine_similarity(&rows, 0.0, &similarity, posenc_range_all());
 */
#ifndef POSENC_ANALYSIS_H
#define POSENC_ANALYSIS_H

#include <posenc/angles.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Rows of an encoding, f32 [dim, n, 1, 1] (FORMULAS D.1 - D.3) ---- */

/** Writes E_a . E_b / (|E_a| |E_b| + eps), f32 [n, n, 1, 1], apart; 0 where the denominator is 0. Error at most dim
 * 2^-23. eps: >= 0. rows: of similarity. */
POSENC_API posenc_status posenc_cosine_similarity(const posenc_view *e, double eps, const posenc_view *similarity,
                                                  posenc_range rows);

/** The same of row `query` (POSENC_ERR_ROWS) with rows query + t, t = 0..n_offsets-1; NaN where there is none. */
POSENC_API posenc_status posenc_similarity_profile(const posenc_view *e, int64_t query, double eps, int64_t n_offsets,
                                                   float *profile);

typedef struct posenc_progression {
    int holds;      /**< 1: |first - second| <= atol + rtol |second| in every channel */
    double largest; /**< |first - second|; NaN if one is */
} posenc_progression;

/** Compares first = E[start + step] - E[start] with second = E[start + 2 step] - E[start + step] (POSENC_ERR_ROWS).
 * atol, rtol: >= 0. */
POSENC_API posenc_status posenc_check_progression(const posenc_view *e, int64_t start, int64_t step, double atol,
                                                  double rtol, posenc_progression *result);

/* ---- Frequencies (FORMULAS D.4, D.5, D.8) ---- */

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

/** Number of bits in which two positions differ, in binary or Gray code. */
POSENC_API int posenc_hamming_binary(uint64_t p, uint64_t q);
POSENC_API int posenc_hamming_gray(uint64_t p, uint64_t q);

/* ---- Costs (FORMULAS D.6, D.7) ---- */

/** Schemes. D.6 counts their trained parameters of a layer. */
typedef enum posenc_scheme {
    POSENC_SCHEME_UNSET = 0,
    POSENC_SCHEME_SINUSOIDAL, /**< also Fourier features, integer, binary and Gray rows, RBF */
    POSENC_SCHEME_ROPE,
    POSENC_SCHEME_ALIBI,
    POSENC_SCHEME_SANDWICH,
    POSENC_SCHEME_LEARNED,
    POSENC_SCHEME_SHAW,
    POSENC_SCHEME_T5,
    POSENC_SCHEME_TRANSFORMER_XL,
    POSENC_SCHEME_DEBERTA,
    POSENC_SCHEME_KERPLE,
    POSENC_SCHEME_FIRE,
    POSENC_SCHEME_COPE,
    POSENC_SCHEME_SWIN,
    POSENC_SCHEME_CPE
} posenc_scheme;

/** Sizes, 0..2^40; unused ones may be 0. */
typedef struct posenc_sizes {
    int64_t length;             /**< L: tokens, or rows of a learned table */
    int64_t dim;                /**< d: channels of the model, or of the convolution */
    int64_t head_dim;           /**< d_h; for RoPE the rotated channels of a head */
    int64_t n_heads;            /**< H */
    int64_t max_distance;       /**< k: Shaw's and DeBERTa's */
    int64_t n_buckets;          /**< T5 */
    int64_t hidden;             /**< W: width of FIRE's network */
    int64_t n_positions;        /**< CoPE */
    int64_t window_h, window_w; /**< Swin */
    int64_t kernel;             /**< K: CPE */
} posenc_sizes;

/** Counts the trained parameters of a scheme (up to int64). */
POSENC_API posenc_status posenc_parameter_count(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *count);

/** Counts multiplications and additions for one token in all heads of a layer (D.7; POSENC_ERR_ENUM: other schemes). */
POSENC_API posenc_status posenc_flops(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *flops);

/** Rules of thumb that comparisons quote, for one head (D.7). */
POSENC_API posenc_status posenc_flops_rule_of_thumb(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *flops);

#ifdef __cplusplus
}
#endif
#endif
