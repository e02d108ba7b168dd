/* SPDX-License-Identifier: MIT */
/* Resizing a table of positions: the rows and weights that each new row is made of. */
#include <posenc/learned.h>

#include <math.h>

#include "core/view.h"
#include "encoding/encoding.h"

#define MAX_SIDE ((int64_t)1 << 20)
#define MAX_CUBIC_A 4.0

/* What one coordinate of the new grid is made of. */
typedef struct axis_taps {
    int64_t from[4];
    double weights[4];
    int n;
} axis_taps;

/* From here on a double has no fraction, and every row of the grid lies before. */
#define FAR 0x1p53

static double source_coordinate(const posenc_resize_params *p, int64_t o, int64_t n_in, int64_t n_out, double ratio) {
    if (p->align_corners)
        return n_out == 1 ? 0.0 : (double)o * (double)(n_in - 1) / (double)(n_out - 1);
    if (ratio > 0.0)
        return fmin(((double)o + 0.5) * ratio - 0.5, FAR);
    return (double)((2 * o + 1) * n_in - n_out) / (double)(2 * n_out); /* so that a row that is met is met exactly */
}

static int64_t clipped(double i, int64_t n) {
    return i <= 0.0 ? 0 : i >= (double)(n - 1) ? n - 1 : (int64_t)i;
}

/* The cubic convolution kernel. */
static double cubic(double t, double a) {
    t = fabs(t);
    if (t <= 1.0)
        return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
    return t < 2.0 ? ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a : 0.0;
}

static axis_taps taps_of(const posenc_resize_params *p, int64_t o, int64_t n_in, int64_t n_out, double ratio) {
    double s = source_coordinate(p, o, n_in, n_out, ratio);
    axis_taps taps = {.n = 0};
    if (p->method == POSENC_RESIZE_LINEAR && s < 0.0)
        s = 0.0;
    double whole = floor(s), f = s - whole;
    int first = p->method == POSENC_RESIZE_CUBIC ? -1 : 0, last = p->method == POSENC_RESIZE_CUBIC ? 2 : 1;
    for (int k = first; k <= last; k++) {
        double linear = k == 0 ? 1.0 - f : f;
        double weight = p->method == POSENC_RESIZE_CUBIC ? cubic(f - k, p->cubic_a) : linear;
        if (weight == 0.0)
            continue; /* what stands there, NaN even, does not matter */
        taps.from[taps.n] = clipped(whole + k, n_in);
        taps.weights[taps.n++] = weight;
    }
    return taps;
}

/* The rows and weights of one new row. */
typedef struct row_taps {
    int64_t rows[16];
    float weights[16];
    int n;
} row_taps;

static void row_taps_of(const posenc_resize_params *p, int64_t row, row_taps *out) {
    out->n = 1;
    out->rows[0] = row;
    out->weights[0] = 1.0f;
    if (row < p->n_prefix)
        return;
    int64_t o = row - p->n_prefix;
    axis_taps y = taps_of(p, o / p->w_out, p->h_in, p->h_out, p->h_ratio);
    axis_taps x = taps_of(p, o % p->w_out, p->w_in, p->w_out, p->w_ratio);
    out->n = 0;
    for (int i = 0; i < y.n; i++)
        for (int j = 0; j < x.n; j++) {
            out->rows[out->n] = p->n_prefix + y.from[i] * p->w_in + x.from[j];
            out->weights[out->n++] = (float)(y.weights[i] * x.weights[j]);
        }
}

/* ---- Checks ---- */

static int is_side(int64_t n) {
    return n >= 1 && n <= MAX_SIDE;
}

static int is_ratio(const posenc_resize_params *p, double ratio) {
    return ratio >= 0.0 && isfinite(ratio) && !(ratio > 0.0 && p->align_corners);
}

static posenc_status check_params(const posenc_resize_params *p) {
    if ((unsigned)p->method > POSENC_RESIZE_CUBIC)
        return POSENC_ERR_ENUM;
    if (!is_side(p->h_in) || !is_side(p->w_in) || !is_side(p->h_out) || !is_side(p->w_out) || p->n_prefix < 0 ||
        p->n_prefix > POSENC_LIMIT)
        return POSENC_ERR_SHAPE;
    if (!is_ratio(p, p->h_ratio) || !is_ratio(p, p->w_ratio) || !(fabs(p->cubic_a) <= MAX_CUBIC_A))
        return POSENC_ERR_SCALING;
    return POSENC_OK;
}

/* `in` has the old grid, `out` the new one. */
static posenc_status check_grids(const posenc_resize_params *p, const posenc_view *in, const posenc_view *out) {
    if (in->ne[0] != out->ne[0] || in->ne[1] != p->n_prefix + p->h_in * p->w_in ||
        out->ne[1] != p->n_prefix + p->h_out * p->w_out || in->ne[2] * in->ne[3] != 1 || out->ne[2] * out->ne[3] != 1)
        return POSENC_ERR_SHAPE;
    return posenc_check_apart(in, out);
}

static posenc_status check_views(const posenc_resize_params *p, const posenc_view *read, const posenc_view *written) {
    if (p == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_input(read);
    if (status == POSENC_OK)
        status = posenc_check_output(written);
    return status == POSENC_OK ? check_params(p) : status;
}

/* ---- The calls ---- */

posenc_status posenc_table_resize(const posenc_resize_params *params, const posenc_view *x, const posenc_view *y,
                                  posenc_range rows) {
    posenc_status status = check_views(params, x, y);
    if (status == POSENC_OK)
        status = check_grids(params, x, y);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, y->ne[1]);
    if (status != POSENC_OK || posenc_view_count(y) == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t row = rows.begin; row < rows.end; row++) {
        row_taps taps;
        const void *sources[16];
        const float *weights[16];
        row_taps_of(params, row, &taps);
        for (int k = 0; k < taps.n; k++) {
            sources[k] = posenc_view_at(x, taps.rows[k], 0, 0);
            weights[k] = &taps.weights[k];
        }
        posenc_mix_row_args args = {
            .x = sources,
            .x_type = x->dtype,
            .y_type = y->dtype,
            .weights = weights,
            .y = posenc_view_at(y, row, 0, 0),
            .n = (size_t)y->ne[0],
            .n_terms = (size_t)taps.n,
        };
        kernels->mix_row(&args);
    }
    return POSENC_OK;
}

posenc_status posenc_table_resize_backward(const posenc_resize_params *params, const posenc_view *dy,
                                           const posenc_view *dx) {
    posenc_status status = check_views(params, dy, dx);
    if (status == POSENC_OK)
        status = posenc_require_f32(dx);
    if (status == POSENC_OK)
        status = check_grids(params, dx, dy);
    if (status != POSENC_OK || posenc_view_count(dx) == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t row = 0; row < dy->ne[1]; row++) {
        row_taps taps;
        row_taps_of(params, row, &taps);
        const void *source = posenc_view_at(dy, row, 0, 0);
        for (int k = 0; k < taps.n; k++) {
            void *to = posenc_view_at(dx, taps.rows[k], 0, 0);
            posenc_place_rows_args args = {
                .sources = &source,
                .source_type = dy->dtype,
                .factor = taps.weights[k],
                .x = to,
                .y = to,
                .n = (size_t)dx->ne[0],
                .n_rows = 1,
            };
            kernels->place_rows(&args);
        }
    }
    return POSENC_OK;
}
