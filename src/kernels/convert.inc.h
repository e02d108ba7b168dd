/* SIMD body of the conversion; src/scalar/convert.c is the specification.
 * Needs: vec.h. Produces: convert_rows. Used by: avx2, avx512, neon. */
#include "kernels/typed.inc.h"
#include "kernels/variant.h"

V_INLINE void convert(const posenc_convert_args *a, const posenc_dtype x_type, const posenc_dtype y_type) {
    vf factor = v_set1(a->factor);
    const char *x = a->x;
    char *y = a->y;
    for (size_t h = 0; h < a->n_heads; h++) {
        size_t i = 0;
        for (; i + VF <= a->n; i += VF)
            store_typed(y, i, v_mul(load_typed(x, i, VF, x_type), factor), VF, y_type);
        if (i < a->n)
            store_typed(y, i, v_mul(load_typed(x, i, a->n - i, x_type), factor), a->n - i, y_type);
        x += a->x_stride;
        y += a->y_stride;
    }
}

void VARIANT(convert_rows)(const posenc_convert_args *args) {
    const posenc_convert_args a = *args; /* a copy: no store changes it */
    switch (POSENC_TYPE_PAIR(a.x_type, a.y_type)) {
#define CASE(x_type, y_type)                                                                                           \
    case POSENC_TYPE_PAIR(x_type, y_type): convert(&a, x_type, y_type); break;
        POSENC_EACH_TYPE_PAIR(CASE)
#undef CASE
    }
}
