/* posenc/line.h - bias lines: a bias that depends on the offset of key and query only, one float per offset and head.
 *
 * Row i of such a bias matrix is a window into its line that moves by one element from query to query, so a line of
 * n_q + n_k - 1 offsets stands for the whole matrix: 32 heads at 32768 causal tokens take 4 MB. softmax.h consumes
 * lines at the cost of one load per vector. Beyond some distance many biases stay what they are (T5, clipped tables):
 * then a line that is extended needs no offsets beyond. The caller owns the memory; a line may be made for any range of
 * offsets, so that each part of a sequence can have its own, and made anew when trained parameters change.
 *
 *     ALiBi                      alibi.h            posenc_line_alibi
 *     T5, clipped scalars        here               posenc_index_t5, posenc_index_clipped, posenc_line_gather
 *     KERPLE, Sandwich, cosines  line_functions.h   posenc_line_kerple, _rbf, _sandwich, _cosine
 *     windows                    here               posenc_line_mask
 *
 * Calls that write a line take up to 2^31 - 1 offsets, of any range within +-(2^31 - 1), and 1 .. 2^20 heads; a line of
 * stride 0 counts as one head. Other offsets are POSENC_ERR_OFFSETS, a stride below n_offsets POSENC_ERR_STRIDE.
 * Numbers are made in double or double-double without the system's libm, so that lines have the same bits on every
 * machine; 65535 offsets of 32 heads take 0.2 s at most, Sandwich's of a dim above 512 longer in proportion to that,
 * and three or four times as long on the scalar tier.
 *
 * Example: T5's bias for a decoder of any length, here 1024 tokens, table[32][n_heads]
 *
 *     posenc_t5_params t5 = POSENC_T5_DECODER;
 *     posenc_index_line buckets = {bucket_data, -t5.max_distance, t5.max_distance + 1, t5.num_buckets};
 *     posenc_status status = posenc_index_t5(&t5, &buckets);
 *     posenc_bias_table table = {table_data, t5.num_buckets, n_heads, n_heads, 1};
 *     posenc_line line = {line_data, buckets.first, buckets.n_offsets, n_heads, buckets.n_offsets, 1};
 *     status = posenc_line_gather(&buckets, &table, 1.0f, &line);
 *     posenc_score_params params = POSENC_SCORE_DEFAULTS;
 *     params.line = &line;
 *     params.mask = posenc_mask_causal();
 *     posenc_view s = posenc_view_dense(scores, POSENC_F32, 1024, 1024, n_heads, 1);
 *     status = posenc_softmax(&params, &s, &s, posenc_all_rows());
 */
#ifndef POSENC_LINE_H
#define POSENC_LINE_H

#include <posenc/mask.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Head h, offset o = key position - query position, first <= o < first + n_offsets: data[h * stride + (o - first)].
 * A line, or index line, has at most 2^31 - 1 offsets, written or read. */
typedef struct posenc_line {
    float *data;
    int64_t first, n_offsets;
    int64_t n_heads;
    int64_t stride;  /* in floats, at least n_offsets; 0: one line for all heads */
    int is_extended; /* nonzero: offsets beyond either end have the value of that end; n_offsets is at least 1 */
} posenc_line;

/* The same for rows of a table: which row an offset stands for. Calls look at the entries of offsets that they meet:
 * each is in 0 .. n_rows - 1 (POSENC_ERR_ROWS). */
typedef struct posenc_index_line {
    int32_t *data;
    int64_t first, n_offsets;
    int64_t n_rows;
} posenc_index_line;

/* The offsets that queries q_off .. q_off + n_q - 1 and keys 0 .. n_k - 1 meet under a mask; 0 of them if none is seen.
 * With n_first, every offset back to key 0. Ranges as in softmax.h: q_off is at least -2^30, q_off + n_q and n_k are at
 * most 2^30 (POSENC_ERR_POSITION, POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_line_range(posenc_mask mask, int64_t q_off, int64_t n_q, int64_t n_k, int64_t *first,
                                           int64_t *n_offsets);

/* Writes -inf for the offsets that a mask forbids and leaves the others alone: the window becomes part of the line,
 * which serves explicit positions and callers that only know additive biases. A chunk or n_first is not a matter of the
 * offset: POSENC_ERR_MASK. Of an extended line the ends stand for all beyond them: POSENC_ERR_OFFSETS where the mask
 * hides some of these and not others, as a window does that is wider than the line. */
POSENC_API posenc_status posenc_line_mask(posenc_mask mask, const posenc_line *line);

/* ---- Learned tables ---- */

/* Row r, head h: data[r * row_stride + h * head_stride]. [row][head], as Hugging Face and torchscale have it, is
 * {n_heads, 1}; [head][row], as mesh-tensorflow has it, {1, n_rows}. */
typedef struct posenc_bias_table {
    float *data;
    int64_t n_rows, n_heads;
    int64_t row_stride, head_stride; /* in floats; no two entries at one address where the table is written */
} posenc_bias_table;

/* line_h[o] = scale * table[index[o]][h]. The index covers the line's offsets (POSENC_ERR_OFFSETS), its rows are the
 * table's (POSENC_ERR_SHAPE; POSENC_ERR_ROWS for an entry that names no row). scale is finite: 1, but for
 * x-transformers. */
POSENC_API posenc_status posenc_line_gather(const posenc_index_line *index, const posenc_bias_table *table, float scale,
                                            const posenc_line *line);

/* T5's buckets (arXiv 1910.10683; FORMULAS C.5, C.6). With d the distance, n the buckets of one direction and e = n/2
 * rounded down, bucket d for d < e, else e + floor(ln(d/e) / ln(max_distance/e) * (n - e)), at most n - 1. The
 * boundaries are integers, found exactly: no logarithm's rounding moves an offset into the next bucket. From
 * max_distance on the bucket stays what it is: offsets -max_distance .. max_distance (decoders: .. 0) have it all, in a
 * line that is extended. */
typedef struct posenc_t5_params {
    int64_t num_buckets;  /* 2 (bidirectional: 4) .. 4096 */
    int64_t max_distance; /* above e, at most 2^30 */
    int bidirectional;    /* encoders: half of the buckets for keys behind the query; else these share bucket 0 */
} posenc_t5_params;

#define POSENC_T5_ENCODER                                                                                              \
    { 32, 128, 1 }
#define POSENC_T5_DECODER                                                                                              \
    { 32, 128, 0 }

/* The bucket of one offset, key - query. POSENC_ERR_BUCKETS: num_buckets or max_distance is not in its range. */
POSENC_API posenc_status posenc_t5_bucket(const posenc_t5_params *params, int32_t offset, int32_t *bucket);

/* The bucket of every offset; index->n_rows is num_buckets. */
POSENC_API posenc_status posenc_index_t5(const posenc_t5_params *params, const posenc_index_line *index);

/* Row clip(o, -k, k) + k: a learned scalar for each offset up to k (C.10; Shaw's rows, C.7). index->n_rows is 2k + 1;
 * k: 0 .. 2^29 (POSENC_ERR_BUCKETS). */
POSENC_API posenc_status posenc_index_clipped(int64_t k, const posenc_index_line *index);

#ifdef __cplusplus
}
#endif
#endif
