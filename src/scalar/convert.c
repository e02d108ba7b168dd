/* Scalar conversion: the specification. */
#include "kernels/half.h"
#include "kernels/variant.h"

void VARIANT(convert_rows)(const posenc_convert_args *a) {
    for (size_t h = 0; h < a->n_heads; h++) {
        const char *x = (const char *)a->x + (ptrdiff_t)h * a->x_stride;
        char *y = (char *)a->y + (ptrdiff_t)h * a->y_stride;
        float head_factor = a->head_factors != NULL ? a->head_factors[h] : 1.0f;
        for (size_t i = 0; i < a->n; i++) {
            float weight = a->weight != NULL ? a->weight[i] : 1.0f;
            float z = posenc_load(x, i, a->x_type) * head_factor;
            posenc_store(y, i, z * (weight * a->factor), a->y_type);
        }
    }
}
