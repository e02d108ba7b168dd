/* SPDX-License-Identifier: MIT */
/* Relative values: weights of the rows of a table, and the rows themselves. */
#include <posenc/relative.h>

#include "bias/relative_runs.h"
#include "core/row_place.h"
#include "core/view.h"
#include "kernels/kernels.h"

/* Runs that are handed to the kernel at a time. */
enum { BATCH = 64 };

static posenc_status check_values(const posenc_rel_index *index, posenc_mask mask, int64_t query_start,
                                  const posenc_view *p, const posenc_view *table, const posenc_view *z,
                                  posenc_range *rows, posenc_runs *runs) {
    posenc_status status = posenc_check_input_f32(p);
    if (status == POSENC_OK)
        status = posenc_check_input(table);
    if (status == POSENC_OK)
        status = posenc_check_output_f32(z);
    if (status == POSENC_OK)
        status = posenc_runs_check(index, &mask, query_start, p, runs);
    if (status != POSENC_OK)
        return status;
    if (table->ne[0] != z->ne[0] || table->ne[2] != index->n_rows || !posenc_rows_match(p, z))
        return POSENC_ERR_SHAPE;
    status = posenc_check_shared(table, p);
    if (status == POSENC_OK)
        status = posenc_check_apart(p, z);
    if (status == POSENC_OK)
        status = posenc_check_apart(table, z);
    return status == POSENC_OK ? posenc_check_rows(rows, posenc_view_rows(p)) : status;
}

static void add_values(const posenc_kernels *kernels, const posenc_runs *runs, int64_t query, const float *p,
                       posenc_weighted_rows_args *args) {
    float weights[BATCH];
    int32_t index[BATCH];
    args->weights = weights;
    args->weight_stride = sizeof weights[0];
    args->index = index;
    posenc_run run = {0, -1, 0};
    do {
        args->n = 0;
        while (args->n < BATCH && posenc_next_run_of_query(runs, query, &run)) {
            weights[args->n] = posenc_sum_run(p + run.begin, sizeof(float), run.end - run.begin);
            index[args->n++] = (int32_t)run.row;
        }
        kernels->weighted_rows(args);
    } while (args->n == BATCH);
}

posenc_status posenc_relative_values(const posenc_rel_index *index, posenc_mask mask, int64_t query_start,
                                     const posenc_view *p, const posenc_view *table, const posenc_view *z,
                                     posenc_range rows) {
    posenc_runs runs;
    posenc_status status = check_values(index, mask, query_start, p, table, z, &rows, &runs);
    if (status != POSENC_OK || posenc_view_count(z) == 0 || p->ne[0] == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t row = rows.begin; row < rows.end; row++) {
        posenc_row_place at = posenc_row_place_of(p, row);
        posenc_weighted_rows_args args = {
            .factor = 1.0f,
            .rows = posenc_shared_at(table, at.head, 0, at.batch),
            .rows_type = table->dtype,
            .row_stride = (ptrdiff_t)table->nb[2],
            .y = posenc_token_at(z, at),
            .dim = (size_t)z->ne[0],
        };
        add_values(kernels, &runs, at.query, posenc_row_at(p, at), &args);
    }
    return POSENC_OK;
}
