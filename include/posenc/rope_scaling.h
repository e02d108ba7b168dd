/* posenc/rope_scaling.h - how a model chooses its rotary frequencies (FORMULAS B.1, B.9-B.18).
 *
 * Every scheme below ends as a list of n_rot/2 frequencies theta_i and one factor on cosine and sine, the magnitude. It is a
 * field of posenc_rope_params (rope.h), compiled once by posenc_rope_create; the kernels never see it. Frequencies are
 * computed in double-double, so they carry the exactness of angles.h.
 *
 *   type             needs                                        theta_i, with t_i = base^(-2i/n_rot)
 *   NONE             -                                            t_i
 *   LINEAR           factor                                       t_i / factor                            (arXiv 2306.15595)
 *   NTK              factor                                       base' = base * factor^(n/(n-2))         (NTK-aware)
 *   NTK_LENGTH       alpha, context, original_context             base' = base * alpha^(context/original_context - 1)
 *   DYNAMIC          factor, context, original_context            base' = base * (factor * L/original_context
 *                                                                 - (factor - 1))^(n/(n-2)), L = max(context, original_context)
 *   YARN             factor, original_context, beta_fast, ...     ramp between t_i and t_i / factor       (arXiv 2309.00071)
 *   LONGROPE         factors (short or long), original_context    t_i / factors[i]                        (arXiv 2402.13753)
 *   LLAMA3           factor, low/high_freq_factor, original_...   t_i, t_i / factor, or between           (arXiv 2407.21783)
 *   PROPORTIONAL     proportion, factor                           base^(-2i/head_dim)/factor for i < floor(proportion
 *                                                                 * head_dim/2), else 0                   (arXiv 2410.06205)
 *   GGML             factor = 1/freq_scale, ext_factor, ...       as ggml_rope_ext computes them, exactly
 *
 * freq_factors, with any type, divide the base frequencies first: the caller's own numbers, ggml's rope_freqs.
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

typedef struct posenc_rope_scaling {
    posenc_scaling_type type;
    double factor;           /* >= 1 (GGML: > 0); 0: context / original_context, as Hugging Face does */
    double original_context; /* tokens the model was trained on before scaling */
    double context;          /* DYNAMIC: longest sequence; LONGROPE: chooses the list; NTK_LENGTH: target length; 0: unset */
    double alpha;            /* NTK_LENGTH */
    double beta_fast, beta_slow;
    double ext_factor; /* YARN, GGML: weight of the unscaled frequencies in the ramp */
    int truncate;      /* YARN: round the ramp's ends to whole pairs; gpt-oss does not */
    double low_freq_factor, high_freq_factor; /* LLAMA3 */
    double proportion;                        /* PROPORTIONAL, 0 .. 1 */

    /* Magnitude. attention_factor, if not 0, is it (GGML: ggml's attn_factor, which its own rule multiplies). YARN else: from
     * mscale and mscale_all_dim if both are not 0, else 0.1 ln(factor) + 1. LONGROPE else: sqrt(1 + ln s / ln
     * original_context) with s = max_context / original_context, 1 for s <= 1. All others: 1. */
    double attention_factor;
    double mscale, mscale_all_dim;
    double max_context; /* LONGROPE: the model's max_position_embeddings */

    /* Lists of n_rot/2 divisors, copied by posenc_rope_create; NULL: none. LONGROPE takes long_factors when
     * context > original_context, else short_factors. */
    const double *freq_factors;
    const double *short_factors, *long_factors;
    int64_t n_factors; /* length of the lists that are given */
} posenc_rope_scaling;

/* Type NONE, and the published defaults of everything else. */
#define POSENC_ROPE_SCALING_DEFAULTS                                                                                   \
    {                                                                                                                  \
        POSENC_SCALING_NONE, 1.0, 0.0, 0.0, 2.0, 32.0, 1.0, 1.0, 1, 1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0, NULL, NULL, NULL, 0  \
    }

/* What DeepSeek-V2/V3 multiply the softmax scale by: get_mscale(factor, mscale_all_dim)^2; 1 when mscale_all_dim is 0
 * (FORMULAS B.14). NaN when scaling is NULL. */
POSENC_API double posenc_rope_softmax_multiplier(const posenc_rope_scaling *scaling);

/* Query temperature of layers without rotation, Llama 4 (arXiv 2501.19399; FORMULAS B.25):
 * ln(floor((position + 1) / floor_scale) + 1) * attn_scale + 1. NaN unless position >= 0, floor_scale > 0 and attn_scale is
 * finite. */
POSENC_API double posenc_query_temperature(int32_t position, double attn_scale, double floor_scale);

#ifdef __cplusplus
}
#endif
#endif
