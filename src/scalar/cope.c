/* SPDX-License-Identifier: MIT */
/* Scalar logits of contextual positions: the specification. */
#include "kernels/exp_scalar.h"
#include "kernels/fma.h"
#include "kernels/variant.h"

static float gate(float score) {
    float e = posenc_exp_nonpositive(-fabsf(score));
    return score < 0.0f ? e / (1.0f + e) : 1.0f / (1.0f + e);
}

/* z at a position from 0 to less than n_positions - 1. */
static float interpolated(const float *z, double position) {
    size_t low = (size_t)position;
    float w = (float)(position - (double)low);
    return w > 0.0f ? posenc_fmaf(w, z[low + 1], (1.0f - w) * z[low]) : z[low];
}

void VARIANT(cope_row)(const posenc_cope_row_args *a) {
    double position = 0.0, last = (double)(a->n_positions - 1);
    int is_clamped = 0;
    for (size_t j = a->n; j-- > a->n_visible;)
        a->y[j] = -INFINITY;
    for (size_t j = a->n_visible; j-- > 0;) {
        if (!is_clamped) {
            position += (double)gate(a->scale * a->gates[j]);
            is_clamped = !(position < last); /* a NaN too */
        }
        float b = is_clamped ? a->z[a->n_positions - 1] : interpolated(a->z, position);
        a->y[j] = a->is_scaled ? a->scale * (a->x[j] + b) : posenc_fmaf(a->x[j], a->scale, b);
    }
}
