/* SPDX-License-Identifier: MIT */
/* Checks of tensor views: extents, strides, alignment, overlap. */
#include "core/view.h"

#include <stdlib.h>

int64_t posenc_dtype_size(posenc_dtype dtype) {
    return posenc_element_bytes(dtype);
}

int64_t posenc_view_count(const posenc_view *view) {
    return view->ne[0] * posenc_view_rows(view);
}

/* First byte and one past the last byte, relative to data. */
typedef struct span {
    int64_t begin, end;
} span;

/* Steps by whole periods are left out; period 0: none is. */
static span view_span(const posenc_view *view, int64_t period) {
    span s = {0, posenc_dtype_size(view->dtype)};
    for (int i = 0; i < 4; i++) {
        if (period != 0 && view->nb[i] % period == 0)
            continue;
        int64_t reach = (view->ne[i] - 1) * view->nb[i];
        if (reach < 0)
            s.begin += reach;
        else
            s.end += reach;
    }
    return s;
}

int posenc_view_is_too_large(const posenc_view *view) {
    enum { SMALL = 1 << 11 }; /* four of them multiply to less than POSENC_LIMIT */
    double product = 1.0;
    if ((uint64_t)(view->ne[0] | view->ne[1] | view->ne[2] | view->ne[3]) < SMALL)
        return 0;
    for (int i = 0; i < 4; i++) {
        if (view->ne[i] < 0)
            return 1;
        product *= (double)(view->ne[i] + (view->ne[i] == 0));
    }
    return product > (double)POSENC_LIMIT;
}

static posenc_status refuse_extents(const posenc_view *view, const char *why) {
    return posenc_refuse(POSENC_ERR_SHAPE, "ne is [%lld, %lld, %lld, %lld]: %s", (long long)view->ne[0],
                         (long long)view->ne[1], (long long)view->ne[2], (long long)view->ne[3], why);
}

/* 1 if a stride is below a row's bytes, as one in elements is; 0 repeats a row. */
static int rows_overlap(const posenc_view *view, int i, int64_t row_bytes) {
    int64_t step = view->nb[i];
    return step < row_bytes && step > -row_bytes && step != 0 && view->ne[i] > 1;
}

/* is_cache: 8-bit floats are taken too. */
static posenc_status check_input(const posenc_view *view, int is_cache) {
    if (view == NULL)
        return posenc_refuse(POSENC_ERR_NULL, "NULL, but needed");
    int64_t size = is_cache || !posenc_is_cache_type(view->dtype) ? posenc_dtype_size(view->dtype) : 0;
    if (size == 0)
        return posenc_refuse(POSENC_ERR_DTYPE, "dtype is %d, which this call does not take", (int)view->dtype);
    if (posenc_view_is_too_large(view))
        return refuse_extents(view, "an extent is negative, or the product too large");
    if (posenc_view_count(view) == 0)
        return POSENC_OK;
    if (view->data == NULL)
        return posenc_refuse(POSENC_ERR_NULL, "data is NULL");
    if (view->ne[0] != 1 && view->nb[0] != size)
        return posenc_refuse(POSENC_ERR_STRIDE, "nb[0] is %lld, but elements have %lld bytes", (long long)view->nb[0],
                             (long long)size);
    if (!posenc_is_aligned(view->data, size))
        return posenc_refuse(POSENC_ERR_STRIDE, "data is not aligned to %d bytes", (int)size);
    int64_t row_bytes = view->ne[0] * size;
    for (int i = 1; i < 4; i++) {
        if (view->nb[i] & (size - 1) || posenc_leaves_limit(view->ne[i], view->nb[i]))
            return posenc_refuse(POSENC_ERR_STRIDE, "nb[%d] is %lld: no multiple of %d, or too large", i,
                                 (long long)view->nb[i], (int)size);
        if (rows_overlap(view, i, row_bytes))
            return posenc_refuse(POSENC_ERR_STRIDE, "nb[%d] is %lld bytes, but a row has %lld", i,
                                 (long long)view->nb[i], (long long)row_bytes);
    }
    return POSENC_OK;
}

/* 1 if each step clears all that the dimensions before it cover, as in most tensors. */
static int is_nested(const posenc_view *view) {
    int64_t covered = posenc_dtype_size(view->dtype);
    for (int i = 0; i < 4; i++) {
        if (view->ne[i] == 1)
            continue;
        if (view->nb[i] < covered)
            return 0;
        covered = view->ne[i] * view->nb[i];
    }
    return 1;
}

static posenc_status check_output(const posenc_view *view, int is_cache) {
    posenc_status status = check_input(view, is_cache);
    if (status != POSENC_OK || posenc_view_count(view) == 0 || is_nested(view))
        return status;

    /* Dimensions by growing stride: each step must clear all that the smaller ones cover. */
    int order[4] = {0, 1, 2, 3};
    for (int i = 1; i < 4; i++)
        for (int j = i; j > 0 && llabs(view->nb[order[j]]) < llabs(view->nb[order[j - 1]]); j--) {
            int swap = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
    int64_t covered = posenc_dtype_size(view->dtype);
    for (int i = 0; i < 4; i++) {
        int dim = order[i];
        if (view->ne[dim] == 1)
            continue;
        if (llabs(view->nb[dim]) < covered)
            return posenc_refuse(POSENC_ERR_STRIDE, "nb[%d] is %lld: rows of this output overlap", dim,
                                 (long long)view->nb[dim]);
        covered += (view->ne[dim] - 1) * llabs(view->nb[dim]);
    }
    return POSENC_OK;
}

posenc_status posenc_check_input(const posenc_view *view) {
    return check_input(view, 0);
}

posenc_status posenc_check_output(const posenc_view *view) {
    return check_output(view, 0);
}

/* ---- Caches ---- */

posenc_view posenc_storage_of(const posenc_view *view) {
    posenc_view storage = *view;
    int64_t block = posenc_block_bytes(view->dtype);
    if (block > 0) {
        storage.dtype = POSENC_F16;
        storage.ne[0] = view->ne[0] / POSENC_QUANT_BLOCK * (block / 2);
        storage.nb[0] = (int64_t)sizeof(uint16_t);
    }
    return storage;
}

size_t posenc_row_bytes(const posenc_view *view) {
    posenc_view storage = posenc_storage_of(view);
    return (size_t)(storage.ne[0] * posenc_dtype_size(storage.dtype));
}

static posenc_status check_stored(const posenc_view *view, posenc_status (*check)(const posenc_view *, int)) {
    if (view == NULL || posenc_block_bytes(view->dtype) == 0)
        return check(view, 1);
    if (view->ne[0] % POSENC_QUANT_BLOCK != 0 || posenc_view_is_too_large(view))
        return refuse_extents(view, "no whole blocks of 32, negative, or too large");
    if (view->nb[0] != posenc_block_bytes(view->dtype) && posenc_view_count(view) > 0)
        return posenc_refuse(POSENC_ERR_STRIDE, "nb[0] is %lld, but blocks have %lld bytes", (long long)view->nb[0],
                             (long long)posenc_block_bytes(view->dtype));
    posenc_view storage = posenc_storage_of(view);
    return check(&storage, 1);
}

posenc_status posenc_check_stored_input(const posenc_view *view) {
    return check_stored(view, check_input);
}

posenc_status posenc_check_stored_output(const posenc_view *view) {
    return check_stored(view, check_output);
}

/* ---- Types, and pairs ---- */

posenc_status posenc_require_f32(const posenc_view *view) {
    return view->dtype == POSENC_F32
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_DTYPE, "dtype is %d, but POSENC_F32 is wanted", (int)view->dtype);
}

posenc_status posenc_check_input_f32(const posenc_view *view) {
    posenc_status status = posenc_check_input(view);
    return status == POSENC_OK ? posenc_require_f32(view) : status;
}

posenc_status posenc_check_output_f32(const posenc_view *view) {
    posenc_status status = posenc_check_output(view);
    return status == POSENC_OK ? posenc_require_f32(view) : status;
}

int posenc_same_rows(const posenc_view *x, const posenc_view *y) {
    return x->ne[1] == y->ne[1] && x->ne[2] == y->ne[2] && x->ne[3] == y->ne[3];
}

int posenc_same_extents(const posenc_view *x, const posenc_view *y) {
    return x->ne[0] == y->ne[0] && posenc_same_rows(x, y);
}

int posenc_ranges_overlap(const void *a, int64_t a_size, const void *b, int64_t b_size) {
    uintptr_t a0 = (uintptr_t)a, b0 = (uintptr_t)b;
    return a_size > 0 && b_size > 0 && a0 < b0 + (uintptr_t)b_size && b0 < a0 + (uintptr_t)a_size;
}

int posenc_same_view(const posenc_view *x, const posenc_view *y) {
    if (x->data != y->data || x->dtype != y->dtype)
        return 0;
    for (int i = 0; i < 4; i++)
        if (x->ne[i] != y->ne[i] || (x->ne[i] > 1 && x->nb[i] != y->nb[i]))
            return 0;
    return 1;
}

/* Slices of one packed tensor, q and k of every token, lie between each other: they are apart if they are within each
 * period. */
static int are_apart_by_period(const posenc_view *x, const posenc_view *y, int64_t period) {
    if (period == 0)
        return 0;
    span sx = view_span(x, period), sy = view_span(y, period);
    int64_t step = (posenc_distance(x->data, y->data) + sy.begin - sx.begin) % period; /* from x to the next y */
    step += step < 0 ? period : 0;
    return step >= sx.end - sx.begin && step + (sy.end - sy.begin) <= period;
}

posenc_status posenc_check_apart(const posenc_view *x, const posenc_view *y) {
    if (x->data == NULL || y->data == NULL || posenc_view_count(x) == 0 || posenc_view_count(y) == 0)
        return POSENC_OK;
    span sx = view_span(x, 0), sy = view_span(y, 0);
    int overlap = posenc_ranges_overlap((char *)x->data + sx.begin, sx.end - sx.begin, (char *)y->data + sy.begin,
                                        sy.end - sy.begin);
    for (int i = 1; i < 4 && overlap; i++) /* a single row may have no stride of the rows around it */
        overlap = !are_apart_by_period(x, y, llabs(x->nb[i])) && !are_apart_by_period(x, y, llabs(y->nb[i]));
    return overlap ? posenc_refuse(POSENC_ERR_OVERLAP, "overlaps an output") : POSENC_OK;
}

posenc_status posenc_check_apart_from(const posenc_view *x, const char *name, const void *memory, size_t bytes) {
    if (x == NULL || x->data == NULL || posenc_view_count(x) == 0)
        return POSENC_OK;
    posenc_view storage = posenc_storage_of(x);
    span s = view_span(&storage, 0);
    return posenc_ranges_overlap((char *)x->data + s.begin, s.end - s.begin, memory, (int64_t)bytes)
               ? posenc_refuse(POSENC_ERR_OVERLAP, "overlaps %s", name)
               : POSENC_OK;
}

posenc_status posenc_check_pair(const posenc_view *x, const posenc_view *y) {
    if (!posenc_same_extents(x, y))
        return posenc_refuse(POSENC_ERR_SHAPE,
                             "ne is [%lld, %lld, %lld, %lld], but the output has [%lld, %lld, %lld, %lld]",
                             (long long)x->ne[0], (long long)x->ne[1], (long long)x->ne[2], (long long)x->ne[3],
                             (long long)y->ne[0], (long long)y->ne[1], (long long)y->ne[2], (long long)y->ne[3]);
    return posenc_same_view(x, y) ? POSENC_OK : posenc_check_apart(x, y);
}

posenc_status posenc_check_elementwise(const posenc_view *x, const posenc_view *y) {
    posenc_status status = posenc_argument("y", posenc_check_output(y));
    if (status != POSENC_OK || (x != NULL && posenc_same_view(x, y)))
        return status;
    status = posenc_check_input(x);
    if (status == POSENC_OK)
        status = posenc_check_pair(x, y);
    return posenc_argument("x", status);
}

posenc_status posenc_check_rows(posenc_range *rows, int64_t n_rows) {
    if (rows->begin == 0 && rows->end == -1)
        rows->end = n_rows;
    if (rows->begin < 0 || rows->begin > rows->end || rows->end > n_rows)
        return posenc_refuse(POSENC_ERR_ROWS, "range %lld .. %lld, of %lld", (long long)rows->begin,
                             (long long)rows->end, (long long)n_rows);
    return POSENC_OK;
}
