/* posenc verify: scalar, by the public calls, against the reference. */
#include "verify.h"

#include <math.h>
#include <stdio.h>

#include "truth.h"

/* ---- Positions and rows ---- */

enum { N_POSITIONS = 64 };

/* The ends of the range, zero, and random positions of every size; planes for as many axes as there may be. */
static void choose_positions(int32_t *positions, random_state *random) {
    static const int32_t corners[] = {0, 1, -1, 31, 32, INT32_MAX, INT32_MIN};
    enum { N_CORNERS = sizeof corners / sizeof corners[0] };
    for (int i = 0; i < N_POSITIONS * POSENC_MAX_AXES; i++)
        positions[i] = i < N_CORNERS ? corners[i] : random_position(random);
}

static truth check_angle_rows(const int32_t *positions, random_state *random) {
    truth t = truth_none();
    static const double bases[] = {1e4, 5e5, 1e6, 1e7};
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
        truth_merge(&t, truth_angle_rows(bases[i], 128, positions, N_POSITIONS));
    truth_merge(&t, truth_angle_rows(exp(random_between(random, log(1e4), log(1e7))), 96, positions, N_POSITIONS));
    return t;
}

static truth check_sinusoidal(const int32_t *positions, random_state *random) {
    (void)random;
    truth t = truth_sinusoidal(POSENC_SINUSOIDAL_INTERLEAVED, 512, positions, N_POSITIONS);
    truth_merge(&t, truth_sinusoidal(POSENC_SINUSOIDAL_CONCAT, 512, positions, N_POSITIONS));
    return t;
}

/* ---- RoPE: each line is some cases ---- */

/* 128 channels, base 500000, float32, forward: what the cases below change. */
static truth_rope_case plain_case(posenc_rope_layout layout) {
    truth_rope_case at = {.params = POSENC_ROPE_DEFAULTS, .n_heads = 2};
    at.params.layout = layout;
    at.params.head_dim = at.params.n_rot = 128;
    at.params.base = 500000.0;
    return at;
}

/* Whole heads in every direction that the layout has, by both ways of getting rows, and a part of the head at an
 * offset. */
static truth check_layout(posenc_rope_layout layout, const int32_t *positions, random_state *random) {
    truth t = truth_none();
    truth_rope_case at = plain_case(layout);
    int last_direction = layout == POSENC_ROPE_DEINTERLEAVE ? POSENC_FORWARD : POSENC_SHIFT;
    for (int direction = POSENC_FORWARD; direction <= last_direction; direction++) {
        at.direction = (posenc_direction)direction;
        at.call = direction % 2 == 0 ? TRUTH_APPLY : TRUTH_TABLE;
        truth_merge(&t, truth_rope(&at, positions, N_POSITIONS, random));
    }
    at = plain_case(layout);
    at.params.head_dim = 96;
    at.params.n_rot = 24;
    at.params.n_offs = 8;
    truth_merge(&t, truth_rope(&at, positions, N_POSITIONS, random));
    return t;
}

static truth check_half(const int32_t *positions, random_state *random) {
    return check_layout(POSENC_ROPE_HALF, positions, random);
}

static truth check_interleaved(const int32_t *positions, random_state *random) {
    return check_layout(POSENC_ROPE_INTERLEAVED, positions, random);
}

static truth check_deinterleave(const int32_t *positions, random_state *random) {
    return check_layout(POSENC_ROPE_DEINTERLEAVE, positions, random);
}

/* Every scaling that models are published with, in the directions that treat its magnitude differently. */
static truth check_scalings(const int32_t *positions, random_state *random) {
    static const posenc_scaling_type types[] = {
        POSENC_SCALING_LINEAR, POSENC_SCALING_NTK,      POSENC_SCALING_DYNAMIC, POSENC_SCALING_YARN,
        POSENC_SCALING_YARN,   POSENC_SCALING_LONGROPE, POSENC_SCALING_LLAMA3,  POSENC_SCALING_PROPORTIONAL,
    };
    enum { N_TYPES = sizeof types / sizeof types[0] };
    truth t = truth_none();
    double factors[64];
    for (int i = 0; i < 64; i++)
        factors[i] = random_between(random, 0.5, 64.0);
    for (int k = 0; k < N_TYPES; k++) {
        truth_rope_case at = plain_case(POSENC_ROPE_HALF);
        posenc_rope_scaling *s = &at.params.scaling;
        s->type = types[k];
        s->factor = 8.0;
        s->original_context = 8192.0;
        s->max_context = 32768.0;
        s->context = 65536.0;
        s->truncate = k % 2 == 0; /* YaRN stands at an odd and at an even place */
        s->proportion = 0.25;
        s->long_factors = factors;
        s->freq_factors = k % 3 == 0 ? factors : NULL;
        s->n_factors = 64;
        at.direction = (posenc_direction)random_below(random, POSENC_SHIFT + 1);
        truth_merge(&t, truth_rope(&at, positions, N_POSITIONS, random));
    }
    return t;
}

/* Several positions a token: the published sections, and the ways of the vision towers. */
static truth check_axes(const int32_t *positions, random_state *random) {
    static const posenc_rope_axes axes[] = {
        {POSENC_AXES_MROPE, 3, {16, 24, 24, 0}},       {POSENC_AXES_IMROPE, 3, {24, 20, 20, 0}},
        {POSENC_AXES_IMROPE_GGML, 4, {24, 20, 20, 0}}, {POSENC_AXES_VISION, 2, {32, 32, 0, 0}},
        {POSENC_AXES_PIXTRAL, 2, {0, 0, 0, 0}},        {POSENC_AXES_AXIAL, 3, {8, 28, 28, 0}},
    };
    truth t = truth_none();
    for (size_t k = 0; k < sizeof axes / sizeof axes[0]; k++) {
        truth_rope_case at = plain_case(k % 2 == 0 ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED);
        at.params.axes = axes[k];
        truth_merge(&t, truth_rope(&at, positions, N_POSITIONS, random));
    }
    return t;
}

/* Near the centre, for zeta^(p / 512) leaves the range of float32 far from it. */
static truth check_xpos(const int32_t *positions, random_state *random) {
    truth t = truth_none();
    int32_t near[N_POSITIONS];
    truth_rope_case at = plain_case(POSENC_ROPE_INTERLEAVED);
    at.params.xpos.centre = positions[N_POSITIONS - 1] / 2;
    for (int i = 0; i < N_POSITIONS; i++)
        near[i] = at.params.xpos.centre + positions[i] % 16384;
    for (int role = POSENC_XPOS_QUERY; role <= POSENC_XPOS_KEY; role++) {
        at.params.xpos.role = (posenc_xpos_role)role;
        truth_merge(&t, truth_rope(&at, near, N_POSITIONS, random));
    }
    return t;
}

static truth check_types(posenc_dtype type, const int32_t *positions, random_state *random) {
    truth t = truth_none();
    truth_rope_case at = plain_case(POSENC_ROPE_HALF);
    at.params.n_rot = 64;
    for (int k = 0; k < 3; k++) {
        at.x_type = k == 0 ? POSENC_F32 : type;
        at.y_type = k == 2 ? POSENC_F32 : type;
        truth_merge(&t, truth_rope(&at, positions, N_POSITIONS, random));
    }
    return t;
}

static truth check_f16(const int32_t *positions, random_state *random) {
    return check_types(POSENC_F16, positions, random);
}

static truth check_bf16(const int32_t *positions, random_state *random) {
    return check_types(POSENC_BF16, positions, random);
}

static truth check_fused(const int32_t *positions, random_state *random) {
    truth t = truth_none();
    for (int type = POSENC_F32; type <= POSENC_BF16; type++) {
        truth_rope_case at = plain_case(POSENC_ROPE_HALF);
        at.params.n_rot = 96;
        at.call = TRUTH_FUSED;
        at.y_type = (posenc_dtype)type;
        truth_merge(&t, truth_rope(&at, positions, N_POSITIONS, random));
    }
    return t;
}

/* ---- Scores ---- */

static truth check_slopes(const int32_t *positions, random_state *random) {
    (void)positions;
    (void)random;
    truth t = truth_none();
    for (int64_t n_heads = 1; n_heads <= 128; n_heads++)
        truth_merge(&t, truth_alibi_slopes(n_heads, 8.0));
    return t;
}

static truth check_bias(const int32_t *positions, random_state *random) {
    (void)positions;
    (void)random;
    truth t = truth_alibi_bias(12, 5, 700, 300);
    truth_merge(&t, truth_alibi_bias(8, 2, 1000, 1 << 29));
    return t;
}

static truth check_softmax(const int32_t *positions, random_state *random) {
    (void)positions;
    truth t = truth_softmax(NULL, 2, 3, 1000, posenc_mask_none(), random);
    truth_merge(&t, truth_softmax(NULL, 1, 1, 100000, posenc_mask_none(), random));
    return t;
}

static truth check_softmax_alibi(const int32_t *positions, random_state *random) {
    (void)positions;
    float slopes[12];
    truth t = truth_none();
    t.status = posenc_alibi_slopes(12, 8.0, slopes);
    truth_merge(&t, truth_softmax(slopes, 12, 40, 777, posenc_mask_causal(), random));
    return t;
}

/* ---- The table ---- */

static const char rope_unit[] = "2^-24 (|x0| + |x1|) m";
static const char stored_unit[] = "2^-24 (|x0| + |x1|) m, beyond half an ulp of y";

static const struct truth_line {
    const char *what;
    truth (*check)(const int32_t *positions, random_state *random);
    double limit;
    const char *unit;
} truth_lines[] = {
    {"cos/sin rows", check_angle_rows, 1.0, "ulp"},
    {"sinusoidal", check_sinusoidal, 1.0, "ulp"},
    {"RoPE half-split", check_half, TRUTH_ROPE_LIMIT, rope_unit},
    {"RoPE interleaved", check_interleaved, TRUTH_ROPE_LIMIT, rope_unit},
    {"RoPE deinterleave", check_deinterleave, TRUTH_ROPE_LIMIT, rope_unit},
    {"RoPE scalings", check_scalings, TRUTH_ROPE_LIMIT, rope_unit},
    {"RoPE axes", check_axes, TRUTH_ROPE_LIMIT, rope_unit},
    {"xPos", check_xpos, TRUTH_ROPE_LIMIT, rope_unit},
    {"RoPE f16", check_f16, TRUTH_ROPE_LIMIT, stored_unit},
    {"RoPE bf16", check_bf16, TRUTH_ROPE_LIMIT, stored_unit},
    {"norm, RoPE, scatter", check_fused, TRUTH_FUSED_LIMIT, stored_unit},
    {"ALiBi slopes", check_slopes, TRUTH_SLOPES_LIMIT, "ulp"},
    {"ALiBi bias", check_bias, TRUTH_BIAS_LIMIT, "2^-24, relative"},
    {"softmax", check_softmax, 1.0, "2e-6, and 4e-6 relative"},
    {"softmax with ALiBi", check_softmax_alibi, 1.0, "2e-6, and 1.4e-5 relative"},
};

static int check_truth(const struct truth_line *line, const verify_options *o, random_state *random) {
    truth t = truth_none();
    int32_t positions[N_POSITIONS * POSENC_MAX_AXES];
    for (int round = 0; round < (o->quick ? 1 : 8); round++) {
        verify_progress(line->what, "against the reference");
        choose_positions(positions, random);
        truth_merge(&t, line->check(positions, random));
    }
    verify_progress_done();
    int ok = t.status == POSENC_OK && t.values > 0 && t.worst <= line->limit;
    printf("  %-20s%12llu%12.3g%10.3g  %-8s%s\n", line->what, (unsigned long long)t.values, t.worst, line->limit,
           ok ? "ok" : "FAILED", t.status == POSENC_OK ? line->unit : posenc_status_string(t.status));
    return !ok;
}

int verify_truth(const verify_options *o) {
    random_state random = {o->seed};
    printf("Scalar, by the public calls, against a reference (fixed-point phases, double arithmetic)\n\n"
           "  %-20s%12s%12s%10s  %-8s%s\n",
           "what", "values", "worst error", "allowed", "", "unit");
    posenc_isa_tier in_use = posenc_isa();
    posenc_select_isa(POSENC_ISA_SCALAR);
    int failures = 0;
    for (size_t i = 0; i < sizeof truth_lines / sizeof truth_lines[0]; i++)
        failures += check_truth(&truth_lines[i], o, &random);
    posenc_select_isa(in_use);
    puts("");
    return failures;
}
