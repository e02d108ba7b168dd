/* SPDX-License-Identifier: MIT */
/* Convolution over tokens in groups of channels: for each tap a product of tokens with the tap's weights, dot_rows. */
#include "encoding/grouped_conv.h"

#include <stdlib.h>

#include "core/memory.h"
#include "core/minmax.h"
#include "core/view.h"
#include "encoding/conv.h"
#include "encoding/encoding.h"

/* Tokens and written channels at a time. The weights of a tap for these channels stay in the first cache; tokens are
 * tiles of dot_rows, four times six. 12 or 48 tokens are no faster. */
enum { TOKENS = 24, CHANNELS = 2 * POSENC_PANEL };

/* ---- Set-up ---- */

static posenc_status check_params(const posenc_grouped_conv_params *p) {
    if (p->n_channels < 0 || p->n_channels > POSENC_MAX_DIM)
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    if (p->n_groups < 1 || p->n_groups > POSENC_MAX_DIM || p->n_channels % p->n_groups != 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    return p->kernel >= 1 && p->kernel <= POSENC_MAX_GROUPED_KERNEL ? POSENC_OK : posenc_refused(POSENC_ERR_SHAPE);
}

/* Rows of a table in whole panels. */
static int64_t padded(int64_t n_rows) {
    return (n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
}

/* Floats of one tap and group in panels. */
static int64_t tap_size(const posenc_grouped_conv *conv) {
    return padded(conv->width) * conv->width;
}

/* The channel that is written, out, reads the channel in of its group. */
static float weight_of(const posenc_grouped_conv *conv, const float *weights, int64_t u, int64_t in, int64_t out) {
    return weights[(u * conv->width + in) * conv->params.n_channels + out];
}

static void pack_tap(const posenc_grouped_conv *conv, const float *weights, int64_t u, int64_t group, int is_backward,
                     float *panels) {
    int64_t w = conv->width;
    for (int64_t t = 0; t < padded(w); t++)
        for (int64_t c = 0; c < w; c++) {
            int64_t in = is_backward ? t : c, out = is_backward ? c : t;
            panels[t / POSENC_PANEL * POSENC_PANEL * w + c * POSENC_PANEL + t % POSENC_PANEL] =
                t < w ? weight_of(conv, weights, u, in, group * w + out) : 0.0f;
        }
}

static posenc_status pack(const posenc_grouped_conv *conv, const float *weights, int is_backward, float **panels) {
    const posenc_grouped_conv_params *p = &conv->params;
    int64_t bytes = tap_size(conv) * p->n_groups * p->kernel * (int64_t)sizeof(float); /* at most 2^57 */
    if (bytes == 0)
        return POSENC_OK;
    *panels = posenc_is_size(bytes) ? posenc_aligned_alloc(64, (size_t)bytes) : NULL;
    if (*panels == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    for (int64_t u = 0; u < p->kernel; u++)
        for (int64_t group = 0; group < p->n_groups; group++)
            pack_tap(conv, weights, u, group, is_backward, *panels + (u * p->n_groups + group) * tap_size(conv));
    return POSENC_OK;
}

static posenc_status copy_bias(posenc_grouped_conv *conv, const float *bias) {
    int64_t n = conv->params.n_channels;
    if (bias == NULL || n == 0)
        return POSENC_OK;
    conv->bias = malloc((size_t)n * sizeof(float));
    if (conv->bias == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    for (int64_t c = 0; c < n; c++)
        conv->bias[c] = bias[c];
    return POSENC_OK;
}

static posenc_status fill(posenc_grouped_conv *conv, const float *weights, const float *bias) {
    posenc_status status = pack(conv, weights, 0, &conv->forward);
    if (status == POSENC_OK && conv->params.has_backward)
        status = pack(conv, weights, 1, &conv->backward);
    return status == POSENC_OK ? copy_bias(conv, bias) : status;
}

posenc_status posenc_grouped_conv_create(const posenc_grouped_conv_params *params, const float *weights,
                                         const float *bias, posenc_grouped_conv **out) {
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
    posenc_grouped_conv *conv = calloc(1, sizeof *conv);
    if (conv == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    conv->params = *params;
    conv->width = params->n_channels / params->n_groups;
    conv->pad = params->kernel / 2;
    status = fill(conv, weights, bias);
    if (status != POSENC_OK) {
        posenc_grouped_conv_free(conv);
        return status;
    }
    *out = conv;
    return POSENC_OK;
}

void posenc_grouped_conv_free(posenc_grouped_conv *conv) {
    if (conv == NULL)
        return;
    posenc_aligned_free(conv->forward);
    posenc_aligned_free(conv->backward);
    free(conv->bias);
    free(conv);
}

/* ---- Checks, and which tokens meet ---- */

posenc_status posenc_grouped_conv_check_tokens(const posenc_grouped_conv *conv, const posenc_view *x,
                                               const posenc_view *y) {
    return y->ne[0] == conv->params.n_channels && y->ne[3] <= 1 && posenc_same_extents(x, y)
               ? POSENC_OK
               : posenc_refused(POSENC_ERR_SHAPE);
}

static posenc_status check_apply(const posenc_grouped_conv *conv, const posenc_view *x, const posenc_view *y,
                                 posenc_range *rows) {
    if (conv == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_input(x);
    if (status == POSENC_OK)
        status = posenc_check_output(y);
    if (status == POSENC_OK)
        status = posenc_grouped_conv_check_tokens(conv, x, y);
    if (status == POSENC_OK)
        status = posenc_check_apart(x, y);
    return status == POSENC_OK ? posenc_check_rows(rows, posenc_view_rows(y)) : status;
}

posenc_tap_span posenc_grouped_conv_span(const posenc_grouped_conv *conv, int64_t u, int64_t begin, int64_t end,
                                         int64_t n_tokens, int is_backward) {
    int64_t by = is_backward ? conv->pad - u : u - conv->pad;
    return (posenc_tap_span){posenc_max(begin, -by), posenc_min(end, n_tokens - by), by};
}

/* ---- Apply, and the gradient of the input ---- */

/* Block of output: tokens begin .. end - 1 of a batch, channels first .. first + n - 1 of a group. */
typedef struct block {
    const posenc_view *x, *y;
    int64_t batch, begin, end, group, first, n;
    int is_backward;
} block;

typedef float block_rows[TOKENS][CHANNELS];

static void start_block(const posenc_grouped_conv *conv, const block *b, block_rows sums) {
    const float *bias = b->is_backward ? NULL : conv->bias;
    for (int64_t r = 0; r < b->end - b->begin; r++)
        for (int64_t c = 0; c < b->n; c++)
            sums[r][c] = bias == NULL ? 0.0f : bias[b->group * conv->width + b->first + c];
}

/* sums += rows, n_rows from row `first` of the sums on. */
static void add_rows(const posenc_kernels *kernels, const block *b, block_rows rows, block_rows sums, int64_t first,
                     int64_t n_rows) {
    const void *sources[TOKENS];
    for (int64_t r = 0; r < n_rows; r++)
        sources[r] = rows[r];
    posenc_place_rows_args args = {
        .sources = sources,
        .factor = 1.0f,
        .x = sums[first],
        .y = sums[first],
        .x_stride = sizeof sums[0],
        .y_stride = sizeof sums[0],
        .n = (size_t)b->n,
        .n_rows = (size_t)n_rows,
    };
    kernels->place_rows(&args);
}

static void add_tap(const posenc_grouped_conv *conv, const posenc_kernels *kernels, const block *b, int64_t u,
                    block_rows sums) {
    posenc_tap_span span = posenc_grouped_conv_span(conv, u, b->begin, b->end, b->y->ne[1], b->is_backward);
    if (span.begin >= span.end)
        return;
    const float *tables = b->is_backward ? conv->backward : conv->forward;
    int64_t column = b->group * conv->width * posenc_dtype_size(b->x->dtype);
    block_rows products;
    posenc_dot_rows_args args = {
        .x = (const char *)posenc_view_at(b->x, span.begin + span.by, b->batch, 0) + column,
        .x_type = b->x->dtype,
        .x_stride = (ptrdiff_t)b->x->nb[1],
        .panels = tables + (u * conv->params.n_groups + b->group) * tap_size(conv) + b->first * conv->width,
        .y = products[0],
        .y_stride = sizeof products[0],
        .dim = (size_t)conv->width,
        .n_x = (size_t)(span.end - span.begin),
        .n_rows = (size_t)b->n,
    };
    kernels->dot_rows(&args);
    add_rows(kernels, b, products, sums, span.begin - b->begin, span.end - span.begin);
}

static void store_block(const posenc_grouped_conv *conv, const posenc_kernels *kernels, const block *b,
                        block_rows sums) {
    const void *sources[TOKENS];
    int64_t column = (b->group * conv->width + b->first) * posenc_dtype_size(b->y->dtype);
    for (int64_t r = 0; r < b->end - b->begin; r++)
        sources[r] = sums[r];
    posenc_place_rows_args args = {
        .sources = sources,
        .factor = 1.0f,
        .y = (char *)posenc_view_at(b->y, b->begin, b->batch, 0) + column,
        .type = b->y->dtype,
        .y_stride = (ptrdiff_t)b->y->nb[1],
        .n = (size_t)b->n,
        .n_rows = (size_t)(b->end - b->begin),
    };
    kernels->place_rows(&args);
}

static void run_block(const posenc_grouped_conv *conv, const posenc_kernels *kernels, const block *b) {
    block_rows sums;
    start_block(conv, b, sums);
    for (int64_t u = 0; u < conv->params.kernel; u++)
        add_tap(conv, kernels, b, u, sums);
    store_block(conv, kernels, b, sums);
}

/* Rows begin .. end - 1, which lie in one batch. */
static void run_rows(const posenc_grouped_conv *conv, const posenc_kernels *kernels, block b, int64_t begin,
                     int64_t end) {
    int64_t n_tokens = b.y->ne[1], before = begin / n_tokens * n_tokens;
    b.batch = begin / n_tokens;
    for (int64_t row = begin; row < end; row += TOKENS) {
        b.begin = row - before;
        b.end = posenc_min(row + TOKENS, end) - before;
        run_block(conv, kernels, &b);
    }
}

static posenc_status run(const posenc_grouped_conv *conv, const posenc_view *x, const posenc_view *y, posenc_range rows,
                         int is_backward) {
    posenc_status status = check_apply(conv, x, y, &rows);
    if (status == POSENC_OK && is_backward && !conv->params.has_backward)
        status = posenc_refused(POSENC_ERR_UNSET);
    if (status != POSENC_OK || posenc_view_count(y) == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    block b = {.x = x, .y = y, .is_backward = is_backward};
    for (b.group = 0; b.group < conv->params.n_groups; b.group++)
        for (b.first = 0; b.first < conv->width; b.first += CHANNELS) {
            b.n = posenc_min(conv->width - b.first, CHANNELS);
            for (int64_t begin = rows.begin, end; begin < rows.end; begin = end) {
                end = posenc_min((begin / y->ne[1] + 1) * y->ne[1], rows.end);
                run_rows(conv, kernels, b, begin, end);
            }
        }
    return POSENC_OK;
}

posenc_status posenc_grouped_conv_apply(const posenc_grouped_conv *conv, const posenc_view *x, const posenc_view *y,
                                        posenc_range rows) {
    return run(conv, x, y, rows, 0);
}

posenc_status posenc_grouped_conv_backward_input(const posenc_grouped_conv *conv, const posenc_view *dy,
                                                 const posenc_view *dx, posenc_range rows) {
    return run(conv, dy, dx, rows, 1);
}
