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

/* A relative term of softmax.h: product[index of the offset] of the query, or of key j, whose products lie at product +
 * j * key_stride (in floats, below 2^26). Indices are clamped at the ends as above. An offset that no unmasked key has
 * may have any index; others have 0 .. last_row. last_row is not negative, and below 2^30 where there is a
 * key_stride. */
typedef struct posenc_rel_term {
    const float *product; /* NULL: none */
    ptrdiff_t key_stride; /* 0: the query's */
    const int32_t *index;
    int32_t first, last, last_row;
} posenc_rel_term;

typedef enum posenc_softmax_form { POSENC_PROBABILITIES, POSENC_EXPONENTIALS, POSENC_LOGITS } posenc_softmax_form;

/* Keys that a query sees: begin <= j < end but hole_begin <= j < hole_end, where begin <= hole_begin < hole_end <= end;
 * without a hole both are 0, and if nothing is seen begin and end are too. */
typedef struct posenc_visible {
    size_t begin, hole_begin, hole_end, end;
} posenc_visible;

/* One row of softmax.h. Keys that are not seen become 0, or -inf for logits; with leaves_masked, groups of
 * POSENC_SUM_LANES keys, counted from key 0, that are all outside the bounds stay what they are. x may equal y, and may
 * be NULL for zeros.
 * The offset of key j is j - position, or k_pos[j] - position; with k_pos only offsets lowest .. highest are seen.
 * Relative indices cover every offset that is seen. */
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
    const uint8_t *bytes; /* or NULL; from key bytes_begin on, one is seen where (byte != 0) == keep */
    size_t bytes_begin;   /* a multiple of POSENC_SUM_LANES; keys before it are not hidden so */
    int keep;

    float exp_lowest;        /* exponentials of less are 0: POSENC_EXP_LOWEST, or more */
    float least;             /* the maximum is at least this; -inf: no such thing */
    float sink;              /* -inf: none */
    float empty;             /* what all of a row becomes where every logit is -inf */
    posenc_softmax_sum *sum; /* or NULL */
    /* A row of n that will be asked for next, from beyond the caches; or NULL. */
    const struct posenc_softmax_row_args *next;
} posenc_softmax_row_args;

#endif
