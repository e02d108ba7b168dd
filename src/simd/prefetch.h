/* SPDX-License-Identifier: MIT */
/* Fetching of rows that will be needed soon, into the second cache, while others are at work. Needs: typed.h.
 * Used by: pack, dot, attend, pairs, quant, tiles_quant.
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
    const posenc_rows_ahead *ahead; /* two */
    size_t row, end;                /* the next row of each list, and the end of the longer */
    size_t work, due; /* work that is done between two rows, or pieces of rows, and what was done since the last */
    size_t at, bytes; /* the next piece of the row, and the bytes of the longer */
} fetching;

/* Rows of two lists, fetched one by one: work is what is done between two of them. */
V_INLINE fetching fetching_of(const posenc_rows_ahead ahead[2], size_t work) {
    return (fetching){.ahead = ahead, .end = ahead[0].n > ahead[1].n ? ahead[0].n : ahead[1].n, .work = work};
}

/* Rows of some KB, as tokens of many heads are, or beside much work: in pieces, evenly spread over all of the work. */
enum { PIECE = 256 };

V_INLINE fetching fetching_pieces_of(const posenc_rows_ahead ahead[2], size_t work) {
    fetching f = fetching_of(ahead, 0);
    f.bytes = 1;
    for (size_t i = 0; i < 2; i++)
        f.bytes = ahead[i].n > 0 && ahead[i].bytes > f.bytes ? ahead[i].bytes : f.bytes;
    f.work = f.end > 0 ? work / (f.end * ((f.bytes + PIECE - 1) / PIECE)) : 0;
    return f;
}

/* The same rows one by one, spread over so much work in all. */
V_INLINE fetching fetching_all(const posenc_rows_ahead ahead[2], size_t work) {
    fetching f = fetching_of(ahead, 0);
    f.work = work / (f.end > 0 ? f.end : 1);
    return f;
}

enum { LOOKUPS = 4, SMALL_PAGE = 4096 };

/* Looks up the pages of the next rows, unless they share one. */
V_INLINE void look_up(const posenc_rows_ahead *ahead, size_t row) {
    const void *const *rows = ahead->rows;
    if (row + LOOKUPS > ahead->n || (uintptr_t)rows[row + 1] - (uintptr_t)rows[row] < SMALL_PAGE / LOOKUPS)
        return;
    for (size_t i = 0; i < LOOKUPS; i++)
        __builtin_prefetch(rows[row + i], 0, 2);
}

/* Fetches bytes at .. at + n - 1 of a row, n > 0. */
V_INLINE void fetch_bytes(const void *row, size_t at, size_t n) {
    const char *bytes = (const char *)row + at;
    for (size_t i = 0; i < n; i += 64)
        __builtin_prefetch(bytes + i, 0, 2);
    __builtin_prefetch(bytes + n - 1, 0, 2);
}

V_INLINE void fetch_row(const posenc_rows_ahead *ahead, size_t row) {
    if (row < ahead->n)
        fetch_bytes(ahead->rows[row], 0, ahead->bytes);
}

/* Fetches a piece of a row. Whole pieces without a loop: with one, decode over 512 keys that the caches hold takes 1.1
 * times as long (AMD Zen 3). */
V_INLINE void fetch_piece(const posenc_rows_ahead *ahead, size_t row, size_t at) {
    if (row >= ahead->n || at >= ahead->bytes)
        return;
    size_t n = ahead->bytes - at;
    n >= PIECE ? fetch_bytes(ahead->rows[row], at, PIECE) : fetch_bytes(ahead->rows[row], at, n);
}

V_INLINE void look_up_both(const fetching *f) {
    if (f->row % LOOKUPS == 0) {
        look_up(&f->ahead[0], f->row);
        look_up(&f->ahead[1], f->row);
    }
}

/* Fetches the rows that are due after so much more work. */
V_INLINE void fetch_some(fetching *f, size_t work) {
    f->due += work;
    for (; RARELY(f->due >= f->work && f->row < f->end); f->due -= f->work, f->row++) {
        look_up_both(f);
        fetch_row(&f->ahead[0], f->row);
        fetch_row(&f->ahead[1], f->row);
    }
}

V_INLINE void fetch_some_pieces(fetching *f, size_t work) {
    f->due += work;
    for (; RARELY(f->due >= f->work && f->row < f->end); f->due -= f->work) {
        if (f->at == 0)
            look_up_both(f);
        fetch_piece(&f->ahead[0], f->row, f->at);
        fetch_piece(&f->ahead[1], f->row, f->at);
        f->at += PIECE;
        if (f->at >= f->bytes)
            f->at = 0, f->row++;
    }
}

#endif
