/* SPDX-License-Identifier: MIT */
/* Shared by test_relative and test_relative_grad: random shapes, tensors and relative indices. */
#ifndef TRUTH_RELATIVE_H
#define TRUTH_RELATIVE_H

#include "truth.h"
#include "truth_view.h"

enum { TRUTH_MAX_OFFSETS = 8192 };

/* Extents of a call, and a relative index over exactly the offsets that it may see. */
typedef struct truth_shape {
    int64_t dim, n_q, n_k, n_heads, n_batch, query_start;
    posenc_mask mask;
    posenc_rel_index_rule rule;
    posenc_rel_index index;
    int32_t index_data[TRUTH_MAX_OFFSETS];
} truth_shape;

/* Small extents, with a causal or symmetric mask or none; the queries come last, mostly. */
void truth_shape_random(truth_shape *shape, int64_t most_keys);

/* Fills the relative index with the rule's rows. */
void truth_shape_set_rule(truth_shape *shape, posenc_rel_index_rule rule);

int truth_is_visible(const truth_shape *shape, int64_t query, int64_t key);

/* Row of the table for a key, as the line has it. */
int64_t truth_row(const truth_shape *shape, int64_t query, int64_t key);

/* Numbers of the type, even over [-size, size), strides at random. */
truth_tensor truth_numbers(posenc_dtype type, double size, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);

#endif
