/* SPDX-License-Identifier: MIT */
/* RoPE: set-up. The walk over tokens is apply.c. */
#include "core/refuse.h"
#include "rope/rope.h"

#include <math.h>
#include <stdlib.h>

#include "rope/scaling.h"

/* ---- Create ---- */

/* Nothing would rotate, because the parameters do not begin with POSENC_ROPE_DEFAULTS, whose scale_base is not 0. */
static int is_without_defaults(const posenc_rope_params *p) {
    return p->n_rot == 0 && p->rot_fraction == 0.0 && p->xpos.scale_base == 0.0;
}

/* n_rot, or what rot_fraction says it is; negative for a fraction that is none. */
static int64_t resolve_n_rot(const posenc_rope_params *p) {
    if (p->n_rot != 0 || p->rot_fraction == 0.0)
        return p->n_rot;
    if (!(p->rot_fraction > 0.0 && p->rot_fraction <= 1.0))
        return -1;
    int all = p->scaling.type == POSENC_SCALING_PROPORTIONAL;
    return all ? p->head_dim : (int64_t)((double)p->head_dim * p->rot_fraction);
}

/* Resolves n_rot on the way. */
static posenc_status check_params(posenc_rope_params *p) {
    if (p->layout == POSENC_ROPE_LAYOUT_UNSET)
        return posenc_refuse(POSENC_ERR_LAYOUT_UNSET,
                             "layout is not set: POSENC_ROPE_HALF (Hugging Face) or _INTERLEAVED");
    if ((unsigned)p->layout > POSENC_ROPE_HALF_BY_AXIS)
        return posenc_refuse(POSENC_ERR_ENUM, "layout is %d, which does not exist", (int)p->layout);
    if (p->head_dim < 1 || p->head_dim > 2 * (int64_t)POSENC_MAX_PAIRS)
        return posenc_refuse(POSENC_ERR_HEAD_DIM, "head_dim is %lld, but 1 .. %d are wanted", (long long)p->head_dim,
                             2 * POSENC_MAX_PAIRS);
    if (is_without_defaults(p))
        return posenc_refuse(POSENC_ERR_UNSET, "n_rot and rot_fraction are 0: begin with POSENC_ROPE_DEFAULTS");
    p->n_rot = resolve_n_rot(p);
    if (p->n_rot < 0 || p->n_rot % 2 != 0 || p->n_rot > p->head_dim)
        return posenc_refuse(POSENC_ERR_N_ROT, "n_rot is %lld, but an even number up to head_dim %lld is wanted",
                             (long long)p->n_rot, (long long)p->head_dim);
    if (p->n_offs < 0 || p->n_offs > p->head_dim - p->n_rot)
        return posenc_refuse(POSENC_ERR_N_ROT, "n_offs is %lld, but 0 .. %lld (head_dim - n_rot) are wanted",
                             (long long)p->n_offs, (long long)(p->head_dim - p->n_rot));
    if (!posenc_base_is_valid(p->base))
        return posenc_refuse(POSENC_ERR_BASE, "base is %g, but 1 .. 1e30 are wanted", p->base);
    return posenc_rope_check_axes(p);
}

posenc_status posenc_rope_check(const posenc_rope_params *params) {
    posenc_rope_params p = *params;
    posenc_status status = check_params(&p);
    return status == POSENC_OK ? posenc_rope_check_scaling(&p) : status;
}

static posenc_status make_tables(posenc_rope *rope) {
    posenc_dd *theta = malloc((size_t)(rope->n_pairs + 1) * sizeof *theta);
    if (theta == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    posenc_status status = posenc_rope_compile(&rope->params, theta, &rope->magnitude);
    if (status == POSENC_OK)
        status = posenc_rope_make_planes(rope, theta);
    free(theta);
    return status;
}

/* Lists are the caller's, and not needed any more. */
static void forget_lists(posenc_rope_params *params) {
    params->scaling.freq_factors = params->scaling.short_factors = params->scaling.long_factors = NULL;
    params->scaling.freq_factors_f32 = NULL;
    params->lists.theta = NULL;
    params->lists.axes = NULL;
}

posenc_status posenc_rope_create(const posenc_rope_params *params, posenc_rope **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    if (params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_rope *rope = calloc(1, sizeof *rope);
    if (rope == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    rope->params = *params;
    posenc_status status = check_params(&rope->params);
    rope->n_pairs = rope->params.n_rot / 2;
    rope->n_axes = rope->params.axes.kind == POSENC_AXES_SINGLE ? 1 : rope->params.axes.n_axes;
    if (status == POSENC_OK)
        status = make_tables(rope);
    forget_lists(&rope->params);
    if (status != POSENC_OK) {
        posenc_rope_free(rope);
        return status;
    }
    *out = rope;
    return POSENC_OK;
}

void posenc_rope_free(posenc_rope *rope) {
    if (rope == NULL)
        return;
    posenc_freq_free(rope->freq);
    free(rope);
}

/* ---- Ask ---- */

int64_t posenc_rope_pair_count(const posenc_rope *rope) {
    return rope == NULL ? 0 : rope->n_pairs;
}

int posenc_rope_axis_count(const posenc_rope *rope) {
    return rope == NULL ? 0 : rope->n_axes;
}

int posenc_rope_axis(const posenc_rope *rope, int64_t i) {
    return rope == NULL || rope->n_axes == 1 || i < 0 || i >= rope->n_pairs ? 0 : rope->axis_of_pair[i];
}

double posenc_rope_theta(const posenc_rope *rope, int64_t i) {
    return rope == NULL ? 0.0 : posenc_freq_theta(rope->freq, i);
}

double posenc_rope_magnitude(const posenc_rope *rope) {
    return rope == NULL ? (double)NAN : rope->magnitude;
}
