/* SIMD body of the sum of row and column terms; src/scalar/axes.c is the specification.
 * Needs: vec.h. Produces: add_axes. Used by: avx2, avx512, neon. */
#include "kernels/typed.inc.h"
#include "kernels/variant.h"

V_INLINE void add(float *y, const float *by_column, vf by_row, size_t u, size_t n) {
    vf sum = v_add(load_typed(y, u, n, POSENC_F32), by_row);
    store_typed(y, u, v_add(sum, load_typed(by_column, u, n, POSENC_F32)), n, POSENC_F32);
}

void VARIANT(add_axes)(const posenc_add_axes_args *args) {
    const posenc_add_axes_args a = *args; /* a copy: no store changes it */
    float *y = a.y;
    for (size_t v = 0; v < a.height; v++) {
        vf by_row = v_set1(a.by_row[v]);
        size_t u = 0;
        for (; u + VF <= a.width; u += VF)
            add(y, a.by_column, by_row, u, VF);
        if (u < a.width)
            add(y, a.by_column, by_row, u, a.width - u);
        y += a.width;
    }
}
