/* SIMD body of the softmax with ALiBi; src/scalar/softmax.c is the specification.
 * Needs: vec.h. Produces: softmax_row. Used by: avx2, avx512, neon.
 *
 * Each pass walks steps of 32 keys, STEP vectors side by side: the lanes of the canonical sum, and enough of them to hide
 * the latency of the arithmetic. */
#include <math.h>

#include "kernels/alibi_penalty.inc.h"
#include "kernels/exp.h"
#include "kernels/variant.h"

enum { STEP = POSENC_SUM_LANES / VF };

/* Lanes of vector k of a step that `rest` keys are left for. */
V_INLINE size_t step_lanes(size_t rest, int k) {
    size_t before = (size_t)k * VF;
    return rest >= before + VF ? VF : rest > before ? rest - before : 0;
}

/* The n logits of keys j .. j + n - 1; the lanes beyond are -inf, which changes neither maximum nor sum. */
V_INLINE vf logits(const posenc_softmax_row_args *a, size_t j, size_t n, int has_bias) {
    vf scores = n == VF ? v_load(a->x + j) : v_load_n(a->x + j, n);
    vf bias = v_set1(0.0f);
    if (has_bias)
        bias = alibi_penalty(vi_add(vi_iota(), vi_set1((int32_t)j - a->query)), v_set1(a->slope));
    vf value = v_fms(scores, v_set1(a->scale), bias);
    return n == VF ? value : v_first_or(value, n, v_set1(-INFINITY));
}

/* exp(x) for x <= 0; the specification says how. Lanes below the lowest argument hold rubbish until they are zeroed. */
V_INLINE vf exp_nonpositive(vf x) {
    vf z = v_fma(x, v_set1(POSENC_EXP_LOG2E), v_set1(POSENC_EXP_MAGIC));
    vf n = v_sub(z, v_set1(POSENC_EXP_MAGIC));
    vf r = v_fma(n, v_set1(-POSENC_EXP_LN2_HI), x);
    r = v_fma(n, v_set1(-POSENC_EXP_LN2_LO), r);
    vf p = v_set1(POSENC_EXP_C6);
    p = v_fma(p, r, v_set1(POSENC_EXP_C5));
    p = v_fma(p, r, v_set1(POSENC_EXP_C4));
    p = v_fma(p, r, v_set1(POSENC_EXP_C3));
    p = v_fma(p, r, v_set1(POSENC_EXP_C2));
    p = v_fma(p, r, v_set1(1.0f));
    p = v_fma(p, r, v_set1(1.0f));
    return v_zero_if(v_lt(x, v_set1(POSENC_EXP_LOWEST)), v_mul(p, v_exponent(z)));
}

V_INLINE void max_step(const posenc_softmax_row_args *a, size_t j, size_t rest, int has_bias, vf *max) {
    for (int k = 0; k < STEP; k++)
        max[k] = v_max(logits(a, j + (size_t)k * VF, step_lanes(rest, k), has_bias), max[k]);
}

V_INLINE float max_logit(const posenc_softmax_row_args *a, int has_bias) {
    vf max[STEP];
    for (int k = 0; k < STEP; k++)
        max[k] = v_set1(-INFINITY);
    size_t j = 0;
    for (; j + POSENC_SUM_LANES <= a->n_allowed; j += POSENC_SUM_LANES)
        max_step(a, j, POSENC_SUM_LANES, has_bias, max);
    if (j < a->n_allowed)
        max_step(a, j, a->n_allowed - j, has_bias, max);
    for (int k = 1; k < STEP; k++)
        max[0] = v_max(max[k], max[0]);
    float highest = v_max_lanes(max[0]);
    return highest == -INFINITY ? 0.0f : highest;
}

V_INLINE void exp_step(const posenc_softmax_row_args *a, size_t j, size_t rest, int has_bias, vf max, vf *partial) {
    for (int k = 0; k < STEP; k++) {
        size_t at = j + (size_t)k * VF, n = step_lanes(rest, k);
        vf e = exp_nonpositive(v_sub(logits(a, at, n, has_bias), max));
        partial[k] = v_add(partial[k], e);
        if (n == VF)
            v_store(a->y + at, e);
        else
            v_store_n(a->y + at, e, n);
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

V_INLINE double write_exponentials(const posenc_softmax_row_args *a, float highest, int has_bias) {
    vf max = v_set1(highest);
    vd lanes[2 * STEP];
    for (int k = 0; k < 2 * STEP; k++)
        lanes[k] = vd_set1(0.0);
    for (size_t block = 0; block < a->n_allowed; block += POSENC_SUM_BLOCK) {
        size_t end = a->n_allowed - block < POSENC_SUM_BLOCK ? a->n_allowed : block + POSENC_SUM_BLOCK;
        vf partial[STEP];
        for (int k = 0; k < STEP; k++)
            partial[k] = v_set1(0.0f);
        size_t j = block;
        for (; j + POSENC_SUM_LANES <= end; j += POSENC_SUM_LANES)
            exp_step(a, j, POSENC_SUM_LANES, has_bias, max, partial);
        if (j < end)
            exp_step(a, j, end - j, has_bias, max, partial);
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

void VARIANT(softmax_row)(const posenc_softmax_row_args *a) {
    double sum = a->slope != 0.0f ? write_exponentials(a, max_logit(a, 1), 1)
                                  : write_exponentials(a, max_logit(a, 0), 0);
    vf inverse = v_set1(sum == 0.0 ? 0.0f : (float)(1.0 / sum));
    vf smallest = v_set1((float)(sum * POSENC_SOFTMAX_FLOOR));
    size_t j = 0;
    for (; j + VF <= a->n_allowed; j += VF)
        v_store(a->y + j, normalised(v_load(a->y + j), inverse, smallest));
    size_t n = a->n_allowed - j;
    v_store_n(a->y + j, normalised(v_load_n(a->y + j, n), inverse, smallest), n);
    for (j = a->n_allowed; j + VF <= a->n; j += VF)
        v_store(a->y + j, v_set1(0.0f));
    v_store_n(a->y + j, v_set1(0.0f), a->n - j);
}
