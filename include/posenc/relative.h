/* SPDX-License-Identifier: MIT */
/** @file
 * Query-dependent relative terms of attention logits: Shaw, Transformer-XL, DeBERTa, FIRE, CoPE (C.7 - C.19).
 *
 * A term adds q_i . table[row of j - i] to the score of query i and key j. posenc_relative_products multiplies every
 * query with every table row; softmax.h reads the products through the rows of posenc_rel_index_fill. */
#ifndef POSENC_RELATIVE_H
#define POSENC_RELATIVE_H

#include <posenc/bias.h>

POSENC_BEGIN_C

/** Rule for a relative index: row = clip(zero + bucket(sign * offset), 0, n_rows - 1); bucket: identity without
 * log_buckets. */
typedef struct posenc_rel_index_rule {
    int64_t n_rows;       /**< 1..2^30 */
    int64_t zero;         /**< row of offset 0, 0 .. n_rows - 1 */
    int sign;             /**< 1: key minus query, -1: query minus key */
    int is_strict;        /**< 1: refuses offsets beyond the table (POSENC_ERR_OFFSETS) */
    int64_t log_buckets;  /**< DeBERTa's position_buckets, even, 4..2^16; 0: none */
    int64_t max_position; /**< with buckets: above log_buckets / 2 + 1, at most 2^16 */
    int is_unclipped;     /**< 1: offsets beyond max_position are not clipped */
} posenc_rel_index_rule;

/* ---- Rules by scheme (docs/recipes.md) ----
 *
 * Shaw's keys, k = 16, causal; rows [head_dim, 1, 33, 1], products f32 [33, n_q, n_heads, 1]
 *
 *     posenc_rel_index index = {memory, 0, 0, 0};
 *     posenc_rel_bias_range(posenc_mask_causal(), POSENC_ALIGN_LAST_KEY, n_q, n_k, &index.first, &index.n_offsets);
 *     posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, 16, 0);
 *     posenc_rel_index_fill(&rule, &index);
 *     posenc_relative_table_create(&rows, &table);
 *     posenc_status status = posenc_relative_products(table, &q, NULL, &products, posenc_range_all());
 *     params.bias.by_query.products = &products;
 *     params.bias.by_query.index = &index;
 *     posenc_relative_table_free(table);
 */

/** Schemes; n and m of their rules. */
typedef enum posenc_rel_scheme {
    POSENC_REL_UNSET = 0,
    POSENC_REL_SHAW,                 /**< n = k: clip(offset, -k, k) + k, 2k + 1 rows (arXiv:1803.02155; C.7) */
    POSENC_REL_RELATIVE_KEY,         /**< BERT, n = max_position_embeddings: 2n - 1 rows; greater offsets are refused */
    POSENC_REL_TRANSFORMER_XL,       /**< n = n_k, or clamp_len + 1: n rows (arXiv:1901.02860; C.11, C.12) */
    POSENC_REL_XLNET,                /**< n = n_q, m = n_k: n_q + n_k rows (arXiv:1906.08237) */
    POSENC_REL_DEBERTA,              /**< n = k: 2k rows; 512 in v1 (arXiv:2006.03654; C.14) */
    POSENC_REL_DEBERTA_LOG,          /**< v2, v3; n = buckets, 256, m = max_position, 512: 2 buckets rows (C.15) */
    POSENC_REL_DEBERTA_LOG_UNCLIPPED /**< as Hugging Face runs it beyond max_position tokens */
} posenc_rel_scheme;

/** Rule of a scheme; one that posenc_rel_index_fill refuses if the scheme is unknown, or n or m is not in 0..2^30. */
POSENC_API posenc_rel_index_rule posenc_rel_index_rule_of(posenc_rel_scheme scheme, int64_t n, int64_t m);

/** Fills index->data for its offsets (posenc_rel_bias_range) and sets index->n_rows. */
POSENC_API posenc_status posenc_rel_index_fill(const posenc_rel_index_rule *rule, posenc_rel_index *index);

/* ---- Products with the table ---- */

typedef struct posenc_relative_table posenc_relative_table;

/** Packs a copy of rows: any type [head_dim, n_heads or 1, n_rows, 1], head_dim 1..2^16, n_rows 1..2^30. */
POSENC_API posenc_status posenc_relative_table_create(const posenc_view *rows, posenc_relative_table **table);
POSENC_API void posenc_relative_table_free(posenc_relative_table *table);

/** Writes y[r,i,h,b] = sum over c of (q[c,h,i,b] + shift[h][c]) table[c,h,r]. q: heads (by_key: the keys), any type. y:
 * f32 [n_rows, n_q, n_heads, n_batch], apart. shift: [n_heads][head_dim], Transformer-XL's v (or u), or NULL. */
POSENC_API posenc_status posenc_relative_products(const posenc_relative_table *table, const posenc_view *q,
                                                  const float *shift, const posenc_view *y, posenc_range rows);

/** Adds Shaw's relative values (C.8): z[c,h,i,b] += sum over j of p[j,i,h,b] table[c, h, row of j - i, b]. p: f32
 * probabilities under the mask. table: any type [head_dim, n_heads or 1, n_rows, n_batch or 1]. z: f32 heads, apart.
 * rows: of p. */
POSENC_API posenc_status posenc_relative_values(const posenc_rel_index *index, posenc_mask mask, int64_t query_start,
                                                const posenc_view *p, const posenc_view *table, const posenc_view *z,
                                                posenc_range rows);

/** Transformer-XL's relative shift (C.12). x, y: scores of one type, apart. */
POSENC_API posenc_status posenc_relative_shift(const posenc_view *x, const posenc_view *y);

/** Unmasked skew (C.13). x: [2n - 1, n, n_heads, n_batch], y: [n, n, n_heads, n_batch], one type, apart. */
POSENC_API posenc_status posenc_relative_skew(const posenc_view *x, const posenc_view *y);

/* ---- FIRE (arXiv:2310.04418; C.17) ----
 *
 * The bias depends on the query: write it for a few queries at a time, for posenc_score_params.bias.tensor. */

/** Weights are copied. Not finite: POSENC_ERR_SCALE. */
typedef struct posenc_fire_params {
    int64_t n_heads;      /**< 1..2^16 */
    int64_t n_hidden;     /**< 1..1024; published 32 */
    const float *w1, *b1; /**< [n_hidden] */
    const float *w2, *b2; /**< [n_heads][n_hidden], [n_heads] */
    double c;             /**< 0.1, trained; 2^-100 to 2^20 in size */
    double threshold;     /**< |L_mult L|, 512; 0..2^30 */
    double eps;           /**< 1e-6; 2^-100..1 */
    int64_t max_distance; /**< 0..2^22; set-up takes 8 bytes and a microsecond for each */
} posenc_fire_params;

#define POSENC_FIRE_DEFAULTS                                                                                           \
    { 0, 32, NULL, NULL, NULL, NULL, 0.1, 512.0, 1e-6, 0 }

typedef struct posenc_fire posenc_fire;

POSENC_API posenc_status posenc_fire_create(const posenc_fire_params *params, posenc_fire **fire);
POSENC_API void posenc_fire_free(posenc_fire *fire);

/** Writes, or adds, the bias of queries query_start + i. y: f32 scores. query_start: >= 0 or POSENC_ALIGN_LAST_KEY;
 * query_start + n_q and n_k: <= max_distance + 1. */
POSENC_API posenc_status posenc_fire_write(const posenc_fire *fire, int64_t query_start, const posenc_view *y,
                                           posenc_range rows);
POSENC_API posenc_status posenc_fire_add(const posenc_fire *fire, int64_t query_start, const posenc_view *y,
                                         posenc_range rows);

/* ---- CoPE, contextual position encoding (arXiv:2405.18719; C.19) ----
 *
 * z are products with the table E, x the scores. A NaN gate ends the sum of gates. */

typedef enum posenc_cope_form {
    POSENC_COPE_LISTING, /**< logit = scale x_j + b_j: the paper's listing */
    POSENC_COPE_SCALED   /**< logit = scale (x_j + b_j): the published repository */
} posenc_cope_form;

typedef struct posenc_cope_params {
    float scale; /**< finite; 1/sqrt(head_dim) */
    posenc_cope_form form;
    int64_t query_start; /**< position of query 0 */
} posenc_cope_params;

#define POSENC_COPE_DEFAULTS                                                                                           \
    { 1.0f, POSENC_COPE_LISTING, POSENC_ALIGN_LAST_KEY }

/** Writes logits for keys j <= query_start + i, -inf beyond. x: f32 scores. gates: scores of gate keys, or NULL: x. z:
 * f32 [n_positions, n_q, n_heads, n_batch], n_positions 1..2^24. y: the view of x, or apart. */
POSENC_API posenc_status posenc_cope_logits(const posenc_cope_params *params, const posenc_view *x,
                                            const posenc_view *gates, const posenc_view *z, const posenc_view *y,
                                            posenc_range rows);

POSENC_END_C
#endif
