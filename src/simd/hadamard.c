/* SPDX-License-Identifier: MIT */
/* SIMD body of the Hadamard transform; src/scalar/hadamard.c is the specification.
 * Needs: vec.h. Produces: hadamard_rows. */
#include "vec.h"

#include "simd/typed.h"
#include "kernels/variant.h"

enum { PAIR = 2 * VF };

/* ---- Distances inside of two vectors ---- */

/* Each step takes the lowest bit of the index to the top: neighbours come to lie in a vector each. After as many steps
 * as the index has bits, all is where it was. */
V_INLINE void transform_pair(vf *a, vf *b, size_t size) {
    for (size_t distance = 1; distance < PAIR; distance *= 2) {
        vf first, second;
        v_unzip(*a, *b, &first, &second);
        *a = distance < size ? v_add(first, second) : first;
        *b = distance < size ? v_sub(first, second) : second;
    }
}

V_INLINE void transform_some(float *x, size_t n_a, size_t n_b, size_t size, float factor) {
    vf a = load_typed(x, 0, n_a, POSENC_F32), b = load_typed(x, VF, n_b, POSENC_F32);
    transform_pair(&a, &b, size);
    store_typed(x, 0, v_mul(a, v_set1(factor)), n_a, POSENC_F32);
    store_typed(x, VF, v_mul(b, v_set1(factor)), n_b, POSENC_F32);
}

/* Blocks of up to two vectors; the row may end within. */
V_INLINE void transform_small(float *x, size_t n, size_t size, float factor) {
    size_t i = 0;
    for (; i + PAIR <= n; i += PAIR)
        transform_some(x + i, VF, VF, size, factor);
    if (i < n)
        transform_some(x + i, lanes_from(i, n), n - i > VF ? n - i - VF : 0, size, factor);
}

/* ---- Distances from two vectors on ---- */

/* The distances d and 2d, of four vectors each. */
V_INLINE void transform_four(float *x, size_t n, size_t d, float factor, const int is_last) {
    for (size_t block = 0; block < n; block += 4 * d)
        for (float *p = x + block; p < x + block + d; p += VF) {
            vf x0 = v_load(p), x1 = v_load(p + d), x2 = v_load(p + 2 * d), x3 = v_load(p + 3 * d);
            vf sum01 = v_add(x0, x1), sum23 = v_add(x2, x3), rest01 = v_sub(x0, x1), rest23 = v_sub(x2, x3);
            vf y[4] = {v_add(sum01, sum23), v_add(rest01, rest23), v_sub(sum01, sum23), v_sub(rest01, rest23)};
            for (size_t k = 0; k < 4; k++)
                v_store(p + k * d, is_last ? v_mul(y[k], v_set1(factor)) : y[k]);
        }
}

/* The last distance, d. */
V_INLINE void transform_two(float *x, size_t n, size_t d, float factor) {
    for (size_t block = 0; block < n; block += 2 * d)
        for (float *p = x + block; p < x + block + d; p += VF) {
            vf x0 = v_load(p), x1 = v_load(p + d);
            v_store(p, v_mul(v_add(x0, x1), v_set1(factor)));
            v_store(p + d, v_mul(v_sub(x0, x1), v_set1(factor)));
        }
}

/* size > PAIR */
V_INLINE void transform_large(float *x, size_t n, size_t size, float factor) {
    for (size_t i = 0; i < n; i += PAIR) {
        vf a = v_load(x + i), b = v_load(x + i + VF);
        transform_pair(&a, &b, PAIR);
        v_store(x + i, a);
        v_store(x + i + VF, b);
    }
    size_t d = PAIR;
    for (; 4 * d < size; d *= 4)
        transform_four(x, n, d, factor, 0);
    if (4 * d == size)
        transform_four(x, n, d, factor, 1);
    else
        transform_two(x, n, d, factor);
}

void VARIANT(hadamard_rows)(const posenc_hadamard_args *args) {
    const posenc_hadamard_args a = *args; /* a copy: no store changes it */
    for (size_t r = 0; r < a.n_rows; r++) {
        float *x = a.x + (ptrdiff_t)r * a.stride;
        if (a.size > PAIR)
            transform_large(x, a.n, a.size, a.factor);
        else
            transform_small(x, a.n, a.size, a.factor);
    }
}
