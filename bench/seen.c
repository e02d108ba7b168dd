/* SPDX-License-Identifier: MIT */
#include "seen.h"

#include "bench.h"
#include "softmax/scores.h"

static int64_t within(int64_t j, int64_t begin, int64_t end) {
    return j < begin ? begin : j > end ? end : j;
}

bench_seen bench_seen_by(const posenc_score_params *params, int64_t query, int64_t n_k) {
    if (params->mask.n_first > 0) /* two runs of keys: nothing is raced with them */
        bench_check(POSENC_ERR_MASK);
    if (params->positions.query_start == POSENC_ALIGN_LAST_KEY) /* how many queries there are is not said here */
        bench_check(POSENC_ERR_POSITION);
    int64_t position = params->positions.query_start + query;
    posenc_offsets offsets = posenc_offsets_at(&params->mask, position);
    int64_t begin = within(position + offsets.lowest, 0, n_k);
    return (bench_seen){begin, within(position + offsets.highest + 1, begin, n_k)};
}

int64_t bench_count_seen(const posenc_score_params *params, int64_t n_q, int64_t n_k) {
    int64_t n = 0;
    for (int64_t i = 0; i < n_q; i++) {
        bench_seen seen = bench_seen_by(params, i, n_k);
        n += seen.end - seen.begin;
    }
    return n;
}

void bench_copy_seen(const bench_limits *limits, float *y, const float *x, bench_seen seen, int64_t n) {
    if (seen.begin > 0) /* in rows of 256 keys calls for nothing show */
        limits->fill(y, (size_t)seen.begin, 0.0f);
    limits->copy(y + seen.begin, x + seen.begin, (size_t)(seen.end - seen.begin));
    if (seen.end < n)
        limits->fill(y + seen.end, (size_t)(n - seen.end), 0.0f);
}
