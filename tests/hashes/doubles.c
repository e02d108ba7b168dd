/* SPDX-License-Identifier: MIT */
/* Hashes of what a result rounded to float32 hides but once in 2^28 values: double arithmetic. Two families are of
 * private functions, which tables, lines and slopes are made of; one is of public calls next to zeros of cosines. */
#include "public.h"

#include "core/elementary.h"
#include "fused_cases.h"
#include "kernels/fma.h"

/* ---- Fused multiply-add: the instruction where there is one, and the functions that replace it ---- */

void hash_fused(sweep *s) {
    for (int round = 0; round < 100000; round++) {
        double a, b, c;
        fused_doubles(&s->random, round, &a, &b, &c);
        const double results[] = {posenc_fma(a, b, c), posenc_fma_exact(a, b, c)};
        hash_doubles(&s->hash, results, COUNT(results));
        float x, y, z;
        fused_floats(&s->random, round, &x, &y, &z);
        const float in_float[] = {posenc_fmaf(x, y, z), posenc_fmaf_exact(x, y, z)};
        hash_floats(&s->hash, in_float, COUNT(in_float));
    }
}

/* ---- Arithmetic of set-up ---- */

void hash_dd(sweep *s, posenc_dd a) {
    const double halves[] = {a.hi, a.lo};
    hash_doubles(&s->hash, halves, 2);
}

static posenc_dd any_dd(sweep *s, int exponent) {
    double hi = ldexp(even(s, 1.0), exponent), lo = even(s, 1.0) * 0x1p-54 * hi;
    return posenc_dd_add(posenc_dd_from(hi), posenc_dd_from(lo));
}

void hash_double_double(sweep *s) {
    for (int round = 0; round < 5000; round++) {
        posenc_dd a = any_dd(s, round % 60 - 30), b = any_dd(s, round % 7), exponent = any_dd(s, round % 10);
        hash_dd(s, posenc_dd_add(a, b));
        hash_dd(s, posenc_dd_sub(a, b));
        hash_dd(s, posenc_dd_mul(a, b));
        hash_dd(s, posenc_dd_div(a, b));
        hash_dd(s, posenc_dd_exp(exponent));
        hash_dd(s, posenc_dd_log(fabs(a.hi)));
        hash_dd(s, posenc_dd_pow(fabs(a.hi), b.hi, 64.0));
        float nearest = posenc_dd_to_float(a);
        hash_floats(&s->hash, &nearest, 1);
    }
    for (int i = 0; i < 400; i++) { /* exact results, and zeros of either sign */
        posenc_dd a = posenc_dd_from(i / 20 - 10.0), b = posenc_dd_from(i % 20 - 9.5);
        hash_dd(s, posenc_dd_add(a, b));
        hash_dd(s, posenc_dd_sub(a, b));
        hash_dd(s, posenc_dd_mul(a, b));
        hash_dd(s, posenc_dd_div(posenc_dd_mul(a, b), b));
    }
    hash_dd(s, posenc_dd_inv_pi());
}

void hash_elementary(sweep *s) {
    for (int round = 0; round < 20000; round++) {
        double x = even(s, 700.0), y = fabs(ldexp(even(s, 1.0), round % 200 - 60));
        const double results[] = {posenc_exp_double(x), posenc_log1p_double(y),
                                  posenc_scale_by_power(x, round % 2200 - 1100)};
        hash_doubles(&s->hash, results, COUNT(results));
    }
}

/* ---- Next to zeros ---- */

/* Angles that are multiples of pi/4, but for the rounding of pi. */
static void hash_rows_at_zeros(sweep *s) {
    enum { PAIRS = 12, TOKENS = 40 };
    double theta[PAIRS];
    for (int i = 0; i < PAIRS; i++)
        theta[i] = ldexp(3.14159265358979323846, -i);
    posenc_freq *freq;
    CALL(posenc_freq_create_values, theta, PAIRS, &freq);
    int32_t *positions = integers(s, TOKENS, INT32_MIN, INT32_MAX);
    float cosines[TOKENS * PAIRS], sines[TOKENS * PAIRS];
    for (int t = 0; t < TOKENS; t++) /* multiples of powers of two */
        positions[t] &= -(1 << t % PAIRS);
    CALL(posenc_angle_rows, freq, positions, TOKENS, cosines, sines, PAIRS);
    hash_floats(&s->hash, cosines, COUNT(cosines));
    hash_floats(&s->hash, sines, COUNT(sines));
    posenc_freq_free(freq);
}

static void hash_rel_bias_at_zeros(sweep *s) {
    enum { HEADS = 12 };
    double omega[HEADS], phi[HEADS];
    for (int h = 0; h < HEADS; h++) {
        omega[h] = 3.14159265358979323846 / (1 + h % 6);
        phi[h] = h < 6 ? omega[h] / 2.0 : omega[h];
    }
    posenc_rel_bias rel_bias = rel_bias_of(-500, 1001, HEADS);
    CALL(posenc_rel_bias_cosine, omega, phi, NULL, &rel_bias);
    hash_rel_bias(s, &rel_bias);
}

static void hash_sinusoids_at_zeros(sweep *s) {
    enum { TOKENS = 500 };
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = POSENC_SINUSOIDAL_INTERLEAVED;
    params.dim = 2;
    posenc_encoding *e;
    CALL(posenc_sinusoidal_create, &params, &e);
    double *positions = take(TOKENS * sizeof(double));
    for (int t = 0; t < TOKENS; t++)
        positions[t] = 1.57079632679489661923 * (double)between(s, -(1 << 30), 1 << 30);
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_F64);
    posenc_view y = zeros(POSENC_F32, 2, TOKENS, 1, 1);
    CALL(posenc_encoding_apply, e, &at, NULL, NULL, &y, posenc_range_all());
    hash_view(s, &y);
    posenc_encoding_free(e);
}

void hash_zeros_of_cosines(sweep *s) {
    fresh();
    hash_rows_at_zeros(s);
    hash_rel_bias_at_zeros(s);
    hash_sinusoids_at_zeros(s);
}
