/* SPDX-License-Identifier: MIT */
#include "method_checks.h"

#include <math.h>

/* An option's value where it is a whole number. */
static long long whole(const table *t, option_id id) {
    return (long long)t->value[id];
}

static const char *check_even(const table *t) {
    long long dim = whole(t, OPTION_DIM);
    return dim % 2 == 0 ? NULL : method_text("--dim must be even, not %lld: use %lld", dim, dim + 1);
}

static const char *check_limit(const table *t, option_id id, const char *name, double limit) {
    return t->value[id] <= limit ? NULL : method_text("--%s is at most %.10g here: use that or less", name, limit);
}

/* ---- Encodings ---- */

const char *check_sinusoidal(const table *t) {
    int layout = (int)t->value[OPTION_LAYOUT];
    if (t->value[OPTION_SCHEDULE] == WORD_HALF_MINUS_1 && layout != WORD_CONCAT && layout != WORD_CONCAT_COS)
        return "--schedule half-minus-1 goes with --layout concat or concat-cos only: add one of them";
    return layout == WORD_COMPLEX ? check_even(t) : NULL;
}

/* The exponents are over dim/2 - shift. */
const char *check_timestep(const table *t) {
    double shift = t->value[OPTION_SHIFT];
    long long half = whole(t, OPTION_DIM) / 2;
    if (shift < (double)half)
        return NULL;
    return method_text(
        "--shift %.10g must be less than half of --dim, %lld: use a smaller --shift, or a --dim of %lld or more", shift,
        half, 2 * ((long long)shift + 1));
}

const char *check_grid(const table *t) {
    long long dim = whole(t, OPTION_DIM);
    return dim % 4 == 0 ? NULL
                        : method_text("--dim must be a multiple of 4, not %lld: use %lld", dim, (dim + 3) / 4 * 4);
}

const char *check_fourier(const table *t) {
    const char *wrong = check_limit(t, OPTION_DIM, "dim", 131072.0);
    return wrong != NULL ? wrong : check_limit(t, OPTION_SIGMA, "sigma", 4096.0);
}

const char *check_resized(const table *t) {
    const char *wrong = check_limit(t, OPTION_LENGTH, "length", 0x1p20);
    return wrong != NULL ? wrong : check_limit(t, OPTION_TRAINED, "trained", 0x1p20);
}

const char *check_bits(const table *t) {
    return t->value[OPTION_START] >= 0.0 ? NULL
                                         : "--start must not be negative, for only numbers from 0 on have bits here";
}

/* ---- The rotary embedding ---- */

enum { MAX_BASE_EXPONENT = 30, MAX_CONTEXT_EXPONENT = 15 };

/* NTK divides the last frequency by `growth` and leaves the first, by a base of base * growth^(dim/(dim-2)). */
static const char *check_growth(const table *t, double growth) {
    double dim = t->value[OPTION_DIM];
    if (dim < 4.0)
        return "--scaling ntk and dynamic need a --dim of 4 or more: one pair alone has no last frequency to stretch";
    if (log10(t->value[OPTION_BASE]) + log10(growth) * dim / (dim - 2.0) < MAX_BASE_EXPONENT)
        return NULL;
    return method_text("this scaling makes a base beyond 1e%d: use a smaller --factor or --base", MAX_BASE_EXPONENT);
}

/* The ramp lies between the pairs that turn 32 times and once in --context positions. */
static const char *check_yarn(const table *t) {
    const double two_pi = 6.283185307179586;
    double dim = t->value[OPTION_DIM], base = t->value[OPTION_BASE], context = t->value[OPTION_CONTEXT];
    if (base == 1.0)
        return "--scaling yarn needs a --base above 1, where pairs differ";
    if (context < 7.0)
        return "--scaling yarn needs a --context of 7 or more: within fewer positions no pair turns once";
    if (floor(dim / 2.0 * log(context / (32.0 * two_pi)) / log(base)) > dim - 1.0)
        return "with this --base all pairs turn 32 times in --context: --scaling yarn needs a larger --base, or a "
               "smaller "
               "--context";
    return NULL;
}

const char *check_rope(const table *t) {
    double factor = t->value[OPTION_FACTOR];
    const char *wrong = check_even(t);
    if (wrong != NULL)
        return wrong;
    switch ((int)t->value[OPTION_SCALING]) {
    case WORD_NTK: return check_growth(t, factor);
    case WORD_DYNAMIC:
        if (log10(t->value[OPTION_CONTEXT]) + log10(factor) >= MAX_CONTEXT_EXPONENT)
            return "--context times --factor must be less than 1e15: use smaller ones";
        return check_growth(t, 1.0 + factor * (factor - 1.0));
    case WORD_YARN: return check_yarn(t);
    default: return NULL;
    }
}

/* ---- Biases ---- */

const char *check_sandwich(const table *t) {
    const char *wrong = check_even(t);
    return wrong != NULL ? wrong : check_limit(t, OPTION_DIM, "dim", 8192.0);
}

/* Half of the buckets are for single distances, the others for ranges up to --max-distance. */
const char *check_t5(const table *t) {
    int is_full = t->value[OPTION_MASK] == WORD_FULL;
    long long one_side = whole(t, OPTION_BUCKETS) / (is_full ? 2 : 1);
    if (one_side < 2)
        return "--buckets must be 4 or more with --mask full, which has buckets for keys on both sides";
    if (whole(t, OPTION_MAX_DISTANCE) > one_side / 2)
        return NULL;
    return method_text(
        "--max-distance must be more than the %lld buckets of one distance each: use %lld or more, or fewer "
        "--buckets",
        one_side / 2, one_side / 2 + 1);
}

const char *check_swin(const table *t) {
    double tokens = t->value[OPTION_HEIGHT] * t->value[OPTION_WIDTH];
    const char *wrong = check_limit(t, OPTION_HEIGHT, "height", 1024.0);
    if (wrong == NULL)
        wrong = check_limit(t, OPTION_WIDTH, "width", 1024.0);
    if (wrong == NULL && tokens * tokens * t->value[OPTION_HEADS] > 0x1p28)
        wrong = "this takes more than 1 GiB of memory: use a smaller --height, --width or --heads";
    return wrong;
}
