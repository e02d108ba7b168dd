/* SPDX-License-Identifier: MIT */
/* Random posenc_score_params, everything they point to in blocks of its exact size. */
#ifndef POSENC_FUZZ_DATA_SCORES_H
#define POSENC_FUZZ_DATA_SCORES_H

#include "data.h"

typedef struct data_scores {
    posenc_score_params params, plain; /* plain: without a tree and a block mask, the same as bytes */
    int64_t n_k, n_q, n_heads, n_batch;
    posenc_view bias, by_query, by_key;
    posenc_rel_bias rel_bias;
    posenc_rel_index query_index, key_index;
    posenc_bool_mask bool_mask, plain_mask;
    posenc_block_mask blocks;
    posenc_bool_mask listed; /* keys of blocks in a list; data NULL: no block mask */
    posenc_tree tree;
} data_scores;

/* For these extents, which the caller has set. */
void data_draw_scores(data_scores *s);

/* Draws a block mask beside scores without a tree; `plain` gets it as bytes. */
void data_draw_blocks(data_scores *s);

/* Sequence b has the keys from the one on to before the other. */
int64_t data_first_key(const data_scores *s, int64_t b);
int64_t data_end_of_keys(const data_scores *s, int64_t b);

/* The logits of one row and what each may be off by, the largest (with the sink) and the sum of exp(logit - largest);
 * error: the largest error of a logit that is not -inf. */
typedef struct data_row {
    double *logits, *errors; /* [n_k] */
    const double *counts;    /* how often each key is there; NULL: once */
    double max, sum, error;
} data_row;

enum { DATA_MOST_KEYS = 9000 };
data_row data_new_row(void); /* the same memory each time */

/* errors[] hold already what the scores are off by. */
void data_make_row(const data_scores *s, const double *scores, int64_t i, int64_t h, int64_t b, data_row *row);

#endif
