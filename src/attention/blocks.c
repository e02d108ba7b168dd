/* SPDX-License-Identifier: MIT */
/* Block masks: the cells of 16 keys that a query sees of a key block. */
#include "attention/blocks.h"

#include <string.h>

#include "core/minmax.h"

enum { CELL = POSENC_BLOCK_CELL, CELLS = POSENC_KEY_BLOCK / CELL };

_Static_assert(CELLS == 32 && POSENC_KEYS_EXACT % 128 == 0, "a key block is a word of cells, and begins with a block");

/* Bits of the cells of the key block at `first` that are in the row's list. */
static uint32_t cells_in(const posenc_block_mask *m, const int32_t *counts, const int32_t *blocks, int64_t row,
                         size_t first) {
    if (counts == NULL)
        return 0;
    const int32_t *list = blocks + row * m->n_max;
    int64_t low = 0, high = counts[row], begin = (int64_t)first / m->k_block;
    while (low < high) { /* the first block of the key block, or behind it */
        int64_t middle = low + (high - low) / 2;
        if (list[middle] < begin)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t cells = 0, of_block = (UINT32_C(1) << (m->k_block / CELL)) - 1;
    for (int64_t t = low; t < counts[row]; t++) {
        int64_t cell = (list[t] - begin) * (m->k_block / CELL);
        if (cell >= CELLS)
            break;
        cells |= of_block << cell;
    }
    return cells;
}

posenc_block_cells posenc_block_mask_cells(const posenc_block_mask *m, int64_t row, size_t first) {
    uint32_t full = cells_in(m, m->full_counts, m->full_blocks, row, first);
    return (posenc_block_cells){full, cells_in(m, m->partial_counts, m->partial_blocks, row, first) & ~full};
}

static size_t end_in(const posenc_block_mask *m, const int32_t *counts, const int32_t *blocks, int64_t row) {
    return counts != NULL && counts[row] > 0
               ? ((size_t)blocks[row * m->n_max + counts[row] - 1] + 1) * (size_t)m->k_block
               : 0;
}

size_t posenc_block_mask_end(const posenc_block_mask *m, int64_t row) {
    return posenc_max_size(end_in(m, m->full_counts, m->full_blocks, row),
                           end_in(m, m->partial_counts, m->partial_blocks, row));
}

/* Bits of the cells with keys begin .. end - 1. */
static uint32_t cells_with(size_t begin, size_t end) {
    if (begin >= end)
        return 0;
    uint32_t up_to = (UINT32_C(2) << ((end - 1) / CELL)) - 1; /* 2 << 31 is 0 */
    return up_to & ~((UINT32_C(1) << (begin / CELL)) - 1);
}

static uint32_t visible_cells(posenc_visible visible) {
    if (visible.hole_begin == visible.hole_end)
        return cells_with(visible.begin, visible.end);
    return cells_with(visible.begin, visible.hole_begin) | cells_with(visible.hole_end, visible.end);
}

/* Clips visible keys, which may have a hole, to [begin, end). */
static posenc_visible clip(posenc_visible visible, size_t begin, size_t end) {
    visible.begin = posenc_max_size(visible.begin, begin);
    visible.end = posenc_min_size(visible.end, end);
    if (visible.hole_begin != visible.hole_end && visible.begin >= visible.hole_begin) /* nothing before the hole */
        visible = (posenc_visible){.begin = posenc_max_size(visible.begin, visible.hole_end), .end = visible.end};
    else if (visible.hole_begin != visible.hole_end && visible.end <= visible.hole_end)
        visible = (posenc_visible){.begin = visible.begin, .end = posenc_min_size(visible.end, visible.hole_begin)};
    return visible.begin < visible.end ? visible : (posenc_visible){.begin = 0, .end = 0};
}

/* Clips visible keys to the cells, with a hole for the first gap between them. */
static posenc_visible clip_to_cells(posenc_block_cells cells, posenc_visible visible) {
    uint32_t seen = (cells.full | cells.partial) & visible_cells(visible);
    if (seen == 0)
        return (posenc_visible){.begin = 0, .end = 0};
    size_t first = (size_t)__builtin_ctz(seen), last = CELLS - 1 - (size_t)__builtin_clz(seen);
    visible = clip(visible, first * CELL, (last + 1) * CELL);
    uint32_t gaps = ~seen & cells_with(first * CELL, (last + 1) * CELL);
    if (gaps != 0 && visible.hole_begin == visible.hole_end) { /* the first gap; bytes mask further ones */
        size_t gap = (size_t)__builtin_ctz(gaps);
        uint32_t behind = seen & ~((UINT32_C(2) << gap) - 1);
        visible.hole_begin = gap * CELL;
        visible.hole_end = (size_t)__builtin_ctz(behind) * CELL;
    }
    return visible;
}

/* Bits of the 8 bytes that are not 0. */
static uint32_t set_bits(const uint8_t *bytes) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), gather = UINT64_C(0x0102040810204080);
    uint64_t x;
    memcpy(&x, bytes, sizeof x);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    x = (((x & low) + low) | x) >> 7 & UINT64_C(0x0101010101010101);
    return (uint32_t)(x * gather >> 56); /* byte k to bit k */
}

/* Bits of the visible keys of a cell, and of the keys that its bytes leave. */
typedef struct kept_keys {
    uint32_t visible, kept;
} kept_keys;

static kept_keys kept_of(const posenc_cell_bytes *mask, posenc_visible visible, size_t cell) {
    size_t first = cell * CELL, begin = posenc_max_size(first, visible.begin) - first,
           end = posenc_min_size(first + CELL, visible.end) - first;
    const uint8_t *bytes = mask->bytes + first;
    kept_keys k = {((UINT32_C(1) << end) - 1) & ~((UINT32_C(1) << begin) - 1), 0};
    if (end - begin == CELL)
        k.kept = set_bits(bytes) | set_bits(bytes + 8) << 8;
    else
        for (size_t j = begin; j < end; j++)
            k.kept |= (uint32_t)(bytes[j] != 0) << j;
    k.kept = mask->keep ? k.kept : k.visible & ~k.kept;
    return k;
}

/* Whether bytes leave any of a cell's visible keys, and all of them. */
typedef struct kept_share {
    int any, all;
} kept_share;

/* Not 0 if one of the 8 bytes is 0. */
static uint64_t zero_bytes(uint64_t x) {
    return (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
}

/* Most cells are seen whole, with bytes all alike. Bit by bit a window of 512 keys takes 1.03 times as long. */
static kept_share share_of(const posenc_cell_bytes *mask, posenc_visible visible, size_t cell) {
    if (cell * CELL < visible.begin || (cell + 1) * CELL > visible.end) {
        kept_keys k = kept_of(mask, visible, cell);
        return (kept_share){k.kept != 0, k.kept == k.visible};
    }
    uint64_t low, high;
    memcpy(&low, mask->bytes + cell * CELL, sizeof low);
    memcpy(&high, mask->bytes + cell * CELL + sizeof low, sizeof high);
    int is_any_set = (low | high) != 0, are_all_set = (zero_bytes(low) | zero_bytes(high)) == 0;
    return mask->keep ? (kept_share){is_any_set, are_all_set} : (kept_share){!are_all_set, !is_any_set};
}

/* Makes partial cells of `which` full, or leaves them out, where their bytes say the same of all visible keys. */
static void settle(posenc_block_cells *cells, const posenc_cell_bytes *mask, posenc_visible visible, uint32_t which) {
    for (uint32_t left = which & cells->partial; left != 0; left &= left - 1) {
        uint32_t bit = left & ~(left - 1);
        kept_share kept = share_of(mask, visible, (size_t)__builtin_ctz(left));
        cells->full |= kept.all ? bit : 0;
        cells->partial &= kept.all || !kept.any ? ~bit : UINT32_MAX;
    }
}

/* Keys of a cell that are visible and left by its bytes, in a partial cell; 0 in a full one. */
static uint32_t kept_in_partial(const posenc_block_cells *cells, const posenc_cell_bytes *mask, posenc_visible visible,
                                size_t cell) {
    return cells->partial >> cell & 1 ? kept_of(mask, visible, cell).kept : 0;
}

/* Moves the ends of the visible keys to the first and the last key that bytes leave in their cells. */
static posenc_visible trim(const posenc_block_cells *cells, const posenc_cell_bytes *mask, posenc_visible visible) {
    size_t first = visible.begin / CELL, last = (visible.end - 1) / CELL;
    uint32_t in_first = kept_in_partial(cells, mask, visible, first),
             in_last = kept_in_partial(cells, mask, visible, last);
    size_t begin = in_first != 0 ? first * CELL + (size_t)__builtin_ctz(in_first) : visible.begin;
    size_t end = in_last != 0 ? last * CELL + 32 - (size_t)__builtin_clz(in_last) : visible.end;
    return clip(visible, begin, end);
}

/* Visible keys of a pair that has some, clipped to the cells and to what bytes leave. */
static posenc_visible visible_in(posenc_block_cells *cells, const posenc_cell_bytes *mask, posenc_visible visible) {
    if (mask->bytes != NULL)
        settle(cells, mask, visible, visible_cells(visible));
    visible = clip_to_cells(*cells, visible);
    if (mask->bytes == NULL || visible.begin == visible.end)
        return visible;
    visible = trim(cells, mask, visible);
    if (visible.begin == visible.end)
        return visible;
    settle(cells, mask, visible,
           cells_with(visible.begin, visible.begin + 1) | cells_with(visible.end - 1, visible.end));
    return visible;
}

void posenc_block_cells_see(posenc_block_cells *cells, const posenc_cell_bytes *mask, posenc_visible *visible) {
    if (visible->begin < visible->end)
        *visible = visible_in(cells, mask, *visible);
}

uint32_t posenc_block_cells_panels(posenc_block_cells cells) {
    uint32_t seen = cells.full | cells.partial, panels = 0;
    for (int p = 0; p < CELLS / 2; p++)
        panels |= (uint32_t)((seen >> (2 * p) & 3) != 0) << p;
    return panels;
}

void posenc_block_cells_bytes(posenc_block_cells cells, uint8_t *bytes, posenc_softmax_row_args *args) {
    uint32_t visible = visible_cells(args->visible);
    const uint8_t *from = args->bytes;
    args->bytes = NULL;
    int has_bytes = from != NULL && (visible & cells.partial) != 0;
    if (!has_bytes && (visible & ~(cells.full | cells.partial)) == 0)
        return;
    for (size_t cell = 0; cell < CELLS; cell++) {
        uint8_t *to = bytes + cell * CELL;
        if (!(visible >> cell & 1))
            continue;
        memset(to, (int)((cells.full | cells.partial) >> cell & 1), CELL);
        size_t n = posenc_min_size(CELL, args->n - cell * CELL);
        for (size_t j = 0; has_bytes && cells.partial >> cell & 1 && j < n; j++)
            to[j] = (from[cell * CELL + j] != 0) == (args->keep != 0);
    }
    args->bytes = bytes;
    args->bytes_begin = 0;
    args->keep = 1;
}
