/* SPDX-License-Identifier: MIT */
/* exp and tanh of attention logits on vectors; src/kernels/exp_scalar.h is the specification. Needs: vec.h.
 * Used by: softmax and its gradient, cope, rows. */
#ifndef POSENC_SIMD_EXP_H
#define POSENC_SIMD_EXP_H

#include "vec.h"

#include "kernels/exp.h"

/* exp(x) for x <= 0; 0 below `lowest`. */
V_INLINE vf exp_above(vf x, vf lowest) {
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
    /* Below POSENC_EXP_LOWEST p and the exponent are rubbish. */
    return v_zero_if(v_lt(x, lowest), v_mul(p, v_exponent(z)));
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
