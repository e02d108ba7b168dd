#include "scores.h"

#include <math.h>

#include "view.h"

posenc_status posenc_check_scores(const posenc_view *scores, posenc_mask mask, int64_t q_off) {
    if (mask != POSENC_MASK_NONE && mask != POSENC_MASK_CAUSAL)
        return POSENC_ERR_ENUM;
    if (scores->ne[0] > POSENC_MAX_KEYS || scores->ne[1] > POSENC_MAX_KEYS)
        return POSENC_ERR_SHAPE;
    if (q_off < -POSENC_MAX_KEYS || q_off > POSENC_MAX_KEYS - scores->ne[1])
        return POSENC_ERR_POSITION;
    return POSENC_OK;
}

posenc_status posenc_check_slopes(const float *slopes, int64_t n_heads) {
    if (!posenc_is_aligned(slopes, 4))
        return POSENC_ERR_STRIDE;
    for (int64_t h = 0; h < n_heads; h++)
        if (!isfinite(slopes[h]))
            return POSENC_ERR_SCALE;
    return POSENC_OK;
}

posenc_score_row posenc_score_row_at(const posenc_view *scores, posenc_mask mask, int64_t q_off, int64_t row) {
    int64_t n_k = scores->ne[0], n_q = scores->ne[1], n_heads = scores->ne[2];
    int64_t position = q_off + row % n_q;
    int64_t allowed = n_k;
    if (mask == POSENC_MASK_CAUSAL && position < n_k)
        allowed = position < 0 ? 0 : position + 1;
    return (posenc_score_row){
        .batch = row / n_q / n_heads,
        .head = row / n_q % n_heads,
        .query = row % n_q,
        .position = (int32_t)position,
        .n_allowed = (size_t)allowed,
    };
}
