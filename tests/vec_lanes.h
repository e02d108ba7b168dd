/* SPDX-License-Identifier: MIT */
/* Vectors as arrays of lanes, and how results are held to plain C; for the conformance tests of the vector layer. The
 * build defines VEC_HEADER. */
#ifndef POSENC_TESTS_VEC_LANES_H
#define POSENC_TESTS_VEC_LANES_H

#include "vec_tests.h"

#include VEC_HEADER
#include "kernels/variant.h"

#include <string.h>

typedef struct floats {
    float at[VF];
} floats;
typedef struct ints {
    int32_t at[VF];
} ints;
typedef struct doubles {
    double at[VD];
} doubles;

/* Copies bytes, so that no operation under test is needed to look at a vector. */
#define CONVERTER(name, to, from)                                                                                      \
    static inline to name(from a) {                                                                                    \
        to b;                                                                                                          \
        _Static_assert(sizeof a == sizeof b, "a vector is its lanes");                                                 \
        memcpy(&b, &a, sizeof b);                                                                                      \
        return b;                                                                                                      \
    }
CONVERTER(vf_of, vf, floats)
CONVERTER(floats_of, floats, vf)
CONVERTER(vi_of, vi, ints)
CONVERTER(ints_of, ints, vi)
CONVERTER(vd_of, vd, doubles)
CONVERTER(doubles_of, doubles, vd)

static inline floats random_floats(void) {
    floats a;
    for (int k = 0; k < VF; k++)
        a.at[k] = test_random_float(FILL_ADVERSARIAL);
    return a;
}

static inline doubles random_doubles(void) {
    doubles a;
    for (int k = 0; k < VD; k++)
        a.at[k] = test_random_double(FILL_ADVERSARIAL);
    return a;
}

static inline ints random_ints(void) {
    static const int32_t special[] = {0,         1, -1, INT32_MIN, INT32_MAX, 1 << 24, (1 << 24) + 1, -(1 << 25) - 3,
                                      0x7fffffbf};
    ints a;
    for (int k = 0; k < VF; k++)
        a.at[k] = test_random() % 2 ? (int32_t)(uint32_t)test_random()
                                    : special[test_random_below(sizeof special / sizeof special[0])];
    return a;
}

static inline void expect_float_lane(const char *operation, int lane, float got, float expected) {
    if (!test_same_float(got, expected))
        test_fail("%s, lane %d: %a instead of %a", operation, lane, (double)got, (double)expected);
}

static inline void expect_double_lane(const char *operation, int lane, double got, double expected) {
    if (!test_same_double(got, expected))
        test_fail("%s, lane %d: %a instead of %a", operation, lane, got, expected);
}

static inline void expect_int(const char *operation, int lane, int32_t got, int32_t expected) {
    if (got != expected)
        test_fail("%s, lane %d: %d instead of %d", operation, lane, (int)got, (int)expected);
}

/* Holds lane k of a result to an expression in k. */
#define EXPECT_FLOATS(result, expression)                                                                              \
    do {                                                                                                               \
        floats got_ = floats_of(result);                                                                               \
        for (int k = 0; k < VF; k++)                                                                                   \
            expect_float_lane(#result, k, got_.at[k], expression);                                                     \
        test_count(VF);                                                                                                \
    } while (0)
#define EXPECT_DOUBLES(result, expression)                                                                             \
    do {                                                                                                               \
        doubles got_ = doubles_of(result);                                                                             \
        for (int k = 0; k < VD; k++)                                                                                   \
            expect_double_lane(#result, k, got_.at[k], expression);                                                    \
        test_count(VD);                                                                                                \
    } while (0)
#define EXPECT_INTS(result, expression)                                                                                \
    do {                                                                                                               \
        ints got_ = ints_of(result);                                                                                   \
        for (int k = 0; k < VF; k++)                                                                                   \
            expect_int(#result, k, got_.at[k], expression);                                                            \
        test_count(VF);                                                                                                \
    } while (0)

static inline void begin(const char *operations) {
    test_catch_faults();
    (void)test_case("%s, %s", posenc_isa_name(POSENC_TIER), operations);
}

/* Places around both guard pages: enough to pass every alignment of a vector. */
enum { N_PLACES = 4 * VF };

static inline test_placement place(int p, size_t element) {
    return (test_placement){.at_end = p % 2, .distance = (size_t)(p / 2) * element};
}

/* Tests in vec_quant.c. */
void test_bits(void **state);
void test_products(void **state);
void test_rounding(void **state);
void test_rounding_away(void **state);
void test_byte_stores(void **state);
void test_block_loads(void **state);
void test_half_gathers(void **state);
void test_nibble_loads(void **state);
void test_rows_of_bytes(void **state);

/* Tests in vec_f8.c. */
void test_f8_loads(void **state);
void test_f8_stores(void **state);
void test_f8_rounding(void **state);
void test_f8_transposition(void **state);

/* Tests in vec_half.c. */
void test_byte_loads(void **state);
void test_half_loads(void **state);
void test_transposition(void **state);
void test_half_stores(void **state);
void test_half_widening(void **state);
void test_half_rounding(void **state);

#endif
