/* SPDX-License-Identifier: MIT */
/* Stack that calls take (posenc.h): each from a thread whose stack is painted before. The calls are those of
 * truth_stack_*.c; a public function that is no set-up and has none there is a failure. */
#include "truth_stack.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOWED = 64 * 1024, SIZE = 1 << 20, PAINT = 0xa5 };

float x[DIM * KEYS], y[DIM * KEYS], z[DIM * KEYS];
int32_t positions[4 * KEYS];

posenc_view dense(float *data, int64_t n1, int64_t n2) {
    return posenc_view_dense(data, POSENC_F32, DIM, n1, n2, 1);
}

static const struct {
    const stack_call *calls;
    const size_t *n;
} groups[] = {{encoding_calls, &n_encoding_calls}, {rel_bias_calls, &n_rel_bias_calls}, {score_calls, &n_score_calls}};
enum { GROUPS = sizeof groups / sizeof groups[0] };

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

static posenc_status nothing(void) {
    return POSENC_OK;
}

static void measure(const stack_call *c, size_t least) {
    size_t all = stack_of(c->call);
    size_t bytes = all > least ? all - least : 0; /* under a sanitizer a thread's own end may go deeper */
    print_message("%s: %s%s%s takes %zu bytes of stack\n", posenc_isa_name(posenc_isa()), c->function,
                  c->form[0] != '\0' ? ", " : "", c->form, bytes);
    assert_true(bytes <= ALLOWED); /* the line above says how many */
}

static void test_stack(void **state) {
    (void)state;
    truth_fill(x, DIM * KEYS);
    for (int32_t i = 0; i < 4 * KEYS; i++)
        positions[i] = i % KEYS;
    set_up_encodings();
    set_up_rel_bias();
    set_up_scores();
    for (int tier = -1; truth_next_tier(&tier);) {
        size_t least = stack_of(nothing);
        for (size_t g = 0; g < GROUPS; g++)
            for (size_t k = 0; k < *groups[g].n; k++)
                measure(&groups[g].calls[k], least);
    }
    tear_down_encodings();
    tear_down_scores();
}

/* ---- Nothing forgotten ---- */

static int ends_in(const char *name, const char *end) {
    return strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
}

/* Makes an object, reads its parameters, or answers a question with a number: no call on data. */
static int is_set_up(const char *function) {
    static const char *const ends[] = {"_create",     "_create_values",     "_free", "_concat", "_workspace_bytes",
                                       "_unit_count", "posenc_encoding_sum"};
    static const char *const others[] = {"posenc_attention_split_count",
                                         "posenc_attention_split_bytes",
                                         "posenc_encoding_dim",
                                         "posenc_encoding_axis_count",
                                         "posenc_freq_count",
                                         "posenc_freq_theta",
                                         "posenc_isa",
                                         "posenc_isa_built",
                                         "posenc_isa_name",
                                         "posenc_isa_supported",
                                         "posenc_query_temperature",
                                         "posenc_rope_axis",
                                         "posenc_rope_magnitude",
                                         "posenc_rope_axis_count",
                                         "posenc_rope_pair_count",
                                         "posenc_rope_params_from_ggml",
                                         "posenc_rope_set_list",
                                         "posenc_rope_set_number",
                                         "posenc_rope_set_string",
                                         "posenc_rope_query_temperature",
                                         "posenc_rope_softmax_multiplier",
                                         "posenc_rel_index_rule_of",
                                         "posenc_rope_theta",
                                         "posenc_isa_select",
                                         "posenc_status_string",
                                         "posenc_last_error",
                                         "posenc_version",
                                         "posenc_view_dense"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (ends_in(function, ends[i]))
            return 1;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(function, others[i]) == 0)
            return 1;
    return 0;
}

static int is_measured(const char *function) {
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t k = 0; k < *groups[g].n; k++)
            if (strcmp(groups[g].calls[k].function, function) == 0)
                return 1;
    return 0;
}

static void test_every_call_is_here(void **state) {
    (void)state;
    FILE *symbols = fopen(TRUTH_SYMBOLS, "r");
    char function[100];
    int n = 0;
    assert_non_null(symbols);
    while (fscanf(symbols, "%99s", function) == 1) {
        n += is_measured(function);
        if (is_measured(function) == is_set_up(function))
            fail_msg("%s is a call on data without a row in tests/truth_stack_*.c, or set-up with one", function);
    }
    fclose(symbols);
    print_message("%d functions\n", n);
    assert_true(n > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_stack), truth_test(test_every_call_is_here)};
    return truth_run(tests);
}
