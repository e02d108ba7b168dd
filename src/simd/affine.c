/* SPDX-License-Identifier: MIT */
/* SIMD body of the affine function of a row; src/scalar/affine.c is the specification.
 * Needs: vec.h. Produces: affine_row. */
#include "vec.h"

#include "simd/typed.h"
#include "kernels/variant.h"

V_INLINE void affine_at(const posenc_affine_row_args *a, size_t j, size_t n) {
    vf value = v_fma(v_set1(a->a), load_typed(a->x, j, n, POSENC_F32), v_set1(a->b));
    if (a->add)
        value = v_add(load_typed(a->y, j, n, POSENC_F32), value);
    store_typed(a->y, j, value, n, POSENC_F32);
}

void VARIANT(affine_row)(const posenc_affine_row_args *args) {
    const posenc_affine_row_args a = *args; /* a copy: no store changes it */
    size_t j = 0;
    for (; j + VF <= a.n; j += VF)
        affine_at(&a, j, VF);
    if (j < a.n)
        affine_at(&a, j, a.n - j);
}
