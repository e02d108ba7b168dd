/* SPDX-License-Identifier: MIT */
/* Packs the rows of a table into panels for dot_rows. */
#include "bias/panels.h"

#include "core/minmax.h"
#include "core/view.h"

enum { AT_A_TIME = 2 * POSENC_PANEL };

void posenc_panels_pack(const posenc_view *rows, int64_t head, int64_t batch, float *panels) {
    const void *addresses[AT_A_TIME];
    posenc_pack_rows_args args = {.rows = addresses, .rows_type = rows->dtype, .dim = (size_t)rows->ne[0]};
    for (int64_t first = 0; first < rows->ne[2]; first += AT_A_TIME) {
        args.n_rows = (size_t)posenc_min(rows->ne[2] - first, AT_A_TIME);
        args.panels = panels + first * rows->ne[0];
        for (size_t t = 0; t < args.n_rows; t++)
            addresses[t] = posenc_view_at(rows, head, first + (int64_t)t, batch);
        posenc_active_kernels()->pack_rows(&args);
    }
}
