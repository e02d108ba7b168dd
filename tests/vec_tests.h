/* SPDX-License-Identifier: MIT */
/* The conformance test of the vector layer, compiled per tier with its flags, and per feature. */
#ifndef POSENC_TESTS_VEC_TESTS_H
#define POSENC_TESTS_VEC_TESTS_H

#include "harness.h"

typedef struct vec_tests {
    const struct CMUnitTest *tests;
    size_t n;
} vec_tests;

#define TIER(name, ...) extern const vec_tests vec_tests_##name;
#define FEATURE(tier, name, ...) extern const vec_tests vec_tests_##tier##_##name;
#include "tiers.def"

#endif
