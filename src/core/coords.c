/* SPDX-License-Identifier: MIT */
/* Checks of the coordinates of tokens: arrays and values. */
#include "core/coords.h"

#include "core/view.h"

static int64_t size_of(posenc_coord_type type) {
    return type == POSENC_COORD_I32 || type == POSENC_COORD_F32 ? 4 : 8;
}

posenc_status posenc_check_coord_array(const posenc_coords *at, int n_axes, int64_t n_tokens, int64_t n_batch) {
    if (at == NULL)
        return POSENC_ERR_NULL;
    if ((unsigned)at->type > POSENC_COORD_F64)
        return POSENC_ERR_ENUM;
    if (n_tokens == 0 || n_batch == 0)
        return POSENC_OK;
    if (at->data == NULL)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(at->data, size_of(at->type)))
        return POSENC_ERR_STRIDE;
    if (at->batch_stride != 0 && posenc_leaves_limit(at->batch_stride, n_batch))
        return POSENC_ERR_STRIDE;
    if (n_axes > 1 && posenc_leaves_limit(posenc_coord_axis_stride(at, n_tokens), n_axes))
        return POSENC_ERR_STRIDE;
    return POSENC_OK;
}

static int are_positions(const posenc_coords *at, int64_t first, int64_t n) {
    int all = 1;
    if (posenc_coords_are_real(at))
        for (int64_t t = 0; t < n; t++)
            all &= posenc_is_real_position(posenc_real_coord(at, first + t));
    else
        for (int64_t t = 0; t < n; t++)
            all &= posenc_whole_coord(at, first + t) == (int32_t)posenc_whole_coord(at, first + t);
    return all;
}

posenc_status posenc_check_coord_values(const posenc_coords *at, int n_axes, int64_t n_tokens, int64_t n_batch) {
    if (at->type == POSENC_COORD_I32 || n_tokens == 0)
        return POSENC_OK;
    int64_t n_distinct = at->batch_stride == 0 && n_batch > 1 ? 1 : n_batch; /* batches that have some of their own */
    for (int64_t batch = 0; batch < n_distinct; batch++)
        for (int axis = 0; axis < n_axes; axis++) {
            int64_t first = batch * at->batch_stride + axis * posenc_coord_axis_stride(at, n_tokens);
            if (!are_positions(at, first, n_tokens))
                return POSENC_ERR_POSITION;
        }
    return POSENC_OK;
}
