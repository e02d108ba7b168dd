/* How much stack a call takes (posenc.h): each from a thread whose stack is painted before. */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOWED = 64 * 1024, SIZE = 1 << 20, PAINT = 0xa5, DIM = 256, HEADS = 4, TOKENS = 40, KEYS = 600 };

/* ---- Calls with large frames ---- */

static posenc_rope *one_axis, *four_axes;
static posenc_rope_table table;
static posenc_encoding *sinusoid;
static posenc_score_params params = POSENC_SCORE_DEFAULTS;
static float x[DIM * KEYS], y[DIM * KEYS], rows[DIM * KEYS], weights[DIM];
static int32_t positions[4 * KEYS];
static void *scratch;

static posenc_view dense(float *data, int64_t n1, int64_t n2) {
    return posenc_view_dense(data, POSENC_F32, DIM, n1, n2, 1);
}

static posenc_status nothing(void) {
    return POSENC_OK;
}

static posenc_status rotate(const posenc_rope *rope) {
    posenc_view view = dense(x, HEADS, TOKENS);
    return posenc_rope_apply(rope, &view, positions, &view, POSENC_FORWARD, posenc_all_rows());
}

static posenc_status rotate_one(void) {
    return rotate(one_axis);
}

static posenc_status rotate_four(void) {
    return rotate(four_axes);
}

static posenc_status rotate_normed(void) {
    posenc_rope_task task = {.x = dense(x, HEADS, TOKENS),
                             .y = dense(y, HEADS, TOKENS),
                             .rotates = 1,
                             .scale = 1.0f,
                             .weight = weights,
                             .eps = 1e-6f};
    return posenc_rope_apply_tasks(four_axes, &task, 1, positions, NULL, POSENC_FORWARD, posenc_all_rows());
}

static posenc_status fill_table(void) {
    posenc_rope_table four = posenc_rope_table_dense(four_axes, rows);
    return posenc_rope_fill_table(four_axes, positions, TOKENS, POSENC_FORWARD, &four);
}

static posenc_status similarity(void) {
    posenc_view e = dense(x, 128, 1), to = posenc_view_dense(y, POSENC_F32, 128, 128, 1, 1);
    return posenc_cosine_similarity(&e, 0.0, &to, posenc_all_rows());
}

static posenc_status attend(void) {
    posenc_attention_task task = {.params = &params,
                                  .q = dense(x, 8, HEADS),
                                  .k = dense(x, KEYS / 2, 2),
                                  .v = dense(x, KEYS / 2, 2),
                                  .out = dense(y, 8, HEADS),
                                  .k_rope = one_axis,
                                  .k_table = &table};
    return posenc_attention_run(&task, scratch, posenc_all_rows());
}

static posenc_status write_sinusoid(void) {
    posenc_view to = dense(y, KEYS, 1);
    return posenc_encoding_write(sinusoid, positions, &to);
}

static posenc_status softmax_of_halves(void) {
    posenc_view scores = posenc_view_dense(x, POSENC_F16, DIM * KEYS, 1, 1, 1);
    return posenc_softmax(&params, &scores, &scores, posenc_all_rows());
}

static posenc_status sum_line(void) {
    posenc_view ds = posenc_view_dense(x, POSENC_F32, KEYS, 10, 2, 1);
    posenc_line line = {y, -KEYS, 2 * KEYS, 2, 2 * KEYS, 0};
    return posenc_line_gradient(&params, &ds, &line);
}

static posenc_status sandwich(void) {
    const posenc_sandwich scheme = POSENC_SANDWICH_DEFAULTS;
    posenc_line line = {y, 0, 5000, 1, 0, 0};
    return posenc_line_sandwich(&scheme, &line);
}

static const struct {
    const char *name;
    posenc_status (*call)(void);
} calls[] = {
    {"RoPE, one axis", rotate_one},     {"RoPE, four axes", rotate_four}, {"norm and RoPE, four axes", rotate_normed},
    {"table of four axes", fill_table}, {"similarity", similarity},       {"attention, keys rotated", attend},
    {"sinusoids", write_sinusoid},      {"gradient of a line", sum_line}, {"Sandwich", sandwich},
    {"softmax, f16", softmax_of_halves},
};

/* ---- The stack ---- */

static posenc_status (*under_test)(void);
static posenc_status status;

static void *run_call(void *unused) {
    status = under_test();
    return unused;
}

/* Bytes of the stack that were written to, by the thread's own beginning and end too. */
static size_t stack_of(posenc_status (*call)(void)) {
    pthread_attr_t attributes;
    pthread_t thread;
    unsigned char *stack = aligned_alloc(1 << 16, SIZE);
    assert_non_null(stack);
    memset(stack, PAINT, SIZE);
    under_test = call;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, SIZE), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_call, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    truth_ok(status);
    size_t untouched = 0;
    while (untouched < SIZE && stack[untouched] == PAINT)
        untouched++;
    free(stack);
    return SIZE - untouched;
}

static void set_up(void) {
    posenc_rope_params rope = POSENC_ROPE_DEFAULTS;
    rope.layout = POSENC_ROPE_HALF;
    rope.head_dim = rope.n_rot = DIM;
    truth_ok(posenc_rope_create(&rope, &one_axis));
    rope.axes = (posenc_rope_axes){POSENC_AXES_MROPE, 4, {32, 32, 32, 32}};
    truth_ok(posenc_rope_create(&rope, &four_axes));
    posenc_sinusoidal_params sinusoidal = POSENC_SINUSOIDAL_DEFAULTS;
    sinusoidal.layout = POSENC_SINUSOIDAL_INTERLEAVED;
    sinusoidal.dim = DIM;
    truth_ok(posenc_sinusoidal_create(&sinusoidal, &sinusoid));
    truth_fill(x, DIM * KEYS);
    truth_fill(weights, DIM);
    for (int32_t i = 0; i < 4 * KEYS; i++)
        positions[i] = i % KEYS;
    /* Pairs side by side, which have to be taken apart row by row. */
    table = (posenc_rope_table){.cos = rows, .sin = rows + 1, .row_stride = DIM, .step = 2};
    scratch = malloc(posenc_attention_scratch(DIM, DIM));
    assert_non_null(scratch);
}

static void tear_down(void) {
    free(scratch);
    posenc_rope_free(one_axis);
    posenc_rope_free(four_axes);
    posenc_encoding_free(sinusoid);
}

static void test_stack(void **state) {
    (void)state;
    set_up();
    for (int tier = -1; truth_next_tier(&tier);) {
        size_t least = stack_of(nothing);
        for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
            size_t all = stack_of(calls[k].call);
            size_t bytes = all > least ? all - least : 0; /* under a sanitizer a thread's own end may go deeper */
            print_message("%s: %s takes %zu bytes of stack\n", posenc_isa_name(posenc_isa()), calls[k].name, bytes);
            assert_in_range(bytes, 0, ALLOWED);
        }
    }
    tear_down();
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_stack)};
    return truth_run(tests);
}
