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
#include <posenc/softmax.h>
#include <posenc/types.h>

/* A position is an anchor, plus -REACH .. REACH-1 blocks, plus -REACH .. REACH-1: the anchor stands in the middle of
 * its span, and so does each block's own. angles.h tells the scheme. */
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
    double position; /* any real number, |position| <= 2^31 */
    double *cos_out, *sin_out;
    size_t n;
} posenc_angle_anchors_args;

/* n_rows consecutive positions of blocks side by side: the anchor is turned by so many blocks, then by an offset of so
 * many positions from the block's middle, and rounded to float32. Row 0 is first_offset positions from the middle of
 * `block`; REACH - 1 is the last of a block. Where growth is given, which is for rows of one block only, the turn is
 * multiplied by that of the offset before it is rounded. With step 1 (planes), value i goes to
 * cos_out[r * cos_stride + i] and sin_out[r * sin_stride + i], i < n. With step 2 (pairs), cos_out and sin_out are one
 * float apart, either first, and value i goes to [r * stride + 2i]; with drop_last the last float of the row, of 2n, is
 * left out. With add, values are added to what is there. */
typedef struct posenc_angle_rows_args {
    const double *anchor_cos, *anchor_sin;      /* padded to POSENC_COLUMN */
    const posenc_turn_column *blocks, *offsets; /* a column for each POSENC_COLUMN pairs */
    const posenc_growth_column *growth;         /* xPos; or NULL */
    int block, first_offset;
    float *cos_out, *sin_out;
    ptrdiff_t cos_stride, sin_stride; /* in floats */
    size_t n, n_rows;
    size_t n_fetch; /* for the first n_fetch <= n_rows rows, the row POSENC_ANCHOR_BLOCK further on is fetched */
    int step;
    int drop_last;
    int add;
    int is_vast; /* the result is larger than any cache, and need not stay there */
} posenc_angle_rows_args;

/* Rotates n pairs of every head of one token. x and y point at the first pair of head 0; strides in bytes. Pair i is
 * channels i and i + half for rope_half, 2i and 2i + 1 for rope_interleaved; rope_deinterleave reads the latter and
 * writes the former, and is not for use in place. The rows are multiplied by the factors first: the inverse has a
 * negative one.
 *
 * With head_factors, head h is multiplied by head_factors[h] before it turns, and every channel by its weight: a norm.
 * The weights, laid out as x is, are multiplied into the rows, so that they cost nothing per head.
 *
 * With y_ahead, what lies so many bytes from each head's output is fetched: it will be written soon. */
typedef struct posenc_rope_args {
    const void *x;
    void *y;
    posenc_dtype x_type, y_type;
    ptrdiff_t x_stride, y_stride, y_ahead;
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
 * posenc_rope_args. x may be Q8_0 where y is float32 and there are no head_factors. */
typedef struct posenc_convert_args {
    const void *x;
    void *y;
    posenc_dtype x_type, y_type;
    ptrdiff_t x_stride, y_stride, y_ahead;
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

/* Takes rows to their place: v = source[i] * factor * gate, y[i] = x[i] + v, or v where x is NULL; each operation
 * rounded to float32, y once more to its type. A source that is NULL is 0 by definition: y = x, whatever the gate, or
 * 0. Rows are done in order, each as a whole, so that a y_stride of 0 adds them up. x is y or apart from it. */
typedef struct posenc_place_rows_args {
    const void *const *sources; /* [n_rows] */
    posenc_dtype source_type;
    float factor;
    const float *gate; /* NULL: 1. Row r at gate + r * gate_stride, channel i of it at i * gate_step */
    ptrdiff_t gate_stride;
    int gate_step; /* 0: one gate for each row; 1: one for each channel */
    const void *x;
    void *y;
    posenc_dtype type; /* of x and y */
    ptrdiff_t x_stride, y_stride;
    size_t n, n_rows;
} posenc_place_rows_args;

/* y[i] = start[i] + w_0[i] x_0[i] + w_1[i] x_1[i] .., by fma in that order, + residual[i]; start and residual may be
 * NULL: 0. y may be start, or one of x if the types are the same. */
typedef struct posenc_mix_row_args {
    const void *const *x; /* [n_terms] */
    posenc_dtype x_type, y_type;
    const float *const *weights; /* [n_terms]: of term k for channel i at weights[k][i * weight_step] */
    int weight_step;             /* 0: one weight for all channels; 1: one for each */
    const float *start;
    const void *residual; /* of x_type */
    void *y;
    size_t n, n_terms;
} posenc_mix_row_args;

/* y[i] of row r is one where bit i of codes[r] is set, else zero; from the 64th on none is. With add, y += that. */
typedef struct posenc_bit_rows_args {
    const uint64_t *codes;
    float zero, one;
    float *y;
    ptrdiff_t stride; /* in floats */
    size_t n, n_rows;
    int add;
} posenc_bit_rows_args;

/* y[i] of row r is exp(d^2 * minus_k), d = positions[r] - centre_i; the argument in double, rounded to float32 once,
 * exp as exp.h has it. minus_k is negative. With add, y += that. */
typedef struct posenc_rbf_rows_args {
    const double *positions;
    const double *minus_centres; /* padded by POSENC_COLUMN */
    double minus_k;
    float *y;
    ptrdiff_t stride; /* in floats */
    size_t n, n_rows;
    int add;
} posenc_rbf_rows_args;

/* A row of numbers by offset: that of offset o is at[o - first], first <= o <= last. Offsets beyond have those of the
 * ends. */
typedef struct posenc_float_line {
    const float *at; /* NULL: none */
    int32_t first, last;
} posenc_float_line;

/* A relative term of softmax.h: product[index of the offset] of the query, or of key j, whose products lie at
 * product + j * key_stride (in floats, below 2^26). Indices follow their line as above. Of an offset that no seen key
 * has they may be anything; others are 0 .. last_row, which is not negative, and below 2^30 where there is a
 * key_stride. */
typedef struct posenc_relative_line {
    const float *product; /* NULL: none */
    ptrdiff_t key_stride; /* 0: the query's */
    const int32_t *index;
    int32_t first, last, last_row;
} posenc_relative_line;

typedef enum posenc_softmax_form { POSENC_PROBABILITIES, POSENC_EXPONENTIALS, POSENC_LOGITS } posenc_softmax_form;

/* Keys that a query sees: begin <= j < end but hole_begin <= j < hole_end, where begin <= hole_begin < hole_end <= end;
 * without a hole both are 0, and if nothing is seen begin and end are too. */
typedef struct posenc_seen {
    size_t begin, hole_begin, hole_end, end;
} posenc_seen;

/* One row of softmax.h. Keys that are not seen become 0, or -inf for logits; with leaves_hidden, groups of
 * POSENC_SUM_LANES keys, counted from key 0, that are all outside the bounds stay what they are. x may equal y, and may
 * be NULL for zeros.
 * The offset of key j is j - position, or k_pos[j] - position; with k_pos only offsets lowest .. highest are seen.
 * Index lines cover every offset that is seen. */
typedef struct posenc_softmax_row_args {
    const void *x;
    void *y;
    posenc_dtype x_type, y_type;
    posenc_softmax_form form;
    size_t n;
    posenc_seen seen;
    int leaves_hidden;
    int32_t position;
    const int32_t *k_pos;
    int32_t lowest, highest;

    float scale;
    float cap, inv_cap; /* cap 0: none */
    posenc_relative_line by_query, by_key;
    float slope; /* 0: none */
    posenc_float_line line;
    const void *bias; /* [n], or NULL */
    posenc_dtype bias_type;
    float bias_slope;
    const uint8_t *bytes; /* [n], or NULL; a key is seen where (byte != 0) == keep */
    int keep;

    float exp_lowest;        /* exponentials of less are 0: POSENC_EXP_LOWEST, or more */
    float least;             /* the maximum is at least this; -inf: no such thing */
    float sink;              /* -inf: none */
    float empty;             /* what all of a row becomes where every logit is -inf */
    posenc_softmax_sum *sum; /* or NULL */
    /* A row of n that will be asked for next, from beyond the caches; or NULL. */
    const struct posenc_softmax_row_args *next;
} posenc_softmax_row_args;

/* The gradient of softmax.h's row, as softmax_backward.h has it, over the seen keys (bounds, and offsets from lowest to
 * highest where there is k_pos, as above): dx, and db unless it is NULL; 0 for keys that are not seen, whatever stands
 * there, and where p < FLT_MIN. With s there is a cap. dx and db may equal an input. The sums of p dp and of p go by
 * the canonical order below, products joining by fma; -(1 - sum p) g goes to dsink unless it is NULL. */
typedef struct posenc_softmax_backward_args {
    const float *p, *dp, *s;
    float *dx, *db;
    size_t n;
    posenc_seen seen;
    const int32_t *k_pos; /* or NULL */
    int32_t position, lowest, highest;
    float scale, inv_cap, bias_slope;
    float *dsink;
    /* The p, dp and dx of a row that will be asked for next, from beyond the caches; or NULL. */
    const struct posenc_softmax_backward_args *next;
} posenc_softmax_backward_args;

/* y[v * width + u] = (y[v * width + u] + by_row[v]) + by_column[u], v < height, u < width */
typedef struct posenc_add_axes_args {
    float *y;
    const float *by_row, *by_column;
    size_t height, width;
} posenc_add_axes_args;

/* Lanes and block of the canonical sum: key j joins lane j % LANES; after BLOCK keys the lanes, so far in float32, are
 * added to 32 lanes in double. 16 terms a lane keep the float32 part below 1e-6; see docs/numerics.md. */
#define POSENC_SUM_LANES 32
#define POSENC_SUM_BLOCK 512

/* What steps leave alone is what softmax.h promises. */
_Static_assert(POSENC_SUM_LANES == POSENC_HIDDEN_GROUP, "hidden keys go by the lanes of the sum");

/* Rows of a table that stand side by side in a panel, so that kernels load whole vectors across rows: element c of row
 * t is panels[t / PANEL * dim * PANEL + c * PANEL + t % PANEL]. The last panel is filled up with rows of zeros. */
#define POSENC_PANEL 32

/* n rows of some bytes that will be needed soon; n 0: none. */
typedef struct posenc_rows_ahead {
    const void *rows;
    ptrdiff_t stride;
    size_t bytes, n;
} posenc_rows_ahead;

/* Packs n_rows rows of dim channels into panels, widened to float32. Rows may be Q8_0. Those ahead, n_rows at most, are
 * fetched into the second cache on the way. */
typedef struct posenc_pack_rows_args {
    const void *rows;
    posenc_dtype rows_type;
    ptrdiff_t row_stride; /* in bytes */
    float *panels;
    size_t dim, n_rows;
    posenc_rows_ahead ahead[2];
} posenc_pack_rows_args;

/* Products of every row of x with every row of a table: y[i][t] = sum of (x[i][c] + shift[c]) * table[t][c] over
 * c < dim, for i < n_x, t < n_rows. Each is one chain of fma from 0 in ascending c, so that it does not depend on what
 * else is asked for: rows of y may be computed in any pieces, and the table in any runs of whole panels. y overlaps
 * nothing. */
typedef struct posenc_dot_rows_args {
    const void *x;
    posenc_dtype x_type;
    ptrdiff_t x_stride;  /* in bytes */
    const float *shift;  /* added to every row of x, rounded; NULL: none */
    const float *panels; /* of the first row of the table */
    float *y;
    ptrdiff_t y_stride; /* in bytes */
    size_t dim, n_x, n_rows;
} posenc_dot_rows_args;

/* The same products of up to POSENC_FEW rows of x, float32, with rows of f16 or bf16 where they stand: packing pays for
 * more only. n_rows is a multiple of POSENC_PANEL, dim of POSENC_FEW_CHANNELS. Rows ahead as in pack_rows. */
#define POSENC_FEW 4
#define POSENC_FEW_CHANNELS 8
typedef struct posenc_dot_few_args {
    const float *x;
    ptrdiff_t x_stride; /* in bytes, as all here */
    const void *rows;
    posenc_dtype rows_type;
    ptrdiff_t row_stride;
    float *y;
    ptrdiff_t y_stride;
    size_t dim, n_x, n_rows;
    posenc_rows_ahead ahead[2];
} posenc_dot_few_args;

/* A weighted sum of rows, added to y: y[c] = fma(factor * weight_k, row_k[c] + shift[c], y[c]) for k = 0 .. n - 1, one
 * after the other, c < dim. Row k is row index[k] of the table where there is an index. y overlaps nothing. */
typedef struct posenc_weighted_rows_args {
    const float *weights;
    ptrdiff_t weight_stride; /* in bytes */
    float factor;
    const void *rows;
    posenc_dtype rows_type;
    ptrdiff_t row_stride; /* in bytes */
    const int32_t *index; /* or NULL */
    const float *shift;   /* or NULL */
    float *y;
    size_t dim, n;
} posenc_weighted_rows_args;

/* Weighted sums of rows, several at a time: from from[i][c], or -0, which changes nothing it is added to,
 * sum = fma(weights[i][k], row_k[c], sum) for begin[i] <= k < end[i], one after the other, c < dim, i < n; then
 * y[i][c] = fma(keep[i], y[i][c], sum), or sum without keep. from may be y. Rows may be Q8_0. */
typedef struct posenc_attend_rows_args {
    const float *weights;
    size_t weight_stride;     /* from row to row, in floats; and so for y, and from */
    const float *from, *keep; /* each may be NULL */
    const int32_t *begin, *end;
    const void *rows;
    posenc_dtype rows_type;
    ptrdiff_t row_stride; /* in bytes */
    float *y;
    size_t y_stride;
    size_t dim, n;
} posenc_attend_rows_args;

/* y[j] = fma(a, x[j], b), or y[j] plus that, j < n; x and y do not overlap. */
typedef struct posenc_affine_row_args {
    const float *x;
    float *y;
    float a, b;
    size_t n;
    int add;
} posenc_affine_row_args;

/* The logits of cope.h for keys j < n_seen, -inf for n_seen <= j < n. x and gates may be y. */
typedef struct posenc_cope_row_args {
    const float *x, *gates;
    const float *z; /* [n_positions] */
    float *y;
    float scale;
    int is_scaled; /* the interpolated term too */
    size_t n, n_seen, n_positions;
} posenc_cope_row_args;

typedef struct posenc_kernels {
    posenc_isa_tier tier;
#define KERNEL(name, args) void (*name)(const args *);
#include "kernels/kernels.def"
#undef KERNEL
} posenc_kernels;

/* One table per tier that is built. */
extern const posenc_kernels posenc_kernels_scalar, posenc_kernels_avx2, posenc_kernels_avx512, posenc_kernels_neon;

/* The table in use. */
const posenc_kernels *posenc_active_kernels(void);

/* The tier's table, or NULL if it is not built in or cannot run here. */
const posenc_kernels *posenc_tier_kernels(posenc_isa_tier tier);

#endif
