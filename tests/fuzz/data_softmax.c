/* SPDX-License-Identifier: MIT */
/* The softmax path: softmax, logits, and parts of a softmax, with whatever posenc_score_params may hold. */
#include "data_scores.h"

#include <math.h>

#include "../truth_score.h"

typedef enum softmax_form { FORM_SOFTMAX, FORM_LOGITS, FORM_PARTIAL } softmax_form;

typedef struct softmax_call {
    softmax_form form;
    data_scores s;
    posenc_view x, y, sums;
    int has_scores;
} softmax_call;

static posenc_status compute(const void *arguments, posenc_range rows) {
    const softmax_call *c = arguments;
    const posenc_view *x = c->has_scores ? &c->x : NULL;
    switch (c->form) {
    case FORM_SOFTMAX: return posenc_softmax(&c->s.params, x, &c->y, rows);
    case FORM_LOGITS: return posenc_logits(&c->s.params, x, &c->y, rows);
    default: return posenc_softmax_partial(&c->s.params, x, &c->y, c->sums.data, rows);
    }
}

/* 1 if position, lengths, documents and a block mask let the query see a key of this one's group. */
static int is_written(const softmax_call *c, int64_t j, int64_t i, int64_t h, int64_t b) {
    if (c->s.params.masked_output == POSENC_MASKED_WRITTEN)
        return 1;
    posenc_score_params bounds = c->s.plain;
    bounds.bool_mask = c->s.listed.data != NULL ? &c->s.listed : NULL;
    if (bounds.positions.keys != NULL)
        bounds.mask = posenc_mask_none();
    int64_t first = j / POSENC_MASKED_GROUP * POSENC_MASKED_GROUP;
    for (int64_t k = first; k < first + POSENC_MASKED_GROUP && k < c->s.n_k; k++)
        if (truth_sees(&bounds, k, i, h, b))
            return 1;
    return 0;
}

/* Value of a row without a logit above -inf. */
static double empty_value(const softmax_call *c) {
    posenc_fully_masked_row empty = c->form == FORM_SOFTMAX ? c->s.params.fully_masked : POSENC_FULLY_MASKED_ZEROS;
    return empty == POSENC_FULLY_MASKED_NAN ? NAN : empty == POSENC_FULLY_MASKED_UNIFORM ? 1.0 / (double)c->s.n_k : 0.0;
}

static double value_of(const softmax_call *c, const data_row *row, int64_t j, double *bound) {
    double l = row->logits[j];
    if (c->form == FORM_LOGITS) {
        *bound = l == -INFINITY ? 0.0 : row->errors[j];
        return l;
    }
    if (row->max == -INFINITY)
        return empty_value(c);
    double p = exp(l - row->max) / (c->form == FORM_SOFTMAX ? row->sum : 1.0);
    double wrong = l == -INFINITY ? 0.0 : 3e-6 + 0x1p-24 * (row->max - l) + row->errors[j] + row->error;
    *bound = p * expm1(fmin(wrong, 100.0)) + (p > 0.0 ? 0x1p-125 : 0.0);
    return p;
}

static void compare_row(const softmax_call *c, const data_row *row, int64_t i, int64_t h, int64_t b) {
    for (int64_t j = 0; j < c->s.n_k; j++) {
        double got = data_get(&c->y, j, i, h, b), bound = 0.0, want = value_of(c, row, j, &bound);
        if (!is_written(c, j, i, h, b))
            want = data_was(&c->y, j, i, h, b);
        if (got == want || (isnan(got) && isnan(want)))
            continue;
        if (row->logits[j] == -INFINITY && want == 0.0)
            data_fail("key %lld of query %lld, head %lld, batch %lld is hidden, and %a", (long long)j, (long long)i,
                      (long long)h, (long long)b, got);
        data_close(&c->y, got, want, bound, "softmax path", j, i, h, b);
    }
}

static void compare_sum(const softmax_call *c, const data_row *row, int64_t number) {
    double max = data_get(&c->sums, 2 * number, 0, 0, 0), sum = data_get(&c->sums, 2 * number + 1, 0, 0, 0);
    if (row->max == -INFINITY
            ? max != -INFINITY || sum != 0.0
            : !(fabs(max + log(sum) - row->max - log(row->sum)) <= row->error + 4e-6 + 0x1p-22 * fabs(row->max)))
        data_fail("sum of row %lld: %a and %a, wanted %a and %a", (long long)number, max, sum, row->max, row->sum);
}

static void compare(const softmax_call *c) {
    data_row row = data_new_row();
    double scores[DATA_MOST_KEYS];
    int64_t number = 0;
    for (int64_t b = 0; b < c->s.n_batch; b++)
        for (int64_t h = 0; h < c->s.n_heads; h++)
            for (int64_t i = 0; i < c->s.n_q; i++, number++) {
                for (int64_t j = 0; j < c->s.n_k; j++) {
                    scores[j] = c->has_scores ? data_was(&c->x, j, i, h, b) : 0.0;
                    row.errors[j] = 0.0;
                }
                data_make_row(&c->s, scores, i, h, b, &row);
                compare_row(c, &row, i, h, b);
                if (c->form == FORM_PARTIAL)
                    compare_sum(c, &row, number);
            }
}

void data_softmax(void) {
    softmax_call c = {.form = (softmax_form)draw(3)};
    data_scores *s = &c.s;
    s->n_k = draw_rarely(16) ? 1 + draw(5000) : draw_size(300);
    s->n_q = s->n_k > 300 ? 1 + draw(3) : draw_size(20);
    s->n_heads = draw_between(1, s->n_k > 300 ? 2 : 4);
    s->n_batch = draw_between(1, 3);
    data_draw_scores(s);
    if (s->params.tree == NULL && draw_rarely(4))
        data_draw_blocks(s);
    int64_t n_rows = s->n_q * s->n_heads * s->n_batch;
    c.has_scores = c.form != FORM_LOGITS || !draw_rarely(3);
    if (c.form == FORM_LOGITS) {
        s->params.sinks = NULL;
        s->params.fully_masked = POSENC_FULLY_MASKED_ZEROS;
    }
    c.y = data_output(draw_type(), 4.0, s->n_k, s->n_q, s->n_heads, s->n_batch);
    c.x = draw_rarely(2) ? c.y : data_input(draw_type(), 4.0, s->n_k, s->n_q, s->n_heads, s->n_batch);
    if (c.form == FORM_PARTIAL)
        c.sums = data_output(POSENC_F32, 1.0, 2 * n_rows, 1, 1, 1);
    data_ok(compute, &c, n_rows);
    if (!data_is_adversarial())
        compare(&c);
}
