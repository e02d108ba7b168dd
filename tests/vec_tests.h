/* The conformance test of the vector layer, compiled once per tier with that tier's flags. */
#ifndef POSENC_TESTS_VEC_TESTS_H
#define POSENC_TESTS_VEC_TESTS_H

#include "harness.h"

typedef struct vec_tests {
    const struct CMUnitTest *tests;
    size_t n;
} vec_tests;

extern const vec_tests vec_tests_avx2, vec_tests_avx512, vec_tests_neon;

#endif
