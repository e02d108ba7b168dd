/* SPDX-License-Identifier: MIT */
/* The calls on data of which test_stack.c measures the stack. */
#ifndef TRUTH_STACK_H
#define TRUTH_STACK_H

#include "truth.h"

enum { DIM = 256, HEADS = 4, TOKENS = 40, KEYS = 600 };

/* Calls of one function: as many as it has ways that differ in what they keep on the stack. */
typedef struct stack_call {
    const char *function, *form;
    posenc_status (*call)(void);
} stack_call;

extern const stack_call encoding_calls[], rel_bias_calls[], score_calls[];
extern const size_t n_encoding_calls, n_rel_bias_calls, n_score_calls;

void set_up_encodings(void);
void tear_down_encodings(void);
void set_up_rel_bias(void);
void set_up_scores(void);
void tear_down_scores(void);

/* Memory that calls read and write. */
extern float x[DIM * KEYS], y[DIM * KEYS], z[DIM * KEYS];
extern int32_t positions[4 * KEYS]; /* four planes of 0, 1, 2 .. */

posenc_view dense(float *data, int64_t n1, int64_t n2); /* rows of DIM */

#endif
