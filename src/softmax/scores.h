/* SPDX-License-Identifier: MIT */
/* Checks and row arithmetic shared by the calls on scores [n_k, n_q, n_heads, n_batch]. */
#ifndef POSENC_SCORES_H
#define POSENC_SCORES_H

#include <posenc/softmax.h>

#include "bias/mask.h"
#include "bias/tree.h"
#include "core/row_place.h"
#include "kernels/kernels.h"

/* Everything in params, for scores of the extents of y, which is checked already. */
posenc_status posenc_check_scores(const posenc_score_params *params, const posenc_view *y);

/* Checks that the scale is set, for calls that have scores. */
posenc_status posenc_check_scale(const posenc_score_params *params);

/* Checks as above beside scores that are only read: inputs of params may overlap them. */
posenc_status posenc_check_scores_read(const posenc_score_params *params, const posenc_view *x);

/* 1 if parameters have an array with an entry for each sequence. */
static inline int posenc_has_sequences(const posenc_score_params *params) {
    const posenc_score_sequences *s = &params->sequences;
    return params->positions.query_starts != NULL || s->k_begin != NULL || s->k_end != NULL || s->origins != NULL;
}

/* Position of query 0 of a sequence, for scores of y's extents; q_pos aside. */
static inline int64_t posenc_query_start(const posenc_score_params *params, const posenc_view *y, int64_t batch) {
    if (params->positions.query_starts != NULL)
        return params->positions.query_starts[batch];
    if (params->positions.query_start != POSENC_ALIGN_LAST_KEY)
        return params->positions.query_start;
    return (params->sequences.k_end != NULL ? params->sequences.k_end[batch] : y->ne[0]) - y->ne[1];
}

/* Arguments of the rows of scores of y's extents: what all rows share, and then what the place decides. x, y, form and
 * sum are the caller's. */
void posenc_score_args_begin(const posenc_score_params *params, const posenc_view *y, posenc_softmax_row_args *args);
void posenc_score_args_at(const posenc_score_params *params, const posenc_view *y, const posenc_row_place *at,
                          posenc_softmax_row_args *args);

/* Then: the row has the n keys at these positions only. */
void posenc_score_args_listed(const posenc_score_params *params, const int32_t *keys, size_t n,
                              posenc_softmax_row_args *args);

/* Masks the keys of first .. first + n - 1 (args counts from first) that the tree masks; bytes has room for
 * POSENC_TREE_BYTES. The call has a tree: where each row asks, those without take longer. */
void posenc_score_args_tree(const posenc_score_params *params, const posenc_view *y, const posenc_row_place *at,
                            size_t first, size_t n, uint8_t *bytes, posenc_softmax_row_args *args);

#endif
