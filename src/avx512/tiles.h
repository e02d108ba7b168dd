/* SPDX-License-Identifier: MIT */
/* AMX's tiles, as the products of matrices use them: four of sums, two of rows, two of columns.
 * Used by: tiles, tiles_quant. */
#ifndef POSENC_AVX512_TILES_H
#define POSENC_AVX512_TILES_H

#include <immintrin.h>
#include <stdint.h>

enum { SIDE = 16, TILES = 8 };

/* Which tiles hold rows and columns, whichever kernel. Macros, for gcc's intrinsics paste them. */
#define X0 4
#define X1 5
#define WORDS0 6
#define WORDS1 7

/* Operand of LDTILECFG. */
typedef struct tile_configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_configuration;

/* Makes gcc store what is at p before a tile or the configuration is loaded from there. The loads of gcc 12 do not
 * declare that they read memory: without this, it drops stores. */
static inline void is_written(const void *p) {
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* Sums are 16 rows of 16 words; x has 16 rows of `depth` words, and its columns are as many rows of 16 words. Until
 * _tile_release, which has to follow in the same call. */
static inline void configure_tiles(uint8_t depth) {
    tile_configuration c = {.palette = 1};
    for (int tile = 0; tile < TILES; tile++) {
        int is_x = tile == X0 || tile == X1, is_words = tile == WORDS0 || tile == WORDS1;
        c.row_bytes[tile] = 4 * (is_x ? depth : SIDE);
        c.rows[tile] = is_words ? depth : SIDE;
    }
    is_written(&c);
    _tile_loadconfig(&c);
}

#endif
