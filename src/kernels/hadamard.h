/* SPDX-License-Identifier: MIT */
/* Arguments of hadamard_rows. */
#ifndef POSENC_KERNELS_HADAMARD_H
#define POSENC_KERNELS_HADAMARD_H

#include <stddef.h>

/* Multiplies each `size` channels of rows of n, in place, by a Hadamard matrix times factor. For the distances 1, 2 ..
 * size / 2, of the channels i and i + distance, where i has a multiple of 2 distance below it, the first becomes their
 * sum and the second first - second; then each is multiplied by factor. Every operation is rounded. size is a power of
 * two from 2 on that divides n. */
typedef struct posenc_hadamard_args {
    float *x;
    ptrdiff_t stride; /* from row to row, in floats */
    float factor;
    size_t size, n, n_rows;
} posenc_hadamard_args;

#endif
