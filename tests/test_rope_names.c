/* SPDX-License-Identifier: MIT */
/* Published names that some models have for themselves: what rope, and what temperature, comes of them. */
#include "truth.h"

#include <math.h>

static void set_all(posenc_rope_params *p, const char *type, const char *const *names, const double *values, size_t n) {
    *p = (posenc_rope_params)POSENC_ROPE_DEFAULTS;
    p->layout = POSENC_ROPE_HALF;
    truth_ok(posenc_rope_set_string(p, "type", type));
    for (size_t k = 0; k < n; k++)
        truth_ok(posenc_rope_set_number(p, names[k], values[k]));
}

static void expect_theta(const posenc_rope_params *p, double base, double magnitude, const char *what) {
    posenc_rope *rope;
    truth_ok(posenc_rope_create(p, &rope));
    int64_t n = posenc_rope_pair_count(rope);
    assert_true(n > 0);
    for (int64_t i = 0; i < n; i++) {
        double want = pow(base, -(double)i / (double)n);
        truth_close(posenc_rope_theta(rope, i), want, 1e-13 * want, "%s, pair %d", what, (int)i);
    }
    truth_close(posenc_rope_magnitude(rope), magnitude, 0.0, "%s, magnitude", what);
    posenc_rope_free(rope);
}

static void test_names_of_models(void **state) {
    (void)state;
    static const char *const hunyuan[] = {"head_dim", "rope_theta", "factor", "alpha", "mscale", "mscale_all_dim"};
    static const double hunyuan_values[] = {128.0, 1e4, 1.0, 1000.0, 1.0, 1.0};
    static const char *const types[] = {"dynamic", "xdrope"};
    posenc_rope_params p;
    for (int k = 0; k < 2; k++) { /* base alpha^(d/(d-2)), FORMULAS B.10, whatever is to come */
        set_all(&p, types[k], hunyuan, hunyuan_values, 6);
        p.scaling.context = k ? 1e6 : 0.0;
        expect_theta(&p, 1e4 * pow(1000.0, 128.0 / 126.0), 1.0, types[k]);
    }
    set_all(&p, "xdrope", (const char *const[]){"head_dim", "alpha"}, (const double[]){128.0, 0.5}, 2);
    posenc_rope *refused;
    assert_int_equal(posenc_rope_create(&p, &refused), POSENC_ERR_SCALING);

    /* two bases: what is scaled is the global one */
    static const char *const gemma[] = {"head_dim", "rope_local_base_freq", "rope_theta", "factor"};
    static const double gemma_values[] = {256.0, 2e4, 1e6, 8.0};
    set_all(&p, "linear", gemma, gemma_values, 4);
    posenc_rope_params local = posenc_rope_local_params(&p);
    expect_theta(&local, 2e4, 1.0, "local layers");
    p.scaling = (posenc_rope_scaling)POSENC_ROPE_SCALING_DEFAULTS;
    expect_theta(&p, 1e6, 1.0, "global layers");
    p.local_base = 0.0;
    local = posenc_rope_local_params(&p);
    expect_theta(&local, 1e6, 1.0, "one base");

    static const char *const chatglm[] = {"head_dim", "rope_ratio", "rotary_emb_fraction"};
    static const double chatglm_values[] = {128.0, 500.0, 0.5};
    set_all(&p, "default", chatglm, chatglm_values, 3);
    expect_theta(&p, 5e6, 1.0, "ChatGLM");

    /* Phi-3.5-MoE: a magnitude for each list */
    static const char *const phi[] = {"head_dim", "original_max_position_embeddings", "short_mscale", "long_mscale"};
    static const double phi_values[] = {8.0, 4096.0, 1.25, 1.5}, ones[] = {1.0, 1.0, 1.0, 1.0};
    for (int is_long = 0; is_long < 2; is_long++) {
        set_all(&p, "longrope", phi, phi_values, 4);
        truth_ok(posenc_rope_set_list(&p, "short_factor", ones, 4));
        truth_ok(posenc_rope_set_list(&p, "long_factor", ones, 4));
        p.scaling.context = is_long ? 4097.0 : 4096.0;
        expect_theta(&p, 1e4, is_long ? 1.5 : 1.25, "Phi-3.5-MoE");
    }
    p.scaling.short_mscale = 0.0;
    assert_int_equal(posenc_rope_create(&p, &refused), POSENC_ERR_SCALING);
}

/* Ministral 3: 1 + beta ln(1 + floor(p / original)), position 0 included. */
static void test_query_temperature(void **state) {
    (void)state;
    static const char *const names[] = {"llama_4_scaling_beta", "original_max_position_embeddings"};
    static const double values[] = {0.1, 16384.0};
    static const int32_t positions[] = {0, 16383, 16384, 32767, 32768, 1000000, INT32_MAX};
    posenc_rope_params p;
    set_all(&p, "yarn", names, values, 2);
    for (size_t k = 0; k < sizeof positions / sizeof positions[0]; k++) {
        double want = 1.0 + 0.1 * log(1.0 + positions[k] / 16384);
        truth_close(posenc_rope_query_temperature(&p.scaling, positions[k]), want, 1e-15, "at %d", positions[k]);
    }
    assert_true(posenc_rope_query_temperature(&p.scaling, 16383) == 1.0);
    assert_true(isnan(posenc_rope_query_temperature(&p.scaling, -1)));
    p.scaling.original_context = 0.0;
    assert_true(isnan(posenc_rope_query_temperature(&p.scaling, 5)));
    p.scaling.temperature_beta = (double)INFINITY;
    assert_true(isnan(posenc_rope_query_temperature(&p.scaling, 5)));
    p.scaling.temperature_beta = 0.0;
    assert_true(posenc_rope_query_temperature(&p.scaling, 5) == 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_names_of_models), truth_test(test_query_temperature)};
    return truth_run(tests);
}
