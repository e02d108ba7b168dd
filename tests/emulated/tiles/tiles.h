/* SPDX-License-Identifier: MIT */
/* AMX's tiles in plain C, as Intel's manual states them; no word on the instructions. */
#ifndef POSENC_TESTS_EMULATED_TILES_TILES_H
#define POSENC_TESTS_EMULATED_TILES_TILES_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EMULATED_TILES = 8, EMULATED_ROWS = 16, EMULATED_WORDS = 16 };

/* The tiles of this thread, and how they are configured; without a configuration no tile may be touched. */
typedef struct emulated_tiles {
    int is_configured;
    uint8_t rows[EMULATED_TILES];
    uint16_t row_bytes[EMULATED_TILES];
    uint32_t words[EMULATED_TILES][EMULATED_ROWS][EMULATED_WORDS];
    void (*before_each)(void); /* called before each instruction, as a signal may come; or NULL */
} emulated_tiles;

extern _Thread_local emulated_tiles emulated_amx;

static inline void emulated_expect(int condition) {
    if (!condition)
        abort();
}

static inline void emulated_instruction(void) {
    if (emulated_amx.before_each != NULL)
        emulated_amx.before_each();
}

/* A tile that is configured within its limits. */
static inline void emulated_tile(int tile) {
    emulated_expect(tile < EMULATED_TILES && emulated_amx.is_configured && emulated_amx.rows[tile] > 0 &&
                    emulated_amx.rows[tile] <= EMULATED_ROWS && emulated_amx.row_bytes[tile] <= 4 * EMULATED_WORDS);
}

static inline void emulated_clear(int tile) {
    emulated_tile(tile);
    memset(emulated_amx.words[tile], 0, sizeof emulated_amx.words[tile]);
}

static inline void emulated_loadconfig(const void *configuration) {
    const uint8_t *bytes = configuration;
    emulated_instruction();
    emulated_expect(bytes[0] == 1);
    for (int i = 1; i < 64; i++) /* what is not used has to be 0 */
        emulated_expect(bytes[i] == 0 || (i >= 16 && i < 32) || (i >= 48 && i < 56));
    memset(emulated_amx.words, 0, sizeof emulated_amx.words);
    emulated_amx.is_configured = 1;
    for (int tile = 0; tile < EMULATED_TILES; tile++) {
        memcpy(&emulated_amx.row_bytes[tile], bytes + 16 + 2 * tile, sizeof(uint16_t));
        emulated_amx.rows[tile] = bytes[48 + tile];
    }
}

static inline void emulated_release(void) {
    emulated_instruction();
    emulated_amx.is_configured = 0;
}

static inline void emulated_zero(int tile) {
    emulated_instruction();
    emulated_clear(tile);
}

static inline void emulated_load(int tile, const void *base, long stride) {
    emulated_instruction();
    emulated_clear(tile);
    for (int row = 0; row < emulated_amx.rows[tile]; row++)
        memcpy(emulated_amx.words[tile][row], (const char *)base + row * stride, emulated_amx.row_bytes[tile]);
}

static inline void emulated_store(int tile, void *base, long stride) {
    emulated_instruction();
    emulated_tile(tile);
    for (int row = 0; row < emulated_amx.rows[tile]; row++)
        memcpy((char *)base + row * stride, emulated_amx.words[tile][row], emulated_amx.row_bytes[tile]);
}

/* Three tiles whose shapes fit a product. */
static inline void emulated_product(int sums, int a, int b) {
    emulated_instruction();
    emulated_tile(sums);
    emulated_tile(a);
    emulated_tile(b);
    emulated_expect(sums != a && sums != b && a != b && emulated_amx.rows[sums] == emulated_amx.rows[a] &&
                    emulated_amx.row_bytes[sums] == emulated_amx.row_bytes[b] &&
                    emulated_amx.row_bytes[a] == 4 * emulated_amx.rows[b]);
}

static inline float emulated_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Half a word as a number: the even one is the low half. A denormal is 0. */
static inline float emulated_number(uint32_t word, int odd) {
    float x = emulated_float(odd ? word & 0xffff0000 : word << 16);
    return fpclassify(x) == FP_SUBNORMAL ? 0.0f : x;
}

static inline void emulated_dpbf16ps(int sums, int a, int b) {
    emulated_product(sums, a, b);
    for (int m = 0; m < emulated_amx.rows[sums]; m++)
        for (int n = 0; n < emulated_amx.row_bytes[sums] / 4; n++) {
            float chain[2] = {0.0f, 0.0f}, sum = emulated_float(emulated_amx.words[sums][m][n]);
            for (int k = 0; k < emulated_amx.row_bytes[a] / 4; k++)
                for (int odd = 0; odd < 2; odd++)
                    chain[odd] = fmaf(emulated_number(emulated_amx.words[a][m][k], odd),
                                      emulated_number(emulated_amx.words[b][k][n], odd), chain[odd]);
            sum += chain[0] + chain[1];
            memcpy(&emulated_amx.words[sums][m][n], &sum, sizeof sum);
        }
}

/* A byte of a word, with its sign. */
static inline int32_t emulated_byte(uint32_t word, int i) {
    return (int8_t)(word >> 8 * i & 0xff);
}

/* Signed bytes with signed bytes. Sums wrap. */
static inline void emulated_dpbssd(int sums, int a, int b) {
    emulated_product(sums, a, b);
    for (int m = 0; m < emulated_amx.rows[sums]; m++)
        for (int n = 0; n < emulated_amx.row_bytes[sums] / 4; n++)
            for (int k = 0; k < emulated_amx.row_bytes[a] / 4; k++)
                for (int i = 0; i < 4; i++)
                    emulated_amx.words[sums][m][n] += (uint32_t)(emulated_byte(emulated_amx.words[a][m][k], i) *
                                                                 emulated_byte(emulated_amx.words[b][k][n], i));
}

#endif
