/* SPDX-License-Identifier: MIT */
#include "truth_view.h"
#include "truth_half.h"

#include <stdlib.h>
#include <string.h>

enum { EDGE = 8 }; /* watched elements on both sides */

static size_t bytes_of(const truth_tensor *tensor) {
    return tensor->n_elements * truth_size(tensor->view.dtype);
}

static truth_tensor allocate(posenc_dtype type, size_t n_elements) {
    truth_tensor tensor = {.view = {.dtype = type}, .n_elements = n_elements + 2 * EDGE};
    tensor.buffer = malloc(bytes_of(&tensor));
    tensor.before = malloc(bytes_of(&tensor));
    if (tensor.buffer == NULL || tensor.before == NULL)
        abort();
    for (size_t i = 0; i < tensor.n_elements; i++)
        truth_store((char *)tensor.buffer + i * truth_size(type), (float)truth_uniform(-2.0, 2.0), type);
    truth_mark(&tensor);
    return tensor;
}

truth_tensor truth_tensor_random_of(posenc_dtype type, const int64_t ne[4]) {
    int order[3] = {1, 2, 3};
    for (int i = 2; i > 0; i--) {
        int64_t j = truth_below(i + 1);
        int swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    int64_t stride[4] = {1}, covered = ne[0], begin = 0, size = (int64_t)truth_size(type);
    for (int i = 0; i < 3; i++) {
        int dim = order[i];
        stride[dim] = covered + truth_below(2) * truth_below(9);
        covered += (ne[dim] - 1) * stride[dim];
        if (truth_below(3) == 0) {
            begin += (ne[dim] - 1) * stride[dim];
            stride[dim] = -stride[dim];
        }
    }
    truth_tensor tensor = allocate(type, (size_t)covered);
    tensor.view.data = (char *)tensor.buffer + (EDGE + begin) * size;
    for (int i = 0; i < 4; i++) {
        tensor.view.ne[i] = ne[i];
        tensor.view.nb[i] = stride[i] * size;
    }
    return tensor;
}

truth_tensor truth_tensor_random(const int64_t ne[4]) {
    return truth_tensor_random_of(POSENC_F32, ne);
}

truth_tensor truth_tensor_dense(int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    truth_tensor tensor = allocate(POSENC_F32, (size_t)(ne0 * ne1 * ne2 * ne3));
    tensor.view = posenc_view_dense((float *)tensor.buffer + EDGE, POSENC_F32, ne0, ne1, ne2, ne3);
    return tensor;
}

void truth_tensor_free(truth_tensor *tensor) {
    free(tensor->buffer);
    free(tensor->before);
}

void truth_mark(truth_tensor *tensor) {
    memcpy(tensor->before, tensor->buffer, bytes_of(tensor));
}

void truth_reset(truth_tensor *tensor) {
    memcpy(tensor->buffer, tensor->before, bytes_of(tensor));
}

void *truth_address(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return (char *)view->data + i0 * view->nb[0] + i1 * view->nb[1] + i2 * view->nb[2] + i3 * view->nb[3];
}

float *truth_at(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return truth_address(view, i0, i1, i2, i3);
}

float truth_get(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return truth_load(truth_address(view, i0, i1, i2, i3), view->dtype);
}

float truth_was(const truth_tensor *tensor, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    char *now = truth_address(&tensor->view, i0, i1, i2, i3);
    return truth_load((char *)tensor->before + (now - (char *)tensor->buffer), tensor->view.dtype);
}

void truth_copy(const posenc_view *from, const posenc_view *to) {
    TRUTH_EACH(from, i, j, k, l)
    memcpy(truth_address(to, i, j, k, l), truth_address(from, i, j, k, l), truth_size(from->dtype));
}

void truth_convert(const posenc_view *from, const posenc_view *to) {
    TRUTH_EACH(from, i, j, k, l)
    truth_store(truth_address(to, i, j, k, l), truth_get(from, i, j, k, l), to->dtype);
}

static _Noreturn void fail_element(const posenc_view *got, const posenc_view *want, const char *where, int64_t i,
                                   int64_t j, int64_t k, int64_t l) {
    fail_msg("%s: %s: (%lld, %lld, %lld, %lld) is %a, wanted %a", posenc_isa_name(posenc_isa()), where, (long long)i,
             (long long)j, (long long)k, (long long)l, (double)truth_get(got, i, j, k, l),
             (double)truth_get(want, i, j, k, l));
    abort(); /* not reached: fail_msg leaves the test */
}

void truth_same_views(const posenc_view *got, const posenc_view *want, const char *where) {
    TRUTH_EACH(want, i, j, k, l)
    if (memcmp(truth_address(got, i, j, k, l), truth_address(want, i, j, k, l), truth_size(want->dtype)) != 0)
        fail_element(got, want, where, i, j, k, l);
}

void truth_rounded_views(const posenc_view *got, const posenc_view *want, const char *where) {
    TRUTH_EACH(want, i, j, k, l)
    if (!truth_holds(truth_address(got, i, j, k, l), truth_get(want, i, j, k, l), got->dtype))
        fail_element(got, want, where, i, j, k, l);
}

static void compare_bytes(const truth_tensor *tensor, const void *expected, const char *where) {
    const unsigned char *got = tensor->buffer, *want = expected;
    for (size_t i = 0; i < bytes_of(tensor); i++)
        if (got[i] != want[i])
            fail_msg("%s: %s: byte %zu of the buffer, which is not to be written", posenc_isa_name(posenc_isa()), where,
                     i);
}

void truth_nothing_changed(const truth_tensor *tensor, const char *where) {
    compare_bytes(tensor, tensor->before, where);
}

void truth_nothing_else_changed(const truth_tensor *tensor, int64_t first, int64_t n, const char *where) {
    char *expected = malloc(bytes_of(tensor));
    if (expected == NULL)
        abort();
    memcpy(expected, tensor->before, bytes_of(tensor));
    TRUTH_EACH(&tensor->view, i, j, k, l)
    if (i >= first && i < first + n) {
        const char *element = truth_address(&tensor->view, i, j, k, l);
        memcpy(expected + (element - (char *)tensor->buffer), element, truth_size(tensor->view.dtype));
    }
    compare_bytes(tensor, expected, where);
    free(expected);
}
