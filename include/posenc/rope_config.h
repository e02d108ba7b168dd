/* SPDX-License-Identifier: MIT */
/** @file
 * RoPE parameters from Hugging Face's config.json, from GGUF keys, and from the arguments of ggml_rope.
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
 */
#ifndef POSENC_ROPE_CONFIG_H
#define POSENC_ROPE_CONFIG_H

#include <posenc/rope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sets a number or flag (1 or 0) by its published name. Pass each field of config.json and of its rope_scaling or
 * rope_parameters, or each GGUF key of RoPE, in any order. The caller sets what files do not hold: layout, n_offs, axes
 * (files have the sections), scaling.context (LongRoPE, dynamic NTK), and head_dim where it is hidden_size /
 * num_attention_heads.
 *
 *     Hugging Face   head_dim; rope_theta, rotary_emb_base, global_rope_theta; rope_ratio (base / 10000);
 *                    rope_local_base_freq, local_rope_theta; partial_rotary_factor, rotary_pct (type proportional: the
 *                    proportion); rotary_emb_fraction; rotary_dim; max_position_embeddings;
 *                    original_max_position_embeddings; factor; alpha (ntk_alpha); beta_fast; beta_slow; truncate;
 *                    extrapolation_factor; attention_factor; attn_factor; mscale; mscale_all_dim; short_mscale;
 *                    long_mscale; low_freq_factor; high_freq_factor; llama_4_scaling_beta
 *     GGUF           with or without "ARCHITECTURE.": attention.key_length, context_length, rope.dimension_count,
 *                    rope.freq_base, rope.scale_linear, rope.scaling.factor, .original_context_length, .attn_factor,
 *                    .yarn_ext_factor, .yarn_attn_factor, .yarn_beta_fast, .yarn_beta_slow, .yarn_log_multiplier:
 *                    mscale_all_dim, with mscale 1; in files of axk2, deepseek2, deepseek32, gigachat35, instella-moe,
 *                    longcat-flash-ngram, mistral4 and xing4_0 a tenth of both
 *
 * POSENC_ERR_ENUM: another name; POSENC_ERR_SHAPE: a count of channels that is no whole number; POSENC_ERR_N_ROT: a
 * fraction outside (0, 1]. Then nothing is changed. An unknown name inside rope_scaling should stop the caller. 0
 * rotated channels count as not given: all are rotated. posenc_rope_create checks the other values. */
POSENC_API posenc_status posenc_rope_set_number(posenc_rope_params *params, const char *name, double value);

/** Sets the scaling type by its published name: rope_type, type (Hugging Face; rope_type wins if passed last or alone)
 * or rope.scaling.type (GGUF). Values: default, none, mrope (no scaling), linear, dynamic, xdrope (NTK; set its axes by
 * hand), yarn, longrope, su, llama3, proportional. POSENC_ERR_ENUM: another name or value; nothing is changed. A GGUF
 * file with a factor but no type means linear, which the caller must set. */
POSENC_API posenc_status posenc_rope_set_string(posenc_rope_params *params, const char *name, const char *value);

/** Sets a list by its published name: short_factor, long_factor (Hugging Face); rope_freqs, rope_factors_short,
 * rope_factors_long, with or without ".weight" (GGUF tensors, widened to double). values must live until
 * posenc_rope_create returns. POSENC_ERR_ENUM: another name; POSENC_ERR_FACTORS: n is negative or differs from an
 * earlier list's. Then nothing is changed. */
POSENC_API posenc_status posenc_rope_set_list(posenc_rope_params *params, const char *name, const double *values,
                                              int64_t n);

/* ---- Ggml ---- */

/** Arguments of ggml_rope_ext and ggml_rope_multi by their names; a, b and c are its tensors. */
typedef struct posenc_rope_ggml {
    int64_t head_dim;          /**< a->ne[0] */
    int n_dims;                /**< rotated channels, even; VISION rotates twice as many */
    int mode;                  /**< GGML_ROPE_TYPE_: NORMAL 0, NEOX 2, MROPE 8, VISION 24, IMROPE 40; no default */
    int sections[4];           /**< pairs of each plane of positions, >= 0; NORMAL, NEOX: not read */
    int n_offs;                /**< first rotated channel: ggml_rope_set_offset */
    int n_ctx_orig;            /**< >= 0 */
    double freq_base;          /**< in [1, 1e30]; above 1 if ext_factor is not 0 */
    double freq_scale;         /**< 1e-9 .. POSENC_MAX_FREQUENCY */
    double ext_factor;         /**< 0 .. 1; 0: n_ctx_orig, beta_fast and beta_slow are not read */
    double attn_factor;        /**< > 0 */
    double beta_fast;          /**< beta_slow .. 1e9 */
    double beta_slow;          /**< >= 1e-9 */
    const float *freq_factors; /**< c->data, or NULL; finite and not 0 */
    int64_t n_freq_factors;    /**< c->ne[0] */
} posenc_rope_ggml;

/** Defaults of ggml_rope, without scaling. head_dim, n_dims and mode must be set. */
#define POSENC_ROPE_GGML_DEFAULTS                                                                                      \
    { 0, -1, -1, {0, 0, 0, 0}, 0, 0, 10000.0, 1.0, 0.0, 1.0, 32.0, 1.0, NULL, 0 }

/** Converts ggml's arguments to RoPE parameters (FORMULAS B.15, B.20-B.22), without ggml's float32 rounding of
 * frequencies. Pair i of a token is rotated by
 *
 *     position * e_i * (freq_scale (1 - g_i) + g_i),   e_i = freq_base^(-2j/n_dims) / freq_factors[i],
 *                                                      g_i = ext_factor (1 - ramp_i)
 *
 * and scaled by attn_factor, times 1 - 0.1 ln freq_scale if ext_factor is not 0. j is i; VISION counts j in each
 * section. The ramp (YaRN's) runs over i.
 *
 * MROPE, VISION and IMROPE have four planes of positions: b. Sections count all pairs, n_dims/2 or (VISION) n_dims; a
 * surplus is ignored. freq_factors has an entry for each pair, read by posenc_rope_create.
 *
 *     posenc_rope_ggml ggml = POSENC_ROPE_GGML_DEFAULTS;     // ggml_rope_multi(ctx, a, b, NULL, 128, sections,
 *     ggml.head_dim = ggml.n_dims = 128;                     //     GGML_ROPE_TYPE_MROPE, 32768, 1e6f,
 *     ggml.mode = 8;                                         //     1.0f, 0.0f, 1.0f, 32.0f, 1.0f)
 *     memcpy(ggml.sections, sections, sizeof ggml.sections);
 *     ggml.freq_base = 1e6;
 *     status = posenc_rope_params_from_ggml(&ggml, &params);
 *
 * posenc_rope_create refuses only freq_factors out of range (POSENC_ERR_FACTORS) or beyond POSENC_MAX_FREQUENCY
 * (POSENC_ERR_FREQUENCY). Refused here, with *params unchanged:
 *
 *     POSENC_ERR_ENUM       another mode
 *     POSENC_ERR_HEAD_DIM   head_dim is not in 1 .. 2*POSENC_MAX_PAIRS
 *     POSENC_ERR_N_ROT      n_dims is odd or negative, n_offs negative, or their sum exceeds head_dim; several axes:
 *                           more than POSENC_MAX_AXES_ROT rotated channels
 *     POSENC_ERR_SECTIONS   negative or too few pairs; VISION: an empty section between pairs
 *     POSENC_ERR_FACTORS    n_freq_factors is too small
 *     POSENC_ERR_BASE       freq_base is out of range
 *     POSENC_ERR_SCALING    freq_scale, ext_factor, attn_factor, beta_fast or beta_slow is out of range; the magnitude
 *                           is not positive (freq_scale above e^10) or beyond float32
 *     POSENC_ERR_CONTEXT    n_ctx_orig is negative */
POSENC_API posenc_status posenc_rope_params_from_ggml(const posenc_rope_ggml *ggml, posenc_rope_params *params);

#ifdef __cplusplus
}
#endif
#endif
