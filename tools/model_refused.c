/* SPDX-License-Identifier: MIT */
/* Why posenc refuses a model's rotary parameters: the keys of its file that are to blame, and what to do. */
#include <stddef.h>
#include <stdio.h>

#include "model_reader.h"

/* ---- Numbers ---- */

typedef struct number_key {
    const char *json, *gguf; /* of GGUF without the architecture */
    size_t offset;           /* in posenc_rope_params */
    double low, high;
    unsigned judged, needed; /* bit t: by scalings of type t */
} number_key;

/* Of factors, and 1 / LARGEST the smallest. */
#define LARGEST 1e30

#define AT(member) offsetof(posenc_rope_params, member)
#define BY(type) (1u << POSENC_SCALING_##type)

/* As rope.h and rope_scaling.h have them, but for numbers that make no sense in a model, of which the library takes
 * more. 0 is a number that is not given, unless there is a default. */
static const number_key number_keys[] = {
    {"rope_theta\" or \"rotary_emb_base", "rope.freq_base", AT(base), 1.0, 1e30, ~0u, ~0u},
    {"factor", "rope.scaling.factor", AT(scaling.factor), 1.0, 1e9,
     BY(LINEAR) | BY(DYNAMIC) | BY(YARN) | BY(LONGROPE) | BY(LLAMA3) | BY(PROPORTIONAL),
     BY(LINEAR) | BY(DYNAMIC) | BY(LLAMA3)},
    {"original_max_position_embeddings", "rope.scaling.original_context_length", AT(scaling.original_context), 1.0,
     1e15, BY(DYNAMIC) | BY(YARN) | BY(LONGROPE) | BY(LLAMA3), BY(LLAMA3)},
    {"max_position_embeddings", "context_length", AT(scaling.max_context), 1.0, 1e15,
     BY(DYNAMIC) | BY(YARN) | BY(LONGROPE), 0},
    {"low_freq_factor", "", AT(scaling.low_freq_factor), 1.0 / LARGEST, LARGEST, BY(LLAMA3), BY(LLAMA3)},
    {"high_freq_factor", "", AT(scaling.high_freq_factor), 1.0 / LARGEST, LARGEST, BY(LLAMA3), BY(LLAMA3)},
    {"beta_fast", "rope.scaling.yarn_beta_fast", AT(scaling.beta_fast), 1e-9, 1e9, BY(YARN), BY(YARN)},
    {"beta_slow", "rope.scaling.yarn_beta_slow", AT(scaling.beta_slow), 1e-9, 1e9, BY(YARN), BY(YARN)},
    {"extrapolation_factor", "rope.scaling.yarn_ext_factor", AT(scaling.ext_factor), 0.0, 1.0, BY(YARN), 0},
    {"attention_factor", "rope.scaling.yarn_attn_factor", AT(scaling.attention_factor), 1.0 / LARGEST, LARGEST, ~0u, 0},
    {"", "rope.scaling.attn_factor", AT(scaling.attn_factor), 1.0 / LARGEST, LARGEST, ~0u, 0},
};

/* Lengths that do where others are not given. */
static int is_needed(const number_key *key, const posenc_rope_params *p) {
    const posenc_rope_scaling *s = &p->scaling;
    int of_type = (key->needed >> s->type & 1) != 0;
    switch (key->offset) {
    case AT(scaling.factor):
        return of_type || (s->type == POSENC_SCALING_YARN &&
                           !(s->max_context > 0.0 && s->max_context >= s->original_context));
    case AT(scaling.max_context): {
        int is_longrope = s->type == POSENC_SCALING_LONGROPE;
        int has_magnitude = s->factor != 0.0 || s->attention_factor != 0.0 || s->attn_factor != 0.0;
        return s->original_context == 0.0 || (is_longrope && !has_magnitude);
    }
    default: return of_type;
    }
}

/* 1 if a number is out of its range, or missing; it has been named then. */
static int name_number(reader *r, const char *prefix, const posenc_rope_params *p) {
    for (size_t k = 0; k < sizeof number_keys / sizeof number_keys[0]; k++) {
        const number_key *key = &number_keys[k];
        double value = *(const double *)((const char *)p + key->offset);
        if ((key->judged >> p->scaling.type & 1) == 0 || (value == 0.0 && !is_needed(key, p)) ||
            (value >= key->low && value <= key->high))
            continue;
        reader_fail(r, "\"%s%s\" is %g%s; it has to be %g to %g: correct it", prefix,
                    r->is_gguf ? key->gguf : key->json, value, value == 0.0 ? " or missing" : "", key->low, key->high);
        return 1;
    }
    return 0;
}

/* ---- Lists ---- */

static void name_list(reader *r, const char *name, const double *list, int is_needed_here,
                      const posenc_rope_params *p) {
    int64_t n = p->scaling.n_factors, n_pairs = p->n_rot / 2;
    if (list == NULL && is_needed_here)
        reader_fail(r, "\"%s\" is missing, and this length of the context needs it; add it", name);
    if (list != NULL && n != n_pairs)
        reader_fail(r, "\"%s\" has %lld numbers for the %lld pairs of a head; correct it", name, (long long)n,
                    (long long)n_pairs);
    for (int64_t i = 0; list != NULL && i < n; i++)
        if (!(list[i] >= 1.0 / POSENC_MAX_FREQUENCY && list[i] <= LARGEST))
            reader_fail(r, "number %lld of \"%s\" is %g; it has to be 1/%g to %g: correct it", (long long)i + 1, name,
                        list[i], POSENC_MAX_FREQUENCY, LARGEST);
}

static void name_lists(reader *r, const posenc_rope_params *p) {
    const posenc_rope_scaling *s = &p->scaling;
    double original = s->original_context != 0.0 ? s->original_context : s->max_context;
    int is_longrope = s->type == POSENC_SCALING_LONGROPE, is_long = s->context > original;
    name_list(r, "rope_freqs.weight", s->freq_factors, 0, p);
    name_list(r, r->is_gguf ? "rope_factors_short.weight" : "short_factor", s->short_factors, is_longrope && !is_long,
              p);
    name_list(r, r->is_gguf ? "rope_factors_long.weight" : "long_factor", s->long_factors, is_longrope && is_long, p);
}

/* ---- What goes with what ---- */

static void name_channels(reader *r, const posenc_rope_params *p) {
    char most[64] = "";
    if (p->axes.kind != POSENC_AXES_SINGLE)
        snprintf(most, sizeof most, ", at most %d where tokens have several positions", POSENC_MAX_AXES_ROT);
    if (p->n_rot == 2 && p->scaling.type == POSENC_SCALING_DYNAMIC)
        reader_fail(r, "2 rotated channels cannot be scaled by dynamic NTK; take another type, or none");
    else
        reader_fail(r,
                    "%lld of the %lld channels of a head are to be rotated; it has to be an even number of them%s: "
                    "correct %s",
                    (long long)p->n_rot, (long long)p->head_dim, most,
                    r->is_gguf ? "rope.dimension_count or attention.key_length"
                               : "\"head_dim\", or what tells the rotated part: \"partial_rotary_factor\", "
                                 "\"rotary_pct\", \"rotary_dim\" or \"qk_rope_head_dim\"");
}

static void name_sections(reader *r, const posenc_rope_params *p) {
    const char *name = r->is_gguf ? "rope.dimension_sections" : "mrope_section";
    int64_t sum = 0;
    for (int a = 0; a < p->axes.n_axes; a++)
        sum += p->axes.sections[a];
    if (sum != p->n_rot / 2)
        reader_fail(r, "the sections of \"%s\" add up to %lld pairs, but a head has %lld; correct it", name,
                    (long long)sum, (long long)p->n_rot / 2);
    else
        reader_fail(r, "\"%s\" has %d sections, or one below 0, which does not fit this kind of M-RoPE; correct it",
                    name, p->axes.n_axes);
}

/* Each number is in its range. */
static void name_numbers(reader *r, const char *prefix, const posenc_rope_params *p, posenc_status status) {
    const posenc_rope_scaling *s = &p->scaling;
    const char *yarn = r->is_gguf ? "rope.scaling.yarn_" : "";
    if (s->type == POSENC_SCALING_NONE && s->factor != 0.0 && s->factor != 1.0)
        reader_fail(r, "\"%s\" is %g, but no scaling is stated; add its type (\"%s\"), or leave the factor away",
                    r->is_gguf ? "rope.scaling.factor" : "factor", s->factor,
                    r->is_gguf ? "rope.scaling.type" : "rope_type");
    else if (s->type == POSENC_SCALING_LLAMA3)
        reader_fail(r, "\"low_freq_factor\" is %g, and must not be above \"high_freq_factor\", %g; correct one of them",
                    s->low_freq_factor, s->high_freq_factor);
    else if (s->type == POSENC_SCALING_DYNAMIC)
        reader_fail(r, "a base of %g, grown by a factor of %g, is beyond 1e30; correct one of them", p->base,
                    s->factor);
    else if (s->type == POSENC_SCALING_YARN && status == POSENC_ERR_BASE)
        reader_fail(r, "a base of 1 gives every pair the same frequency, and YaRN no ramp; correct %s",
                    r->is_gguf ? "rope.freq_base" : "\"rope_theta\"");
    else if (s->type == POSENC_SCALING_YARN && s->beta_slow > s->beta_fast)
        reader_fail(r, "\"%s%sbeta_slow\" is %g, and must not be above \"%s%sbeta_fast\", %g; correct one of them",
                    prefix, yarn, s->beta_slow, prefix, yarn, s->beta_fast);
    else if (s->type == POSENC_SCALING_YARN && status == POSENC_ERR_CONTEXT)
        reader_fail(r,
                    "an original context of %g tokens does not go with YaRN's \"%s%sbeta_slow\", %g, and "
                    "\"%s%sbeta_fast\", %g; correct one of them",
                    s->original_context != 0.0 ? s->original_context : s->max_context, prefix, yarn, s->beta_slow,
                    prefix, yarn, s->beta_fast);
    else if (s->type == POSENC_SCALING_YARN)
        reader_fail(r,
                    "\"mscale\", %g, and \"mscale_all_dim\", %g, make a factor on the cosines that is not positive; "
                    "correct one of them",
                    s->mscale, s->mscale_all_dim);
}

enum { PREFIX = sizeof((model_config *)NULL)->model_type + 1 };

/* What a GGUF file's keys begin with. */
static void put_prefix(char prefix[PREFIX], const reader *r, const model_config *c) {
    snprintf(prefix, PREFIX, "%s%s", r->is_gguf ? c->model_type : "", r->is_gguf ? "." : "");
}

void reader_check_sense(reader *r, const model_config *c, const posenc_rope_params *params) {
    char prefix[PREFIX];
    put_prefix(prefix, r, c);
    if (!name_number(r, prefix, params))
        name_lists(r, params);
}

void reader_fail_refused(reader *r, const model_config *c, const posenc_rope_params *params, posenc_status status) {
    posenc_rope_params p = *params;
    char prefix[PREFIX];
    put_prefix(prefix, r, c);
    if (p.n_rot == 0)
        p.n_rot = (int64_t)((double)p.head_dim * p.rot_fraction);
    if (status == POSENC_ERR_N_ROT)
        name_channels(r, &p);
    else if (status == POSENC_ERR_SECTIONS)
        name_sections(r, &p);
    else if (status == POSENC_ERR_FACTORS || status == POSENC_ERR_FREQUENCY)
        name_lists(r, &p);
    else if (!name_number(r, prefix, &p))
        name_numbers(r, prefix, &p, status);
    reader_fail(r, "its RoPE parameters do not go together: %s",
                posenc_status_string(status)); /* if nothing is named */
}
