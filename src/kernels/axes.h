/* SPDX-License-Identifier: MIT */
/* Arguments of add_axes: decomposed relative positions. */
#ifndef POSENC_KERNELS_AXES_H
#define POSENC_KERNELS_AXES_H

#include <stddef.h>

/* y[v * width + u] = (y[v * width + u] + by_row[v]) + by_column[u], v < height, u < width */
typedef struct posenc_add_axes_args {
    float *y;
    const float *by_row, *by_column;
    size_t height, width;
} posenc_add_axes_args;

#endif
