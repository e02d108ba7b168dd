/* SPDX-License-Identifier: MIT */
/* RoPE on the heads of some tokens, described by tasks: what races of public calls share. */
#ifndef POSENC_BENCH_HEADS_H
#define POSENC_BENCH_HEADS_H

#include <posenc/rope.h>

#include "bench.h"

/* Races put it first in a struct of their own, or use it as it is. */
typedef struct heads_job {
    bench_job base;
    posenc_rope_params params;
    posenc_rope *rope;
    int64_t n_tokens;
    int ready;               /* rows are there; otherwise calls make them */
    int32_t *positions;      /* planes */
    posenc_rope_table table; /* the rows if they are ready, and where the plain loop makes its own if not */
    float *inv_freq;         /* what the plain loop starts from */
    posenc_rope_tensor tasks[3];
    int n_tasks;
    posenc_view inputs[3];
    int n_inputs;
} heads_job;

/* Makes the rope, and room for positions and rows. One axis, or MROPE sections. */
void heads_open(heads_job *job, const posenc_rope_params *params, int64_t n_tokens, int ready);

/* Dense heads of all tokens: to be filled, and to be written only. */
posenc_view heads_input(heads_job *job, posenc_dtype type, int64_t n_heads);
posenc_view heads_output(heads_job *job, posenc_dtype type, int64_t n_heads);

/* Adds a task: its channels to the elements, its bytes, its output to the compared outputs. */
void heads_add(heads_job *job, const posenc_rope_tensor *task);

/* Tasks: one rotates x into y, one only copies and scales. */
posenc_rope_tensor heads_rotation(const posenc_view *x, const posenc_view *y);
posenc_rope_tensor heads_transfer(const posenc_view *x, const posenc_view *y);

/* Calls of a race: fill inputs, positions and rows; work through the tasks. */
bench_call heads_fill, heads_plain, heads_limit, heads_close;

/* The part of heads_fill that is not the rows. */
bench_call heads_fill_input;

#endif
