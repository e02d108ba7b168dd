/* SPDX-License-Identifier: MIT */
/* Scalar products of bf16 matrices: the specification. */
#include <math.h>

#include "kernels/fma.h"
#include "kernels/half.h"
#include "kernels/variant.h"

enum { BLOCK = POSENC_BF16_BLOCK };

static uint16_t number_of(float x) {
    uint16_t number = posenc_to_bf16(x);
    return fabsf(posenc_from_bf16(number)) < POSENC_BF16_LEAST ? 0 : number;
}

/* Channel c of a row; bf16, NaN too, is taken as it is. */
static uint16_t number_at(const void *row, size_t c, posenc_dtype type) {
    if (type != POSENC_BF16)
        return number_of(posenc_load_stored(row, c, type));
    uint16_t bits = ((const uint16_t *)row)[c];
    return fabsf(posenc_from_bf16(bits)) < POSENC_BF16_LEAST ? 0 : bits;
}

/* bf16 number of a channel (part 0), or its second part: the channel minus the number. */
static uint16_t part_at(const void *row, size_t c, posenc_dtype type, size_t part) {
    uint16_t number = number_at(row, c, type);
    return part == 0 ? number : number_of(posenc_load_stored(row, c, type) - posenc_from_bf16(number));
}

void VARIANT(round_rows)(const posenc_round_rows_args *a) {
    for (size_t i = 0; i < a->n_rows; i++)
        for (size_t first = 0; first < a->n; first += BLOCK) {
            float x[BLOCK] = {0.0f}; /* y may be there */
            for (size_t c = first; c < a->n && c < first + BLOCK; c++)
                x[c - first] = a->x[i * a->x_stride + c];
            uint16_t *y = a->y + i * a->y_stride + 2 * first;
            for (size_t part = 0; part < a->n_parts; part++)
                for (size_t k = 0; k < BLOCK; k++) {
                    y[part * BLOCK + k] = number_of(x[k]);
                    x[k] -= posenc_from_bf16(y[part * BLOCK + k]);
                }
        }
}

static size_t whole(size_t n, size_t of) {
    return (n + of - 1) / of * of;
}

static uint32_t *word_at(uint32_t *words, size_t depth, size_t k, size_t t) {
    return words + (t / POSENC_PANEL * (depth / 2) + k / 2) * POSENC_PANEL + t % POSENC_PANEL;
}

static uint32_t word_of(uint16_t even, uint16_t odd) {
    return (uint32_t)even | (uint32_t)odd << 16;
}

void VARIANT(pack_pairs)(const posenc_pack_pairs_args *a) {
    size_t depth = whole(a->dim, BLOCK);
    for (size_t t = 0; t < whole(a->n_rows, POSENC_PANEL); t++)
        for (size_t k = 0; k < depth; k += 2) {
            uint16_t pair[2];
            for (size_t c = k; c < k + 2; c++)
                pair[c - k] = t < a->n_rows && c < a->dim ? part_at(a->rows[t], c, a->rows_type, a->part) : 0;
            *word_at(a->words, depth, k, t) = word_of(pair[0], pair[1]);
        }
}

void VARIANT(pair_rows)(const posenc_pair_rows_args *a) {
    size_t depth = whole(a->n_rows, BLOCK);
    *a->is_finite = 1;
    for (size_t k = 0; k < depth; k += 2)
        for (size_t t = 0; t < whole(a->dim, POSENC_PANEL); t++) {
            uint16_t pair[2];
            for (size_t row = k; row < k + 2; row++) {
                pair[row - k] = row < a->n_rows && t < a->dim ? part_at(a->rows[row], t, a->rows_type, a->part) : 0;
                *a->is_finite &= isfinite(posenc_from_bf16(pair[row - k])) != 0;
            }
            *word_at(a->words, depth, k, t) = word_of(pair[0], pair[1]);
        }
}

/* The chain of fma over one half of a block's words: shift 0 for even k, 16 for odd. */
static float chain(const posenc_multiply_pairs_args *a, const uint16_t *x, const uint32_t *words, int odd) {
    float sum = 0.0f;
    for (size_t j = 0; j < BLOCK / 2; j++) {
        float factor = posenc_from_bf16(x[2 * j + (size_t)odd]);
        float number = posenc_from_bf16((uint16_t)(words[j * POSENC_PANEL] >> (16 * odd)));
        if (factor != 0.0f || !a->leaves_out_zeros)
            sum = posenc_fmaf(factor, number, sum);
    }
    return sum;
}

void VARIANT(multiply_pairs)(const posenc_multiply_pairs_args *a) {
    for (size_t i = 0; i < a->n_x; i++)
        for (size_t t = 0; t < a->n_columns; t++) {
            float *y = a->y + i * a->y_stride + t, sum = a->adds ? *y : 0.0f;
            for (size_t k = 0; k < a->depth; k += BLOCK)
                for (size_t part = 0; part < a->n_parts; part++) {
                    const uint16_t *x = a->x + i * a->x_stride + 2 * k + part * BLOCK;
                    const uint32_t *words =
                        a->words + (t / POSENC_PANEL * (a->depth / 2) + k / 2) * POSENC_PANEL + t % POSENC_PANEL;
                    sum += chain(a, x, words, 0) + chain(a, x, words, 1);
                }
            *y = sum;
        }
}
