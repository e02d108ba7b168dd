/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { MAX_OPERATIONS = 8 };

static const char *const reasons[N_DECLINES] = {
    [TAKEN] = "taken", [UNKNOWN_ARGUMENTS] = "unknown arguments", [TOO_SMALL] = "not worth a split",
    [TYPES] = "types", [OTHER_SHAPE] = "shape or values",         [PROBE] = "probe of -fa auto",
};

typedef struct counts {
    const char *name;
    atomic_llong asked[N_DECLINES], nodes, bytes, nanoseconds;
} counts;

static bool is_on;
static counts operations[MAX_OPERATIONS];
static size_t n_operations;
static atomic_llong n_splits, n_teams, n_threads;

void stats_begin(bool is_asked_for, const char *const *names, size_t n) {
    is_on = is_asked_for;
    n_operations = n < MAX_OPERATIONS ? n : MAX_OPERATIONS;
    for (size_t i = 0; i < n_operations; i++)
        operations[i].name = names[i];
}

void stats_asked(size_t operation, decline why) {
    if (is_on)
        operations[operation].asked[why]++;
}

double stats_now(void) {
    struct timespec now;
    if (!is_on)
        return 0.0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Bytes of a node's sources and of its result. */
static long long bytes_of(const struct ggml_tensor *node) {
    long long bytes = (long long)ggml_nbytes(node);
    for (int i = 0; i < GGML_MAX_SRC; i++)
        bytes += node->src[i] != NULL ? (long long)ggml_nbytes(node->src[i]) : 0;
    return bytes;
}

void stats_computed(size_t operation, const struct ggml_tensor *node, double begin) {
    if (!is_on)
        return;
    counts *of = &operations[operation];
    of->nodes++;
    of->bytes += bytes_of(node);
    of->nanoseconds += (long long)((stats_now() - begin) * 1e9);
}

void stats_split(void) {
    if (is_on)
        n_splits++;
}

void stats_team(int threads) {
    if (!is_on)
        return;
    n_teams++;
    n_threads += threads;
}

/* ---- The table ---- */

static void print_computed(void) {
    fprintf(stderr, "%-16s %10s %12s %12s %10s\n", "operation", "nodes", "ms", "us a node", "GB/s");
    for (size_t i = 0; i < n_operations; i++) {
        const counts *of = &operations[i];
        double nodes = (double)of->nodes, ns = (double)of->nanoseconds;
        if (nodes > 0)
            fprintf(stderr, "%-16s %10.0f %12.1f %12.1f %10.1f\n", of->name, nodes, ns * 1e-6, ns * 1e-3 / nodes,
                    (double)of->bytes / (ns + 1));
    }
}

static bool is_asked(const counts *of) {
    for (int why = 0; why < N_DECLINES; why++)
        if (of->asked[why] > 0)
            return true;
    return false;
}

static void print_asked(void) {
    fprintf(stderr, "%-16s", "ggml asked about");
    for (int why = 0; why < N_DECLINES; why++)
        fprintf(stderr, " %18s", reasons[why]);
    fputc('\n', stderr);
    for (size_t i = 0; i < n_operations; i++) {
        if (!is_asked(&operations[i]))
            continue;
        fprintf(stderr, "%-16s", operations[i].name);
        for (int why = 0; why < N_DECLINES; why++)
            fprintf(stderr, " %18lld", (long long)operations[i].asked[why]);
        fputc('\n', stderr);
    }
}

__attribute__((destructor)) static void print_all(void) {
    if (!is_on)
        return;
    long long teams = n_teams;
    fprintf(stderr, "\nposenc in ggml: %lld splits; %lld nodes shared by threads, %.1f of them on average\n",
            (long long)n_splits, teams, teams > 0 ? (double)n_threads / (double)teams : 0.0);
    print_computed();
    print_asked();
}
