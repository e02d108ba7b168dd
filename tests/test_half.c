/* SPDX-License-Identifier: MIT */
/* src/kernels/half.h, the scalar tier's f16, bf16 and 8-bit floats, against plain arithmetic: every value widened, and
 * floats of every exponent rounded. Known encodings hold the arithmetic itself. */
#include "harness.h"

#include "half_statement.h"
#include "kernels/half.h"

/* Encodings from IEEE 754-2019, 3.4, and from the definition of bfloat16 as the upper half of a float32. */
static const struct {
    uint16_t bits;
    double value;
} known_f16[] = {{0x0000, 0.0},        {0x0001, 0x1p-24}, {0x03ff, 0x1.ff8p-15}, {0x0400, 0x1p-14},
                 {0x3555, 0x1.554p-2}, {0x3c00, 1.0},     {0x3c01, 0x1.004p0},   {0x4248, 3.140625},
                 {0x7bff, 65504.0},    {0xc000, -2.0},    {0xfc00, -INFINITY}},
  known_bf16[] = {{0x0000, 0.0},  {0x0001, 0x1p-133}, {0x007f, 0x1.fcp-127}, {0x0080, 0x1p-126},
                  {0x3f80, 1.0},  {0x3f81, 0x1.02p0}, {0x4049, 3.140625},    {0x7f7f, 0x1.fep127},
                  {0xc000, -2.0}, {0xff80, -INFINITY}},
  rounded_f16[] = {{0x7bff, 0x1.ffdffep15},  {0x7c00, 65520.0},   {0x8000, -0x1p-25},
                   {0x0001, 0x1.000002p-25}, {0x0002, 0x1.8p-24}, {0x0400, 0x1.ffep-15},
                   {0x3c00, 0x1.002p0},      {0x3c02, 0x1.006p0}, {0xfc00, -1e30}},
  rounded_bf16[] = {{0x7f7f, 0x1.fefffep127}, {0x7f80, 0x1.ffp127}, {0x8000, -0x1p-134}, {0x0001, 0x1.000002p-134},
                    {0x0002, 0x1.8p-133},     {0x3f80, 0x1.01p0},   {0x3f82, 0x1.03p0},  {0x3dcd, 0x1.99999ap-4}};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void test_statement(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(known_f16); i++)
        assert_true(test_same_double(half_value(known_f16[i].bits, half_f16), known_f16[i].value));
    for (size_t i = 0; i < COUNT(known_bf16); i++)
        assert_true(test_same_double(half_value(known_bf16[i].bits, half_bf16), known_bf16[i].value));
    for (size_t i = 0; i < COUNT(rounded_f16); i++)
        assert_int_equal(half_nearest(rounded_f16[i].value, half_f16), rounded_f16[i].bits);
    for (size_t i = 0; i < COUNT(rounded_bf16); i++)
        assert_int_equal(half_nearest(rounded_bf16[i].value, half_bf16), rounded_bf16[i].bits);
    assert_true(isnan(half_value(0x7c01, half_f16)) && isnan(half_value(0xffc0, half_bf16)));
}

static void expect_widened(uint16_t bits, float got, half_format f) {
    if (!test_same_float(got, (float)half_value(bits, f)))
        test_fail("%04x is widened to %a instead of %a", bits, (double)got, half_value(bits, f));
}

static void expect_rounded(float x, uint16_t got, half_format f) {
    if (!half_is_rounded(got, x, f))
        test_fail("%a is rounded to %04x, %a", (double)x, got, half_value(got, f));
}

/* Every value; and back, where nothing may be lost. */
static void test_widening(void **state) {
    (void)state;
    (void)test_case("widening");
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float f16 = posenc_from_f16((uint16_t)bits), bf16 = posenc_from_bf16((uint16_t)bits);
        expect_widened((uint16_t)bits, f16, half_f16);
        expect_widened((uint16_t)bits, bf16, half_bf16);
        if ((!isnan(f16) && posenc_to_f16(f16) != bits) || (!isnan(bf16) && posenc_to_bf16(bf16) != bits))
            test_fail("%04x does not come back", (unsigned)bits);
    }
    test_count(65536);
    test_report_exact("f16 and bf16 widened and back, all values", 2 * 65536);
}

static void test_rounding(void **state) {
    (void)state;
    (void)test_case("rounding");
    for (size_t i = 0; i < HALF_PROBES; i++) {
        float x = half_probe(i);
        expect_rounded(x, posenc_to_f16(x), half_f16);
        expect_rounded(x, posenc_to_bf16(x), half_bf16);
    }
    test_count(HALF_PROBES);
    test_report_exact("float32 rounded to f16 and bf16", (size_t)2 * HALF_PROBES);
}

/* Every code and back, and floats of every exponent. Known encodings: OCP 8-bit floating point, table 2. */
static void test_e4m3(void **state) {
    (void)state;
    (void)test_case("8-bit floats");
    static const struct {
        uint8_t bits;
        double value;
    } known[] = {{0x00, 0.0}, {0x01, 0x1p-9}, {0x07, 0x1.cp-7}, {0x08, 0x1p-6},
                 {0x38, 1.0}, {0x7e, 448.0},  {0xfe, -448.0}};
    for (size_t i = 0; i < COUNT(known); i++)
        assert_true(test_same_double(e4m3_value(known[i].bits), known[i].value));
    assert_true(e4m3_nearest(464.0f) == 0x7e && e4m3_nearest(-INFINITY) == 0xfe && e4m3_nearest(NAN) == 0x7f);
    for (int code = 0; code < 256; code++) {
        float value = posenc_from_f8_e4m3((uint8_t)code);
        if (!test_same_float(value, (float)e4m3_value((uint8_t)code)))
            test_fail("%02x is widened to %a", code, (double)value);
        assert_int_equal(posenc_to_f8_e4m3(value), (code & 0x7f) == 0x7f ? 0x7f : code);
    }
    for (size_t i = 0; i < HALF_PROBES; i++)
        if (posenc_to_f8_e4m3(half_probe(i)) != e4m3_nearest(half_probe(i)))
            test_fail("%a is rounded to %02x", (double)half_probe(i), posenc_to_f8_e4m3(half_probe(i)));
    test_count(HALF_PROBES);
    test_report_exact("float32 rounded to 8-bit floats", HALF_PROBES);
}

static void test_elements(void **state) {
    (void)state;
    (void)test_case("posenc_load, posenc_store");
    float single[3] = {0.0f, 0.0f, 0.0f};
    uint16_t f16[3] = {0, 0, 0}, bf16[3] = {0, 0, 0};
    posenc_store(single, 1, 0x1.99999ap-4f, POSENC_F32);
    posenc_store(f16, 1, 1.0f, POSENC_F16);
    posenc_store(bf16, 1, 1.0f, POSENC_BF16);
    assert_true(single[1] == 0x1.99999ap-4f && f16[1] == 0x3c00 && bf16[1] == 0x3f80);
    assert_true(posenc_load(single, 1, POSENC_F32) == 0x1.99999ap-4f);
    assert_true(posenc_load(f16, 1, POSENC_F16) == 1.0f && posenc_load(bf16, 1, POSENC_BF16) == 1.0f);
    assert_true(single[0] == 0.0f && single[2] == 0.0f && f16[0] == 0 && f16[2] == 0 && bf16[0] == 0 && bf16[2] == 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statement), cmocka_unit_test(test_widening), cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_e4m3),      cmocka_unit_test(test_elements),
    };
    return test_run_tier("f16 and bf16", POSENC_ISA_SCALAR, tests, sizeof tests / sizeof tests[0]);
}
