/* SPDX-License-Identifier: MIT */
/* Checks of a call of RoPE on tensors. */
#include <math.h>

#include "core/view.h"
#include "rope/rope.h"

/* Every cache row named exists. */
static posenc_status check_cache_rows(const posenc_rope_tensor *tensor, int64_t n_tokens) {
    int64_t n_rows = tensor->y.ne[2];
    for (int64_t t = 0; t < n_tokens; t++) {
        int64_t row = tensor->rows32 != NULL ? tensor->rows32[t] : tensor->rows64[t];
        if (row < 0 || row >= n_rows)
            return posenc_refuse(POSENC_ERR_ROWS, "rows: number %lld is %lld, but the cache has %lld", (long long)t,
                                 (long long)row, (long long)n_rows);
    }
    return POSENC_OK;
}

static posenc_status check_apart(const posenc_rope_tensor *tensor) {
    posenc_view x = posenc_storage_of(&tensor->x), y = posenc_storage_of(&tensor->y);
    return posenc_check_apart(&x, &y);
}

static posenc_status check_scatter(const posenc_rope_tensor *tensor) {
    if (!posenc_rope_scatters(tensor))
        return POSENC_OK;
    if (tensor->rows32 != NULL && tensor->rows64 != NULL)
        return posenc_refused(POSENC_ERR_ROWS);
    if (!posenc_is_aligned(tensor->rows32, 4) || !posenc_is_aligned(tensor->rows64, 8))
        return posenc_refused(POSENC_ERR_STRIDE);
    posenc_status status = check_cache_rows(tensor, tensor->x.ne[2]);
    return status == POSENC_OK ? check_apart(tensor) : status;
}

static posenc_status check_views(const posenc_rope_tensor *tensor) {
    int is_cache = posenc_is_cache_type(tensor->y.dtype) || posenc_rope_is_widened(tensor);
    if (!posenc_rope_scatters(tensor) && !is_cache)
        return posenc_check_elementwise(&tensor->x, &tensor->y);
    posenc_status status = posenc_argument("y", posenc_check_stored_output(&tensor->y));
    if (status == POSENC_OK)
        status = posenc_argument("x", posenc_check_stored_input(&tensor->x));
    if (status != POSENC_OK || posenc_rope_scatters(tensor))
        return status;
    if (!posenc_same_extents(&tensor->x, &tensor->y))
        return posenc_refused(POSENC_ERR_SHAPE);
    return posenc_same_view(&tensor->x, &tensor->y) ? POSENC_OK : check_apart(tensor);
}

static posenc_status check_staged(const posenc_rope *rope, const posenc_rope_tensor *tensor) {
    if (tensor->hadamard != 0 && !posenc_is_hadamard(tensor->hadamard, tensor->x.ne[0]))
        return posenc_refused(POSENC_ERR_SHAPE);
    if (!posenc_rope_is_staged(tensor) && !posenc_rope_is_widened(tensor))
        return POSENC_OK;
    if (tensor->x.ne[0] > POSENC_MAX_HEAD_DIM)
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    return tensor->rotates && rope->n_pairs > POSENC_SLICE ? posenc_refused(POSENC_ERR_N_ROT) : POSENC_OK;
}

static posenc_status check_norm(const posenc_rope *rope, const posenc_rope_tensor *tensor) {
    if (!posenc_rope_is_normed(tensor))
        return POSENC_OK;
    if (!posenc_is_aligned(tensor->weight, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    if (tensor->weight == NULL && tensor->x.ne[0] > POSENC_MAX_HEAD_DIM) /* as many ones as there are */
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    if (!(tensor->eps >= 0.0f && isfinite(tensor->eps)))
        return posenc_refused(POSENC_ERR_SCALE);
    return rope->n_pairs > POSENC_SLICE ? posenc_refused(POSENC_ERR_N_ROT) : POSENC_OK;
}

static posenc_status check_layout(const posenc_rope *rope, const posenc_rope_tensor *tensor) {
    int crosses = rope->params.layout == POSENC_ROPE_DEINTERLEAVE && tensor->rotates;
    return crosses && rope->n_pairs > 0 && tensor->x.data == tensor->y.data && posenc_view_count(&tensor->x) > 0
               ? posenc_refused(POSENC_ERR_OVERLAP)
               : POSENC_OK;
}

posenc_status posenc_check_rope_tensor(const posenc_rope *rope, const posenc_rope_tensor *tensor) {
    posenc_status status = check_views(tensor);
    if (status != POSENC_OK)
        return status;
    if (tensor->x.ne[0] != rope->params.head_dim || tensor->y.ne[0] != tensor->x.ne[0])
        return posenc_refuse(POSENC_ERR_SHAPE, "x and y: ne[0] is %lld and %lld, but the rope's head_dim is %lld",
                             (long long)tensor->x.ne[0], (long long)tensor->y.ne[0], (long long)rope->params.head_dim);
    if (tensor->y.ne[1] != tensor->x.ne[1])
        return posenc_refuse(POSENC_ERR_SHAPE, "y: ne[1] is %lld, but x's is %lld", (long long)tensor->y.ne[1],
                             (long long)tensor->x.ne[1]);
    if (!isfinite(tensor->scale) || tensor->scale == 0.0f) /* 0: forgotten */
        return posenc_refuse(POSENC_ERR_SCALE, "scale is %g, but 1, or the softmax scale, is wanted",
                             (double)tensor->scale);
    status = check_scatter(tensor);
    if (status == POSENC_OK)
        status = check_norm(rope, tensor);
    if (status == POSENC_OK)
        status = check_staged(rope, tensor);
    return status == POSENC_OK ? check_layout(rope, tensor) : status;
}
