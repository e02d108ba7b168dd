/* SPDX-License-Identifier: MIT */
/* Analysis of rows, frequencies and codes. */
#include <posenc/analysis.h>
#include <posenc/encoding.h>

#include <math.h>

#include "bias/panels.h"
#include "core/angles.h"
#include "core/for_python.h"
#include "core/minmax.h"
#include "core/view.h"
#include "kernels/fma.h"

#define TWO_PI 6.283185307179586

/* ---- Rows ---- */

static posenc_status check_rows_view(const posenc_view *e) {
    posenc_status status = posenc_check_input_f32(e);
    if (status == POSENC_OK && (e->ne[2] != 1 || e->ne[3] != 1))
        status = posenc_refused(POSENC_ERR_SHAPE);
    return status;
}

/* 1 for what an epsilon or a tolerance may be. */
static int is_size(double x) {
    return x >= 0.0 && x < INFINITY;
}

static const float *row_of(const posenc_view *e, int64_t p) {
    return posenc_view_at(e, p, 0, 0);
}

/* Channels of one chain of fma. A panel of this depth fits the stack. */
enum { CHAIN = 256 };

/* Product of two rows in the order of dot_rows: the sums of the chains, added up in order. */
static double dot(const float *a, const float *b, int64_t n) {
    float total = 0.0f;
    for (int64_t first = 0; first < n; first += CHAIN) {
        float sum = 0.0f;
        for (int64_t c = first; c < n && c < first + CHAIN; c++)
            sum = posenc_fmaf(a[c], b[c], sum);
        total += sum;
    }
    return (double)total;
}

static double norm(const float *a, int64_t n) {
    return sqrt(dot(a, a, n));
}

static float quotient(double product, double norms, double eps) {
    double denominator = norms + eps;
    return denominator == 0.0 ? 0.0f : (float)(product / denominator);
}

/* Rows whose norms wait on the stack while panels of columns go by, and rows whose products with a panel do. */
enum { ROWS_AT_ONCE = 256, ROWS_AT_A_TIME = 16 };

/* Arguments of the loops below: rows from first_row on against columns from first on, of one panel. */
typedef struct similarity_block {
    const posenc_kernels *kernels;
    const posenc_view *e, *similarity;
    int64_t first_row, n_rows;
    int64_t first, n;
} similarity_block;

static float *result_of(const similarity_block *b, int64_t row) {
    return (float *)posenc_view_at(b->similarity, b->first_row + row, 0, 0) + b->first;
}

/* Products of the rows with a packed panel of n_channels channels: written, or added to what earlier channels gave. */
static void add_chains(const similarity_block *b, const float *panel, int64_t first_channel, int64_t n_channels) {
    float chains[ROWS_AT_A_TIME][POSENC_PANEL];
    for (int64_t row = 0; row < b->n_rows; row += ROWS_AT_A_TIME) {
        int64_t n_rows = posenc_min(b->n_rows - row, ROWS_AT_A_TIME);
        posenc_dot_rows_args args = {
            .x = row_of(b->e, b->first_row + row) + first_channel,
            .x_type = POSENC_F32,
            .x_stride = (ptrdiff_t)b->e->nb[1],
            .panels = panel,
            .y = chains[0],
            .y_stride = sizeof chains[0],
            .dim = (size_t)n_channels,
            .n_x = (size_t)n_rows,
            .n_rows = (size_t)b->n,
        };
        b->kernels->dot_rows(&args);
        for (int64_t i = 0; i < n_rows; i++) {
            float *out = result_of(b, row + i);
            for (int64_t k = 0; k < b->n; k++)
                out[k] = first_channel == 0 ? chains[i][k] : out[k] + chains[i][k];
        }
    }
}

static void multiply(const similarity_block *b) {
    float panel[CHAIN * POSENC_PANEL];
    posenc_view columns = *b->e; /* rows as tokens of one head */
    columns.ne[1] = 1;
    columns.ne[2] = b->n;
    columns.nb[2] = b->e->nb[1];
    for (int64_t c = 0; c < b->e->ne[0]; c += CHAIN) {
        columns.ne[0] = posenc_min(b->e->ne[0] - c, CHAIN);
        columns.data = (float *)(uintptr_t)(row_of(b->e, b->first) + c);
        posenc_panels_pack(&columns, 0, 0, panel);
        add_chains(b, panel, c, columns.ne[0]);
    }
}

/* Products become similarities; without channels there are none. */
static void divide(const similarity_block *b, const double *norms, double eps) {
    double column_norms[POSENC_PANEL];
    int64_t dim = b->e->ne[0];
    for (int64_t k = 0; k < b->n; k++)
        column_norms[k] = norm(row_of(b->e, b->first + k), dim);
    for (int64_t row = 0; row < b->n_rows; row++) {
        float *out = result_of(b, row);
        for (int64_t k = 0; k < b->n; k++)
            out[k] = quotient(dim > 0 ? (double)out[k] : 0.0, norms[row] * column_norms[k], eps);
    }
}

/* Rows of the matrix, panel by panel of its columns. */
static void make_rows(similarity_block *b, double eps) {
    double norms[ROWS_AT_ONCE];
    for (int64_t row = 0; row < b->n_rows; row++)
        norms[row] = norm(row_of(b->e, b->first_row + row), b->e->ne[0]);
    int64_t n = b->e->ne[1];
    for (b->first = 0; b->first < n; b->first += POSENC_PANEL) {
        b->n = posenc_min(n - b->first, POSENC_PANEL);
        multiply(b);
        divide(b, norms, eps);
    }
}

posenc_status posenc_cosine_similarity(const posenc_view *e, double eps, const posenc_view *similarity,
                                       posenc_range rows) {
    posenc_status status = check_rows_view(e);
    if (status == POSENC_OK)
        status = posenc_check_output_f32(similarity);
    if (status != POSENC_OK)
        return status;
    int64_t n = e->ne[1];
    if (similarity->ne[0] != n || similarity->ne[1] != n || similarity->ne[2] > 1 || similarity->ne[3] > 1)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (!is_size(eps))
        return posenc_refused(POSENC_ERR_SCALE);
    status = posenc_check_apart(e, similarity);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, n);
    if (status != POSENC_OK || posenc_view_count(similarity) == 0)
        return status;
    similarity_block b = {.kernels = posenc_active_kernels(), .e = e, .similarity = similarity};
    for (b.first_row = rows.begin; b.first_row < rows.end; b.first_row += b.n_rows) {
        b.n_rows = posenc_min(rows.end - b.first_row, ROWS_AT_ONCE);
        make_rows(&b, eps);
    }
    return POSENC_OK;
}

posenc_status posenc_similarity_profile(const posenc_view *e, int64_t query, double eps, int64_t n_offsets,
                                        float *profile) {
    posenc_status status = check_rows_view(e);
    if (status != POSENC_OK)
        return status;
    posenc_view out = posenc_view_dense(profile, POSENC_F32, n_offsets, 1, 1, 1);
    status = posenc_check_output(&out);
    if (status == POSENC_OK)
        status = posenc_check_apart(e, &out);
    if (status != POSENC_OK)
        return status;
    if (query < 0 || query >= e->ne[1])
        return posenc_refused(POSENC_ERR_ROWS);
    if (!is_size(eps))
        return posenc_refused(POSENC_ERR_SCALE);
    int64_t dim = e->ne[0];
    const float *row = row_of(e, query);
    double own_norm = norm(row, dim);
    for (int64_t t = 0; t < n_offsets; t++) {
        profile[t] = NAN;
        if (t >= e->ne[1] - query)
            continue;
        const float *other = row_of(e, query + t);
        profile[t] = quotient(dot(row, other, dim), own_norm * norm(other, dim), eps);
    }
    return POSENC_OK;
}

/* 1 if start, start + step and start + 2 step are rows of n, without leaving int64. */
static int three_rows(int64_t start, int64_t step, int64_t n) {
    return start >= 0 && start < n && step >= -n && step <= n && start + 2 * step >= 0 && start + 2 * step < n;
}

posenc_status posenc_check_progression(const posenc_view *e, int64_t start, int64_t step, double atol, double rtol,
                                       posenc_progression *result) {
    posenc_status status = check_rows_view(e);
    if (status != POSENC_OK)
        return status;
    if (!three_rows(start, step, e->ne[1]))
        return posenc_refused(POSENC_ERR_ROWS);
    if (!is_size(atol) || !is_size(rtol))
        return posenc_refused(POSENC_ERR_SCALE);
    if (result == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    const float *x = row_of(e, start), *y = row_of(e, start + step), *z = row_of(e, start + 2 * step);
    posenc_progression found = {1, 0.0};
    for (int64_t c = 0; c < e->ne[0]; c++) {
        double second = (double)z[c] - (double)y[c], difference = fabs((double)y[c] - (double)x[c] - second);
        if (!(difference <= atol + rtol * fabs(second)))
            found.holds = 0;
        if (difference > found.largest || isnan(difference)) /* a NaN stays: nothing is larger */
            found.largest = difference;
    }
    *result = found;
    return POSENC_OK;
}

/* ---- Frequencies ---- */

/* Term of one pair, from the cosine and sine of its angle. */
typedef double (*pair_term)(double cosine, double sine);

static double its_cosine(double cosine, double sine) {
    (void)sine;
    return cosine;
}

/* 1 - cosine; where that would cancel, sine^2 / (1 + cosine). */
static double one_minus_cosine(double cosine, double sine) {
    return cosine > 0.0 ? sine * sine / (1.0 + cosine) : 1.0 - cosine;
}

/* sums[k] = sum over pairs of the term at offsets[k], pair 0 first. */
static posenc_status sum_pairs(const posenc_freq *freq, const int32_t *offsets, int64_t n_offsets, double *sums,
                               pair_term term) {
    if (freq == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (n_offsets < 0 || n_offsets > POSENC_LIMIT)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (n_offsets == 0)
        return POSENC_OK;
    if (offsets == NULL || sums == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(offsets, sizeof *offsets) || !posenc_is_aligned(sums, sizeof *sums))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t k = 0; k < n_offsets; k++)
        sums[k] = 0.0;
    for (int64_t first = 0; first < freq->n; first += POSENC_SLICE) {
        int64_t n = posenc_min(freq->n - first, POSENC_SLICE);
        float cosines[POSENC_SLICE], sines[POSENC_SLICE];
        posenc_row_target target = {
            .cos_out = cosines,
            .sin_out = sines,
            .cos_stride = POSENC_SLICE,
            .sin_stride = POSENC_SLICE,
            .step = 1,
        };
        posenc_row_maker maker;
        posenc_row_maker_init(&maker, posenc_active_kernels(), freq, first, n);
        for (int64_t k = 0; k < n_offsets; k++) {
            posenc_make_rows(&maker, offsets + k, 1, &target);
            for (int64_t i = 0; i < n; i++)
                sums[k] += term((double)cosines[i], (double)sines[i]);
        }
    }
    return POSENC_OK;
}

posenc_status posenc_dot_by_offset(const posenc_freq *freq, const int32_t *offsets, int64_t n_offsets, double *dots) {
    return sum_pairs(freq, offsets, n_offsets, dots, its_cosine);
}

posenc_status posenc_alias_distance(const posenc_freq *freq, const int32_t *offsets, int64_t n_offsets,
                                    double *distances) {
    posenc_status status = sum_pairs(freq, offsets, n_offsets, distances, one_minus_cosine);
    for (int64_t k = 0; status == POSENC_OK && k < n_offsets; k++)
        distances[k] = sqrt(2.0 * distances[k]);
    return status;
}

posenc_status posenc_frequency_report(const double *theta, int64_t n, double context, posenc_frequency *report) {
    if (n < 0 || n > POSENC_LIMIT)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (!is_size(context))
        return posenc_refused(POSENC_ERR_CONTEXT);
    if (n == 0)
        return POSENC_OK;
    if (theta == NULL || report == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(theta, sizeof *theta) || !posenc_is_aligned(report, sizeof(double)))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(theta[i]) <= POSENC_MAX_FREQUENCY))
            return posenc_refused(POSENC_ERR_FREQUENCY);
    for (int64_t i = 0; i < n; i++) {
        double speed = fabs(theta[i]);
        report[i] = (posenc_frequency){theta[i], TWO_PI / speed, context * speed / TWO_PI};
    }
    return POSENC_OK;
}

/* ---- Codes ---- */

int posenc_hamming_binary(uint64_t p, uint64_t q) {
    return __builtin_popcountll(p ^ q);
}

int posenc_hamming_gray(uint64_t p, uint64_t q) {
    return posenc_hamming_binary(posenc_gray_encode(p), posenc_gray_encode(q));
}
