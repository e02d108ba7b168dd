/* SPDX-License-Identifier: MIT */
/* Gradients of the relative terms: sums over the keys of a row, and products of matrices. */
#include <posenc/backward.h>

#include <math.h>
#include <string.h>

#include "bias/relative_runs.h"
#include "core/row_place.h"
#include "core/view.h"
#include "kernels/kernels.h"

/* ---- Sums ---- */

typedef int next_run(const posenc_runs *runs, int64_t at, posenc_run *run);

static posenc_status check_sums(const posenc_rel_index *index, const posenc_mask *mask, int64_t query_start,
                                const posenc_view *x, const posenc_view *w, int by_key, posenc_range *rows,
                                posenc_runs *runs) {
    posenc_status status = posenc_check_input_f32(x);
    if (status == POSENC_OK)
        status = posenc_check_output_f32(w);
    if (status == POSENC_OK)
        status = posenc_runs_check(index, mask, query_start, x, runs);
    if (status != POSENC_OK)
        return status;
    if (w->ne[0] != index->n_rows || w->ne[1] != x->ne[by_key ? 0 : 1] || w->ne[2] != x->ne[2] || w->ne[3] != x->ne[3])
        return POSENC_ERR_SHAPE;
    status = posenc_check_apart(x, w);
    return status == POSENC_OK ? posenc_check_rows(rows, posenc_view_rows(w)) : status;
}

static posenc_status sums(const posenc_rel_index *index, posenc_mask mask, int64_t query_start, const posenc_view *x,
                          const posenc_view *w, int by_key, posenc_range rows) {
    posenc_runs runs;
    posenc_status status = check_sums(index, &mask, query_start, x, w, by_key, &rows, &runs);
    if (status != POSENC_OK || w->ne[0] == 0)
        return status;
    int64_t along = by_key ? x->nb[1] : x->nb[0], across = by_key ? x->nb[0] : x->nb[1]; /* strides of a line of x */
    next_run *next = by_key ? posenc_next_run_of_key : posenc_next_run_of_query;
    for (int64_t row = rows.begin; row < rows.end; row++) {
        posenc_row_place at = posenc_row_place_of(w, row); /* whose query may be a key */
        /* An x without elements has no runs; its data and strides may be anything. */
        uintptr_t line = (uintptr_t)posenc_view_at(x, 0, at.head, at.batch) + (uintptr_t)at.query * (uintptr_t)across;
        float *sum = posenc_row_at(w, at);
        memset(sum, 0, (size_t)w->ne[0] * sizeof(float));
        for (posenc_run run = {0, -1, 0}; next(&runs, at.query, &run);)
            sum[run.row] +=
                posenc_sum_run((const float *)(line + (uintptr_t)(run.begin * along)), along, run.end - run.begin);
    }
    return POSENC_OK;
}

posenc_status posenc_relative_sums_by_query(const posenc_rel_index *index, posenc_mask mask, int64_t query_start,
                                            const posenc_view *x, const posenc_view *w, posenc_range rows) {
    return sums(index, mask, query_start, x, w, 0, rows);
}

posenc_status posenc_relative_sums_by_key(const posenc_rel_index *index, posenc_mask mask, int64_t query_start,
                                          const posenc_view *x, const posenc_view *w, posenc_range rows) {
    return sums(index, mask, query_start, x, w, 1, rows);
}

/* ---- Products ---- */

/* Checks the types of w, of the weighted rows and of y, and that y shares no byte with them. */
static posenc_status check_product(const posenc_view *w, const posenc_view *x, float factor, const posenc_view *y) {
    posenc_status status = posenc_check_input_f32(w);
    if (status == POSENC_OK)
        status = posenc_check_input(x);
    if (status == POSENC_OK)
        status = posenc_check_output_f32(y);
    if (status != POSENC_OK)
        return status;
    if (!isfinite(factor))
        return POSENC_ERR_SCALE;
    if (x->ne[0] != y->ne[0])
        return POSENC_ERR_SHAPE;
    status = posenc_check_apart(w, y);
    return status == POSENC_OK ? posenc_check_apart(x, y) : status;
}

posenc_status posenc_relative_combine(const posenc_view *w, const posenc_view *table, float factor,
                                      const posenc_view *y, posenc_range rows) {
    posenc_status status = check_product(w, table, factor, y);
    if (status != POSENC_OK)
        return status;
    if (w->ne[0] != table->ne[2] || !posenc_rows_match(w, y))
        return POSENC_ERR_SHAPE;
    status = posenc_check_shared(table, w);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, posenc_view_rows(w));
    if (status != POSENC_OK || posenc_view_count(w) == 0 || y->ne[0] == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t row = rows.begin; row < rows.end; row++) {
        posenc_row_place at = posenc_row_place_of(w, row);
        posenc_weighted_rows_args args = {
            .weights = posenc_row_at(w, at),
            .weight_stride = sizeof(float),
            .factor = factor,
            .rows = posenc_shared_at(table, at.head, 0, at.batch),
            .rows_type = table->dtype,
            .row_stride = (ptrdiff_t)table->nb[2],
            .y = posenc_token_at(y, at),
            .dim = (size_t)y->ne[0],
            .n = (size_t)w->ne[0],
        };
        kernels->weighted_rows(&args);
    }
    return POSENC_OK;
}

/* Row r of y from all queries of one head. */
static void collect_head(const posenc_view *w, const posenc_view *x, const float *shift, float factor, int64_t r,
                         int64_t head, int64_t batch, float *y) {
    posenc_weighted_rows_args args = {
        .weights = (const float *)posenc_view_at(w, 0, head, batch) + r,
        .weight_stride = (ptrdiff_t)w->nb[1],
        .factor = factor,
        .rows = posenc_view_at(x, head, 0, batch),
        .rows_type = x->dtype,
        .row_stride = (ptrdiff_t)x->nb[2],
        .shift = shift != NULL ? shift + head * x->ne[0] : NULL,
        .y = y,
        .dim = (size_t)x->ne[0],
        .n = (size_t)w->ne[1],
    };
    posenc_active_kernels()->weighted_rows(&args);
}

posenc_status posenc_relative_collect(const posenc_view *w, const posenc_view *x, const float *shift, float factor,
                                      const posenc_view *y, posenc_range rows) {
    posenc_status status = check_product(w, x, factor, y);
    if (status != POSENC_OK)
        return status;
    if (w->ne[0] != y->ne[2] || !posenc_rows_match(w, x))
        return POSENC_ERR_SHAPE;
    if (!posenc_is_aligned(shift, 4))
        return POSENC_ERR_STRIDE;
    status = posenc_check_shared(y, w);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, posenc_view_rows(y));
    if (status != POSENC_OK || posenc_view_count(w) == 0 || y->ne[0] == 0)
        return status;
    for (int64_t row = rows.begin; row < rows.end; row++) {
        posenc_row_place at = posenc_token_place_of(y, row); /* whose query is a row of the table */
        for (int64_t batch = 0; batch < w->ne[3]; batch++)
            for (int64_t head = 0; head < w->ne[2]; head++)
                if ((y->ne[3] == 1 || batch == at.batch) && (y->ne[1] == 1 || head == at.head))
                    collect_head(w, x, shift, factor, at.query, head, batch, posenc_token_at(y, at));
    }
    return POSENC_OK;
}
