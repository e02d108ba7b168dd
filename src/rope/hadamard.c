/* SPDX-License-Identifier: MIT */
/* The Hadamard transform of heads. */
#include <math.h>

#include "core/minmax.h"
#include "core/row_place.h"
#include "rope/rope.h"

int posenc_is_hadamard(int64_t n, int64_t head_dim) {
    return n >= 2 && n <= POSENC_MAX_HADAMARD && (n & (n - 1)) == 0 && head_dim % n == 0;
}

void posenc_transform_heads(const posenc_kernels *kernels, void *heads, ptrdiff_t stride, int64_t n_heads,
                            int64_t head_dim, int64_t n) {
    posenc_hadamard_args args = {
        .x = heads,
        .stride = stride / (ptrdiff_t)sizeof(float),
        .factor = 1.0f / sqrtf((float)n),
        .size = (size_t)n,
        .n = (size_t)head_dim,
        .n_rows = (size_t)n_heads,
    };
    kernels->hadamard_rows(&args);
}

/* Heads of one token, from one place to another. */
typedef struct rows {
    void *data;
    posenc_dtype type;
    ptrdiff_t stride;
} rows;

static void convert(const posenc_kernels *kernels, rows x, rows y, int64_t n_heads, int64_t head_dim) {
    posenc_convert_args args = {
        .x = x.data,
        .y = y.data,
        .x_type = x.type,
        .y_type = y.type,
        .x_stride = x.stride,
        .y_stride = y.stride,
        .factor = 1.0f,
        .n = (size_t)head_dim,
        .n_heads = (size_t)n_heads,
    };
    if (x.data != y.data)
        kernels->convert_rows(&args);
}

/* Transforms heads in y if y is float32, else in a buffer. */
static void transform(const posenc_kernels *kernels, rows x, rows y, int64_t n_heads, int64_t head_dim, int64_t n) {
    float room[POSENC_STAGED];
    rows work = {room, POSENC_F32, (ptrdiff_t)sizeof(float) * (ptrdiff_t)head_dim};
    if (y.type == POSENC_F32)
        work = y;
    convert(kernels, x, work, n_heads, head_dim);
    posenc_transform_heads(kernels, work.data, work.stride, n_heads, head_dim, n);
    convert(kernels, work, y, n_heads, head_dim);
}

static rows heads_at(const posenc_view *view, posenc_row_place at) {
    return (rows){posenc_token_at(view, at), view->dtype, (ptrdiff_t)view->nb[1]};
}

posenc_status posenc_hadamard(const posenc_view *x, const posenc_view *y, int64_t n, posenc_range range) {
    if (x == NULL || y == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_elementwise(x, y);
    if (status != POSENC_OK)
        return status;
    int64_t head_dim = y->ne[0], n_heads = y->ne[1];
    if (!posenc_is_hadamard(n, head_dim))
        return POSENC_ERR_SHAPE;
    if (head_dim > POSENC_MAX_HEAD_DIM)
        return POSENC_ERR_HEAD_DIM;
    status = posenc_check_rows(&range, posenc_view_rows(y));
    if (status != POSENC_OK || head_dim == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t row = range.begin, some; row < range.end; row += some) {
        posenc_row_place at = posenc_token_place_of(y, row);
        some = posenc_min(posenc_min(n_heads - at.head, range.end - row), POSENC_STAGED / head_dim);
        transform(kernels, heads_at(x, at), heads_at(y, at), some, head_dim, n);
    }
    return POSENC_OK;
}
