/* SPDX-License-Identifier: MIT */
/* How a race is run and measured; README.md says how to read the result. */
#ifndef POSENC_BENCH_RACE_H
#define POSENC_BENCH_RACE_H

#include "bench.h"
#include "shim.h"

/* One registered benchmark. */
typedef struct bench_entry {
    const struct bench_entry *next;
    const char *name;
    const bench_race *race;
    const void *shape;
    posenc_isa_tier tier;
    int prepared;                /* by the first run: results compared, calls set */
    int64_t calls[BENCH_RACERS]; /* in a slice; the same for all repetitions, as Google Benchmark wants it */
} bench_entry;

/* A shim_function; context is the bench_entry. */
shim_function bench_run;

#endif
