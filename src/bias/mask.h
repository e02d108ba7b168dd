/* SPDX-License-Identifier: MIT */
/* Which offsets a mask lets queries see, and the range of positions. */
#ifndef POSENC_SRC_MASK_H
#define POSENC_SRC_MASK_H

#include <posenc/mask.h>

/* Largest query or key index: differences of two stay within int32. */
#define POSENC_MAX_KEYS ((int64_t)1 << 30)

/* Larger than every offset. */
#define POSENC_ANY_OFFSET ((int64_t)1 << 31)

/* Offsets lowest .. highest of keys from a query; none if lowest > highest. */
typedef struct posenc_offsets {
    int64_t lowest, highest;
} posenc_offsets;

posenc_status posenc_check_mask(const posenc_mask *mask);

/* Offsets of the keys that a query at the position, counted from the origin of chunks, sees, without n_first. */
posenc_offsets posenc_offsets_at(const posenc_mask *mask, int64_t position);

/* Offsets at which queries meet keys, both from lowest to highest, and some query may see them; n_first included. */
posenc_offsets posenc_offsets_visible(const posenc_mask *mask, posenc_offsets queries, posenc_offsets keys);

/* Puts the position of query 0 in place of POSENC_ALIGN_LAST_KEY. Queries *query_start .. *query_start + n_q - 1 and
 * keys 0 .. n_k - 1 are in range. */
posenc_status posenc_align_queries(int64_t *query_start, int64_t n_q, int64_t n_k);

#endif
