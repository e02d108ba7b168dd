/* SPDX-License-Identifier: MIT */
/** @file
 * Looking at an encoding: similarities, offsets, frequencies, costs (FORMULAS D).
 *
 * For whoever chooses or checks an encoding; posenc.plot of Python draws it. Rows are what any encoding of this
 * library wrote: a view [dim, n, 1, 1] in float32, row p the vector of position p.
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

/* ---- Rows (D.1 - D.3) ---- */

/** Cosine similarity of the rows of an encoding. similarity[a][b] = E_a . E_b / (|E_a| |E_b| + eps), and 0 where the
 * denominator is 0, as for rows of zeros. Products are summed in float32 by fma, 256 channels in a chain and the chains
 * in order; norm and quotient are double, rounded once. With eps = 0 the error is at most dim * 2^-23, and near 2^-23
 * in practice, by which 1 may be passed, of rows whose squares and products float32 holds: norms between 2^-60 and 2^60
 * are safe. A NaN in a row makes its similarities NaN.
 *
 * e: [dim, n, 1, 1], similarity: [n, n, 1, 1], apart from e; a row of similarity is a row of the range. eps: finite,
 * not negative (POSENC_ERR_SCALE). For sinusoidal rows it is a Toeplitz matrix: what posenc_dot_by_offset gives, over
 * dim/2. */
POSENC_API posenc_status posenc_cosine_similarity(const posenc_view *e, double eps, const posenc_view *similarity,
                                                  posenc_range rows);

/** Cosine similarity of one row and those behind it. profile[t] = the same similarity of rows query and query + t, t =
 * 0 .. n_offsets-1; NaN where there is no such row. query: 0 .. n-1 (POSENC_ERR_ROWS). */
POSENC_API posenc_status posenc_similarity_profile(const posenc_view *e, int64_t query, double eps, int64_t n_offsets,
                                                   float *profile);

typedef struct posenc_progression {
    int holds;      /**< 1: |first - second| <= atol + rtol |second| in every channel */
    double largest; /**< of |first - second|; NaN if one of them is */
} posenc_progression;

/** Checks whether the rows go in equal steps. Do the rows go in equal steps? Compares first = E[start + step] -
 * E[start] with second = E[start + 2 step] - E[start + step]. Sinusoidal rows do not, and need not: what they keep is
 * the dot product of an offset (below) and the rotation that takes E[p] to E[p + step]. All three rows must be there
 * (POSENC_ERR_ROWS); atol, rtol: finite, not negative (POSENC_ERR_SCALE). */
POSENC_API posenc_status posenc_check_progression(const posenc_view *e, int64_t start, int64_t step, double atol,
                                                  double rtol, posenc_progression *result);

/* ---- Frequencies (D.4, D.5, D.8) ---- */

/** Dot products of sinusoidal rows by offset. dots[k] = PE(t) . PE(t + offsets[k]) = sum over pairs of cos(theta_i
 * offsets[k]), whatever t: of sinusoidal rows in any layout, and of two equal rotated vectors with unit pairs. The
 * cosines are those of angles.h, summed in double from pair 0 on: within n_pairs * 2^-24. */
POSENC_API posenc_status posenc_dot_by_offset(const posenc_freq *freq, const int32_t *offsets, int64_t n_offsets,
                                              double *dots);

/** Distances of sinusoidal rows by offset. distances[k] = |PE(t) - PE(t + offsets[k])|, whatever t: from 0 to 2
 * sqrt(n_pairs). Near 0 two positions look alike. No digits cancel: within 2^-22 of its own size, or 2^-43
 * sqrt(n_pairs) where that is larger. */
POSENC_API posenc_status posenc_alias_distance(const posenc_freq *freq, const int32_t *offsets, int64_t n_offsets,
                                               double *distances);

typedef struct posenc_frequency {
    double theta;      /**< radians per position */
    double wavelength; /**< 2 pi / |theta| positions; infinite for 0 */
    double turns;      /**< |theta| context / (2 pi) within the context: what YaRN and Llama-3 scaling go by */
} posenc_frequency;

/** Wavelength and turns within a context of each frequency. report[i] for theta[i], as posenc_freq_theta or
 * posenc_rope_theta has it: finite, at most POSENC_MAX_FREQUENCY in size (POSENC_ERR_FREQUENCY). context, in positions:
 * finite, not negative (POSENC_ERR_CONTEXT). */
POSENC_API posenc_status posenc_frequency_report(const double *theta, int64_t n, double context,
                                                 posenc_frequency *report);

/* ---- Codes (D.9) ---- */

/** Hamming distance of two positions in binary. In how many bits two positions differ, written in binary or in Gray
 * code. For p and p + 1 it is 1 in Gray code, and one more than p has trailing ones in binary. */
POSENC_API int posenc_hamming_binary(uint64_t p, uint64_t q);
/** Hamming distance of two positions in Gray code. */
POSENC_API int posenc_hamming_gray(uint64_t p, uint64_t q);

/* ---- Costs (D.6, D.7) ---- */

typedef enum posenc_scheme {
    POSENC_SCHEME_UNSET = 0,
    POSENC_SCHEME_SINUSOIDAL, /**< also Fourier features, integer, binary and Gray rows, RBF: nothing is trained */
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

/** What the counts below take; those that a scheme does not name may stay 0. Each 0 .. 2^40 (POSENC_ERR_SHAPE). */
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

/** Counts the trained parameters of a scheme. Trained numbers of one layer, or of the whole model where layers share
 * them:
 *
 *     sinusoidal, RoPE, ALiBi, Sandwich   0
 *     learned          L d                     KERPLE   2 H
 *     Shaw             2 (2k+1) d_h            FIRE     2 W + W H + H + 2
 *     T5               n_buckets H             CoPE     n_positions d_h
 *     Transformer-XL   2 H d_h + d H d_h       Swin     (2 window_h - 1)(2 window_w - 1) H
 *     DeBERTa          2k d, its projections   CPE      d K^2 + d
 *                      being shared
 *
 * Shaw's are keys and values; Transformer-XL's u, v and W_kR. A count beyond int64 is POSENC_ERR_SHAPE. */
POSENC_API posenc_status posenc_parameter_count(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *count);

/** Counts the arithmetic operations of a scheme. Arithmetic for one token, multiplications and additions counted alike
 * and making angles or slopes not at all, over all heads of one layer:
 *
 *     sinusoidal, learned   d additions
 *     RoPE                  6 H d_h: Q and K, 4 multiplications and 2 additions a pair
 *     ALiBi                 2 H L: a fused multiply-add a key
 *     Shaw                  4 H L d_h: keys 2 L d_h, values as much
 *
 * Other schemes: POSENC_ERR_ENUM. */
POSENC_API posenc_status posenc_flops(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *flops);

/** The rules of thumb that comparisons often quote, of a single head: sinusoidal and learned d, RoPE 4 d_h, ALiBi L,
 * Shaw 2 L d_h. Same schemes. */
POSENC_API posenc_status posenc_flops_rule_of_thumb(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *flops);

#ifdef __cplusplus
}
#endif
#endif
