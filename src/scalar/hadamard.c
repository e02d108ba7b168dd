/* SPDX-License-Identifier: MIT */
/* Scalar Hadamard transform: the specification. */
#include "kernels/variant.h"

static void transform(float *x, size_t n, size_t size, float factor) {
    for (size_t distance = 1; distance < size; distance *= 2)
        for (size_t i = 0; i < n; i++) {
            if ((i & distance) != 0)
                continue;
            float first = x[i], second = x[i + distance];
            x[i] = first + second;
            x[i + distance] = first - second;
        }
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * factor;
}

void VARIANT(hadamard_rows)(const posenc_hadamard_args *a) {
    for (size_t r = 0; r < a->n_rows; r++)
        transform(a->x + (ptrdiff_t)r * a->stride, a->n, a->size, a->factor);
}
