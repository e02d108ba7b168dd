/* SPDX-License-Identifier: MIT */
/** @file
 * RoPE scaling: how a model chooses its rotary frequencies (B.1, B.9-B.18).
 *
 * posenc_rope_create turns a scaling into n_rot/2 frequencies theta_i and a magnitude, one factor on cosine and sine.
 *
 *     posenc_rope_params params = POSENC_ROPE_DEFAULTS;
 *     params.layout = POSENC_ROPE_HALF;
 *     params.head_dim = params.n_rot = 128;
 *     params.scaling.type = POSENC_SCALING_YARN;
 *     params.scaling.factor = 4.0;
 *     params.scaling.original_context = 32768.0;
 */
#ifndef POSENC_ROPE_SCALING_H
#define POSENC_ROPE_SCALING_H

#include <posenc/types.h>

POSENC_BEGIN_C

/** theta_i of each type. t_i = base^(-2i/n) / freq_factors[i], n = n_rot. (Axes VISION: i counts in its section, n =
 * n_rot/2.) */
typedef enum posenc_scaling_type {
    POSENC_SCALING_NONE,       /**< t_i */
    POSENC_SCALING_LINEAR,     /**< t_i / factor (B.9) */
    POSENC_SCALING_NTK,        /**< t_i of base * factor^(n/(n-2)), or ntk_alpha for factor (B.10) */
    POSENC_SCALING_NTK_LENGTH, /**< t_i of base * alpha^(context/original_context - 1) (B.11) */
    POSENC_SCALING_DYNAMIC,    /**< NTK by context / max_context: B.12; with ntk_alpha as NTK */
    POSENC_SCALING_YARN,     /**< t_i to t_i / factor along a ramp: original_context, beta_* (arXiv:2309.00071; B.13) */
    POSENC_SCALING_LONGROPE, /**< t_i / long_factors if context > original_context, else short_factors (B.16) */
    POSENC_SCALING_LLAMA3,   /**< t_i to t_i / factor by turns in original_context: *_freq_factor (B.17) */
    POSENC_SCALING_PROPORTIONAL, /**< t_i / factor for i < floor(proportion n/2), else 0; n_rot is head_dim (B.18) */
    POSENC_SCALING_GGML          /**< ggml_rope_ext: YARN with freq_scale in place of 1 / factor (B.15) */
} posenc_scaling_type;

/** Parameters; 0: not given (ext_factor: 0). Lengths are in tokens, 1..1e15. posenc_rope_create also refuses lists
 * without n_rot/2 positive entries (GGML: not 0), NTK and DYNAMIC with n_rot 2, new bases outside [1, 1e30], and ramps
 * with base 1. */
typedef struct posenc_rope_scaling {
    posenc_scaling_type type;

    /** 1..1e9. Default: YARN, LONGROPE max_context / original_context; PROPORTIONAL 1. NONE and GGML refuse any but
     * 1. */
    double factor;
    double freq_scale;       /**< GGML: 1e-9..POSENC_MAX_FREQUENCY; default 1 */
    double original_context; /**< trained length; YARN, LONGROPE: default max_context */
    double max_context;      /**< max_position_embeddings; DYNAMIC: default original_context */
    double context;          /**< longest sequence to come; optional for DYNAMIC */

    double alpha; /**< NTK_LENGTH: > 0 */
    /** YARN, GGML: turns in original_context, 1e-9..1e9, beta_fast >= beta_slow; YARN: original_context >= 2 pi
     * beta_slow. */
    double beta_fast, beta_slow;
    double ext_factor;                        /**< YARN, GGML: weight of unscaled frequencies */
    int truncate;                             /**< YARN: rounds the ramp's ends outwards (gpt-oss: 0) */
    double low_freq_factor, high_freq_factor; /**< LLAMA3: turns in original_context, 0 < low <= high */
    double proportion;                        /**< PROPORTIONAL: 0..1 */

    /** Magnitude. Default: YARN by factor, mscale and mscale_all_dim (B.14); LONGROPE sqrt(1 + ln factor / ln
     * original_context); others 1. GGML multiplies it by 1 - 0.1 ln freq_scale if ext_factor is not 0. */
    double attention_factor;
    double mscale, mscale_all_dim;
    double short_mscale; /**< LONGROPE: magnitude with short_factors (Phi-3.5-MoE) */
    double long_mscale;  /**< and with long_factors; both or neither */
    double attn_factor;  /**< factor on the magnitude, default 1; LONGROPE: the magnitude */

    /** n_rot/2 divisors, or NULL; they must live until posenc_rope_create returns. **Llama 3's rope_freqs of GGUF are
     * scaled: with NONE, not LLAMA3.** */
    const double *freq_factors;
    const float *freq_factors_f32; /**< or these */
    const double *short_factors, *long_factors;
    int64_t n_factors; /**< length of each given list */

    double ntk_alpha;        /**< NTK, DYNAMIC: 1..1e9, HunYuan's alpha */
    double temperature_beta; /**< for posenc_rope_query_temperature */
} posenc_rope_scaling;

#define POSENC_ROPE_SCALING_DEFAULTS                                                                                   \
    {                                                                                                                  \
        POSENC_SCALING_NONE, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 32.0, 1.0, 1.0, 1, 1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0,  \
            0.0, NULL, NULL, NULL, NULL, 0, 0.0, 0.0                                                                   \
    }

/** Factor on the softmax scale of DeepSeek-V2/V3 (B.14). NaN if factor is out of range. */
POSENC_API double posenc_rope_softmax_multiplier(const posenc_rope_scaling *scaling);

/** Query temperature (B.25) of Llama 4 (arXiv:2501.19399), and of Ministral 3: 1 if temperature_beta is 0. NaN if an
 * argument is out of range. */
POSENC_API double posenc_query_temperature(int32_t position, double attn_scale, double floor_scale);
POSENC_API double posenc_rope_query_temperature(const posenc_rope_scaling *scaling, int32_t position);

POSENC_END_C
#endif
