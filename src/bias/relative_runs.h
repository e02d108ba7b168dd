/* SPDX-License-Identifier: MIT */
/* Neighbouring keys (or queries) that share a row of a relative table: runs. Inside of relative_*.c. */
#ifndef POSENC_RELATIVE_RUNS_H
#define POSENC_RELATIVE_RUNS_H

#include <posenc/relative.h>

#include "bias/mask.h"

/* Checked arguments of the calls that walk runs. */
typedef struct posenc_runs {
    const posenc_rel_index *index;
    posenc_offsets visible; /* by some query, under the mask */
    int64_t query_start, n_q, n_k;
} posenc_runs;

/* x: the [n_k, n_q, n_heads, n_batch] of weights, checked and f32. */
posenc_status posenc_runs_check(const posenc_rel_index *index, const posenc_mask *mask, int64_t query_start,
                                const posenc_view *x, posenc_runs *runs);

/* The heads and batches of a table are those of the scores, or 1, which all of them share. */
posenc_status posenc_check_shared(const posenc_view *table, const posenc_view *scores);

/* Run: elements begin .. end - 1 of the keys of a query, or of the queries of a key, share a table row. */
typedef struct posenc_run {
    int64_t begin, end;
    int64_t row;
} posenc_run;

/* Moves to the next run, or, from run->end < 0, to the first. Returns 0 after the last. */
int posenc_next_run_of_query(const posenc_runs *runs, int64_t query, posenc_run *run);
int posenc_next_run_of_key(const posenc_runs *runs, int64_t key, posenc_run *run);

/* Sum of n > 0 floats, stride in bytes. One float is its own sum. Otherwise element k joins lane k mod 32, in the order
 * of the softmax's sum. */
float posenc_sum_run(const float *x, int64_t stride, int64_t n);

#endif
