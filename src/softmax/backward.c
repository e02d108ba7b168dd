/* SPDX-License-Identifier: MIT */
/* Gradient through the softmax: checks, and the walk over rows (FORMULAS E.6). */
#include <posenc/backward.h>

#include "core/view.h"
#include "softmax/scores.h"

/* Checks of the tensors: f32 and the extents of p; an output has the memory of one of the others or of none. */
static posenc_status check_input(const posenc_view *x, const posenc_view *p) {
    posenc_status status = posenc_check_input_f32(x);
    return status == POSENC_OK && !posenc_same_extents(x, p) ? posenc_refused(POSENC_ERR_SHAPE) : status;
}

static posenc_status check_result(const posenc_view *y, const posenc_view *p, const posenc_view *dp,
                                  const posenc_view *s) {
    posenc_status status = posenc_check_output_f32(y);
    if (status == POSENC_OK)
        status = posenc_check_pair(p, y);
    if (status == POSENC_OK)
        status = posenc_check_pair(dp, y);
    if (status == POSENC_OK && s != NULL)
        status = posenc_check_pair(s, y);
    return status;
}

static posenc_status check_call(const posenc_score_params *params, const posenc_view *p, const posenc_view *dp,
                                const posenc_view *s, const posenc_view *dx, const posenc_view *db,
                                const float *dsink_rows, posenc_range *rows) {
    if (params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_input_f32(p);
    if (status == POSENC_OK)
        status = posenc_check_scores_read(params, p);
    if (status == POSENC_OK)
        status = posenc_check_scale(params);
    if (status == POSENC_OK)
        status = check_input(dp, p);
    if (status == POSENC_OK && params->cap != 0.0f)
        status = check_input(s, p);
    if (params->cap == 0.0f)
        s = NULL;
    if (status == POSENC_OK)
        status = check_result(dx, p, dp, s);
    if (status == POSENC_OK && db != NULL)
        status = check_result(db, p, dp, s);
    if (status == POSENC_OK && db != NULL)
        status = posenc_check_apart(dx, db);
    if (status == POSENC_OK)
        status = posenc_check_rows(rows, posenc_view_rows(p));
    return status == POSENC_OK && !posenc_is_aligned(dsink_rows, 4) ? posenc_refused(POSENC_ERR_STRIDE) : status;
}

posenc_status posenc_softmax_backward(const posenc_score_params *params, const posenc_view *p, const posenc_view *dp,
                                      const posenc_view *s, const posenc_view *dx, const posenc_view *db,
                                      float *dsink_rows, posenc_range rows) {
    posenc_status status = check_call(params, p, dp, s, dx, db, dsink_rows, &rows);
    if (status != POSENC_OK)
        return status;
    if (rows.begin == rows.end || (p->ne[0] == 0 && dsink_rows == NULL))
        return POSENC_OK;
    const posenc_kernels *kernels = posenc_active_kernels();
    posenc_softmax_row_args forward = {.n = 0}; /* whose bounds, scale and cap these rows have */
    posenc_score_args_begin(params, p, &forward);
    posenc_row_place at = posenc_row_place_of(p, rows.begin);
    int fetches = posenc_is_far(posenc_view_count(p)); /* the next row, while one is at work */
    for (int64_t row = rows.begin; row < rows.end; row++) {
        posenc_score_args_at(params, p, &at, &forward);
        posenc_row_place after = at;
        posenc_row_advance(p, &after);
        posenc_softmax_backward_args next = {
            .p = posenc_row_at(p, after), .dp = posenc_row_at(dp, after), .dx = posenc_row_at(dx, after)};
        posenc_softmax_backward_args args = {
            .p = posenc_row_at(p, at),
            .dp = posenc_row_at(dp, at),
            .s = params->cap != 0.0f ? posenc_row_at(s, at) : NULL,
            .dx = posenc_row_at(dx, at),
            .db = db != NULL ? posenc_row_at(db, at) : NULL,
            .n = forward.n,
            .visible = forward.visible,
            .k_pos = forward.k_pos,
            .position = forward.position,
            .lowest = forward.lowest,
            .highest = forward.highest,
            .scale = forward.scale,
            .inv_cap = forward.inv_cap,
            .bias_slope = params->bias.tensor_slopes != NULL ? params->bias.tensor_slopes[at.head] : 1.0f,
            .dsink = dsink_rows != NULL ? dsink_rows + row : NULL,
            .next = fetches && row + 1 < rows.end ? &next : NULL,
        };
        kernels->softmax_backward(&args);
        at = after;
    }
    return POSENC_OK;
}

posenc_status posenc_sink_backward(const float *dsink_rows, int64_t n_q, int64_t n_heads, int64_t n_batch,
                                   float *dsinks) {
    posenc_view rows = posenc_view_dense((float *)(uintptr_t)dsink_rows, POSENC_F32, n_q, n_heads, n_batch, 1);
    posenc_status status = posenc_check_input(&rows);
    if (status != POSENC_OK || n_heads == 0)
        return status;
    status = posenc_check_array(dsinks, 4);
    if (status != POSENC_OK)
        return status;
    if (n_q == 0)
        n_batch = 0; /* however many of them hold nothing */
    for (int64_t h = 0; h < n_heads; h++) {
        double sum = 0.0;
        for (int64_t b = 0; b < n_batch; b++)
            for (int64_t i = 0; i < n_q; i++)
                sum += (double)dsink_rows[(b * n_heads + h) * n_q + i];
        dsinks[h] = (float)sum;
    }
    return POSENC_OK;
}
