/* Checks and row arithmetic shared by the calls on scores [n_k, n_q, n_heads, n_batch]. */
#ifndef POSENC_SCORES_H
#define POSENC_SCORES_H

#include <posenc/softmax.h>

#include "kernels/kernels.h"
#include "view.h"

/* Largest query or key index: differences of two stay within int32. */
#define POSENC_MAX_KEYS ((int64_t)1 << 30)

/* Beyond every offset there can be. */
#define POSENC_ANY_OFFSET ((int64_t)1 << 31)

/* Offsets lowest .. highest of keys from a query; none if lowest > highest. */
typedef struct posenc_offsets {
    int64_t lowest, highest;
} posenc_offsets;

posenc_status posenc_check_mask(const posenc_mask *mask);

/* What a query at the position sees, n_first aside. */
posenc_offsets posenc_offsets_at(const posenc_mask *mask, int64_t position);

/* Offsets at which queries meet keys, both from lowest to highest, and some query may see them; n_first included. */
posenc_offsets posenc_offsets_seen(const posenc_mask *mask, posenc_offsets queries, posenc_offsets keys);

/* Queries q_off .. q_off + n_q - 1 and keys 0 .. n_k - 1 are in range. */
posenc_status posenc_check_extent(int64_t q_off, int64_t n_q, int64_t n_k);

/* Everything in params, for scores of the extents of y, which is checked already. */
posenc_status posenc_check_scores(const posenc_score_params *params, const posenc_view *y);

/* The same beside scores that are read: what params name may lie there too. */
posenc_status posenc_check_scores_read(const posenc_score_params *params, const posenc_view *x);

/* A row of scores: one query of one head. */
typedef struct posenc_score_place {
    int64_t query, head, batch;
} posenc_score_place;

posenc_score_place posenc_score_place_of(const posenc_view *y, int64_t row);

/* Where the query stands, q_pos aside. */
static inline int64_t posenc_query_position(const posenc_score_params *params, posenc_score_place at) {
    return params->q_off + (params->q_offs != NULL ? params->q_offs[at.batch] : 0) + at.query;
}

/* Where the row begins, in the scores or in a tensor of as many rows. */
static inline void *posenc_score_row(const posenc_view *view, posenc_score_place at) {
    return posenc_view_at(view, at.query, at.head, at.batch);
}

/* The place of the next row. */
static inline void posenc_score_advance(const posenc_view *y, posenc_score_place *at) {
    if (++at->query < y->ne[1])
        return;
    at->query = 0;
    if (++at->head < y->ne[2])
        return;
    at->head = 0;
    at->batch++;
}

/* Arguments of the rows of such scores: what all rows share, and then what the place decides. x, y, form and sum are
 * the caller's. */
void posenc_score_args_begin(const posenc_score_params *params, const posenc_view *y, posenc_softmax_row_args *args);
void posenc_score_args_at(const posenc_score_params *params, posenc_score_place at, posenc_softmax_row_args *args);

#endif
