/* SPDX-License-Identifier: MIT */
/* Calls on more than the caches hold, which prefetch what they will need or write past the caches, against the same
 * work in pieces, which do not, on every tier: the same bits, and under the sanitizers no address of anything that is
 * not there. */
#include "guarded.h"
#include "truth.h"

#include <stdlib.h>

#include <posenc/posenc.h>

static float *numbers(int64_t n) {
    float *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    truth_fill(x, (size_t)n);
    return x;
}

/* The query or token i of a view alone. */
static posenc_view slice(const posenc_view *x, int dim, int64_t i) {
    posenc_view one = *x;
    one.data = (char *)x->data + i * x->nb[dim];
    one.ne[dim] = 1;
    return one;
}

/* 32 MB of cosines and sines, of which rows of whole vectors go past the caches where they begin with one. */
static void check_rows(void) {
    enum { PAIRS = 64, ROWS = 65536, PIECE = 1000 };
    posenc_freq *freq;
    truth_ok(posenc_freq_create(10000.0, 2 * PAIRS, &freq));
    int32_t *positions = malloc(ROWS * sizeof *positions);
    float *cosines = numbers(PAIRS * ROWS + 16), *sines = numbers(PAIRS * ROWS + 16);
    float *cos_piece = numbers(PAIRS * PIECE), *sin_piece = numbers(PAIRS * PIECE);
    assert_non_null(positions);
    for (int32_t t = 0; t < ROWS; t++)
        positions[t] = t - ROWS / 3 + 5 * (t / 10000);
    for (size_t away = 0; away < 2; away++) { /* from where a vector may begin */
        float *c = cosines + (64 - (uintptr_t)cosines % 64) / sizeof *c % 16 + away;
        float *s = sines + (64 - (uintptr_t)sines % 64) / sizeof *s % 16;
        truth_ok(posenc_angle_rows(freq, positions, ROWS, c, s, PAIRS));
        for (int64_t t = 0; t < ROWS; t += PIECE) {
            int64_t n = ROWS - t < PIECE ? ROWS - t : PIECE;
            truth_ok(posenc_angle_rows(freq, positions + t, n, cos_piece, sin_piece, PAIRS));
            truth_same_bits(c + t * PAIRS, cos_piece, n * PAIRS, "cosines %zu away, from row %d", away, (int)t);
            truth_same_bits(s + t * PAIRS, sin_piece, n * PAIRS, "sines %zu away, from row %d", away, (int)t);
        }
    }
    posenc_freq_free(freq);
    free(positions);
    free(cosines);
    free(sines);
    free(cos_piece);
    free(sin_piece);
}

/* The list of rows ends at a page that cannot be read. With few heads, what is prefetched is several tokens away. */
static void check_rotations_of(int64_t n_heads, int64_t n_tokens) {
    enum { DIM = 96, MOST_TOKENS = 390 };
    static test_guarded memory;
    static int32_t positions[MOST_TOKENS];
    int64_t *rows = test_guarded_place(&memory, (size_t)n_tokens * sizeof *rows, (test_placement){.at_end = 1});
    int64_t n = DIM * n_heads * n_tokens;
    float *x = numbers(n), *whole = numbers(n), *pieces = numbers(n);
    for (int64_t t = 0; t < n_tokens; t++) {
        positions[t] = (int32_t)(3 * t);
        rows[t] = (t * 37 + 5) % n_tokens;
    }
    for (int layout = POSENC_ROPE_HALF; layout <= POSENC_ROPE_DEINTERLEAVE; layout++) {
        posenc_rope_params params = POSENC_ROPE_DEFAULTS;
        params.layout = (posenc_rope_layout)layout;
        params.head_dim = DIM;
        params.n_rot = 64;
        posenc_rope *rope;
        truth_ok(posenc_rope_create(&params, &rope));
        posenc_view in = posenc_view_dense(x, POSENC_F32, DIM, n_heads, n_tokens, 1), out = in, piece = in;
        out.data = whole;
        piece.data = pieces;
        posenc_rope_tensor task = {.x = in, .y = out, .rotates = 1, .rows64 = rows, .scale = 0.5f};
        truth_ok(posenc_rope_apply_tensors(rope, &task, 1, positions, NULL, POSENC_FORWARD, posenc_range_all()));
        for (int64_t t = 0; t < n_tokens; t++) {
            posenc_rope_tensor one = {
                .x = slice(&in, 2, t), .y = slice(&piece, 2, rows[t]), .rotates = 1, .scale = 0.5f};
            truth_ok(posenc_rope_apply_tensors(rope, &one, 1, &positions[t], NULL, POSENC_FORWARD, posenc_range_all()));
        }
        truth_same_bits(whole, pieces, (size_t)n, "layout %d", layout);
        posenc_rope_free(rope);
    }
    free(x);
    free(whole);
    free(pieces);
    test_guarded_free(&memory);
}

static void check_rotations(void) {
    check_rotations_of(24, 130);
    check_rotations_of(8, 390);
}

static void check_softmax(void) {
    enum { KEYS = 700, QUERIES = 400, ALL = KEYS * QUERIES };
    float *x = numbers(ALL), *bias = numbers(ALL), *whole = numbers(ALL), *pieces = numbers(ALL);
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_view in = posenc_view_dense(x, POSENC_F32, KEYS, QUERIES, 1, 1), out = in, piece = in, mask = in;
    out.data = whole;
    piece.data = pieces;
    mask.data = bias;
    params.bias.tensor = &mask;
    truth_ok(posenc_softmax(&params, &in, &out, posenc_range_all()));
    for (int64_t q = 0; q < QUERIES; q++) {
        posenc_view one_in = slice(&in, 1, q), one_out = slice(&piece, 1, q), one_mask = slice(&mask, 1, q);
        params.bias.tensor = &one_mask;
        truth_ok(posenc_softmax(&params, &one_in, &one_out, posenc_range_all()));
    }
    truth_same_bits(whole, pieces, ALL, "softmax with a mask");
    free(x);
    free(bias);
    free(whole);
    free(pieces);
}

static void check_attention(void) {
    enum { DIM = 72, KEYS = 1900, HEADS = 2, ALL = DIM * KEYS * HEADS };
    float *q = numbers(DIM * HEADS), *k = numbers(ALL), *v = numbers(ALL), whole[DIM * HEADS], pieces[DIM * HEADS];
    float *scratch = malloc((size_t)posenc_attention_workspace_bytes(DIM, DIM));
    assert_non_null(scratch);
    posenc_score_params params = posenc_score_params_of(0.1f, posenc_mask_none());
    posenc_view queries = posenc_view_dense(q, POSENC_F32, DIM, HEADS, 1, 1),
                keys = posenc_view_transpose(posenc_view_dense(k, POSENC_F32, DIM, KEYS, HEADS, 1), 1, 2);
    posenc_view values = keys, out = queries, piece = queries;
    values.data = v;
    out.data = whole;
    piece.data = pieces;
    truth_ok(posenc_attention(&params, &queries, &keys, &values, &out, scratch,
                              posenc_attention_workspace_bytes(DIM, DIM), posenc_range_all()));
    for (int64_t h = 0; h < HEADS; h++) {
        posenc_view one_q = slice(&queries, 1, h), one_k = slice(&keys, 1, h), one_v = slice(&values, 1, h),
                    one = slice(&piece, 1, h);
        truth_ok(posenc_attention(&params, &one_q, &one_k, &one_v, &one, scratch,
                                  posenc_attention_workspace_bytes(DIM, DIM), posenc_range_all()));
    }
    truth_same_bits(whole, pieces, DIM * HEADS, "attention of a lone query");
    free(q);
    free(k);
    free(v);
    free(scratch);
}

/* ---- Every tier ---- */

static void on_every_tier(void (*check)(void)) {
    for (int tier = -1; truth_next_tier(&tier);)
        check();
}

static void test_rows(void **state) {
    (void)state;
    on_every_tier(check_rows);
}

static void test_rotations(void **state) {
    (void)state;
    on_every_tier(check_rotations);
}

static void test_softmax(void **state) {
    (void)state;
    on_every_tier(check_softmax);
}

static void test_attention(void **state) {
    (void)state;
    on_every_tier(check_attention);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_rows),
        truth_test(test_rotations),
        truth_test(test_softmax),
        truth_test(test_attention),
    };
    return truth_run(tests);
}
