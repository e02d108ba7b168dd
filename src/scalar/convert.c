/* Scalar conversion: the specification. */
#include "kernels/half.h"
#include "kernels/variant.h"

void VARIANT(convert_rows)(const posenc_convert_args *a) {
    for (size_t h = 0; h < a->n_heads; h++) {
        const char *x = (const char *)a->x + (ptrdiff_t)h * a->x_stride;
        char *y = (char *)a->y + (ptrdiff_t)h * a->y_stride;
        for (size_t i = 0; i < a->n; i++)
            posenc_store(y, i, posenc_load(x, i, a->x_type) * a->factor, a->y_type);
    }
}
