/* posenc/learned.h - learned tables: look-up, gradient, resizing (FORMULAS A.7-A.12, E.1, E.2).
 *
 *     r = id + offset,    E = scale * table[r]
 *
 * Ids are int32 or int64. What happens to r < 0 and r >= n_rows is the policy's: with ERROR the whole call is refused
 * (POSENC_ERR_POSITION; posenc_encoding_check names the row), CLAMP takes the nearest row, ZERO adds nothing.
 *
 *     posenc_view table = posenc_view_dense(weights, POSENC_BF16, 768, 514, 1, 1);
 *     posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS;
 *     lookup.offset = 2;
 *     posenc_encoding *e;
 *     posenc_status status = posenc_learned_create(&table, &lookup, &e);
 *     posenc_coords at = posenc_coords_of(ids, POSENC_COORD_I64);
 *     status = posenc_encoding_apply(e, &at, &x, NULL, &x, posenc_all_rows());
 *     posenc_encoding_free(e);
 */
#ifndef POSENC_LEARNED_H
#define POSENC_LEARNED_H

#include <posenc/encoding.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum posenc_range { POSENC_RANGE_ERROR = 0, POSENC_RANGE_CLAMP, POSENC_RANGE_ZERO } posenc_range;

typedef struct posenc_lookup {
    int64_t offset;      /* BART and OPT: 2; magnitude up to 2^62 (POSENC_ERR_POSITION) */
    float scale;         /* finite (POSENC_ERR_SCALE); in a struct of zeros 0, and then every E is 0 */
    posenc_range policy; /* POSENC_ERR_ENUM */
} posenc_lookup;

#define POSENC_LOOKUP_DEFAULTS                                                                                         \
    { 0, 1.0f, POSENC_RANGE_ERROR }

/* An encoding of the rows of table, [dim, n_rows, 1, 1] in f32, f16 or bf16, dim 1 .. 2^21. The table is not copied: it
 * must stay where it is, and outside what the encoding writes to; its values may change between calls. lookup: NULL for
 * the defaults. */
POSENC_API posenc_status posenc_learned_create(const posenc_view *table, const posenc_lookup *lookup,
                                               posenc_encoding **e);

/* The gradient of its table (FORMULAS E.1): dtable[r] += scale * dy[t] for the tokens in ascending order, batches in
 * order, so that the bits do not depend on how the work is split. dy is [dim, n_tokens, n_batch, 1] of any type,
 * dtable [dim, n_rows, 1, 1] in float32 and apart from it. A row, for row ranges, is a row of dtable: threads take
 * ranges of those. */
POSENC_API posenc_status posenc_learned_grad(const posenc_lookup *lookup, const posenc_coords *ids,
                                             const posenc_view *dy, const posenc_view *dtable, posenc_rows rows);

/* ---- Resizing (FORMULAS A.12) ---- */

typedef enum posenc_resize_method { POSENC_RESIZE_LINEAR = 0, POSENC_RESIZE_CUBIC } posenc_resize_method;

/* A grid of h x w tokens, row-major, behind n_prefix tokens that are copied (-0 as 0). One dimension is h = 1 on both
 * sides. As PyTorch's interpolate without antialiasing: linear or bilinear, and bicubic with a = -0.75. */
typedef struct posenc_resize_params {
    posenc_resize_method method;
    int align_corners;
    int64_t h_in, w_in, h_out, w_out; /* 1 .. 2^20 (POSENC_ERR_SHAPE) */
    int64_t n_prefix;
    double h_ratio, w_ratio; /* old tokens per new one, where it is not in/out (DINOv2): finite, > 0, and not with
                                align_corners (POSENC_ERR_SCALING); 0: in/out */
    double cubic_a;          /* finite, within [-4, 4] (POSENC_ERR_SCALING) */
} posenc_resize_params;

#define POSENC_RESIZE_DEFAULTS                                                                                         \
    { POSENC_RESIZE_LINEAR, 0, 1, 0, 1, 0, 0, 0.0, 0.0, -0.75 }

/* x [dim, n_prefix + h_in w_in, 1, 1] to y [dim, n_prefix + h_out w_out, 1, 1], any types, apart. Each weight is
 * rounded to float32 once, the terms of an element are added by fma in row-major order. A row is a row of y. */
POSENC_API posenc_status posenc_table_resize(const posenc_resize_params *params, const posenc_view *x,
                                             const posenc_view *y, posenc_rows rows);

/* Its transpose: dx += weights^T dy, for dy in ascending order; dx float32. */
POSENC_API posenc_status posenc_table_resize_grad(const posenc_resize_params *params, const posenc_view *dy,
                                                  const posenc_view *dx);

#ifdef __cplusplus
}
#endif
#endif
