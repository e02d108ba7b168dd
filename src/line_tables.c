/* Bias lines: their checks where they are made, windows, and what is looked up in tables. */
#include "line.h"

#include "scores.h"
#include "view.h"

/* ---- Checks ---- */

static const posenc_offsets no_offsets = {1, 0};

posenc_status posenc_check_whole_line(const posenc_line *line, int64_t *n_heads) {
    if (line == NULL)
        return POSENC_ERR_NULL;
    if (line->n_heads < 1 || line->n_heads > POSENC_MAX_HEADS)
        return POSENC_ERR_N_HEADS;
    if (line->stride < 0 || line->stride > POSENC_LIMIT / line->n_heads)
        return POSENC_ERR_STRIDE;
    *n_heads = line->stride == 0 ? 1 : line->n_heads;
    return posenc_check_line(line, line->n_heads, no_offsets);
}

posenc_status posenc_check_whole_index(const posenc_index_line *index, int64_t n_rows) {
    return index == NULL ? POSENC_ERR_NULL : posenc_check_index_line(index, n_rows, no_offsets);
}

posenc_status posenc_check_index_entries(const posenc_index_line *index, int64_t first, int64_t n) {
    if (n == 0)
        return POSENC_OK;
    if (first < index->first || first + n > index->first + index->n_offsets)
        return POSENC_ERR_OFFSETS;
    for (int64_t t = first - index->first; t < first - index->first + n; t++)
        if (index->data[t] < 0 || index->data[t] >= index->n_rows)
            return POSENC_ERR_ROWS;
    return POSENC_OK;
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
    if (numbers == NULL)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(numbers, 4))
        return POSENC_ERR_STRIDE;
    for (int64_t i = 0; i < n; i++)
        if (!((double)numbers[i] >= low && (double)numbers[i] <= high))
            return POSENC_ERR_SCALE;
    return POSENC_OK;
}

/* ---- Windows ---- */

posenc_status posenc_line_mask(posenc_mask mask, const posenc_line *line) {
    int64_t n_heads;
    posenc_status status = posenc_check_mask(&mask);
    if (status == POSENC_OK && (mask.chunk != 0 || mask.n_first != 0))
        status = POSENC_ERR_MASK;
    if (status == POSENC_OK)
        status = posenc_check_whole_line(line, &n_heads);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t t = 0; t < line->n_offsets; t++) {
            int64_t offset = line->first + t;
            if ((mask.before >= 0 && offset < -mask.before) || (mask.after >= 0 && offset > mask.after))
                posenc_line_of_head(line, h)[t] = -INFINITY;
        }
    return POSENC_OK;
}

/* ---- Tables ---- */

posenc_status posenc_index_clipped(int64_t k, const posenc_index_line *index) {
    if (k < 0 || k > (int64_t)1 << 29)
        return POSENC_ERR_BUCKETS;
    posenc_status status = posenc_check_whole_index(index, 2 * k + 1);
    if (status != POSENC_OK)
        return status;
    for (int64_t t = 0; t < index->n_offsets; t++) {
        int64_t offset = index->first + t;
        index->data[t] = (int32_t)(offset < -k ? 0 : offset > k ? 2 * k : offset + k);
    }
    return POSENC_OK;
}

posenc_status posenc_line_gather(const posenc_index_line *index, const posenc_bias_table *table, float scale,
                                 const posenc_line *line) {
    int64_t n_heads;
    if (!isfinite(scale))
        return POSENC_ERR_SCALE;
    posenc_status status = posenc_check_whole_line(line, &n_heads);
    if (status == POSENC_OK)
        status = posenc_check_bias_table(table, n_heads, 0);
    if (status == POSENC_OK)
        status = posenc_check_whole_index(index, table->n_rows);
    if (status == POSENC_OK)
        status = posenc_check_index_entries(index, line->first, line->n_offsets);
    if (status != POSENC_OK || line->n_offsets == 0)
        return status;
    const int32_t *rows = index->data + (line->first - index->first);
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t t = 0; t < line->n_offsets; t++)
            posenc_line_of_head(line, h)[t] = *posenc_table_at(table, rows[t], h) * scale;
    return POSENC_OK;
}
