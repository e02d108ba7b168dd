/* SPDX-License-Identifier: MIT */
/* Scalar RMS-norm: the specification. rope.c and convert.c apply the factors. */
#include <math.h>

#include "kernels/fma.h"
#include "kernels/half.h"
#include "kernels/variant.h"

static float sum_of_squares(const void *x, posenc_dtype type, size_t n) {
    float lanes[POSENC_SUM_LANES] = {0.0f};
    for (size_t i = 0; i < n; i++) {
        float value = posenc_load(x, i, type);
        lanes[i % POSENC_SUM_LANES] = posenc_fmaf(value, value, lanes[i % POSENC_SUM_LANES]);
    }
    for (size_t width = POSENC_SUM_LANES / 2; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++)
            lanes[k] += lanes[k + width];
    return lanes[0];
}

void VARIANT(rms_factors)(const posenc_rms_factors_args *a) {
    for (size_t h = 0; h < a->n_heads; h++) {
        const char *x = (const char *)a->x + (ptrdiff_t)h * a->x_stride;
        float mean = sum_of_squares(x, a->x_type, a->n) / (float)a->n;
        a->factors[h] = 1.0f / sqrtf(mean + a->eps);
    }
}
