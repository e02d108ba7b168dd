/* SPDX-License-Identifier: MIT */
/* exp and tanh of attention logits in plain C: the specification, also used where set-up and combining need the same
 * bits. kernels/exp.h has the constants and their errors. */
#ifndef POSENC_SCALAR_EXP_H
#define POSENC_SCALAR_EXP_H

#include <math.h>

#include "kernels/exp.h"
#include "kernels/fma.h"
#include "kernels/half.h"

/* exp(x) for x <= 0, within 0.89 ulp; 0 below `lowest`, which is POSENC_EXP_LOWEST or more; NaN for NaN. */
static inline float posenc_exp_above(float x, float lowest) {
    if (x < lowest)
        return 0.0f;
    float z = posenc_fmaf(x, POSENC_EXP_LOG2E, POSENC_EXP_MAGIC); /* low bits: n + 127, n = round(x / ln 2) */
    float n = z - POSENC_EXP_MAGIC;
    float r = posenc_fmaf(n, -POSENC_EXP_LN2_HI, x);
    r = posenc_fmaf(n, -POSENC_EXP_LN2_LO, r);
    float p = POSENC_EXP_C6;
    p = posenc_fmaf(p, r, POSENC_EXP_C5);
    p = posenc_fmaf(p, r, POSENC_EXP_C4);
    p = posenc_fmaf(p, r, POSENC_EXP_C3);
    p = posenc_fmaf(p, r, POSENC_EXP_C2);
    p = posenc_fmaf(p, r, 1.0f);
    p = posenc_fmaf(p, r, 1.0f);
    return p * posenc_float(posenc_bits(z) << 23); /* 2^n */
}

/* exp(x), 0 below ln(FLT_MIN). */
static inline float posenc_exp_nonpositive(float x) {
    return posenc_exp_above(x, POSENC_EXP_LOWEST);
}

/* tanh(x), within 1.51 ulp. */
static inline float posenc_tanh(float x) {
    float size = fabsf(x), t;
    if (size < POSENC_TANH_SMALL) {
        float z = size * size;
        float p = POSENC_TANH_C4;
        p = posenc_fmaf(p, z, POSENC_TANH_C3);
        p = posenc_fmaf(p, z, POSENC_TANH_C2);
        p = posenc_fmaf(p, z, POSENC_TANH_C1);
        p = posenc_fmaf(p, z, POSENC_TANH_C0);
        t = posenc_fmaf(p * z, size, size);
    } else {
        float e = posenc_exp_nonpositive(-2.0f * size);
        t = (1.0f - e) / (1.0f + e);
    }
    return x < 0.0f ? -t : t;
}

#endif
