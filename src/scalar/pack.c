/* SPDX-License-Identifier: MIT */
/* Scalar packing of rows into panels: the specification. */
#include "kernels/half.h"
#include "kernels/variant.h"

void VARIANT(pack_rows)(const posenc_pack_rows_args *a) {
    size_t n_padded = (a->n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
    for (size_t t = 0; t < n_padded; t++) {
        float *panel = a->panels + t / POSENC_PANEL * a->dim * POSENC_PANEL;
        for (size_t c = 0; c < a->dim; c++)
            panel[c * POSENC_PANEL + t % POSENC_PANEL] =
                t < a->n_rows ? posenc_load_stored(a->rows[t], c, a->rows_type) : 0.0f;
    }
}

void VARIANT(pack_values)(const posenc_pack_values_args *a) {
    size_t n_padded = (a->dim + POSENC_VALUE_PANEL - 1) / POSENC_VALUE_PANEL * POSENC_VALUE_PANEL;
    for (size_t c = 0; c < n_padded; c++) {
        float *column = a->panels + c / POSENC_VALUE_PANEL * a->panel_stride + c % POSENC_VALUE_PANEL;
        for (size_t k = 0; k < a->n_rows; k++)
            column[k * POSENC_VALUE_PANEL] = c < a->dim ? posenc_load_stored(a->rows[k], c, a->rows_type) : 0.0f;
    }
}
