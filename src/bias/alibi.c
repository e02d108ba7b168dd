/* SPDX-License-Identifier: MIT */
/* ALiBi: slopes, the relative bias, and one row for all queries. */
#include <posenc/bias.h>

#include "bias/mask.h"
#include "bias/rel_bias.h"
#include "core/dd.h"
#include "core/view.h"
#include "kernels/half.h"

#define MAX_MAX_BIAS 100.0

static posenc_status check_slopes_call(int64_t n_heads, double max_bias, const float *slopes) {
    if (n_heads < 1 || n_heads > POSENC_MAX_HEADS)
        return POSENC_ERR_N_HEADS;
    if (!(max_bias >= 0.0 && max_bias <= MAX_MAX_BIAS))
        return POSENC_ERR_SCALE;
    return posenc_check_array(slopes, 4);
}

/* 2^(-max_bias * numerator / denominator) */
static float slope(double max_bias, int64_t numerator, int64_t denominator) {
    posenc_dd exponent = posenc_dd_mul(posenc_dd_from(-max_bias), posenc_dd_from((double)numerator)); /* exact */
    exponent = posenc_dd_div(posenc_dd_mul(posenc_dd_log(2.0), exponent), posenc_dd_from((double)denominator));
    return posenc_dd_to_float(posenc_dd_exp(exponent));
}

posenc_status posenc_alibi_slopes(int64_t n_heads, double max_bias, float *slopes) {
    posenc_status status = check_slopes_call(n_heads, max_bias, slopes);
    if (status != POSENC_OK)
        return status;
    int64_t power = 1;
    while (2 * power <= n_heads)
        power *= 2;
    for (int64_t h = 0; h < power; h++)
        slopes[h] = slope(max_bias, h + 1, power);
    for (int64_t h = power; h < n_heads; h++)
        slopes[h] = slope(max_bias, 2 * (h - power) + 1, 2 * power);
    return POSENC_OK;
}

posenc_status posenc_alibi_slopes_plain(int64_t n_heads, double max_bias, float *slopes) {
    posenc_status status = check_slopes_call(n_heads, max_bias, slopes);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h++)
        slopes[h] = slope(max_bias, h + 1, n_heads);
    return POSENC_OK;
}

/* ---- Relative biases and rows ---- */

static posenc_status check_slopes(const float *slopes, int64_t n_heads) {
    return posenc_check_numbers(slopes, n_heads, -(double)FLT_MAX, (double)FLT_MAX);
}

posenc_status posenc_rel_bias_alibi(const float *slopes, const posenc_rel_bias *rel_bias) {
    int64_t n_heads;
    posenc_status status = posenc_check_whole_rel_bias(rel_bias, &n_heads);
    if (status == POSENC_OK)
        status = check_slopes(slopes, n_heads);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t t = 0; t < rel_bias->n_offsets; t++)
            posenc_rel_bias_of_head(rel_bias, h)[t] = -(slopes[h] * (float)posenc_rel_bias_distance(rel_bias, t));
    return POSENC_OK;
}

static int counts(posenc_alibi_row_form form) {
    return form == POSENC_ALIBI_ROW_COUNTED || form == POSENC_ALIBI_ROW_COUNTED_BF16;
}

static posenc_status check_one_row(const float *slopes, posenc_alibi_row_form form, const uint8_t *keep,
                                   const posenc_view *bias) {
    posenc_status status = posenc_check_output_f32(bias);
    if (status != POSENC_OK)
        return status;
    if (form == POSENC_ALIBI_ROW_UNSET)
        return POSENC_ERR_UNSET;
    if ((unsigned)form > POSENC_ALIBI_ROW_COUNTED_BF16)
        return POSENC_ERR_ENUM;
    if (bias->ne[0] > POSENC_MAX_KEYS || bias->ne[1] > 1)
        return POSENC_ERR_SHAPE;
    if (posenc_view_count(bias) == 0)
        return POSENC_OK;
    if (counts(form) && keep == NULL)
        return POSENC_ERR_NULL;
    return check_slopes(slopes, bias->ne[2]);
}

/* slope * j, counted from `first`. */
static void write_one_row(float *row, int64_t n_k, int64_t first, float slope) {
    for (int64_t j = 0; j < n_k; j++)
        row[j] = slope * (float)(j - first);
}

/* Rounds to a type: bf16, or float32, which changes nothing. */
static float to_precision(float x, posenc_dtype type) {
    return type == POSENC_BF16 ? posenc_from_bf16(posenc_to_bf16(x)) : x;
}

/* The count of real keys before each real one, in the arithmetic of a type. */
static void write_counted(float *row, int64_t n_k, const uint8_t *keep, float slope, posenc_dtype type) {
    float factor = to_precision(slope, type);
    for (int64_t j = 0, n_before = 0; j < n_k; j++)
        row[j] = keep[j] ? to_precision(factor * to_precision((float)n_before++, type), type) : 0.0f;
}

posenc_status posenc_alibi_row(const float *slopes, posenc_alibi_row_form form, const uint8_t *keep,
                               const posenc_view *bias) {
    posenc_status status = check_one_row(slopes, form, keep, bias);
    if (status != POSENC_OK || posenc_view_count(bias) == 0)
        return status;
    int64_t n_k = bias->ne[0];
    for (int64_t b = 0; b < bias->ne[3]; b++)
        for (int64_t h = 0; h < bias->ne[2]; h++) {
            float *row = posenc_view_at(bias, 0, h, b);
            if (counts(form))
                write_counted(row, n_k, keep + b * n_k, slopes[h],
                              form == POSENC_ALIBI_ROW_COUNTED_BF16 ? POSENC_BF16 : POSENC_F32);
            else
                write_one_row(row, n_k, form == POSENC_ALIBI_ROW_FROM_LAST ? n_k - 1 : 0, slopes[h]);
        }
    return POSENC_OK;
}
