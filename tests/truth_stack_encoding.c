/* SPDX-License-Identifier: MIT */
/* Calls on data: angles, rotations, encodings, tables and what looks at them. */
#include "truth_stack.h"

#include <stdlib.h>

static posenc_rope *one_axis, *four_axes;
static posenc_freq *freq;
static posenc_encoding *sinusoid, *fourier, *gaussian, *bits, *integers, *learned, *mixed;
static posenc_conv *conv;
static posenc_grouped_conv *grouped;
static float rows[DIM * KEYS], weights[DIM], table_rows[DIM * KEYS], taps[DIM * 15 * 15];
static uint8_t bytes[KEYS];
static int64_t many[TOKENS];
static float singles[TOKENS];
static double real[TOKENS], doubles[KEYS];
static const posenc_conv_grid grid = {1, 6, 6};
static posenc_resize_params resize = POSENC_RESIZE_DEFAULTS;

/* ---- Rotations ---- */

static posenc_status make_angles(void) {
    return posenc_angle_rows(freq, positions, TOKENS, y, z, DIM / 2);
}

static posenc_status rotate(const posenc_rope *rope, posenc_dtype type) {
    posenc_view view = posenc_view_dense(x, type, DIM, HEADS, TOKENS, 1);
    return posenc_rope_apply(rope, &view, positions, &view, POSENC_FORWARD, posenc_range_all());
}

static posenc_status rotate_one(void) {
    return rotate(one_axis, POSENC_F32);
}

static posenc_status rotate_halves(void) {
    return rotate(one_axis, POSENC_F16);
}

static posenc_status rotate_four(void) {
    return rotate(four_axes, POSENC_F32);
}

static posenc_status rotate_normed(void) {
    posenc_rope_tensor task = {.x = dense(x, HEADS, TOKENS),
                               .y = dense(y, HEADS, TOKENS),
                               .rotates = 1,
                               .scale = 1.0f,
                               .weight = weights,
                               .eps = 1e-6f};
    return posenc_rope_apply_tensors(four_axes, &task, 1, positions, NULL, POSENC_FORWARD, posenc_range_all());
}

/* Quantised on the way, with all that goes before. */
static posenc_status rotate_into_blocks(void) {
    posenc_rope_tensor task = {.x = dense(x, HEADS, TOKENS),
                               .y = posenc_view_dense(y, POSENC_Q4_0, DIM, HEADS, TOKENS, 1),
                               .rotates = 1,
                               .scale = 1.0f,
                               .weight = weights,
                               .eps = 1e-6f,
                               .hadamard = DIM};
    return posenc_rope_apply_tensors(four_axes, &task, 1, positions, NULL, POSENC_FORWARD, posenc_range_all());
}

/* From blocks that are read too, in place. */
static posenc_status shift_blocks(void) {
    posenc_view blocks = posenc_view_dense(y, POSENC_Q8_0, DIM, HEADS, TOKENS, 1);
    posenc_rope_tensor task = {.x = blocks, .y = blocks, .rotates = 1, .scale = 1.0f, .hadamard = DIM};
    return posenc_rope_apply_tensors(four_axes, &task, 1, positions, NULL, POSENC_SHIFT, posenc_range_all());
}

static posenc_status dequantise(void) {
    posenc_view blocks = posenc_view_dense(x, POSENC_Q8_0, DIM, HEADS, TOKENS, 1),
                halves = posenc_view_dense(y, POSENC_F16, DIM, HEADS, TOKENS, 1);
    return posenc_dequantise(&blocks, &halves, posenc_range_all());
}

static posenc_status transform(void) {
    posenc_view halves = posenc_view_dense(x, POSENC_F16, DIM, HEADS, TOKENS, 1);
    return posenc_hadamard(&halves, &halves, DIM, posenc_range_all());
}

static posenc_status rotate_reals(void) {
    posenc_view view = dense(x, HEADS, TOKENS / 2);
    posenc_coords at = {real, POSENC_COORD_F64, 1, 0}; /* axes that lie one element apart */
    return posenc_rope_apply_at(four_axes, &view, &at, &view, POSENC_FORWARD, posenc_range_all());
}

static posenc_status fill_table_with_reals(void) {
    posenc_rope_table four = posenc_rope_table_dense(four_axes, rows);
    posenc_coords at = {real, POSENC_COORD_F64, 1, 0};
    return posenc_rope_table_fill_at(four_axes, &at, TOKENS / 2, POSENC_FORWARD, &four);
}

static posenc_status fill_table(void) {
    posenc_rope_table four = posenc_rope_table_dense(four_axes, rows);
    return posenc_rope_table_fill(four_axes, positions, TOKENS, POSENC_FORWARD, &four);
}

static posenc_status rotate_by_table(void) {
    posenc_rope_table four = posenc_rope_table_dense(four_axes, table_rows);
    posenc_view view = dense(x, HEADS, TOKENS);
    return posenc_rope_apply_table(four_axes, &view, &four, &view, POSENC_FORWARD, posenc_range_all());
}

/* ---- Encodings ---- */

static posenc_status write_sinusoid(void) {
    posenc_view to = dense(y, KEYS, 1);
    return posenc_encoding_write(sinusoid, positions, &to);
}

static posenc_status add_mixed(void) {
    posenc_view to = dense(y, TOKENS, 1);
    return posenc_encoding_add(mixed, positions, &to);
}

/* Applies an encoding by a tile, with a gate. */
static posenc_status apply(const posenc_encoding *e, const void *data, posenc_coord_type type) {
    posenc_coords at = posenc_coords_of(data, type);
    posenc_view to = posenc_view_dense(y, POSENC_BF16, DIM, TOKENS, 1, 1), gate = dense(z, TOKENS, 1);
    return posenc_encoding_apply(e, &at, &to, &gate, &to, posenc_range_all());
}

static posenc_status apply_mixed(void) {
    return apply(mixed, many, POSENC_COORD_I64);
}

static posenc_status apply_sinusoid(void) {
    return apply(sinusoid, real, POSENC_COORD_F64);
}

static posenc_status apply_fourier(void) {
    return apply(fourier, singles, POSENC_COORD_F32);
}

static posenc_status apply_gaussian(void) {
    return apply(gaussian, real, POSENC_COORD_F64);
}

static posenc_status apply_bits(void) {
    return apply(bits, many, POSENC_COORD_I64);
}

static posenc_status apply_integers(void) {
    return apply(integers, many, POSENC_COORD_I64);
}

static posenc_status apply_learned(void) {
    return apply(learned, many, POSENC_COORD_I64);
}

static posenc_status check_positions(void) {
    posenc_coords at = posenc_coords_of(many, POSENC_COORD_I64);
    int64_t row;
    return posenc_encoding_check(learned, &at, TOKENS, 1, &row);
}

static posenc_status shift_matrix(void) {
    posenc_view m = dense(y, DIM, 1);
    return posenc_sinusoidal_shift(sinusoid, 3, &m);
}

static posenc_status gate_gradient(void) {
    posenc_view e = dense(x, TOKENS, 1), gate = posenc_view_dense(weights, POSENC_F32, 1, TOKENS, 1, 1);
    posenc_view of_gate = posenc_view_dense(y, POSENC_F32, 1, TOKENS, 1, 1), of_e = dense(z, TOKENS, 1);
    return posenc_gate_backward(&e, &gate, &e, &of_gate, &of_e, posenc_range_all());
}

static posenc_status learned_gradient(void) {
    posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS;
    posenc_coords at = posenc_coords_of(many, POSENC_COORD_I64);
    posenc_view dy = posenc_view_dense(x, POSENC_BF16, DIM, TOKENS, 1, 1), of_table = dense(y, KEYS, 1);
    return posenc_learned_backward(&lookup, &at, &dy, &of_table, posenc_range_all());
}

static posenc_status resize_table(void) {
    posenc_view from = posenc_view_dense(x, POSENC_F16, DIM, 1 + 36, 1, 1),
                to = posenc_view_dense(y, POSENC_F16, DIM, 1 + 100, 1, 1);
    return posenc_table_resize(&resize, &from, &to, posenc_range_all());
}

static posenc_status resize_gradient(void) {
    posenc_view from = posenc_view_dense(x, POSENC_F16, DIM, 1 + 100, 1, 1), to = dense(y, 1 + 36, 1);
    return posenc_table_resize_backward(&resize, &from, &to);
}

static posenc_status convolve(void) {
    posenc_view from = posenc_view_dense(x, POSENC_F16, DIM, 37, 1, 1), to = from;
    to.data = y;
    return posenc_conv_apply(conv, grid, &from, &to, posenc_range_all());
}

static posenc_status convolve_back(void) {
    posenc_view from = posenc_view_dense(x, POSENC_F16, DIM, 37, 1, 1), to = from;
    to.data = y;
    return posenc_conv_backward_input(conv, grid, &from, &to, posenc_range_all());
}

static posenc_status tap_gradients(void) {
    posenc_view from = dense(x, 37, 1);
    return posenc_conv_backward_weights(conv, grid, &from, &from, y, z, posenc_range_all());
}

static posenc_status convolve_groups(void) {
    posenc_view from = posenc_view_dense(x, POSENC_F16, DIM, 37, 1, 1), to = from;
    to.data = y;
    return posenc_grouped_conv_apply(grouped, &from, &to, posenc_range_all());
}

static posenc_status convolve_groups_back(void) {
    posenc_view from = posenc_view_dense(x, POSENC_F16, DIM, 37, 1, 1), to = from;
    to.data = y;
    return posenc_grouped_conv_backward_input(grouped, &from, &to, posenc_range_all());
}

static posenc_status group_gradients(void) {
    posenc_view from = dense(x, 37, 1);
    return posenc_grouped_conv_backward_weights(grouped, &from, &from, y, z, posenc_range_all());
}

static posenc_status fill_normal(void) {
    posenc_view to = posenc_view_dense(y, POSENC_F16, DIM, KEYS, 1, 1);
    return posenc_fill_normal(1, 0.0, 1.0, &to, posenc_range_all());
}

static posenc_status fill_uniform(void) {
    posenc_view to = posenc_view_dense(y, POSENC_F16, DIM, KEYS, 1, 1);
    return posenc_fill_uniform(1, 0.0, 1.0, &to, posenc_range_all());
}

/* ---- Positions ---- */

static int32_t ids[4 * KEYS];

static posenc_status count_range(void) {
    return posenc_positions_range(0, KEYS, ids);
}

static posenc_status count_packed(void) {
    static const int32_t starts[] = {0, 200, KEYS};
    return posenc_positions_packed(starts, NULL, 2, ids);
}

static posenc_status count_masked(void) {
    return posenc_positions_masked(bytes, KEYS, 1, 0, 0, ids);
}

static posenc_status count_documents(void) {
    return posenc_positions_documents(positions, KEYS, ids);
}

static posenc_status count_grid(void) {
    static const int64_t sizes[] = {5, 4, 6, 5};
    return posenc_positions_grid(sizes, 4, ids);
}

/* ---- Calls that read rows ---- */

static posenc_status similarity(void) {
    posenc_view e = dense(x, 128, 1), to = posenc_view_dense(y, POSENC_F32, 128, 128, 1, 1);
    return posenc_cosine_similarity(&e, 0.0, &to, posenc_range_all());
}

static posenc_status profile(void) {
    posenc_view e = dense(x, 128, 1);
    return posenc_similarity_profile(&e, 3, 0.0, 100, y);
}

static posenc_status progression(void) {
    posenc_view e = dense(x, 128, 1);
    posenc_progression result;
    return posenc_check_progression(&e, 1, 2, 0.0, 0.0, &result);
}

static posenc_status dots(void) {
    return posenc_dot_by_offset(freq, positions, KEYS, doubles);
}

static posenc_status distances(void) {
    return posenc_alias_distance(freq, positions, KEYS, doubles);
}

static posenc_status report(void) {
    posenc_frequency result[TOKENS];
    return posenc_frequency_report(real, TOKENS, 4096.0, result);
}

const stack_call encoding_calls[] = {
    {"posenc_angle_rows", "", make_angles},
    {"posenc_rope_apply", "one axis", rotate_one},
    {"posenc_rope_apply", "f16", rotate_halves},
    {"posenc_rope_apply", "four axes", rotate_four},
    {"posenc_rope_apply_tensors", "norm, four axes", rotate_normed},
    {"posenc_rope_apply_tensors", "norm, four axes, Hadamard, Q4_0", rotate_into_blocks},
    {"posenc_rope_apply_tensors", "norm, four axes, Hadamard, Q8_0 in place", shift_blocks},
    {"posenc_dequantise", "f16", dequantise},
    {"posenc_hadamard", "f16", transform},
    {"posenc_rope_table_fill", "four axes", fill_table},
    {"posenc_rope_apply_at", "four axes, real", rotate_reals},
    {"posenc_rope_table_fill_at", "four axes, real", fill_table_with_reals},
    {"posenc_rope_apply_table", "four axes", rotate_by_table},
    {"posenc_encoding_write", "sinusoids", write_sinusoid},
    {"posenc_encoding_add", "of parts", add_mixed},
    {"posenc_encoding_apply", "of parts, bf16 and a gate", apply_mixed},
    {"posenc_encoding_apply", "sinusoids", apply_sinusoid},
    {"posenc_encoding_apply", "Fourier features", apply_fourier},
    {"posenc_encoding_apply", "Gaussian bumps", apply_gaussian},
    {"posenc_encoding_apply", "bits", apply_bits},
    {"posenc_encoding_apply", "integers", apply_integers},
    {"posenc_encoding_apply", "learned", apply_learned},
    {"posenc_encoding_check", "", check_positions},
    {"posenc_sinusoidal_shift", "", shift_matrix},
    {"posenc_gate_backward", "", gate_gradient},
    {"posenc_learned_backward", "bf16", learned_gradient},
    {"posenc_table_resize", "f16", resize_table},
    {"posenc_table_resize_backward", "f16", resize_gradient},
    {"posenc_conv_apply", "f16", convolve},
    {"posenc_conv_backward_input", "f16", convolve_back},
    {"posenc_conv_backward_weights", "", tap_gradients},
    {"posenc_grouped_conv_apply", "f16", convolve_groups},
    {"posenc_grouped_conv_backward_input", "f16", convolve_groups_back},
    {"posenc_grouped_conv_backward_weights", "", group_gradients},
    {"posenc_fill_normal", "f16", fill_normal},
    {"posenc_fill_uniform", "f16", fill_uniform},
    {"posenc_positions_range", "", count_range},
    {"posenc_positions_packed", "", count_packed},
    {"posenc_positions_masked", "", count_masked},
    {"posenc_positions_documents", "", count_documents},
    {"posenc_positions_grid", "", count_grid},
    {"posenc_cosine_similarity", "", similarity},
    {"posenc_similarity_profile", "", profile},
    {"posenc_check_progression", "", progression},
    {"posenc_dot_by_offset", "", dots},
    {"posenc_alias_distance", "", distances},
    {"posenc_frequency_report", "", report},
};
const size_t n_encoding_calls = sizeof encoding_calls / sizeof encoding_calls[0];

/* ---- Set-up ---- */

static void set_up_ropes(void) {
    posenc_rope_params rope = POSENC_ROPE_DEFAULTS;
    rope.layout = POSENC_ROPE_HALF;
    rope.head_dim = rope.n_rot = DIM;
    truth_ok(posenc_rope_create(&rope, &one_axis));
    rope.axes = (posenc_rope_axes){POSENC_AXES_MROPE, 4, {32, 32, 32, 32}};
    truth_ok(posenc_rope_create(&rope, &four_axes));
    truth_ok(posenc_freq_create(10000.0, DIM, &freq));
    posenc_rope_table four = posenc_rope_table_dense(four_axes, table_rows);
    truth_ok(posenc_rope_table_fill(four_axes, positions, TOKENS, POSENC_FORWARD, &four));
}

/* Sets up encodings of parts: columns of a sinusoid that begin within a pair, a sum of two, and others. */
static void set_up_parts(void) {
    posenc_encoding *sum;
    posenc_part both[] = {{.encoding = sinusoid, .first = 3, .width = 101}, {.encoding = integers, .width = 101}};
    truth_ok(posenc_encoding_sum(both, 2, &sum));
    posenc_part parts[] = {
        {.encoding = sum}, {.encoding = learned, .width = 50}, {.encoding = bits, .width = 50}, {.width = DIM - 201}};
    truth_ok(posenc_encoding_concat(parts, 4, &mixed));
    posenc_encoding_free(sum);
}

void set_up_encodings(void) {
    truth_fill(weights, DIM);
    truth_fill(taps, DIM * 15 * 15);
    for (int t = 0; t < TOKENS; t++) {
        many[t] = t;
        real[t] = t + 0.25;
        singles[t] = (float)real[t];
        bytes[t] = t % 3 != 0;
    }
    set_up_ropes();
    posenc_sinusoidal_params sinusoidal = POSENC_SINUSOIDAL_DEFAULTS;
    sinusoidal.layout = POSENC_SINUSOIDAL_INTERLEAVED;
    sinusoidal.dim = DIM;
    truth_ok(posenc_sinusoidal_create(&sinusoidal, &sinusoid));
    posenc_fourier_params features = POSENC_FOURIER_DEFAULTS;
    features.n_features = DIM / 2;
    truth_ok(posenc_fourier_create(&features, &fourier));
    truth_ok(posenc_rbf_create(doubles, DIM, 1.0, &gaussian));
    truth_ok(posenc_bits_create(DIM, POSENC_BITS_GRAY, 0.0f, 1.0f, &bits));
    truth_ok(posenc_integer_create(DIM, KEYS, 2.0, &integers));
    posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS;
    posenc_view learnt = posenc_view_dense(rows, POSENC_F16, DIM, KEYS, 1, 1);
    truth_ok(posenc_learned_create(&learnt, &lookup, &learned));
    set_up_parts();
    const posenc_conv_params params = {DIM, 2, 15, 0, 1};
    truth_ok(posenc_conv_create(&params, taps, weights, &conv));
    const posenc_grouped_conv_params groups = {DIM, 16, 3, 1};
    truth_ok(posenc_grouped_conv_create(&groups, taps, weights, &grouped));
    resize = (posenc_resize_params)POSENC_RESIZE_DEFAULTS;
    resize.method = POSENC_RESIZE_CUBIC;
    resize.h_in = resize.w_in = 6;
    resize.h_out = resize.w_out = 10;
    resize.n_prefix = 1;
}

void tear_down_encodings(void) {
    posenc_encoding *all[] = {sinusoid, fourier, gaussian, bits, integers, learned, mixed};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        posenc_encoding_free(all[i]);
    posenc_conv_free(conv);
    posenc_grouped_conv_free(grouped);
    posenc_freq_free(freq);
    posenc_rope_free(one_axis);
    posenc_rope_free(four_axes);
}
