/* SPDX-License-Identifier: MIT */
/* RoPE with several positions a token, and xPos (FORMULAS B.19-B.23, B.26-B.31): against the reference
 * (truth_reference.h), and what each scheme promises. */
#include "truth_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TURN TRUTH_TURN

static const posenc_axes_kind with_axes[] = {POSENC_AXES_MROPE,  POSENC_AXES_IMROPE,    POSENC_AXES_IMROPE_GGML,
                                             POSENC_AXES_VISION, POSENC_AXES_PIXTRAL,   POSENC_AXES_AXIAL,
                                             POSENC_AXES_ERNIE,  POSENC_AXES_ALTERNATE, POSENC_AXES_LIST};
enum { N_KINDS = sizeof with_axes / sizeof with_axes[0] };

/* Memory of the parameters' lists. */
typedef struct lists {
    double theta[POSENC_MAX_AXES_ROT / 2];
    int32_t axes[POSENC_MAX_AXES_ROT / 2];
} lists;

/* Axes of a kind with all that goes with it: an axis for each pair of LIST, in runs and singly; now and then numbers
 * for frequencies, or a base for each axis. */
static void random_axes(posenc_rope_params *params, posenc_axes_kind kind, lists *l) {
    int64_t n_pairs = params->n_rot / 2;
    truth_random_axes(&params->axes, kind, n_pairs);
    params->base = truth_log_uniform(1e4, 1e7);
    int n_axes = params->axes.n_axes, has_runs = truth_below(2) != 0;
    for (int64_t i = 0; i < n_pairs; i++) {
        int follows = i > 0 && has_runs && truth_below(8) != 0;
        l->axes[i] = follows ? l->axes[i - 1] : (int32_t)truth_below(n_axes);
        l->theta[i] = truth_uniform(-1.0, 1.0) * truth_log_uniform(1e-6, 1e4);
    }
    params->lists = (posenc_rope_lists){NULL, NULL, {0.0}};
    params->lists.axes = kind == POSENC_AXES_LIST ? l->axes : NULL;
    if (truth_below(4) == 0)
        params->lists.theta = l->theta;
    else if (truth_below(3) == 0)
        for (int axis = 0; axis < n_axes; axis++)
            params->lists.bases[axis] = truth_below(2) ? truth_log_uniform(100.0, 1e6) : 0.0;
}

/* Halves inside sections, for kinds that may have them: LIST with sections of its own. */
static void halve_by_axis(posenc_rope_params *params) {
    posenc_axes_kind kind = params->axes.kind;
    if (kind == POSENC_AXES_LIST) {
        int64_t left = params->n_rot / 2;
        for (int a = 0; a < params->axes.n_axes; a++, left -= params->axes.sections[a - 1])
            params->axes.sections[a] = a + 1 == params->axes.n_axes ? left : truth_below(left + 1);
    } else if (kind != POSENC_AXES_MROPE && kind != POSENC_AXES_VISION && kind != POSENC_AXES_AXIAL) {
        return;
    }
    params->layout = POSENC_ROPE_HALF_BY_AXIS;
}

static posenc_rope_layout any_layout(void) {
    return (posenc_rope_layout)(POSENC_ROPE_HALF + (int)truth_below(3));
}

/* ---- Against the reference ---- */

static void check_call(const posenc_rope_params *params, const int32_t *positions, int64_t n_tokens,
                       posenc_direction direction) {
    posenc_rope *rope = truth_rope_new(params);
    truth_reference reference = truth_reference_new(params);
    for (int64_t i = 0; i < params->n_rot / 2; i++) {
        assert_int_equal(posenc_rope_axis(rope, i), reference.axis[i]);
        if (posenc_rope_theta(rope, i) != mpfr_get_d(reference.theta.theta[i], MPFR_RNDN))
            fail_msg("kind %d: theta_%lld is %a", params->axes.kind, (long long)i, posenc_rope_theta(rope, i));
    }
    int64_t ne[4] = {params->head_dim, 1 + truth_below(3), n_tokens, 1 + truth_below(2)};
    truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne), first = truth_tensor_random(ne);
    for (int tier = -1, n_tiers = 0; truth_next_tier(&tier); n_tiers++) {
        truth_ok(posenc_rope_apply(rope, &x.view, positions, &y.view, direction, posenc_range_all()));
        if (n_tiers == 0)
            truth_copy(&y.view, &first.view);
        truth_same_views(&y.view, &first.view, "tiers differ");
    }
    truth_nothing_changed(&x, "input");
    truth_nothing_else_changed(&y, 0, ne[0], "output");
    truth_reference_check(&reference, &x, &y.view, positions, direction);
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&first);
    truth_reference_free(&reference);
    posenc_rope_free(rope);
}

/* Text, an image and text again, as models have them: equal planes; then one that stands still, one that counts rows
 * and the others columns, from the same position on. */
static void positions_of_image(int32_t *planes, int n_axes, int64_t n_tokens) {
    int64_t n_text = truth_below(n_tokens + 1), n_patches = truth_below(n_tokens + 1), columns = 1 + truth_below(6);
    int32_t start = (int32_t)(truth_below(5000) - 1000);
    for (int64_t t = 0; t < n_tokens; t++)
        for (int axis = 0; axis < n_axes; axis++) {
            int64_t patch = t - n_text, in_image = axis == 0 ? 0 : axis == 1 ? patch / columns : patch % columns;
            int is_text = patch < 0 || patch >= n_patches;
            planes[axis * n_tokens + t] = start + (int32_t)(is_text ? t : n_text + in_image);
        }
}

static void test_axes_against_reference(void **state) {
    (void)state;
    enum { ROUNDS = 20 };
    for (int k = 0; k < N_KINDS; k++)
        for (int round = 0; round < ROUNDS; round++) {
            int64_t n_rot = round == 0 ? POSENC_MAX_AXES_ROT : 4 * truth_below(POSENC_MAX_AXES_ROT / 4 + 1);
            int64_t rest = truth_below(9), n_tokens = 1 + truth_below(20);
            posenc_rope_params params = truth_rope_params(any_layout(), n_rot + rest + 1, n_rot, truth_below(rest + 1));
            lists l;
            random_axes(&params, with_axes[k], &l);
            if (truth_below(3) == 0)
                halve_by_axis(&params);
            if (truth_below(2))
                params.scaling.attention_factor = truth_uniform(0.5, 2.0);
            int32_t positions[TRUTH_MAX_POSITIONS];
            truth_random_positions(positions, params.axes.n_axes, n_tokens);
            if (truth_below(3) == 0)
                positions_of_image(positions, params.axes.n_axes, n_tokens);
            check_call(&params, positions, n_tokens, truth_random_direction(&params));
        }
    print_message("%d kinds of axes, %d random calls each\n", N_KINDS, ROUNDS);
}

/* The published sections. */
static void test_published_axes(void **state) {
    (void)state;
    static const struct {
        const char *model;
        posenc_rope_axes axes;
        int64_t n_rot;
        double base;
        posenc_rope_layout layout;
    } rows[] = {
        {"Qwen2-VL", {POSENC_AXES_MROPE, 3, {16, 24, 24, 0}}, 128, 1e6, POSENC_ROPE_HALF},
        {"Qwen3-VL", {POSENC_AXES_IMROPE, 3, {24, 20, 20, 0}}, 128, 5e6, POSENC_ROPE_HALF},
        {"Qwen3-VL in ggml", {POSENC_AXES_IMROPE_GGML, 4, {24, 20, 20, 0}}, 128, 5e6, POSENC_ROPE_HALF},
        {"Qwen2-VL vision tower", {POSENC_AXES_VISION, 2, {20, 20, 0, 0}}, 80, 1e4, POSENC_ROPE_HALF},
        {"Pixtral", {POSENC_AXES_PIXTRAL, 2, {0, 0, 0, 0}}, 64, 1e4, POSENC_ROPE_HALF},
        {"FLUX", {POSENC_AXES_AXIAL, 3, {8, 28, 28, 0}}, 128, 1e4, POSENC_ROPE_HALF},
        {"ERNIE-4.5-VL", {POSENC_AXES_ERNIE, 3, {20, 22, 22, 0}}, 128, 5e5, POSENC_ROPE_INTERLEAVED},
        {"HunyuanVL", {POSENC_AXES_MROPE, 4, {16, 16, 16, 16}}, 128, 1e4, POSENC_ROPE_HALF},
        {"MoonViT", {POSENC_AXES_ALTERNATE, 2, {0, 0, 0, 0}}, 72, 1e4, POSENC_ROPE_INTERLEAVED},
        {"Gemma 4 vision tower", {POSENC_AXES_AXIAL, 2, {16, 16, 0, 0}}, 64, 100.0, POSENC_ROPE_HALF_BY_AXIS},
        {"Llama 4 vision tower", {POSENC_AXES_AXIAL, 2, {22, 22, 0, 0}}, 88, 1e4, POSENC_ROPE_INTERLEAVED},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        posenc_rope_params params = truth_rope_params(rows[k].layout, rows[k].n_rot, rows[k].n_rot, 0);
        params.axes = rows[k].axes;
        params.base = rows[k].base;
        int32_t positions[TRUTH_MAX_POSITIONS];
        truth_random_positions(positions, params.axes.n_axes, 12);
        check_call(&params, positions, 12, POSENC_FORWARD);
    }
}

/* ---- Promises ---- */

/* M-RoPE of text tokens, all planes equal, is plain RoPE bit for bit. */
static void test_equal_planes(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 60; round++) {
            int64_t n_rot = 2 * truth_below(POSENC_MAX_AXES_ROT / 2 + 1), n_tokens = 1 + truth_below(20);
            posenc_rope_params plain = truth_rope_params(any_layout(), n_rot + 1, n_rot, truth_below(2)), many = plain;
            truth_random_axes(&many.axes, with_axes[round % 3], n_rot / 2); /* MROPE, IMROPE, IMROPE_GGML */
            posenc_rope *one = truth_rope_new(&plain), *several = truth_rope_new(&many);
            int32_t positions[TRUTH_MAX_POSITIONS];
            truth_random_positions(positions, 1, n_tokens);
            for (int axis = 1; axis < many.axes.n_axes; axis++)
                memcpy(positions + axis * n_tokens, positions, (size_t)n_tokens * sizeof positions[0]);
            posenc_direction direction = truth_random_direction(&plain);
            int64_t ne[4] = {n_rot + 1, 2, n_tokens, 2};
            truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne), z = truth_tensor_random(ne);
            truth_ok(posenc_rope_apply(one, &x.view, positions, &y.view, direction, posenc_range_all()));
            truth_ok(posenc_rope_apply(several, &x.view, positions, &z.view, direction, posenc_range_all()));
            truth_same_views(&z.view, &y.view, "equal planes");
            truth_tensor_free(&x);
            truth_tensor_free(&y);
            truth_tensor_free(&z);
            posenc_rope_free(one);
            posenc_rope_free(several);
        }
}

/* sum of |pair i of q| |pair i of k|: what a score is bounded by, and its errors with it. */
static double pairs_bound(const posenc_rope_params *p, const float *q, const float *k) {
    double sum = 0.0;
    for (int64_t i = 0; i < p->n_rot / 2; i++) {
        truth_pair at = truth_pair_read(p, i);
        sum += hypot((double)q[at.first], (double)q[at.second]) * hypot((double)k[at.first], (double)k[at.second]);
    }
    return sum;
}

/* Scores stay when both tokens move alike on each axis, on every axis by a distance of its own; four rotations, each
 * off by TURN times a radius. */
static void test_scores_with_axes(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 120; round++) {
            int64_t dim = 4 * (1 + truth_below(POSENC_MAX_AXES_ROT / 4));
            posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, dim, dim, 0);
            lists l;
            random_axes(&params, with_axes[round % N_KINDS], &l);
            if (round % 3 == 0)
                halve_by_axis(&params);
            posenc_rope *rope = truth_rope_new(&params);
            float q[TRUTH_MAX_DIM], k[TRUTH_MAX_DIM], qm[TRUTH_MAX_DIM], kn[TRUTH_MAX_DIM];
            int32_t m[POSENC_MAX_AXES], n[POSENC_MAX_AXES];
            truth_fill(q, (size_t)dim);
            truth_fill(k, (size_t)dim);
            for (int a = 0; a < POSENC_MAX_AXES; a++) {
                m[a] = truth_position() / 2;
                n[a] = truth_position() / 2;
            }
            truth_turn(rope, dim, q, m, POSENC_FORWARD, qm);
            truth_turn(rope, dim, k, n, POSENC_FORWARD, kn);
            double score = truth_dot(qm, kn, dim);
            for (int a = 0; a < POSENC_MAX_AXES; a++) {
                int32_t shift = truth_position() / 2;
                m[a] += shift;
                n[a] += shift;
            }
            truth_turn(rope, dim, q, m, POSENC_FORWARD, qm);
            truth_turn(rope, dim, k, n, POSENC_FORWARD, kn);
            truth_close(truth_dot(qm, kn, dim), score, 4.0 * TURN * TRUTH_SECOND_ORDER * pairs_bound(&params, q, k),
                        "kind %d, every axis moved", params.axes.kind);
            posenc_rope_free(rope);
        }
}

/* ---- xPos ---- */

static posenc_rope_params random_xpos(int64_t dim, posenc_xpos_role role) {
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_INTERLEAVED, dim, dim, 0);
    params.xpos.role = role;
    params.xpos.gamma = truth_uniform(0.2, 0.8);
    params.xpos.scale_base = truth_log_uniform(16.0, 0x1p26);
    params.xpos.centre = truth_position() / 4;
    return params;
}

/* Up to five scale_base, either way: no pair grows by more than e^9, since |ln zeta| < 1.8. */
static int32_t random_distance(const posenc_xpos *xpos) {
    return (int32_t)(truth_uniform(-5.0, 5.0) * xpos->scale_base);
}

static void test_xpos_against_reference(void **state) {
    (void)state;
    enum { ROUNDS = 80 };
    for (int round = 0; round < ROUNDS; round++) {
        posenc_rope_params params =
            random_xpos(2 * (1 + truth_below(160)), round % 2 ? POSENC_XPOS_QUERY : POSENC_XPOS_KEY);
        if (truth_below(2))
            params.scaling.attention_factor = truth_uniform(0.5, 2.0);
        posenc_direction direction = truth_random_direction(&params);
        int32_t positions[20];
        for (int t = 0; t < 20; t++) {
            int follows = t > 0 && truth_below(3) != 0;
            positions[t] = follows ? positions[t - 1] + 1 : random_distance(&params.xpos);
            if (!follows && direction != POSENC_SHIFT)
                positions[t] += params.xpos.centre;
        }
        check_call(&params, positions, 20, direction);
    }
    print_message("%d random calls with xPos\n", ROUNDS);
}

/* <q at m, k at n> depends on m - n only, factor included: it grows by zeta^((m - n)/B) at most, which bounds the error
 * of each of the four rotations. And a key moved by SHIFT is the key rotated where it went. */
static void test_xpos_properties(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 120; round++) {
            int64_t dim = 2 * (1 + truth_below(100));
            posenc_rope_params query = random_xpos(dim, POSENC_XPOS_QUERY), key = query;
            key.xpos.role = POSENC_XPOS_KEY;
            posenc_rope *for_q = truth_rope_new(&query), *for_k = truth_rope_new(&key);
            float q[TRUTH_MAX_DIM], k[TRUTH_MAX_DIM], qm[TRUTH_MAX_DIM], kn[TRUTH_MAX_DIM], moved[TRUTH_MAX_DIM];
            truth_fill(q, (size_t)dim);
            truth_fill(k, (size_t)dim);
            int32_t n = query.xpos.centre + random_distance(&query.xpos), m = n + abs(random_distance(&query.xpos));
            int32_t shift = random_distance(&query.xpos) / 2, m_moved = m + shift, n_moved = n + shift;
            truth_turn(for_q, dim, q, &m, POSENC_FORWARD, qm);
            truth_turn(for_k, dim, k, &n, POSENC_FORWARD, kn);
            double score = truth_dot(qm, kn, dim);
            truth_turn(for_k, dim, kn, &shift, POSENC_SHIFT, moved);
            truth_turn(for_q, dim, q, &m_moved, POSENC_FORWARD, qm);
            truth_turn(for_k, dim, k, &n_moved, POSENC_FORWARD, kn);
            truth_close(truth_dot(qm, kn, dim), score, 4.0 * TURN * TRUTH_SECOND_ORDER * pairs_bound(&query, q, k),
                        "xPos, score of %d and %d moved by %d", m, n, shift); /* m >= n: zeta^((m - n)/B) <= 1 */
            for (int64_t i = 0; i < dim; i++) {
                truth_pair pair = truth_pair_read(&key, i / 2);
                double r = hypot((double)kn[pair.first], (double)kn[pair.second]);
                truth_close((double)moved[i], (double)kn[i], 3.0 * TURN * r, "xPos key moved by %d from %d", shift, n);
            }
            posenc_rope_free(for_q);
            posenc_rope_free(for_k);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_axes_against_reference), truth_test(test_published_axes),
        truth_test(test_equal_planes),           truth_test(test_scores_with_axes),
        truth_test(test_xpos_against_reference), truth_test(test_xpos_properties),
    };
    return truth_run(tests);
}
