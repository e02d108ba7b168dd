/* SPDX-License-Identifier: MIT */
/* posenc_rope_params_from_ggml: every mode against ggml's formula, written anew from FORMULAS B.15 and B.20-B.22 in
 * long double, against the schemes that the modes are known by, and what it refuses. */
#include "truth_mpfr.h"
#include "truth_rope.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NORMAL = 0, NEOX = 2, MROPE = 8, VISION = 24, IMROPE = 40 };

static const int modes[] = {NORMAL, NEOX, MROPE, VISION, IMROPE};
enum { N_MODES = sizeof modes / sizeof modes[0], MAX_N_PAIRS = 128 };

/* Relative. Where long double is double: a power and the ramp beside it. */
#define THETA_BOUND 1e-13

static posenc_rope *create(const posenc_rope_ggml *ggml) {
    posenc_rope_params params;
    truth_ok(posenc_rope_params_from_ggml(ggml, &params));
    return truth_rope_new(&params);
}

static int n_pairs_of(const posenc_rope_ggml *g) {
    return g->mode == VISION ? g->n_dims : g->n_dims / 2;
}

/* ---- The formula ---- */

static int axis_of(const posenc_rope_ggml *g, int i) {
    const int *s = g->sections;
    switch (g->mode) {
    case IMROPE:
        return i % 3 == 1 && i < 3 * s[1] ? 1 : i % 3 == 2 && i < 3 * s[2] ? 2 : i % 3 == 0 && i < 3 * s[0] ? 0 : 3;
    case MROPE:
    case VISION: return (i >= s[0]) + (i >= s[0] + s[1]) + (i >= s[0] + s[1] + s[2]);
    default: return 0;
    }
}

/* The pair that makes so many turns in n_ctx_orig tokens. */
static long double dim_of(const posenc_rope_ggml *g, double turns) {
    long double spread = (long double)g->n_ctx_orig / ((long double)turns * 2.0L * acosl(-1.0L));
    return (long double)g->n_dims * logl(spread) / (2.0L * logl((long double)g->freq_base));
}

/* The power of pair i in its plane. ggml goes from pair to pair, with one power for each plane, and VISION restarts one
 * of them where a section begins: the first whose section does. */
static int power_of(const posenc_rope_ggml *g, int i) {
    const int begins[4] = {0, g->sections[0], g->sections[0] + g->sections[1],
                           g->sections[0] + g->sections[1] + g->sections[2]};
    int powers[4] = {-1, -1, -1, -1};
    for (int pair = 0; pair <= i; pair++) {
        int restarts = g->mode == VISION ? 0 : 4;
        while (restarts < 4 && begins[restarts] != pair)
            restarts++;
        for (int plane = 0; plane < 4; plane++)
            powers[plane] = plane == restarts ? 0 : powers[plane] + 1;
    }
    return powers[axis_of(g, i)];
}

static long double theta_of(const posenc_rope_ggml *g, int i) {
    int j = power_of(g, i);
    long double e = powl((long double)g->freq_base, -2.0L * (long double)j / (long double)g->n_dims);
    if (g->freq_factors != NULL)
        e /= (long double)g->freq_factors[i];
    if (g->ext_factor == 0.0)
        return (long double)g->freq_scale * e;
    long double low = fmaxl(0.0L, floorl(dim_of(g, g->beta_fast)));
    long double high = fminl((long double)g->n_dims - 1.0L, ceill(dim_of(g, g->beta_slow)));
    long double y = ((long double)i - low) / fmaxl(0.001L, high - low);
    long double share = (1.0L - fminl(1.0L, fmaxl(0.0L, y))) * (long double)g->ext_factor;
    return (long double)g->freq_scale * e * (1.0L - share) + e * share;
}

static double magnitude_of(const posenc_rope_ggml *g) {
    return g->attn_factor * (g->ext_factor != 0.0 ? 1.0 - 0.1 * log(g->freq_scale) : 1.0);
}

/* ---- Against it ---- */

static float factors[MAX_N_PAIRS + 3];

/* VISION: a section without pairs begins where a later one does, which then goes on where it was. */
static int is_refused(const posenc_rope_ggml *g) {
    for (int i = 1; g->mode == VISION && i < n_pairs_of(g); i++)
        if (axis_of(g, i) != axis_of(g, i - 1) && power_of(g, i) != 0)
            return 1;
    return 0;
}

/* Sections that cover the pairs: sometimes just so, mostly beyond. */
static void random_sections(posenc_rope_ggml *g) {
    int left = n_pairs_of(g);
    if (g->mode == IMROPE) {
        for (int a = 0; a < 3; a++)
            g->sections[a] = left / 3 + (int)truth_below(3);
        g->sections[3] = left;
        return;
    }
    for (int a = 0; a < 3; a++) {
        g->sections[a] = truth_below(4) == 0 ? 0 : left > 0 ? 1 + (int)truth_below(left) : (int)truth_below(9);
        left -= g->sections[a];
    }
    g->sections[3] = (left > 0 ? left : 0) + (truth_below(2) ? (int)truth_below(9) : 0);
}

static posenc_rope_ggml random_arguments(int mode) {
    posenc_rope_ggml g = POSENC_ROPE_GGML_DEFAULTS;
    g.mode = mode;
    g.n_dims = 2 * (1 + (int)truth_below(mode == VISION ? MAX_N_PAIRS / 2 : MAX_N_PAIRS));
    g.n_offs = (int)truth_below(4);
    g.head_dim = g.n_offs + 2 * n_pairs_of(&g) + truth_below(4);
    g.freq_base = truth_log_uniform(100.0, 1e7);
    g.freq_scale = truth_below(2) ? 1.0 : truth_log_uniform(1.0 / 64.0, 4.0);
    g.ext_factor = truth_below(3) == 0 ? 0.0 : truth_below(2) ? 1.0 : truth_uniform(0.0, 1.0);
    g.attn_factor = truth_below(2) ? 1.0 : truth_uniform(0.5, 2.0);
    g.n_ctx_orig = truth_below(4) == 0 ? (int)truth_below(40) : (int)truth_log_uniform(256.0, 2e5);
    if (mode == NORMAL || mode == NEOX)
        g.sections[0] = -1; /* not read */
    else
        do
            random_sections(&g);
        while (is_refused(&g));
    for (int i = 0; i < MAX_N_PAIRS; i++)
        factors[i] = (float)(truth_log_uniform(0.5, 50.0) * (truth_below(8) ? 1.0 : -1.0));
    g.freq_factors = truth_below(2) ? factors : NULL;
    g.n_freq_factors = n_pairs_of(&g) + truth_below(3);
    return g;
}

static void check_frequencies(const posenc_rope_ggml *g, const posenc_rope *rope) {
    int has_planes = g->mode != NORMAL && g->mode != NEOX;
    assert_int_equal(posenc_rope_pair_count(rope), n_pairs_of(g));
    assert_int_equal(posenc_rope_axis_count(rope), has_planes ? 4 : 1);
    truth_close(posenc_rope_magnitude(rope), magnitude_of(g), 1e-15 * magnitude_of(g), "mode %d, magnitude", g->mode);
    for (int i = 0; i < n_pairs_of(g); i++) {
        double want = (double)theta_of(g, i);
        truth_close(posenc_rope_theta(rope, i), want, THETA_BOUND * fabs(want), "mode %d, n_dims %d, pair %d", g->mode,
                    g->n_dims, i);
        if (posenc_rope_axis(rope, i) != axis_of(g, i))
            fail_msg("mode %d, pair %d: axis %d", g->mode, i, posenc_rope_axis(rope, i));
    }
}

/* The head turned; the bound is that of two products of rounded numbers. */
static void check_rotation(const posenc_rope_ggml *g, const posenc_rope *rope) {
    enum { MAX_DIM = 2 * MAX_N_PAIRS + 8 };
    float x[MAX_DIM], y[MAX_DIM];
    int32_t positions[POSENC_MAX_AXES];
    int n_pairs = n_pairs_of(g), step = g->mode == NORMAL ? 2 : 1, apart = g->mode == NORMAL ? 1 : n_pairs;
    truth_fill(x, (size_t)g->head_dim);
    for (int a = 0; a < POSENC_MAX_AXES; a++)
        positions[a] = (int32_t)truth_below(20000) - 10000;
    truth_turn(rope, g->head_dim, x, positions, POSENC_FORWARD, y);
    for (int i = 0; i < n_pairs; i++) {
        long double angle = (long double)positions[axis_of(g, i)] * theta_of(g, i), m = (long double)magnitude_of(g);
        int first = g->n_offs + i * step, second = first + apart;
        long double x0 = (long double)x[first], x1 = (long double)x[second];
        double bound = 4.0 * TRUTH_U * magnitude_of(g) * hypot((double)x0, (double)x1);
        truth_close((double)y[first], (double)(m * (x0 * cosl(angle) - x1 * sinl(angle))), bound, "mode %d, pair %d",
                    g->mode, i);
        truth_close((double)y[second], (double)(m * (x1 * cosl(angle) + x0 * sinl(angle))), bound, "mode %d, pair %d",
                    g->mode, i);
    }
    for (int64_t c = 0; c < g->head_dim; c++)
        if (c < g->n_offs || c >= g->n_offs + 2 * n_pairs)
            assert_true(y[c] == x[c]);
}

static void test_against_formula(void **state) {
    (void)state;
    for (int k = 0; k < N_MODES; k++)
        for (int round = 0; round < 200; round++) {
            posenc_rope_ggml g = random_arguments(modes[k]);
            posenc_rope *rope = create(&g);
            check_frequencies(&g, rope);
            check_rotation(&g, rope);
            posenc_rope_free(rope);
        }
}

/* Scales whose inverse is no double: rows as exact as angles.h has them, also where sine or cosine is next to 0. */
static void test_scales_are_exact(void **state) {
    (void)state;
    enum { N_DIMS = 8, N_PAIRS = N_DIMS / 2, N_ZEROS = 64 };
    static const double scales[] = {(double)0.1f, (double)1.415f, (double)0.3f, 1.0 / 3.0, 1.0 / 40.0, 0.25, 49.0};
    static const int32_t chosen[] = {0, 1, 131071, 1 << 24, 1000000007, INT32_MAX - 1, INT32_MAX, INT32_MIN};
    enum { N_CHOSEN = sizeof chosen / sizeof chosen[0] };
    truth_worst worst = {0};
    mpfr_t cosine, sine;
    mpfr_inits2(TRUTH_BITS, cosine, sine, (mpfr_ptr)NULL);
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
        posenc_rope_ggml g = POSENC_ROPE_GGML_DEFAULTS;
        g.head_dim = g.n_dims = N_DIMS;
        g.mode = NEOX;
        g.freq_scale = scales[k];
        posenc_rope *rope = create(&g);
        truth_table truth = truth_powers(scales[k], g.freq_base, 2, N_DIMS, N_PAIRS);
        char table[64];
        snprintf(table, sizeof table, "freq_scale %.9g", scales[k]);
        for (int i = 0; i < N_PAIRS; i++) {
            int32_t positions[N_ZEROS + N_CHOSEN];
            int n = truth_near_zeros(&truth, i, positions);
            memcpy(positions + n, chosen, sizeof chosen);
            n += N_CHOSEN;
            float cosines[N_ZEROS + N_CHOSEN][N_PAIRS], sines[N_ZEROS + N_CHOSEN][N_PAIRS];
            posenc_rope_table rows = {&cosines[0][0], &sines[0][0], N_PAIRS, 1, 0};
            truth_ok(posenc_rope_table_fill(rope, positions, n, POSENC_FORWARD, &rows));
            for (int t = 0; t < n; t++) {
                truth_angle(&truth, i, positions[t], cosine, sine);
                truth_compare(&worst, cosines[t][i], cosine, "cos", positions[t], table, i);
                truth_compare(&worst, sines[t][i], sine, "sin", positions[t], table, i);
            }
        }
        truth_table_free(&truth);
        posenc_rope_free(rope);
    }
    mpfr_clears(cosine, sine, (mpfr_ptr)NULL);
    truth_judge("cos and sin of ggml's scales", &worst);
}

/* ---- Against the schemes of rope.h ---- */

/* Published sections, as ggml and as this library write them; test_rope_axes.c has the latter's truth. */
static void test_same_as_axes(void **state) {
    (void)state;
    static const struct {
        const char *model;
        int mode, n_dims, sections[4];
        posenc_rope_layout layout;
        posenc_rope_axes axes;
        int64_t n_rot;
    } rows[] = {
        {"Llama", NORMAL, 128, {0}, POSENC_ROPE_INTERLEAVED, {POSENC_AXES_SINGLE, 0, {0}}, 128},
        {"GPT-NeoX", NEOX, 32, {0}, POSENC_ROPE_HALF, {POSENC_AXES_SINGLE, 0, {0}}, 32},
        {"Qwen2-VL", MROPE, 128, {16, 24, 24, 0}, POSENC_ROPE_HALF, {POSENC_AXES_MROPE, 3, {16, 24, 24}}, 128},
        {"Qwen3-VL", IMROPE, 128, {24, 20, 20, 0}, POSENC_ROPE_HALF, {POSENC_AXES_IMROPE_GGML, 4, {24, 20, 20}}, 128},
        {"Qwen2-VL vision tower",
         VISION,
         40,
         {20, 20, 20, 20},
         POSENC_ROPE_HALF,
         {POSENC_AXES_VISION, 2, {20, 20}},
         80},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        posenc_rope_ggml g = POSENC_ROPE_GGML_DEFAULTS;
        g.head_dim = 130;
        g.n_dims = rows[k].n_dims;
        g.mode = rows[k].mode;
        memcpy(g.sections, rows[k].sections, sizeof g.sections);
        posenc_rope_params params = truth_rope_params(rows[k].layout, 130, rows[k].n_rot, 0);
        params.axes = rows[k].axes;
        posenc_rope *ours = truth_rope_new(&params), *theirs = create(&g);
        int32_t positions[POSENC_MAX_AXES];
        truth_random_positions(positions, POSENC_MAX_AXES, 1);
        float x[130], y[130], z[130];
        truth_fill(x, 130);
        truth_turn(ours, 130, x, positions, POSENC_FORWARD, y);
        truth_turn(theirs, 130, x, positions, POSENC_FORWARD, z);
        if (memcmp(y, z, sizeof y) != 0)
            fail_msg("%s: other bits", rows[k].model);
        posenc_rope_free(ours);
        posenc_rope_free(theirs);
    }
}

/* ---- Refusals ---- */

static posenc_rope_ggml good(int mode) {
    posenc_rope_ggml g = POSENC_ROPE_GGML_DEFAULTS;
    g.mode = mode;
    g.head_dim = 16;
    g.n_dims = mode == VISION ? 8 : 16;
    g.sections[0] = g.sections[1] = 4;
    g.sections[2] = g.sections[3] = 8;
    g.n_ctx_orig = 4096;
    g.ext_factor = 1.0;
    return g;
}

static void expect(const posenc_rope_ggml *g, posenc_status want, const char *what) {
    posenc_rope_params params, before;
    memset(&params, 0x5a, sizeof params); /* the padding too */
    memcpy(&before, &params, sizeof params);
    posenc_status got = posenc_rope_params_from_ggml(g, &params);
    if (got != want)
        fail_msg("mode %d, %s: \"%s\"", g->mode, what, posenc_status_string(got));
    if (want != POSENC_OK)
        assert_memory_equal(&params, &before, sizeof params);
    else
        posenc_rope_free(truth_rope_new(&params)); /* what is accepted can be created */
}

/* One number changed, in every mode. */
#define DOUBLE(field, value, want)                                                                                     \
    { #field " = " #value, offsetof(posenc_rope_ggml, field), 1, value, want }
#define INT(field, value, want)                                                                                        \
    { #field " = " #value, offsetof(posenc_rope_ggml, field), 0, (double)(value), want }

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *what;
        size_t offset;
        int is_double;
        double value;
        posenc_status want;
    } rows[] = {
        INT(mode, -1, POSENC_ERR_ENUM),
        INT(mode, 1, POSENC_ERR_ENUM),
        INT(mode, 4, POSENC_ERR_ENUM),
        INT(mode, 10, POSENC_ERR_ENUM),
        INT(mode, INT_MAX, POSENC_ERR_ENUM),
        INT(n_dims, -2, POSENC_ERR_N_ROT),
        INT(n_dims, 7, POSENC_ERR_N_ROT),
        INT(n_dims, 18, POSENC_ERR_N_ROT),
        INT(n_dims, INT_MIN, POSENC_ERR_N_ROT),
        INT(n_dims, INT_MAX - 1, POSENC_ERR_N_ROT),
        INT(n_dims, 0, POSENC_OK),
        INT(n_dims, 4, POSENC_OK),
        INT(n_offs, -1, POSENC_ERR_N_ROT),
        INT(n_offs, 1, POSENC_ERR_N_ROT),
        INT(n_offs, INT_MAX, POSENC_ERR_N_ROT),
        INT(n_ctx_orig, -1, POSENC_ERR_CONTEXT),
        INT(n_ctx_orig, INT_MIN, POSENC_ERR_CONTEXT),
        INT(n_ctx_orig, 0, POSENC_OK),
        INT(n_ctx_orig, 1, POSENC_OK),
        INT(n_ctx_orig, INT_MAX, POSENC_OK),
        DOUBLE(freq_base, 0.5, POSENC_ERR_BASE),
        DOUBLE(freq_base, 1.0, POSENC_ERR_BASE),
        DOUBLE(freq_base, 1.1e30, POSENC_ERR_BASE),
        DOUBLE(freq_base, (double)NAN, POSENC_ERR_BASE),
        DOUBLE(freq_scale, 0.0, POSENC_ERR_SCALING),
        DOUBLE(freq_scale, -1.0, POSENC_ERR_SCALING),
        DOUBLE(freq_scale, 0.9e-9, POSENC_ERR_SCALING),
        DOUBLE(freq_scale, 1e-320, POSENC_ERR_SCALING),
        DOUBLE(freq_scale, 22100.0, POSENC_ERR_SCALING), /* 1 - 0.1 ln freq_scale is negative */
        DOUBLE(freq_scale, HUGE_VAL, POSENC_ERR_SCALING),
        DOUBLE(freq_scale, (double)NAN, POSENC_ERR_SCALING),
        DOUBLE(freq_scale, 22000.0, POSENC_OK),
        DOUBLE(freq_scale, 1e-9, POSENC_OK),
        DOUBLE(ext_factor, -0.1, POSENC_ERR_SCALING),
        DOUBLE(ext_factor, 1.1, POSENC_ERR_SCALING),
        DOUBLE(ext_factor, 1.0005, POSENC_ERR_SCALING),
        DOUBLE(ext_factor, (double)NAN, POSENC_ERR_SCALING),
        DOUBLE(attn_factor, 0.0, POSENC_ERR_SCALING),
        DOUBLE(attn_factor, -1.0, POSENC_ERR_SCALING),
        DOUBLE(attn_factor, 1e39, POSENC_ERR_SCALING),
        DOUBLE(attn_factor, (double)NAN, POSENC_ERR_SCALING),
        DOUBLE(beta_fast, 0.5, POSENC_ERR_SCALING), /* below beta_slow */
        DOUBLE(beta_fast, HUGE_VAL, POSENC_ERR_SCALING),
        DOUBLE(beta_fast, 1e9, POSENC_OK),
        DOUBLE(beta_slow, 0.0, POSENC_ERR_SCALING),
        DOUBLE(beta_slow, 5e-324, POSENC_ERR_SCALING),
        DOUBLE(beta_slow, 1e-9, POSENC_OK),
        DOUBLE(beta_slow, -1.0, POSENC_ERR_SCALING),
        DOUBLE(beta_slow, (double)NAN, POSENC_ERR_SCALING),
    };
    for (int k = 0; k < N_MODES; k++)
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            posenc_rope_ggml g = good(modes[k]);
            int as_int = rows[r].is_double ? 0 : (int)rows[r].value;
            expect(&g, POSENC_OK, "unchanged");
            if (rows[r].is_double)
                memcpy((char *)&g + rows[r].offset, &rows[r].value, sizeof(double));
            else
                memcpy((char *)&g + rows[r].offset, &as_int, sizeof as_int);
            expect(&g, rows[r].want, rows[r].what);
        }
}

/* Without a ramp its numbers are not read, and the range of freq_scale is that of frequencies. */
static void test_without_ramp(void **state) {
    (void)state;
    for (int k = 0; k < N_MODES; k++) {
        posenc_rope_ggml g = good(modes[k]);
        g.ext_factor = g.beta_fast = g.beta_slow = 0.0;
        g.n_ctx_orig = -1;
        g.freq_base = 1.0;
        g.freq_scale = POSENC_MAX_FREQUENCY;
        expect(&g, POSENC_OK, "no ramp");
        g.freq_scale *= 1.0001;
        expect(&g, POSENC_ERR_SCALING, "beyond POSENC_MAX_FREQUENCY");
        g.n_dims = 0;
        g.freq_scale = 1e-31;
        expect(&g, POSENC_OK, "no pair whose frequency could be too small");
    }
}

static void test_shapes(void **state) {
    (void)state;
    static const float ones[8] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    for (int k = 0; k < N_MODES; k++) {
        posenc_rope_ggml g = good(modes[k]);
        int has_planes = modes[k] != NORMAL && modes[k] != NEOX;
        g.sections[0] = 3;
        g.sections[2] = g.sections[3] = 0;
        expect(&g, has_planes ? POSENC_ERR_SECTIONS : POSENC_OK, "too few pairs");
        g.sections[0] = -1;
        g.sections[1] = 99;
        expect(&g, has_planes ? POSENC_ERR_SECTIONS : POSENC_OK, "a negative section");
        for (int a = 0; a < 4; a++)
            g.sections[a] = INT_MAX;
        expect(&g, POSENC_OK, "sections as large as goes");
        g = good(modes[k]);
        g.freq_factors = ones;
        for (g.n_freq_factors = -1; g.n_freq_factors <= 9; g.n_freq_factors++)
            expect(&g, g.n_freq_factors < 8 ? POSENC_ERR_FACTORS : POSENC_OK, "n_freq_factors");
        g.freq_factors = NULL;
        g.n_freq_factors = 0;
        static const int64_t no_heads[] = {0, -1, INT64_MIN, INT64_MAX, 2 * (int64_t)POSENC_MAX_PAIRS + 1};
        for (int j = 0; j < 5; j++) {
            g.head_dim = no_heads[j];
            expect(&g, POSENC_ERR_HEAD_DIM, "head_dim");
        }
        g.head_dim = 2 * (int64_t)POSENC_MAX_PAIRS;
        g.n_dims = POSENC_MAX_AXES_ROT + 2;
        g.sections[0] = INT_MAX;
        expect(&g, has_planes ? POSENC_ERR_N_ROT : POSENC_OK, "more than POSENC_MAX_AXES_ROT");
    }
}

/* VISION of 8 pairs: what ggml makes of empty sections is taken where it is what they say. */
static void test_empty_sections(void **state) {
    (void)state;
    static const struct {
        int sections[4];
        posenc_status want;
    } rows[] = {
        {{4, 0, 4, 0}, POSENC_ERR_SECTIONS}, {{3, 2, 0, 3}, POSENC_ERR_SECTIONS}, {{4, 0, 0, 4}, POSENC_ERR_SECTIONS},
        {{0, 4, 0, 4}, POSENC_ERR_SECTIONS}, {{7, 0, 1, 9}, POSENC_ERR_SECTIONS}, {{0, 4, 4, 0}, POSENC_OK},
        {{0, 0, 8, 0}, POSENC_OK},           {{0, 0, 4, 4}, POSENC_OK},           {{0, 0, 0, 8}, POSENC_OK},
        {{8, 0, 0, 0}, POSENC_OK},           {{8, 0, 8, 0}, POSENC_OK},           {{4, 4, 0, 4}, POSENC_OK},
        {{4, 5, 0, 4}, POSENC_OK},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (int k = 0; k < N_MODES; k++) {
            posenc_rope_ggml g = good(modes[k]);
            g.ext_factor = 0.0;
            memcpy(g.sections, rows[r].sections, sizeof g.sections);
            if (modes[k] != VISION) {
                expect(&g, POSENC_OK, "empty sections");
                continue;
            }
            expect(&g, rows[r].want, "empty sections");
            assert_int_equal(is_refused(&g), rows[r].want != POSENC_OK);
            if (rows[r].want != POSENC_OK)
                continue;
            posenc_rope *rope = create(&g);
            check_frequencies(&g, rope);
            posenc_rope_free(rope);
        }
}

/* Entries are judged where they are read. */
static void test_factors_are_read_late(void **state) {
    (void)state;
    static const struct {
        float entry;
        posenc_status want;
    } rows[] = {{0.0f, POSENC_ERR_FACTORS},
                {NAN, POSENC_ERR_FACTORS},
                {INFINITY, POSENC_ERR_FACTORS},
                {1e-6f, POSENC_ERR_FREQUENCY},
                {-2.0f, POSENC_OK}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        float list[8] = {0.0f};
        posenc_rope_ggml g = good(NEOX);
        g.freq_factors = list;
        g.n_freq_factors = 8;
        posenc_rope_params params;
        truth_ok(posenc_rope_params_from_ggml(&g, &params));
        for (int i = 0; i < 8; i++)
            list[i] = i == 0 ? rows[k].entry : 1.0f;
        posenc_rope *rope;
        assert_int_equal(posenc_rope_create(&params, &rope), rows[k].want);
        posenc_rope_free(rope);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_against_formula),  truth_test(test_same_as_axes),   truth_test(test_refusals),
        truth_test(test_without_ramp),     truth_test(test_shapes),         truth_test(test_factors_are_read_late),
        truth_test(test_scales_are_exact), truth_test(test_empty_sections),
    };
    return truth_run(tests);
}
