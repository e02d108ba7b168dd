/* SPDX-License-Identifier: MIT */
/* The kernels of src/avx512/tiles*.c: all cases are held to scalar, no tile is in use behind a call, the hashes are
 * scalar's, and they work in signal handlers, in threads and after a fork. Compiled once for each tier, over tiles in
 * plain C (tests/emulated/tiles); and once with what the library has (TILES_ARE_COMPILED): on a CPU with AMX its own
 * instructions run, on one without a handler executes them. */
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "amx_order.h"
#include "check.h"
#include "core/cpu.h"
#include "emulated/tiles/tiles.h"
#if TILES_ARE_COMPILED
#include "emulated/tiles/trap.h"
#endif

_Thread_local emulated_tiles emulated_amx;

static int has_amx(void) {
    return TILES_ARE_COMPILED && posenc_cpu_has(POSENC_CPU_AMX);
}

/* The tier, and for the library's kernels the instructions that all CPUs with AMX have beside it. Called by each test,
 * for which cmocka sets handlers of its own. */
static int can_run(void) {
#if TILES_ARE_COMPILED
    if (!has_amx())
        emulated_trap_tiles();
#endif
    return test_tier_ready(TILES_TIER) && (!TILES_ARE_COMPILED || posenc_cpu_has(POSENC_CPU_AVX512_VNNI));
}

/* Whether this thread has tiles that are not in their first state, as XINUSE tells. */
static int are_tiles_in_use(void) {
#if TILES_ARE_COMPILED
    uint32_t low = 0, high = 0;
    if (has_amx())
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return emulated_amx.is_configured || (low & UINT32_C(3) << 17) != 0;
#else
    return emulated_amx.is_configured;
#endif
}

#define TILE_KERNELS(each) each(multiply_pairs) each(dot_quants) each(attend_quants)

/* The kernel itself, and under the checker. */
#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c) PASTE_(a, b, c)
#define TILED(name) PASTE(posenc_##name, _, TILES_OF)
#define DECLARE(name)                                                                                                  \
    void TILED(name)(const posenc_##name##_args *);                                                                    \
    static void name(const posenc_##name##_args *args) {                                                               \
        begin_call();                                                                                                  \
        TILED(name)(args);                                                                                             \
        end_call();                                                                                                    \
    }

static int n_with_tiles;

static void begin_call(void) {
    memset(&emulated_amx, 0, sizeof emulated_amx);
}

static void end_call(void) {
    n_with_tiles += has_amx() || emulated_amx.row_bytes[0] > 0;
    if (are_tiles_in_use())
        test_fail("tiles are in use behind the call");
}

TILE_KERNELS(DECLARE)

static posenc_kernels with_tiles(void) {
    posenc_kernels kernels = posenc_kernels_scalar;
#define SET(name) kernels.name = name;
    TILE_KERNELS(SET)
    return kernels;
}

static const kernel_id ids[] = {KERNEL_multiply_pairs, KERNEL_dot_quants, KERNEL_attend_quants};
enum { IDS = sizeof ids / sizeof ids[0] };

static void test_cases(void **state) {
    (void)state;
    if (!can_run())
        skip();
    posenc_kernels kernels = with_tiles();
    for (size_t k = 0; k < IDS; k++) {
        n_with_tiles = 0;
        check_kernels[ids[k]].sweep(&kernels);
        if (test_scale_or(1) == 1) /* of some of the cases none may fill a tile */
            assert_true(n_with_tiles > 0);
    }
}

static void test_hash(void **state) {
    (void)state;
    if (!can_run())
        skip();
    posenc_kernels kernels = with_tiles();
    for (size_t k = 0; k < IDS; k++)
        assert_true(check_hash(ids[k], &kernels) == check_hash(ids[k], &posenc_kernels_scalar));
}

/* Runs the check of posenc-check --amx-order. */
static void test_order(void **state) {
    (void)state;
    if (!can_run())
        skip();
    posenc_kernels kernels = with_tiles();
    assert_int_equal(check_amx_order_of(&kernels, TILES_ARE_COMPILED ? 2 : 50), 0);
}

/* ---- Signals and threads ---- */

/* Rows and columns that are no whole tiles. */
enum {
    ROWS = 51,
    COLUMNS = 37,
    PANELS = 2 * POSENC_PANEL,
    DIM = 64,
    N_BLOCKS = DIM / POSENC_QUANT_BLOCK,
    KEYS = 32,
    N_THREADS = 4,
    N_CALLS = 20
};

/* Operands and results of one call of each kernel. */
typedef struct operands {
    uint16_t bf16[ROWS * 2 * DIM];
    uint32_t words[DIM / 2 * PANELS];
    int16_t x[ROWS * DIM];
    float scales[ROWS * N_BLOCKS + N_BLOCKS * PANELS];
    int8_t panels[DIM * PANELS];
    uint16_t blocks[KEYS][N_BLOCKS * POSENC_Q8_BYTES / 2];
    float weights[ROWS * KEYS], keep[ROWS];
} operands;

typedef struct results {
    float pairs[ROWS * COLUMNS], dots[ROWS * COLUMNS], attended[ROWS * DIM];
} results;

static operands given;
static results expected;

static void draw_operands(void) {
    for (size_t i = 0; i < ROWS * 2 * DIM; i++)
        given.bf16[i] = (uint16_t)(0x3f00 | (test_random() & 0x80ff));
    for (size_t i = 0; i < DIM / 2 * PANELS; i++)
        given.words[i] = 0x3f003f00 | (uint32_t)(test_random() & 0x80ff80ff);
    for (size_t i = 0; i < ROWS * DIM; i++)
        given.x[i] = (int16_t)((int)test_random_below(2 * POSENC_QUANT_MAX + 1) - POSENC_QUANT_MAX);
    for (size_t i = 0; i < sizeof given.scales / sizeof given.scales[0]; i++)
        given.scales[i] = (float)(1 + test_random_below(1000)) * 0x1p-10f;
    for (size_t i = 0; i < sizeof given.panels; i++)
        given.panels[i] = (int8_t)test_random_below(256);
    for (size_t t = 0; t < KEYS; t++)
        for (size_t i = 0; i < sizeof given.blocks[0] / 2; i++)
            given.blocks[t][i] = (uint16_t)(i % (POSENC_Q8_BYTES / 2) == 0 ? 0x2000 : test_random() & 0xffff);
    for (size_t i = 0; i < ROWS * KEYS; i++)
        given.weights[i] = (float)test_random_below(1000) * 0x1p-10f;
    for (size_t i = 0; i < ROWS; i++)
        given.keep[i] = 0.5f;
}

/* A call of each kernel. */
static void compute(const posenc_kernels *kernels, results *to) {
    const void *rows[KEYS];
    float sums[ROWS * DIM];
    for (size_t t = 0; t < KEYS; t++)
        rows[t] = given.blocks[t];
    memset(to, 0, sizeof *to);
    posenc_multiply_pairs_args pairs = {.x = given.bf16,
                                        .x_stride = 2 * DIM,
                                        .n_parts = 1,
                                        .words = given.words,
                                        .y = to->pairs,
                                        .y_stride = COLUMNS,
                                        .depth = DIM,
                                        .n_x = ROWS,
                                        .n_columns = COLUMNS};
    posenc_dot_quants_args dots = {.x = given.x,
                                   .x_scales = given.scales,
                                   .x_stride = DIM,
                                   .scales_stride = N_BLOCKS,
                                   .panels = given.panels,
                                   .scales = given.scales + ROWS * N_BLOCKS,
                                   .y = to->dots,
                                   .y_stride = COLUMNS,
                                   .dim = DIM,
                                   .n_x = ROWS,
                                   .n_rows = COLUMNS};
    posenc_attend_quants_args attend = {.weights = given.weights,
                                        .weight_stride = KEYS,
                                        .rows = rows,
                                        .rows_type = POSENC_Q8_0,
                                        .keep = given.keep,
                                        .y = to->attended,
                                        .sums = sums,
                                        .y_stride = DIM,
                                        .sums_stride = DIM,
                                        .dim = DIM,
                                        .n = ROWS,
                                        .n_rows = KEYS};
    kernels->multiply_pairs(&pairs);
    kernels->dot_quants(&dots);
    kernels->attend_quants(&attend);
}

static void set_up(void) {
    test_case("signals and threads");
    draw_operands();
    compute(&posenc_kernels_scalar, &expected);
}

static const posenc_kernels tiles_alone = {
    .multiply_pairs = TILED(multiply_pairs), .dot_quants = TILED(dot_quants), .attend_quants = TILED(attend_quants)};
static volatile sig_atomic_t n_signals, n_wrong;

/* Body of a handler between two instructions of a kernel: the same kernels, with the tiles in their first state, as
 * the system gives them to it; the interrupted ones come back behind it. */
static void compute_aside(void) {
    emulated_tiles interrupted = emulated_amx;
    results got;
    memset(&emulated_amx, 0, sizeof emulated_amx);
    compute(&tiles_alone, &got);
    n_wrong += memcmp(&got, &expected, sizeof got) != 0 || are_tiles_in_use();
    emulated_amx = interrupted;
}

/* Not at all of hundreds, for a call takes as many instructions. */
static void before_instruction(void) {
    if (n_signals++ % 16 == 0)
        compute_aside();
}

/* At each sixteenth instruction of the emulation. */
static void test_between_instructions(void **state) {
    (void)state;
    if (!can_run() || has_amx())
        skip(); /* the CPU's own instructions call nothing: test_signals */
    results got;
    set_up();
    n_signals = n_wrong = 0;
    memset(&emulated_amx, 0, sizeof emulated_amx);
    emulated_amx.before_each = before_instruction;
    compute(&tiles_alone, &got);
    emulated_amx.before_each = NULL;
    assert_int_equal(n_wrong, 0);
    assert_true(n_signals > 100);
    assert_memory_equal(&got, &expected, sizeof got);
    assert_false(are_tiles_in_use());
}

/* One signal; the handler asks for the next. */
static void ask_for_signal(void) {
    struct itimerval soon = {.it_value.tv_usec = 50};
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void on_alarm(int number) {
    (void)number;
    compute_aside();
    n_signals++;
    ask_for_signal();
}

static void test_signals(void **state) {
    (void)state;
    if (!can_run() || !test_signals_save_vectors())
        skip();
    struct sigaction action = {.sa_handler = on_alarm}, before;
    results got;
    set_up();
    n_signals = n_wrong = 0;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    ask_for_signal();
    int n_mistakes = 0;
    while (n_signals < N_CALLS) {
        compute(&tiles_alone, &got);
        n_mistakes += memcmp(&got, &expected, sizeof got) != 0 || are_tiles_in_use();
    }
    struct itimerval never = {.it_value.tv_usec = 0};
    signal(SIGALRM, SIG_IGN); /* first: a handler that still runs asks for one more */
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_mistakes, 0);
}

static void test_fork(void **state) {
    (void)state;
    if (!can_run())
        skip();
    results got;
    set_up();
    compute(&tiles_alone, &got);
    pid_t child = fork();
    if (child == 0) {
        compute(&tiles_alone, &got);
        _exit(memcmp(&got, &expected, sizeof got) == 0 && !are_tiles_in_use() ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static atomic_int n_ready, mistakes;

static void *run_thread(void *unused) {
    results got;
    atomic_fetch_add(&n_ready, 1);
    while (atomic_load(&n_ready) < N_THREADS) {
    }
    for (int call = 0; call < N_CALLS; call++) {
        compute(&tiles_alone, &got);
        if (memcmp(&got, &expected, sizeof got) != 0 || are_tiles_in_use())
            atomic_fetch_add(&mistakes, 1);
    }
    return unused;
}

static void test_threads(void **state) {
    (void)state;
    if (!can_run())
        skip();
    pthread_t threads[N_THREADS];
    set_up();
    for (int t = 0; t < N_THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, run_thread, NULL), 0);
    for (int t = 0; t < N_THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(mistakes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),   cmocka_unit_test(test_order), cmocka_unit_test(test_between_instructions),
        cmocka_unit_test(test_signals), cmocka_unit_test(test_fork),  cmocka_unit_test(test_threads),
        cmocka_unit_test(test_hash), /* last, for it sets seed and scale */
    };
#if TILES_ARE_COMPILED
    if (!has_amx())
        puts("skipped: AMX's own instructions, which this CPU lacks: a handler executes them");
#endif
    return test_run_tier("tiles", TILES_TIER, tests, sizeof tests / sizeof tests[0]);
}
