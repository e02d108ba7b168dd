/* SPDX-License-Identifier: MIT */
/* Gradients of the relative terms (backward.h) against the sums of FORMULAS E.5 in double, one term after the
 * other, and against what they are the gradients of. */
#include "truth_relative.h"

#include <math.h>
#include <stdlib.h>

/* A gradient of scores: 0 where the mask forbids. */
static truth_tensor gradient(const truth_shape *t) {
    truth_tensor ds = truth_numbers(POSENC_F32, 1.0, t->n_k, t->n_q, t->n_heads, t->n_batch);
    TRUTH_EACH(&ds.view, j, i, h, b)
    if (!truth_is_visible(t, i, j))
        *truth_at(&ds.view, j, i, h, b) = 0.0f;
    return ds;
}

static truth_tensor zeros(int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    return truth_numbers(POSENC_F32, 0.0, ne0, ne1, ne2, ne3);
}

static float ds_at(const truth_tensor *ds, const truth_shape *t, int64_t j, int64_t i, int64_t h, int64_t b) {
    return truth_is_visible(t, i, j) ? truth_get(&ds->view, j, i, h, b) : 0.0f;
}

/* The element of a sum of `terms` terms of `size` altogether. */
static void close_sum(const truth_tensor *got, int64_t c, int64_t h, int64_t i, int64_t b, double want, double size,
                      const char *what) {
    truth_close((double)truth_get(&got->view, c, h, i, b), want, 4e-6 * size + 1e-7, "%s [%lld %lld %lld %lld]", what,
                (long long)c, (long long)h, (long long)i, (long long)b);
}

/* One line for each element that is checked: the sum over all i and j of a term, in double. */
#define EACH_PAIR(t, i, j)                                                                                             \
    for (int64_t i = 0; i < (t)->n_q; i++)                                                                             \
        for (int64_t j = 0; j < (t)->n_k; j++)                                                                         \
            if (truth_is_visible(t, i, j))

static int64_t head_of(const posenc_view *v, int64_t h) {
    return v->ne[1] == 1 ? 0 : h;
}

/* ---- Shaw ---- */

static void check_shaw(const truth_shape *t, const truth_tensor *ds, const truth_tensor *q, const truth_tensor *table,
                       const truth_tensor *dq, const truth_tensor *da, double scale) {
    TRUTH_EACH(&dq->view, c, h, i, b) {
        double want = 0.0, size = 0.0;
        for (int64_t j = 0; j < t->n_k; j++)
            if (truth_is_visible(t, i, j)) {
                double term = scale * (double)ds_at(ds, t, j, i, h, b) *
                              (double)truth_get(&table->view, c, head_of(&table->view, h), truth_row(t, i, j), 0);
                want += term;
                size += fabs(term);
            }
        close_sum(dq, c, h, i, b, want, size, "dq");
    }
    TRUTH_EACH(&da->view, c, y_head, r, y_batch) {
        double want = 0.0, size = 0.0;
        for (int64_t b = 0; b < t->n_batch; b++)
            for (int64_t h = 0; h < t->n_heads; h++)
                EACH_PAIR(t, i, j)
        if (truth_row(t, i, j) == r && (da->view.ne[1] == 1 || h == y_head) && (da->view.ne[3] == 1 || b == y_batch)) {
            double term = scale * (double)ds_at(ds, t, j, i, h, b) * (double)truth_get(&q->view, c, h, i, b);
            want += term;
            size += fabs(term);
        }
        close_sum(da, c, y_head, r, y_batch, want, size, "dA");
    }
}

static void test_shaw(void **state) {
    (void)state;
    static truth_shape t;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 60; round++) {
            truth_shape_random(&t, round % 10 ? 40 : 300);
            t.dim = 1 + truth_below(round % 10 ? 10 : 70);
            truth_shape_set_rule(&t, posenc_rel_index_rule_of(POSENC_REL_SHAW, truth_below(9), 0));
            float scale = (float)truth_uniform(0.1, 1.0);
            int64_t heads = truth_below(2) ? 1 : t.n_heads, batches = truth_below(2) ? 1 : t.n_batch;
            posenc_dtype type = (posenc_dtype)truth_below(3);
            truth_tensor ds = gradient(&t), q = truth_numbers(type, 2.0, t.dim, t.n_heads, t.n_q, t.n_batch);
            truth_tensor table = truth_numbers(type, 2.0, t.dim, heads, t.rule.n_rows, 1);
            truth_tensor w = zeros(t.rule.n_rows, t.n_q, t.n_heads, t.n_batch);
            truth_tensor dq = zeros(t.dim, t.n_heads, t.n_q, t.n_batch),
                         da = zeros(t.dim, heads, t.rule.n_rows, batches);
            posenc_range all = posenc_range_all();
            truth_ok(posenc_relative_sums_by_query(&t.index, t.mask, t.query_start, &ds.view, &w.view, all));
            truth_ok(posenc_relative_combine(&w.view, &table.view, scale, &dq.view, all));
            truth_ok(posenc_relative_collect(&w.view, &q.view, NULL, scale, &da.view, all));
            check_shaw(&t, &ds, &q, &table, &dq, &da, (double)scale);
            truth_nothing_else_changed(&w, 0, t.rule.n_rows, "w");
            truth_nothing_else_changed(&da, 0, t.dim, "dA");
            truth_tensor *every[] = {&ds, &q, &table, &w, &dq, &da};
            for (int k = 0; k < 6; k++)
                truth_tensor_free(every[k]);
        }
    }
}

/* ---- Transformer-XL ---- */

/* Everything that E.5 names, as backward.h says how. */
typedef struct xl {
    truth_tensor ds, q, k, r, w, dq_k, dq_r, dr, dk, du, dv;
    float u[4 * 160], v[4 * 160];
} xl;

static void xl_backward(const truth_shape *t, xl *x, float scale) {
    static float one = 1.0f;
    posenc_range all = posenc_range_all();
    posenc_view ones = {&one, POSENC_F32, {1, t->n_q, t->n_heads, t->n_batch}, {4, 0, 0, 0}};
    truth_ok(posenc_relative_sums_by_query(&t->index, t->mask, t->query_start, &x->ds.view, &x->w.view, all));
    truth_ok(posenc_relative_combine(&x->w.view, &x->r.view, scale, &x->dq_r.view, all));
    truth_ok(posenc_relative_collect(&x->w.view, &x->q.view, x->v, scale, &x->dr.view, all));
    truth_ok(posenc_relative_combine(&x->ds.view, &x->k.view, scale, &x->dq_k.view, all));
    truth_ok(posenc_relative_collect(&x->ds.view, &x->q.view, x->u, scale, &x->dk.view, all));
    truth_ok(posenc_relative_collect(&ones, &x->dq_k.view, NULL, 1.0f, &x->du.view, all));
    truth_ok(posenc_relative_collect(&ones, &x->dq_r.view, NULL, 1.0f, &x->dv.view, all));
}

static void check_xl(const truth_shape *t, const xl *x, double scale) {
    for (int64_t h = 0; h < t->n_heads; h++)
        for (int64_t c = 0; c < t->dim; c++) {
            double du = 0.0, dv = 0.0, size = 0.0;
            for (int64_t b = 0; b < t->n_batch; b++) {
                EACH_PAIR(t, i, j) {
                    double s = scale * (double)ds_at(&x->ds, t, j, i, h, b);
                    du += s * (double)truth_get(&x->k.view, c, h, j, b);
                    dv += s * (double)truth_get(&x->r.view, c, h, truth_row(t, i, j), 0);
                    size += 2.0 * fabs(s);
                }
                for (int64_t j = 0; j < t->n_k; j++) {
                    double dk = 0.0, terms = 0.0;
                    for (int64_t i = 0; i < t->n_q; i++) {
                        double s = scale * (double)ds_at(&x->ds, t, j, i, h, b);
                        double shifted = (double)truth_get(&x->q.view, c, h, i, b) + (double)x->u[h * t->dim + c];
                        dk += s * shifted;
                        terms += fabs(s * shifted);
                    }
                    close_sum(&x->dk, c, h, j, b, dk, terms, "dk");
                }
            }
            close_sum(&x->du, c, h, 0, 0, du, size, "du");
            close_sum(&x->dv, c, h, 0, 0, dv, size, "dv");
            for (int64_t r = 0; r < t->rule.n_rows; r++) {
                double dr = 0.0, terms = 0.0;
                for (int64_t b = 0; b < t->n_batch; b++)
                    EACH_PAIR(t, i, j)
                if (truth_row(t, i, j) == r) {
                    double term = scale * (double)ds_at(&x->ds, t, j, i, h, b) *
                                  ((double)truth_get(&x->q.view, c, h, i, b) + (double)x->v[h * t->dim + c]);
                    dr += term;
                    terms += fabs(term);
                }
                close_sum(&x->dr, c, h, r, 0, dr, terms, "dR");
            }
        }
}

static void test_transformer_xl(void **state) {
    (void)state;
    static truth_shape t;
    static xl x;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 30; round++) {
            truth_shape_random(&t, 40);
            t.dim = 1 + truth_below(20);
            t.mask = posenc_mask_causal();
            truth_shape_set_rule(&t, posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, t.n_k, 0));
            x.ds = gradient(&t);
            x.q = truth_numbers(POSENC_F32, 2.0, t.dim, t.n_heads, t.n_q, t.n_batch);
            x.k = truth_numbers(POSENC_BF16, 2.0, t.dim, t.n_heads, t.n_k, t.n_batch);
            x.r = truth_numbers(POSENC_F32, 2.0, t.dim, t.n_heads, t.rule.n_rows, 1);
            x.w = zeros(t.rule.n_rows, t.n_q, t.n_heads, t.n_batch);
            x.dq_k = zeros(t.dim, t.n_heads, t.n_q, t.n_batch);
            x.dq_r = zeros(t.dim, t.n_heads, t.n_q, t.n_batch);
            x.dr = zeros(t.dim, t.n_heads, t.rule.n_rows, 1);
            x.dk = zeros(t.dim, t.n_heads, t.n_k, t.n_batch);
            x.du = zeros(t.dim, t.n_heads, 1, 1);
            x.dv = zeros(t.dim, t.n_heads, 1, 1);
            truth_fill(x.u, 4 * 160);
            truth_fill(x.v, 4 * 160);
            float scale = (float)truth_uniform(0.1, 1.0);
            xl_backward(&t, &x, scale);
            check_xl(&t, &x, (double)scale);
            truth_tensor *every[] = {&x.ds, &x.q, &x.k, &x.r, &x.w, &x.dq_k, &x.dq_r, &x.dr, &x.dk, &x.du, &x.dv};
            for (int k = 0; k < 11; k++)
                truth_tensor_free(every[k]);
        }
    }
}

/* ---- The sums are the adjoint of taking products through the line ---- */

static double inner(const truth_tensor *a, const truth_tensor *b) {
    double sum = 0.0;
    TRUTH_EACH(&a->view, i0, i1, i2, i3)
    sum += (double)truth_get(&a->view, i0, i1, i2, i3) * (double)truth_get(&b->view, i0, i1, i2, i3);
    return sum;
}

static void check_adjoint(const truth_shape *t, const truth_tensor *ds, int by_key) {
    int64_t n = by_key ? t->n_k : t->n_q;
    truth_tensor p = truth_numbers(POSENC_F32, 1.0, t->rule.n_rows, n, t->n_heads, t->n_batch);
    truth_tensor w = truth_tensor_random(p.view.ne), split = truth_tensor_random(p.view.ne);
    truth_tensor s = truth_tensor_random(ds->view.ne);
    posenc_score_params params = posenc_score_params_of(1.0f, t->mask);
    params.positions.query_start = t->query_start;
    posenc_relative *term = by_key ? &params.bias.by_key : &params.bias.by_query;
    *term = (posenc_relative){&p.view, &t->index};
    truth_ok(posenc_logits(&params, NULL, &s.view, posenc_range_all()));
    TRUTH_EACH(&s.view, j, i, h, b)
    if (!truth_is_visible(t, i, j))
        *truth_at(&s.view, j, i, h, b) = 0.0f;
    posenc_status (*sums)(const posenc_rel_index *, posenc_mask, int64_t, const posenc_view *, const posenc_view *,
                          posenc_range) = by_key ? posenc_relative_sums_by_key : posenc_relative_sums_by_query;
    truth_ok(sums(&t->index, t->mask, t->query_start, &ds->view, &w.view, posenc_range_all()));
    truth_close(inner(&w, &p), inner(ds, &s), 1e-4, "adjoint, by %s", by_key ? "key" : "query");
    for (int64_t end = n * t->n_heads * t->n_batch; end > 0;) {
        int64_t begin = truth_below(end);
        truth_ok(sums(&t->index, t->mask, t->query_start, &ds->view, &split.view, (posenc_range){begin, end}));
        end = begin;
    }
    truth_same_views(&split.view, &w.view, "sums, split");
    truth_tensor *every[] = {&p, &w, &split, &s};
    for (int k = 0; k < 4; k++)
        truth_tensor_free(every[k]);
}

/* DeBERTa's rule, whose end rows are long runs of keys and of queries. */
static void test_adjoint(void **state) {
    (void)state;
    static truth_shape t;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 100; round++) {
            truth_shape_random(&t, 60);
            t.n_q = 1 + truth_below(60);
            truth_shape_set_rule(
                &t, truth_below(2) ? posenc_rel_index_rule_of(POSENC_REL_DEBERTA, 1 + truth_below(6), 0)
                                   : posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 2 * (2 + truth_below(4)), 20));
            truth_tensor ds = gradient(&t);
            check_adjoint(&t, &ds, 0);
            check_adjoint(&t, &ds, 1);
            truth_tensor_free(&ds);
        }
    }
}

/* ---- The same bits however rows are split ---- */

static void test_splits(void **state) {
    (void)state;
    static truth_shape t;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 50; round++) {
            truth_shape_random(&t, 60);
            int64_t n = 1 + truth_below(30), heads = truth_below(2) ? 1 : t.n_heads;
            truth_tensor w = truth_numbers(POSENC_F32, 1.0, n, t.n_q, t.n_heads, t.n_batch);
            truth_tensor x = truth_numbers((posenc_dtype)truth_below(3), 1.0, t.dim, t.n_heads, t.n_q, t.n_batch);
            truth_tensor whole = zeros(t.dim, heads, n, 1), split = zeros(t.dim, heads, n, 1);
            truth_ok(posenc_relative_collect(&w.view, &x.view, NULL, 0.3f, &whole.view, posenc_range_all()));
            for (int64_t row = n * heads - 1; row >= 0; row--)
                truth_ok(
                    posenc_relative_collect(&w.view, &x.view, NULL, 0.3f, &split.view, (posenc_range){row, row + 1}));
            truth_same_views(&split.view, &whole.view, "collect, split");
            truth_tensor y = zeros(t.dim, t.n_heads, t.n_q, t.n_batch),
                         y_split = zeros(t.dim, t.n_heads, t.n_q, t.n_batch);
            truth_ok(posenc_relative_combine(&w.view, &whole.view, 0.3f, &y.view, posenc_range_all()));
            for (int64_t row = t.n_q * t.n_heads * t.n_batch - 1; row >= 0; row--)
                truth_ok(
                    posenc_relative_combine(&w.view, &whole.view, 0.3f, &y_split.view, (posenc_range){row, row + 1}));
            truth_same_views(&y_split.view, &y.view, "combine, split");
            truth_tensor *every[] = {&w, &x, &whole, &split, &y, &y_split};
            for (int k = 0; k < 6; k++)
                truth_tensor_free(every[k]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_shaw),
        truth_test(test_transformer_xl),
        truth_test(test_adjoint),
        truth_test(test_splits),
    };
    return truth_run(tests);
}
