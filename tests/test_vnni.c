/* SPDX-License-Identifier: MIT */
/* The kernels of the avx2-vnni feature as they are compiled: all cases are held to scalar, and the hashes are scalar's.
 * On a CPU with AVX-VNNI its own instructions run, on one without a handler executes them. */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "core/cpu.h"
#include "emulated/vnni.h"

extern const posenc_kernels posenc_kernels_avx2_vnni;

static int has_vnni(void) {
    return posenc_cpu_has(POSENC_CPU_AVX_VNNI);
}

/* The tier. Called by each test, for which cmocka sets handlers of its own. */
static int can_run(void) {
    if (!has_vnni())
        emulated_trap_vnni();
    return test_tier_ready(POSENC_ISA_AVX2);
}

/* ---- The instructions: in every form that a compiler may choose. Expected sums come from a formula apart ---- */

typedef enum instruction { BUSD, BUSDS, WSSD, WSSDS, INSTRUCTIONS } instruction;

static const struct {
    uint32_t sum, a, b, expected[INSTRUCTIONS];
} lanes[] = {
    {0x00000007, 0x04030201, 0x08070605, {0x0000004d, 0x0000004d, 0x002c4421, 0x002c4421}},
    {0xfffffff0, 0xffffffff, 0x80808080, {0xfffe01f0, 0xfffe01f0, 0x0000fef0, 0x0000fef0}},
    {0x00000000, 0x80008000, 0x80008000, {0xffff8000, 0xffff8000, 0x80000000, 0x7fffffff}},
    {0x7fffffff, 0x00010001, 0x00010002, {0x80000002, 0x7fffffff, 0x80000002, 0x7fffffff}},
    {0x80000000, 0x00010001, 0xffff80ff, {0x7ffffffe, 0x80000000, 0x7fff80fe, 0x80000000}},
    {0x12345678, 0x80ff7f01, 0x7f01ff80, {0x123495f8, 0x123495f8, 0xd2f2d7f7, 0xd2f2d7f7}},
    {0x7ffffff0, 0xff00ff00, 0x7f007f00, {0x8000fcf2, 0x7fffffff, 0x7f01fff0, 0x7f01fff0}},
    {0x80000010, 0x7fff7fff, 0x80008001, {0x7fff820f, 0x80000000, 0x0001800f, 0x80000000}},
};
enum { LANES = sizeof lanes / sizeof lanes[0] };

/* Operands, and the register of the sum behind the instruction. */
static uint32_t sum[LANES], a[LANES], b[LANES];

static void set_operands(const char *form) {
    test_case("%s", form);
    for (int k = 0; k < LANES; k++) {
        sum[k] = lanes[k].sum;
        a[k] = lanes[k].a;
        b[k] = lanes[k].b;
    }
}

static void expect_sums(instruction of, int is_256) {
    for (int k = 0; k < LANES; k++) {
        uint32_t expected = is_256 || k < LANES / 2 ? lanes[k].expected[of] : 0;
        if (sum[k] != expected)
            test_fail("lane %d is 0x%08x, not 0x%08x", k, (unsigned)sum[k], (unsigned)expected);
    }
    test_count(LANES);
}

/* Executes `text` with the sum in register `to` and a in `by`. before: sets what `operand` needs, b or its address (%2)
 * among it; after: undoes that. size: x or y. */
#define EXECUTE(of, text, size, to, by, operand, before, after)                                                        \
    do {                                                                                                               \
        set_operands(text " " operand);                                                                                \
        __asm__ volatile("vmovdqu (%0), %%ymm" to "\n\tvmovdqu (%1), %%ymm" by "\n\t" before "\n\t%{vex%} " text       \
                         " " operand ", %%" size "mm" by ", %%" size "mm" to "\n\tvmovdqu %%ymm" to                    \
                         ", (%0)\n\tvzeroupper\n\t" after                                                              \
                         :                                                                                             \
                         : "r"(sum), "r"(a), "r"(b), "m"(b)                                                            \
                         : "memory", "rax", "rcx", "r8", "r9", "r12", "r13", "xmm0", "xmm1", "xmm2", "xmm3", "xmm6",   \
                           "xmm9", "xmm12", "xmm14", "xmm15");                                                         \
        expect_sums(of, size[0] == 'y');                                                                               \
    } while (0)
#define WITH(operand, before) EXECUTE(WSSD, "vpdpwssd", "y", "0", "1", operand, before, "")
#define OF_REGISTERS(of, text, size) EXECUTE(of, text, size, "9", "14", "%%" size "mm3", "vmovdqu (%2), %%ymm3", "")

static void test_forms(void **state) {
    (void)state;
    if (!can_run())
        skip();
    OF_REGISTERS(BUSD, "vpdpbusd", "y");
    OF_REGISTERS(BUSDS, "vpdpbusds", "y");
    OF_REGISTERS(WSSD, "vpdpwssd", "y");
    OF_REGISTERS(WSSDS, "vpdpwssds", "y");
    OF_REGISTERS(BUSD, "vpdpbusd", "x");
    OF_REGISTERS(BUSDS, "vpdpbusds", "x");
    OF_REGISTERS(WSSD, "vpdpwssd", "x");
    OF_REGISTERS(WSSDS, "vpdpwssds", "x");
    EXECUTE(BUSD, "vpdpbusd", "x", "6", "2", "(%2)", "", "");
    EXECUTE(WSSD, "vpdpwssd", "x", "6", "2", "(%2)", "vzeroupper", "");
    EXECUTE(WSSD, "vpdpwssd", "y", "15", "2", "%%ymm12", "vmovdqu (%2), %%ymm12", "");
    WITH("(%%rax)", "mov %2, %%rax");
    WITH("(%%r12)", "mov %2, %%r12");
    WITH("(%%r13)", "mov %2, %%r13");
    WITH("-128(%%rcx)", "lea 128(%2), %%rcx");
    WITH("0x12345(%%r9)", "lea -0x12345(%2), %%r9");
    WITH("(%%rax,%%rcx)", "mov $-77, %%rcx\n\tlea 77(%2), %%rax");
    WITH("-5(%%r13,%%r12,4)", "mov $3, %%r12\n\tlea -7(%2), %%r13");
    WITH("-0x1000(%%rax,%%r9,2)", "mov $0x800, %%r9\n\tmov %2, %%rax");
    WITH("64(,%%r8,8)", "mov %2, %%r8\n\tsub $64, %%r8\n\tshr $3, %%r8");
    WITH("%3", ""); /* relative to the instruction pointer, where that has a name */
    EXECUTE(WSSD, "vpdpwssd", "y", "0", "1", "(%%rsp)",
            "lea -256(%%rsp), %%rsp\n\tvmovdqu (%2), %%ymm2\n\tvmovdqu %%ymm2, (%%rsp)", "lea 256(%%rsp), %%rsp");
    EXECUTE(WSSD, "vpdpwssd", "y", "0", "1", "64(%%rsp,%%rax)",
            "lea -256(%%rsp), %%rsp\n\tmov $-32, %%rax\n\tvmovdqu (%2), %%ymm2\n\tvmovdqu %%ymm2, 32(%%rsp)",
            "lea 256(%%rsp), %%rsp");
}

/* ---- The kernels ---- */

static const struct {
    kernel_id id;
    int has_products;
} kernels[] = {{KERNEL_pack_quants, 0}, {KERNEL_dot_quants, 1}, {KERNEL_attend_quants, 1}};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

/* A CPU without AVX-VNNI came to the handler in kernel k, if that has products. */
static void expect_executed(size_t k, long before) {
    long n = emulated_vnni_count() - before;
    printf("%s: %ld instructions executed by the handler\n", check_kernels[kernels[k].id].name, n);
    assert_int_equal(n > 0, !has_vnni() && kernels[k].has_products);
}

static void compare_once(kernel_call *call, const posenc_kernels *variant, call_places places) {
    (void)places;
    check_compare.call(call, variant, ONE_PLACE);
}

/* All cases. With the handler each is run in one place, for a signal takes microseconds. */
static void test_cases(void **state) {
    static const check_mode once = {compare_once, NULL};
    (void)state;
    if (!can_run())
        skip();
    check_set_mode(has_vnni() ? &check_compare : &once);
    for (size_t k = 0; k < KERNELS; k++) {
        long before = emulated_vnni_count();
        check_kernels[kernels[k].id].sweep(&posenc_kernels_avx2_vnni);
        if (test_scale_or(1) == 1) /* some of the cases may have no product: test_hash */
            expect_executed(k, before);
    }
    check_set_mode(&check_compare);
}

static void test_hash(void **state) {
    (void)state;
    if (!can_run())
        skip();
    for (size_t k = 0; k < KERNELS; k++) {
        long before = emulated_vnni_count();
        assert_true(check_hash(kernels[k].id, &posenc_kernels_avx2_vnni) ==
                    check_hash(kernels[k].id, &posenc_kernels_scalar));
        expect_executed(k, before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms), cmocka_unit_test(test_cases),
        cmocka_unit_test(test_hash), /* last, for it sets seed and scale */
    };
    puts(has_vnni() ? "AVX-VNNI: this CPU's own instructions"
                    : "AVX-VNNI: a handler executes it, for this CPU lacks it");
    return test_run_tier("avx2-vnni", POSENC_ISA_AVX2, tests, sizeof tests / sizeof tests[0]);
}
