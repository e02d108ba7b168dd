/* SPDX-License-Identifier: MIT */
/* Trees of draft tokens as bytes, for the part of a row that they are in. */
#ifndef POSENC_SRC_TREE_H
#define POSENC_SRC_TREE_H

#include <stddef.h>

#include <posenc/mask.h>

#include "kernels/sum.h"

posenc_status posenc_check_tree(const posenc_tree *tree, int64_t n_q, int64_t n_batch);

/* Keys begin <= j < end. */
typedef struct tree_span {
    int64_t begin, end;
} tree_span;

/* Bytes of the keys from `begin` on, counted from the first requested key: 1 for an unmasked key. bytes NULL: all keys
 * are before the tree. */
typedef struct tree_part {
    const uint8_t *bytes;
    size_t begin; /* whole lanes of the canonical sum */
} tree_part;

/* Room for the bytes of any part. */
enum { POSENC_TREE_BYTES = POSENC_MAX_TREE + POSENC_SUM_LANES };

/* Bytes for the keys of `keys` that a token of the tree sees; the keys of the tree are at `tree`. Keys behind the tree
 * are out of bounds and have no bytes. */
tree_part posenc_tree_part(const int32_t *parents, int64_t token, tree_span tree, tree_span keys, uint8_t *bytes);

#endif
