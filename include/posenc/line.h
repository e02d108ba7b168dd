/* posenc/line.h - bias lines: a bias that depends on the offset of key and query only, one float per offset and head.
 *
 * Row i of such a bias matrix is a window into its line that moves by one element from query to query, so a line of
 * n_q + n_k - 1 offsets stands for the whole matrix: 32 heads at 32768 causal tokens take 4 MB. softmax.h consumes lines
 * at the cost of one load per vector. Beyond some distance many biases stay what they are (T5, clipped tables): then a line
 * that is extended needs no offsets beyond. The caller owns the memory; a line may be made for any range of offsets, so that
 * each part of a sequence can have its own, and made anew when trained parameters change.
 */
#ifndef POSENC_LINE_H
#define POSENC_LINE_H

#include <posenc/mask.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Head h, offset o = key position - query position, first <= o < first + n_offsets: data[h * stride + (o - first)]. */
typedef struct posenc_line {
    float *data;
    int64_t first, n_offsets;
    int64_t n_heads;
    int64_t stride;  /* in floats, at least n_offsets; 0: one line for all heads */
    int is_extended; /* nonzero: offsets beyond either end have the value of that end; n_offsets is at least 1 */
} posenc_line;

/* The same for rows of a table: which row an offset stands for. Every index is in 0 .. n_rows - 1. */
typedef struct posenc_index_line {
    int32_t *data;
    int64_t first, n_offsets;
    int64_t n_rows;
} posenc_index_line;

/* The offsets that queries q_off .. q_off + n_q - 1 and keys 0 .. n_k - 1 meet under a mask. */
POSENC_API posenc_status posenc_line_range(posenc_mask mask, int64_t q_off, int64_t n_q, int64_t n_k, int64_t *first,
                                           int64_t *n_offsets);

#ifdef __cplusplus
}
#endif
#endif
