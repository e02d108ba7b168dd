/* SPDX-License-Identifier: MIT */
/* Golden vectors of the scalings, FORMULAS B.1, B.9-B.18 and B.25: every case of every file, to 1e-13 relative. */
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define TOLERANCE 1e-13 /* relative: double precision */

enum { MAX_VALUES = 256 };

typedef struct example {
    const char *where;
    const cJSON *inputs;
    double expected[MAX_VALUES];
    int n_expected;
    int n_checked;
} example;

/* ---- Reading ---- */

static const cJSON *input(const example *e, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(e->inputs, name);
}

/* A number or flag; 0 for null and for what is not there. */
static double value(const example *e, const char *name) {
    const cJSON *item = input(e, name);
    return cJSON_IsTrue(item) ? 1.0 : cJSON_IsNumber(item) ? item->valuedouble : 0.0;
}

/* Numbers of an array, whatever its nesting; returns how many. */
static int flatten(const cJSON *item, double *x, int n) {
    if (cJSON_IsArray(item)) {
        for (const cJSON *child = item->child; child != NULL; child = child->next)
            n = flatten(child, x, n);
        return n;
    }
    assert_true(cJSON_IsNumber(item) && n < MAX_VALUES);
    x[n] = item->valuedouble;
    return n + 1;
}

static void check(example *e, double got, double bound) {
    assert_true(e->n_checked < e->n_expected);
    truth_close(got, e->expected[e->n_checked], bound, "%s, value %d", e->where, e->n_checked);
    e->n_checked++;
}

static void check_relative(example *e, double got) {
    assert_true(e->n_checked < e->n_expected);
    check(e, got, TOLERANCE * fabs(e->expected[e->n_checked]));
}

/* A value of the file that the library does not hand out; its effect is checked by the others. */
static void pass_over(example *e) {
    e->n_checked++;
}

static posenc_rope_params params_of(const example *e, posenc_scaling_type type) {
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    p.layout = POSENC_ROPE_HALF;
    p.head_dim = p.n_rot = (int64_t)value(e, "n_rot");
    p.base = value(e, "base");
    p.scaling.type = type;
    p.scaling.factor = value(e, "factor");
    p.scaling.original_context = value(e, "original_context");
    return p;
}

static posenc_rope *create(const posenc_rope_params *p) {
    posenc_rope *rope;
    truth_ok(posenc_rope_create(p, &rope));
    return rope;
}

/* The rows that the first n frequencies and the magnitude ask for, on every tier. Rounding to float32 is off by 2^-24
 * of the magnitude, the angle in double by some 1e-12. */
static void check_rows(const example *e, const posenc_rope *rope, const double *frequencies, int64_t n) {
    static const int32_t positions[] = {0, 1, -7, 1000};
    enum { N_POSITIONS = sizeof positions / sizeof positions[0] };
    float rows[N_POSITIONS * 2 * MAX_VALUES];
    int64_t n_pairs = posenc_rope_pair_count(rope);
    double m = posenc_rope_magnitude(rope), bound = m * (0x1p-24 + 1e-12);
    posenc_rope_table table = posenc_rope_table_dense(rope, rows);
    assert_true(n_pairs <= MAX_VALUES);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_rope_table_fill(rope, positions, N_POSITIONS, POSENC_FORWARD, &table));
        for (int t = 0; t < N_POSITIONS; t++)
            for (int64_t i = 0; i < n; i++) {
                double angle = positions[t] * frequencies[i];
                truth_close((double)table.cos[t * table.row_stride + i], m * cos(angle), bound, "%s, cos %d", e->where,
                            (int)i);
                truth_close((double)table.sin[t * table.row_stride + i], m * sin(angle), bound, "%s, sin %d", e->where,
                            (int)i);
            }
    }
}

/* The first n frequencies. */
static void check_frequencies(example *e, const posenc_rope *rope, int64_t n) {
    check_rows(e, rope, e->expected + e->n_checked, n);
    for (int64_t i = 0; i < n; i++)
        check_relative(e, posenc_rope_theta(rope, i));
}

static void check_all_frequencies(example *e, const posenc_rope_params *p) {
    posenc_rope *rope = create(p);
    check_frequencies(e, rope, p->n_rot / 2);
    posenc_rope_free(rope);
}

/* ---- The items ---- */

static void check_b01(example *e) {
    posenc_rope_params p = params_of(e, POSENC_SCALING_NONE);
    check_all_frequencies(e, &p);
}

static void check_b09(example *e) {
    posenc_rope_params p = params_of(e, POSENC_SCALING_LINEAR);
    check_all_frequencies(e, &p);
}

/* The base that the second frequency tells. */
static double base_of(const posenc_rope *rope, double n_rot) {
    return pow(posenc_rope_theta(rope, 1), -n_rot / 2.0);
}

static int64_t at_most_8(int64_t n) {
    return n < 8 ? n : 8;
}

static void check_b10(example *e) {
    posenc_rope_params p = params_of(e, POSENC_SCALING_NTK);
    p.scaling.factor = value(e, "s");
    posenc_rope *rope = create(&p);
    check_relative(e, base_of(rope, (double)p.n_rot));
    check_frequencies(e, rope, at_most_8(p.n_rot / 2));
    check_relative(e, posenc_rope_theta(rope, p.n_rot / 2 - 1));
    posenc_rope_free(rope);
}

static void check_b11(example *e) {
    posenc_rope_params p = params_of(e, POSENC_SCALING_NTK_LENGTH);
    p.head_dim = p.n_rot = 8;
    p.scaling.alpha = value(e, "alpha");
    p.scaling.context = value(e, "target_len");
    p.scaling.original_context = value(e, "train_len");
    posenc_rope *rope = create(&p);
    check_relative(e, base_of(rope, 8.0));
    posenc_rope_free(rope);
}

static void check_b12(example *e) {
    posenc_rope_params p = params_of(e, POSENC_SCALING_DYNAMIC);
    p.scaling.context = value(e, "seq_len");
    p.scaling.original_context = value(e, "max_position");
    posenc_rope *rope = create(&p);
    check_relative(e, base_of(rope, (double)p.n_rot));
    check_frequencies(e, rope, at_most_8(p.n_rot / 2));
    posenc_rope_free(rope);
}

static void check_b13(example *e) {
    posenc_rope_params p = params_of(e, POSENC_SCALING_YARN);
    p.scaling.beta_fast = value(e, "beta_fast");
    p.scaling.beta_slow = value(e, "beta_slow");
    p.scaling.truncate = value(e, "truncate") != 0.0;
    p.scaling.max_context = value(e, "max_context"); /* 0 but where it stands for the factor */
    pass_over(e);                                    /* low and high */
    pass_over(e);
    check_all_frequencies(e, &p);
}

static void check_b14(example *e) {
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    p.layout = POSENC_ROPE_HALF;
    p.head_dim = p.n_rot = 64;
    p.scaling.type = POSENC_SCALING_YARN;
    p.scaling.factor = value(e, "factor");
    p.scaling.original_context = 4096.0;
    p.scaling.mscale = value(e, "mscale");
    p.scaling.mscale_all_dim = value(e, "mscale_all_dim");
    posenc_rope *rope = create(&p);
    check_relative(e, posenc_rope_magnitude(rope));
    check_relative(e, posenc_rope_softmax_multiplier(&p.scaling));
    posenc_rope_free(rope);
}

/* The file holds rotated heads: rotated by the library on every tier, |y| < 4 and the float32 tolerance of FORMULAS
 * 0.5. */
static void check_b15_rotated(const example *e, const posenc_rope *rope, const double *heads, int n_tokens,
                              int head_dim, const double *at) {
    float x[MAX_VALUES], y[MAX_VALUES];
    int32_t positions[MAX_VALUES];
    for (int i = 0; i < n_tokens * head_dim; i++)
        x[i] = (float)heads[i];
    for (int t = 0; t < n_tokens; t++)
        positions[t] = (int32_t)at[t];
    posenc_view from = posenc_view_dense(x, POSENC_F32, head_dim, 1, n_tokens, 1);
    posenc_view to = posenc_view_dense(y, POSENC_F32, head_dim, 1, n_tokens, 1);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_rope_apply(rope, &from, positions, &to, POSENC_FORWARD, posenc_range_all()));
        for (int i = 0; i < n_tokens * head_dim; i++)
            truth_close((double)y[i], e->expected[i], 2e-6, "%s, rotated, value %d", e->where, i);
    }
}

/* And, to show that nothing hides below that, in double by the frequencies and the magnitude of the library. */
static void check_b15(example *e) {
    double x[MAX_VALUES], list[MAX_VALUES], positions[MAX_VALUES];
    example of_params = {.inputs = input(e, "params")};
    const cJSON *factors = input(&of_params, "freq_factors");
    if (factors != NULL)
        assert_int_equal(flatten(factors, list, 0) * 2, (int)value(e, "n_dims"));
    int n_tokens = flatten(input(e, "positions"), positions, 0);
    int head_dim = flatten(input(e, "x"), x, 0) / n_tokens, n_rot = (int)value(e, "n_dims");
    int is_neox = strcmp(input(e, "mode")->valuestring, "NEOX") == 0;
    double freq_scale = input(&of_params, "freq_scale") ? value(&of_params, "freq_scale") : 1.0;
    double attn_factor = input(&of_params, "attn_factor") ? value(&of_params, "attn_factor") : 1.0;

    posenc_rope_params p;
    posenc_rope_ggml ggml = POSENC_ROPE_GGML_DEFAULTS;
    ggml.head_dim = head_dim;
    ggml.n_dims = n_rot;
    ggml.mode = is_neox ? 2 : 0;
    ggml.n_ctx_orig = (int)value(&of_params, "n_ctx_orig");
    ggml.freq_base = value(e, "freq_base");
    ggml.freq_scale = freq_scale;
    ggml.ext_factor = value(&of_params, "ext_factor");
    ggml.attn_factor = attn_factor;
    truth_ok(posenc_rope_params_from_ggml(&ggml, &p));
    p.scaling.freq_factors = factors != NULL ? list : NULL; /* doubles */
    posenc_rope *rope = create(&p);
    check_b15_rotated(e, rope, x, n_tokens, head_dim, positions);
    int half = n_rot / 2, stride = p.layout == POSENC_ROPE_HALF ? 1 : 2, apart = stride == 1 ? half : 1;
    for (int t = 0; t < n_tokens; t++) {
        double *head = x + t * head_dim;
        for (int i = 0; i < half; i++) {
            double angle = positions[t] * posenc_rope_theta(rope, i), m = posenc_rope_magnitude(rope);
            double x0 = head[i * stride], x1 = head[i * stride + apart];
            head[i * stride] = m * (x0 * cos(angle) - x1 * sin(angle));
            head[i * stride + apart] = m * (x1 * cos(angle) + x0 * sin(angle));
        }
        for (int c = 0; c < head_dim; c++) /* the angle is off by half an ulp of it, |y| < 4 */
            check(e, head[c], 4.0 * 0x1p-52 * (1.0 + positions[t]));
    }
    posenc_rope_free(rope);
}

static void check_b16(example *e) {
    double short_list[MAX_VALUES], long_list[MAX_VALUES];
    posenc_rope_params p = params_of(e, POSENC_SCALING_LONGROPE);
    p.scaling.n_factors = flatten(input(e, "short_factor"), short_list, 0);
    assert_int_equal(flatten(input(e, "long_factor"), long_list, 0), p.scaling.n_factors);
    p.scaling.short_factors = short_list;
    p.scaling.long_factors = long_list;
    p.scaling.context = value(e, "seq_len");
    p.scaling.max_context = value(e, "max_position");
    check_all_frequencies(e, &p);
    posenc_rope *rope = create(&p);
    check_relative(e, posenc_rope_magnitude(rope));
    posenc_rope_free(rope);
}

static void check_b17(example *e) {
    posenc_rope_params p = params_of(e, POSENC_SCALING_LLAMA3);
    p.scaling.low_freq_factor = value(e, "low_freq_factor");
    p.scaling.high_freq_factor = value(e, "high_freq_factor");
    check_all_frequencies(e, &p);
}

static void check_b18(example *e) {
    posenc_rope_params p = params_of(e, POSENC_SCALING_PROPORTIONAL);
    p.head_dim = p.n_rot = (int64_t)value(e, "head_dim");
    p.scaling.proportion = value(e, "proportion");
    check_all_frequencies(e, &p);
}

static void check_b25(example *e) {
    double positions[MAX_VALUES];
    int n = flatten(input(e, "positions"), positions, 0);
    posenc_rope_scaling ministral = POSENC_ROPE_SCALING_DEFAULTS;
    ministral.temperature_beta = value(e, "beta");
    ministral.original_context = value(e, "original_context");
    for (int i = 0; i < n; i++)
        check_relative(
            e, ministral.temperature_beta != 0.0
                   ? posenc_rope_query_temperature(&ministral, (int32_t)positions[i])
                   : posenc_query_temperature((int32_t)positions[i], value(e, "attn_scale"), value(e, "floor_scale")));
}

static const struct {
    const char *file;
    void (*check)(example *e);
} items[] = {
    {"B01_rope_frequencies", check_b01},
    {"B09_linear_pi", check_b09},
    {"B10_ntk_aware", check_b10},
    {"B11_ntk_seed", check_b11},
    {"B12_dynamic_ntk", check_b12},
    {"B13_yarn_frequencies", check_b13},
    {"B14_yarn_attention_factor", check_b14},
    {"B15_ggml_rope", check_b15},
    {"B16_longrope", check_b16},
    {"B17_llama3", check_b17},
    {"B18_proportional", check_b18},
    {"B25_query_temperature", check_b25},
};

static cJSON *read_json(const char *name) {
    char path[512];
    snprintf(path, sizeof path, TRUTH_VECTORS "/%s.json", name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    assert_true(n > 0 && feof(file));
    fclose(file);
    cJSON *json = cJSON_Parse(text);
    assert_non_null(json);
    free(text);
    return json;
}

static void test_vectors(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof items / sizeof items[0]; k++) {
        cJSON *json = read_json(items[k].file);
        int n_cases = 0;
        for (const cJSON *c = cJSON_GetObjectItem(json, "cases")->child; c != NULL; c = c->next, n_cases++) {
            char where[100];
            snprintf(where, sizeof where, "%s, case %d", items[k].file, n_cases);
            example e = {.where = where, .inputs = cJSON_GetObjectItem(c, "inputs")};
            e.n_expected = flatten(cJSON_GetObjectItem(c, "expected"), e.expected, 0);
            items[k].check(&e);
            if (e.n_checked != e.n_expected)
                fail_msg("%s: %d of %d values checked", where, e.n_checked, e.n_expected);
        }
        assert_true(n_cases > 0);
        print_message("%s: %d cases\n", items[k].file, n_cases);
        cJSON_Delete(json);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_vectors)};
    return truth_run(tests);
}
