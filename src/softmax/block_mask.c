/* SPDX-License-Identifier: MIT */
/* Block masks: checks, the lists of a row, and lists built from other masks. */
#include "softmax/block_mask.h"

#include "bias/mask.h"
#include "core/minmax.h"
#include "core/view.h"
#include "softmax/scores.h"

static int64_t blocks_of(int64_t n, int64_t size) {
    return n / size + (n % size > 0);
}

/* A list: numbers of blocks, ascending and below n. */
static int is_list(const int32_t *blocks, int64_t count, int64_t n) {
    for (int64_t t = 0; t < count; t++)
        if (blocks[t] < (t == 0 ? 0 : blocks[t - 1] + 1) || blocks[t] >= n)
            return 0;
    return 1;
}

static posenc_status check_sizes(const posenc_block_mask *m, const posenc_view *scores) {
    if (m->k_block != 16 && m->k_block != 32 && m->k_block != 64 && m->k_block != 128)
        return posenc_refuse(POSENC_ERR_SHAPE, "k_block is %lld, but 16, 32, 64 or 128 is wanted",
                             (long long)m->k_block);
    if (m->q_block < 1 || m->n_max < 0 || m->n_max > POSENC_MAX_KEYS || m->head_stride < 0 || m->batch_stride < 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    int64_t most = POSENC_LIMIT / ((m->n_max + 1) * 4);
    return m->head_stride <= most / (scores->ne[2] + 1) && m->batch_stride <= most / (scores->ne[3] + 1)
               ? POSENC_OK
               : posenc_refused(POSENC_ERR_SHAPE);
}

/* Lists of full or of partial blocks: all rows of blocks, heads and sequences. */
static posenc_status check_lists(const posenc_block_mask *m, const int32_t *counts, const int32_t *blocks,
                                 const posenc_view *scores) {
    if (counts == NULL && blocks == NULL)
        return POSENC_OK;
    if (counts == NULL || blocks == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(counts, 4) || !posenc_is_aligned(blocks, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    int64_t n_rows = blocks_of(scores->ne[1], m->q_block), n_blocks = blocks_of(scores->ne[0], m->k_block);
    int64_t n_heads = m->head_stride == 0 ? 1 : scores->ne[2], n_batch = m->batch_stride == 0 ? 1 : scores->ne[3];
    for (int64_t b = 0; b < n_batch; b++)
        for (int64_t h = 0; h < n_heads; h++)
            for (int64_t i = 0; i < n_rows; i++) {
                int64_t row = b * m->batch_stride + h * m->head_stride + i;
                if (counts[row] < 0 || counts[row] > m->n_max ||
                    !is_list(blocks + row * m->n_max, counts[row], n_blocks))
                    return posenc_refuse(POSENC_ERR_ROWS,
                                         "row %lld of head %lld of sequence %lld: no ascending list of "
                                         "up to %lld blocks below %lld",
                                         (long long)i, (long long)h, (long long)b, (long long)m->n_max,
                                         (long long)n_blocks);
            }
    return POSENC_OK;
}

posenc_status posenc_check_block_mask(const posenc_score_params *params, const posenc_view *scores) {
    const posenc_block_mask *m = params->block_mask;
    if (m == NULL)
        return POSENC_OK;
    if (params->tree != NULL)
        return posenc_refuse(POSENC_ERR_MASK, "does not go with tree: bool_mask can mask drafts in partial blocks");
    posenc_status status = check_sizes(m, scores);
    if (status != POSENC_OK || scores->ne[1] == 0 || scores->ne[2] == 0 || scores->ne[3] == 0)
        return status;
    status = check_lists(m, m->partial_counts, m->partial_blocks, scores);
    return status == POSENC_OK ? check_lists(m, m->full_counts, m->full_blocks, scores) : status;
}

/* ---- One row ---- */

/* Entries of a row's list: no entry where there are no lists. */
static size_t count_of(const int32_t *counts, int64_t row) {
    return counts != NULL ? (size_t)counts[row] : 0;
}

void posenc_score_args_blocks(const posenc_score_params *params, const posenc_row_place *at, posenc_row_blocks *blocks,
                              posenc_softmax_row_args *args) {
    const posenc_block_mask *m = params->block_mask;
    int64_t row = posenc_block_mask_row(m, *at);
    *blocks = (posenc_row_blocks){
        .partial = m->partial_blocks != NULL ? m->partial_blocks + row * m->n_max : NULL,
        .full = m->full_blocks != NULL ? m->full_blocks + row * m->n_max : NULL,
        .n_partial = count_of(m->partial_counts, row),
        .n_full = count_of(m->full_counts, row),
        .size = (size_t)m->k_block,
    };
    args->blocks = blocks;
}

/* ---- Lists from masks ---- */

enum { SEEN_BY_SOME = 1, MASKED_FOR_SOME = 2 };

/* Bytes that are not 0. */
static size_t count_set(const uint8_t *bytes, size_t n) {
    uint32_t set = 0;
    for (size_t j = 0; j < n; j++)
        set += bytes[j] != 0;
    return set;
}

/* Keys begin .. end - 1, all inside the bounds, that bytes and given positions leave to a row. */
static size_t count_left(const posenc_softmax_row_args *row, size_t begin, size_t end) {
    if (begin >= end || (row->bytes == NULL && row->k_pos == NULL))
        return begin < end ? end - begin : 0;
    if (row->k_pos == NULL) {
        size_t set = count_set(row->bytes + begin, end - begin);
        return row->keep ? set : end - begin - set;
    }
    size_t n = 0;
    for (size_t j = begin; j < end; j++) {
        int64_t offset = (int64_t)row->k_pos[j] - row->position;
        n += offset >= row->lowest && offset <= row->highest &&
             (row->bytes == NULL || (row->bytes[j] != 0) == (row->keep != 0));
    }
    return n;
}

/* How a row sees keys begin .. end - 1. */
static int32_t look(const posenc_softmax_row_args *row, size_t begin, size_t end) {
    posenc_visible v = row->visible;
    if (v.hole_begin == v.hole_end)
        v.hole_begin = v.hole_end = v.end;
    size_t n = count_left(row, posenc_max_size(begin, v.begin), posenc_min_size(end, v.hole_begin)) +
               count_left(row, posenc_max_size(begin, v.hole_end), posenc_min_size(end, v.end));
    return (n > 0 ? SEEN_BY_SOME : 0) | (n < end - begin ? MASKED_FOR_SOME : 0);
}

/* Adds how a row sees each key block. */
static void look_at_blocks(const posenc_softmax_row_args *row, size_t size, int32_t *blocks) {
    for (size_t first = 0; first < row->n; first += size)
        if (blocks[first / size] != (SEEN_BY_SOME | MASKED_FOR_SOME))
            blocks[first / size] |= look(row, first, posenc_min_size(first + size, row->n));
}

/* A build: masks, extents, and heads and sequences with lists of their own. */
typedef struct build {
    const posenc_score_params *params;
    posenc_view scores;
    const posenc_block_mask *mask;
    int64_t n_blocks, n_heads, n_batch;
} build;

/* Looks at the key blocks for all queries, heads and sequences that share the lists of `at`. */
static void look_at_all(const build *b, posenc_row_place at, int32_t *blocks) {
    int64_t end_query = posenc_min(at.query + b->mask->q_block, b->scores.ne[1]);
    int64_t end_head = b->n_heads == 1 ? b->scores.ne[2] : at.head + 1;
    int64_t end_batch = b->n_batch == 1 ? b->scores.ne[3] : at.batch + 1;
    posenc_softmax_row_args row = {.form = POSENC_LOGITS};
    posenc_score_args_begin(b->params, &b->scores, &row);
    for (int64_t batch = at.batch; batch < end_batch; batch++)
        for (int64_t head = at.head; head < end_head; head++)
            for (int64_t query = at.query; query < end_query; query++) {
                const posenc_row_place place = {.query = query, .head = head, .batch = batch};
                posenc_score_args_at(b->params, &b->scores, &place, &row);
                look_at_blocks(&row, (size_t)b->mask->k_block, blocks);
            }
}

/* An array of the mask, to be written. */
static int32_t *written(const int32_t *array, int64_t at) {
    return (int32_t *)(uintptr_t)array + at;
}

/* Writes the lists of one row. Looks are kept in the list of partial blocks, which is never longer than what has been
 * read of them. */
static void build_row(const build *b, posenc_row_place at) {
    const posenc_block_mask *m = b->mask;
    int64_t row = posenc_block_mask_row(m, at);
    int32_t *partial = written(m->partial_blocks, row * m->n_max), *full = written(m->full_blocks, row * m->n_max);
    int32_t n_partial = 0, n_full = 0;
    for (int64_t c = 0; c < b->n_blocks; c++)
        partial[c] = 0;
    look_at_all(b, at, partial);
    for (int64_t c = 0; c < b->n_blocks; c++) {
        if (partial[c] == SEEN_BY_SOME)
            full[n_full++] = (int32_t)c;
        else if (partial[c] & SEEN_BY_SOME)
            partial[n_partial++] = (int32_t)c;
    }
    *written(m->partial_counts, row) = n_partial;
    *written(m->full_counts, row) = n_full;
}

static posenc_status check_arrays(const posenc_block_mask *m, const posenc_view *scores) {
    const int32_t *arrays[] = {m->partial_counts, m->partial_blocks, m->full_counts, m->full_blocks};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        posenc_status status = posenc_check_array(arrays[i], 4);
        if (status != POSENC_OK)
            return status;
    }
    int64_t n_rows = blocks_of(scores->ne[1], m->q_block), n_blocks = blocks_of(scores->ne[0], m->k_block);
    int64_t of_sequence = m->head_stride == 0 ? n_rows : m->head_stride * scores->ne[2];
    if (m->n_max < n_blocks)
        return posenc_refuse(POSENC_ERR_SHAPE, "n_max is %lld, but there are %lld blocks of keys", (long long)m->n_max,
                             (long long)n_blocks);
    return (m->head_stride == 0 || m->head_stride >= n_rows) && (m->batch_stride == 0 || m->batch_stride >= of_sequence)
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_SHAPE, "lists overlap: strides are %lld and %lld rows",
                               (long long)m->head_stride, (long long)m->batch_stride);
}

static posenc_status check_extents(const int64_t ne[4], posenc_view *scores) {
    for (int i = 0; i < 4; i++)
        if (ne[i] < 0 || ne[i] > POSENC_MAX_KEYS)
            return posenc_refuse(POSENC_ERR_SHAPE, "ne[%d] is %lld, but 0 .. 2^30 are wanted", i, (long long)ne[i]);
    if (ne[2] * ne[3] > POSENC_MAX_KEYS)
        return posenc_refused(POSENC_ERR_SHAPE);
    *scores = (posenc_view){.dtype = POSENC_F32, .ne = {ne[0], ne[1], ne[2], ne[3]}};
    return POSENC_OK;
}

posenc_status posenc_block_mask_build(const posenc_score_params *params, const int64_t ne[4],
                                      const posenc_block_mask *mask) {
    if (params == NULL || ne == NULL || mask == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_score_params masks = *params;
    masks.block_mask = NULL;
    masks.bias = (posenc_score_bias){.tensor = NULL};
    masks.sinks = NULL;
    build b = {.params = &masks, .mask = mask};
    posenc_status status = check_extents(ne, &b.scores);
    if (status == POSENC_OK)
        status = posenc_check_scores(&masks, &b.scores);
    if (status == POSENC_OK && params->tree != NULL)
        status = posenc_refuse(POSENC_ERR_MASK, "tree: block masks do not go with it");
    if (status == POSENC_OK)
        status = posenc_argument("mask", check_sizes(mask, &b.scores));
    if (status == POSENC_OK)
        status = posenc_argument("mask", check_arrays(mask, &b.scores));
    if (status != POSENC_OK || ne[2] == 0 || ne[3] == 0)
        return status;
    b.n_blocks = blocks_of(ne[0], mask->k_block);
    b.n_heads = mask->head_stride == 0 ? 1 : ne[2];
    b.n_batch = mask->batch_stride == 0 ? 1 : ne[3];
    for (int64_t batch = 0; batch < b.n_batch; batch++)
        for (int64_t head = 0; head < b.n_heads; head++)
            for (int64_t query = 0; query < ne[1]; query += mask->q_block)
                build_row(&b, (posenc_row_place){.query = query, .head = head, .batch = batch});
    return POSENC_OK;
}
