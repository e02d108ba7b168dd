/* SPDX-License-Identifier: MIT */
/* Combines softmax-weighted sums of different keys: segments of one call, and results of calls (out, lse). */
#include <math.h>

#include "attention/attention.h"
#include "core/elementary.h"
#include "core/minmax.h"
#include "core/view.h"
#include "kernels/exp.h"

/* max + ln sum. The sum is at least 1, or 0 without keys. */
static float log_sum_exp(float max, float sum) {
    return sum == 0.0f ? -INFINITY : (float)((double)max + posenc_log1p_double((double)sum - 1.0));
}

/* y = fma(weights[1], x[1], weights[0] x[0]), or the first n_terms terms of it. y may be one of x. */
static void mix(const posenc_kernels *kernels, const void *const *x, posenc_dtype x_type, const float weights[2],
                int n_terms, void *y, posenc_dtype y_type, int64_t n) {
    const float *at[2] = {&weights[0], &weights[1]};
    posenc_mix_row_args args = {
        .x = x,
        .x_type = x_type,
        .y_type = y_type,
        .weights = at,
        .y = y,
        .n = (size_t)n,
        .n_terms = (size_t)n_terms,
    };
    kernels->mix_row(&args);
}

/* ---- Segments ---- */

void posenc_attention_start(const posenc_attention_call *call, int64_t head, float *total) {
    int64_t dim = call->args->v.ne[0];
    const float *sinks = call->args->params->sinks;
    for (int64_t c = 0; c < dim; c++)
        total[c] = 0.0f;
    total[dim] = sinks != NULL ? sinks[head] : -INFINITY;
    total[dim + 1] = total[dim] == -INFINITY ? 0.0f : 1.0f;
}

void posenc_attention_add(const posenc_attention_call *call, const float *segment, float *total) {
    int64_t dim = call->args->v.ne[0];
    posenc_softmax_sum before = {total[dim], total[dim + 1]}, more = {segment[dim], segment[dim + 1]}, combined;
    if (more.sum == 0.0f)
        return;
    float factors[2] = {0.0f, 1.0f};
    if (before.max == -INFINITY && isfinite(more.max)) /* the first keys of a row: exp(0) took 2 % of a prompt */
        combined = more;
    else
        (void)posenc_softmax_combine(&before, &more, &combined, &factors[0], &factors[1]);
    mix(call->kernels, (const void *[2]){total, segment}, POSENC_F32, factors, 2, total, POSENC_F32, dim);
    total[dim] = combined.max;
    total[dim + 1] = combined.sum;
}

void posenc_attention_finish(const posenc_attention_unit *u, int64_t pair, const float *total) {
    const posenc_attention_args *args = u->call->args;
    posenc_row_place at = posenc_attention_place(u, pair);
    int64_t dim = args->v.ne[0];
    float max = total[dim], sum = total[dim + 1],
          of_empty = args->params->fully_masked == POSENC_FULLY_MASKED_NAN ? NAN : 0.0f;
    float factors[2] = {sum == 0.0f ? of_empty : 1.0f / sum, 0.0f};
    /* Not a product: -0 becomes +0, as in totals that have been combined. */
    mix(u->call->kernels, (const void *[2]){total, NULL}, POSENC_F32, factors, 1, posenc_token_at(&args->out, at),
        args->out.dtype, dim);
    if (args->lse != NULL)
        *(float *)posenc_token_at(args->lse, at) = log_sum_exp(max, sum);
}

/* ---- Results ---- */

static posenc_status check_state(const posenc_attention_state *r, posenc_status check(const posenc_view *)) {
    if (r == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = check(&r->out);
    if (status == POSENC_OK)
        status = check(&r->lse);
    if (status == POSENC_OK)
        status = posenc_require_f32(&r->lse);
    if (status != POSENC_OK)
        return status;
    return r->lse.ne[0] == 1 && posenc_same_rows(&r->lse, &r->out) ? POSENC_OK : posenc_refused(POSENC_ERR_SHAPE);
}

/* Checks that the combined state is the state `part`, or apart from it. */
static posenc_status check_apart(const posenc_attention_state *part, const posenc_attention_state *combined) {
    posenc_status status = posenc_check_pair(&part->out, &combined->out);
    if (status == POSENC_OK)
        status = posenc_check_pair(&part->lse, &combined->lse);
    if (status == POSENC_OK)
        status = posenc_check_apart(&part->out, &combined->lse);
    return status == POSENC_OK ? posenc_check_apart(&part->lse, &combined->out) : status;
}

static posenc_status check_states(const posenc_attention_state *a, const posenc_attention_state *b,
                                  const posenc_attention_state *combined) {
    posenc_status status = check_state(a, posenc_check_input);
    if (status == POSENC_OK)
        status = check_state(b, posenc_check_input);
    if (status == POSENC_OK)
        status = check_state(combined, posenc_check_output);
    if (status != POSENC_OK)
        return status;
    if (a->out.dtype != b->out.dtype)
        return posenc_refused(POSENC_ERR_DTYPE);
    status = check_apart(a, combined);
    if (status == POSENC_OK)
        status = check_apart(b, combined);
    return status == POSENC_OK ? posenc_check_apart(&combined->out, &combined->lse) : status;
}

/* Rows are combined by 64: one kernel call computes their exponentials, and logarithms do not wait for rows. Takes 0.8
 * times as long as row by row. */
enum { ROWS_AT_ONCE = 64 };

typedef struct combination {
    const posenc_kernels *kernels;
    const posenc_attention_state *states[2], *combined;
} combination;

/* Terms of one combined row, as in posenc_softmax_combine. */
typedef struct combined_row {
    float lse[2], factors[2];
    float max, sum;
} combined_row;

static float *lse_at(const posenc_attention_state *r, posenc_row_place at) {
    return posenc_row_at(&r->lse, at);
}

/* Replaces x[i] <= 0, or NaN, by exp(x[i]): a row of scores whose maximum is held to 0. */
static void make_exponentials(const posenc_kernels *kernels, float *x, size_t n) {
    posenc_softmax_row_args args = {
        .x = x,
        .y = x,
        .form = POSENC_EXPONENTIALS,
        .n = n,
        .visible = {.end = n},
        .scale = 1.0f,
        .exp_lowest = POSENC_EXP_LOWEST,
        .least = 0.0f,
        .sink = -INFINITY,
    };
    kernels->softmax_row(&args);
}

static void combine_lse(const combination *m, posenc_row_place at, int64_t n, combined_row *rows) {
    float exponentials[ROWS_AT_ONCE][2];
    for (int64_t row = 0; row < n; row++, posenc_row_advance(&m->combined->out, &at)) {
        combined_row *r = &rows[row];
        for (int i = 0; i < 2; i++)
            r->lse[i] = *lse_at(m->states[i], at);
        r->max = r->lse[0] > r->lse[1] ? r->lse[0] : r->lse[1];
        for (int i = 0; i < 2; i++)
            exponentials[row][i] = r->lse[i] - r->max;
    }
    make_exponentials(m->kernels, exponentials[0], 2 * (size_t)n);
    for (int64_t row = 0; row < n; row++) {
        combined_row *r = &rows[row];
        float sums[2];
        for (int i = 0; i < 2; i++) { /* a state without keys adds nothing; -inf - -inf is NaN */
            r->factors[i] = r->lse[i] == -INFINITY ? 0.0f : exponentials[row][i];
            sums[i] = r->lse[i] == -INFINITY ? 0.0f : 1.0f;
        }
        /* A sum of 1 makes its factor's product exact: no fma is needed. */
        r->sum = r->lse[0] >= r->lse[1] ? sums[0] + r->factors[1] : sums[1] + r->factors[0];
    }
}

static void combine_row(const combination *m, posenc_row_place at, const combined_row *r) {
    const posenc_view *y = &m->combined->out;
    const void *x[2];
    float weights[2];
    int n = 0;
    for (int i = 0; i < 2; i++) {
        if (r->lse[i] == -INFINITY)
            continue;
        x[n] = posenc_row_at(&m->states[i]->out, at);
        weights[n++] = r->factors[i] / r->sum;
    }
    mix(m->kernels, x, m->states[0]->out.dtype, weights, n, posenc_row_at(y, at), y->dtype, y->ne[0]);
}

/* Combines n <= ROWS_AT_ONCE rows from `first` on. */
static void combine_rows(const combination *m, posenc_row_place first, int64_t n) {
    combined_row rows[ROWS_AT_ONCE];
    combine_lse(m, first, n, rows);
    posenc_row_place at = first;
    for (int64_t row = 0; row < n; row++, posenc_row_advance(&m->combined->out, &at))
        combine_row(m, at, &rows[row]);
    at = first;
    for (int64_t row = 0; row < n; row++, posenc_row_advance(&m->combined->out, &at))
        *lse_at(m->combined, at) = log_sum_exp(rows[row].max, rows[row].sum);
}

posenc_status posenc_attention_combine(const posenc_attention_state *a, const posenc_attention_state *b,
                                       const posenc_attention_state *combined, posenc_range rows) {
    posenc_status status = check_states(a, b, combined);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, posenc_view_rows(&combined->out));
    if (status != POSENC_OK || rows.begin == rows.end)
        return status;
    const combination call = {posenc_active_kernels(), {a, b}, combined};
    for (int64_t row = rows.begin; row < rows.end; row += ROWS_AT_ONCE)
        combine_rows(&call, posenc_row_place_of(&combined->out, row), posenc_min(rows.end - row, ROWS_AT_ONCE));
    return POSENC_OK;
}
