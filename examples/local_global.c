/* SPDX-License-Identifier: MIT */
/* A block-wise scheme: position p is token l = p mod B of block g = p / B, and both are encoded. The encodings are
 * summed, sin(g) + sin(l), and attention is local inside a block and global to the first token of every block before.
 *
 *     cc local_global.c $(pkg-config --cflags --libs posenc)
 */
#include <posenc/posenc.h>

#include <stdio.h>
#include <stdlib.h>

enum { DIM = 32, TOKENS = 48, BLOCK = 8 };

static float x[TOKENS * DIM], out[TOKENS * DIM], probabilities[TOKENS * TOKENS];
static uint8_t visible[TOKENS * TOKENS];

static void check(posenc_status status) {
    if (status != POSENC_OK) {
        fprintf(stderr, "%s\n", posenc_status_string(status));
        exit(1);
    }
}

/* Any two encodings of one width would do: tables, or sinusoids as here. */
static void encode(void) {
    int32_t block[TOKENS], place[TOKENS];
    for (int t = 0; t < TOKENS; t++) {
        block[t] = t / BLOCK;
        place[t] = t % BLOCK;
    }
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = POSENC_SINUSOIDAL_INTERLEAVED;
    params.dim = DIM;
    posenc_encoding *pe;
    check(posenc_sinusoidal_create(&params, &pe));
    posenc_view rows = posenc_view_dense(x, POSENC_F32, DIM, TOKENS, 1, 1);
    check(posenc_encoding_write(pe, block, &rows));
    check(posenc_encoding_add(pe, place, &rows));
    posenc_encoding_free(pe);
}

static int is_visible(int i, int j) {
    return j <= i && (j / BLOCK == i / BLOCK || j % BLOCK == 0);
}

int main(void) {
    encode();
    for (int i = 0; i < TOKENS; i++)
        for (int j = 0; j < TOKENS; j++)
            visible[i * TOKENS + j] = (uint8_t)is_visible(i, j);
    posenc_bool_mask mask = {visible, {1, TOKENS, 0, 0}, POSENC_KEEP};
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.scale = 0.1767767f;
    params.mask = posenc_mask_causal();
    params.bool_mask = &mask;
    posenc_view tokens = posenc_view_dense(x, POSENC_F32, DIM, 1, TOKENS, 1);
    posenc_view y = posenc_view_dense(out, POSENC_F32, DIM, 1, TOKENS, 1);
    posenc_view p = posenc_view_dense(probabilities, POSENC_F32, TOKENS, TOKENS, 1, 1);
    check(posenc_attention_reference(&params, &tokens, &tokens, &tokens, &y, &p));

    int last = TOKENS - 1;
    double local = 0.0, global = 0.0, elsewhere = 0.0;
    for (int j = 0; j < TOKENS; j++) {
        double share = (double)probabilities[last * TOKENS + j];
        if (j / BLOCK == last / BLOCK)
            local += share;
        else if (j % BLOCK == 0)
            global += share;
        else
            elsewhere += share;
    }
    printf("token %d: %.2f of its attention inside its block, %.2f on the heads of the others, %.2f elsewhere\n", last,
           local, global, elsewhere);
    return local > 0.5 && global > 0.0 && elsewhere == 0.0 ? 0 : 1;
}
