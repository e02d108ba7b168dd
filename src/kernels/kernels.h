/* What the kernels take, and the table that holds one variant of each.
 *
 * A kernel knows tables and numbers, never a scheme. It trusts its arguments: the public calls have checked them.
 * Every variant of a kernel gives the same bits; src/scalar/ says which.
 */
#ifndef POSENC_KERNELS_H
#define POSENC_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/isa.h>
#include <posenc/types.h>

/* A position is an anchor, plus -REACH .. REACH-1 blocks, plus -REACH .. REACH-1: the anchor stands in the middle of its
 * span, and so does each block's own. angles.h tells the scheme. */
#define POSENC_ANCHOR_REACH 16
#define POSENC_ANCHOR_BLOCK (2 * POSENC_ANCHOR_REACH)
#define POSENC_ANCHOR_SPAN (2 * POSENC_ANCHOR_REACH * POSENC_ANCHOR_BLOCK)

/* Tables of doubles are padded to columns of this many pairs, so that kernels load whole vectors of them. */
#define POSENC_COLUMN 16

/* A table of turns is an array of columns: cosines, then sines, of turn 0 .. REACH of a column's pairs. Turn -k has the
 * cosine of turn k and minus its sine. A column is read in a stream while positions count up. */
typedef struct posenc_turn_column {
    double cos_sin[POSENC_ANCHOR_REACH + 1][2][POSENC_COLUMN];
} posenc_turn_column;

/* Likewise what a column's pairs grow by over -REACH .. REACH - 1 positions. */
typedef struct posenc_growth_column {
    double factor[POSENC_ANCHOR_BLOCK][POSENC_COLUMN];
} posenc_growth_column;

/* cos_out[i], sin_out[i] = cos, sin of pi * (position * frequency_i), frequency_i = hi[i] + lo[i] half turns, times
 * magnitude, and times exp(growth[i] * (position - centre)) where growth is given. n is a multiple of POSENC_COLUMN. */
typedef struct posenc_angle_anchors_args {
    const double *hi, *lo;
    const double *growth; /* xPos; or NULL */
    double centre;
    double magnitude;
    double position; /* an integer, |position| <= 2^31 */
    double *cos_out, *sin_out;
    size_t n;
} posenc_angle_anchors_args;

/* n_rows consecutive positions of one block: the anchor is turned by `block` blocks, then for row r by first_offset + r
 * positions, and rounded to float32. Where growth is given, it is multiplied by that of the latter before it is rounded.
 * With step 1 (planes), value i goes to cos_out[r * cos_stride + i] and sin_out[r * sin_stride + i], i < n.
 * With step 2 (pairs), cos_out and sin_out are one float apart, either first, and value i goes to [r * stride + 2i]; with
 * drop_last the last float of the row, of 2n, is left out. With add, values are added to what is there. */
typedef struct posenc_angle_rows_args {
    const double *anchor_cos, *anchor_sin; /* padded to POSENC_COLUMN */
    const posenc_turn_column *blocks, *offsets; /* a column for each POSENC_COLUMN pairs */
    const posenc_growth_column *growth;         /* xPos; or NULL */
    int block, first_offset;
    float *cos_out, *sin_out;
    ptrdiff_t cos_stride, sin_stride; /* in floats */
    size_t n, n_rows;
    int step;
    int drop_last;
    int add;
} posenc_angle_rows_args;

/* Rotates n pairs of every head of one token. x and y point at the first pair of head 0; strides in bytes. Pair i is
 * channels i and i + half for rope_half, 2i and 2i + 1 for rope_interleaved; rope_deinterleave reads the latter and writes
 * the former, and is not for use in place. The rows are multiplied by the factors first: the inverse has a negative one.
 *
 * With head_factors, head h is multiplied by head_factors[h] before it turns, and every channel by its weight: a norm. The
 * weights, laid out as x is, are multiplied into the rows, so that they cost nothing per head. */
typedef struct posenc_rope_args {
    const void *x;
    void *y;
    posenc_dtype x_type, y_type;
    ptrdiff_t x_stride, y_stride;
    const float *cos_row, *sin_row;
    float cos_factor, sin_factor;
    const float *weight, *head_factors; /* both or neither; floats */
    size_t half;
    size_t n, n_heads;
} posenc_rope_args;

/* factors[h] = 1 / sqrt(mean(x^2) + eps) over the n channels of head h, n > 0. The squares are summed in
 * POSENC_SUM_LANES lanes of float32, then lane k and lane k + 16, 8, .. 1 are added. */
typedef struct posenc_rms_factors_args {
    const void *x;
    posenc_dtype x_type;
    ptrdiff_t x_stride; /* in bytes */
    float *factors;
    float eps;
    size_t n, n_heads;
} posenc_rms_factors_args;

/* Copies n channels of every head of one token, times factor; with head_factors, also as a norm does, see
 * posenc_rope_args. */
typedef struct posenc_convert_args {
    const void *x;
    void *y;
    posenc_dtype x_type, y_type;
    ptrdiff_t x_stride, y_stride;
    float factor;
    const float *weight, *head_factors; /* both or neither */
    size_t n, n_heads;
} posenc_convert_args;

/* Every pair of storage types, for kernels that make a constant of them: DO(type of x, type of y). */
#define POSENC_EACH_TYPE_PAIR(DO)                                                                                      \
    DO(POSENC_F32, POSENC_F32)                                                                                         \
    DO(POSENC_F32, POSENC_F16)                                                                                         \
    DO(POSENC_F32, POSENC_BF16)                                                                                        \
    DO(POSENC_F16, POSENC_F32)                                                                                         \
    DO(POSENC_F16, POSENC_F16)                                                                                         \
    DO(POSENC_F16, POSENC_BF16)                                                                                        \
    DO(POSENC_BF16, POSENC_F32)                                                                                        \
    DO(POSENC_BF16, POSENC_F16)                                                                                        \
    DO(POSENC_BF16, POSENC_BF16)
#define POSENC_TYPE_PAIR(x_type, y_type) (3 * (int)(x_type) + (int)(y_type))

/* y[j] = -(slope * |query - j|) for j < n_allowed, -inf for n_allowed <= j < n. */
typedef struct posenc_alibi_row_args {
    float *y;
    size_t n, n_allowed;
    int32_t query;
    float slope;
} posenc_alibi_row_args;

/* The softmax of softmax.h over keys j < n_allowed; 0 for n_allowed <= j < n. x may equal y. */
typedef struct posenc_softmax_row_args {
    const float *x;
    float *y;
    size_t n, n_allowed;
    int32_t query;
    float scale, slope; /* slope 0: no bias */
} posenc_softmax_row_args;

/* Lanes and block of the canonical sum: key j joins lane j % LANES; after BLOCK keys the lanes, so far in float32, are
 * added to 32 lanes in double. 16 terms a lane keep the float32 part below 1e-6; see docs/numerics.md. */
#define POSENC_SUM_LANES 32
#define POSENC_SUM_BLOCK 512

typedef struct posenc_kernels {
    posenc_isa_tier tier;
#define KERNEL(name, args) void (*name)(const args *);
#include "kernels/kernels.def"
#undef KERNEL
} posenc_kernels;

/* One table per tier that is built. */
#define POSENC_DECLARE_TIER(isa)                                                                                       \
    extern const posenc_kernels posenc_kernels_##isa;
POSENC_DECLARE_TIER(scalar)
POSENC_DECLARE_TIER(avx2)
POSENC_DECLARE_TIER(avx512)
POSENC_DECLARE_TIER(neon)
#undef POSENC_DECLARE_TIER

/* The table in use. */
const posenc_kernels *posenc_active_kernels(void);

/* The tier's table, or NULL if it is not built in or cannot run here. */
const posenc_kernels *posenc_tier_kernels(posenc_isa_tier tier);

#endif
