/* SPDX-License-Identifier: MIT */
/** @file
 * RoPE parameters from the places where models publish them.
 *
 * Hugging Face: the fields of config.json and of its rope_scaling (or rope_parameters) object, one call a field,
 * whatever JSON library the caller has. GGUF: the ARCHITECTURE.rope.* keys likewise, and the factor tensors as
 * lists. ggml: the arguments of ggml_rope_ext and ggml_rope_multi, as a struct. (Each call returns a status, which
 * the example does not check for brevity; callers must.)
 *
 *     posenc_rope_params params = POSENC_ROPE_DEFAULTS;
 *     params.layout = POSENC_ROPE_HALF;
 *     posenc_rope_set_number(&params, "head_dim", 128.0);
 *     posenc_rope_set_number(&params, "rope_theta", 500000.0);
 *     posenc_rope_set_string(&params, "rope_type", "llama3");
 *     posenc_rope_set_number(&params, "factor", 8.0);
 *     posenc_rope_set_number(&params, "original_max_position_embeddings", 8192.0);
 *     status = posenc_rope_create(&params, &rope);
 *     ...
 *     posenc_rope_free(rope);
 *
 * What files do not say, or say elsewhere, stays with the caller: the layout; head_dim where it is hidden_size /
 * num_attention_heads; n_offs; axes, of which files have the sections (mrope_section, rope.dimension_sections); and
 * scaling.context, the longest sequence to come, which LongRoPE needs and dynamic NTK wants. The order of the fields
 * does not matter, but for the two names of a type: a caller that finds both passes rope_type last, or alone, for
 * Hugging Face then does not look at type. The fields are judged by posenc_rope_create, not here.
 */
#ifndef POSENC_ROPE_CONFIG_H
#define POSENC_ROPE_CONFIG_H

#include <posenc/rope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sets a number, or flag (1 or 0), by its published name:
 *
 *   Hugging Face   head_dim; rope_theta, rotary_emb_base, global_rope_theta; rope_ratio, which is the base by 10000;
 *                  rope_local_base_freq, local_rope_theta: local_base; partial_rotary_factor, rotary_pct (with type
 *                  proportional they are the proportion); rotary_emb_fraction; rotary_dim; max_position_embeddings;
 *                  original_max_position_embeddings; factor; alpha, which is ntk_alpha; beta_fast; beta_slow; truncate;
 *                  extrapolation_factor; attention_factor; attn_factor; mscale; mscale_all_dim; short_mscale,
 *                  long_mscale; low_freq_factor; high_freq_factor; llama_4_scaling_beta: temperature_beta
 *   GGUF, with or without "ARCHITECTURE." in front
 *                  attention.key_length, context_length, rope.dimension_count, rope.freq_base, rope.scale_linear,
 *                  rope.scaling.factor, .original_context_length, .attn_factor, .yarn_ext_factor, .yarn_attn_factor,
 *                  .yarn_beta_fast, .yarn_beta_slow, .yarn_log_multiplier, which is mscale_all_dim, or a tenth of it
 *                  in files of DeepSeek-V2 and its relatives, whose mscale is the same: where the name begins with
 *                  axk2, deepseek2, deepseek32, gigachat35, instella-moe, longcat-flash-ngram, mistral4 or xing4_0
 *
 * POSENC_ERR_ENUM for another name: nothing is changed. Pass the names of RoPE alone, for files have many others; one
 * inside of rope_scaling or of ARCHITECTURE.rope that is not known had better stop the caller. POSENC_ERR_SHAPE for a
 * count of channels that is no whole number, POSENC_ERR_N_ROT for a fraction outside (0, 1]. A count of rotated
 * channels of 0 is one that is not given: all are rotated. */
POSENC_API posenc_status posenc_rope_set_number(posenc_rope_params *params, const char *name, double value);

/** Sets a choice by its published name. rope_type, type (Hugging Face) or rope.scaling.type (GGUF): default, none,
 * mrope (no scaling, these three), linear, dynamic, xdrope (NTK; its axes are set by hand), yarn, longrope, su, llama3,
 * proportional. POSENC_ERR_ENUM for another name or value: nothing is changed. A GGUF file with a factor and no type
 * means linear: the caller then sets that, for a factor that no type wants is refused. */
POSENC_API posenc_status posenc_rope_set_string(posenc_rope_params *params, const char *name, const char *value);

/** Sets a list by its published name. Lists: short_factor, long_factor (Hugging Face); rope_freqs, rope_factors_short,
 * rope_factors_long, with or without ".weight" (GGUF tensors, whose float32 the caller widens). The values are not
 * copied and must live until posenc_rope_create returns. POSENC_ERR_ENUM for another name, POSENC_ERR_FACTORS when n is
 * negative or differs from that of a list set before: nothing is changed. */
POSENC_API posenc_status posenc_rope_set_list(posenc_rope_params *params, const char *name, const double *values,
                                              int64_t n);

/* ---- Ggml ---- */

/** The arguments of ggml_rope_ext and ggml_rope_multi, by the names they have there; a, b and c are its tensors. */
typedef struct posenc_rope_ggml {
    int64_t head_dim;   /**< a->ne[0] */
    int n_dims;         /**< channels that are rotated, even; VISION rotates twice as many */
    int mode;           /**< GGML_ROPE_TYPE_: NORMAL 0, NEOX 2, MROPE 8, VISION 24, IMROPE 40. There is no default */
    int sections[4];    /**< pairs of each plane of positions, >= 0; NORMAL, NEOX: not read */
    int n_offs;         /**< first rotated channel: ggml_rope_set_offset */
    int n_ctx_orig;     /**< >= 0 */
    double freq_base;   /**< finite, in [1, 1e30]; above 1 when ext_factor is not 0 */
    double freq_scale;  /**< 1e-9 .. POSENC_MAX_FREQUENCY */
    double ext_factor;  /**< 0 .. 1; 0: n_ctx_orig, beta_fast and beta_slow are not read */
    double attn_factor; /**< > 0 */
    double beta_fast;   /**< beta_slow .. 1e9 */
    double beta_slow;   /**< >= 1e-9 */
    const float *freq_factors; /**< c->data, or NULL; finite and not 0, of either sign */
    int64_t n_freq_factors;    /**< c->ne[0] */
} posenc_rope_ggml;

/** As ggml_rope has them: no scaling. head_dim, n_dims and mode are left to be said, and refused if they are not. */
#define POSENC_ROPE_GGML_DEFAULTS                                                                                      \
    { 0, -1, -1, {0, 0, 0, 0}, 0, 0, 10000.0, 1.0, 0.0, 1.0, 32.0, 1.0, NULL, 0 }

/** The rope that ggml applies for these arguments (FORMULAS B.15, B.20-B.22). Pair i of a token is rotated by
 *
 *     position * (freq_scale * e_i * (1 - g_i) + e_i * g_i)     e_i = freq_base^(-2j/n_dims) / freq_factors[i]
 *                                                               g_i = ext_factor * (1 - ramp_i)
 *
 * and is stretched by attn_factor, times 1 - 0.1 ln freq_scale when ext_factor is not 0. j is i, but in VISION counts
 * from the first pair of the section; the ramp, YaRN's, runs over i in every mode. Frequencies and the ends of the ramp
 * are exact, where ggml rounds to float32 and multiplies up an angle.
 *
 * MROPE, VISION and IMROPE have four planes of positions, b as it stands. Sections must count all pairs that there are,
 * n_dims/2 or VISION n_dims; what they count beyond is left out. freq_factors has as many entries; more are not read.
 * It is not copied: it need not be filled before posenc_rope_create, and must live until that returns.
 *
 *     posenc_rope_ggml ggml = POSENC_ROPE_GGML_DEFAULTS;     // ggml_rope_multi(ctx, a, b, NULL, 128, sections,
 *     ggml.head_dim = ggml.n_dims = 128;                     //     GGML_ROPE_TYPE_MROPE, 32768, 1e6f,
 *     ggml.mode = 8;                                         //     1.0f, 0.0f, 1.0f, 32.0f, 1.0f)
 *     memcpy(ggml.sections, sections, sizeof ggml.sections);
 *     ggml.freq_base = 1e6;
 *     posenc_rope_params params;
 *     status = posenc_rope_params_from_ggml(&ggml, &params);
 *     if (status == POSENC_OK)
 *         status = posenc_rope_create(&params, &rope);
 *
 * posenc_rope_create takes what is accepted here, unless an entry of freq_factors is out of its range
 * (POSENC_ERR_FACTORS) or makes a frequency larger than POSENC_MAX_FREQUENCY (POSENC_ERR_FREQUENCY).
 * Refused, with *params unchanged:
 *
 *   POSENC_ERR_ENUM      another mode
 *   POSENC_ERR_HEAD_DIM  head_dim is not in 1 .. 2*POSENC_MAX_PAIRS
 *   POSENC_ERR_N_ROT     n_dims is odd or negative, n_offs negative, or they reach beyond head_dim together; MROPE,
 *                        VISION, IMROPE: more than POSENC_MAX_AXES_ROT rotated channels
 *   POSENC_ERR_SECTIONS  a section is negative, or they count too few pairs (ggml starts over then); VISION: an empty
 *                        one between pairs (ggml does not restart the frequencies behind it)
 *   POSENC_ERR_FACTORS   n_freq_factors is too small
 *   POSENC_ERR_BASE      freq_base is out of its range
 *   POSENC_ERR_SCALING   freq_scale, ext_factor, attn_factor, beta_fast or beta_slow is out of its range, or the
 *                        stretch is: not positive (freq_scale above e^10), or beyond float32
 *   POSENC_ERR_CONTEXT   n_ctx_orig is negative */
POSENC_API posenc_status posenc_rope_params_from_ggml(const posenc_rope_ggml *ggml, posenc_rope_params *params);

#ifdef __cplusplus
}
#endif
#endif
