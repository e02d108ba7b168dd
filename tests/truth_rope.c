/* SPDX-License-Identifier: MIT */
#include "truth_rope.h"

#include <string.h>

posenc_rope_params truth_rope_params(posenc_rope_layout layout, int64_t head_dim, int64_t n_rot, int64_t n_offs) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = layout;
    params.head_dim = head_dim;
    params.n_rot = n_rot;
    params.rot_fraction = 0.0; /* 0 is 0 */
    params.n_offs = n_offs;
    return params;
}

posenc_rope *truth_rope_new(const posenc_rope_params *params) {
    posenc_rope *rope;
    truth_ok(posenc_rope_create(params, &rope));
    return rope;
}

void truth_random_axes(posenc_rope_axes *axes, posenc_axes_kind kind, int64_t n_pairs) {
    static const int least[] = {0, 2, 3, 4, 2, 2, 2, 2, 3, 1}, most[] = {0, 4, 3, 4, 4, 2, 4, 4, 3, 4};
    *axes = (posenc_rope_axes){kind, least[kind] + (int)truth_below(most[kind] - least[kind] + 1), {0}};
    if (kind == POSENC_AXES_ALTERNATE && n_pairs % axes->n_axes != 0)
        axes->n_axes = 2;
    if (kind == POSENC_AXES_PIXTRAL || kind == POSENC_AXES_ALTERNATE || kind == POSENC_AXES_LIST)
        return;
    if (kind == POSENC_AXES_ERNIE) {
        axes->sections[1] = axes->sections[2] = truth_below(n_pairs / 2 + 1);
        axes->sections[0] = n_pairs - 2 * axes->sections[1];
        return;
    }
    int64_t left = n_pairs;
    for (int a = 0; a < axes->n_axes; a++) {
        axes->sections[a] = a + 1 == axes->n_axes ? left : truth_below(left + 1);
        left -= axes->sections[a];
    }
}

posenc_rope_params truth_rope_random(int variety) {
    int64_t head_dim = truth_below(8) ? 1 + truth_below(160) : 300 + truth_below(TRUTH_MAX_DIM - 300);
    int64_t n_rot = truth_below(3) ? head_dim / 2 * 2 : 2 * truth_below(head_dim / 2 + 1);
    posenc_axes_kind kind = POSENC_AXES_SINGLE;
    if (variety & TRUTH_AXES)
        kind = (posenc_axes_kind)(1 + truth_below(POSENC_AXES_ERNIE));
    if (kind != POSENC_AXES_SINGLE && n_rot > POSENC_MAX_AXES_ROT)
        n_rot = POSENC_MAX_AXES_ROT;
    if (kind == POSENC_AXES_PIXTRAL || kind == POSENC_AXES_ALTERNATE)
        n_rot -= n_rot % 4;
    posenc_rope_layout layout = truth_below(2) ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED;
    if (variety & TRUTH_DEINTERLEAVE && truth_below(3) == 0)
        layout = POSENC_ROPE_DEINTERLEAVE;
    posenc_rope_params params = truth_rope_params(layout, head_dim, n_rot, truth_below(head_dim - n_rot + 1));
    params.base = truth_log_uniform(1e4, 1e7);
    if (kind != POSENC_AXES_SINGLE)
        truth_random_axes(&params.axes, kind, n_rot / 2);
    if (variety & TRUTH_MAGNITUDE && truth_below(2))
        params.scaling.attention_factor = truth_uniform(0.5, 2.0);
    return params;
}

void truth_random_positions(int32_t *positions, int n_axes, int64_t n) {
    int32_t p = truth_position();
    for (int64_t t = 0; t < n_axes * n; t++) {
        positions[t] = p;
        p = truth_below(5) == 0 || p == INT32_MAX ? truth_position() : p + 1;
    }
}

posenc_direction truth_random_direction(const posenc_rope_params *params) {
    if (params->layout == POSENC_ROPE_DEINTERLEAVE)
        return POSENC_FORWARD;
    posenc_direction direction = (posenc_direction)truth_below(4);
    return params->xpos.role != POSENC_XPOS_OFF && direction == POSENC_INVERSE ? POSENC_SHIFT : direction;
}

const char *truth_direction_name(posenc_direction direction) {
    static const char *const names[] = {"FORWARD", "INVERSE", "BACKWARD", "SHIFT"};
    return names[direction];
}

static truth_pair pair_of(const posenc_rope_params *params, int64_t i, int half) {
    int64_t offs = params->n_offs;
    if (params->layout == POSENC_ROPE_HALF_BY_AXIS) { /* each section is a head of its own */
        int axis = 0;
        for (; i >= params->axes.sections[axis]; axis++) {
            i -= params->axes.sections[axis];
            offs += 2 * params->axes.sections[axis];
        }
        return (truth_pair){offs + i, offs + i + params->axes.sections[axis]};
    }
    return half ? (truth_pair){offs + i, offs + i + params->n_rot / 2} : (truth_pair){offs + 2 * i, offs + 2 * i + 1};
}

truth_pair truth_pair_read(const posenc_rope_params *params, int64_t i) {
    return pair_of(params, i, params->layout == POSENC_ROPE_HALF);
}

truth_pair truth_pair_written(const posenc_rope_params *params, int64_t i) {
    return pair_of(params, i, params->layout != POSENC_ROPE_INTERLEAVED);
}

void truth_turn(const posenc_rope *rope, int64_t head_dim, const float *x, const int32_t *position,
                posenc_direction direction, float *y) {
    float copy[TRUTH_MAX_DIM];
    memcpy(copy, x, (size_t)head_dim * sizeof(float));
    posenc_view from = posenc_view_dense(copy, POSENC_F32, head_dim, 1, 1, 1);
    posenc_view to = posenc_view_dense(y, POSENC_F32, head_dim, 1, 1, 1);
    truth_ok(posenc_rope_apply(rope, &from, position, &to, direction, posenc_range_all()));
}

void truth_rotate(const posenc_rope_params *params, float *x, int64_t n_tokens, const int32_t *positions,
                  posenc_direction direction) {
    float copy[TRUTH_MAX_DIM];
    assert_true(params->head_dim * n_tokens <= TRUTH_MAX_DIM);
    posenc_rope *rope = truth_rope_new(params);
    posenc_view from = posenc_view_dense(x, POSENC_F32, params->head_dim, 1, n_tokens, 1), to = from;
    if (params->layout == POSENC_ROPE_DEINTERLEAVE) {
        memcpy(copy, x, (size_t)(params->head_dim * n_tokens) * sizeof(float));
        from.data = copy;
    }
    truth_ok(posenc_rope_apply(rope, &from, positions, &to, direction, posenc_range_all()));
    posenc_rope_free(rope);
}

double truth_dot(const float *x, const float *y, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}
