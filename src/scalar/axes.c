/* SPDX-License-Identifier: MIT */
/* Scalar sum of row and column terms onto a row of scores: the specification. */
#include "kernels/variant.h"

void VARIANT(add_axes)(const posenc_add_axes_args *a) {
    for (size_t v = 0; v < a->height; v++)
        for (size_t u = 0; u < a->width; u++)
            a->y[v * a->width + u] = a->y[v * a->width + u] + a->by_row[v] + a->by_column[u];
}
