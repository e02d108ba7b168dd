/* SPDX-License-Identifier: MIT */
/* The golden vectors of FORMULAS A.1, A.2, A.4, A.6, A.21, C.2 - C.4, C.22, C.25, C.26, C.32 and F.2 (tests/vectors)
 * through the public API, on every tier; the other test_vectors_*.c have the rest of A, B, C, D and E,
 * test_rope_scaling_vectors.c the scalings.
 *
 * No case is left out. Some are compared here in part, and elsewhere as a whole: A.6's matrix by its first columns
 * (all of it in test_vectors_absolute.c), C.3's "one_row" (test_vectors_bias.c), the outputs P V of C.4 and C.32
 * (test_vectors_relative.c).
 */
#include "truth_json.h"
#include "truth_rope.h"

#include <math.h>

/* ---- A: absolute encodings ---- */

static void encode(posenc_sinusoidal_params params, const int32_t *positions, int64_t n, float *rows, int64_t stride) {
    posenc_encoding *pe;
    truth_ok(posenc_sinusoidal_create(&params, &pe));
    posenc_view y = posenc_view_dense(rows, POSENC_F32, params.dim, n, 1, 1);
    y.nb[1] = stride * (int64_t)sizeof(float);
    truth_ok(posenc_encoding_write(pe, positions, &y));
    posenc_encoding_free(pe);
}

static int check_encoding(const example *e, posenc_sinusoidal_layout layout, posenc_schedule schedule, posenc_odd odd) {
    int32_t positions[MAX_POSITIONS];
    float rows[MAX_VALUES];
    int64_t n = integers(e, "positions", positions), dim = (int64_t)value(e, "d");
    encode((posenc_sinusoidal_params){layout, schedule, odd, dim, value(e, "base"), 1.0, 0.0, 1.0}, positions, n, rows,
           dim);
    return match(e, rows, 0, (int)(n * dim));
}

static int check_a01(const example *e) {
    return check_encoding(e, POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN);
}

static int check_a02(const example *e) {
    posenc_schedule schedule = is(e, "schedule", "half") ? POSENC_SCHEDULE_HALF : POSENC_SCHEDULE_HALF_MINUS_1;
    return check_encoding(e, POSENC_SINUSOIDAL_CONCAT, schedule, POSENC_ODD_SIN);
}

static int check_a04(const example *e) {
    if (is(e, "mode", "concat_half"))
        return check_encoding(e, POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF, POSENC_ODD_SIN);
    return check_encoding(e, POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_UNSET,
                          is(e, "mode", "interleaved_sin") ? POSENC_ODD_SIN : POSENC_ODD_ZERO);
}

/* M_k PE(p) is PE(p + k), and the first column of block i of M_k is (cos, -sin) of k theta_i. */
static int check_a06(const example *e) {
    int dim = (int)value(e, "d");
    int32_t k = (int32_t)value(e, "k"), sum = (int32_t)value(e, "position") + k;
    posenc_sinusoidal_params params = {
        POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN, dim, value(e, "base"), 1.0, 0.0, 1.0};
    float turned[MAX_VALUES], shift[MAX_VALUES];
    encode(params, &sum, 1, turned, dim);
    encode(params, &k, 1, shift, dim);
    for (int i = 0; i < dim / 2; i++) {
        float negated = -shift[2 * i];
        match(e, &shift[2 * i + 1], 2 * i * dim + 2 * i, 1);
        match(e, &negated, (2 * i + 1) * dim + 2 * i, 1);
    }
    return dim + match(e, turned, dim * dim, dim);
}

/* Two encodings of half the width side by side: slices of wider rows. */
static int check_a21(const example *e) {
    int64_t h = (int64_t)value(e, "H"), w = (int64_t)value(e, "W"), dim = (int64_t)value(e, "d");
    int64_t prefix = (int64_t)value(e, "n_prefix");
    posenc_sinusoidal_params params = {
        POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF, POSENC_ODD_SIN, dim / 2, value(e, "base"), 1.0, 0.0, 1.0};
    int32_t rows[MAX_POSITIONS], columns[MAX_POSITIONS];
    for (int64_t t = 0; t < h * w; t++) {
        rows[t] = (int32_t)(t / w);
        columns[t] = (int32_t)(t % w);
    }
    int w_first = is(e, "first", "w");
    float pe[MAX_VALUES] = {0.0f}, *grid = pe + prefix * dim;
    encode(params, w_first ? columns : rows, h * w, grid, dim);
    encode(params, w_first ? rows : columns, h * w, grid + dim / 2, dim);
    return match(e, pe, 0, (int)((prefix + h * w) * dim));
}

/* ---- C: the softmax path ---- */

static int check_c02(const example *e) {
    float slopes[MAX_VALUES];
    int n = (int)value(e, "n_heads");
    truth_ok(posenc_alibi_slopes(n, value(e, "max_bias"), slopes));
    return match(e, slopes, 0, n);
}

static int check_c03(const example *e) {
    if (is(e, "form", "counted_bf16")) /* a row, not a mask: test_vectors_bias.c */
        return 0;
    float slopes[MAX_VALUES], bias[MAX_VALUES];
    int64_t n_heads = (int64_t)value(e, "n_heads"), n_q = (int64_t)value(e, "n_q"), n_k = (int64_t)value(e, "n_k");
    truth_ok(posenc_alibi_slopes(n_heads, 8.0, slopes));
    posenc_view view = posenc_view_dense(bias, POSENC_F32, n_k, n_q, n_heads, 1);
    posenc_score_params params =
        posenc_score_params_of(1.0f, is(e, "form", "causal") ? posenc_mask_causal() : posenc_mask_none());
    params.bias.alibi_slopes = slopes;
    params.n_heads = n_heads;
    params.positions.query_start = (int64_t)value(e, "q_offset");
    truth_ok(posenc_logits(&params, NULL, &view, posenc_range_all()));
    return match(e, bias, 0, (int)(n_heads * n_q * n_k));
}

/* A mask is what the logits are without scores. */
static int check_c22(const example *e) {
    const cJSON *rule = input(e, "rule"), *window = cJSON_GetObjectItem(rule, "window"),
                *chunk = cJSON_GetObjectItem(rule, "chunk"), *symmetric = cJSON_GetObjectItem(rule, "symmetric_window");
    float mask[MAX_VALUES];
    int32_t keep[MAX_POSITIONS];
    uint8_t bytes[MAX_POSITIONS];
    int64_t n_q = (int64_t)value(e, "n_q"), n_k = (int64_t)value(e, "n_k");
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = (int64_t)value(e, "q_offset");
    if (cJSON_IsTrue(cJSON_GetObjectItem(rule, "causal")))
        params.mask = posenc_mask_causal();
    if (window != NULL)
        params.mask = posenc_mask_window((int64_t)number(window));
    if (symmetric != NULL)
        params.mask = posenc_mask_sides((int64_t)number(symmetric), (int64_t)number(symmetric));
    if (chunk != NULL)
        params.mask = posenc_mask_chunked((int64_t)number(chunk));
    posenc_bool_mask padding = {bytes, {1, 0, 0, 0}, POSENC_KEEP};
    if (has(e, "key_padding_keep")) {
        for (int64_t j = 0, n = integers(e, "key_padding_keep", keep); j < n; j++)
            bytes[j] = (uint8_t)keep[j];
        params.bool_mask = &padding;
    }
    posenc_view view = posenc_view_dense(mask, POSENC_F32, n_k, n_q, 1, 1);
    truth_ok(posenc_logits(&params, NULL, &view, posenc_range_all()));
    return match(e, mask, 0, (int)(n_q * n_k));
}

static int check_c25(const example *e) {
    float x[MAX_VALUES];
    int32_t keep[MAX_POSITIONS];
    uint8_t bytes[MAX_POSITIONS];
    int64_t n = integers(e, "keep", keep), dim = floats(e, "x", x) / n;
    for (int64_t t = 0; t < n; t++)
        bytes[t] = (uint8_t)keep[t];
    posenc_view view = posenc_view_dense(x, POSENC_F32, dim, 1, n, 1);
    truth_ok(posenc_zero_padded(bytes, &view));
    return match(e, x, 0, (int)(n * dim));
}

/* The bias goes in as a line, the mask as a tensor. */
static int check_c26(const example *e) {
    float dots[MAX_VALUES], bias[MAX_VALUES], mask[MAX_VALUES], y[MAX_VALUES], sink = 0.0f;
    int n = floats(e, "dots", dots);
    floats(e, "bias", bias);
    floats(e, "mask", mask);
    for (int j = 0; j < n; j++)
        bias[j] *= (float)value(e, "slope"); /* a power of two */
    posenc_score_params params = posenc_score_params_of((float)value(e, "scale"), posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.cap = (float)value(e, "softcap");
    posenc_rel_bias rel_bias = {bias, 0, n, 1, n, 0};
    params.bias.relative = &rel_bias;
    posenc_view masks = posenc_view_dense(mask, POSENC_F32, n, 1, 1, 1);
    params.bias.tensor = &masks;
    params.fully_masked = is(e, "policy", "uniform") ? POSENC_FULLY_MASKED_UNIFORM
                          : is(e, "policy", "nan")   ? POSENC_FULLY_MASKED_NAN
                                                     : POSENC_FULLY_MASKED_ZEROS;
    if (cJSON_IsNumber(input(e, "sink"))) {
        sink = (float)value(e, "sink");
        params.sinks = &sink;
        params.n_heads = 1;
    }
    posenc_view from = posenc_view_dense(dots, POSENC_F32, n, 1, 1, 1),
                to = posenc_view_dense(y, POSENC_F32, n, 1, 1, 1);
    truth_ok(posenc_logits(&params, &from, &to, posenc_range_all()));
    int n_matched = match(e, y, 0, n);
    truth_ok(posenc_softmax(&params, &from, &to, posenc_range_all()));
    return n_matched + match(e, y, n, n);
}

/* Probabilities of one head from q and k. */
static int check_attention(const example *e, const float *q, const float *k, double scale, double slope, float cap,
                           posenc_mask mask) {
    float scores[MAX_VALUES], head_slope = (float)slope;
    int n = cJSON_GetArraySize(input(e, "q"));
    int64_t dim = width(e, "q");
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            scores[i * n + j] = (float)truth_dot(q + i * dim, k + j * dim, dim);
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.scale = (float)scale;
    params.cap = cap;
    params.bias.alibi_slopes = &head_slope;
    params.n_heads = 1;
    params.mask = mask;
    posenc_view view = posenc_view_dense(scores, POSENC_F32, n, n, 1, 1);
    truth_ok(posenc_softmax(&params, &view, &view, posenc_range_all()));
    return match(e, scores, 0, n * n);
}

static int check_c04(const example *e) {
    float q[MAX_VALUES], k[MAX_VALUES];
    int64_t dim = width(e, "q"), n = floats(e, "q", q) / dim;
    floats(e, "k", k);
    int32_t positions[MAX_POSITIONS];
    for (int64_t t = 0; t < n; t++)
        positions[t] = (int32_t)t;
    posenc_rope_params params =
        truth_rope_params(is(e, "layout", "half") ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED, dim, dim, 0);
    params.base = value(e, "base");
    truth_rotate(&params, q, n, positions, POSENC_FORWARD);
    truth_rotate(&params, k, n, positions, POSENC_FORWARD);
    return check_attention(e, q, k, 1.0 / sqrt((double)dim), value(e, "slope"), 0.0f, posenc_mask_none());
}

static int check_c32(const example *e) {
    float q[MAX_VALUES], k[MAX_VALUES];
    floats(e, "q", q);
    floats(e, "k", k);
    return check_attention(e, q, k, value(e, "scale"), value(e, "alibi_slope"), (float)value(e, "softcap"),
                           cJSON_IsTrue(input(e, "causal")) ? posenc_mask_causal() : posenc_mask_none());
}

/* ---- F: numerics ---- */

static int check_f02(const example *e) {
    int32_t positions[MAX_POSITIONS];
    float cosines[MAX_VALUES], sines[MAX_VALUES];
    int n_positions = (int)integers(e, "positions", positions), n_rot = (int)value(e, "n_rot");
    posenc_freq *freq;
    truth_ok(posenc_freq_create(value(e, "base"), n_rot, &freq));
    truth_ok(posenc_angle_rows(freq, positions, n_positions, cosines, sines, n_rot / 2));
    posenc_freq_free(freq);
    int n = n_positions * n_rot / 2;
    return match(e, cosines, 0, n) + match(e, sines, n, n);
}

/* ---- Every file ---- */

static void test_vectors(void **state) {
    (void)state;
    static const vector_file files[] = {
        {"A01_sinusoidal_interleaved", check_a01},
        {"A02_sinusoidal_concat", check_a02},
        {"A04_odd_dimension", check_a04},
        {"A06_shift_matrix", check_a06},
        {"A21_sincos_2d", check_a21},
        {"C02_alibi_slopes", check_c02},
        {"C03_alibi_bias", check_c03},
        {"C04_rope_alibi", check_c04},
        {"C22_masks", check_c22},
        {"C25_output_masking", check_c25},
        {"C26_softmax_path", check_c26},
        {"C32_attention", check_c32},
        {"F02_exact_angles", check_f02},
    };
    check_vector_files(files, sizeof files / sizeof files[0], 45, 1061, 3); /* rows of counted_bf16 */
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_vectors)};
    return truth_run(tests);
}
