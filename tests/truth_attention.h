/* SPDX-License-Identifier: MIT */
/* A random call of attention: a scene for the softmax path, and tensors that fit it. */
#ifndef TRUTH_ATTENTION_H
#define TRUTH_ATTENTION_H

#include "truth_scene.h"

extern scene s;
extern truth_tensor q, k, v, out;
extern void *scratch; /* of the size that is asked for */

/* Values are below this in size. */
#define LARGEST_V 2.0

/* Drawn anew, and freed. */
void open_attention(int64_t n_k);
void open_attention_of(int64_t n_k, int64_t head_dim, int64_t v_dim);
void close_attention(void);

/* posenc_attention in one call. */
void attend(const posenc_view *to);

#endif
