/* SPDX-License-Identifier: MIT */
/** @file
 * Relative biases: a bias that depends on the offset of key and query only, one float per offset and
 * head.
 *
 * The bias matrix is a Toeplitz matrix: row i is a window into one array that moves by one element from query to query,
 * so that n_q + n_k - 1 offsets stand for the whole: 32 heads at 32768 causal tokens take 4 MB. softmax.h adds a
 * relative bias at the cost of one load per vector. Beyond some distance many biases stay what they are (T5, clipped
 * tables): clamped at its ends, a relative bias needs no offsets beyond. The caller owns the memory; any range of
 * offsets may be computed, so that each part of a sequence can have its own, and again when trained parameters change.
 *
 *     ALiBi                      posenc_rel_bias_alibi
 *     T5, clipped scalars        posenc_rel_index_t5, posenc_rel_index_clipped, posenc_rel_bias_gather
 *     KERPLE, Sandwich, cosines  posenc_rel_bias_kerple, _rbf, _sandwich, _cosine
 *     windows                    posenc_rel_bias_mask
 *
 * Calls that write a relative bias take up to 2^31 - 1 offsets, of any range within +-(2^31 - 1), and 1 .. 2^20 heads;
 * a stride of 0 counts as one head. Other offsets are POSENC_ERR_OFFSETS, a stride below n_offsets POSENC_ERR_STRIDE.
 * Numbers are made in double or double-double without the system's libm, so that biases have the same bits on every
 * machine; 65535 offsets of 32 heads take 0.2 s at most, Sandwich's of a dim above 512 longer in proportion to that,
 * and three or four times as long on the scalar tier.
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

/** Head h, offset o = key position - query position, first <= o < first + n_offsets: data[h * stride + (o - first)].
 * A relative bias or index has at most 2^31 - 1 offsets, written or read. */
typedef struct posenc_rel_bias {
    float *data;
    int64_t first, n_offsets;
    int64_t n_heads;
    int64_t stride; /**< in floats, at least n_offsets; 0: one array for all heads */
    int is_clamped; /**< nonzero: offsets beyond either end have the value of that end; n_offsets is at least 1 */
} posenc_rel_bias;

/** The same for rows of a table: which row an offset stands for. Calls look at the entries of offsets that they meet:
 * each is in 0 .. n_rows - 1 (POSENC_ERR_ROWS). */
typedef struct posenc_rel_index {
    int32_t *data;
    int64_t first, n_offsets;
    int64_t n_rows;
} posenc_rel_index;

/** The offsets that queries query_start .. query_start + n_q - 1 and keys 0 .. n_k - 1 meet under a mask; 0 of them if
 * none is seen; query_start may be POSENC_ALIGN_LAST_KEY, here and in all calls. With n_first, every offset back to key
 * 0. Ranges as in softmax.h: query_start is at least -2^30, query_start + n_q and n_k are at
 * most 2^30 (POSENC_ERR_POSITION, POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_rel_bias_range(posenc_mask mask, int64_t query_start, int64_t n_q, int64_t n_k,
                                               int64_t *first, int64_t *n_offsets);

/** Writes -inf for the offsets that a mask forbids and leaves the others alone: the window becomes part of the bias,
 * which serves explicit positions and callers that only know additive biases. A chunk or n_first is not a matter of the
 * offset: POSENC_ERR_MASK. Of a clamped bias the ends stand for all beyond them: POSENC_ERR_OFFSETS where the mask
 * hides some of these and not others, as a window does that is wider than the offsets. */
POSENC_API posenc_status posenc_rel_bias_mask(posenc_mask mask, const posenc_rel_bias *bias);

/* ---- Learned tables ---- */

/** Row r, head h: data[r * row_stride + h * head_stride]. [row][head], as Hugging Face and torchscale have it, is
 * {n_heads, 1}; [head][row], as mesh-tensorflow has it, {1, n_rows}. */
typedef struct posenc_bias_table {
    float *data;
    int64_t n_rows, n_heads;
    int64_t row_stride, head_stride; /**< in floats; no two entries at one address where the table is written */
} posenc_bias_table;

/** Relative bias from a table. bias_h[o] = scale * table[index[o]][h]. The index covers the bias's offsets
 * (POSENC_ERR_OFFSETS), its rows are the table's (POSENC_ERR_SHAPE; POSENC_ERR_ROWS for an entry that names no row).
 * scale is finite: 1, but for x-transformers. */
POSENC_API posenc_status posenc_rel_bias_gather(const posenc_rel_index *index, const posenc_bias_table *table,
                                                float scale, const posenc_rel_bias *bias);

/** T5's buckets (arXiv 1910.10683; FORMULAS C.5, C.6). With d the distance, n the buckets of one direction and e = n/2
 * rounded down, bucket d for d < e, else e + floor(ln(d/e) / ln(max_distance/e) * (n - e)), at most n - 1. The
 * boundaries are integers, found exactly: no logarithm's rounding moves an offset into the next bucket. From
 * max_distance on the bucket stays what it is: offsets -max_distance .. max_distance (decoders: .. 0) have it all, in a
 * relative bias that is clamped. */
typedef struct posenc_t5_params {
    int64_t num_buckets;  /**< 2 (bidirectional: 4) .. 4096 */
    int64_t max_distance; /**< above e, at most 2^30 */
    int bidirectional;    /**< encoders: half of the buckets for keys behind the query; else these share bucket 0 */
} posenc_t5_params;

#define POSENC_T5_ENCODER                                                                                              \
    { 32, 128, 1 }
#define POSENC_T5_DECODER                                                                                              \
    { 32, 128, 0 }

/** The bucket of one offset, key - query. POSENC_ERR_BUCKETS: num_buckets or max_distance is not in its range. */
POSENC_API posenc_status posenc_t5_bucket(const posenc_t5_params *params, int32_t offset, int32_t *bucket);

/** The bucket of every offset; index->n_rows is num_buckets. */
POSENC_API posenc_status posenc_rel_index_t5(const posenc_t5_params *params, const posenc_rel_index *index);

/** Relative index of offsets that are clipped. Row clip(o, -k, k) + k: a learned scalar for each offset up to k (C.10;
 * Shaw's rows, C.7). index->n_rows is 2k + 1; k: 0 .. 2^29 (POSENC_ERR_BUCKETS). */
POSENC_API posenc_status posenc_rel_index_clipped(int64_t k, const posenc_rel_index *index);

/* ---- Attention with linear biases (arXiv 2108.12409; FORMULAS C.2, C.3).
 *
 * Head h adds -slope_h * |i_abs - j| to the score of query i and key j, i_abs = query_start + i. On the keys a causal
 * model may see (j <= i_abs) this is the paper's slope_h * (j - i_abs). softmax.h applies it from the slopes alone,
 * without ever storing it; posenc_logits with x NULL writes it out. Where ALiBi is to be added up with other biases of
 * the offset, or where other code needs it, it is a relative bias, or a single row for all queries.
 *
 * Example: 32 heads, decoding behind a cache: the newest of 4096 keys has bias 0
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

/** The published slopes for any number of heads, with max_bias = 8 as in the paper. With c the largest power of two
 * that is at most n_heads: 2^(-max_bias (h+1)/c) for h < c, then 2^(-max_bias (2(h-c)+1)/(2c)), as trained
 * checkpoints have them. slopes[n_heads]; n_heads: 1 .. 2^20; max_bias: 0 .. 100. Each slope is
 * known to 2^-90 and correctly rounded. */
POSENC_API posenc_status posenc_alibi_slopes(int64_t n_heads, double max_bias, float *slopes);

/** ALiBi slopes by the formula alone. 2^(-max_bias (h+1)/n_heads): the same for powers of two, and what no published
 * checkpoint uses otherwise. */
POSENC_API posenc_status posenc_alibi_slopes_plain(int64_t n_heads, double max_bias, float *slopes);

/** ALiBi as a relative bias. bias_h[o] = -(slopes[h] * |o|), the distance rounded to float32 and then the product: the
 * bits of softmax.h's slopes. slopes[bias->n_heads], finite. */
POSENC_API posenc_status posenc_rel_bias_alibi(const float *slopes, const posenc_rel_bias *bias);

/** One row for all queries: the symmetric bias plus slope_h * i_abs, which cancels in a causal softmax. The
 * probabilities are the same, the logits are not: not to be used with sinks, for logits that are handed on, or where
 * keys follow the query.
 *
 *     POSENC_ALIBI_ROW_FROM_FIRST   slope_h * j                  (the official code)
 *     POSENC_ALIBI_ROW_FROM_LAST    slope_h * (j - (n_k - 1))    (MPT)
 *     POSENC_ALIBI_ROW_COUNTED      slope_h * (real keys before j), 0 for padded keys (BLOOM)
 *     POSENC_ALIBI_ROW_COUNTED_BF16 the same with slope, count and product each rounded to bf16: the code that
 *                                   Falcon-RW (1B, 7B) is published with. From 256 on 2 to 8 keys share a bias; up
 *                                   to 9.2 (32 heads) and 10 (64) off within 2048 keys. That code scales biases with
 *                                   the scores: pass the slopes of posenc_alibi_slopes times 1/8, for 64 channels
 */
typedef enum posenc_alibi_row_form {
    POSENC_ALIBI_ROW_UNSET = 0,
    POSENC_ALIBI_ROW_FROM_FIRST,
    POSENC_ALIBI_ROW_FROM_LAST,
    POSENC_ALIBI_ROW_COUNTED,
    POSENC_ALIBI_ROW_COUNTED_BF16
} posenc_alibi_row_form;

/** ALiBi as one row for all queries. bias: f32 [n_k, 1, n_heads, n_batch], n_k at most 2^30; it goes to
 * posenc_score_params.bias.tensor. slopes[n_heads], finite. keep[n_batch][n_k], nonzero where the key is real, is read
 * by COUNTED and COUNTED_BF16 only. */
POSENC_API posenc_status posenc_alibi_row(const float *slopes, posenc_alibi_row_form form, const uint8_t *keep,
                                          const posenc_view *bias);

/* ---- Relative biases from functions of the offset: KERPLE, Sandwich, cosines (FORMULAS C.16, C.18,
 * C.30).
 *
 * d = |o| is the distance, o = key - query. Each value is within 1 ulp of the formula's (next to the zeros of sums of
 * cosines, within 2^-40 of the sum of their amplitudes); what would be denormal is 0. The top of this file says which
 * offsets a bias may have.
 *
 * Example: KERPLE's logarithmic form for a causal decoder of 1024 tokens
 *
 *     posenc_kerple kerple = {POSENC_KERPLE_LOG, p, a, 0.01f};
 *     int64_t first, n;
 *     posenc_status status = posenc_rel_bias_range(posenc_mask_causal(), 0, 1024, 1024, &first, &n);
 *     posenc_rel_bias bias = {bias_data, first, n, n_heads, n, 0};
 *     status = posenc_rel_bias_kerple(&kerple, &bias);
 */

/** KERPLE (arXiv 2205.09921), the two forms of its code:
 *
 *     POSENC_KERPLE_LOG     -p_h ln(1 + a_h d)
 *     POSENC_KERPLE_POWER   -a_h d^p_h, 0 for d = 0
 *
 * with p and a raised to `min` where they are below it, and the p of POWER lowered to 2: the clamps of the training
 * code, which has 0.01. p[n_heads], a[n_heads]: finite, at most 2^20 in size; min: in [2^-20, 1] (POSENC_ERR_SCALE). */
typedef enum posenc_kerple_kind { POSENC_KERPLE_UNSET = 0, POSENC_KERPLE_LOG, POSENC_KERPLE_POWER } posenc_kerple_kind;

typedef struct posenc_kerple {
    posenc_kerple_kind kind;
    const float *p, *a;
    float min;
} posenc_kerple;

/** KERPLE as a relative bias. */
POSENC_API posenc_status posenc_rel_bias_kerple(const posenc_kerple *kerple, const posenc_rel_bias *bias);

/** Gaussian kernel as a relative bias, e^(-d^2 / (2 sigma_h^2)): positive numbers, to add or to
 * multiply with as the caller sees fit. sigma[n_heads]: in [2^-20, 2^40] (POSENC_ERR_SCALE). */
POSENC_API posenc_status posenc_rel_bias_rbf(const float *sigma, const posenc_rel_bias *bias);

/** Sandwich (arXiv 2212.10356), head h = 0 .. n_heads-1:
 *
 *     n_heads / (8 (h+1)) * (sum of cos(d base^(-2k/dim)), k = first .. first + dim/2 - 1,  - dim/2 if centred)
 *
 * The paper's listing begins with k = 0, its equation with 1. centred makes 0 of the value at d = 0, which softmax does
 * not notice. */
typedef struct posenc_sandwich {
    int64_t dim;   /**< even, 2 .. 8192 (POSENC_ERR_HEAD_DIM) */
    double base;   /**< in [1, 1e30] (POSENC_ERR_BASE) */
    int64_t first; /**< 0 or 1 (POSENC_ERR_SHAPE) */
    int centred;
} posenc_sandwich;

#define POSENC_SANDWICH_DEFAULTS                                                                                       \
    { 128, 10000.0, 0, 0 }

/** Sandwich as a relative bias. */
POSENC_API posenc_status posenc_rel_bias_sandwich(const posenc_sandwich *sandwich, const posenc_rel_bias *bias);

/** Cosine of the offset as a relative bias. amplitude_h cos(omega_h o + phi_h): what one rotary pair adds to the score
 * of constant content. omega in radians per position and phi in radians, at most POSENC_MAX_FREQUENCY in size, taken as
 * exact (POSENC_ERR_FREQUENCY); NULL phi: 0; NULL amplitude: 1, else finite (POSENC_ERR_SCALE). Each [n_heads]. */
POSENC_API posenc_status posenc_rel_bias_cosine(const double *omega, const double *phi, const float *amplitude,
                                                const posenc_rel_bias *bias);

/* ---- Biases by row and column of an image: Swin, MViTv2, SAM (FORMULAS C.20, C.21).
 *
 * Example: the bias of Swin's 7 x 7 windows, table[13 * 13][n_heads]; it serves every window as
 * posenc_score_params.bias.tensor
 *
 *     posenc_bias_table table = {table_data, 13 * 13, n_heads, n_heads, 1};
 *     posenc_view bias = posenc_view_dense(bias_data, POSENC_F32, 49, 49, n_heads, 1);
 *     posenc_status status = posenc_swin_bias(7, 7, &table, &bias);
 */

/* ---- Swin (arXiv 2103.14030) ----
 *
 * Windows of height * width tokens, row by row; each 1 .. 1024 (POSENC_ERR_SHAPE). The query at (y, x) and the key at
 * (v, u) take row (y - v + height - 1) (2 width - 1) + (x - u + width - 1) of a table of (2 height - 1)(2 width - 1)
 * rows. */

/** That row for every pair: index[query][key], height * width in a square; at most 2^30 of them (POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_swin_index(int64_t height, int64_t width, int32_t *index);

/** The table's value for every pair: bias, f32 [n, n, table->n_heads, 1] with n = height * width, 1 .. 2^20 heads
 * (POSENC_ERR_N_HEADS). */
POSENC_API posenc_status posenc_swin_bias(int64_t height, int64_t width, const posenc_bias_table *table,
                                          const posenc_view *bias);

/** Swin v2 (arXiv 2111.09883) makes the table by a small network from log-spaced coordinates of each row:
 * coords[row][2], first vertical, sign(u) log2(|u| + 1) / 3 with u = 8 * offset / (trained - 1). trained_height and
 * trained_width: the window of training, 2 .. 1024 (POSENC_ERR_SHAPE); the window itself, if it was not changed. Within
 * 1 ulp. */
POSENC_API posenc_status posenc_swin_v2_coords(int64_t height, int64_t width, int64_t trained_height,
                                               int64_t trained_width, float *coords);

/** What follows the network: y = 16 / (1 + e^-x), within 1 ulp; what would be denormal is 0. x and y: [n], the same or
 * apart. */
POSENC_API posenc_status posenc_swin_v2_scale(const float *x, int64_t n, float *y);

/* ---- Decomposed relative positions (MViTv2, arXiv 2112.01526; SAM) ----
 *
 * To the score of query (y, x) and key (v, u) they add q . Rh[y][v] + q . Rw[x][u], q the unscaled query. */

/** The rows of one axis (get_rel_pos): rows, f32 [dim, n_k, n_q, 1], from a learned table, f32 [dim, n_table, 1, 1].
 * Query a and key b take row floor(a max(n_k/n_q, 1) + (n_k - 1 - b) max(n_q/n_k, 1)), exactly, of a table that is
 * first resized, linearly between the centres of its rows, to 2 max(n_q, n_k) - 1 rows where it has another length.
 * n_q, n_k, n_table: 1 .. 2^20. */
POSENC_API posenc_status posenc_decomposed_rows(const posenc_view *table, const posenc_view *rows);

/** Adds the biases by row and by column. scores = (scores + by_row[v]) + by_column[u] for key v * width + u: the
 * products above, added in place. by_row: [height, n_q, n_heads, n_batch], by_column: [width, n_q, n_heads, n_batch],
 * scores: [height * width, n_q, n_heads, n_batch], all f32. A row is one query of one head, as in softmax.h. */
POSENC_API posenc_status posenc_decomposed_add(const posenc_view *by_row, const posenc_view *by_column,
                                               const posenc_view *scores, posenc_range rows);

#ifdef __cplusplus
}
#endif
#endif
