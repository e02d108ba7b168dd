/* SPDX-License-Identifier: MIT */
/* SIMD body of the products with the rows of a table; src/scalar/dot.c is the specification.
 * Needs: vec.h. Produces: dot_rows, dot_few.
 *
 * A tile is some rows of x times some vectors across panels. Its sums stay in registers while c runs. Tiles of TILE_X
 * rows do the bulk, panel by panel: a panel stays in the first cache while the rows of x pass by. The last rows go by
 * four, two and one. The fewer rows, the more vectors, across several panels, so that enough chains of fma hide their
 * latency. Four rows at a time take a third of the time that they take one by one. */
#include "vec.h"

#include "simd/typed.h"

#include "simd/prefetch.h"
#include "kernels/variant.h"

enum {
    PANEL_VECTORS = POSENC_PANEL / VF,
    TILE_X = 6, /* AVX2's 16 registers hold 6 x 2 sums */
    TILE_VECTORS = PANEL_VECTORS < 4 ? 2 : PANEL_VECTORS / 2,
    BULK_VECTORS = VF == 16 ? 4 : TILE_VECTORS, /* two panels fill the 32 registers of AVX-512 */
    ONE_VECTORS = VF == 16 ? 4 : 8,             /* 64 rows of the table on x86: what attention packs at a time */
    STAGE = 256                                 /* channels of a row widened at a time */
};

/* Corner of a tile in x, the table and y; n: rows of the table from there on. */
typedef struct dot_corner {
    const char *x;
    const float *panel;
    char *y;
    size_t n;
} dot_corner;

V_INLINE void stage_typed(const posenc_dot_rows_args *a, const void *x, size_t first, size_t n, float *stage,
                          const posenc_dtype type) {
    for (size_t c = 0; c < n; c += VF) {
        size_t lanes = lanes_from(c, n);
        vf value = load_typed(x, first + c, lanes, type);
        if (a->shift != NULL)
            value = v_add(value, load_typed(a->shift, first + c, lanes, POSENC_F32));
        v_store(stage + c, value);
    }
}

/* Writes channels [first, first + n) of a row of x, shifted, in float32. */
V_INLINE void stage_row(const posenc_dot_rows_args *a, const void *x, size_t first, size_t n, float *stage) {
    switch (a->x_type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: stage_typed(a, x, first, n, stage, POSENC_F32); break;
    case POSENC_F16: stage_typed(a, x, first, n, stage, POSENC_F16); break;
    case POSENC_BF16: stage_typed(a, x, first, n, stage, POSENC_BF16); break;
    }
}

/* Computes a tile of n_x rows and n_v vectors. is_whole: the table has a row for each lane. Whole tiles are stored from
 * registers: through the stack, as the table's last ones are, prefill in float32 takes 1.01 to 1.015 times as long (AMD
 * Zen 4, AVX-512). is_staged: rows of x are converted first. */
V_INLINE void dot_tile(const posenc_dot_rows_args *a, dot_corner at, const size_t n_x, const size_t n_v,
                       const int is_whole, const int is_staged) {
    float stage[TILE_X][STAGE];
    vf sum[TILE_X][ONE_VECTORS];
    for (size_t r = 0; r < n_x; r++)
        for (size_t v = 0; v < n_v; v++)
            sum[r][v] = v_set1(0.0f);
    for (size_t first = 0; first < a->dim; first += STAGE) {
        size_t n = a->dim - first < STAGE ? a->dim - first : STAGE;
        const float *x[TILE_X];
        for (size_t r = 0; r < n_x; r++) {
            const void *row = at.x + (ptrdiff_t)r * a->x_stride;
            x[r] = is_staged ? stage[r] : (const float *)row + first;
            if (is_staged)
                stage_row(a, row, first, n, stage[r]);
        }
        const float *panel = at.panel + first * POSENC_PANEL;
        for (size_t c = 0; c < n; c++) {
            vf column[ONE_VECTORS];
            for (size_t v = 0; v < n_v; v++)
                column[v] = v_load(panel + v / PANEL_VECTORS * a->dim * POSENC_PANEL + c * POSENC_PANEL +
                                   v % PANEL_VECTORS * VF);
            for (size_t r = 0; r < n_x; r++) {
                vf value = v_set1(x[r][c]);
                for (size_t v = 0; v < n_v; v++)
                    sum[r][v] = v_fma(value, column[v], sum[r][v]);
            }
        }
    }
    /* A copy: gcc for AArch64 does not unroll the loop below, and would keep the sums above in memory. */
    vf done[TILE_X][ONE_VECTORS];
    for (size_t r = 0; r < n_x; r++)
        for (size_t v = 0; v < n_v; v++)
            done[r][v] = sum[r][v];
    for (size_t r = 0; r < n_x; r++) {
        float *y = (float *)(void *)(at.y + (ptrdiff_t)r * a->y_stride);
        for (size_t v = 0; v < n_v; v++) {
            size_t before = v * VF, left = at.n <= before ? 0 : at.n - before < VF ? at.n - before : VF;
            store_typed(y, before, done[r][v], is_whole ? VF : left, POSENC_F32);
        }
    }
}

/* Corner at row i of x and row t of the table. */
V_INLINE dot_corner dot_corner_at(const posenc_dot_rows_args *a, size_t i, size_t t) {
    return (dot_corner){
        .x = (const char *)a->x + (ptrdiff_t)i * a->x_stride,
        .panel = a->panels + t / POSENC_PANEL * POSENC_PANEL * a->dim + t % POSENC_PANEL,
        .y = (char *)a->y + (ptrdiff_t)i * a->y_stride + (ptrdiff_t)(t * sizeof(float)),
        .n = a->n_rows - t,
    };
}

/* Multiplies n_x rows from row i on with the whole table: wide tiles, then narrow tiles for its tail. */
V_INLINE void dot_band(const posenc_dot_rows_args *a, size_t i, const size_t n_x, const size_t wide,
                       const size_t narrow, const int is_staged) {
    size_t t = 0;
    for (; wide > narrow && t + wide * VF <= a->n_rows; t += wide * VF) /* one body if both are equal */
        dot_tile(a, dot_corner_at(a, i, t), n_x, wide, 1, is_staged);
    for (; t < a->n_rows; t += narrow * VF)
        dot_tile(a, dot_corner_at(a, i, t), n_x, narrow, 0, is_staged);
}

/* Multiplies the first `tiled` rows of x with n_v vectors of the table from row t on, prefetching tile by tile. */
V_INLINE void dot_tiles(const posenc_dot_rows_args *a, size_t tiled, size_t t, const size_t n_v, const int is_whole,
                        const int is_staged, fetching *f) {
    for (size_t i = 0; i < tiled; i += TILE_X) {
        dot_tile(a, dot_corner_at(a, i, t), TILE_X, n_v, is_whole, is_staged);
        fetch_some(f, TILE_X * n_v * VF);
    }
}

V_INLINE void dot_all(const posenc_dot_rows_args *a, const int is_staged) {
    size_t tiled = a->n_x - a->n_x % TILE_X, t = 0;
    fetching f = fetching_of(a->ahead, tiled * a->n_rows);
    for (; t + BULK_VECTORS * VF <= a->n_rows; t += BULK_VECTORS * VF)
        dot_tiles(a, tiled, t, BULK_VECTORS, 1, is_staged, &f);
    for (; t < a->n_rows; t += TILE_VECTORS * VF)
        dot_tiles(a, tiled, t, TILE_VECTORS, 0, is_staged, &f);
    size_t i = tiled;
    if (i + 4 <= a->n_x) {
        dot_band(a, i, 4, BULK_VECTORS, TILE_VECTORS, is_staged);
        i += 4;
    }
    if (i + 2 <= a->n_x) {
        dot_band(a, i, 2, 2 * TILE_VECTORS, TILE_VECTORS, is_staged);
        i += 2;
    }
    if (i < a->n_x)
        dot_band(a, i, 1, ONE_VECTORS, PANEL_VECTORS, is_staged);
}

/* Not inlined: faster to compile. */
static __attribute__((noinline)) void dot_in_place(const posenc_dot_rows_args *args) {
    const posenc_dot_rows_args a = *args; /* a copy: no store changes it */
    dot_all(&a, 0);
}

static __attribute__((noinline)) void dot_staged(const posenc_dot_rows_args *args) {
    const posenc_dot_rows_args a = *args;
    dot_all(&a, 1);
}

void VARIANT(dot_rows)(const posenc_dot_rows_args *a) {
    a->x_type == POSENC_F32 && a->shift == NULL ? dot_in_place(a) : dot_staged(a);
}

/* ---- A few rows of x, with rows that are not packed ---- */

/* VF rows are transposed in registers, as for a panel, and multiplied at once. Against packing and dot_rows, a decode
 * takes 0.75 to 0.8 times as long with one row of x and 0.85 with four (AMD Zen 4, AVX-512 and AVX2). With eight rows
 * there is no gain.
 *
 * Channels go by cache lines: rows of heads side by side are some KB apart and share a few sets of the first cache,
 * which would lose a line before all of it is used. AVX-512 takes 16 rows at a time, more than a set holds: of rows of
 * several heads it loads whole lines. By pieces of 16 bytes each line came four times, and decode of 32 heads over 512
 * f16 keys took 1.17 times as long. One head's rows lie side by side and stay with pieces: by lines, rows beyond the
 * second cache take 1.08 times as long (AMD Zen 4). */
enum { FEW_VECTORS = POSENC_FEW_ROWS / VF, FEW_CHANNELS = 32, EIGHT = 8 };

_Static_assert(POSENC_FEW_ROWS % VF == 0, "whole vectors");
_Static_assert(FEW_CHANNELS == POSENC_QUANT_BLOCK, "few_integers takes a block");

/* One head: its first row of x, and POSENC_FEW_ROWS of its rows. */
typedef struct few_head {
    const char *x;
    const void *rows[POSENC_FEW_ROWS];
    int by_lines; /* 1 if numbers of 16 bits are loaded by whole cache lines */
} few_head;

V_INLINE float few_x(const posenc_dot_few_args *a, const few_head *head, size_t i, size_t c) {
    return ((const float *)(const void *)(head->x + (ptrdiff_t)i * a->x_stride))[c];
}

/* Adds the products of channels [c, c + n) of a type of 16 or 8 bits. n is a multiple of early_channels(). */
V_INLINE void few_early(const posenc_dot_few_args *a, const few_head *head, size_t c, size_t n, const size_t n_x,
                        const posenc_dtype type, vf sum[POSENC_FEW][FEW_VECTORS], fetching *f) {
    uint16_t columns[FEW_VECTORS][FEW_CHANNELS * VF];
    for (size_t v = 0; v < FEW_VECTORS; v++)
        if (head->by_lines && n == FEW_CHANNELS)
            v_transpose_line_16(head->rows + v * VF, c, columns[v]);
        else
            for (size_t k = 0; k < n; k += early_channels(type))
                transpose_early(head->rows + v * VF, c + k, typed_out(columns[v], k * VF, type), type);
    for (size_t eight = 0; eight < n; eight += EIGHT) {
        for (size_t k = eight; k < eight + EIGHT; k += 2) {
            vf channel[2][FEW_VECTORS];
            for (size_t v = 0; v < FEW_VECTORS; v++)
                load_pair_typed(columns[v], k * VF, type, &channel[0][v], &channel[1][v]);
            for (size_t at = 0; at < 2; at++)
                for (size_t v = 0; v < FEW_VECTORS; v++)
                    for (size_t i = 0; i < n_x; i++)
                        sum[i][v] = v_fma(v_set1(few_x(a, head, i, c + k + at)), channel[at][v], sum[i][v]);
        }
        fetch_some(f, EIGHT * POSENC_FEW_ROWS);
    }
}

/* 1 for formats whose integers are transposed before they are widened. The fifth bits of others lie apart. */
V_INLINE int has_few_integers(const posenc_dtype type) {
    return posenc_has_blocks(type) && posenc_packing_of(type) != POSENC_IN_FIVE_BITS;
}

/* Integer c of a block of row t becomes columns[c * VF + t], for VF rows; `first`: bytes before the integers. */
V_INLINE void transpose_integers(const void *const *rows, size_t first, int8_t *columns, const posenc_dtype type) {
    const int is_packed = posenc_packing_of(type) == POSENC_IN_NIBBLES;
    const size_t half = POSENC_QUANT_BLOCK / 2, n = is_packed ? half : POSENC_QUANT_BLOCK;
    for (size_t k = 0; k < n; k += V_COLUMNS_OF_8)
        v_transpose_8(rows, first + k, (uint8_t *)columns + k * VF);
    for (size_t i = 0; is_packed && i < half * VF; i += VF * sizeof(float)) {
        vi nibbles = vi_load(columns + i);
        vi_store(columns + i, vi_low_nibbles(nibbles, posenc_integers_of(type)));
        vi_store(columns + half * VF + i, vi_high_nibbles(nibbles, posenc_integers_of(type)));
    }
}

/* Adds the products of a block of integers, from channel c on. Decode over Q8_0 takes 0.8 of the time that it takes by
 * few_block, over Q4_0 0.7 (Intel Emerald Rapids). */
V_INLINE void few_integers(const posenc_dot_few_args *a, const few_head *head, size_t c, const size_t n_x,
                           const posenc_dtype type, vf sum[POSENC_FEW][FEW_VECTORS], fetching *f) {
    const size_t first = bytes_before(c, type);
    int8_t columns[FEW_VECTORS][POSENC_QUANT_BLOCK * VF];
    block_headers headers[FEW_VECTORS];
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        headers[v] = gather_headers(head->rows + v * VF, first, type);
        transpose_integers(head->rows + v * VF, first + posenc_header_bytes(type), columns[v], type);
    }
    for (size_t k = 0; k < POSENC_QUANT_BLOCK; k++) {
        for (size_t v = 0; v < FEW_VECTORS; v++) {
            vf number = v_load_i8(columns[v] + k * VF);
            if (posenc_has_offset(type))
                number = v_add(number, v_set1((float)posenc_rise_of(type)));
            vf channel = scale_numbers(headers[v], number, type);
            for (size_t i = 0; i < n_x; i++)
                sum[i][v] = v_fma(v_set1(few_x(a, head, i, c + k)), channel, sum[i][v]);
        }
        if (k % EIGHT == EIGHT - 1)
            fetch_some(f, EIGHT * POSENC_FEW_ROWS);
    }
}

/* Adds the products of vector v of the rows with channels [c, c + n), n <= VF. Quantised numbers are multiplied by
 * their scales after they are transposed, those of several rows at once. */
V_INLINE void few_block(const posenc_dot_few_args *a, const few_head *head, size_t c, size_t n, size_t v,
                        const size_t n_x, const posenc_dtype type, vf sum[POSENC_FEW][FEW_VECTORS]) {
    const int has_scales = posenc_has_blocks(type);
    const void *const *rows = head->rows + v * VF;
    vf block[VF];
    for (size_t t = 0; t < VF; t++)
        block[t] = has_scales ? load_numbers(rows[t], c, type) : load_typed(rows[t], c, n, type);
    block_headers headers = {v_set1(1.0f), v_set1(0.0f)};
    if (has_scales)
        headers = gather_headers(rows, bytes_before(c, type), type);
    v_transpose(block);
    for (size_t k = 0; k < n; k++) {
        vf channel = has_scales ? scale_numbers(headers, block[k], type) : block[k];
        for (size_t i = 0; i < n_x; i++)
            sum[i][v] = v_fma(v_set1(few_x(a, head, i, c + k)), channel, sum[i][v]);
    }
}

/* Adds the products of channels [c, c + n). */
V_INLINE void few_blocks(const posenc_dot_few_args *a, const few_head *head, size_t c, size_t n, const size_t n_x,
                         const posenc_dtype type, vf sum[POSENC_FEW][FEW_VECTORS], fetching *f) {
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        size_t k = 0;
        for (; k + VF <= n; k += VF) {
            few_block(a, head, c + k, VF, v, n_x, type, sum);
            fetch_some(f, VF * VF);
        }
        if (k < n)
            few_block(a, head, c + k, n - k, v, n_x, type, sum);
    }
}

/* Multiplies a head with POSENC_FEW_ROWS rows. y: of the head's first row of x. */
V_INLINE void few_step(const posenc_dot_few_args *a, const few_head *head, char *y, const size_t n_x,
                       const posenc_dtype type, fetching *f) {
    const int is_early = is_transposed_early(type);
    vf sum[POSENC_FEW][FEW_VECTORS];
    for (size_t i = 0; i < n_x; i++)
        for (size_t v = 0; v < FEW_VECTORS; v++)
            sum[i][v] = v_set1(0.0f);
    for (size_t c = 0, n; c < a->dim; c += n) {
        size_t left = a->dim - c;
        n = left < FEW_CHANNELS ? left : FEW_CHANNELS;
        if (is_early && left >= early_channels(type)) {
            n -= n % early_channels(type);
            few_early(a, head, c, n, n_x, type, sum, f);
        } else if (has_few_integers(type)) {
            few_integers(a, head, c, n_x, type, sum, f);
        } else {
            few_blocks(a, head, c, n, n_x, type, sum, f);
        }
    }
    for (size_t i = 0; i < n_x; i++)
        for (size_t v = 0; v < FEW_VECTORS; v++)
            v_store((float *)(void *)(y + (ptrdiff_t)i * a->y_stride) + v * VF, sum[i][v]);
}

V_INLINE void few_typed(const posenc_dot_few_args *a, const size_t n_x, const posenc_dtype type, const int by_lines) {
    fetching f = fetching_of(a->ahead, a->n_heads * a->n_rows * a->dim);
    for (size_t h = 0; h < a->n_heads; h++)
        for (size_t t = 0; t < a->n_rows; t += POSENC_FEW_ROWS) {
            few_head head = {.x = (const char *)a->x + (ptrdiff_t)(h * n_x) * a->x_stride, .by_lines = by_lines};
            for (size_t k = 0; k < POSENC_FEW_ROWS; k++)
                head.rows[k] = (const char *)a->rows[t + k] + (ptrdiff_t)h * a->head_stride;
            few_step(a, &head, (char *)(a->y + t) + (ptrdiff_t)(h * n_x) * a->y_stride, n_x, type, &f);
        }
}

V_INLINE void few_all(const posenc_dot_few_args *args, const posenc_dtype type, const int by_lines) {
    const posenc_dot_few_args a = *args; /* a copy: no store changes it */
    switch (a.n_x) {
    case 1: few_typed(&a, 1, type, by_lines); break;
    case 2: few_typed(&a, 2, type, by_lines); break;
    case 3: few_typed(&a, 3, type, by_lines); break;
    case POSENC_FEW: few_typed(&a, POSENC_FEW, type, by_lines); break;
    default: break; /* none */
    }
}

/* 1 for the types and the tier whose rows are loaded by lines where they hold several heads. */
V_INLINE int has_lines(const posenc_dtype type) {
    return VF == 16 && posenc_element_bytes(type) == 2;
}

/* Functions for each type: faster to compile. With both ways in one, a head alone takes 1.02 to 1.06 times as long. */
#define FEW(type, name, ...)                                                                                           \
    static __attribute__((noinline)) void few_##name(const posenc_dot_few_args *args) {                                \
        few_all(args, type, 0);                                                                                        \
    }                                                                                                                  \
    static __attribute__((noinline)) void few_lines_##name(const posenc_dot_few_args *args) {                          \
        few_all(args, type, has_lines(type));                                                                          \
    }
POSENC_EACH_TYPE(FEW)

void VARIANT(dot_few)(const posenc_dot_few_args *a) {
    switch (a->rows_type) {
#define CASE(type, name, ...)                                                                                          \
    case type: has_lines(type) && a->n_heads > 1 ? few_lines_##name(a) : few_##name(a); break;
        POSENC_EACH_TYPE(CASE)
#undef CASE
    }
}
