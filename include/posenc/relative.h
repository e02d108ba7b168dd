/* SPDX-License-Identifier: MIT */
/** @file
 * Query-dependent relative terms: Shaw, Transformer-XL, DeBERTa (FORMULAS C.7 - C.15).
 *
 * A relative table has n_rows rows of head_dim numbers, and a rule which row an offset (position of the key minus
 * position of the query) stands for. Its share of a score is q_i . table[row of j - i]. That takes two steps, neither
 * of which builds anything of n_q x n_k:
 *
 *   1. posenc_relative_products multiplies every query with every row, once: [n_rows, n_q, n_heads, n_batch]. A caller
 *      with a matrix library may do this there.
 *   2. A relative index holds the row of each offset; softmax.h takes products through it while it makes the logits.
 *
 *   scheme                          rule                               by_query            by_key
 *   Shaw, keys                      posenc_rel_index_shaw(k)               q, table A^K
 *   the same, query minus key (C.9) posenc_rel_index_reversed(shaw)        q, table E
 *   BERT's relative_key             posenc_rel_index_relative_key(n)       q, table E
 *   BERT's relative_key_query       the same                           q, table E          k, table E
 *   Transformer-XL                  posenc_rel_index_transformer_xl(n)     q + v, table R
 *   XLNet                           posenc_rel_index_xlnet(n_q, n_k)       q + v, table R
 *   DeBERTa                         posenc_rel_index_deberta(k)            q, table K^r        k, table Q^r
 *   DeBERTa v2, v3                  posenc_rel_index_deberta_log(..)       q, table K^r        k, table Q^r
 *
 * The scores x are what the scheme multiplies with k: q . k, or (q + u) . k in Transformer-XL.
 * posenc_score_params.scale is 1/sqrt(head_dim); in DeBERTa 1/sqrt(n head_dim), n = 1 + the number of relative terms.
 * DeBERTa's papers turn p2c's offset round, its code and checkpoints do not: for the papers' form, by_key takes a
 * index of posenc_rel_index_reversed(rule).
 *
 * Every entry of an index for an offset that a call meets names a row (POSENC_ERR_ROWS): the calls look.
 *
 * Example: Shaw, k = 16, causal, table [head_dim, 1, 33] shared by all heads; the statuses are for the caller to look
 * at
 *
 *     posenc_relative_table *table = NULL;
 *     posenc_view rows = posenc_view_dense(a_k, POSENC_F32, 64, 1, 33, 1);
 *     posenc_status status = posenc_relative_table_create(&rows, &table);
 *     posenc_rel_index index = {memory, 0, 0, 0};
 *     posenc_rel_bias_range(posenc_mask_causal(), 0, n_q, n_k, &index.first, &index.n_offsets);
 *     posenc_rel_index_rule rule = posenc_rel_index_shaw(16);
 *     posenc_rel_index_fill(&rule, &index);
 *     posenc_view q = posenc_view_dense(queries, POSENC_F32, 64, 8, n_q, 1);
 *     posenc_view products = posenc_view_dense(buffer, POSENC_F32, 33, n_q, 8, 1);
 *     posenc_relative_products(table, &q, NULL, &products, posenc_range_all());
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.scale = 0.125f;
 *     params.mask = posenc_mask_causal();
 *     params.bias.by_query.products = &products;
 *     params.bias.by_query.index = &index;
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, n_k, n_q, 8, 1);
 *     posenc_softmax(&params, &s, &s, posenc_range_all());
 *     posenc_relative_table_free(table);
 */
#ifndef POSENC_RELATIVE_H
#define POSENC_RELATIVE_H

#include <posenc/bias.h>
#include <posenc/mask.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Which row an offset stands for ---- */

/** row = clip(zero + bucket(sign * offset), 0, n_rows - 1); bucket is the identity without log_buckets. */
typedef struct posenc_rel_index_rule {
    int64_t n_rows;       /**< 1 .. 2^30 */
    int64_t zero;         /**< the row of offset 0, 0 .. n_rows - 1 */
    int sign;             /**< 1: rows ascend with key minus query, -1: with query minus key */
    int is_strict;        /**< an offset beyond the table is an error (POSENC_ERR_OFFSETS), and is not clipped */
    int64_t log_buckets;  /**< DeBERTa's position_buckets, even, 4 .. 2^16; 0: none */
    int64_t max_position; /**< with buckets: more than log_buckets / 2 + 1, at most 2^16 */
    int is_unclipped;     /**< buckets go on where offsets reach max_position */
} posenc_rel_index_rule;

/** A number of rows or tokens that a rule can be made of; what is out of range becomes a rule that is refused where it
 * is used (POSENC_ERR_SHAPE). */
static inline int64_t posenc_rel_index_size(int64_t n) {
    return n < 0 || n > (int64_t)1 << 30 ? -1 : n;
}

/** Shaw (arXiv 1803.02155; C.7): clip(j - i, -k, k) + k, 2k + 1 rows; k >= 0. */
static inline posenc_rel_index_rule posenc_rel_index_shaw(int64_t k) {
    k = posenc_rel_index_size(k);
    posenc_rel_index_rule rule = {2 * k + 1, k, 1, 0, 0, 0, 0};
    return rule;
}

/** BERT's relative_key: i - j + n - 1, 2n - 1 rows, n = max_position_embeddings; offsets of n and more are an error. */
static inline posenc_rel_index_rule posenc_rel_index_relative_key(int64_t n) {
    n = posenc_rel_index_size(n);
    posenc_rel_index_rule rule = {2 * n - 1, n - 1, -1, 1, 0, 0, 0};
    return rule;
}

/** Transformer-XL (arXiv 1901.02860; C.11): rows stand for distances n - 1, .., 1, 0; n = n_k, or clamp_len + 1,
 * whereby greater distances take the row of clamp_len. Later keys are there for the mask. With
 * posenc_relative_products this is the relative shift (C.12) by direct indexing. */
static inline posenc_rel_index_rule posenc_rel_index_transformer_xl(int64_t n) {
    n = posenc_rel_index_size(n);
    posenc_rel_index_rule rule = {n, n - 1, 1, 0, 0, 0, 0};
    return rule;
}

/** XLNet (arXiv 1906.08237): both directions, rows stand for distances n_k, .., 0, .., 1 - n_q. */
static inline posenc_rel_index_rule posenc_rel_index_xlnet(int64_t n_q, int64_t n_k) {
    n_q = posenc_rel_index_size(n_q);
    n_k = posenc_rel_index_size(n_k);
    posenc_rel_index_rule rule = {n_k + n_q, n_k, 1, 0, 0, 0, 0};
    return rule;
}

/** DeBERTa (arXiv 2006.03654; C.14): clip(i - j + k, 0, 2k - 1), 2k rows; k >= 1, 512 in v1. */
static inline posenc_rel_index_rule posenc_rel_index_deberta(int64_t k) {
    k = posenc_rel_index_size(k);
    posenc_rel_index_rule rule = {2 * k, k, -1, 0, 0, 0, 0};
    return rule;
}

/** DeBERTa v2 and v3 (C.15): the same of logarithmic buckets, 2 buckets rows; 256 and 512. Offsets of max_position and
 * more take the last bucket, as those of max_position - 1: Microsoft's code. */
static inline posenc_rel_index_rule posenc_rel_index_deberta_log(int64_t buckets, int64_t max_position) {
    buckets = posenc_rel_index_size(buckets);
    posenc_rel_index_rule rule = {2 * buckets, buckets, -1, 0, buckets, max_position, 0};
    return rule;
}

/** DeBERTa v2 and v3 as Hugging Face runs them on more than max_position tokens: offsets are not clipped, so that keys
 * max_position and more after the query take row 0, which no nearer key has. The checkpoints were trained on up to 512
 * tokens, where both are the same; this one is for what was tuned on longer text with that code. Its logarithms are of
 * float32, which moves no row of tables such as theirs. */
static inline posenc_rel_index_rule posenc_rel_index_deberta_log_unclipped(int64_t buckets, int64_t max_position) {
    posenc_rel_index_rule rule = posenc_rel_index_deberta_log(buckets, max_position);
    rule.is_unclipped = 1;
    return rule;
}

/** The same rule for the negated offset. */
static inline posenc_rel_index_rule posenc_rel_index_reversed(posenc_rel_index_rule rule) {
    rule.sign = rule.sign == 1 ? -1 : rule.sign == -1 ? 1 : 0;
    return rule;
}

/** Fills index->data for offsets first .. first + n_offsets - 1, which the caller has set as posenc_rel_bias_range
 * says, and sets index->n_rows. The boundaries of log buckets are exact. */
POSENC_API posenc_status posenc_rel_index_fill(const posenc_rel_index_rule *rule, posenc_rel_index *index);

/* ---- Products with the table ---- */

/** A table, packed for multiplication. Immutable: threads may share it. */
typedef struct posenc_relative_table posenc_relative_table;

/** Packs a table of relative rows for multiplication. rows: f32, f16 or bf16 [head_dim, n_heads or 1, n_rows, 1],
 * head_dim 1 .. 2^16 (POSENC_ERR_HEAD_DIM), n_rows 1 .. 2^30 (POSENC_ERR_SHAPE), heads 1 or more (POSENC_ERR_N_HEADS);
 * they are copied. On failure *table is set to NULL. */
POSENC_API posenc_status posenc_relative_table_create(const posenc_view *rows, posenc_relative_table **table);
/** Frees it; NULL is allowed. */
POSENC_API void posenc_relative_table_free(posenc_relative_table *table);

/** Products of queries (or keys) with the rows of a table. y[r, i, h, b] = sum over c of (q[c, h, i, b] + shift[h][c])
 * * table[c, h, r].
 *
 * q: f32, f16 or bf16 [head_dim, n_heads, n_q, n_batch] (queries, or keys for by_key); y: f32 [n_rows, n_q, n_heads,
 * n_batch], apart from q; shift: [n_heads][head_dim], Transformer-XL's v (or u), NULL: none. A row is one query of
 * one head: row = (batch * n_heads + head) * n_q + query. Each product is one chain of fma in ascending c, in
 * float32: within (head_dim + 1) 2^-24 of the sum of sizes. */
POSENC_API posenc_status posenc_relative_products(const posenc_relative_table *table, const posenc_view *q,
                                                  const float *shift, const posenc_view *y, posenc_range rows);

/* ---- Values ---- */

/** Shaw's relative values (C.8): z[c, h, i, b] += sum over keys j of p[j, i, h, b] * table[c, h, row of j - i, b].
 *
 * p: f32 [n_k, n_q, n_heads, n_batch], probabilities as posenc_softmax made them under the mask, so that keys whose
 * offset no query sees are not looked at; table: f32, f16 or bf16 [head_dim, n_heads or 1, n_rows, n_batch or 1],
 * n_rows that of the index; z: f32 [head_dim, n_heads, n_q, n_batch], apart from both. Rows are those of p.
 * Offsets here are of numbers, query i at query_start + i: given positions, and starts that differ by batch, are
 * softmax.h's.
 *
 * Neighbouring keys with the same row are one run. Its probabilities are added up as softmax.h adds exponentials, lanes
 * and blocks counted from the run's first key, rounded to float32, and z takes the runs in ascending order of keys, by
 * fma. */
POSENC_API posenc_status posenc_relative_values(const posenc_rel_index *index, posenc_mask mask, int64_t query_start,
                                                const posenc_view *p, const posenc_view *table, const posenc_view *z,
                                                posenc_range rows);

/* ---- Shifts, for callers that have whole matrices ---- */

/** The relative shift of Transformer-XL in its flat form (C.12), left-overs of the next row included: x and y are
 * [n_k, n_q, n_heads, n_batch] of one type, apart. y[j, i] = x[j + n_q - 1 - i, i] for j <= i + n_k - n_q. */
POSENC_API posenc_status posenc_relative_shift(const posenc_view *x, const posenc_view *y);

/** The unmasked skew (C.13): y[j, i] = x[j - i + n - 1, i]; x [2n - 1, n, n_heads, n_batch], y [n, n, n_heads,
 * n_batch], of one type, apart. */
POSENC_API posenc_status posenc_relative_skew(const posenc_view *x, const posenc_view *y);

/* ---- FIRE: a learned function of the distance relative to the query's position (FORMULAS C.17).
 *
 *     psi(x) = ln(|c x| + 1)
 *     bias_h(i, j) = w2[h] . relu(w1 x + b1) + b2[h],   x = psi(i - j) / (psi(max(i, threshold)) + eps)
 *
 * (arXiv 2310.04418; threshold = |L_mult L|). Keys behind the query mirror those before it. The perceptron sees one
 * number, and so is piecewise linear in it: set-up finds the pieces, and a row of the bias is one multiplication and
 * addition for each key, psi coming from a table.
 *
 * The bias depends on the query, not on the offset alone, so it is no relative bias: write the rows of a few queries
 * at a time and give them to softmax.h as a bias.
 *
 * What to expect: against the exact function of the parameters, |error| <= 2e-7 (1 + sum over k of |w2[h][k]| (|w1[k]
 * x| + |b1[k]|) + |b2[h]|), as long as the slopes of the pieces, divided by psi(threshold) + eps, and their constants
 * are below FLT_MAX: larger ones are cut to that. psi is within 1 ulp. The same bits on every machine.
 *
 * Example: one head, two hidden units, up to 1024 tokens
 *
 *     posenc_fire_params params = POSENC_FIRE_DEFAULTS;
 *     params.n_heads = 1;
 *     params.n_hidden = 2;
 *     params.w1 = w1;
 *     params.b1 = b1;
 *     params.w2 = w2;
 *     params.b2 = b2;
 *     params.max_distance = 1023;
 *     posenc_fire *fire = NULL;
 *     posenc_status status = posenc_fire_create(&params, &fire);
 *     posenc_view bias = posenc_view_dense(rows, POSENC_F32, 4, 1, 1, 1); // query 3, keys 0 .. 3
 *     status = posenc_fire_write(fire, 3, &bias, posenc_range_all());
 *     posenc_fire_free(fire);
 */

typedef struct posenc_fire_params {
    int64_t n_heads;      /**< 1 .. 2^16 */
    int64_t n_hidden;     /**< 1 .. 1024; 32 as published */
    const float *w1, *b1; /**< [n_hidden] */
    const float *w2, *b2; /**< [n_heads][n_hidden], [n_heads] */
    double c;             /**< 0.1, trained; 2^-100 to 2^20 in size */
    double threshold;     /**< |L_mult L|, 512; 0 .. 2^30 */
    double eps;           /**< 1e-6; 2^-100 .. 1 */
    int64_t max_distance; /**< largest distance of a query and a key, 0 .. 2^22: 8 bytes, and a microsecond, for each */
} posenc_fire_params;

#define POSENC_FIRE_DEFAULTS                                                                                           \
    { 0, 32, NULL, NULL, NULL, NULL, 0.1, 512.0, 1e-6, 0 }

/** Immutable; threads may share it. */
typedef struct posenc_fire posenc_fire;

/** Builds FIRE from its weights. The weights are copied and must be finite (POSENC_ERR_SCALE, as for c, threshold and
 * eps). On failure *fire is set to NULL. */
POSENC_API posenc_status posenc_fire_create(const posenc_fire_params *params, posenc_fire **fire);
/** Frees it; NULL is allowed. */
POSENC_API void posenc_fire_free(posenc_fire *fire);

/** Writes FIRE's bias: y[j, i, h, b] = bias_h(query_start + i, j). y: f32 [n_k, n_q,
 * n_heads, n_batch]; a row is one query of one head: row = (batch * n_heads + head) * n_q + query. query_start >= 0, or
 * POSENC_ALIGN_LAST_KEY; query_start + n_q and n_k are at most max_distance + 1 (POSENC_ERR_POSITION,
 * POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_fire_write(const posenc_fire *fire, int64_t query_start, const posenc_view *y,
                                           posenc_range rows);
/** Adds FIRE's bias to the contents of y. */
POSENC_API posenc_status posenc_fire_add(const posenc_fire *fire, int64_t query_start, const posenc_view *y,
                                         posenc_range rows);

/* ---- Contextual position encoding: positions that count gates (FORMULAS C.19).
 *
 *     s_j = scale x_j,   g_j = 1 / (1 + exp(-s_j))                              for keys j = 0 .. i_abs
 *     P_j = min(g_j + g_(j+1) + .. + g_(i_abs), n_positions - 1)
 *     b_j = (1 - w) z_(floor P) + w z_(ceil P),   w = P - floor P,   z_n = q_i . E[n]
 *
 * (arXiv 2405.18719). z are the products of relative.h with the table E, so that a row costs one pass; past the key
 * where P reaches n_positions - 1 no gate is evaluated any more.
 *
 * What to expect: gates within 4 ulp for s_j, itself rounded, and 0 below FLT_MIN; their sum in double, from the query
 * backwards, one after the other; the interpolation in float32. A NaN among the gates counts as the end: it and the
 * keys before it get z_(n_positions - 1). The same bits on every tier, and however rows are split.
 *
 * Example: causal, logits of all rows in place, then their softmax
 *
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, n_k, n_q, 8, 1);
 *     posenc_view z = posenc_view_dense(products, POSENC_F32, 64, n_q, 8, 1);
 *     posenc_cope_params cope = POSENC_COPE_DEFAULTS;
 *     cope.scale = 0.125f;
 *     posenc_status status = posenc_cope_logits(&cope, &s, NULL, &z, &s, posenc_range_all());
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.mask = posenc_mask_causal();
 *     status = posenc_softmax(&params, &s, &s, posenc_range_all());
 */

typedef enum posenc_cope_form {
    POSENC_COPE_LISTING = 0, /**< logit = scale x_j + b_j: the paper's listing */
    POSENC_COPE_SCALED       /**< logit = scale (x_j + b_j): the default of the published repository */
} posenc_cope_form;

typedef struct posenc_cope_params {
    float scale; /**< finite; 1/sqrt(head_dim) */
    posenc_cope_form form;
    int64_t query_start; /**< position of query 0 among the keys: -2^30 .., query_start + n_q at most 2^30 */
} posenc_cope_params;

#define POSENC_COPE_DEFAULTS                                                                                           \
    { 1.0f, POSENC_COPE_LISTING, POSENC_ALIGN_LAST_KEY }

/** Adds contextual positions to scores, and masks them. y[j] = the logit of key j for j <= query_start + i, -inf
 * beyond. x: scores q . k, f32 [n_k, n_q, n_heads, n_batch], y the same view or apart; gates: scores that make the
 * gates instead of x (the published option of separate gate keys), like x, apart from y, or NULL; z: f32 [n_positions,
 * n_q, n_heads, n_batch], 1 <= n_positions <= 2^24, apart from y. A row is one query of one head: row = (batch *
 * n_heads + head) * n_q + query. */
POSENC_API posenc_status posenc_cope_logits(const posenc_cope_params *params, const posenc_view *x,
                                            const posenc_view *gates, const posenc_view *z, const posenc_view *y,
                                            posenc_range rows);

#ifdef __cplusplus
}
#endif
#endif
