/* SPDX-License-Identifier: MIT */
/* SIMD body of the packing of rows into panels; src/scalar/pack.c is the specification.
 * Needs: vec.h. Produces: pack_rows, pack_values.
 *
 * VF rows by VF channels are transposed in registers. Types of 16 bits, or 8, are transposed before they are widened,
 * which halves the time. */
#include "vec.h"

#include "simd/typed.h"

#include "simd/prefetch.h"
#include "kernels/variant.h"

/* Packs channels [c, c + n) of n_rows rows. to: channel c of the first row in the panel. */
V_INLINE void pack_block(const void *const *rows, size_t n_rows, size_t c, size_t n, float *to,
                         const posenc_dtype type) {
    vf block[VF];
    for (size_t t = 0; t < VF; t++)
        block[t] = t < n_rows ? load_typed(rows[t], c, n, type) : v_set1(0.0f);
    v_transpose(block);
    for (size_t k = 0; k < n; k++)
        v_store(to + k * POSENC_PANEL, block[k]);
}

/* Packs early_channels() channels of VF rows of a type of 16 or 8 bits. */
V_INLINE void pack_early(const void *const *rows, size_t c, float *to, const posenc_dtype type) {
    uint16_t columns[EARLY_BYTES / sizeof(uint16_t) * VF];
    transpose_early(rows, c, columns, type);
    for (size_t k = 0; k < early_channels(type); k += 2) {
        vf first, second;
        load_pair_typed(columns, k * VF, type, &first, &second);
        v_store(to + k * POSENC_PANEL, first);
        v_store(to + (k + 1) * POSENC_PANEL, second);
    }
}

/* Writes zeros for rows that the last panel lacks, from the first row on that no vector above covers. Transposed like
 * other rows they took 3 times as long. */
static void fill_up(const posenc_pack_rows_args *a) {
    size_t packed = (a->n_rows + VF - 1) / VF * VF;
    float *panel = a->panels + packed / POSENC_PANEL * a->dim * POSENC_PANEL;
    for (size_t c = 0; packed % POSENC_PANEL != 0 && c < a->dim; c++)
        for (size_t t = packed % POSENC_PANEL; t < POSENC_PANEL; t += VF)
            v_store(panel + c * POSENC_PANEL + t, v_set1(0.0f));
}

V_INLINE void pack_typed(const posenc_pack_rows_args *a, const posenc_dtype type) {
    fetching f = fetching_of(a->ahead, a->n_rows * a->dim);
    for (size_t t = 0; t < a->n_rows; t += VF) {
        const void *const *rows = a->rows + t;
        float *to = a->panels + t / POSENC_PANEL * a->dim * POSENC_PANEL + t % POSENC_PANEL;
        size_t n_rows = lanes_from(t, a->n_rows), c = 0;
        const int is_early = is_transposed_early(type);
        const size_t early = early_channels(type);
        for (; is_early && n_rows == VF && c + early <= a->dim; c += early) {
            fetch_some(&f, early * VF);
            pack_early(rows, c, to + c * POSENC_PANEL, type);
        }
        for (; n_rows == VF && c + VF <= a->dim; c += VF) {
            fetch_some(&f, VF * VF);
            pack_block(rows, VF, c, VF, to + c * POSENC_PANEL, type);
        }
        for (; c + VF <= a->dim; c += VF)
            pack_block(rows, n_rows, c, VF, to + c * POSENC_PANEL, type);
        if (c < a->dim)
            pack_block(rows, n_rows, c, a->dim - c, to + c * POSENC_PANEL, type);
    }
}

/* One function for each type. In one for all of them gcc keeps the addresses of rows in memory, and float32 takes 1.12
 * times the instructions. */
#define PACK(type, name, ...)                                                                                          \
    static __attribute__((noinline)) void pack_##name(const posenc_pack_rows_args *args) {                             \
        const posenc_pack_rows_args a = *args; /* a copy: no store changes it */                                       \
        pack_typed(&a, type);                                                                                          \
    }
POSENC_EACH_TYPE(PACK)

void VARIANT(pack_rows)(const posenc_pack_rows_args *args) {
    switch (args->rows_type) {
#define CASE(type, name, ...)                                                                                          \
    case type: pack_##name(args); break;
        POSENC_EACH_TYPE(CASE)
#undef CASE
    }
    fill_up(args);
}

/* ---- Values ---- */

enum { VALUE_VECTORS = POSENC_VALUE_PANEL / VF };

/* Copies n channels of a row, from channel c on, and zeros to the end of their panel. */
V_INLINE void pack_value(const void *row, size_t c, size_t n, float *to, const posenc_dtype type) {
    for (size_t v = 0; v < VALUE_VECTORS; v++) {
        size_t before = v * VF, lanes = n <= before ? 0 : n - before < VF ? n - before : VF;
        v_store(to + before, lanes > 0 ? load_typed(row, c + before, lanes, type) : v_set1(0.0f));
    }
}

V_INLINE void values_typed(const posenc_pack_values_args *a, const posenc_dtype type) {
    size_t whole = a->dim / POSENC_VALUE_PANEL * POSENC_VALUE_PANEL;
    for (size_t k = 0; k < a->n_rows; k++) {
        float *to = a->panels + k * POSENC_VALUE_PANEL;
        size_t c = 0;
        for (; c < whole; c += POSENC_VALUE_PANEL, to += a->panel_stride)
            pack_value(a->rows[k], c, POSENC_VALUE_PANEL, to, type);
        if (c < a->dim)
            pack_value(a->rows[k], c, a->dim - c, to, type);
    }
}

void VARIANT(pack_values)(const posenc_pack_values_args *args) {
    const posenc_pack_values_args a = *args; /* a copy: no store changes it */
    switch (a.rows_type) {
#define CASE(type, ...)                                                                                                \
    case type: values_typed(&a, type); break;
        POSENC_EACH_TYPE(CASE)
#undef CASE
    }
}
