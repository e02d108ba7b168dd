/* SPDX-License-Identifier: MIT */
/* RoPE at real positions, with strides and for each sequence of a batch (FORMULAS B.26, B.28): cosines and sines
 * against MPFR, rotations against the reference, and what is promised of integers. */
#include "truth_reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Positions ---- */

/* Positions at which an angle engine for integers goes wrong: halves, far ones, next to integers, denormals. */
static const double special[] = {0.5,
                                 -0.5,
                                 15.5,
                                 -16.5,
                                 511.5,
                                 512.5,
                                 1048575.5,
                                 1e9 + 0.5,
                                 -1e9 - 0.5,
                                 0x1p31,
                                 -0x1p31,
                                 0x1p31 - 0.5,
                                 0x1.fffffffffffffp30,
                                 0x1.0000000000001p0,
                                 0x1.fffffffffffffp-1,
                                 -0x1.ffffffp6,
                                 0x1p-1074,
                                 -0x1p-1074,
                                 1e-310,
                                 DBL_MIN,
                                 0x1p-149,
                                 1e-39,
                                 -1e-40,
                                 FLT_MIN,
                                 1e-20,
                                 0.1,
                                 -2.0 / 3.0,
                                 0.0,
                                 -0.0};
enum { N_SPECIAL = sizeof special / sizeof special[0] };

/* Draws a position of any size; now and then an integer, or the position before with its fraction and one more. */
static double real_position(double before) {
    double p = truth_log_uniform(1e-3, 0x1p31) * (truth_below(2) ? 1.0 : -1.0);
    switch (truth_below(6)) {
    case 0: return truth_below(3) ? (double)truth_below(20) : floor(p);
    case 1: return fabs(before) < 1e9 ? before + 1.0 : before;
    case 2: return special[truth_below(N_SPECIAL)];
    case 3: return (double)(float)truth_uniform(-1.0, 1.0);
    default: return p;
    }
}

static void real_positions(double *positions, int64_t n) {
    for (int64_t t = 0; t < n; t++)
        positions[t] = real_position(t > 0 ? positions[t - 1] : 0.0);
}

/* ---- Cosines and sines ---- */

/* A table of one row, for one axis. */
static void make_row(const posenc_rope *rope, posenc_coords at, float *row) {
    posenc_rope_table table = posenc_rope_table_dense(rope, row);
    truth_ok(posenc_rope_table_fill_at(rope, &at, 1, POSENC_FORWARD, &table));
}

static void compare_row(const posenc_rope *rope, const truth_table *truth, const char *name, double p, int is_float,
                        truth_worst *worst) {
    enum { MAX_PAIRS = 128 };
    float row[2 * MAX_PAIRS], single = (float)p;
    mpfr_t c, s;
    mpfr_inits2(TRUTH_BITS, c, s, (mpfr_ptr)NULL);
    make_row(rope, is_float ? posenc_coords_of(&single, POSENC_COORD_F32) : posenc_coords_of(&p, POSENC_COORD_F64),
             row);
    for (int64_t i = 0; i < truth->n; i++) {
        double exact = is_float ? (double)single : p;
        truth_angle(truth, i, exact, c, s);
        truth_compare(worst, row[i], c, "cos", exact, name, i);
        truth_compare(worst, row[truth->n + i], s, "sin", exact, name, i);
    }
    mpfr_clears(c, s, (mpfr_ptr)NULL);
}

/* The double next to where cosine or sine is 0, turn k of pair i. */
static double near_zero(double theta, int64_t k) {
    return theta == 0.0 ? 0.0 : (double)k * 1.5707963267948966 / theta;
}

static void test_rows_against_mpfr(void **state) {
    (void)state;
    enum { N_PAIRS = 40, ROUNDS = 60 };
    double theta[N_PAIRS];
    truth_worst worst = {0};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int kind = 0; kind < 3; kind++) { /* powers, DINOv3's, any */
            posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, 2 * N_PAIRS, 2 * N_PAIRS, 0);
            for (int i = 0; i < N_PAIRS; i++)
                theta[i] = kind == 1 ? 6.283185307179586 * pow(100.0, -(double)i / N_PAIRS)
                                     : truth_log_uniform(1e-9, POSENC_MAX_FREQUENCY) * (truth_below(2) ? 1.0 : -1.0);
            params.lists.theta = kind == 0 ? NULL : theta;
            posenc_rope *rope = truth_rope_new(&params);
            truth_table truth =
                kind == 0 ? truth_powers(1.0, params.base, 1, N_PAIRS, N_PAIRS) : truth_values(theta, N_PAIRS);
            static const char *const names[] = {"powers", "DINOv3", "any"};
            for (int k = 0; k < N_SPECIAL + ROUNDS; k++) {
                double zero = near_zero(posenc_rope_theta(rope, truth_below(N_PAIRS)), truth_below(100000));
                double p = k < N_SPECIAL ? special[k] : k % 2 ? real_position(0.0) : zero;
                p = fabs(p) <= 0x1p31 ? p : 0.5;
                compare_row(rope, &truth, names[kind], p, k % 3 == 0, &worst);
                if (k < N_SPECIAL)
                    compare_row(rope, &truth, names[kind], p, k % 3 != 0, &worst);
            }
            truth_table_free(&truth);
            posenc_rope_free(rope);
        }
    truth_judge("rows at real positions", &worst);
}

/* ---- Rotations ---- */

static const posenc_axes_kind kinds[] = {POSENC_AXES_SINGLE, POSENC_AXES_MROPE, POSENC_AXES_VISION,
                                         POSENC_AXES_IMROPE, POSENC_AXES_AXIAL, POSENC_AXES_ALTERNATE};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static posenc_rope_params random_params(int round) {
    posenc_axes_kind kind = kinds[round % N_KINDS];
    int64_t n_rot = 4 * truth_below(kind == POSENC_AXES_SINGLE ? 100 : POSENC_MAX_AXES_ROT / 4 + 1);
    posenc_rope_layout layout = truth_below(2) ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED;
    posenc_rope_params params = truth_rope_params(layout, n_rot + 3, n_rot, truth_below(3));
    if (kind != POSENC_AXES_SINGLE)
        truth_random_axes(&params.axes, kind, n_rot / 2);
    if (truth_below(3) == 0)
        params.scaling.attention_factor = truth_uniform(0.5, 2.0);
    return params;
}

/* Rows of one sequence from a table are those of apply_at, and so is a range of them. */
static void check_table(const posenc_rope *rope, const truth_tensor *x, const truth_tensor *y, const double *planes,
                        posenc_direction direction) {
    static float memory[TRUTH_MAX_TOKENS * 2 * TRUTH_MAX_DIM];
    int64_t n_tokens = x->view.ne[2], n_axes = posenc_rope_axis_count(rope);
    truth_tensor z = truth_tensor_random(x->view.ne);
    for (int64_t b = 0; b < x->view.ne[3]; b++) {
        posenc_coords at = posenc_coords_of(planes + b * n_axes * n_tokens, POSENC_COORD_F64);
        posenc_rope_table table = posenc_rope_table_dense(rope, memory);
        truth_ok(posenc_rope_table_fill_at(rope, &at, n_tokens, direction, &table));
        posenc_view from = posenc_view_slice(x->view, 3, b, 1), to = posenc_view_slice(z.view, 3, b, 1);
        truth_ok(posenc_rope_apply_table(rope, &from, &table, &to, direction, posenc_range_all()));
    }
    truth_same_views(&z.view, &y->view, "from a table");
    truth_tensor_free(&z);
}

static void check_call(const posenc_rope_params *params, posenc_direction direction) {
    double planes[2 * TRUTH_MAX_POSITIONS];
    posenc_rope *rope = truth_rope_new(params);
    truth_reference reference = truth_reference_new(params);
    int64_t n_axes = posenc_rope_axis_count(rope), n_batch = 1 + truth_below(2), n_tokens = 1 + truth_below(12);
    int64_t ne[4] = {params->head_dim, 1 + truth_below(3), n_tokens, n_batch}, n_rows = ne[1] * ne[2] * ne[3];
    real_positions(planes, n_axes * n_tokens * n_batch);
    posenc_coords at = {planes, POSENC_COORD_F64, 0, n_axes * n_tokens};
    truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne), first = truth_tensor_random(ne);
    for (int tier = -1, n_tiers = 0; truth_next_tier(&tier); n_tiers++) {
        int64_t cut = truth_below(n_rows + 1);
        truth_ok(posenc_rope_apply_at(rope, &x.view, &at, &y.view, direction, (posenc_range){cut, n_rows}));
        truth_ok(posenc_rope_apply_at(rope, &x.view, &at, &y.view, direction, (posenc_range){0, cut}));
        if (n_tiers == 0)
            truth_copy(&y.view, &first.view);
        truth_same_views(&y.view, &first.view, "tiers differ");
    }
    truth_nothing_changed(&x, "input");
    truth_nothing_else_changed(&y, 0, ne[0], "output");
    truth_reference_check_at(&reference, &x, &y.view, planes, direction);
    if (direction != POSENC_SHIFT) /* which leaves tokens at 0 alone */
        check_table(rope, &x, &y, planes, direction);
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&first);
    truth_reference_free(&reference);
    posenc_rope_free(rope);
}

static void test_reals_against_reference(void **state) {
    (void)state;
    enum { ROUNDS = 90 };
    for (int round = 0; round < ROUNDS; round++) {
        posenc_rope_params params = random_params(round);
        check_call(&params, truth_random_direction(&params));
    }
    print_message("%d random calls at real positions\n", ROUNDS);
}

/* xPos grows between integers too; up to two scale_base from its centre. */
static void test_xpos_between_integers(void **state) {
    (void)state;
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_INTERLEAVED, 34, 34, 0);
    params.xpos.role = POSENC_XPOS_QUERY;
    posenc_rope *rope = truth_rope_new(&params);
    truth_reference reference = truth_reference_new(&params);
    double planes[TRUTH_MAX_TOKENS];
    for (int t = 0; t < TRUTH_MAX_TOKENS; t++)
        planes[t] = truth_below(2) ? truth_uniform(-1000.0, 1000.0) : (double)truth_below(1000);
    posenc_coords at = posenc_coords_of(planes, POSENC_COORD_F64);
    truth_tensor x = truth_tensor_dense(34, 2, TRUTH_MAX_TOKENS, 1), y = truth_tensor_dense(34, 2, TRUTH_MAX_TOKENS, 1);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_rope_apply_at(rope, &x.view, &at, &y.view, POSENC_FORWARD, posenc_range_all()));
        truth_reference_check_at(&reference, &x, &y.view, planes, POSENC_FORWARD);
    }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_reference_free(&reference);
    posenc_rope_free(rope);
}

/* ---- Promises ---- */

/* Integers have the bits of int32 in every type, whatever stands beside them, and strides and batches are where they
 * are said to be. */
static void test_integers_of_every_type(void **state) {
    (void)state;
    enum { N = 12, BATCH = 3, AXES = 3, PAD = 2 };
    static int32_t i32[BATCH * (AXES * (N + PAD) + 1)];
    static int64_t i64[BATCH * (AXES * (N + PAD) + 1)];
    static float f32[BATCH * (AXES * (N + PAD) + 1)];
    static double f64[BATCH * (AXES * (N + PAD) + 1)];
    const void *const data[] = {i32, i64, f32, f64};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 40; round++) {
            posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, 70, 66, 2);
            if (round % 2)
                truth_random_axes(&params.axes, POSENC_AXES_MROPE + round / 2 % 2, 33);
            params.axes.n_axes = round % 2 ? AXES : 0;
            if (round % 2 && params.axes.kind == POSENC_AXES_MROPE)
                memcpy(params.axes.sections, (int64_t[]){11, 11, 11, 0}, sizeof params.axes.sections);
            posenc_rope *rope = truth_rope_new(&params);
            int64_t n_axes = posenc_rope_axis_count(rope), plane = N + PAD, sequence = n_axes * plane + 1;
            for (int64_t k = 0; k < BATCH * sequence; k++) {
                i32[k] = truth_below(3) ? (int32_t)truth_below(1 << 24) : k > 0 ? i32[k - 1] + 1 : 0;
                i64[k] = i32[k];
                f32[k] = (float)i32[k];
                f64[k] = i32[k];
            }
            truth_tensor x = truth_tensor_dense(70, 2, N, BATCH), y = truth_tensor_dense(70, 2, N, BATCH),
                         z = truth_tensor_dense(70, 2, N, BATCH);
            for (int64_t b = 0; b < BATCH; b++) { /* a call for each sequence, of its planes alone */
                int32_t planes[AXES * N];
                for (int64_t k = 0; k < n_axes * N; k++)
                    planes[k] = i32[b * sequence + k / N * plane + k % N];
                posenc_view from = posenc_view_slice(x.view, 3, b, 1), to = posenc_view_slice(z.view, 3, b, 1);
                truth_ok(posenc_rope_apply(rope, &from, planes, &to, POSENC_FORWARD, posenc_range_all()));
            }
            for (int type = POSENC_COORD_I32; type <= POSENC_COORD_F64; type++) {
                posenc_coords at = {data[type], (posenc_coord_type)type, plane, sequence};
                truth_ok(posenc_rope_apply_at(rope, &x.view, &at, &y.view, POSENC_FORWARD, posenc_range_all()));
                truth_same_views(&y.view, &z.view, "integers of another type");
            }
            truth_tensor_free(&x);
            truth_tensor_free(&y);
            truth_tensor_free(&z);
            posenc_rope_free(rope);
        }
}

/* Integers whose cosine or sine is next to 0: its last bits show how it was computed. */
static void test_integers_near_zeros(void **state) {
    (void)state;
    enum { N_PAIRS = 24 };
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, 2 * N_PAIRS, 2 * N_PAIRS, 0);
    posenc_rope *rope = truth_rope_new(&params);
    truth_table truth = truth_powers(1.0, params.base, 1, N_PAIRS, N_PAIRS);
    for (int tier = -1; truth_next_tier(&tier);)
        for (int64_t i = 0; i < N_PAIRS; i++) {
            int32_t positions[64];
            float row[2 * N_PAIRS], same[2 * N_PAIRS];
            for (int k = 0, n = truth_near_zeros(&truth, i, positions); k < n; k++) {
                double real = positions[k];
                make_row(rope, posenc_coords_of(&positions[k], POSENC_COORD_I32), row);
                make_row(rope, posenc_coords_of(&real, POSENC_COORD_F64), same);
                truth_same_bits(same, row, 2 * N_PAIRS, "row of %d as a real number", positions[k]);
            }
        }
    truth_table_free(&truth);
    posenc_rope_free(rope);
}

/* Scores depend on the differences of real positions, per axis: each axis moves by a number of its own. All numbers are
 * multiples of 2^-20 below 2^20, so that sums are exact. */
static void test_scores_at_reals(void **state) {
    (void)state;
    enum { DIM = 64 };
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 60; round++) {
            posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, DIM, DIM, 0);
            truth_random_axes(&params.axes, round % 2 ? POSENC_AXES_VISION : POSENC_AXES_MROPE, DIM / 2);
            posenc_rope *rope = truth_rope_new(&params);
            float heads[2][DIM], moved[2][DIM];
            double at[2][POSENC_MAX_AXES], size = 0.0;
            truth_fill(&heads[0][0], 2 * DIM);
            for (int i = 0; i < DIM; i++)
                size += fabs((double)heads[0][i]) + fabs((double)heads[1][i]);
            double scores[2];
            for (int a = 0; a < POSENC_MAX_AXES; a++)
                for (int k = 0; k < 2; k++)
                    at[k][a] = floor(truth_uniform(-0x1p39, 0x1p39)) * 0x1p-20;
            for (int pass = 0; pass < 2; pass++) {
                for (int k = 0; k < 2; k++) {
                    posenc_view x = posenc_view_dense(heads[k], POSENC_F32, DIM, 1, 1, 1),
                                y = posenc_view_dense(moved[k], POSENC_F32, DIM, 1, 1, 1);
                    posenc_coords coords = posenc_coords_of(at[k], POSENC_COORD_F64);
                    truth_ok(posenc_rope_apply_at(rope, &x, &coords, &y, POSENC_FORWARD, posenc_range_all()));
                }
                scores[pass] = truth_dot(moved[0], moved[1], DIM);
                for (int a = 0; a < POSENC_MAX_AXES; a++) {
                    double shift = floor(truth_uniform(-0x1p38, 0x1p38)) * 0x1p-20;
                    at[0][a] += shift;
                    at[1][a] += shift;
                }
            }
            truth_close(scores[1], scores[0], 4.0 * TRUTH_TURN * 2.0 * size, "scores of real positions moved");
            posenc_rope_free(rope);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_rows_against_mpfr),     truth_test(test_reals_against_reference),
        truth_test(test_xpos_between_integers), truth_test(test_integers_of_every_type),
        truth_test(test_integers_near_zeros),   truth_test(test_scores_at_reals),
    };
    return truth_run(tests);
}
