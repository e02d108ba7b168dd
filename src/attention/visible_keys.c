/* SPDX-License-Identifier: MIT */
/* Fused attention, one key block of a unit: the keys that each pair sees. */
#include "attention/block.h"

#include <string.h>

#include "core/minmax.h"
#include "softmax/visible.h"

static int has_hole(posenc_visible visible) {
    return visible.hole_begin < visible.hole_end;
}

typedef struct key_range {
    size_t begin, end;
} key_range;

/* Clips keys [begin, end) to the n keys from `first` on, counted from there, and trims biases of -inf at its ends. */
static key_range clip(const posenc_softmax_row_args *row, size_t begin, size_t end, size_t first, size_t n) {
    key_range clipped = {posenc_max_size(begin, first), posenc_min_size(end, first + n)};
    if (clipped.begin < clipped.end)
        posenc_skip_masked(row, &clipped.begin, &clipped.end);
    return clipped.begin < clipped.end ? (key_range){clipped.begin - first, clipped.end - first} : (key_range){0, 0};
}

/* Clips a row's visible keys to the n keys from `first` on. */
static posenc_visible visible_of(const posenc_softmax_row_args *row, size_t first, size_t n) {
    if (!has_hole(row->visible)) {
        key_range all = clip(row, row->visible.begin, row->visible.end, first, n);
        return (posenc_visible){.begin = all.begin, .end = all.end};
    }
    key_range before = clip(row, row->visible.begin, row->visible.hole_begin, first, n),
              behind = clip(row, row->visible.hole_end, row->visible.end, first, n);
    if (before.end == 0)
        return (posenc_visible){.begin = behind.begin, .end = behind.end};
    if (behind.end == 0)
        return (posenc_visible){.begin = before.begin, .end = before.end};
    return (posenc_visible){before.begin, before.end, behind.begin, behind.end};
}

/* A bit for each panel with keys begin .. end - 1. */
static uint32_t panels_with(size_t begin, size_t end) {
    return begin < end ? (UINT32_C(2) << ((end - 1) / POSENC_PANEL)) - (UINT32_C(1) << (begin / POSENC_PANEL)) : 0;
}

static int64_t mask_row(const posenc_attention_block *b, int64_t pair) {
    return posenc_block_mask_row(b->unit->call->args->params->block_mask, posenc_attention_place(b->unit, pair));
}

/* Sets has_same_row. Returns the end of the last block that a pair's row lists; without a mask the end of all keys. */
static size_t find_mask_rows(posenc_attention_block *b) {
    size_t end = 0;
    if (b->unit->call->args->params->block_mask == NULL) {
        memset(b->has_same_row, 1, sizeof b->has_same_row);
        return SIZE_MAX;
    }
    for (int64_t pair = 0, last = -1; pair < posenc_attention_pairs(b->unit); pair++) {
        int64_t row = mask_row(b, pair);
        b->has_same_row[pair] = row == last;
        if (row != last)
            end = posenc_max_size(end, posenc_block_mask_end(b->unit->call->args->params->block_mask, row));
        last = row;
    }
    return end;
}

/* 1 if nothing but bounds masks keys of the row, and they are those of the row before. All rows of a call have bytes or
 * a bias, or none has. */
static int has_same_bounds(const posenc_softmax_row_args *row) {
    posenc_visible x = row[-1].visible, y = row->visible;
    return row->bytes == NULL && row->bias == NULL && x.begin == y.begin && x.end == y.end &&
           x.hole_begin == y.hole_begin && x.hole_end == y.hole_end;
}

void posenc_attention_find_limit(posenc_attention_block *b, size_t end) {
    const posenc_softmax_row_args *rows = b->unit->rows;
    size_t listed_end = find_mask_rows(b);
    b->visible_limit = 0;
    for (int64_t pair = 0; pair < posenc_attention_pairs(b->unit); pair++) {
        b->visible_limit = posenc_max_size(b->visible_limit, posenc_min_size(rows[pair].visible.end, end));
        b->sees_the_same[pair] = pair > 0 && b->has_same_row[pair] && has_same_bounds(&rows[pair]);
    }
    b->visible_limit = posenc_min_size(b->visible_limit, listed_end);
}

/* 1 if the call's mask lists a block of these keys for a pair, or there is no mask. A window of 512 in 8192 keys takes
 * 1.1 times as long if each pair asks for itself. */
static int is_listed(const posenc_attention_block *b) {
    const posenc_block_mask *mask = b->unit->call->args->params->block_mask;
    for (int64_t pair = 0; mask != NULL && pair < posenc_attention_pairs(b->unit); pair++) {
        if (b->has_same_row[pair])
            continue;
        posenc_block_cells cells = posenc_block_mask_cells(mask, mask_row(b, pair), b->first);
        if ((cells.full | cells.partial) != 0)
            return 1;
    }
    return mask == NULL;
}

/* Cells of the block that the call's mask lists for a pair: all without a mask. last: those of the pair before. */
static posenc_block_cells listed_cells(const posenc_attention_block *b, int64_t pair, posenc_block_cells last) {
    const posenc_block_mask *mask = b->unit->call->args->params->block_mask;
    if (mask == NULL)
        return (posenc_block_cells){UINT32_MAX, 0};
    return b->has_same_row[pair] ? last : posenc_block_mask_cells(mask, mask_row(b, pair), b->first);
}

/* Clips a pair's visible keys to the listed cells. Returns the panels with keys of these cells: all without a mask. */
static uint32_t clip_to_mask(posenc_attention_block *b, int64_t pair, posenc_block_cells listed) {
    if (b->unit->call->args->params->block_mask == NULL)
        return UINT32_MAX;
    const posenc_softmax_row_args *args = &b->unit->rows[pair];
    posenc_cell_bytes bytes = {args->bytes != NULL ? args->bytes + b->first : NULL, args->keep};
    b->cells[pair] = listed;
    posenc_block_cells_see(&b->cells[pair], &bytes, &b->visible[pair]);
    return posenc_block_cells_panels(b->cells[pair]);
}

void posenc_attention_fetch_bytes(const posenc_attention_block *b, int64_t pair, uint32_t cells) {
    enum { AHEAD = 4, LINE_CELLS = 64 / POSENC_BLOCK_CELL };
    for (int64_t p = pair == 0 ? 0 : pair + AHEAD; p <= pair + AHEAD && p < posenc_attention_pairs(b->unit); p++) {
        const uint8_t *bytes = b->unit->rows[p].bytes;
        for (size_t cell = 0; bytes != NULL && cell * POSENC_BLOCK_CELL < b->n; cell += LINE_CELLS)
            if (cells >> cell & ((1 << LINE_CELLS) - 1))
                __builtin_prefetch(bytes + b->first + cell * POSENC_BLOCK_CELL);
    }
}

/* Sets the visible keys of a pair, and adds them to those of the block. */
static void see(posenc_attention_block *b, int64_t pair, posenc_block_cells listed) {
    b->visible[pair] = (posenc_visible){.begin = 0, .end = 0};
    if ((listed.full | listed.partial) == 0)
        return;
    b->visible[pair] = visible_of(&b->unit->rows[pair], b->first, b->n);
    uint32_t panels = clip_to_mask(b, pair, listed);
    posenc_visible visible = b->visible[pair];
    if (visible.begin == visible.end)
        return;
    b->first_pair = posenc_min(b->first_pair, pair);
    b->end_pair = pair + 1;
    b->has_hole |= has_hole(visible);
    b->panels |= panels & panels_with(visible.begin, has_hole(visible) ? visible.hole_begin : visible.end);
    b->panels |= has_hole(visible) ? panels & panels_with(visible.hole_end, visible.end) : 0;
    b->visible_first = posenc_min_size(b->visible_first, visible.begin);
    b->visible_end = posenc_max_size(b->visible_end, visible.end);
}

/* Gives a pair the visible keys of the pair before. */
static void see_the_same(posenc_attention_block *b, int64_t pair) {
    b->visible[pair] = b->visible[pair - 1];
    b->cells[pair] = b->cells[pair - 1];
    if (b->end_pair == pair)
        b->end_pair = pair + 1;
}

int posenc_attention_find_visible(posenc_attention_block *b) {
    if (!is_listed(b))
        return 0;
    posenc_block_cells listed = {0, 0};
    b->visible_first = b->n;
    b->visible_end = 0;
    b->first_pair = posenc_attention_pairs(b->unit);
    b->end_pair = 0;
    b->has_hole = 0;
    b->panels = 0;
    for (int64_t pair = 0; pair < posenc_attention_pairs(b->unit); pair++) {
        if (b->sees_the_same[pair]) {
            see_the_same(b, pair);
            continue;
        }
        listed = listed_cells(b, pair, listed);
        posenc_attention_fetch_bytes(b, pair, listed.partial);
        see(b, pair, listed);
    }
    return b->visible_first < b->visible_end;
}
