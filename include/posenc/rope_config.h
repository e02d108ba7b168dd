/* posenc/rope_config.h - RoPE parameters from the places where models publish them.
 *
 * Hugging Face: the fields of config.json and of its rope_scaling (or rope_parameters) object, one call a field, whatever
 * JSON library the caller has. GGUF: the <architecture>.rope.* keys likewise, and the tensor rope_freqs as
 * scaling.freq_factors. ggml: the arguments of ggml_rope_ext.
 *
 *     posenc_rope_params params = POSENC_ROPE_DEFAULTS;
 *     posenc_rope_set_number(&params, "rope_theta", 500000.0);
 *     posenc_rope_set_string(&params, "rope_type", "llama3");
 *     posenc_rope_set_number(&params, "factor", 8.0);
 *     posenc_rope_set_number(&params, "low_freq_factor", 1.0);
 *     ...
 */
#ifndef POSENC_ROPE_CONFIG_H
#define POSENC_ROPE_CONFIG_H

#include <posenc/rope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One field by its published name. Known numbers and flags (truth is 1 or 0):
 *   rope_theta, rotary_emb_base, head_dim, partial_rotary_factor, rotary_pct, rotary_dim, max_position_embeddings,
 *   original_max_position_embeddings, factor, beta_fast, beta_slow, truncate, extrapolation_factor, attention_factor,
 *   mscale, mscale_all_dim, low_freq_factor, high_freq_factor, proportion;
 *   and GGUF's, with or without the architecture in front:
 *   rope.freq_base, rope.dimension_count, rope.scaling.factor, rope.scaling.original_context_length,
 *   rope.scaling.attn_factor, rope.scaling.yarn_ext_factor, rope.scaling.yarn_beta_fast, rope.scaling.yarn_beta_slow,
 *   rope.scaling.yarn_log_multiplier, context_length, attention.key_length.
 * Strings: rope_type, type, rope.scaling.type with values default, none, linear, dynamic, yarn, longrope, su, llama3,
 *   proportional.
 * POSENC_ERR_ENUM for a name or a string value that is not known: nothing is changed, and the caller may go on, knowing
 * that something was not understood. A fraction of head_dim (partial_rotary_factor) is resolved when posenc_rope_finish is
 * called, so the order of the fields does not matter. */
POSENC_API posenc_status posenc_rope_set_number(posenc_rope_params *params, const char *name, double value);
POSENC_API posenc_status posenc_rope_set_string(posenc_rope_params *params, const char *name, const char *value);

/* Lists: short_factor, long_factor (Hugging Face), rope_freqs, rope_factors_short, rope_factors_long (GGUF). The array is not
 * copied and must live until posenc_rope_create. */
POSENC_API posenc_status posenc_rope_set_list(posenc_rope_params *params, const char *name, const double *values,
                                              int64_t n);

/* The arguments of ggml_rope_ext: mode 0 (normal) or 2 (neox); freq_factors has exactly n_dims/2 entries or is NULL. Angles
 * and magnitude are those that ggml defines, without the float32 recurrence it computes them by. */
POSENC_API posenc_status posenc_rope_params_from_ggml(posenc_rope_params *params, int64_t head_dim, int64_t n_dims, int mode,
                                                      int64_t n_ctx_orig, double freq_base, double freq_scale,
                                                      double ext_factor, double attn_factor, double beta_fast,
                                                      double beta_slow, const double *freq_factors);

#ifdef __cplusplus
}
#endif
#endif
