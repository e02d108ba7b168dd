/* SPDX-License-Identifier: MIT */
/* Multi-head latent attention (DeepSeek-V2, V3) with absorbed projections. The cache holds one row for each token, for
 * all heads: the compressed keys and values, and behind them the key's rotated channels.
 *
 *     q_h . k_h = q_h . (W_uk_h c) + ...  =  (W_uk_h^T q_h) . c + ...         W_uk goes into the query
 *     sum p v_h = sum p (W_uv_h c)        =  W_uv_h (sum p c)                 W_uv comes behind attention
 *
 * So it is multi-query attention with heads of RANK + ROPE channels, whose values are a view into the keys. It is
 * compared with keys and values of each head, written out.
 *
 *     cc deepseek_mla.c $(pkg-config --cflags --libs posenc) -lm
 */
#include "plain.h"

enum { HEADS = 4, NOPE = 32, ROPE = 16, RANK = 64, V_DIM = 24, WIDE = RANK + ROPE, TOKENS = 40 };

static float w_uk[HEADS][NOPE][RANK], w_uv[HEADS][V_DIM][RANK];
static float q[TOKENS][HEADS][NOPE + ROPE], kv[TOKENS][WIDE]; /* what a layer projects its tokens to */
static int32_t positions[TOKENS];

static posenc_rope *make_rope(float *scale) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_DEINTERLEAVE; /* Hugging Face's weights; of GGUF files INTERLEAVED */
    params.head_dim = WIDE;
    params.n_rot = ROPE;
    params.n_offs = RANK; /* the last channels rotate, of queries and keys alike */
    params.scaling.type = POSENC_SCALING_YARN;
    params.scaling.factor = 40.0;
    params.scaling.original_context = 4096.0;
    params.scaling.mscale = params.scaling.mscale_all_dim = 1.0;
    posenc_rope *rope;
    check(posenc_rope_create(&params, &rope), "rope");
    *scale = (float)(posenc_rope_softmax_multiplier(&params.scaling) / sqrt(NOPE + ROPE));
    return rope;
}

/* ---- With absorbed projections ---- */

static void absorbed_attention(const posenc_rope *rope, float scale, float out[TOKENS][HEADS][V_DIM]) {
    static float wide[TOKENS][HEADS][WIDE], rotated[TOKENS][HEADS][WIDE], cache[TOKENS][WIDE];
    static float mixed[TOKENS][HEADS][RANK], scratch[3 << 17];
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < HEADS; h++) {
            for (int r = 0; r < RANK; r++)
                for (int c = 0; c < NOPE; c++)
                    wide[t][h][r] += w_uk[h][c][r] * q[t][h][c];
            for (int c = 0; c < ROPE; c++)
                wide[t][h][RANK + c] = q[t][h][NOPE + c];
        }
    posenc_view queries = posenc_view_dense(rotated, POSENC_F32, WIDE, HEADS, TOKENS, 1);
    posenc_view keys = posenc_view_dense(cache, POSENC_F32, WIDE, 1, TOKENS, 1); /* f16 or Q8_0 in an engine */
    posenc_rope_tensor tensors[] = {
        {.x = posenc_view_dense(wide, POSENC_F32, WIDE, HEADS, TOKENS, 1), .y = queries, .rotates = 1, .scale = scale},
        {.x = posenc_view_dense(kv, POSENC_F32, WIDE, 1, TOKENS, 1), .y = keys, .rotates = 1, .scale = 1.0f}};
    check(posenc_rope_apply_tensors(rope, tensors, 2, positions, NULL, POSENC_FORWARD, posenc_range_all()), "rotation");

    posenc_view values = posenc_view_slice(keys, 0, 0, RANK), result;
    result = posenc_view_dense(mixed, POSENC_F32, RANK, HEADS, TOKENS, 1);
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal()); /* the scale is in the queries */
    if (posenc_attention_workspace_bytes(WIDE, RANK) > sizeof scratch)
        exit(1);
    check(posenc_attention(&params, &queries, &keys, &values, &result, scratch, sizeof scratch, posenc_range_all()),
          "attention");
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < HEADS; h++)
            for (int c = 0; c < V_DIM; c++)
                for (int r = 0; r < RANK; r++)
                    out[t][h][c] += w_uv[h][c][r] * mixed[t][h][r];
}

/* ---- The same, head by head ---- */

/* x's pairs are neighbours; plain_rotate wants them half-split. */
static void plain_pairs(const posenc_rope *rope, int t, const float *x, double *y) {
    float halves[ROPE];
    for (int i = 0; i < ROPE; i++)
        halves[i % 2 * (ROPE / 2) + i / 2] = x[i];
    plain_rotate(rope, &positions[t], halves, y);
}

static void plain_attention(const posenc_rope *rope, float scale, double out[TOKENS][HEADS][V_DIM]) {
    static double query[NOPE + ROPE], key[TOKENS][NOPE + ROPE], value[TOKENS][V_DIM];
    for (int h = 0; h < HEADS; h++)
        for (int t = 0; t < TOKENS; t++) {
            for (int c = 0; c < NOPE; c++) {
                query[c] = (double)q[t][h][c];
                key[t][c] = 0.0;
                for (int r = 0; r < RANK; r++)
                    key[t][c] += (double)w_uk[h][c][r] * (double)kv[t][r];
            }
            for (int c = 0; c < V_DIM; c++) {
                value[t][c] = 0.0;
                for (int r = 0; r < RANK; r++)
                    value[t][c] += (double)w_uv[h][c][r] * (double)kv[t][r];
            }
            plain_pairs(rope, t, &q[t][h][NOPE], &query[NOPE]);
            plain_pairs(rope, t, &kv[t][RANK], &key[t][NOPE]);
            plain_attend(query, key[0], NOPE + ROPE, value[0], V_DIM, t + 1, NOPE + ROPE, V_DIM, (double)scale,
                         -INFINITY, out[t][h]);
        }
}

int main(void) {
    static float out[TOKENS][HEADS][V_DIM];
    static double expected[TOKENS][HEADS][V_DIM];
    float scale;
    posenc_rope *rope = make_rope(&scale);
    fill_random(w_uk[0][0], HEADS * NOPE * RANK);
    fill_random(w_uv[0][0], HEADS * V_DIM * RANK);
    fill_random(q[0][0], TOKENS * HEADS * (NOPE + ROPE));
    fill_random(kv[0], TOKENS * WIDE);
    for (int t = 0; t < TOKENS; t++)
        positions[t] = 100000 + t; /* far in a long context */
    absorbed_attention(rope, scale, out);
    plain_attention(rope, scale, expected);
    posenc_rope_free(rope);
    return compare("latent attention, absorbed and head by head", out[0][0], expected[0][0], TOKENS * HEADS * V_DIM,
                   1e-4);
}
