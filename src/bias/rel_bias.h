/* SPDX-License-Identifier: MIT */
/* Checks on relative biases and their parameters, shared by the calls that write them, read them or compute their
 * gradients. */
#ifndef POSENC_SRC_REL_BIAS_H
#define POSENC_SRC_REL_BIAS_H

#include <posenc/bias.h>

#include <float.h>
#include <math.h>

#include "bias/mask.h"

#define POSENC_MAX_HEADS ((int64_t)1 << 20)

/* Checks that the relative bias, if not NULL, has n_heads heads (or one for all) and covers the offsets. */
posenc_status posenc_check_rel_bias(const posenc_rel_bias *rel_bias, int64_t n_heads, posenc_offsets offsets);
posenc_status posenc_check_rel_index(const posenc_rel_index *rel_bias, int64_t n_rows, posenc_offsets offsets);

/* Checks a relative bias that is written or read: offsets, stride, alignment. *n_heads is 1 for a stride of 0. */
posenc_status posenc_check_whole_rel_bias(const posenc_rel_bias *rel_bias, int64_t *n_heads);

/* Checks that the index is valid and has n_rows rows; posenc_check_index_entries checks its entries. */
posenc_status posenc_check_whole_index(const posenc_rel_index *index, int64_t n_rows);

/* Every entry for offsets first .. first + n - 1, which the index must cover, names a row. */
posenc_status posenc_check_index_entries(const posenc_rel_index *index, int64_t first, int64_t n);

/* A table of n_heads heads; if it is written, no two entries share an address. */
posenc_status posenc_check_bias_table(const posenc_bias_table *table, int64_t n_heads, int is_written);

/* n numbers in [low, high]; POSENC_ERR_SCALE for others. */
posenc_status posenc_check_numbers(const float *numbers, int64_t n, double low, double high);

/* Values of head h, the first offset's first. */
static inline float *posenc_rel_bias_of_head(const posenc_rel_bias *rel_bias, int64_t h) {
    return rel_bias->data + h * rel_bias->stride;
}

/* |first + t| */
static inline double posenc_rel_bias_distance(const posenc_rel_bias *rel_bias, int64_t t) {
    int64_t offset = rel_bias->first + t;
    return (double)(offset < 0 ? -offset : offset);
}

/* Rounded once; what would be denormal is 0. */
static inline float posenc_rounded(double x) {
    return fabs(x) < (double)FLT_MIN ? 0.0f : (float)x;
}

static inline float *posenc_table_at(const posenc_bias_table *table, int64_t row, int64_t head) {
    return table->data + row * table->row_stride + head * table->head_stride;
}

#endif
