/* SPDX-License-Identifier: MIT */
/* RoPE: the table of frequencies, and which columns of it each axis follows. */
#include <stdlib.h>

#include "core/refuse.h"
#include "rope/rope.h"

static posenc_dd theta_of_pair(const void *context, int64_t i) {
    return ((const posenc_dd *)context)[i];
}

/* ln(zeta_i) / scale_base, negative for keys. */
static posenc_status add_growth(posenc_rope *rope) {
    const posenc_xpos *x = &rope->params.xpos;
    if (x->role == POSENC_XPOS_OFF)
        return POSENC_OK;
    double *growth = malloc((size_t)(rope->n_pairs + 1) * sizeof *growth);
    if (growth == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    for (int64_t i = 0; i < rope->n_pairs; i++) {
        double zeta = (2.0 * (double)i / (double)rope->params.n_rot + x->gamma) / (1.0 + x->gamma);
        double rate = posenc_dd_log(zeta).hi / x->scale_base;
        growth[i] = x->role == POSENC_XPOS_KEY ? -rate : rate;
    }
    posenc_status status = posenc_freq_set_growth(rope->freq, growth, x->centre);
    free(growth);
    return status;
}

/* The pairs of an axis; their span begins with a whole column. */
static void find_plane(posenc_rope *rope, int axis) {
    posenc_rope_plane *plane = &rope->planes[axis];
    for (int64_t i = 0; i < rope->n_pairs; i++)
        if (rope->axis_of_pair[i] == axis)
            plane->pairs[plane->n_pairs++] = (uint8_t)i;
    if (plane->n_pairs == 0)
        return;
    int64_t first = plane->pairs[0], end = plane->pairs[plane->n_pairs - 1] + 1;
    plane->first = first / POSENC_COLUMN * POSENC_COLUMN;
    plane->n = end - plane->first;
    rope->is_scattered |= end - first != plane->n_pairs;
}

/* Orders planes so that their spans can be written one over the other: planes that end later come first. */
static void order_planes(posenc_rope *rope) {
    for (int a = 0; a < rope->n_axes; a++) {
        int at = a;
        for (; at > 0 && rope->planes[rope->order[at - 1]].first + rope->planes[rope->order[at - 1]].n <
                             rope->planes[a].first + rope->planes[a].n;
             at--)
            rope->order[at] = rope->order[at - 1];
        rope->order[at] = (uint8_t)a;
    }
}

posenc_status posenc_rope_make_planes(posenc_rope *rope, const posenc_dd *theta) {
    posenc_status status = posenc_freq_build(theta_of_pair, theta, rope->n_pairs, &rope->freq);
    if (status == POSENC_OK)
        status = add_growth(rope);
    if (status != POSENC_OK || rope->n_axes == 1)
        return status;
    for (int64_t i = 0; i < rope->n_pairs; i++)
        rope->axis_of_pair[i] = (uint8_t)posenc_rope_pair_of(&rope->params, i).axis;
    for (int axis = 0; axis < rope->n_axes; axis++)
        find_plane(rope, axis);
    order_planes(rope);
    return POSENC_OK;
}
