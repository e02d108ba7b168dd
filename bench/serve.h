/* SPDX-License-Identifier: MIT */
/* posenc-bench --serve TIER RACER: our calls, the plain loops or the limits as peers of others (peers/worker.h). */
#ifndef POSENC_BENCH_SERVE_H
#define POSENC_BENCH_SERVE_H

#include "bench.h"
#include "peers/work.h"

/* A race that does the work, with its shape, which lives until the next call; or NULL. Each family has its kinds. */
typedef struct bench_match {
    const bench_race *race;
    const void *shape;
} bench_match;

bench_match bench_match_rope(const work *w);
bench_match bench_match_rows(const work *w);
bench_match bench_match_softmax(const work *w);
bench_match bench_match_attention(const work *w);
bench_match bench_match_stretches(const work *w);
bench_match bench_match_benchmark(const work *w); /* registered under this name on the selected tier */

int bench_serve(const char *tier, const char *racer);

#endif
