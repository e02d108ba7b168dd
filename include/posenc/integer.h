/* posenc/integer.h - encodings by integers, bits and Gaussian bumps (FORMULAS A.13-A.16, A.19). Each has one axis.
 *
 *     posenc_encoding *gray;
 *     posenc_status status = posenc_bits_create(16, POSENC_BITS_GRAY, -1.0f, 1.0f, &gray);
 *     posenc_view rows = posenc_view_dense(memory, POSENC_F32, 16, 4, 1, 1);
 *     status = posenc_encoding_write(gray, positions, &rows);
 *     posenc_encoding_free(gray);
 */
#ifndef POSENC_INTEGER_H
#define POSENC_INTEGER_H

#include <posenc/encoding.h>

#ifdef __cplusplus
extern "C" {
#endif

/* E[p][i] = p/(length-1) * (i/(dim-1))^alpha, i = 0 .. dim-1 (FORMULAS A.14). alpha 0 is the plain p/(length-1) in
 * every column (A.13). length 1 makes every value 0; dim 1 has the factor 1. The quotient, taken in double, and the
 * power are rounded to float32, their product once more. dim 1 .. 2^21 (POSENC_ERR_HEAD_DIM); length 1 .. 2^31
 * (POSENC_ERR_CONTEXT); alpha in [0, 1000] (POSENC_ERR_SCALING). Integers and real numbers. */
POSENC_API posenc_status posenc_integer_create(int64_t dim, int64_t length, double alpha, posenc_encoding **e);

/* E[p][i] = bit i of p, or of its Gray code p ^ (p >> 1), as `zero` or `one`; lowest bit first (FORMULAS A.15, A.16).
 * Positions are any int64 that is not negative (POSENC_ERR_POSITION); bits beyond dim are dropped, columns beyond the
 * 63rd bit are zero. dim 1 .. 2^21; zero and one finite (POSENC_ERR_SCALE): 0 and 1, or -1 and 1. */
typedef enum posenc_bit_code { POSENC_BITS_BINARY = 0, POSENC_BITS_GRAY } posenc_bit_code;

POSENC_API posenc_status posenc_bits_create(int64_t dim, posenc_bit_code code, float zero, float one,
                                            posenc_encoding **e);

/* The Gray code of a number, and the number of a Gray code. */
POSENC_API uint64_t posenc_gray_encode(uint64_t p);
POSENC_API uint64_t posenc_gray_decode(uint64_t gray);

/* E[t][k] = exp(-(t - centre_k)^2 / (2 sigma^2)) (FORMULAS A.19); below FLT_MIN it is 0. The exponent is computed in
 * double and rounded to float32 once, so the relative error is below 2^-24 (|exponent| + 2). n 1 .. 2^21
 * (POSENC_ERR_HEAD_DIM) centres, copied, finite and within 2^40; sigma in [2^-60, 2^60] (POSENC_ERR_SCALE). Integers
 * and real numbers. */
POSENC_API posenc_status posenc_rbf_create(const double *centres, int64_t n, double sigma, posenc_encoding **e);

#ifdef __cplusplus
}
#endif
#endif
