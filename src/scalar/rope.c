/* Scalar RoPE: the specification. y0 = x0 cos - x1 sin, y1 = x1 cos + x0 sin (FORMULAS B.2-B.4). */
#include <math.h>

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
        for (size_t i = 0; i < a->n; i++) {
            float c = a->cos_row[i] * a->cos_factor;
            float s = a->sin_row[i] * a->sin_factor;
            float x0 = posenc_load(x, from(i, a->half).first, a->x_type);
            float x1 = posenc_load(x, from(i, a->half).second, a->x_type);
            posenc_store(y, to(i, a->half).first, fmaf(x0, c, -(x1 * s)), a->y_type);
            posenc_store(y, to(i, a->half).second, fmaf(x1, c, x0 * s), a->y_type);
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
