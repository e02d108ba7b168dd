/* SPDX-License-Identifier: MIT */
/* Decomposed relative positions: rows of one axis, and the sum onto scores (FORMULAS C.21). */
#include <posenc/bias.h>

#include "core/minmax.h"
#include "core/row_place.h"
#include "core/view.h"
#include "kernels/kernels.h"

#define MAX_SIDE ((int64_t)1 << 20)

/* ---- Rows of one axis ---- */

/* Rows of the table that make up row o of n resized ones: (1 - weight) first + weight second. */
typedef struct blend {
    int64_t first, second;
    double weight;
} blend;

/* Row o is at (o + 1/2) n_table / n - 1/2 of the table, clipped to its first and last row. */
static blend blend_of(int64_t o, int64_t n, int64_t n_table) {
    int64_t numerator = posenc_max((2 * o + 1) * n_table - n, 0); /* over 2n */
    int64_t first = numerator / (2 * n), second = posenc_min(first + 1, n_table - 1);
    return (blend){first, second, (double)(numerator % (2 * n)) / (double)(2 * n)};
}

/* The row of query a and key b, with the larger side as the unit. */
static int64_t row_of(int64_t a, int64_t b, int64_t n_q, int64_t n_k) {
    return n_q >= n_k ? a + (n_k - 1 - b) * n_q / n_k : a * n_k / n_q + n_k - 1 - b;
}

static posenc_status check_rows_call(const posenc_view *table, const posenc_view *rows) {
    posenc_status status = posenc_check_input_f32(table);
    if (status == POSENC_OK)
        status = posenc_check_output_f32(rows);
    if (status != POSENC_OK)
        return status;
    if (table->ne[0] != rows->ne[0] || table->ne[2] != 1 || table->ne[3] != 1 || rows->ne[3] != 1)
        return POSENC_ERR_SHAPE;
    if (table->ne[1] < 1 || table->ne[1] > MAX_SIDE || rows->ne[1] < 1 || rows->ne[1] > MAX_SIDE || rows->ne[2] < 1 ||
        rows->ne[2] > MAX_SIDE)
        return POSENC_ERR_SHAPE;
    return posenc_check_apart(table, rows);
}

posenc_status posenc_decomposed_rows(const posenc_view *table, const posenc_view *rows) {
    posenc_status status = check_rows_call(table, rows);
    if (status != POSENC_OK || rows->ne[0] == 0)
        return status;
    int64_t n_k = rows->ne[1], n_q = rows->ne[2], n = 2 * posenc_max(n_q, n_k) - 1;
    for (int64_t a = 0; a < n_q; a++)
        for (int64_t b = 0; b < n_k; b++) {
            blend mix = blend_of(row_of(a, b, n_q, n_k), n, table->ne[1]);
            const float *first = posenc_view_at(table, mix.first, 0, 0),
                        *second = posenc_view_at(table, mix.second, 0, 0);
            float *row = posenc_view_at(rows, b, a, 0);
            for (int64_t i = 0; i < rows->ne[0]; i++)
                row[i] = mix.weight == 0.0
                             ? first[i]
                             : (float)((1.0 - mix.weight) * (double)first[i] + mix.weight * (double)second[i]);
        }
    return POSENC_OK;
}

/* ---- Onto scores ---- */

static posenc_status check_product(const posenc_view *product, const posenc_view *scores) {
    posenc_status status = posenc_check_input_f32(product);
    return status == POSENC_OK && !posenc_same_rows(product, scores) ? POSENC_ERR_SHAPE : status;
}

static posenc_status check_add(const posenc_view *by_row, const posenc_view *by_column, const posenc_view *scores,
                               posenc_range *rows) {
    posenc_status status = posenc_check_output_f32(scores);
    if (status == POSENC_OK)
        status = check_product(by_row, scores);
    if (status == POSENC_OK)
        status = check_product(by_column, scores);
    if (status != POSENC_OK)
        return status;
    int64_t n_keys; /* an extent may be large where another is 0 */
    if (__builtin_mul_overflow(by_row->ne[0], by_column->ne[0], &n_keys) || n_keys != scores->ne[0])
        return POSENC_ERR_SHAPE;
    status = posenc_check_apart(by_row, scores);
    if (status == POSENC_OK)
        status = posenc_check_apart(by_column, scores);
    if (status == POSENC_OK)
        status = posenc_check_rows(rows, posenc_view_rows(scores));
    return status;
}

posenc_status posenc_decomposed_add(const posenc_view *by_row, const posenc_view *by_column, const posenc_view *scores,
                                    posenc_range rows) {
    posenc_status status = check_add(by_row, by_column, scores, &rows);
    if (status != POSENC_OK || scores->ne[0] == 0)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t row = rows.begin; row < rows.end; row++) {
        posenc_row_place at = posenc_row_place_of(scores, row);
        posenc_add_axes_args args = {
            .y = posenc_row_at(scores, at),
            .by_row = posenc_row_at(by_row, at),
            .by_column = posenc_row_at(by_column, at),
            .height = (size_t)by_row->ne[0],
            .width = (size_t)by_column->ne[0],
        };
        kernels->add_axes(&args);
    }
    return POSENC_OK;
}
