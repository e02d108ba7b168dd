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

/* Rows are fetched in pieces. */
enum { PIECE = 256 };

typedef struct fetching {
    const posenc_rows_ahead *ahead;
    size_t n_lists;
    size_t row, end, at, bytes; /* the next piece of a row, rows of the longest list, and bytes of the longest rows */
    size_t work, due;           /* work that is done between two pieces, and what was done since the last */
} fetching;

/* work: what is done between two rows. */
V_INLINE fetching fetching_of(const posenc_rows_ahead *ahead, const size_t n_lists, size_t work) {
    size_t end = 0, bytes = 1;
    for (size_t i = 0; i < n_lists; i++) {
        end = ahead[i].n > end ? ahead[i].n : end;
        bytes = ahead[i].n > 0 && ahead[i].bytes > bytes ? ahead[i].bytes : bytes;
    }
    return (fetching){ahead, n_lists, 0, end, 0, bytes, work / ((bytes + PIECE - 1) / PIECE), 0};
}

/* All of them in the course of so much work. */
V_INLINE fetching fetching_all(const posenc_rows_ahead *ahead, const size_t n_lists, size_t work) {
    size_t end = 1;
    for (size_t i = 0; i < n_lists; i++)
        end = ahead[i].n > end ? ahead[i].n : end;
    return fetching_of(ahead, n_lists, work / end);
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

V_INLINE void fetch_piece(const posenc_rows_ahead *ahead, size_t row, size_t first) {
    if (row >= ahead->n || first >= ahead->bytes)
        return;
    const uintptr_t line = 64, begin = (uintptr_t)ahead->rows[row];
    const int is_dense = row > 0 && begin == (uintptr_t)ahead->rows[row - 1] + ahead->bytes; /* they share a line */
    const size_t end = first + PIECE < ahead->bytes ? first + PIECE : ahead->bytes;
    for (uintptr_t i = (begin + first + (is_dense || first > 0 ? line - 1 : 0)) / line * line; i < begin + end;
         i += line)
        __builtin_prefetch((const void *)i, 0, 2);
}

V_INLINE void fetch_next(fetching *f) {
    for (size_t i = 0; f->row % LOOKUPS == 0 && f->at == 0 && i < f->n_lists; i++)
        look_up(&f->ahead[i], f->row);
    for (size_t i = 0; i < f->n_lists; i++)
        fetch_piece(&f->ahead[i], f->row, f->at);
    f->at += PIECE;
    if (f->at >= f->bytes)
        f->at = 0, f->row++;
}

/* Fetches the pieces that are due after so much more work. */
V_INLINE void fetch_some(fetching *f, size_t work) {
    f->due += work;
    for (; RARELY(f->due >= f->work && f->row < f->end); f->due -= f->work)
        fetch_next(f);
}

#endif
