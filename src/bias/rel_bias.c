/* SPDX-License-Identifier: MIT */
/* Relative biases: their checks, which offsets a call meets, and windows. */
#include "bias/rel_bias.h"

#include "core/minmax.h"
#include "core/view.h"

#define FIRST_OFFSET (-((int64_t)1 << 31) + 1)
#define LAST_OFFSET (((int64_t)1 << 31) - 1)

/* ---- Checks ---- */

static const posenc_offsets no_offsets = {1, 0};

static posenc_status check_range(const void *data, int64_t first, int64_t n_offsets, posenc_offsets offsets) {
    if (data == NULL && n_offsets != 0)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(data, 4))
        return POSENC_ERR_STRIDE;
    /* Kernels count the offsets of a relative bias in int32. */
    if (first < FIRST_OFFSET || n_offsets < 0 || n_offsets > INT32_MAX || n_offsets > LAST_OFFSET - first + 1)
        return POSENC_ERR_OFFSETS;
    if (offsets.lowest <= offsets.highest && (offsets.lowest < first || offsets.highest >= first + n_offsets))
        return POSENC_ERR_OFFSETS;
    return POSENC_OK;
}

posenc_status posenc_check_rel_bias(const posenc_rel_bias *rel_bias, int64_t n_heads, posenc_offsets offsets) {
    if (rel_bias == NULL)
        return POSENC_OK;
    if (rel_bias->stride != 0 && rel_bias->n_heads != n_heads)
        return POSENC_ERR_N_HEADS;
    if (rel_bias->stride != 0 &&
        (rel_bias->stride < rel_bias->n_offsets || rel_bias->stride > POSENC_LIMIT / posenc_max(n_heads, 1)))
        return POSENC_ERR_STRIDE;
    if (rel_bias->is_clamped && rel_bias->n_offsets < 1)
        return POSENC_ERR_OFFSETS;
    if (rel_bias->is_clamped)
        offsets = no_offsets; /* all are covered */
    return check_range(rel_bias->data, rel_bias->first, rel_bias->n_offsets, offsets);
}

posenc_status posenc_check_rel_index(const posenc_rel_index *rel_bias, int64_t n_rows, posenc_offsets offsets) {
    if (rel_bias->n_rows != n_rows)
        return POSENC_ERR_SHAPE;
    posenc_status status = check_range(rel_bias->data, rel_bias->first, rel_bias->n_offsets, offsets);
    if (status != POSENC_OK || offsets.lowest > offsets.highest)
        return status;
    return posenc_check_index_entries(rel_bias, offsets.lowest, offsets.highest - offsets.lowest + 1);
}

posenc_status posenc_check_whole_rel_bias(const posenc_rel_bias *rel_bias, int64_t *n_heads) {
    if (rel_bias == NULL)
        return POSENC_ERR_NULL;
    if (rel_bias->n_heads < 1 || rel_bias->n_heads > POSENC_MAX_HEADS)
        return POSENC_ERR_N_HEADS;
    *n_heads = rel_bias->stride == 0 ? 1 : rel_bias->n_heads;
    return posenc_check_rel_bias(rel_bias, rel_bias->n_heads, no_offsets);
}

posenc_status posenc_check_whole_index(const posenc_rel_index *index, int64_t n_rows) {
    return index == NULL ? POSENC_ERR_NULL : posenc_check_rel_index(index, n_rows, no_offsets);
}

posenc_status posenc_check_index_entries(const posenc_rel_index *index, int64_t first, int64_t n) {
    if (n == 0)
        return POSENC_OK;
    if (first < index->first || first + n > index->first + index->n_offsets)
        return POSENC_ERR_OFFSETS;
    /* Whole vectors at a time: every call on scores looks at all of them. */
    const int32_t *rows = index->data + (first - index->first);
    int32_t last = (int32_t)(posenc_min(posenc_max(index->n_rows, 0), (int64_t)1 << 31) - 1), is_outside = 0;
    for (int64_t t = 0; t < n; t++)
        is_outside |= (rows[t] < 0) | (rows[t] > last);
    return is_outside ? POSENC_ERR_ROWS : POSENC_OK;
}

posenc_status posenc_check_bias_table(const posenc_bias_table *table, int64_t n_heads, int is_written) {
    const int64_t limit = POSENC_LIMIT / 4;
    if (table == NULL)
        return POSENC_ERR_NULL;
    if (table->n_rows > INT32_MAX || table->n_heads != n_heads)
        return POSENC_ERR_SHAPE;
    if (table->row_stride < -limit || table->row_stride > limit || table->head_stride < -limit ||
        table->head_stride > limit)
        return POSENC_ERR_STRIDE;
    posenc_view view = {
        table->data, POSENC_F32, {1, table->n_rows, n_heads, 1}, {4, 4 * table->row_stride, 4 * table->head_stride, 4}};
    return is_written ? posenc_check_output(&view) : posenc_check_input(&view);
}

posenc_status posenc_check_numbers(const float *numbers, int64_t n, double low, double high) {
    posenc_status status = posenc_check_array(numbers, 4);
    if (status != POSENC_OK)
        return status;
    for (int64_t i = 0; i < n; i++)
        if (!((double)numbers[i] >= low && (double)numbers[i] <= high))
            return POSENC_ERR_SCALE;
    return POSENC_OK;
}

/* ---- Ranges and windows ---- */

posenc_status posenc_rel_bias_range(posenc_mask mask, int64_t query_start, int64_t n_q, int64_t n_k, int64_t *first,
                                    int64_t *n_offsets) {
    if (first == NULL || n_offsets == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_mask(&mask);
    if (status == POSENC_OK)
        status = posenc_align_queries(&query_start, n_q, n_k);
    if (status != POSENC_OK)
        return status;
    posenc_offsets queries = {query_start, query_start + n_q - 1}, keys = {0, n_k - 1};
    posenc_offsets visible = posenc_offsets_visible(&mask, queries, keys);
    *first = visible.lowest;
    *n_offsets = posenc_max(visible.highest - visible.lowest + 1, 0);
    return POSENC_OK;
}

/* 1 if the mask treats all offsets beyond the ends of a clamped bias like the ends. */
static int ends_speak(const posenc_rel_bias *rel_bias, posenc_offsets visible) {
    int64_t first = rel_bias->first, last = first + rel_bias->n_offsets - 1;
    int low = first < visible.lowest || (visible.lowest == -POSENC_ANY_OFFSET && first <= visible.highest);
    int high = last > visible.highest || (visible.highest == POSENC_ANY_OFFSET && last >= visible.lowest);
    return rel_bias->n_offsets == 0 || (low && high);
}

posenc_status posenc_rel_bias_mask(posenc_mask mask, const posenc_rel_bias *rel_bias) {
    int64_t n_heads;
    posenc_status status = posenc_check_mask(&mask);
    if (status == POSENC_OK && (mask.chunk != 0 || mask.n_first != 0))
        status = POSENC_ERR_MASK;
    if (status == POSENC_OK)
        status = posenc_check_whole_rel_bias(rel_bias, &n_heads);
    if (status != POSENC_OK)
        return status;
    posenc_offsets visible = posenc_offsets_at(&mask, 0); /* without a chunk the same anywhere */
    if (rel_bias->is_clamped && !ends_speak(rel_bias, visible))
        return POSENC_ERR_OFFSETS;
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t t = 0; t < rel_bias->n_offsets; t++)
            if (rel_bias->first + t < visible.lowest || rel_bias->first + t > visible.highest)
                posenc_rel_bias_of_head(rel_bias, h)[t] = -INFINITY;
    return POSENC_OK;
}
