/* SPDX-License-Identifier: MIT */
/* Published names of RoPE parameters: one table for each kind of value. */
#include <posenc/rope_config.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/refuse.h"

/* A name that begins with a dot is a GGUF key: the dot, and the architecture before it, may be missing. */
static int is_named(const char *published, const char *name) {
    if (published[0] != '.')
        return strcmp(published, name) == 0;
    if (strcmp(published + 1, name) == 0)
        return 1;
    const char *first_dot = strchr(name, '.');
    return first_dot != NULL && strcmp(published, first_dot) == 0;
}

/* ---- Numbers ---- */

typedef enum value_kind {
    NUMBER,
    TIMES_TEN,
    TIMES_10000,
    NOT_ONE, /* 1 says nothing */
    ONE,     /* whatever the value: a field that goes with it */
    FRACTION,
    CHANNELS, /* int64_t */
    FLAG      /* int */
} value_kind;

typedef struct number_name {
    const char *published;
    value_kind kind;
    size_t offset;
} number_name;

#define FIELD(member) offsetof(posenc_rope_params, member)

/* llama.cpp writes a tenth of mscale_all_dim to files of DeepSeek-V2 and related models; mscale is the same. */
#define A_TENTH(architecture)                                                                                          \
    {architecture ".rope.scaling.yarn_log_multiplier", TIMES_TEN, FIELD(scaling.mscale)}, {                            \
        architecture ".rope.scaling.yarn_log_multiplier", TIMES_TEN, FIELD(scaling.mscale_all_dim)                     \
    }

/* A name may have several rows: all of them are set, the last one wins. Rows of one name refuse the same values. */
static const number_name number_names[] = {
    {"head_dim", CHANNELS, FIELD(head_dim)},
    {"rotary_dim", CHANNELS, FIELD(n_rot)},
    {"partial_rotary_factor", FRACTION, FIELD(rot_fraction)},
    {"partial_rotary_factor", FRACTION, FIELD(scaling.proportion)},
    {"rotary_pct", FRACTION, FIELD(rot_fraction)},
    {"rotary_pct", FRACTION, FIELD(scaling.proportion)},
    {"rope_theta", NUMBER, FIELD(base)},
    {"rotary_emb_base", NUMBER, FIELD(base)},
    {"global_rope_theta", NUMBER, FIELD(base)},
    {"rope_ratio", TIMES_10000, FIELD(base)}, /* ChatGLM */
    {"local_rope_theta", NUMBER, FIELD(local_base)},
    {"rope_local_base_freq", NUMBER, FIELD(local_base)},
    {"rotary_emb_fraction", FRACTION, FIELD(rot_fraction)},
    {"max_position_embeddings", NUMBER, FIELD(scaling.max_context)},
    {"original_max_position_embeddings", NUMBER, FIELD(scaling.original_context)},
    {"factor", NUMBER, FIELD(scaling.factor)},
    {"beta_fast", NUMBER, FIELD(scaling.beta_fast)},
    {"beta_slow", NUMBER, FIELD(scaling.beta_slow)},
    {"truncate", FLAG, FIELD(scaling.truncate)},
    {"extrapolation_factor", NUMBER, FIELD(scaling.ext_factor)},
    {"attention_factor", NUMBER, FIELD(scaling.attention_factor)},
    {"mscale", NUMBER, FIELD(scaling.mscale)},
    {"mscale_all_dim", NUMBER, FIELD(scaling.mscale_all_dim)},
    {"short_mscale", NUMBER, FIELD(scaling.short_mscale)},
    {"long_mscale", NUMBER, FIELD(scaling.long_mscale)},
    {"attn_factor", NOT_ONE, FIELD(scaling.attn_factor)},
    {"alpha", NUMBER, FIELD(scaling.ntk_alpha)},
    {"llama_4_scaling_beta", NUMBER, FIELD(scaling.temperature_beta)},
    {"low_freq_factor", NUMBER, FIELD(scaling.low_freq_factor)},
    {"high_freq_factor", NUMBER, FIELD(scaling.high_freq_factor)},

    {".attention.key_length", CHANNELS, FIELD(head_dim)},
    {".context_length", NUMBER, FIELD(scaling.max_context)},
    {".rope.dimension_count", CHANNELS, FIELD(n_rot)},
    {".rope.freq_base", NUMBER, FIELD(base)},
    {".rope.scale_linear", NUMBER, FIELD(scaling.factor)},
    {".rope.scaling.factor", NUMBER, FIELD(scaling.factor)},
    {".rope.scaling.original_context_length", NUMBER, FIELD(scaling.original_context)},
    {".rope.scaling.yarn_ext_factor", NUMBER, FIELD(scaling.ext_factor)},
    {".rope.scaling.yarn_beta_fast", NUMBER, FIELD(scaling.beta_fast)},
    {".rope.scaling.yarn_beta_slow", NUMBER, FIELD(scaling.beta_slow)},
    /* Files have 1 where nobody set one. */
    {".rope.scaling.attn_factor", NOT_ONE, FIELD(scaling.attn_factor)},
    {".rope.scaling.yarn_attn_factor", NOT_ONE, FIELD(scaling.attention_factor)},
    /* mscale_all_dim, and mscale is 1. */
    {".rope.scaling.yarn_log_multiplier", ONE, FIELD(scaling.mscale)},
    {".rope.scaling.yarn_log_multiplier", NUMBER, FIELD(scaling.mscale_all_dim)},
    A_TENTH("axk2"),
    A_TENTH("deepseek2"),
    A_TENTH("deepseek32"),
    A_TENTH("gigachat35"),
    A_TENTH("instella-moe"),
    A_TENTH("longcat-flash-ngram"),
    A_TENTH("mistral4"),
    A_TENTH("xing4_0"),
};

static posenc_status store(value_kind kind, double value, void *field) {
    switch (kind) {
    case NUMBER: *(double *)field = value; break;
    case TIMES_10000: *(double *)field = 10000.0 * value; break;
    case TIMES_TEN: *(double *)field = 10.0 * value; break;
    case NOT_ONE: *(double *)field = value == 1.0 ? *(double *)field : value; break;
    case ONE: *(double *)field = 1.0; break;
    case FLAG: *(int *)field = value != 0.0; break;
    case FRACTION:
        if (!(value > 0.0 && value <= 1.0))
            return posenc_refused(POSENC_ERR_N_ROT);
        *(double *)field = value;
        break;
    case CHANNELS:
        if (!(fabs(value) <= 0x1p53 && value == floor(value)))
            return posenc_refused(POSENC_ERR_SHAPE);
        *(int64_t *)field = (int64_t)value;
        break;
    }
    return POSENC_OK;
}

posenc_status posenc_rope_set_number(posenc_rope_params *params, const char *name, double value) {
    if (params == NULL || name == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    int known = 0;
    for (size_t k = 0; k < sizeof number_names / sizeof number_names[0]; k++) {
        const number_name *row = &number_names[k];
        if (!is_named(row->published, name))
            continue;
        known = 1;
        posenc_status status = store(row->kind, value, (char *)params + row->offset);
        if (status != POSENC_OK)
            return status;
    }
    return known ? POSENC_OK : posenc_refused(POSENC_ERR_ENUM);
}

/* ---- Types ---- */

static const char *const type_names[] = {"rope_type", "type", ".rope.scaling.type"};

static const struct {
    const char *published;
    posenc_scaling_type type;
} types[] = {
    {"default", POSENC_SCALING_NONE},      {"none", POSENC_SCALING_NONE},
    {"mrope", POSENC_SCALING_NONE},                                        /* Qwen2-VL: the axes are meant */
    {"linear", POSENC_SCALING_LINEAR},     {"xdrope", POSENC_SCALING_NTK}, /* HunyuanVL: four axes are meant too */
    {"dynamic", POSENC_SCALING_DYNAMIC},   {"yarn", POSENC_SCALING_YARN},
    {"longrope", POSENC_SCALING_LONGROPE}, {"su", POSENC_SCALING_LONGROPE},
    {"llama3", POSENC_SCALING_LLAMA3},     {"proportional", POSENC_SCALING_PROPORTIONAL},
};

static int is_type_name(const char *name) {
    for (size_t k = 0; k < sizeof type_names / sizeof type_names[0]; k++)
        if (is_named(type_names[k], name))
            return 1;
    return 0;
}

posenc_status posenc_rope_set_string(posenc_rope_params *params, const char *name, const char *value) {
    if (params == NULL || name == NULL || value == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!is_type_name(name))
        return posenc_refused(POSENC_ERR_ENUM);
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
        if (strcmp(types[k].published, value) == 0) {
            params->scaling.type = types[k].type;
            return POSENC_OK;
        }
    return posenc_refused(POSENC_ERR_ENUM);
}

/* ---- Lists ---- */

static const struct {
    const char *published;
    size_t offset;
} list_names[] = {
    {"short_factor", FIELD(scaling.short_factors)},       {"long_factor", FIELD(scaling.long_factors)},
    {"rope_factors_short", FIELD(scaling.short_factors)}, {"rope_factors_short.weight", FIELD(scaling.short_factors)},
    {"rope_factors_long", FIELD(scaling.long_factors)},   {"rope_factors_long.weight", FIELD(scaling.long_factors)},
    {"rope_freqs", FIELD(scaling.freq_factors)},          {"rope_freqs.weight", FIELD(scaling.freq_factors)},
};

posenc_status posenc_rope_set_list(posenc_rope_params *params, const char *name, const double *values, int64_t n) {
    if (params == NULL || name == NULL || values == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_rope_scaling *s = &params->scaling;
    for (size_t k = 0; k < sizeof list_names / sizeof list_names[0]; k++) {
        if (strcmp(list_names[k].published, name) != 0)
            continue;
        int has_list = s->freq_factors != NULL || s->freq_factors_f32 != NULL || s->short_factors != NULL ||
                       s->long_factors != NULL;
        if (n < 0 || (has_list && n != s->n_factors))
            return posenc_refused(POSENC_ERR_FACTORS);
        *(const double **)((char *)params + list_names[k].offset) = values;
        s->n_factors = n;
        return POSENC_OK;
    }
    return posenc_refused(POSENC_ERR_ENUM);
}
