/* SPDX-License-Identifier: MIT */
/** @file
 * Relative biases: one float per offset (key minus query position) and head, added to attention logits by softmax.h.
 *
 * Example: T5's bias for a decoder of any length, here 1024 tokens, table[32][n_heads]
 *
 *     posenc_t5_params t5 = POSENC_T5_DECODER;
 *     posenc_rel_index buckets = {bucket_data, -t5.max_distance, t5.max_distance + 1, t5.num_buckets};
 *     posenc_status status = posenc_rel_index_t5(&t5, &buckets);
 *     posenc_bias_table table = {table_data, t5.num_buckets, n_heads, n_heads, 1};
 *     posenc_rel_bias bias = {bias_data, buckets.first, buckets.n_offsets, n_heads, buckets.n_offsets, 1};
 *     status = posenc_rel_bias_gather(&buckets, &table, 1.0f, &bias);
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.bias.relative = &bias;
 *     params.mask = posenc_mask_causal();
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, 1024, 1024, n_heads, 1);
 *     status = posenc_softmax(&params, &s, &s, posenc_range_all());
 */
#ifndef POSENC_BIAS_H
#define POSENC_BIAS_H

#include <posenc/mask.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Relative bias in the caller's memory: a Toeplitz matrix stored as its diagonals. Head h at offset o, first <= o <
 * first + n_offsets, has data[h * stride + (o - first)]. n_q queries and n_k keys need n_q + n_k - 1 offsets, or fewer
 * if it is clamped. Any range may be computed, so parts of a sequence can have their own.
 *
 * Calls that write one take 1 .. 2^20 heads (stride 0: one) and offsets within +-(2^31 - 1) (POSENC_ERR_OFFSETS), and
 * give the same bits on every machine. 65535 offsets of 32 heads take at most 0.2 s. */
typedef struct posenc_rel_bias {
    float *data;
    int64_t first, n_offsets; /**< at most 2^31 - 1 offsets */
    int64_t n_heads;
    int64_t stride; /**< in floats, at least n_offsets (POSENC_ERR_STRIDE); 0: one array for all heads */
    int is_clamped; /**< nonzero: offsets beyond either end take its value; n_offsets is at least 1 */
} posenc_rel_bias;

/** Relative index: table row of offset o, data[o - first]. Entries that a call reads must be in 0 .. n_rows - 1
 * (POSENC_ERR_ROWS). */
typedef struct posenc_rel_index {
    int32_t *data;
    int64_t first, n_offsets;
    int64_t n_rows;
} posenc_rel_index;

/** Offsets that queries query_start .. query_start + n_q - 1 and keys 0 .. n_k - 1 meet under a mask; n_offsets 0 if
 * none. query_start: at least -2^30, or POSENC_ALIGN_LAST_KEY (in all calls). query_start + n_q and n_k: at most 2^30
 * (POSENC_ERR_POSITION, POSENC_ERR_SHAPE). With n_first: back to key 0. */
POSENC_API posenc_status posenc_rel_bias_range(posenc_mask mask, int64_t query_start, int64_t n_q, int64_t n_k,
                                               int64_t *first, int64_t *n_offsets);

/** Writes -inf for the offsets that a mask forbids, to make a window part of the bias (for explicit positions, or
 * engines that only add biases). Refused: chunk, n_first (POSENC_ERR_MASK); a clamped bias if the mask treats the
 * offsets beyond an end differently, such as a window wider than the offsets (POSENC_ERR_OFFSETS). */
POSENC_API posenc_status posenc_rel_bias_mask(posenc_mask mask, const posenc_rel_bias *bias);

/* ---- Learned tables: T5, clipped scalars ---- */

/** Table of biases: row r, head h is data[r * row_stride + h * head_stride]. [row][head] (Hugging Face, torchscale) has
 * strides {n_heads, 1}, [head][row] (mesh-tensorflow) {1, n_rows}. */
typedef struct posenc_bias_table {
    float *data;
    int64_t n_rows, n_heads;
    int64_t row_stride, head_stride; /**< in floats; distinct addresses if the table is written */
} posenc_bias_table;

/** Writes bias_h[o] = scale * table[index[o]][h]. The index covers the offsets of the bias (POSENC_ERR_OFFSETS) and has
 * the table's rows (POSENC_ERR_SHAPE). scale: finite, 1 except for x-transformers. */
POSENC_API posenc_status posenc_rel_bias_gather(const posenc_rel_index *index, const posenc_bias_table *table,
                                                float scale, const posenc_rel_bias *bias);

/** T5's buckets (arXiv 1910.10683; FORMULAS C.5, C.6), with exact integer boundaries. With d the distance, n the
 * buckets of one direction and e = floor(n/2): bucket d for d < e, else e + floor(ln(d/e) / ln(max_distance/e) * (n -
 * e)), at most n - 1. A clamped bias needs offsets -max_distance .. max_distance (decoders: .. 0). */
typedef struct posenc_t5_params {
    int64_t num_buckets;  /**< 2 (bidirectional: 4) .. 4096 (POSENC_ERR_BUCKETS) */
    int64_t max_distance; /**< above e, at most 2^30 (POSENC_ERR_BUCKETS) */
    int bidirectional;    /**< 1: half of the buckets for keys behind the query (encoders); 0: these share bucket 0 */
} posenc_t5_params;

#define POSENC_T5_ENCODER                                                                                              \
    { 32, 128, 1 }
#define POSENC_T5_DECODER                                                                                              \
    { 32, 128, 0 }

/** Bucket of one offset. */
POSENC_API posenc_status posenc_t5_bucket(const posenc_t5_params *params, int32_t offset, int32_t *bucket);

/** Bucket of every offset; index->n_rows is num_buckets. */
POSENC_API posenc_status posenc_rel_index_t5(const posenc_t5_params *params, const posenc_rel_index *index);

/** Clipped offsets: row clip(o, -k, k) + k (FORMULAS C.7, C.10). index->n_rows is 2k + 1; k: 0 .. 2^29
 * (POSENC_ERR_BUCKETS). */
POSENC_API posenc_status posenc_rel_index_clipped(int64_t k, const posenc_rel_index *index);

/* ---- ALiBi (arXiv 2108.12409; FORMULAS C.2, C.3) ----
 *
 * Head h adds -slope_h * |i_abs - j| to the score of query i_abs = query_start + i and key j. softmax.h does this from
 * the slopes alone. These calls serve other code, and sums of ALiBi with other biases.
 *
 * Example: 32 heads, decoding with a cache: the newest of 4096 keys has bias 0
 *
 *     posenc_status status = posenc_alibi_slopes(32, 8.0, slopes);
 *     posenc_view bias = posenc_view_dense(bias_data, POSENC_F32, 4096, 1, 32, 1);
 *     status = posenc_alibi_row(slopes, POSENC_ALIBI_ROW_FROM_LAST, NULL, &bias);
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.scale = 0.0883883f;
 *     params.bias.tensor = &bias;
 *     params.mask = posenc_mask_causal();
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, 4096, 1, 32, 1);
 *     status = posenc_softmax(&params, &s, &s, posenc_range_all());
 */

/** Writes the published slopes, as trained checkpoints have them for any number of heads: with c the largest power of
 * two up to n_heads, 2^(-max_bias (h+1)/c) for h < c, then 2^(-max_bias (2(h-c)+1)/(2c)). n_heads: 1 .. 2^20. max_bias:
 * 0 .. 100, 8 in the paper. */
POSENC_API posenc_status posenc_alibi_slopes(int64_t n_heads, double max_bias, float *slopes);

/** Writes 2^(-max_bias (h+1)/n_heads). If n_heads is no power of two, no published checkpoint uses it. */
POSENC_API posenc_status posenc_alibi_slopes_plain(int64_t n_heads, double max_bias, float *slopes);

/** Writes bias_h[o] = -(slopes[h] * |o|), with the bits of softmax.h's slopes. slopes[bias->n_heads], finite. */
POSENC_API posenc_status posenc_rel_bias_alibi(const float *slopes, const posenc_rel_bias *bias);

/** ALiBi as one row for all queries: the bias plus slope_h * i_abs, which a causal softmax cancels. Probabilities are
 * the same, logits are not: do not use it with sinks, for logits, or where keys follow the query. */
typedef enum posenc_alibi_row_form {
    POSENC_ALIBI_ROW_UNSET = 0,
    POSENC_ALIBI_ROW_FROM_FIRST, /**< slope_h * j (the official code) */
    POSENC_ALIBI_ROW_FROM_LAST,  /**< slope_h * (j - (n_k - 1)) (MPT) */
    POSENC_ALIBI_ROW_COUNTED,    /**< slope_h * (real keys before j), 0 for padded keys (BLOOM) */
    POSENC_ALIBI_ROW_COUNTED_BF16 /**< COUNTED with slope, count and product rounded to bf16 (Falcon-RW, 1B and 7B): up to
                                       10 off within 2048 keys. Pass 1/8 of the slopes for its 64 channels */
} posenc_alibi_row_form;

/** Writes ALiBi as one row for all queries, for posenc_score_params.bias.tensor. bias: f32 [n_k, 1, n_heads, n_batch],
 * n_k at most 2^30. slopes[n_heads], finite. keep[n_batch][n_k], nonzero for real keys; read by COUNTED* only. */
POSENC_API posenc_status posenc_alibi_row(const float *slopes, posenc_alibi_row_form form, const uint8_t *keep,
                                          const posenc_view *bias);

/* ---- Functions of the offset: KERPLE, Sandwich, cosines (FORMULAS C.16, C.18, C.30) ----
 *
 * d = |o|. Each value is within 1 ulp of the formula (docs/numerics.md#relative-biases); denormal results are 0.
 *
 * Example: KERPLE's logarithmic form for a causal decoder of 1024 tokens
 *
 *     posenc_kerple kerple = {POSENC_KERPLE_LOG, p, a, 0.01f};
 *     int64_t first, n;
 *     posenc_status status = posenc_rel_bias_range(posenc_mask_causal(), 0, 1024, 1024, &first, &n);
 *     posenc_rel_bias bias = {bias_data, first, n, n_heads, n, 0};
 *     status = posenc_rel_bias_kerple(&kerple, &bias);
 */

/** Form of KERPLE (arXiv 2205.09921). */
typedef enum posenc_kerple_kind {
    POSENC_KERPLE_UNSET = 0,
    POSENC_KERPLE_LOG,  /**< -p_h ln(1 + a_h d) */
    POSENC_KERPLE_POWER /**< -a_h d^p_h, 0 for d = 0 */
} posenc_kerple_kind;

/** Parameters, clamped as in the training code: p and a to at least min, p of POWER to at most 2. */
typedef struct posenc_kerple {
    posenc_kerple_kind kind;
    const float *p, *a; /**< [n_heads], finite, at most 2^20 in size (POSENC_ERR_SCALE) */
    float min;          /**< in [2^-20, 1], published 0.01 (POSENC_ERR_SCALE) */
} posenc_kerple;

/** Writes KERPLE as a relative bias. */
POSENC_API posenc_status posenc_rel_bias_kerple(const posenc_kerple *kerple, const posenc_rel_bias *bias);

/** Writes a Gaussian kernel, e^(-d^2 / (2 sigma_h^2)), to add or multiply. sigma[n_heads]: in [2^-20, 2^40]
 * (POSENC_ERR_SCALE). */
POSENC_API posenc_status posenc_rel_bias_rbf(const float *sigma, const posenc_rel_bias *bias);

/** Sandwich (arXiv 2212.10356), head h = 0 .. n_heads-1: n_heads / (8 (h+1)) * (sum of cos(d base^(-2k/dim)), k = first
 * .. first + dim/2 - 1). */
typedef struct posenc_sandwich {
    int64_t dim;   /**< even, 2 .. 8192 (POSENC_ERR_HEAD_DIM) */
    double base;   /**< in [1, 1e30] (POSENC_ERR_BASE) */
    int64_t first; /**< 0 (the paper's listing) or 1 (its equation) (POSENC_ERR_SHAPE) */
    int centred;   /**< 1: subtracts dim/2 from the sum, so that d = 0 gives 0; the softmax is the same */
} posenc_sandwich;

#define POSENC_SANDWICH_DEFAULTS                                                                                       \
    { 128, 10000.0, 0, 0 }

/** Writes Sandwich as a relative bias. */
POSENC_API posenc_status posenc_rel_bias_sandwich(const posenc_sandwich *sandwich, const posenc_rel_bias *bias);

/** Writes amplitude_h cos(omega_h o + phi_h), the share of one rotary pair for constant content. Each [n_heads]. omega
 * (radians per position) and phi (radians; NULL: 0): at most POSENC_MAX_FREQUENCY in size, taken as exact
 * (POSENC_ERR_FREQUENCY). amplitude: finite (POSENC_ERR_SCALE); NULL: 1. */
POSENC_API posenc_status posenc_rel_bias_cosine(const double *omega, const double *phi, const float *amplitude,
                                                const posenc_rel_bias *bias);

/* ---- Biases by row and column of an image: Swin, MViTv2, SAM (FORMULAS C.20, C.21) ----
 *
 * Example: the bias of Swin's 7 x 7 windows, table[13 * 13][n_heads]; use it for every window as
 * posenc_score_params.bias.tensor
 *
 *     posenc_bias_table table = {table_data, 13 * 13, n_heads, n_heads, 1};
 *     posenc_view bias = posenc_view_dense(bias_data, POSENC_F32, 49, 49, n_heads, 1);
 *     posenc_status status = posenc_swin_bias(7, 7, &table, &bias);
 */

/* ---- Swin (arXiv 2103.14030) ----
 *
 * Windows of height * width tokens, row-major, each 1 .. 1024 (POSENC_ERR_SHAPE). Query (y, x) and key (v, u) take row
 * (y - v + height - 1) (2 width - 1) + (x - u + width - 1) of (2 height - 1)(2 width - 1) table rows. */

/** Writes the table row of every pair: index[query][key], up to 2^30 entries (POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_swin_index(int64_t height, int64_t width, int32_t *index);

/** Writes the bias of every pair: f32 [n, n, table->n_heads, 1], n = height * width; 1 .. 2^20 heads
 * (POSENC_ERR_N_HEADS). */
POSENC_API posenc_status posenc_swin_bias(int64_t height, int64_t width, const posenc_bias_table *table,
                                          const posenc_view *bias);

/** Writes the inputs of Swin v2's network (arXiv 2111.09883) for each table row: coords[row][2], vertical first,
 * sign(u) log2(|u| + 1) / 3 with u = 8 * offset / (trained - 1), within 1 ulp. trained_*: the window of training, 2 ..
 * 1024 (POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_swin_v2_coords(int64_t height, int64_t width, int64_t trained_height,
                                               int64_t trained_width, float *coords);

/** Scales the outputs of Swin v2's network: y = 16 / (1 + e^-x), within 1 ulp; denormal results are 0. x, y: [n], the
 * same or apart. */
POSENC_API posenc_status posenc_swin_v2_scale(const float *x, int64_t n, float *y);

/* ---- Decomposed relative positions (MViTv2, arXiv 2112.01526; SAM) ----
 *
 * Query (y, x) and key (v, u) add q . Rh[y][v] + q . Rw[x][u] to the score, q being the unscaled query. */

/** Writes the rows of one axis (get_rel_pos): rows, f32 [dim, n_k, n_q, 1], from table, f32 [dim, n_table, 1, 1]. Query
 * a and key b take row floor(a max(n_k/n_q, 1) + (n_k - 1 - b) max(n_q/n_k, 1)) of the table, which is first resized
 * linearly to 2 max(n_q, n_k) - 1 rows. n_q, n_k, n_table: 1 .. 2^20. */
POSENC_API posenc_status posenc_decomposed_rows(const posenc_view *table, const posenc_view *rows);

/** Adds the biases in place: scores = (scores + by_row[v]) + by_column[u] for key v * width + u. by_row: [height, n_q,
 * n_heads, n_batch], by_column: [width, n_q, n_heads, n_batch], scores: [height * width, n_q, n_heads, n_batch], all
 * f32. row = (batch * n_heads + head) * n_q + query. */
POSENC_API posenc_status posenc_decomposed_add(const posenc_view *by_row, const posenc_view *by_column,
                                               const posenc_view *scores, posenc_range rows);

#ifdef __cplusplus
}
#endif
#endif
