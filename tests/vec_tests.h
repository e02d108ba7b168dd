/* SPDX-License-Identifier: MIT */
/* The conformance test of the vector layer, compiled per tier with its flags, and per feature. */
#ifndef POSENC_TESTS_VEC_TESTS_H
#define POSENC_TESTS_VEC_TESTS_H

#include "harness.h"

typedef struct vec_tests {
    const struct CMUnitTest *tests;
    size_t n;
} vec_tests;

extern const vec_tests vec_tests_avx2, vec_tests_avx512, vec_tests_neon;
extern const vec_tests vec_tests_avx2_vnni, vec_tests_avx512_vnni, vec_tests_neon_dotprod, vec_tests_neon_i8mm;

#endif
