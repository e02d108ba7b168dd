/* Scalar ALiBi bias: the specification (FORMULAS C.3). */
#include <math.h>
#include <stdlib.h>

#include "kernels/variant.h"

void VARIANT(alibi_row)(const posenc_alibi_row_args *a) {
    for (size_t j = 0; j < a->n_allowed; j++) {
        int32_t distance = abs((int32_t)j - a->query);
        a->y[j] = -(a->slope * (float)distance);
    }
    for (size_t j = a->n_allowed; j < a->n; j++)
        a->y[j] = -INFINITY;
}
