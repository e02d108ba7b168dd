/* SPDX-License-Identifier: MIT */
/* Interleaved M-RoPE of Qwen3-VL: each token has three positions, t, h and w. Text counts all three alike. The patches
 * of an image share t, and count rows and columns from where the text before them ends; the text behind goes on after
 * the larger of both. So an image of 12 patches takes 4 positions of the context here, and a prompt without images is
 * rotated as by ordinary RoPE.
 *
 *     cc qwen3_vl.c $(pkg-config --cflags --libs posenc) -lm
 */
#include <string.h>

#include "plain.h"

enum { DIM = 128, HEADS = 2, BEFORE = 5, ROWS = 3, COLUMNS = 4, BEHIND = 6 };
enum { PATCHES = ROWS * COLUMNS, TOKENS = BEFORE + PATCHES + BEHIND, T = 0, H, W, AXES };

static float q[TOKENS][HEADS][DIM], k[TOKENS][HEADS][DIM], v[TOKENS][HEADS][DIM];
static int32_t positions[AXES][TOKENS]; /* planes */

static void place(int token, int32_t t, int32_t h, int32_t w) {
    positions[T][token] = t;
    positions[H][token] = h;
    positions[W][token] = w;
}

static void place_tokens(void) {
    int32_t next = 0;
    int token = 0;
    for (; token < BEFORE; token++, next++)
        place(token, next, next, next);
    for (int patch = 0; patch < PATCHES; patch++, token++)
        place(token, next, next + patch / COLUMNS, next + patch % COLUMNS);
    next += ROWS > COLUMNS ? ROWS : COLUMNS;
    for (; token < TOKENS; token++, next++)
        place(token, next, next, next);
}

static posenc_rope *make_rope(posenc_axes_kind kind) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = DIM;
    params.base = 5e6;
    if (kind != POSENC_AXES_SINGLE)
        params.axes = (posenc_rope_axes){kind, AXES, {24, 20, 20}}; /* pairs that follow t, h and w */
    posenc_rope *rope;
    check(posenc_rope_create(&params, &rope), "rope");
    return rope;
}

static void rotate(const posenc_rope *rope, float x[TOKENS][HEADS][DIM], float y[TOKENS][HEADS][DIM]) {
    posenc_view from = posenc_view_dense(x, POSENC_F32, DIM, HEADS, TOKENS, 1);
    posenc_view to = posenc_view_dense(y, POSENC_F32, DIM, HEADS, TOKENS, 1);
    check(posenc_rope_apply(rope, &from, positions[0], &to, POSENC_FORWARD, posenc_range_all()), "rotation");
}

/* Patches come one after the other in the prompt, and the mask is that of text. */
static void attend(const posenc_rope *rope, float out[TOKENS][HEADS][DIM]) {
    static float queries[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], scratch[3 << 17];
    rotate(rope, q, queries);
    rotate(rope, k, keys);
    posenc_view a = posenc_view_dense(queries, POSENC_F32, DIM, HEADS, TOKENS, 1);
    posenc_view b = posenc_view_dense(keys, POSENC_F32, DIM, HEADS, TOKENS, 1);
    posenc_view c = posenc_view_dense(v, POSENC_F32, DIM, HEADS, TOKENS, 1);
    posenc_view result = posenc_view_dense(out, POSENC_F32, DIM, HEADS, TOKENS, 1);
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.scale = 0.0883883476f; /* 1 / sqrt(DIM) */
    params.mask = posenc_mask_causal();
    if (posenc_attention_workspace_bytes(DIM, DIM) > sizeof scratch)
        exit(1);
    check(posenc_attention(&params, &a, &b, &c, &result, scratch, sizeof scratch, posenc_range_all()), "attention");
}

static void plain(const posenc_rope *rope, double out[TOKENS][HEADS][DIM]) {
    static double query[DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM];
    for (int t = 0; t < TOKENS; t++) {
        const int32_t at[AXES] = {positions[T][t], positions[H][t], positions[W][t]};
        for (int h = 0; h < HEADS; h++) {
            plain_rotate(rope, at, k[t][h], keys[t][h]);
            for (int c = 0; c < DIM; c++)
                values[t][h][c] = (double)v[t][h][c];
            plain_rotate(rope, at, q[t][h], query);
            plain_attend(query, keys[0][h], HEADS * DIM, values[0][h], HEADS * DIM, t + 1, DIM, DIM, 1.0 / sqrt(DIM),
                         -INFINITY, out[t][h]);
        }
    }
}

/* Text alone: all planes equal. */
static int is_plain_rope_for_text(const posenc_rope *rope) {
    static float several[TOKENS][HEADS][DIM], one[TOKENS][HEADS][DIM];
    for (int t = 0; t < TOKENS; t++)
        place(t, t, t, t);
    posenc_rope *ordinary = make_rope(POSENC_AXES_SINGLE);
    rotate(rope, q, several);
    rotate(ordinary, q, one);
    posenc_rope_free(ordinary);
    int is_same = memcmp(several, one, sizeof one) == 0;
    printf("%-58s %s\n", "Qwen3-VL, text alone, and ordinary RoPE", is_same ? "same bits" : "WRONG");
    return is_same;
}

int main(void) {
    static float out[TOKENS][HEADS][DIM];
    static double expected[TOKENS][HEADS][DIM];
    fill_random(q[0][0], TOKENS * HEADS * DIM);
    fill_random(k[0][0], TOKENS * HEADS * DIM);
    fill_random(v[0][0], TOKENS * HEADS * DIM);
    place_tokens();
    posenc_rope *rope = make_rope(POSENC_AXES_IMROPE);
    attend(rope, out);
    plain(rope, expected);
    int is_wrong = compare("Qwen3-VL, text around an image", out[0][0], expected[0][0], TOKENS * HEADS * DIM, 1e-5);
    int taken = positions[T][TOKENS - 1] + 1;
    printf("Qwen3-VL, %d tokens take %d positions\n", TOKENS, taken);
    is_wrong |= taken != BEFORE + COLUMNS + BEHIND;
    is_wrong |= !is_plain_rope_for_text(rope);
    posenc_rope_free(rope);
    return is_wrong;
}
