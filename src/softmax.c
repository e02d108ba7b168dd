/* Softmax over scores: checks, and the walk over rows. */
#include <posenc/softmax.h>

#include <math.h>

#include "kernels/kernels.h"
#include "scores.h"
#include "view.h"

static posenc_status check_call(const posenc_softmax_params *params, const posenc_view *x, const posenc_view *y,
                                posenc_rows *rows) {
    if (params == NULL)
        return POSENC_ERR_NULL;
    if (!isfinite(params->scale))
        return POSENC_ERR_SCALE;
    posenc_status status = posenc_check_input(x);
    if (status == POSENC_OK)
        status = posenc_check_output(y);
    if (status == POSENC_OK)
        status = posenc_require_f32(x);
    if (status == POSENC_OK)
        status = posenc_require_f32(y);
    if (status == POSENC_OK)
        status = posenc_check_pair(x, y);
    if (status == POSENC_OK)
        status = posenc_check_scores(x, params->mask, params->q_off);
    if (status == POSENC_OK)
        status = posenc_check_rows(rows, x->ne[1] * x->ne[2] * x->ne[3]);
    if (status == POSENC_OK && params->slopes != NULL)
        status = posenc_check_slopes(params->slopes, x->ne[2]);
    return status;
}

posenc_status posenc_softmax(const posenc_softmax_params *params, const posenc_view *x, const posenc_view *y,
                             posenc_rows rows) {
    posenc_status status = check_call(params, x, y, &rows);
    if (status != POSENC_OK || x->ne[0] == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t row = rows.begin; row < rows.end; row++) {
        posenc_score_row at = posenc_score_row_at(x, params->mask, params->q_off, row);
        posenc_softmax_row_args args = {
            .x = posenc_view_at(x, at.query, at.head, at.batch),
            .y = posenc_view_at(y, at.query, at.head, at.batch),
            .n = (size_t)x->ne[0],
            .n_allowed = at.n_allowed,
            .query = at.position,
            .scale = params->scale,
            .slope = params->slopes != NULL ? params->slopes[at.head] : 0.0f,
        };
        kernels->softmax_row(&args);
    }
    return POSENC_OK;
}
