/* SPDX-License-Identifier: MIT */
/* Functions that the Python package alone offers: not exported, and no part of the C interface. They stay in C because
 * their results are recorded and tested with the rest. */
#ifndef POSENC_FOR_PYTHON_H
#define POSENC_FOR_PYTHON_H

#include <posenc/analysis.h>
#include <posenc/bias.h>

POSENC_BEGIN_C

/** Similarity of row `query` (POSENC_ERR_ROWS) with rows query + t, t = 0..n_offsets-1; NaN where there is none. */
posenc_status posenc_similarity_profile(const posenc_view *e, int64_t query, double eps, int64_t n_offsets,
                                        float *profile);

/** Writes |PE(t) - PE(t + offsets[k])| of sinusoidal rows: near 0 positions alias. */
posenc_status posenc_alias_distance(const posenc_freq *freq, const int32_t *offsets, int64_t n_offsets,
                                    double *distances);

typedef struct posenc_frequency {
    double theta;      /**< radians per position */
    double wavelength; /**< 2 pi / |theta| positions; infinite for 0 */
    double turns;      /**< |theta| context / (2 pi) */
} posenc_frequency;

/** Reports theta[n], at most POSENC_MAX_FREQUENCY in size. context: positions, >= 0. */
posenc_status posenc_frequency_report(const double *theta, int64_t n, double context, posenc_frequency *report);

typedef struct posenc_progression {
    int holds;      /**< 1: |first - second| <= atol + rtol |second| in every channel */
    double largest; /**< |first - second|; NaN if one is */
} posenc_progression;

/** Compares first = E[start + step] - E[start] with second = E[start + 2 step] - E[start + step] (POSENC_ERR_ROWS).
 * atol, rtol: >= 0. */
posenc_status posenc_check_progression(const posenc_view *e, int64_t start, int64_t step, double atol, double rtol,
                                       posenc_progression *result);

/** Number of bits in which two positions differ, in binary or Gray code. */
int posenc_hamming_binary(uint64_t p, uint64_t q);
int posenc_hamming_gray(uint64_t p, uint64_t q);

/** Gray code of a number, and back. */
uint64_t posenc_gray_encode(uint64_t p);
uint64_t posenc_gray_decode(uint64_t gray);

/** Xavier initialisation: limit of the uniform, deviation of the normal one; 0 for invalid fans. */
double posenc_xavier_uniform(int64_t fan_in, int64_t fan_out);
double posenc_xavier_normal(int64_t fan_in, int64_t fan_out);

/** Mean of the losses of kept tokens, in double; 0 if none is kept. */
posenc_status posenc_masked_mean(const float *losses, const uint8_t *keep, int64_t n, double *mean);

/** Bucket of one offset. */
posenc_status posenc_t5_bucket(const posenc_t5_params *params, int32_t offset, int32_t *bucket);

/** Writes 2^(-max_bias (h+1)/n_heads), which no checkpoint uses unless n_heads is a power of two. */
posenc_status posenc_alibi_slopes_plain(int64_t n_heads, double max_bias, float *slopes);

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
posenc_status posenc_parameter_count(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *count);

/** Counts multiplications and additions for one token in all heads of a layer (D.7; POSENC_ERR_ENUM: other schemes). */
posenc_status posenc_flops(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *flops);

/** Rules of thumb that comparisons quote, for one head (D.7). */
posenc_status posenc_flops_rule_of_thumb(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *flops);

POSENC_END_C
#endif
