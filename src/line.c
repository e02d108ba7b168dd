/* Bias lines: which offsets a call meets, and what their memory must be. */
#include <posenc/line.h>

#include "scores.h"
#include "view.h"

#define FIRST_OFFSET (-((int64_t)1 << 31) + 1)
#define LAST_OFFSET (((int64_t)1 << 31) - 1)

static posenc_status check_range(const void *data, int64_t first, int64_t n_offsets, posenc_offsets offsets) {
    if (data == NULL)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(data, 4))
        return POSENC_ERR_STRIDE;
    if (first < FIRST_OFFSET || n_offsets < 0 || n_offsets > LAST_OFFSET - first + 1)
        return POSENC_ERR_OFFSETS;
    if (offsets.lowest <= offsets.highest && (offsets.lowest < first || offsets.highest >= first + n_offsets))
        return POSENC_ERR_OFFSETS;
    return POSENC_OK;
}

posenc_status posenc_check_line(const posenc_line *line, int64_t n_heads, posenc_offsets offsets) {
    if (line == NULL)
        return POSENC_OK;
    if (line->stride != 0 && line->n_heads != n_heads)
        return POSENC_ERR_N_HEADS;
    if (line->stride != 0 && line->stride < line->n_offsets)
        return POSENC_ERR_STRIDE;
    if (line->is_extended && line->n_offsets < 1)
        return POSENC_ERR_OFFSETS;
    if (line->is_extended)
        offsets = (posenc_offsets){1, 0}; /* all are covered */
    return check_range(line->data, line->first, line->n_offsets, offsets);
}

posenc_status posenc_check_index_line(const posenc_index_line *line, int64_t n_rows, posenc_offsets offsets) {
    if (line->n_rows != n_rows)
        return POSENC_ERR_SHAPE;
    return check_range(line->data, line->first, line->n_offsets, offsets);
}

posenc_status posenc_line_range(posenc_mask mask, int64_t q_off, int64_t n_q, int64_t n_k, int64_t *first,
                                int64_t *n_offsets) {
    if (first == NULL || n_offsets == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_mask(&mask);
    if (status != POSENC_OK)
        return status;
    if (n_q < 0 || n_q > POSENC_MAX_KEYS || n_k < 0 || n_k > POSENC_MAX_KEYS)
        return POSENC_ERR_SHAPE;
    if (q_off < -POSENC_MAX_KEYS || q_off > POSENC_MAX_KEYS - n_q)
        return POSENC_ERR_POSITION;
    posenc_offsets seen = posenc_offsets_seen(&mask, (posenc_offsets){-(q_off + n_q - 1), n_k - 1 - q_off});
    *first = seen.lowest;
    *n_offsets = n_q == 0 || n_k == 0 || seen.highest < seen.lowest ? 0 : seen.highest - seen.lowest + 1;
    return POSENC_OK;
}
