/* SPDX-License-Identifier: MIT */
/* Arguments of the rotations: rope_half, rope_interleaved, rope_deinterleave, rope_channels. */
#ifndef POSENC_KERNELS_ROPE_H
#define POSENC_KERNELS_ROPE_H

#include <stddef.h>

#include <posenc/types.h>

/* Rotates n pairs of every head of one token. x and y point at the first pair of head 0; strides in bytes. Pair i is
 * channels i and i + half for rope_half, 2i and 2i + 1 for rope_interleaved; rope_deinterleave reads the latter and
 * writes the former, and is not for use in place. The rows are multiplied by the factors first: the inverse has a
 * negative one.
 *
 * With head_factors, head h is multiplied by head_factors[h] before it is rotated, and every channel by its weight: a
 * norm. The weights, laid out as x is, are multiplied into the rows, so that they cost nothing per head.
 *
 * With y_ahead, the bytes that far from each head's output are prefetched: they will be written soon. */
typedef struct posenc_rope_args {
    const void *x;
    void *y;
    posenc_dtype x_type, y_type;
    ptrdiff_t x_stride, y_stride, y_ahead;
    const float *cos_row, *sin_row;
    float cos_factor, sin_factor;
    const float *weight, *head_factors; /* both or neither; floats */
    size_t half;
    size_t n, n_heads;
} posenc_rope_args;

/* Rotates as above by rows that have a value for each channel, laid out as x is: the first channel of a pair becomes
 * x0 cos0 - x1 sin0, the second x1 cos1 + x0 sin1. is_transposed: sin0 and sin1 are exchanged. */
typedef struct posenc_rope_channels_args {
    posenc_rope_args rope;
    int is_interleaved; /* pairs 2i and 2i + 1; 0: i and i + half */
    int is_transposed;
} posenc_rope_channels_args;

#endif
