/* SPDX-License-Identifier: MIT */
/* Sinusoidal encodings: frequencies by schedule, and where each column goes. */
#include "encoding/sinusoidal.h"

#include <math.h>
#include <stdlib.h>

#include "core/minmax.h"
#include "core/view.h"

/* ---- Set-up ---- */

static int is_concat(posenc_sinusoidal_layout layout) {
    return layout == POSENC_SINUSOIDAL_CONCAT || layout == POSENC_SINUSOIDAL_CONCAT_COS;
}

#define MAX_BASE 1e30

static posenc_status check_enumerators(const posenc_sinusoidal_params *p) {
    if (p->layout < POSENC_SINUSOIDAL_INTERLEAVED || p->layout > POSENC_SINUSOIDAL_CONCAT_COS)
        return p->layout == POSENC_SINUSOIDAL_LAYOUT_UNSET ? posenc_refused(POSENC_ERR_LAYOUT_UNSET)
                                                           : posenc_refused(POSENC_ERR_ENUM);
    if (is_concat(p->layout) ? p->schedule < POSENC_SCHEDULE_HALF || p->schedule > POSENC_SCHEDULE_SHIFT
                             : p->schedule != POSENC_SCHEDULE_UNSET && p->schedule != POSENC_SCHEDULE_HALF)
        return p->schedule == POSENC_SCHEDULE_UNSET ? posenc_refused(POSENC_ERR_UNSET)
                                                    : posenc_refused(POSENC_ERR_ENUM);
    return p->odd != POSENC_ODD_SIN && p->odd != POSENC_ODD_ZERO ? posenc_refused(POSENC_ERR_ENUM) : POSENC_OK;
}

static posenc_status check_params(const posenc_sinusoidal_params *p) {
    posenc_status status = check_enumerators(p);
    if (status != POSENC_OK)
        return status;
    if (p->dim < 1 || p->dim > 2 * (int64_t)POSENC_MAX_PAIRS ||
        (p->layout == POSENC_SINUSOIDAL_COMPLEX && p->dim % 2 != 0))
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    if (!(p->base >= 1.0 / MAX_BASE && p->base <= MAX_BASE)) /* below 1 frequencies ascend */
        return posenc_refused(POSENC_ERR_BASE);
    if (p->schedule == POSENC_SCHEDULE_HALF_MINUS_1 &&
        !(p->min_timescale > 0.0 && p->min_timescale <= p->base && p->min_timescale <= POSENC_MAX_FREQUENCY))
        return posenc_refused(POSENC_ERR_BASE);
    if (!isfinite(p->scale) ||
        (p->schedule == POSENC_SCHEDULE_SHIFT && (!isfinite(p->shift) || (double)(p->dim / 2) == p->shift)))
        return posenc_refused(POSENC_ERR_SCALING);
    return POSENC_OK;
}

static int64_t n_frequencies(const posenc_sinusoidal_params *p) {
    int last_sine = p->layout == POSENC_SINUSOIDAL_INTERLEAVED && p->odd == POSENC_ODD_SIN;
    return p->dim / 2 + (last_sine ? p->dim % 2 : 0);
}

/* base^(-i / steps), which is refused as a frequency where it is too large and 0 where no position could tell. */
static posenc_dd shifted_power(double base, double i, double steps) {
    posenc_dd exponent = posenc_dd_div(posenc_dd_mul(posenc_dd_log(base), posenc_dd_from(-i)), posenc_dd_from(steps));
    if (exponent.hi > POSENC_DD_MAX_EXP)
        return posenc_dd_from(INFINITY);
    return exponent.hi < -POSENC_DD_MAX_EXP ? posenc_dd_from(0.0) : posenc_dd_exp(exponent);
}

static posenc_dd half_minus_1(const posenc_sinusoidal_params *p, int64_t i) {
    int64_t half = p->dim / 2;
    double steps = half > 1 ? (double)(half - 1) : 1.0;
    posenc_dd log_ratio = posenc_dd_sub(posenc_dd_log(p->min_timescale), posenc_dd_log(p->base));
    posenc_dd exponent = posenc_dd_div(posenc_dd_mul(log_ratio, posenc_dd_from((double)i)), posenc_dd_from(steps));
    return posenc_dd_exp(exponent);
}

static posenc_dd unscaled(const posenc_sinusoidal_params *p, int64_t i) {
    int64_t half = p->dim / 2;
    if (!is_concat(p->layout))
        return posenc_dd_pow(p->base, -2.0 * (double)i, (double)p->dim);
    switch (p->schedule) {
    case POSENC_SCHEDULE_HALF_MINUS_1: return half_minus_1(p, i);
    case POSENC_SCHEDULE_SHIFT: return shifted_power(p->base, (double)i, (double)half - p->shift);
    default: return posenc_dd_pow(p->base, -(double)i, (double)half);
    }
}

static posenc_dd theta(const void *context, int64_t i) {
    const posenc_sinusoidal_params *p = context;
    posenc_dd f = unscaled(p, i), scale = posenc_dd_from(p->scale);
    if (is_concat(p->layout) && p->schedule == POSENC_SCHEDULE_HALF_MINUS_1)
        scale = posenc_dd_mul(scale, posenc_dd_from(p->min_timescale)); /* before f, which may be next to nothing */
    return isfinite(f.hi) ? posenc_dd_mul(f, scale) : f;
}

static void destroy(posenc_generator *g) {
    posenc_freq_free(((posenc_sinusoid *)g)->freq);
    free(g);
}

posenc_status posenc_sinusoidal_create(const posenc_sinusoidal_params *params, posenc_encoding **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    if (params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = check_params(params);
    if (status != POSENC_OK)
        return status;
    int64_t half = params->dim / 2, n_sinusoids = half + n_frequencies(params);
    posenc_sinusoid *s = posenc_generator_new(sizeof *s, n_sinusoids);
    if (s == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    status = posenc_freq_build(theta, params, n_frequencies(params), &s->freq);
    if (status != POSENC_OK) {
        free(s);
        return status;
    }
    s->step = is_concat(params->layout) ? 1 : 2;
    s->cos_first = params->layout == POSENC_SINUSOIDAL_COMPLEX || params->layout == POSENC_SINUSOIDAL_CONCAT_COS;
    s->base.twin = s->step == 1 ? half : 0;
    s->base.rows = posenc_sinusoid_rows;
    s->base.destroy = destroy;
    return posenc_encoding_of(&s->base, params->dim - n_sinusoids, out);
}

posenc_status posenc_timestep_create(int64_t dim, int flip_sin_to_cos, double downscale_freq_shift, double scale,
                                     double max_period, posenc_encoding **out) {
    posenc_sinusoidal_params params = {
        .layout = flip_sin_to_cos ? POSENC_SINUSOIDAL_CONCAT_COS : POSENC_SINUSOIDAL_CONCAT,
        .schedule = POSENC_SCHEDULE_SHIFT,
        .dim = dim,
        .base = max_period,
        .shift = downscale_freq_shift,
        .scale = scale,
    };
    return posenc_sinusoidal_create(&params, out);
}

/* ---- The matrix that shifts ---- */

static const posenc_sinusoid *sinusoid_of(const posenc_encoding *e) {
    const posenc_term *term = &e->fields[0].terms[0];
    int is_whole = e->fields[0].n_terms == 1 && e->fields[0].width == term->generator->dim && term->first == 0 &&
                   term->axis == 0 && term->divide <= 1 && term->modulo == 0;
    int is_alone = e->n_fields == 1 || (e->n_fields == 2 && e->fields[1].n_terms == 0 && e->dim % 2 != 0);
    return is_whole && is_alone && term->generator->rows == posenc_sinusoid_rows
               ? (const posenc_sinusoid *)term->generator
               : NULL;
}

static posenc_status check_shift(const posenc_encoding *e, const posenc_view *m) {
    if (e == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_output_f32(m);
    if (status == POSENC_OK && sinusoid_of(e) == NULL)
        status = posenc_refused(POSENC_ERR_ENUM);
    if (status == POSENC_OK && e->dim % 2 != 0)
        status = posenc_refused(POSENC_ERR_HEAD_DIM);
    if (status == POSENC_OK && (m->ne[0] != e->dim || m->ne[1] != e->dim || m->ne[2] * m->ne[3] != 1))
        status = posenc_refused(POSENC_ERR_SHAPE);
    return status;
}

posenc_status posenc_sinusoidal_shift(const posenc_encoding *e, int32_t k, const posenc_view *m) {
    posenc_status status = check_shift(e, m);
    if (status != POSENC_OK)
        return status;
    const posenc_sinusoid *s = sinusoid_of(e);
    for (int64_t row = 0; row < e->dim; row++)
        for (int64_t column = 0; column < e->dim; column++)
            ((float *)posenc_view_at(m, row, 0, 0))[column] = 0.0f;
    float cosines[POSENC_SLICE], sines[POSENC_SLICE];
    for (int64_t i = 0; i < s->freq->n; i++) {
        if (i % POSENC_SLICE == 0) {
            int64_t n = posenc_min(s->freq->n - i, POSENC_SLICE);
            posenc_row_target target = {.cos_out = cosines, .sin_out = sines, .step = 1};
            posenc_row_maker maker;
            posenc_row_maker_init(&maker, posenc_active_kernels(), s->freq, i, n);
            posenc_make_rows(&maker, &k, 1, &target);
        }
        float c = cosines[i % POSENC_SLICE], sine = sines[i % POSENC_SLICE];
        int64_t first = posenc_sinusoid_column(s, i, 0), second = posenc_sinusoid_column(s, i, 1);
        float turn = s->cos_first ? -sine : sine;
        float *first_row = posenc_view_at(m, first, 0, 0), *second_row = posenc_view_at(m, second, 0, 0);
        first_row[first] = second_row[second] = c;
        first_row[second] = turn;
        second_row[first] = -turn;
    }
    return POSENC_OK;
}

/* ---- Grids ---- */

/* S_w: [sin | cos] of width w. */
static posenc_status concatenated(int64_t width, posenc_schedule schedule, double base, posenc_encoding **e) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = POSENC_SINUSOIDAL_CONCAT;
    params.schedule = schedule;
    params.dim = width;
    params.base = base;
    return posenc_sinusoidal_create(&params, e);
}

/* Plan of a grid: up to two sinusoids, and the parts that refer to them. */
typedef struct grid_plan {
    posenc_schedule schedule;
    int64_t widths[2];
    posenc_part parts[POSENC_MAX_COORDS + 1];
    int sinusoid[POSENC_MAX_COORDS + 1]; /* index of the part's; -1: zeros */
    int n_parts;
} grid_plan;

static void add_part(grid_plan *plan, int sinusoid, int axis, int64_t first, int64_t width) {
    plan->sinusoid[plan->n_parts] = sinusoid;
    plan->parts[plan->n_parts++] = (posenc_part){.first = first, .width = width, .axis = axis};
}

enum { Y = 0, X = 1 };

static posenc_status plan_of(posenc_grid grid, int64_t dim, int n_axes, grid_plan *plan) {
    int64_t quarter = dim / 4, per_axis = n_axes > 0 ? 2 * (dim / (2 * (int64_t)n_axes)) : 0;
    int is_volume = grid == POSENC_GRID_VOLUME, is_nd = grid == POSENC_GRID_TENSOR2TENSOR;
    if ((unsigned)grid > POSENC_GRID_TENSOR2TENSOR)
        return posenc_refused(POSENC_ERR_ENUM);
    if (is_nd ? n_axes < 1 || n_axes > POSENC_MAX_COORDS : n_axes != 0)
        return posenc_refused(POSENC_ERR_SECTIONS);
    if (dim < 1 || dim > 2 * (int64_t)POSENC_MAX_PAIRS || (is_nd ? per_axis == 0 : dim % (is_volume ? 16 : 4) != 0))
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    *plan = (grid_plan){.schedule = is_nd ? POSENC_SCHEDULE_HALF_MINUS_1 : POSENC_SCHEDULE_HALF,
                        .widths = {is_nd       ? per_axis
                                   : is_volume ? quarter
                                               : 2 * quarter,
                                   is_volume ? 3 * dim / 8 : 0}};
    switch (grid) {
    case POSENC_GRID_W_FIRST:
        add_part(plan, 0, X, 0, 0);
        add_part(plan, 0, Y, 0, 0);
        break;
    case POSENC_GRID_H_FIRST:
        add_part(plan, 0, Y, 0, 0);
        add_part(plan, 0, X, 0, 0);
        break;
    case POSENC_GRID_TIMM:
        for (int half = 0; half < 2; half++) {
            add_part(plan, 0, Y, half * quarter, quarter);
            add_part(plan, 0, X, half * quarter, quarter);
        }
        break;
    case POSENC_GRID_VOLUME: /* t, then x and y, which are axes 2 and 1 */
        add_part(plan, 0, 0, 0, 0);
        add_part(plan, 1, 2, 0, 0);
        add_part(plan, 1, 1, 0, 0);
        break;
    case POSENC_GRID_TENSOR2TENSOR:
        for (int axis = 0; axis < n_axes; axis++)
            add_part(plan, 0, axis, 0, 0);
        if (dim > n_axes * per_axis)
            add_part(plan, -1, 0, 0, dim - n_axes * per_axis);
        break;
    }
    return POSENC_OK;
}

posenc_status posenc_grid_create(posenc_grid grid, int64_t dim, int n_axes, double base, posenc_encoding **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    grid_plan plan;
    posenc_status status = plan_of(grid, dim, n_axes, &plan);
    posenc_encoding *sinusoids[2] = {NULL, NULL};
    for (int k = 0; k < 2 && status == POSENC_OK && plan.widths[k] > 0; k++)
        status = concatenated(plan.widths[k], plan.schedule, base, &sinusoids[k]);
    if (status == POSENC_OK) {
        for (int p = 0; p < plan.n_parts; p++)
            plan.parts[p].encoding = plan.sinusoid[p] < 0 ? NULL : sinusoids[plan.sinusoid[p]];
        status = posenc_encoding_concat(plan.parts, plan.n_parts, out);
    }
    posenc_encoding_free(sinusoids[0]);
    posenc_encoding_free(sinusoids[1]);
    return status;
}
