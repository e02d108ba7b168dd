/* SPDX-License-Identifier: MIT */
/* Rotary embedding and ALiBi in one model, decoder style: q and k are rotated, and the scores take a linear penalty
 * on distance besides. Prints how much of each query's attention falls on the nearest quarter of the keys, without
 * either, with each, and with both.
 *
 *     cc hybrid.c $(pkg-config --cflags --libs posenc)
 */
#include <posenc/posenc.h>

#include <stdio.h>
#include <stdlib.h>

enum { HEAD_DIM = 64, HEADS = 8, TOKENS = 64 };

static float q[HEADS * TOKENS * HEAD_DIM], k[HEADS * TOKENS * HEAD_DIM], v[HEADS * TOKENS * HEAD_DIM];
static float out[HEADS * TOKENS * HEAD_DIM], probabilities[HEADS * TOKENS * TOKENS];

static void check(posenc_status status) {
    if (status != POSENC_OK) {
        fprintf(stderr, "%s\n", posenc_status_string(status));
        exit(1);
    }
}

/* Alike tokens: what differs is where they stand. */
static void fill(float *x, unsigned seed) {
    for (int i = 0; i < HEADS * TOKENS * HEAD_DIM; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = 0.25f + (float)(seed >> 8) * 0x1p-26f;
    }
}

static posenc_view tokens(float *x) {
    return posenc_view_dense(x, POSENC_F32, HEAD_DIM, HEADS, TOKENS, 1);
}

static void rotate(float *x) {
    int32_t positions[TOKENS];
    for (int t = 0; t < TOKENS; t++)
        positions[t] = t;
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = HEAD_DIM;
    posenc_rope *rope;
    check(posenc_rope_create(&params, &rope));
    posenc_view view = tokens(x);
    check(posenc_rope_apply(rope, &view, positions, &view, POSENC_FORWARD, posenc_range_all()));
    posenc_rope_free(rope);
}

/* The share of attention that stays within a quarter of the sequence, over the last half of the queries. */
static double nearness(int has_rope, int has_alibi) {
    float slopes[HEADS];
    fill(q, 1);
    fill(k, 2);
    fill(v, 3);
    if (has_rope) {
        rotate(q);
        rotate(k);
    }
    check(posenc_alibi_slopes(HEADS, 8.0, slopes));
    posenc_score_params params = posenc_score_params_of(0.125f, posenc_mask_causal());
    params.bias.alibi_slopes = has_alibi ? slopes : NULL;
    params.n_heads = HEADS;
    posenc_view queries = tokens(q), keys = tokens(k), values = tokens(v), y = tokens(out);
    posenc_view p = posenc_view_dense(probabilities, POSENC_F32, TOKENS, TOKENS, HEADS, 1);
    check(posenc_attention_reference(&params, &queries, &keys, &values, &y, &p));
    double near = 0.0;
    for (int h = 0; h < HEADS; h++)
        for (int i = TOKENS / 2; i < TOKENS; i++)
            for (int j = i - TOKENS / 4; j <= i; j++)
                near += (double)probabilities[(h * TOKENS + i) * TOKENS + j];
    return near / (HEADS * TOKENS / 2);
}

int main(void) {
    double none = nearness(0, 0), rope = nearness(1, 0), alibi = nearness(0, 1), both = nearness(1, 1);
    printf("attention on the nearest %d keys: none %.2f, RoPE %.2f, ALiBi %.2f, both %.2f\n", TOKENS / 4 + 1, none,
           rope, alibi, both);
    return none < rope && none < alibi && rope < both && alibi < both ? 0 : 1;
}
