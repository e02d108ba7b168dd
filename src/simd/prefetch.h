/* SPDX-License-Identifier: MIT */
/* Prefetches rows that will be needed soon into the second cache, while other rows are at work. Needs: vec.h.
 * Used by: pack, dot, attend, bf16, quant, tiles_quant.
 *
 * A few cache lines at a time are prefetched between channels: all at once they wait for each other, and the work for
 * them, and decodes over 16 MB and more took 1.2 to 1.4 times as long. Rows that lie in several pages are an exception:
 * the pages of LOOKUPS rows are touched at once, because a CPU looks pages up side by side. Row by row, decode over a
 * list of keys took 1.1 (AVX-512) to 1.5 times (AVX2) as long; by eights 1.1 times on AVX-512 (AMD Zen 4). Tokens of 2
 * KB gain too: prefill of 4096 f16 tokens takes 0.9, decode 0.93 to 0.98 times as long. Tokens of 1 KB lose: decode of
 * Q8_0 in integers, 8 heads over 8, takes 1.15 times as long (AMD Zen 3, pages of 4 KB). */
#ifndef POSENC_SIMD_PREFETCH_H
#define POSENC_SIMD_PREFETCH_H

#include "vec.h"

#include "simd/typed.h"
#include "kernels/kernels.h"

/* State of prefetching two lists of rows. */
typedef struct fetching {
    const posenc_rows_ahead *ahead; /* two */
    size_t row, end;                /* next row of each list; end of the longer list */
    size_t at, bytes;               /* next piece of the row; bytes of the longer row */
    size_t work, due;               /* work between two pieces; work since the last */
} fetching;

/* Bytes of a row that are prefetched at a time. Rows may be tokens of many heads: prefetched whole, decode over Q8_0
 * tokens of 4 KB in integers takes 1.1 to 1.25 times as long (AMD Zen 3). */
enum { PIECE = 256 };

/* Prefetches rows piece by piece, evenly spread over `work` in all. */
V_INLINE fetching fetching_of(const posenc_rows_ahead ahead[2], size_t work) {
    fetching f = {.ahead = ahead, .end = ahead[0].n > ahead[1].n ? ahead[0].n : ahead[1].n, .bytes = 1};
    for (size_t i = 0; i < 2; i++)
        f.bytes = ahead[i].n > 0 && ahead[i].bytes > f.bytes ? ahead[i].bytes : f.bytes;
    f.work = f.end > 0 ? work / (f.end * ((f.bytes + PIECE - 1) / PIECE)) : 0;
    return f;
}

enum { LOOKUPS = 4, SMALL_PAGE = 4096 };

/* Touches the pages of the next LOOKUPS rows, unless most share one with another. */
V_INLINE void look_up(const posenc_rows_ahead *ahead, size_t row) {
    const void *const *rows = ahead->rows;
    if (row + LOOKUPS > ahead->n || (uintptr_t)rows[row + 1] - (uintptr_t)rows[row] < SMALL_PAGE / 2)
        return;
    for (size_t i = 0; i < LOOKUPS; i++)
        __builtin_prefetch(rows[row + i], 0, 2);
}

/* Prefetches bytes at .. at + n - 1 of a row, n > 0. */
V_INLINE void fetch_bytes(const void *row, size_t at, size_t n) {
    const char *bytes = (const char *)row + at;
    for (size_t i = 0; i < n; i += 64)
        __builtin_prefetch(bytes + i, 0, 2);
    __builtin_prefetch(bytes + n - 1, 0, 2);
}

/* Prefetches a piece of a row. Whole pieces without a loop: with one, decode over 512 keys that the caches hold takes
 * 1.1 times as long (AMD Zen 3). */
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

/* Prefetches the pieces that are due after `work` more. */
V_INLINE void fetch_some(fetching *f, size_t work) {
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
