/* SIMD body of the softmax with ALiBi; src/scalar/softmax.c is the specification.
 * Needs: vec.h. Produces: softmax_row. Used by: avx2, avx512, neon.
 *
 * Each pass walks steps of 32 keys, STEP vectors side by side: the lanes of the canonical sum, and enough of them to hide
 * the latency of the arithmetic. */
#include <math.h>

#include "kernels/alibi_penalty.inc.h"
#include "kernels/exp.inc.h"
#include "kernels/typed.inc.h"
#include "kernels/variant.h"

enum { STEP = POSENC_SUM_LANES / VF };

/* Lanes of vector k of a step that `rest` keys are left for. */
V_INLINE size_t step_lanes(size_t rest, int k) {
    size_t before = (size_t)k * VF;
    return rest >= before + VF ? VF : rest > before ? rest - before : 0;
}

/* What makes a logit of a score. */
typedef struct logit_maker {
    vf scale, slope;
    vi offsets; /* j - query of the next vector */
} logit_maker;

/* The next n logits. */
V_INLINE vf logits(logit_maker *maker, const float *x, size_t n, int has_bias) {
    vf bias = has_bias ? alibi_penalty(maker->offsets, maker->slope) : v_set1(0.0f);
    maker->offsets = vi_add(maker->offsets, vi_set1(VF));
    return v_fms(load_typed(x, 0, n, POSENC_F32), maker->scale, bias);
}

/* Writes the logits and takes their maximum: reading them back costs less than making them again. */
V_INLINE void logit_step(logit_maker *maker, const float *x, float *y, size_t rest, int has_bias, vf *max) {
    for (int k = 0; k < STEP; k++) {
        size_t n = step_lanes(rest, k);
        vf l = logits(maker, x + k * VF, n, has_bias);
        store_typed(y, (size_t)k * VF, l, n, POSENC_F32);
        max[k] = v_max(n == VF ? l : v_first_or(l, n, max[k]), max[k]);
    }
}

V_INLINE float write_logits(const posenc_softmax_row_args *a, int has_bias) {
    logit_maker maker = {v_set1(a->scale), v_set1(a->slope), vi_add(vi_iota(), vi_set1(-a->query))};
    vf max[STEP];
    for (int k = 0; k < STEP; k++)
        max[k] = v_set1(-INFINITY);
    size_t j = 0;
    for (; j + POSENC_SUM_LANES <= a->n_allowed; j += POSENC_SUM_LANES)
        logit_step(&maker, a->x + j, a->y + j, POSENC_SUM_LANES, has_bias, max);
    if (j < a->n_allowed)
        logit_step(&maker, a->x + j, a->y + j, a->n_allowed - j, has_bias, max);
    for (int k = 1; k < STEP; k++)
        max[0] = v_max(max[k], max[0]);
    float highest = v_max_lanes(max[0]);
    return highest == -INFINITY ? 0.0f : highest;
}

/* Turns logits into exponentials and adds them up; lanes beyond the row are exp(-inf) = 0. */
V_INLINE void exp_step(float *y, size_t rest, vf max, vf *partial) {
    for (int k = 0; k < STEP; k++) {
        size_t n = step_lanes(rest, k);
        vf l = n == VF ? v_load(y + k * VF) : v_first_or(v_load_n(y + k * VF, n), n, v_set1(-INFINITY));
        vf e = exp_nonpositive(v_sub(l, max));
        partial[k] = v_add(partial[k], e);
        store_typed(y, (size_t)k * VF, e, n, POSENC_F32);
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

V_INLINE double write_exponentials(float *y, size_t n_allowed, float highest) {
    vf max = v_set1(highest);
    vd lanes[2 * STEP];
    for (int k = 0; k < 2 * STEP; k++)
        lanes[k] = vd_set1(0.0);
    for (size_t block = 0; block < n_allowed; block += POSENC_SUM_BLOCK) {
        size_t end = n_allowed - block < POSENC_SUM_BLOCK ? n_allowed : block + POSENC_SUM_BLOCK;
        vf partial[STEP];
        for (int k = 0; k < STEP; k++)
            partial[k] = v_set1(0.0f);
        size_t j = block;
        for (; j + POSENC_SUM_LANES <= end; j += POSENC_SUM_LANES)
            exp_step(y + j, POSENC_SUM_LANES, max, partial);
        if (j < end)
            exp_step(y + j, end - j, max, partial);
        for (int k = 0; k < STEP; k++) {
            lanes[2 * k] = vd_add(lanes[2 * k], vd_low(partial[k]));
            lanes[2 * k + 1] = vd_add(lanes[2 * k + 1], vd_high(partial[k]));
        }
    }
    return sum_lanes(lanes);
}

V_INLINE vf normalised(vf e, vf inverse, vf smallest) {
    return v_mul(v_zero_if(v_lt(e, smallest), e), inverse);
}

void VARIANT(softmax_row)(const posenc_softmax_row_args *args) {
    const posenc_softmax_row_args a = *args; /* a copy: no store changes it */
    float highest = a.slope != 0.0f ? write_logits(&a, 1) : write_logits(&a, 0);
    double sum = write_exponentials(a.y, a.n_allowed, highest);
    vf inverse = v_set1(sum == 0.0 ? 0.0f : (float)(1.0 / sum));
    vf smallest = v_set1((float)(sum * POSENC_SOFTMAX_FLOOR));
    size_t j = 0;
    for (; j + VF <= a.n_allowed; j += VF)
        v_store(a.y + j, normalised(v_load(a.y + j), inverse, smallest));
    size_t n = a.n_allowed - j;
    v_store_n(a.y + j, normalised(v_load_n(a.y + j, n), inverse, smallest), n);
    for (j = a.n_allowed; j + VF <= a.n; j += VF)
        v_store(a.y + j, v_set1(0.0f));
    v_store_n(a.y + j, v_set1(0.0f), a.n - j);
}
