/* SPDX-License-Identifier: MIT */
/* SIMD body of the rows of absolute encodings; src/scalar/rows.c is the specification.
 * Needs: vec.h. Produces: place_rows, mix_row, bit_rows, rbf_rows. */
#include "vec.h"

#include <string.h>

#include "simd/exp.h"
#include "simd/typed.h"
#include "kernels/variant.h"

/* ---- To their place ---- */

typedef enum gating { ONE_GATE, GATE_PER_CHANNEL } gating;

/* One row: what does not change inside of it. */
typedef struct placed_row {
    const void *source, *x;
    const float *gate;
    void *y;
    vf factor;
} placed_row;

V_INLINE void place_lanes(const placed_row *row, vf one_gate, size_t i, size_t n, const gating mode, const int has_x,
                          const posenc_dtype source_type, const posenc_dtype type) {
    vf gate = mode == GATE_PER_CHANNEL ? load_typed(row->gate, i, n, POSENC_F32) : one_gate;
    vf v = v_mul(v_mul(load_typed(row->source, i, n, source_type), row->factor), gate);
    store_typed(row->y, i, has_x ? v_add(load_typed(row->x, i, n, type), v) : v, n, type);
}

V_INLINE void place_row(const placed_row *row, size_t n, const gating mode, const int has_x,
                        const posenc_dtype source_type, const posenc_dtype type) {
    vf one_gate = v_set1(mode == ONE_GATE && row->gate != NULL ? *row->gate : 1.0f);
    size_t i = 0;
    for (; i + VF <= n; i += VF)
        place_lanes(row, one_gate, i, VF, mode, has_x, source_type, type);
    if (i < n)
        place_lanes(row, one_gate, i, n - i, mode, has_x, source_type, type);
}

/* A row that nothing is placed in. */
V_INLINE void copy_row(const placed_row *row, size_t bytes, const int has_x) {
    if (!has_x)
        memset(row->y, 0, bytes);
    else if (row->x != row->y)
        memcpy(row->y, row->x, bytes);
}

V_INLINE void place_all(const posenc_place_rows_args *a, const gating mode, const int has_x,
                        const posenc_dtype source_type, const posenc_dtype type) {
    placed_row row = {.x = a->x, .gate = a->gate, .y = a->y, .factor = v_set1(a->factor)};
    for (size_t r = 0; r < a->n_rows; r++) {
        row.source = a->sources[r];
        if (row.source == NULL)
            copy_row(&row, a->n * (type == POSENC_F32 ? 4 : 2), has_x);
        else
            place_row(&row, a->n, mode, has_x, source_type, type);
        row.x = has_x ? (const char *)row.x + a->x_stride : NULL;
        row.gate = row.gate != NULL ? (const float *)(const void *)((const char *)row.gate + a->gate_stride) : NULL;
        row.y = (char *)row.y + a->y_stride;
    }
}

V_INLINE void place_typed(const posenc_place_rows_args *a, const posenc_dtype source_type, const posenc_dtype type) {
    if (a->gate != NULL && a->gate_step == 1)
        a->x != NULL ? place_all(a, GATE_PER_CHANNEL, 1, source_type, type)
                     : place_all(a, GATE_PER_CHANNEL, 0, source_type, type);
    else
        a->x != NULL ? place_all(a, ONE_GATE, 1, source_type, type) : place_all(a, ONE_GATE, 0, source_type, type);
}

V_INLINE void place_from(const posenc_place_rows_args *args, const posenc_dtype source_type) {
    const posenc_place_rows_args a = *args; /* a copy: no store changes it */
    switch (a.type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: place_typed(&a, source_type, POSENC_F32); break;
    case POSENC_F16: place_typed(&a, source_type, POSENC_F16); break;
    case POSENC_BF16: place_typed(&a, source_type, POSENC_BF16); break;
    }
}

/* Functions of their own: faster to compile. */
static __attribute__((noinline)) void place_f32(const posenc_place_rows_args *a) {
    place_from(a, POSENC_F32);
}

static __attribute__((noinline)) void place_f16(const posenc_place_rows_args *a) {
    place_from(a, POSENC_F16);
}

static __attribute__((noinline)) void place_bf16(const posenc_place_rows_args *a) {
    place_from(a, POSENC_BF16);
}

void VARIANT(place_rows)(const posenc_place_rows_args *a) {
    switch (a->source_type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: place_f32(a); break;
    case POSENC_F16: place_f16(a); break;
    case POSENC_BF16: place_bf16(a); break;
    }
}

/* ---- Mixed ---- */

/* Vectors whose sums are made side by side, to hide the latency of the chain of fma. */
enum { MIX_STEP = 4 };

V_INLINE void store_sums(void *y, size_t i, const vf *sum, size_t vectors, size_t n, const posenc_dtype type) {
    for (size_t v = 0; v < vectors; v++)
        store_typed(y, i + v * VF, sum[v], n, type);
}

V_INLINE void mix_lanes(const posenc_mix_row_args *a, size_t i, size_t vectors, size_t n, const int weight_step,
                        const posenc_dtype x_type, const posenc_dtype y_type) {
    vf sum[MIX_STEP];
    for (size_t v = 0; v < vectors; v++)
        sum[v] = a->start == NULL ? v_set1(0.0f) : load_typed(a->start, i + v * VF, n, POSENC_F32);
    for (size_t k = 0; k < a->n_terms; k++) {
        vf one_weight = weight_step == 0 ? v_set1(*a->weights[k]) : v_set1(0.0f);
        for (size_t v = 0; v < vectors; v++) {
            size_t at = i + v * VF;
            vf w = weight_step == 0 ? one_weight : load_typed(a->weights[k], at, n, POSENC_F32);
            sum[v] = v_fma(w, load_typed(a->x[k], at, n, x_type), sum[v]);
        }
    }
    if (a->residual != NULL)
        for (size_t v = 0; v < vectors; v++)
            sum[v] = v_add(load_typed(a->residual, i + v * VF, n, x_type), sum[v]);
    switch (y_type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: store_sums(a->y, i, sum, vectors, n, POSENC_F32); break;
    case POSENC_F16: store_sums(a->y, i, sum, vectors, n, POSENC_F16); break;
    case POSENC_BF16: store_sums(a->y, i, sum, vectors, n, POSENC_BF16); break;
    }
}

V_INLINE void mix_weighted(const posenc_mix_row_args *a, const int weight_step, const posenc_dtype x_type,
                           const posenc_dtype y_type) {
    size_t i = 0;
    for (; i + MIX_STEP * VF <= a->n; i += MIX_STEP * VF)
        mix_lanes(a, i, MIX_STEP, VF, weight_step, x_type, y_type);
    for (; i + VF <= a->n; i += VF)
        mix_lanes(a, i, 1, VF, weight_step, x_type, y_type);
    if (i < a->n)
        mix_lanes(a, i, 1, a->n - i, weight_step, x_type, y_type);
}

V_INLINE void mix(const posenc_mix_row_args *a, const posenc_dtype x_type, const posenc_dtype y_type) {
    a->weight_step == 0 ? mix_weighted(a, 0, x_type, y_type) : mix_weighted(a, 1, x_type, y_type);
}

static __attribute__((noinline)) void mix_f32(const posenc_mix_row_args *args) {
    const posenc_mix_row_args a = *args; /* a copy: no store changes it */
    mix(&a, POSENC_F32, POSENC_F32);
}

/* These ask for the type of y at each step: a body for each pair of types is no faster. */
static __attribute__((noinline)) void mix_typed(const posenc_mix_row_args *args) {
    const posenc_mix_row_args a = *args;
    switch (a.x_type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: mix(&a, POSENC_F32, a.y_type); break;
    case POSENC_F16: mix(&a, POSENC_F16, a.y_type); break;
    case POSENC_BF16: mix(&a, POSENC_BF16, a.y_type); break;
    }
}

void VARIANT(mix_row)(const posenc_mix_row_args *a) {
    a->x_type == POSENC_F32 && a->y_type == POSENC_F32 ? mix_f32(a) : mix_typed(a);
}

/* ---- Made here ---- */

V_INLINE void put_value(float *y, size_t i, vf value, size_t n, int add) {
    store_typed(y, i, add ? v_add(load_typed(y, i, n, POSENC_F32), value) : value, n, POSENC_F32);
}

V_INLINE void bits(const posenc_bit_rows_args *a, int add) {
    vf zero = v_set1(a->zero), one = v_set1(a->one);
    for (size_t r = 0; r < a->n_rows; r++) {
        float *y = a->y + (ptrdiff_t)r * a->stride;
        size_t i = 0, coded = a->n < 64 ? a->n : 64;
        for (; i < coded; i += VF) /* VF divides 64: what lies beyond is another row's, or nobody's */
            put_value(y, i, v_select_bits((uint32_t)(a->codes[r] >> i), one, zero), lanes_from(i, a->n), add);
        for (; i + VF <= a->n; i += VF)
            put_value(y, i, zero, VF, add);
        if (i < a->n)
            put_value(y, i, zero, a->n - i, add);
    }
}

void VARIANT(bit_rows)(const posenc_bit_rows_args *args) {
    const posenc_bit_rows_args a = *args; /* a copy: no store changes it */
    a.add ? bits(&a, 1) : bits(&a, 0);
}

V_INLINE vf bumps(vd position, vd minus_k, const double *minus_centres) {
    vd lo = vd_add(position, vd_load(minus_centres)), hi = vd_add(position, vd_load(minus_centres + VD));
    return exp_nonpositive(v_from_vd(vd_mul(vd_mul(lo, lo), minus_k), vd_mul(vd_mul(hi, hi), minus_k)));
}

V_INLINE void rbf(const posenc_rbf_rows_args *a, int add) {
    vd minus_k = vd_set1(a->minus_k);
    for (size_t r = 0; r < a->n_rows; r++) {
        float *y = a->y + (ptrdiff_t)r * a->stride;
        vd position = vd_set1(a->positions[r]);
        size_t i = 0;
        for (; i + VF <= a->n; i += VF)
            put_value(y, i, bumps(position, minus_k, a->minus_centres + i), VF, add);
        if (i < a->n)
            put_value(y, i, bumps(position, minus_k, a->minus_centres + i), a->n - i, add);
    }
}

void VARIANT(rbf_rows)(const posenc_rbf_rows_args *args) {
    const posenc_rbf_rows_args a = *args; /* a copy: no store changes it */
    a.add ? rbf(&a, 1) : rbf(&a, 0);
}
