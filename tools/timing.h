/* SPDX-License-Identifier: MIT */
/* Medians of alternatives that take turns, so that a disturbance of the machine meets all of them. */
#ifndef POSENC_TOOLS_TIMING_H
#define POSENC_TOOLS_TIMING_H

typedef struct alternative {
    void (*run)(void *context);
    void *context;
    double median_ns; /* of one run: the answer */
} alternative;

/* Takes about `seconds` for each alternative. 1, or 0 without memory. */
int time_alternatives(alternative *alternatives, int n, double seconds);

#endif
