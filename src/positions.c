/* Arrays of positions. */
#include <posenc/rope.h>

#include "view.h"

posenc_status posenc_positions_range(int32_t start, int64_t n, int32_t *positions) {
    if (n < 0)
        return POSENC_ERR_SHAPE;
    if (n > 0 && n - 1 > (int64_t)INT32_MAX - start)
        return POSENC_ERR_POSITION;
    if (n > 0 && positions == NULL)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(positions, 4))
        return POSENC_ERR_STRIDE;
    for (int64_t t = 0; t < n; t++)
        positions[t] = (int32_t)(start + t);
    return POSENC_OK;
}

static posenc_status check_packed(const int32_t *cu_seqlens, const int32_t *starts, int64_t n_sequences) {
    if (cu_seqlens[0] != 0)
        return POSENC_ERR_SHAPE;
    for (int64_t s = 0; s < n_sequences; s++) {
        int64_t length = (int64_t)cu_seqlens[s + 1] - cu_seqlens[s], start = starts != NULL ? starts[s] : 0;
        if (length < 0)
            return POSENC_ERR_SHAPE;
        if (length > 0 && start + length - 1 > INT32_MAX)
            return POSENC_ERR_POSITION;
    }
    return POSENC_OK;
}

posenc_status posenc_positions_packed(const int32_t *cu_seqlens, const int32_t *starts, int64_t n_sequences,
                                      int32_t *positions) {
    if (n_sequences < 0)
        return POSENC_ERR_SHAPE;
    if (n_sequences == 0)
        return POSENC_OK;
    if (cu_seqlens == NULL)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(cu_seqlens, 4))
        return POSENC_ERR_STRIDE;
    if (positions == NULL && cu_seqlens[n_sequences] > 0)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(starts, 4) || !posenc_is_aligned(positions, 4))
        return POSENC_ERR_STRIDE;
    posenc_status status = check_packed(cu_seqlens, starts, n_sequences);
    if (status != POSENC_OK)
        return status;
    for (int64_t s = 0; s < n_sequences; s++)
        for (int32_t t = cu_seqlens[s]; t < cu_seqlens[s + 1]; t++)
            positions[t] = (starts != NULL ? starts[s] : 0) + (t - cu_seqlens[s]);
    return POSENC_OK;
}
