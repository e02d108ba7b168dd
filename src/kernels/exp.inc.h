/* exp on vectors; src/scalar/exp.h is the specification. Needs: vec.h. Used by: softmax, rows. */
#include "kernels/exp.h"

/* exp(x) for x <= 0. */
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
    /* Below the lowest argument p and the exponent are rubbish. */
    return v_zero_if(v_lt(x, v_set1(POSENC_EXP_LOWEST)), v_mul(p, v_exponent(z)));
}
