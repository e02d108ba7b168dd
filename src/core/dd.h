/* SPDX-License-Identifier: MIT */
/* Double-double arithmetic for set-up: a value is hi + lo, |lo| <= ulp(hi)/2, about 104 bits. Only IEEE operations and
 * fma are used, so every machine gets the same bits. Algorithms: Dekker 1971, Knuth's two-sum; see docs/numerics.md.
 */
#ifndef POSENC_DD_H
#define POSENC_DD_H

/* Largest x of e^-x: for larger ones the low half would be denormal and lose bits. */
#define POSENC_DD_MAX_EXP 670.0

typedef struct posenc_dd {
    double hi, lo;
} posenc_dd;

posenc_dd posenc_dd_from(double x);
posenc_dd posenc_dd_add(posenc_dd a, posenc_dd b);
posenc_dd posenc_dd_sub(posenc_dd a, posenc_dd b);
posenc_dd posenc_dd_mul(posenc_dd a, posenc_dd b);
posenc_dd posenc_dd_div(posenc_dd a, posenc_dd b);

/* ln(x) and ln(a) for finite numbers above 0, and exp(a) for |a| <= POSENC_DD_MAX_EXP; relative error below 2^-95. */
posenc_dd posenc_dd_log(double x);
posenc_dd posenc_dd_log_of(posenc_dd a);
posenc_dd posenc_dd_exp(posenc_dd a);

/* base^(numerator/denominator), base > 0, denominator > 0. */
posenc_dd posenc_dd_pow(double base, double numerator, double denominator);

/* The nearest float, rounded once. */
float posenc_dd_to_float(posenc_dd a);

/* 1/pi. */
posenc_dd posenc_dd_inv_pi(void);

#endif
