/* SPDX-License-Identifier: MIT */
/* Scalar weighted sum of rows: the specification. */
#include <math.h>

#include "kernels/fma.h"
#include "kernels/half.h"
#include "kernels/variant.h"

void VARIANT(weighted_rows)(const posenc_weighted_rows_args *a) {
    for (size_t k = 0; k < a->n; k++) {
        const char *weight = (const char *)a->weights + (ptrdiff_t)k * a->weight_stride;
        const char *row = (const char *)a->rows + (a->index != NULL ? a->index[k] : (ptrdiff_t)k) * a->row_stride;
        float factor = a->factor * *(const float *)(const void *)weight;
        for (size_t c = 0; c < a->dim; c++) {
            float value = posenc_load_stored(row, c, a->rows_type);
            if (a->shift != NULL)
                value += a->shift[c];
            if (a->relu && value < 0.0f)
                value = 0.0f;
            a->y[c] = posenc_fmaf(factor, value, a->y[c]);
        }
    }
}
