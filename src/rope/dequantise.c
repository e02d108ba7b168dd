/* SPDX-License-Identifier: MIT */
/* Heads of a cache type as float32, f16 or bf16. */
#include "core/minmax.h"
#include "core/row_place.h"
#include "rope/rope.h"

void posenc_widen_heads(const posenc_kernels *kernels, const posenc_heads *x, int64_t n, float *y, ptrdiff_t y_stride) {
    posenc_convert_args args = {
        .x = x->data,
        .y = y,
        .x_type = x->type,
        .x_stride = x->stride,
        .y_stride = y_stride,
        .factor = 1.0f,
        .n = (size_t)n,
        .n_heads = (size_t)x->n_heads,
    };
    kernels->convert_rows(&args);
}

/* n channels of some heads of one token, through float32 where y is another type. */
static void convert(const posenc_kernels *kernels, const posenc_heads *x, int64_t n, posenc_dtype type, void *y,
                    ptrdiff_t y_stride) {
    float room[POSENC_STAGED];
    if (type == POSENC_F32) {
        posenc_widen_heads(kernels, x, n, y, y_stride);
        return;
    }
    posenc_convert_args narrow = {
        .x = room,
        .y = y,
        .y_type = type,
        .x_stride = (ptrdiff_t)sizeof(float) * (ptrdiff_t)n,
        .y_stride = y_stride,
        .factor = 1.0f,
        .n = (size_t)n,
        .n_heads = (size_t)x->n_heads,
    };
    posenc_widen_heads(kernels, x, n, room, narrow.x_stride);
    kernels->convert_rows(&narrow);
}

static posenc_status check(const posenc_view *x, const posenc_view *y) {
    if (x == NULL || y == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_stored_input(x);
    if (status == POSENC_OK)
        status = posenc_check_output(y);
    if (status != POSENC_OK)
        return status;
    if (!posenc_is_cache_type(x->dtype))
        return posenc_refused(POSENC_ERR_DTYPE);
    posenc_view storage = posenc_storage_of(x);
    return posenc_same_extents(x, y) ? posenc_check_apart(&storage, y) : posenc_refused(POSENC_ERR_SHAPE);
}

posenc_status posenc_dequantise(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    posenc_status status = check(x, y);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, posenc_view_rows(y));
    if (status != POSENC_OK || y->ne[0] == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    int64_t head_dim = y->ne[0], channels = posenc_min(head_dim, POSENC_STAGED);
    for (int64_t row = rows.begin, some; row < rows.end; row += some) {
        posenc_row_place at = posenc_token_place_of(y, row);
        some = posenc_min(posenc_min(y->ne[1] - at.head, rows.end - row), POSENC_STAGED / channels);
        for (int64_t first = 0; first < head_dim; first += channels) {
            posenc_view before = *x;
            before.ne[0] = first;
            posenc_heads from = {(const char *)posenc_token_at(x, at) + posenc_row_bytes(&before), x->dtype,
                                 (ptrdiff_t)x->nb[1], some};
            char *to = (char *)posenc_token_at(y, at) + first * posenc_dtype_size(y->dtype);
            convert(kernels, &from, posenc_min(channels, head_dim - first), y->dtype, to, (ptrdiff_t)y->nb[1]);
        }
    }
    return POSENC_OK;
}
