/* SPDX-License-Identifier: MIT */
/* Scalar products with the rows of a table: the specification. */
#include <math.h>

#include "kernels/fma.h"
#include "kernels/half.h"
#include "kernels/variant.h"

void VARIANT(dot_rows)(const posenc_dot_rows_args *a) {
    for (size_t i = 0; i < a->n_x; i++) {
        const char *x = (const char *)a->x + (ptrdiff_t)i * a->x_stride;
        float *y = (float *)(void *)((char *)a->y + (ptrdiff_t)i * a->y_stride);
        for (size_t t = 0; t < a->n_rows; t++) {
            const float *row = a->panels + t / POSENC_PANEL * POSENC_PANEL * a->dim + t % POSENC_PANEL;
            float sum = 0.0f;
            for (size_t c = 0; c < a->dim; c++) {
                float value = posenc_load_stored(x, c, a->x_type);
                if (a->shift != NULL)
                    value += a->shift[c];
                sum = posenc_fmaf(value, row[c * POSENC_PANEL], sum);
            }
            y[t] = sum;
        }
    }
}

void VARIANT(dot_few)(const posenc_dot_few_args *a) {
    for (size_t i = 0; i < a->n_heads * a->n_x; i++) {
        const float *x = (const float *)(const void *)((const char *)a->x + (ptrdiff_t)i * a->x_stride);
        float *y = (float *)(void *)((char *)a->y + (ptrdiff_t)i * a->y_stride);
        for (size_t t = 0; t < a->n_rows; t++) {
            const char *row = (const char *)a->rows[t] + (ptrdiff_t)(i / a->n_x) * a->head_stride;
            float sum = 0.0f;
            for (size_t c = 0; c < a->dim; c++)
                sum = posenc_fmaf(x[c], posenc_load_stored(row, c, a->rows_type), sum);
            y[t] = sum;
        }
    }
}
