/* SPDX-License-Identifier: MIT */
#include "timing.h"

#include <stdlib.h>
#include <time.h>

/* A sample lasts at least this long, far above the resolution of the clock. */
#define SHORTEST_SAMPLE_NS 20e3

/* Beyond this a sample of each is one: the scalar attention of a prompt takes seconds. */
#define LONG_ROUND_NS 200e6

enum { FEWEST_SAMPLES = 3, MOST_SAMPLES = 501 };

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_runs(const alternative *a, long n_runs) {
    double start = now_ns();
    for (long i = 0; i < n_runs; i++)
        a->run(a->context);
    return now_ns() - start;
}

/* Number of runs in a sample; *ns: their time. */
static long runs_per_sample(const alternative *a, double *ns) {
    long n_runs = 1;
    while ((*ns = time_runs(a, n_runs)) < SHORTEST_SAMPLE_NS)
        n_runs *= 2;
    return n_runs;
}

static int count_samples(double round_ns, int n, double seconds) {
    int n_samples = round_ns < LONG_ROUND_NS ? FEWEST_SAMPLES : 1;
    while (n_samples < MOST_SAMPLES && n_samples * round_ns < n * seconds * 1e9)
        n_samples++;
    return n_samples;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int time_alternatives(alternative *alternatives, int n, double seconds) {
    long *n_runs = malloc((size_t)n * sizeof *n_runs);
    double *samples = malloc((size_t)n * MOST_SAMPLES * sizeof *samples);
    int ready = n_runs != NULL && samples != NULL;
    double round_ns = 0.0;
    for (int i = 0; ready && i < n; i++) {
        double ns;
        n_runs[i] = runs_per_sample(&alternatives[i], &ns);
        round_ns += ns;
    }
    int n_samples = count_samples(round_ns, n, seconds);
    for (int s = 0; ready && s < n_samples; s++)
        for (int i = 0; i < n; i++)
            samples[i * MOST_SAMPLES + s] = time_runs(&alternatives[i], n_runs[i]) / (double)n_runs[i];
    for (int i = 0; ready && i < n; i++) {
        double *own = samples + i * MOST_SAMPLES;
        qsort(own, (size_t)n_samples, sizeof *own, ascending);
        alternatives[i].median_ns = own[n_samples / 2];
    }
    free(samples);
    free(n_runs);
    return ready;
}
