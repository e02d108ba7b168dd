/* SPDX-License-Identifier: MIT */
/* Masks by position, and the masking of outputs. */
#include "bias/mask.h"

#include <string.h>

#include "core/minmax.h"
#include "core/view.h"

posenc_status posenc_check_mask(const posenc_mask *mask) {
    if (mask->n_first == POSENC_MASK_UNSET_FIRST)
        return POSENC_ERR_MASK_UNSET;
    const int64_t numbers[] = {mask->before, mask->after, mask->chunk, mask->n_first};
    for (int i = 0; i < 4; i++)
        if (numbers[i] > POSENC_MAX_KEYS)
            return POSENC_ERR_MASK;
    if (mask->chunk < 0 || mask->n_first < 0 || (mask->n_first > 0 && mask->chunk > 0))
        return POSENC_ERR_MASK;
    return POSENC_OK;
}

posenc_status posenc_align_queries(int64_t *query_start, int64_t n_q, int64_t n_k) {
    if (n_q < 0 || n_q > POSENC_MAX_KEYS || n_k < 0 || n_k > POSENC_MAX_KEYS)
        return POSENC_ERR_SHAPE;
    if (*query_start == POSENC_ALIGN_LAST_KEY)
        *query_start = n_k - n_q;
    return *query_start < -POSENC_MAX_KEYS || *query_start > POSENC_MAX_KEYS - n_q ? POSENC_ERR_POSITION : POSENC_OK;
}

posenc_offsets posenc_offsets_at(const posenc_mask *mask, int64_t position) {
    posenc_offsets visible = {mask->before < 0 ? -POSENC_ANY_OFFSET : -mask->before,
                              mask->after < 0 ? POSENC_ANY_OFFSET : mask->after};
    if (mask->chunk > 0) {
        int64_t inside = position % mask->chunk; /* the query's place in its chunk */
        inside += inside < 0 ? mask->chunk : 0;
        visible.lowest = posenc_max(visible.lowest, -inside);
        visible.highest = posenc_min(visible.highest, mask->chunk - 1 - inside);
    }
    return visible;
}

posenc_offsets posenc_offsets_visible(const posenc_mask *mask, posenc_offsets queries, posenc_offsets keys) {
    posenc_offsets visible = {keys.lowest - queries.highest, keys.highest - queries.lowest};
    int64_t before = mask->n_first > 0 ? -1 : mask->before, after = mask->after;
    if (mask->chunk > 0) {
        before = before < 0 ? mask->chunk - 1 : posenc_min(before, mask->chunk - 1);
        after = after < 0 ? mask->chunk - 1 : posenc_min(after, mask->chunk - 1);
    }
    if (before >= 0)
        visible.lowest = posenc_max(visible.lowest, -before);
    if (after >= 0)
        visible.highest = posenc_min(visible.highest, after);
    if (queries.lowest > queries.highest || keys.lowest > keys.highest)
        visible.highest = visible.lowest - 1;
    return visible;
}

posenc_status posenc_zero_padded(const uint8_t *keep, const posenc_view *y) {
    posenc_status status = posenc_check_output(y);
    if (status != POSENC_OK || posenc_view_count(y) == 0)
        return status;
    if (keep == NULL)
        return POSENC_ERR_NULL;
    size_t size = (size_t)(y->ne[0] * posenc_dtype_size(y->dtype)); /* 0 is all bits 0 in every type */
    for (int64_t batch = 0; batch < y->ne[3]; batch++)
        for (int64_t query = 0; query < y->ne[2]; query++)
            for (int64_t head = 0; head < y->ne[1] && !keep[batch * y->ne[2] + query]; head++)
                memset(posenc_view_at(y, head, query, batch), 0, size);
    return POSENC_OK;
}

posenc_status posenc_masked_mean(const float *losses, const uint8_t *keep, int64_t n, double *mean) {
    if (n < 0)
        return POSENC_ERR_SHAPE;
    if (mean == NULL || (n > 0 && (losses == NULL || keep == NULL)))
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(losses, 4))
        return POSENC_ERR_STRIDE;
    double sum = 0.0;
    int64_t n_kept = 0;
    for (int64_t t = 0; t < n; t++)
        if (keep[t]) {
            sum += (double)losses[t];
            n_kept++;
        }
    *mean = n_kept > 0 ? sum / (double)n_kept : 0.0;
    return POSENC_OK;
}
