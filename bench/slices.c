/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "slices.h"

#include <stdlib.h>
#include <time.h>

/* Long against reading the clock, short against what happens to a machine. A call that takes longer is a slice. */
#define SLICE_SECONDS 200e-6

static clockid_t clock_used = CLOCK_THREAD_CPUTIME_ID;

void slices_use_wall_clock(int wanted) {
    clock_used = wanted ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
}

double slice_clock(void) {
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void samples_add(samples *s, double value) {
    s->value[s->n++ % MAX_SLICES] = value;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double samples_median(samples *s) {
    size_t n = s->n < MAX_SLICES ? s->n : MAX_SLICES;
    qsort(s->value, n, sizeof s->value[0], compare);
    return (s->value[n / 2] + s->value[(n - 1) / 2]) / 2;
}

double time_calls(bench_call *call, int64_t calls, bench_job *job) {
    double start = slice_clock();
    for (int64_t i = 0; i < calls; i++)
        call(job);
    return (slice_clock() - start) / (double)calls;
}

int64_t calls_in_slice(bench_call *call, bench_job *job) {
    double seconds = 0.0;
    int64_t calls = 1;
    for (; calls < 1 << 24; calls *= 2) {
        seconds = time_calls(call, calls, job);
        if (seconds * (double)calls >= SLICE_SECONDS / 4)
            break;
    }
    return seconds * (double)calls < SLICE_SECONDS ? (int64_t)(SLICE_SECONDS / seconds) + 1 : calls;
}
