/* SPDX-License-Identifier: MIT */
/* RoPE once more, in plain doubles with angles from MPFR: FORMULAS B.1-B.6, B.8, B.14, B.19-B.23, B.26-B.31 and E.3.
 * Scaled frequencies have tests of their own (test_rope_scaling.c).
 *
 * Bounds. u = 2^-24, f the factor on cosine and sine: magnitude times xPos growth, 1 without either. The library makes
 * f cos a and f sin a in double, off by far less than u f, and rounds once to float32: each is off by u f at most, with
 * f = 1 too. y0 = fma(x0, c, -(x1 s)) rounds a product and a sum, so
 *     |error of y0| <= u f (|x0| + |x1|) + u |x1 s| + u |y0|, y1 alike, up to terms in u^2.
 * With r = |(x0, x1)|: |x0| + |x1| <= sqrt(2) r, the others at most f r: at most 3.42 u f r per component and
 * sqrt(2) * 3.42 u f r < 5 u f r for the pair as a vector. This is TURN, for one rotation of factor 1; k rotations in a
 * row add up to k TURN.
 */
#ifndef TRUTH_REFERENCE_H
#define TRUTH_REFERENCE_H

#include "truth_mpfr.h"
#include "truth_rope.h"
#include "truth_view.h"

#define TRUTH_TURN (5.0 * TRUTH_U * TRUTH_SECOND_ORDER)

typedef struct truth_reference {
    posenc_rope_params params;
    truth_table theta; /* of each pair */
    int *axis;         /* whose position it follows */
} truth_reference;

truth_reference truth_reference_new(const posenc_rope_params *params);
void truth_reference_free(truth_reference *reference);

/* Every element of y against the x that was; positions are planes of y->ne[2]. */
void truth_reference_check(const truth_reference *reference, const truth_tensor *x, const posenc_view *y,
                           const int32_t *positions, posenc_direction direction);

/* Checks at real positions, planes for each batch, one behind the other. */
void truth_reference_check_at(const truth_reference *reference, const truth_tensor *x, const posenc_view *y,
                              const double *positions, posenc_direction direction);

#endif
