/* SPDX-License-Identifier: MIT */
/* Constants of the softmax: exp(x) for x <= 0, tanh(x), and where results are flushed. Shared by the scalar form and
 * the SIMD body, which state the same operations apart.
 *
 *     exp(x) = 2^n exp(r),  n = round(x / ln 2),  r = x - n ln 2 in two steps,  |r| <= 0.3466
 *     exp(r) = 1 + r + C2 r^2 + ... + C6 r^6: minimax, 2^-28 relative (Remez, this project)
 *
 * Adding MAGIC rounds x / ln 2 to an integer and leaves n + 127, the exponent field of 2^n, in the low bits.
 * tests/test_exp.c measures both over every argument and against MPFR: exp within 0.89 ulp, tanh within 1.51.
 */
#ifndef POSENC_EXP_H
#define POSENC_EXP_H

#define POSENC_EXP_LOWEST (-87.33654f) /* just above ln(FLT_MIN): smaller arguments give 0 */
#define POSENC_EXP_LOG2E 0x1.715476p+0f
#define POSENC_EXP_MAGIC (0x1.8p+23f + 127.0f)
#define POSENC_EXP_LN2_HI 0x1.62e430p-1f
#define POSENC_EXP_LN2_LO (-0x1.05c610p-29f)
#define POSENC_EXP_C2 0.499999934478f
#define POSENC_EXP_C3 0.166665206317f
#define POSENC_EXP_C4 0.0416683880453f
#define POSENC_EXP_C5 0.00836871687973f
#define POSENC_EXP_C6 0.00138145986467f

/* tanh(x) = x + x^3 (C0 + C1 x^2 + ... + C4 x^8) for |x| < SMALL: minimax, 2^-27.7 relative (Remez, this project);
 * beyond, it is (1 - e) / (1 + e) with e = exp(-2 |x|), and the sign of x. */
#define POSENC_TANH_SMALL 0.625f
#define POSENC_TANH_C0 (-0.333332819431f)
#define POSENC_TANH_C1 0.133314422241f
#define POSENC_TANH_C2 (-0.0537397173024f)
#define POSENC_TANH_C3 0.0206390948579f
#define POSENC_TANH_C4 (-0.00570499578521f)

/* An exponential below sum * FLOOR would give a probability below FLT_MIN, and so a denormal product: it becomes 0.
 * The 2^-20 on top covers the rounding of sum, 1/sum and the product. */
#define POSENC_SOFTMAX_FLOOR (0x1p-126 * (1.0 + 0x1p-20))

/* Arguments below this, ln 2^-100, are weights of 0 in attention. Beside a sum that is at least 1 they are nothing, and
 * products with values would be denormal, which a prefill with ALiBi took 1.25 times as long for. */
#define POSENC_WEIGHT_LOWEST (-69.31471f)

#endif
