/* SPDX-License-Identifier: MIT */
/* Fetching of rows that will be needed soon, into the second cache, while others are at work. Needs: typed.h.
 * Used by: pack, dot.
 *
 * They go with the channels at work, a few lines at a time: all at once they would wait for each other, and the work
 * for them: decodes over 16 MB and more took 1.2 to 1.4 times as long. */
#ifndef POSENC_SIMD_PREFETCH_H
#define POSENC_SIMD_PREFETCH_H

#include "vec.h"

#include "kernels/kernels.h"

typedef struct fetching {
    const posenc_rows_ahead *ahead; /* two */
    size_t row, end, dim, due; /* the next, the last; channels of a row at work, and those since the last was due */
} fetching;

V_INLINE fetching fetching_of(const posenc_rows_ahead ahead[2], size_t dim) {
    return (fetching){ahead, 0, ahead[0].n > ahead[1].n ? ahead[0].n : ahead[1].n, dim, 0};
}

V_INLINE void fetch_row(const posenc_rows_ahead *ahead, size_t row) {
    if (row >= ahead->n)
        return;
    const uintptr_t line = 64, at = (uintptr_t)ahead->rows[row];
    const int is_dense = row > 0 && at == (uintptr_t)ahead->rows[row - 1] + ahead->bytes; /* they share a line */
    for (uintptr_t i = (at + (is_dense ? line - 1 : 0)) / line * line; i < at + ahead->bytes; i += line)
        __builtin_prefetch((const void *)i, 0, 2);
}

/* After n more channels, counted through all rows. */
V_INLINE void fetch_some(fetching *f, size_t n) {
    f->due += n;
    for (; RARELY(f->due >= f->dim && f->row < f->end); f->due -= f->dim, f->row++) {
        fetch_row(&f->ahead[0], f->row);
        fetch_row(&f->ahead[1], f->row);
    }
}

#endif
