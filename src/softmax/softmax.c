/* SPDX-License-Identifier: MIT */
/* Softmax over scores: checks, and the walk over rows. */
#include <posenc/softmax.h>

#include <math.h>

#include "core/view.h"
#include "kernels/exp_scalar.h"
#include "kernels/fma.h"
#include "softmax/block_mask.h"
#include "softmax/scores.h"

/* One call; x NULL: zeros. */
typedef struct score_call {
    const posenc_score_params *params;
    const posenc_view *x, *y;
    posenc_softmax_form form;
    posenc_softmax_sum *sums; /* or NULL */
} score_call;

/* 1 if the scale multiplies anything: not in logits of masks and biases alone. */
static int has_scores(const score_call *call) {
    const posenc_score_bias *bias = &call->params->bias;
    return call->x != NULL || bias->by_query.products != NULL || bias->by_key.products != NULL;
}

static posenc_status check_call(const score_call *call, posenc_range *rows) {
    if (call->params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = call->x == NULL ? posenc_check_output(call->y) : posenc_check_elementwise(call->x, call->y);
    if (status == POSENC_OK)
        status = posenc_check_scores(call->params, call->y);
    if (status == POSENC_OK && has_scores(call))
        status = posenc_check_scale(call->params);
    if (status == POSENC_OK)
        status = posenc_check_rows(rows, posenc_view_rows(call->y));
    return status;
}

/* A row's arguments, and memory for what they point to. */
typedef struct score_row {
    posenc_softmax_row_args args;
    uint8_t bytes[POSENC_TREE_BYTES];
    posenc_row_blocks blocks;
} score_row;

static void set_row(const score_call *call, posenc_row_place at, int64_t row, score_row *to) {
    posenc_softmax_row_args *args = &to->args;
    posenc_score_args_at(call->params, call->y, &at, args);
    if (call->params->tree != NULL)
        posenc_score_args_tree(call->params, call->y, &at, 0, args->n, to->bytes, args);
    if (call->params->block_mask != NULL)
        posenc_score_args_blocks(call->params, &at, &to->blocks, args);
    args->y = posenc_row_at(call->y, at);
    if (call->x != NULL) {
        args->x = posenc_row_at(call->x, at);
        args->x_type = call->x->dtype;
    }
    if (call->sums != NULL)
        args->sum = &call->sums[row];
}

/* Rows of float32 beyond the caches are fetched while the one before is at work. */
static int fetches_next(const score_call *call) {
    return call->x != NULL && call->x->dtype == POSENC_F32 && call->y->dtype == POSENC_F32 &&
           posenc_is_far(posenc_view_count(call->y));
}

static posenc_status run(const score_call *call, posenc_range rows) {
    posenc_status status = check_call(call, &rows);
    if (status != POSENC_OK || rows.begin == rows.end || (call->y->ne[0] == 0 && call->sums == NULL))
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    score_row pair[2]; /* a row, and the next */
    pair[0].args = (posenc_softmax_row_args){.form = call->form, .y_type = call->y->dtype};
    pair[0].args.leaves_masked = call->params->masked_output == POSENC_MASKED_UNTOUCHED;
    posenc_score_args_begin(call->params, call->y, &pair[0].args);
    pair[1].args = pair[0].args;
    int fetches = fetches_next(call), now = 0;
    posenc_row_place at = posenc_row_place_of(call->y, rows.begin);
    set_row(call, at, rows.begin, &pair[0]);
    for (int64_t row = rows.begin; row < rows.end; row++, now = !now) {
        int is_last = row + 1 == rows.end;
        if (!is_last) {
            posenc_row_advance(call->y, &at);
            set_row(call, at, row + 1, &pair[!now]);
        }
        pair[now].args.next = fetches && !is_last ? &pair[!now].args : NULL;
        kernels->softmax_row(&pair[now].args);
    }
    return POSENC_OK;
}

posenc_status posenc_softmax(const posenc_score_params *params, const posenc_view *x, const posenc_view *y,
                             posenc_range rows) {
    score_call call = {params, x, y, POSENC_PROBABILITIES, NULL};
    return x == NULL ? posenc_refused(POSENC_ERR_NULL) : run(&call, rows);
}

posenc_status posenc_logits(const posenc_score_params *params, const posenc_view *x, const posenc_view *y,
                            posenc_range rows) {
    score_call call = {params, x, y, POSENC_LOGITS, NULL};
    return run(&call, rows);
}

posenc_status posenc_softmax_partial(const posenc_score_params *params, const posenc_view *x, const posenc_view *y,
                                     posenc_softmax_sum *sums, posenc_range rows) {
    score_call call = {params, x, y, POSENC_EXPONENTIALS, sums};
    if (x == NULL || sums == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    return posenc_is_aligned(sums, 4) ? run(&call, rows) : posenc_refused(POSENC_ERR_STRIDE);
}

posenc_status posenc_softmax_combine(const posenc_softmax_sum *a, const posenc_softmax_sum *b,
                                     posenc_softmax_sum *combined, float *factor_a, float *factor_b) {
    if (a == NULL || b == NULL || combined == NULL || factor_a == NULL || factor_b == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_softmax_sum sum = {a->max > b->max ? a->max : b->max, 0.0f};
    /* A part without keys adds nothing; -inf - -inf would be NaN. */
    *factor_a = a->max == -INFINITY ? 0.0f : posenc_exp_nonpositive(a->max - sum.max);
    *factor_b = b->max == -INFINITY ? 0.0f : posenc_exp_nonpositive(b->max - sum.max);
    sum.sum = a->max >= b->max ? posenc_fmaf(b->sum, *factor_b, a->sum) : posenc_fmaf(a->sum, *factor_a, b->sum);
    *combined = sum;
    return POSENC_OK;
}
