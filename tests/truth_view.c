#include "truth_view.h"

#include <stdlib.h>
#include <string.h>

enum { EDGE = 8 }; /* watched floats on both sides */

static truth_tensor allocate(size_t n_floats) {
    truth_tensor tensor = {.n_floats = n_floats + 2 * EDGE};
    tensor.buffer = malloc(tensor.n_floats * sizeof(float));
    tensor.before = malloc(tensor.n_floats * sizeof(float));
    if (tensor.buffer == NULL || tensor.before == NULL)
        abort();
    truth_fill(tensor.buffer, tensor.n_floats);
    memcpy(tensor.before, tensor.buffer, tensor.n_floats * sizeof(float));
    return tensor;
}

truth_tensor truth_tensor_random(const int64_t ne[4]) {
    int order[3] = {1, 2, 3};
    for (int i = 2; i > 0; i--) {
        int64_t j = truth_below(i + 1);
        int swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    int64_t stride[4] = {1}, covered = ne[0], begin = 0;
    for (int i = 0; i < 3; i++) {
        int dim = order[i];
        stride[dim] = covered + truth_below(2) * truth_below(9);
        covered += (ne[dim] - 1) * stride[dim];
        if (truth_below(3) == 0) {
            begin += (ne[dim] - 1) * stride[dim];
            stride[dim] = -stride[dim];
        }
    }
    truth_tensor tensor = allocate((size_t)covered);
    tensor.view = (posenc_view){tensor.buffer + EDGE + begin, POSENC_F32, {ne[0], ne[1], ne[2], ne[3]}, {0}};
    for (int i = 0; i < 4; i++)
        tensor.view.nb[i] = stride[i] * (int64_t)sizeof(float);
    return tensor;
}

truth_tensor truth_tensor_dense(int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    truth_tensor tensor = allocate((size_t)(ne0 * ne1 * ne2 * ne3));
    tensor.view = posenc_view_dense(tensor.buffer + EDGE, POSENC_F32, ne0, ne1, ne2, ne3);
    return tensor;
}

void truth_tensor_free(truth_tensor *tensor) {
    free(tensor->buffer);
    free(tensor->before);
}

float *truth_at(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return (float *)(void *)((char *)view->data + i0 * view->nb[0] + i1 * view->nb[1] + i2 * view->nb[2] +
                             i3 * view->nb[3]);
}

float truth_was(const truth_tensor *tensor, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return tensor->before[truth_at(&tensor->view, i0, i1, i2, i3) - tensor->buffer];
}

/* for every index of a view */
#define EACH(view, i0, i1, i2, i3)                                                                                     \
    for (int64_t i3 = 0; i3 < (view)->ne[3]; i3++)                                                                     \
        for (int64_t i2 = 0; i2 < (view)->ne[2]; i2++)                                                                 \
            for (int64_t i1 = 0; i1 < (view)->ne[1]; i1++)                                                             \
                for (int64_t i0 = 0; i0 < (view)->ne[0]; i0++)

void truth_copy(const posenc_view *from, const posenc_view *to) {
    EACH(from, i, j, k, l)
    *truth_at(to, i, j, k, l) = *truth_at(from, i, j, k, l);
}

void truth_same_views(const posenc_view *got, const posenc_view *want, const char *where) {
    EACH(want, i, j, k, l)
    truth_same_bits(truth_at(got, i, j, k, l), truth_at(want, i, j, k, l), 1, "%s: (%lld, %lld, %lld, %lld)", where,
                    (long long)i, (long long)j, (long long)k, (long long)l);
}

void truth_nothing_else_changed(const truth_tensor *tensor, int64_t first, int64_t n, const char *where) {
    float *expected = malloc(tensor->n_floats * sizeof(float));
    if (expected == NULL)
        abort();
    memcpy(expected, tensor->before, tensor->n_floats * sizeof(float));
    EACH(&tensor->view, i, j, k, l)
    if (i >= first && i < first + n) {
        const float *element = truth_at(&tensor->view, i, j, k, l);
        expected[element - tensor->buffer] = *element;
    }
    truth_same_bits(tensor->buffer, expected, tensor->n_floats, "%s: float of the buffer that is not to be written",
                    where);
    free(expected);
}
