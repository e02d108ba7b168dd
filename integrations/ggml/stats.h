/* SPDX-License-Identifier: MIT */
/* Counts what the plugin does, if POSENC_GGML_STATS=1, and prints a table on standard error when the process ends.
 * Thread-safe. */
#ifndef POSENC_GGML_STATS_H
#define POSENC_GGML_STATS_H

#include <ggml.h>

#include <stdbool.h>
#include <stdint.h>

/* Why a node stays with ggml. */
typedef enum decline {
    TAKEN,
    UNKNOWN_ARGUMENTS, /* arguments or sources that the plugin does not know */
    TOO_SMALL,         /* less work than a split of the graph costs */
    TYPES,             /* of a tensor */
    OTHER_SHAPE,       /* extents, strides, overlaps or values of arguments */
    PROBE,             /* llama.cpp's question whether flash attention stays on (probe.h) */
    N_DECLINES
} decline;

/* Counts from now on, if asked to; `names` are ggml's names of the n operations, which all calls below number. */
void stats_begin(bool is_asked_for, const char *const *names, size_t n);

/* Counts ggml's question about a node; ggml asks about each several times. */
void stats_asked(size_t operation, decline why);

/* Seconds of a clock that does not go back; 0 if nothing is counted. */
double stats_now(void);

/* Counts a node computed since `begin`. */
void stats_computed(size_t operation, const struct ggml_tensor *node, double begin);

/* Counts a run of nodes that ggml handed over: a split of the graph. */
void stats_split(void);

/* Counts a team of threads at work on a node; threads: those with a part of it. */
void stats_team(int threads);

#endif
