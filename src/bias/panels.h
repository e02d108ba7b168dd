/* SPDX-License-Identifier: MIT */
/* Tables whose rows are packed side by side for dot_rows: see POSENC_PANEL in kernels/panels.h. */
#ifndef POSENC_SRC_PANELS_H
#define POSENC_SRC_PANELS_H

#include <posenc/types.h>

#include "kernels/kernels.h"

/* Floats that n_rows packed rows take: whole panels. */
static inline int64_t posenc_panels_size(int64_t dim, int64_t n_rows) {
    return (n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL * dim;
}

/* Packs the rows of one head and batch of a view, [dim, n_heads, n_rows, n_batch]: f32, f16 or bf16. */
void posenc_panels_pack(const posenc_view *rows, int64_t head, int64_t batch, float *panels);

#endif
