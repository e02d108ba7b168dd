/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define QUIET_SECONDS 1.0
#define SECONDS_BETWEEN 0.1

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress(const char *what, double done) {
    static double started, shown; /* 0: not yet */
    if (!isatty(STDERR_FILENO))
        return;
    double time = now();
    if (started == 0.0)
        started = time;
    if (done >= 1.0) {
        if (shown > 0.0)
            fprintf(stderr, "\r\033[K");
        started = shown = 0.0;
    } else if (time - started >= QUIET_SECONDS && time - shown >= SECONDS_BETWEEN) {
        fprintf(stderr, "\r%s: %2.0f %%", what, 100.0 * done);
        shown = time;
    }
}
