/* SPDX-License-Identifier: MIT */
/* Runs of a row's keys by its bounds, its bytes and its block mask. Blocks in no list are passed over. Needs: vec.h.
 * Used by: softmax_logits, softmax_passes, softmax_16bit. */
#ifndef POSENC_SIMD_SOFTMAX_BLOCKS_H
#define POSENC_SIMD_SOFTMAX_BLOCKS_H

#include "vec.h"

#include "kernels/kernels.h"
#include "simd/softmax_runs.h"

typedef posenc_softmax_row_args row;

/* First entries of a row's lists that the walk over its runs has not passed. A walk begins with zeros. */
typedef struct list_cursor {
    size_t full, partial;
} list_cursor;

/* First entry, from `at` on, that is `number` or more. Mostly it is near. */
V_INLINE size_t advance(const int32_t *list, size_t n, size_t at, size_t number) {
    for (int steps = 0; steps < 8; steps++, at++)
        if (at >= n || (size_t)list[at] >= number)
            return at;
    while (at < n) {
        size_t middle = at + (n - at) / 2;
        if ((size_t)list[middle] < number)
            at = middle + 1;
        else
            n = middle;
    }
    return at;
}

V_INLINE void advance_both(const posenc_row_blocks *b, list_cursor *at, size_t number) {
    at->full = advance(b->full, b->n_full, at->full, number);
    at->partial = advance(b->partial, b->n_partial, at->partial, number);
}

/* How a block is masked; the cursor has been advanced to it. */
V_INLINE cell_mask mask_of_block(const row *a, const list_cursor *at, size_t number) {
    const posenc_row_blocks *b = a->blocks;
    if (at->full < b->n_full && (size_t)b->full[at->full] == number)
        return CELL_SEEN;
    if (at->partial < b->n_partial && (size_t)b->partial[at->partial] == number)
        return a->bytes != NULL ? CELL_BY_BYTES : CELL_SEEN;
    return CELL_MASKED;
}

/* First block of either list that the cursor has not passed; SIZE_MAX at the end of both. */
V_INLINE size_t next_block(const posenc_row_blocks *b, const list_cursor *at) {
    size_t full = at->full < b->n_full ? (size_t)b->full[at->full] : SIZE_MAX;
    size_t partial = at->partial < b->n_partial ? (size_t)b->partial[at->partial] : SIZE_MAX;
    return full < partial ? full : partial;
}

/* True if a key of the cell at key j is inside the bounds. */
V_INLINE int has_visible(const posenc_visible *v, size_t j) {
    size_t begin = j > v->begin ? j : v->begin, end = j + CELL < v->end ? j + CELL : v->end;
    return begin < end && !(v->hole_begin <= begin && end <= v->hole_end);
}

/* Ends a run of whole steps where its last block of one kind ends, or with a block of the canonical sum: the next
 * run goes on there. */
V_INLINE void end_run(const row *a, list_cursor at, run *r) {
    size_t limit = (r->begin / POSENC_SUM_BLOCK + 1) * POSENC_SUM_BLOCK, size = a->blocks->size;
    limit = limit < r->end ? limit : r->end;
    size_t number = (a->blocks_begin + r->begin) / size, end;
    do {
        advance_both(a->blocks, &at, ++number);
        end = number * size - a->blocks_begin;
    } while (end < limit && mask_of_block(a, &at, number) == r->cells[0]);
    r->end = end < limit ? step_of(end) : limit;
}

/* Sets the masks of the cells of the run's first step, and where the run ends. Returns 0 if the step has no visible
 * key. */
V_INLINE int set_cells(const row *a, const list_cursor *first, run *r) {
    list_cursor at = *first;
    int is_whole = !r->is_ragged && r->begin + LANES <= r->end;
    for (size_t c = 0; c < LANES / CELL; c++) {
        size_t j = r->begin + c * CELL, number = (a->blocks_begin + j) / a->blocks->size;
        advance_both(a->blocks, &at, number);
        r->cells[c] = is_whole || has_visible(&a->visible, j) ? mask_of_block(a, &at, number) : CELL_MASKED;
    }
    if (is_whole && r->cells[0] == r->cells[1]) {
        end_run(a, at, r);
        return 1;
    }
    r->is_ragged = 1;
    r->end = r->begin + LANES < r->end ? r->begin + LANES : r->end;
    return r->cells[0] != CELL_MASKED || r->cells[1] != CELL_MASKED;
}

/* The run that begins in a listed block, from key j on. */
static __attribute__((noinline)) run listed_run(const row *a, size_t j, list_cursor *at) {
    const posenc_row_blocks *b = a->blocks;
    run r = run_at(&a->visible, j);
    while (r.begin < a->visible.end) {
        advance_both(b, at, (a->blocks_begin + r.begin) / b->size);
        size_t number = next_block(b, at), end = (a->blocks_begin + a->visible.end + b->size - 1) / b->size;
        if (number >= end)
            return (run){.begin = a->visible.end, .end = a->visible.end};
        size_t first = number * b->size > a->blocks_begin + r.begin ? number * b->size - a->blocks_begin : r.begin;
        if (first >= r.end) {
            r = run_at(&a->visible, step_of(first));
            continue;
        }
        r.begin = step_of(first);
        if (set_cells(a, at, &r))
            return r;
        r = run_at(&a->visible, r.begin + LANES);
    }
    return r;
}

/* Run of a row from key j on, as run_at. Its cells are masked alike, step by step. */
V_INLINE run row_run(const row *a, size_t j, list_cursor *at) {
    if (j >= a->visible.end) /* tested first: a row of 256 keys notices the tests below, by 1 % */
        return (run){.begin = j, .end = j};
    if (a->blocks != NULL) { /* copied: a run whose address is taken would be read from memory in every step */
        run listed = listed_run(a, j, at);
        return (run){listed.begin, listed.end, listed.is_ragged, {listed.cells[0], listed.cells[1]}};
    }
    run r = run_at(&a->visible, j);
    if (a->bytes != NULL && r.begin >= a->bytes_begin)
        r.cells[0] = r.cells[1] = CELL_BY_BYTES;
    else if (a->bytes != NULL && a->bytes_begin < r.end)
        r.end = a->bytes_begin;
    return r;
}

#endif
