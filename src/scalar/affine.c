/* SPDX-License-Identifier: MIT */
/* Scalar affine function of a row: the specification. */
#include <math.h>

#include "kernels/fma.h"
#include "kernels/variant.h"

void VARIANT(affine_row)(const posenc_affine_row_args *a) {
    for (size_t j = 0; j < a->n; j++) {
        float value = posenc_fmaf(a->a, a->x[j], a->b);
        a->y[j] = a->add ? a->y[j] + value : value;
    }
}
