/* SPDX-License-Identifier: MIT */
/* Swin's relative positions: indices, bias, coordinates of version 2, and the table's gradient (FORMULAS C.20, E.4). */
#include <posenc/bias.h>
#include <posenc/backward.h>

#include <math.h>

#include "bias/rel_bias.h"
#include "core/elementary.h"
#include "core/minmax.h"
#include "core/view.h"

#define MAX_SIDE 1024
#define MAX_PAIRS ((int64_t)1 << 30)

typedef struct window {
    int64_t height, width;
    int64_t n_tokens; /* height * width */
    int64_t n_rows;   /* of its table: one for each way down and right from a token to another */
} window;

static int is_side(int64_t n) {
    return n >= 1 && n <= MAX_SIDE;
}

static posenc_status make_window(int64_t height, int64_t width, window *w) {
    if (!is_side(height) || !is_side(width))
        return posenc_refused(POSENC_ERR_SHAPE);
    *w = (window){height, width, height * width, (2 * height - 1) * (2 * width - 1)};
    return POSENC_OK;
}

static int64_t row_of(const window *w, int64_t query, int64_t key) {
    int64_t down = query / w->width - key / w->width, right = query % w->width - key % w->width;
    return (down + w->height - 1) * (2 * w->width - 1) + right + w->width - 1;
}

posenc_status posenc_swin_index(int64_t height, int64_t width, int32_t *index) {
    window w;
    posenc_status status = make_window(height, width, &w);
    if (status != POSENC_OK)
        return status;
    if (w.n_tokens * w.n_tokens > MAX_PAIRS)
        return posenc_refused(POSENC_ERR_SHAPE);
    status = posenc_check_array(index, 4);
    if (status != POSENC_OK)
        return status;
    for (int64_t query = 0; query < w.n_tokens; query++)
        for (int64_t key = 0; key < w.n_tokens; key++)
            index[query * w.n_tokens + key] = (int32_t)row_of(&w, query, key);
    return POSENC_OK;
}

/* A table of the window's rows, and scores of its tokens. */
static posenc_status check_pairs(const window *w, const posenc_bias_table *table, const posenc_view *scores,
                                 int writes_table) {
    if (scores->ne[0] != w->n_tokens || scores->ne[1] != w->n_tokens)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (scores->ne[2] < 1 || scores->ne[2] > POSENC_MAX_HEADS)
        return posenc_refused(POSENC_ERR_N_HEADS);
    posenc_status status = posenc_check_bias_table(table, scores->ne[2], writes_table);
    if (status == POSENC_OK && table->n_rows != w->n_rows)
        status = posenc_refused(POSENC_ERR_SHAPE);
    return status;
}

posenc_status posenc_swin_bias(int64_t height, int64_t width, const posenc_bias_table *table, const posenc_view *bias) {
    window w;
    posenc_status status = make_window(height, width, &w);
    if (status == POSENC_OK)
        status = posenc_check_output_f32(bias);
    if (status == POSENC_OK)
        status = check_pairs(&w, table, bias, 0);
    if (status == POSENC_OK && bias->ne[3] != 1)
        status = posenc_refused(POSENC_ERR_SHAPE);
    if (status != POSENC_OK)
        return status;
    for (int64_t query = 0; query < w.n_tokens; query++)
        for (int64_t key = 0; key < w.n_tokens; key++) {
            int64_t row = row_of(&w, query, key);
            for (int64_t head = 0; head < bias->ne[2]; head++)
                ((float *)posenc_view_at(bias, query, head, 0))[key] = *posenc_table_at(table, row, head);
        }
    return POSENC_OK;
}

/* ---- Version 2 ---- */

#define INV_LN8 0x1.ec709dc3a03fep-2 /* 1 / ln 8 */

/* sign(u) log2(|u| + 1) / log2(8) */
static float coordinate(int64_t offset, int64_t trained) {
    double u = 8.0 * (double)offset / (double)(trained - 1);
    double size = posenc_log1p_double(fabs(u)) * INV_LN8;
    return (float)(offset < 0 ? -size : size);
}

posenc_status posenc_swin_v2_coords(int64_t height, int64_t width, int64_t trained_height, int64_t trained_width,
                                    float *coords) {
    window w;
    posenc_status status = make_window(height, width, &w);
    if (status != POSENC_OK)
        return status;
    if (!is_side(trained_height) || !is_side(trained_width) || trained_height < 2 || trained_width < 2)
        return posenc_refused(POSENC_ERR_SHAPE);
    status = posenc_check_array(coords, 4);
    if (status != POSENC_OK)
        return status;
    for (int64_t row = 0; row < w.n_rows; row++) {
        coords[2 * row] = coordinate(row / (2 * width - 1) - (height - 1), trained_height);
        coords[2 * row + 1] = coordinate(row % (2 * width - 1) - (width - 1), trained_width);
    }
    return POSENC_OK;
}

/* 16 / (1 + e^-x); long before x reaches 700, it is 16 or 0. */
static float scaled_sigmoid(float x) {
    double bounded = fabsf(x) < 700.0f ? (double)x : x < 0.0f ? -700.0 : 700.0;
    return isnan(x) ? x : posenc_rounded(16.0 / (1.0 + posenc_exp_double(-bounded)));
}

posenc_status posenc_swin_v2_scale(const float *x, int64_t n, float *y) {
    if (n < 0 || n > POSENC_LIMIT)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (n == 0)
        return POSENC_OK;
    if (x == NULL || y == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(x, 4) || !posenc_is_aligned(y, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    if (x != y && posenc_ranges_overlap(x, 4 * n, y, 4 * n))
        return posenc_refused(POSENC_ERR_OVERLAP);
    for (int64_t i = 0; i < n; i++)
        y[i] = scaled_sigmoid(x[i]);
    return POSENC_OK;
}

/* ---- Gradient ---- */

/* The sum over the pairs of one row of the table, which are as many as the window shifted by (down, right) shares with
 * itself. */
static double sum_of_pairs(const window *w, const posenc_view *ds, int64_t head, int64_t down, int64_t right) {
    int64_t y_begin = posenc_max(down, 0), y_end = down < 0 ? w->height + down : w->height;
    int64_t x_begin = posenc_max(right, 0), x_end = right < 0 ? w->width + right : w->width;
    double sum = 0.0;
    for (int64_t b = 0; b < ds->ne[3]; b++)
        for (int64_t y = y_begin; y < y_end; y++)
            for (int64_t x = x_begin; x < x_end; x++) {
                const float *row = posenc_view_at(ds, y * w->width + x, head, b);
                sum += (double)row[(y - down) * w->width + x - right];
            }
    return sum;
}

posenc_status posenc_swin_backward(int64_t height, int64_t width, const posenc_view *ds,
                                   const posenc_bias_table *table) {
    window w;
    posenc_status status = make_window(height, width, &w);
    if (status == POSENC_OK)
        status = posenc_check_input_f32(ds);
    if (status == POSENC_OK)
        status = check_pairs(&w, table, ds, 1);
    if (status != POSENC_OK)
        return status;
    for (int64_t head = 0; head < ds->ne[2]; head++)
        for (int64_t row = 0; row < w.n_rows; row++) {
            int64_t down = row / (2 * width - 1) - (height - 1), right = row % (2 * width - 1) - (width - 1);
            *posenc_table_at(table, row, head) = (float)sum_of_pairs(&w, ds, head, down, right);
        }
    return POSENC_OK;
}
