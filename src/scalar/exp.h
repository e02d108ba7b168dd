/* exp in plain C: the specification. The constants and their errors stand in kernels/exp.h. */
#ifndef POSENC_SCALAR_EXP_H
#define POSENC_SCALAR_EXP_H

#include <math.h>
#include <stdint.h>

#include "kernels/exp.h"

/* exp(x) for x <= 0, within 1 ulp; 0 below ln(FLT_MIN), NaN for NaN. */
static inline float posenc_exp_nonpositive(float x) {
    if (x < POSENC_EXP_LOWEST)
        return 0.0f;
    float z = fmaf(x, POSENC_EXP_LOG2E, POSENC_EXP_MAGIC); /* low bits: n + 127, n = round(x / ln 2) */
    float n = z - POSENC_EXP_MAGIC;
    float r = fmaf(n, -POSENC_EXP_LN2_HI, x);
    r = fmaf(n, -POSENC_EXP_LN2_LO, r);
    float p = POSENC_EXP_C6;
    p = fmaf(p, r, POSENC_EXP_C5);
    p = fmaf(p, r, POSENC_EXP_C4);
    p = fmaf(p, r, POSENC_EXP_C3);
    p = fmaf(p, r, POSENC_EXP_C2);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    union {
        float f;
        uint32_t u;
    } bits = {.f = z};
    bits.u <<= 23; /* 2^n */
    return p * bits.f;
}

#endif
