/* SPDX-License-Identifier: MIT */
/* Fetching of rows that will be needed soon, into the second cache, while others are at work. Needs: typed.h.
 * Used by: pack, dot, pairs, quant, tiles_quant.
 *
 * They go with the channels at work, a few lines at a time: all at once they would wait for each other, and the work
 * for them: decodes over 16 MB and more took 1.2 to 1.4 times as long. But where rows lie pages apart, those of several
 * are looked up at once, as a CPU does side by side: row by row, decode over a list of keys took 1.1 (AVX-512) to 1.5
 * times (AVX2) as long; by eights 1.1 times on AVX-512 (AMD Zen 4). */
#ifndef POSENC_SIMD_PREFETCH_H
#define POSENC_SIMD_PREFETCH_H

#include "vec.h"

#include "kernels/kernels.h"

typedef struct fetching {
    const posenc_rows_ahead *ahead;
    size_t n_lists;
    size_t row, end;  /* the next row of each list, and the end of the longest */
    size_t work, due; /* work that is done between two rows, and what was done since the last */
} fetching;

V_INLINE fetching fetching_of(const posenc_rows_ahead *ahead, const size_t n_lists, size_t work) {
    size_t end = ahead[0].n;
    for (size_t i = 1; i < n_lists; i++)
        end = ahead[i].n > end ? ahead[i].n : end;
    return (fetching){ahead, n_lists, 0, end, work, 0};
}

/* All of them in the course of so much work. */
V_INLINE fetching fetching_all(const posenc_rows_ahead *ahead, const size_t n_lists, size_t work) {
    fetching f = fetching_of(ahead, n_lists, work);
    f.work = f.end > 0 ? work / f.end : 0;
    return f;
}

enum { LOOKUPS = 4, SMALL_PAGE = 4096 };

/* The pages of the next rows, unless they are those of their neighbours. */
V_INLINE void look_up(const posenc_rows_ahead *ahead, size_t row) {
    const void *const *rows = ahead->rows;
    if (row + LOOKUPS > ahead->n || (uintptr_t)rows[row + 1] - (uintptr_t)rows[row] < SMALL_PAGE)
        return;
    for (size_t i = 0; i < LOOKUPS; i++)
        __builtin_prefetch(rows[row + i], 0, 2);
}

V_INLINE void fetch_row(const posenc_rows_ahead *ahead, size_t row) {
    if (row >= ahead->n)
        return;
    const uintptr_t line = 64, at = (uintptr_t)ahead->rows[row];
    const int is_dense = row > 0 && at == (uintptr_t)ahead->rows[row - 1] + ahead->bytes; /* they share a line */
    for (uintptr_t i = (at + (is_dense ? line - 1 : 0)) / line * line; i < at + ahead->bytes; i += line)
        __builtin_prefetch((const void *)i, 0, 2);
}

/* Fetches the rows that are due after so much more work. */
V_INLINE void fetch_some(fetching *f, size_t work) {
    f->due += work;
    for (; RARELY(f->due >= f->work && f->row < f->end); f->due -= f->work, f->row++) {
        for (size_t i = 0; f->row % LOOKUPS == 0 && i < f->n_lists; i++)
            look_up(&f->ahead[i], f->row);
        for (size_t i = 0; i < f->n_lists; i++)
            fetch_row(&f->ahead[i], f->row);
    }
}

#endif
