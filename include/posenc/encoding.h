/* posenc/encoding.h - absolute encodings: a row of channels for each token, made from its position and written, added
 * or gated into a tensor (FORMULAS part A).
 *
 * An encoding turns the coordinate of a token (several, for some) into a row E of dim channels. Who makes one:
 *
 *     sinusoidal.h   sinusoids of every layout, timestep embedding, complex, grids of two and three dimensions
 *     fourier.h      random Fourier features
 *     learned.h      rows of a table
 *     integer.h      integers, binary and Gray code, Gaussian bumps
 *
 * and concat and sum below make new ones of them: hybrids, trainable sinusoids, block-wise and axial encodings.
 * Whatever it is, one call takes it to its place:
 *
 *     y = E,    y = x + E,    y = gate * E,    y = x + gate * E
 *
 * E is float32. Each of product and sum is one float32 operation, and f16 and bf16 are rounded once, at the store. So
 * adding is the float32 sum of x and of what would have been written, and the value for a coordinate depends on
 * nothing else. Channels that are 0 by definition (the odd column of a sinusoid, rows out of range with
 * POSENC_RANGE_ZERO) leave x as it is.
 *
 *     posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
 *     params.layout = POSENC_SINUSOIDAL_INTERLEAVED;
 *     params.dim = 768;
 *     posenc_encoding *e;
 *     posenc_status status = posenc_sinusoidal_create(&params, &e);
 *     posenc_view x = posenc_view_dense(embeddings, POSENC_F32, 768, n_tokens, 1, 1);
 *     status = posenc_encoding_add(e, positions, &x);
 *     posenc_encoding_free(e);
 */
#ifndef POSENC_ENCODING_H
#define POSENC_ENCODING_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Immutable, to be shared by threads. A call that makes one, here or in another header, sets it to NULL on failure. */
typedef struct posenc_encoding posenc_encoding;

/* Channels of a row, coordinates of a token; 0 if NULL. */
POSENC_API int64_t posenc_encoding_dim(const posenc_encoding *e);
POSENC_API int posenc_encoding_n_axes(const posenc_encoding *e);

/* Frees it; NULL is allowed. What was made of it by concat or sum stays good. */
POSENC_API void posenc_encoding_free(posenc_encoding *e);

/* ---- Coordinates ---- */

/* Coordinates of the tokens, of any type that the encoding takes: integers always, within int32 unless it says
 * otherwise; real numbers where it says so, finite and of magnitude up to 2^31. A real number that is an integer gives
 * the bits of the integer. Another type is POSENC_ERR_DTYPE, a value out of range POSENC_ERR_POSITION, an unknown type
 * POSENC_ERR_ENUM. */
typedef enum posenc_coord_type {
    POSENC_COORD_I32 = 0,
    POSENC_COORD_I64,
    POSENC_COORD_F32,
    POSENC_COORD_F64
} posenc_coord_type;

/* Coordinate `axis` of token t in batch b is data[b * batch_stride + axis * axis_stride + t]. */
typedef struct posenc_coords {
    const void *data;
    posenc_coord_type type;
    int64_t axis_stride;  /* in elements; 0: n_tokens, planes one behind the other */
    int64_t batch_stride; /* in elements; 0: the batch shares its coordinates */
} posenc_coords;

static inline posenc_coords posenc_coords_of(const void *data, posenc_coord_type type) {
    posenc_coords coords = {data, type, 0, 0};
    return coords;
}

/* ---- Rows to their place ---- */

/* y is [dim, n_tokens, n_batch, 1] in f32, f16 or bf16. A slice of a wider row is a view with a larger nb[1].
 *
 * x      NULL: nothing is added to. Otherwise of y's extents and type, and the same view as y or one apart from it.
 * gate   NULL: none. Otherwise float32, apart from y: [1, n_tokens, n_batch, 1], a factor for each token, or
 *        [dim, n_tokens, n_batch, 1], one for each channel (FORMULAS A.9).
 *
 * A row, for row ranges, is one token: row = batch * n_tokens + token. Coordinates of all rows are checked, whatever
 * the range, before anything is written; those of rows outside the range are not used. */
POSENC_API posenc_status posenc_encoding_apply(const posenc_encoding *e, const posenc_coords *at, const posenc_view *x,
                                               const posenc_view *gate, const posenc_view *y, posenc_rows rows);

/* The common cases: int32 planes [n_axes][n_tokens] shared by the batch, all rows; y = E and y += E. */
POSENC_API posenc_status posenc_encoding_write(const posenc_encoding *e, const int32_t *positions,
                                               const posenc_view *y);
POSENC_API posenc_status posenc_encoding_add(const posenc_encoding *e, const int32_t *positions, const posenc_view *y);

/* What apply says of these coordinates, and, when it is POSENC_ERR_POSITION, the first row that is to blame; -1
 * otherwise. */
POSENC_API posenc_status posenc_encoding_check(const posenc_encoding *e, const posenc_coords *at, int64_t n_tokens,
                                               int64_t n_batch, int64_t *row);

/* Gradients of y = x + gate * E for a gate (FORMULAS E.2); dx is dy. All views are float32 and [dim, n_tokens,
 * n_batch, 1], gate and dgate [1, ..] or [dim, ..] alike.
 *
 *     dgate = dy * E, summed over the channels where there is one gate for each token: in double, channel c in sum
 *             c mod 8, the eight sums added in order
 *     de    = gate * dy
 *
 * dgate or de may be NULL, and then e or gate too. de may be the same view as dy; otherwise outputs lie apart from
 * inputs and from each other. */
POSENC_API posenc_status posenc_gate_grad(const posenc_view *e, const posenc_view *gate, const posenc_view *dy,
                                          const posenc_view *dgate, const posenc_view *de, posenc_rows rows);

/* ---- New encodings of old ---- */

/* Columns first .. first + width - 1 of an encoding, at other coordinates: axis a of the part reads axis `axis` + a of
 * the whole, and a coordinate p becomes floor(p / divide) and then that modulo `modulo`, in 0 .. modulo-1. Parts that
 * divide or have a modulo take integers only, and no parts that do either (POSENC_ERR_SECTIONS); neither number is
 * negative (POSENC_ERR_CONTEXT). */
typedef struct posenc_part {
    const posenc_encoding *encoding; /* NULL: `width` columns that are 0 by definition (concat only) */
    int64_t first, width;            /* width 0: all from first on */
    int axis;
    int64_t divide; /* 0, 1: as it is */
    int64_t modulo; /* 0: as it is */
} posenc_part;

#define POSENC_MAX_PARTS 8
#define POSENC_MAX_COORDS 4

/* Parts side by side, and parts of the same width added up in order (in float32). Up to POSENC_MAX_PARTS parts; a sum
 * may contain sums of together POSENC_MAX_PARTS terms, which are added one after the other as if they stood in it, and
 * of tables that all leave a row out it makes a row of zeros, which is added like any other; a result has up to
 * POSENC_MAX_COORDS axes (POSENC_ERR_SECTIONS) and 32 fields of columns (POSENC_ERR_SHAPE). The parts' encodings may be
 * freed afterwards; learned tables, which they refer to, may not.
 *
 * Hybrid (FORMULAS A.10), block-wise (A.11), trainable sinusoid (A.8: delta a table with POSENC_RANGE_ZERO), axial
 * (A.22):
 *
 *     posenc_part hybrid[2] = {{.encoding = sinusoid}, {.encoding = learned}};
 *     posenc_status status = posenc_encoding_concat(hybrid, 2, &e);
 *     posenc_part blocks[2] = {{.encoding = global, .divide = 64}, {.encoding = local, .modulo = 64}};
 *     status = posenc_encoding_sum(blocks, 2, &e);
 *     posenc_part trainable[2] = {{.encoding = sinusoid}, {.encoding = learned}};
 *     status = posenc_encoding_sum(trainable, 2, &e);
 *     posenc_part axial[2] = {{.encoding = y_table}, {.encoding = x_table, .axis = 1}};
 *     status = posenc_encoding_sum(axial, 2, &e);
 */
POSENC_API posenc_status posenc_encoding_concat(const posenc_part *parts, int64_t n_parts, posenc_encoding **e);
POSENC_API posenc_status posenc_encoding_sum(const posenc_part *parts, int64_t n_parts, posenc_encoding **e);

#ifdef __cplusplus
}
#endif
#endif
