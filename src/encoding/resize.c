/* SPDX-License-Identifier: MIT */
/* Resizing a table of positions: the rows and weights that each new row is made of. */
#include <posenc/learned.h>

#include <math.h>

#include "core/minmax.h"
#include "core/view.h"
#include "encoding/encoding.h"

#define MAX_SIDE ((int64_t)1 << 20)
#define MAX_CUBIC_A 4.0
#define ANTIALIAS_CUBIC_A (-0.5)

/* Terms that are added in one call, and channels at a time where a row has more of them. */
enum { TERMS = 64, SLICE = 1024 };

/* Bound of coordinates: from here on a double has no fraction, and every row of the grid is below. */
#define FAR 0x1p53

/* ---- One axis ---- */

/* The old coordinates first .. first + n - 1, clipped to the grid, that one new coordinate is made of. */
typedef struct axis_taps {
    int64_t first, n, n_in;
    double weights[4]; /* with antialiasing not read */
    /* Old coordinate j is ((2 j + 1) step - centre) / (2 width) from the new one in units of the filter. Without ratio
     * all three are integers, so that the filter's zeros are met exactly. */
    double step, centre, width;
    double total; /* of the filter's values; 0: no antialiasing */
} axis_taps;

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

static axis_taps interpolating_taps(const posenc_resize_params *p, int64_t o, int64_t n_in, int64_t n_out,
                                    double ratio) {
    double s = source_coordinate(p, o, n_in, n_out, ratio);
    int is_cubic = p->method == POSENC_RESIZE_CUBIC;
    if (!is_cubic && s < 0.0)
        s = 0.0;
    double whole = floor(s), f = s - whole;
    int first = is_cubic ? -1 : 0, n = is_cubic ? 4 : 2;
    axis_taps taps = {.first = (int64_t)whole + first, .n = n, .n_in = n_in};
    for (int k = 0; k < n; k++) {
        double linear = k == 0 ? 1.0 - f : f;
        taps.weights[k] = is_cubic ? cubic(f - (first + k), p->cubic_a) : linear;
    }
    return taps;
}

static double filtered(const posenc_resize_params *p, const axis_taps *taps, int64_t k) {
    double t = ((double)(2 * (taps->first + k) + 1) * taps->step - taps->centre) / (2.0 * taps->width);
    return p->method == POSENC_RESIZE_CUBIC ? cubic(t, ANTIALIAS_CUBIC_A) : fmax(1.0 - fabs(t), 0.0);
}

/* A filter that is as wide as a new row where those are wider than the old ones. */
static axis_taps antialiasing_taps(const posenc_resize_params *p, int64_t o, int64_t n_in, int64_t n_out,
                                   double ratio) {
    axis_taps taps = {.n_in = n_in, .step = 1.0, .centre = (double)(2 * o + 1) * ratio, .width = fmax(ratio, 1.0)};
    if (ratio == 0.0) {
        taps.step = (double)n_out;
        taps.centre = (double)((2 * o + 1) * n_in);
        taps.width = fmax((double)n_in, (double)n_out);
    }
    double reach = p->method == POSENC_RESIZE_CUBIC ? 4.0 * taps.width : 2.0 * taps.width; /* of 2 j + 1 steps */
    taps.first = clipped(floor(((taps.centre - reach) / taps.step - 1.0) / 2.0), n_in);
    taps.n = clipped(ceil(((taps.centre + reach) / taps.step - 1.0) / 2.0), n_in) - taps.first + 1;
    for (int64_t k = 0; k < taps.n; k++)
        taps.total += filtered(p, &taps, k);
    return taps;
}

static axis_taps taps_of(const posenc_resize_params *p, int64_t o, int64_t n_in, int64_t n_out, double ratio) {
    return p->antialias ? antialiasing_taps(p, o, n_in, n_out, ratio) : interpolating_taps(p, o, n_in, n_out, ratio);
}

static double weight_at(const posenc_resize_params *p, const axis_taps *taps, int64_t k) {
    return taps->total == 0.0 ? taps->weights[k] : filtered(p, taps, k) / taps->total;
}

/* ---- The terms of a row ---- */

/* Rows and weights of one new row, in order. */
typedef struct row_terms {
    const posenc_resize_params *params;
    axis_taps y, x;
    int64_t origin, i, j; /* the old grid's first row; the next term */
    double y_weight;      /* of i */
} row_terms;

static row_terms row_terms_of(const posenc_resize_params *p, int64_t row) {
    static const axis_taps one = {.n = 1, .n_in = 1, .weights = {1.0}};
    row_terms terms = {.params = p, .y = one, .x = one, .origin = row};
    int64_t o = row - p->n_prefix;
    if (o >= 0) {
        terms.origin = p->n_prefix;
        terms.y = taps_of(p, o / p->w_out, p->h_in, p->h_out, p->h_ratio);
        terms.x = taps_of(p, o % p->w_out, p->w_in, p->w_out, p->w_ratio);
    }
    terms.y_weight = weight_at(p, &terms.y, 0);
    return terms;
}

static void advance(row_terms *terms) {
    if (++terms->j < terms->x.n)
        return;
    terms->j = 0;
    if (++terms->i < terms->y.n)
        terms->y_weight = weight_at(terms->params, &terms->y, terms->i);
}

/* Moves to the next term with a weight: values of weight 0, even NaN, do not matter. 0: there is none. */
static int next_term(row_terms *terms, int64_t *row, float *weight) {
    for (; terms->i < terms->y.n; advance(terms)) {
        double x_weight = weight_at(terms->params, &terms->x, terms->j);
        if (terms->y_weight == 0.0 || x_weight == 0.0)
            continue;
        int64_t y = clipped((double)(terms->y.first + terms->i), terms->y.n_in);
        int64_t x = clipped((double)(terms->x.first + terms->j), terms->x.n_in);
        *row = terms->origin + y * terms->params->w_in + x;
        *weight = (float)(terms->y_weight * x_weight);
        advance(terms);
        return 1;
    }
    return 0;
}

/* ---- Checks ---- */

static int is_side(int64_t n) {
    return n >= 1 && n <= MAX_SIDE;
}

static int is_ratio(const posenc_resize_params *p, double ratio, int64_t n_in, int64_t n_out) {
    if (p->antialias && !(((double)n_out - 0.5) * ratio <= (double)n_in)) /* the filter would lie outside */
        return 0;
    return ratio >= 0.0 && isfinite(ratio) && !(ratio > 0.0 && p->align_corners);
}

static posenc_status check_params(const posenc_resize_params *p) {
    if ((unsigned)p->method > POSENC_RESIZE_CUBIC)
        return posenc_refused(POSENC_ERR_ENUM);
    if (!is_side(p->h_in) || !is_side(p->w_in) || !is_side(p->h_out) || !is_side(p->w_out) || p->n_prefix < 0 ||
        p->n_prefix > POSENC_LIMIT)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (p->antialias && p->align_corners)
        return posenc_refused(POSENC_ERR_ENUM);
    if (!is_ratio(p, p->h_ratio, p->h_in, p->h_out) || !is_ratio(p, p->w_ratio, p->w_in, p->w_out) ||
        !(fabs(p->cubic_a) <= MAX_CUBIC_A))
        return posenc_refused(POSENC_ERR_SCALING);
    return POSENC_OK;
}

/* `in` has the old grid, `out` the new one. */
static posenc_status check_grids(const posenc_resize_params *p, const posenc_view *in, const posenc_view *out) {
    if (in->ne[0] != out->ne[0] || in->ne[1] != p->n_prefix + p->h_in * p->w_in ||
        out->ne[1] != p->n_prefix + p->h_out * p->w_out || in->ne[2] * in->ne[3] != 1 || out->ne[2] * out->ne[3] != 1)
        return posenc_refused(POSENC_ERR_SHAPE);
    return posenc_check_apart(in, out);
}

static posenc_status check_views(const posenc_resize_params *p, const posenc_view *read, const posenc_view *written) {
    if (p == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_input(read);
    if (status == POSENC_OK)
        status = posenc_check_output(written);
    return status == POSENC_OK ? check_params(p) : status;
}

/* ---- The calls ---- */

/* The next terms, up to TERMS of them, from channel `first` on: how many. */
static size_t gather(row_terms *terms, const posenc_view *x, int64_t first, const void **sources, float *weights) {
    size_t n = 0;
    for (int64_t row; n < TERMS && next_term(terms, &row, &weights[n]); n++)
        sources[n] = (const char *)posenc_view_at(x, row, 0, 0) + first * posenc_dtype_size(x->dtype);
    return n;
}

/* Channels first .. first + n - 1 of a row, at most SLICE of them. */
static void resize_channels(const posenc_kernels *kernels, row_terms terms, const posenc_view *x, const posenc_view *y,
                            int64_t row, int64_t first, int64_t n) {
    float weights[TERMS], sums[SLICE];
    const void *sources[TERMS];
    const float *weights_at[TERMS];
    for (size_t k = 0; k < TERMS; k++)
        weights_at[k] = &weights[k];
    posenc_mix_row_args args = {
        .x = sources,
        .x_type = x->dtype,
        .weights = weights_at,
        .n = (size_t)n,
    };
    do {
        args.n_terms = gather(&terms, x, first, sources, weights);
        int is_last = terms.i == terms.y.n;
        args.y = is_last ? (char *)posenc_view_at(y, row, 0, 0) + first * posenc_dtype_size(y->dtype) : (void *)sums;
        args.y_type = is_last ? y->dtype : POSENC_F32;
        kernels->mix_row(&args);
        args.start = sums;
    } while (terms.i < terms.y.n);
}

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
        row_terms terms = row_terms_of(params, row);
        for (int64_t first = 0; first < y->ne[0]; first += SLICE)
            resize_channels(kernels, terms, x, y, row, first, posenc_min(y->ne[0] - first, SLICE));
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
        row_terms terms = row_terms_of(params, row);
        const void *source = posenc_view_at(dy, row, 0, 0);
        float weight;
        for (int64_t to; next_term(&terms, &to, &weight);) {
            posenc_place_rows_args args = {
                .sources = &source,
                .source_type = dy->dtype,
                .factor = weight,
                .x = posenc_view_at(dx, to, 0, 0),
                .y = posenc_view_at(dx, to, 0, 0),
                .n = (size_t)dx->ne[0],
                .n_rows = 1,
            };
            kernels->place_rows(&args);
        }
    }
    return POSENC_OK;
}
