/* SPDX-License-Identifier: MIT */
/* Contextual positions: checks, and the walk over rows. */
#include <posenc/relative.h>

#include <math.h>

#include "bias/mask.h"
#include "core/minmax.h"
#include "core/row_place.h"
#include "core/view.h"
#include "kernels/kernels.h"

#define MAX_POSITIONS ((int64_t)1 << 24)

static posenc_status check_numbers(const posenc_cope_params *params) {
    if (!isfinite(params->scale))
        return POSENC_ERR_SCALE;
    if (params->form != POSENC_COPE_LISTING && params->form != POSENC_COPE_SCALED)
        return POSENC_ERR_ENUM;
    return POSENC_OK;
}

/* An input beside y; its rows may be of another length. */
static posenc_status check_beside(const posenc_view *input, const posenc_view *y, int is_apart) {
    posenc_status status = posenc_check_input_f32(input);
    if (status != POSENC_OK)
        return status;
    if (!posenc_same_rows(input, y))
        return POSENC_ERR_SHAPE;
    return is_apart ? posenc_check_apart(input, y) : posenc_check_pair(input, y);
}

static posenc_status check_call(const posenc_cope_params *params, const posenc_view *x, const posenc_view *gates,
                                const posenc_view *z, const posenc_view *y, posenc_range *rows) {
    if (params == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_output_f32(y);
    if (status == POSENC_OK)
        status = check_numbers(params);
    if (status == POSENC_OK)
        status = check_beside(x, y, 0);
    if (status == POSENC_OK && gates != NULL)
        status = check_beside(gates, y, 1);
    if (status == POSENC_OK && gates != NULL && gates->ne[0] != y->ne[0])
        status = POSENC_ERR_SHAPE;
    if (status == POSENC_OK)
        status = check_beside(z, y, 1);
    if (status == POSENC_OK && (z->ne[0] < 1 || z->ne[0] > MAX_POSITIONS))
        status = POSENC_ERR_SHAPE;
    return status == POSENC_OK ? posenc_check_rows(rows, posenc_view_rows(y)) : status;
}

posenc_status posenc_cope_logits(const posenc_cope_params *params, const posenc_view *x, const posenc_view *gates,
                                 const posenc_view *z, const posenc_view *y, posenc_range rows) {
    posenc_status status = check_call(params, x, gates, z, y, &rows);
    int64_t query_start = 0;
    if (status == POSENC_OK) {
        query_start = params->query_start;
        status = posenc_align_queries(&query_start, y->ne[1], y->ne[0]);
    }
    if (status != POSENC_OK || y->ne[0] == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    const posenc_view *gating = gates != NULL ? gates : x;
    for (int64_t row = rows.begin; row < rows.end; row++) {
        posenc_row_place at = posenc_row_place_of(y, row);
        int64_t n_k = y->ne[0], n_visible = posenc_max(query_start + at.query + 1, 0);
        posenc_cope_row_args args = {
            .x = posenc_row_at(x, at),
            .gates = posenc_row_at(gating, at),
            .z = posenc_row_at(z, at),
            .y = posenc_row_at(y, at),
            .scale = params->scale,
            .is_scaled = params->form == POSENC_COPE_SCALED,
            .n = (size_t)n_k,
            .n_visible = (size_t)posenc_min(n_visible, n_k),
            .n_positions = (size_t)z->ne[0],
        };
        kernels->cope_row(&args);
    }
    return POSENC_OK;
}
