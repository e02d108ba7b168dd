/* SPDX-License-Identifier: MIT */
/* Arguments of softmax_row: one row of logits, and its softmax. */
#ifndef POSENC_KERNELS_SOFTMAX_H
#define POSENC_KERNELS_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/softmax.h>

#include "kernels/sum.h"

/* Relative bias of one head: offset o has at[o - first], first <= o <= last. Offsets beyond the ends have the value of
 * that end. */
typedef struct posenc_head_rel_bias {
    const float *at; /* NULL: none */
    int32_t first, last;
} posenc_head_rel_bias;

/* Relative term of softmax.h: product[index of the offset], of the query, or of key j with key_stride: its products lie
 * at product + j * key_stride (in floats, below 2^26). Indices are clamped at the ends as above. Offsets of unmasked
 * keys have an index in 0 .. last_row, other offsets any index. last_row is not negative, and below 2^30 with a
 * key_stride. */
typedef struct posenc_rel_term {
    const float *product; /* NULL: none */
    ptrdiff_t key_stride; /* 0: the query's */
    const int32_t *index;
    int32_t first, last, last_row;
} posenc_rel_term;

typedef enum posenc_softmax_form { POSENC_PROBABILITIES, POSENC_EXPONENTIALS, POSENC_LOGITS } posenc_softmax_form;

/* Keys visible to a query: begin <= j < end, without hole_begin <= j < hole_end, where begin <= hole_begin < hole_end
 * <= end. Without a hole both of its ends are 0. Without visible keys begin and end are 0, too. */
typedef struct posenc_visible {
    size_t begin, hole_begin, hole_end, end;
} posenc_visible;

/* Blocks of `size` keys (16, 32, 64 or 128) that a row sees in full, and in part, where bytes decide: ascending
 * numbers. A block may be in both lists, and is full then. Keys of other blocks are outside the bounds. */
typedef struct posenc_row_blocks {
    const int32_t *full, *partial;
    size_t n_full, n_partial, size;
} posenc_row_blocks;

/* One row of softmax.h. Masked keys become 0, or -inf for logits. With leaves_masked, every POSENC_SUM_LANES keys from
 * a multiple of it on are left unwritten if all of them are outside the bounds. x may equal y, and may be NULL for
 * zeros. The offset of key j is j - position, or k_pos[j] - position. With k_pos only offsets lowest .. highest are
 * visible. Relative indices cover every visible offset. */
typedef struct posenc_softmax_row_args {
    const void *x;
    void *y;
    posenc_dtype x_type, y_type;
    posenc_softmax_form form;
    size_t n;
    posenc_visible visible;
    int leaves_masked;
    int32_t position;
    const int32_t *k_pos;
    int32_t lowest, highest;

    float scale;
    float cap, inv_cap; /* cap 0: none */
    posenc_rel_term by_query, by_key;
    float slope; /* 0: none */
    posenc_head_rel_bias rel_bias;
    const void *bias; /* [n], or NULL */
    posenc_dtype bias_type;
    float bias_slope;
    const uint8_t *bytes; /* or NULL; from key bytes_begin on, a key is visible where (byte != 0) == keep */
    size_t bytes_begin;   /* a multiple of POSENC_SUM_LANES; earlier keys are not masked by bytes */
    int keep;
    const posenc_row_blocks *blocks; /* or NULL; with them bytes_begin is 0, and bytes are read in partial ones */
    size_t blocks_begin; /* the row's key 0 is key blocks_begin of the blocks, a multiple of POSENC_SUM_BLOCK */

    float exp_lowest;        /* exponentials of less are 0: POSENC_EXP_LOWEST, or more */
    float least;             /* the maximum is at least this; -inf: none */
    float sink;              /* -inf: none */
    float empty;             /* value of a whole row whose logits are all -inf */
    posenc_softmax_sum *sum; /* or NULL */
    /* Factor of what earlier keys summed, whose maximum is `least`: exp(least - max), or 1 if the row's sum is 0. With
     * it, sum is not NULL, comes in as theirs and goes out as that of all: fma(theirs, *rescale, the row's). NULL: no
     * such keys. */
    float *rescale;
    /* Row of n keys that follows, to be prefetched; or NULL. */
    const struct posenc_softmax_row_args *next;
} posenc_softmax_row_args;

#endif
