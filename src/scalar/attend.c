/* SPDX-License-Identifier: MIT */
/* Scalar weighted sums of rows: the specification. */
#include <math.h>

#include "kernels/fma.h"
#include "kernels/half.h"
#include "kernels/variant.h"

void VARIANT(attend_rows)(const posenc_attend_rows_args *a) {
    for (size_t i = 0; i < a->n_heads * a->n; i++) {
        float *y = a->y + i * a->y_stride;
        for (size_t c = 0; c < a->dim; c++) {
            float sum = a->from != NULL ? a->from[i * a->y_stride + c] : -0.0f;
            for (int32_t k = a->begin[i]; k < a->end[i]; k++) {
                const char *row = (const char *)a->rows[k] + (ptrdiff_t)(i / a->n) * a->head_stride;
                float value = posenc_load_stored(row, c, a->rows_type);
                sum = posenc_fmaf(a->weights[i * a->weight_stride + (size_t)k], value, sum);
            }
            y[c] = a->keep != NULL ? posenc_fmaf(a->keep[i], y[c], sum) : sum;
        }
    }
}

void VARIANT(attend_panels)(const posenc_attend_panels_args *a) {
    for (size_t i = 0; i < a->n; i++) {
        float *y = a->y + i * a->y_stride;
        for (size_t c = 0; c < a->dim; c++) {
            const float *column = a->panels + c / POSENC_VALUE_PANEL * a->panel_stride + c % POSENC_VALUE_PANEL;
            float sum = a->from != NULL ? a->from[i * a->y_stride + c] : -0.0f;
            for (int32_t k = a->begin[i]; k < a->end[i]; k++) {
                float weight = a->weights[i * a->weight_stride + (size_t)k];
                sum = posenc_fmaf(weight, column[k * POSENC_VALUE_PANEL], sum);
            }
            y[c] = a->keep != NULL ? posenc_fmaf(a->keep[i], y[c], sum) : sum;
        }
    }
}
