/* SPDX-License-Identifier: MIT */
/* Conformance of the vector layer's f16 and bf16: loads widen every value, stores round floats of every exponent,
 * against half_statement.h. Part of test_vec.c's program. */
#include "vec_lanes.h"

#include "half_statement.h"

/* VF values of a format. */
typedef struct halves {
    uint16_t at[VF];
} halves;

static halves random_halves(half_format f) {
    halves a;
    for (int k = 0; k < VF; k++)
        a.at[k] = test_random_half(FILL_ADVERSARIAL, f.fraction_bits);
    return a;
}

static void *put_halves(test_guarded *memory, const halves *a, size_t n, int p) {
    return memcpy(test_guarded_place(memory, n * 2, place(p, 2)), a, n * 2);
}

void test_half_loads(void **state) {
    (void)state;
    static test_guarded memory;
    begin("loads of f16 and bf16");
    for (int p = 0; p < N_PLACES; p++) {
        halves a = random_halves(half_f16), b = random_halves(half_bf16);
        EXPECT_FLOATS(v_load_f16(put_halves(&memory, &a, VF, p)), (float)half_value(a.at[k], half_f16));
        EXPECT_FLOATS(v_load_bf16(put_halves(&memory, &b, VF, p)), (float)half_value(b.at[k], half_bf16));
        for (int n = 0; n <= VF; n++) {
            test_case_detail("n=%d place %d", n, p);
            EXPECT_FLOATS(v_load_f16_n(put_halves(&memory, &a, (size_t)n, p), (size_t)n),
                          k < n ? (float)half_value(a.at[k], half_f16) : 0.0f);
            EXPECT_FLOATS(v_load_bf16_n(put_halves(&memory, &b, (size_t)n, p), (size_t)n),
                          k < n ? (float)half_value(b.at[k], half_bf16) : 0.0f);
            if (n % 2 != 0)
                continue;
            vf first, second;
            v_load_bf16_pairs(put_halves(&memory, &b, (size_t)n, p), (size_t)n / 2, &first, &second);
            EXPECT_FLOATS(first, 2 * k < n ? (float)half_value(b.at[2 * k % VF], half_bf16) : 0.0f);
            EXPECT_FLOATS(second, 2 * k < n ? (float)half_value(b.at[(2 * k + 1) % VF], half_bf16) : 0.0f);
        }
    }
}

/* VF numbers of 8 bits, at any byte. */
void test_byte_loads(void **state) {
    (void)state;
    static test_guarded memory;
    begin("loads of int8");
    for (int p = 0; p < N_PLACES; p++)
        for (int first = -128; first <= 128 - VF; first++) {
            int8_t *bytes = test_guarded_place(&memory, VF, place(p, 1));
            for (int k = 0; k < VF; k++)
                bytes[k] = (int8_t)(first + k);
            EXPECT_FLOATS(v_load_i8(bytes), (float)(first + k));
        }
}

/* n halves, 8 or 32, of VF rows in any order, some of them twice, at any place of the row. */
static void check_transposition(size_t n) {
    static test_guarded memory;
    for (int p = 0; p < N_PLACES; p++)
        for (size_t width = n; width <= n + 3; width++)
            for (size_t step = 1; step <= 5; step++) {
                uint16_t *table = test_guarded_place(&memory, VF * width * 2, place(p, 2)), out[32 * VF];
                for (size_t i = 0; i < VF * width; i++)
                    table[i] = (uint16_t)test_random();
                const void *rows[VF];
                for (size_t t = 0; t < VF; t++)
                    rows[t] = table + (VF - 1 - t * step % VF) * width;
                n == 8 ? v_transpose_16(rows, width - n, out) : v_transpose_line_16(rows, width - n, out);
                for (size_t c = 0; c < n; c++)
                    for (size_t t = 0; t < VF; t++)
                        if (out[c * VF + t] != ((const uint16_t *)rows[t])[width - n + c])
                            test_fail("number %zu of row %zu", c, t);
                test_count(n * VF);
            }
}

void test_transposition(void **state) {
    (void)state;
    begin("transposition of numbers of 16 bits");
    check_transposition(8);
    begin("transposition of 64 bytes of rows");
    check_transposition(32);
}

void test_half_widening(void **state) {
    (void)state;
    begin("every f16 and bf16 widened");
    for (uint32_t first = 0; first < 65536; first += VF) {
        halves a;
        for (int k = 0; k < VF; k++)
            a.at[k] = (uint16_t)(first + (uint32_t)k);
        EXPECT_FLOATS(v_load_f16(a.at), (float)half_value(a.at[k], half_f16));
        EXPECT_FLOATS(v_set1_f16(&a.at[VF - 1]), (float)half_value(a.at[VF - 1], half_f16));
        EXPECT_FLOATS(v_load_bf16(a.at), (float)half_value(a.at[k], half_bf16));
    }
    test_report_exact("f16 and bf16 widened, all values", 2 * 65536);
}

/* A NaN of bf16 keeps its sign and its high bits. */
static int is_stored(uint16_t got, float from, half_format f) {
    uint16_t quiet = (uint16_t)(test_bits_of_float(from) >> 16 | 0x40);
    return half_is_rounded(got, from, f) && (!isnan(from) || f.fraction_bits == half_f16.fraction_bits || got == quiet);
}

static void expect_halves(const char *operation, const uint16_t *got, const floats *a, size_t n, half_format f) {
    for (size_t k = 0; k < n; k++)
        if (!is_stored(got[k], a->at[k], f))
            test_fail("%s, lane %zu: %a is rounded to %04x, %a", operation, k, (double)a->at[k], got[k],
                      half_value(got[k], f));
    test_count(n);
}

/* Memory for n halves, and what a store of a left there. */
static uint16_t *room(test_guarded *memory, size_t n, int p) {
    return test_guarded_place(memory, n * 2, place(p, 2));
}

static void expect_stored_halves(const char *operation, const test_guarded *memory, const floats *a, size_t n,
                                 half_format f) {
    expect_halves(operation, (const uint16_t *)(const void *)memory->data, a, n, f);
    if (!test_guarded_intact(memory))
        test_fail("%s stored more than was asked for", operation);
}

/* All of 0 .. VF pairs, which are two vectors. */
static void test_stores_of_pairs(int p) {
    static test_guarded memory;
    floats first = random_floats(), second = random_floats();
    for (size_t n = 0; n <= VF; n++) {
        test_case_detail("%zu pairs, place %d", n, p);
        uint16_t *to = room(&memory, 2 * n, p);
        v_store_bf16_pairs(to, vf_of(first), vf_of(second), n);
        halves even, odd;
        for (size_t k = 0; k < n; k++) {
            even.at[k] = to[2 * k];
            odd.at[k] = to[2 * k + 1];
        }
        expect_halves("v_store_bf16_pairs, first", even.at, &first, n, half_bf16);
        expect_halves("v_store_bf16_pairs, second", odd.at, &second, n, half_bf16);
        if (!test_guarded_intact(&memory))
            test_fail("v_store_bf16_pairs stored more than was asked for");
    }
    uint16_t *to = room(&memory, 2 * VF, p);
    v_store_high_pairs(to, vf_of(first), vf_of(second));
    for (int k = 0; k < VF; k++) {
        expect_int("v_store_high_pairs, first", k, to[2 * k], (int32_t)(test_bits_of_float(first.at[k]) >> 16));
        expect_int("v_store_high_pairs, second", k, to[2 * k + 1], (int32_t)(test_bits_of_float(second.at[k]) >> 16));
    }
    if (!test_guarded_intact(&memory))
        test_fail("v_store_high_pairs stored more than it should");
}

void test_half_stores(void **state) {
    (void)state;
    static test_guarded memory;
    begin("stores of f16 and bf16");
    for (int p = 0; p < N_PLACES; p++) {
        floats a = random_floats();
        v_store_f16(room(&memory, VF, p), vf_of(a));
        expect_stored_halves("v_store_f16", &memory, &a, VF, half_f16);
        v_store_bf16(room(&memory, VF, p), vf_of(a));
        expect_stored_halves("v_store_bf16", &memory, &a, VF, half_bf16);
        for (size_t n = 0; n <= VF; n++) {
            test_case_detail("n=%zu place %d", n, p);
            v_store_f16_n(room(&memory, n, p), vf_of(a), n);
            expect_stored_halves("v_store_f16_n", &memory, &a, n, half_f16);
            v_store_bf16_n(room(&memory, n, p), vf_of(a), n);
            expect_stored_halves("v_store_bf16_n", &memory, &a, n, half_bf16);
        }
        test_stores_of_pairs(p);
    }
}

void test_half_rounding(void **state) {
    (void)state;
    begin("floats of every exponent rounded to f16 and bf16");
    for (size_t first = 0; first < HALF_PROBES; first += VF) {
        floats a;
        halves f16, bf16;
        for (size_t k = 0; k < VF; k++)
            a.at[k] = half_probe(first + k);
        v_store_f16(f16.at, vf_of(a));
        v_store_bf16(bf16.at, vf_of(a));
        expect_halves("v_store_f16", f16.at, &a, VF, half_f16);
        expect_halves("v_store_bf16", bf16.at, &a, VF, half_bf16);
    }
    test_report_exact("float32 rounded to f16 and bf16", (size_t)2 * HALF_PROBES);
}
