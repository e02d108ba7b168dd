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

/* What mask and query_start leave a query of n_k keys. Nothing else in params hides keys in a race. */
bench_visible bench_visible_to(const posenc_score_params *params, int64_t query, int64_t n_k);

/* How many the queries of one head see, together. */
int64_t bench_count_visible(const posenc_score_params *params, int64_t n_q, int64_t n_k);

/* The limit of a row of n scores in which masked keys are written: copies what is seen, and writes the rest. */
void bench_copy_visible(const bench_limits *limits, float *y, const float *x, bench_visible visible, int64_t n);

#endif
