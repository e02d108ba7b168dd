/* posenc/rope_config.h - RoPE parameters from the places where models publish them.
 *
 * Hugging Face: the fields of config.json and of its rope_scaling (or rope_parameters) object, one call a field,
 * whatever JSON library the caller has. GGUF: the <architecture>.rope.* keys likewise, and the factor tensors as
 * lists. ggml: the arguments of ggml_rope_ext.
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
 * num_attention_heads; n_offs; and scaling.context, the longest sequence to come, which LongRoPE needs and dynamic
 * NTK wants. The order of the fields does not matter. The parameters are judged by posenc_rope_create, not here.
 *
 * The first call that succeeds sets rot_fraction to 1 if it is 0: a published model rotates whole heads unless it says
 * otherwise (partial_rotary_factor, rotary_dim).
 */
#ifndef POSENC_ROPE_CONFIG_H
#define POSENC_ROPE_CONFIG_H

#include <posenc/rope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One number, or flag (1 or 0), by its published name:
 *
 *   Hugging Face   head_dim; rope_theta, rotary_emb_base; partial_rotary_factor, rotary_pct (with type proportional
 *                  they are the proportion); rotary_dim; max_position_embeddings; original_max_position_embeddings;
 *                  factor; beta_fast; beta_slow; truncate; extrapolation_factor; attention_factor; mscale;
 *                  mscale_all_dim; low_freq_factor; high_freq_factor
 *   GGUF, with or without "<architecture>." in front
 *                  attention.key_length, context_length, rope.dimension_count, rope.freq_base, rope.scale_linear,
 *                  rope.scaling.factor, .original_context_length, .attn_factor, .yarn_ext_factor, .yarn_attn_factor,
 *                  .yarn_beta_fast, .yarn_beta_slow, .yarn_log_multiplier
 *
 * POSENC_ERR_ENUM for another name: nothing is changed, and the caller may go on, knowing that something was not
 * understood. POSENC_ERR_SHAPE for a count of channels that is no whole number, POSENC_ERR_N_ROT for a fraction outside
 * (0, 1]. */
POSENC_API posenc_status posenc_rope_set_number(posenc_rope_params *params, const char *name, double value);

/* rope_type, type (Hugging Face) or rope.scaling.type (GGUF): default, none, linear, dynamic, yarn, longrope, su,
 * llama3, proportional. POSENC_ERR_ENUM for another name or value: nothing is changed. A GGUF file with a factor and
 * no type means linear. */
POSENC_API posenc_status posenc_rope_set_string(posenc_rope_params *params, const char *name, const char *value);

/* Lists: short_factor, long_factor (Hugging Face); rope_freqs, rope_factors_short, rope_factors_long, with or without
 * ".weight" (GGUF tensors). The values are not copied and must live until posenc_rope_create returns. POSENC_ERR_ENUM
 * for another name, POSENC_ERR_FACTORS when n is negative or differs from that of a list set before: nothing is
 * changed. */
POSENC_API posenc_status posenc_rope_set_list(posenc_rope_params *params, const char *name, const double *values,
                                              int64_t n);

/* The arguments of ggml_rope_ext: mode 0 (normal) or 2 (neox); freq_factors has n_dims/2 entries or is NULL, and must
 * live until posenc_rope_create returns. Angles and magnitude are those that ggml defines, without the float32
 * recurrence it computes them by. POSENC_ERR_ENUM for another mode, POSENC_ERR_SCALING for a freq_scale or attn_factor
 * that is not positive: nothing is changed. */
POSENC_API posenc_status posenc_rope_params_from_ggml(posenc_rope_params *params, int64_t head_dim, int64_t n_dims,
                                                      int mode, int64_t n_ctx_orig, double freq_base, double freq_scale,
                                                      double ext_factor, double attn_factor, double beta_fast,
                                                      double beta_slow, const double *freq_factors);

#ifdef __cplusplus
}
#endif
#endif
