/* SPDX-License-Identifier: MIT */
/* The attention of one layer of Llama 3.1 8B over an f16 cache, for prefill and decoding alike, in the fewest lines:
 * RoPE, grouped heads, causal. README.md shows this program. decode.c does the same with threads, and checks it.
 *
 *     cc attention.c $(pkg-config --cflags --libs posenc) -lm
 */
#include <posenc/posenc.h>

enum { DIM = 128, HEADS = 32, KV_HEADS = 8, CONTEXT = 4096, MOST = 512 };
static float q[MOST * HEADS * DIM], k[MOST * KV_HEADS * DIM], v[MOST * KV_HEADS * DIM], out[MOST * HEADS * DIM];
static uint16_t k_cache[CONTEXT * KV_HEADS * DIM], v_cache[CONTEXT * KV_HEADS * DIM]; /* f16 */
static float scratch[1 << 18]; /* posenc_attention_workspace_bytes(DIM, DIM) or more, for each thread */

/* Attention of n tokens that follow n_past others in the cache: a prompt, or one token to decode. */
static posenc_status attend(const posenc_rope *rope, const int32_t *positions, int64_t n_past, int64_t n) {
    posenc_view queries = posenc_view_dense(q, POSENC_F32, DIM, HEADS, n, 1);
    posenc_view result = posenc_view_dense(out, POSENC_F32, DIM, HEADS, n, 1);
    posenc_view new_keys = posenc_view_dense(k, POSENC_F32, DIM, KV_HEADS, n, 1);
    posenc_view new_values = posenc_view_dense(v, POSENC_F32, DIM, KV_HEADS, n, 1);
    posenc_view keys = posenc_view_dense(k_cache, POSENC_F16, DIM, KV_HEADS, n_past + n, 1);
    posenc_view values = posenc_view_dense(v_cache, POSENC_F16, DIM, KV_HEADS, n_past + n, 1);
    posenc_rope_tensor tensors[] = {
        {.x = queries, .y = queries, .rotates = 1, .scale = 0.0883883f}, /* 1 / sqrt(DIM) */
        {.x = new_keys, .y = posenc_view_slice(keys, 2, n_past, n), .rotates = 1, .scale = 1.0f},
        {.x = new_values, .y = posenc_view_slice(values, 2, n_past, n), .scale = 1.0f}};
    posenc_range all = posenc_range_all();
    posenc_status status = posenc_rope_apply_tensors(rope, tensors, 3, positions, NULL, POSENC_FORWARD, all);
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.mask = posenc_mask_causal();
    if (status == POSENC_OK)
        status = posenc_attention(&params, &queries, &keys, &values, &result, scratch, all);
    return status;
}

int main(void) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF; /* Llama of Hugging Face; GGUF: docs/embedding.md */
    params.head_dim = params.n_rot = DIM;
    params.base = 500000.0;
    posenc_rope *rope;
    posenc_status status = posenc_rope_create(&params, &rope);
    const int32_t positions[] = {0, 1, 2, 3};
    if (status == POSENC_OK)
        status = attend(rope, positions, 0, 3); /* a prompt of three tokens; fill q, k and v first */
    if (status == POSENC_OK)
        status = attend(rope, positions + 3, 3, 1);
    posenc_rope_free(rope);
    return status != POSENC_OK;
}
