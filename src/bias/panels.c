/* SPDX-License-Identifier: MIT */
#include "bias/panels.h"

#include "core/view.h"

void posenc_panels_pack(const posenc_view *rows, int64_t head, int64_t batch, float *panels) {
    posenc_pack_rows_args args = {
        .rows = posenc_view_at(rows, head, 0, batch),
        .rows_type = rows->dtype,
        .row_stride = (ptrdiff_t)rows->nb[2],
        .panels = panels,
        .dim = (size_t)rows->ne[0],
        .n_rows = (size_t)rows->ne[2],
    };
    posenc_active_kernels()->pack_rows(&args);
}
