/* SPDX-License-Identifier: MIT */
/* RoPE: parameters, questions, positions, published names. The calls on tensors are in truth_errors_tasks.c. */
#include "truth_errors.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- posenc_rope_create; scalings have rows of their own in test_rope_scaling_errors.c ---- */

posenc_rope_params good_params(void) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = DIM;
    return params;
}

static void refuse(const posenc_rope_params *params, posenc_status want, const char *what) {
    posenc_rope *made = (posenc_rope *)(void *)arena;
    check(posenc_rope_create(params, &made), want, what);
    if ((made != NULL) != (want == POSENC_OK))
        fail_msg("%s: created %p", what, (void *)made);
    posenc_rope_free(made);
}

/* Layout, shape and base. */
static void refuse_shapes(void) {
    enum { HALF = POSENC_ROPE_HALF };
    const int64_t most = 2 * (int64_t)POSENC_MAX_PAIRS;
    const struct {
        int layout;
        int64_t head_dim, n_rot, n_offs;
        double base;
        posenc_status want;
    } rows[] = {
        {POSENC_ROPE_LAYOUT_UNSET, DIM, DIM, 0, 1e4, POSENC_ERR_LAYOUT_UNSET},
        {POSENC_ROPE_HALF_BY_AXIS + 1, DIM, DIM, 0, 1e4, POSENC_ERR_ENUM},
        {-1, DIM, DIM, 0, 1e4, POSENC_ERR_ENUM},
        {HALF, 0, 0, 0, 1e4, POSENC_ERR_HEAD_DIM},
        {HALF, -8, 0, 0, 1e4, POSENC_ERR_HEAD_DIM},
        {HALF, most + 1, 0, 0, 1e4, POSENC_ERR_HEAD_DIM},
        {HALF, INT64_MIN, 0, 0, 1e4, POSENC_ERR_HEAD_DIM},
        {HALF, INT64_MAX, 0, 0, 1e4, POSENC_ERR_HEAD_DIM},
        {HALF, DIM, -2, 0, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, 3, 0, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, DIM + 2, 0, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, DIM, 1, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, 0, DIM + 1, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, 2, -1, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, 2, INT64_MAX, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, 2, INT64_MIN, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, INT64_MIN, 0, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, INT64_MAX - 1, 2, 1e4, POSENC_ERR_N_ROT},
        {HALF, DIM, DIM, 0, 0.0, POSENC_ERR_BASE},
        {HALF, DIM, DIM, 0, -1e4, POSENC_ERR_BASE},
        {HALF, DIM, DIM, 0, 0.999, POSENC_ERR_BASE},
        {HALF, DIM, DIM, 0, 2e30, POSENC_ERR_BASE},
        {HALF, DIM, DIM, 0, (double)INFINITY, POSENC_ERR_BASE},
        {HALF, DIM, DIM, 0, (double)NAN, POSENC_ERR_BASE},
        {HALF, DIM, 0, DIM, 1e4, POSENC_OK},
        {HALF, 1, 0, 0, 1.0, POSENC_OK},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        posenc_rope_params params = good_params();
        params.layout = (posenc_rope_layout)rows[k].layout;
        params.head_dim = rows[k].head_dim;
        params.n_rot = rows[k].n_rot;
        params.rot_fraction = 0.0;
        params.n_offs = rows[k].n_offs;
        params.base = rows[k].base;
        char what[40];
        snprintf(what, sizeof what, "shape, row %zu", k);
        refuse(&params, rows[k].want, what);
    }
}

/* Zeros for what is not given, in place of the defaults: no pair would rotate. */
static void refuse_zeros(void) {
    posenc_rope_params params = {.layout = POSENC_ROPE_HALF, .head_dim = DIM, .base = 1e4};
    refuse(&params, POSENC_ERR_UNSET, "no defaults");
    params.n_rot = DIM;
    refuse(&params, POSENC_OK, "no defaults, n_rot given");
    params.n_rot = 0;
    params.rot_fraction = 0.5;
    refuse(&params, POSENC_OK, "no defaults, rot_fraction given");
}

/* Axes of a head of DIM = 8 channels, 4 pairs, and of other widths. */
static void refuse_axes(void) {
    static const struct {
        const char *what;
        int64_t n_rot;
        posenc_rope_axes axes;
        posenc_status want;
    } rows[] = {
        {"unknown kind", 8, {(posenc_axes_kind)(POSENC_AXES_LIST + 1), 2, {2, 2}}, POSENC_ERR_ENUM},
        {"negative kind", 8, {(posenc_axes_kind)-1, 2, {2, 2}}, POSENC_ERR_ENUM},
        {"SINGLE with two planes", 8, {POSENC_AXES_SINGLE, 2, {2, 2}}, POSENC_ERR_SECTIONS},
        {"SINGLE with one plane", 8, {POSENC_AXES_SINGLE, 1, {0}}, POSENC_OK},
        {"MROPE", 8, {POSENC_AXES_MROPE, 3, {2, 1, 1}}, POSENC_OK},
        {"SINGLE with sections", 8, {POSENC_AXES_SINGLE, 0, {2, 2}}, POSENC_ERR_SECTIONS},
        {"SINGLE, a section at the end", 8, {POSENC_AXES_SINGLE, 1, {0, 0, 0, 4}}, POSENC_ERR_SECTIONS},
        {"MROPE, too few pairs", 8, {POSENC_AXES_MROPE, 3, {2, 1, 0}}, POSENC_ERR_SECTIONS},
        {"MROPE, too many pairs", 8, {POSENC_AXES_MROPE, 3, {2, 1, 2}}, POSENC_ERR_SECTIONS},
        {"MROPE, negative section", 8, {POSENC_AXES_MROPE, 3, {5, -2, 1}}, POSENC_ERR_SECTIONS},
        {"MROPE, huge section", 8, {POSENC_AXES_MROPE, 3, {INT64_MAX, INT64_MAX, 6}}, POSENC_ERR_SECTIONS},
        {"MROPE, smallest section", 8, {POSENC_AXES_MROPE, 3, {INT64_MIN, INT64_MIN, 4}}, POSENC_ERR_SECTIONS},
        {"MROPE, a section without its plane", 8, {POSENC_AXES_MROPE, 2, {2, 1, 1}}, POSENC_ERR_SECTIONS},
        {"MROPE, an unused section too much", 8, {POSENC_AXES_MROPE, 3, {2, 1, 1, 1}}, POSENC_ERR_SECTIONS},
        {"MROPE, one plane", 8, {POSENC_AXES_MROPE, 1, {4}}, POSENC_ERR_SECTIONS},
        {"MROPE, five planes", 8, {POSENC_AXES_MROPE, 5, {1, 1, 1, 1}}, POSENC_ERR_SECTIONS},
        {"MROPE, negative planes", 8, {POSENC_AXES_MROPE, -1, {1, 1, 1, 1}}, POSENC_ERR_SECTIONS},
        {"IMROPE, two planes", 8, {POSENC_AXES_IMROPE, 2, {2, 2}}, POSENC_ERR_SECTIONS},
        {"IMROPE, four planes", 8, {POSENC_AXES_IMROPE, 4, {1, 1, 1, 1}}, POSENC_ERR_SECTIONS},
        {"IMROPE, too few pairs", 8, {POSENC_AXES_IMROPE, 3, {1, 1, 1}}, POSENC_ERR_SECTIONS},
        {"IMROPE_GGML, three planes", 8, {POSENC_AXES_IMROPE_GGML, 3, {2, 1, 1}}, POSENC_ERR_SECTIONS},
        {"IMROPE_GGML", 8, {POSENC_AXES_IMROPE_GGML, 4, {2, 1, 1, 0}}, POSENC_OK},
        {"VISION, one plane", 8, {POSENC_AXES_VISION, 1, {4}}, POSENC_ERR_SECTIONS},
        {"VISION, four planes", 8, {POSENC_AXES_VISION, 4, {2, 1, 0, 1}}, POSENC_OK},
        {"VISION, too few pairs", 8, {POSENC_AXES_VISION, 2, {2, 1}}, POSENC_ERR_SECTIONS},
        {"PIXTRAL, six channels", 6, {POSENC_AXES_PIXTRAL, 2, {0}}, POSENC_ERR_N_ROT},
        {"PIXTRAL, one plane", 8, {POSENC_AXES_PIXTRAL, 1, {0}}, POSENC_ERR_SECTIONS},
        {"AXIAL, five planes", 8, {POSENC_AXES_AXIAL, 5, {1, 1, 1, 1}}, POSENC_ERR_SECTIONS},
        {"AXIAL, too many pairs", 8, {POSENC_AXES_AXIAL, 2, {4, 4}}, POSENC_ERR_SECTIONS},
        {"ALTERNATE", 8, {POSENC_AXES_ALTERNATE, 2, {0}}, POSENC_OK},
        {"ALTERNATE, one plane", 8, {POSENC_AXES_ALTERNATE, 1, {0}}, POSENC_ERR_SECTIONS},
        {"ALTERNATE, three axes of four pairs", 8, {POSENC_AXES_ALTERNATE, 3, {0}}, POSENC_ERR_N_ROT},
        {"ERNIE", 8, {POSENC_AXES_ERNIE, 3, {2, 1, 1}}, POSENC_OK},
        {"ERNIE, two planes", 8, {POSENC_AXES_ERNIE, 2, {2, 2}}, POSENC_ERR_SECTIONS},
        {"ERNIE, h and w unlike", 8, {POSENC_AXES_ERNIE, 3, {1, 2, 1}}, POSENC_ERR_SECTIONS},
        {"ERNIE, too few pairs", 8, {POSENC_AXES_ERNIE, 3, {1, 1, 1}}, POSENC_ERR_SECTIONS},
        {"as wide as goes", POSENC_MAX_AXES_ROT, {POSENC_AXES_MROPE, 2, {1, 127}}, POSENC_OK},
        {"too wide", POSENC_MAX_AXES_ROT + 2, {POSENC_AXES_MROPE, 2, {1, 128}}, POSENC_ERR_N_ROT},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        posenc_rope_params params = good_params();
        params.head_dim = params.n_rot = rows[k].n_rot;
        params.axes = rows[k].axes;
        refuse(&params, rows[k].want, rows[k].what);
    }
    static const double factors[PAIRS] = {1.0, 1.0, 1.0, 1.0};
    static const float factors_f32[PAIRS] = {1.0f, 1.0f, 1.0f, 1.0f};
    static const posenc_rope_axes restart[] = {{POSENC_AXES_VISION, 2, {2, 2}}, {POSENC_AXES_AXIAL, 2, {2, 2}}};
    for (int k = 0; k < 2; k++) {
        posenc_rope_params params = good_params();
        params.axes = restart[k];
        refuse(&params, POSENC_OK, "frequencies that restart");
        params.scaling.factor = 2.0;
        params.scaling.type = POSENC_SCALING_LINEAR;
        refuse(&params, POSENC_ERR_SCALING, "scaling of frequencies that restart");
        params.scaling = good_params().scaling;
        params.scaling.freq_factors = factors;
        params.scaling.n_factors = PAIRS;
        refuse(&params, POSENC_ERR_SCALING, "factors of frequencies that restart");
        params.scaling.type = POSENC_SCALING_GGML;
        refuse(&params, k == 0 ? POSENC_OK : POSENC_ERR_SCALING, "ggml's scaling of frequencies that restart");
        params.scaling = good_params().scaling;
        params.scaling.freq_factors_f32 = factors_f32;
        params.scaling.n_factors = PAIRS;
        refuse(&params, POSENC_ERR_SCALING, "float factors of frequencies that restart");
    }
}

static posenc_rope_params listed(const int32_t *axes, int n_axes) {
    posenc_rope_params params = good_params();
    params.axes = (posenc_rope_axes){POSENC_AXES_LIST, n_axes, {0}};
    params.lists.axes = axes;
    return params;
}

static void refuse_lists(void) {
    static const int32_t axes[] = {0, 1, 2, 1}, negative[] = {0, -1, 0, 1}, least[] = {INT32_MIN, 0, 0, 0};
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, POSENC_MAX_FREQUENCY * 1.001};
    const posenc_rope_params good = listed(axes, 3);
    posenc_rope_params params = good;
    refuse(&params, POSENC_OK, "axes listed");
    params.axes.n_axes = 2;
    refuse(&params, POSENC_ERR_SECTIONS, "an axis beyond the planes");
    params.axes.n_axes = 0;
    refuse(&params, POSENC_ERR_SECTIONS, "axes listed, no plane");
    params.axes.n_axes = POSENC_MAX_AXES + 1;
    refuse(&params, POSENC_ERR_SECTIONS, "axes listed, five planes");
    params = listed(negative, 3);
    refuse(&params, POSENC_ERR_SECTIONS, "a negative axis");
    params = listed(least, 3);
    refuse(&params, POSENC_ERR_SECTIONS, "the smallest axis");
    params = listed(NULL, 3);
    refuse(&params, POSENC_ERR_NULL, "LIST without a list");
    params = listed(shifted(axes, 1), 3);
    refuse(&params, POSENC_ERR_STRIDE, "misaligned axes");
    params = good_params();
    params.lists.axes = axes;
    refuse(&params, POSENC_ERR_SECTIONS, "a list of axes without LIST");
    params = good;
    params.axes.sections[0] = PAIRS;
    refuse(&params, POSENC_ERR_SECTIONS, "LIST with sections that nobody reads");
    params.layout = POSENC_ROPE_HALF_BY_AXIS;
    refuse(&params, POSENC_OK, "LIST with sections");
    params.axes.sections[0] = PAIRS - 1;
    refuse(&params, POSENC_ERR_SECTIONS, "LIST with too few pairs in sections");
    params = good_params();
    params.layout = POSENC_ROPE_HALF_BY_AXIS;
    refuse(&params, POSENC_ERR_SECTIONS, "halves by axis, one axis");
    params.axes = (posenc_rope_axes){POSENC_AXES_IMROPE, 3, {2, 1, 1}};
    refuse(&params, POSENC_ERR_SECTIONS, "halves by axis, sections that are not in a row");
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        double theta[PAIRS] = {1.0, 0.5, bad[k], -1.0};
        params = good_params();
        params.lists.theta = theta;
        refuse(&params, POSENC_ERR_FREQUENCY, "a frequency listed");
        theta[2] = 0.0;
        refuse(&params, POSENC_OK, "frequencies listed");
        params.lists.theta = shifted(theta, HALF_OF_8);
        refuse(&params, POSENC_ERR_STRIDE, "misaligned frequencies");
        params.lists.theta = theta;
        params.scaling.type = POSENC_SCALING_LINEAR;
        params.scaling.factor = 2.0;
        refuse(&params, POSENC_ERR_SCALING, "frequencies listed and scaled");
    }
    static const double bases[] = {0.5, -1.0, 2e30, (double)NAN, (double)INFINITY};
    for (size_t k = 0; k < sizeof bases / sizeof bases[0]; k++) {
        params = good;
        params.lists.bases[2] = bases[k];
        refuse(&params, POSENC_ERR_BASE, "base of an axis");
    }
    params = good;
    params.lists.bases[1] = 100.0;
    refuse(&params, POSENC_OK, "base of an axis");
    params.lists.bases[3] = 100.0;
    refuse(&params, POSENC_ERR_BASE, "base of an axis that is not there");
    params.lists.bases[3] = 0.0;
    params.scaling.type = POSENC_SCALING_NTK;
    params.scaling.factor = 2.0;
    refuse(&params, POSENC_ERR_SCALING, "bases and a scaling");
    static const double theta[PAIRS] = {1.0, 1.0, 1.0, 1.0};
    params = good;
    params.lists.bases[1] = 100.0;
    params.lists.theta = theta;
    refuse(&params, POSENC_ERR_BASE, "bases and frequencies");
    for (int n_axes = 0; n_axes < 2; n_axes++) {
        params = good_params();
        params.axes.n_axes = n_axes;
        params.lists.bases[0] = 100.0;
        refuse(&params, POSENC_OK, "base of the only axis");
        params.lists.bases[1] = 100.0;
        refuse(&params, POSENC_ERR_BASE, "base of a second axis of one");
    }
}

static void refuse_xpos(void) {
    static const double bad[] = {0.0, -0.4, (double)NAN, (double)INFINITY, -(double)INFINITY};
    posenc_rope_params params = good_params();
    params.xpos = (posenc_xpos){POSENC_XPOS_QUERY, 0.4, 512.0, 0};
    refuse(&params, POSENC_OK, "xPos");
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        params.xpos = (posenc_xpos){POSENC_XPOS_KEY, bad[k], 512.0, 0};
        refuse(&params, POSENC_ERR_SCALE, "xPos gamma");
        params.xpos = (posenc_xpos){POSENC_XPOS_KEY, 0.4, bad[k], 0};
        refuse(&params, POSENC_ERR_SCALE, "xPos scale_base");
    }
    params.xpos = (posenc_xpos){POSENC_XPOS_QUERY, 0.4, 0.03, 0}; /* e^42 from one position to the next: it gave NaN */
    refuse(&params, POSENC_ERR_SCALE, "xPos scale_base next to 0");
    params.xpos = (posenc_xpos){POSENC_XPOS_QUERY, 0.4, 0.05, 0};
    refuse(&params, POSENC_OK, "xPos scale_base small");
    params.xpos = (posenc_xpos){(posenc_xpos_role)(POSENC_XPOS_KEY + 1), 0.4, 512.0, 0};
    refuse(&params, POSENC_ERR_ENUM, "unknown role of xPos");
    params.xpos = (posenc_xpos){(posenc_xpos_role)-1, 0.4, 512.0, 0};
    refuse(&params, POSENC_ERR_ENUM, "negative role of xPos");
    params.xpos = (posenc_xpos){POSENC_XPOS_QUERY, 0.4, 512.0, 0};
    params.axes = (posenc_rope_axes){POSENC_AXES_MROPE, 2, {2, 2}};
    refuse(&params, POSENC_ERR_ENUM, "xPos with several axes");
}

void test_rope_params(void **state) {
    (void)state;
    const posenc_rope_params good = good_params();
    RETURNS(POSENC_ERR_NULL, posenc_rope_create, &good, NULL);
    CREATES_NOTHING(posenc_rope, POSENC_ERR_NULL, posenc_rope_create, NULL);
    name("posenc_rope_free");
    posenc_rope_free(NULL);
    refuse_shapes();
    refuse_zeros();
    refuse_axes();
    refuse_lists();
    refuse_xpos();
    static const struct {
        const char *what;
        size_t offset;
        double value;
        posenc_status want;
    } scalings[] = {
        {"factor < 1", offsetof(posenc_rope_params, scaling.factor), 0.5, POSENC_ERR_SCALING},
        {"C < 2 pi beta_slow", offsetof(posenc_rope_params, scaling.original_context), 6.0, POSENC_ERR_CONTEXT},
        {"beta_slow > beta_fast", offsetof(posenc_rope_params, scaling.beta_slow), 1000.0, POSENC_ERR_SCALING},
        {"magnitude", offsetof(posenc_rope_params, scaling.attention_factor), -1.0, POSENC_ERR_SCALING},
    };
    for (size_t k = 0; k < sizeof scalings / sizeof scalings[0]; k++) {
        posenc_rope_params params = good;
        params.scaling.type = POSENC_SCALING_YARN;
        params.scaling.factor = 4.0;
        params.scaling.original_context = 4096.0;
        refuse(&params, POSENC_OK, "YaRN");
        memcpy((char *)&params + scalings[k].offset, &scalings[k].value, sizeof(double));
        refuse(&params, scalings[k].want, scalings[k].what);
    }
    _Alignas(8) double factors[PAIRS + 1] = {1.0, 1.0, 1.0, 1.0, 1.0};
    posenc_rope_params params = good;
    params.scaling.freq_factors = factors;
    params.scaling.n_factors = PAIRS + 1;
    refuse(&params, POSENC_ERR_FACTORS, "wrong factor count");
    params.scaling.n_factors = PAIRS;
    params.scaling.freq_factors = shifted(factors, HALF_OF_8);
    refuse(&params, POSENC_ERR_STRIDE, "misaligned factors");
    float factors_f32[PAIRS + 1] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    params.scaling.freq_factors = NULL;
    params.scaling.freq_factors_f32 = factors_f32;
    refuse(&params, POSENC_OK, "float factors");
    params.scaling.freq_factors_f32 = shifted(factors_f32, 2);
    refuse(&params, POSENC_ERR_STRIDE, "misaligned float factors");
    params.scaling.freq_factors_f32 = factors_f32;
    params.scaling.freq_factors = factors;
    refuse(&params, POSENC_ERR_FACTORS, "factors twice");
}

void test_rope_questions(void **state) {
    (void)state;
    static const int64_t outside[] = {-1, PAIRS, INT64_MIN, INT64_MAX};
    ANSWERS(== PAIRS, posenc_rope_pair_count, rope);
    ANSWERS(== 0, posenc_rope_pair_count, NULL);
    ANSWERS(== 1, posenc_rope_axis_count, rope);
    ANSWERS(== 0, posenc_rope_axis_count, NULL);
    ANSWERS(== 0.0, posenc_rope_theta, NULL, 0);
    ANSWERS(== 0, posenc_rope_axis, NULL, 0);
    for (size_t k = 0; k < sizeof outside / sizeof outside[0]; k++) {
        ANSWERS(== 0.0, posenc_rope_theta, rope, outside[k]);
        ANSWERS(== 0, posenc_rope_axis, rope, outside[k]);
    }
    ANSWERS(== 1.0, posenc_rope_magnitude, rope);
    name("posenc_rope_magnitude");
    assert_true(isnan(posenc_rope_magnitude(NULL)));
    ANSWERS(== 3 * 2 * PAIRS * 4, posenc_rope_table_bytes, rope, 3);
    ANSWERS(== 0, posenc_rope_table_bytes, rope, 0);
    ANSWERS(== 0, posenc_rope_table_bytes, rope, -1);
    ANSWERS(== 0, posenc_rope_table_bytes, rope, INT64_MAX);
    ANSWERS(== 0, posenc_rope_table_bytes, NULL, 3);
    ANSWERS(.cos == NULL, posenc_rope_table_dense, rope, NULL);
    ANSWERS(.sin == rows_a + PAIRS, posenc_rope_table_dense, rope, rows_a);
    posenc_rope_scaling scaling = POSENC_ROPE_SCALING_DEFAULTS;
    ANSWERS(== 1.0, posenc_rope_softmax_multiplier, &scaling);
    assert_true(isnan(posenc_rope_softmax_multiplier(NULL)));
    ANSWERS(== 1.0, posenc_rope_query_temperature, &scaling, 7);
    assert_true(isnan(posenc_rope_query_temperature(NULL, 7)));
    ANSWERS(== 1.0, posenc_query_temperature, 0, 0.1, 8192.0);
    assert_true(isnan(posenc_query_temperature(-1, 0.1, 8192.0)) && isnan(posenc_query_temperature(0, 0.1, 0.0)) &&
                isnan(posenc_query_temperature(0, 0.1, (double)NAN)) &&
                isnan(posenc_query_temperature(0, (double)NAN, 1.0)));
}

/* ---- Positions ---- */

void test_positions(void **state) {
    (void)state;
    int32_t *to = (int32_t *)(void *)out, cu[4] = {0, 2, 2, 5}, starts[3] = {0, 1, 2};
    RETURNS(POSENC_ERR_NULL, posenc_positions_range, 0, 1, NULL);
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_range, 0, -1, to);
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_range, 0, INT64_MIN, to);
    RETURNS(POSENC_ERR_POSITION, posenc_positions_range, INT32_MAX, 2, to);
    RETURNS(POSENC_ERR_POSITION, posenc_positions_range, 1, (int64_t)INT32_MAX + 1, to);
    RETURNS(POSENC_ERR_POSITION, posenc_positions_range, INT32_MIN, INT64_MAX, to);
    RETURNS(POSENC_ERR_STRIDE, posenc_positions_range, 0, 1, shifted(to, 2));
    RETURNS(POSENC_OK, posenc_positions_range, INT32_MAX, 0, NULL);

    RETURNS(POSENC_ERR_NULL, posenc_positions_packed, NULL, starts, 3, to);
    RETURNS(POSENC_ERR_NULL, posenc_positions_packed, cu, starts, 3, NULL);
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_packed, cu, starts, -1, to);
    RETURNS(POSENC_ERR_STRIDE, posenc_positions_packed, shifted(cu, 1), starts, 2, to);
    RETURNS(POSENC_ERR_STRIDE, posenc_positions_packed, cu, shifted(starts, 2), 2, to);
    RETURNS(POSENC_ERR_STRIDE, posenc_positions_packed, cu, starts, 3, shifted(to, 3));
    RETURNS(POSENC_OK, posenc_positions_packed, NULL, NULL, 0, NULL);
    starts[2] = INT32_MAX - 1; /* three tokens from there */
    RETURNS(POSENC_ERR_POSITION, posenc_positions_packed, cu, starts, 3, to);
    starts[2] = 0;
    cu[1] = 3; /* decreases after it */
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_packed, cu, starts, 3, to);
    cu[0] = 1;
    cu[1] = 2;
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_packed, cu, starts, 3, to);
    cu[0] = -1;
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_packed, cu, NULL, 3, to);
    int32_t wild[3] = {0, INT32_MIN, INT32_MAX};
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_packed, wild, NULL, 2, to);
}

/* ---- Published names: test_rope_config.c has them all ---- */

void test_rope_config(void **state) {
    (void)state;
    static const double list[PAIRS] = {1.0, 1.0, 1.0, 1.0};
    posenc_rope_params params = good_params(), before = params;
    RETURNS(POSENC_ERR_NULL, posenc_rope_set_number, NULL, "factor", 1.0);
    RETURNS(POSENC_ERR_NULL, posenc_rope_set_number, &params, NULL, 1.0);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_set_number, &params, "no such", 1.0);
    RETURNS(POSENC_ERR_SHAPE, posenc_rope_set_number, &params, "head_dim", 8.5);
    RETURNS(POSENC_ERR_SHAPE, posenc_rope_set_number, &params, "head_dim", (double)NAN);
    RETURNS(POSENC_ERR_N_ROT, posenc_rope_set_number, &params, "partial_rotary_factor", 1.5);
    RETURNS(POSENC_ERR_NULL, posenc_rope_set_string, NULL, "type", "yarn");
    RETURNS(POSENC_ERR_NULL, posenc_rope_set_string, &params, NULL, "yarn");
    RETURNS(POSENC_ERR_NULL, posenc_rope_set_string, &params, "type", NULL);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_set_string, &params, "type", "no such");
    RETURNS(POSENC_ERR_ENUM, posenc_rope_set_string, &params, "no such", "yarn");
    RETURNS(POSENC_ERR_NULL, posenc_rope_set_list, NULL, "rope_freqs", list, PAIRS);
    RETURNS(POSENC_ERR_NULL, posenc_rope_set_list, &params, NULL, list, PAIRS);
    RETURNS(POSENC_ERR_NULL, posenc_rope_set_list, &params, "rope_freqs", NULL, PAIRS);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_set_list, &params, "no such", list, PAIRS);
    RETURNS(POSENC_ERR_FACTORS, posenc_rope_set_list, &params, "rope_freqs", list, -1);
    posenc_rope_ggml ggml = POSENC_ROPE_GGML_DEFAULTS;
    ggml.mode = 0;
    ggml.head_dim = DIM;
    RETURNS(POSENC_ERR_N_ROT, posenc_rope_params_from_ggml, &ggml, &params); /* nor channels that are rotated */
    ggml.n_dims = DIM;
    ggml.mode = -1;
    RETURNS(POSENC_ERR_ENUM, posenc_rope_params_from_ggml, &ggml, &params); /* no mode by default */
    ggml.mode = 0;
    RETURNS(POSENC_ERR_NULL, posenc_rope_params_from_ggml, NULL, &params);
    RETURNS(POSENC_ERR_NULL, posenc_rope_params_from_ggml, &ggml, NULL);
    ggml.freq_scale = 0.0;
    RETURNS(POSENC_ERR_SCALING, posenc_rope_params_from_ggml, &ggml, &params);
    assert_memory_equal(&params, &before, sizeof params);
}
