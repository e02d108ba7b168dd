/* SPDX-License-Identifier: MIT */
/* The golden vectors of FORMULAS B.2-B.8, B.19-B.24, B.26-B.33 and E.3 (tests/vectors) through the public API, on every
 * tier. B.1, B.9-B.18 and B.25 are test_rope_scaling_vectors.c; B.7, complex numbers, has no file of its own.
 *
 * Cases that the library cannot express:
 *   B.4 perm_half_to_interleaved, the permutation alone: nothing writes interleaved what it reads half-split. The other
 *   way round is DEINTERLEAVE at position 0.
 */
#include "truth_json.h"
#include "truth_rope.h"

#include <math.h>
#include <string.h>

static posenc_rope_layout layout_of(const example *e) {
    return is(e, "layout", "half") ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED;
}

/* Whole heads of x, unless the case says n_rot or offset. */
static posenc_rope_params params_of(const example *e, const char *x, posenc_rope_layout layout) {
    int64_t dim = width(e, x);
    posenc_rope_params params = truth_rope_params(layout, dim, dim, 0);
    if (cJSON_HasObjectItem(e->inputs, "n_rot"))
        params.n_rot = (int64_t)value(e, "n_rot");
    if (has(e, "offset"))
        params.n_offs = (int64_t)value(e, "offset");
    if (has(e, "mscale"))
        params.scaling.attention_factor = value(e, "mscale");
    params.base = value(e, "base");
    return params;
}

/* x rotated at positions, compared with the part that begins at `first`. */
static int check_rotation(const example *e, const posenc_rope_params *params, posenc_direction direction, int first) {
    int32_t positions[MAX_POSITIONS];
    float x[MAX_VALUES];
    int n = floats(e, "x", x);
    integers(e, "positions", positions);
    truth_rotate(params, x, n / params->head_dim, positions, direction);
    return match(e, x, first, n);
}

static int check_b02(const example *e) {
    posenc_rope_params params = params_of(e, "x", POSENC_ROPE_INTERLEAVED);
    return check_rotation(e, &params, POSENC_FORWARD, 0);
}

static int check_b03(const example *e) {
    posenc_rope_params params = params_of(e, "x", POSENC_ROPE_HALF);
    return check_rotation(e, &params, POSENC_FORWARD, 0);
}

static int check_b04(const example *e) {
    posenc_rope_params params = params_of(e, "x", POSENC_ROPE_DEINTERLEAVE);
    int n = check_rotation(e, &params, POSENC_FORWARD, 0);
    float x[MAX_VALUES];
    static const int32_t zeros[MAX_POSITIONS];
    floats(e, "x", x);
    truth_rotate(&params, x, n / params.head_dim, zeros, POSENC_FORWARD);
    return n + match(e, x, n, n);
}

static int check_b05(const example *e) {
    posenc_rope_params params = params_of(e, "x", layout_of(e));
    return check_rotation(e, &params, POSENC_FORWARD, 0);
}

/* The transpose; with magnitude 1 the inverse is the same. */
static int check_b06(const example *e) {
    posenc_rope_params params = params_of(e, "x", layout_of(e));
    int n = check_rotation(e, &params, POSENC_BACKWARD, 0);
    return value(e, "mscale") == 1.0 ? n + check_rotation(e, &params, POSENC_INVERSE, 0) : n;
}

static int check_b08(const example *e) {
    float x[MAX_VALUES];
    int n = floats(e, "x", x);
    int32_t position = (int32_t)value(e, "position"), delta = (int32_t)value(e, "delta");
    posenc_rope_params params = params_of(e, "x", layout_of(e));
    truth_rotate(&params, x, 1, &position, POSENC_FORWARD);
    match(e, x, 0, n);
    truth_rotate(&params, x, 1, &delta, POSENC_SHIFT);
    return n + match(e, x, n, n);
}

/* zeta is the length of the cosine and sine of a query, scale_base positions after the centre. */
static int check_zeta(const example *e, const posenc_rope_params *params) {
    posenc_rope *rope = truth_rope_new(params);
    float rows[MAX_VALUES], zeta[MAX_VALUES];
    int n = (int)posenc_rope_pair_count(rope);
    int32_t position = params->xpos.centre + (int32_t)params->xpos.scale_base;
    posenc_rope_table table = posenc_rope_table_dense(rope, rows);
    truth_ok(posenc_rope_table_fill(rope, &position, 1, POSENC_FORWARD, &table));
    for (int i = 0; i < n; i++)
        zeta[i] = (float)hypot((double)rows[i], (double)rows[n + i]);
    posenc_rope_free(rope);
    return match(e, zeta, 0, n);
}

/* Keys grow to 9 in the second case: errors in units of what is rounded. */
static int check_b19(const example *e) {
    int32_t positions[MAX_POSITIONS];
    int64_t n_tokens = integers(e, "positions", positions);
    posenc_rope_params params = params_of(e, "q", layout_of(e));
    params.xpos =
        (posenc_xpos){POSENC_XPOS_QUERY, value(e, "gamma"), value(e, "scale_base"), (int32_t)value(e, "centre")};
    int compared = check_zeta(e, &params), n = 0;
    for (int key = 0; key < 2; key++, compared += n) {
        float x[MAX_VALUES];
        n = floats(e, key ? "k" : "q", x);
        params.xpos.role = key ? POSENC_XPOS_KEY : POSENC_XPOS_QUERY;
        truth_rotate(&params, x, n_tokens, positions, POSENC_FORWARD);
        for (int i = 0; i < n; i++) {
            double want = e->expected[compared + i];
            truth_close((double)x[i], want, TRUTH_TOLERANCE * fmax(1.0, fabs(want)), "%s, value %d", e->where,
                        compared + i);
        }
    }
    return compared;
}

/* Positions [token][axis] as planes [axis][token]. */
static int64_t planes(const example *e, const char *name, int n_axes, int32_t *positions) {
    int32_t by_token[MAX_POSITIONS];
    int64_t n_tokens = integers(e, name, by_token) / n_axes;
    for (int64_t t = 0; t < n_tokens; t++)
        for (int axis = 0; axis < n_axes; axis++)
            positions[axis * n_tokens + t] = by_token[t * n_axes + axis];
    return n_tokens;
}

static int check_axes(const example *e, const posenc_rope_params *params) {
    posenc_rope *rope = truth_rope_new(params);
    int n = (int)posenc_rope_pair_count(rope);
    for (int i = 0; i < n; i++)
        assert_int_equal(posenc_rope_axis(rope, i), (int)e->expected[i]);
    posenc_rope_free(rope);
    return n;
}

static int check_sections(const example *e, posenc_axes_kind kind) {
    posenc_rope_params params = params_of(e, "x", layout_of(e));
    int32_t positions[2 * MAX_POSITIONS], sections[MAX_POSITIONS];
    float x[MAX_VALUES];
    int n = floats(e, "x", x);
    int64_t n_tokens = planes(e, "positions_thw", 3, positions);
    assert_int_equal(integers(e, "sections", sections), 3);
    params.axes = (posenc_rope_axes){kind, 3, {sections[0], sections[1], sections[2], 0}};
    if (kind == POSENC_AXES_IMROPE_GGML) { /* the fourth position equal to t: then the rules agree */
        params.axes.n_axes = 4;
        memcpy(positions + 3 * n_tokens, positions, (size_t)n_tokens * sizeof positions[0]);
    }
    int first = (int)params.n_rot / 2;
    if (kind != POSENC_AXES_IMROPE_GGML)
        first = check_axes(e, &params);
    truth_rotate(&params, x, n_tokens, positions, POSENC_FORWARD);
    match(e, x, first, n);
    return kind == POSENC_AXES_IMROPE_GGML ? n : first + n;
}

static int check_b20(const example *e) {
    return check_sections(e, POSENC_AXES_MROPE);
}

static int check_b21(const example *e) {
    return check_sections(e, POSENC_AXES_IMROPE) + check_sections(e, POSENC_AXES_IMROPE_GGML);
}

/* (a) qwen, (b) pixtral; the angles are theta_i of the pair times the position on its axis. */
static int check_b22(const example *e) {
    posenc_rope_params params = params_of(e, "x", layout_of(e));
    int32_t positions[MAX_POSITIONS];
    float x[MAX_VALUES], angles[MAX_VALUES];
    int n = floats(e, "x", x), n_angles = 0, n_pairs = (int)params.n_rot / 2;
    int64_t n_tokens = planes(e, "positions_hw", 2, positions);
    if (is(e, "variant", "qwen"))
        params.axes = (posenc_rope_axes){POSENC_AXES_VISION, 2, {n_pairs / 2, n_pairs / 2, 0, 0}};
    else
        params.axes = (posenc_rope_axes){POSENC_AXES_PIXTRAL, 2, {0, 0, 0, 0}};
    posenc_rope *rope = truth_rope_new(&params);
    for (int64_t t = 0; t < n_tokens; t++)
        for (int64_t i = 0; i < n_pairs; i++)
            angles[n_angles++] =
                (float)(posenc_rope_theta(rope, i) * positions[posenc_rope_axis(rope, i) * n_tokens + t]);
    posenc_rope_free(rope);
    truth_rotate(&params, x, n_tokens, positions, POSENC_FORWARD);
    return match(e, angles, 0, n_angles) + match(e, x, n_angles, n);
}

/* As one call, and as one rotary slice per axis. */
static int check_b23(const example *e) {
    posenc_rope_params params = params_of(e, "x", layout_of(e)), slice = params;
    int32_t positions[MAX_POSITIONS], dims[MAX_POSITIONS];
    float x[MAX_VALUES], y[MAX_VALUES];
    int n = floats(e, "x", x), n_axes = (int)integers(e, "axes_dim", dims);
    memcpy(y, x, sizeof y);
    assert_int_equal(planes(e, "positions", n_axes, positions), 1);
    params.axes = (posenc_rope_axes){POSENC_AXES_AXIAL, n_axes, {0}};
    slice.n_rot = 0;
    for (int axis = 0; axis < n_axes; axis++) {
        params.axes.sections[axis] = dims[axis] / 2;
        slice.n_offs += slice.n_rot;
        slice.n_rot = dims[axis];
        truth_rotate(&slice, y, 1, &positions[axis], POSENC_FORWARD);
    }
    truth_rotate(&params, x, 1, positions, POSENC_FORWARD);
    return match(e, x, 0, n) + match(e, y, 0, n);
}

static int check_b24(const example *e) {
    float q[MAX_VALUES], k[MAX_VALUES];
    int n = floats(e, "q", q);
    floats(e, "k", k);
    int32_t m = (int32_t)value(e, "m"), at = (int32_t)value(e, "n");
    posenc_rope_params params = params_of(e, "q", layout_of(e));
    truth_rotate(&params, q, 1, &m, POSENC_FORWARD);
    truth_rotate(&params, k, 1, &at, POSENC_FORWARD);
    float score = (float)truth_dot(q, k, n);
    return match(e, &score, 0, 1);
}

static int check_e03(const example *e) {
    float x[MAX_VALUES];
    int n = floats(e, "dy", x);
    int32_t position = (int32_t)value(e, "position");
    posenc_rope_params params = params_of(e, "dy", layout_of(e));
    truth_rotate(&params, x, 1, &position, POSENC_BACKWARD);
    return match(e, x, 0, n);
}

/* ---- Lists, and kinds of axes that fill them ---- */

static double *flatten_doubles(const cJSON *item, double *x) {
    if (!cJSON_IsArray(item)) {
        *x = number(item);
        return x + 1;
    }
    for (const cJSON *child = item->child; child != NULL; child = child->next)
        x = flatten_doubles(child, x);
    return x;
}

static void doubles(const example *e, const char *name, double *x) {
    flatten_doubles(input(e, name), x);
}

/* Layout, axes and base; of the sections, those of the planes of positions. */
static posenc_rope_params listed_params(const example *e, posenc_axes_kind kind) {
    posenc_rope_params params = params_of(e, "x", layout_of(e));
    if (is(e, "layout", "half_by_axis"))
        params.layout = POSENC_ROPE_HALF_BY_AXIS;
    params.axes = (posenc_rope_axes){kind, (int)value(e, "n_axes"), {0}};
    int32_t sections[MAX_POSITIONS];
    for (int64_t a = has(e, "sections") ? integers(e, "sections", sections) : 0; a-- > 0;)
        params.axes.sections[a] = sections[a];
    return params;
}

static int check_theta(const example *e, const posenc_rope_params *params, int first) {
    float theta[MAX_VALUES];
    posenc_rope *rope = truth_rope_new(params);
    int n = (int)posenc_rope_pair_count(rope);
    for (int i = 0; i < n; i++)
        theta[i] = (float)posenc_rope_theta(rope, i);
    posenc_rope_free(rope);
    return match(e, theta, first, n);
}

/* Axes, frequencies, and x rotated. */
static int check_listed(const example *e, const posenc_rope_params *params) {
    int32_t positions[2 * MAX_POSITIONS];
    float x[MAX_VALUES];
    int n = floats(e, "x", x), first = check_axes(e, params);
    first += check_theta(e, params, first);
    int64_t n_tokens = planes(e, "positions", params->axes.n_axes, positions);
    truth_rotate(params, x, n_tokens, positions, POSENC_FORWARD);
    return first + match(e, x, first, n);
}

static int check_b26(const example *e) {
    double theta[MAX_VALUES];
    int32_t axes[MAX_VALUES];
    int is_listed = cJSON_HasObjectItem(e->inputs, "theta");
    posenc_rope_params params = listed_params(e, is_listed ? POSENC_AXES_LIST : POSENC_AXES_AXIAL);
    if (is_listed) {
        doubles(e, "theta", theta);
        integers(e, "axes", axes);
        params.lists.theta = theta;
        params.lists.axes = axes;
    } else {
        doubles(e, "bases", params.lists.bases);
    }
    return check_listed(e, &params);
}

/* Its sections are published as h, w, t. */
static int check_b27(const example *e) {
    posenc_rope_params params = listed_params(e, POSENC_AXES_ERNIE);
    int32_t hwt[MAX_POSITIONS];
    assert_int_equal(integers(e, "mrope_section", hwt), 3);
    params.axes.sections[0] = hwt[2];
    params.axes.sections[1] = hwt[0];
    params.axes.sections[2] = hwt[1];
    return check_listed(e, &params);
}

/* x at positions between integers too. */
static int rotate_at(const example *e, const posenc_rope_params *params, float *y) {
    double by_token[MAX_VALUES], planes64[MAX_VALUES];
    float x[MAX_VALUES];
    int n = floats(e, "x", x), n_axes = params->axes.n_axes, n_tokens = n / (int)params->head_dim;
    doubles(e, "positions", by_token);
    for (int k = 0; k < n_axes * n_tokens; k++)
        planes64[k] = by_token[k % n_tokens * n_axes + k / n_tokens];
    posenc_rope *rope = truth_rope_new(params);
    posenc_view from = posenc_view_dense(x, POSENC_F32, params->head_dim, 1, n_tokens, 1), to = from;
    to.data = y;
    posenc_coords at = posenc_coords_of(planes64, POSENC_COORD_F64);
    truth_ok(posenc_rope_apply_at(rope, &from, &at, &to, POSENC_FORWARD, posenc_range_all()));
    posenc_rope_free(rope);
    return n;
}

static int check_b28(const example *e) {
    double theta[MAX_VALUES];
    float y[MAX_VALUES];
    int32_t axes[MAX_VALUES];
    posenc_rope_params params = listed_params(e, POSENC_AXES_LIST);
    doubles(e, "theta", theta);
    integers(e, "axes", axes);
    params.lists.theta = theta;
    params.lists.axes = axes;
    int n = rotate_at(e, &params, y), n_pairs = check_axes(e, &params);
    return n_pairs + match(e, y, 2 * n_pairs, n);
}

static int check_b29(const example *e) {
    posenc_rope_params params = listed_params(e, POSENC_AXES_AXIAL);
    return check_listed(e, &params);
}

static int check_b30(const example *e) {
    posenc_rope_params params = listed_params(e, POSENC_AXES_ALTERNATE);
    return check_listed(e, &params);
}

static int check_b31(const example *e) {
    posenc_rope_params params = listed_params(e, POSENC_AXES_MROPE);
    params.scaling.type = POSENC_SCALING_NTK;
    params.scaling.factor = value(e, "alpha");
    return check_listed(e, &params);
}

/* Keys are values too: attention over them, rotated, and its output rotated back. */
static int check_b32(const example *e) {
    int32_t positions[MAX_POSITIONS];
    float q[MAX_VALUES], kv[MAX_VALUES], out[MAX_VALUES];
    int64_t n_tokens = integers(e, "positions", positions);
    int n = floats(e, "q", q);
    floats(e, "kv", kv);
    posenc_rope_params rope = params_of(e, "q", layout_of(e));
    if (has(e, "factor")) {
        rope.scaling.type = POSENC_SCALING_YARN;
        rope.scaling.factor = value(e, "factor");
        rope.scaling.original_context = value(e, "original_context");
        rope.scaling.attention_factor = 1.0;
    }
    truth_rotate(&rope, q, n_tokens, positions, POSENC_FORWARD);
    truth_rotate(&rope, kv, n_tokens, positions, POSENC_FORWARD);
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.scale = (float)(1.0 / sqrt((double)rope.head_dim));
    params.mask = posenc_mask_causal();
    posenc_view queries = posenc_view_dense(q, POSENC_F32, rope.head_dim, 1, n_tokens, 1), keys = queries, to = queries;
    keys.data = kv;
    to.data = out;
    truth_ok(posenc_attention_reference(&params, &queries, &keys, &keys, &to, NULL));
    truth_rotate(&rope, out, n_tokens, positions, POSENC_INVERSE);
    return match(e, out, 0, n);
}

static posenc_axes_kind kind_of(const example *e) {
    static const struct {
        const char *name;
        posenc_axes_kind kind;
    } kinds[] = {
        {"mrope", POSENC_AXES_MROPE},   {"imrope", POSENC_AXES_IMROPE}, {"ernie", POSENC_AXES_ERNIE},
        {"vision", POSENC_AXES_VISION}, {"axial", POSENC_AXES_AXIAL},   {"alternate", POSENC_AXES_ALTERNATE},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        if (is(e, "kind", kinds[k].name))
            return kinds[k].kind;
    fail_msg("%s: a kind of axes that is not known", e->where);
    return POSENC_AXES_SINGLE;
}

/* Whole heads with the numbers of the published files. */
static int check_b33(const example *e) {
    float y[MAX_VALUES];
    posenc_rope_params params = listed_params(e, kind_of(e));
    if (has(e, "alpha")) {
        params.scaling.type = POSENC_SCALING_NTK;
        params.scaling.ntk_alpha = value(e, "alpha");
    }
    int first = check_axes(e, &params);
    first += check_theta(e, &params, first);
    int n = rotate_at(e, &params, y);
    return first + match(e, y, first, n);
}

static void test_vectors(void **state) {
    (void)state;
    static const vector_file files[] = {
        {"B02_rope_interleaved", check_b02},
        {"B03_rope_half_split", check_b03},
        {"B04_rope_deinterleave", check_b04},
        {"B05_rope_partial", check_b05},
        {"B06_rope_inverse", check_b06},
        {"B08_rope_delta", check_b08},
        {"B19_xpos", check_b19},
        {"B20_mrope", check_b20},
        {"B21_imrope", check_b21},
        {"B22_vision_rope_2d", check_b22},
        {"B23_axial_rope", check_b23},
        {"B24_rope_score", check_b24},
        {"B26_general_rotation", check_b26},
        {"B27_ernie", check_b27},
        {"B28_real_coordinates", check_b28},
        {"B29_half_by_axis", check_b29},
        {"B30_alternate", check_b30},
        {"B31_xdrope", check_b31},
        {"B32_rotated_back", check_b32},
        {"B33_published_models", check_b33},
        {"E03_rope_backward", check_e03},
    };
    check_vector_files(files, sizeof files / sizeof files[0], 60, 3027, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_vectors)};
    return truth_run(tests);
}
