/* SPDX-License-Identifier: MIT */
/* The gradient of the weights of a convolution: for each tap, tokens times the tokens that they meet. */
#include "encoding/conv.h"

#include "core/minmax.h"
#include "core/view.h"
#include "kernels/kernels.h"

/* Terms that are added in one call. */
enum { GRAD_TERMS = 64 };

/* Pairs of a token of dy and the token of x that it meets in one tap, gathered and added up. */
typedef struct tap_sum {
    const posenc_kernels *kernels;
    const void *x[GRAD_TERMS];
    const float *dy[GRAD_TERMS];
    float sum[POSENC_CONV_SLICE];
    size_t n, n_channels;
} tap_sum;

static void flush(tap_sum *s) {
    posenc_mix_row_args args = {
        .x = s->x,
        .weights = s->dy,
        .weight_step = 1,
        .start = s->sum,
        .y = s->sum,
        .n = s->n_channels,
        .n_terms = s->n,
    };
    s->kernels->mix_row(&args);
    s->n = 0;
}

/* One tap, channels first .. first + n - 1: over all tokens whose partner lies inside. */
static void sum_tap(const posenc_conv *conv, posenc_conv_grid g, const posenc_view *x, const posenc_view *dy,
                    int64_t tap, int64_t first, tap_sum *s) {
    int64_t by_y = tap / conv->width - conv->pad_y, by_x = tap % conv->width - conv->pad_x;
    for (int64_t batch = 0; batch < dy->ne[2]; batch++)
        for (int64_t ty = 0; ty < g.height; ty++)
            for (int64_t tx = 0; tx < g.width; tx++) {
                int64_t sy = ty + by_y, sx = tx + by_x;
                if (sy < 0 || sy >= g.height || sx < 0 || sx >= g.width)
                    continue;
                int64_t to = g.n_prefix + ty * g.width + tx, from = g.n_prefix + sy * g.width + sx;
                s->x[s->n] = (const float *)posenc_view_at(x, from, batch, 0) + first;
                s->dy[s->n] = (const float *)posenc_view_at(dy, to, batch, 0) + first;
                if (++s->n == GRAD_TERMS)
                    flush(s);
            }
    flush(s);
}

static void grad_of_tap(const posenc_conv *conv, posenc_conv_grid g, const posenc_view *x, const posenc_view *dy,
                        int64_t tap, float *dw) {
    tap_sum s = {.kernels = posenc_active_kernels()};
    for (int64_t first = 0; first < dy->ne[0]; first += POSENC_CONV_SLICE) {
        s.n_channels = (size_t)posenc_min(dy->ne[0] - first, POSENC_CONV_SLICE);
        for (size_t c = 0; c < s.n_channels; c++)
            s.sum[c] = 0.0f;
        sum_tap(conv, g, x, dy, tap, first, &s);
        for (size_t c = 0; c < s.n_channels; c++)
            dw[(first + (int64_t)c) * posenc_conv_taps(conv) + tap] += s.sum[c];
    }
}

void posenc_conv_bias_backward(const posenc_view *dy, int64_t n_prefix, float *db) {
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t batch = 0; batch < dy->ne[2]; batch++)
        for (int64_t token = n_prefix; token < dy->ne[1]; token++) {
            const void *source = posenc_view_at(dy, token, batch, 0);
            posenc_place_rows_args args = {
                .sources = &source, .factor = 1.0f, .x = db, .y = db, .n = (size_t)dy->ne[0], .n_rows = 1};
            kernels->place_rows(&args);
        }
}

posenc_status posenc_conv_check_results(const posenc_view *x, const posenc_view *dy, const float *dw, int64_t n,
                                        const float *db) {
    posenc_view w = posenc_view_dense((void *)(uintptr_t)dw, POSENC_F32, n, dy->ne[0], 1, 1);
    posenc_view b = posenc_view_dense((void *)(uintptr_t)db, POSENC_F32, db == NULL ? 0 : dy->ne[0], 1, 1, 1);
    const posenc_view *inputs[] = {x, dy, &w};
    posenc_status status = posenc_check_output(&w);
    if (status == POSENC_OK)
        status = posenc_check_output(&b);
    for (int i = 0; i < 3 && status == POSENC_OK; i++)
        status = posenc_check_apart(inputs[i], &b);
    for (int i = 0; i < 2 && status == POSENC_OK; i++)
        status = posenc_check_apart(inputs[i], &w);
    return status;
}

posenc_status posenc_conv_backward_weights(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *x,
                                           const posenc_view *dy, float *dw, float *db, posenc_range rows) {
    if (conv == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_input_f32(x);
    if (status == POSENC_OK)
        status = posenc_check_input_f32(dy);
    if (status == POSENC_OK)
        status = posenc_conv_check_grid(conv, grid);
    if (status == POSENC_OK)
        status = posenc_conv_check_tokens(conv, grid, dy);
    if (status == POSENC_OK && !posenc_same_extents(x, dy))
        status = posenc_refused(POSENC_ERR_SHAPE);
    if (status == POSENC_OK)
        status = posenc_conv_check_results(x, dy, dw, posenc_conv_taps(conv), db);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, posenc_conv_taps(conv));
    if (status != POSENC_OK || posenc_view_count(dy) == 0)
        return status;
    for (int64_t tap = rows.begin; tap < rows.end; tap++) {
        grad_of_tap(conv, grid, x, dy, tap, dw);
        if (tap == 0 && db != NULL)
            posenc_conv_bias_backward(dy, grid.n_prefix, db);
    }
    return POSENC_OK;
}
