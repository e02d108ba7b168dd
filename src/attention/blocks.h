/* SPDX-License-Identifier: MIT */
/* Internals of attention: block masks, for one key block and one (query, head) pair. */
#ifndef POSENC_SRC_ATTENTION_BLOCKS_H
#define POSENC_SRC_ATTENTION_BLOCKS_H

#include "attention/attention.h"
#include "softmax/block_mask.h"

enum { POSENC_BLOCK_CELL = 16 }; /* keys of a cell, the smallest block */

/* Bit c: cell c of a key block is in a full block, or in a partial one. */
typedef struct posenc_block_cells {
    uint32_t full, partial;
} posenc_block_cells;

/* Cells of the key block that begins at key `first`. */
posenc_block_cells posenc_block_mask_cells(const posenc_block_mask *mask, int64_t row, size_t first);

/* End of the last block that a row lists; 0: none. */
size_t posenc_block_mask_end(const posenc_block_mask *mask, int64_t row);

/* The bool_mask's bytes of the key block, read in partial blocks; NULL: none. */
typedef struct posenc_cell_bytes {
    const uint8_t *bytes;
    int keep;
} posenc_cell_bytes;

/* Clips a pair's visible keys to the cells, with a hole for the first gap, and to the first and the last key that
 * bytes leave. Cells whose bytes say the same of all keys become full or are left out: windows and documents need no
 * bytes. Visible keys are passed by address: a struct that is returned is stored by fields, and read by wider loads
 * that wait for the stores. */
void posenc_block_cells_see(posenc_block_cells *cells, const posenc_cell_bytes *mask, posenc_visible *visible);

/* Bit p: panel p has a key in a cell. */
uint32_t posenc_block_cells_panels(posenc_block_cells cells);

/* Sets the bytes of a pair's visible keys: 0 in gaps, the bool_mask's in partial blocks. NULL where all are seen. */
void posenc_block_cells_bytes(posenc_block_cells cells, uint8_t *bytes, posenc_softmax_row_args *args);

#endif
