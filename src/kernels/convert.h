/* SPDX-License-Identifier: MIT */
/* Arguments of convert_rows and quantise_rows. */
#ifndef POSENC_KERNELS_CONVERT_H
#define POSENC_KERNELS_CONVERT_H

#include <stddef.h>

#include <posenc/types.h>

/* Copies n channels of every head of one token, times factor; with head_factors, also as a norm does, see
 * posenc_rope_args. Without head_factors x may be of a cache type where y is float32, and y may be an 8-bit float where
 * x is float32, f16 or bf16. */
typedef struct posenc_convert_args {
    const void *x;
    void *y;
    posenc_dtype x_type, y_type;
    ptrdiff_t x_stride, y_stride, y_ahead;
    float factor;
    const float *weight, *head_factors; /* both or neither */
    size_t n, n_heads;
} posenc_convert_args;

/* Quantises n channels of every head of one token, a multiple of POSENC_QUANT_BLOCK, into blocks of a format, as
 * docs/numerics.md describes. x is float32, f16 or bf16, and y overlaps nothing. */
typedef struct posenc_quantise_args {
    const void *x;
    void *y;
    posenc_dtype x_type, y_type;
    ptrdiff_t x_stride, y_stride;
    size_t n, n_heads;
} posenc_quantise_args;

#endif
