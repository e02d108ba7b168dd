/* SPDX-License-Identifier: MIT */
/* The smaller and the larger of two counts. */
#ifndef POSENC_SRC_MINMAX_H
#define POSENC_SRC_MINMAX_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t posenc_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t posenc_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline size_t posenc_min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline size_t posenc_max_size(size_t a, size_t b) {
    return a > b ? a : b;
}

#endif
