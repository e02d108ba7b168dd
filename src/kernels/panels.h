/* SPDX-License-Identifier: MIT */
/* Panels, the layout of packed rows, and rows to prefetch. */
#ifndef POSENC_KERNELS_PANELS_H
#define POSENC_KERNELS_PANELS_H

#include <stddef.h>

/* Rows of a table, side by side in a panel, so that kernels load whole vectors across rows: element c of row t is
 * panels[t / PANEL * dim * PANEL + c * PANEL + t % PANEL]. The last panel is filled up with rows of zeros. */
#define POSENC_PANEL 32

/* Panels of channels, for sums over rows: element c of row k is panels[c / VALUE_PANEL * panel_stride + k * VALUE_PANEL
 * + c % VALUE_PANEL]. panel_stride is at least n_rows * VALUE_PANEL. The last panel is filled up with channels of
 * zeros. */
#define POSENC_VALUE_PANEL 16

/* Rows of some bytes that will be needed soon, each at its own address; n 0: none. */
typedef struct posenc_rows_ahead {
    const void *const *rows;
    size_t bytes, n;
} posenc_rows_ahead;

#endif
