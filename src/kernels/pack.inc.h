/* SIMD body of the packing of rows into panels; src/scalar/pack.c is the specification.
 * Needs: vec.h. Produces: pack_rows. Used by: avx2, avx512, neon.
 *
 * VF rows by VF channels are transposed in registers: a zip of lane halves that lie VF/2 apart moves one bit of the lane's
 * number into the register's, and after as many zips as VF has bits the two have changed places. */
#include "kernels/typed.inc.h"
#include "kernels/variant.h"

enum { PACK_AHEAD = 32 }; /* rows that are fetched ahead of use */

V_INLINE void transpose(vf *block) {
    vf other[VF];
    for (int bit = 1; bit < VF; bit *= 2) {
        for (int k = 0; k < VF / 2; k++)
            v_zip(block[k], block[k + VF / 2], &other[2 * k], &other[2 * k + 1]);
        for (int k = 0; k < VF; k++)
            block[k] = other[k];
    }
}

/* Channels c .. c + n - 1 of n_rows rows, to the panel's column of the first of them. */
V_INLINE void pack_block(const posenc_pack_rows_args *a, const char *rows, size_t n_rows, size_t c, size_t n, float *to,
                         const posenc_dtype type) {
    vf block[VF];
    for (size_t t = 0; t < VF; t++)
        prefetch_typed(rows + (ptrdiff_t)(PACK_AHEAD + t) * a->row_stride, c, n, type);
    for (size_t t = 0; t < VF; t++)
        block[t] = t < n_rows ? load_typed(rows + (ptrdiff_t)t * a->row_stride, c, n, type) : v_set1(0.0f);
    transpose(block);
    for (size_t k = 0; k < n; k++)
        v_store(to + k * POSENC_PANEL, block[k]);
}

V_INLINE void pack_typed(const posenc_pack_rows_args *a, const posenc_dtype type) {
    size_t n_padded = (a->n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
    for (size_t t = 0; t < n_padded; t += VF) {
        const char *rows = (const char *)a->rows + (ptrdiff_t)t * a->row_stride;
        float *to = a->panels + t / POSENC_PANEL * a->dim * POSENC_PANEL + t % POSENC_PANEL;
        size_t n_rows = t >= a->n_rows ? 0 : a->n_rows - t < VF ? a->n_rows - t : VF, c = 0;
        if (n_rows == VF)
            for (; c + VF <= a->dim; c += VF)
                pack_block(a, rows, VF, c, VF, to + c * POSENC_PANEL, type);
        for (; c < a->dim; c += VF)
            pack_block(a, rows, n_rows, c, a->dim - c < VF ? a->dim - c : VF, to + c * POSENC_PANEL, type);
    }
}

void VARIANT(pack_rows)(const posenc_pack_rows_args *args) {
    const posenc_pack_rows_args a = *args; /* a copy: no store changes it */
    switch (a.rows_type) {
    case POSENC_F16: pack_typed(&a, POSENC_F16); break;
    case POSENC_BF16: pack_typed(&a, POSENC_BF16); break;
    default: pack_typed(&a, POSENC_F32);
    }
}
