/* SPDX-License-Identifier: MIT */
/* SIMD body of the weighted sum of rows; src/scalar/weighted.c is the specification.
 * Needs: vec.h. Produces: weighted_rows.
 *
 * Some vectors of y stay in registers while the rows pass by; their number hides the latency of fma. */
#include "vec.h"

#include "simd/typed.h"
#include "kernels/variant.h"

enum { WEIGHTED_VECTORS = 8 };

/* Channels first .. first + n - 1, in n_v vectors. */
V_INLINE void weighted_channels(const posenc_weighted_rows_args *a, size_t first, size_t n, const size_t n_v,
                                const posenc_dtype type, const int has_shift, const int relu) {
    vf sum[WEIGHTED_VECTORS], shift[WEIGHTED_VECTORS];
    size_t lanes = n < VF ? n : VF; /* of each vector: n is less only if there is one */
    for (size_t v = 0; v < n_v; v++) {
        sum[v] = load_typed(a->y, first + v * VF, lanes, POSENC_F32);
        shift[v] = has_shift ? load_typed(a->shift, first + v * VF, lanes, POSENC_F32) : v_set1(0.0f);
    }
    const char *weight = (const char *)a->weights, *rows = (const char *)typed_at(a->rows, first, type);
    for (size_t k = 0; k < a->n; k++, weight += a->weight_stride) {
        vf factor = v_set1(a->factor * *(const float *)(const void *)weight);
        const char *row = rows + (a->index != NULL ? a->index[k] : (ptrdiff_t)k) * a->row_stride;
        for (size_t v = 0; v < n_v; v++) {
            vf value = load_typed(row, v * VF, lanes, type);
            if (has_shift)
                value = v_add(value, shift[v]);
            if (relu)
                value = v_max(v_set1(0.0f), value); /* NaN stays NaN */
            sum[v] = v_fma(factor, value, sum[v]);
        }
    }
    for (size_t v = 0; v < n_v; v++)
        store_typed(a->y, first + v * VF, sum[v], lanes, POSENC_F32);
}

V_INLINE void weighted_typed(const posenc_weighted_rows_args *a, const posenc_dtype type, const int has_shift,
                             const int relu) {
    size_t c = 0;
    for (; c + WEIGHTED_VECTORS * VF <= a->dim; c += WEIGHTED_VECTORS * VF)
        weighted_channels(a, c, WEIGHTED_VECTORS * VF, WEIGHTED_VECTORS, type, has_shift, relu);
    if (c + WEIGHTED_VECTORS / 2 * VF <= a->dim) {
        weighted_channels(a, c, WEIGHTED_VECTORS / 2 * VF, WEIGHTED_VECTORS / 2, type, has_shift, relu);
        c += WEIGHTED_VECTORS / 2 * VF;
    }
    for (; c + VF <= a->dim; c += VF)
        weighted_channels(a, c, VF, 1, type, has_shift, relu);
    if (c < a->dim)
        weighted_channels(a, c, a->dim - c, 1, type, has_shift, relu);
}

/* One function for each type, as pack.c has: in one for all of them a row costs an instruction more. */
#define WEIGHTED(type, name, ...)                                                                                      \
    static __attribute__((noinline)) void weighted_##name(const posenc_weighted_rows_args *args) {                     \
        const posenc_weighted_rows_args a = *args; /* a copy: no store changes it */                                   \
        a.shift != NULL ? weighted_typed(&a, type, 1, 0) : weighted_typed(&a, type, 0, 0);                             \
    }
POSENC_EACH_FLOAT_TYPE(WEIGHTED)

static __attribute__((noinline)) void weighted_relu(const posenc_weighted_rows_args *args) {
    const posenc_weighted_rows_args a = *args;
    weighted_typed(&a, POSENC_F32, 0, 1);
}

void VARIANT(weighted_rows)(const posenc_weighted_rows_args *args) {
    if (args->relu) {
        weighted_relu(args);
        return;
    }
    switch (args->rows_type) {
        POSENC_TAKES_NO_CACHE_TYPES;
#define CASE(type, name, ...)                                                                                          \
    case type: weighted_##name(args); break;
        POSENC_EACH_FLOAT_TYPE(CASE)
#undef CASE
    }
}
