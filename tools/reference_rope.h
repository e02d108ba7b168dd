/* What posenc_rope_params mean, found another way: frequencies of every scaling in fixed point, magnitudes in double
 * with libm, axes and xPos from their definitions (FORMULAS B.9-B.23). */
#ifndef POSENC_TOOLS_REFERENCE_ROPE_H
#define POSENC_TOOLS_REFERENCE_ROPE_H

#include <posenc/rope.h>

#include "reference.h"

typedef struct reference_rope reference_rope;

/* n_rot must stand in the parameters as it is. NULL without memory, and for NTK_LENGTH and GGML, which no published
 * file names. */
reference_rope *reference_rope_create(const posenc_rope_params *params);
void reference_rope_free(reference_rope *rope);

double reference_rope_magnitude(const reference_rope *rope);

/* Cosine and sine of pair i, of magnitude 1, at a token's positions (one for each axis); and what xPos multiplies the
 * pair by (1 without). */
void reference_rope_cos_sin(const reference_rope *rope, int64_t i, const int32_t *positions, double *cosine,
                            double *sine);
double reference_rope_growth(const reference_rope *rope, int64_t i, const int32_t *positions);

#endif
