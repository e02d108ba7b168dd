/* SPDX-License-Identifier: MIT */
/* Conformance of the vector layer: every operation of vec.h against plain C. docs/vector-layer.md is the statement that
 * both follow; tests/check-vec-layer holds the three to the same list. Compiled once per tier; the build defines
 * VEC_HEADER. */
#include "vec_lanes.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 20000 };

/* ---- Load and store ---- */

/* n random elements in guarded memory. */
static void *put_floats(test_guarded *memory, const floats *a, size_t n, int p) {
    return memcpy(test_guarded_place(memory, n * sizeof(float), place(p, sizeof(float))), a, n * sizeof(float));
}

static void *put_doubles(test_guarded *memory, const doubles *a, size_t n, int p) {
    return memcpy(test_guarded_place(memory, n * sizeof(double), place(p, sizeof(double))), a, n * sizeof(double));
}

static void test_loads(void **state) {
    (void)state;
    static test_guarded memory;
    begin("loads of float32");
    for (int p = 0; p < N_PLACES; p++) {
        floats a = random_floats();
        test_case_detail("whole, place %d", p);
        EXPECT_FLOATS(v_load(put_floats(&memory, &a, VF, p)), a.at[k]);
        EXPECT_FLOATS(v_load_twice(put_floats(&memory, &a, VF / 2, p)), a.at[k / 2]);
        for (int n = 0; n <= VF; n++) {
            test_case_detail("n=%d place %d", n, p);
            EXPECT_FLOATS(v_load_n(put_floats(&memory, &a, (size_t)n, p), (size_t)n), k < n ? a.at[k] : 0.0f);
            if (n % 2 == 0)
                EXPECT_FLOATS(v_load_twice_n(put_floats(&memory, &a, (size_t)n / 2, p), (size_t)n),
                              k < n ? a.at[k / 2] : 0.0f);
        }
    }
}

static void test_loads_double(void **state) {
    (void)state;
    static test_guarded memory;
    begin("loads of float64");
    for (int p = 0; p < N_PLACES; p++) {
        doubles a = random_doubles();
        test_case_detail("whole, place %d", p);
        EXPECT_DOUBLES(vd_load(put_doubles(&memory, &a, VD, p)), a.at[k]);
    }
}

static void expect_stored(const test_guarded *memory, const void *expected, size_t bytes) {
    if (memcmp(memory->data, expected, bytes) != 0)
        test_fail("the values stored are wrong");
    if (!test_guarded_intact(memory))
        test_fail("stored more than was asked for");
    test_count(bytes);
}

static void test_stores(void **state) {
    (void)state;
    static test_guarded memory;
    begin("v_store, v_store_n");
    for (int p = 0; p < N_PLACES; p++)
        for (size_t n = 0; n <= VF; n++) {
            floats a = random_floats();
            test_case_detail("n=%zu place %d", n, p);
            float *to = test_guarded_place(&memory, n * sizeof(float), place(p, sizeof(float)));
            v_store_n(to, vf_of(a), n);
            expect_stored(&memory, &a, n * sizeof(float));
            if (n == VF) {
                to = test_guarded_place(&memory, n * sizeof(float), place(p, sizeof(float)));
                v_store(to, vf_of(a));
                expect_stored(&memory, &a, sizeof a);
            }
        }
}

static void test_stores_double(void **state) {
    (void)state;
    static test_guarded memory;
    begin("vd_store");
    for (int p = 0; p < N_PLACES; p++) {
        doubles a = random_doubles();
        test_case_detail("place %d", p);
        double *to = test_guarded_place(&memory, sizeof a, place(p, sizeof(double)));
        vd_store(to, vd_of(a));
        expect_stored(&memory, &a, sizeof a);
    }
}

/* ---- float32 ---- */

static float negated(float a) {
    return copysignf(a, signbit(a) ? 1.0f : -1.0f);
}

static float with_exponent(float a) {
    uint32_t bits = test_bits_of_float(a) << 23;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static void test_arithmetic(void **state) {
    (void)state;
    begin("float32 arithmetic");
    for (int round = 0; round < ROUNDS; round++) {
        floats a = random_floats(), b = random_floats(), c = random_floats();
        vf va = vf_of(a), vb = vf_of(b), vc = vf_of(c);
        EXPECT_FLOATS(v_set1(a.at[0]), a.at[0]);
        EXPECT_FLOATS(v_add(va, vb), a.at[k] + b.at[k]);
        EXPECT_FLOATS(v_sub(va, vb), a.at[k] - b.at[k]);
        EXPECT_FLOATS(v_mul(va, vb), a.at[k] * b.at[k]);
        EXPECT_FLOATS(v_div(va, vb), a.at[k] / b.at[k]);
        EXPECT_FLOATS(v_select(v_lt(va, vb), vc, va), a.at[k] < b.at[k] ? c.at[k] : a.at[k]);
        EXPECT_FLOATS(v_sqrt(va), sqrtf(a.at[k]));
        EXPECT_FLOATS(v_fma(va, vb, vc), fmaf(a.at[k], b.at[k], c.at[k]));
        EXPECT_FLOATS(v_fms(va, vb, vc), fmaf(a.at[k], b.at[k], -c.at[k]));
        EXPECT_FLOATS(v_neg(va), negated(a.at[k]));
        EXPECT_FLOATS(v_reverse(va), a.at[VF - 1 - k]);
        ints to;
        for (int k = 0; k < VF; k++)
            to.at[k] = (int32_t)(test_random() % VF);
        EXPECT_FLOATS(v_permute(va, vi_of(to)), a.at[to.at[k]]);
        EXPECT_FLOATS(v_neg_even(va), k % 2 == 0 ? negated(a.at[k]) : a.at[k]);
        EXPECT_FLOATS(v_max(va, vb), a.at[k] > b.at[k] ? a.at[k] : b.at[k]);
        EXPECT_FLOATS(v_zero_if(v_lt(va, vb), vc), a.at[k] < b.at[k] ? 0.0f : c.at[k]);
        EXPECT_FLOATS(v_exponent(va), with_exponent(a.at[k]));
    }
}

/* Products whose rounding shows: a fused operation differs from two. */
static void test_fused(void **state) {
    (void)state;
    begin("v_fma, v_fms, vd_fma, vd_fms round once");
    for (int round = 0; round < ROUNDS; round++) {
        floats a, b, c;
        for (int k = 0; k < VF; k++) {
            a.at[k] = test_random_float(FILL_ORDINARY);
            b.at[k] = test_random_float(FILL_ORDINARY);
            c.at[k] = a.at[k] * b.at[k];
        }
        EXPECT_FLOATS(v_fms(vf_of(a), vf_of(b), vf_of(c)), fmaf(a.at[k], b.at[k], -c.at[k]));
        EXPECT_FLOATS(v_fma(vf_of(a), vf_of(b), vf_of(c)), fmaf(a.at[k], b.at[k], c.at[k]));
        doubles x, y, z;
        for (int k = 0; k < VD; k++) {
            x.at[k] = test_random_double(FILL_ORDINARY);
            y.at[k] = test_random_double(FILL_ORDINARY);
            z.at[k] = x.at[k] * y.at[k];
        }
        EXPECT_DOUBLES(vd_fms(vd_of(x), vd_of(y), vd_of(z)), fma(x.at[k], y.at[k], -z.at[k]));
        EXPECT_DOUBLES(vd_fma(vd_of(x), vd_of(y), vd_of(z)), fma(x.at[k], y.at[k], z.at[k]));
    }
}

/* Every pair of special values, in every lane. */
static void test_special_pairs(void **state) {
    (void)state;
    begin("pairs of special values");
    for (size_t i = 0; i < test_n_special_floats; i++)
        for (size_t j = 0; j < test_n_special_floats; j++) {
            float a = test_special_floats[i], b = test_special_floats[j];
            vf va = v_set1(a), vb = v_set1(b);
            EXPECT_FLOATS(v_add(va, vb), a + b);
            EXPECT_FLOATS(v_sub(va, vb), a - b);
            EXPECT_FLOATS(v_mul(va, vb), a * b);
            EXPECT_FLOATS(v_div(va, vb), a / b);
            EXPECT_FLOATS(v_sqrt(va), sqrtf(a));
            EXPECT_FLOATS(v_max(va, vb), a > b ? a : b);
            EXPECT_FLOATS(v_zero_if(v_lt(va, vb), va), a < b ? 0.0f : a);
        }
}

static void test_moves(void **state) {
    (void)state;
    begin("v_keep, v_first_or, v_slide, v_swap_pairs, v_select_bits, v_zip, v_unzip");
    for (int round = 0; round < ROUNDS / 10; round++) {
        floats a = random_floats(), b = random_floats();
        vf va = vf_of(a), vb = vf_of(b), low, high, even, odd;
        for (int n = 0; n <= VF; n++) {
            EXPECT_FLOATS(v_first_or(va, (size_t)n, vb), k < n ? a.at[k] : b.at[k]);
            EXPECT_FLOATS(v_slide(va, vb, (size_t)n), k + n < VF ? a.at[k + n] : b.at[k + n - VF]);
        }
        EXPECT_FLOATS(v_keep(va), a.at[k]);
        EXPECT_FLOATS(v_swap_pairs(va), a.at[k ^ 1]);
        uint32_t bits = (uint32_t)test_random();
        EXPECT_FLOATS(v_select_bits(bits, va, vb), bits >> k & 1 ? a.at[k] : b.at[k]);
        v_zip(va, vb, &low, &high);
        EXPECT_FLOATS(low, k % 2 == 0 ? a.at[k / 2] : b.at[k / 2]);
        EXPECT_FLOATS(high, k % 2 == 0 ? a.at[(VF + k) / 2] : b.at[(VF + k) / 2]);
        v_unzip(va, vb, &even, &odd);
        EXPECT_FLOATS(even, k < VF / 2 ? a.at[2 * k] : b.at[2 * k - VF]);
        EXPECT_FLOATS(odd, k < VF / 2 ? a.at[2 * k + 1] : b.at[2 * k + 1 - VF]);
    }
}

static void test_transpose(void **state) {
    (void)state;
    begin("v_transpose");
    for (int round = 0; round < ROUNDS / 10; round++) {
        floats from[VF];
        vf rows[VF];
        for (int i = 0; i < VF; i++) {
            from[i] = random_floats();
            rows[i] = vf_of(from[i]);
        }
        v_transpose(rows);
        for (int i = 0; i < VF; i++)
            EXPECT_FLOATS(rows[i], from[k].at[i]);
    }
}

static void test_max_lanes(void **state) {
    (void)state;
    begin("v_max_lanes");
    for (int round = 0; round < ROUNDS; round++) {
        floats a;
        float highest = -INFINITY;
        for (int k = 0; k < VF; k++) {
            do
                a.at[k] = test_random_float(round % 2 ? FILL_ADVERSARIAL : FILL_MASKED);
            while (isnan(a.at[k]));
            highest = a.at[k] > highest ? a.at[k] : highest;
        }
        float got = v_max_lanes(vf_of(a));
        if (!(got == highest)) /* either zero will do */
            test_fail("v_max_lanes: %a instead of %a", (double)got, (double)highest);
        test_count(1);
    }

    begin("v_sum_lanes");
    for (int round = 0; round < ROUNDS; round++) {
        floats a, sums;
        for (int k = 0; k < VF; k++)
            sums.at[k] = a.at[k] = test_random_float(round % 2 ? FILL_ADVERSARIAL : FILL_ORDINARY);
        for (int width = VF / 2; width > 0; width /= 2)
            for (int k = 0; k < width; k++)
                sums.at[k] += sums.at[k + width];
        float got = v_sum_lanes(vf_of(a));
        if (memcmp(&got, &sums.at[0], sizeof got) != 0 && !(isnan(got) && isnan(sums.at[0])))
            test_fail("v_sum_lanes: %a instead of %a", (double)got, (double)sums.at[0]);
        test_count(1);
    }
}

/* ---- int32 ---- */

static void test_integers(void **state) {
    (void)state;
    begin("int32");
    EXPECT_INTS(vi_iota(), k);
    for (int round = 0; round < ROUNDS; round++) {
        ints a = random_ints(), b = random_ints();
        EXPECT_INTS(vi_set1(a.at[0]), a.at[0]);
        EXPECT_INTS(vi_add(vi_of(a), vi_of(b)), (int32_t)((uint32_t)a.at[k] + (uint32_t)b.at[k]));
        EXPECT_INTS(vi_abs(vi_of(a)), a.at[k] < 0 ? (int32_t)(0u - (uint32_t)a.at[k]) : a.at[k]);
        EXPECT_INTS(vi_sub(vi_of(a), vi_of(b)), (int32_t)((uint32_t)a.at[k] - (uint32_t)b.at[k]));
        EXPECT_INTS(vi_mul(vi_of(a), vi_of(b)), (int32_t)((uint32_t)a.at[k] * (uint32_t)b.at[k]));
        EXPECT_INTS(vi_min(vi_of(a), vi_of(b)), a.at[k] < b.at[k] ? a.at[k] : b.at[k]);
        EXPECT_INTS(vi_max(vi_of(a), vi_of(b)), a.at[k] > b.at[k] ? a.at[k] : b.at[k]);
        EXPECT_FLOATS(v_select(vi_lt(vi_of(a), vi_of(b)), v_set1(1.0f), v_set1(2.0f)), a.at[k] < b.at[k] ? 1.0f : 2.0f);
        EXPECT_FLOATS(v_from_int(vi_of(a)), (float)a.at[k]);
        ints other = a;
        other.at[round % VF] ^= 1 << (round / VF % 31); /* in one bit of one lane */
        EXPECT_INTS(vi_set1(vi_same(vi_of(a), vi_of(a))), 1);
        EXPECT_INTS(vi_set1(vi_same(vi_of(a), vi_of(other))), 0);
    }
}

/* Picks of VF floats between guards, by strides of any sign and indices that stay inside. */
static void expect_picked(const float *p, const floats *b) {
    for (int stride = -2; stride <= 2; stride++) {
        ints index, from;
        for (int k = 0; k < VF; k++) {
            from.at[k] = (int32_t)(test_random() % VF);
            index.at[k] = from.at[k] - k * stride;
        }
        EXPECT_FLOATS(v_pick(p, stride, index.at), b->at[from.at[k]]);
    }
}

/* Integers and bytes in guarded memory, and what is gathered from there by any index. */
static void test_integer_loads(void **state) {
    (void)state;
    static test_guarded memory;
    begin("vi_load_n, vi_load_u8_n, v_gather_n, vi_gather_n, v_pick");
    for (int p = 0; p < N_PLACES; p++)
        for (int n = 0; n <= VF; n++) {
            ints a = random_ints(), index;
            floats b = random_floats();
            uint8_t bytes[VF];
            for (int k = 0; k < VF; k++) {
                bytes[k] = (uint8_t)test_random();
                index.at[k] =
                    k < n ? (int32_t)(test_random() % (unsigned)n) : 1 << 30; /* far outside: not to be followed */
            }
            test_case_detail("n=%d place %d", n, p);
            size_t size = (size_t)n * sizeof(int32_t);
            void *to = memcpy(test_guarded_place(&memory, size, place(p, sizeof(int32_t))), &a, size);
            EXPECT_INTS(vi_load_n(to, (size_t)n), k < n ? a.at[k] : 0);
            EXPECT_INTS(vi_gather_n(to, vi_of(index), (size_t)n), k < n ? a.at[index.at[k]] : 0);
            to = put_floats(&memory, &b, (size_t)n, p);
            EXPECT_FLOATS(v_gather_n(to, vi_of(index), (size_t)n), k < n ? b.at[index.at[k]] : 0.0f);
            if (n == VF)
                expect_picked(to, &b);
            to = memcpy(test_guarded_place(&memory, (size_t)n, place(p, 1)), bytes, (size_t)n);
            EXPECT_INTS(vi_load_u8_n(to, (size_t)n), k < n ? bytes[k] : 0);
        }
}

/* ---- float64 ---- */

static void test_doubles(void **state) {
    (void)state;
    begin("float64 arithmetic");
    for (int round = 0; round < ROUNDS; round++) {
        doubles a = random_doubles(), b = random_doubles(), c = random_doubles();
        vd va = vd_of(a), vb = vd_of(b), vc = vd_of(c);
        EXPECT_DOUBLES(vd_keep(va), a.at[k]);
        EXPECT_DOUBLES(vd_set1(a.at[0]), a.at[0]);
        EXPECT_DOUBLES(vd_add(va, vb), a.at[k] + b.at[k]);
        EXPECT_DOUBLES(vd_mul(va, vb), a.at[k] * b.at[k]);
        EXPECT_DOUBLES(vd_fma(va, vb, vc), fma(a.at[k], b.at[k], c.at[k]));
        EXPECT_DOUBLES(vd_fms(va, vb, vc), fma(a.at[k], b.at[k], -c.at[k]));
        EXPECT_DOUBLES(vd_round(va), rint(a.at[k]));
    }
}

static void test_conversions(void **state) {
    (void)state;
    static test_guarded memory;
    begin("v_from_vd, v_store_vd, v_stream_vd, vd_low, vd_high");
    for (int round = 0; round < ROUNDS; round++) {
        test_fill fill = round % 2 ? FILL_ADVERSARIAL : FILL_WIDE;
        doubles low, high;
        for (int k = 0; k < VD; k++) {
            low.at[k] = test_random_double(fill);
            high.at[k] = test_random_double(fill);
        }
        EXPECT_FLOATS(v_from_vd(vd_of(low), vd_of(high)), (float)(k < VD ? low.at[k] : high.at[k - VD]));
        float *to = test_guarded_place(&memory, VF * sizeof *to, (test_placement){.at_end = round % 2 == 0});
        v_store_vd(to, vd_of(low), vd_of(high));
        if (!test_guarded_intact(&memory))
            test_fail("v_store_vd wrote beyond its lanes");
        EXPECT_FLOATS(v_load(to), (float)(k < VD ? low.at[k] : high.at[k - VD]));
        to = test_guarded_place(&memory, VF * sizeof *to, (test_placement){.at_end = 1});
        v_stream_vd(to, vd_of(low), vd_of(high));
        v_end_stream();
        if (!test_guarded_intact(&memory))
            test_fail("v_stream_vd wrote beyond its lanes");
        EXPECT_FLOATS(v_load(to), (float)(k < VD ? low.at[k] : high.at[k - VD]));
        floats a = random_floats();
        EXPECT_DOUBLES(vd_low(vf_of(a)), (double)a.at[k]);
        EXPECT_DOUBLES(vd_high(vf_of(a)), (double)a.at[VD + k]);
    }
}

/* The scalar function of the same family, whatever stands in the other lanes. */
static void test_sincospi(void **state) {
    (void)state;
    begin("vd_sincospi");
    for (int round = 0; round < ROUNDS; round++) {
        doubles a;
        vd s, c;
        for (int k = 0; k < VD; k++)
            a.at[k] =
                test_random() % 4 ? test_random_double(FILL_ORDINARY) / 4.0 : test_random_double(FILL_ADVERSARIAL);
        vd_sincospi(vd_of(a), &s, &c);
        doubles sines = doubles_of(s), cosines = doubles_of(c);
        for (int k = 0; k < VD; k++) {
            if (fabs(a.at[k]) > 2.0) /* beyond what kernels ask for, but it must not disturb the others */
                continue;
            Sleef_double_2 expected = POSENC_SINCOSPI(d1_u35purecfma)(a.at[k]);
            expect_double_lane("sine of vd_sincospi", k, sines.at[k], expected.x);
            expect_double_lane("cosine of vd_sincospi", k, cosines.at[k], expected.y);
            test_count(2);
        }
    }
}

/* Exponential: results from 0 over denormals to infinity. */
static void test_exp(void **state) {
    (void)state;
    begin("vd_exp");
    for (int round = 0; round < ROUNDS; round++) {
        doubles a;
        for (int k = 0; k < VD; k++)
            a.at[k] = test_random() % 4 ? test_random_double(FILL_WIDE) * (k % 2 ? 3.0 : 0x1p-10)
                                        : test_random_double(FILL_ADVERSARIAL);
        EXPECT_DOUBLES(vd_exp(vd_of(a)), POSENC_EXP(d1_u10purecfma)(a.at[k]));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_loads),         cmocka_unit_test(test_loads_double),
    cmocka_unit_test(test_stores),        cmocka_unit_test(test_stores_double),
    cmocka_unit_test(test_arithmetic),    cmocka_unit_test(test_fused),
    cmocka_unit_test(test_special_pairs), cmocka_unit_test(test_moves),
    cmocka_unit_test(test_transpose),     cmocka_unit_test(test_max_lanes),
    cmocka_unit_test(test_integers),      cmocka_unit_test(test_doubles),
    cmocka_unit_test(test_conversions),   cmocka_unit_test(test_sincospi),
    cmocka_unit_test(test_exp),           cmocka_unit_test(test_half_loads),
    cmocka_unit_test(test_half_stores),   cmocka_unit_test(test_half_widening),
    cmocka_unit_test(test_f8_loads),      cmocka_unit_test(test_f8_stores),
    cmocka_unit_test(test_f8_rounding),   cmocka_unit_test(test_f8_transposition),
    cmocka_unit_test(test_half_rounding), cmocka_unit_test(test_integer_loads),
    cmocka_unit_test(test_byte_loads),    cmocka_unit_test(test_transposition),
    cmocka_unit_test(test_bits),          cmocka_unit_test(test_rounding),
    cmocka_unit_test(test_rounding_away), cmocka_unit_test(test_products),
    cmocka_unit_test(test_byte_stores),   cmocka_unit_test(test_block_loads),
    cmocka_unit_test(test_half_gathers),  cmocka_unit_test(test_nibble_loads),
    cmocka_unit_test(test_rows_of_bytes),
};

const vec_tests POSENC_PASTE(vec_tests, _, POSENC_VARIANT) = {tests, sizeof tests / sizeof tests[0]};
