/* SPDX-License-Identifier: MIT */
/* Calls on data: lines, the tables and numbers they are made of, and their gradients. */
#include "truth_stack.h"

#include "core/for_python.h"

enum { OFFSETS = 5000, ROWS = 32, SIDE = 7, WINDOW = SIDE * SIDE };

static float slopes[HEADS], numbers[HEADS], more[HEADS];
static const double omegas[HEADS] = {0.5, 0.25, 0.125, 1.0};
static int32_t buckets[OFFSETS];
static const posenc_t5_params t5 = POSENC_T5_ENCODER;
static const posenc_rel_bias rel_bias = {y, -OFFSETS / 2, OFFSETS, HEADS, OFFSETS, 0};
static const posenc_rel_index rel_index = {buckets, -OFFSETS / 2, OFFSETS, ROWS};
static const posenc_bias_table table = {z, ROWS, HEADS, HEADS, 1};
static const posenc_bias_table of_window = {z, (2 * SIDE - 1) * (2 * SIDE - 1), HEADS, HEADS, 1};
static const posenc_kerple kerple = {POSENC_KERPLE_POWER, slopes, slopes, 0.01f};

static posenc_status make_slopes(void) {
    return posenc_alibi_slopes(3, 8.0, numbers);
}

static posenc_status make_plain_slopes(void) {
    return posenc_alibi_slopes_plain(3, 8.0, numbers);
}

static posenc_status make_one_row(void) {
    posenc_view bias = posenc_view_dense(y, POSENC_F32, KEYS, 1, HEADS, 1);
    return posenc_alibi_row(slopes, POSENC_ALIBI_ROW_FROM_LAST, NULL, &bias);
}

static posenc_status line_of_slopes(void) {
    return posenc_rel_bias_alibi(slopes, &rel_bias);
}

static posenc_status range_of_rel_bias(void) {
    int64_t first, n;
    return posenc_rel_bias_range(posenc_mask_causal(), 0, KEYS, KEYS, &first, &n);
}

static posenc_status mask_rel_bias(void) {
    return posenc_rel_bias_mask(posenc_mask_causal(), &rel_bias);
}

static posenc_status gather_rel_bias(void) {
    return posenc_rel_bias_gather(&rel_index, &table, 1.0f, &rel_bias);
}

static posenc_status bucket(void) {
    int32_t found;
    return posenc_t5_bucket(&t5, -100, &found);
}

static posenc_status t5_index(void) {
    return posenc_rel_index_t5(&t5, &rel_index);
}

static posenc_status deberta_index(void) {
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 256, 512);
    posenc_rel_index wide = rel_index;
    return posenc_rel_index_fill(&rule, &wide);
}

static posenc_status line_of_kerple(void) {
    return posenc_rel_bias_kerple(&kerple, &rel_bias);
}

static posenc_status line_of_bumps(void) {
    return posenc_rel_bias_rbf(slopes, &rel_bias);
}

static posenc_status line_of_sandwich(void) {
    const posenc_sandwich scheme = POSENC_SANDWICH_DEFAULTS;
    return posenc_rel_bias_sandwich(&scheme, &rel_bias);
}

static posenc_status line_of_cosines(void) {
    return posenc_rel_bias_cosine(omegas, omegas, slopes, &rel_bias);
}

/* ---- Images ---- */

static posenc_status window_index(void) {
    return posenc_swin_index(SIDE, SIDE, buckets);
}

static posenc_status window_bias(void) {
    posenc_view bias = posenc_view_dense(y, POSENC_F32, WINDOW, WINDOW, HEADS, 1);
    return posenc_swin_bias(SIDE, SIDE, &of_window, &bias);
}

static posenc_status window_coords(void) {
    return posenc_swin_v2_coords(SIDE, SIDE, SIDE, SIDE, y);
}

static posenc_status window_scale(void) {
    return posenc_swin_v2_scale(x, KEYS, y);
}

static posenc_status rows_of_axis(void) {
    posenc_view from = dense(x, 20, 1), to = posenc_view_dense(y, POSENC_F32, DIM, 14, 7, 1);
    return posenc_decomposed_rows(&from, &to);
}

static posenc_status add_axes(void) {
    posenc_view by_row = posenc_view_dense(x, POSENC_F32, 20, TOKENS, HEADS, 1),
                by_column = posenc_view_dense(z, POSENC_F32, 30, TOKENS, HEADS, 1),
                scores = posenc_view_dense(y, POSENC_F32, 600, TOKENS, HEADS, 1);
    return posenc_decomposed_add(&by_row, &by_column, &scores, posenc_range_all());
}

/* ---- Gradients ---- */

static posenc_status sum_rel_bias(void) {
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_view ds = posenc_view_dense(x, POSENC_F32, KEYS, 10, HEADS, 1);
    return posenc_rel_bias_backward(&params, &ds, &rel_bias);
}

static posenc_status sum_line_at_positions(void) {
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.queries = params.positions.keys = positions;
    posenc_view ds = posenc_view_dense(x, POSENC_F32, KEYS, 10, HEADS, 1);
    return posenc_rel_bias_backward(&params, &ds, &rel_bias);
}

static posenc_status sum_table(void) {
    return posenc_bias_table_backward(&rel_index, &rel_bias, 1.0f, &table);
}

static posenc_status sum_slopes(void) {
    return posenc_alibi_backward(&rel_bias, numbers);
}

static posenc_status sum_kerple(void) {
    return posenc_kerple_backward(&kerple, POSENC_CLAMPED_STOPS, &rel_bias, numbers, more);
}

static posenc_status sum_window(void) {
    posenc_view ds = posenc_view_dense(x, POSENC_F32, WINDOW, WINDOW, HEADS, 1);
    return posenc_swin_backward(SIDE, SIDE, &ds, &of_window);
}

const stack_call rel_bias_calls[] = {
    {"posenc_alibi_slopes", "", make_slopes},
    {"posenc_alibi_slopes_plain", "", make_plain_slopes},
    {"posenc_alibi_row", "", make_one_row},
    {"posenc_rel_bias_alibi", "", line_of_slopes},
    {"posenc_rel_bias_range", "", range_of_rel_bias},
    {"posenc_rel_bias_mask", "", mask_rel_bias},
    {"posenc_t5_bucket", "", bucket},
    {"posenc_swin_index", "", window_index},
    {"posenc_rel_index_t5", "", t5_index},
    {"posenc_rel_bias_gather", "", gather_rel_bias}, /* of these buckets */
    {"posenc_rel_bias_kerple", "", line_of_kerple},
    {"posenc_rel_bias_rbf", "", line_of_bumps},
    {"posenc_rel_bias_sandwich", "", line_of_sandwich},
    {"posenc_rel_bias_cosine", "", line_of_cosines},
    {"posenc_swin_bias", "", window_bias},
    {"posenc_swin_v2_coords", "", window_coords},
    {"posenc_swin_v2_scale", "", window_scale},
    {"posenc_decomposed_rows", "", rows_of_axis},
    {"posenc_decomposed_add", "", add_axes},
    {"posenc_rel_bias_backward", "", sum_rel_bias},
    {"posenc_rel_bias_backward", "positions", sum_line_at_positions},
    {"posenc_bias_table_backward", "", sum_table},
    {"posenc_alibi_backward", "", sum_slopes},
    {"posenc_kerple_backward", "", sum_kerple},
    {"posenc_swin_backward", "", sum_window},
    {"posenc_rel_index_fill", "", deberta_index},
};
const size_t n_rel_bias_calls = sizeof rel_bias_calls / sizeof rel_bias_calls[0];

void set_up_rel_bias(void) {
    truth_ok(posenc_alibi_slopes(HEADS, 8.0, slopes));
}
