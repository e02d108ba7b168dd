/* SPDX-License-Identifier: MIT */
/* RoPE parameters by their published names: every model file in models/, GGUF keys, and names nobody knows. */
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { MAX_FACTORS = 64, MAX_LISTS = 2 };

/* ---- A config.json, as an engine would read it ---- */

typedef struct config {
    posenc_rope_params params;
    double lists[MAX_LISTS][MAX_FACTORS];
    int n_lists, n_known;
} config;

static cJSON *read_model(const char *name) {
    char path[512];
    snprintf(path, sizeof path, TRUTH_MODELS "/%s.json", name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    static char text[1 << 16];
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    cJSON *json = cJSON_Parse(text);
    assert_non_null(json);
    return json;
}

static posenc_status set_list(config *c, const cJSON *field) {
    int64_t n = 0;
    double values[MAX_FACTORS];
    for (const cJSON *item = field->child; item != NULL; item = item->next) {
        if (!cJSON_IsNumber(item))
            return POSENC_ERR_ENUM;
        assert_true(n < MAX_FACTORS);
        values[n++] = item->valuedouble;
    }
    assert_true(c->n_lists < MAX_LISTS);
    memcpy(c->lists[c->n_lists], values, sizeof values);
    posenc_status status = posenc_rope_set_list(&c->params, field->string, c->lists[c->n_lists], n);
    c->n_lists += status == POSENC_OK;
    return status;
}

/* Offers every field; what is not about RoPE is refused as unknown and nothing else. */
static void read_fields(config *c, const cJSON *object) {
    for (const cJSON *field = object == NULL ? NULL : object->child; field != NULL; field = field->next) {
        posenc_status status = POSENC_ERR_ENUM;
        if (cJSON_IsNumber(field))
            status = posenc_rope_set_number(&c->params, field->string, field->valuedouble);
        else if (cJSON_IsBool(field))
            status = posenc_rope_set_number(&c->params, field->string, cJSON_IsTrue(field));
        else if (cJSON_IsString(field))
            status = posenc_rope_set_string(&c->params, field->string, field->valuestring);
        else if (cJSON_IsArray(field))
            status = set_list(c, field);
        assert_true(status == POSENC_OK || status == POSENC_ERR_ENUM);
        c->n_known += status == POSENC_OK;
    }
}

static double number_or(const cJSON *object, const char *name, double otherwise) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return item == NULL ? otherwise : item->valuedouble;
}

static void read_config(config *c, const char *name) {
    cJSON *json = read_model(name);
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(json, "text_config");
    const cJSON *top = text != NULL ? text : json;
    *c = (config){.params = POSENC_ROPE_DEFAULTS};
    c->params.layout = POSENC_ROPE_HALF;
    c->params.head_dim = (int64_t)(number_or(top, "hidden_size", 0.0) / number_or(top, "num_attention_heads", 1.0));
    c->params.rot_fraction = 1.0;
    if (number_or(top, "qk_rope_head_dim", 0.0) != 0.0)
        c->params.head_dim = (int64_t)number_or(top, "qk_rope_head_dim", 0.0); /* that slice of the head alone */
    read_fields(c, top);
    read_fields(c, cJSON_GetObjectItemCaseSensitive(top, "rope_scaling"));
    cJSON_Delete(json);
}

/* ---- The models ---- */

/* theta of pair i is base^(-2i/n_rot) / divisor. */
typedef struct model {
    const char *name;
    int64_t n_rot;
    double base;
    double context; /* the longest sequence to come */
    double magnitude, softmax_multiplier;
    struct {
        int64_t i;
        double divisor;
    } pairs[3];
    int n_known;
} model;

#define LN_4 1.3862943611198906
#define LN_32 3.4657359027997265

static const model models[] = {
    {"llama-2-7b", 128, 1e4, 0, 1.0, 1.0, {{0, 1.0}, {31, 1.0}, {63, 1.0}}, 2},
    /* turns in 8192 tokens: pair 14 makes 5.07, pair 18 0.80 */
    {"llama-3.2-1b", 64, 5e5, 0, 1.0, 1.0, {{0, 1.0}, {13, 1.0}, {18, 32.0}}, 8},
    {"mistral-7b", 128, 1e4, 0, 1.0, 1.0, {{0, 1.0}, {31, 1.0}, {63, 1.0}}, 2},
    /* dim(32) = 23.6, dim(1) = 39.7 */
    {"qwen2.5-7b-yarn", 128, 1e6, 0, 1.0 + 0.1 * LN_4, 1.0, {{23, 1.0}, {40, 4.0}, {63, 4.0}}, 5},
    {"qwen3-8b", 128, 1e6, 0, 1.0, 1.0, {{0, 1.0}, {31, 1.0}, {63, 1.0}}, 3},
    {"qwen2-vl-7b", 128, 1e6, 0, 1.0, 1.0, {{0, 1.0}, {31, 1.0}, {63, 1.0}}, 3},
    {"qwen3-vl-8b", 128, 5e6, 0, 1.0, 1.0, {{0, 1.0}, {31, 1.0}, {63, 1.0}}, 4},
    {"gemma-2-9b", 256, 1e4, 0, 1.0, 1.0, {{0, 1.0}, {64, 1.0}, {127, 1.0}}, 3},
    {"gemma-3-12b", 256, 1e6, 0, 1.0, 1.0, {{0, 8.0}, {64, 8.0}, {127, 8.0}}, 6},
    {"phi-4-mini", 96, 1e4, 131072, 1.1902380714238083, 1.0, {{0, 1.0}, {1, 1.118320672}, {47, 47.77}}, 7},
    {"phi-4-mini", 96, 1e4, 4096, 1.1902380714238083, 1.0, {{0, 1.0}, {1, 1.0}, {47, 1.0}}, 7},
    /* dim(32) = 10.5, dim(1) = 22.5 */
    {"deepseek-v3", 64, 1e4, 0, 1.0, 1.8738542070926265, {{10, 1.0}, {23, 40.0}, {31, 40.0}}, 9},
    /* dim(32) = 8.09, dim(1) = 17.40, not rounded */
    {"gpt-oss-20b", 64, 1.5e5, 0, 1.0 + 0.1 * LN_32, 1.0, {{8, 1.0}, {9, 1.10429991731454}, {18, 32.0}}, 9},
    {"glm-4-9b-0414", 64, 1e4, 0, 1.0, 1.0, {{0, 1.0}, {16, 1.0}, {31, 1.0}}, 4},
    {"falcon-7b", 64, 1e4, 0, 1.0, 1.0, {{0, 1.0}, {16, 1.0}, {31, 1.0}}, 0},
};

static void test_models(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof models[0]; k++) {
        const model *m = &models[k];
        config c;
        read_config(&c, m->name);
        c.params.scaling.context = m->context;
        posenc_rope *rope;
        posenc_status status = posenc_rope_create(&c.params, &rope);
        if (status != POSENC_OK)
            fail_msg("%s: %s", m->name, posenc_status_string(status));
        assert_int_equal(posenc_rope_pair_count(rope) * 2, m->n_rot);
        for (int j = 0; j < 3; j++) {
            int64_t i = m->pairs[j].i;
            double want = pow(m->base, -2.0 * (double)i / (double)m->n_rot) / m->pairs[j].divisor;
            truth_close(posenc_rope_theta(rope, i), want, 1e-14 * want, "%s, pair %d", m->name, (int)i);
        }
        truth_close(posenc_rope_magnitude(rope), m->magnitude, 1e-15, "%s, magnitude", m->name);
        truth_close(posenc_rope_softmax_multiplier(&c.params.scaling), m->softmax_multiplier, 1e-15, "%s", m->name);
        if (c.n_known != m->n_known)
            fail_msg("%s: %d fields understood instead of %d", m->name, c.n_known, m->n_known);
        posenc_rope_free(rope);
    }
}

/* ---- Names ---- */

static posenc_rope_params set(const char *name, double value) {
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    if (posenc_rope_set_number(&p, name, value) != POSENC_OK)
        fail_msg("%s is not known", name);
    return p;
}

#define SETS(name, value, field, want)                                                                                 \
    do {                                                                                                               \
        posenc_rope_params set_params = set(name, value);                                                              \
        if (!((double)set_params.field == (double)(want)))                                                             \
            fail_msg("%s: " #field " is %g", name, (double)set_params.field);                                          \
    } while (0)

static void test_names(void **state) {
    (void)state;
    SETS("head_dim", 80, head_dim, 80);
    SETS("head_dim", 80, rot_fraction, 1);
    SETS("rotary_dim", 64, n_rot, 64);
    SETS("partial_rotary_factor", 0.75, rot_fraction, 0.75);
    SETS("partial_rotary_factor", 0.75, scaling.proportion, 0.75);
    SETS("rotary_pct", 0.25, rot_fraction, 0.25);
    SETS("rope_theta", 5e5, base, 5e5);
    SETS("rotary_emb_base", 2e4, base, 2e4);
    SETS("max_position_embeddings", 4096, scaling.max_context, 4096);
    SETS("original_max_position_embeddings", 4096, scaling.original_context, 4096);
    SETS("factor", 8, scaling.factor, 8);
    SETS("beta_fast", 16, scaling.beta_fast, 16);
    SETS("beta_slow", 2, scaling.beta_slow, 2);
    SETS("truncate", 0, scaling.truncate, 0);
    SETS("extrapolation_factor", 0.5, scaling.ext_factor, 0.5);
    SETS("attention_factor", 1, scaling.attention_factor, 1);
    SETS("mscale", 0.707, scaling.mscale, 0.707);
    SETS("mscale_all_dim", 0.707, scaling.mscale_all_dim, 0.707);
    SETS("low_freq_factor", 2, scaling.low_freq_factor, 2);
    SETS("high_freq_factor", 8, scaling.high_freq_factor, 8);
    SETS("global_rope_theta", 16e4, base, 16e4);
    SETS("rope_ratio", 500, base, 5e6);
    SETS("local_rope_theta", 2e4, local_base, 2e4);
    SETS("rope_local_base_freq", 2e4, local_base, 2e4);
    SETS("rope_local_base_freq", 2e4, base, 1e4);
    SETS("rotary_emb_fraction", 0.5, rot_fraction, 0.5);
    SETS("short_mscale", 1.25, scaling.short_mscale, 1.25);
    SETS("long_mscale", 1.5, scaling.long_mscale, 1.5);
    SETS("attn_factor", 1.1, scaling.attn_factor, 1.1);
    SETS("attn_factor", 1, scaling.attn_factor, 0);
    SETS("alpha", 1000, scaling.ntk_alpha, 1000);
    SETS("llama_4_scaling_beta", 0.1, scaling.temperature_beta, 0.1);

    SETS("llama.attention.key_length", 128, head_dim, 128);
    SETS("llama.context_length", 4096, scaling.max_context, 4096);
    SETS("qwen2.rope.dimension_count", 64, n_rot, 64);
    SETS("rope.dimension_count", 64, n_rot, 64);
    SETS("gpt-oss.rope.freq_base", 15e4, base, 15e4);
    SETS("llama.rope.scale_linear", 2, scaling.factor, 2);
    SETS("llama.rope.scaling.factor", 4, scaling.factor, 4);
    SETS("rope.scaling.original_context_length", 512, scaling.original_context, 512);
    SETS("phi3.rope.scaling.attn_factor", 1.19, scaling.attn_factor, 1.19);
    SETS("llama.rope.scaling.attn_factor", 1, scaling.attn_factor, 0);
    SETS("llama.rope.scaling.yarn_attn_factor", 1.5, scaling.attention_factor, 1.5);
    SETS("llama.rope.scaling.yarn_attn_factor", 1, scaling.attention_factor, 0);
    SETS("x.rope.scaling.yarn_ext_factor", 0.5, scaling.ext_factor, 0.5);
    SETS("x.rope.scaling.yarn_beta_fast", 16, scaling.beta_fast, 16);
    SETS("x.rope.scaling.yarn_beta_slow", 2, scaling.beta_slow, 2);
    SETS("deepseek2.rope.scaling.yarn_log_multiplier", 0.1, scaling.mscale_all_dim, 1);
    SETS("deepseek2.rope.scaling.yarn_log_multiplier", 0.1, scaling.mscale, 1);
    SETS("deepseek.rope.scaling.yarn_log_multiplier", 0.1, scaling.mscale_all_dim, 0.1);
    SETS("mistral3.rope.scaling.yarn_log_multiplier", 0.5, scaling.mscale_all_dim, 0.5);
    SETS("mistral3.rope.scaling.yarn_log_multiplier", 0.5, scaling.mscale, 1);
}

/* Magnitude of a file's attention factors, in any order; llama.cpp's rule. */
static void test_attention_factors(void **state) {
    (void)state;
    static const struct {
        const char *type, *first, *second;
        double a, b, want;
    } rows[] = {
        {"yarn", "attn_factor", "yarn_attn_factor", 1.5, 1.0, 1.811916}, /* (1 + 0.1 ln 8) * 1.5: it replaced */
        {"yarn", "attn_factor", "yarn_attn_factor", 1.0, 1.0, 1.20794},
        {"yarn", "yarn_attn_factor", "attn_factor", 1.25, 1.0, 1.25}, /* the 1 erased the other */
        {"yarn", "yarn_attn_factor", "attn_factor", 1.25, 2.0, 2.5},
        {"yarn", "yarn_log_multiplier", "attn_factor", 0.5, 1.0, 1.09418}, /* over 1 + 0.05 ln 8 */
        {"linear", "attn_factor", "yarn_attn_factor", 1.5, 1.0, 1.5},
        {"longrope", "attn_factor", "yarn_attn_factor", 1.19, 1.0, 1.19},
    };
    static const double list[4] = {1.0, 1.0, 1.0, 1.0};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        for (int swapped = 0; swapped < 2; swapped++) {
            posenc_rope_params params = POSENC_ROPE_DEFAULTS;
            char first[64], second[64];
            snprintf(first, sizeof first, "llama.rope.scaling.%s", swapped ? rows[k].second : rows[k].first);
            snprintf(second, sizeof second, "llama.rope.scaling.%s", swapped ? rows[k].first : rows[k].second);
            params.layout = POSENC_ROPE_HALF;
            params.head_dim = params.n_rot = 8;
            params.scaling.short_factors = params.scaling.long_factors = list;
            params.scaling.n_factors = 4;
            params.scaling.context = 4096.0;
            truth_ok(posenc_rope_set_string(&params, "llama.rope.scaling.type", rows[k].type));
            truth_ok(posenc_rope_set_number(&params, "llama.rope.scaling.factor", 8.0));
            truth_ok(posenc_rope_set_number(&params, "llama.rope.scaling.original_context_length", 4096.0));
            truth_ok(posenc_rope_set_number(&params, "llama.context_length", 32768.0));
            truth_ok(posenc_rope_set_number(&params, first, swapped ? rows[k].b : rows[k].a));
            truth_ok(posenc_rope_set_number(&params, second, swapped ? rows[k].a : rows[k].b));
            posenc_rope *rope;
            truth_ok(posenc_rope_create(&params, &rope));
            truth_close(posenc_rope_magnitude(rope), rows[k].want, 1e-5, "%s, %s", rows[k].type, first);
            posenc_rope_free(rope);
        }
}

/* Files of DeepSeek-V2's relatives hold a tenth of mscale_all_dim, too: cosine and sine stay, and the softmax scale has
 * (1 + 0.1 ln 8)^2. */
static void test_log_multipliers(void **state) {
    (void)state;
    static const struct {
        const char *architecture;
        double value, magnitude, multiplier;
    } rows[] = {
        {"axk2", 0.1, 1.0, 1.459129},
        {"deepseek2", 0.1, 1.0, 1.459129},
        {"deepseek32", 0.1, 1.0, 1.459129},
        {"mistral4", 0.1, 1.0, 1.459129},
        {"gigachat35", 0.1, 1.0, 1.459129},
        {"instella-moe", 0.1, 1.0, 1.459129},
        {"longcat-flash-ngram", 0.1, 1.0, 1.459129},
        {"xing4_0", 0.1, 1.0, 1.459129},
        {"mistral4", 0.0707, 1.0, 1.315647}, /* (1 + 0.0707 ln 8)^2 */
        {"mistral3", 1.0, 1.0, 1.459129},
        {"llama", 0.5, 1.094180, 1.218754}, /* its mscale is 1 */
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        posenc_rope_params p = POSENC_ROPE_DEFAULTS;
        char name[80];
        p.layout = POSENC_ROPE_HALF;
        p.head_dim = p.n_rot = 64;
        truth_ok(posenc_rope_set_string(&p, "rope.scaling.type", "yarn"));
        truth_ok(posenc_rope_set_number(&p, "rope.scaling.factor", 8.0));
        truth_ok(posenc_rope_set_number(&p, "rope.scaling.original_context_length", 4096.0));
        snprintf(name, sizeof name, "%s.rope.scaling.yarn_log_multiplier", rows[k].architecture);
        truth_ok(posenc_rope_set_number(&p, name, rows[k].value));
        posenc_rope *rope;
        truth_ok(posenc_rope_create(&p, &rope));
        truth_close(posenc_rope_magnitude(rope), rows[k].magnitude, 1e-6, "%s", name);
        truth_close(posenc_rope_softmax_multiplier(&p.scaling), rows[k].multiplier, 1e-6, "%s", name);
        posenc_rope_free(rope);
    }
}

/* Which of two lengths counts, and which factor: transformers' rule. */
static void test_lengths(void **state) {
    (void)state;
    static const struct {
        const char *type;
        double factor, original, published, context;
        double theta, magnitude; /* of the last pair, n_rot = 4, base 100 */
    } rows[] = {
        /* dynamic: the base, times (1 + 2 (L - C)/C)^2, and theta is base^(-1/2) */
        {"dynamic", 2.0, 4096.0, 8192.0, 8192.0, 0.1, 1.0}, /* C is 8192 */
        {"dynamic", 2.0, 4096.0, 8192.0, 16384.0, 0.1 / 3.0, 1.0},
        {"dynamic", 2.0, 4096.0, 0.0, 8192.0, 0.1 / 3.0, 1.0},
        {"dynamic", 2.0, 0.0, 8192.0, 16384.0, 0.1 / 3.0, 1.0},
        /* longrope: short lists divide by 2, long ones by 5; sqrt(1 + ln s / ln C) */
        {"longrope", 0.0, 4096.0, 131072.0, 8192.0, 0.02, 1.190238}, /* s is 32 */
        {"longrope", 8.0, 4096.0, 131072.0, 8192.0, 0.02, 1.118034}, /* s is 8 */
        {"longrope", 8.0, 4096.0, 0.0, 4096.0, 0.05, 1.118034},
        {"longrope", 8.0, 0.0, 4096.0, 4096.0, 0.05, 1.118034}, /* C is 4096 */
        {"longrope", 8.0, 0.0, 4096.0, 4097.0, 0.02, 1.118034},
        {"longrope", 1.0, 4096.0, 131072.0, 4096.0, 0.05, 1.0},
        {"longrope", 0.0, 0.0, 4096.0, 4097.0, 0.02, 1.0},
    };
    static const double short_list[2] = {2.0, 2.0}, long_list[2] = {5.0, 5.0};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        posenc_rope_params p = POSENC_ROPE_DEFAULTS;
        p.layout = POSENC_ROPE_HALF;
        truth_ok(posenc_rope_set_number(&p, "head_dim", 4.0));
        truth_ok(posenc_rope_set_number(&p, "rope_theta", 100.0));
        truth_ok(posenc_rope_set_string(&p, "rope_type", rows[k].type));
        truth_ok(posenc_rope_set_number(&p, "factor", rows[k].factor));
        truth_ok(posenc_rope_set_number(&p, "original_max_position_embeddings", rows[k].original));
        truth_ok(posenc_rope_set_number(&p, "max_position_embeddings", rows[k].published));
        truth_ok(posenc_rope_set_list(&p, "short_factor", short_list, 2));
        truth_ok(posenc_rope_set_list(&p, "long_factor", long_list, 2));
        p.scaling.context = rows[k].context;
        posenc_rope *rope;
        posenc_status status = posenc_rope_create(&p, &rope);
        if (status != POSENC_OK)
            fail_msg("%s, row %d: %s", rows[k].type, (int)k, posenc_status_string(status));
        truth_close(posenc_rope_theta(rope, 1), rows[k].theta, 1e-15, "%s, row %d", rows[k].type, (int)k);
        truth_close(posenc_rope_magnitude(rope), rows[k].magnitude, 1e-6, "%s, row %d", rows[k].type, (int)k);
        posenc_rope_free(rope);
    }
}

static void test_types(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
        posenc_scaling_type type;
    } rows[] = {
        {"rope_type", "default", POSENC_SCALING_NONE},
        {"llama.rope.scaling.type", "none", POSENC_SCALING_NONE},
        {"type", "mrope", POSENC_SCALING_NONE},
        {"type", "linear", POSENC_SCALING_LINEAR},
        {"type", "dynamic", POSENC_SCALING_DYNAMIC},
        {"rope.scaling.type", "yarn", POSENC_SCALING_YARN},
        {"rope_type", "longrope", POSENC_SCALING_LONGROPE},
        {"type", "su", POSENC_SCALING_LONGROPE},
        {"rope_type", "llama3", POSENC_SCALING_LLAMA3},
        {"rope_type", "proportional", POSENC_SCALING_PROPORTIONAL},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        posenc_rope_params p = POSENC_ROPE_DEFAULTS;
        p.scaling.type = POSENC_SCALING_GGML;
        truth_ok(posenc_rope_set_string(&p, rows[k].name, rows[k].value));
        assert_int_equal(p.scaling.type, rows[k].type);
    }
}

/* With type proportional the fraction is the proportion, and all channels take part (FORMULAS B.18). */
static void test_proportional(void **state) {
    (void)state;
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    p.layout = POSENC_ROPE_HALF;
    truth_ok(posenc_rope_set_number(&p, "head_dim", 16.0));
    truth_ok(posenc_rope_set_number(&p, "rope_theta", 1e6));
    truth_ok(posenc_rope_set_number(&p, "partial_rotary_factor", 0.25));
    truth_ok(posenc_rope_set_string(&p, "rope_type", "proportional"));
    posenc_rope *rope;
    truth_ok(posenc_rope_create(&p, &rope));
    assert_int_equal(posenc_rope_pair_count(rope), 8);
    for (int i = 0; i < 8; i++)
        truth_close(posenc_rope_theta(rope, i), i < 2 ? pow(1e6, -i / 8.0) : 0.0, 1e-15, "pair %d", i);
    posenc_rope_free(rope);
}

static void test_lists(void **state) {
    (void)state;
    static const double a[2] = {1.0, 2.0}, b[2] = {3.0, 4.0};
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    truth_ok(posenc_rope_set_list(&p, "short_factor", a, 2));
    truth_ok(posenc_rope_set_list(&p, "long_factor", b, 2));
    assert_true(p.scaling.short_factors == a && p.scaling.long_factors == b && p.scaling.n_factors == 2);
    truth_ok(posenc_rope_set_list(&p, "rope_factors_short.weight", b, 2));
    truth_ok(posenc_rope_set_list(&p, "rope_factors_long", a, 2));
    truth_ok(posenc_rope_set_list(&p, "rope_freqs.weight", a, 2));
    assert_true(p.scaling.short_factors == b && p.scaling.long_factors == a && p.scaling.freq_factors == a);
}

/* ---- Refusals ---- */

#define REFUSED(want, call)                                                                                            \
    do {                                                                                                               \
        posenc_rope_params before = p;                                                                                 \
        assert_int_equal(call, want);                                                                                  \
        assert_memory_equal(&before, &p, sizeof p);                                                                    \
    } while (0)

static void test_refusals(void **state) {
    (void)state;
    static const double a[2] = {1.0, 2.0};
    posenc_rope_params p;
    memset(&p, 0, sizeof p); /* the padding too */
    p.scaling.freq_factors = a;
    p.scaling.n_factors = 2;
    static const char *const unknown[] = {"",
                                          ".",
                                          "hidden_size",
                                          "Factor",
                                          "a.b.rope.freq_base",
                                          "x.factor",
                                          "xrope.freq_base",
                                          "llama.rope.freq_base.x",
                                          "model_type",
                                          ".rope.freq_bas"};
    for (size_t k = 0; k < sizeof unknown / sizeof unknown[0]; k++) {
        REFUSED(POSENC_ERR_ENUM, posenc_rope_set_number(&p, unknown[k], 1.0));
        REFUSED(POSENC_ERR_ENUM, posenc_rope_set_string(&p, unknown[k], "yarn"));
        REFUSED(POSENC_ERR_ENUM, posenc_rope_set_list(&p, unknown[k], a, 2));
    }
    REFUSED(POSENC_ERR_ENUM, posenc_rope_set_string(&p, "rope_type", "mrope2"));
    REFUSED(POSENC_ERR_ENUM, posenc_rope_set_string(&p, "rope_type", ""));
    REFUSED(POSENC_ERR_NULL, posenc_rope_set_number(NULL, "factor", 1.0));
    REFUSED(POSENC_ERR_NULL, posenc_rope_set_number(&p, NULL, 1.0));
    REFUSED(POSENC_ERR_NULL, posenc_rope_set_string(NULL, "type", "yarn"));
    REFUSED(POSENC_ERR_NULL, posenc_rope_set_string(&p, NULL, "yarn"));
    REFUSED(POSENC_ERR_NULL, posenc_rope_set_string(&p, "type", NULL));
    REFUSED(POSENC_ERR_NULL, posenc_rope_set_list(NULL, "rope_freqs", a, 2));
    REFUSED(POSENC_ERR_NULL, posenc_rope_set_list(&p, NULL, a, 2));
    REFUSED(POSENC_ERR_NULL, posenc_rope_set_list(&p, "rope_freqs", NULL, 2));
    REFUSED(POSENC_ERR_FACTORS, posenc_rope_set_list(&p, "long_factor", a, 1));
    REFUSED(POSENC_ERR_FACTORS, posenc_rope_set_list(&p, "long_factor", a, -1));
    static const double no_channels[] = {0.5, (double)NAN, HUGE_VAL, -HUGE_VAL, 1e300, 0x1p53 + 2.0};
    for (size_t k = 0; k < sizeof no_channels / sizeof no_channels[0]; k++) {
        REFUSED(POSENC_ERR_SHAPE, posenc_rope_set_number(&p, "head_dim", no_channels[k]));
        REFUSED(POSENC_ERR_SHAPE, posenc_rope_set_number(&p, "rotary_dim", no_channels[k]));
    }
    truth_ok(posenc_rope_set_number(&p, "head_dim", 0x1p53)); /* whole numbers up to there are exact */
    assert_true(p.head_dim == (int64_t)1 << 53);
    static const double no_fractions[] = {0.0, -0.5, 1.5, (double)NAN};
    for (size_t k = 0; k < sizeof no_fractions / sizeof no_fractions[0]; k++)
        REFUSED(POSENC_ERR_N_ROT, posenc_rope_set_number(&p, "partial_rotary_factor", no_fractions[k]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_models),
        truth_test(test_names),
        truth_test(test_types),
        truth_test(test_proportional),
        truth_test(test_lists),
        truth_test(test_refusals),
        truth_test(test_attention_factors),
        truth_test(test_log_multipliers),
        truth_test(test_lengths),
    };
    return truth_run(tests);
}
