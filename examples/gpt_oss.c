/* SPDX-License-Identifier: MIT */
/* Attention of gpt-oss: every other layer has a window of 128 keys, and each head has a sink, a logit of its own that
 * takes its share of the softmax and adds nothing. YaRN's ends are not rounded ("truncate": false), and it stretches
 * cosine and sine.
 *
 *     cc gpt_oss.c $(pkg-config --cflags --libs posenc) -lm
 */
#include "plain.h"

enum { DIM = 64, HEADS = 8, KV_HEADS = 2, WINDOW = 128, TOKENS = 200, GROUP = HEADS / KV_HEADS };

static float q[TOKENS][HEADS][DIM], k[TOKENS][KV_HEADS][DIM], v[TOKENS][KV_HEADS][DIM], sinks[HEADS];
static int32_t positions[TOKENS];

static posenc_rope *make_rope(void) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = DIM;
    params.base = 150000.0;
    params.scaling.type = POSENC_SCALING_YARN;
    params.scaling.factor = 32.0;
    params.scaling.original_context = 4096.0;
    params.scaling.truncate = 0;
    posenc_rope *rope;
    check(posenc_rope_create(&params, &rope), "rope");
    return rope;
}

/* A layer; both kinds share a rope, and its table of cosines and sines where there is one. */
static void attend(const posenc_rope *rope, int has_window, float out[TOKENS][HEADS][DIM]) {
    static float q_rotated[TOKENS][HEADS][DIM], k_cache[TOKENS][KV_HEADS][DIM], scratch[3 << 17];
    posenc_view queries = posenc_view_dense(q_rotated, POSENC_F32, DIM, HEADS, TOKENS, 1);
    posenc_view keys = posenc_view_dense(k_cache, POSENC_F32, DIM, KV_HEADS, TOKENS, 1);
    posenc_view values = posenc_view_dense(v, POSENC_F32, DIM, KV_HEADS, TOKENS, 1);
    posenc_view result = posenc_view_dense(out, POSENC_F32, DIM, HEADS, TOKENS, 1);
    posenc_rope_tensor tensors[] = {
        {.x = posenc_view_dense(q, POSENC_F32, DIM, HEADS, TOKENS, 1), .y = queries, .rotates = 1, .scale = 0.125f},
        {.x = posenc_view_dense(k, POSENC_F32, DIM, KV_HEADS, TOKENS, 1), .y = keys, .rotates = 1, .scale = 1.0f}};
    check(posenc_rope_apply_tensors(rope, tensors, 2, positions, NULL, POSENC_FORWARD, posenc_range_all()), "rotation");
    /* The scale, 1 / sqrt(DIM), is in the queries. */
    posenc_score_params params =
        posenc_score_params_of(1.0f, has_window ? posenc_mask_window(WINDOW) : posenc_mask_causal());
    params.sinks = sinks;
    params.n_heads = HEADS;
    if (posenc_attention_workspace_bytes(DIM, DIM) > sizeof scratch)
        exit(1);
    check(posenc_attention(&params, &queries, &keys, &values, &result, scratch, sizeof scratch, posenc_range_all()),
          "attention");
}

static void plain(const posenc_rope *rope, int has_window, double out[TOKENS][HEADS][DIM]) {
    static double query[DIM], keys[TOKENS][KV_HEADS][DIM], values[TOKENS][KV_HEADS][DIM];
    for (int t = 0; t < TOKENS; t++) {
        for (int h = 0; h < KV_HEADS; h++) {
            plain_rotate(rope, &positions[t], k[t][h], keys[t][h]);
            for (int c = 0; c < DIM; c++)
                values[t][h][c] = (double)v[t][h][c];
        }
        int first = has_window && t >= WINDOW ? t - WINDOW + 1 : 0;
        for (int h = 0; h < HEADS; h++) {
            plain_rotate(rope, &positions[t], q[t][h], query);
            plain_attend(query, keys[first][h / GROUP], KV_HEADS * DIM, values[first][h / GROUP], KV_HEADS * DIM,
                         t + 1 - first, DIM, DIM, 0.125, (double)sinks[h], out[t][h]);
        }
    }
}

int main(void) {
    static float out[2][TOKENS][HEADS][DIM];
    static double expected[TOKENS][HEADS][DIM];
    static const char *const kinds[] = {"gpt-oss, a layer that sees all", "gpt-oss, a layer with a window"};
    posenc_rope *rope = make_rope();
    fill_random(q[0][0], TOKENS * HEADS * DIM);
    fill_random(k[0][0], TOKENS * KV_HEADS * DIM);
    fill_random(v[0][0], TOKENS * KV_HEADS * DIM);
    for (int h = 0; h < HEADS; h++)
        sinks[h] = 0.5f * (float)h - 1.0f; /* trained, one for each head of each layer */
    check(posenc_positions_range(0, TOKENS, positions), "positions");
    int failures = 0;
    for (int has_window = 0; has_window < 2; has_window++) {
        attend(rope, has_window, out[has_window]);
        plain(rope, has_window, expected);
        failures += compare(kinds[has_window], out[has_window][0][0], expected[0][0], TOKENS * HEADS * DIM, 1e-5);
    }
    posenc_rope_free(rope);
    return failures != 0;
}
