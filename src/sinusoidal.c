/* Sinusoidal encoding: frequencies by schedule, and where each column goes. */
#include <posenc/sinusoidal.h>

#include <stdlib.h>

#include "angles.h"
#include "view.h"

struct posenc_sinusoidal {
    posenc_sinusoidal_params params;
    posenc_freq *freq; /* one per sine; the last of an odd dim may have no cosine */
};

/* ---- Set-up ---- */

static posenc_status check_params(const posenc_sinusoidal_params *p) {
    int concat = p->layout == POSENC_SINUSOIDAL_CONCAT;
    if (p->layout != POSENC_SINUSOIDAL_INTERLEAVED && !concat)
        return POSENC_ERR_ENUM;
    if (concat ? p->schedule != POSENC_SCHEDULE_HALF && p->schedule != POSENC_SCHEDULE_HALF_MINUS_1
               : p->schedule != POSENC_SCHEDULE_UNSET && p->schedule != POSENC_SCHEDULE_HALF)
        return POSENC_ERR_ENUM;
    if (p->odd != POSENC_ODD_SIN && p->odd != POSENC_ODD_ZERO)
        return POSENC_ERR_ENUM;
    if (p->dim < 1 || p->dim > 2 * (int64_t)POSENC_MAX_PAIRS)
        return POSENC_ERR_HEAD_DIM;
    if (!posenc_base_is_valid(p->base))
        return POSENC_ERR_BASE;
    if (p->schedule == POSENC_SCHEDULE_HALF_MINUS_1 &&
        !(p->min_timescale > 0.0 && p->min_timescale <= p->base && p->min_timescale <= POSENC_MAX_FREQUENCY))
        return POSENC_ERR_BASE;
    return POSENC_OK;
}

static int64_t n_frequencies(const posenc_sinusoidal_params *p) {
    int last_sine = p->layout == POSENC_SINUSOIDAL_INTERLEAVED && p->odd == POSENC_ODD_SIN;
    return p->dim / 2 + (last_sine ? p->dim % 2 : 0);
}

static posenc_dd theta(const void *context, int64_t i) {
    const posenc_sinusoidal_params *p = context;
    int64_t half = p->dim / 2;
    if (p->layout == POSENC_SINUSOIDAL_INTERLEAVED)
        return posenc_dd_pow(p->base, -2.0 * (double)i, (double)p->dim);
    if (p->schedule == POSENC_SCHEDULE_HALF)
        return posenc_dd_pow(p->base, -(double)i, (double)half);
    double steps = half > 1 ? (double)(half - 1) : 1.0;
    posenc_dd min = posenc_dd_from(p->min_timescale);
    posenc_dd log_ratio = posenc_dd_add(posenc_dd_log(p->min_timescale),
                                        posenc_dd_mul(posenc_dd_log(p->base), posenc_dd_from(-1.0)));
    posenc_dd exponent = posenc_dd_div(posenc_dd_mul(log_ratio, posenc_dd_from((double)i)), posenc_dd_from(steps));
    return posenc_dd_mul(min, posenc_dd_exp(exponent));
}

posenc_status posenc_sinusoidal_create(const posenc_sinusoidal_params *params, posenc_sinusoidal **out) {
    if (out == NULL)
        return POSENC_ERR_NULL;
    *out = NULL;
    if (params == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = check_params(params);
    if (status != POSENC_OK)
        return status;
    posenc_sinusoidal *pe = malloc(sizeof *pe);
    if (pe == NULL)
        return POSENC_ERR_MEMORY;
    pe->params = *params;
    status = posenc_freq_build(theta, params, n_frequencies(params), &pe->freq);
    if (status != POSENC_OK) {
        free(pe);
        return status;
    }
    *out = pe;
    return POSENC_OK;
}

void posenc_sinusoidal_free(posenc_sinusoidal *pe) {
    if (pe == NULL)
        return;
    posenc_freq_free(pe->freq);
    free(pe);
}

/* ---- Rows ---- */

/* One batch of rows being written. */
typedef struct job {
    const posenc_sinusoidal *pe;
    const int32_t *positions;
    int64_t n_positions;
    float *rows;
    ptrdiff_t row_stride; /* in floats */
    int add;
} job;

/* Columns of pairs first .. first + n - 1. */
static void write_pairs(const job *j, const posenc_kernels *kernels, int64_t first, int64_t n) {
    const posenc_sinusoidal_params *p = &j->pe->params;
    int interleaved = p->layout == POSENC_SINUSOIDAL_INTERLEAVED;
    float *sines = j->rows + (interleaved ? 2 * first : first);
    posenc_row_target target = {
        .sin_out = sines,
        .cos_out = interleaved ? sines + 1 : sines + p->dim / 2,
        .sin_stride = j->row_stride,
        .cos_stride = j->row_stride,
        .step = interleaved ? 2 : 1,
        .drop_last = 2 * (first + n) > p->dim,
        .add = j->add,
    };
    posenc_row_maker maker;
    posenc_row_maker_init(&maker, kernels, j->pe->freq, first, n);
    posenc_make_rows(&maker, j->positions, j->n_positions, &target);
}

static void write_rows(const job *j) {
    const posenc_kernels *kernels = posenc_active_kernels();
    int64_t n = j->pe->freq->n, dim = j->pe->params.dim;
    for (int64_t first = 0; first < n; first += POSENC_SLICE)
        write_pairs(j, kernels, first, n - first < POSENC_SLICE ? n - first : POSENC_SLICE);
    int has_zero_column = 2 * n < dim;
    for (int64_t t = 0; has_zero_column && !j->add && t < j->n_positions; t++)
        j->rows[t * j->row_stride + dim - 1] = 0.0f;
}

static posenc_status run(const posenc_sinusoidal *pe, const int32_t *positions, const posenc_view *y, int add) {
    if (pe == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_output(y);
    if (status == POSENC_OK)
        status = posenc_require_f32(y);
    if (status != POSENC_OK)
        return status;
    if (y->ne[0] != pe->params.dim || y->ne[3] > 1)
        return POSENC_ERR_SHAPE;
    if (posenc_view_count(y) == 0)
        return POSENC_OK;
    if (positions == NULL)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(positions, 4))
        return POSENC_ERR_STRIDE;
    for (int64_t batch = 0; batch < y->ne[2]; batch++) {
        job j = {
            .pe = pe,
            .positions = positions,
            .n_positions = y->ne[1],
            .rows = posenc_view_at(y, 0, batch, 0),
            .row_stride = (ptrdiff_t)(y->nb[1] / (int64_t)sizeof(float)),
            .add = add,
        };
        write_rows(&j);
    }
    return POSENC_OK;
}

posenc_status posenc_sinusoidal_write(const posenc_sinusoidal *pe, const int32_t *positions, const posenc_view *y) {
    return run(pe, positions, y, 0);
}

posenc_status posenc_sinusoidal_add(const posenc_sinusoidal *pe, const int32_t *positions, const posenc_view *y) {
    return run(pe, positions, y, 1);
}
