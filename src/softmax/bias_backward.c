/* SPDX-License-Identifier: MIT */
/* Gradients of relative biases and of their parameters (FORMULAS E.4, E.5). Every sum is taken in double in the order
 * of docs/numerics.md, in blocks whose sums fit on the stack. */
#include <posenc/backward.h>

#include <string.h>

#include "bias/kerple.h"
#include "bias/rel_bias.h"
#include "core/minmax.h"
#include "core/view.h"
#include "softmax/scores.h"

enum { BLOCK = 4096 };

/* ---- A relative bias ---- */

/* Sums of offsets first .. first + n - 1. Offsets from `from` to `to` - 1 beyond them are added to the nearest sum: the
 * ends of a clamped bias. */
typedef struct block {
    int64_t first, n, from, to;
    double sums[BLOCK];
} block;

/* Adds offsets o .. end - 1 of a row of ds whose first key has offset `lowest`. */
static void add_range(block *b, const float *ds, int64_t lowest, int64_t o, int64_t end) {
    int64_t middle = posenc_min(end, b->first + b->n);
    for (; o < end && o < b->first; o++)
        b->sums[0] += (double)ds[o - lowest];
    for (; o < middle; o++)
        b->sums[o - b->first] += (double)ds[o - lowest];
    for (; o < end; o++)
        b->sums[b->n - 1] += (double)ds[o - lowest];
}

/* Rows that go together: the sums, of twice their size, are read and written once for all of them. Four take 1.2 to 1.4
 * times as long, sixteen 1.6 times (AMD Zen 4). */
enum { TOGETHER = 8 };

/* sums[k] + row 0's + row 1's ..: each sum meets its queries in order. */
static void add_inner(double *sums, const float *const *ds, int64_t n) {
    const float *rows[TOGETHER]; /* a copy stays in registers */
    for (int r = 0; r < TOGETHER; r++)
        rows[r] = ds[r];
    for (int64_t k = 0; k < n; k++) {
        double sum = sums[k];
        for (int r = 0; r < TOGETHER; r++)
            sum += (double)rows[r][k];
        sums[k] = sum;
    }
}

/* Adds TOGETHER rows of n_k keys, of which the first begins at offset `lowest` and each at one less than the one
 * before. Offsets that all of them have are added together, except the ends of the relative bias, which also take the
 * offsets beyond. */
static void add_together(block *b, const float *const *ds, int64_t n_k, int64_t lowest) {
    int64_t first = posenc_max(b->first + 1, lowest);
    int64_t end = posenc_min(b->first + b->n - 1, lowest - (TOGETHER - 1) + n_k);
    end = posenc_max(first, end);
    for (int r = 0; r < TOGETHER; r++) {
        int64_t from = posenc_max(b->from, lowest - r), to = posenc_min(b->to, lowest - r + n_k);
        add_range(b, ds[r], lowest - r, from, posenc_min(to, first));
        add_range(b, ds[r], lowest - r, posenc_max(from, end), to);
    }
    if (first >= end)
        return;
    const float *inner[TOGETHER];
    for (int r = 0; r < TOGETHER; r++)
        inner[r] = ds[r] + (first - lowest + r);
    add_inner(b->sums + (first - b->first), inner, end - first);
}

/* Adds a row of n_k keys at positions k_pos. */
static void add_row_at(block *b, const float *ds, int64_t n_k, const int32_t *k_pos, int64_t position) {
    for (int64_t j = 0; j < n_k; j++) {
        int64_t o = k_pos[j] - position;
        if (o >= b->from && o < b->to)
            b->sums[posenc_min(posenc_max(o - b->first, 0), b->n - 1)] += (double)ds[j];
    }
}

/* Adds all rows of one head of one batch, whose queries and keys have consecutive positions. */
static void add_consecutive(block *b, const posenc_view *ds, int64_t lowest, int64_t head, int64_t batch) {
    int64_t i = 0, n_k = ds->ne[0];
    for (; i + TOGETHER <= ds->ne[1]; i += TOGETHER) {
        const float *rows[TOGETHER];
        for (int r = 0; r < TOGETHER; r++)
            rows[r] = posenc_view_at(ds, i + r, head, batch);
        add_together(b, rows, n_k, lowest - i);
    }
    for (; i < ds->ne[1]; i++)
        add_range(b, posenc_view_at(ds, i, head, batch), lowest - i, posenc_max(b->from, lowest - i),
                  posenc_min(b->to, lowest - i + n_k));
}

/* Adds all rows of one head of one batch. */
static void add_rows(block *b, const posenc_score_params *params, const posenc_view *ds, int64_t head, int64_t batch) {
    if (params->positions.queries == NULL) {
        add_consecutive(b, ds, -posenc_query_start(params, ds, batch), head, batch);
        return;
    }
    for (int64_t i = 0; i < ds->ne[1]; i++)
        add_row_at(b, posenc_view_at(ds, i, head, batch), ds->ne[0], params->positions.keys,
                   params->positions.queries[i]);
}

/* Offsets t and following of the relative bias, as many as fit. */
static void begin_block(block *b, const posenc_rel_bias *rel_bias, int64_t t) {
    b->first = rel_bias->first + t;
    b->n = posenc_min(BLOCK, rel_bias->n_offsets - t);
    b->from = rel_bias->is_clamped && t == 0 ? -POSENC_ANY_OFFSET : b->first;
    b->to = rel_bias->is_clamped && t + b->n == rel_bias->n_offsets ? POSENC_ANY_OFFSET : b->first + b->n;
    memset(b->sums, 0, sizeof b->sums);
}

static posenc_status check_gradient_call(const posenc_score_params *params, const posenc_view *ds,
                                         const posenc_rel_bias *gradient, int64_t *n_heads) {
    if (params == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_input_f32(ds);
    if (status == POSENC_OK)
        status = posenc_check_scores_read(params, ds);
    if (status == POSENC_OK)
        status = posenc_check_whole_rel_bias(gradient, n_heads);
    if (status == POSENC_OK && gradient->n_heads != ds->ne[2])
        status = POSENC_ERR_N_HEADS;
    return status;
}

posenc_status posenc_rel_bias_backward(const posenc_score_params *params, const posenc_view *ds,
                                       const posenc_rel_bias *gradient) {
    int64_t n_biases;
    posenc_status status = check_gradient_call(params, ds, gradient, &n_biases);
    if (status != POSENC_OK)
        return status;
    int64_t heads_of_bias = gradient->n_heads / n_biases;
    int64_t n_batch = posenc_view_count(ds) > 0 ? ds->ne[3] : 0; /* there may be any number of rows without elements */
    for (int64_t rel_bias = 0; rel_bias < n_biases; rel_bias++)
        for (int64_t t = 0; t < gradient->n_offsets; t += BLOCK) {
            block b;
            begin_block(&b, gradient, t);
            for (int64_t batch = 0; batch < n_batch; batch++)
                for (int64_t h = rel_bias * heads_of_bias; h < (rel_bias + 1) * heads_of_bias; h++)
                    add_rows(&b, params, ds, h, batch);
            for (int64_t k = 0; k < b.n; k++)
                posenc_rel_bias_of_head(gradient, rel_bias)[t + k] = (float)b.sums[k];
        }
    return POSENC_OK;
}

/* ---- A table ---- */

posenc_status posenc_bias_table_backward(const posenc_rel_index *index, const posenc_rel_bias *gradient, float scale,
                                         const posenc_bias_table *table) {
    int64_t n_heads;
    if (!isfinite(scale))
        return POSENC_ERR_SCALE;
    posenc_status status = posenc_check_whole_rel_bias(gradient, &n_heads);
    if (status == POSENC_OK)
        status = posenc_check_bias_table(table, n_heads, 1);
    if (status == POSENC_OK)
        status = posenc_check_whole_index(index, table->n_rows);
    if (status == POSENC_OK)
        status = posenc_check_index_entries(index, gradient->first, gradient->n_offsets);
    if (status != POSENC_OK)
        return status;
    const int32_t *rows = gradient->n_offsets > 0 ? index->data + (gradient->first - index->first) : NULL;
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t first = 0; first < table->n_rows; first += BLOCK) {
            int64_t n = posenc_min(BLOCK, table->n_rows - first);
            double sums[BLOCK] = {0.0};
            for (int64_t t = 0; t < gradient->n_offsets; t++)
                if (rows[t] >= first && rows[t] < first + n)
                    sums[rows[t] - first] += (double)posenc_rel_bias_of_head(gradient, h)[t];
            for (int64_t k = 0; k < n; k++)
                *posenc_table_at(table, first + k, h) = (float)((double)scale * sums[k]);
        }
    return POSENC_OK;
}

/* ---- Parameters ---- */

/* Gradient of a relative bias in which every offset has its own distance. */
static posenc_status check_distances(const posenc_rel_bias *gradient, int64_t *n_heads) {
    posenc_status status = posenc_check_whole_rel_bias(gradient, n_heads);
    return status == POSENC_OK && gradient->is_clamped ? POSENC_ERR_OFFSETS : status;
}

posenc_status posenc_alibi_backward(const posenc_rel_bias *gradient, float *slopes) {
    int64_t n_heads;
    posenc_status status = check_distances(gradient, &n_heads);
    if (status == POSENC_OK)
        status = posenc_check_array(slopes, 4);
    if (status != POSENC_OK)
        return status;
    for (int64_t h = 0; h < n_heads; h++) {
        double sum = 0.0;
        for (int64_t t = 0; t < gradient->n_offsets; t++)
            sum += posenc_rel_bias_distance(gradient, t) * (double)posenc_rel_bias_of_head(gradient, h)[t];
        slopes[h] = (float)(0.0 - sum);
    }
    return POSENC_OK;
}

/* -dbias/dp and -dbias/da at a distance. */
static void kerple_derivatives(const posenc_kerple_head *head, double d, double *by_p, double *by_a) {
    if (head->kind == POSENC_KERPLE_LOG) {
        *by_p = posenc_log1p_double(head->a * d);
        *by_a = head->p * d / (1.0 + head->a * d);
    } else {
        *by_a = posenc_kerple_power(d, head->p);
        *by_p = d > 1.0 ? head->a * *by_a * posenc_log1p_double(d - 1.0) : 0.0;
    }
}

/* The gradient of a parameter whose sum is `sum`: passed on, unless the parameter lies beyond its clamp and stops
 * there. */
static float passed(double sum, float parameter, float low, float high, posenc_clamped clamped) {
    int stops = clamped == POSENC_CLAMPED_STOPS && (parameter < low || parameter > high);
    return stops ? 0.0f : (float)(0.0 - sum);
}

posenc_status posenc_kerple_backward(const posenc_kerple *kerple, posenc_clamped clamped,
                                     const posenc_rel_bias *gradient, float *dp, float *da) {
    int64_t n_heads;
    posenc_status status = check_distances(gradient, &n_heads);
    if (status == POSENC_OK)
        status = posenc_check_kerple(kerple, n_heads);
    if (status == POSENC_OK && clamped != POSENC_CLAMPED_PASSES && clamped != POSENC_CLAMPED_STOPS)
        status = POSENC_ERR_ENUM;
    if (status == POSENC_OK)
        status = posenc_check_array(dp, 4);
    if (status == POSENC_OK)
        status = posenc_check_array(da, 4);
    if (status != POSENC_OK)
        return status;
    float highest_p = kerple->kind == POSENC_KERPLE_POWER ? 2.0f : FLT_MAX;
    for (int64_t h = 0; h < n_heads; h++) {
        posenc_kerple_head head = posenc_kerple_of_head(kerple, h);
        double sum_p = 0.0, sum_a = 0.0;
        for (int64_t t = 0; t < gradient->n_offsets; t++) {
            double by_p, by_a, g = (double)posenc_rel_bias_of_head(gradient, h)[t];
            kerple_derivatives(&head, posenc_rel_bias_distance(gradient, t), &by_p, &by_a);
            sum_p += g * by_p;
            sum_a += g * by_a;
        }
        dp[h] = passed(sum_p, kerple->p[h], kerple->min, highest_p, clamped);
        da[h] = passed(sum_a, kerple->a[h], kerple->min, FLT_MAX, clamped);
    }
    return POSENC_OK;
}
