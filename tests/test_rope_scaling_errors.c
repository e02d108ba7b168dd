/* SPDX-License-Identifier: MIT */
/* Scalings that cannot be: each names what is wrong, and creates nothing. */
#include "truth.h"

#include <math.h>
#include <string.h>

static const double good_list[8] = {1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0};

/* Parameters of the type that are accepted. */
static posenc_rope_params good(posenc_scaling_type type) {
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    p.layout = POSENC_ROPE_HALF;
    p.head_dim = p.n_rot = 16;
    p.scaling.type = type;
    p.scaling.factor = type == POSENC_SCALING_NONE || type == POSENC_SCALING_GGML ? 0.0 : 4.0;
    p.scaling.freq_scale = 0.25;
    p.scaling.original_context = 4096.0;
    p.scaling.max_context = p.scaling.context = 16384.0;
    p.scaling.proportion = 0.5;
    p.scaling.short_factors = p.scaling.long_factors = good_list;
    p.scaling.n_factors = 8;
    return p;
}

static void expect(const posenc_rope_params *p, posenc_status want, const char *what) {
    posenc_rope *rope = (posenc_rope *)(uintptr_t)16; /* must be replaced */
    posenc_status got = posenc_rope_create(p, &rope);
    if (got != want)
        fail_msg("%s: \"%s\" instead of \"%s\"", what, posenc_status_string(got), posenc_status_string(want));
    if ((rope != NULL) != (want == POSENC_OK))
        fail_msg("%s: rope is %p", what, (void *)rope);
    posenc_rope_free(rope);
}

/* One number changed. */
typedef struct number_row {
    posenc_scaling_type type;
    size_t offset;
    const char *field;
    double value;
    posenc_status want;
} number_row;

#define ROW(type, field, value, want)                                                                                  \
    { POSENC_SCALING_##type, offsetof(posenc_rope_params, field), #type " " #field " = " #value, value, want }
#define OK POSENC_OK
#define SCALING POSENC_ERR_SCALING
#define CONTEXT POSENC_ERR_CONTEXT
#define BASE POSENC_ERR_BASE

#define BAD_FACTOR(type)                                                                                               \
    ROW(type, scaling.factor, 0.999, SCALING), ROW(type, scaling.factor, -4.0, SCALING),                               \
        ROW(type, scaling.factor, (double)NAN, SCALING), ROW(type, scaling.factor, HUGE_VAL, SCALING),                 \
        ROW(type, scaling.factor, 1.1e9, SCALING), ROW(type, scaling.factor, 1.0, OK)
#define BAD_CONTEXT(type, field)                                                                                       \
    ROW(type, scaling.field, (double)NAN, CONTEXT), ROW(type, scaling.field, -1.0, CONTEXT),                           \
        ROW(type, scaling.field, 0.5, CONTEXT), ROW(type, scaling.field, HUGE_VAL, CONTEXT),                           \
        ROW(type, scaling.field, 1.1e15, CONTEXT)
#define BAD_RAMP(type)                                                                                                 \
    ROW(type, scaling.beta_fast, 0.5, SCALING), ROW(type, scaling.beta_fast, (double)NAN, SCALING),                    \
        ROW(type, scaling.beta_fast, HUGE_VAL, SCALING), ROW(type, scaling.beta_slow, 0.0, SCALING),                   \
        ROW(type, scaling.beta_slow, -1.0, SCALING), ROW(type, scaling.beta_slow, 33.0, SCALING),                      \
        ROW(type, scaling.beta_slow, 0.9e-9, SCALING), ROW(type, scaling.beta_fast, 1.1e9, SCALING),                   \
        ROW(type, scaling.ext_factor, (double)NAN, SCALING), ROW(type, scaling.ext_factor, HUGE_VAL, SCALING),         \
        ROW(type, base, 1.0, BASE)
#define BAD_ATTENTION(type)                                                                                            \
    ROW(type, scaling.attention_factor, -1.0, SCALING), ROW(type, scaling.attention_factor, (double)NAN, SCALING),     \
        ROW(type, scaling.attention_factor, HUGE_VAL, SCALING), ROW(type, scaling.attention_factor, 1e-39, SCALING),   \
        ROW(type, scaling.attention_factor, 0.5, OK)

static const number_row number_rows[] = {
    ROW(NONE, scaling.factor, 0.0, OK),
    ROW(NONE, scaling.factor, 1.0, OK),
    ROW(NONE, scaling.factor, 2.0, SCALING),
    ROW(NONE, scaling.factor, (double)NAN, SCALING),
    BAD_ATTENTION(NONE),
    ROW(LINEAR, scaling.factor, 0.0, SCALING),
    BAD_FACTOR(LINEAR),
    BAD_ATTENTION(LINEAR),
    ROW(NTK, scaling.factor, 0.0, SCALING),
    BAD_FACTOR(NTK),
    ROW(NTK, base, 1e30, BASE),
    ROW(NTK_LENGTH, scaling.alpha, 0.0, SCALING),
    ROW(NTK_LENGTH, scaling.alpha, -2.0, SCALING),
    ROW(NTK_LENGTH, scaling.alpha, (double)NAN, SCALING),
    ROW(NTK_LENGTH, scaling.alpha, HUGE_VAL, SCALING),
    ROW(NTK_LENGTH, scaling.alpha, 0.01, BASE), /* 10000 * 0.01^3 */
    ROW(NTK_LENGTH, scaling.context, 0.0, CONTEXT),
    ROW(NTK_LENGTH, scaling.context, 1e15, BASE),
    ROW(NTK_LENGTH, scaling.original_context, 0.0, CONTEXT),
    BAD_CONTEXT(NTK_LENGTH, context),
    BAD_CONTEXT(NTK_LENGTH, original_context),
    ROW(DYNAMIC, scaling.factor, 0.0, SCALING),
    BAD_FACTOR(DYNAMIC),
    BAD_CONTEXT(DYNAMIC, context),
    BAD_CONTEXT(DYNAMIC, max_context),
    ROW(DYNAMIC, scaling.context, 0.0, OK),
    ROW(DYNAMIC, scaling.max_context, 0.0, OK), /* original_context */
    ROW(DYNAMIC, scaling.original_context, 0.0, OK),
    BAD_FACTOR(YARN),
    ROW(YARN, scaling.factor, 0.0, OK), /* max_context / original_context */
    ROW(YARN, scaling.original_context, 0.0, OK),
    BAD_CONTEXT(YARN, original_context),
    BAD_RAMP(YARN),
    ROW(YARN, scaling.original_context, 6.28, CONTEXT), /* less than a turn of beta_slow */
    ROW(YARN, scaling.original_context, 1e13, CONTEXT), /* the ramp would begin beyond the last pair */
    BAD_ATTENTION(YARN),
    BAD_CONTEXT(LONGROPE, context),
    BAD_CONTEXT(LONGROPE, original_context),
    BAD_FACTOR(LONGROPE),
    ROW(LONGROPE, scaling.context, 0.0, CONTEXT),
    ROW(LONGROPE, scaling.factor, 0.0, OK),                /* max_context / original_context */
    ROW(LONGROPE, scaling.original_context, 0.0, OK),      /* max_context */
    ROW(LONGROPE, scaling.max_context, 0.0, OK),           /* there is a factor */
    ROW(LONGROPE, scaling.original_context, 1.0, SCALING), /* ln 1 = 0 */
    BAD_ATTENTION(LONGROPE),
    ROW(LLAMA3, scaling.factor, 0.0, SCALING),
    BAD_FACTOR(LLAMA3),
    BAD_CONTEXT(LLAMA3, original_context),
    ROW(LLAMA3, scaling.original_context, 0.0, CONTEXT),
    ROW(LLAMA3, scaling.low_freq_factor, 4.0, OK), /* equal to high */
    ROW(LLAMA3, scaling.low_freq_factor, 5.0, SCALING),
    ROW(LLAMA3, scaling.low_freq_factor, 0.0, SCALING),
    ROW(LLAMA3, scaling.low_freq_factor, (double)NAN, SCALING),
    ROW(LLAMA3, scaling.high_freq_factor, HUGE_VAL, SCALING),
    BAD_FACTOR(PROPORTIONAL),
    ROW(PROPORTIONAL, scaling.factor, 0.0, OK),
    ROW(PROPORTIONAL, scaling.proportion, -0.1, SCALING),
    ROW(PROPORTIONAL, scaling.proportion, 1.1, SCALING),
    ROW(PROPORTIONAL, scaling.proportion, (double)NAN, SCALING),
    ROW(PROPORTIONAL, scaling.proportion, 0.0, OK),
    ROW(GGML, scaling.factor, 1.0, OK),
    ROW(GGML, scaling.factor, 0.5, SCALING), /* it has freq_scale */
    ROW(GGML, scaling.factor, 4.0, SCALING),
    ROW(GGML, scaling.factor, (double)NAN, SCALING),
    ROW(GGML, scaling.freq_scale, 0.0, OK),
    ROW(GGML, scaling.freq_scale, 2.0, OK),
    ROW(GGML, scaling.freq_scale, 1e-9, OK),
    ROW(GGML, scaling.freq_scale, 0.9e-9, SCALING),
    ROW(GGML, scaling.freq_scale, -1.0, SCALING),
    ROW(GGML, scaling.freq_scale, (double)NAN, SCALING),
    ROW(GGML, scaling.freq_scale, HUGE_VAL, SCALING),
    ROW(GGML, scaling.freq_scale, 1.0001 * POSENC_MAX_FREQUENCY, SCALING),
    ROW(GGML, scaling.freq_scale, 1e5, SCALING), /* and 1 - 0.1 ln freq_scale is negative */
    BAD_CONTEXT(GGML, original_context),
    ROW(GGML, scaling.original_context, 0.0, OK),
    ROW(GGML, scaling.original_context, 6.28, OK),
    ROW(GGML, scaling.original_context, 1e13, OK),
    BAD_RAMP(GGML),
    BAD_ATTENTION(GGML),
    ROW(NONE, rot_fraction, (double)NAN, OK), /* n_rot says it */
};

static void test_numbers(void **state) {
    (void)state;
    for (int type = POSENC_SCALING_NONE; type <= POSENC_SCALING_GGML; type++) {
        posenc_rope_params p = good((posenc_scaling_type)type);
        expect(&p, POSENC_OK, "unchanged");
    }
    for (size_t k = 0; k < sizeof number_rows / sizeof number_rows[0]; k++) {
        posenc_rope_params p = good(number_rows[k].type);
        memcpy((char *)&p + number_rows[k].offset, &number_rows[k].value, sizeof(double));
        expect(&p, number_rows[k].want, number_rows[k].field);
    }
}

/* LONGROPE's factor, or the lengths that say it. */
static void test_longrope_lengths(void **state) {
    (void)state;
    static const double bad[] = {0.0, (double)NAN, -1.0, 0.5, HUGE_VAL, 1.1e15};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        posenc_rope_params p = good(POSENC_SCALING_LONGROPE);
        p.scaling.factor = 0.0;
        p.scaling.max_context = bad[k];
        expect(&p, POSENC_ERR_CONTEXT, "LONGROPE, neither factor nor max_context");
        p.scaling.attention_factor = 1.0;
        expect(&p, POSENC_OK, "LONGROPE, and none is needed");
        p.scaling.original_context = 0.0;
        expect(&p, POSENC_ERR_CONTEXT, "LONGROPE, no length");
    }
}

static void test_shapes(void **state) {
    (void)state;
    posenc_rope_params p = good(POSENC_SCALING_NTK);
    p.n_rot = 2;
    p.scaling.short_factors = p.scaling.long_factors = NULL;
    expect(&p, POSENC_ERR_N_ROT, "NTK, n_rot 2");
    p.scaling.type = POSENC_SCALING_DYNAMIC;
    expect(&p, POSENC_ERR_N_ROT, "DYNAMIC, n_rot 2");
    p.scaling.type = POSENC_SCALING_LINEAR;
    expect(&p, POSENC_OK, "LINEAR, n_rot 2");
    p.scaling.type = POSENC_SCALING_PROPORTIONAL;
    expect(&p, POSENC_ERR_N_ROT, "PROPORTIONAL, n_rot < head_dim");
    p.scaling.type = (posenc_scaling_type)(POSENC_SCALING_GGML + 1);
    expect(&p, POSENC_ERR_ENUM, "unknown type");
    p.scaling.type = (posenc_scaling_type)-1;
    expect(&p, POSENC_ERR_ENUM, "negative type");
    p.scaling.type = POSENC_SCALING_YARN;
    p.n_rot = 0;
    p.rot_fraction = 0.0;
    expect(&p, POSENC_OK, "nothing rotated, nothing scaled");
}

/* n_rot was forgotten: the whole head turns, where none of it did. */
static void test_whole_heads(void **state) {
    (void)state;
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    posenc_rope *rope;
    p.layout = POSENC_ROPE_HALF;
    p.head_dim = 128;
    truth_ok(posenc_rope_create(&p, &rope));
    assert_int_equal(posenc_rope_pair_count(rope), 64);
    posenc_rope_free(rope);
}

static void test_fractions(void **state) {
    (void)state;
    static const struct {
        double fraction;
        int64_t head_dim, pairs; /* pairs -1: refused */
    } rows[] = {{1.0, 128, 64}, {0.75, 128, 48}, {0.25, 96, 12}, {0.5, 6, -1},           {0.4, 80, 16},
                {0.0, 128, 0},  {-0.5, 128, -1}, {1.5, 128, -1}, {(double)NAN, 128, -1}, {HUGE_VAL, 128, -1}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        posenc_rope_params p = good(POSENC_SCALING_NONE);
        p.n_rot = 0;
        p.head_dim = rows[k].head_dim;
        p.rot_fraction = rows[k].fraction;
        p.scaling.short_factors = p.scaling.long_factors = NULL;
        expect(&p, rows[k].pairs < 0 ? POSENC_ERR_N_ROT : POSENC_OK, "rot_fraction");
        if (rows[k].pairs < 0)
            continue;
        posenc_rope *rope;
        truth_ok(posenc_rope_create(&p, &rope));
        assert_int_equal(posenc_rope_pair_count(rope), rows[k].pairs);
        posenc_rope_free(rope);
    }
}

static void test_lists(void **state) {
    (void)state;
    static const double bad_entries[] = {0.0, -1.0, (double)NAN, (double)INFINITY};
    for (int type = POSENC_SCALING_NONE; type <= POSENC_SCALING_GGML; type++)
        for (int entry = 0; entry < 8; entry++)
            for (int k = 0; k < 4; k++) {
                double list[8];
                memcpy(list, good_list, sizeof list);
                list[entry] = bad_entries[k];
                posenc_rope_params p = good((posenc_scaling_type)type);
                p.scaling.freq_factors = list;
                int is_taken = type == POSENC_SCALING_GGML && bad_entries[k] == -1.0;
                expect(&p, is_taken ? POSENC_OK : POSENC_ERR_FACTORS, "freq_factors");
            }
    static const double ones[12] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    for (int64_t n = -1; n <= 12; n++) {
        posenc_rope_params p = good(POSENC_SCALING_LONGROPE);
        p.scaling.short_factors = p.scaling.long_factors = ones;
        p.scaling.n_factors = n;
        expect(&p, n == 8 ? POSENC_OK : POSENC_ERR_FACTORS, "n_factors");
    }
    posenc_rope_params p = good(POSENC_SCALING_LONGROPE);
    p.scaling.short_factors = NULL;
    expect(&p, POSENC_OK, "the long list is the one");
    p.scaling.context = 4096.0;
    expect(&p, POSENC_ERR_FACTORS, "the short list is the one");
    p = good(POSENC_SCALING_LONGROPE);
    p.scaling.long_factors = NULL;
    expect(&p, POSENC_ERR_FACTORS, "no long list");

    static const double tiny[8] = {1e-300, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    p = good(POSENC_SCALING_NONE);
    p.scaling.freq_factors = tiny;
    expect(&p, POSENC_ERR_FREQUENCY, "a frequency of 1e300");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_numbers), truth_test(test_longrope_lengths), truth_test(test_shapes),
        truth_test(test_lists),   truth_test(test_whole_heads),      truth_test(test_fractions),
    };
    return truth_run(tests);
}
