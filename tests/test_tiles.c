/* src/avx512/tiles.c over tiles in plain C (tests/emulated/tiles), on every CPU: all cases of its kernel are held to
 * scalar, no tile stays configured behind a call, and the hash is scalar's. Where a CPU has AMX, the checker runs the
 * compiled kernel too. */
#include "harness.h"

#include "check.h"
#include "emulated/tiles/immintrin.h"

_Thread_local emulated_tiles emulated_amx;

void posenc_multiply_pairs_emulated_tiles(const posenc_multiply_pairs_args *args);

static int n_with_tiles;

static void multiply_pairs(const posenc_multiply_pairs_args *args) {
    memset(&emulated_amx, 0, sizeof emulated_amx);
    posenc_multiply_pairs_emulated_tiles(args);
    n_with_tiles += emulated_amx.row_bytes[0] > 0;
    if (emulated_amx.is_configured)
        test_fail("tiles stay configured");
}

static posenc_kernels with_tiles(void) {
    posenc_kernels kernels = posenc_kernels_scalar;
    kernels.multiply_pairs = multiply_pairs;
    return kernels;
}

static void test_cases(void **state) {
    (void)state;
    posenc_kernels kernels = with_tiles();
    n_with_tiles = 0;
    check_kernels[KERNEL_multiply_pairs].sweep(&kernels);
    assert_true(n_with_tiles > 0);
}

static void test_hash(void **state) {
    (void)state;
    posenc_kernels kernels = with_tiles();
    assert_true(check_hash(KERNEL_multiply_pairs, &kernels) ==
                check_hash(KERNEL_multiply_pairs, &posenc_kernels_scalar));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hash), cmocka_unit_test(test_cases)};
    return test_run_tier("tiles", POSENC_ISA_SCALAR, tests, sizeof tests / sizeof tests[0]);
}
