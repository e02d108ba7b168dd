/* Rows of scores, and of tensors that have as many: one query of one head of one batch. */
#ifndef POSENC_SRC_ROWS_H
#define POSENC_SRC_ROWS_H

#include "core/view.h"

/* A row of scores: one query of one head. */
typedef struct posenc_row_place {
    int64_t query, head, batch;
} posenc_row_place;

static inline posenc_row_place posenc_row_place_of(const posenc_view *y, int64_t row) {
    int64_t n_q = y->ne[1], n_heads = y->ne[2];
    return (posenc_row_place){.query = row % n_q, .head = row / n_q % n_heads, .batch = row / n_q / n_heads};
}

/* Where the row begins, in the scores or in a tensor of as many rows. */
static inline void *posenc_row_at(const posenc_view *view, posenc_row_place at) {
    return posenc_view_at(view, at.query, at.head, at.batch);
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
