/* Scalar RoPE: the specification. y0 = x0 cos - x1 sin, y1 = x1 cos + x0 sin (FORMULAS B.2, B.3). */
#include <math.h>

#include "kernels/variant.h"

static void rotate(const float *x, float *y, size_t first, size_t second, float c, float s) {
    float x0 = x[first];
    float x1 = x[second];
    y[first] = fmaf(x0, c, -(x1 * s));
    y[second] = fmaf(x1, c, x0 * s);
}

void VARIANT(rope_half)(const posenc_rope_args *a) {
    for (size_t h = 0; h < a->n_heads; h++) {
        const float *x = a->x + (ptrdiff_t)h * a->x_stride;
        float *y = a->y + (ptrdiff_t)h * a->y_stride;
        for (size_t i = 0; i < a->n; i++)
            rotate(x, y, i, i + a->half, a->cos_row[i], a->sin_row[i] * a->sin_sign);
    }
}

void VARIANT(rope_interleaved)(const posenc_rope_args *a) {
    for (size_t h = 0; h < a->n_heads; h++) {
        const float *x = a->x + (ptrdiff_t)h * a->x_stride;
        float *y = a->y + (ptrdiff_t)h * a->y_stride;
        for (size_t i = 0; i < a->n; i++)
            rotate(x, y, 2 * i, 2 * i + 1, a->cos_row[i], a->sin_row[i] * a->sin_sign);
    }
}
