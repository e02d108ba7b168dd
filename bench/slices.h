/* SPDX-License-Identifier: MIT */
/* How long a call takes: by slices of calls, and medians over slices. */
#ifndef POSENC_BENCH_SLICES_H
#define POSENC_BENCH_SLICES_H

#include "bench.h"

/* Slices remembered; of longer runs, the last ones. */
#define MAX_SLICES 4096

typedef struct samples {
    size_t n;
    double value[MAX_SLICES];
} samples;

void samples_add(samples *s, double value);

/* Sorts them. */
double samples_median(samples *s);

/* Seconds on the clock of slices: processor time of this thread, so that what others run on its core in between does
 * not count; or, of work that is shared by threads, time on the wall. */
double slice_clock(void);
void slices_use_wall_clock(int wanted);

/* Makes `calls` calls; seconds per call. */
double time_calls(bench_call *call, int64_t calls, bench_job *job);

/* The number of calls that fill a slice. */
int64_t calls_in_slice(bench_call *call, bench_job *job);

#endif
