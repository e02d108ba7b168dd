/* SPDX-License-Identifier: MIT */
/* The golden vectors of the encodings that posenc_encoding_apply takes to their place, of what they are made of, and
 * of their gradients (FORMULAS A.3, A.6-A.23, E.1, E.2), on every tier. A.1, A.2 and A.4 are in test_vectors.c. */
#include "truth_json.h"
#include "truth_rope.h"

enum { MAX_PARTS = 3 };

/* ---- Reading ---- */

static int64_t length(const example *e, const char *name) {
    return cJSON_GetArraySize(input(e, name));
}

/* A table [rows][columns] and its encoding; the memory is the caller's. */
static posenc_encoding *table_encoding(float *memory, int64_t n_rows, int64_t dim, const posenc_lookup *lookup) {
    posenc_view view = posenc_view_dense(memory, POSENC_F32, dim, n_rows, 1, 1);
    posenc_encoding *made;
    truth_ok(posenc_learned_create(&view, lookup, &made));
    return made;
}

static posenc_lookup lookup_of(const example *e) {
    posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS;
    lookup.offset = (int64_t)value(e, "offset");
    lookup.policy = is(e, "policy", "error")   ? POSENC_OUT_OF_RANGE_ERROR
                    : is(e, "policy", "clamp") ? POSENC_OUT_OF_RANGE_CLAMP
                                               : POSENC_OUT_OF_RANGE_ZERO;
    return lookup;
}

static posenc_encoding *sinusoid(posenc_sinusoidal_layout layout, int64_t dim, double base) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = layout;
    params.schedule = POSENC_SCHEDULE_HALF;
    params.dim = dim;
    params.base = base;
    posenc_encoding *made;
    truth_ok(posenc_sinusoidal_create(&params, &made));
    return made;
}

/* Writes n rows, compares them with expected[first ..], and frees the encoding. */
static int match_rows(const example *e, posenc_encoding *encoding, const void *data, posenc_coord_type type, int64_t n,
                      int first) {
    float rows[MAX_VALUES];
    int64_t dim = posenc_encoding_dim(encoding);
    posenc_coords at = posenc_coords_of(data, type);
    posenc_view y = posenc_view_dense(rows, POSENC_F32, dim, n, 1, 1);
    truth_ok(posenc_encoding_apply(encoding, &at, NULL, NULL, &y, posenc_range_all()));
    posenc_encoding_free(encoding);
    return match(e, rows, first, (int)(n * dim));
}

static int match_positions(const example *e, posenc_encoding *encoding) {
    int32_t positions[MAX_POSITIONS];
    int64_t n = integers(e, "positions", positions);
    return match_rows(e, encoding, positions, POSENC_COORD_I32, n, 0);
}

static void count_up(int32_t *positions) {
    for (int32_t t = 0; t < MAX_POSITIONS; t++)
        positions[t] = t;
}

/* ---- A: sinusoids ---- */

static int check_a03(const example *e) {
    float t[MAX_POSITIONS];
    int n = floats(e, "t", t);
    posenc_encoding *made;
    truth_ok(posenc_timestep_create((int64_t)value(e, "dim"), cJSON_IsTrue(input(e, "flip_sin_to_cos")),
                                    value(e, "downscale_freq_shift"), value(e, "scale"), value(e, "max_period"),
                                    &made));
    return match_rows(e, made, t, POSENC_COORD_F32, n, 0);
}

static int check_a06(const example *e) {
    float m[MAX_VALUES], pe[MAX_VALUES], product[MAX_VALUES];
    int64_t dim = (int64_t)value(e, "d");
    int32_t position = (int32_t)value(e, "position");
    posenc_encoding *made = sinusoid(POSENC_SINUSOIDAL_INTERLEAVED, dim, value(e, "base"));
    posenc_view matrix = posenc_view_dense(m, POSENC_F32, dim, dim, 1, 1),
                row = posenc_view_dense(pe, POSENC_F32, dim, 1, 1, 1);
    truth_ok(posenc_sinusoidal_shift(made, (int32_t)value(e, "k"), &matrix));
    truth_ok(posenc_encoding_write(made, &position, &row));
    posenc_encoding_free(made);
    for (int64_t r = 0; r < dim; r++)
        product[r] = (float)truth_dot(m + r * dim, pe, dim);
    return match(e, m, 0, (int)(dim * dim)) + match(e, product, (int)(dim * dim), (int)dim);
}

static int check_a17(const example *e) {
    return match_positions(e, sinusoid(POSENC_SINUSOIDAL_COMPLEX, (int64_t)value(e, "d"), value(e, "base")));
}

/* Points [n][n_coords] become planes. */
static int check_a18(const example *e) {
    float matrix[MAX_VALUES], points[MAX_VALUES], planes[MAX_VALUES];
    posenc_fourier_params params = POSENC_FOURIER_DEFAULTS;
    params.n_coords = (int)width(e, "B");
    params.n_features = floats(e, "B", matrix) / params.n_coords;
    params.matrix = matrix;
    params.order = is(e, "order", "sin_cos") ? POSENC_FOURIER_SIN_COS : POSENC_FOURIER_COS_SIN;
    int64_t n = floats(e, "p", points) / params.n_coords;
    for (int64_t t = 0; t < n; t++)
        for (int axis = 0; axis < params.n_coords; axis++)
            planes[axis * n + t] = points[t * params.n_coords + axis];
    posenc_encoding *made;
    truth_ok(posenc_fourier_create(&params, &made));
    return match_rows(e, made, planes, POSENC_COORD_F32, n, 0);
}

/* Rows of zeros in front for class tokens. */
static int check_a21(const example *e) {
    int64_t sizes[2] = {(int64_t)value(e, "H"), (int64_t)value(e, "W")}, n = sizes[0] * sizes[1];
    int64_t dim = (int64_t)value(e, "d"), prefix = (int64_t)value(e, "n_prefix");
    int32_t planes[2 * MAX_POSITIONS];
    float rows[MAX_VALUES] = {0.0f};
    posenc_encoding *made;
    truth_ok(posenc_grid_create(is(e, "first", "w") ? POSENC_GRID_W_FIRST : POSENC_GRID_H_FIRST, dim, 0,
                                value(e, "base"), &made));
    truth_ok(posenc_positions_grid(sizes, 2, planes));
    posenc_view y = posenc_view_dense(rows + prefix * dim, POSENC_F32, dim, n, 1, 1);
    truth_ok(posenc_encoding_write(made, planes, &y));
    posenc_encoding_free(made);
    return match(e, rows, 0, (int)((prefix + n) * dim));
}

/* ---- A: tables ---- */

static int check_a07(const example *e) {
    float x[MAX_VALUES], table[MAX_VALUES];
    int32_t ids[MAX_POSITIONS];
    int64_t dim = width(e, "table"), n = integers(e, "ids", ids);
    posenc_lookup lookup = lookup_of(e);
    floats(e, "x", x);
    posenc_encoding *made = table_encoding(table, floats(e, "table", table) / dim, dim, &lookup);
    posenc_view y = posenc_view_dense(x, POSENC_F32, dim, n, 1, 1);
    truth_ok(posenc_encoding_add(made, ids, &y));
    posenc_encoding_free(made);
    return match(e, x, 0, (int)(n * dim));
}

/* Encoding of parts side by side or summed; the parts are freed. */
static posenc_encoding *joined(posenc_part *parts, int n_parts, int is_sum) {
    posenc_encoding *made;
    truth_ok((is_sum ? posenc_encoding_sum : posenc_encoding_concat)(parts, n_parts, &made));
    for (int p = 0; p < n_parts; p++)
        posenc_encoding_free((posenc_encoding *)(uintptr_t)parts[p].encoding);
    return made;
}

static int check_a08(const example *e) {
    float delta[MAX_VALUES];
    int32_t positions[MAX_POSITIONS];
    int64_t dim = (int64_t)value(e, "d"), n = floats(e, "delta", delta) / dim;
    posenc_lookup lookup = {0, 1.0f, POSENC_OUT_OF_RANGE_ZERO};
    posenc_part parts[] = {{.encoding = sinusoid(POSENC_SINUSOIDAL_INTERLEAVED, dim, value(e, "base"))},
                           {.encoding = table_encoding(delta, n, dim, &lookup)}};
    count_up(positions);
    return match_rows(e, joined(parts, 2, 1), positions, POSENC_COORD_I32, n, 0);
}

static int check_a09(const example *e) {
    float x[MAX_VALUES], p[MAX_VALUES], f[MAX_VALUES];
    int32_t positions[MAX_POSITIONS];
    int64_t dim = width(e, "P"), n = length(e, "f");
    floats(e, "x", x);
    floats(e, "f", f);
    floats(e, "P", p);
    count_up(positions);
    posenc_encoding *made = table_encoding(p, n, dim, NULL);
    posenc_view gate = posenc_view_dense(f, POSENC_F32, cJSON_IsTrue(input(e, "per_channel")) ? dim : 1, n, 1, 1);
    posenc_view y = posenc_view_dense(x, POSENC_F32, dim, n, 1, 1);
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32);
    truth_ok(posenc_encoding_apply(made, &at, &y, &gate, &y, posenc_range_all()));
    posenc_encoding_free(made);
    return match(e, x, 0, (int)(n * dim));
}

static int check_a10(const example *e) {
    float learned[MAX_VALUES];
    int64_t dim = width(e, "learned"), n = floats(e, "learned", learned) / dim;
    posenc_lookup lookup = {0, 1.0f, POSENC_OUT_OF_RANGE_ZERO};
    posenc_part parts[] = {
        {.encoding = sinusoid(POSENC_SINUSOIDAL_INTERLEAVED, (int64_t)value(e, "d_sin"), value(e, "base"))},
        {.encoding = table_encoding(learned, n, dim, &lookup)}};
    return match_positions(e, joined(parts, 2, 0));
}

static int check_a11(const example *e) {
    float local[MAX_VALUES], global[MAX_VALUES];
    int64_t dim = width(e, "local"), block = (int64_t)value(e, "block");
    posenc_part parts[] = {
        {.encoding = table_encoding(global, floats(e, "global", global) / dim, dim, NULL), .divide = block},
        {.encoding = table_encoding(local, floats(e, "local", local) / dim, dim, NULL), .modulo = block}};
    return match_positions(e, joined(parts, 2, is(e, "mode", "sum")));
}

static int check_a12(const example *e) {
    float from[MAX_VALUES], to[MAX_VALUES];
    int is_1d = is(e, "kind", "linear1d");
    const char *name = is_1d ? "table" : "grid";
    int64_t dim = width(e, name);
    posenc_resize_params params = POSENC_RESIZE_DEFAULTS;
    params.method = is(e, "kind", "bicubic") ? POSENC_RESIZE_CUBIC : POSENC_RESIZE_LINEAR;
    params.align_corners = cJSON_IsTrue(input(e, "align_corners"));
    params.antialias = cJSON_IsTrue(cJSON_GetObjectItem(e->inputs, "antialias"));
    if (cJSON_HasObjectItem(e->inputs, "h_ratio")) {
        params.h_ratio = value(e, "h_ratio");
        params.w_ratio = value(e, "w_ratio");
    }
    params.h_in = is_1d ? 1 : length(e, name);
    params.w_in = floats(e, name, from) / dim / params.h_in;
    params.h_out = is_1d ? 1 : (int64_t)value(e, "h_out");
    params.w_out = (int64_t)value(e, is_1d ? "n_out" : "w_out");
    int64_t n_in = params.h_in * params.w_in, n_out = params.h_out * params.w_out;
    posenc_view x = posenc_view_dense(from, POSENC_F32, dim, n_in, 1, 1);
    posenc_view y = posenc_view_dense(to, POSENC_F32, dim, n_out, 1, 1);
    truth_ok(posenc_table_resize(&params, &x, &y, posenc_range_all()));
    return match(e, to, 0, (int)(n_out * dim));
}

/* Learned tables for each axis, or the sinusoids of a volume. */
static int check_a22(const example *e) {
    int32_t planes[3 * MAX_POSITIONS];
    int64_t sizes[3], n = 1;
    posenc_encoding *made;
    int n_axes = 3;
    static float tables[MAX_PARTS][MAX_VALUES];
    if (is(e, "kind", "sincos3d")) {
        static const char *const names[] = {"T", "H", "W"};
        for (int axis = 0; axis < 3; axis++)
            sizes[axis] = (int64_t)value(e, names[axis]);
        truth_ok(posenc_grid_create(POSENC_GRID_VOLUME, (int64_t)value(e, "d"), 0, value(e, "base"), &made));
    } else {
        posenc_part parts[MAX_PARTS] = {{NULL, 0, 0, 0, 0, 0}};
        n_axes = (int)length(e, "sizes");
        for (int axis = 0; axis < n_axes; axis++) {
            const cJSON *table = cJSON_GetArrayItem(input(e, "tables"), axis);
            int64_t dim = cJSON_GetArraySize(table->child), i = 0;
            sizes[axis] = cJSON_GetArraySize(table);
            for (const cJSON *row = table->child; row != NULL; row = row->next)
                for (const cJSON *x = row->child; x != NULL; x = x->next)
                    tables[axis][i++] = (float)number(x);
            parts[axis] = (posenc_part){.encoding = table_encoding(tables[axis], sizes[axis], dim, NULL), .axis = axis};
        }
        made = joined(parts, n_axes, is(e, "mode", "sum"));
    }
    for (int axis = 0; axis < n_axes; axis++)
        n *= sizes[axis];
    truth_ok(posenc_positions_grid(sizes, n_axes, planes));
    return match_rows(e, made, planes, POSENC_COORD_I32, n, 0);
}

/* ---- A: integers, bits, bumps ---- */

static int check_a13(const example *e) {
    posenc_encoding *made;
    truth_ok(posenc_integer_create((int64_t)value(e, "d"), (int64_t)value(e, "L"), 0.0, &made));
    return match_positions(e, made);
}

static int check_a14(const example *e) {
    posenc_encoding *made;
    truth_ok(posenc_integer_create((int64_t)value(e, "d"), (int64_t)value(e, "L"), value(e, "alpha"), &made));
    return match_positions(e, made);
}

static int check_bits(const example *e, posenc_bit_code code, int first) {
    int64_t positions[MAX_POSITIONS], n = 0;
    for (const cJSON *p = input(e, "positions")->child; p != NULL; p = p->next)
        positions[n++] = (int64_t)number(p);
    posenc_encoding *made;
    truth_ok(posenc_bits_create((int64_t)value(e, "d"), code, 0.0f, 1.0f, &made));
    return match_rows(e, made, positions, POSENC_COORD_I64, n, first);
}

static int check_a15(const example *e) {
    return check_bits(e, POSENC_BITS_BINARY, 0);
}

static int check_a16(const example *e) {
    int n = 0;
    for (const cJSON *p = input(e, "positions")->child; p != NULL; p = p->next) {
        float code = (float)posenc_gray_encode((uint64_t)number(p));
        n += match(e, &code, n, 1);
    }
    return n + check_bits(e, POSENC_BITS_GRAY, n);
}

static int check_a19(const example *e) {
    float from[MAX_VALUES];
    double centres[MAX_VALUES];
    int n = floats(e, "centers", from);
    for (int i = 0; i < n; i++)
        centres[i] = (double)from[i];
    posenc_encoding *made;
    truth_ok(posenc_rbf_create(centres, n, value(e, "sigma"), &made));
    return match_positions(e, made);
}

/* ---- A: convolution, position ids ---- */

static posenc_conv *convolution(const example *e, int n_dims, const float *bias) {
    float weights[MAX_VALUES];
    posenc_conv_params params = POSENC_CONV_DEFAULTS;
    floats(e, "w", weights);
    params.n_channels = length(e, "w");
    params.n_dims = n_dims;
    params.kernel = width(e, "w");
    params.is_causal = n_dims == 1 && cJSON_IsTrue(input(e, "causal"));
    params.has_residual = cJSON_IsTrue(input(e, "residual"));
    posenc_conv *conv;
    truth_ok(posenc_conv_create(&params, weights, bias, &conv));
    return conv;
}

static int check_a20(const example *e) {
    float x[MAX_VALUES], y[MAX_VALUES], bias[MAX_VALUES];
    int64_t n = length(e, "x"), dim = width(e, "x");
    floats(e, "x", x);
    floats(e, "b", bias);
    int is_1d = is(e, "kind", "1d");
    posenc_conv *conv = convolution(e, is_1d ? 1 : 2, bias);
    posenc_conv_grid grid = {0, 1, n};
    if (!is_1d)
        grid = (posenc_conv_grid){(int64_t)value(e, "n_prefix"), (int64_t)value(e, "H"), (int64_t)value(e, "W")};
    posenc_view from = posenc_view_dense(x, POSENC_F32, dim, n, 1, 1),
                to = posenc_view_dense(y, POSENC_F32, dim, n, 1, 1);
    truth_ok(posenc_conv_apply(conv, grid, &from, &to, posenc_range_all()));
    posenc_conv_free(conv);
    return match(e, y, 0, (int)(n * dim));
}

static int check_a24(const example *e) {
    float x[MAX_VALUES], y[MAX_VALUES], weights[MAX_VALUES], bias[MAX_VALUES];
    int64_t n = length(e, "x"), dim = width(e, "x");
    posenc_grouped_conv_params params = POSENC_GROUPED_CONV_DEFAULTS;
    floats(e, "x", x);
    floats(e, "w", weights);
    floats(e, "b", bias);
    params.n_channels = dim;
    params.n_groups = (int64_t)value(e, "groups");
    params.kernel = length(e, "w");
    posenc_grouped_conv *conv;
    truth_ok(posenc_grouped_conv_create(&params, weights, bias, &conv));
    posenc_view from = posenc_view_dense(x, POSENC_F32, dim, n, 1, 1),
                to = posenc_view_dense(y, POSENC_F32, dim, n, 1, 1);
    truth_ok(posenc_grouped_conv_apply(conv, &from, &to, posenc_range_all()));
    posenc_grouped_conv_free(conv);
    return match(e, y, 0, (int)(n * dim));
}

static int check_a23(const example *e) {
    int32_t mask[MAX_POSITIONS], ids[MAX_POSITIONS];
    uint8_t keep[MAX_POSITIONS];
    float got[MAX_POSITIONS];
    int64_t n = integers(e, "mask", mask);
    for (int64_t t = 0; t < n; t++)
        keep[t] = (uint8_t)mask[t];
    truth_ok(posenc_positions_masked(keep, n, 1, (int32_t)value(e, "start"), (int32_t)value(e, "pad_value"), ids));
    for (int64_t t = 0; t < n; t++)
        got[t] = (float)ids[t];
    return match(e, got, 0, (int)n);
}

/* ---- E: gradients ---- */

static int check_e01(const example *e) {
    float dy[MAX_VALUES], table[MAX_VALUES] = {0.0f};
    int32_t ids[MAX_POSITIONS];
    int64_t n = integers(e, "ids", ids), dim = width(e, "dy"), n_rows = (int64_t)value(e, "L");
    floats(e, "dy", dy);
    posenc_lookup lookup = lookup_of(e);
    posenc_coords at = posenc_coords_of(ids, POSENC_COORD_I32);
    posenc_view from = posenc_view_dense(dy, POSENC_F32, dim, n, 1, 1);
    posenc_view to = posenc_view_dense(table, POSENC_F32, dim, n_rows, 1, 1);
    truth_ok(posenc_learned_backward(&lookup, &at, &from, &to, posenc_range_all()));
    return match(e, table, 0, (int)(n_rows * dim));
}

static int check_conditional(const example *e) {
    float p[MAX_VALUES], f[MAX_VALUES], dy[MAX_VALUES], df[MAX_VALUES];
    int64_t n = length(e, "dy"), dim = width(e, "dy");
    floats(e, "P", p);
    floats(e, "f", f);
    floats(e, "dy", dy);
    posenc_view rows = posenc_view_dense(p, POSENC_F32, dim, n, 1, 1),
                dys = posenc_view_dense(dy, POSENC_F32, dim, n, 1, 1);
    posenc_view gate = posenc_view_dense(f, POSENC_F32, 1, n, 1, 1),
                dgate = posenc_view_dense(df, POSENC_F32, 1, n, 1, 1);
    truth_ok(posenc_gate_backward(&rows, &gate, &dys, &dgate, &dys, posenc_range_all()));
    return match(e, df, 0, (int)n) + match(e, dy, (int)n, (int)(n * dim));
}

static int check_e02(const example *e) {
    if (is(e, "kind", "conditional"))
        return check_conditional(e);
    float x[MAX_VALUES], dy[MAX_VALUES], dx[MAX_VALUES], dw[MAX_VALUES] = {0.0f}, db[MAX_VALUES] = {0.0f};
    int64_t n = length(e, "x"), dim = width(e, "x"), kernel = width(e, "w");
    floats(e, "x", x);
    floats(e, "dy", dy);
    posenc_conv *conv = convolution(e, 1, NULL);
    posenc_conv_grid grid = {0, 1, n};
    posenc_view xs = posenc_view_dense(x, POSENC_F32, dim, n, 1, 1),
                dys = posenc_view_dense(dy, POSENC_F32, dim, n, 1, 1);
    posenc_view dxs = posenc_view_dense(dx, POSENC_F32, dim, n, 1, 1);
    truth_ok(posenc_conv_backward_weights(conv, grid, &xs, &dys, dw, db, posenc_range_all()));
    truth_ok(posenc_conv_backward_input(conv, grid, &dys, &dxs, posenc_range_all()));
    posenc_conv_free(conv);
    int at = match(e, db, 0, (int)dim);
    at += match(e, dw, at, (int)(dim * kernel));
    return at + match(e, dx, at, (int)(n * dim));
}

/* ---- Every file ---- */

static void test_vectors(void **state) {
    (void)state;
    static const vector_file files[] = {
        {"A03_timestep_embedding", check_a03},
        {"A06_shift_matrix", check_a06},
        {"A07_learned_lookup_add", check_a07},
        {"A08_trainable_sinusoidal", check_a08},
        {"A09_conditional", check_a09},
        {"A10_hybrid_concat", check_a10},
        {"A11_blockwise", check_a11},
        {"A12_table_interpolation", check_a12},
        {"A13_integer_normalized", check_a13},
        {"A14_integer_multiscale", check_a14},
        {"A15_binary", check_a15},
        {"A16_gray", check_a16},
        {"A17_complex", check_a17},
        {"A18_fourier_features", check_a18},
        {"A19_gaussian_rbf", check_a19},
        {"A20_cpe_conv", check_a20},
        {"A21_sincos_2d", check_a21},
        {"A22_axial", check_a22},
        {"A23_position_ids", check_a23},
        {"A24_grouped_conv", check_a24},
        {"E01_table_grad", check_e01},
        {"E02_additive_grads", check_e02},
    };
    check_vector_files(files, sizeof files / sizeof files[0], 71, 1434, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_vectors)};
    return truth_run(tests);
}
