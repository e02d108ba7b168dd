/* SPDX-License-Identifier: MIT */
/* Coordinates of tokens, as they are given: types, strides, values. */
#ifndef POSENC_SRC_COORDS_H
#define POSENC_SRC_COORDS_H

#include <posenc/angles.h>

static inline int posenc_coords_are_real(const posenc_coords *at) {
    return at->type == POSENC_COORD_F32 || at->type == POSENC_COORD_F64;
}

static inline int64_t posenc_coord_axis_stride(const posenc_coords *at, int64_t n_tokens) {
    return at->axis_stride == 0 ? n_tokens : at->axis_stride;
}

/* Element i of real numbers, and of integers. */
static inline double posenc_real_coord(const posenc_coords *at, int64_t i) {
    return at->type == POSENC_COORD_F32 ? (double)((const float *)at->data)[i] : ((const double *)at->data)[i];
}

static inline int64_t posenc_whole_coord(const posenc_coords *at, int64_t i) {
    return at->type == POSENC_COORD_I32 ? ((const int32_t *)at->data)[i] : ((const int64_t *)at->data)[i];
}

/* Element i of either; one outside int32, which is refused, may be rounded. */
static inline double posenc_coord(const posenc_coords *at, int64_t i) {
    return posenc_coords_are_real(at) ? posenc_real_coord(at, i) : (double)posenc_whole_coord(at, i);
}

/* 1 if a real number is what posenc_coords may hold: finite, and not too large. */
static inline int posenc_is_real_position(double p) {
    return p >= -0x1p31 && p <= 0x1p31;
}

/* Checks a coordinate array without reading its values. */
posenc_status posenc_check_coord_array(const posenc_coords *at, int n_axes, int64_t n_tokens, int64_t n_batch);

/* POSENC_ERR_POSITION unless all integers are in the range of int32, and all real numbers are positions. */
posenc_status posenc_check_coord_values(const posenc_coords *at, int n_axes, int64_t n_tokens, int64_t n_batch);

#endif
