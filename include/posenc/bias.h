/* SPDX-License-Identifier: MIT */
/** @file
 * Relative biases: one float per offset (key minus query position) and head, added to attention logits by softmax.h.
 *
 * Example: T5's bias for a decoder of any length, table[32][n_heads]
 *
 *     posenc_t5_params t5 = POSENC_T5_DECODER;
 *     posenc_rel_index buckets = {bucket_data, -t5.max_distance, t5.max_distance + 1, t5.num_buckets};
 *     posenc_status status = posenc_rel_index_t5(&t5, &buckets);
 *     posenc_bias_table table = {table_data, t5.num_buckets, n_heads, n_heads, 1};
 *     posenc_rel_bias bias = {bias_data, buckets.first, buckets.n_offsets, n_heads, buckets.n_offsets, 1};
 *     status = posenc_rel_bias_gather(&buckets, &table, 1.0f, &bias);
 *     params.bias.relative = &bias;
 */
#ifndef POSENC_BIAS_H
#define POSENC_BIAS_H

#include <posenc/mask.h>

POSENC_BEGIN_C

/** Relative bias in the caller's memory: head h at offset o, first <= o < first + n_offsets, is data[h * stride + (o -
 * first)]. Calls that write one take 1..2^20 heads (stride 0: one) and any offsets within +-(2^31 - 1)
 * (POSENC_ERR_OFFSETS). */
typedef struct posenc_rel_bias {
    float *data;
    int64_t first, n_offsets; /**< n_q + n_k - 1 offsets, fewer if clamped */
    int64_t n_heads;
    int64_t stride; /**< in floats, >= n_offsets (POSENC_ERR_STRIDE); 0: one array for all heads */
    int is_clamped; /**< 1: offsets beyond either end take its value */
} posenc_rel_bias;

/** Relative index: table row of offset o, data[o - first], in 0 .. n_rows - 1 (POSENC_ERR_ROWS, checked where read). */
typedef struct posenc_rel_index {
    int32_t *data;
    int64_t first, n_offsets;
    int64_t n_rows;
} posenc_rel_index;

/** Offsets that queries query_start .. query_start + n_q - 1 and keys 0..n_k - 1 meet under a mask; with n_first, back
 * to key 0. query_start: >= -2^30, or POSENC_ALIGN_LAST_KEY (in all calls); query_start + n_q and n_k at most 2^30. */
POSENC_API posenc_status posenc_rel_bias_range(posenc_mask mask, int64_t query_start, int64_t n_q, int64_t n_k,
                                               int64_t *first, int64_t *n_offsets);

/** Writes -inf for the offsets that a mask forbids. Refused: chunk, n_first (POSENC_ERR_MASK); a clamped bias if the
 * mask hides a part of the offsets beyond an end (POSENC_ERR_OFFSETS). */
POSENC_API posenc_status posenc_rel_bias_mask(posenc_mask mask, const posenc_rel_bias *bias);

/* ---- Learned tables: T5; clipped scalars (C.10): posenc_rel_index_fill ---- */

/** Table of biases: data[r * row_stride + h * head_stride]. [row][head] (Hugging Face) has strides {n_heads, 1},
 * [head][row] (mesh-tensorflow) {1, n_rows}. */
typedef struct posenc_bias_table {
    float *data;
    int64_t n_rows, n_heads;
    int64_t row_stride, head_stride; /**< in floats */
} posenc_bias_table;

/** Writes bias_h[o] = scale * table[index[o]][h]. The index covers the bias (POSENC_ERR_OFFSETS); its rows are the
 * table's. scale: 1 except for x-transformers. */
POSENC_API posenc_status posenc_rel_bias_gather(const posenc_rel_index *index, const posenc_bias_table *table,
                                                float scale, const posenc_rel_bias *bias);

/** T5's buckets (arXiv:1910.10683; C.5, C.6). A clamped bias needs offsets -max_distance..max_distance (decoders: up to
 * 0). */
typedef struct posenc_t5_params {
    int64_t num_buckets;  /**< 2 (bidirectional: 4)..4096 */
    int64_t max_distance; /**< above half of the buckets of a direction, at most 2^30 */
    int bidirectional;    /**< 1: encoders; 0: keys behind the query share bucket 0 */
} posenc_t5_params;

#define POSENC_T5_ENCODER                                                                                              \
    { 32, 128, 1 }
#define POSENC_T5_DECODER                                                                                              \
    { 32, 128, 0 }

/** Writes the bucket of every offset; index->n_rows is num_buckets. */
POSENC_API posenc_status posenc_rel_index_t5(const posenc_t5_params *params, const posenc_rel_index *index);

/* ---- ALiBi, -slope_h |offset| (arXiv:2108.12409; C.2, C.3) ---- */

/** Writes the published slopes, for any number of heads 1..2^20. max_bias: 0..100, published 8. */
POSENC_API posenc_status posenc_alibi_slopes(int64_t n_heads, double max_bias, float *slopes);

/** Writes bias_h[o] = -(slopes[h] * |o|), the bits of the softmax's slopes. */
POSENC_API posenc_status posenc_rel_bias_alibi(const float *slopes, const posenc_rel_bias *bias);

/** ALiBi as one row for all queries (C.3). Not for sinks, logits, or keys after the query. */
typedef enum posenc_alibi_row_form {
    POSENC_ALIBI_ROW_UNSET = 0,
    POSENC_ALIBI_ROW_FROM_FIRST,  /**< slope_h * j (the official code) */
    POSENC_ALIBI_ROW_FROM_LAST,   /**< slope_h * (j - (n_k - 1)) (MPT) */
    POSENC_ALIBI_ROW_COUNTED,     /**< slope_h * (real keys before j), 0 for padded keys (BLOOM) */
    POSENC_ALIBI_ROW_COUNTED_BF16 /**< the same rounded to bf16 (Falcon-RW; C.3); pass 1/8 of the slopes */
} posenc_alibi_row_form;

/** Writes one row for all queries, for posenc_score_params.bias.tensor: f32 [n_k, 1, n_heads, n_batch], n_k at most
 * 2^30. keep[n_batch][n_k], nonzero for real keys: COUNTED* only. */
POSENC_API posenc_status posenc_alibi_row(const float *slopes, posenc_alibi_row_form form, const uint8_t *keep,
                                          const posenc_view *bias);

/* ---- Functions of d = |offset|, within 1 ulp, denormal results 0 (C.16, C.18, C.30) ---- */

typedef enum posenc_kerple_kind {
    POSENC_KERPLE_UNSET = 0,
    POSENC_KERPLE_LOG,  /**< -p_h ln(1 + a_h d) */
    POSENC_KERPLE_POWER /**< -a_h d^p_h, 0 for d = 0 */
} posenc_kerple_kind;

/** KERPLE (arXiv:2205.09921), clamped as in training: p, a >= min; POWER: p <= 2. */
typedef struct posenc_kerple {
    posenc_kerple_kind kind;
    const float *p, *a; /**< [n_heads], finite, at most 2^20 in size */
    float min;          /**< in [2^-20, 1], published 0.01 */
} posenc_kerple;

POSENC_API posenc_status posenc_rel_bias_kerple(const posenc_kerple *kerple, const posenc_rel_bias *bias);

/** Writes e^(-d^2 / (2 sigma_h^2)). sigma[n_heads]: in [2^-20, 2^40]. */
POSENC_API posenc_status posenc_rel_bias_rbf(const float *sigma, const posenc_rel_bias *bias);

/** Sandwich (arXiv:2212.10356): n_heads / (8 (h+1)) * sum of cos(d base^(-2k/dim)), k = first .. first + dim/2 - 1. */
typedef struct posenc_sandwich {
    int64_t dim;   /**< even, 2..8192 */
    double base;   /**< in [1, 1e30] */
    int64_t first; /**< 0: the paper's listing, 1: its equation */
    int centred;   /**< 1: subtracts dim/2 from the sum; the softmax is the same */
} posenc_sandwich;

#define POSENC_SANDWICH_DEFAULTS                                                                                       \
    { 128, 10000.0, 0, 0 }

POSENC_API posenc_status posenc_rel_bias_sandwich(const posenc_sandwich *sandwich, const posenc_rel_bias *bias);

/** Writes amplitude_h cos(omega_h o + phi_h), each [n_heads]. omega, phi (NULL: 0): at most POSENC_MAX_FREQUENCY in
 * size. amplitude: NULL: 1. */
POSENC_API posenc_status posenc_rel_bias_cosine(const double *omega, const double *phi, const float *amplitude,
                                                const posenc_rel_bias *bias);

/* ---- Swin (arXiv:2103.14030; C.20) ----
 *
 * Windows of height * width tokens, row-major, each 1..1024; (2 height - 1)(2 width - 1) table rows. */

/** Writes the table row of every pair, index[query][key], up to 2^30 entries. */
POSENC_API posenc_status posenc_swin_index(int64_t height, int64_t width, int32_t *index);

/** Writes the bias of every pair, f32 [n, n, table->n_heads, 1], n = height * width. */
POSENC_API posenc_status posenc_swin_bias(int64_t height, int64_t width, const posenc_bias_table *table,
                                          const posenc_view *bias);

/** Writes the inputs of Swin v2's network (arXiv:2111.09883), coords[row][2], vertical first. trained_*: 2..1024. */
POSENC_API posenc_status posenc_swin_v2_coords(int64_t height, int64_t width, int64_t trained_height,
                                               int64_t trained_width, float *coords);

/** Scales its outputs: y = 16 / (1 + e^-x). x, y: [n], the same or apart. */
POSENC_API posenc_status posenc_swin_v2_scale(const float *x, int64_t n, float *y);

/* ---- Decomposed relative positions (MViTv2, arXiv:2112.01526; SAM; C.21) ---- */

/** Writes the rows of one axis (get_rel_pos): f32 [dim, n_k, n_q, 1], from table, f32 [dim, n_table, 1, 1], resized
 * where needed. n_q, n_k, n_table: 1..2^20. */
POSENC_API posenc_status posenc_decomposed_rows(const posenc_view *table, const posenc_view *rows);

/** Adds scores += by_row[v] + by_column[u] for key v * width + u. by_row: f32 [height, n_q, n_heads, n_batch];
 * by_column: f32 [width, ..]; scores: f32 [height * width, ..]. The query is not scaled. */
POSENC_API posenc_status posenc_decomposed_add(const posenc_view *by_row, const posenc_view *by_column,
                                               const posenc_view *scores, posenc_range rows);

POSENC_END_C
#endif
