/* SPDX-License-Identifier: MIT */
/* Scalar RoPE: the specification. y0 = x0 cos - x1 sin, y1 = x1 cos + x0 sin (FORMULAS B.2-B.4); after a norm
 * x0 = z0 w0, x1 = z1 w1, and the weights join the cosines and sines. In rope_channels the sine that x0 is multiplied
 * by is not the one of x1, nor are the cosines. */
#include <math.h>

#include "kernels/fma.h"
#include "kernels/half.h"
#include "kernels/variant.h"

/* Channels of pair i. */
typedef struct channels {
    size_t first, second;
} channels;

static channels half_split(size_t i, size_t half) {
    return (channels){i, i + half};
}

static channels interleaved(size_t i, size_t half) {
    (void)half;
    return (channels){2 * i, 2 * i + 1};
}

static void rotate(const posenc_rope_args *a, channels (*from)(size_t, size_t), channels (*to)(size_t, size_t)) {
    for (size_t h = 0; h < a->n_heads; h++) {
        const char *x = (const char *)a->x + (ptrdiff_t)h * a->x_stride;
        char *y = (char *)a->y + (ptrdiff_t)h * a->y_stride;
        float factor = a->head_factors != NULL ? a->head_factors[h] : 1.0f;
        for (size_t i = 0; i < a->n; i++) {
            channels in = from(i, a->half), out = to(i, a->half);
            float c = a->cos_row[i] * a->cos_factor;
            float s = a->sin_row[i] * a->sin_factor;
            float w0 = a->weight != NULL ? a->weight[in.first] : 1.0f;
            float w1 = a->weight != NULL ? a->weight[in.second] : 1.0f;
            float z0 = posenc_load(x, in.first, a->x_type) * factor;
            float z1 = posenc_load(x, in.second, a->x_type) * factor;
            posenc_store(y, out.first, posenc_fmaf(z0, c * w0, -(z1 * (s * w1))), a->y_type);
            posenc_store(y, out.second, posenc_fmaf(z1, c * w1, z0 * (s * w0)), a->y_type);
        }
    }
}

void VARIANT(rope_channels)(const posenc_rope_channels_args *args) {
    const posenc_rope_args *a = &args->rope;
    for (size_t h = 0; h < a->n_heads; h++) {
        const char *x = (const char *)a->x + (ptrdiff_t)h * a->x_stride;
        char *y = (char *)a->y + (ptrdiff_t)h * a->y_stride;
        float factor = a->head_factors != NULL ? a->head_factors[h] : 1.0f;
        for (size_t i = 0; i < a->n; i++) {
            channels at = args->is_interleaved ? interleaved(i, a->half) : half_split(i, a->half);
            channels sine = args->is_transposed ? (channels){at.second, at.first} : at;
            float c0 = a->cos_row[at.first] * a->cos_factor;
            float c1 = a->cos_row[at.second] * a->cos_factor;
            float s_of_y0 = a->sin_row[sine.first] * a->sin_factor;
            float s_of_y1 = a->sin_row[sine.second] * a->sin_factor;
            float w0 = a->weight != NULL ? a->weight[at.first] : 1.0f;
            float w1 = a->weight != NULL ? a->weight[at.second] : 1.0f;
            float z0 = posenc_load(x, at.first, a->x_type) * factor;
            float z1 = posenc_load(x, at.second, a->x_type) * factor;
            posenc_store(y, at.first, posenc_fmaf(z0, c0 * w0, -(z1 * (s_of_y0 * w1))), a->y_type);
            posenc_store(y, at.second, posenc_fmaf(z1, c1 * w1, z0 * (s_of_y1 * w0)), a->y_type);
        }
    }
}

void VARIANT(rope_half)(const posenc_rope_args *a) {
    rotate(a, half_split, half_split);
}

void VARIANT(rope_interleaved)(const posenc_rope_args *a) {
    rotate(a, interleaved, interleaved);
}

void VARIANT(rope_deinterleave)(const posenc_rope_args *a) {
    rotate(a, interleaved, half_split);
}
