/* SPDX-License-Identifier: MIT */
/* Arrays of positions. */
#include <posenc/angles.h>

#include "core/view.h"

posenc_status posenc_positions_range(int32_t start, int64_t n, int32_t *positions) {
    if (n < 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (n > 0 && n - 1 > (int64_t)INT32_MAX - start)
        return posenc_refused(POSENC_ERR_POSITION);
    if (n > 0 && positions == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(positions, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t t = 0; t < n; t++)
        positions[t] = (int32_t)(start + t);
    return POSENC_OK;
}

static posenc_status check_packed(const int32_t *cu_seqlens, const int32_t *starts, int64_t n_sequences) {
    if (cu_seqlens[0] != 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    for (int64_t s = 0; s < n_sequences; s++) {
        int64_t length = (int64_t)cu_seqlens[s + 1] - cu_seqlens[s], start = starts != NULL ? starts[s] : 0;
        if (length < 0)
            return posenc_refused(POSENC_ERR_SHAPE);
        if (length > 0 && start + length - 1 > INT32_MAX)
            return posenc_refused(POSENC_ERR_POSITION);
    }
    return POSENC_OK;
}

posenc_status posenc_positions_packed(const int32_t *cu_seqlens, const int32_t *starts, int64_t n_sequences,
                                      int32_t *positions) {
    if (n_sequences < 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (n_sequences == 0)
        return POSENC_OK;
    if (cu_seqlens == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(cu_seqlens, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    if (positions == NULL && cu_seqlens[n_sequences] > 0)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(starts, 4) || !posenc_is_aligned(positions, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    posenc_status status = check_packed(cu_seqlens, starts, n_sequences);
    if (status != POSENC_OK)
        return status;
    for (int64_t s = 0; s < n_sequences; s++)
        for (int32_t t = cu_seqlens[s]; t < cu_seqlens[s + 1]; t++)
            positions[t] = (starts != NULL ? starts[s] : 0) + (t - cu_seqlens[s]);
    return POSENC_OK;
}

/* ---- Masks, documents, grids ---- */

/* Positions start .. start + n - 1 are int32. */
static int fits(int32_t start, int64_t n) {
    return n - 1 <= (int64_t)INT32_MAX - start;
}

static posenc_status check_masked(const uint8_t *mask, int64_t n_tokens, int64_t n_batch, int32_t start,
                                  const int32_t *positions) {
    if (n_tokens < 0 || n_batch < 0 || posenc_leaves_limit(n_tokens, n_batch))
        return posenc_refused(POSENC_ERR_SHAPE);
    int64_t count = n_tokens * n_batch;
    if (count > 0 && (mask == NULL || positions == NULL))
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(positions, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    if (count == 0 || fits(start, n_tokens))
        return POSENC_OK;
    for (int64_t b = 0; b < n_batch; b++) { /* only real tokens need positions */
        int64_t n = 0;
        for (int64_t t = 0; t < n_tokens; t++)
            n += mask[b * n_tokens + t] != 0;
        if (!fits(start, n))
            return posenc_refused(POSENC_ERR_POSITION);
    }
    return POSENC_OK;
}

posenc_status posenc_positions_masked(const uint8_t *mask, int64_t n_tokens, int64_t n_batch, int32_t start,
                                      int32_t pad_value, int32_t *positions) {
    posenc_status status = check_masked(mask, n_tokens, n_batch, start, positions);
    if (status != POSENC_OK || n_tokens == 0)
        return status;
    for (int64_t b = 0; b < n_batch; b++) {
        int64_t next = start;
        for (int64_t t = 0; t < n_tokens; t++)
            positions[b * n_tokens + t] = mask[b * n_tokens + t] != 0 ? (int32_t)next++ : pad_value;
    }
    return POSENC_OK;
}

posenc_status posenc_positions_documents(const int32_t *document, int64_t n_tokens, int32_t *positions) {
    if (n_tokens < 0 || n_tokens > INT32_MAX)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (n_tokens > 0 && (document == NULL || positions == NULL))
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(document, 4) || !posenc_is_aligned(positions, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t t = 0; t < n_tokens; t++)
        positions[t] = t > 0 && document[t] == document[t - 1] ? positions[t - 1] + 1 : 0;
    return POSENC_OK;
}

posenc_status posenc_positions_grid(const int64_t *sizes, int n_axes, int32_t *planes) {
    if (n_axes < 1 || n_axes > 4)
        return posenc_refused(POSENC_ERR_SECTIONS);
    if (sizes == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(sizes, 8) || !posenc_is_aligned(planes, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    int64_t n = 1;
    for (int axis = 0; axis < n_axes; axis++) {
        if (sizes[axis] < 0 || sizes[axis] > INT32_MAX)
            return posenc_refused(POSENC_ERR_SHAPE);
        n = sizes[axis] == 0 ? 0 : n;
    }
    for (int axis = 0; axis < n_axes; axis++) {
        if (n * sizes[axis] > INT32_MAX)
            return posenc_refused(POSENC_ERR_SHAPE);
        n *= sizes[axis];
    }
    if (n > 0 && planes == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    int64_t inner = n; /* tokens from one step of an axis to the next, times its size */
    for (int axis = 0; axis < n_axes && n > 0; axis++) {
        int64_t step = inner / sizes[axis];
        for (int64_t t = 0; t < n; t++)
            planes[axis * n + t] = (int32_t)(t % inner / step);
        inner = step;
    }
    return POSENC_OK;
}
