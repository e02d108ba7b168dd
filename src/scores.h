/* Checks and row arithmetic shared by the calls on scores [n_k, n_q, n_heads, n_batch]. */
#ifndef POSENC_SCORES_H
#define POSENC_SCORES_H

#include <posenc/alibi.h>

/* Largest query or key index: differences of two stay within int32. */
#define POSENC_MAX_KEYS ((int64_t)1 << 30)

/* Mask, q_off and extents are in range; the view itself is checked already. */
posenc_status posenc_check_scores(const posenc_view *scores, posenc_mask mask, int64_t q_off);

/* The slopes are aligned, and each is finite. */
posenc_status posenc_check_slopes(const float *slopes, int64_t n_heads);

/* One row of scores. */
typedef struct posenc_score_row {
    int64_t batch, head, query; /* indices into the view */
    int32_t position;           /* of the query among the keys */
    size_t n_allowed;           /* keys 0 .. n_allowed - 1 may be seen */
} posenc_score_row;

posenc_score_row posenc_score_row_at(const posenc_view *scores, posenc_mask mask, int64_t q_off, int64_t row);

#endif
