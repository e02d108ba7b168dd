/* SPDX-License-Identifier: MIT */
/* Rows of attention logits whose scores or result have 16 bits, by the softmax of float32 ones (softmax.c, which
 * includes this): scores are widened where the result will lie, and a result of 16 bits is made in float32 on the
 * stack, in parts. 32 rows of 4096 keys took 4 to 10 times as long when each pass made its own logits and
 * exponentials. */
#ifndef POSENC_SIMD_SOFTMAX_BLOCKS_H
#define POSENC_SIMD_SOFTMAX_BLOCKS_H

#include "vec.h"

/* Keys of a part: whole blocks of the canonical sum; 32 KB of the 64 KB of stack that a call may take. */
enum { PART = 8192 };

/* The part that the first unmasked key belongs to begins here. */
V_INLINE size_t first_part(const row *a) {
    return a->visible.begin / POSENC_SUM_BLOCK * POSENC_SUM_BLOCK;
}

/* Key j of the row, counted in a part of n keys from `begin` on; its first or its end, if it lies outside. */
V_INLINE size_t within(size_t j, size_t begin, size_t n) {
    return j < begin ? 0 : j - begin < n ? j - begin : n;
}

/* The keys that are seen, from one type to another. */
V_INLINE void convert_visible(const posenc_visible *visible, const void *x, const posenc_dtype x_type, void *y,
                              const posenc_dtype y_type) {
    for (run r = run_at(visible, step_of(visible->begin)); r.begin < visible->end; r = run_at(visible, r.end))
        for (size_t j = r.begin; j < r.end; j += VF) {
            size_t n = lanes_left(r.end - j, 0);
            store_typed(y, j, load_typed(x, j, n, x_type), n, y_type);
        }
}

/* The row with scores of float32. */
static row widened(const row *a) {
    row wide = *a;
    if (a->x == NULL || a->x_type == POSENC_F32)
        return wide;
    a->x_type == POSENC_F16 ? convert_visible(&a->visible, a->x, POSENC_F16, a->y, POSENC_F32)
                            : convert_visible(&a->visible, a->x, POSENC_BF16, a->y, POSENC_F32);
    wide.x = a->y;
    wide.x_type = POSENC_F32;
    return wide;
}

/* Keys from `begin` on, up to PART of them, as a row of their own with a result of float32 in `kept`. */
static row part_at(const row *a, size_t begin, float *kept) {
    size_t n = a->visible.end - begin < PART ? a->visible.end - begin : PART;
    row part = *a;
    part.x = a->x != NULL ? typed_at(a->x, begin, a->x_type) : NULL;
    part.y = kept;
    part.y_type = POSENC_F32;
    part.n = n;
    part.visible = (posenc_visible){within(a->visible.begin, begin, n), within(a->visible.hole_begin, begin, n),
                                    within(a->visible.hole_end, begin, n), n};
    if (part.visible.hole_begin == part.visible.hole_end)
        part.visible.hole_begin = part.visible.hole_end = 0;
    if (a->k_pos != NULL)
        part.k_pos = a->k_pos + begin;
    else
        part.position = a->position - (int32_t)begin;
    if (a->by_key.product != NULL)
        part.by_key.product = a->by_key.product + (ptrdiff_t)begin * a->by_key.key_stride;
    if (a->bias != NULL)
        part.bias = typed_at(a->bias, begin, a->bias_type);
    if (a->bytes != NULL) { /* all of them are before bytes_begin, or some are behind it */
        part.bytes_begin = within(a->bytes_begin, begin, n);
        part.bytes = a->bytes_begin < begin ? a->bytes + (begin - a->bytes_begin) : a->bytes;
    }
    return widened(&part);
}

static void put_part(const row *a, const row *part, size_t begin) {
    void *y = typed_out(a->y, begin, a->y_type);
    a->y_type == POSENC_F16 ? convert_visible(&part->visible, part->y, POSENC_F32, y, POSENC_F16)
                            : convert_visible(&part->visible, part->y, POSENC_F32, y, POSENC_BF16);
}

static void logits_in_parts(const row *a) {
    float kept[PART];
    for (size_t j = first_part(a); j < a->visible.end; j += PART) {
        row part = part_at(a, j, kept);
        store_logits(&part);
        put_part(a, &part, j);
    }
}

/* A row of one part makes its logits and exponentials once, a longer one in each pass that needs them. */
static void softmax_in_parts(const row *a) {
    float kept[PART];
    size_t first = first_part(a), end = a->visible.end;
    int is_whole = end - first <= PART;
    row part = part_at(a, first, kept);
    float max = store_logits(&part);
    for (size_t j = first + PART; j < end; j += PART) {
        part = part_at(a, j, kept);
        float of_part = store_logits(&part);
        max = of_part > max ? of_part : max;
    }
    float base = base_of(max);
    vd lanes[2 * STEP];
    clear_lanes(lanes);
    for (size_t j = first; j < end; j += PART) {
        if (!is_whole) {
            part = part_at(a, j, kept);
            store_logits(&part);
        }
        make_exponentials(&part, base, lanes);
    }
    double sum = sum_of(a, base, lanes);
    for (size_t j = first; j < end && sum != 0.0; j += PART) {
        if (!is_whole) {
            part = part_at(a, j, kept);
            store_logits(&part);
            make_exponentials(&part, base, lanes); /* the sum is there */
        }
        finish(&part, sum);
        put_part(a, &part, j);
    }
    finish_row(a, max, sum);
}

#endif
