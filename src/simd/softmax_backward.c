/* SPDX-License-Identifier: MIT */
/* SIMD body of the softmax's gradient; src/scalar/softmax_backward.c is the specification.
 * Needs: vec.h. Produces: softmax_backward.
 *
 * Two passes over steps of 32 keys, as softmax.c has them: the sum of p dp, then the results. */
#include "vec.h"

#include <float.h>

#include "simd/exp.h"
#include "simd/softmax_runs.h"
#include "simd/typed.h"
#include "kernels/variant.h"

typedef posenc_softmax_backward_args row;

/* n probabilities from j on; 0 for keys masked by bounds or positions. */
V_INLINE vf probabilities(const row *r, size_t j, size_t n, int is_ragged) {
    vf p = load_typed(r->p, j, n, POSENC_F32), masked = v_set1(0.0f);
    if (r->k_pos != NULL)
        p = mask_far_keys(vi_sub(vi_load_n(r->k_pos + j, n), vi_set1(r->position)), r->lowest, r->highest, p, masked);
    return is_ragged ? mask_outside_bounds(&r->visible, j, p, masked) : p;
}

/* Mask of probabilities below FLT_MIN. */
V_INLINE vm are_nothing(vf p) {
    return v_lt(p, v_set1(FLT_MIN));
}

/* ---- First pass ---- */

V_INLINE void sum_step(const row *r, size_t j, size_t rest, int is_ragged, int has_sink, vf *pdp, vf *sum_p) {
    for (int k = 0; k < STEP; k++) {
        size_t at = j + (size_t)k * VF, n = lanes_left(rest, k);
        vf p = probabilities(r, at, n, is_ragged);
        vm nothing = are_nothing(p);
        p = v_zero_if(nothing, p);
        pdp[k] = v_fma(p, v_zero_if(nothing, load_typed(r->dp, at, n, POSENC_F32)), pdp[k]);
        if (has_sink)
            sum_p[k] = v_add(sum_p[k], p);
    }
}

/* One block from key j on; returns the key to go on with. */
V_INLINE size_t sum_block(const row *r, size_t j, int has_sink, vd *pdp_lanes, vd *p_lanes) {
    size_t block_end = (j / POSENC_SUM_BLOCK + 1) * POSENC_SUM_BLOCK;
    vf pdp[STEP], sum_p[STEP];
    for (int k = 0; k < STEP; k++)
        pdp[k] = sum_p[k] = v_set1(0.0f);
    while (j < block_end && j < r->visible.end) {
        run keys = run_at(&r->visible, j);
        size_t end = keys.end < block_end ? keys.end : block_end;
        for (j = keys.begin; j + LANES <= end; j += LANES)
            sum_step(r, j, LANES, keys.is_ragged, has_sink, pdp, sum_p);
        if (j < end) {
            sum_step(r, j, end - j, keys.is_ragged, has_sink, pdp, sum_p);
            j = end;
        }
    }
    add_block(pdp_lanes, pdp);
    if (has_sink)
        add_block(p_lanes, sum_p);
    return j;
}

V_INLINE double add_up(const row *r, int has_sink, double *sum_p) {
    vd pdp[2 * STEP], p[2 * STEP];
    clear_lanes(pdp);
    clear_lanes(p);
    for (size_t j = step_of(r->visible.begin); j < r->visible.end;)
        j = sum_block(r, j, has_sink, pdp, p);
    if (has_sink)
        *sum_p = sum_lanes(p);
    return sum_lanes(pdp);
}

/* ---- Second pass ---- */

V_INLINE void write(const row *r, size_t j, size_t n, int is_ragged, int has_cap, int has_db, vf g) {
    vf p = probabilities(r, j, n, is_ragged), scale = v_set1(r->scale);
    vm nothing = are_nothing(p);
    vf dl = v_mul(p, v_sub(load_typed(r->dp, j, n, POSENC_F32), g)), dx = dl;
    if (has_cap) {
        vf t = tanh_any(v_mul(v_mul(load_typed(r->s, j, n, POSENC_F32), scale), v_set1(r->inv_cap)));
        dx = v_mul(dl, v_fma(v_neg(t), t, v_set1(1.0f)));
    }
    store_typed(r->dx, j, v_zero_if(nothing, v_mul(dx, scale)), n, POSENC_F32);
    if (has_db)
        store_typed(r->db, j, v_zero_if(nothing, v_mul(dl, v_set1(r->bias_slope))), n, POSENC_F32);
}

/* Prefetches the inputs of the next row for keys j .. j + VF - 1 into the second cache: 4 x 2048 x 2048 took 1.1 to
 * 1.25 times as long without. */
V_INLINE void fetch_next(const row *next, size_t j) {
    fetch_typed(next->p, j, VF, POSENC_F32);
    fetch_typed(next->dp, j, VF, POSENC_F32);
    fetch_typed(next->dx, j, VF, POSENC_F32);
}

V_INLINE void write_run(const row *r, run keys, int has_cap, int has_db, vf g) {
    size_t j = keys.begin;
    for (; j + VF <= keys.end; j += VF) {
        if (r->next != NULL)
            fetch_next(r->next, j);
        write(r, j, VF, keys.is_ragged, has_cap, has_db, g);
    }
    if (j < keys.end)
        write(r, j, keys.end - j, keys.is_ragged, has_cap, has_db, g);
}

V_INLINE void write_seen(const row *r, int has_cap, int has_db, float g) {
    for (run keys = run_at(&r->visible, step_of(r->visible.begin)); keys.begin < r->visible.end;
         keys = run_at(&r->visible, keys.end))
        write_run(r, keys, has_cap, has_db, v_set1(g));
}

static void clear(float *y, size_t begin, size_t end) {
    size_t j = begin;
    for (; j + VF <= end; j += VF)
        v_store(y + j, v_set1(0.0f));
    if (j < end)
        v_store_n(y + j, v_set1(0.0f), end - j);
}

static void clear_masked(const row *r, float *y) {
    clear(y, 0, r->visible.begin);
    clear(y, r->visible.hole_begin, r->visible.hole_end);
    clear(y, r->visible.end, r->n);
}

void VARIANT(softmax_backward)(const posenc_softmax_backward_args *args) {
    const row r = *args; /* a copy: no store changes it */
    double sum_p = 0.0, g = r.dsink != NULL ? add_up(&r, 1, &sum_p) : add_up(&r, 0, &sum_p);
    switch ((r.s != NULL) << 1 | (r.db != NULL)) {
    case 0: write_seen(&r, 0, 0, (float)g); break;
    case 1: write_seen(&r, 0, 1, (float)g); break;
    case 2: write_seen(&r, 1, 0, (float)g); break;
    default: write_seen(&r, 1, 1, (float)g);
    }
    clear_masked(&r, r.dx);
    if (r.db != NULL)
        clear_masked(&r, r.db);
    if (r.dsink != NULL)
        *r.dsink = (float)((sum_p - 1.0) * g);
}
