/* SIMD body of the RMS-norm; src/scalar/norm.c is the specification.
 * Needs: vec.h. Produces: rms_norm. Used by: avx2, avx512, neon. */
#include <math.h>

#include "kernels/typed.inc.h"
#include "kernels/variant.h"

enum { NORM_STEP = POSENC_SUM_LANES / VF };

/* Adds lane k and lane k + width for width = 16, 8, .. 1. */
V_INLINE float sum_float_lanes(vf *lanes) {
    for (int width = NORM_STEP / 2; width > 0; width /= 2)
        for (int k = 0; k < width; k++)
            lanes[k] = v_add(lanes[k], lanes[k + width]);
    return v_sum_lanes(lanes[0]);
}

V_INLINE float sum_of_squares(const void *x, size_t n, const posenc_dtype type) {
    vf lanes[NORM_STEP];
    for (int k = 0; k < NORM_STEP; k++)
        lanes[k] = v_set1(0.0f);
    size_t i = 0;
    for (; i + POSENC_SUM_LANES <= n; i += POSENC_SUM_LANES)
        for (int k = 0; k < NORM_STEP; k++) {
            vf value = v_keep(load_typed(x, i + (size_t)k * VF, VF, type));
            lanes[k] = v_fma(value, value, lanes[k]);
        }
    for (int k = 0; k < NORM_STEP && i < n; k++, i += VF) {
        vf value = load_typed(x, i, n - i < VF ? n - i : VF, type); /* lanes beyond are 0 and add 0 */
        lanes[k] = v_fma(value, value, lanes[k]);
    }
    return sum_float_lanes(lanes);
}

V_INLINE void norm_typed(const posenc_rms_norm_args *a, const posenc_dtype type) {
    const char *x = a->x;
    float *y = a->y;
    for (size_t h = 0; h < a->n_heads; h++) {
        float mean = sum_of_squares(x, a->n, type) / (float)a->n;
        vf inverse = v_set1(1.0f / sqrtf(mean + a->eps));
        size_t i = 0;
        for (; i + VF <= a->n; i += VF)
            v_store(y + i, v_mul(v_mul(load_typed(x, i, VF, type), inverse), v_load(a->weight + i)));
        if (i < a->n) {
            size_t n = a->n - i;
            v_store_n(y + i, v_mul(v_mul(load_typed(x, i, n, type), inverse), v_load_n(a->weight + i, n)), n);
        }
        x += a->x_stride;
        y += a->n;
    }
}

void VARIANT(rms_norm)(const posenc_rms_norm_args *args) {
    const posenc_rms_norm_args a = *args; /* a copy: no store changes it */
    switch (a.x_type) {
    case POSENC_F16: norm_typed(&a, POSENC_F16); break;
    case POSENC_BF16: norm_typed(&a, POSENC_BF16); break;
    default: norm_typed(&a, POSENC_F32); break;
    }
}
