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
#define POSENC_BEGIN_C extern "C" {
#define POSENC_END_C }
#else
#define POSENC_BEGIN_C
#define POSENC_END_C
#endif

POSENC_BEGIN_C

#if defined(__GNUC__) && !defined(_WIN32)
#define POSENC_API __attribute__((visibility("default")))
#else
#define POSENC_API
#endif

/** Result of a call. Any status but POSENC_OK means that nothing was written. */
typedef enum posenc_status {
    POSENC_OK = 0,
    POSENC_ERR_NULL,    /**< a required pointer is NULL */
    POSENC_ERR_DTYPE,   /**< unknown data type, or not supported by this call */
    POSENC_ERR_SHAPE,   /**< an extent is out of range or does not match */
    POSENC_ERR_STRIDE,  /**< a stride or pointer is misaligned, too small or too large */
    POSENC_ERR_OVERLAP, /**< inputs, outputs or scratch overlap, or interleave */
    POSENC_ERR_ROWS,    /**< a range, scatter row, page or index entry is outside */
    POSENC_ERR_ENUM,    /**< unknown enumerator or name */
    POSENC_ERR_LAYOUT_UNSET,
    POSENC_ERR_UNSET,     /**< a scale, schedule, form, kind, polarity or n_rot is not set */
    POSENC_ERR_HEAD_DIM,  /**< head_dim or dim is out of range or odd */
    POSENC_ERR_N_ROT,     /**< n_rot is odd, out of range, or unfit for the scaling */
    POSENC_ERR_SECTIONS,  /**< sections or n_axes do not fit the kind of axes */
    POSENC_ERR_BASE,      /**< base or min_timescale is out of range */
    POSENC_ERR_FREQUENCY, /**< a frequency is not finite or too large */
    POSENC_ERR_SCALING,   /**< a number of the scaling is missing or out of range */
    POSENC_ERR_CONTEXT,   /**< a length in tokens is missing or out of range */
    POSENC_ERR_FACTORS,   /**< frequency factors are missing or invalid */
    POSENC_ERR_N_HEADS,   /**< a head count is out of range */
    POSENC_ERR_SCALE,     /**< a scale, slope or weight is out of range */
    POSENC_ERR_POSITION,  /**< a position, offset or id is out of range */
    POSENC_ERR_MASK_UNSET,
    POSENC_ERR_MASK,      /**< a mask or length is out of range, or excludes another argument */
    POSENC_ERR_OFFSETS,   /**< a relative bias or index does not cover all offsets */
    POSENC_ERR_BUCKETS,   /**< buckets or their distance are out of range */
    POSENC_ERR_WORKSPACE, /**< scratch or partitions have too few bytes */
    POSENC_ERR_ISA,       /**< the tier is not built in, or this CPU lacks it */
    POSENC_ERR_MEMORY     /**< set-up could not allocate */
} posenc_status;

/** Message for a status; never NULL. */
POSENC_API const char *posenc_status_string(posenc_status status);

/** The calling thread's last failed call: argument, value, what was wanted ("k: 3 heads, which do not divide the 8
 * of q"). Thread-local; written by failing calls alone. */
POSENC_API const char *posenc_last_error(void);

/** Storage type; "any type" is F32, F16 or BF16. Arithmetic is float32; results are rounded once, to nearest even.
 * Q8_0 to IQ4_NL are blocks of 32 channels, as in ggml: ne[0] counts channels, nb[0] is the bytes of a block.
 * F8_E4M3 (float8_e4m3fn), taken where blocks are, has elements of a byte and saturates at 448. */
typedef enum posenc_dtype {
    POSENC_F32,
    POSENC_F16,
    POSENC_BF16,
    POSENC_Q8_0,
    POSENC_Q4_0,
    POSENC_Q5_0,
    POSENC_Q4_1,
    POSENC_Q5_1,
    POSENC_IQ4_NL,
    POSENC_F8_E4M3
} posenc_dtype;

#define POSENC_QUANT_BLOCK 32
#define POSENC_Q8_BYTES 34
#define POSENC_Q4_BYTES 18

/** Largest head_dim of attention and of staged heads (quantised, Hadamard; rope.h). */
#define POSENC_MAX_HEAD_DIM 1024

/** Tensor view: extents ne[] and strides nb[] in bytes, innermost first, as in ggml. Strides are multiples of nb[0],
 * the element size, and at least a row's bytes: padded, permuted, negative; of inputs also 0 (broadcast). **Not seen:
 * memory of another order (heads and tokens swapped) or type, a stride in elements.** Extents, whatever the memory
 * layout, and rows; a call's rows are those of its output unless it says otherwise:
 *
 *     heads       [head_dim, n_heads, n_tokens, n_batch]   row = (batch * n_tokens + token) * n_heads + head
 *     scores      [n_k, n_q, n_heads, n_batch]             row = (batch * n_heads + head) * n_q + query
 *     encodings   [dim, n_tokens, n_batch]                 row = batch * n_tokens + token */
typedef struct posenc_view {
    void *data;
    posenc_dtype dtype;
    int64_t ne[4];
    int64_t nb[4];
} posenc_view;

POSENC_API posenc_view posenc_view_dense(void *data, posenc_dtype dtype, int64_t ne0, int64_t ne1, int64_t ne2,
                                         int64_t ne3);

/** Exchanges dimensions i and j. PyTorch's (batch, heads, tokens, head_dim): dense [head_dim, n_tokens, n_heads,
 * n_batch], then 1 and 2. */
static inline posenc_view posenc_view_transpose(posenc_view view, int i, int j) {
    int64_t ne = view.ne[i], nb = view.nb[i];
    view.ne[i] = view.ne[j];
    view.nb[i] = view.nb[j];
    view.ne[j] = ne;
    view.nb[j] = nb;
    return view;
}

/** Elements begin .. begin + n - 1 along a dimension: 1 heads, 2 tokens. */
static inline posenc_view posenc_view_slice(posenc_view view, int dim, int64_t begin, int64_t n) {
    if (view.data != NULL)
        view.data = (char *)view.data + begin * view.nb[dim];
    view.ne[dim] = n;
    return view;
}

/** Half-open, for threads. */
typedef struct posenc_range {
    int64_t begin, end;
} posenc_range;

static inline posenc_range posenc_range_all(void) {
    posenc_range rows = {0, -1};
    return rows;
}

/** Share of thread ith of nth in n rows; one that calls refuse if ith is not 0 .. nth - 1. */
static inline posenc_range posenc_range_of_thread(int64_t n, int64_t ith, int64_t nth) {
    posenc_range none = {-1, -1};
    if (ith < 0 || ith >= nth)
        return none;
    posenc_range rows = {n * ith / nth, n * (ith + 1) / nth};
    return rows;
}

#define POSENC_VERSION_MAJOR 0
#define POSENC_VERSION_MINOR 2
#define POSENC_VERSION_PATCH 0
#define POSENC_VERSION "0.2.0"

POSENC_API const char *posenc_version(void);

POSENC_END_C
#endif
