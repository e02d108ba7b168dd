/* Scalar softmax with ALiBi: the specification. include/posenc/softmax.h says what it promises, docs/numerics.md why. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/variant.h"
#include "scalar/exp.h"

/* l_j of softmax.h. */
static float logit(const posenc_softmax_row_args *a, size_t j) {
    int32_t distance = abs((int32_t)j - a->query);
    return fmaf(a->x[j], a->scale, -(a->slope * (float)distance));
}

static float max_logit(const posenc_softmax_row_args *a) {
    float max = -INFINITY;
    for (size_t j = 0; j < a->n_allowed; j++) {
        float l = logit(a, j);
        max = l > max ? l : max; /* a NaN is passed over here and spoils the sum instead */
    }
    return max == -INFINITY ? 0.0f : max; /* so that -inf - max is -inf and every term 0 */
}

/* Writes the exponentials and returns their sum, in the canonical order. */
static double write_exponentials(const posenc_softmax_row_args *a, float max) {
    double lanes[POSENC_SUM_LANES] = {0.0};
    for (size_t block = 0; block < a->n_allowed; block += POSENC_SUM_BLOCK) {
        float partial[POSENC_SUM_LANES] = {0.0f};
        for (size_t j = block; j < a->n_allowed && j < block + POSENC_SUM_BLOCK; j++) {
            a->y[j] = posenc_exp_nonpositive(logit(a, j) - max);
            partial[j % POSENC_SUM_LANES] += a->y[j];
        }
        for (size_t k = 0; k < POSENC_SUM_LANES; k++)
            lanes[k] += (double)partial[k];
    }
    for (size_t width = POSENC_SUM_LANES / 2; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++)
            lanes[k] += lanes[k + width];
    return lanes[0];
}

void VARIANT(softmax_row)(const posenc_softmax_row_args *a) {
    double sum = write_exponentials(a, max_logit(a));
    float inverse = sum == 0.0 ? 0.0f : (float)(1.0 / sum);
    float smallest = (float)(sum * POSENC_SOFTMAX_FLOOR); /* below, the product would be denormal */
    for (size_t j = 0; j < a->n_allowed; j++)
        a->y[j] = a->y[j] < smallest ? 0.0f : a->y[j] * inverse;
    for (size_t j = a->n_allowed; j < a->n; j++)
        a->y[j] = 0.0f;
}
