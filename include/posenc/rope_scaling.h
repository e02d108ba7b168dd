/* SPDX-License-Identifier: MIT */
/** @file
 * RoPE scaling: how a model chooses its rotary frequencies (FORMULAS B.1, B.9-B.18).
 *
 * A scaling is a field of posenc_rope_params (rope.h). posenc_rope_create turns it into n_rot/2 frequencies theta_i,
 * exact as in angles.h, and a magnitude: one factor on cosine and sine.
 *
 *     posenc_rope_params params = POSENC_ROPE_DEFAULTS;
 *     params.layout = POSENC_ROPE_HALF;
 *     params.head_dim = params.n_rot = 128;
 *     params.scaling.type = POSENC_SCALING_YARN;
 *     params.scaling.factor = 4.0;
 *     params.scaling.original_context = 32768.0;
 *     posenc_rope *rope;
 *     posenc_status status = posenc_rope_create(&params, &rope);
 *     posenc_rope_free(rope);
 */
#ifndef POSENC_ROPE_SCALING_H
#define POSENC_ROPE_SCALING_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** theta_i of each type and the fields that it needs. t_i = base^(-2i/n), n = n_rot. (Axes VISION: t_i counts i in its
 * section, n = n_rot/2; ramp and lists run over all pairs.) freq_factors, with any type, divide t_i first. */
typedef enum posenc_scaling_type {
    POSENC_SCALING_NONE = 0,   /**< t_i */
    POSENC_SCALING_LINEAR,     /**< t_i / factor (arXiv 2306.15595) */
    POSENC_SCALING_NTK,        /**< t_i of base * factor^(n/(n-2)); or ntk_alpha for factor */
    POSENC_SCALING_NTK_LENGTH, /**< t_i of base * alpha^(context/original_context - 1) */
    POSENC_SCALING_DYNAMIC,  /**< t_i of base * (1 + factor (L - C)/C)^(n/(n-2)), C = max_context, L = max(context, C);
                                      with ntk_alpha as NTK */
    POSENC_SCALING_YARN,     /**< g_i t_i + (1 - g_i) t_i/factor, g_i = ext_factor (1 - ramp_i), ramp over the pair
                                      index: factor, original_context, beta_* (arXiv 2309.00071) */
    POSENC_SCALING_LONGROPE, /**< t_i / list_i: long_factors if context > original_context, else short_factors
                                      (arXiv 2402.13753) */
    POSENC_SCALING_LLAMA3,   /**< t_i, t_i / factor, or between, by the turns of t_i in original_context: *_freq_factor
                                      (arXiv 2407.21783) */
    POSENC_SCALING_PROPORTIONAL, /**< t_i / factor for i < floor(proportion n/2), else 0; n_rot is head_dim
                                      (arXiv 2410.06205) */
    POSENC_SCALING_GGML /**< ggml_rope_ext: YARN with truncate, a ramp at least 0.001 wide, and t_i freq_scale for
                                      t_i / factor; freq_scale alone if ext_factor is 0 */
} posenc_scaling_type;

/** Parameters. A field of 0 that is no flag is not given (ext_factor: is 0). Lengths are in tokens, 1 .. 1e15.
 *
 * Refused by posenc_rope_create; with n_rot 0 only an unknown type, and a type that the axes exclude:
 *
 *     POSENC_ERR_ENUM      unknown type
 *     POSENC_ERR_SCALING   a number or the magnitude is missing or out of range
 *     POSENC_ERR_CONTEXT   a length is missing, out of range, or does not fit the ramp
 *     POSENC_ERR_FACTORS   a list is missing, has not n_rot/2 entries, or one is not finite and positive (GGML: not
 *                          0); or freq_factors and freq_factors_f32 are both given
 *     POSENC_ERR_STRIDE    a list is not aligned as its entries
 *     POSENC_ERR_N_ROT     NTK, DYNAMIC: n_rot is 2; PROPORTIONAL: n_rot is not head_dim
 *     POSENC_ERR_BASE      NTK, NTK_LENGTH, DYNAMIC: the new base is not in [1, 1e30]; ramps: base is 1 */
typedef struct posenc_rope_scaling {
    posenc_scaling_type type;

    /** 1 .. 1e9. If not given, YARN and LONGROPE take max_context / original_context, PROPORTIONAL takes 1. NONE and
     * GGML refuse any but 1. YARN: Hugging Face's transformers before August 2025 used that quotient even if
     * config.json has another factor; to reproduce them leave factor out. */
    double factor;
    double freq_scale;       /**< GGML: 1e-9 .. POSENC_MAX_FREQUENCY; default 1 */
    double original_context; /**< length of training before scaling; YARN and LONGROPE: default max_context */
    double max_context;      /**< published length, max_position_embeddings; DYNAMIC: default original_context */
    double context;          /**< longest sequence to come; optional for DYNAMIC */

    double alpha; /**< NTK_LENGTH: > 0 */
    /** YARN, GGML: turns in original_context, 1e-9 .. 1e9, beta_fast >= beta_slow. YARN: original_context >= 2 pi
     * beta_slow. GGML: any original_context; with 0 the ramp ends with pair 0. */
    double beta_fast, beta_slow;
    double ext_factor;                        /**< YARN, GGML: weight of the unscaled frequencies in the ramp */
    int truncate;                             /**< YARN: rounds the ramp's ends outwards to whole pairs (gpt-oss: 0) */
    double low_freq_factor, high_freq_factor; /**< LLAMA3: turns in original_context, 0 < low <= high */
    double proportion;                        /**< PROPORTIONAL: 0 .. 1 */

    /** Magnitude. If 0:
     *
     *     YARN       m(factor, mscale) / m(factor, mscale_all_dim) if both are given, else m(factor, 1), where
     *                m(s, w) = 1 + 0.1 w ln s (FORMULAS B.14)
     *     LONGROPE   sqrt(1 + ln factor / ln original_context); 1 for factor <= 1
     *     others     1
     *
     * GGML multiplies it by 1 - 0.1 ln freq_scale if ext_factor is not 0. */
    double attention_factor;
    double mscale, mscale_all_dim;
    double short_mscale; /**< LONGROPE: the magnitude with short_factors (Phi-3.5-MoE) */
    double long_mscale;  /**< and with long_factors; both or neither */
    double attn_factor;  /**< GGUF's and YaRN's, default 1: factor on the magnitude; LONGROPE: the magnitude itself */

    /** Lists of n_rot/2 divisors, or NULL. They must live until posenc_rope_create returns. */
    const double *freq_factors;
    const float *freq_factors_f32; /**< the same in float32; one of the two */
    const double *short_factors, *long_factors;
    int64_t n_factors; /**< length of each given list */

    double ntk_alpha;        /**< NTK, DYNAMIC: 1 .. 1e9, in place of factor at any length (HunYuan's alpha) */
    double temperature_beta; /**< for posenc_rope_query_temperature */
} posenc_rope_scaling;

/** Type NONE, and the published defaults of the other fields. */
#define POSENC_ROPE_SCALING_DEFAULTS                                                                                   \
    {                                                                                                                  \
        POSENC_SCALING_NONE, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 32.0, 1.0, 1.0, 1, 1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0,  \
            0.0, NULL, NULL, NULL, NULL, 0, 0.0, 0.0                                                                   \
    }

/** Factor on the softmax scale of DeepSeek-V2/V3: m(factor, mscale_all_dim)^2; 1 without mscale_all_dim (FORMULAS
 * B.14). NaN if scaling is NULL or factor is out of range. */
POSENC_API double posenc_rope_softmax_multiplier(const posenc_rope_scaling *scaling);

/** Query temperature of Llama 4's layers without rotation (arXiv 2501.19399; FORMULAS B.25): ln(floor((position + 1) /
 * floor_scale) + 1) * attn_scale + 1. NaN unless position >= 0, floor_scale > 0, attn_scale and the quotient are
 * finite. */
POSENC_API double posenc_query_temperature(int32_t position, double attn_scale, double floor_scale);

/** Query temperature of Ministral 3's layers (llama_4_scaling_beta; FORMULAS B.25): temperature_beta * ln(1 +
 * floor(position / original_context)) + 1; 1 if temperature_beta is 0. NaN if scaling is NULL, position negative,
 * temperature_beta not finite, or original_context out of range. */
POSENC_API double posenc_rope_query_temperature(const posenc_rope_scaling *scaling, int32_t position);

#ifdef __cplusplus
}
#endif
#endif
