/* SPDX-License-Identifier: MIT */
/** @file
 * RoPE parameters from config.json (Hugging Face), GGUF keys and arguments of ggml_rope.
 *
 *     posenc_rope_params params = POSENC_ROPE_DEFAULTS;
 *     params.layout = POSENC_ROPE_HALF;
 *     posenc_rope_set_number(&params, "head_dim", 128.0);
 *     posenc_rope_set_number(&params, "rope_theta", 500000.0);
 *     posenc_rope_set_string(&params, "rope_type", "llama3");
 *     posenc_rope_set_number(&params, "factor", 8.0);
 *     posenc_rope_set_number(&params, "original_max_position_embeddings", 8192.0);
 *     status = posenc_rope_create(&params, &rope);
 */
#ifndef POSENC_ROPE_CONFIG_H
#define POSENC_ROPE_CONFIG_H

#include <posenc/rope.h>

POSENC_BEGIN_C

/** Sets a number or flag (1 or 0) by its name in config.json or GGUF (with or without "ARCHITECTURE."), in any order.
 * docs/recipes.md lists the names, and what the caller must set. Unknown names (POSENC_ERR_ENUM) change nothing. 0
 * rotated channels mean all. */
POSENC_API posenc_status posenc_rope_set_number(posenc_rope_params *params, const char *name, double value);

/** Sets the scaling type: rope_type, type or rope.scaling.type; the last one wins. Unknown ones (POSENC_ERR_ENUM)
 * change nothing. A GGUF factor without a type means linear: set it. */
POSENC_API posenc_status posenc_rope_set_string(posenc_rope_params *params, const char *name, const char *value);

/** Sets a list: short_factor, long_factor, rope_freqs, rope_factors_short, rope_factors_long; it must live until
 * posenc_rope_create returns. Unknown names (POSENC_ERR_ENUM) and another n than an earlier list's change nothing. */
POSENC_API posenc_status posenc_rope_set_list(posenc_rope_params *params, const char *name, const double *values,
                                              int64_t n);

/** Arguments of ggml_rope_ext and ggml_rope_multi; a, b and c are its tensors. */
typedef struct posenc_rope_ggml {
    int64_t head_dim;          /**< a->ne[0] */
    int n_dims;                /**< rotated channels (VISION: half of them) */
    int mode;                  /**< GGML_ROPE_TYPE_: NORMAL 0, NEOX 2, MROPE 8, VISION 24, IMROPE 40; no default */
    int sections[4];           /**< NORMAL, NEOX: not read */
    int n_offs;                /**< first rotated channel: ggml_rope_set_offset */
    int n_ctx_orig;            /**< >= 0 */
    double freq_base;          /**< in [1, 1e30]; above 1 if ext_factor is not 0 */
    double freq_scale;         /**< 1e-9..POSENC_MAX_FREQUENCY */
    double ext_factor;         /**< 0..1; 0: n_ctx_orig, beta_fast and beta_slow are not read */
    double attn_factor;        /**< > 0 */
    double beta_fast;          /**< beta_slow..1e9 */
    double beta_slow;          /**< >= 1e-9 */
    const float *freq_factors; /**< c->data, or NULL; finite and not 0 */
    int64_t n_freq_factors;    /**< c->ne[0] */
} posenc_rope_ggml;

/** Defaults of ggml_rope, without scaling. head_dim, n_dims and mode must be set. */
#define POSENC_ROPE_GGML_DEFAULTS                                                                                      \
    { 0, -1, -1, {0, 0, 0, 0}, 0, 0, 10000.0, 1.0, 0.0, 1.0, 32.0, 1.0, NULL, 0 }

/** Converts ggml's arguments to RoPE parameters (B.15, B.20-B.22). Several axes have four planes of positions, and
 * sections that count all n_dims/2 (VISION: n_dims) pairs; a surplus is ignored. freq_factors, an entry for each
 * pair, is read by posenc_rope_create. The magnitude must be positive: freq_scale up to e^10. On failure *params is
 * unchanged. Example: docs/recipes.md. */
POSENC_API posenc_status posenc_rope_params_from_ggml(const posenc_rope_ggml *ggml, posenc_rope_params *params);

POSENC_END_C
#endif
