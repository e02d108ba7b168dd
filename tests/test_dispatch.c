/* SPDX-License-Identifier: MIT */
/* Which tier runs, and how it is forced. The build runs this program once per value of POSENC_ISA. */
#include "harness.h"

#include <posenc/posenc.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/cpu.h"
#include "kernels/kernels.h"

/* ---- Choice at load time: the first tests, before a tier is forced ---- */

static posenc_isa_tier best_supported(void) {
    if (posenc_isa_supported(POSENC_ISA_AVX512))
        return POSENC_ISA_AVX512;
    if (posenc_isa_supported(POSENC_ISA_AVX2))
        return POSENC_ISA_AVX2;
    for (int tier = POSENC_ISA_NEON; tier < POSENC_ISA_COUNT; tier++) /* one of these at most */
        if (posenc_isa_supported((posenc_isa_tier)tier))
            return (posenc_isa_tier)tier;
    return POSENC_ISA_SCALAR;
}

/* 1 if the text is the tier's name, or TIER-FEATURE with a feature of the tier, in any case. */
static int names_tier(const char *text, const char *tier) {
    static const char *const features[] = {
#define FEATURE(tier, name, ...) #tier "-" #name,
#include "tiers.def"
    };
    size_t length = strlen(tier);
    int is_feature = 0;
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
        is_feature |= strcasecmp(text, features[i]) == 0;
    return strncasecmp(text, tier, length) == 0 && (text[length] == '\0' || (is_feature && text[length] == '-'));
}

static void test_choice_at_load(void **state) {
    (void)state;
    static const struct {
        const char *name;
        posenc_isa_tier tier;
    } known[] = {
#define TIER(name, NAME, ...) {#name, POSENC_ISA_##NAME},
#include "tiers.def"
    };
    const char *forced = getenv("POSENC_ISA");
    posenc_isa_tier expected = forced == NULL || strcmp(forced, "") == 0 ? best_supported() : POSENC_ISA_SCALAR;
    for (size_t i = 0; forced != NULL && i < sizeof known / sizeof known[0]; i++)
        if (names_tier(forced, known[i].name) && posenc_isa_supported(known[i].tier))
            expected = known[i].tier;
    printf("POSENC_ISA=%s: %s\n", forced == NULL ? "(unset)" : forced, posenc_isa_name(posenc_isa()));
    assert_string_equal(posenc_isa_name(posenc_isa()), posenc_isa_name(expected));
}

/* ---- Names and questions ---- */

static void test_names(void **state) {
    (void)state;
    assert_string_equal(posenc_isa_name(POSENC_ISA_SCALAR), "scalar");
    assert_string_equal(posenc_isa_name(POSENC_ISA_AVX2), "avx2");
    assert_string_equal(posenc_isa_name(POSENC_ISA_AVX512), "avx512");
    assert_string_equal(posenc_isa_name(POSENC_ISA_NEON), "neon");
}

static void test_no_such_tier(void **state) {
    (void)state;
    static const int bad[] = {-1, POSENC_ISA_COUNT, POSENC_ISA_COUNT + 1, INT32_MAX, INT32_MIN};
    posenc_isa_tier before = posenc_isa();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        posenc_isa_tier tier = (posenc_isa_tier)bad[i];
        assert_string_equal(posenc_isa_name(tier), "unknown");
        assert_int_equal(posenc_isa_built(tier), 0);
        assert_int_equal(posenc_isa_supported(tier), 0);
        assert_int_equal(posenc_isa_select(tier), POSENC_ERR_ENUM);
        assert_null(posenc_tier_kernels(tier));
        assert_int_equal(posenc_isa(), before);
    }
}

static void test_built(void **state) {
    (void)state;
    assert_true(posenc_isa_built(POSENC_ISA_SCALAR));
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        assert_int_equal(posenc_isa_built((posenc_isa_tier)tier), TEST_BUILT_TIERS >> tier & 1);
}

/* ---- Forcing a tier ---- */

/* The table in use is the tier's, and none of its kernels is another tier's. */
static void expect_running(posenc_isa_tier tier) {
    const posenc_kernels *active = posenc_active_kernels();
    assert_int_equal(posenc_isa(), tier);
    assert_ptr_equal(active, posenc_tier_kernels(tier));
    assert_int_equal(active->tier, tier);
    for (int other = 0; other < POSENC_ISA_COUNT; other++) {
        const posenc_kernels *table = posenc_tier_kernels((posenc_isa_tier)other);
        if (table == NULL || other == (int)tier)
            continue;
#define KERNEL(name, args) assert_true(active->name != table->name);
#include "kernels/kernels.def"
#undef KERNEL
    }
}

static void test_select(void **state) {
    (void)state;
    for (int tier = POSENC_ISA_COUNT - 1; tier >= 0; tier--) {
        posenc_isa_tier before = posenc_isa(), wanted = (posenc_isa_tier)tier;
        if (posenc_isa_supported(wanted)) {
            assert_int_equal(posenc_isa_select(wanted), POSENC_OK);
            expect_running(wanted);
        } else {
            assert_int_equal(posenc_isa_select(wanted), POSENC_ERR_ISA);
            assert_null(posenc_tier_kernels(wanted));
            expect_running(before);
        }
    }
}

/* ---- The decision, on machines made up ---- */

/* Features by the manuals; written out again, so that a slip in cpu.c shows. */
static const posenc_cpuid avx2_machine = {
    .leaf1_ecx = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29, /* FMA, OSXSAVE, AVX, F16C */
    .leaf7_ebx = 1u << 5,                                   /* AVX2 */
    .xcr0 = 0x6,                                            /* XMM, YMM */
};
static const posenc_cpuid avx512_machine = {
    .leaf1_ecx = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29,
    .leaf7_ebx = 1u << 5 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31, /* AVX2; F, DQ, BW, VL */
    .xcr0 = 0xe6,                                                     /* XMM, YMM; masks, high ZMM, ZMM 16-31 */
};
static const posenc_cpuid every_bit = {~0u, ~0u, ~(uint64_t)0, ~0u, ~0u, ~0u};

/* Takes one bit out of a machine that has them all: the tier goes exactly if the bit is among those needed. */
static void expect_needs(const posenc_cpuid *needed, posenc_isa_tier tier) {
    assert_true(posenc_cpuid_allows(needed, tier));
    assert_true(posenc_cpuid_allows(&every_bit, tier));
    for (int bit = 0; bit < 32; bit++) {
        posenc_cpuid machine = every_bit;
        machine.leaf1_ecx &= ~(1u << bit);
        assert_int_equal(posenc_cpuid_allows(&machine, tier), !(needed->leaf1_ecx >> bit & 1));
        machine = every_bit;
        machine.leaf7_ebx &= ~(1u << bit);
        assert_int_equal(posenc_cpuid_allows(&machine, tier), !(needed->leaf7_ebx >> bit & 1));
    }
    for (int bit = 0; bit < 64; bit++) {
        posenc_cpuid machine = every_bit;
        machine.xcr0 &= ~((uint64_t)1 << bit);
        assert_int_equal(posenc_cpuid_allows(&machine, tier), !(needed->xcr0 >> bit & 1));
    }
}

static void test_decision(void **state) {
    (void)state;
    const posenc_cpuid nothing = {0};
    expect_needs(&avx2_machine, POSENC_ISA_AVX2);
    expect_needs(&avx512_machine, POSENC_ISA_AVX512);
    assert_false(posenc_cpuid_allows(&avx2_machine, POSENC_ISA_AVX512));
    assert_true(posenc_cpuid_allows(&nothing, POSENC_ISA_SCALAR));
    assert_false(posenc_cpuid_allows(&nothing, POSENC_ISA_AVX2));
    assert_false(posenc_cpuid_allows(&nothing, POSENC_ISA_AVX512));
    assert_false(posenc_cpuid_allows(&every_bit, POSENC_ISA_NEON));
    assert_false(posenc_cpuid_allows(&every_bit, POSENC_ISA_COUNT));
}

static void test_feature_decision(void **state) {
    (void)state;
    posenc_cpuid machine = avx512_machine;
    assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AVX512_VNNI));
    machine.leaf7_ecx = 1u << 11;
    assert_true(posenc_cpuid_has(&machine, POSENC_CPU_AVX512_VNNI));
    assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AMX));
    machine.leaf7_edx = 1u << 22 | 1u << 24 | 1u << 25;
    assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AMX)); /* the system does not save tiles */
    for (int bit = 17; bit <= 18; bit++) {                    /* their configuration, or what they hold */
        machine.xcr0 = avx512_machine.xcr0 | 1u << bit;
        assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AMX));
    }
    machine.xcr0 = avx512_machine.xcr0 | 3u << 17;
    assert_true(posenc_cpuid_has(&machine, POSENC_CPU_AMX));
    const uint32_t amx = machine.leaf7_edx, parts[] = {1u << 22, 1u << 24, 1u << 25}; /* bf16, tiles, int8 */
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        machine.leaf7_edx = amx & ~parts[i];
        assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AMX));
    }
    machine.leaf7_edx = amx;
    machine.leaf7_ecx = 0; /* no VNNI */
    assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AMX));
    machine.leaf7_ecx = 1u << 11;
    machine.xcr0 = 0x6; /* the system does not save ZMM */
    assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AVX512_VNNI));
    assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AMX));
    machine = avx2_machine;
    assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AVX_VNNI));
    machine.leaf7_1_eax = 1u << 4;
    assert_true(posenc_cpuid_has(&machine, POSENC_CPU_AVX_VNNI));
    assert_false(posenc_cpuid_has(&machine, POSENC_CPU_AVX512_VNNI));
    assert_false(posenc_cpuid_has(&every_bit, POSENC_CPU_DOTPROD));
    assert_false(posenc_cpuid_has(&every_bit, POSENC_CPU_I8MM));
}

static void test_fma_decision(void **state) {
    (void)state;
    posenc_cpuid machine = avx2_machine;
    assert_true(posenc_cpuid_has_fma(&machine));
    machine.xcr0 = 0x2; /* the system does not save YMM */
    assert_false(posenc_cpuid_has_fma(&machine));
    for (int bit = 0; bit < 32; bit++) {
        machine = every_bit;
        machine.leaf1_ecx &= ~(1u << bit);
        assert_int_equal(posenc_cpuid_has_fma(&machine), bit != 12 && bit != 27 && bit != 28); /* FMA, OSXSAVE, AVX */
    }
}

static int n_reads;

static uint64_t read_made_up_xcr0(void) {
    n_reads++;
    return 0xe7;
}

/* XCR0 is read where the system says that it may be, and nowhere else: that would end the process. */
static void test_xcr0_is_read(void **state) {
    (void)state;
    n_reads = 0;
    for (int bit = 0; bit < 32; bit++)
        assert_int_equal(posenc_xcr0_if_readable(1u << bit, read_made_up_xcr0), bit == 27 ? 0xe7 : 0);
    assert_int_equal(posenc_xcr0_if_readable(~(1u << 27), read_made_up_xcr0), 0);
    assert_int_equal(n_reads, 1);
}

/* ---- Threads that choose while others compute ---- */

enum { N_THREADS = 4, N_CALLS = 500, DIM = 70, N_TOKENS = 5 };

typedef struct workload {
    const posenc_rope *rope;
    const float *expected;
    atomic_int mistakes;
} workload;

static posenc_status rotate(const posenc_rope *rope, float *data) {
    static const int32_t positions[N_TOKENS] = {0, 31, 32, 100000, -7};
    for (int i = 0; i < DIM * N_TOKENS; i++)
        data[i] = (float)i * 0.25f - 3.0f;
    posenc_view x = posenc_view_dense(data, POSENC_F32, DIM, 1, N_TOKENS, 1);
    return posenc_rope_apply(rope, &x, positions, &x, POSENC_FORWARD, posenc_range_all());
}

static void *choose_and_compute(void *argument) {
    workload *work = argument;
    float data[DIM * N_TOKENS];
    for (int call = 0; call < N_CALLS; call++) {
        posenc_isa_tier tier = (posenc_isa_tier)(call % POSENC_ISA_COUNT);
        posenc_status chosen = posenc_isa_select(tier);
        if (chosen != (posenc_isa_supported(tier) ? POSENC_OK : POSENC_ERR_ISA) ||
            !posenc_isa_supported(posenc_isa()) || rotate(work->rope, data) != POSENC_OK ||
            memcmp(data, work->expected, sizeof data) != 0)
            atomic_fetch_add(&work->mistakes, 1);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = DIM;
    posenc_rope *rope;
    float expected[DIM * N_TOKENS];
    assert_int_equal(posenc_rope_create(&params, &rope), POSENC_OK);
    assert_int_equal(posenc_isa_select(POSENC_ISA_SCALAR), POSENC_OK);
    assert_int_equal(rotate(rope, expected), POSENC_OK);

    workload work = {.rope = rope, .expected = expected};
    pthread_t threads[N_THREADS];
    for (int t = 0; t < N_THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, choose_and_compute, &work), 0);
    for (int t = 0; t < N_THREADS; t++)
        pthread_join(threads[t], NULL);
    posenc_rope_free(rope);
    assert_int_equal(work.mistakes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice_at_load),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_such_tier),     cmocka_unit_test(test_built),
        cmocka_unit_test(test_select),           cmocka_unit_test(test_decision),
        cmocka_unit_test(test_feature_decision), cmocka_unit_test(test_fma_decision),
        cmocka_unit_test(test_xcr0_is_read),     cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
