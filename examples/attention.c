/* SPDX-License-Identifier: MIT */
/* The attention of one layer of Llama 3.1 8B over an f16 cache, in the fewest lines: RoPE, grouped heads, causal.
 * README.md shows this program. decode.c does the same with threads, and checks it.
 *
 *     cc attention.c $(pkg-config --cflags --libs posenc) -lm
 */
#include <posenc/posenc.h>

enum { DIM = 128, HEADS = 32, KV_HEADS = 8, CONTEXT = 4096, MOST = 512 };
static float q[MOST * HEADS * DIM], k[MOST * KV_HEADS * DIM], v[MOST * KV_HEADS * DIM], out[MOST * HEADS * DIM];
static uint16_t k_cache[CONTEXT * KV_HEADS * DIM], v_cache[CONTEXT * KV_HEADS * DIM]; /* f16 */
static float scratch[3 << 17]; /* posenc_attention_workspace_bytes(DIM, DIM) or more, for each thread */

int main(void) {
    posenc_rope *rope; /* Llama of Hugging Face; GGUF is interleaved: docs/embedding.md */
    posenc_rope_params rope_params = POSENC_ROPE_DEFAULTS;
    rope_params.layout = POSENC_ROPE_HALF, rope_params.head_dim = DIM, rope_params.base = 500000.0;
    posenc_status status = posenc_rope_create(&rope_params, &rope);
    posenc_score_params params = posenc_score_params_of(0.0883883f, posenc_mask_causal()); /* 1 / sqrt(DIM) */
    posenc_step step = {.rope = rope, .params = &params, .head_dim = DIM, .n_heads = HEADS, .n_kv_heads = KV_HEADS};
    step.q = q, step.k = k, step.v = v, step.out = out; /* [token][head][channel]; q is rotated in place */
    step.k_cache = k_cache, step.v_cache = v_cache, step.cache_bytes = sizeof k_cache;
    step.cache_type = POSENC_F16, step.n_ctx = CONTEXT;
    step.n_past = 0, step.n_tokens = 3; /* a prompt of three tokens; later 1 token behind n_past in the cache */
    if (status == POSENC_OK)
        status = posenc_step_run(&step, scratch, sizeof scratch);
    posenc_rope_free(rope);
    return status != POSENC_OK;
}
