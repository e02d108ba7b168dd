/* SPDX-License-Identifier: MIT */
/* The keys that queries see in a race: elements count these, and a limit reads no others. */
#ifndef POSENC_BENCH_VISIBLE_H
#define POSENC_BENCH_VISIBLE_H

#include <posenc/softmax.h>

#include "bench_limits.h"

/* Keys begin <= j < end; none if they are equal. */
typedef struct bench_visible {
    int64_t begin, end;
} bench_visible;

/* Keys of n_k that mask and query_start leave visible to a query. Nothing else in params masks keys in a race. */
bench_visible bench_visible_to(const posenc_score_params *params, int64_t query, int64_t n_k);

/* Number of visible (query, key) pairs of one head. */
int64_t bench_count_visible(const posenc_score_params *params, int64_t n_q, int64_t n_k);

/* The limit of a row of n scores in which masked keys are written: copies visible scores, and fills the rest. */
void bench_copy_visible(const bench_limits *limits, float *y, const float *x, bench_visible visible, int64_t n);

#endif
