/* SPDX-License-Identifier: MIT */
#include "truth_reference.h"

#include <math.h>
#include <stdlib.h>

/* ---- Which frequency and axis each pair has ---- */

/* Pair j of a rotary embedding of its own over n channels, or pair i of the whole. */
typedef struct origin {
    int axis;
    int64_t j, n;
} origin;

static origin origin_of(const posenc_rope_params *p, int64_t i) {
    const int64_t *s = p->axes.sections;
    int64_t begin = 0, n = p->n_rot;
    int axis = 0;
    switch (p->axes.kind) {
    case POSENC_AXES_MROPE: /* t h w e, one after the other, frequencies go on */
        while (i >= begin + s[axis])
            begin += s[axis++];
        return (origin){axis, i, n};
    case POSENC_AXES_IMROPE: return (origin){i % 3 == 1 && i < 3 * s[1] ? 1 : i % 3 == 2 && i < 3 * s[2] ? 2 : 0, i, n};
    case POSENC_AXES_IMROPE_GGML:
        for (axis = 0; axis < 3; axis++)
            if (i % 3 == axis && i < 3 * s[axis])
                return (origin){axis, i, n};
        return (origin){3, i, n};
    case POSENC_AXES_VISION: /* base^(-2j/(n/2)) anew for w, and what ggml lets follow it */
        while (i >= begin + s[axis])
            begin += s[axis++];
        return (origin){axis, i - begin, n / 2};
    case POSENC_AXES_PIXTRAL: return i < n / 4 ? (origin){0, 2 * i, n} : (origin){1, 2 * (i - n / 4) + 1, n};
    case POSENC_AXES_AXIAL:
        while (i >= begin + s[axis])
            begin += s[axis++];
        return (origin){axis, i - begin, 2 * s[axis]};
    case POSENC_AXES_ALTERNATE: return (origin){(int)(i % p->axes.n_axes), i / p->axes.n_axes, n / p->axes.n_axes};
    case POSENC_AXES_ERNIE: /* h w h w ... t t t */
        if (i >= s[1] + s[2])
            return (origin){0, i, n};
        return (origin){i % 2 == 0 ? 1 : 2, i, n};
    case POSENC_AXES_LIST: return (origin){p->lists.axes[i], i, n};
    default: return (origin){0, i, n};
    }
}

static void set_theta(mpfr_ptr theta, const posenc_rope_params *params, int64_t i, origin o) {
    if (params->lists.theta != NULL) {
        mpfr_set_d(theta, params->lists.theta[i], MPFR_RNDN);
        return;
    }
    double own = params->lists.bases[o.axis];
    mpfr_set_si(theta, (long)(-2 * o.j), MPFR_RNDN);
    mpfr_div_si(theta, theta, (long)o.n, MPFR_RNDN);
    mpfr_t base;
    mpfr_init2(base, TRUTH_BITS);
    mpfr_set_d(base, own != 0.0 ? own : params->base, MPFR_RNDN);
    mpfr_pow(theta, base, theta, MPFR_RNDN);
    mpfr_clear(base);
}

truth_reference truth_reference_new(const posenc_rope_params *params) {
    int64_t n_pairs = params->n_rot / 2;
    truth_reference reference = {*params, {n_pairs, NULL}, calloc((size_t)n_pairs + 1, sizeof(int))};
    reference.theta = truth_powers(1.0, params->base, 0, 1, n_pairs); /* room for them */
    if (reference.axis == NULL)
        abort();
    for (int64_t i = 0; i < n_pairs; i++) {
        origin o = origin_of(params, i);
        reference.axis[i] = o.axis;
        set_theta(reference.theta.theta[i], params, i, o);
    }
    return reference;
}

void truth_reference_free(truth_reference *reference) {
    truth_table_free(&reference->theta);
    free(reference->axis);
}

/* ---- The rotation ---- */

/* The factor on cosine and sine of pair i: the magnitude, and what xPos makes of it (FORMULAS B.19). A shift multiplies
 * by what is between the two positions, so its centre is 0. */
static double factor_of(const posenc_rope_params *p, int64_t i, double position, posenc_direction direction) {
    double m = p->scaling.attention_factor != 0.0 ? p->scaling.attention_factor : 1.0, growth = 1.0;
    if (p->xpos.role != POSENC_XPOS_OFF) {
        double zeta = (2.0 * (double)i / (double)p->n_rot + p->xpos.gamma) / (1.0 + p->xpos.gamma);
        double centre = direction == POSENC_SHIFT ? 0.0 : p->xpos.centre;
        double sign = p->xpos.role == POSENC_XPOS_KEY ? -1.0 : 1.0;
        growth = pow(zeta, sign * (position - centre) / p->xpos.scale_base);
    }
    switch (direction) {
    case POSENC_INVERSE: return 1.0 / m; /* xPos has none */
    case POSENC_SHIFT: return growth;
    default: return m * growth;
    }
}

typedef struct angle {
    double factor, cosine, sine;
} angle;

/* Head j of token t in batch b. */
static void check_head(const truth_reference *r, const truth_tensor *x, const posenc_view *y, int64_t j, int64_t t,
                       int64_t b, const angle *angles, posenc_direction direction) {
    const posenc_rope_params *p = &r->params;
    double sign = direction == POSENC_INVERSE || direction == POSENC_BACKWARD ? -1.0 : 1.0;
    for (int64_t i = 0; i < r->theta.n; i++) {
        truth_pair from = truth_pair_read(p, i), to = truth_pair_written(p, i);
        double x0 = (double)truth_was(x, from.first, j, t, b), x1 = (double)truth_was(x, from.second, j, t, b);
        double f = angles[i].factor, c = f * angles[i].cosine, s = sign * f * angles[i].sine;
        double y0 = x0 * c - x1 * s, y1 = x1 * c + x0 * s, u = TRUTH_U * TRUTH_SECOND_ORDER;
        double turned = f * (fabs(x0) + fabs(x1)) + 0x1p-120;
        truth_close((double)truth_get(y, to.first, j, t, b), y0, u * (turned + fabs(x1 * s) + fabs(y0)),
                    "%s, pair %lld of %lld, first channel", truth_direction_name(direction), (long long)i,
                    (long long)r->theta.n);
        truth_close((double)truth_get(y, to.second, j, t, b), y1, u * (turned + fabs(x0 * s) + fabs(y1)),
                    "%s, pair %lld of %lld, second channel", truth_direction_name(direction), (long long)i,
                    (long long)r->theta.n);
    }
    for (int64_t channel = 0; channel < p->head_dim; channel++)
        if (channel < p->n_offs || channel >= p->n_offs + p->n_rot) {
            float was = truth_was(x, channel, j, t, b), is = truth_get(y, channel, j, t, b);
            truth_same_bits(&is, &was, 1, "unrotated channel %lld", (long long)channel);
        }
}

/* Token t of batch b, whose planes of positions begin there. */
static void check_token(const truth_reference *r, const truth_tensor *x, const posenc_view *y, const double *planes,
                        int64_t t, int64_t b, posenc_direction direction) {
    angle angles[TRUTH_MAX_DIM / 2];
    for (int64_t i = 0; i < r->theta.n; i++) {
        double position = planes[r->axis[i] * y->ne[2] + t];
        truth_angle_d(&r->theta, i, position, &angles[i].cosine, &angles[i].sine);
        angles[i].factor = factor_of(&r->params, i, position, direction);
    }
    for (int64_t j = 0; j < y->ne[1]; j++)
        check_head(r, x, y, j, t, b, angles, direction);
}

static int64_t n_planes(const truth_reference *r) {
    return r->params.axes.kind == POSENC_AXES_SINGLE ? 1 : r->params.axes.n_axes;
}

void truth_reference_check_at(const truth_reference *r, const truth_tensor *x, const posenc_view *y,
                              const double *positions, posenc_direction direction) {
    for (int64_t b = 0; b < y->ne[3]; b++)
        for (int64_t t = 0; t < y->ne[2]; t++)
            check_token(r, x, y, positions + b * n_planes(r) * y->ne[2], t, b, direction);
}

void truth_reference_check(const truth_reference *r, const truth_tensor *x, const posenc_view *y,
                           const int32_t *positions, posenc_direction direction) {
    double planes[TRUTH_MAX_POSITIONS];
    int64_t n = n_planes(r) * y->ne[2];
    assert_true(n <= TRUTH_MAX_POSITIONS);
    for (int64_t k = 0; k < n; k++)
        planes[k] = positions[k];
    for (int64_t b = 0; b < y->ne[3]; b++)
        for (int64_t t = 0; t < y->ne[2]; t++)
            check_token(r, x, y, planes, t, b, direction);
}
