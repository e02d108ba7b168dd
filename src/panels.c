#include "panels.h"

#include "kernels/half.h"
#include "view.h"

void posenc_panels_pack(const posenc_view *rows, int64_t head, int64_t batch, float *panels) {
    int64_t dim = rows->ne[0], n_rows = rows->ne[1];
    for (int64_t first = 0; first < n_rows; first += POSENC_PANEL, panels += dim * POSENC_PANEL)
        for (int64_t t = 0; t < POSENC_PANEL; t++) {
            const void *row = first + t < n_rows ? posenc_view_at(rows, first + t, head, batch) : NULL;
            for (int64_t c = 0; c < dim; c++)
                panels[c * POSENC_PANEL + t] = row != NULL ? posenc_load(row, (size_t)c, rows->dtype) : 0.0f;
        }
}
