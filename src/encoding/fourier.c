/* SPDX-License-Identifier: MIT */
/* Random Fourier features: turns in two doubles, then the angle kernel. */
#include <posenc/encoding.h>
#include <posenc/learned.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/angles.h"
#include "core/minmax.h"
#include "core/view.h"
#include "encoding/encoding.h"
#include "kernels/fma.h"

#define MAX_FEATURES 65536
#define MAX_ENTRY 65536.0
#define MAX_FOURIER_SIGMA 4096.0

typedef struct fourier {
    posenc_generator base;
    posenc_fourier_order order;
    int64_t n_features;
    int has_long_entries; /* that are no float32 */
    double matrix[];      /* [n_coords][n_features] */
} fourier;

/* ---- Rows ---- */

/* hi + lo += p * row, where every product is exact. */
static void add_products(double p, const double *row, int64_t n, double *hi, double *lo) {
    for (int64_t i = 0; i < n; i++) {
        double product = p * row[i], sum = hi[i] + product;
        lo[i] += posenc_sum_error(hi[i], product, sum);
        hi[i] = sum;
    }
}

/* Adds what each product loses too, in 1.3 times the time. */
static void add_long_products(double p, const double *row, int64_t n, double *hi, double *lo) {
    double p1 = posenc_upper_half(p), p0 = p - p1;
    for (int64_t i = 0; i < n; i++) {
        double product = p * row[i], b1 = posenc_upper_half(row[i]), b0 = row[i] - b1, sum = hi[i] + product;
        double lost = ((p1 * b1 - product) + p1 * b0 + p0 * b1) + p0 * b0; /* exact (Dekker) */
        lo[i] += posenc_sum_error(hi[i], product, sum) + lost;
        hi[i] = sum;
    }
}

/* Half turns 2 B p of some features of one token: hi + lo, where lo keeps the rounding errors of products and sums. */
static void half_turns(const fourier *f, const posenc_tokens *tokens, int64_t token, int64_t first, int64_t n,
                       double *hi, double *lo) {
    memset(hi, 0, POSENC_SLICE * sizeof *hi);
    memset(lo, 0, POSENC_SLICE * sizeof *lo);
    for (int axis = 0; axis < f->base.n_axes; axis++) {
        double p = 2.0 * tokens->real[axis][token];
        const double *row = f->matrix + axis * f->n_features + first;
        if (f->has_long_entries || posenc_upper_half(p) != p)
            add_long_products(p, row, n, hi, lo);
        else
            add_products(p, row, n, hi, lo);
    }
}

/* Features `first` to first + n - 1 of one token. */
static void make_features(const fourier *f, const posenc_kernels *kernels, const posenc_tokens *tokens, int64_t token,
                          int64_t first, int64_t n, double *cosines, double *sines) {
    double hi[POSENC_SLICE], lo[POSENC_SLICE];
    half_turns(f, tokens, token, first, n, hi, lo);
    posenc_angle_anchors_args args = {
        .hi = hi,
        .lo = lo,
        .magnitude = 1.0,
        .position = 1.0,
        .cos_out = cosines,
        .sin_out = sines,
        .n = (size_t)posenc_columns_of(n) * POSENC_COLUMN,
    };
    kernels->angle_anchors(&args);
}

static void store(float *y, const double *values, int64_t n, int add) {
    for (int64_t i = 0; i < n; i++)
        y[i] = add ? y[i] + (float)values[i] : (float)values[i];
}

/* Columns first .. first + n - 1 of one row, all of them cosines or all of them sines; their twins to `twin`. */
static void write_columns(const fourier *f, const posenc_kernels *kernels, const posenc_tokens *tokens, int64_t token,
                          int64_t first, int64_t n, float *out, float *twin, int add) {
    double values[2][POSENC_SLICE]; /* cosines, sines */
    int second_half = first >= f->n_features;
    int kind = second_half != (f->order == POSENC_FOURIER_SIN_COS); /* of out: 1 for sines */
    make_features(f, kernels, tokens, token, first - second_half * f->n_features, n, values[0], values[1]);
    store(out, values[kind], n, add);
    if (twin != NULL)
        store(twin, values[!kind], n, add);
}

static void fourier_rows(const posenc_generator *g, const posenc_kernels *kernels, const posenc_tokens *tokens,
                         const posenc_row_span *span) {
    const fourier *f = (const fourier *)g;
    for (int64_t done = 0, n; done < span->n; done += n) {
        int64_t first = span->first + done, half_end = first < f->n_features ? f->n_features : 2 * f->n_features;
        n = posenc_min(posenc_min(span->n - done, POSENC_SLICE), half_end - first);
        for (int64_t t = 0; t < tokens->n; t++) {
            float *twin = span->twin != NULL ? span->twin + t * span->stride + done : NULL;
            write_columns(f, kernels, tokens, t, first, n, span->out + t * span->stride + done, twin, span->add);
        }
    }
}

/* ---- Set-up ---- */

static double entry(const posenc_fourier_params *p, int64_t i) {
    return p->matrix != NULL ? (double)p->matrix[i] : p->matrix_f64[i];
}

static posenc_status check_matrix(const posenc_fourier_params *p) {
    if (p->matrix == NULL && p->matrix_f64 == NULL)
        return p->sigma > 0.0 && p->sigma <= MAX_FOURIER_SIGMA ? POSENC_OK : posenc_refused(POSENC_ERR_SCALE);
    if (p->matrix != NULL && p->matrix_f64 != NULL)
        return posenc_refused(POSENC_ERR_ENUM);
    if (!posenc_is_aligned(p->matrix, sizeof(float)) || !posenc_is_aligned(p->matrix_f64, 8))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t i = 0; i < p->n_features * p->n_coords; i++)
        if (!(fabs(entry(p, i)) <= MAX_ENTRY))
            return posenc_refused(POSENC_ERR_FREQUENCY);
    return POSENC_OK;
}

static posenc_status check_params(const posenc_fourier_params *p) {
    if (p->n_features < 1 || p->n_features > MAX_FEATURES)
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    if (p->n_coords < 1 || p->n_coords > POSENC_MAX_COORDS)
        return posenc_refused(POSENC_ERR_SECTIONS);
    if ((unsigned)p->order > POSENC_FOURIER_SIN_COS)
        return posenc_refused(POSENC_ERR_ENUM);
    return check_matrix(p);
}

/* Copies or draws the matrix, transposed so that features are neighbours. */
static posenc_status fill_matrix(const posenc_fourier_params *p, fourier *f) {
    posenc_fourier_params from = *p;
    float *drawn = NULL;
    if (p->matrix == NULL && p->matrix_f64 == NULL) {
        from.matrix = drawn = malloc((size_t)(p->n_features * p->n_coords) * sizeof(float));
        if (drawn == NULL)
            return posenc_refused(POSENC_ERR_MEMORY);
        posenc_view view = posenc_view_dense(drawn, POSENC_F32, p->n_coords, p->n_features, 1, 1);
        posenc_fill_normal(p->seed, 0.0, p->sigma, &view, posenc_range_all());
    }
    for (int64_t i = 0; i < p->n_features; i++)
        for (int axis = 0; axis < p->n_coords; axis++) {
            double value = entry(&from, i * p->n_coords + axis);
            f->matrix[axis * p->n_features + i] = value;
            f->has_long_entries |= (double)(float)value != value;
        }
    free(drawn);
    return POSENC_OK;
}

posenc_status posenc_fourier_create(const posenc_fourier_params *params, posenc_encoding **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    if (params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = check_params(params);
    if (status != POSENC_OK)
        return status;
    size_t n_entries = (size_t)(params->n_features * params->n_coords);
    fourier *f = posenc_generator_new(sizeof *f + n_entries * sizeof(double), 2 * params->n_features);
    if (f == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    f->base.n_axes = params->n_coords;
    f->base.lowest = -((int64_t)1 << 29);
    f->base.highest = (int64_t)1 << 29;
    f->base.twin = params->n_features;
    f->base.rows = fourier_rows;
    f->order = params->order;
    f->n_features = params->n_features;
    status = fill_matrix(params, f);
    if (status != POSENC_OK) {
        free(f);
        return status;
    }
    return posenc_encoding_of(&f->base, 0, out);
}
