/* SPDX-License-Identifier: MIT */
/* Arguments of pack_rows and pack_values. */
#ifndef POSENC_KERNELS_PACK_H
#define POSENC_KERNELS_PACK_H

#include <stddef.h>

#include <posenc/types.h>

#include "kernels/panels.h"

/* Packs n_rows rows of dim channels, each at its own address, into panels, widened to float32. Rows may be
 * blocks. Rows ahead are prefetched into the second cache, as many as there is time for. */
typedef struct posenc_pack_rows_args {
    const void *const *rows;
    posenc_dtype rows_type;
    float *panels;
    size_t dim, n_rows;
    posenc_rows_ahead ahead[2];
} posenc_pack_rows_args;

/* Copies n_rows rows of dim channels, each at its own address, into panels of channels (panels.h), widened to float32.
 * Rows may be blocks. */
typedef struct posenc_pack_values_args {
    const void *const *rows;
    posenc_dtype rows_type;
    float *panels;
    size_t panel_stride; /* in floats */
    size_t dim, n_rows;
} posenc_pack_values_args;

#endif
