/* SPDX-License-Identifier: MIT */
/* Version, texts of statuses, and constructors of dense views. */
#include <posenc/types.h>

#include "core/view.h"

const char *posenc_version(void) {
    return POSENC_VERSION;
}

const char *posenc_status_string(posenc_status status) {
    switch (status) {
    case POSENC_OK: return "ok";
    case POSENC_ERR_NULL: return "a required pointer is NULL";
    case POSENC_ERR_DTYPE: return "the data type is unknown or not supported by this call";
    case POSENC_ERR_SHAPE: return "an extent is negative, too large, or does not match its partner";
    case POSENC_ERR_STRIDE:
        return "nb[0] is not the element size, a stride or pointer is not a multiple of it, or output rows overlap";
    case POSENC_ERR_OVERLAP:
        return "inputs, outputs or scratch overlap, or interleave in memory, without being the same view";
    case POSENC_ERR_ROWS:
        return "the range, a row for scatter, a page or an index entry does not lie inside its tensor";
    case POSENC_ERR_ENUM: return "an enumerator (layout, schedule, direction, tier) or name is unknown";
    case POSENC_ERR_LAYOUT_UNSET: return "the layout is not set: it has no default";
    case POSENC_ERR_UNSET: return "a scale, schedule, form, kind, polarity or n_rot that has no default is not set";
    case POSENC_ERR_HEAD_DIM: return "head_dim or dim is not positive, is odd where it must be even, or is too large";
    case POSENC_ERR_N_ROT:
        return "n_rot is odd or negative, n_offs + n_rot exceeds head_dim, or the scaling needs another n_rot";
    case POSENC_ERR_SECTIONS:
        return "the sections or the number of axes do not fit the kind of axes, or do not add up to n_rot/2";
    case POSENC_ERR_BASE: return "base or min_timescale is not finite or not in its range";
    case POSENC_ERR_FREQUENCY: return "a frequency is not finite or exceeds POSENC_MAX_FREQUENCY";
    case POSENC_ERR_SCALING: return "a number of the frequency scaling is missing, not finite, or not in its range";
    case POSENC_ERR_CONTEXT: return "a length in tokens is missing, or not in its range";
    case POSENC_ERR_FACTORS:
        return "a list of frequency factors is missing, of wrong length, or not finite and positive";
    case POSENC_ERR_N_HEADS: return "the head count is not in its range";
    case POSENC_ERR_SCALE: return "scale, slope or max_bias is not finite or not in its range";
    case POSENC_ERR_POSITION:
        return "a position, offset or id is out of its range, or where the queries stand has to be said";
    case POSENC_ERR_MASK_UNSET:
        return "the mask is not set: it has no default (posenc_mask_causal(), or posenc_mask_none() to see every key)";
    case POSENC_ERR_MASK: return "a number of the mask, or a length, is not in its range or does not go with another";
    case POSENC_ERR_OFFSETS: return "the relative bias or relative index does not cover the offsets of the call";
    case POSENC_ERR_BUCKETS: return "the number of buckets or the distance that they cover is not in its range";
    case POSENC_ERR_WORKSPACE:
        return "scratch or partitions have too few bytes, or a cache another size than its tokens";
    case POSENC_ERR_ISA: return "the instruction set is not built in, or this machine cannot run it";
    case POSENC_ERR_MEMORY: return "out of memory";
    }
    return "unknown status";
}

posenc_view posenc_view_dense(void *data, posenc_dtype dtype, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    posenc_view view = {data, dtype, {ne0, ne1, ne2, ne3}, {0, 0, 0, 0}};
    int64_t block = posenc_block_bytes(dtype);
    view.nb[0] = block > 0 ? block : posenc_dtype_size(dtype);
    for (int i = 1; i < 4; i++) { /* unsigned: extents that no call accepts must not overflow here */
        int64_t n = block > 0 && i == 1 ? ne0 / POSENC_QUANT_BLOCK : view.ne[i - 1];
        view.nb[i] = (int64_t)((uint64_t)view.nb[i - 1] * (uint64_t)n);
    }
    return view;
}
