/* SPDX-License-Identifier: MIT */
/** @file
 * Status codes, data types, tensor views, row ranges and the version.
 *
 * Example: thread ith of nth transforms its share of the 8 heads of a cache's newest token
 *
 *     posenc_view cache = posenc_view_dense(data, POSENC_F32, 64, 8, 1024, 1);
 *     posenc_view newest = posenc_view_slice(cache, 2, 1023, 1);
 *     posenc_status status = posenc_hadamard(&newest, &newest, 64, posenc_range_of_thread(8, ith, nth));
 */
#ifndef POSENC_TYPES_H
#define POSENC_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(_WIN32)
#define POSENC_API __attribute__((visibility("default")))
#else
#define POSENC_API
#endif

/** Result of a call. Any status but POSENC_OK means that nothing was written, with two exceptions: the pointer to a new
 * object becomes NULL, and posenc_encoding_check names the row that failed. */
typedef enum posenc_status {
    POSENC_OK = 0,
    POSENC_ERR_NULL,         /**< a required pointer is NULL */
    POSENC_ERR_DTYPE,        /**< unknown data type, or not supported by this call */
    POSENC_ERR_SHAPE,        /**< an extent is negative, too large, or does not match its partner */
    POSENC_ERR_STRIDE,       /**< nb[0] is not the element size; a stride or pointer is not a multiple of it; a
                                  stride reaches too far; rows of an output overlap or interlace */
    POSENC_ERR_OVERLAP,      /**< input and output overlap without being the same view, or interleave other than as
                                  rows of one stride */
    POSENC_ERR_ROWS,         /**< a row range, scatter row, page or index entry lies outside its tensor */
    POSENC_ERR_ENUM,         /**< unknown enumerator (layout, schedule, direction ...) or name */
    POSENC_ERR_LAYOUT_UNSET, /**< the layout has no default and is not set */
    POSENC_ERR_UNSET,        /**< the same for a schedule, form, kind, polarity or scheme */
    POSENC_ERR_HEAD_DIM,     /**< head_dim or dim is not positive, odd where it must be even, or too large */
    POSENC_ERR_N_ROT,        /**< n_rot is odd, negative or unfit for the scaling, or n_offs + n_rot > head_dim */
    POSENC_ERR_SECTIONS,     /**< sections or n_axes do not fit the kind of axes, or do not add up to n_rot/2 */
    POSENC_ERR_BASE,         /**< base or min_timescale is out of range */
    POSENC_ERR_FREQUENCY,    /**< a frequency is not finite, or beyond POSENC_MAX_FREQUENCY */
    POSENC_ERR_SCALING,      /**< a number of the frequency scaling is missing or out of range */
    POSENC_ERR_CONTEXT,      /**< a length in tokens that the scaling needs is missing or out of range */
    POSENC_ERR_FACTORS,      /**< frequency factors are missing, of wrong length, or not finite and positive */
    POSENC_ERR_N_HEADS,      /**< a head count is out of range */
    POSENC_ERR_SCALE,        /**< scale, slope or max_bias is not finite or out of range */
    POSENC_ERR_POSITION,     /**< a position, offset or id is out of range */
    POSENC_ERR_MASK_UNSET,   /**< the mask has no default and is not set: posenc_mask_causal() ... */
    POSENC_ERR_MASK,         /**< a number of the mask or a length is out of range, or excludes another argument */
    POSENC_ERR_OFFSETS,      /**< a relative bias or index does not cover the offsets of the call */
    POSENC_ERR_BUCKETS,      /**< the number of buckets, or the distance they cover, is out of range */
    POSENC_ERR_ISA,          /**< the instruction set is not built in, or this CPU lacks it */
    POSENC_ERR_MEMORY        /**< set-up could not allocate */
} posenc_status;

/** Message for a status, in one line. Never NULL. */
POSENC_API const char *posenc_status_string(posenc_status status);

/** Storage type of a tensor. Arithmetic is float32 and results are rounded once, to nearest even. Each call lists the
 * types that it takes.
 *
 * Q8_0 and Q4_0 are ggml's formats for keys and values: blocks of POSENC_QUANT_BLOCK channels with a half-precision
 * scale and an integer for each channel, whose product is the value. ne[0] counts channels (a multiple of 32), nb[0] is
 * the bytes of a block. A Q8_0 block is the scale and 32 int8. A Q4_0 block is the scale and 16 bytes: byte c holds
 * channel c in its low and channel c + 16 in its high four bits, each as the integer plus 8. */
typedef enum posenc_dtype { POSENC_F32 = 0, POSENC_F16, POSENC_BF16, POSENC_Q8_0, POSENC_Q4_0 } posenc_dtype;

#define POSENC_QUANT_BLOCK 32
#define POSENC_Q8_BYTES 34
#define POSENC_Q4_BYTES 18

/** Largest head_dim of attention, and of heads that are quantised or Hadamard-transformed (rope.h). */
#define POSENC_MAX_HEAD_DIM 1024

/** Tensor in the caller's memory: extents ne[] and strides nb[] in bytes, innermost first, as in ggml. nb[0] is the
 * element size (any value if ne[0] is 1). Other strides are multiples of it: padded, permuted, negative, and for inputs
 * also 0 (broadcast).
 *
 * Order of extents in every call, for any memory layout:
 *
 *     heads (queries, keys, values, outputs, relative tables)   [head_dim, n_heads, n_tokens, n_batch]
 *     scores                                                    [n_k, n_q, n_heads, n_batch]
 *     rows of encodings                                         [dim, n_tokens, n_batch] */
typedef struct posenc_view {
    void *data;
    posenc_dtype dtype;
    int64_t ne[4];
    int64_t nb[4];
} posenc_view;

/** Dense view: each stride is the previous extent times the previous stride. */
POSENC_API posenc_view posenc_view_dense(void *data, posenc_dtype dtype, int64_t ne0, int64_t ne1, int64_t ne2,
                                         int64_t ne3);

/** Exchanges dimensions i and j of a view. PyTorch's (batch, heads, tokens, head_dim) memory is
 * posenc_view_transpose(posenc_view_dense(data, type, head_dim, n_tokens, n_heads, n_batch), 1, 2). */
static inline posenc_view posenc_view_transpose(posenc_view view, int i, int j) {
    int64_t ne = view.ne[i], nb = view.nb[i];
    view.ne[i] = view.ne[j];
    view.nb[i] = view.nb[j];
    view.ne[j] = ne;
    view.nb[j] = nb;
    return view;
}

/** Elements begin .. begin + n - 1 of a view along dimension dim: 1 heads, 2 tokens. */
static inline posenc_view posenc_view_slice(posenc_view view, int dim, int64_t begin, int64_t n) {
    view.data = (char *)view.data + begin * view.nb[dim];
    view.ne[dim] = n;
    return view;
}

/** Half-open range of rows, to split one call between threads. Each call defines its rows. */
typedef struct posenc_range {
    int64_t begin;
    int64_t end;
} posenc_range;

/** Every row of the tensor. */
static inline posenc_range posenc_range_all(void) {
    posenc_range rows = {0, -1};
    return rows;
}

/** Share of thread ith (0 .. nth - 1) of nth in n rows. */
static inline posenc_range posenc_range_of_thread(int64_t n, int64_t ith, int64_t nth) {
    posenc_range rows = {n * ith / nth, n * (ith + 1) / nth};
    return rows;
}

/* ---- Version, at compile time and at run time ---- */

#define POSENC_VERSION_MAJOR 0
#define POSENC_VERSION_MINOR 1
#define POSENC_VERSION_PATCH 0
#define POSENC_VERSION "0.1.0"

/** Version of the linked library, for example "0.1.0". */
POSENC_API const char *posenc_version(void);

#ifdef __cplusplus
}
#endif
#endif
