/* SPDX-License-Identifier: MIT */
/* Internals of attention: one key block of a unit, with its visible keys, row addresses and runs. */
#ifndef POSENC_SRC_ATTENTION_BLOCK_H
#define POSENC_SRC_ATTENTION_BLOCK_H

#include "attention/blocks.h"

typedef struct posenc_attention_block {
    const posenc_attention_unit *unit;
    const posenc_attention_steps *steps;
    posenc_attention_sums sums;
    size_t first, n;                             /* keys of the block */
    size_t visible_limit;                        /* no pair sees later keys of the segment */
    posenc_visible visible[POSENC_MOST_PAIRS];   /* keys that each pair sees, counted from the block's first */
    posenc_block_cells cells[POSENC_MOST_PAIRS]; /* with a block mask: cells that each pair sees */
    uint8_t has_same_row[POSENC_MOST_PAIRS];     /* 1 if the block mask has the same lists for the pair before */
    uint8_t sees_the_same[POSENC_MOST_PAIRS];    /* 1 if a pair sees the same keys as the pair before */
    size_t visible_first, visible_end;           /* keys that any pair sees */
    int64_t first_pair, end_pair;                /* pairs outside [first_pair, end_pair) see no key */
    int has_hole;                                /* 1 if the visible keys of a pair have a hole */
    uint32_t panels;                             /* bit p: a pair sees a key of panel p */
    size_t key_run, value_run;                   /* keys multiplied at a time, values summed at a time */
    size_t rows_end;                             /* keys with addresses, counted from the block's first */
    float keep[POSENC_MOST_PAIRS];               /* factors of the sums before this block */
} posenc_attention_block;

/* Sets what all blocks of a segment that ends at key `end` share: visible_limit, has_same_row, sees_the_same.
 * (visible_keys.c) */
void posenc_attention_find_limit(posenc_attention_block *b, size_t end);

/* Sets the visible keys of each pair. Returns 1 if any pair sees a key of the block. (visible_keys.c) */
int posenc_attention_find_visible(posenc_attention_block *b);

/* Prefetches the bool_mask's bytes of the cells for the pairs that follow `pair`, just before they are read: rows of a
 * large mask lie in pages of their own and, mostly, in the same sets of a cache. (visible_keys.c) */
void posenc_attention_fetch_bytes(const posenc_attention_block *b, int64_t pair, uint32_t cells);

/* Sets the addresses of the block's keys and values, of the unit's first head. */
void posenc_attention_find_rows(posenc_attention_block *b);

/* 1 if any pair sees a key of the panel that has key j. */
static inline int posenc_attention_has_panel(const posenc_attention_block *b, size_t j) {
    return b->panels >> (j / POSENC_PANEL) & 1;
}

/* End of the run of panels that begins at key `begin`: all of them are visible to a pair, or none is. */
size_t posenc_attention_run_end(const posenc_attention_block *b, size_t begin);

/* Sets key_run and value_run by the block's steps. */
void posenc_attention_find_runs(posenc_attention_block *b);

/* Keys [j, j + n) of the block, with the rows to prefetch meanwhile. */
posenc_attention_keys posenc_attention_keys_at(const posenc_attention_block *b, size_t j, size_t n);

/* Values [begin, end) of the block, with the rows to prefetch meanwhile. is_last: the block's last values. */
posenc_attention_values posenc_attention_values_at(const posenc_attention_block *b, size_t begin, size_t end,
                                                   int is_last);

#endif
