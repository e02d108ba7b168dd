/* RoPE: rows of cosines and sines, made from positions or taken from a table. */
#include <stdlib.h>

#include "core/minmax.h"
#include "core/view.h"
#include "rope/rope.h"

/* ---- For the walk ---- */

posenc_status posenc_check_direction(const posenc_rope *rope, posenc_direction direction) {
    if ((unsigned)direction > POSENC_SHIFT)
        return POSENC_ERR_ENUM;
    if (rope->params.layout == POSENC_ROPE_DEINTERLEAVE && direction != POSENC_FORWARD)
        return POSENC_ERR_ENUM;
    int has_xpos = rope->params.xpos.role != POSENC_XPOS_OFF;
    return has_xpos && direction == POSENC_INVERSE ? POSENC_ERR_ENUM : POSENC_OK;
}

static double magnitude_of(const posenc_rope *rope, posenc_direction direction) {
    switch (direction) {
    case POSENC_INVERSE: return 1.0 / rope->magnitude;
    case POSENC_SHIFT: return 1.0;
    default: return rope->magnitude;
    }
}

void posenc_row_source_slice(posenc_row_source *source, const posenc_kernels *kernels, int64_t first, int64_t n,
                             posenc_direction direction) {
    const posenc_rope *rope = source->rope;
    source->first = first;
    source->n = n;
    source->made_begin = source->made_end = 0;
    if (source->table != NULL)
        return;
    for (int axis = 0; axis < rope->n_axes; axis++) {
        posenc_row_maker *maker = &source->makers[axis];
        const posenc_freq *freq = rope->planes[axis].freq;
        if (rope->n_axes == 1)
            posenc_row_maker_init(maker, kernels, freq, first, n);
        else
            posenc_row_maker_init(maker, kernels, freq, 0, freq->n); /* one slice holds all: POSENC_MAX_AXES_ROT */
        maker->magnitude = magnitude_of(rope, direction);
        if (direction == POSENC_SHIFT) /* what has grown already grows on from where it is */
            maker->centre = 0.0;
    }
}

/* POSENC_ROWS_AHEAD with several axes: so few that the made rows behind them have room for those of one axis. */
#define AXES_ROWS_AHEAD 8

static posenc_row_target rows_of(float (*cosines)[POSENC_SLICE], float (*sines)[POSENC_SLICE]) {
    return (posenc_row_target){
        .cos_out = cosines[0],
        .sin_out = sines[0],
        .cos_stride = POSENC_SLICE,
        .sin_stride = POSENC_SLICE,
        .step = 1,
    };
}

/* Each axis makes its pairs side by side; then they go where they stand in the row. */
static void make_by_axis(posenc_row_source *source, int64_t token, int64_t n_tokens) {
    float(*cosines)[POSENC_SLICE] = source->made_cos + AXES_ROWS_AHEAD;
    float(*sines)[POSENC_SLICE] = source->made_sin + AXES_ROWS_AHEAD;
    posenc_row_target target = rows_of(cosines, sines);
    for (int axis = 0; axis < source->rope->n_axes; axis++) {
        const posenc_rope_plane *plane = &source->rope->planes[axis];
        posenc_make_rows(&source->makers[axis], source->positions + axis * source->n_tokens + token, n_tokens, &target);
        for (int64_t t = 0; t < n_tokens; t++)
            for (int64_t k = 0; k < plane->freq->n; k++) {
                source->made_cos[t][plane->pairs[k]] = cosines[t][k];
                source->made_sin[t][plane->pairs[k]] = sines[t][k];
            }
    }
}

/* How many rows to make from the token on: to the end of its block, so that the next have one to themselves. */
static int64_t rows_ahead(const posenc_row_source *source, int64_t token, int64_t n_wanted) {
    int64_t most = AXES_ROWS_AHEAD;
    if (source->rope->n_axes == 1)
        most = POSENC_ANCHOR_BLOCK -
               ((source->positions[token] + (int64_t)POSENC_ANCHOR_REACH) & (POSENC_ANCHOR_BLOCK - 1));
    return posenc_min(n_wanted, most);
}

/* One row of interleaved pairs, taken apart. */
static void copy_row(posenc_row_source *source, const float *cosines, const float *sines) {
    for (int64_t i = 0; i < source->n; i++) {
        source->made_cos[0][i] = cosines[2 * i];
        source->made_sin[0][i] = sines[2 * i];
    }
}

void posenc_row_source_get(posenc_row_source *source, int64_t token, int64_t n_wanted, const float **cos_row,
                           const float **sin_row) {
    const posenc_rope_table *table = source->table;
    int64_t at = table != NULL ? token * table->row_stride + source->first * table->step : 0;
    if (table != NULL && table->step == 1) {
        *cos_row = table->cos + at;
        *sin_row = table->sin + at;
        return;
    }
    if (token < source->made_begin || token >= source->made_end) {
        int64_t n = table != NULL ? 1 : rows_ahead(source, token, n_wanted);
        posenc_row_target target = rows_of(source->made_cos, source->made_sin);
        if (table != NULL)
            copy_row(source, table->cos + at, table->sin + at);
        else if (source->rope->n_axes > 1)
            make_by_axis(source, token, n);
        else
            posenc_make_rows(&source->makers[0], source->positions + token, n, &target);
        source->made_begin = token;
        source->made_end = token + n;
    }
    *cos_row = source->made_cos[token - source->made_begin];
    *sin_row = source->made_sin[token - source->made_begin];
}

/* ---- Tables ---- */

int64_t posenc_rope_table_bytes(const posenc_rope *rope, int64_t n_tokens) {
    return rope == NULL || n_tokens < 0 || n_tokens > INT32_MAX ? 0
                                                                : 2 * (int64_t)sizeof(float) * rope->n_pairs * n_tokens;
}

posenc_rope_table posenc_rope_table_dense(const posenc_rope *rope, float *memory) {
    int64_t n_pairs = posenc_rope_pair_count(rope);
    return (posenc_rope_table){memory, memory == NULL ? NULL : memory + n_pairs, 2 * n_pairs, 1};
}

posenc_status posenc_check_table(const posenc_rope *rope, const posenc_rope_table *table, int64_t n_tokens) {
    if (table->step != 1 && table->step != 2)
        return POSENC_ERR_STRIDE;
    if (table->row_stride < rope->n_pairs * table->step || table->row_stride > INT32_MAX)
        return POSENC_ERR_STRIDE;
    if (n_tokens == 0 || rope->n_pairs == 0)
        return POSENC_OK;
    if (table->cos == NULL || table->sin == NULL)
        return POSENC_ERR_NULL;
    if (posenc_leaves_limit(n_tokens, table->row_stride))
        return POSENC_ERR_STRIDE;
    if (!posenc_is_aligned(table->cos, 4) || !posenc_is_aligned(table->sin, 4))
        return POSENC_ERR_STRIDE;
    if (table->step == 2 && llabs(posenc_distance(table->cos, table->sin)) != (int64_t)sizeof(float))
        return POSENC_ERR_STRIDE;
    return POSENC_OK;
}

/* One axis: the rows go straight to the table. */
static void fill_slice(posenc_row_source *source, int64_t n_tokens, const posenc_rope_table *table) {
    posenc_row_target target = {
        .cos_out = table->cos + source->first * table->step,
        .sin_out = table->sin + source->first * table->step,
        .cos_stride = (ptrdiff_t)table->row_stride,
        .sin_stride = (ptrdiff_t)table->row_stride,
        .step = (int)table->step,
        .n_far = posenc_is_far(2 * n_tokens * source->rope->n_pairs) ? n_tokens : 0,
        .is_vast = posenc_is_vast(2 * n_tokens * source->rope->n_pairs),
    };
    posenc_make_rows(&source->makers[0], source->positions, n_tokens, &target);
}

/* Several axes: each row is put together first. */
static void fill_by_token(posenc_row_source *source, int64_t n_tokens, const posenc_rope_table *table) {
    for (int64_t token = 0; token < n_tokens; token++) {
        const float *cos_row, *sin_row;
        posenc_row_source_get(source, token, n_tokens - token, &cos_row, &sin_row);
        for (int64_t i = 0; i < source->n; i++) {
            int64_t at = token * table->row_stride + (source->first + i) * table->step;
            table->cos[at] = cos_row[i];
            table->sin[at] = sin_row[i];
        }
    }
}

posenc_status posenc_rope_table_fill(const posenc_rope *rope, const int32_t *positions, int64_t n_tokens,
                                     posenc_direction direction, const posenc_rope_table *table) {
    if (rope == NULL || table == NULL)
        return POSENC_ERR_NULL;
    if (posenc_check_direction(rope, direction) != POSENC_OK)
        return POSENC_ERR_ENUM;
    if (n_tokens < 0 || n_tokens > INT32_MAX)
        return POSENC_ERR_SHAPE;
    posenc_status status = posenc_check_table(rope, table, n_tokens);
    if (status != POSENC_OK || n_tokens == 0 || rope->n_pairs == 0)
        return status;
    status = posenc_check_array(positions, 4);
    if (status != POSENC_OK)
        return status;
    if (table->step == 1 && posenc_row_sets_overlap(table->cos, table->sin, rope->n_pairs, n_tokens, table->row_stride))
        return POSENC_ERR_OVERLAP;

    posenc_row_source source;
    posenc_row_source_begin(&source, rope, NULL, positions, n_tokens);
    for (int64_t first = 0; first < rope->n_pairs; first += POSENC_SLICE) {
        int64_t n = posenc_min(rope->n_pairs - first, POSENC_SLICE);
        posenc_row_source_slice(&source, posenc_active_kernels(), first, n, direction);
        if (rope->n_axes == 1)
            fill_slice(&source, n_tokens, table);
        else
            fill_by_token(&source, n_tokens, table);
    }
    return POSENC_OK;
}
