/* SPDX-License-Identifier: MIT */
/* Inside of a posenc_rope: tables made at set-up, and where a call takes its rows from. */
#ifndef POSENC_SRC_ROPE_H
#define POSENC_SRC_ROPE_H

#include <posenc/rope.h>

#include "core/angles.h"
#include "core/coords.h"
#include "core/view.h"

/* Rows computed ahead at most, so that consecutive positions are made together: a block. */
#define POSENC_ROWS_AHEAD POSENC_ANCHOR_BLOCK

/* The pairs that follow one axis, where there are several. */
typedef struct posenc_rope_plane {
    int64_t first, n; /* columns that hold them: n pairs from a whole column on, other axes' among them */
    int64_t n_pairs;
    uint8_t pairs[POSENC_MAX_AXES_ROT / 2];
} posenc_rope_plane;

struct posenc_rope {
    posenc_rope_params params; /* without the lists, which are the caller's */
    double magnitude;
    int64_t n_pairs;
    int n_axes;
    posenc_freq *freq; /* of all pairs */
    uint8_t axis_of_pair[POSENC_MAX_AXES_ROT / 2];
    posenc_rope_plane planes[POSENC_MAX_AXES];
    uint8_t order[POSENC_MAX_AXES]; /* of planes that are written one over the other */
    int is_scattered;               /* pairs of several axes stand among each other */
};

/* POSENC_OK if posenc_rope_create would take them, the lists of the scaling and memory apart. */
posenc_status posenc_rope_check(const posenc_rope_params *params);

posenc_status posenc_rope_check_axes(const posenc_rope_params *params);

/* Pair i: its axis, its entry in the lists of frequencies and on a ramp, and its frequency before scaling:
 * base^(-2j/n). (axes.c) */
typedef struct posenc_rope_pair {
    int axis;
    int64_t entry, j, n;
} posenc_rope_pair;

posenc_rope_pair posenc_rope_pair_of(const posenc_rope_params *params, int64_t i);

/* Makes table and planes. theta: the n_pairs frequencies, scaled. (planes.c) */
posenc_status posenc_rope_make_planes(posenc_rope *rope, const posenc_dd *theta);

/* POSENC_ERR_ENUM for a direction that does not exist, or that xPos or the layout does not have. */
posenc_status posenc_check_direction(const posenc_rope *rope, posenc_direction direction);

/* Rows of one slice of the pairs, for one token after the other. On the caller's stack. (rows.c) */
typedef struct posenc_row_source {
    const posenc_rope *rope;
    const posenc_rope_table *table;           /* the caller's rows; NULL: made here from positions */
    const posenc_coords *at;                  /* a copy waits for what was just written: 12 ns a call */
    int64_t origin, axis_stride;              /* element of token 0 on axis 0, and from one axis to the next */
    int64_t first, n;                         /* the slice */
    posenc_row_maker all;                     /* one axis, or several whose positions are the same */
    posenc_row_maker makers[POSENC_MAX_AXES]; /* of each axis, where there are several */
    int64_t made_begin, made_end;             /* tokens whose rows stand below */
    float made_cos[POSENC_ROWS_AHEAD][POSENC_SLICE], made_sin[POSENC_ROWS_AHEAD][POSENC_SLICE];
} posenc_row_source;

/* Rows of the table or, where it is NULL, of the positions. No initialiser: it would clear the rows that are made. */
static inline void posenc_row_source_begin(posenc_row_source *source, const posenc_rope *rope,
                                           const posenc_rope_table *table, const posenc_coords *at, int64_t n_tokens) {
    source->rope = rope;
    source->table = table;
    source->at = at;
    source->origin = 0;
    source->axis_stride = posenc_coord_axis_stride(at, n_tokens);
}

/* Positions of that batch, from the next slice on. */
static inline void posenc_row_source_batch(posenc_row_source *source, int64_t batch) {
    source->origin = batch * source->at->batch_stride;
}

static inline double posenc_row_source_position(const posenc_row_source *source, int axis, int64_t token) {
    return posenc_coord(source->at, source->origin + axis * source->axis_stride + token);
}

/* int32 planes [n_axes][n_tokens], shared by the batch. */
static inline posenc_coords posenc_planes(const int32_t *positions) {
    return posenc_coords_of(positions, POSENC_COORD_I32);
}

/* 1 if the rows have a value for each channel, not for each pair. */
static inline int posenc_row_source_is_per_channel(const posenc_row_source *source) {
    return source->table != NULL && source->table->per_channel;
}

/* Checks positions of n_tokens tokens: strides, type, range. */
posenc_status posenc_rope_check_source(const posenc_rope *rope, const posenc_coords *at, int64_t n_tokens,
                                       int64_t n_batch);

/* Sets the source to pairs first .. first + n - 1, for rows of that direction. */
void posenc_row_source_slice(posenc_row_source *source, const posenc_kernels *kernels, int64_t first, int64_t n,
                             posenc_direction direction);

/* The slice's row of the token; n_wanted tokens from it on will be asked for. */
void posenc_row_source_get(posenc_row_source *source, int64_t token, int64_t n_wanted, const float **cos_row,
                           const float **sin_row);

/* A tensor of a call, all of it. (check.c) */
posenc_status posenc_check_rope_tensor(const posenc_rope *rope, const posenc_rope_tensor *tensor);

/* 1 if its tokens go to rows of a cache. */
static inline int posenc_rope_scatters(const posenc_rope_tensor *tensor) {
    return tensor->rows32 != NULL || tensor->rows64 != NULL;
}

/* 1 if its heads are divided by their RMS, with weights or without. */
static inline int posenc_rope_is_normed(const posenc_rope_tensor *tensor) {
    return tensor->weight != NULL || tensor->norms;
}

/* 1 if its heads are finished in float32 before they are written: they are transformed, or go to a cache type. */
static inline int posenc_rope_is_staged(const posenc_rope_tensor *tensor) {
    return tensor->hadamard > 0 || posenc_is_cache_type(tensor->y.dtype);
}

/* 1 if its heads are of a cache type: they become float32 first. */
static inline int posenc_rope_is_widened(const posenc_rope_tensor *tensor) {
    return posenc_is_cache_type(tensor->x.dtype);
}

/* Floats of heads that are finished so, on the stack: at least two heads. */
#define POSENC_STAGED (2 * POSENC_MAX_HEAD_DIM)

/* Some heads of one token, of a cache type, `stride` bytes apart. */
typedef struct posenc_heads {
    const void *data;
    posenc_dtype type;
    ptrdiff_t stride;
    int64_t n_heads;
} posenc_heads;

/* The first n channels of each, in float32; y_stride in bytes. (dequantise.c) */
void posenc_widen_heads(const posenc_kernels *kernels, const posenc_heads *x, int64_t n, float *y, ptrdiff_t y_stride);

/* 1 if channels of such heads can be transformed n at a time. (hadamard.c) */
int posenc_is_hadamard(int64_t n, int64_t head_dim);

/* Transforms heads of float32 in place; the stride in bytes. */
void posenc_transform_heads(const posenc_kernels *kernels, void *heads, ptrdiff_t stride, int64_t n_heads,
                            int64_t head_dim, int64_t n);

/* posenc_rope_apply_table, FORWARD, of all that is in x, for callers who have checked: no batch, y apart. (apply.c) */
void posenc_rope_rotate(const posenc_rope *rope, const posenc_view *x, const posenc_rope_table *table,
                        const posenc_view *y);

/* Checks tensors of one call, each and together, with n_positions of `at`, or the table. Sets the number of rows.
 * (apply.c) */
posenc_status posenc_rope_check_tensors(const posenc_rope *rope, const posenc_rope_tensor *tensors, int64_t n_tensors,
                                        const posenc_coords *at, const posenc_rope_table *table, int64_t n_positions,
                                        posenc_direction direction, int64_t *n_rows);

/* Rotates rows of checked tensors. (apply.c) */
void posenc_rope_run_tensors(const posenc_rope *rope, const posenc_rope_tensor *tensors, int64_t n_tensors,
                             const posenc_coords *at, const posenc_rope_table *table, posenc_direction direction,
                             posenc_range rows);

/* The table's strides fit the rope, and if it has rows, its pointers are there and cosines apart from sines. */
posenc_status posenc_check_table(const posenc_rope *rope, const posenc_rope_table *table, int64_t n_tokens);

#endif
