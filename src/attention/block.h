/* SPDX-License-Identifier: MIT */
/* Inside of attention: one block of keys at work. */
#ifndef POSENC_SRC_ATTENTION_BLOCK_H
#define POSENC_SRC_ATTENTION_BLOCK_H

#include "attention/attention.h"

typedef struct posenc_attention_block {
    const posenc_attention_unit *unit;
    const posenc_attention_steps *steps;
    posenc_attention_sums sums;
    size_t first, n;                           /* keys of the block */
    size_t visible_limit;                      /* no pair sees a key of the segment from here on */
    posenc_visible visible[POSENC_MOST_PAIRS]; /* by each pair, counted from the block's first key */
    size_t visible_first, visible_end;         /* by any pair */
    int has_hole;                              /* in what any pair sees */
    uint32_t panels;                           /* that hold a key which any pair sees, a bit for each */
    size_t key_run, value_run;                 /* keys that are multiplied, and values that are summed, at a time */
    size_t rows_end;                           /* so many keys from the block's first have addresses */
    float keep[POSENC_MOST_PAIRS];             /* what the sums are to be multiplied by */
} posenc_attention_block;

/* 1 if any pair sees a key of the block; sets which. */
int posenc_attention_find_visible(posenc_attention_block *b);

/* Sets the addresses of the block's keys and values, of the unit's first head. */
void posenc_attention_find_rows(posenc_attention_block *b);

/* 1 if any pair sees a key of the panel that has key j. */
static inline int posenc_attention_has_panel(const posenc_attention_block *b, size_t j) {
    return b->panels >> (j / POSENC_PANEL) & 1;
}

/* End of the run of panels, all seen or all not, that has key `begin`. */
size_t posenc_attention_run_end(const posenc_attention_block *b, size_t begin);

/* Sets key_run and value_run by the block's steps. */
void posenc_attention_find_runs(posenc_attention_block *b);

/* Keys j .. j + n - 1 of the block, with the rows that are fetched meanwhile. */
posenc_attention_keys posenc_attention_keys_at(const posenc_attention_block *b, size_t j, size_t n);

/* Values begin .. end - 1 of the block, likewise. is_last: of the block. */
posenc_attention_values posenc_attention_values_at(const posenc_attention_block *b, size_t begin, size_t end,
                                                   int is_last);

#endif
