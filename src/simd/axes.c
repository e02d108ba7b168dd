/* SPDX-License-Identifier: MIT */
/* SIMD body of the sum of row and column terms; src/scalar/axes.c is the specification.
 * Needs: vec.h. Produces: add_axes. */
#include "vec.h"

#include "simd/typed.h"
#include "kernels/variant.h"

/* Adds by_row and by_column to n scores x from u on and stores them. */
V_INLINE void put_sum(float *y, vf x, vf by_row, const float *by_column, size_t u, size_t n) {
    vf sum = v_add(v_add(x, by_row), load_typed(by_column, u, n, POSENC_F32));
    store_typed(y, u, sum, n, POSENC_F32);
}

V_INLINE void add(float *y, const float *by_column, vf by_row, size_t u, size_t n) {
    put_sum(y, load_typed(y, u, n, POSENC_F32), by_row, by_column, u, n);
}

/* Case of rows that end in a part of a vector, whose store is masked: the next row begins right behind it, and a load
 * waits for masked lanes of a store as if they were written. So the first vector of a row is read before the previous
 * row ends. Rows of 14 took 3 times as long without (Xeon, AVX-512), and rows of whole vectors up to 1.4 times with
 * it. */
static void add_ragged(const posenc_add_axes_args *a) {
    float *y = a->y;
    vf first = load_typed(y, 0, lanes_from(0, a->width), POSENC_F32);
    for (size_t v = 0; v < a->height; v++, y += a->width) {
        vf by_row = v_set1(a->by_row[v]), x = first;
        size_t u = 0;
        for (; u + VF < a->width; u += VF) {
            put_sum(y, x, by_row, a->by_column, u, VF);
            x = load_typed(y, u + VF, lanes_from(u + VF, a->width), POSENC_F32);
        }
        if (v + 1 < a->height)
            first = load_typed(y + a->width, 0, lanes_from(0, a->width), POSENC_F32);
        put_sum(y, x, by_row, a->by_column, u, a->width - u);
    }
}

void VARIANT(add_axes)(const posenc_add_axes_args *args) {
    const posenc_add_axes_args a = *args; /* a copy: no store changes it */
    if (V_MASKED_STORES && a.height > 0 && a.width % VF != 0) {
        add_ragged(&a);
        return;
    }
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
