#include "reference_rope.h"

#include <math.h>
#include <stdlib.h>

struct reference_rope {
    posenc_rope_params params; /* the lists are the caller's, and only looked at while this is made */
    double magnitude;
    reference_angles *angles;
};

static fixed from(double x) {
    return fixed_from_double(x);
}

static fixed divided(fixed a, double by) {
    fixed divisor = from(by);
    return fixed_div(&a, &divisor);
}

/* (1 - share) a + share b, the share being 0 .. 1. */
static fixed between(fixed a, fixed b, fixed share) {
    fixed one = from(1.0), rest = fixed_sub(&one, &share);
    fixed from_a = fixed_mul(&a, &rest), from_b = fixed_mul(&b, &share);
    return fixed_add(&from_a, &from_b);
}

/* ---- Scalings: each changes the turns per position of all pairs ---- */

typedef void scaling_rule(reference_angles *angles, const posenc_rope_params *p, double factor);

static void scale_none(reference_angles *angles, const posenc_rope_params *p, double factor) {
    (void)angles, (void)p, (void)factor;
}

static void scale_linear(reference_angles *angles, const posenc_rope_params *p, double factor) {
    (void)p;
    for (int64_t i = 0; i < angles->n; i++)
        angles->turns[i] = divided(angles->turns[i], factor);
}

/* base times s^(n/(n-2)) divides pair i by s^(2i/(n-2)). */
static void scale_base(reference_angles *angles, const posenc_rope_params *p, fixed s) {
    fixed one = from(1.0), inverse = fixed_div(&one, &s);
    fixed root = fixed_root(&inverse, (uint64_t)p->n_rot - 2), ratio = fixed_mul(&root, &root), share = one;
    for (int64_t i = 0; i < angles->n; i++) {
        angles->turns[i] = fixed_mul(&angles->turns[i], &share);
        share = fixed_mul(&share, &ratio);
    }
}

static void scale_ntk(reference_angles *angles, const posenc_rope_params *p, double factor) {
    scale_base(angles, p, from(factor));
}

static void scale_dynamic(reference_angles *angles, const posenc_rope_params *p, double factor) {
    const posenc_rope_scaling *s = &p->scaling;
    double original = s->max_context != 0.0 ? s->max_context : s->original_context;
    double longest = fmax(s->context, original);
    fixed one = from(1.0), growth = from(factor), beyond = from(longest - original);
    growth = divided(fixed_mul(&growth, &beyond), original);
    scale_base(angles, p, fixed_add(&one, &growth));
}

/* The pair, as a real number, that makes so many turns in so many tokens; 0 where it would be negative. */
static fixed pair_that_makes(double turns, double tokens, const posenc_rope_params *p) {
    fixed one = from(1.0), inverse_two_pi = fixed_inverse_two_pi(), all = from(tokens);
    fixed ratio = divided(fixed_mul(&inverse_two_pi, &all), turns);
    if (fixed_compare(&ratio, &one) < 0)
        return from(0.0);
    fixed base = from(p->base), n_pairs = from((double)p->n_rot / 2.0);
    fixed log_ratio = fixed_log2(&ratio), log_base = fixed_log2(&base);
    fixed pair = fixed_div(&log_ratio, &log_base);
    return fixed_mul(&pair, &n_pairs);
}

static void scale_yarn(reference_angles *angles, const posenc_rope_params *p, double factor) {
    const posenc_rope_scaling *s = &p->scaling;
    double original = s->original_context != 0.0 ? s->original_context : s->max_context;
    fixed low = pair_that_makes(s->beta_fast, original, p), high = pair_that_makes(s->beta_slow, original, p);
    if (s->truncate) {
        low = from(floor(fixed_to_double(&low)));
        high = from(ceil(fixed_to_double(&high)));
    }
    fixed last = from((double)p->n_rot - 1.0);
    if (fixed_compare(&high, &last) > 0)
        high = last;
    fixed width = fixed_compare(&low, &high) == 0 ? from(0.001) : fixed_sub(&high, &low), one = from(1.0);
    for (int64_t i = 0; i < angles->n; i++) {
        fixed pair = from((double)i), ramp = from(0.0), t = angles->turns[i];
        if (fixed_compare(&pair, &low) > 0) {
            fixed beyond = fixed_sub(&pair, &low);
            ramp = fixed_compare(&beyond, &width) < 0 ? fixed_div(&beyond, &width) : one;
        }
        fixed weight = from(s->ext_factor), kept = fixed_sub(&one, &ramp);
        angles->turns[i] = between(divided(t, factor), t, fixed_mul(&kept, &weight));
    }
}

static void divide_by_list(reference_angles *angles, const double *list) {
    for (int64_t i = 0; list != NULL && i < angles->n; i++)
        angles->turns[i] = divided(angles->turns[i], list[i]);
}

static void scale_longrope(reference_angles *angles, const posenc_rope_params *p, double factor) {
    (void)factor;
    const posenc_rope_scaling *s = &p->scaling;
    double original = s->original_context != 0.0 ? s->original_context : s->max_context;
    divide_by_list(angles, s->context > original ? s->long_factors : s->short_factors);
}

static void scale_llama3(reference_angles *angles, const posenc_rope_params *p, double factor) {
    const posenc_rope_scaling *s = &p->scaling;
    fixed low = from(s->low_freq_factor), high = from(s->high_freq_factor), width = fixed_sub(&high, &low);
    fixed context = from(s->original_context);
    for (int64_t i = 0; i < angles->n; i++) {
        fixed t = angles->turns[i], turns = fixed_mul(&t, &context);
        if (fixed_compare(&turns, &high) > 0)
            continue;
        angles->turns[i] = divided(t, factor);
        if (fixed_compare(&turns, &low) <= 0)
            continue;
        turns = fixed_sub(&turns, &low);
        angles->turns[i] = between(angles->turns[i], t, fixed_div(&turns, &width));
    }
}

static void scale_proportional(reference_angles *angles, const posenc_rope_params *p, double factor) {
    double turning = floor(p->scaling.proportion * (double)p->head_dim / 2.0);
    for (int64_t i = 0; i < angles->n; i++)
        angles->turns[i] = (double)i < turning ? divided(angles->turns[i], factor) : from(0.0);
}

static scaling_rule *const rules[] = {
    [POSENC_SCALING_NONE] = scale_none,     [POSENC_SCALING_LINEAR] = scale_linear,
    [POSENC_SCALING_NTK] = scale_ntk,       [POSENC_SCALING_DYNAMIC] = scale_dynamic,
    [POSENC_SCALING_YARN] = scale_yarn,     [POSENC_SCALING_LONGROPE] = scale_longrope,
    [POSENC_SCALING_LLAMA3] = scale_llama3, [POSENC_SCALING_PROPORTIONAL] = scale_proportional,
    [POSENC_SCALING_NTK_LENGTH] = NULL,     [POSENC_SCALING_GGML] = NULL,
};

static double factor_of(const posenc_rope_scaling *s) {
    if (s->factor != 0.0)
        return s->factor;
    double original = s->original_context != 0.0 ? s->original_context : s->max_context;
    return s->type == POSENC_SCALING_YARN ? s->max_context / original : 1.0;
}

/* ---- Magnitude ---- */

static double mscale(double factor, double weight) {
    return 1.0 + 0.1 * weight * log(factor);
}

static double magnitude_of_scheme(const posenc_rope_scaling *s) {
    if (s->attention_factor != 0.0)
        return s->attention_factor;
    if (s->type == POSENC_SCALING_YARN) {
        int has_both = s->mscale != 0.0 && s->mscale_all_dim != 0.0;
        double factor = factor_of(s);
        return has_both ? mscale(factor, s->mscale) / mscale(factor, s->mscale_all_dim) : mscale(factor, 1.0);
    }
    if (s->type != POSENC_SCALING_LONGROPE)
        return 1.0;
    double original = s->original_context != 0.0 ? s->original_context : s->max_context;
    double growth = s->factor != 0.0 ? s->factor : s->max_context / original;
    return growth > 1.0 ? sqrt(1.0 + log(growth) / log(original)) : 1.0;
}

static double magnitude_of(const posenc_rope_scaling *s) {
    if (s->attn_factor == 0.0)
        return magnitude_of_scheme(s);
    return s->type == POSENC_SCALING_LONGROPE ? s->attn_factor : s->attn_factor * magnitude_of_scheme(s);
}

/* ---- Axes ---- */

/* Whether pair i follows axis a, as the interleaved rule has it. */
static int is_interleaved_to(const posenc_rope_axes *axes, int64_t i, int a) {
    return i % 3 == a && i < 3 * axes->sections[a];
}

static int axis_of(const posenc_rope_params *p, int64_t i) {
    const posenc_rope_axes *axes = &p->axes;
    switch (axes->kind) {
    case POSENC_AXES_SINGLE: return 0;
    case POSENC_AXES_PIXTRAL: return i < p->n_rot / 4 ? 0 : 1;
    case POSENC_AXES_IMROPE:
    case POSENC_AXES_IMROPE_GGML:
        for (int a = 1; a < 3; a++)
            if (is_interleaved_to(axes, i, a))
                return a;
        return axes->kind == POSENC_AXES_IMROPE || is_interleaved_to(axes, i, 0) ? 0 : 3;
    default:
        for (int a = 0; a < axes->n_axes; i -= axes->sections[a++])
            if (i < axes->sections[a])
                return a;
        return 0;
    }
}

/* Frequencies that start anew with every section, or are dealt out by turns. 0 without memory. */
static int arrange(reference_angles *angles, const posenc_rope_params *p) {
    const posenc_rope_axes *axes = &p->axes;
    int restarts = axes->kind == POSENC_AXES_VISION || axes->kind == POSENC_AXES_AXIAL;
    int64_t first = 0;
    for (int a = 0; restarts && a < axes->n_axes; first += axes->sections[a++])
        reference_fill(angles, first, axes->sections[a], p->base,
                       axes->kind == POSENC_AXES_VISION ? p->n_rot / 2 : 2 * axes->sections[a]);
    if (axes->kind != POSENC_AXES_PIXTRAL)
        return 1;
    fixed *dealt = malloc((size_t)angles->n * sizeof *dealt);
    if (dealt == NULL)
        return 0;
    for (int64_t i = 0; i < angles->n; i++)
        dealt[i] = angles->turns[2 * (i % (angles->n / 2)) + axis_of(p, i)];
    for (int64_t i = 0; i < angles->n; i++)
        angles->turns[i] = dealt[i];
    free(dealt);
    return 1;
}

/* ---- The whole ---- */

reference_rope *reference_rope_create(const posenc_rope_params *p) {
    if (p->scaling.type > POSENC_SCALING_GGML || rules[p->scaling.type] == NULL)
        return NULL;
    reference_rope *rope = malloc(sizeof *rope);
    reference_angles *angles = reference_angles_create(p->base, p->n_rot, p->n_rot / 2);
    int ready = rope != NULL && angles != NULL;
    if (ready) {
        divide_by_list(angles, p->scaling.freq_factors);
        rules[p->scaling.type](angles, p, factor_of(&p->scaling));
        ready = arrange(angles, p);
    }
    if (!ready) {
        free(angles);
        free(rope);
        return NULL;
    }
    *rope = (reference_rope){*p, magnitude_of(&p->scaling), angles};
    return rope;
}

void reference_rope_free(reference_rope *rope) {
    if (rope != NULL)
        free(rope->angles);
    free(rope);
}

double reference_rope_magnitude(const reference_rope *rope) {
    return rope->magnitude;
}

void reference_rope_cos_sin(const reference_rope *rope, int64_t i, const int32_t *positions, double *cosine,
                            double *sine) {
    reference_cos_sin(rope->angles, i, positions[axis_of(&rope->params, i)], cosine, sine);
}

double reference_rope_growth(const reference_rope *rope, int64_t i, const int32_t *positions) {
    const posenc_xpos *x = &rope->params.xpos;
    if (x->role == POSENC_XPOS_OFF)
        return 1.0;
    double zeta = (2.0 * (double)i / (double)rope->params.n_rot + x->gamma) / (1.0 + x->gamma);
    double exponent = ((double)positions[0] - (double)x->centre) / x->scale_base;
    return pow(zeta, x->role == POSENC_XPOS_QUERY ? exponent : -exponent);
}
