/* SPDX-License-Identifier: MIT */
/* Frequencies and magnitudes of every scaling against MPFR, written anew from FORMULAS B.9-B.18; properties. */
#include "truth.h"
#include "truth_mpfr.h"

#include <math.h>
#include <string.h>

#include "rope/rope.h"

#define PI 3.14159265358979323846

/* Relative: 2^-95 for each step (core/dd.h), times the factor, at most 64, where a share's error meets t / factor. */
#define THETA_BOUND 0x1p-88
#define MAGNITUDE_BOUND 0x1p-51 /* relative: a quotient or a root of rounded values */

enum { MAX_N_ROT = 512 };

static posenc_rope_params plain(int64_t n_rot, double base, posenc_scaling_type type) {
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    p.layout = POSENC_ROPE_HALF;
    p.head_dim = p.n_rot = n_rot;
    p.base = base;
    p.scaling.type = type;
    return p;
}

static posenc_rope *create(const posenc_rope_params *p) {
    posenc_rope *rope;
    truth_ok(posenc_rope_create(p, &rope));
    return rope;
}

/* ---- The reference ---- */

static void new_base(const posenc_rope_params *p, mpfr_t base) {
    const posenc_rope_scaling *s = &p->scaling;
    double n = (double)p->n_rot, longest = fmax(s->context, s->max_context);
    mpfr_t growth, e;
    mpfr_inits2(TRUTH_BITS, growth, e, (mpfr_ptr)NULL);
    mpfr_set_d(e, n, MPFR_RNDN);
    mpfr_div_d(e, e, n - 2.0, MPFR_RNDN);
    mpfr_set_ui(growth, 1, MPFR_RNDN);
    if (s->type == POSENC_SCALING_NTK)
        mpfr_set_d(growth, s->factor, MPFR_RNDN);
    if (s->type == POSENC_SCALING_DYNAMIC) { /* factor * L / C - (factor - 1) */
        mpfr_set_d(growth, s->factor, MPFR_RNDN);
        mpfr_mul_d(growth, growth, longest, MPFR_RNDN);
        mpfr_div_d(growth, growth, s->max_context, MPFR_RNDN);
        mpfr_sub_d(growth, growth, s->factor, MPFR_RNDN);
        mpfr_add_ui(growth, growth, 1, MPFR_RNDN);
    }
    if (s->type == POSENC_SCALING_NTK_LENGTH) {
        mpfr_set_d(growth, s->alpha, MPFR_RNDN);
        mpfr_set_d(e, s->context, MPFR_RNDN);
        mpfr_div_d(e, e, s->original_context, MPFR_RNDN);
        mpfr_sub_ui(e, e, 1, MPFR_RNDN);
    }
    mpfr_pow(base, growth, e, MPFR_RNDN);
    mpfr_mul_d(base, base, p->base, MPFR_RNDN);
    mpfr_clears(growth, e, (mpfr_ptr)NULL);
}

/* n ln(C / (2 pi turns)) / (2 ln base) */
static void dim_of(const posenc_rope_params *p, double turns, mpfr_t dim) {
    mpfr_t x;
    mpfr_init2(x, TRUTH_BITS);
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_mul_d(x, x, 2.0 * turns, MPFR_RNDN);
    mpfr_d_div(dim, p->scaling.original_context, x, MPFR_RNDN);
    mpfr_log(dim, dim, MPFR_RNDN);
    mpfr_mul_d(dim, dim, (double)p->n_rot, MPFR_RNDN);
    mpfr_set_d(x, p->base, MPFR_RNDN);
    mpfr_log(x, x, MPFR_RNDN);
    mpfr_mul_ui(x, x, 2, MPFR_RNDN);
    mpfr_div(dim, dim, x, MPFR_RNDN);
    mpfr_clear(x);
}

/* The ramp's ends; 0 if the parameters have to be refused. */
static int ramp_ends(const posenc_rope_params *p, mpfr_t low, mpfr_t high) {
    const posenc_rope_scaling *s = &p->scaling;
    int is_ggml = s->type == POSENC_SCALING_GGML;
    dim_of(p, s->beta_fast, low);
    dim_of(p, s->beta_slow, high);
    if (mpfr_sgn(high) < 0 && !is_ggml)
        return 0;
    if (is_ggml || s->truncate) {
        mpfr_floor(low, low);
        mpfr_ceil(high, high);
    }
    if (mpfr_sgn(low) < 0)
        mpfr_set_ui(low, 0, MPFR_RNDN);
    if (mpfr_cmp_d(high, (double)p->n_rot - 1.0) > 0)
        mpfr_set_d(high, (double)p->n_rot - 1.0, MPFR_RNDN);
    if (is_ggml && mpfr_cmp(low, high) >= 0)
        mpfr_set(high, low, MPFR_RNDN);
    if (mpfr_equal_p(low, high))
        mpfr_add_d(high, high, 0.001, MPFR_RNDN);
    return mpfr_cmp(low, high) < 0;
}

/* g, the weight of the unscaled frequency. */
static void weight(const posenc_rope_params *p, int64_t i, const mpfr_t t, mpfr_t g) {
    const posenc_rope_scaling *s = &p->scaling;
    mpfr_t low, high;
    mpfr_inits2(TRUTH_BITS, low, high, (mpfr_ptr)NULL);
    int divides =
        s->type == POSENC_SCALING_LINEAR || s->type == POSENC_SCALING_PROPORTIONAL || s->type == POSENC_SCALING_GGML;
    mpfr_set_ui(g, divides ? 0 : 1, MPFR_RNDN);
    if (s->type == POSENC_SCALING_YARN || (s->type == POSENC_SCALING_GGML && s->ext_factor != 0.0)) {
        assert_true(ramp_ends(p, low, high));
        mpfr_sub(high, high, low, MPFR_RNDN);
        mpfr_ui_sub(g, (unsigned long)i, low, MPFR_RNDN);
        mpfr_div(g, g, high, MPFR_RNDN);
        mpfr_ui_sub(g, 1, g, MPFR_RNDN);
        if (mpfr_sgn(g) < 0)
            mpfr_set_ui(g, 0, MPFR_RNDN);
        if (mpfr_cmp_ui(g, 1) > 0)
            mpfr_set_ui(g, 1, MPFR_RNDN);
        mpfr_mul_d(g, g, s->ext_factor, MPFR_RNDN);
    }
    if (s->type == POSENC_SCALING_LLAMA3) { /* by wavelength, as published */
        mpfr_const_pi(low, MPFR_RNDN);
        mpfr_mul_ui(low, low, 2, MPFR_RNDN);
        mpfr_div(low, low, t, MPFR_RNDN);
        mpfr_d_div(g, s->original_context, low, MPFR_RNDN); /* C / wavelength */
        if (mpfr_cmp_d(g, s->high_freq_factor) > 0)
            mpfr_set_ui(g, 1, MPFR_RNDN);
        else if (mpfr_cmp_d(g, s->low_freq_factor) <= 0)
            mpfr_set_ui(g, 0, MPFR_RNDN);
        else {
            mpfr_set_d(high, s->high_freq_factor, MPFR_RNDN);
            mpfr_sub_d(high, high, s->low_freq_factor, MPFR_RNDN);
            mpfr_sub_d(g, g, s->low_freq_factor, MPFR_RNDN);
            mpfr_div(g, g, high, MPFR_RNDN);
        }
    }
    mpfr_clears(low, high, (mpfr_ptr)NULL);
}

static void reference_theta(const posenc_rope_params *p, int64_t i, mpfr_t out) {
    const posenc_rope_scaling *s = &p->scaling;
    mpfr_t t, g, rest;
    mpfr_inits2(TRUTH_BITS, t, g, rest, (mpfr_ptr)NULL);
    new_base(p, t);
    mpfr_set_d(g, -2.0 * (double)i, MPFR_RNDN);
    mpfr_div_d(g, g, (double)p->n_rot, MPFR_RNDN);
    mpfr_pow(t, t, g, MPFR_RNDN);
    if (s->freq_factors != NULL)
        mpfr_div_d(t, t, s->freq_factors[i], MPFR_RNDN);
    if (s->type == POSENC_SCALING_LONGROPE)
        mpfr_div_d(t, t, s->context > s->original_context ? s->long_factors[i] : s->short_factors[i], MPFR_RNDN);
    if (s->type == POSENC_SCALING_PROPORTIONAL && (double)i >= floor(s->proportion * (double)p->head_dim / 2.0))
        mpfr_set_ui(t, 0, MPFR_RNDN);
    weight(p, i, t, g);
    mpfr_mul(out, t, g, MPFR_RNDN);
    mpfr_ui_sub(rest, 1, g, MPFR_RNDN);
    mpfr_mul(rest, rest, t, MPFR_RNDN);
    mpfr_div_d(rest, rest, s->factor != 0.0 ? s->factor : 1.0, MPFR_RNDN);
    mpfr_mul_d(rest, rest, s->freq_scale != 0.0 ? s->freq_scale : 1.0, MPFR_RNDN);
    mpfr_add(out, out, rest, MPFR_RNDN);
    mpfr_clears(t, g, rest, (mpfr_ptr)NULL);
}

static double reference_magnitude(const posenc_rope_scaling *s) {
    double ln_factor = log(s->factor), ratio = s->factor != 0.0 ? s->factor : s->max_context / s->original_context;
    int is_ggml = s->type == POSENC_SCALING_GGML;
    if (is_ggml)
        return (s->attention_factor != 0.0 ? s->attention_factor : 1.0) *
               (s->ext_factor != 0.0 ? 1.0 - 0.1 * log(s->freq_scale) : 1.0);
    if (s->attention_factor != 0.0)
        return s->attention_factor;
    if (s->type == POSENC_SCALING_LONGROPE)
        return ratio <= 1.0 ? 1.0 : sqrt(1.0 + log(ratio) / log(s->original_context));
    if (s->type != POSENC_SCALING_YARN)
        return 1.0;
    if (s->mscale != 0.0 && s->mscale_all_dim != 0.0)
        return (1.0 + 0.1 * s->mscale * ln_factor) / (1.0 + 0.1 * s->mscale_all_dim * ln_factor);
    return 1.0 + 0.1 * ln_factor;
}

/* ---- Against it ---- */

static double factors[3][MAX_N_ROT / 2];

static int coin(void) {
    return truth_below(2) == 0;
}

static posenc_rope_params random_params(posenc_scaling_type type) {
    int64_t pairs = 2 + truth_below(coin() ? 8 : MAX_N_ROT / 2 - 1); /* few: ramps meet the ends of the table */
    posenc_rope_params p = plain(2 * pairs, truth_log_uniform(10.0, 1e7), type);
    posenc_rope_scaling *s = &p.scaling;
    if (type == POSENC_SCALING_GGML)
        s->freq_scale = truth_log_uniform(1.0 / 64.0, 64.0);
    else if (type != POSENC_SCALING_NONE && (type != POSENC_SCALING_LONGROPE || coin()))
        s->factor = truth_log_uniform(1.0, 64.0);
    s->original_context = floor(truth_log_uniform(32.0, 200000.0));
    if (type == POSENC_SCALING_GGML && truth_below(4) == 0)
        s->original_context = (double)truth_below(40);
    s->context = floor(s->original_context * truth_log_uniform(0.25, 8.0));
    s->max_context = floor(s->original_context * truth_log_uniform(0.5, 32.0));
    s->alpha = truth_uniform(1.0, 4.0);
    s->beta_fast = truth_log_uniform(8.0, 64.0);
    s->beta_slow = truth_below(8) == 0 ? s->beta_fast : truth_log_uniform(0.5, 4.0);
    s->ext_factor = coin() ? 1.0 : coin() ? 0.0 : truth_uniform(0.0, 1.0);
    s->truncate = coin();
    s->low_freq_factor = truth_uniform(0.5, 2.0);
    s->high_freq_factor = truth_below(4) == 0 ? s->low_freq_factor : truth_uniform(2.5, 8.0);
    s->proportion = truth_uniform(0.0, 1.0);
    s->attention_factor = coin() ? 0.0 : truth_uniform(0.5, 2.0);
    s->mscale = coin() ? 0.0 : truth_uniform(0.1, 2.0);
    s->mscale_all_dim = coin() ? 0.0 : truth_uniform(0.1, 2.0);
    s->n_factors = p.n_rot / 2;
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; i < s->n_factors; i++)
            factors[k][i] = truth_log_uniform(0.5, 50.0);
    s->freq_factors = coin() ? NULL : factors[0];
    s->short_factors = factors[1];
    s->long_factors = factors[2];
    return p;
}

static int must_refuse(const posenc_rope_params *p) {
    mpfr_t low, high;
    mpfr_inits2(TRUTH_BITS, low, high, (mpfr_ptr)NULL);
    int has_ramp = p->scaling.type == POSENC_SCALING_YARN ||
                   (p->scaling.type == POSENC_SCALING_GGML && p->scaling.ext_factor != 0.0);
    int refuse = has_ramp && !ramp_ends(p, low, high);
    mpfr_clears(low, high, (mpfr_ptr)NULL);
    return refuse;
}

/* The table's half turns, taken times pi, against the reference; relative. */
static double theta_error(const posenc_rope *rope, int64_t i, const mpfr_t want) {
    const posenc_freq *freq = rope->freq;
    mpfr_t got, pi;
    mpfr_inits2(TRUTH_BITS, got, pi, (mpfr_ptr)NULL);
    mpfr_const_pi(pi, MPFR_RNDN);
    mpfr_set_d(got, freq->hi[i], MPFR_RNDN);
    mpfr_add_d(got, got, freq->lo[i], MPFR_RNDN);
    mpfr_mul(got, got, pi, MPFR_RNDN);
    mpfr_sub(got, got, want, MPFR_RNDN);
    if (!mpfr_zero_p(want))
        mpfr_div(got, got, want, MPFR_RNDN);
    double error = fabs(mpfr_get_d(got, MPFR_RNDN));
    mpfr_clears(got, pi, (mpfr_ptr)NULL);
    return error;
}

static void test_against_mpfr(void **state) {
    (void)state;
    mpfr_t want;
    mpfr_init2(want, TRUTH_BITS);
    for (int type = POSENC_SCALING_NONE; type <= POSENC_SCALING_GGML; type++) {
        double worst = 0.0;
        int n_refused = 0, n_values = 0;
        for (int round = 0; round < 60; round++) {
            posenc_rope_params p = random_params((posenc_scaling_type)type);
            if (must_refuse(&p)) {
                posenc_rope *rope;
                assert_int_equal(posenc_rope_create(&p, &rope), POSENC_ERR_CONTEXT);
                n_refused++;
                continue;
            }
            posenc_rope *rope = create(&p);
            double magnitude = reference_magnitude(&p.scaling);
            truth_close(posenc_rope_magnitude(rope), magnitude, magnitude * MAGNITUDE_BOUND, "type %d magnitude", type);
            for (int64_t i = 0; i < p.n_rot / 2; i++) {
                reference_theta(&p, i, want);
                double error = theta_error(rope, i, want);
                if (!(error <= THETA_BOUND))
                    fail_msg("type %d, n_rot %d, pair %d: off by 2^%.1f", type, (int)p.n_rot, (int)i, log2(error));
                worst = fmax(worst, error);
                n_values++;
                truth_close(posenc_rope_theta(rope, i), mpfr_get_d(want, MPFR_RNDN), 0.0, "type %d theta %d", type,
                            (int)i);
            }
            posenc_rope_free(rope);
        }
        truth_report("frequencies of scaled RoPE", n_values, worst, "relative", "type %d, %d of 60 refused", type,
                     n_refused);
        assert_true(n_refused <= 15);
    }
    mpfr_clear(want);
}

/* ---- Properties ---- */

static void test_ntk_divides_the_last_frequency(void **state) {
    (void)state;
    for (int64_t n = 4; n <= 256; n += 2) {
        posenc_rope_params p = plain(n, 10000.0, POSENC_SCALING_NTK), none = plain(n, 10000.0, POSENC_SCALING_NONE);
        p.scaling.factor = 8.0;
        posenc_rope *rope = create(&p), *before = create(&none);
        assert_true(posenc_rope_theta(rope, 0) == 1.0);
        assert_true(posenc_rope_theta(rope, n / 2 - 1) == posenc_rope_theta(before, n / 2 - 1) / 8.0);
        posenc_rope_free(rope);
        posenc_rope_free(before);
    }
}

static void test_yarn_ends(void **state) {
    (void)state;
    posenc_rope_params p = plain(128, 10000.0, POSENC_SCALING_YARN), none = plain(128, 10000.0, POSENC_SCALING_NONE);
    p.scaling.max_context = 65536.0; /* the factor is 16 by that */
    p.scaling.original_context = 4096.0;
    posenc_rope *rope = create(&p), *before = create(&none);
    for (int64_t i = 0; i < 64; i++) { /* FORMULAS B.13: the ramp runs from pair 20 to 46 */
        double ratio = posenc_rope_theta(rope, i) / posenc_rope_theta(before, i);
        if (i <= 20)
            assert_true(ratio == 1.0);
        else if (i >= 46)
            assert_true(ratio == 1.0 / 16.0);
        else
            truth_close(ratio, 1.0 - (double)(i - 20) / 26.0 * (15.0 / 16.0), 1e-15, "pair %d", (int)i);
    }
    posenc_rope_free(rope);
    posenc_rope_free(before);
}

/* Both ends of YaRN's ramp at one place, not truncated: it is 0.001 pairs wide. Pairs within it are interpolated. */
static void test_yarn_narrowest_ramp(void **state) {
    (void)state;
    enum { N_ROT = 64, PAIR = 10 };
    static const double before[] = {0.0001, 0.0004, 0.0009, 0.0011, 0.005};
    for (size_t k = 0; k < sizeof before / sizeof before[0]; k++) {
        posenc_rope_params p = plain(N_ROT, 10000.0, POSENC_SCALING_YARN);
        p.scaling.factor = 4.0;
        p.scaling.truncate = 0;
        p.scaling.beta_fast = p.scaling.beta_slow = 1.0;
        p.scaling.original_context = 2.0 * PI * pow(10000.0, 2.0 * (PAIR - before[k]) / N_ROT);
        posenc_rope *rope = create(&p);
        for (int i = PAIR - 1; i <= PAIR + 1; i++) {
            double t = pow(10000.0, -2.0 * i / N_ROT);
            double share = 1.0 - fmax(0.0, fmin(1.0, (i - PAIR + before[k]) / 0.001));
            truth_close(posenc_rope_theta(rope, i), t * (share + (1.0 - share) / 4.0), 1e-9 * t, /* 1e-12 pairs */
                        "pair %d, ramp from %g before pair %d", i, before[k], PAIR);
        }
        posenc_rope_free(rope);
    }
}

/* t runs through both ends of the band: the step of theta stays as small as that of t. */
static void test_llama3_is_continuous(void **state) {
    (void)state;
    for (int end = 0; end < 2; end++) {
        double edge = 2.0 * PI * (end ? 4.0 : 1.0) / 8192.0, before = 0.0;
        for (int k = -50; k <= 50; k++) {
            double divisors[2] = {1.0 / (edge * (1.0 + k * 1e-9)), 1.0};
            posenc_rope_params p = plain(4, 10000.0, POSENC_SCALING_LLAMA3);
            p.scaling.factor = 8.0;
            p.scaling.original_context = 8192.0;
            p.scaling.freq_factors = divisors;
            p.scaling.n_factors = 2;
            posenc_rope *rope = create(&p);
            double now = posenc_rope_theta(rope, 0);
            if (k > -50)
                assert_true(now > before && now - before < 8e-9 * edge);
            before = now;
            posenc_rope_free(rope);
        }
        truth_close(before, edge * (end ? 1.0 : 1.0 / 8.0), 1e-6 * edge, "end %d", end);
    }
}

static void test_ggml_is_yarn_with_default_settings(void **state) {
    (void)state;
    for (int round = 0; round < 100; round++) {
        posenc_rope_params yarn = random_params(POSENC_SCALING_YARN);
        posenc_rope_scaling *s = &yarn.scaling;
        s->truncate = 1;
        s->ext_factor = 1.0;
        s->attention_factor = s->mscale = 0.0;
        s->factor = ldexp(1.0, (int)truth_below(7)); /* so that 1 / freq_scale is exact */
        if (must_refuse(&yarn))
            continue;
        posenc_rope_params ggml;
        posenc_rope_ggml arguments = POSENC_ROPE_GGML_DEFAULTS;
        arguments.head_dim = yarn.head_dim;
        arguments.n_dims = (int)yarn.n_rot;
        arguments.mode = 2;
        arguments.n_ctx_orig = (int)s->original_context;
        arguments.freq_base = yarn.base;
        arguments.freq_scale = 1.0 / s->factor;
        arguments.ext_factor = 1.0;
        arguments.beta_fast = s->beta_fast;
        arguments.beta_slow = s->beta_slow;
        truth_ok(posenc_rope_params_from_ggml(&arguments, &ggml));
        ggml.scaling.freq_factors = s->freq_factors;
        posenc_rope *a = create(&yarn), *b = create(&ggml);
        for (int64_t i = 0; i < yarn.n_rot / 2; i++)
            assert_true(posenc_rope_theta(a, i) == posenc_rope_theta(b, i));
        assert_true(posenc_rope_magnitude(a) == posenc_rope_magnitude(b));
        posenc_rope_free(a);
        posenc_rope_free(b);
    }
}

/* Floats are the same numbers as doubles, whatever the type; GGML takes either sign. */
static void test_float_factors(void **state) {
    (void)state;
    float floats[MAX_N_ROT / 2];
    double doubles[MAX_N_ROT / 2];
    for (int type = POSENC_SCALING_NONE; type <= POSENC_SCALING_GGML; type++) {
        posenc_rope_params a = random_params((posenc_scaling_type)type), b;
        while (must_refuse(&a))
            a = random_params((posenc_scaling_type)type);
        for (int64_t i = 0; i < a.scaling.n_factors; i++) {
            floats[i] = (float)truth_log_uniform(0.5, 50.0);
            if (type == POSENC_SCALING_GGML && coin())
                floats[i] = -floats[i];
            doubles[i] = (double)floats[i];
        }
        a.scaling.freq_factors = doubles;
        b = a;
        b.scaling.freq_factors = NULL;
        b.scaling.freq_factors_f32 = floats;
        posenc_rope *of_doubles = create(&a), *of_floats = create(&b);
        for (int64_t i = 0; i < a.n_rot / 2; i++) {
            assert_true(posenc_rope_theta(of_floats, i) == posenc_rope_theta(of_doubles, i));
            assert_true((posenc_rope_theta(of_floats, i) < 0.0) == (floats[i] < 0.0f));
        }
        posenc_rope_free(of_doubles);
        posenc_rope_free(of_floats);
    }
}

static void test_lists_are_not_kept(void **state) {
    (void)state;
    double list[4] = {1.0, 2.0, 4.0, 8.0};
    posenc_rope_params p = plain(8, 10000.0, POSENC_SCALING_NONE);
    p.scaling.freq_factors = list;
    p.scaling.n_factors = 4;
    posenc_rope *rope = create(&p);
    memset(list, 0xff, sizeof list);
    const int32_t position = 3;
    float cosine[4], sine[4];
    posenc_rope_table table = {cosine, sine, 4, 1, 0};
    truth_ok(posenc_rope_table_fill(rope, &position, 1, POSENC_FORWARD, &table));
    for (int i = 0; i < 4; i++)
        truth_close((double)sine[i], sin(3.0 * pow(10.0, -i) / (double)(1 << i)), 1e-7, "pair %d", i);
    posenc_rope_free(rope);
}

static void test_small_functions(void **state) {
    (void)state;
    posenc_rope_scaling s = POSENC_ROPE_SCALING_DEFAULTS;
    assert_true(isnan(posenc_rope_softmax_multiplier(NULL)));
    assert_true(posenc_rope_softmax_multiplier(&s) == 1.0);
    s.mscale_all_dim = 1.0;
    assert_true(isnan(posenc_rope_softmax_multiplier(&s))); /* no factor */
    s.max_context = 4096.0 * 40.0;
    s.original_context = 4096.0;
    truth_close(posenc_rope_softmax_multiplier(&s), 1.8738542070926265, 1e-15, "factor from the lengths");

    assert_true(isnan(posenc_query_temperature(-1, 0.1, 8192.0)) && isnan(posenc_query_temperature(1, 0.1, 0.0)));
    assert_true(isnan(posenc_query_temperature(1, NAN, 8192.0)) && isnan(posenc_query_temperature(1, 0.1, NAN)));
    assert_true(isnan(posenc_query_temperature(1, HUGE_VAL, 8192.0)) &&
                isnan(posenc_query_temperature(1, 0.1, 1e-320)));
    assert_true(posenc_query_temperature(INT32_MAX, 0.5, 0x1p31) == 1.0 + 0.5 * log(2.0));
    assert_true(isnan(posenc_rope_magnitude(NULL)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_against_mpfr),
        truth_test(test_ntk_divides_the_last_frequency),
        truth_test(test_yarn_ends),
        truth_test(test_yarn_narrowest_ramp),
        truth_test(test_llama3_is_continuous),
        truth_test(test_ggml_is_yarn_with_default_settings),
        truth_test(test_float_factors),
        truth_test(test_lists_are_not_kept),
        truth_test(test_small_functions),
    };
    return truth_run(tests);
}
