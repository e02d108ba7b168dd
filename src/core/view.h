/* SPDX-License-Identifier: MIT */
/* Checks on tensor views, and addresses inside them. */
#ifndef POSENC_VIEW_H
#define POSENC_VIEW_H

#include <posenc/types.h>

#include "core/refuse.h"
#include "kernels/formats.h"

/* Size of one element; 0 for a type that does not exist, or that has blocks for elements. */
int64_t posenc_dtype_size(posenc_dtype dtype);

/* A view that is read: type, extents, nb[0], alignment. A view without elements may have data NULL. */
posenc_status posenc_check_input(const posenc_view *view);

/* A view that is written: the same, and no two elements at one address. */
posenc_status posenc_check_output(const posenc_view *view);

/* Checks as above, which also take types of caches (kernels/formats.h). */
posenc_status posenc_check_stored_input(const posenc_view *view);
posenc_status posenc_check_stored_output(const posenc_view *view);

/* The memory of a view of blocks, as a tensor of halves; of another, the view. For what looks at bytes alone. */
posenc_view posenc_storage_of(const posenc_view *view);

/* Bytes of a row of any type, without gaps. */
size_t posenc_row_bytes(const posenc_view *view);

/* Checks for calls that take float32 only: after the checks above, or combined with them. */
posenc_status posenc_require_f32(const posenc_view *view);
posenc_status posenc_check_input_f32(const posenc_view *view);
posenc_status posenc_check_output_f32(const posenc_view *view);

/* 1 if the outer extents are equal; and if the rows are equally long too. */
int posenc_same_rows(const posenc_view *x, const posenc_view *y);
int posenc_same_extents(const posenc_view *x, const posenc_view *y);

/* 1 if both have the same memory, type and extents, and the same strides where an extent is above 1. */
int posenc_same_view(const posenc_view *x, const posenc_view *y);

/* x and y, both checked: same extents, and the same view or no common byte. */
posenc_status posenc_check_pair(const posenc_view *x, const posenc_view *y);

/* x and y, both checked (or x without memory): no common byte. */
posenc_status posenc_check_apart(const posenc_view *x, const posenc_view *y);

/* x of a name, checked (or NULL, or without memory), and the caller's scratch or partitions: no common byte. */
posenc_status posenc_check_apart_from(const posenc_view *x, const char *name, const void *memory, size_t bytes);

/* x is read and y written, element by element: both alone, and as such a pair. */
posenc_status posenc_check_elementwise(const posenc_view *x, const posenc_view *y);

/* Replaces "all rows" by 0 .. n_rows, and checks any other range against it. */
posenc_status posenc_check_rows(posenc_range *rows, int64_t n_rows);

/* Limit of extents and of the bytes that they reach, so that no product or sum of them leaves int64. */
#define POSENC_LIMIT ((int64_t)1 << 46)

/* 1 if p is aligned for elements of `size` bytes, a power of two. Elements of 8 bytes need multiples of 4 on 32-bit
 * x86. */
static inline int posenc_is_aligned(const void *p, int64_t size) {
    struct eight {
        char before;
        double number;
    };
    int64_t most = offsetof(struct eight, number);
    return ((uintptr_t)p & (uintptr_t)((size < most ? size : most) - 1)) == 0;
}

/* An array of such elements that is needed: there, and aligned. */
static inline posenc_status posenc_check_array(const void *p, int64_t size) {
    if (p == NULL)
        return posenc_refuse(POSENC_ERR_NULL, "NULL, but needed");
    return posenc_is_aligned(p, size) ? POSENC_OK
                                      : posenc_refuse(POSENC_ERR_STRIDE, "not aligned to %d bytes", (int)size);
}

/* Scratch or partitions of the caller hold the bytes that the call needs. */
static inline posenc_status posenc_check_workspace(size_t bytes, size_t needed) {
    return bytes >= needed ? POSENC_OK
                           : posenc_refuse(POSENC_ERR_WORKSPACE, "%llu bytes, but %llu are needed",
                                           (unsigned long long)bytes, (unsigned long long)needed);
}

/* 1 if |a b| is more than POSENC_LIMIT, for an extent a and a stride b. In double, which holds all products up to
 * there, and none that is larger looks smaller; an extent below 2^14 and a stride of 32 bits need no product. */
static inline int posenc_leaves_limit(int64_t a, int64_t b) {
    if ((uint64_t)a < 1 << 14 && (uint64_t)b + (UINT64_C(1) << 31) < UINT64_C(1) << 32)
        return 0;
    double product = (double)a * (double)b;
    return product > (double)POSENC_LIMIT || product < -(double)POSENC_LIMIT;
}

/* 1 if an extent is negative, or the product of the extents that are not 0 is above POSENC_LIMIT. An extent of 0 must
 * not hide an overflow of the others. */
int posenc_view_is_too_large(const posenc_view *view);

/* Number of rows, each of ne[0] elements; the view is checked. */
static inline int64_t posenc_view_rows(const posenc_view *view) {
    return view->ne[1] * view->ne[2] * view->ne[3];
}

/* Number of elements; the view is checked. */
int64_t posenc_view_count(const posenc_view *view);

/* 1 if the number of bytes fits size_t: with 32 bits, views that repeat a row can have more. */
static inline int posenc_is_size(int64_t bytes) {
    return bytes >= 0 && (uint64_t)bytes <= SIZE_MAX;
}

/* Address of element (0, i1, i2, i3). In unsigned numbers: a view without elements may have any strides. */
static inline void *posenc_view_at(const posenc_view *view, int64_t i1, int64_t i2, int64_t i3) {
    uint64_t offset = (uint64_t)i1 * (uint64_t)view->nb[1] + (uint64_t)i2 * (uint64_t)view->nb[2] +
                      (uint64_t)i3 * (uint64_t)view->nb[3];
    return (char *)((uintptr_t)view->data + (uintptr_t)offset);
}

/* Address as above in a view whose extents of 1 are shared by all indices. */
static inline void *posenc_shared_at(const posenc_view *view, int64_t i1, int64_t i2, int64_t i3) {
    return posenc_view_at(view, view->ne[1] == 1 ? 0 : i1, view->ne[2] == 1 ? 0 : i2, view->ne[3] == 1 ? 0 : i3);
}

/* 1 if n numbers are larger than the caches of a core: 1 MB of float32 and more. */
static inline int posenc_is_far(int64_t n) {
    return n >= (int64_t)1 << 18;
}

/* 1 if they are more than most last caches hold: 32 MB of float32 and more. */
static inline int posenc_is_vast(int64_t n) {
    return n >= (int64_t)1 << 23;
}

/* Bytes from a to b. In unsigned numbers: they need not lie in one array, and with 32 bits need not be of one sign. */
static inline int64_t posenc_distance(const void *a, const void *b) {
    return (intptr_t)((uintptr_t)b - (uintptr_t)a);
}

/* 1 if the byte ranges [a, a + a_size) and [b, b + b_size) have a byte in common. */
int posenc_ranges_overlap(const void *a, int64_t a_size, const void *b, int64_t b_size);

#endif
