/* SPDX-License-Identifier: MIT */
/* Relative terms: products with a table, values, and the sums and products of their gradients. */
#include "data.h"

#include <math.h>

#include "../truth_score.h"

typedef struct relative_call {
    posenc_status (*compute)(const struct relative_call *, posenc_range);
    int64_t dim, n_q, n_k, n_heads, n_batch, query_start;
    posenc_mask mask;
    posenc_rel_index index;
    posenc_relative_table *packed;
    posenc_view a, b, y; /* what is multiplied, and the result */
    const float *shift;
    float factor;
} relative_call;

/* ---- Drawn calls ---- */

static posenc_rel_index_rule draw_rule(const relative_call *c) {
    int64_t size = 1 + draw(60);
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, size, 0);
    switch (draw(5)) {
    case 0: break;
    case 1: rule = posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, size, 0); break;
    case 2: rule = posenc_rel_index_rule_of(POSENC_REL_XLNET, c->n_q, c->n_k); break;
    case 3: rule = posenc_rel_index_rule_of(POSENC_REL_DEBERTA, size, 0); break;
    default: rule = posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 2 * size + 2, 2 * size + 20); break;
    }
    rule.is_unclipped = rule.log_buckets != 0 && draw_rarely(2);
    if (draw_rarely(4))
        rule.sign = -rule.sign;
    return rule;
}

static void draw_shape(relative_call *c) {
    c->dim = draw_size(100);
    c->n_k = draw_size(200);
    c->n_q = draw_size(20);
    c->n_heads = draw_between(1, 4);
    c->n_batch = draw_between(1, 2);
    c->query_start = draw_rarely(3) ? draw_between(-10, c->n_k + 10) : c->n_k - c->n_q;
    int64_t side = draw_rarely(2) ? -1 : 1 + draw(c->n_k);
    c->mask = draw_rarely(2) ? posenc_mask_sides(side, side) : posenc_mask_causal();
    c->factor = draw_rarely(2) ? 0.5f : 1.0f;
    int64_t first, n;
    if (posenc_rel_bias_range(c->mask, c->query_start, c->n_q, c->n_k, &first, &n) != POSENC_OK)
        data_fail("offsets");
    c->index = (posenc_rel_index){data_block(n, sizeof(int32_t)), first, n, 0};
    posenc_rel_index_rule rule = draw_rule(c);
    if (posenc_rel_index_fill(&rule, &c->index) != POSENC_OK)
        data_fail("index");
    for (int64_t o = first; o < first + n && rule.log_buckets == 0; o++) {
        int64_t row = rule.zero + rule.sign * o;
        row = row < 0 ? 0 : row >= rule.n_rows ? rule.n_rows - 1 : row;
        if (c->index.data[o - first] != row)
            data_fail("offset %lld has row %d", (long long)o, (int)c->index.data[o - first]);
    }
}

/* The row of a key; -1: no query at this place may see it. */
static int64_t row_of(const relative_call *c, int64_t i, int64_t j) {
    posenc_score_params p = posenc_score_params_of(1.0f, c->mask);
    p.positions.query_start = c->query_start;
    return truth_sees(&p, j, i, 0, 0) ? c->index.data[j - c->query_start - i - c->index.first] : -1;
}

/* Scores, 0 where they are masked. */
static posenc_view draw_masked(const relative_call *c) {
    posenc_view view = data_input(POSENC_F32, 1.0, c->n_k, c->n_q, c->n_heads, c->n_batch);
    for (int64_t b = 0; b < c->n_batch; b++)
        for (int64_t h = 0; h < c->n_heads; h++)
            for (int64_t i = 0; i < c->n_q; i++)
                for (int64_t j = 0; j < c->n_k; j++)
                    if (row_of(c, i, j) < 0)
                        data_set(&view, j, i, h, b, 0.0f);
    return view;
}

static int64_t one_or(int64_t n) {
    return draw_rarely(2) ? 1 : n;
}

/* ---- Sums of terms in plain double ---- */

/* y[x, r, h, b] of a call: the terms, one after the other, until there are no more. */
typedef int (*term_of)(const relative_call *, int64_t k, int64_t x, int64_t r, int64_t h, int64_t b, double *term);

static double shared(const posenc_view *view, int64_t x, int64_t r, int64_t h, int64_t b) {
    return data_get(view, x, view->ne[1] == 1 ? 0 : h, r, view->ne[3] == 1 ? 0 : b);
}

static double shifted(const relative_call *c, const posenc_view *view, int64_t x, int64_t r, int64_t h, int64_t b) {
    return data_get(view, x, h, r, b) + (c->shift != NULL ? (double)c->shift[h * c->dim + x] : 0.0);
}

static int product_term(const relative_call *c, int64_t k, int64_t x, int64_t r, int64_t h, int64_t b, double *term) {
    if (k == c->dim)
        return 0;
    *term = shifted(c, &c->a, k, r, h, b) * shared(&c->b, k, x, h, 0);
    return 1;
}

static int value_term(const relative_call *c, int64_t k, int64_t x, int64_t r, int64_t h, int64_t b, double *term) {
    if (k == c->n_k)
        return 0;
    int64_t row = row_of(c, r, k);
    *term = row < 0 ? 0.0 : data_get(&c->a, k, r, h, b) * shared(&c->b, x, row, h, b);
    return 1;
}

static int query_sum_term(const relative_call *c, int64_t k, int64_t x, int64_t r, int64_t h, int64_t b, double *term) {
    if (k == c->n_k)
        return 0;
    *term = row_of(c, r, k) == x ? data_get(&c->a, k, r, h, b) : 0.0;
    return 1;
}

static int key_sum_term(const relative_call *c, int64_t k, int64_t x, int64_t r, int64_t h, int64_t b, double *term) {
    if (k == c->n_q)
        return 0;
    *term = row_of(c, k, r) == x ? data_get(&c->a, r, k, h, b) : 0.0;
    return 1;
}

static int combine_term(const relative_call *c, int64_t k, int64_t x, int64_t r, int64_t h, int64_t b, double *term) {
    if (k == c->a.ne[0])
        return 0;
    *term = (double)c->factor * data_get(&c->a, k, r, h, b) * shared(&c->b, x, k, h, b);
    return 1;
}

/* Heads and batches that y shares follow each other. */
static int collect_term(const relative_call *c, int64_t k, int64_t x, int64_t r, int64_t h, int64_t b, double *term) {
    int64_t heads = c->y.ne[1] == 1 ? c->n_heads : 1, batches = c->y.ne[3] == 1 ? c->n_batch : 1;
    if (k == c->n_q * heads * batches)
        return 0;
    int64_t i = k % c->n_q, head = h + k / c->n_q % heads, batch = b + k / c->n_q / heads;
    *term = (double)c->factor * data_get(&c->a, r, i, head, batch) * shifted(c, &c->b, x, i, head, batch);
    return 1;
}

/* y is of tokens, [x, h, r, b], and added to, or of scores, [x, r, h, b], and written. */
static void compare(const relative_call *c, term_of term_at, int is_tokens, const char *what) {
    const posenc_view *y = &c->y;
    int64_t total = y->ne[0] * y->ne[1] * y->ne[2] * y->ne[3], at[4];
    for (int64_t n = 0; n < total && n < 400; n++) {
        int64_t left = total <= 400 ? n : (int64_t)(data_random() % (uint64_t)total);
        for (int dim = 0; dim < 4; left /= y->ne[dim++])
            at[dim] = left % y->ne[dim];
        int64_t x = at[0], r = at[is_tokens ? 2 : 1], h = at[is_tokens ? 1 : 2], b = at[3];
        double want = is_tokens ? data_was(y, at[0], at[1], at[2], at[3]) : 0.0, size = fabs(want), term = 0.0;
        int64_t k = 0;
        for (; term_at(c, k, x, r, h, b, &term); k++) {
            want += term;
            size += fabs(term);
        }
        data_close(y, data_get(y, at[0], at[1], at[2], at[3]), want, (double)(k + 4) * 0x1p-23 * size, what, at[0],
                   at[1], at[2], at[3]);
    }
}

/* ---- Calls ---- */

static posenc_status products(const relative_call *c, posenc_range rows) {
    return posenc_relative_products(c->packed, &c->a, c->shift, &c->y, rows);
}

static posenc_status values(const relative_call *c, posenc_range rows) {
    return posenc_relative_values(&c->index, c->mask, c->query_start, &c->a, &c->b, &c->y, rows);
}

static posenc_status query_sums(const relative_call *c, posenc_range rows) {
    return posenc_relative_sums_by_query(&c->index, c->mask, c->query_start, &c->a, &c->y, rows);
}

static posenc_status key_sums(const relative_call *c, posenc_range rows) {
    return posenc_relative_sums_by_key(&c->index, c->mask, c->query_start, &c->a, &c->y, rows);
}

static posenc_status combine(const relative_call *c, posenc_range rows) {
    return posenc_relative_combine(&c->a, &c->b, c->factor, &c->y, rows);
}

static posenc_status collect(const relative_call *c, posenc_range rows) {
    return posenc_relative_collect(&c->a, &c->b, c->shift, c->factor, &c->y, rows);
}

static posenc_status compute(const void *arguments, posenc_range rows) {
    const relative_call *c = arguments;
    return c->compute(c, rows);
}

static void run(relative_call *c, int64_t n_rows, term_of term_at, int is_tokens, const char *what) {
    data_ok(compute, c, n_rows);
    if (!data_is_adversarial())
        compare(c, term_at, is_tokens, what);
}

void data_relative(void) {
    relative_call c = {0};
    draw_shape(&c);
    int64_t n_rows = c.index.n_rows, queries = c.n_q * c.n_heads * c.n_batch;
    posenc_view *y = &c.y;
    c.shift = draw_rarely(2) ? data_floats(c.n_heads * c.dim, 1.0) : NULL;
    switch (draw(6)) {
    case 0:
        c.compute = products;
        c.a = data_input(draw_type(), 1.0, c.dim, c.n_heads, c.n_q, c.n_batch);
        c.b = data_input(draw_type(), 1.0, c.dim, one_or(c.n_heads), n_rows, 1);
        if (posenc_relative_table_create(&c.b, &c.packed) != POSENC_OK)
            data_fail("no table");
        *y = data_output(POSENC_F32, 1.0, n_rows, c.n_q, c.n_heads, c.n_batch);
        run(&c, queries, product_term, 0, "products");
        posenc_relative_table_free(c.packed);
        break;
    case 1:
        c.compute = values;
        c.a = draw_masked(&c);
        c.b = data_input(draw_type(), 1.0, c.dim, one_or(c.n_heads), n_rows, one_or(c.n_batch));
        *y = data_output(POSENC_F32, 1.0, c.dim, c.n_heads, c.n_q, c.n_batch);
        run(&c, queries, value_term, 1, "values");
        break;
    case 2:
        c.compute = query_sums;
        c.a = draw_masked(&c);
        *y = data_output(POSENC_F32, 1.0, n_rows, c.n_q, c.n_heads, c.n_batch);
        run(&c, queries, query_sum_term, 0, "sums by query");
        break;
    case 3:
        c.compute = key_sums;
        c.a = draw_masked(&c);
        *y = data_output(POSENC_F32, 1.0, n_rows, c.n_k, c.n_heads, c.n_batch);
        run(&c, c.n_k * c.n_heads * c.n_batch, key_sum_term, 0, "sums by key");
        break;
    case 4:
        c.compute = combine;
        c.a = data_input(POSENC_F32, 1.0, n_rows, c.n_q, c.n_heads, c.n_batch);
        c.b = data_input(draw_type(), 1.0, c.dim, one_or(c.n_heads), n_rows, one_or(c.n_batch));
        *y = data_output(POSENC_F32, 1.0, c.dim, c.n_heads, c.n_q, c.n_batch);
        run(&c, queries, combine_term, 1, "combine");
        break;
    default:
        c.compute = collect;
        c.a = data_input(POSENC_F32, 1.0, n_rows, c.n_q, c.n_heads, c.n_batch);
        c.b = data_input(draw_type(), 1.0, c.dim, c.n_heads, c.n_q, c.n_batch);
        *y = data_output(POSENC_F32, 1.0, c.dim, one_or(c.n_heads), n_rows, one_or(c.n_batch));
        run(&c, n_rows * y->ne[1] * y->ne[3], collect_term, 1, "collect");
    }
}
