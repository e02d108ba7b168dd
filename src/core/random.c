/* SPDX-License-Identifier: MIT */
/* Seeded initial values: splitmix64 of seed and place, so that any row can be filled alone. */
#include <posenc/learned.h>

#include <math.h>
#include <string.h>

#include "core/elementary.h"
#include "core/for_python.h"
#include "core/view.h"
#include "kernels/half.h"

#define LARGEST 1e30

/* splitmix64 (Steele, Lea, Flood 2014): the value after `place` + 1 steps from the seed. */
static uint64_t random_bits(uint64_t seed, uint64_t place) {
    uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Uniform number in (0, 1), symmetric about 1/2: the middle of one of 2^52 intervals. */
static double unit(uint64_t bits) {
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

/* ---- The normal distribution ---- */

/* ln x for x in (0, 1), within 2^-50 or so: libm's differs between systems. */
static double natural_log(double x) {
    int k;
    double m = posenc_split_power(x, &k);
    double s = (m - 1.0) / (m + 1.0), square = s * s, sum = 0.0;
    for (int n = 21; n >= 1; n -= 2) /* 2 atanh(s), |s| < 0.172 */
        sum = sum * square + 2.0 / n;
    return s * sum + (double)k * 0.69314718055994531;
}

static double polynomial(const double *c, int n, double x) {
    double sum = c[n - 1];
    for (int i = n - 2; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* The quantile of the normal distribution: Wichura, algorithm AS 241 (PPND16), Applied Statistics 37, 1988; relative
 * error below 1e-15. Without fma, as everything here, so that every machine rounds alike. */
static double normal_quantile(double p) {
    static const double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                               1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double b[] = {1.0,
                               4.2313330701600911252e+1,
                               6.8718700749205790830e+2,
                               5.3941960214247511077e+3,
                               2.1213794301586595867e+4,
                               3.9307895800092710610e+4,
                               2.8729085735721942674e+4,
                               5.2264952788528545610e+3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                               3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
    static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                               2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[] = {1.0,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15};
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(a, 8, r) / polynomial(b, 8, r);
    }
    double r = sqrt(-natural_log(q < 0.0 ? p : 1.0 - p));
    double z = r <= 5.0 ? polynomial(c, 8, r - 1.6) / polynomial(d, 8, r - 1.6)
                        : polynomial(e, 8, r - 5.0) / polynomial(f, 8, r - 5.0);
    return q < 0.0 ? -z : z;
}

/* ---- Filling ---- */

typedef struct distribution {
    int is_normal;
    double at, spread; /* mean and deviation; low end and width */
    double high;       /* of the interval */
} distribution;

static double draw(const distribution *d, uint64_t bits) {
    double u = unit(bits);
    if (d->is_normal)
        return d->at + d->spread * normal_quantile(u);
    double value = d->at + d->spread * u;
    return value < d->high ? value : d->high;
}

/* The nearest float; on the way to a half, the odd one of its two neighbours, so that the half is the nearest of x. */
static float narrowed(double x, posenc_dtype dtype) {
    float nearest = (float)x;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    if (dtype == POSENC_F32 || (double)nearest == x || bits & 1)
        return nearest;
    bits += fabs((double)nearest) < fabs(x) ? 1 : UINT32_MAX;
    memcpy(&nearest, &bits, sizeof nearest);
    return nearest;
}

static posenc_status fill(const distribution *d, uint64_t seed, const posenc_view *y, posenc_range rows) {
    posenc_status status = posenc_check_output(y);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, posenc_view_rows(y));
    if (status != POSENC_OK || posenc_view_count(y) == 0)
        return status;
    for (int64_t row = rows.begin; row < rows.end; row++) {
        int64_t i1 = row % y->ne[1], i2 = row / y->ne[1] % y->ne[2], i3 = row / y->ne[1] / y->ne[2];
        void *to = posenc_view_at(y, i1, i2, i3);
        for (int64_t i = 0; i < y->ne[0]; i++) {
            uint64_t place = (uint64_t)row * (uint64_t)y->ne[0] + (uint64_t)i;
            posenc_store(to, (size_t)i, narrowed(draw(d, random_bits(seed, place)), y->dtype), y->dtype);
        }
    }
    return POSENC_OK;
}

static int is_moderate(double x) {
    return fabs(x) <= LARGEST;
}

posenc_status posenc_fill_normal(uint64_t seed, double mean, double deviation, const posenc_view *y,
                                 posenc_range rows) {
    if (!is_moderate(mean) || !(deviation >= 0.0 && deviation <= LARGEST))
        return posenc_refused(POSENC_ERR_SCALE);
    distribution d = {.is_normal = 1, .at = mean, .spread = deviation};
    return fill(&d, seed, y, rows);
}

posenc_status posenc_fill_uniform(uint64_t seed, double low, double high, const posenc_view *y, posenc_range rows) {
    if (!is_moderate(low) || !is_moderate(high) || low > high)
        return posenc_refused(POSENC_ERR_SCALE);
    distribution d = {.at = low, .spread = high - low, .high = high};
    return fill(&d, seed, y, rows);
}

static double xavier(double numerator, int64_t fan_in, int64_t fan_out) {
    double fans = (double)fan_in + (double)fan_out;
    return fan_in < 0 || fan_out < 0 || fans == 0.0 ? 0.0 : sqrt(numerator / fans);
}

double posenc_xavier_uniform(int64_t fan_in, int64_t fan_out) {
    return xavier(6.0, fan_in, fan_out);
}

double posenc_xavier_normal(int64_t fan_in, int64_t fan_out) {
    return xavier(2.0, fan_in, fan_out);
}
