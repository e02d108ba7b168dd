/* SPDX-License-Identifier: MIT */
#include "visible.h"

#include "bench.h"
#include "softmax/scores.h"

static int64_t within(int64_t j, int64_t begin, int64_t end) {
    return j < begin ? begin : j > end ? end : j;
}

bench_visible bench_visible_to(const posenc_score_params *params, int64_t query, int64_t n_k) {
    if (params->mask.n_first > 0) /* two runs of keys: nothing is raced with them */
        bench_check(POSENC_ERR_MASK);
    if (params->positions.query_start == POSENC_ALIGN_LAST_KEY) /* how many queries there are is not said here */
        bench_check(POSENC_ERR_POSITION);
    int64_t position = params->positions.query_start + query;
    posenc_offsets offsets = posenc_offsets_at(&params->mask, position);
    int64_t begin = within(position + offsets.lowest, 0, n_k);
    return (bench_visible){begin, within(position + offsets.highest + 1, begin, n_k)};
}

int64_t bench_count_visible(const posenc_score_params *params, int64_t n_q, int64_t n_k) {
    int64_t n = 0;
    for (int64_t i = 0; i < n_q; i++) {
        bench_visible visible = bench_visible_to(params, i, n_k);
        n += visible.end - visible.begin;
    }
    return n;
}

void bench_copy_visible(const bench_limits *limits, float *y, const float *x, bench_visible visible, int64_t n) {
    if (visible.begin > 0) /* in rows of 256 keys calls for nothing show */
        limits->fill(y, (size_t)visible.begin, 0.0f);
    limits->copy(y + visible.begin, x + visible.begin, (size_t)(visible.end - visible.begin));
    if (visible.end < n)
        limits->fill(y + visible.end, (size_t)(n - visible.end), 0.0f);
}
