/* SPDX-License-Identifier: MIT */
/* Visible keys of a row as runs of steps of 32 keys, and the canonical sum over their lanes. Needs: vec.h.
 * Used by: softmax_blocks, softmax_logits, softmax_passes, softmax_backward. */
#ifndef POSENC_SIMD_SOFTMAX_RUNS_H
#define POSENC_SIMD_SOFTMAX_RUNS_H

#include "vec.h"

#include "kernels/kernels.h"

enum { LANES = POSENC_SUM_LANES, STEP = LANES / VF, CELL = 16 /* keys of the smallest block of a mask */ };

/* How bytes and a block mask mask the keys of a cell. */
typedef enum cell_mask { CELL_SEEN, CELL_BY_BYTES, CELL_MASKED } cell_mask;

/* Keys [begin, end). begin is a whole number of steps. A ragged run is one step that holds keys outside the bounds.
 * cells: of each step. */
typedef struct run {
    size_t begin, end;
    int is_ragged;
    cell_mask cells[LANES / CELL];
} run;

V_INLINE size_t step_of(size_t j) {
    return j / LANES * LANES;
}

/* Run from key j on, or from behind the hole if j is in it. Empty at the end of the row. */
V_INLINE run run_at(const posenc_visible *a, size_t j) {
    if (j >= a->hole_begin && j + LANES <= a->hole_end)
        j = step_of(a->hole_end);
    run r = {
        .begin = j,
        .end = a->end,
        .is_ragged = j < a->begin || (j + LANES > a->hole_begin && j < a->hole_end),
    };
    if (r.is_ragged)
        r.end = j + LANES;
    else if (j < a->hole_begin)
        r.end = step_of(a->hole_begin);
    if (r.end > a->end)
        r.end = a->end;
    return r;
}

V_INLINE vi key_numbers(size_t j) {
    return vi_add(vi_iota(), vi_set1((int32_t)j));
}

/* x at keys inside the bounds, `masked` at other keys, for keys from j on. */
V_INLINE vf mask_outside_bounds(const posenc_visible *visible, size_t j, vf x, vf masked) {
    vi keys = key_numbers(j);
    vf behind_hole = v_select(vi_lt(keys, vi_set1((int32_t)visible->hole_end)), masked, x);
    x = v_select(vi_lt(keys, vi_set1((int32_t)visible->hole_begin)), x, behind_hole);
    return v_select(vi_lt(keys, vi_set1((int32_t)visible->begin)), masked, x);
}

/* x at keys of offsets lowest .. highest, `masked` at other keys. */
V_INLINE vf mask_far_keys(vi offsets, int32_t lowest, int32_t highest, vf x, vf masked) {
    x = v_select(vi_lt(offsets, vi_set1(lowest)), masked, x);
    return v_select(vi_lt(vi_set1(highest), offsets), masked, x);
}

/* Lanes of vector k of a step with `rest` keys to go. */
V_INLINE size_t lanes_left(size_t rest, int k) {
    size_t before = (size_t)k * VF;
    return rest >= before + VF ? VF : rest > before ? rest - before : 0;
}

/* ---- The canonical sum ---- */

V_INLINE void clear_lanes(vd *lanes) {
    for (int k = 0; k < 2 * STEP; k++)
        lanes[k] = vd_set1(0.0);
}

/* Adds the float32 sums of a block to the lanes in double. */
V_INLINE void add_block(vd *lanes, const vf *partial) {
    for (int k = 0; k < STEP; k++) {
        lanes[2 * k] = vd_add(lanes[2 * k], vd_low(partial[k]));
        lanes[2 * k + 1] = vd_add(lanes[2 * k + 1], vd_high(partial[k]));
    }
}

/* Adds lane k and lane k + width for width = 16, 8, .. 1. */
V_INLINE double sum_lanes(vd *lanes) {
    for (int width = STEP; width > 0; width /= 2)
        for (int k = 0; k < width; k++)
            lanes[k] = vd_add(lanes[k], lanes[k + width]);
    double last[VD];
    vd_store(last, lanes[0]);
    for (int width = VD / 2; width > 0; width /= 2)
        for (int k = 0; k < width; k++)
            last[k] += last[k + width];
    return last[0];
}

#endif
