/* SPDX-License-Identifier: MIT */
/* Formats of blocks and the Hadamard transform without the library: ggml's reference from its formulas
 * (docs/numerics.md), one float32 operation after the other. */
#ifndef TRUTH_BLOCKS_H
#define TRUTH_BLOCKS_H

#include "truth.h"

enum { TRUTH_BLOCK = 32 };

/* Bytes of a block; 0 for a type without blocks. */
size_t truth_block_bytes(posenc_dtype type);

/* Bytes of a block before its integers: 4 in a format with offsets, otherwise 2. */
size_t truth_block_header(posenc_dtype type);

static inline int truth_is_blocks(posenc_dtype type) {
    return truth_block_bytes(type) != 0;
}

/* Size of its largest integer. */
double truth_block_most(posenc_dtype type);

/* Stated error of the values that a block of x holds, all finite, or -1 where its scale may be infinite. */
double truth_block_error(const float *x, posenc_dtype type);

/* Integer of channel i of a row of blocks, without the offset. */
int truth_block_number(const void *row, int64_t i, posenc_dtype type);

/* n channels, a multiple of the block's, into blocks at y. */
void truth_quantise(const float *x, int64_t n, posenc_dtype type, void *y);

/* Channel i of a row of blocks. */
double truth_read_block(const void *row, int64_t i, posenc_dtype type);

/* Each `size` of n channels, in float32. */
void truth_transform(float *x, int64_t n, int64_t size);

#endif
