/* SPDX-License-Identifier: MIT */
/* Main loop of every peer in C: a program that reads a line of work (work.h) from its input, does it for a while, and
 * prints how long a call took, as a line of JSON; again until its input ends. So all peers can take turns on one core.
 *
 *     {"peer": "ggml", "work": "rope", "shape": "layout=half ...", "ns_per_element": 0.7, "ns_per_call": 2900,
 *      "calls": 6}
 *     {"peer": "ggml", "work": "rope", "shape": "type=bf16 ...", "absent": "has none in bf16"}
 */
#ifndef POSENC_BENCH_PEERS_WORKER_H
#define POSENC_BENCH_PEERS_WORKER_H

#include "bench.h"
#include "peers/work.h"

typedef struct worker_job {
    bench_job *job; /* what the call is given */
    bench_call *call;
    bench_call *close;
    int64_t works_a_call; /* 0 is 1 */
} worker_job;

typedef struct peer {
    const char *name;
    /* Gets ready for the work, its input filled; NULL, or why not, with nothing left open. */
    const char *(*open)(const work *w, worker_job *job);
} peer;

/* Until the input ends. The exit status. */
int worker_main(const peer *self);

#endif
