/* Views of any shape of stride over memory whose every byte is watched. */
#ifndef TRUTH_VIEW_H
#define TRUTH_VIEW_H

#include "truth.h"

/* A view inside a buffer of its own, filled with random numbers; `before` is a copy from when it was made or marked. */
typedef struct truth_tensor {
    posenc_view view;
    float *buffer, *before;
    size_t n_floats;
} truth_tensor;

/* Dimensions 1 to 3 permuted, padded and reversed at random. */
truth_tensor truth_tensor_random(const int64_t ne[4]);
truth_tensor truth_tensor_dense(int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);
void truth_tensor_free(truth_tensor *tensor);

/* Element (i0, i1, i2, i3) of a view. */
float *truth_at(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3);

/* The same element as it was in `before`. */
float truth_was(const truth_tensor *tensor, int64_t i0, int64_t i1, int64_t i2, int64_t i3);

/* Element by element, whatever the strides. */
void truth_copy(const posenc_view *from, const posenc_view *to);
void truth_same_views(const posenc_view *got, const posenc_view *want, const char *where);

/* Fails if a float of the buffer changed that is no element of the view with first <= i0 < first + n. */
void truth_nothing_else_changed(const truth_tensor *tensor, int64_t first, int64_t n, const char *where);

#endif
