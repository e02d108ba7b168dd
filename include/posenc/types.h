/* SPDX-License-Identifier: MIT */
/** @file
 * Status codes, data types, tensor views and row ranges. */
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

/** What a call says. Anything but POSENC_OK means that nothing was written, except that the pointer to an object that
 * was to be made becomes NULL, and that a check says where it failed. */
typedef enum posenc_status {
    POSENC_OK = 0,
    POSENC_ERR_NULL,    /**< a required pointer is NULL */
    POSENC_ERR_DTYPE,   /**< the data type is unknown, or not supported by this call */
    POSENC_ERR_SHAPE,   /**< an extent is negative, too large, or does not match its partner */
    POSENC_ERR_STRIDE,  /**< nb[0] is not the element size, a stride or pointer is not a multiple of
                             it, a stride reaches too far, or an output's dimensions do not lie inside each other, so
                             that its rows overlap or interlace */
    POSENC_ERR_OVERLAP, /**< input and output overlap without being the same view, or interleave in memory in another
                             way than rows of one stride do */
    POSENC_ERR_ROWS,    /**< the row range, a row named for scatter, a page, or an entry of an index does not lie inside
                             its tensor */
    POSENC_ERR_ENUM,    /**< an enumerator (layout, schedule, direction ...) or a name is unknown */
    POSENC_ERR_LAYOUT_UNSET, /**< the layout has no default and is not set */
    POSENC_ERR_UNSET,        /**< the same of a schedule, form, kind, polarity or scheme */
    POSENC_ERR_HEAD_DIM,     /**< head_dim or dim is not positive, is odd where it must be even, or is too large */
    POSENC_ERR_N_ROT,    /**< n_rot is odd or negative, n_offs + n_rot exceeds head_dim, or the scaling needs another */
    POSENC_ERR_SECTIONS, /**< sections or the number of axes do not fit the kind of axes, or do not add up to n_rot/2 */
    POSENC_ERR_BASE,     /**< base (or min_timescale) is not finite, or not in its range */
    POSENC_ERR_FREQUENCY,  /**< a frequency is not finite, or beyond POSENC_MAX_FREQUENCY */
    POSENC_ERR_SCALING,    /**< a number of the frequency scaling is missing, not finite, or not in its range */
    POSENC_ERR_CONTEXT,    /**< a length in tokens that the scaling needs is missing, or not in its range */
    POSENC_ERR_FACTORS,    /**< a list of frequency factors is missing, of wrong length, or not finite and positive */
    POSENC_ERR_N_HEADS,    /**< a head count is not in its range */
    POSENC_ERR_SCALE,      /**< scale, slope or max_bias is not finite, or not in its range */
    POSENC_ERR_POSITION,   /**< a position, offset or id is out of its range */
    POSENC_ERR_MASK_UNSET, /**< the mask has no default and is not set: posenc_mask_causal(), posenc_mask_none() ... */
    POSENC_ERR_MASK,       /**< a number of the mask, or a length, is not in its range, or does not go with another */
    POSENC_ERR_OFFSETS,    /**< a relative bias or relative index does not cover the offsets of the call */
    POSENC_ERR_BUCKETS,    /**< the number of buckets, or the distance that they cover, is not in its range */
    POSENC_ERR_ISA,        /**< the instruction set is not built in, or this CPU lacks it */
    POSENC_ERR_MEMORY      /**< set-up could not allocate */
} posenc_status;

/** Message for a status, in one line. Never NULL. */
POSENC_API const char *posenc_status_string(posenc_status status);

/** Storage type of a tensor: IEEE single, IEEE half, bfloat16. Arithmetic is float32 whatever it is; what is stored is
 * rounded once, to nearest even. Each call says which types it takes.
 *
 * Q8_0 and Q4_0 are quantised keys and values as ggml stores them: blocks of POSENC_QUANT_BLOCK channels, a scale in
 * half precision and an integer for each channel, whose value is their product. A Q8_0 block is the scale and 32 int8,
 * POSENC_Q8_BYTES; a Q4_0 block is the scale and 16 bytes, POSENC_Q4_BYTES: byte c holds channel c in its low and
 * channel c + 16 in its high four bits, each 8 more than the integer. ne[0] counts channels, a multiple of the block's,
 * and nb[0] is the size of a block. */
typedef enum posenc_dtype { POSENC_F32 = 0, POSENC_F16, POSENC_BF16, POSENC_Q8_0, POSENC_Q4_0 } posenc_dtype;

#define POSENC_QUANT_BLOCK 32
#define POSENC_Q8_BYTES 34
#define POSENC_Q4_BYTES 18

/** Most channels of a head in attention, and of one that is quantised or transformed (rope.h). */
#define POSENC_MAX_HEAD_DIM 1024

/** A tensor somebody else owns: extents ne[] and strides nb[] in bytes, innermost first, as ggml has them. nb[0] must
 * be the element size, unless ne[0] is 1 (NumPy may have 0 there); the other strides may be anything that is a multiple
 * of it: padded, permuted, negative, and for inputs also zero (broadcast).
 *
 * Tensors of heads (queries, keys, values, outputs, relative tables) have one order of extents in every call, whatever
 * lies beside what in memory: [head_dim, n_heads, n_tokens, n_batch]. Scores have [n_k, n_q, n_heads, n_batch], rows of
 * encodings [dim, n_tokens, n_batch]. */
typedef struct posenc_view {
    void *data;
    posenc_dtype dtype;
    int64_t ne[4];
    int64_t nb[4];
} posenc_view;

/** A dense view: each stride is the previous extent times the previous stride; blocks lie side by side. */
POSENC_API posenc_view posenc_view_dense(void *data, posenc_dtype dtype, int64_t ne0, int64_t ne1, int64_t ne2,
                                         int64_t ne3);

/** Exchanges dimensions i and j of a view. Memory that holds (batch,
 * heads, tokens, head_dim) in PyTorch's order is posenc_view_transpose(posenc_view_dense(data, type, head_dim,
 * n_tokens, n_heads, n_batch), 1, 2). */
static inline posenc_view posenc_view_transpose(posenc_view view, int i, int j) {
    int64_t ne = view.ne[i], nb = view.nb[i];
    view.ne[i] = view.ne[j];
    view.nb[i] = view.nb[j];
    view.ne[j] = ne;
    view.nb[j] = nb;
    return view;
}

/** Part of a view: elements begin .. begin + n - 1 along a dimension: tokens (dimension 2) of a cache, some of the
 * heads (1). */
static inline posenc_view posenc_view_slice(posenc_view view, int dim, int64_t begin, int64_t n) {
    view.data = (char *)view.data + begin * view.nb[dim];
    view.ne[dim] = n;
    return view;
}

/** Half-open range of rows, for splitting one call between threads. What a row is, each call says. */
typedef struct posenc_range {
    int64_t begin;
    int64_t end;
} posenc_range;

/** Every row of the tensor. */
static inline posenc_range posenc_range_all(void) {
    posenc_range rows = {0, -1};
    return rows;
}

/** The share of thread ith (0 .. nth - 1) of nth in n rows. */
static inline posenc_range posenc_range_of_thread(int64_t n, int64_t ith, int64_t nth) {
    posenc_range rows = {n * ith / nth, n * (ith + 1) / nth};
    return rows;
}

/* ---- Version, at compile time and at run time ---- */

#define POSENC_VERSION_MAJOR 0
#define POSENC_VERSION_MINOR 2
#define POSENC_VERSION_PATCH 0
#define POSENC_VERSION "0.2.0-dev"

/** Version of the library that is linked, for example "0.2.0", or "0.2.0-dev" before its release. */
POSENC_API const char *posenc_version(void);

#ifdef __cplusplus
}
#endif
#endif
