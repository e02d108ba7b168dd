/* SPDX-License-Identifier: MIT */
/* RoPE parameters from the arguments of ggml_rope_ext and ggml_rope_multi (FORMULAS B.15). */
#include <posenc/rope_config.h>

#include "core/refuse.h"
#include "rope/rope.h"

/* GGML_ROPE_TYPE_NORMAL, NEOX, MROPE, VISION and IMROPE. */
static const struct mode {
    int number;
    posenc_rope_layout layout;
    posenc_axes_kind axes;
} modes[] = {
    {0, POSENC_ROPE_INTERLEAVED, POSENC_AXES_SINGLE}, {2, POSENC_ROPE_HALF, POSENC_AXES_SINGLE},
    {8, POSENC_ROPE_HALF, POSENC_AXES_MROPE},         {24, POSENC_ROPE_HALF, POSENC_AXES_VISION},
    {40, POSENC_ROPE_HALF, POSENC_AXES_IMROPE_GGML},
};

static const struct mode *find_mode(int number) {
    for (size_t k = 0; k < sizeof modes / sizeof modes[0]; k++)
        if (modes[k].number == number)
            return &modes[k];
    return NULL;
}

static posenc_rope_scaling scaling_of(const posenc_rope_ggml *ggml, int64_t n_pairs) {
    posenc_rope_scaling s = POSENC_ROPE_SCALING_DEFAULTS;
    s.type = POSENC_SCALING_GGML;
    s.freq_scale = ggml->freq_scale;
    s.original_context = (double)ggml->n_ctx_orig;
    s.ext_factor = ggml->ext_factor;
    s.attention_factor = ggml->attn_factor;
    s.beta_fast = ggml->beta_fast;
    s.beta_slow = ggml->beta_slow;
    s.freq_factors_f32 = ggml->freq_factors;
    s.n_factors = n_pairs;
    return s;
}

/* True if a section without pairs lies between pairs. ggml restarts the frequencies of such a section, not of the next
 * one. */
static int has_gap(const int *sections, int64_t n_pairs) {
    int64_t begin = 0;
    for (int axis = 0; axis < POSENC_MAX_AXES; begin += sections[axis++])
        if (sections[axis] == 0 && begin > 0 && begin < n_pairs)
            return 1;
    return 0;
}

/* ggml's sections may reach beyond the last pair, where those of a posenc_rope end: pairs are counted by their axis. */
static posenc_status set_axes(const posenc_rope_ggml *ggml, posenc_axes_kind kind, posenc_rope_params *params) {
    int64_t n_pairs = params->n_rot / 2, reach = 0;
    if (params->n_rot > POSENC_MAX_AXES_ROT)
        return posenc_refused(POSENC_ERR_N_ROT);
    params->axes.kind = kind;
    params->axes.n_axes = POSENC_MAX_AXES;
    for (int axis = 0; axis < POSENC_MAX_AXES; axis++) {
        if (ggml->sections[axis] < 0)
            return posenc_refused(POSENC_ERR_SECTIONS);
        params->axes.sections[axis] = ggml->sections[axis];
        reach += ggml->sections[axis];
    }
    if (reach < n_pairs) /* ggml starts over with the first section */
        return posenc_refused(POSENC_ERR_SECTIONS);
    if (kind == POSENC_AXES_VISION && has_gap(ggml->sections, n_pairs))
        return posenc_refused(POSENC_ERR_SECTIONS);
    posenc_rope_axes counted = {kind, POSENC_MAX_AXES, {0, 0, 0, 0}};
    for (int64_t i = 0; i < n_pairs; i++)
        counted.sections[posenc_rope_pair_of(params, i).axis]++;
    params->axes = counted;
    return POSENC_OK;
}

posenc_status posenc_rope_params_from_ggml(const posenc_rope_ggml *ggml, posenc_rope_params *params) {
    if (ggml == NULL || params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    const struct mode *mode = find_mode(ggml->mode);
    if (mode == NULL)
        return posenc_refused(POSENC_ERR_ENUM);
    if (ggml->n_dims < 0 || ggml->n_dims % 2 != 0)
        return posenc_refused(POSENC_ERR_N_ROT);
    /* The bounds keep every frequency in the range of the angle engine. */
    if (!(ggml->freq_scale > 0.0 && ggml->freq_scale <= POSENC_MAX_FREQUENCY && ggml->attn_factor > 0.0 &&
          ggml->ext_factor >= 0.0 && ggml->ext_factor <= 1.0))
        return posenc_refused(POSENC_ERR_SCALING);
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    p.layout = mode->layout;
    p.head_dim = ggml->head_dim;
    p.n_rot = mode->axes == POSENC_AXES_VISION ? 2 * (int64_t)ggml->n_dims : ggml->n_dims;
    p.rot_fraction = 0.0; /* n_dims may be 0 */
    p.n_offs = ggml->n_offs;
    p.base = ggml->freq_base;
    p.scaling = scaling_of(ggml, p.n_rot / 2);
    if (ggml->freq_factors != NULL && ggml->n_freq_factors < p.n_rot / 2)
        return posenc_refused(POSENC_ERR_FACTORS);
    posenc_status status = mode->axes == POSENC_AXES_SINGLE ? POSENC_OK : set_axes(ggml, mode->axes, &p);
    if (status == POSENC_OK)
        status = posenc_rope_check(&p);
    if (status == POSENC_OK)
        *params = p;
    return status;
}
