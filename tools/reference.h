/* What the library ought to return, found another way: phases in fixed point, the rest in double with libm. */
#ifndef POSENC_TOOLS_REFERENCE_H
#define POSENC_TOOLS_REFERENCE_H

#include <stdint.h>

#include "fixed.h"

/* The angles of n pairs. Phases are reduced exactly to 2^-60 of a turn at any int32 position and any base up to 1e30;
 * cosines and sines come out within 2^-51 relative. */
typedef struct reference_angles {
    int64_t n;
    fixed turns[]; /* turns per position */
} reference_angles;

/* theta_i = base^(-2i/dim), for n pairs; NULL without memory. To be freed with free(). */
reference_angles *reference_angles_create(double base, int64_t dim, int64_t n);

/* The same numbers, for pairs first .. first + n - 1 of a table. */
void reference_fill(reference_angles *angles, int64_t first, int64_t n, double base, int64_t dim);

void reference_cos_sin(const reference_angles *angles, int64_t i, int32_t position, double *cosine, double *sine);

/* ALiBi's published slope of head h. */
double reference_slope(int64_t n_heads, double max_bias, int64_t h);

/* probabilities[0 .. n_allowed-1] of scale * x[j] - slope * |query - j|. */
void reference_softmax(const float *x, int64_t n_allowed, int32_t query, float scale, float slope,
                       double *probabilities);

#endif
