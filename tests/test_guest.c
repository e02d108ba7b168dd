/* SPDX-License-Identifier: MIT */
/* The library as a guest: threads that begin at once and share what was set up, a process that forks, signals, and
 * modes of floating-point arithmetic that the host has set. Meant for ThreadSanitizer too (scripts/prove quiet), so it
 * draws few numbers and makes many calls. */
#include "truth.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "encoding/encoding.h"
#include "harness.h"

enum { N_THREADS = 4, N_CALLS = 100, DIM = 64, TOKENS = 5, KEYS = 40, RESULTS = 4 * KEYS * TOKENS + 2 * DIM * TOKENS };

static const int32_t positions[TOKENS] = {0, 1, 1000003, -7, 31};

typedef struct shared {
    posenc_rope *rope;
    posenc_encoding *encoding;
    posenc_fire *fire;
    posenc_freq *freq;
    posenc_relative_table *table;
    float query[DIM * TOKENS], scores[KEYS * TOKENS];
} shared;

static shared objects;
static float expected[RESULTS];
static atomic_int mistakes, n_ready;

/* One call of each family, results one behind the other. */
static int work(float *results) {
    const shared *o = &objects;
    memset(results, 0, RESULTS * sizeof *results);
    posenc_view x = posenc_view_dense((void *)(uintptr_t)o->query, POSENC_F32, DIM, 1, TOKENS, 1);
    posenc_view rotated = posenc_view_dense(results, POSENC_F32, DIM, 1, TOKENS, 1);
    posenc_view added = posenc_view_dense(results + DIM * TOKENS, POSENC_F32, DIM, TOKENS, 1, 1);
    float *rest = results + 2 * DIM * TOKENS;
    posenc_view scores = posenc_view_dense((void *)(uintptr_t)o->scores, POSENC_F32, KEYS, TOKENS, 1, 1);
    posenc_view softmax = posenc_view_dense(rest, POSENC_F32, KEYS, TOKENS, 1, 1);
    posenc_view bias = posenc_view_dense(rest + KEYS * TOKENS, POSENC_F32, KEYS, TOKENS, 1, 1);
    posenc_view products = posenc_view_dense(rest + 2 * KEYS * TOKENS, POSENC_F32, KEYS, TOKENS, 1, 1);
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal());
    params.positions.query_start = KEYS - TOKENS;
    posenc_range all = posenc_range_all();
    return posenc_rope_apply(o->rope, &x, positions, &rotated, POSENC_FORWARD, all) == POSENC_OK &&
           posenc_encoding_write(o->encoding, positions, &added) == POSENC_OK &&
           posenc_softmax(&params, &scores, &softmax, all) == POSENC_OK &&
           posenc_fire_write(o->fire, KEYS - TOKENS, &bias, all) == POSENC_OK &&
           posenc_relative_products(o->table, &x, NULL, &products, all) == POSENC_OK &&
           posenc_angle_rows(o->freq, positions, TOKENS, rest + 3 * KEYS * TOKENS, rest + 3 * KEYS * TOKENS + 2, 4) ==
               POSENC_OK;
}

/* ---- Attention in integers and in bf16: of so many queries that AMX's tiles are used where the CPU has them ---- */

enum {
    HEADS = 8,
    ATTENDED = DIM * HEADS * TOKENS,
    SEEN = 168, /* keys, 40 of them in integers */
    BLOCK_HALVES = POSENC_Q8_BYTES / 2,
    N_MATHS = 4
};

static struct {
    float queries[ATTENDED], keys[SEEN * DIM];
    uint16_t quants[SEEN * DIM / POSENC_QUANT_BLOCK * BLOCK_HALVES], halves[SEEN * DIM]; /* Q8_0; bf16 */
} attended;
static float expected_attention[N_MATHS * ATTENDED];

static void set_up_attention(void) {
    truth_fill(attended.queries, ATTENDED);
    truth_fill(attended.keys, SEEN * DIM);
    for (int i = 0; i < SEEN * DIM / POSENC_QUANT_BLOCK * BLOCK_HALVES; i++)
        attended.quants[i] = (uint16_t)(i % BLOCK_HALVES == 0 ? 0x2000 : i * 40503); /* a scale, or two numbers */
    for (int i = 0; i < SEEN * DIM; i++)
        attended.halves[i] = (uint16_t)(0x3f00 | (i * 40503 & 0x80ff));
}

static int attend_in(void *scratch, float *results) {
    static const struct {
        posenc_attention_math math;
        posenc_dtype type;
        const void *keys;
    } maths[N_MATHS] = {{POSENC_MATH_INT16, POSENC_Q8_0, attended.quants},
                        {POSENC_MATH_BF16, POSENC_BF16, attended.halves},
                        {POSENC_MATH_BF16X2, POSENC_BF16, attended.halves},
                        {POSENC_MATH_BF16X3, POSENC_F32, attended.keys}};
    int is_ok = 1;
    posenc_score_params params = posenc_score_params_of(0.125f, posenc_mask_none());
    for (int m = 0; m < N_MATHS; m++) {
        posenc_attention_args args = {.params = &params, .math = maths[m].math};
        args.q = posenc_view_dense(attended.queries, POSENC_F32, DIM, HEADS, TOKENS, 1);
        args.k = args.v = posenc_view_dense((void *)(uintptr_t)maths[m].keys, maths[m].type, DIM, 1, SEEN, 1);
        args.out = posenc_view_dense(results + m * ATTENDED, POSENC_F32, DIM, HEADS, TOKENS, 1);
        is_ok &= posenc_attention_run(&args, scratch, posenc_attention_workspace_bytes(DIM, DIM), posenc_range_all()) ==
                 POSENC_OK;
    }
    return is_ok;
}

static int attend(float *results) {
    void *scratch = malloc(posenc_attention_workspace_bytes(DIM, DIM));
    int is_ok = attend_in(scratch, results);
    free(scratch);
    return is_ok;
}

static int attends_as_expected(void) {
    float results[N_MATHS * ATTENDED];
    return attend(results) && memcmp(results, expected_attention, sizeof results) == 0;
}

/* ---- Threads, and a fork ---- */

static int works_as_expected(void) {
    float results[RESULTS];
    return work(results) && memcmp(results, expected, sizeof results) == 0 && attends_as_expected();
}

static void *run_thread(void *unused) {
    atomic_fetch_add(&n_ready, 1);
    while (atomic_load(&n_ready) < N_THREADS) {
    }
    for (int call = 0; call < N_CALLS; call++)
        if (!works_as_expected())
            atomic_fetch_add(&mistakes, 1);
    return unused;
}

static void set_up(void) {
    static float table[DIM * KEYS], ones[8] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    posenc_rope_params rope = POSENC_ROPE_DEFAULTS;
    rope.layout = POSENC_ROPE_HALF;
    rope.head_dim = rope.n_rot = DIM;
    posenc_sinusoidal_params sinusoidal = POSENC_SINUSOIDAL_DEFAULTS;
    sinusoidal.layout = POSENC_SINUSOIDAL_INTERLEAVED;
    sinusoidal.dim = DIM;
    posenc_fire_params fire = {1, 8, ones, ones, ones, ones, 0.1, 8.0, 1e-6, KEYS};
    truth_fill(table, DIM * KEYS);
    truth_fill(objects.query, DIM * TOKENS);
    truth_fill(objects.scores, KEYS * TOKENS);
    posenc_view rows = posenc_view_dense(table, POSENC_F32, DIM, 1, KEYS, 1);
    truth_ok(posenc_rope_create(&rope, &objects.rope));
    truth_ok(posenc_sinusoidal_create(&sinusoidal, &objects.encoding));
    truth_ok(posenc_fire_create(&fire, &objects.fire));
    truth_ok(posenc_freq_create(10000.0, 4, &objects.freq));
    truth_ok(posenc_relative_table_create(&rows, &objects.table));
}

static int make_objects(void **state) {
    truth_begin(state);
    set_up();
    set_up_attention();
    return !work(expected) || !attend(expected_attention);
}

static int free_objects(void **state) {
    posenc_rope_free(objects.rope);
    posenc_encoding_free(objects.encoding);
    posenc_fire_free(objects.fire);
    posenc_freq_free(objects.freq);
    posenc_relative_table_free(objects.table);
    return truth_end(state);
}

static void test_shared_objects(void **state) {
    (void)state;
    pthread_t threads[N_THREADS];
    atomic_store(&n_ready, 0);
    for (int t = 0; t < N_THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, run_thread, NULL), 0);
    for (int t = 0; t < N_THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(mistakes, 0);
}

/* A child goes on with the objects of its parent, and gets the same bits. */
static int is_right_in_child(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(works_as_expected() ? 0 : 1);
    int status = -1;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_fork(void **state) {
    (void)state;
    assert_true(is_right_in_child());
}

/* ---- A thread that attends while its process forks, and while signals interrupt it ---- */

static atomic_int is_over, n_handled, n_attended;
static void *handlers_scratch; /* a handler must not allocate */
static float handlers_results[N_MATHS * ATTENDED];

/* QEMU 7.2 enters handlers on x86-64 with a stack that is not aligned as a kernel aligns it. */
#ifdef __x86_64__
__attribute__((force_align_arg_pointer))
#endif
static void
attend_in_handler(int number) {
    (void)number;
    if (!attend_in(handlers_scratch, handlers_results) ||
        memcmp(handlers_results, expected_attention, sizeof handlers_results) != 0)
        atomic_fetch_add(&mistakes, 1);
    atomic_fetch_add(&n_handled, 1);
}

static void *attend_until_over(void *unused) {
    while (!atomic_load(&is_over)) {
        if (!attends_as_expected())
            atomic_fetch_add(&mistakes, 1);
        atomic_fetch_add(&n_attended, 1);
    }
    return unused;
}

static void test_interrupted_attention(void **state) {
    (void)state;
    enum { N_SIGNALS = 50, N_FORKS = 5 };
    if (!test_signals_save_vectors())
        skip();
    struct sigaction action = {.sa_handler = attend_in_handler}, before;
    pthread_t thread;
    handlers_scratch = malloc(posenc_attention_workspace_bytes(DIM, DIM));
    assert_non_null(handlers_scratch);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    atomic_store(&mistakes, 0);
    assert_int_equal(pthread_create(&thread, NULL, attend_until_over, NULL), 0);
    while (atomic_load(&n_attended) == 0) {
    }
    int n_right = 0;
    for (int k = 0; k < N_FORKS; k++)
        n_right += is_right_in_child();
    for (int k = 0; k < N_SIGNALS; k++) {
        pthread_kill(thread, SIGUSR1);
        while (atomic_load(&n_handled) <= k) {
        }
    }
    atomic_store(&is_over, 1);
    pthread_join(thread, NULL);
    sigaction(SIGUSR1, &before, NULL);
    free(handlers_scratch);
    assert_int_equal(n_right, N_FORKS);
    assert_int_equal(mistakes, 0);
}

/* ---- Threads that combine one encoding ---- */

enum { N_ROUNDS = 50, N_COPIES = 16, N_TERMS = 4 * POSENC_MAX_PARTS * POSENC_MAX_PARTS };

typedef struct copies {
    pthread_t thread;
    posenc_encoding *made[N_COPIES];
} copies;

static posenc_encoding *many_terms; /* the shared encoding N_TERMS times, so that a copy counts it so often */

static int n_users(void) {
    return atomic_load(&objects.encoding->fields[0].terms[0].generator->users);
}

static posenc_status combine(posenc_status (*function)(const posenc_part *, int64_t, posenc_encoding **),
                             const posenc_encoding *of, int64_t n, posenc_encoding **made) {
    posenc_part parts[POSENC_MAX_PARTS];
    for (int64_t p = 0; p < n; p++)
        parts[p] = (posenc_part){.encoding = of};
    return function(parts, n, made);
}

static void make_many_terms(void) {
    posenc_encoding *sum, *eight;
    truth_ok(combine(posenc_encoding_sum, objects.encoding, POSENC_MAX_PARTS, &sum));
    truth_ok(combine(posenc_encoding_concat, sum, POSENC_MAX_PARTS, &eight));
    truth_ok(combine(posenc_encoding_concat, eight, 4, &many_terms));
    posenc_encoding_free(sum);
    posenc_encoding_free(eight);
}

static void *make_copies(void *of_thread) {
    copies *c = of_thread;
    atomic_fetch_add(&n_ready, 1);
    while (atomic_load(&n_ready) < N_THREADS) {
    }
    for (int i = 0; i < N_COPIES; i++)
        if (combine(posenc_encoding_concat, many_terms, 1, &c->made[i]) != POSENC_OK)
            atomic_fetch_add(&mistakes, 1);
    return NULL;
}

static void *free_copies(void *of_thread) {
    copies *c = of_thread;
    for (int i = 0; i < N_COPIES; i++)
        posenc_encoding_free(c->made[i]);
    return NULL;
}

static void run_on_each(void *(*function)(void *), copies all[N_THREADS]) {
    atomic_store(&n_ready, 0);
    for (int t = 0; t < N_THREADS; t++)
        assert_int_equal(pthread_create(&all[t].thread, NULL, function, &all[t]), 0);
    for (int t = 0; t < N_THREADS; t++)
        pthread_join(all[t].thread, NULL);
}

/* All are made before one is freed, so that what is lost shows as a wrong count and not as a use after free. */
static void test_shared_parts(void **state) {
    (void)state;
    static copies all[N_THREADS];
    make_many_terms();
    for (int round = 0; round < N_ROUNDS; round++) {
        run_on_each(make_copies, all);
        assert_int_equal(mistakes, 0);
        assert_int_equal(n_users(), 1 + (1 + N_THREADS * N_COPIES) * N_TERMS);
        run_on_each(free_copies, all);
        assert_int_equal(n_users(), 1 + N_TERMS);
    }
    posenc_encoding_free(many_terms);
}

/* ---- Modes that the host has set ---- */

/* Denormals to zero on either side, 0 or 1; returns 0 where the CPU has no such mode. */
static int set_flush(int on) {
#if defined(__x86_64__)
    unsigned mode = __builtin_ia32_stmxcsr() & ~0x8040u;
    __builtin_ia32_ldmxcsr(on ? mode | 0x8040u : mode);
    return 1;
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    mode = on ? mode | 1u << 24 : mode & ~((uint64_t)1 << 24);
    __asm__ volatile("msr fpcr, %0" ::"r"(mode));
    return 1;
#elif defined(__arm__) && defined(__VFP_FP__)
    uint32_t mode;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(mode));
    mode = on ? mode | 1u << 24 : mode & ~(1u << 24);
    __asm__ volatile("vmsr fpscr, %0" ::"r"(mode));
    return 1;
#else
    (void)on;
    return 0;
#endif
}

static int flushes(void) {
    volatile float denormal = 0x1p-140f, half = 0.5f, product = denormal * half;
    return product == 0.0f;
}

/* Outside the modes that posenc.h expects results may differ, but by little: so much of 1, or of the value. A product's
 * DIM roundings, each of a sum below 4 DIM, go all one way. */
#define OUT_OF_MODE 0x1p-19
#define OUT_OF_MODE_PRODUCT ((double)DIM * 4.0 * (double)DIM * 0x1p-23)

static void compare(const float *results, const char *mode) {
    enum { PRODUCTS = 2 * DIM * TOKENS + 2 * KEYS * TOKENS };
    for (int i = 0; i < RESULTS; i++) {
        int is_product = i >= PRODUCTS && i < PRODUCTS + KEYS * TOKENS;
        double size = fmax(1.0, fabs((double)expected[i])),
               bound = is_product ? OUT_OF_MODE_PRODUCT : OUT_OF_MODE * size;
        truth_close((double)results[i], (double)expected[i], bound, "%s, result %d", mode, i);
    }
}

static void test_flush_to_zero(void **state) {
    (void)state;
    static float results[RESULTS];
    for (int tier = -1; truth_next_tier(&tier);) {
        if (!set_flush(1))
            skip(); /* there is no mode to set: neither x86-64 nor ARM */
        int worked = work(results), is_set = flushes();
        set_flush(0);
        assert_true(worked && is_set);
        truth_same_bits(results, expected, RESULTS, "denormals flushed");
    }
}

static void test_rounding_modes(void **state) {
    (void)state;
    static const struct {
        int mode;
        const char *name;
    } modes[] = {{FE_UPWARD, "upward"}, {FE_DOWNWARD, "downward"}, {FE_TOWARDZERO, "towards zero"}};
    static float results[RESULTS];
    for (int tier = -1; truth_next_tier(&tier);)
        for (size_t k = 0; k < sizeof modes / sizeof modes[0]; k++) {
            assert_int_equal(fesetround(modes[k].mode), 0);
            int worked = work(results), after = fegetround();
            fesetround(FE_TONEAREST);
            assert_true(worked);
            assert_int_equal(after, modes[k].mode);
            compare(results, modes[k].name);
        }
}

int main(void) {
#define GUEST(function) cmocka_unit_test_prestate_setup_teardown(function, make_objects, free_objects, #function)
    const struct CMUnitTest tests[] = {
        GUEST(test_shared_objects),        GUEST(test_shared_parts),  GUEST(test_fork),
        GUEST(test_interrupted_attention), GUEST(test_flush_to_zero), GUEST(test_rounding_modes),
    };
    return truth_run(tests);
}
