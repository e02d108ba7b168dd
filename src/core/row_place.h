/* SPDX-License-Identifier: MIT */
/* Rows of scores, and of tensors with the same outer extents: one query of one head of one batch. */
#ifndef POSENC_SRC_ROW_PLACE_H
#define POSENC_SRC_ROW_PLACE_H

#include "core/view.h"

/* A row of scores: one query of one head. */
typedef struct posenc_row_place {
    int64_t query, head, batch;
} posenc_row_place;

static inline posenc_row_place posenc_row_place_of(const posenc_view *y, int64_t row) {
    int64_t n_q = y->ne[1], n_heads = y->ne[2];
    return (posenc_row_place){.query = row % n_q, .head = row / n_q % n_heads, .batch = row / n_q / n_heads};
}

/* Start of the row in the scores, or in a tensor with the same rows. */
static inline void *posenc_row_at(const posenc_view *view, posenc_row_place at) {
    return posenc_view_at(view, at.query, at.head, at.batch);
}

/* Start of the query's channels in a tensor of heads, [dim, n_heads, n_tokens, n_batch]. */
static inline void *posenc_token_at(const posenc_view *tokens, posenc_row_place at) {
    return posenc_view_at(tokens, at.head, at.query, at.batch);
}

/* The place of a row of such a tensor. */
static inline posenc_row_place posenc_token_place_of(const posenc_view *tokens, int64_t row) {
    int64_t n_heads = tokens->ne[1], n_tokens = tokens->ne[2];
    return (posenc_row_place){
        .head = row % n_heads, .query = row / n_heads % n_tokens, .batch = row / n_heads / n_tokens};
}

/* 1 if the scores have a row for each token and head. */
static inline int posenc_rows_match(const posenc_view *scores, const posenc_view *tokens) {
    return scores->ne[1] == tokens->ne[2] && scores->ne[2] == tokens->ne[1] && scores->ne[3] == tokens->ne[3];
}

/* The place of the next row. */
static inline void posenc_row_advance(const posenc_view *y, posenc_row_place *at) {
    if (++at->query < y->ne[1])
        return;
    at->query = 0;
    if (++at->head < y->ne[2])
        return;
    at->head = 0;
    at->batch++;
}

#endif
