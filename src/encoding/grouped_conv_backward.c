/* SPDX-License-Identifier: MIT */
/* The gradient of the weights of a grouped convolution: for each tap and channel that is read, the tokens of dy in its
 * group, weighted by that channel of the tokens that they read. */
#include "encoding/conv.h"
#include "encoding/grouped_conv.h"

#include "core/view.h"
#include "kernels/kernels.h"

/* One tap and one batch, all channels. */
static void grad_of_tap(const posenc_grouped_conv *conv, const posenc_view *x, const posenc_view *dy, int64_t tap,
                        int64_t batch, float *dw) {
    int64_t width = conv->width, n_channels = conv->params.n_channels;
    posenc_tap_span span = posenc_grouped_conv_span(conv, tap, 0, dy->ne[1], dy->ne[1], 0);
    if (span.begin >= span.end)
        return;
    const posenc_kernels *kernels = posenc_active_kernels();
    const float *read = posenc_view_at(x, span.begin + span.by, batch, 0);
    const float *written = posenc_view_at(dy, span.begin, batch, 0);
    for (int64_t c = 0; c < n_channels; c++) {
        int64_t group = c / width * width; /* its first channel */
        posenc_weighted_rows_args args = {
            .weights = read + c,
            .weight_stride = (ptrdiff_t)x->nb[1],
            .factor = 1.0f,
            .rows = written + group,
            .row_stride = (ptrdiff_t)dy->nb[1],
            .y = dw + (tap * width + c - group) * n_channels + group,
            .dim = (size_t)width,
            .n = (size_t)(span.end - span.begin),
        };
        kernels->weighted_rows(&args);
    }
}

posenc_status posenc_grouped_conv_backward_weights(const posenc_grouped_conv *conv, const posenc_view *x,
                                                   const posenc_view *dy, float *dw, float *db, posenc_range rows) {
    if (conv == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_input_f32(x);
    if (status == POSENC_OK)
        status = posenc_check_input_f32(dy);
    if (status == POSENC_OK)
        status = posenc_grouped_conv_check_tokens(conv, x, dy);
    if (status == POSENC_OK)
        status = posenc_conv_check_results(x, dy, dw, conv->params.kernel * conv->width, db);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, conv->params.kernel);
    if (status != POSENC_OK || posenc_view_count(dy) == 0)
        return status;
    for (int64_t tap = rows.begin; tap < rows.end; tap++) {
        for (int64_t batch = 0; batch < dy->ne[2]; batch++)
            grad_of_tap(conv, x, dy, tap, batch, dw);
        if (tap == 0 && db != NULL)
            posenc_conv_bias_backward(dy, 0, db);
    }
    return POSENC_OK;
}
