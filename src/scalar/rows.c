/* SPDX-License-Identifier: MIT */
/* Scalar rows of absolute encodings: the specification (FORMULAS part A). */
#include "kernels/exp_scalar.h"
#include "kernels/fma.h"
#include "kernels/half.h"
#include "kernels/variant.h"

/* ---- To their place ---- */

static float gate_of(const posenc_place_rows_args *a, size_t r, size_t i) {
    if (a->gate == NULL)
        return 1.0f;
    const char *row = (const char *)a->gate + (ptrdiff_t)r * a->gate_stride;
    return ((const float *)(const void *)row)[i * (size_t)a->gate_step];
}

void VARIANT(place_rows)(const posenc_place_rows_args *a) {
    for (size_t r = 0; r < a->n_rows; r++) {
        const char *x = a->x == NULL ? NULL : (const char *)a->x + (ptrdiff_t)r * a->x_stride;
        char *y = (char *)a->y + (ptrdiff_t)r * a->y_stride;
        for (size_t i = 0; i < a->n; i++) {
            float added = x == NULL ? 0.0f : posenc_load(x, i, a->type);
            if (a->sources[r] == NULL) {
                posenc_store(y, i, added, a->type);
                continue;
            }
            float v = posenc_load(a->sources[r], i, a->source_type) * a->factor * gate_of(a, r, i);
            posenc_store(y, i, x == NULL ? v : added + v, a->type);
        }
    }
}

void VARIANT(mix_row)(const posenc_mix_row_args *a) {
    for (size_t i = 0; i < a->n; i++) {
        float sum = a->start == NULL ? 0.0f : a->start[i];
        for (size_t k = 0; k < a->n_terms; k++)
            sum = posenc_fmaf(a->weights[k][i * (size_t)a->weight_step], posenc_load(a->x[k], i, a->x_type), sum);
        if (a->residual != NULL)
            sum = posenc_load(a->residual, i, a->x_type) + sum;
        posenc_store(a->y, i, sum, a->y_type);
    }
}

/* ---- Made here ---- */

void VARIANT(bit_rows)(const posenc_bit_rows_args *a) {
    for (size_t r = 0; r < a->n_rows; r++)
        for (size_t i = 0; i < a->n; i++) {
            float *y = a->y + (ptrdiff_t)r * a->stride + i;
            int bit = i < 64 && (a->codes[r] >> i & 1);
            float value = bit ? a->one : a->zero;
            *y = a->add ? *y + value : value;
        }
}

void VARIANT(rbf_rows)(const posenc_rbf_rows_args *a) {
    for (size_t r = 0; r < a->n_rows; r++)
        for (size_t i = 0; i < a->n; i++) {
            float *y = a->y + (ptrdiff_t)r * a->stride + i;
            double d = a->positions[r] + a->minus_centres[i];
            float value = posenc_exp_nonpositive((float)(d * d * a->minus_k));
            *y = a->add ? *y + value : value;
        }
}
