/* SPDX-License-Identifier: MIT */
/* RoPE scalings. In every scheme pair i is rotated by
 *
 *     theta_i = share_i * t_i + (1 - share_i) * t_i / factor        t_i = base'^(-2i/n_rot) / (lists of factors)[i]
 *
 * radians per position: a scheme chooses a new base, lists, or the share of t_i that stays unscaled. GGML multiplies by
 * freq_scale where the others divide by a factor: a quotient of the two would not be exact. */
#include "rope/scaling.h"

#include <float.h>
#include <math.h>

#include "core/angles.h"
#include "core/dd.h"
#include "core/view.h"
#include "rope/rope.h"

#define MAX_FACTOR 1e9
#define MAX_CONTEXT 1e15
#define MAX_TURNS 1e9

/* One set of parameters on its way to frequencies. */
typedef struct plan {
    const posenc_rope_params *params;
    const posenc_rope_scaling *scaling;
    posenc_dd (*share)(const struct plan *plan, int64_t i, posenc_dd t);
    double factor, freq_scale;
    posenc_dd ln_base;
    int64_t n_turning;                /* pairs from here on stand still */
    const double *scheme_factors;     /* LongRoPE's list, or NULL */
    double n_ramp;                    /* channels that the frequencies under a ramp are spread over */
    posenc_dd ramp_begin, ramp_width; /* in pairs */
    double magnitude;                 /* unless attention_factor is given */
} plan;

/* ---- Arithmetic ---- */

static int is_less(posenc_dd a, posenc_dd b) {
    return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

static posenc_dd clip(posenc_dd a, double low, double high) {
    posenc_dd least = posenc_dd_from(low), most = posenc_dd_from(high);
    return is_less(a, least) ? least : is_less(most, a) ? most : a;
}

static double floor_dd(posenc_dd a) {
    double whole = floor(a.hi);
    return whole == a.hi && a.lo < 0.0 ? whole - 1.0 : whole;
}

static double ceil_dd(posenc_dd a) {
    return -floor_dd((posenc_dd){-a.hi, -a.lo});
}

/* ---- Ranges ---- */

static int is_finite_positive(double x) {
    return x > 0.0 && x <= DBL_MAX;
}

static int is_context(double tokens) {
    return tokens >= 1.0 && tokens <= MAX_CONTEXT;
}

/* A number of the scaling that has to lie in a range. */
static posenc_status check_number(const char *name, double value, double least, double most) {
    return value >= least && value <= most
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_SCALING, "scaling.%s is %g, but %g .. %g are wanted", name, value, least,
                               most);
}

static posenc_status check_context(const char *name, double tokens) {
    return is_context(tokens) ? POSENC_OK
                              : posenc_refuse(POSENC_ERR_CONTEXT, "scaling.%s is %g, but 1 .. %g tokens are wanted",
                                              name, tokens, MAX_CONTEXT);
}

static double or_if_absent(double given, double otherwise) {
    return given != 0.0 ? given : otherwise;
}

static posenc_status set_factor(plan *p, double least, double if_absent) {
    p->factor = or_if_absent(p->scaling->factor, if_absent);
    return check_number("factor", p->factor, least, MAX_FACTOR);
}

/* A list as it is published: doubles, or the floats of a tensor; NULL: none. */
typedef struct factor_list {
    const char *name;
    const void *entries;
    int64_t size; /* of an entry, in bytes */
} factor_list;

static double factor_at(factor_list list, int64_t i) {
    return list.size == sizeof(float) ? (double)((const float *)list.entries)[i] : ((const double *)list.entries)[i];
}

static factor_list freq_factors_of(const posenc_rope_scaling *s) {
    if (s->freq_factors_f32 != NULL)
        return (factor_list){"freq_factors_f32", s->freq_factors_f32, sizeof(float)};
    return (factor_list){"freq_factors", s->freq_factors, sizeof(double)};
}

static posenc_status check_list(const plan *p, factor_list list) {
    int64_t n = p->params->n_rot / 2;
    if (list.entries == NULL)
        return POSENC_OK;
    if (p->scaling->n_factors != n)
        return posenc_refuse(POSENC_ERR_FACTORS, "scaling.n_factors is %lld, but n_rot/2 is %lld",
                             (long long)p->scaling->n_factors, (long long)n);
    if (!posenc_is_aligned(list.entries, list.size))
        return posenc_refuse(POSENC_ERR_STRIDE, "scaling.%s is not aligned as its entries", list.name);
    int either_sign = p->scaling->type == POSENC_SCALING_GGML;
    for (int64_t i = 0; i < n; i++) {
        double factor = factor_at(list, i);
        if (!is_finite_positive(either_sign ? fabs(factor) : factor))
            return posenc_refuse(POSENC_ERR_FACTORS, "scaling.%s[%lld] is %g, but a %s number is wanted", list.name,
                                 (long long)i, factor, either_sign ? "finite, non-zero" : "finite, positive");
    }
    return POSENC_OK;
}

static posenc_status check_lists(const plan *p) {
    const posenc_rope_scaling *s = p->scaling;
    const factor_list lists[] = {freq_factors_of(s),
                                 {"short_factors", s->short_factors, sizeof(double)},
                                 {"long_factors", s->long_factors, sizeof(double)}};
    if (s->freq_factors != NULL && s->freq_factors_f32 != NULL)
        return posenc_refuse(POSENC_ERR_FACTORS, "scaling.freq_factors and freq_factors_f32 are both given");
    posenc_status status = POSENC_OK;
    for (int k = 0; k < 3 && status == POSENC_OK; k++)
        status = check_list(p, lists[k]);
    return status;
}

/* ---- Shares ---- */

static posenc_dd share_all(const plan *p, int64_t i, posenc_dd t) {
    (void)p, (void)i, (void)t;
    return posenc_dd_from(1.0);
}

static posenc_dd share_nothing(const plan *p, int64_t i, posenc_dd t) {
    (void)p, (void)i, (void)t;
    return posenc_dd_from(0.0);
}

/* YaRN: falls from ext_factor to 0 along the ramp. */
static posenc_dd share_before_ramp(const plan *p, int64_t i, posenc_dd t) {
    (void)t;
    posenc_dd beyond = posenc_dd_sub(posenc_dd_from((double)i), p->ramp_begin);
    posenc_dd ramp = clip(posenc_dd_div(beyond, p->ramp_width), 0.0, 1.0);
    return posenc_dd_mul(posenc_dd_sub(posenc_dd_from(1.0), ramp), posenc_dd_from(p->scaling->ext_factor));
}

/* Llama-3: rises from 0 to 1 while the turns of t in the original context rise from low to high. */
static posenc_dd share_of_turns(const plan *p, int64_t i, posenc_dd t) {
    (void)i;
    const posenc_rope_scaling *s = p->scaling;
    posenc_dd low = posenc_dd_from(s->low_freq_factor), high = posenc_dd_from(s->high_freq_factor);
    posenc_dd half_turns = posenc_dd_mul(posenc_dd_mul(t, posenc_dd_inv_pi()), posenc_dd_from(s->original_context));
    posenc_dd above = posenc_dd_sub(posenc_dd_mul(half_turns, posenc_dd_from(0.5)), low);
    if (s->low_freq_factor == s->high_freq_factor) /* as Llama 4 Scout has it: a step, and nothing to divide by */
        return posenc_dd_from(above.hi > 0.0 ? 1.0 : 0.0);
    return clip(posenc_dd_div(above, posenc_dd_sub(high, low)), 0.0, 1.0);
}

/* ---- Magnitudes ---- */

/* m(s, w) of FORMULAS B.14, for s > 0. ggml has a scale in place of a factor, and w = -1. */
static double mscale_of(double s, double w) {
    posenc_dd tenth_of_log = posenc_dd_div(posenc_dd_log(s), posenc_dd_from(10.0));
    return posenc_dd_add(posenc_dd_from(1.0), posenc_dd_mul(tenth_of_log, posenc_dd_from(w))).hi;
}

static double yarn_magnitude(const plan *p) {
    const posenc_rope_scaling *s = p->scaling;
    if (s->mscale == 0.0 || s->mscale_all_dim == 0.0)
        return mscale_of(p->factor, 1.0);
    return mscale_of(p->factor, s->mscale) / mscale_of(p->factor, s->mscale_all_dim);
}

static double longrope_magnitude(const posenc_rope_scaling *s, double original) {
    if (s->short_mscale != 0.0)
        return s->context > original ? s->long_mscale : s->short_mscale;
    posenc_dd growth = posenc_dd_from(s->factor);
    if (s->factor == 0.0)
        growth = posenc_dd_div(posenc_dd_from(s->max_context), posenc_dd_from(original));
    if (growth.hi <= 1.0)
        return 1.0;
    return sqrt(1.0 + posenc_dd_div(posenc_dd_log_of(growth), posenc_dd_log(original)).hi);
}

/* ---- Schemes ---- */

static posenc_status plan_none(plan *p) {
    p->factor = or_if_absent(p->scaling->factor, 1.0);
    return p->factor == 1.0
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_SCALING, "scaling.factor is %g, but scaling.type has no factor", p->factor);
}

static posenc_status plan_linear(plan *p) {
    p->share = share_nothing;
    return set_factor(p, 1.0, 0.0);
}

/* base' = base * growth, given ln(growth). */
static posenc_status grow_base(plan *p, posenc_dd ln_growth) {
    p->ln_base = posenc_dd_add(p->ln_base, ln_growth);
    double base = fabs(p->ln_base.hi) < 100.0 ? posenc_dd_exp(p->ln_base).hi : (double)NAN;
    return posenc_base_is_valid(base)
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_BASE, "the scaling makes base %g, but 1 .. 1e30 are wanted", base);
}

/* base' = base * growth^(n/(n-2)): divides the last frequency by growth and leaves the first. */
static posenc_status grow_base_ntk(plan *p, posenc_dd growth) {
    double n = (double)p->params->n_rot;
    if (n == 2.0)
        return posenc_refuse(POSENC_ERR_N_ROT, "n_rot is 2, but NTK and DYNAMIC want 4 or more");
    return grow_base(
        p, posenc_dd_div(posenc_dd_mul(posenc_dd_log_of(growth), posenc_dd_from(n)), posenc_dd_from(n - 2.0)));
}

/* HunYuan's alpha takes the place of the factor. */
static posenc_status plan_ntk(plan *p) {
    double alpha = p->scaling->ntk_alpha;
    p->factor = or_if_absent(alpha, p->scaling->factor);
    posenc_status status = check_number(alpha != 0.0 ? "ntk_alpha" : "factor", p->factor, 1.0, MAX_FACTOR);
    return status != POSENC_OK ? status : grow_base_ntk(p, posenc_dd_from(p->factor));
}

static posenc_status plan_ntk_length(plan *p) {
    const posenc_rope_scaling *s = p->scaling;
    if (!is_finite_positive(s->alpha))
        return posenc_refuse(POSENC_ERR_SCALING, "scaling.alpha is %g, but a positive number is wanted", s->alpha);
    posenc_status status = check_context("original_context", s->original_context);
    if (status == POSENC_OK)
        status = check_context("context", s->context);
    if (status != POSENC_OK)
        return status;
    posenc_dd ratio = posenc_dd_div(posenc_dd_from(s->context), posenc_dd_from(s->original_context));
    return grow_base(p, posenc_dd_mul(posenc_dd_log(s->alpha), posenc_dd_sub(ratio, posenc_dd_from(1.0))));
}

static posenc_status plan_dynamic(plan *p) {
    const posenc_rope_scaling *s = p->scaling;
    if (s->ntk_alpha != 0.0)
        return plan_ntk(p);
    double original = or_if_absent(s->max_context, s->original_context);
    double longest = or_if_absent(s->context, original);
    posenc_status status = check_context(s->max_context != 0.0 ? "max_context" : "original_context", original);
    if (status == POSENC_OK)
        status = check_context("context", longest);
    if (status == POSENC_OK)
        status = set_factor(p, 1.0, 0.0);
    if (status != POSENC_OK)
        return status;
    /* factor L/C - (factor - 1) = 1 + factor (L - C)/C */
    posenc_dd beyond = posenc_dd_sub(posenc_dd_from(fmax(longest, original)), posenc_dd_from(original));
    posenc_dd scaled = posenc_dd_div(posenc_dd_mul(beyond, posenc_dd_from(p->factor)), posenc_dd_from(original));
    return grow_base_ntk(p, posenc_dd_add(posenc_dd_from(1.0), scaled));
}

/* Pair, as a real number, whose t makes `turns` turns in C = original tokens: n ln(C/2 pi turns) / (2 ln base). */
static posenc_dd pair_that_makes(double turns, double original, const plan *p) {
    if (original == 0.0) /* ggml: before the first */
        return posenc_dd_from(-1.0);
    posenc_dd spread = posenc_dd_mul(posenc_dd_from(original), posenc_dd_inv_pi());
    posenc_dd log_spread = posenc_dd_log_of(posenc_dd_div(spread, posenc_dd_from(2.0 * turns)));
    posenc_dd pairs = posenc_dd_mul(log_spread, posenc_dd_from(0.5 * p->n_ramp));
    return posenc_dd_div(pairs, p->ln_base);
}

static posenc_status set_ramp(plan *p, double original, int truncate) {
    const posenc_rope_scaling *s = p->scaling;
    if (!(s->beta_slow >= 1.0 / MAX_TURNS && s->beta_slow <= s->beta_fast && s->beta_fast <= MAX_TURNS))
        return posenc_refuse(POSENC_ERR_SCALING,
                             "scaling.beta_slow is %g and beta_fast %g, but %g <= slow <= fast <= %g is wanted",
                             s->beta_slow, s->beta_fast, 1.0 / MAX_TURNS, MAX_TURNS);
    posenc_status status = check_number("ext_factor", s->ext_factor, -DBL_MAX, DBL_MAX);
    int is_ggml = s->type == POSENC_SCALING_GGML;
    if (status == POSENC_OK && !(is_ggml && original == 0.0))
        status = check_context("original_context", original);
    if (status != POSENC_OK)
        return status;
    if (p->params->base == 1.0)
        return posenc_refuse(POSENC_ERR_BASE, "base is 1, but the scaling wants a larger one");
    posenc_dd begin = pair_that_makes(s->beta_fast, original, p);
    posenc_dd end = pair_that_makes(s->beta_slow, original, p);
    if (end.hi < 0.0 && !is_ggml) /* no pair turns so often, and implementations of YaRN disagree */
        return posenc_refuse(POSENC_ERR_CONTEXT,
                             "scaling.original_context is %g, in which no pair turns beta_slow %g times", original,
                             s->beta_slow);
    if (truncate) {
        begin = posenc_dd_from(floor_dd(begin));
        end = posenc_dd_from(ceil_dd(end));
    }
    p->ramp_begin = clip(begin, 0.0, HUGE_VAL);
    p->ramp_width = posenc_dd_sub(clip(end, -HUGE_VAL, p->n_ramp - 1.0), p->ramp_begin);
    p->share = share_before_ramp;
    return POSENC_OK;
}

static posenc_status plan_yarn(plan *p) {
    const posenc_rope_scaling *s = p->scaling;
    double original = or_if_absent(s->original_context, s->max_context);
    posenc_status status = set_factor(p, 1.0, s->max_context / original);
    if (status == POSENC_OK)
        status = set_ramp(p, original, s->truncate);
    if (status != POSENC_OK)
        return status;
    if (p->ramp_width.hi < 0.0) /* the ramp would begin beyond the last pair and run backwards */
        return posenc_refuse(POSENC_ERR_CONTEXT,
                             "scaling.original_context is %g, in which all pairs turn beta_fast %g times", original,
                             s->beta_fast);
    if (p->ramp_width.hi == 0.0)
        p->ramp_width = posenc_dd_from(0.001);
    p->magnitude = yarn_magnitude(p);
    return POSENC_OK;
}

static posenc_status plan_ggml(plan *p) {
    const posenc_rope_scaling *s = p->scaling;
    posenc_status status = plan_none(p); /* a factor was meant for another type */
    if (status != POSENC_OK)
        return status;
    p->freq_scale = or_if_absent(s->freq_scale, 1.0);
    status = check_number("freq_scale", p->freq_scale, 1.0 / MAX_FACTOR, POSENC_MAX_FREQUENCY);
    if (status != POSENC_OK)
        return status;
    p->magnitude = or_if_absent(s->attention_factor, 1.0);
    if (s->ext_factor == 0.0) {
        p->share = share_nothing;
        return POSENC_OK;
    }
    p->magnitude *= mscale_of(p->freq_scale, -1.0);
    status = set_ramp(p, s->original_context, 1);
    p->ramp_width = clip(p->ramp_width, 0.001, HUGE_VAL);
    return status;
}

static posenc_status plan_longrope(plan *p) {
    const posenc_rope_scaling *s = p->scaling;
    double original = or_if_absent(s->original_context, s->max_context);
    posenc_status status = check_context("original_context", original);
    if (status == POSENC_OK)
        status = check_context("context", s->context);
    if (status == POSENC_OK && (s->short_mscale != 0.0) != (s->long_mscale != 0.0))
        status =
            posenc_refuse(POSENC_ERR_SCALING, "scaling.short_mscale is %g and long_mscale %g: give both or neither",
                          s->short_mscale, s->long_mscale);
    int has_magnitude = s->attention_factor != 0.0 || s->attn_factor != 0.0 || s->short_mscale != 0.0;
    if (status == POSENC_OK && s->factor == 0.0 && !has_magnitude)
        status = check_context("max_context", s->max_context);
    if (status == POSENC_OK)
        status = set_factor(p, 1.0, 1.0);
    if (status != POSENC_OK)
        return status;
    int is_long = s->context > original;
    p->scheme_factors = is_long ? s->long_factors : s->short_factors;
    p->magnitude = longrope_magnitude(s, original);
    return p->scheme_factors != NULL ? POSENC_OK
                                     : posenc_refuse(POSENC_ERR_FACTORS, "scaling.%s is NULL, but context %g needs it",
                                                     is_long ? "long_factors" : "short_factors", s->context);
}

static posenc_status plan_llama3(plan *p) {
    const posenc_rope_scaling *s = p->scaling;
    if (!is_finite_positive(s->low_freq_factor) || !is_finite_positive(s->high_freq_factor) ||
        s->low_freq_factor > s->high_freq_factor)
        return posenc_refuse(POSENC_ERR_SCALING,
                             "scaling.low_freq_factor is %g and high_freq_factor %g, but 0 < low <= high is wanted",
                             s->low_freq_factor, s->high_freq_factor);
    p->share = share_of_turns;
    posenc_status status = check_context("original_context", s->original_context);
    return status == POSENC_OK ? set_factor(p, 1.0, 0.0) : status;
}

static posenc_status plan_proportional(plan *p) {
    double proportion = p->scaling->proportion;
    if (p->params->n_rot != p->params->head_dim)
        return posenc_refuse(POSENC_ERR_N_ROT, "n_rot is %lld, but PROPORTIONAL wants head_dim, %lld",
                             (long long)p->params->n_rot, (long long)p->params->head_dim);
    posenc_status status = check_number("proportion", proportion, 0.0, 1.0);
    if (status != POSENC_OK)
        return status;
    p->n_turning = (int64_t)(proportion * (double)p->params->head_dim / 2.0);
    p->share = share_nothing;
    return set_factor(p, 1.0, 1.0);
}

static posenc_status (*const planners[])(plan *p) = {
    [POSENC_SCALING_NONE] = plan_none,
    [POSENC_SCALING_LINEAR] = plan_linear,
    [POSENC_SCALING_NTK] = plan_ntk,
    [POSENC_SCALING_NTK_LENGTH] = plan_ntk_length,
    [POSENC_SCALING_DYNAMIC] = plan_dynamic,
    [POSENC_SCALING_YARN] = plan_yarn,
    [POSENC_SCALING_LONGROPE] = plan_longrope,
    [POSENC_SCALING_LLAMA3] = plan_llama3,
    [POSENC_SCALING_PROPORTIONAL] = plan_proportional,
    [POSENC_SCALING_GGML] = plan_ggml,
};

/* ---- Frequencies ---- */

static posenc_dd scaled(const plan *p, posenc_dd t) {
    if (p->scaling->type == POSENC_SCALING_GGML)
        return posenc_dd_mul(t, posenc_dd_from(p->freq_scale));
    return posenc_dd_div(t, posenc_dd_from(p->factor));
}

/* Before scaling. */
static posenc_dd power_of(const plan *p, const posenc_rope_pair *pair) {
    double own_base = p->params->lists.bases[pair->axis];
    posenc_dd ln_base = own_base != 0.0 ? posenc_dd_log(own_base) : p->ln_base;
    posenc_dd exponent = posenc_dd_mul(ln_base, posenc_dd_from(-2.0 * (double)pair->j));
    return posenc_dd_exp(posenc_dd_div(exponent, posenc_dd_from((double)pair->n)));
}

static posenc_dd theta_of(const plan *p, int64_t i) {
    if (p->params->lists.theta != NULL)
        return posenc_dd_from(p->params->lists.theta[i]);
    posenc_rope_pair pair = posenc_rope_pair_of(p->params, i);
    if (pair.entry >= p->n_turning)
        return posenc_dd_from(0.0);
    posenc_dd t = power_of(p, &pair);
    factor_list factors = freq_factors_of(p->scaling);
    if (factors.entries != NULL)
        t = posenc_dd_div(t, posenc_dd_from(factor_at(factors, pair.entry)));
    if (p->scheme_factors != NULL)
        t = posenc_dd_div(t, posenc_dd_from(p->scheme_factors[pair.entry]));

    posenc_dd share = p->share(p, pair.entry, t), rest = posenc_dd_sub(posenc_dd_from(1.0), share);
    return posenc_dd_add(posenc_dd_mul(t, share), posenc_dd_mul(scaled(p, t), rest));
}

static posenc_status make_plan(const posenc_rope_params *params, plan *p) {
    const posenc_rope_scaling *s = &params->scaling;
    if ((unsigned)s->type >= sizeof planners / sizeof planners[0])
        return posenc_refuse(POSENC_ERR_ENUM, "scaling.type is %d, which does not exist", (int)s->type);
    *p = (plan){
        .params = params,
        .scaling = s,
        .share = share_all,
        .factor = 1.0,
        .ln_base = posenc_dd_log(params->base),
        .n_turning = params->n_rot / 2,
        .magnitude = 1.0,
    };
    if (params->n_rot == 0) /* there is nothing to scale */
        return POSENC_OK;
    p->n_ramp = (double)posenc_rope_pair_of(params, 0).n;
    posenc_status status = planners[s->type](p);
    if (status != POSENC_OK)
        return status;
    if (s->type != POSENC_SCALING_GGML)
        p->magnitude = or_if_absent(s->attention_factor, p->magnitude);
    if (s->type == POSENC_SCALING_LONGROPE && s->attn_factor != 0.0)
        p->magnitude = s->attn_factor;
    else
        p->magnitude *= or_if_absent(s->attn_factor, 1.0);
    return p->magnitude >= (double)FLT_MIN && p->magnitude <= (double)FLT_MAX
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_SCALING, "the scaling makes magnitude %g, but %g .. %g are wanted",
                               p->magnitude, (double)FLT_MIN, (double)FLT_MAX);
}

posenc_status posenc_rope_check_scaling(const posenc_rope_params *params) {
    plan p;
    return make_plan(params, &p);
}

posenc_status posenc_rope_compile(const posenc_rope_params *params, posenc_dd *theta, double *magnitude) {
    plan p;
    posenc_status status = make_plan(params, &p);
    if (status == POSENC_OK && params->n_rot > 0)
        status = check_lists(&p);
    if (status != POSENC_OK)
        return status;
    for (int64_t i = 0; i < params->n_rot / 2; i++)
        theta[i] = theta_of(&p, i);
    *magnitude = p.magnitude;
    return POSENC_OK;
}

/* ---- Beside the rotation ---- */

double posenc_rope_softmax_multiplier(const posenc_rope_scaling *s) {
    if (s == NULL)
        return (double)NAN;
    if (s->mscale_all_dim == 0.0)
        return 1.0;
    plan p = {.scaling = s};
    if (set_factor(&p, 1.0, s->max_context / or_if_absent(s->original_context, s->max_context)) != POSENC_OK)
        return (double)NAN;
    double m = mscale_of(p.factor, s->mscale_all_dim);
    return m * m;
}

double posenc_query_temperature(int32_t position, double attn_scale, double floor_scale) {
    if (position < 0 || !(floor_scale > 0.0) || !(fabs(attn_scale) <= DBL_MAX))
        return (double)NAN;
    double chunks = floor(((double)position + 1.0) / floor_scale);
    if (chunks > DBL_MAX) /* a floor_scale next to 0 */
        return (double)NAN;
    return posenc_dd_log(chunks + 1.0).hi * attn_scale + 1.0;
}

double posenc_rope_query_temperature(const posenc_rope_scaling *s, int32_t position) {
    if (s == NULL || position < 0 || !(fabs(s->temperature_beta) <= DBL_MAX))
        return (double)NAN;
    if (s->temperature_beta == 0.0)
        return 1.0;
    if (!is_context(s->original_context))
        return (double)NAN;
    return posenc_dd_log(floor((double)position / s->original_context) + 1.0).hi * s->temperature_beta + 1.0;
}
