#include "reference.h"

#include <math.h>
#include <stdlib.h>

#define TWO_PI 6.283185307179586476925

void reference_fill(reference_angles *angles, int64_t first, int64_t n, double base, int64_t dim) {
    fixed whole_base = fixed_from_double(base);
    fixed inverse = fixed_inverse(&whole_base);
    fixed root = fixed_root(&inverse, (uint64_t)dim); /* base^(-1/dim) */
    fixed ratio = fixed_mul(&root, &root);
    fixed turns = fixed_inverse_two_pi(); /* theta_0 is 1 */
    for (int64_t i = 0; i < n; i++) {
        angles->turns[first + i] = turns;
        turns = fixed_mul(&turns, &ratio);
    }
}

reference_angles *reference_angles_create(double base, int64_t dim, int64_t n) {
    reference_angles *angles = malloc(sizeof *angles + (size_t)n * sizeof angles->turns[0]);
    if (angles == NULL)
        return NULL;
    angles->n = n;
    reference_fill(angles, 0, n, base, dim);
    return angles;
}

/* The multiple of a quarter turn that is nearest, modulo 4; *rest is what remains, -1/8 .. 1/8 of a turn. */
static int nearest_quarter(const fixed *turns, double *rest) {
    fixed eighth = fixed_from_double(0.125);
    fixed shifted = fixed_add(turns, &eighth);
    uint32_t *top = &shifted.limb[FIXED_FRACTION - 1];
    int quarter = (int)(*top >> 30);
    *top &= 0x3fffffff;
    shifted = fixed_fraction(&shifted);
    int below = fixed_compare(&shifted, &eighth) < 0;
    fixed distance = below ? fixed_sub(&eighth, &shifted) : fixed_sub(&shifted, &eighth);
    *rest = below ? -fixed_to_double(&distance) : fixed_to_double(&distance);
    return quarter;
}

void reference_cos_sin(const reference_angles *angles, int64_t i, int32_t position, double *cosine, double *sine) {
    fixed steps = fixed_from_double(fabs((double)position));
    fixed turns = fixed_mul(&angles->turns[i], &steps);
    double rest;
    int quarter = nearest_quarter(&turns, &rest);
    double c = cos(TWO_PI * rest), s = sin(TWO_PI * rest);
    *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
    *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
    if (position < 0)
        *sine = -*sine;
}

double reference_slope(int64_t n_heads, double max_bias, int64_t h) {
    double power = exp2(floor(log2((double)n_heads)));
    double exponent = (double)h < power ? (double)(h + 1) / power : (2.0 * ((double)h - power) + 1.0) / (2.0 * power);
    return exp2(-max_bias * exponent);
}

void reference_softmax(const float *x, int64_t n_allowed, int32_t query, float scale, float slope,
                       double *probabilities) {
    double max = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < n_allowed; j++) {
        double distance = fabs((double)query - (double)j);
        probabilities[j] = (double)scale * (double)x[j] - (double)slope * distance;
        max = probabilities[j] > max ? probabilities[j] : max; /* fmax here crashes gcc 12 for aarch64 */
    }
    for (int64_t j = 0; j < n_allowed; j++) {
        probabilities[j] = exp(probabilities[j] - max);
        sum += probabilities[j];
    }
    for (int64_t j = 0; j < n_allowed; j++)
        probabilities[j] /= sum;
}
