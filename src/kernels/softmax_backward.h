/* SPDX-License-Identifier: MIT */
/* Arguments of softmax_backward. */
#ifndef POSENC_KERNELS_SOFTMAX_BACKWARD_H
#define POSENC_KERNELS_SOFTMAX_BACKWARD_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/softmax.h"

/* Gradient of a row of softmax.h (docs/numerics.md, Gradients) over the unmasked keys (bounds, and offsets from lowest
 * to highest where there is k_pos, as above): dx, and db unless it is NULL; 0 for masked keys, whatever
 * stands there, and where p < FLT_MIN. With s there is a cap. dx and db may equal an input. The sums of p dp and of p
 * go by the canonical order below, products joining by fma; -(1 - sum p) g goes to dsink unless it is NULL. */
typedef struct posenc_softmax_backward_args {
    const float *p, *dp, *s;
    float *dx, *db;
    size_t n;
    posenc_visible visible;
    const int32_t *k_pos; /* or NULL */
    int32_t position, lowest, highest;
    float scale, inv_cap, bias_slope;
    float *dsink;
    /* The p, dp and dx of a row that will be asked for next, from beyond the caches; or NULL. */
    const struct posenc_softmax_backward_args *next;
} posenc_softmax_backward_args;

#endif
