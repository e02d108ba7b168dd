/* SPDX-License-Identifier: MIT */
/* Conditional positional encoding: which rows and weights meet in each token; mix_row does the rest. */
#include "encoding/conv.h"

#include <stdlib.h>

#include "core/minmax.h"
#include "core/view.h"
#include "encoding/encoding.h"

/* Most taps, of a kernel of two dimensions. */
enum { MAX_TAPS = POSENC_MAX_CONV_KERNEL_2D * POSENC_MAX_CONV_KERNEL_2D };

/* ---- Set-up ---- */

static posenc_status check_params(const posenc_conv_params *p) {
    if (p->n_dims != 1 && p->n_dims != 2)
        return posenc_refused(POSENC_ERR_SECTIONS);
    if (p->is_causal && p->n_dims != 1)
        return posenc_refused(POSENC_ERR_ENUM);
    if (p->n_channels < 0 || p->n_channels > POSENC_MAX_DIM)
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    int64_t largest = p->n_dims == 1 ? POSENC_MAX_CONV_KERNEL : POSENC_MAX_CONV_KERNEL_2D;
    if (p->kernel < 1 || p->kernel > largest || (p->kernel % 2 == 0 && !p->is_causal))
        return posenc_refused(POSENC_ERR_SHAPE);
    return POSENC_OK;
}

posenc_status posenc_conv_check_weights(const float *weights, const float *bias, int64_t n_channels) {
    if (weights == NULL && n_channels > 0)
        return posenc_refused(POSENC_ERR_NULL);
    return posenc_is_aligned(weights, 4) && posenc_is_aligned(bias, 4) ? POSENC_OK : posenc_refused(POSENC_ERR_STRIDE);
}

posenc_status posenc_conv_create(const posenc_conv_params *params, const float *weights, const float *bias,
                                 posenc_conv **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    if (params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = check_params(params);
    if (status == POSENC_OK)
        status = posenc_conv_check_weights(weights, bias, params->n_channels);
    if (status != POSENC_OK)
        return status;
    int64_t height = params->n_dims == 2 ? params->kernel : 1, taps = height * params->kernel, n = params->n_channels;
    posenc_conv *conv = calloc(1, sizeof *conv + (size_t)((taps + 1) * n) * sizeof(float));
    if (conv == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    conv->params = *params;
    conv->height = height;
    conv->width = params->kernel;
    conv->pad_y = (height - 1) / 2;
    conv->pad_x = params->is_causal ? params->kernel - 1 : (params->kernel - 1) / 2;
    for (int64_t c = 0; c < n; c++)
        for (int64_t u = 0; u < taps; u++)
            conv->weights[u * n + c] = weights[c * taps + u];
    if (bias != NULL) {
        conv->bias = conv->weights + taps * n;
        for (int64_t c = 0; c < n; c++)
            conv->bias[c] = bias[c];
    }
    *out = conv;
    return POSENC_OK;
}

void posenc_conv_free(posenc_conv *conv) {
    free(conv);
}

/* ---- Checks ---- */

posenc_status posenc_conv_check_grid(const posenc_conv *conv, posenc_conv_grid g) {
    if (g.n_prefix < 0 || g.height < 0 || g.width < 0 || g.n_prefix > POSENC_LIMIT || g.height > INT32_MAX ||
        g.width > INT32_MAX || g.height * g.width > POSENC_LIMIT || (conv->params.n_dims == 1 && g.height != 1))
        return posenc_refused(POSENC_ERR_SHAPE);
    return POSENC_OK;
}

posenc_status posenc_conv_check_tokens(const posenc_conv *conv, posenc_conv_grid g, const posenc_view *x) {
    return x->ne[0] == conv->params.n_channels && x->ne[1] == g.n_prefix + g.height * g.width && x->ne[3] <= 1
               ? POSENC_OK
               : posenc_refused(POSENC_ERR_SHAPE);
}

static posenc_status check_apply(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *x,
                                 const posenc_view *y, posenc_range *rows) {
    if (conv == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_input(x);
    if (status == POSENC_OK)
        status = posenc_check_output(y);
    if (status == POSENC_OK)
        status = posenc_conv_check_grid(conv, grid);
    if (status == POSENC_OK)
        status = posenc_conv_check_tokens(conv, grid, y);
    if (status == POSENC_OK && !posenc_same_extents(x, y))
        status = posenc_refused(POSENC_ERR_SHAPE);
    if (status == POSENC_OK)
        status = posenc_check_apart(x, y);
    return status == POSENC_OK ? posenc_check_rows(rows, posenc_view_rows(y)) : status;
}

/* ---- Apply, and the gradient of the input, which is the same with the reversed kernel ---- */

/* The taps of one token that lie inside the grid. */
typedef struct taps {
    const void *x[MAX_TAPS];
    const float *weights[MAX_TAPS];
    size_t n;
} taps;

/* Which token tap u of a token at `at` reads, in one dimension. */
static int64_t reads(int64_t at, int64_t u, int64_t pad, int backward) {
    return backward ? at - u + pad : at + u - pad;
}

static void find_taps(const posenc_conv *conv, posenc_conv_grid g, const posenc_view *x, int64_t token, int64_t batch,
                      int backward, taps *found) {
    int64_t ty = token / g.width, tx = token % g.width;
    found->n = 0;
    for (int64_t uy = 0; uy < conv->height; uy++) {
        int64_t sy = reads(ty, uy, conv->pad_y, backward);
        if (sy < 0 || sy >= g.height)
            continue;
        for (int64_t ux = 0; ux < conv->width; ux++) {
            int64_t sx = reads(tx, ux, conv->pad_x, backward);
            if (sx < 0 || sx >= g.width)
                continue;
            found->x[found->n] = posenc_view_at(x, g.n_prefix + sy * g.width + sx, batch, 0);
            found->weights[found->n] = conv->weights + (uy * conv->width + ux) * conv->params.n_channels;
            found->n++;
        }
    }
}

static void copy_token(const posenc_kernels *kernels, const posenc_view *x, const posenc_view *y, int64_t token,
                       int64_t batch) {
    const void *source = posenc_view_at(x, token, batch, 0);
    posenc_place_rows_args args = {
        .sources = &source,
        .source_type = x->dtype,
        .factor = 1.0f,
        .y = posenc_view_at(y, token, batch, 0),
        .type = y->dtype,
        .n = (size_t)y->ne[0],
        .n_rows = 1,
    };
    kernels->place_rows(&args);
}

/* Channels first .. first + n - 1 of one token behind the prefix. */
static void mix_token(const posenc_conv *conv, const posenc_kernels *kernels, taps *found, const posenc_view *x,
                      const posenc_view *y, int64_t token, int64_t batch, int64_t first, int64_t n, int backward) {
    int64_t x_begin = first * posenc_dtype_size(x->dtype), y_begin = first * posenc_dtype_size(y->dtype);
    for (size_t k = 0; k < found->n; k++) {
        found->x[k] = (const char *)found->x[k] + x_begin;
        found->weights[k] += first;
    }
    posenc_mix_row_args args = {
        .x = found->x,
        .x_type = x->dtype,
        .y_type = y->dtype,
        .weights = found->weights,
        .weight_step = 1,
        .start = backward || conv->bias == NULL ? NULL : conv->bias + first,
        .residual = conv->params.has_residual ? (const char *)posenc_view_at(x, token, batch, 0) + x_begin : NULL,
        .y = (char *)posenc_view_at(y, token, batch, 0) + y_begin,
        .n = (size_t)n,
        .n_terms = found->n,
    };
    kernels->mix_row(&args);
}

static posenc_status run(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *x, const posenc_view *y,
                         posenc_range rows, int backward) {
    posenc_status status = check_apply(conv, grid, x, y, &rows);
    if (status != POSENC_OK || posenc_view_count(y) == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    taps found;
    for (int64_t first = 0; first < y->ne[0]; first += POSENC_CONV_SLICE) {
        int64_t n = posenc_min(y->ne[0] - first, POSENC_CONV_SLICE);
        for (int64_t row = rows.begin; row < rows.end; row++) {
            int64_t batch = row / y->ne[1], token = row % y->ne[1];
            if (token < grid.n_prefix) {
                if (first == 0) /* all its channels at once */
                    copy_token(kernels, x, y, token, batch);
                continue;
            }
            find_taps(conv, grid, x, token - grid.n_prefix, batch, backward, &found);
            mix_token(conv, kernels, &found, x, y, token, batch, first, n, backward);
        }
    }
    return POSENC_OK;
}

posenc_status posenc_conv_apply(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *x,
                                const posenc_view *y, posenc_range rows) {
    return run(conv, grid, x, y, rows, 0);
}

posenc_status posenc_conv_backward_input(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *dy,
                                         const posenc_view *dx, posenc_range rows) {
    return run(conv, grid, dy, dx, rows, 1);
}
