/* SPDX-License-Identifier: MIT */
/* How a kernel is benchmarked: its case at any size, the loop one would write with libm, and what no code can beat. */
#ifndef POSENC_CHECK_KERNEL_BENCH_H
#define POSENC_CHECK_KERNEL_BENCH_H

#include "call.h"
#include "bench_limits.h"

typedef struct kernel_types {
    posenc_dtype x, y;
} kernel_types;

typedef struct kernel_bench {
    const char *unit;          /* what n counts */
    double elements;           /* of work in a unit */
    const kernel_types *types; /* what is read and written; NULL: float32 */
    size_t n_types;

    /* Describes and fills a call of n units. Buffers that differ only in name may be one, where the types are alike: a
     * kernel that works in place is benchmarked in place. */
    void (*describe)(kernel_call *call, size_t n, kernel_types types);

    /* The same work in plain float32 loops. */
    void (*plain)(const kernel_args *args);

    /* The same bytes moved, or the same multiplications made, with the loops of the kernel's tier. */
    void (*limit)(const bench_limits *limits, const kernel_args *args);
} kernel_bench;

#endif
