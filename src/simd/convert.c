/* SIMD body of the conversion; src/scalar/convert.c is the specification.
 * Needs: vec.h. Produces: convert_rows. Used by: avx2, avx512, neon. */
#include "vec.h"

#include "simd/typed.h"
#include "kernels/variant.h"

/* n <= VF channels of a head, from channel i on. */
V_INLINE void convert_some(const posenc_convert_args *a, const char *x, char *y, size_t i, size_t n, vf head_factor,
                           const posenc_dtype x_type, const posenc_dtype y_type, const int is_normed) {
    vf factor = v_set1(a->factor), value = load_typed(x, i, n, x_type);
    if (is_normed) {
        factor = v_mul(load_typed(a->weight, i, n, POSENC_F32), factor);
        value = v_mul(value, head_factor);
    }
    store_typed(y, i, v_mul(value, factor), n, y_type);
}

V_INLINE void convert(const posenc_convert_args *a, const posenc_dtype x_type, const posenc_dtype y_type,
                      const int is_normed) {
    const char *x = a->x;
    char *y = a->y;
    for (size_t h = 0; h < a->n_heads; h++) {
        vf head_factor = v_set1(is_normed ? a->head_factors[h] : 1.0f);
        size_t i = 0;
        if (a->y_ahead != 0)
            fetch_typed(y + a->y_ahead, 0, a->n, y_type);
        for (; i + VF <= a->n; i += VF)
            convert_some(a, x, y, i, VF, head_factor, x_type, y_type, is_normed);
        if (i < a->n)
            convert_some(a, x, y, i, a->n - i, head_factor, x_type, y_type, is_normed);
        x += a->x_stride;
        y += a->y_stride;
    }
}

void VARIANT(convert_rows)(const posenc_convert_args *args) {
    const posenc_convert_args a = *args; /* a copy: no store changes it */
    switch (POSENC_TYPE_PAIR(a.x_type, a.y_type)) {
#define CASE(x_type, y_type)                                                                                           \
    case POSENC_TYPE_PAIR(x_type, y_type):                                                                             \
        a.head_factors != NULL ? convert(&a, x_type, y_type, 1) : convert(&a, x_type, y_type, 0);                      \
        break;
        POSENC_EACH_TYPE_PAIR(CASE)
#undef CASE
    case POSENC_TYPE_PAIR(POSENC_Q8_0, POSENC_F32): convert(&a, POSENC_Q8_0, POSENC_F32, 0); break;
    case POSENC_TYPE_PAIR(POSENC_Q4_0, POSENC_F32): convert(&a, POSENC_Q4_0, POSENC_F32, 0); break;
    }
}
