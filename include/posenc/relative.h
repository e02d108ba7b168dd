/* posenc/relative.h - query-dependent relative terms: Shaw, Transformer-XL, DeBERTa (FORMULAS C.7 - C.15).
 *
 * A relative table has n_rows rows of head_dim numbers, and a rule which row an offset (position of the key minus
 * position of the query) stands for. Its share of a score is q_i . table[row of j - i]. That takes two steps, neither
 * of which builds anything of n_q x n_k:
 *
 *   1. posenc_relative_products multiplies every query with every row, once: [n_rows, n_q, n_heads, n_batch]. A caller
 *      with a matrix library may do this there.
 *   2. An index line holds the row of each offset; softmax.h takes products through it while it makes the logits.
 *
 *   scheme                          rule                               by_query            by_key
 *   Shaw, keys                      posenc_index_shaw(k)               q, table A^K
 *   the same, query minus key (C.9) posenc_index_reversed(shaw)        q, table E
 *   BERT's relative_key             posenc_index_relative_key(n)       q, table E
 *   BERT's relative_key_query       the same                           q, table E          k, table E
 *   Transformer-XL                  posenc_index_transformer_xl(n)     q + v, table R
 *   XLNet                           posenc_index_xlnet(n_q, n_k)       q + v, table R
 *   DeBERTa                         posenc_index_deberta(k)            q, table K^r        k, table Q^r
 *   DeBERTa v2, v3                  posenc_index_deberta_log(..)       q, table K^r        k, table Q^r
 *
 * The scores x are what the scheme multiplies with k: q . k, or (q + u) . k in Transformer-XL.
 * posenc_score_params.scale is 1/sqrt(head_dim); in DeBERTa 1/sqrt(n head_dim), n = 1 + the number of relative terms.
 * DeBERTa's papers turn p2c's offset round, its code and checkpoints do not: for the papers' form, by_key takes a
 * line of posenc_index_reversed(rule).
 *
 * Every entry of an index for an offset that a call meets names a row (POSENC_ERR_ROWS): the calls look.
 *
 * Example: Shaw, k = 16, causal, table [head_dim, 33] shared by all heads; the statuses are for the caller to look at
 *
 *     posenc_relative_table *table = NULL;
 *     posenc_view rows = posenc_view_dense(a_k, POSENC_F32, 64, 33, 1, 1);
 *     posenc_status status = posenc_relative_table_create(&rows, &table);
 *     posenc_index_line index = {memory, 0, 0, 0};
 *     posenc_line_range(posenc_mask_causal(), 0, n_q, n_k, &index.first, &index.n_offsets);
 *     posenc_index_rule rule = posenc_index_shaw(16);
 *     posenc_index_line_fill(&rule, &index);
 *     posenc_view q = posenc_view_dense(queries, POSENC_F32, 64, n_q, 8, 1);
 *     posenc_view products = posenc_view_dense(buffer, POSENC_F32, 33, n_q, 8, 1);
 *     posenc_relative_products(table, &q, NULL, &products, posenc_all_rows());
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.scale = 0.125f;
 *     params.mask = posenc_mask_causal();
 *     params.by_query.products = &products;
 *     params.by_query.index = &index;
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, n_k, n_q, 8, 1);
 *     posenc_softmax(&params, &s, &s, posenc_all_rows());
 *     posenc_relative_table_free(table);
 */
#ifndef POSENC_RELATIVE_H
#define POSENC_RELATIVE_H

#include <posenc/line.h>
#include <posenc/mask.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Which row an offset stands for ---- */

/* row = clip(zero + bucket(sign * offset), 0, n_rows - 1); bucket is the identity without log_buckets. */
typedef struct posenc_index_rule {
    int64_t n_rows;       /* 1 .. 2^30 */
    int64_t zero;         /* the row of offset 0, 0 .. n_rows - 1 */
    int sign;             /* 1: rows ascend with key minus query, -1: with query minus key */
    int is_strict;        /* an offset beyond the table is an error (POSENC_ERR_OFFSETS), and is not clipped */
    int64_t log_buckets;  /* DeBERTa's position_buckets, even, 4 .. 2^16; 0: none */
    int64_t max_position; /* with buckets: more than log_buckets / 2 + 1, at most 2^16 */
} posenc_index_rule;

/* A number of rows or tokens that a rule can be made of; what is out of range becomes a rule that is refused where it
 * is used (POSENC_ERR_SHAPE). */
static inline int64_t posenc_index_size(int64_t n) {
    return n < 0 || n > (int64_t)1 << 30 ? -1 : n;
}

/* Shaw (arXiv 1803.02155; C.7): clip(j - i, -k, k) + k, 2k + 1 rows; k >= 0. */
static inline posenc_index_rule posenc_index_shaw(int64_t k) {
    k = posenc_index_size(k);
    posenc_index_rule rule = {2 * k + 1, k, 1, 0, 0, 0};
    return rule;
}

/* BERT's relative_key: i - j + n - 1, 2n - 1 rows, n = max_position_embeddings; offsets of n and more are an error. */
static inline posenc_index_rule posenc_index_relative_key(int64_t n) {
    n = posenc_index_size(n);
    posenc_index_rule rule = {2 * n - 1, n - 1, -1, 1, 0, 0};
    return rule;
}

/* Transformer-XL (arXiv 1901.02860; C.11): rows stand for distances n - 1, .., 1, 0; n = n_k, or clamp_len + 1,
 * whereby greater distances take the row of clamp_len. Later keys are there for the mask. With
 * posenc_relative_products this is the relative shift (C.12) by direct indexing. */
static inline posenc_index_rule posenc_index_transformer_xl(int64_t n) {
    n = posenc_index_size(n);
    posenc_index_rule rule = {n, n - 1, 1, 0, 0, 0};
    return rule;
}

/* XLNet (arXiv 1906.08237): both directions, rows stand for distances n_k, .., 0, .., 1 - n_q. */
static inline posenc_index_rule posenc_index_xlnet(int64_t n_q, int64_t n_k) {
    n_q = posenc_index_size(n_q);
    n_k = posenc_index_size(n_k);
    posenc_index_rule rule = {n_k + n_q, n_k, 1, 0, 0, 0};
    return rule;
}

/* DeBERTa (arXiv 2006.03654; C.14): clip(i - j + k, 0, 2k - 1), 2k rows; k >= 1, 512 in v1. */
static inline posenc_index_rule posenc_index_deberta(int64_t k) {
    k = posenc_index_size(k);
    posenc_index_rule rule = {2 * k, k, -1, 0, 0, 0};
    return rule;
}

/* DeBERTa v2 and v3 (C.15): the same of logarithmic buckets, 2 buckets rows; 256 and 512. Offsets of max_position and
 * more take the last bucket, as those of max_position - 1. (Published code goes on by one bucket, into a row that no
 * nearer offset has; nothing was trained there.) */
static inline posenc_index_rule posenc_index_deberta_log(int64_t buckets, int64_t max_position) {
    buckets = posenc_index_size(buckets);
    posenc_index_rule rule = {2 * buckets, buckets, -1, 0, buckets, max_position};
    return rule;
}

/* The same rule for the negated offset. */
static inline posenc_index_rule posenc_index_reversed(posenc_index_rule rule) {
    rule.sign = rule.sign == 1 ? -1 : rule.sign == -1 ? 1 : 0;
    return rule;
}

/* Fills line->data for offsets first .. first + n_offsets - 1, which the caller has set as posenc_line_range says,
 * and sets line->n_rows. The boundaries of log buckets are exact. */
POSENC_API posenc_status posenc_index_line_fill(const posenc_index_rule *rule, posenc_index_line *line);

/* ---- Products with the table ---- */

/* A table, packed for multiplication. Immutable: threads may share it. */
typedef struct posenc_relative_table posenc_relative_table;

/* rows: f32, f16 or bf16 [head_dim, n_rows, n_heads or 1, 1], head_dim 1 .. 2^16 (POSENC_ERR_HEAD_DIM), n_rows
 * 1 .. 2^30 (POSENC_ERR_SHAPE), heads 1 or more (POSENC_ERR_N_HEADS); they are copied. On failure *table is set to
 * NULL. */
POSENC_API posenc_status posenc_relative_table_create(const posenc_view *rows, posenc_relative_table **table);
POSENC_API void posenc_relative_table_free(posenc_relative_table *table);

/* y[r, i, h, b] = sum over c of (q[c, i, h, b] + shift[h][c]) * table[c, r, h].
 *
 * q: f32, f16 or bf16 [head_dim, n_q, n_heads, n_batch] (queries, or keys for by_key); y: f32 [n_rows, n_q, n_heads,
 * n_batch], apart from q; shift: [n_heads][head_dim], Transformer-XL's v (or u), NULL: none. A row is one query of
 * one head: row = (batch * n_heads + head) * n_q + query. Each product is one chain of fma in ascending c, in
 * float32: within (head_dim + 1) 2^-24 of the sum of sizes. */
POSENC_API posenc_status posenc_relative_products(const posenc_relative_table *table, const posenc_view *q,
                                                  const float *shift, const posenc_view *y, posenc_rows rows);

/* ---- Values ---- */

/* Shaw's relative values (C.8): z[c, i, h, b] += sum over keys j of p[j, i, h, b] * table[c, row of j - i, h, b].
 *
 * p: f32 [n_k, n_q, n_heads, n_batch], probabilities as posenc_softmax made them under the mask, so that keys whose
 * offset no query sees are not looked at; table: f32, f16 or bf16 [head_dim, n_rows, n_heads or 1, n_batch or 1],
 * n_rows that of the index; z: f32 [head_dim, n_q, n_heads, n_batch], apart from both. Rows are those of p.
 * Offsets here are of numbers, query i at q_off + i: given positions, and starts that differ by batch, are softmax.h's.
 *
 * Neighbouring keys with the same row are one run. Its probabilities are added up as softmax.h adds exponentials, lanes
 * and blocks counted from the run's first key, rounded to float32, and z takes the runs in ascending order of keys, by
 * fma. */
POSENC_API posenc_status posenc_relative_values(const posenc_index_line *index, posenc_mask mask, int64_t q_off,
                                                const posenc_view *p, const posenc_view *table, const posenc_view *z,
                                                posenc_rows rows);

/* ---- Shifts, for callers that have whole matrices ---- */

/* The relative shift of Transformer-XL in its flat form (C.12), left-overs of the next row included: x and y are
 * [n_k, n_q, n_heads, n_batch] of one type, apart. y[j, i] = x[j + n_q - 1 - i, i] for j <= i + n_k - n_q. */
POSENC_API posenc_status posenc_relative_shift(const posenc_view *x, const posenc_view *y);

/* The unmasked skew (C.13): y[j, i] = x[j - i + n - 1, i]; x [2n - 1, n, n_heads, n_batch], y [n, n, n_heads,
 * n_batch], of one type, apart. */
POSENC_API posenc_status posenc_relative_skew(const posenc_view *x, const posenc_view *y);

#ifdef __cplusplus
}
#endif
#endif
