/* SPDX-License-Identifier: MIT */
/* RoPE: rows of cosines and sines, made from positions or taken from a table. */
#include <stdlib.h>

#include "core/minmax.h"
#include "core/view.h"
#include "rope/rope.h"

/* ---- For the walk ---- */

posenc_status posenc_check_direction(const posenc_rope *rope, posenc_direction direction) {
    if ((unsigned)direction > POSENC_SHIFT)
        return posenc_refused(POSENC_ERR_ENUM);
    if (rope->params.layout == POSENC_ROPE_DEINTERLEAVE && direction != POSENC_FORWARD)
        return posenc_refused(POSENC_ERR_ENUM);
    int has_xpos = rope->params.xpos.role != POSENC_XPOS_OFF;
    return has_xpos && direction == POSENC_INVERSE ? posenc_refused(POSENC_ERR_ENUM) : POSENC_OK;
}

static double magnitude_of(const posenc_rope *rope, posenc_direction direction) {
    switch (direction) {
    case POSENC_INVERSE: return 1.0 / rope->magnitude;
    case POSENC_SHIFT: return 1.0;
    default: return rope->magnitude;
    }
}

static void begin_maker(posenc_row_maker *maker, const posenc_row_source *source, const posenc_kernels *kernels,
                        int64_t first, int64_t n, posenc_direction direction) {
    posenc_row_maker_init(maker, kernels, source->rope->freq, first, n);
    maker->magnitude = magnitude_of(source->rope, direction);
    if (direction == POSENC_SHIFT) /* what has grown already grows on from where it is */
        maker->centre = 0.0;
}

void posenc_row_source_slice(posenc_row_source *source, const posenc_kernels *kernels, int64_t first, int64_t n,
                             posenc_direction direction) {
    const posenc_rope *rope = source->rope;
    source->first = first;
    source->n = n;
    source->made_begin = source->made_end = 0;
    if (source->table != NULL)
        return;
    begin_maker(&source->all, source, kernels, first, n, direction);
    for (int axis = 0; rope->n_axes > 1 && axis < rope->n_axes; axis++) /* one slice holds all: POSENC_MAX_AXES_ROT */
        begin_maker(&source->makers[axis], source, kernels, rope->planes[axis].first, rope->planes[axis].n, direction);
}

static posenc_row_target rows_of(float (*cosines)[POSENC_SLICE], float (*sines)[POSENC_SLICE]) {
    return (posenc_row_target){
        .cos_out = cosines[0],
        .sin_out = sines[0],
        .cos_stride = POSENC_SLICE,
        .sin_stride = POSENC_SLICE,
        .step = 1,
    };
}

/* Rows of n pairs from the first-th on, for tokens at their positions on an axis, whatever their type. */
static void make_columns_of_any(const posenc_row_source *source, posenc_row_maker *maker, int64_t first, int64_t n,
                                int axis, int64_t token, int64_t n_tokens, const posenc_row_target *target) {
    for (int64_t t = 0; t < n_tokens; t += POSENC_ROWS_AHEAD) {
        double positions[POSENC_ROWS_AHEAD];
        int64_t some = posenc_min(n_tokens - t, POSENC_ROWS_AHEAD);
        for (int64_t k = 0; k < some; k++)
            positions[k] = posenc_row_source_position(source, axis, token + t + k);
        posenc_row_target rest = posenc_target_from(target, t);
        posenc_make_real_columns(maker, first, n, positions, some, &rest);
    }
}

/* Rows of n pairs as above; int32 positions are read in place. */
static void make_columns(const posenc_row_source *source, posenc_row_maker *maker, int64_t first, int64_t n, int axis,
                         int64_t token, int64_t n_tokens, const posenc_row_target *target) {
    if (source->at->type != POSENC_COORD_I32) {
        make_columns_of_any(source, maker, first, n, axis, token, n_tokens, target);
        return;
    }
    const int32_t *positions = (const int32_t *)source->at->data + source->origin + axis * source->axis_stride;
    posenc_make_columns(maker, first, n, positions + token, n_tokens, target);
}

/* Number of tokens, from this one on and at most n, that have one position on all axes (text), or that do not. */
static int64_t run_of_likes(const posenc_row_source *source, int64_t token, int64_t n, int *is_one) {
    int64_t run = 0;
    for (; run < n; run++) {
        int agree = 1;
        for (int axis = 1; axis < source->rope->n_axes; axis++)
            agree &= posenc_row_source_position(source, axis, token + run) ==
                     posenc_row_source_position(source, 0, token + run);
        if (run > 0 && agree != *is_one)
            break;
        *is_one = agree;
    }
    return run;
}

/* Rows put together from those of each axis at most: so few that rows of one axis have room behind them. */
#define AXES_ROWS_AHEAD 8

/* Copies the pairs of an axis from its rows to their places. */
static void place_pairs(posenc_row_source *source, const posenc_rope_plane *plane, float (*cosines)[POSENC_SLICE],
                        float (*sines)[POSENC_SLICE], int64_t n_tokens) {
    for (int64_t t = 0; t < n_tokens; t++)
        for (int64_t k = 0; k < plane->n_pairs; k++) {
            source->made_cos[t][plane->pairs[k]] = cosines[t][plane->pairs[k]];
            source->made_sin[t][plane->pairs[k]] = sines[t][plane->pairs[k]];
        }
}

static int have_one_anchor(const posenc_row_source *source, int64_t token) {
    double positions[POSENC_MAX_AXES];
    for (int axis = 0; axis < source->rope->n_axes; axis++)
        positions[axis] = posenc_row_source_position(source, axis, token);
    return posenc_have_one_anchor(positions, source->rope->n_axes);
}

/* Makes the columns of each axis. Columns of consecutive pairs are written in place: the next axis, which ends earlier,
 * overwrites columns that are not of this axis. Positions with one anchor, as in an image, share it: one token of three
 * axes took 1.2 times as long while each axis had its own. */
static void make_by_axis(posenc_row_source *source, int64_t token, int64_t n_tokens) {
    const posenc_rope *rope = source->rope;
    int64_t behind = rope->is_scattered ? AXES_ROWS_AHEAD : 0;
    float(*cosines)[POSENC_SLICE] = source->made_cos + behind, (*sines)[POSENC_SLICE] = source->made_sin + behind;
    int is_shared = have_one_anchor(source, token);
    for (int k = 0; k < rope->n_axes; k++) {
        int axis = rope->order[k];
        const posenc_rope_plane *plane = &rope->planes[axis];
        if (plane->n_pairs == 0)
            continue;
        posenc_row_target target = rows_of(cosines, sines);
        target.cos_out += plane->first;
        target.sin_out += plane->first;
        make_columns(source, is_shared ? &source->all : &source->makers[axis], plane->first, plane->n, axis, token,
                     n_tokens, &target);
        if (rope->is_scattered)
            place_pairs(source, plane, cosines, sines, n_tokens);
    }
}

/* Number of positions from this one to the end of its block, so that the next ones begin a block. Fractional positions
 * share nothing. */
static int64_t rest_of_block(double position) {
    int64_t whole = (int64_t)position;
    return POSENC_ANCHOR_BLOCK - ((whole + POSENC_ANCHOR_REACH) & (POSENC_ANCHOR_BLOCK - 1));
}

/* Makes rows from the token on, of at most n_wanted; returns how many. */
static int64_t make_rows(posenc_row_source *source, int64_t token, int64_t n_wanted) {
    int is_one = 1;
    int64_t n = n_wanted;
    if (n > 1)
        n = posenc_min(n, rest_of_block(posenc_row_source_position(source, 0, token)));
    if (source->rope->n_axes > 1)
        n = run_of_likes(source, token, n, &is_one);
    if (!is_one) {
        n = posenc_min(n, AXES_ROWS_AHEAD);
        make_by_axis(source, token, n);
        return n;
    }
    posenc_row_target target = rows_of(source->made_cos, source->made_sin);
    make_columns(source, &source->all, source->first, source->n, 0, token, n, &target);
    return n;
}

/* One row of interleaved pairs, taken apart. */
static void copy_row(posenc_row_source *source, const float *cosines, const float *sines) {
    for (int64_t i = 0; i < source->n; i++) {
        source->made_cos[0][i] = cosines[2 * i];
        source->made_sin[0][i] = sines[2 * i];
    }
}

/* Start of the slice in a table row. */
static int64_t first_in_row(const posenc_row_source *source) {
    if (source->table->per_channel)
        return source->rope->params.layout == POSENC_ROPE_INTERLEAVED ? 2 * source->first : source->first;
    return source->first * source->table->step;
}

void posenc_row_source_get(posenc_row_source *source, int64_t token, int64_t n_wanted, const float **cos_row,
                           const float **sin_row) {
    const posenc_rope_table *table = source->table;
    int64_t at = table != NULL ? token * table->row_stride + first_in_row(source) : 0;
    if (table != NULL && table->step == 1) {
        *cos_row = table->cos + at;
        *sin_row = table->sin + at;
        return;
    }
    if (token < source->made_begin || token >= source->made_end) {
        source->made_begin = token;
        source->made_end = token + 1;
        if (table != NULL)
            copy_row(source, table->cos + at, table->sin + at);
        else
            source->made_end = token + make_rows(source, token, n_wanted);
    }
    *cos_row = source->made_cos[token - source->made_begin];
    *sin_row = source->made_sin[token - source->made_begin];
}

/* ---- Tables ---- */

posenc_status posenc_check_table(const posenc_rope *rope, const posenc_rope_table *table, int64_t n_tokens) {
    if (table->per_channel && rope->params.layout == POSENC_ROPE_DEINTERLEAVE)
        return posenc_refused(POSENC_ERR_ENUM);
    if (table->step != 1 && (table->step != 2 || table->per_channel))
        return posenc_refused(POSENC_ERR_STRIDE);
    if (table->row_stride < rope->n_pairs * (table->per_channel ? 2 : table->step) || table->row_stride > INT32_MAX)
        return posenc_refused(POSENC_ERR_STRIDE);
    if (n_tokens == 0 || rope->n_pairs == 0)
        return POSENC_OK;
    if (table->cos == NULL || table->sin == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (posenc_leaves_limit(n_tokens, table->row_stride))
        return posenc_refused(POSENC_ERR_STRIDE);
    if (!posenc_is_aligned(table->cos, 4) || !posenc_is_aligned(table->sin, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    if (table->step == 2 && llabs(posenc_distance(table->cos, table->sin)) != (int64_t)sizeof(float))
        return posenc_refused(POSENC_ERR_STRIDE);
    int64_t n = rope->n_pairs * (table->per_channel ? 2 : 1);
    if (table->step == 1 && posenc_row_sets_overlap(table->cos, table->sin, n, n_tokens, table->row_stride))
        return posenc_refuse(POSENC_ERR_OVERLAP, "cos and sin of the table overlap: rows of this rope have %lld values",
                             (long long)n);
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
    make_columns(source, &source->all, source->first, source->n, 0, 0, n_tokens, &target);
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

posenc_status posenc_rope_check_source(const posenc_rope *rope, const posenc_coords *at, int64_t n_tokens,
                                       int64_t n_batch) {
    if (rope->n_pairs == 0) /* nor are they looked at then */
        n_tokens = 0;
    posenc_status status = posenc_check_coord_array(at, rope->n_axes, n_tokens, n_batch);
    return status == POSENC_OK ? posenc_check_coord_values(at, rope->n_axes, n_tokens, n_batch) : status;
}

posenc_status posenc_rope_table_fill_at(const posenc_rope *rope, const posenc_coords *at, int64_t n_tokens,
                                        posenc_direction direction, const posenc_rope_table *table) {
    if (rope == NULL || table == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (posenc_check_direction(rope, direction) != POSENC_OK || table->per_channel)
        return posenc_refused(POSENC_ERR_ENUM);
    if (n_tokens < 0 || n_tokens > INT32_MAX)
        return posenc_refused(POSENC_ERR_SHAPE);
    posenc_status status = posenc_check_table(rope, table, n_tokens);
    if (status == POSENC_OK)
        status = posenc_rope_check_source(rope, at, n_tokens, 1);
    if (status != POSENC_OK || n_tokens == 0 || rope->n_pairs == 0)
        return status;

    posenc_row_source source;
    posenc_row_source_begin(&source, rope, NULL, at, n_tokens);
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
