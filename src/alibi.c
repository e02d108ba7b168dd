/* ALiBi: slopes, and the bias written out. */
#include <posenc/alibi.h>

#include <math.h>

#include "dd.h"
#include "kernels/kernels.h"
#include "scores.h"
#include "view.h"

#define MAX_HEADS ((int64_t)1 << 20)
#define MAX_MAX_BIAS 100.0

static posenc_status check_slopes_call(int64_t n_heads, double max_bias, const float *slopes) {
    if (n_heads < 1 || n_heads > MAX_HEADS)
        return POSENC_ERR_N_HEADS;
    if (!(max_bias >= 0.0 && max_bias <= MAX_MAX_BIAS))
        return POSENC_ERR_SCALE;
    if (slopes == NULL)
        return POSENC_ERR_NULL;
    return posenc_is_aligned(slopes, 4) ? POSENC_OK : POSENC_ERR_STRIDE;
}

/* 2^(-max_bias * numerator / denominator) */
static float slope(double max_bias, int64_t numerator, int64_t denominator) {
    return (float)posenc_dd_pow(2.0, -max_bias * (double)numerator, (double)denominator).hi;
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

static posenc_status check_bias_call(const float *slopes, posenc_mask mask, int64_t q_off, const posenc_view *bias,
                                     posenc_rows *rows) {
    posenc_status status = posenc_check_output(bias);
    if (status == POSENC_OK)
        status = posenc_require_f32(bias);
    if (status == POSENC_OK)
        status = posenc_check_scores(bias, mask, q_off);
    if (status == POSENC_OK)
        status = posenc_check_rows(rows, bias->ne[1] * bias->ne[2] * bias->ne[3]);
    if (status == POSENC_OK && slopes == NULL && bias->ne[2] > 0)
        status = POSENC_ERR_NULL;
    if (status == POSENC_OK)
        status = posenc_check_slopes(slopes, bias->ne[2]);
    return status;
}

posenc_status posenc_alibi_bias(const float *slopes, posenc_mask mask, int64_t q_off, const posenc_view *bias,
                                posenc_rows rows) {
    posenc_status status = check_bias_call(slopes, mask, q_off, bias, &rows);
    if (status != POSENC_OK || bias->ne[0] == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t row = rows.begin; row < rows.end; row++) {
        posenc_score_row at = posenc_score_row_at(bias, mask, q_off, row);
        posenc_alibi_row_args args = {
            .y = posenc_view_at(bias, at.query, at.head, at.batch),
            .n = (size_t)bias->ne[0],
            .n_allowed = at.n_allowed,
            .query = at.position,
            .slope = slopes[at.head],
        };
        kernels->alibi_row(&args);
    }
    return POSENC_OK;
}
