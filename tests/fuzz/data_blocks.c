/* SPDX-License-Identifier: MIT */
/* Block masks, and the same as bytes. */
#include "data_scores.h"

enum { ABSENT, PARTIAL, FULL };

/* Lists of a kind for each row of blocks. */
static void list(int kind, const uint8_t *kinds, int64_t n_rows, int64_t n_columns, const int32_t **counts,
                 const int32_t **blocks) {
    int32_t *count = data_block(n_rows, sizeof *count), *block = data_block(n_rows * n_columns, sizeof *block);
    for (int64_t r = 0; r < n_rows; r++) {
        count[r] = 0;
        for (int64_t column = 0; column < n_columns; column++)
            if (kinds[r * n_columns + column] == kind)
                block[r * n_columns + count[r]++] = (int32_t)column;
        for (int64_t t = count[r]; t < n_columns; t++)
            block[r * n_columns + t] = (int32_t)data_random();
    }
    *counts = count;
    *blocks = block;
}

static int is_kept(const posenc_bool_mask *m, int64_t j, int64_t i, int64_t h, int64_t b) {
    return m == NULL || (m->data[j + i * m->nb[1] + h * m->nb[2] + b * m->nb[3]] != 0) == (m->polarity == POSENC_KEEP);
}

/* The mask as bytes, for the comparison in double. */
static void set_plain(data_scores *s, const uint8_t *kinds) {
    const posenc_block_mask *mask = &s->blocks;
    int64_t of_head = s->n_q * s->n_k, of_batch = s->n_heads * of_head;
    uint8_t *bytes = data_block(s->n_batch * of_batch, 1), *listed = data_block(s->n_batch * of_batch, 1);
    for (int64_t at = 0; at < s->n_batch * of_batch; at++) {
        int64_t j = at % s->n_k, i = at / s->n_k % s->n_q, h = at / of_head % s->n_heads, b = at / of_batch;
        int64_t row = b * mask->batch_stride + h * mask->head_stride + i / mask->q_block;
        int kind = kinds[row * mask->n_max + j / mask->k_block];
        listed[at] = kind != ABSENT;
        bytes[at] = kind == FULL || (kind == PARTIAL && is_kept(s->params.bool_mask, j, i, h, b));
    }
    s->plain_mask = (posenc_bool_mask){bytes, {1, s->n_k, of_head, of_batch}, POSENC_KEEP};
    s->listed = (posenc_bool_mask){listed, {1, s->n_k, of_head, of_batch}, POSENC_KEEP};
    s->plain = s->params;
    s->plain.block_mask = NULL;
    s->plain.bool_mask = &s->plain_mask;
}

void data_draw_blocks(data_scores *s) {
    posenc_block_mask *mask = &s->blocks;
    int64_t q_block = draw_size(130), k_block = (int64_t)16 << draw(4), n_rows = (s->n_q - 1) / q_block + 1;
    int64_t n_columns = (s->n_k - 1) / k_block + 1, n_heads = draw_rarely(2) ? s->n_heads : 1;
    int64_t n_batch = draw_rarely(2) ? s->n_batch : 1, n = n_batch * n_heads * n_rows;
    uint64_t absent = (uint64_t)draw(16);
    uint8_t *kinds = data_block(n * n_columns, 1);
    for (int64_t c = 0; c < n * n_columns; c++)
        kinds[c] = data_random() % 16 < absent ? ABSENT : data_random() % 2 ? PARTIAL : FULL;
    *mask = (posenc_block_mask){
        .n_max = n_columns,
        .head_stride = n_heads > 1 ? n_rows : 0,
        .batch_stride = n_batch > 1 ? n_heads * n_rows : 0,
        .q_block = q_block,
        .k_block = k_block,
    };
    list(PARTIAL, kinds, n, n_columns, &mask->partial_counts, &mask->partial_blocks);
    list(FULL, kinds, n, n_columns, &mask->full_counts, &mask->full_blocks);
    s->params.block_mask = mask;
    set_plain(s, kinds);
}
