/* ALiBi slopes. */
#include <posenc/alibi.h>

#include "dd.h"
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
