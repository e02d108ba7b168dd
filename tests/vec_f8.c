/* SPDX-License-Identifier: MIT */
/* Conformance of the vector layer's 8-bit floats: loads widen every code, stores round floats of every exponent,
 * against half_statement.h. Part of test_vec.c's program. */
#include "vec_lanes.h"

#include "half_statement.h"

/* 2 * VF codes. */
typedef struct bytes {
    uint8_t at[2 * VF];
} bytes;

static uint8_t *put_bytes(test_guarded *memory, const bytes *a, size_t n, int p) {
    return memcpy(test_guarded_place(memory, n, place(p, 1)), a, n);
}

void test_f8_loads(void **state) {
    (void)state;
    static test_guarded memory;
    begin("loads of 8-bit floats");
    for (int p = 0; p < N_PLACES; p++)
        for (int first = 0; first < 256; first++) {
            bytes a;
            vf low, high;
            for (int k = 0; k < 2 * VF; k++)
                a.at[k] = (uint8_t)(first + k);
            EXPECT_FLOATS(v_load_f8_e4m3(put_bytes(&memory, &a, VF, p)), (float)e4m3_value(a.at[k]));
            v_load_f8_e4m3_pair(put_bytes(&memory, &a, 2 * VF, p), &low, &high);
            EXPECT_FLOATS(low, (float)e4m3_value(a.at[k]));
            EXPECT_FLOATS(high, (float)e4m3_value(a.at[VF + k]));
            size_t n = (size_t)first % (VF + 1);
            EXPECT_FLOATS(v_load_f8_e4m3_n(put_bytes(&memory, &a, n, p), n),
                          (size_t)k < n ? (float)e4m3_value(a.at[k]) : 0.0f);
        }
}

static void expect_codes(const test_guarded *memory, const floats *a, size_t n) {
    for (size_t k = 0; k < n; k++)
        if (memory->data[k] != e4m3_nearest(a->at[k]))
            test_fail("lane %zu of %zu: %a is rounded to %02x", k, n, (double)a->at[k], memory->data[k]);
    if (!test_guarded_intact(memory))
        test_fail("%zu lanes: stored more than was asked for", n);
    test_count(n);
}

void test_f8_stores(void **state) {
    (void)state;
    static test_guarded memory;
    begin("stores of 8-bit floats");
    for (int p = 0; p < N_PLACES; p++)
        for (size_t n = 0; n <= VF; n++) {
            floats a = random_floats();
            v_store_f8_e4m3_n(test_guarded_place(&memory, n, place(p, 1)), vf_of(a), n);
            expect_codes(&memory, &a, n);
        }
}

/* Floats of every exponent, and those half way between two values, with their neighbours. */
void test_f8_rounding(void **state) {
    (void)state;
    static test_guarded memory;
    begin("floats rounded to 8-bit floats");
    for (size_t first = 0; first < HALF_PROBES; first += VF) {
        floats a;
        for (size_t k = 0; k < VF; k++)
            a.at[k] = half_probe(first + k);
        v_store_f8_e4m3(test_guarded_place(&memory, VF, place(0, 1)), vf_of(a));
        expect_codes(&memory, &a, VF);
    }
    for (int code = 0; code < 254; code++) {
        float middle = (float)(0.5 * (e4m3_value((uint8_t)code) + e4m3_value((uint8_t)(code + 1))));
        floats a;
        for (int k = 0; k < VF; k++)
            a.at[k] = k % 3 == 0 ? middle : nextafterf(middle, k % 3 == 1 ? INFINITY : -INFINITY);
        v_store_f8_e4m3(test_guarded_place(&memory, VF, place(0, 1)), vf_of(a));
        expect_codes(&memory, &a, VF);
    }
    test_report_exact("float32 rounded to 8-bit floats", (size_t)HALF_PROBES);
}

/* Bytes of VF rows in any order, at any place of the row. */
void test_f8_transposition(void **state) {
    (void)state;
    const size_t n = V_COLUMNS_OF_8;
    static test_guarded memory;
    begin("transposition of bytes");
    for (int p = 0; p < N_PLACES; p++)
        for (size_t width = n; width <= n + 3; width++) {
            uint8_t *table = test_guarded_place(&memory, VF * width, place(p, 1)), out[V_COLUMNS_OF_8 * VF];
            const void *rows[VF];
            for (size_t i = 0; i < VF * width; i++)
                table[i] = (uint8_t)test_random();
            for (size_t t = 0; t < VF; t++)
                rows[t] = table + (VF - 1 - t * 3 % VF) * width;
            v_transpose_8(rows, width - n, out);
            for (size_t i = 0; i < sizeof out; i++)
                if (out[i] != ((const uint8_t *)rows[i % VF])[width - n + i / VF])
                    test_fail("byte %zu of row %zu", i / VF, i % VF);
            test_count(sizeof out);
        }
}
