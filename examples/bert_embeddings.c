/* SPDX-License-Identifier: MIT */
/* The embedding layer of BERT: the sum of a token's, a position's and a segment's learned row, then a layer norm. Token
 * ids are looked up by the same calls as positions are. Tables are bf16, as a checkpoint may have them; sums are
 * float32.
 *
 * RoBERTa differs in its positions only: posenc_positions_masked(mask, n_tokens, n_batch, 2, 1, positions).
 *
 * It checks itself against plain loops.
 *
 *     cc bert_embeddings.c $(pkg-config --cflags --libs posenc) -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <posenc/posenc.h>

enum { DIM = 96, N_WORDS = 200, N_POSITIONS = 64, N_SEGMENTS = 2, N_TOKENS = 12, N_BATCH = 2, N = N_TOKENS * N_BATCH };

static uint16_t word_table[N_WORDS * DIM], position_table[N_POSITIONS * DIM], segment_table[N_SEGMENTS * DIM];

static void check(posenc_status status, const char *what) {
    if (status != POSENC_OK) {
        fprintf(stderr, "%s: %s\n", what, posenc_status_string(status));
        exit(1);
    }
}

/* bf16 numbers between -1 and 1, and what they are worth. */
static void fill_random(uint16_t *table, int64_t n) {
    static uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        float value = (float)(state >> 8) * 0x1p-23f - 1.0f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        table[i] = (uint16_t)(bits >> 16);
    }
}

static float float_of(uint16_t bf16) {
    uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* An encoding refers to its table, which stays where the model's weights are. */
static posenc_encoding *encoding_of(uint16_t *table, int64_t n_rows) {
    posenc_view view = posenc_view_dense(table, POSENC_BF16, DIM, n_rows, 1, 1);
    posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS; /* OPT and BART: offset 2 */
    posenc_encoding *e;
    check(posenc_learned_create(&view, &lookup, &e), "table");
    return e;
}

static void layer_norm(float *row) {
    float mean = 0.0f, variance = 0.0f;
    for (int64_t i = 0; i < DIM; i++)
        mean += row[i] / (float)DIM;
    for (int64_t i = 0; i < DIM; i++)
        variance += (row[i] - mean) * (row[i] - mean) / (float)DIM;
    for (int64_t i = 0; i < DIM; i++)
        row[i] = (row[i] - mean) / sqrtf(variance + 1e-12f);
}

int main(void) {
    fill_random(word_table, N_WORDS * DIM);
    fill_random(position_table, N_POSITIONS * DIM);
    fill_random(segment_table, N_SEGMENTS * DIM);
    posenc_encoding *words = encoding_of(word_table, N_WORDS);
    posenc_encoding *positions = encoding_of(position_table, N_POSITIONS);
    posenc_encoding *segments = encoding_of(segment_table, N_SEGMENTS);

    /* Token ids as tokenizers give them, in int64; two sentences in each sequence of the batch. */
    static int64_t ids[N];
    static int32_t segment_ids[N], position_ids[N_TOKENS];
    for (int64_t t = 0; t < N; t++) {
        ids[t] = (t * 37 + 11) % N_WORDS;
        segment_ids[t] = t % N_TOKENS >= 7;
    }
    check(posenc_positions_range(0, N_TOKENS, position_ids), "positions");

    /* x = words, x += segments, x += positions. The batch shares its positions; ids have one row for each sequence. */
    static float x[N * DIM];
    posenc_view view = posenc_view_dense(x, POSENC_F32, DIM, N_TOKENS, N_BATCH, 1);
    posenc_coords word_at = {ids, POSENC_COORD_I64, 0, N_TOKENS};
    posenc_coords segment_at = {segment_ids, POSENC_COORD_I32, 0, N_TOKENS};
    check(posenc_encoding_apply(words, &word_at, NULL, NULL, &view, posenc_range_all()), "words");
    check(posenc_encoding_apply(segments, &segment_at, &view, NULL, &view, posenc_range_all()), "segments");
    check(posenc_encoding_add(positions, position_ids, &view), "positions");

    int n_wrong = 0;
    for (int64_t t = 0; t < N; t++)
        for (int64_t i = 0; i < DIM; i++) {
            float expected = float_of(word_table[ids[t] * DIM + i]) + float_of(segment_table[segment_ids[t] * DIM + i]);
            n_wrong += x[t * DIM + i] != expected + float_of(position_table[t % N_TOKENS * DIM + i]);
        }
    for (int64_t t = 0; t < N; t++)
        layer_norm(x + t * DIM);
    printf("%d of %d sums differ from plain loops\n", n_wrong, N * DIM);

    /* An id that the table does not have: the call is refused, and tells which row is to blame. */
    ids[5] = N_WORDS;
    int64_t row;
    posenc_status status = posenc_encoding_check(words, &word_at, N_TOKENS, N_BATCH, &row);
    printf("token %d: %s\n", (int)row, posenc_status_string(status));

    posenc_encoding_free(words);
    posenc_encoding_free(positions);
    posenc_encoding_free(segments);
    return n_wrong == 0 && status == POSENC_ERR_POSITION && row == 5 ? 0 : 1;
}
