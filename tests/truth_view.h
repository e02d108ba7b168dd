/* SPDX-License-Identifier: MIT */
/* Views of any shape of stride over memory whose every byte is watched. */
#ifndef TRUTH_VIEW_H
#define TRUTH_VIEW_H

#include "truth.h"

/* A view inside a buffer of its own, filled with random numbers; `before` is a copy from when it was made or marked. */
typedef struct truth_tensor {
    posenc_view view;
    void *buffer, *before; /* elements of the view's type */
    size_t n_elements;
} truth_tensor;

/* Dimensions 1 to 3 permuted, padded and reversed at random. */
truth_tensor truth_tensor_random(const int64_t ne[4]);
truth_tensor truth_tensor_random_of(posenc_dtype type, const int64_t ne[4]);
truth_tensor truth_tensor_dense(int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);
void truth_tensor_free(truth_tensor *tensor);

/* Remembers the buffer as it is. */
void truth_mark(truth_tensor *tensor);

/* Puts back what was remembered. */
void truth_reset(truth_tensor *tensor);

/* Address of element (i0, i1, i2, i3), and the float32 that stands there. */
void *truth_address(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3);
float *truth_at(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3);

/* Value of any type, now and as it was in `before`. */
float truth_get(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3);
float truth_was(const truth_tensor *tensor, int64_t i0, int64_t i1, int64_t i2, int64_t i3);

/* for every index of a view */
#define TRUTH_EACH(view, i0, i1, i2, i3)                                                                               \
    for (int64_t i3 = 0; i3 < (view)->ne[3]; i3++)                                                                     \
        for (int64_t i2 = 0; i2 < (view)->ne[2]; i2++)                                                                 \
            for (int64_t i1 = 0; i1 < (view)->ne[1]; i1++)                                                             \
                for (int64_t i0 = 0; i0 < (view)->ne[0]; i0++)

/* Element by element, whatever the strides; both of one type. */
void truth_copy(const posenc_view *from, const posenc_view *to);
void truth_same_views(const posenc_view *got, const posenc_view *want, const char *where);

/* Element by element into float32, or rounded from it once. */
void truth_convert(const posenc_view *from, const posenc_view *to);

/* Fails unless `got`, of any type, is `want` in float32 rounded once. */
void truth_rounded_views(const posenc_view *got, const posenc_view *want, const char *where);

/* Fails if a byte of the buffer changed ... */
void truth_nothing_changed(const truth_tensor *tensor, const char *where);

/* ... that belongs to no element of the view with first <= i0 < first + n. */
void truth_nothing_else_changed(const truth_tensor *tensor, int64_t first, int64_t n, const char *where);

#endif
