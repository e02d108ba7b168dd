/* RoPE: which position each pair follows, and the tables of each axis (FORMULAS B.19-B.23). */
#include <math.h>
#include <stdlib.h>

#include "rope/rope.h"

/* ---- Rules ---- */

static int64_t section_sum(const posenc_rope_axes *axes) {
    int64_t sum = 0;
    for (int a = 0; a < axes->n_axes; a++)
        sum += axes->sections[a];
    return sum;
}

static posenc_status check_sections(const posenc_rope_axes *axes, int64_t n_pairs) {
    for (int a = 0; a < POSENC_MAX_AXES; a++)
        if (axes->sections[a] < 0 || axes->sections[a] > n_pairs || (a >= axes->n_axes && axes->sections[a] != 0))
            return POSENC_ERR_SECTIONS;
    return section_sum(axes) == n_pairs ? POSENC_OK : POSENC_ERR_SECTIONS;
}

/* What a pair may grow by from one position to the next, as an exponent. Its value is that at an anchor times what it
 * grew by since then; up to here both stay within double's range wherever the value is within float's. */
#define MAX_GROWTH 32.0

static posenc_status check_xpos(const posenc_rope_params *p) {
    const posenc_xpos *x = &p->xpos;
    if (x->role == POSENC_XPOS_OFF)
        return POSENC_OK;
    if (x->role != POSENC_XPOS_QUERY && x->role != POSENC_XPOS_KEY)
        return POSENC_ERR_ENUM;
    if (!(x->gamma > 0.0 && isfinite(x->gamma) && x->scale_base > 0.0 && isfinite(x->scale_base)))
        return POSENC_ERR_SCALE;
    if (!(-posenc_dd_log(x->gamma / (1.0 + x->gamma)).hi <= MAX_GROWTH * x->scale_base))
        return POSENC_ERR_SCALE;
    return p->axes.kind == POSENC_AXES_SINGLE ? POSENC_OK : POSENC_ERR_ENUM;
}

/* What scalings mean for frequencies that restart nobody has said, but ggml for its own. */
static int has_scaling_of_restarts(const posenc_rope_params *p) {
    const posenc_rope_scaling *s = &p->scaling;
    int is_plain = s->type == POSENC_SCALING_NONE && s->freq_factors == NULL && s->freq_factors_f32 == NULL;
    switch (p->axes.kind) {
    case POSENC_AXES_VISION: return is_plain || s->type == POSENC_SCALING_GGML;
    case POSENC_AXES_AXIAL: return is_plain;
    default: return 1;
    }
}

posenc_status posenc_rope_check_axes(const posenc_rope_params *p) {
    /* planes that each kind may have */
    static const struct {
        int least, most;
    } allowed[] = {
        [POSENC_AXES_SINGLE] = {0, 1},      [POSENC_AXES_MROPE] = {2, 4},  [POSENC_AXES_IMROPE] = {3, 3},
        [POSENC_AXES_IMROPE_GGML] = {4, 4}, [POSENC_AXES_VISION] = {2, 4}, [POSENC_AXES_PIXTRAL] = {2, 2},
        [POSENC_AXES_AXIAL] = {2, 4},
    };
    const posenc_rope_axes *axes = &p->axes;
    if ((unsigned)axes->kind > POSENC_AXES_AXIAL)
        return POSENC_ERR_ENUM;
    if (axes->n_axes < allowed[axes->kind].least || axes->n_axes > allowed[axes->kind].most)
        return POSENC_ERR_SECTIONS;
    if (axes->kind != POSENC_AXES_SINGLE && p->n_rot > POSENC_MAX_AXES_ROT)
        return POSENC_ERR_N_ROT;
    if (!has_scaling_of_restarts(p))
        return POSENC_ERR_SCALING;
    if (axes->kind == POSENC_AXES_PIXTRAL && p->n_rot % 4 != 0)
        return POSENC_ERR_N_ROT;
    if (axes->kind != POSENC_AXES_PIXTRAL) {
        posenc_status status = check_sections(axes, axes->kind == POSENC_AXES_SINGLE ? 0 : p->n_rot / 2);
        if (status != POSENC_OK)
            return status;
    }
    return check_xpos(p);
}

static int section_of(const posenc_rope_axes *axes, int64_t i) {
    int axis = 0;
    for (int64_t end = axes->sections[0]; i >= end && axis + 1 < axes->n_axes; end += axes->sections[axis])
        axis++;
    return axis;
}

int posenc_axis_of_pair(const posenc_rope_params *p, int64_t i) {
    const int64_t *sections = p->axes.sections;
    switch (p->axes.kind) {
    case POSENC_AXES_MROPE:
    case POSENC_AXES_VISION:
    case POSENC_AXES_AXIAL: return section_of(&p->axes, i);
    case POSENC_AXES_PIXTRAL: return i >= p->n_rot / 4;
    case POSENC_AXES_IMROPE:
    case POSENC_AXES_IMROPE_GGML:
        if (i % 3 != 0 && i < 3 * sections[i % 3])
            return (int)(i % 3);
        return p->axes.kind == POSENC_AXES_IMROPE || (i % 3 == 0 && i < 3 * sections[0]) ? 0 : 3;
    default: return 0;
    }
}

/* Index of pair i inside its section. */
static int64_t index_in_section(const posenc_rope_axes *axes, int64_t i, int axis) {
    for (int a = 0; a < axis; a++)
        i -= axes->sections[a];
    return i;
}

posenc_power posenc_power_of_pair(const posenc_rope_params *p, int64_t i) {
    int axis = posenc_axis_of_pair(p, i);
    switch (p->axes.kind) {
    case POSENC_AXES_VISION: return (posenc_power){index_in_section(&p->axes, i, axis), p->n_rot / 2};
    case POSENC_AXES_AXIAL: return (posenc_power){index_in_section(&p->axes, i, axis), 2 * p->axes.sections[axis]};
    default: return (posenc_power){i, p->n_rot};
    }
}

/* Pixtral deals the frequencies out in turns. */
static posenc_dd theta_of_pair(const posenc_rope_params *p, const posenc_dd *theta, int64_t i) {
    int64_t quarter = p->n_rot / 4;
    if (p->axes.kind == POSENC_AXES_PIXTRAL)
        return theta[i < quarter ? 2 * i : 2 * (i - quarter) + 1];
    return theta[i];
}

/* ---- Tables ---- */

typedef struct plane_theta {
    const posenc_rope_params *params;
    const posenc_dd *theta;
    const int32_t *pairs;
} plane_theta;

static posenc_dd theta_of_plane(const void *context, int64_t k) {
    const plane_theta *c = context;
    return theta_of_pair(c->params, c->theta, c->pairs != NULL ? c->pairs[k] : k);
}

static posenc_status make_plane(posenc_rope *rope, const posenc_dd *theta, int axis) {
    posenc_rope_plane *plane = &rope->planes[axis];
    plane->pairs = malloc((size_t)(rope->n_pairs + 1) * sizeof *plane->pairs);
    if (plane->pairs == NULL)
        return POSENC_ERR_MEMORY;
    int64_t n = 0;
    for (int64_t i = 0; i < rope->n_pairs; i++)
        if (posenc_axis_of_pair(&rope->params, i) == axis)
            plane->pairs[n++] = (int32_t)i;
    plane_theta context = {&rope->params, theta, plane->pairs};
    return posenc_freq_build(theta_of_plane, &context, n, &plane->freq);
}

/* ln(zeta_i) / scale_base, negative for keys. */
static posenc_status add_growth(posenc_rope *rope) {
    const posenc_xpos *x = &rope->params.xpos;
    if (x->role == POSENC_XPOS_OFF)
        return POSENC_OK;
    double *growth = malloc((size_t)(rope->n_pairs + 1) * sizeof *growth);
    if (growth == NULL)
        return POSENC_ERR_MEMORY;
    for (int64_t i = 0; i < rope->n_pairs; i++) {
        double zeta = (2.0 * (double)i / (double)rope->params.n_rot + x->gamma) / (1.0 + x->gamma);
        double rate = posenc_dd_log(zeta).hi / x->scale_base;
        growth[i] = x->role == POSENC_XPOS_KEY ? -rate : rate;
    }
    posenc_status status = posenc_freq_set_growth(rope->planes[0].freq, growth, x->centre);
    free(growth);
    return status;
}

posenc_status posenc_rope_make_planes(posenc_rope *rope, const posenc_dd *theta) {
    rope->n_axes = rope->params.axes.kind == POSENC_AXES_SINGLE ? 1 : rope->params.axes.n_axes;
    if (rope->n_axes > 1) {
        posenc_status status = POSENC_OK;
        for (int axis = 0; axis < rope->n_axes && status == POSENC_OK; axis++)
            status = make_plane(rope, theta, axis);
        return status;
    }
    plane_theta context = {&rope->params, theta, NULL};
    posenc_status status = posenc_freq_build(theta_of_plane, &context, rope->n_pairs, &rope->planes[0].freq);
    return status == POSENC_OK ? add_growth(rope) : status;
}
