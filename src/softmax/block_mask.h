/* SPDX-License-Identifier: MIT */
/* Block masks: checks, and the lists of a row. */
#ifndef POSENC_SRC_BLOCK_MASK_H
#define POSENC_SRC_BLOCK_MASK_H

#include <posenc/softmax.h>

#include "core/row_place.h"
#include "kernels/kernels.h"

/* Checks the block mask of scores of these extents, which are in range. */
posenc_status posenc_check_block_mask(const posenc_score_params *params, const posenc_view *scores);

/* Row of counts that a place's lists are at. */
static inline int64_t posenc_block_mask_row(const posenc_block_mask *mask, posenc_row_place at) {
    return at.batch * mask->batch_stride + at.head * mask->head_stride + at.query / mask->q_block;
}

/* Masks keys of a row that no block holds; blocks is memory for the lists. The call has a block mask. */
void posenc_score_args_blocks(const posenc_score_params *params, const posenc_row_place *at, posenc_row_blocks *blocks,
                              posenc_softmax_row_args *args);

#endif
