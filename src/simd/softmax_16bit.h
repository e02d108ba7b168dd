/* SPDX-License-Identifier: MIT */
/* Softmax of a row whose scores or result have 16 bits. Scores are widened to float32 where a float32 result will lie.
 * A result of 16 bits is made in float32 on the stack, in chunks of keys, by the passes of softmax_passes.h.
 * Needs: vec.h. Used by: softmax.
 *
 * 32 rows of 4096 keys took 4 to 10 times as long when each pass made its own logits and exponentials. */
#ifndef POSENC_SIMD_SOFTMAX_16BIT_H
#define POSENC_SIMD_SOFTMAX_16BIT_H

#include "vec.h"

#include "simd/softmax_passes.h"

/* Keys of a chunk: whole blocks of the canonical sum; 32 KB of the 64 KB of stack that a call may take. */
enum { CHUNK = 8192 };

/* First key of the chunk that holds the first visible key. */
V_INLINE size_t first_chunk(const row *a) {
    return a->visible.begin / POSENC_SUM_BLOCK * POSENC_SUM_BLOCK;
}

/* Key j of the row counted from `begin`, clamped to [0, n]. */
V_INLINE size_t within(size_t j, size_t begin, size_t n) {
    return j < begin ? 0 : j - begin < n ? j - begin : n;
}

/* Converts the keys of a row's runs from one type to another. */
V_INLINE void convert_visible(const row *a, const void *x, const posenc_dtype x_type, void *y,
                              const posenc_dtype y_type) {
    list_cursor at = {0, 0};
    for (run r = row_run(a, step_of(a->visible.begin), &at); r.begin < a->visible.end; r = row_run(a, r.end, &at))
        for (size_t j = r.begin; j < r.end; j += VF) {
            size_t n = lanes_left(r.end - j, 0);
            store_typed(y, j, load_typed(x, j, n, x_type), n, y_type);
        }
}

/* Row with its scores widened to float32, in its result. */
static row widened(const row *a) {
    row wide = *a;
    if (a->x == NULL || a->x_type == POSENC_F32)
        return wide;
    a->x_type == POSENC_F16 ? convert_visible(a, a->x, POSENC_F16, a->y, POSENC_F32)
                            : convert_visible(a, a->x, POSENC_BF16, a->y, POSENC_F32);
    wide.x = a->y;
    wide.x_type = POSENC_F32;
    return wide;
}

/* Row of up to CHUNK keys from `begin` on, with a float32 result in `stage`. */
static row chunk_at(const row *a, size_t begin, float *stage) {
    size_t n = a->visible.end - begin < CHUNK ? a->visible.end - begin : CHUNK;
    row chunk = *a;
    chunk.x = a->x != NULL ? typed_at(a->x, begin, a->x_type) : NULL;
    chunk.y = stage;
    chunk.y_type = POSENC_F32;
    chunk.n = n;
    chunk.blocks_begin = a->blocks_begin + begin;
    chunk.visible = (posenc_visible){within(a->visible.begin, begin, n), within(a->visible.hole_begin, begin, n),
                                     within(a->visible.hole_end, begin, n), n};
    if (chunk.visible.hole_begin == chunk.visible.hole_end)
        chunk.visible.hole_begin = chunk.visible.hole_end = 0;
    if (a->k_pos != NULL)
        chunk.k_pos = a->k_pos + begin;
    else
        chunk.position = a->position - (int32_t)begin;
    if (a->by_key.product != NULL)
        chunk.by_key.product = a->by_key.product + (ptrdiff_t)begin * a->by_key.key_stride;
    if (a->bias != NULL)
        chunk.bias = typed_at(a->bias, begin, a->bias_type);
    if (a->bytes != NULL) { /* bytes are given for keys from bytes_begin on */
        chunk.bytes_begin = within(a->bytes_begin, begin, n);
        chunk.bytes = a->bytes_begin < begin ? a->bytes + (begin - a->bytes_begin) : a->bytes;
    }
    return widened(&chunk);
}

static void store_chunk(const row *a, const row *chunk, size_t begin) {
    void *y = typed_out(a->y, begin, a->y_type);
    a->y_type == POSENC_F16 ? convert_visible(chunk, chunk->y, POSENC_F32, y, POSENC_F16)
                            : convert_visible(chunk, chunk->y, POSENC_F32, y, POSENC_BF16);
}

static void logits_by_chunks(const row *a) {
    float stage[CHUNK];
    for (size_t j = first_chunk(a); j < a->visible.end; j += CHUNK) {
        row chunk = chunk_at(a, j, stage);
        store_logits(&chunk);
        store_chunk(a, &chunk, j);
    }
}

/* Computes logits and exponentials of a row of one chunk once, of a longer row in each pass that needs them. */
static void softmax_by_chunks(const row *a) {
    float stage[CHUNK];
    size_t first = first_chunk(a), end = a->visible.end;
    int is_whole = end - first <= CHUNK;
    row chunk = chunk_at(a, first, stage);
    float max = store_logits(&chunk);
    for (size_t j = first + CHUNK; j < end; j += CHUNK) {
        chunk = chunk_at(a, j, stage);
        float of_chunk = store_logits(&chunk);
        max = of_chunk > max ? of_chunk : max;
    }
    float base = base_of(max);
    vd lanes[2 * STEP];
    clear_lanes(lanes);
    for (size_t j = first; j < end; j += CHUNK) {
        if (!is_whole) {
            chunk = chunk_at(a, j, stage);
            store_logits(&chunk);
        }
        make_exponentials(&chunk, base, lanes);
    }
    double sum = sum_of(a, base, lanes);
    for (size_t j = first; j < end && sum != 0.0; j += CHUNK) {
        if (!is_whole) {
            chunk = chunk_at(a, j, stage);
            store_logits(&chunk);
            make_exponentials(&chunk, base, lanes); /* lanes are not read again */
        }
        finish(&chunk, sum);
        store_chunk(a, &chunk, j);
    }
    finish_row(a, max, sum);
}

#endif
