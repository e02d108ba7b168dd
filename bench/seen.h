/* SPDX-License-Identifier: MIT */
/* The keys that queries see in a race: elements count these, and a limit reads no others. */
#ifndef POSENC_BENCH_SEEN_H
#define POSENC_BENCH_SEEN_H

#include <posenc/softmax.h>

#include "bench_limits.h"

/* Keys begin <= j < end; none if they are equal. */
typedef struct bench_seen {
    int64_t begin, end;
} bench_seen;

/* What mask and query_start leave a query of n_k keys. Nothing else in params hides keys in a race. */
bench_seen bench_seen_by(const posenc_score_params *params, int64_t query, int64_t n_k);

/* How many the queries of one head see, together. */
int64_t bench_count_seen(const posenc_score_params *params, int64_t n_q, int64_t n_k);

/* The limit of a row of n scores in which masked keys are written: copies what is seen, and writes the rest. */
void bench_copy_seen(const bench_limits *limits, float *y, const float *x, bench_seen seen, int64_t n);

#endif
