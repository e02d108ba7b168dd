/* SPDX-License-Identifier: MIT */
/* SIMD body of the RMS-norm; src/scalar/norm.c is the specification.
 * Needs: vec.h. Produces: rms_factors. */
#include "vec.h"

#include "simd/typed.h"
#include "kernels/variant.h"

enum { NORM_STEP = POSENC_SUM_LANES / VF };

V_INLINE void add_vectors(vf *lanes, const int width) {
    for (int k = 0; k < width; k++)
        lanes[k] = v_add(lanes[k], lanes[k + width]);
}

/* Adds lane k and lane k + width for width = half of all lanes, .. 1. Not a loop: beside one gcc keeps the lanes in
 * memory. */
V_INLINE float sum_vectors(vf *lanes, const int n) {
    if (n >= 8)
        add_vectors(lanes, 4);
    if (n >= 4)
        add_vectors(lanes, 2);
    if (n >= 2)
        add_vectors(lanes, 1);
    return v_sum_lanes(lanes[0]);
}

/* has_tail: n is no multiple of the lanes. Constant, as the type is: beside code for tails the lanes would live in
 * memory. */
V_INLINE float sum_of_squares(const void *x, size_t n, const posenc_dtype type, const int has_tail) {
    vf lanes[NORM_STEP];
    for (int k = 0; k < NORM_STEP; k++)
        lanes[k] = v_set1(0.0f);
    size_t i = 0;
    for (; i + POSENC_SUM_LANES <= n; i += POSENC_SUM_LANES)
        for (int k = 0; k < NORM_STEP; k++) {
            vf value = v_keep(load_typed(x, i + (size_t)k * VF, VF, type));
            lanes[k] = v_fma(value, value, lanes[k]);
        }
    for (int k = 0; has_tail && k < NORM_STEP && i < n; k++, i += VF) {
        vf value = load_typed(x, i, lanes_from(i, n), type); /* lanes beyond are 0 and add 0 */
        lanes[k] = v_fma(value, value, lanes[k]);
    }
    return sum_vectors(lanes, NORM_STEP);
}

/* bf16 in pairs: even channels in one half of the lanes, odd ones in the other. In the canonical order the two meet in
 * the last addition. n is a multiple of the lanes. */
V_INLINE float sum_of_bf16_squares(const uint16_t *x, size_t n) {
    enum { STEP = NORM_STEP / 2 };
    vf even[NORM_STEP], odd[NORM_STEP];
    for (int k = 0; k < STEP; k++)
        even[k] = odd[k] = v_set1(0.0f);
    for (size_t i = 0; i < n; i += POSENC_SUM_LANES)
        for (int k = 0; k < STEP; k++) {
            vf first, second;
            v_load_bf16_pairs(x + i + 2 * (size_t)k * VF, VF, &first, &second);
            even[k] = v_fma(first, first, even[k]);
            odd[k] = v_fma(second, second, odd[k]);
        }
    return sum_vectors(even, STEP) + sum_vectors(odd, STEP);
}

V_INLINE void sums_of_squares(const posenc_rms_factors_args *a, const posenc_dtype type) {
    const char *x = a->x;
    if (a->n % POSENC_SUM_LANES == 0 && type == POSENC_BF16)
        for (size_t h = 0; h < a->n_heads; h++, x += a->x_stride)
            a->factors[h] = sum_of_bf16_squares((const uint16_t *)(const void *)x, a->n);
    else if (a->n % POSENC_SUM_LANES == 0)
        for (size_t h = 0; h < a->n_heads; h++, x += a->x_stride)
            a->factors[h] = sum_of_squares(x, a->n, type, 0);
    else
        for (size_t h = 0; h < a->n_heads; h++, x += a->x_stride)
            a->factors[h] = sum_of_squares(x, a->n, type, 1);
}

/* Sums to factors, a vector of heads at a time: divisions and roots are slow. */
V_INLINE void factors_of_sums(const posenc_rms_factors_args *a) {
    vf n = v_set1((float)a->n), eps = v_set1(a->eps), one = v_set1(1.0f);
    for (size_t h = 0; h < a->n_heads; h += VF) {
        size_t some = lanes_from(h, a->n_heads);
        vf sums = load_typed(a->factors, h, some, POSENC_F32);
        store_typed(a->factors, h, v_div(one, v_sqrt(v_add(v_div(sums, n), eps))), some, POSENC_F32);
    }
}

void VARIANT(rms_factors)(const posenc_rms_factors_args *args) {
    const posenc_rms_factors_args a = *args; /* a copy: no store changes it */
    switch (a.x_type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: sums_of_squares(&a, POSENC_F32); break;
    case POSENC_F16: sums_of_squares(&a, POSENC_F16); break;
    case POSENC_BF16: sums_of_squares(&a, POSENC_BF16); break;
    }
    factors_of_sums(&a);
}
