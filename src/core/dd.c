/* SPDX-License-Identifier: MIT */
/* Double-double arithmetic for set-up: sums, products, quotients, logarithm, exponential, powers. */
#include "core/dd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/elementary.h"
#include "kernels/fma.h"

static const posenc_dd ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const posenc_dd inv_pi = {0x1.45f306dc9c883p-2, -0x1.6b01ec5417056p-56};

/* a + b exactly, |a| >= |b|. */
static posenc_dd quick_two_sum(double a, double b) {
    double s = a + b;
    return (posenc_dd){s, b - (s - a)};
}

/* a + b exactly. */
static posenc_dd two_sum(double a, double b) {
    double s = a + b;
    double bb = s - a;
    return (posenc_dd){s, (a - (s - bb)) + (b - bb)};
}

posenc_dd posenc_dd_from(double x) {
    return (posenc_dd){x, 0.0};
}

posenc_dd posenc_dd_inv_pi(void) {
    return inv_pi;
}

posenc_dd posenc_dd_add(posenc_dd a, posenc_dd b) {
    posenc_dd s = two_sum(a.hi, b.hi);
    posenc_dd t = two_sum(a.lo, b.lo);
    s = quick_two_sum(s.hi, s.lo + t.hi);
    return quick_two_sum(s.hi, s.lo + t.lo);
}

posenc_dd posenc_dd_sub(posenc_dd a, posenc_dd b) {
    return posenc_dd_add(a, (posenc_dd){-b.hi, -b.lo});
}

posenc_dd posenc_dd_mul(posenc_dd a, posenc_dd b) {
    double p = a.hi * b.hi;
    double e = posenc_fma(a.hi, b.hi, -p);
    e += a.hi * b.lo + a.lo * b.hi;
    return quick_two_sum(p, e);
}

posenc_dd posenc_dd_div(posenc_dd a, posenc_dd b) {
    double q1 = a.hi / b.hi;
    posenc_dd r = posenc_dd_add(a, posenc_dd_mul(b, posenc_dd_from(-q1)));
    double q2 = r.hi / b.hi;
    r = posenc_dd_add(r, posenc_dd_mul(b, posenc_dd_from(-q2)));
    double q3 = r.hi / b.hi;
    posenc_dd q = quick_two_sum(q1, q2);
    return posenc_dd_add(q, posenc_dd_from(q3));
}

posenc_dd posenc_dd_log(double x) {
    /* x = m 2^k; ln m = 2 atanh(s), s = (m-1)/(m+1), |s| < 0.172. */
    int k;
    double m = posenc_split_power(x, &k);
    posenc_dd s = posenc_dd_div(posenc_dd_from(m - 1.0), two_sum(m, 1.0));
    posenc_dd s2 = posenc_dd_mul(s, s);

    posenc_dd sum = posenc_dd_from(0.0);
    for (int n = 41; n >= 1; n -= 2) /* s^42 < 2^-106 */
        sum = posenc_dd_add(posenc_dd_mul(sum, s2), posenc_dd_div(posenc_dd_from(2.0), posenc_dd_from(n)));
    return posenc_dd_add(posenc_dd_mul(s, sum), posenc_dd_mul(ln2, posenc_dd_from(k)));
}

posenc_dd posenc_dd_log_of(posenc_dd a) {
    /* ln(hi + lo) = ln hi + ln(1 + lo/hi); the latter's square term is below 2^-106. */
    return posenc_dd_add(posenc_dd_log(a.hi), posenc_dd_from(a.lo / a.hi));
}

posenc_dd posenc_dd_exp(posenc_dd a) {
    /* a = k ln 2 + r with |r| <= 0.35; Taylor: 0.35^26/26! < 2^-120. */
    double k = rint(a.hi / ln2.hi);
    posenc_dd r = posenc_dd_add(a, posenc_dd_mul(ln2, posenc_dd_from(-k)));

    posenc_dd sum = posenc_dd_from(1.0);
    for (int n = 25; n >= 1; n--)
        sum = posenc_dd_add(posenc_dd_from(1.0), posenc_dd_mul(sum, posenc_dd_div(r, posenc_dd_from(n))));
    return (posenc_dd){posenc_scale_by_power(sum.hi, (int)k), posenc_scale_by_power(sum.lo, (int)k)};
}

posenc_dd posenc_dd_pow(double base, double numerator, double denominator) {
    posenc_dd e = posenc_dd_mul(posenc_dd_log(base), posenc_dd_from(numerator));
    return posenc_dd_exp(posenc_dd_div(e, posenc_dd_from(denominator)));
}

float posenc_dd_to_float(posenc_dd a) {
    /* Rounds to the odd one of the doubles next to a first: no number halfway between two floats is odd. */
    uint64_t bits;
    memcpy(&bits, &a.hi, sizeof bits);
    if (a.lo != 0.0 && bits % 2 == 0)
        bits += (a.lo > 0.0) == (a.hi > 0.0) ? 1 : UINT64_MAX;
    memcpy(&a.hi, &bits, sizeof a.hi);
    return (float)a.hi;
}
