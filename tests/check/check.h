/* SPDX-License-Identifier: MIT */
/* The checker: every kernel with its cases, and what can be done with them.
 *
 * Each line of kernels.def has a sweep in the file of its family (norm.c for rms_factors, as in src/scalar and
 * src/simd), or nothing links. The sweep's calls are compared with scalar, hashed, timed on adversarial values,
 * fuzzed and, at the sizes that kernel_bench names, benchmarked. */
#ifndef POSENC_CHECK_CHECK_H
#define POSENC_CHECK_CHECK_H

#include "kernel_bench.h"
#include "call.h"

typedef struct check_kernel {
    const char *name;
    void (*sweep)(const posenc_kernels *variant);
    const kernel_bench *bench;
} check_kernel;

/* By kernel_id. */
extern const check_kernel check_kernels[KERNEL_COUNT];

/* The kernel of that name, or KERNEL_COUNT. */
kernel_id check_kernel_by_name(const char *name);

#define KERNEL(name, args)                                                                                             \
    void sweep_##name(const posenc_kernels *variant);                                                                  \
    extern const kernel_bench bench_##name;
#include "kernels/kernels.def"
#undef KERNEL

/* FNV-1a of all that the kernel writes in a fixed part of its sweep: the same on every tier, compiler and architecture.
 * hashes.def records it. Any NaN counts as one. */
uint64_t check_hash(kernel_id kernel, const posenc_kernels *variant);

/* Calls of the sweep with ordinary and with adversarial data, each the shortest of some repetitions, added up: a line
 * for each kind of data on standard output,
 *
 *     time | kernel | tier | kind | calls | ordinary ns | adversarial ns */
void check_time(kernel_id kernel, const posenc_kernels *variant);

#endif
