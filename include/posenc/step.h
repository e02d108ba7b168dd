/* SPDX-License-Identifier: MIT */
/** @file
 * A layer's step over a KV cache: RoPE, cache write and attention of new tokens, a prompt or one.
 *
 * Example: Llama 3.1 8B, f16 cache of 4096 tokens; other members are 0
 *
 *     posenc_score_params params = posenc_score_params_of(0.0883883f, posenc_mask_causal());
 *     posenc_step step = {.rope = rope, .params = &params, .head_dim = 128, .n_heads = 32, .n_kv_heads = 8};
 *     step.q = q, step.k = k, step.v = v, step.out = out;
 *     step.k_cache = k_cache, step.v_cache = v_cache, step.cache_bytes = sizeof k_cache;
 *     step.cache_type = POSENC_F16, step.n_ctx = 4096;
 *     step.n_past = n_past, step.n_tokens = n;
 *     posenc_status status = posenc_step_run(&step, scratch, scratch_bytes);
 */
#ifndef POSENC_STEP_H
#define POSENC_STEP_H

#include <posenc/attention.h>

POSENC_BEGIN_C

/** New tokens of one sequence in one layer. Memory is [token][head][channel]; **another order: not seen**. Positions,
 * mask and cache rows follow from n_past. */
typedef struct posenc_step {
    const posenc_rope *rope; /**< of head_dim; n_rot 0: no rotation */
    /** for n_past + n_tokens keys, without positions (POSENC_ERR_POSITION) and sequences (POSENC_ERR_MASK) */
    const posenc_score_params *params;
    int64_t head_dim, n_heads, n_kv_heads;
    posenc_dtype type; /**< q, k, v, out: F32, F16 or BF16; **another memory type: not seen** */
    void *q;           /**< **rotated in place: append once a step** */
    const void *k, *v;
    void *out;
    int64_t token_stride;     /**< bytes between tokens of q, k, v (fused projection); 0: dense */
    int64_t n_past;           /**< tokens in the cache before; **wrong: not seen** */
    int64_t n_tokens;         /**< new tokens: n_past + n_tokens <= n_ctx (POSENC_ERR_CONTEXT) */
    const int32_t *positions; /**< planes [n_axes][n_tokens]; NULL, not with a tree: n_past, n_past + 1 .. */
    void *k_cache, *v_cache;
    size_t cache_bytes;      /**< of each: n_ctx tokens of cache_type, exactly (POSENC_ERR_WORKSPACE) */
    posenc_dtype cache_type; /**< also blocks; **another type of this size: not seen** */
    int64_t n_ctx;           /**< capacity in tokens */
    posenc_attention_math math;
} posenc_step;

#define POSENC_STEP_CHECK (-1) /**< ith: only checks the arguments */

/** Rotates q, writes rotated k, and v, to the cache: share of thread ith, 0 .. nth - 1 (POSENC_ERR_ROWS). q, k, v and
 * caches are apart. */
POSENC_API posenc_status posenc_step_append(const posenc_step *step, int64_t ith, int64_t nth);

/** Writes out: share of thread ith of nth, **once all have appended (a barrier): not seen**. scratch:
 * posenc_attention_workspace_bytes(head_dim, head_dim) of this thread. */
POSENC_API posenc_status posenc_step_attend(const posenc_step *step, void *scratch, size_t scratch_bytes, int64_t ith,
                                            int64_t nth);

/** Checks, appends and attends, by one thread. */
static inline posenc_status posenc_step_run(const posenc_step *step, void *scratch, size_t scratch_bytes) {
    posenc_status status = posenc_step_attend(step, scratch, scratch_bytes, POSENC_STEP_CHECK, 1);
    if (status == POSENC_OK)
        status = posenc_step_append(step, 0, 1);
    return status == POSENC_OK ? posenc_step_attend(step, scratch, scratch_bytes, 0, 1) : status;
}

POSENC_END_C
#endif
