/* SPDX-License-Identifier: MIT */
/* Frequencies and angles in MPFR: nothing here comes from the library. */
#ifndef TRUTH_MPFR_H
#define TRUTH_MPFR_H

#include <stdint.h>

#include <mpfr.h>

/* 2^31 * 65536 radians take 47 bits, the angle 256 more with plenty to spare. */
#define TRUTH_BITS 320

typedef struct truth_table {
    int64_t n;
    mpfr_t *theta; /* radians per position */
} truth_table;

/* theta_i = scale * base^(-i * numerator / denominator); FORMULAS B.1, A.1 and A.2 are cases of it. */
truth_table truth_powers(double scale, double base, int64_t numerator, int64_t denominator, int64_t n);
truth_table truth_values(const double *theta, int64_t n);
void truth_table_free(truth_table *table);

/* Cosine and sine of p * theta_i: exact to TRUTH_BITS, or rounded to double. */
void truth_angle(const truth_table *table, int64_t i, double p, mpfr_t cosine, mpfr_t sine);
void truth_angle_d(const truth_table *table, int64_t i, double p, double *cosine, double *sine);

/* |got - truth| in units of what angles.h allows: one ulp of the truth, or 2^-45 where that is larger. */
double truth_error(float got, const mpfr_t truth);

/* The largest error seen, and where. */
typedef struct truth_worst {
    double error;
    char where[160];
    long long n_compared;
} truth_worst;

/* Compares, and remembers the place if it is the worst so far. */
void truth_compare(truth_worst *worst, float got, const mpfr_t truth, const char *function, double p, const char *table,
                   int64_t i);

/* Reports the worst, and fails if it is more than is allowed. */
void truth_judge(const char *what, const truth_worst *worst);

/* Positions 1 .. 2^31-1 where the sine or the cosine comes closest to 0: denominators of the continued fraction of
 * theta / (pi/2). Returns how many, at most 64. */
int truth_near_zeros(const truth_table *table, int64_t i, int32_t positions[64]);

#endif
