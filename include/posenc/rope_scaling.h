/* SPDX-License-Identifier: MIT */
/** @file
 * How a model chooses its rotary frequencies (FORMULAS B.1, B.9-B.18).
 *
 * Every scheme below ends as a list of n_rot/2 frequencies theta_i and one factor on cosine and sine, the magnitude.
 * It is a field of posenc_rope_params (rope.h), compiled once by posenc_rope_create; the kernels never see it.
 * Frequencies are computed in double-double, so they carry the exactness of angles.h.
 *
 *   type          needs                              theta_i, with t_i = base^(-2i/n), n = n_rot
 *   NONE          -                                  t_i
 *   LINEAR        factor                             t_i / factor                                (arXiv 2306.15595)
 *   NTK           factor, or ntk_alpha               t_i of base * factor^(n/(n-2))
 *   NTK_LENGTH    alpha, context, original_context   t_i of base * alpha^(context/original_context - 1)
 *   DYNAMIC       factor, max_context, context       t_i of base * (1 + factor (L - C)/C)^(n/(n-2)),
 *                                                    C = max_context, L = max(context, C);
 *                                                    with ntk_alpha, as NTK
 *   YARN          factor, original_context,          g_i t_i + (1 - g_i) t_i/factor, g_i = ext_factor (1 - ramp_i),
 *                 beta_fast, beta_slow ...           the ramp running over the pair index        (arXiv 2309.00071)
 *   LONGROPE      short_factors, long_factors,       t_i / list[i], the long list when context exceeds
 *                 context, original_context          original_context, else the short one        (arXiv 2402.13753)
 *   LLAMA3        factor, original_context,          t_i, t_i / factor, or between, by the turns
 *                 low_freq_factor, high_freq_factor  that t_i makes in original_context          (arXiv 2407.21783)
 *   PROPORTIONAL  proportion                         t_i / factor for i < floor(proportion n/2), else 0;
 *                                                    n_rot must be head_dim                      (arXiv 2410.06205)
 *   GGML          freq_scale, ext_factor,            as ggml_rope_ext defines them: YARN with truncate, a ramp at least
 *                 original_context, beta_fast ...    0.001 wide and t_i freq_scale in place of t_i / factor, which
 *                                                    alone is left when ext_factor is 0
 *
 * With axes VISION (rope.h) t_i is base^(-2j/n) for pair j of a section and n = n_rot/2, also in the ramp, which goes
 * on over the sections as the lists do.
 *
 * freq_factors, with any type, divide the t_i first: the caller's own numbers, ggml's rope_freqs.
 *
 * Refused, by posenc_rope_create; with n_rot 0 only an unknown type, and a scheme that does not go with the axes:
 *   POSENC_ERR_ENUM     an unknown type
 *   POSENC_ERR_SCALING  a number of the scheme, or the magnitude, is missing, not finite or out of its range
 *   POSENC_ERR_CONTEXT  a length in tokens is missing or out of its range, or does not go with the ramp
 *   POSENC_ERR_FACTORS  a list is missing, has not n_rot/2 entries, or one of them is not finite and positive (GGML:
 *                       not 0, of either sign); or freq_factors and freq_factors_f32 are both given
 *   POSENC_ERR_STRIDE   a list is not aligned as its entries are
 *   POSENC_ERR_N_ROT    NTK, DYNAMIC: n_rot is 2; PROPORTIONAL: n_rot is not head_dim
 *   POSENC_ERR_BASE     NTK, NTK_LENGTH, DYNAMIC: the new base is not in [1, 1e30]; ramps: base is 1
 */
#ifndef POSENC_ROPE_SCALING_H
#define POSENC_ROPE_SCALING_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum posenc_scaling_type {
    POSENC_SCALING_NONE = 0,
    POSENC_SCALING_LINEAR,
    POSENC_SCALING_NTK,
    POSENC_SCALING_NTK_LENGTH,
    POSENC_SCALING_DYNAMIC,
    POSENC_SCALING_YARN,
    POSENC_SCALING_LONGROPE,
    POSENC_SCALING_LLAMA3,
    POSENC_SCALING_PROPORTIONAL,
    POSENC_SCALING_GGML
} posenc_scaling_type;

/** 0 in a field that is no flag means: not given; of ext_factor it is 0. Lengths are in tokens, 1 .. 1e15. */
typedef struct posenc_rope_scaling {
    posenc_scaling_type type;

    /** 1 .. 1e9. Not given: YARN and LONGROPE, whose magnitude needs it, take max_context / original_context,
     * PROPORTIONAL 1, the others that need it refuse. NONE and GGML refuse all but 1: somebody meant a scaling.
     *
     * YARN: releases of Hugging Face's transformers until August 2025 took that quotient though config.json has another
     * factor. For their numbers leave the factor out. Both are the same in configs of DeepSeek-V3 and gpt-oss; Qwen2.5
     * and Qwen3, whose lengths do not say 4, mean the factor. */
    double factor;
    double freq_scale;       /**< GGML: what multiplies the t_i, 1e-9 .. POSENC_MAX_FREQUENCY; not given 1 */
    double original_context; /**< what the model was trained on before scaling; YARN and LONGROPE: else max_context */
    double max_context;      /**< what the model was published for: max_position_embeddings; DYNAMIC: else the former */
    double context;          /**< the longest sequence to come; DYNAMIC may do without */

    double alpha;                /**< NTK_LENGTH: > 0 */
    double beta_fast, beta_slow; /**< YARN, GGML: turns in original_context, 1e-9 .. 1e9; beta_fast >= beta_slow,
                                    YARN: original_context >= 2 pi beta_slow. GGML: any, and 0, where the
                                    ramp ends with pair 0 */
    double ext_factor;           /**< YARN, GGML: weight of the unscaled frequencies in the ramp */
    int truncate;                /**< YARN: round the ramp's ends outwards to whole pairs (gpt-oss does not) */
    double low_freq_factor, high_freq_factor; /**< LLAMA3: turns in original_context, 0 < low <= high */
    double proportion;                        /**< PROPORTIONAL: 0 .. 1 */

    /** The magnitude is attention_factor, if given; else
     *   YARN      m(factor, mscale) / m(factor, mscale_all_dim) if both are given, else m(factor, 1),
     *             m(s, w) = 1 + 0.1 w ln s                                                       (FORMULAS B.14)
     *   LONGROPE  sqrt(1 + ln s / ln original_context), s = factor; 1 for s <= 1
     *   others    1
     * but GGML: attention_factor (1 if not given) times 1 - 0.1 ln freq_scale, the latter when ext_factor is not
     * 0. */
    double attention_factor;
    double mscale, mscale_all_dim;
    double short_mscale; /**< LONGROPE: in place of the square root, with the short list (Phi-3.5-MoE) ... */
    double long_mscale;  /**< ... and with the long one: both or neither */
    double attn_factor;  /**< GGUF's and YaRN's: not given 1; LONGROPE: the magnitude itself; others multiply it */

    /** Lists of n_rot/2 divisors each, or NULL. They need to live until posenc_rope_create returns. */
    const double *freq_factors;
    const float *freq_factors_f32; /**< the same, as tensors hold them; one of the two */
    const double *short_factors, *long_factors;
    int64_t n_factors; /**< length of each list that is given */

    double ntk_alpha;        /**< NTK, DYNAMIC: 1 .. 1e9, in place of factor, whatever the length (HunYuan's alpha) */
    double temperature_beta; /**< for posenc_rope_query_temperature */
} posenc_rope_scaling;

/** Type NONE, and the published defaults of the other fields. */
#define POSENC_ROPE_SCALING_DEFAULTS                                                                                   \
    {                                                                                                                  \
        POSENC_SCALING_NONE, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 32.0, 1.0, 1.0, 1, 1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0,  \
            0.0, NULL, NULL, NULL, NULL, 0, 0.0, 0.0                                                                   \
    }

/** What DeepSeek-V2/V3 multiply the softmax scale by: m(factor, mscale_all_dim)^2 with m as above; 1 when
 * mscale_all_dim is not given (FORMULAS B.14). NaN when scaling is NULL or its factor is out of range. */
POSENC_API double posenc_rope_softmax_multiplier(const posenc_rope_scaling *scaling);

/** Query temperature of layers without rotation, Llama 4 (arXiv 2501.19399; FORMULAS B.25):
 * ln(floor((position + 1) / floor_scale) + 1) * attn_scale + 1. NaN unless position >= 0, floor_scale > 0,
 * attn_scale is finite, and the quotient is below the largest double. */
POSENC_API double posenc_query_temperature(int32_t position, double attn_scale, double floor_scale);

/** Query temperature of every layer, Ministral 3 (llama_4_scaling_beta; FORMULAS B.25):
 * temperature_beta * ln(1 + floor(position / original_context)) + 1; 1 where temperature_beta is 0. NaN when scaling is
 * NULL, position negative, temperature_beta not finite, or original_context, which it then needs, out of its range. */
POSENC_API double posenc_rope_query_temperature(const posenc_rope_scaling *scaling, int32_t position);

#ifdef __cplusplus
}
#endif
#endif
