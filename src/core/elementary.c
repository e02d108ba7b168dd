/* SPDX-License-Identifier: MIT */
/* Exponential and logarithm in double, from IEEE operations alone. */
#include "core/elementary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LOG2E 0x1.71547652b82fep+0
#define LN2_HI 0x1.62e42fefap-1 /* 37 bits: its product with an exponent is exact */
#define LN2_LO 0x1.cf79abc9e3b3ap-40

/* 2^k for -1022 <= k <= 1023. */
static double power_of_two(int k) {
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

double posenc_scale_by_power(double x, int k) {
    k = k < -2040 ? -2040 : k > 2040 ? 2040 : k; /* 0 and infinity all the same */
    /* The first product is exact, or the second is 0 or infinite. */
    return x * power_of_two(k / 2) * power_of_two(k - k / 2);
}

double posenc_split_power(double x, int *k) {
    double m = frexp(x, k);
    if (m >= 0.70710678118654752)
        return m;
    *k -= 1;
    return 2.0 * m;
}

double posenc_exp_double(double x) {
    /* x = k ln 2 + r with |r| <= 0.35; Taylor: 0.35^14/14! < 2^-57. */
    double k = rint(x * LOG2E);
    double r = (x - k * LN2_HI) - k * LN2_LO;
    double sum = 1.0;
    for (int n = 13; n >= 1; n--)
        sum = 1.0 + sum * r / n;
    return posenc_scale_by_power(sum, (int)k);
}

/* ln((1 + s)/(1 - s)) = 2 (s + s^3/3 + s^5/5 + ...) for |s| < 0.172: s^24/25 < 2^-65. */
static double log_ratio(double s) {
    double z = s * s, sum = 0.0;
    for (int n = 23; n >= 3; n -= 2)
        sum = z * (sum + 1.0 / n);
    return 2.0 * (s + s * sum);
}

double posenc_log1p_double(double x) {
    if (x < 0.41421356237309503) /* sqrt(2) - 1 */
        return log_ratio(x / (2.0 + x));
    int k;
    double u = 1.0 + x, lost = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x), m = posenc_split_power(u, &k);
    return k * LN2_HI + (log_ratio((m - 1.0) / (m + 1.0)) + (k * LN2_LO + lost / u));
}
