/* SPDX-License-Identifier: MIT */
/* exp and tanh of attention logits on vectors; src/kernels/exp_scalar.h is the specification. Needs: vec.h.
 * Used by: softmax and its gradient, cope, rows. */
#ifndef POSENC_SIMD_EXP_H
#define POSENC_SIMD_EXP_H

#include "vec.h"

#include "kernels/exp.h"

enum { EXP_MOST = 8 };

/* The next term of the polynomials. */
V_INLINE void exp_term(vf *p, const vf *r, const float term, const size_t count) {
    for (size_t k = 0; k < count; k++)
        p[k] = v_fma(p[k], r[k], v_set1(term));
}

/* exp(x) of count vectors x <= 0; 0 below `lowest`. Each step is done for all vectors: vector by vector, chains of fma
 * that wait fill the CPU's window, and softmax of attention takes 1.12 times as long (AMD Zen 3). */
V_INLINE void exp_each(vf *x, vf lowest, const size_t count) {
    vf z[EXP_MOST], r[EXP_MOST], p[EXP_MOST];
    for (size_t k = 0; k < count; k++)
        z[k] = v_fma(x[k], v_set1(POSENC_EXP_LOG2E), v_set1(POSENC_EXP_MAGIC));
    for (size_t k = 0; k < count; k++)
        r[k] = v_sub(z[k], v_set1(POSENC_EXP_MAGIC));
    for (size_t k = 0; k < count; k++)
        p[k] = v_fma(r[k], v_set1(-POSENC_EXP_LN2_HI), x[k]);
    for (size_t k = 0; k < count; k++)
        r[k] = v_fma(r[k], v_set1(-POSENC_EXP_LN2_LO), p[k]);
    for (size_t k = 0; k < count; k++)
        p[k] = v_set1(POSENC_EXP_C6);
    exp_term(p, r, POSENC_EXP_C5, count);
    exp_term(p, r, POSENC_EXP_C4, count);
    exp_term(p, r, POSENC_EXP_C3, count);
    exp_term(p, r, POSENC_EXP_C2, count);
    exp_term(p, r, 1.0f, count);
    exp_term(p, r, 1.0f, count);
    /* Below POSENC_EXP_LOWEST p and the exponent are rubbish. */
    for (size_t k = 0; k < count; k++)
        x[k] = v_zero_if(v_lt(x[k], lowest), v_mul(p[k], v_exponent(z[k])));
}

V_INLINE vf exp_above(vf x, vf lowest) {
    exp_each(&x, lowest, 1);
    return x;
}

V_INLINE vf exp_nonpositive(vf x) {
    return exp_above(x, v_set1(POSENC_EXP_LOWEST));
}

/* Computes both branches of the specification and selects one. */
V_INLINE vf tanh_any(vf x) {
    vf size = v_max(x, v_neg(x));
    vf z = v_mul(size, size);
    vf p = v_set1(POSENC_TANH_C4);
    p = v_fma(p, z, v_set1(POSENC_TANH_C3));
    p = v_fma(p, z, v_set1(POSENC_TANH_C2));
    p = v_fma(p, z, v_set1(POSENC_TANH_C1));
    p = v_fma(p, z, v_set1(POSENC_TANH_C0));
    vf small = v_fma(v_mul(p, z), size, size);
    vf e = exp_nonpositive(v_mul(v_set1(-2.0f), size));
    vf large = v_div(v_sub(v_set1(1.0f), e), v_add(v_set1(1.0f), e));
    vf t = v_select(v_lt(size, v_set1(POSENC_TANH_SMALL)), small, large);
    return v_select(v_lt(x, v_set1(0.0f)), v_neg(t), t);
}

#endif
