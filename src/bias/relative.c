/* SPDX-License-Identifier: MIT */
/* Relative tables: packing, products, and the shifts of whole matrices. */
#include <posenc/relative.h>

#include <stdlib.h>
#include <string.h>

#include "bias/panels.h"
#include "core/memory.h"
#include "core/minmax.h"
#include "core/row_place.h"
#include "core/view.h"
#include "kernels/kernels.h"

#define MAX_DIM ((int64_t)1 << 16)

/* Rows of q that are multiplied at a time: they stay in the second cache while the table passes by. */
#define BLOCK 120

struct posenc_relative_table {
    int64_t dim, n_rows, n_heads;
    float *panels; /* of head 0, head 1 ... */
};

posenc_status posenc_relative_table_create(const posenc_view *rows, posenc_relative_table **out) {
    if (out == NULL)
        return POSENC_ERR_NULL;
    *out = NULL;
    posenc_status status = posenc_check_input(rows);
    if (status != POSENC_OK)
        return status;
    int64_t dim = rows->ne[0], n_heads = rows->ne[1], n_rows = rows->ne[2];
    if (dim < 1 || dim > MAX_DIM)
        return POSENC_ERR_HEAD_DIM;
    if (n_rows < 1 || n_rows > (int64_t)1 << 30 || rows->ne[3] != 1)
        return POSENC_ERR_SHAPE;
    if (n_heads < 1)
        return POSENC_ERR_N_HEADS;
    int64_t size = posenc_panels_size(dim, n_rows);
    int64_t bytes = size * n_heads * (int64_t)sizeof(float);
    if (!posenc_is_size(bytes))
        return POSENC_ERR_MEMORY;
    posenc_relative_table *table = malloc(sizeof *table);
    float *panels = posenc_aligned_alloc(64, (size_t)bytes);
    if (table == NULL || panels == NULL) {
        free(table);
        posenc_aligned_free(panels);
        return POSENC_ERR_MEMORY;
    }
    for (int64_t head = 0; head < n_heads; head++)
        posenc_panels_pack(rows, head, 0, panels + head * size);
    *table = (posenc_relative_table){dim, n_rows, n_heads, panels};
    *out = table;
    return POSENC_OK;
}

void posenc_relative_table_free(posenc_relative_table *table) {
    if (table == NULL)
        return;
    posenc_aligned_free(table->panels);
    free(table);
}

/* ---- Products ---- */

static posenc_status check_products(const posenc_relative_table *table, const posenc_view *q, const float *shift,
                                    const posenc_view *y, posenc_range *rows) {
    if (table == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_input(q);
    if (status == POSENC_OK)
        status = posenc_check_output_f32(y);
    if (status != POSENC_OK)
        return status;
    if (q->ne[0] != table->dim || y->ne[0] != table->n_rows || !posenc_rows_match(y, q))
        return POSENC_ERR_SHAPE;
    if (table->n_heads != 1 && table->n_heads != y->ne[2])
        return POSENC_ERR_N_HEADS;
    if (!posenc_is_aligned(shift, 4))
        return POSENC_ERR_STRIDE;
    status = posenc_check_apart(q, y);
    return status == POSENC_OK ? posenc_check_rows(rows, posenc_view_rows(y)) : status;
}

posenc_status posenc_relative_products(const posenc_relative_table *table, const posenc_view *q, const float *shift,
                                       const posenc_view *y, posenc_range rows) {
    posenc_status status = check_products(table, q, shift, y, &rows);
    if (status != POSENC_OK)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    int64_t n_q = y->ne[1], n_heads = y->ne[2];
    /* The heads of a single token are rows of one matrix. */
    int joins_heads = n_q == 1 && table->n_heads == 1 && shift == NULL;
    for (int64_t row = rows.begin, n; row < rows.end; row += n) {
        posenc_row_place at = posenc_row_place_of(y, row);
        int64_t together = joins_heads ? n_heads - at.head : n_q - at.query;
        n = posenc_min(posenc_min(together, rows.end - row), BLOCK);
        posenc_dot_rows_args args = {
            .x = posenc_token_at(q, at),
            .x_type = q->dtype,
            .x_stride = (ptrdiff_t)q->nb[joins_heads ? 1 : 2],
            .shift = shift != NULL ? shift + at.head * table->dim : NULL,
            .panels =
                table->panels + (table->n_heads == 1 ? 0 : at.head) * posenc_panels_size(table->dim, table->n_rows),
            .y = posenc_row_at(y, at),
            .y_stride = (ptrdiff_t)y->nb[joins_heads ? 2 : 1],
            .dim = (size_t)table->dim,
            .n_x = (size_t)n,
            .n_rows = (size_t)table->n_rows,
        };
        kernels->dot_rows(&args);
    }
    return POSENC_OK;
}

/* ---- Shifts ---- */

static posenc_status check_shift(const posenc_view *x, const posenc_view *y, int is_skew) {
    posenc_status status = posenc_check_input(x);
    if (status == POSENC_OK)
        status = posenc_check_output(y);
    if (status != POSENC_OK)
        return status;
    if (x->dtype != y->dtype)
        return POSENC_ERR_DTYPE;
    int64_t n = y->ne[1];
    int fits = is_skew ? y->ne[0] == n && (n == 0 || x->ne[0] == 2 * n - 1) : x->ne[0] == y->ne[0];
    return fits && posenc_same_rows(x, y) ? posenc_check_apart(x, y) : POSENC_ERR_SHAPE;
}

/* Row `query` of the flat form: elements n_q + query * n_k and on of the rows of x, each with a zero before it. */
static void shift_row(const posenc_view *x, const posenc_view *y, int64_t query, int64_t head, int64_t batch) {
    int64_t n_k = x->ne[0], n_q = x->ne[1], size = posenc_dtype_size(x->dtype);
    char *to = posenc_view_at(y, query, head, batch);
    for (int64_t j = 0, n; j < n_k; j += n) {
        int64_t flat = n_q + query * n_k + j, row = flat / (n_k + 1), column = flat % (n_k + 1);
        if (column == 0) {
            memset(to + j * size, 0, (size_t)size); /* 0 is all bits 0 in every type */
            n = 1;
        } else {
            n = posenc_min(n_k + 1 - column, n_k - j);
            const char *from = posenc_view_at(x, row, head, batch);
            memcpy(to + j * size, from + (column - 1) * size, (size_t)(n * size));
        }
    }
}

static void skew_row(const posenc_view *x, const posenc_view *y, int64_t query, int64_t head, int64_t batch) {
    int64_t n = y->ne[1], size = posenc_dtype_size(x->dtype);
    const char *from = posenc_view_at(x, query, head, batch);
    memcpy(posenc_view_at(y, query, head, batch), from + (n - 1 - query) * size, (size_t)(n * size));
}

static posenc_status shift(const posenc_view *x, const posenc_view *y, int is_skew) {
    posenc_status status = check_shift(x, y, is_skew);
    if (status != POSENC_OK || posenc_view_count(y) == 0)
        return status;
    for (int64_t batch = 0; batch < y->ne[3]; batch++)
        for (int64_t head = 0; head < y->ne[2]; head++)
            for (int64_t query = 0; query < y->ne[1]; query++)
                is_skew ? skew_row(x, y, query, head, batch) : shift_row(x, y, query, head, batch);
    return POSENC_OK;
}

posenc_status posenc_relative_shift(const posenc_view *x, const posenc_view *y) {
    return shift(x, y, 0);
}

posenc_status posenc_relative_skew(const posenc_view *x, const posenc_view *y) {
    return shift(x, y, 1);
}
