/* SPDX-License-Identifier: MIT */
/* One call of fused attention, in every way that it may be made, and in double. out is dense float32; no batch. */
#ifndef TRUTH_WAYS_H
#define TRUTH_WAYS_H

#include "truth_view.h"

typedef struct truth_ways {
    posenc_score_params params;
    posenc_attention_args args;
    float *first; /* a result to compare with */
    void *scratch;
} truth_ways;

/* Gives it scratch; args has its tensors by now, and params is what it names. */
void truth_ways_open(truth_ways *call);
void truth_ways_close(truth_ways *call);

void truth_attend(const truth_ways *call);

/* Checks that every tier has scalar's result: at once, in pages of a random size at random places, its keys in
 * partitions that are combined, and each query alone over the keys that were there by then, as in decoding. */
void truth_ways_check(truth_ways *call);

/* Takes out as the result to compare with; and compares. */
void truth_ways_keep(truth_ways *call);
void truth_ways_same(const truth_ways *call, const char *what);

/* The row of query i and head h in double, causal or in a window, of the numbers that q, k and v hold; the result is
 * the largest size of the values that it sees. */
double truth_ways_row(const truth_ways *call, int64_t i, int64_t h, double *row);

#endif
