/* SPDX-License-Identifier: MIT */
/* RoPE: which position and which frequency each pair has, kind by kind (FORMULAS B.19-B.23, B.26-B.31). Every kind is a
 * rule that fills the two lists, axes and frequencies; what comes after sees the lists alone. */
#include <math.h>

#include "core/view.h"
#include "rope/rope.h"

/* ---- Rules: pair i of ... ---- */

/* ... frequencies that go on over all pairs. */
static posenc_rope_pair running(const posenc_rope_params *p, int64_t i, int axis) {
    return (posenc_rope_pair){.axis = axis, .entry = i, .j = i, .n = p->n_rot};
}

static int section_of(const posenc_rope_axes *axes, int64_t i) {
    int axis = 0;
    for (int64_t end = axes->sections[0]; i >= end && axis + 1 < axes->n_axes; end += axes->sections[axis])
        axis++;
    return axis;
}

/* ... frequencies that restart with each section, spread over n channels. */
static posenc_rope_pair restarting(const posenc_rope_params *p, int64_t i, int axis, int64_t n) {
    int64_t j = i;
    for (int a = 0; a < axis; a++)
        j -= p->axes.sections[a];
    return (posenc_rope_pair){.axis = axis, .entry = i, .j = j, .n = n};
}

static posenc_rope_pair single(const posenc_rope_params *p, int64_t i) {
    return running(p, i, 0);
}

static posenc_rope_pair mrope(const posenc_rope_params *p, int64_t i) {
    return running(p, i, section_of(&p->axes, i));
}

/* h and w take their turns while they have pairs; 0: neither's. */
static int turn_of(const posenc_rope_axes *axes, int64_t i) {
    return i % 3 != 0 && i < 3 * axes->sections[i % 3] ? (int)(i % 3) : 0;
}

static posenc_rope_pair imrope(const posenc_rope_params *p, int64_t i) {
    return running(p, i, turn_of(&p->axes, i));
}

static posenc_rope_pair imrope_ggml(const posenc_rope_params *p, int64_t i) {
    int turn = turn_of(&p->axes, i), is_first = i % 3 == 0 && i < 3 * p->axes.sections[0];
    return running(p, i, turn != 0 || is_first ? turn : 3);
}

static posenc_rope_pair vision(const posenc_rope_params *p, int64_t i) {
    return restarting(p, i, section_of(&p->axes, i), p->n_rot / 2);
}

static posenc_rope_pair axial(const posenc_rope_params *p, int64_t i) {
    int axis = section_of(&p->axes, i);
    return restarting(p, i, axis, 2 * p->axes.sections[axis]);
}

/* Axes take the frequencies in turn. */
static posenc_rope_pair pixtral(const posenc_rope_params *p, int64_t i) {
    int64_t half = p->n_rot / 4, axis = i >= half;
    posenc_rope_pair pair = running(p, 2 * (i - axis * half) + axis, (int)axis);
    return pair;
}

static posenc_rope_pair alternate(const posenc_rope_params *p, int64_t i) {
    int64_t n = p->axes.n_axes;
    return (posenc_rope_pair){.axis = (int)(i % n), .entry = i, .j = i / n, .n = p->n_rot / n};
}

static posenc_rope_pair ernie(const posenc_rope_params *p, int64_t i) {
    int is_of_image = i < p->axes.sections[1] + p->axes.sections[2];
    return running(p, i, is_of_image ? 1 + (int)(i % 2) : 0);
}

static posenc_rope_pair listed(const posenc_rope_params *p, int64_t i) {
    return running(p, i, p->lists.axes[i]);
}

enum { NO_SECTIONS, SECTIONS, SECTIONS_IN_A_ROW };

static const struct kind {
    int least, most; /* planes of positions */
    int sections;
    int restarts; /* has frequencies for which no scaling but its own is defined */
    posenc_rope_pair (*pair)(const posenc_rope_params *p, int64_t i);
} kinds[] = {
    [POSENC_AXES_SINGLE] = {0, 1, NO_SECTIONS, 0, single},
    [POSENC_AXES_MROPE] = {2, 4, SECTIONS_IN_A_ROW, 0, mrope},
    [POSENC_AXES_IMROPE] = {3, 3, SECTIONS, 0, imrope},
    [POSENC_AXES_IMROPE_GGML] = {4, 4, SECTIONS, 0, imrope_ggml},
    [POSENC_AXES_VISION] = {2, 4, SECTIONS_IN_A_ROW, 1, vision},
    [POSENC_AXES_PIXTRAL] = {2, 2, NO_SECTIONS, 0, pixtral},
    [POSENC_AXES_AXIAL] = {2, 4, SECTIONS_IN_A_ROW, 1, axial},
    [POSENC_AXES_ALTERNATE] = {2, 4, NO_SECTIONS, 1, alternate},
    [POSENC_AXES_ERNIE] = {3, 3, SECTIONS, 0, ernie},
    [POSENC_AXES_LIST] = {1, POSENC_MAX_AXES, NO_SECTIONS, 0, listed},
};

posenc_rope_pair posenc_rope_pair_of(const posenc_rope_params *p, int64_t i) {
    return kinds[p->axes.kind].pair(p, i);
}

/* ---- Checks ---- */

/* Sections that add up to n_pairs, one for each plane. */
static posenc_status check_sections(const posenc_rope_axes *axes, int64_t n_pairs) {
    int64_t sum = 0;
    for (int a = 0; a < POSENC_MAX_AXES; a++) {
        const int64_t most = a < axes->n_axes ? n_pairs : 0;
        if (axes->sections[a] < 0 || axes->sections[a] > most)
            return posenc_refuse(POSENC_ERR_SECTIONS, "axes.sections[%d] is %lld, but 0 .. %lld are wanted", a,
                                 (long long)axes->sections[a], (long long)most);
        sum += axes->sections[a];
    }
    return sum == n_pairs ? POSENC_OK
                          : posenc_refuse(POSENC_ERR_SECTIONS, "axes.sections add up to %lld, but %lld are wanted",
                                          (long long)sum, (long long)n_pairs);
}

/* 1 if sections say where the halves of a layout are. */
static int is_halved_by_axis(const posenc_rope_params *p) {
    return p->layout == POSENC_ROPE_HALF_BY_AXIS;
}

static posenc_status check_sections_of(const posenc_rope_params *p) {
    const posenc_rope_axes *axes = &p->axes;
    int is_list = axes->kind == POSENC_AXES_LIST, sections = kinds[axes->kind].sections;
    if (is_halved_by_axis(p) && sections != SECTIONS_IN_A_ROW && !is_list)
        return posenc_refuse(POSENC_ERR_SECTIONS, "axes.kind %d has no sections for POSENC_ROPE_HALF_BY_AXIS",
                             (int)axes->kind);
    if (axes->kind == POSENC_AXES_ERNIE && axes->sections[1] != axes->sections[2])
        return posenc_refuse(POSENC_ERR_SECTIONS, "axes.sections[1] is %lld and [2] %lld, but ERNIE wants equal ones",
                             (long long)axes->sections[1], (long long)axes->sections[2]);
    if (axes->kind == POSENC_AXES_PIXTRAL || axes->kind == POSENC_AXES_ALTERNATE)
        return POSENC_OK;
    return check_sections(axes, sections == NO_SECTIONS && !is_halved_by_axis(p) ? 0 : p->n_rot / 2);
}

/* Largest growth of a pair from one position to the next, as an exponent. A value is the value at an anchor times the
 * growth since then. Up to this limit both stay in the range of double wherever the value is in the range of float. */
#define MAX_GROWTH 32.0

static posenc_status check_xpos(const posenc_rope_params *p) {
    const posenc_xpos *x = &p->xpos;
    if (x->role == POSENC_XPOS_OFF)
        return POSENC_OK;
    if (x->role != POSENC_XPOS_QUERY && x->role != POSENC_XPOS_KEY)
        return posenc_refused(POSENC_ERR_ENUM);
    if (!(x->gamma > 0.0 && isfinite(x->gamma) && x->scale_base > 0.0 && isfinite(x->scale_base)))
        return posenc_refused(POSENC_ERR_SCALE);
    if (!(-posenc_dd_log(x->gamma / (1.0 + x->gamma)).hi <= MAX_GROWTH * x->scale_base))
        return posenc_refused(POSENC_ERR_SCALE);
    return p->axes.kind == POSENC_AXES_SINGLE ? POSENC_OK : posenc_refused(POSENC_ERR_ENUM);
}

static int has_bases(const posenc_rope_lists *lists) {
    for (int a = 0; a < POSENC_MAX_AXES; a++)
        if (lists->bases[a] != 0.0)
            return 1;
    return 0;
}

/* Refuses scalings of frequencies that restart, that are listed or that have several bases: only ggml defines one, for
 * its own mode. */
static posenc_status check_scaling_of(const posenc_rope_params *p) {
    const posenc_rope_scaling *s = &p->scaling;
    int is_plain = s->type == POSENC_SCALING_NONE && s->freq_factors == NULL && s->freq_factors_f32 == NULL;
    int is_ggml_vision = p->axes.kind == POSENC_AXES_VISION && s->type == POSENC_SCALING_GGML;
    int is_listed = p->lists.theta != NULL || has_bases(&p->lists);
    if (is_plain || (!is_listed && (is_ggml_vision || !kinds[p->axes.kind].restarts)))
        return POSENC_OK;
    return posenc_refuse(POSENC_ERR_SCALING,
                         "scaling.type %d, or a list of factors, does not go with these axes or lists", (int)s->type);
}

static posenc_status check_bases(const posenc_rope_params *p) {
    int n_axes = p->axes.kind == POSENC_AXES_SINGLE ? 1 : p->axes.n_axes; /* which may say 0 */
    for (int a = 0; a < POSENC_MAX_AXES; a++) {
        double base = p->lists.bases[a];
        int is_used = a < n_axes && p->lists.theta == NULL;
        if (base != 0.0 && !(is_used && posenc_base_is_valid(base)))
            return posenc_refuse(POSENC_ERR_BASE, "lists.bases[%d] is %g, but 0, or 1 .. 1e30 of an axis, are wanted",
                                 a, base);
    }
    return POSENC_OK;
}

static posenc_status check_axis_list(const posenc_rope_params *p) {
    if ((p->lists.axes != NULL) != (p->axes.kind == POSENC_AXES_LIST) && p->n_rot > 0)
        return p->lists.axes == NULL ? posenc_refused(POSENC_ERR_NULL) : posenc_refused(POSENC_ERR_SECTIONS);
    if (!posenc_is_aligned(p->lists.axes, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t i = 0; p->lists.axes != NULL && i < p->n_rot / 2; i++)
        if (p->lists.axes[i] < 0 || p->lists.axes[i] >= p->axes.n_axes)
            return posenc_refuse(POSENC_ERR_SECTIONS, "lists.axes[%lld] is %d, but n_axes is %d", (long long)i,
                                 (int)p->lists.axes[i], p->axes.n_axes);
    return POSENC_OK;
}

static posenc_status check_lists(const posenc_rope_params *p) {
    if (!posenc_is_aligned(p->lists.theta, 8))
        return posenc_refused(POSENC_ERR_STRIDE);
    posenc_status status = check_bases(p);
    return status == POSENC_OK ? check_axis_list(p) : status;
}

/* Channels that some kinds need. */
static int fits_n_rot(const posenc_rope_params *p) {
    switch (p->axes.kind) {
    case POSENC_AXES_SINGLE: return 1;
    case POSENC_AXES_PIXTRAL: return p->n_rot <= POSENC_MAX_AXES_ROT && p->n_rot % 4 == 0;
    case POSENC_AXES_ALTERNATE: return p->n_rot <= POSENC_MAX_AXES_ROT && p->n_rot % (2 * p->axes.n_axes) == 0;
    default: return p->n_rot <= POSENC_MAX_AXES_ROT;
    }
}

posenc_status posenc_rope_check_axes(const posenc_rope_params *p) {
    const posenc_rope_axes *axes = &p->axes;
    if ((unsigned)axes->kind >= sizeof kinds / sizeof kinds[0])
        return posenc_refuse(POSENC_ERR_ENUM, "axes.kind is %d, which does not exist", (int)axes->kind);
    if (axes->n_axes < kinds[axes->kind].least || axes->n_axes > kinds[axes->kind].most)
        return posenc_refuse(POSENC_ERR_SECTIONS, "axes.n_axes is %d, but %d .. %d are wanted", axes->n_axes,
                             kinds[axes->kind].least, kinds[axes->kind].most);
    if (!fits_n_rot(p))
        return posenc_refuse(POSENC_ERR_N_ROT, "n_rot is %lld, which these axes do not take", (long long)p->n_rot);
    posenc_status status = check_scaling_of(p);
    if (status == POSENC_OK)
        status = check_sections_of(p);
    if (status == POSENC_OK)
        status = check_lists(p);
    return status == POSENC_OK ? check_xpos(p) : status;
}
