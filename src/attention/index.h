/* SPDX-License-Identifier: MIT */
/* Bounds of the keys that an indexer scores for each query, and that top-k selects from. */
#ifndef POSENC_SRC_INDEX_H
#define POSENC_SRC_INDEX_H

#include <posenc/sparse.h>

/* Keys [begin, end); none if end <= begin. */
typedef struct posenc_key_span {
    int64_t begin, end;
} posenc_key_span;

/* Checks bounds against scores [n_k, n_q, n_heads, n_batch], checked before. NULL: no bounds. (index.c) */
posenc_status posenc_check_key_bounds(const posenc_key_bounds *bounds, const posenc_view *scores);

static inline posenc_key_span posenc_key_span_of(const posenc_key_bounds *bounds, int64_t n_k, int64_t query,
                                                 int64_t batch) {
    posenc_key_span span = {0, n_k};
    if (bounds == NULL)
        return span;
    int64_t at = batch * bounds->batch_stride + query * bounds->query_stride;
    if (bounds->begin != NULL)
        span.begin = bounds->begin[at];
    if (bounds->end != NULL)
        span.end = bounds->end[at];
    return span;
}

#endif
