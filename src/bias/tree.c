/* SPDX-License-Identifier: MIT */
/* Trees of draft tokens: which tokens of the tree a token sees, and its position. */
#include "bias/tree.h"

#include <string.h>

#include "bias/mask.h"
#include "core/minmax.h"
#include "core/view.h"
#include "kernels/sum.h"

/* Each follows one before it, or none. */
static posenc_status check_parents(const int32_t *parents, int64_t n) {
    for (int64_t t = 0; t < n; t++)
        if (parents[t] < -1 || parents[t] >= t)
            return posenc_refused(POSENC_ERR_MASK);
    return POSENC_OK;
}

posenc_status posenc_check_tree(const posenc_tree *tree, int64_t n_q, int64_t n_batch) {
    if (n_q > POSENC_MAX_TREE)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (n_q == 0 || n_batch == 0)
        return POSENC_OK;
    if (tree->parents == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(tree->parents, 4) ||
        posenc_leaves_limit(tree->batch_stride, n_batch * (int64_t)sizeof *tree->parents))
        return posenc_refused(POSENC_ERR_STRIDE);
    posenc_status status = POSENC_OK;
    for (int64_t b = 0; b < (tree->batch_stride == 0 ? 1 : n_batch) && status == POSENC_OK; b++)
        status = check_parents(tree->parents + b * tree->batch_stride, n_q);
    return status;
}

tree_part posenc_tree_part(const int32_t *parents, int64_t token, tree_span tree, tree_span keys, uint8_t *bytes) {
    int64_t begin = posenc_max(tree.begin, keys.begin), end = posenc_min(tree.end, keys.end);
    if (begin >= end)
        return (tree_part){NULL, 0};
    begin -= (begin - keys.begin) % POSENC_SUM_LANES;
    for (int64_t j = begin; j < end; j++)
        bytes[j - begin] = j < tree.begin;
    for (int64_t t = token; t >= 0; t = parents[t])
        if (tree.begin + t >= begin && tree.begin + t < end)
            bytes[tree.begin + t - begin] = 1;
    return (tree_part){bytes, (size_t)(begin - keys.begin)};
}

posenc_status posenc_tree_positions(const int32_t *parents, int64_t n, int32_t start, int32_t *positions) {
    if (n < 0 || n > POSENC_MAX_TREE)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (start <= -POSENC_MAX_KEYS || start > POSENC_MAX_KEYS - n)
        return posenc_refused(POSENC_ERR_POSITION);
    if (n > 0 && (parents == NULL || positions == NULL))
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(parents, 4) || !posenc_is_aligned(positions, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    posenc_status status = check_parents(parents, n);
    for (int64_t t = 0; t < n && status == POSENC_OK; t++)
        positions[t] = parents[t] < 0 ? start : positions[parents[t]] + 1;
    return status;
}
