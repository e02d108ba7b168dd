/* SPDX-License-Identifier: MIT */
/* FIRE: the pieces of the perceptron, a table of psi, and rows of the bias. */
#include <posenc/relative.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bias/mask.h"
#include "core/dd.h"
#include "core/minmax.h"
#include "core/row_place.h"
#include "core/view.h"
#include "kernels/kernels.h"

#define MAX_HEADS ((int64_t)1 << 16)
#define MAX_HIDDEN 1024
#define MAX_DISTANCE ((int64_t)1 << 22)

struct posenc_fire {
    int64_t n_heads, max_distance;
    int n_pieces;
    double c, threshold, eps;
    double *starts; /* [n_pieces]: piece p is where starts[p] <= x < starts[p + 1]; starts[0] is 0 */
    double *slopes; /* [n_heads][n_pieces], and what is added: the bias is slope * x + constant */
    double *constants;
    float *psi; /* [2 max_distance + 1]: by offset, so that keys ascend on both sides of the query */
};

/* ---- Set-up ---- */

static int are_finite(const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return 0;
    return 1;
}

static posenc_status check_params(const posenc_fire_params *p) {
    if (p->n_heads < 1 || p->n_heads > MAX_HEADS)
        return POSENC_ERR_N_HEADS;
    if (p->n_hidden < 1 || p->n_hidden > MAX_HIDDEN || p->max_distance < 0 || p->max_distance > MAX_DISTANCE)
        return POSENC_ERR_SHAPE;
    if (p->w1 == NULL || p->b1 == NULL || p->w2 == NULL || p->b2 == NULL)
        return POSENC_ERR_NULL;
    const float *weights[] = {p->w1, p->b1, p->w2, p->b2};
    const int64_t counts[] = {p->n_hidden, p->n_hidden, p->n_heads * p->n_hidden, p->n_heads};
    for (int i = 0; i < 4; i++) {
        if (!posenc_is_aligned(weights[i], 4))
            return POSENC_ERR_STRIDE;
        if (!are_finite(weights[i], counts[i]))
            return POSENC_ERR_SCALE;
    }
    int is_good = fabs(p->c) >= 0x1p-100 && fabs(p->c) <= 0x1p20 && p->threshold >= 0.0 && p->threshold <= 0x1p30 &&
                  p->eps >= 0x1p-100 && p->eps <= 1.0;
    return is_good ? POSENC_OK : POSENC_ERR_SCALE;
}

/* ln(|c x| + 1) for x >= 0. */
static double psi(double c, double x) {
    posenc_dd product = posenc_dd_mul(posenc_dd_from(fabs(c)), posenc_dd_from(x));
    return posenc_dd_log_of(posenc_dd_add(product, posenc_dd_from(1.0))).hi;
}

/* Input x > 0 at which a hidden unit begins or ceases to be active; 0 if it never changes. */
static double turning_point(const posenc_fire_params *p, int64_t unit) {
    double t = p->w1[unit] == 0.0f ? 0.0 : -(double)p->b1[unit] / (double)p->w1[unit];
    return t > 0.0 ? t : 0.0;
}

static int is_active(const posenc_fire_params *p, int64_t unit, double start) {
    double t = turning_point(p, unit);
    if (t == 0.0) /* the same for every x > 0 */
        return p->w1[unit] > 0.0f || (p->w1[unit] == 0.0f && p->b1[unit] > 0.0f);
    return p->w1[unit] > 0.0f ? start >= t : start < t;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_pieces(const posenc_fire_params *p, posenc_fire *fire) {
    fire->n_pieces = 1;
    fire->starts[0] = 0.0;
    for (int64_t unit = 0; unit < p->n_hidden; unit++)
        if (turning_point(p, unit) > 0.0)
            fire->starts[fire->n_pieces++] = turning_point(p, unit);
    qsort(fire->starts, (size_t)fire->n_pieces, sizeof fire->starts[0], compare);
    for (int64_t head = 0; head < p->n_heads; head++)
        for (int piece = 0; piece < fire->n_pieces; piece++) {
            double slope = 0.0, constant = (double)p->b2[head];
            for (int64_t unit = 0; unit < p->n_hidden; unit++)
                if (is_active(p, unit, fire->starts[piece])) {
                    double weight = (double)p->w2[head * p->n_hidden + unit];
                    slope += weight * (double)p->w1[unit];
                    constant += weight * (double)p->b1[unit];
                }
            fire->slopes[head * fire->n_pieces + piece] = slope;
            fire->constants[head * fire->n_pieces + piece] = constant;
        }
}

posenc_status posenc_fire_create(const posenc_fire_params *params, posenc_fire **out) {
    if (out == NULL)
        return POSENC_ERR_NULL;
    *out = NULL;
    if (params == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = check_params(params);
    if (status != POSENC_OK)
        return status;
    posenc_fire *fire = calloc(1, sizeof *fire);
    if (fire == NULL)
        return POSENC_ERR_MEMORY;
    fire->n_heads = params->n_heads;
    fire->max_distance = params->max_distance;
    fire->c = params->c;
    fire->threshold = params->threshold;
    fire->eps = params->eps;
    size_t n_pieces = (size_t)params->n_hidden + 1, n_heads = (size_t)params->n_heads;
    fire->starts = malloc(n_pieces * sizeof(double));
    fire->slopes = malloc(n_heads * n_pieces * sizeof(double));
    fire->constants = malloc(n_heads * n_pieces * sizeof(double));
    fire->psi = malloc((size_t)(2 * fire->max_distance + 1) * sizeof(float));
    if (fire->starts == NULL || fire->slopes == NULL || fire->constants == NULL || fire->psi == NULL) {
        posenc_fire_free(fire);
        return POSENC_ERR_MEMORY;
    }
    find_pieces(params, fire);
    float *middle = fire->psi + fire->max_distance;
    for (int64_t d = 0; d <= fire->max_distance; d++)
        middle[d] = middle[-d] = (float)psi(fire->c, (double)d);
    *out = fire;
    return POSENC_OK;
}

void posenc_fire_free(posenc_fire *fire) {
    if (fire == NULL)
        return;
    free(fire->starts);
    free(fire->slopes);
    free(fire->constants);
    free(fire->psi);
    free(fire);
}

/* ---- Rows ---- */

/* The first distance, of those up to `most`, whose psi is not below the bound; most + 1 if there is none. */
static int64_t first_distance(const posenc_fire *fire, double bound, int64_t most) {
    const float *middle = fire->psi + fire->max_distance;
    int64_t low = 0, high = most + 1;
    while (low < high) {
        int64_t d = low + (high - low) / 2;
        if ((double)middle[d] >= bound)
            high = d;
        else
            low = d + 1;
    }
    return low;
}

typedef struct fire_row {
    const posenc_fire *fire;
    const posenc_kernels *kernels;
    int64_t query, n_k;
    float *y;
    int add;
} fire_row;

/* Keys first .. last, as far as there are such, in one piece. */
static void write_keys(const fire_row *row, int64_t first, int64_t last, float slope, float constant) {
    first = posenc_max(first, 0);
    last = posenc_min(last, row->n_k - 1);
    if (first > last)
        return;
    posenc_affine_row_args args = {
        .x = row->fire->psi + row->fire->max_distance + (first - row->query),
        .y = row->y + first,
        .a = slope,
        .b = constant,
        .n = (size_t)(last - first + 1),
        .add = row->add,
    };
    row->kernels->affine_row(&args);
}

/* Rounded; beyond float's range its end, since infinity times a distance of 0 is no number. */
static float clamped(double x) {
    return (float)fmin(fmax(x, -(double)FLT_MAX), (double)FLT_MAX);
}

static void write_row(const fire_row *row, int64_t head) {
    const posenc_fire *fire = row->fire;
    double position = (double)row->query;
    double norm = psi(fire->c, position > fire->threshold ? position : fire->threshold) + fire->eps;
    const double *slopes = fire->slopes + head * fire->n_pieces, *constants = fire->constants + head * fire->n_pieces;
    int64_t most = posenc_max(row->query, row->n_k - 1 - row->query), begin = 0;
    for (int piece = 0; piece < fire->n_pieces && begin <= most; piece++) {
        int64_t end = most + 1; /* distances begin .. end - 1 */
        if (piece + 1 < fire->n_pieces)
            end = first_distance(fire, fire->starts[piece + 1] * norm, most);
        float slope = clamped(slopes[piece] / norm), constant = clamped(constants[piece]);
        write_keys(row, row->query - end + 1, row->query - begin, slope, constant);
        write_keys(row, row->query + posenc_max(begin, 1), row->query + end - 1, slope, constant);
        begin = end;
    }
}

static posenc_status run(const posenc_fire *fire, int64_t query_start, const posenc_view *y, posenc_range rows,
                         int add) {
    if (fire == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_output_f32(y);
    if (status != POSENC_OK)
        return status;
    int64_t n_k = y->ne[0], n_q = y->ne[1], n_heads = y->ne[2];
    if (n_heads != fire->n_heads)
        return POSENC_ERR_N_HEADS;
    if (n_k > fire->max_distance + 1 || n_q > fire->max_distance + 1)
        return POSENC_ERR_SHAPE;
    status = posenc_align_queries(&query_start, n_q, n_k);
    if (status != POSENC_OK)
        return status;
    if (query_start < 0 || query_start > fire->max_distance + 1 - n_q)
        return POSENC_ERR_POSITION;
    status = posenc_check_rows(&rows, posenc_view_rows(y));
    if (status != POSENC_OK || n_k == 0)
        return status;
    for (int64_t r = rows.begin; r < rows.end; r++) {
        posenc_row_place at = posenc_row_place_of(y, r);
        fire_row row = {fire, posenc_active_kernels(), query_start + at.query, n_k, posenc_row_at(y, at), add};
        write_row(&row, at.head);
    }
    return POSENC_OK;
}

posenc_status posenc_fire_write(const posenc_fire *fire, int64_t query_start, const posenc_view *y, posenc_range rows) {
    return run(fire, query_start, y, rows, 0);
}

posenc_status posenc_fire_add(const posenc_fire *fire, int64_t query_start, const posenc_view *y, posenc_range rows) {
    return run(fire, query_start, y, rows, 1);
}
