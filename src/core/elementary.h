/* SPDX-License-Identifier: MIT */
/* Exponential and logarithm in double for set-up calls that make many values: a float32 comes out right where
 * double-double would take a second. IEEE operations only, so every machine gets the same bits; the system's libm is
 * not asked. */
#ifndef POSENC_ELEMENTARY_H
#define POSENC_ELEMENTARY_H

/* x 2^k, rounded once, for x that is 0 or has 2^-400 < |x| < 2^400: ldexp without its errno. */
double posenc_scale_by_power(double x, int k);

/* x > 0 is m 2^k with m in [sqrt(1/2), sqrt(2)), where logarithms by atanh converge: m, and k. */
double posenc_split_power(double x, int *k);

/* e^x for |x| <= 700, relative error below 2^-50. */
double posenc_exp_double(double x);

/* ln(1 + x) for 0 <= x <= 2^1000, relative error below 2^-50. */
double posenc_log1p_double(double x);

#endif
