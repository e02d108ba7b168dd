/* SPDX-License-Identifier: MIT */
/* Relative terms (relative.h) against plain double sums of the formulas C.7 - C.15: rules, products, whole schemes
 * through the softmax, values, shifts. */
#include "harness.h"
#include "truth_relative.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static posenc_dtype random_type(void) {
    return (posenc_dtype)truth_below(3);
}

static double dot(const posenc_view *x, int64_t i, const posenc_view *table, int64_t r, int64_t h, int64_t b) {
    double sum = 0.0;
    for (int64_t c = 0; c < x->ne[0]; c++)
        sum += (double)truth_get(x, c, h, i, b) * (double)truth_get(table, c, table->ne[1] == 1 ? 0 : h, r, 0);
    return sum;
}

/* ---- Rules ---- */

static int64_t clip(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

/* C.15 in long double, which settles every case that is not within 1e-12 of an integer. */
static int64_t log_bucket(int64_t r, int64_t buckets, int64_t max_position, int64_t *n_close) {
    int64_t middle = buckets / 2, size = llabs(clip(r, 1 - max_position, max_position - 1));
    if (size <= middle)
        return r;
    long double x = logl((long double)size / (long double)middle) /
                    logl((long double)(max_position - 1) / (long double)middle) * (long double)(middle - 1);
    if (fabsl(x - rintl(x)) < 1e-12L) {
        x = rintl(x);
        *n_close += size < max_position - 1;
    }
    int64_t bucket = (int64_t)ceill(x) + middle;
    return r < 0 ? -bucket : bucket;
}

static void check_rule(posenc_rel_index_rule rule, int64_t (*row)(int64_t offset, int64_t a, int64_t b), int64_t a,
                       int64_t b, const char *what) {
    enum { N = 3000 };
    static int32_t data[N];
    int64_t n = rule.is_strict ? rule.n_rows : N;
    posenc_rel_index index = {data, rule.is_strict ? -(n / 2) : -N / 2, n < N ? n : N, -1};
    truth_ok(posenc_rel_index_fill(&rule, &index));
    assert_int_equal(index.n_rows, rule.n_rows);
    for (int64_t o = 0; o < index.n_offsets; o++)
        if (data[o] != row(index.first + o, a, b))
            fail_msg("%s(%lld, %lld): offset %lld has row %d", what, (long long)a, (long long)b,
                     (long long)(index.first + o), (int)data[o]);
}

static int64_t shaw(int64_t o, int64_t k, int64_t b) {
    (void)b;
    return clip(o, -k, k) + k;
}

static int64_t shaw_reversed(int64_t o, int64_t k, int64_t b) {
    return shaw(-o, k, b);
}

static int64_t relative_key(int64_t o, int64_t n, int64_t b) {
    (void)b;
    return -o + n - 1;
}

static int64_t transformer_xl(int64_t o, int64_t n, int64_t b) {
    (void)b;
    return n - 1 - clip(-o, 0, n - 1); /* the row of the distance */
}

static int64_t xlnet(int64_t o, int64_t n_q, int64_t n_k) {
    return n_k - clip(-o, 1 - n_q, n_k);
}

static int64_t deberta(int64_t o, int64_t k, int64_t b) {
    (void)b;
    return clip(-o + k, 0, 2 * k - 1);
}

static int64_t n_close;

static int64_t deberta_log(int64_t o, int64_t buckets, int64_t max_position) {
    return clip(log_bucket(-o, buckets, max_position, &n_close) + buckets, 0, 2 * buckets - 1);
}

static void test_rules(void **state) {
    (void)state;
    n_close = 0;
    for (int round = 0; round < 300; round++) {
        int64_t a = 1 + truth_below(round % 2 ? 20 : 1400), b = 1 + truth_below(1000);
        check_rule(posenc_rel_index_rule_of(POSENC_REL_SHAW, a - 1, 0), shaw, a - 1, b, "shaw");
        posenc_rel_index_rule turned = posenc_rel_index_rule_of(POSENC_REL_SHAW, a, 0);
        turned.sign = -1;
        check_rule(turned, shaw_reversed, a, b, "shaw reversed");
        check_rule(posenc_rel_index_rule_of(POSENC_REL_RELATIVE_KEY, a, 0), relative_key, a, b, "relative_key");
        check_rule(posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, a, 0), transformer_xl, a, b, "transformer_xl");
        check_rule(posenc_rel_index_rule_of(POSENC_REL_XLNET, a, b), xlnet, a, b, "xlnet");
        check_rule(posenc_rel_index_rule_of(POSENC_REL_DEBERTA, a, 0), deberta, a, b, "deberta");
        int64_t buckets = 2 * (2 + truth_below(round % 2 ? 10 : 600)), most = buckets / 2 + 2 + truth_below(1500);
        check_rule(posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, buckets, most), deberta_log, buckets, most,
                   "deberta_log");
    }
    check_rule(posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 256, 512), deberta_log, 256, 512, "deberta_log");
    check_rule(posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 6, 13), deberta_log, 6, 13,
               "deberta_log"); /* 6 / 3 is the root of 12 / 3 */
    print_message("%lld offsets on the boundary of a bucket\n", (long long)n_close);
}

/* Far offsets whose buckets all have a row: they were refused as if there were no buckets. */
static void test_strict_buckets(void **state) {
    (void)state;
    enum { FIRST = -2000, N = 4001, ROWS = 2 * 256 };
    static int32_t data[N];
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 256, 512);
    posenc_rel_index index = {data, FIRST, N, ROWS};
    rule.is_strict = 1;
    truth_ok(posenc_rel_index_fill(&rule, &index));
    for (int64_t t = 0; t < N; t++)
        assert_int_equal(data[t], deberta_log(FIRST + t, 256, 512));
    rule.zero = 0;
    assert_int_equal(posenc_rel_index_fill(&rule, &index), POSENC_ERR_OFFSETS);
}

/* ---- Products ---- */

static void test_products(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 60; round++) {
            int64_t dim = 1 + truth_below(round % 8 ? 70 : 400), n_rows = 1 + truth_below(70);
            int64_t n_q = 1 + truth_below(round % 3 ? 20 : 1), n_heads = 1 + truth_below(5),
                    n_batch = 1 + truth_below(2);
            if (round == 7) { /* more than one block of queries */
                n_q = 250;
                n_heads = 1;
            }
            truth_tensor q = truth_numbers(random_type(), 2.0, dim, n_heads, n_q, n_batch);
            truth_tensor table = truth_numbers(random_type(), 2.0, dim, truth_below(2) ? 1 : n_heads, n_rows, 1);
            int64_t ne[4] = {n_rows, n_q, n_heads, n_batch};
            truth_tensor y = truth_tensor_random(ne), split = truth_tensor_random(ne);
            float *shift = malloc((size_t)(n_heads * dim) * sizeof *shift);
            truth_fill(shift, (size_t)(n_heads * dim));
            float *given = truth_below(2) ? shift : NULL;
            posenc_relative_table *packed;
            truth_ok(posenc_relative_table_create(&table.view, &packed));
            truth_ok(posenc_relative_products(packed, &q.view, given, &y.view, posenc_range_all()));
            TRUTH_EACH(&y.view, r, i, h, b) {
                double want = 0.0, size = 0.0;
                for (int64_t c = 0; c < dim; c++) {
                    double x = (double)truth_get(&q.view, c, h, i, b) + (given ? (double)given[h * dim + c] : 0.0);
                    double term = x * (double)truth_get(&table.view, c, table.view.ne[1] == 1 ? 0 : h, r, 0);
                    want += term;
                    size += fabs(term);
                }
                truth_close((double)truth_get(&y.view, r, i, h, b), want, (double)(dim + 1) * 0x1p-24 * size,
                            "products");
            }
            for (int64_t end = n_q * n_heads * n_batch; end > 0;) {
                int64_t begin = truth_below(end);
                truth_ok(posenc_relative_products(packed, &q.view, given, &split.view, (posenc_range){begin, end}));
                end = begin;
            }
            truth_same_views(&split.view, &y.view, "products, split");
            truth_nothing_else_changed(&split, 0, n_rows, "products");
            posenc_relative_table_free(packed);
            free(shift);
            truth_tensor *all[] = {&q, &table, &y, &split};
            for (int k = 0; k < 4; k++)
                truth_tensor_free(all[k]);
        }
    }
}

/* ---- Schemes ---- */

typedef enum scheme { SHAW, KEY_QUERY, TRANSFORMER_XL, DEBERTA, DEBERTA_PAPER, N_SCHEMES } scheme;

/* Arguments of a call, and its share of the logit in double. */
typedef struct scene {
    truth_shape shape;
    scheme kind;
    truth_tensor q, k, by_query_table, by_key_table, x, by_query, by_key, y;
    truth_shape reversed;
    float u[4 * 160], v[4 * 160];
    posenc_score_params params;
} scene;

static posenc_rel_index_rule rule_of(scheme kind, int64_t n_k) {
    switch (kind) {
    case SHAW: return posenc_rel_index_rule_of(POSENC_REL_SHAW, truth_below(12), 0);
    case KEY_QUERY: return posenc_rel_index_rule_of(POSENC_REL_RELATIVE_KEY, 2 * n_k + 20, 0);
    case TRANSFORMER_XL:
        return posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, truth_below(2) ? n_k : 1 + truth_below(n_k), 0);
    default:
        return truth_below(2)
                   ? posenc_rel_index_rule_of(POSENC_REL_DEBERTA, 1 + truth_below(20), 0)
                   : posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 2 * (2 + truth_below(8)), 20 + truth_below(80));
    }
}

static truth_tensor products_of(const truth_tensor *x, const truth_tensor *table, const float *shift) {
    const posenc_view *v = &x->view;
    truth_tensor y = truth_tensor_random((int64_t[4]){table->view.ne[2], v->ne[2], v->ne[1], v->ne[3]});
    posenc_relative_table *packed;
    truth_ok(posenc_relative_table_create(&table->view, &packed));
    truth_ok(posenc_relative_products(packed, v, shift, &y.view, posenc_range_all()));
    posenc_relative_table_free(packed);
    return y;
}

static void open_scene(scene *s, scheme kind) {
    truth_shape *t = &s->shape;
    truth_shape_random(t, truth_below(8) ? 90 : 300);
    s->kind = kind;
    truth_shape_set_rule(t, rule_of(kind, t->n_k));
    s->reversed = *t;
    posenc_rel_index_rule rule = t->rule;
    if (kind == DEBERTA_PAPER)
        rule.sign = -rule.sign;
    truth_shape_set_rule(&s->reversed, rule);
    s->reversed.index.data = s->reversed.index_data;
    int64_t shared = truth_below(2) ? 1 : t->n_heads;
    s->q = truth_numbers(random_type(), 1.0, t->dim, t->n_heads, t->n_q, t->n_batch);
    s->k = truth_numbers(random_type(), 1.0, t->dim, t->n_heads, t->n_k, t->n_batch);
    s->by_query_table = truth_numbers(random_type(), 1.0, t->dim, shared, t->rule.n_rows, 1);
    s->by_key_table = truth_numbers(random_type(), 1.0, t->dim, shared, t->rule.n_rows, 1);
    s->x = truth_tensor_random((int64_t[4]){t->n_k, t->n_q, t->n_heads, t->n_batch});
    s->y = truth_tensor_random(s->x.view.ne);
    truth_fill(s->u, 4 * 160);
    truth_fill(s->v, 4 * 160);
    int shifts = kind == TRANSFORMER_XL;
    TRUTH_EACH(&s->x.view, j, i, h, b) {
        double sum = 0.0;
        for (int64_t c = 0; c < t->dim; c++)
            sum += ((double)truth_get(&s->q.view, c, h, i, b) + (shifts ? (double)s->u[h * t->dim + c] : 0.0)) *
                   (double)truth_get(&s->k.view, c, h, j, b);
        *truth_at(&s->x.view, j, i, h, b) = (float)sum;
    }
    s->by_query = products_of(&s->q, &s->by_query_table, shifts ? s->v : NULL);
    s->by_key = products_of(&s->k, &s->by_key_table, NULL);
    s->params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    s->params.scale = (float)(1.0 / sqrt((double)t->dim));
    s->params.mask = t->mask;
    s->params.positions.query_start = t->query_start;
    s->params.bias.by_query = (posenc_relative){&s->by_query.view, &t->index};
    if (kind == KEY_QUERY || kind >= DEBERTA)
        s->params.bias.by_key = (posenc_relative){&s->by_key.view, &s->reversed.index};
}

static double reference_logit(const scene *s, int64_t j, int64_t i, int64_t h, int64_t b) {
    const truth_shape *t = &s->shape;
    double sum = dot(&s->q.view, i, &s->by_query_table.view, truth_row(t, i, j), h, b);
    double size = 0.0;
    for (int64_t c = 0; c < t->dim; c++) {
        double shift = s->kind == TRANSFORMER_XL ? (double)s->u[h * t->dim + c] : 0.0;
        size += ((double)truth_get(&s->q.view, c, h, i, b) + shift) * (double)truth_get(&s->k.view, c, h, j, b);
        if (s->kind == TRANSFORMER_XL)
            sum += (double)s->v[h * t->dim + c] * (double)truth_get(&s->by_query_table.view, c,
                                                                    s->by_query_table.view.ne[1] == 1 ? 0 : h,
                                                                    truth_row(t, i, j), 0);
    }
    if (s->params.bias.by_key.products != NULL)
        sum += dot(&s->k.view, j, &s->by_key_table.view, truth_row(&s->reversed, i, j), h, b);
    return (sum + size) / sqrt((double)t->dim);
}

static void check_scene(const scene *s) {
    const truth_shape *t = &s->shape;
    double l[300];
    for (int64_t b = 0; b < t->n_batch; b++)
        for (int64_t h = 0; h < t->n_heads; h++)
            for (int64_t i = 0; i < t->n_q; i++) {
                double max = -INFINITY, sum = 0.0;
                for (int64_t j = 0; j < t->n_k; j++) {
                    l[j] = truth_is_visible(t, i, j) ? reference_logit(s, j, i, h, b) : -INFINITY;
                    max = fmax(max, l[j]);
                }
                for (int64_t j = 0; j < t->n_k; j++)
                    sum += max == -INFINITY ? 0.0 : exp(l[j] - max);
                for (int64_t j = 0; j < t->n_k; j++)
                    truth_close((double)truth_get(&s->y.view, j, i, h, b), sum == 0.0 ? 0.0 : exp(l[j] - max) / sum,
                                2e-6, "%s, scheme %d: key %lld of %lld, query %lld", posenc_isa_name(posenc_isa()),
                                (int)s->kind, (long long)j, (long long)t->n_k, (long long)i);
            }
}

static void test_schemes(void **state) {
    (void)state;
    static scene s;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 50; round++) {
            open_scene(&s, (scheme)(round % N_SCHEMES));
            truth_ok(posenc_softmax(&s.params, &s.x.view, &s.y.view, posenc_range_all()));
            check_scene(&s);
            truth_tensor *all[] = {&s.q, &s.k, &s.by_query_table, &s.by_key_table, &s.x, &s.by_query, &s.by_key, &s.y};
            for (int k = 0; k < 8; k++)
                truth_tensor_free(all[k]);
        }
    }
}

/* ---- Values ---- */

static void check_values(const truth_shape *t, const truth_tensor *p, const truth_tensor *table,
                         const truth_tensor *z) {
    TRUTH_EACH(&z->view, c, h, i, b) {
        double want = (double)truth_was(z, c, h, i, b), size = fabs(want);
        for (int64_t j = 0; j < t->n_k; j++)
            if (truth_is_visible(t, i, j)) {
                double value = (double)truth_get(&table->view, c, table->view.ne[1] == 1 ? 0 : h, truth_row(t, i, j),
                                                 table->view.ne[3] == 1 ? 0 : b);
                want += (double)truth_get(&p->view, j, i, h, b) * value;
                size += fabs((double)truth_get(&p->view, j, i, h, b) * value);
            }
        truth_close((double)truth_get(&z->view, c, h, i, b), want, 2e-6 * size + 1e-7, "values");
    }
}

static void test_values(void **state) {
    (void)state;
    static truth_shape t;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 50; round++) {
            truth_shape_random(&t, round % 10 ? 200 : 2000);
            truth_shape_set_rule(
                &t, truth_below(2) ? posenc_rel_index_rule_of(POSENC_REL_SHAW, truth_below(truth_below(2) ? 9 : 150), 0)
                                   : posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 16, 40));
            truth_tensor p = truth_numbers(POSENC_F32, 1.0, t.n_k, t.n_q, t.n_heads, t.n_batch);
            TRUTH_EACH(&p.view, j, i, h, b)
            if (!truth_is_visible(&t, i, j))
                *truth_at(&p.view, j, i, h, b) = 0.0f;
            truth_tensor table = truth_numbers(random_type(), 2.0, t.dim, truth_below(2) ? 1 : t.n_heads, t.rule.n_rows,
                                               truth_below(2) ? 1 : t.n_batch);
            truth_tensor z = truth_numbers(POSENC_F32, 1.0, t.dim, t.n_heads, t.n_q, t.n_batch);
            truth_tensor split = truth_tensor_random(z.view.ne);
            truth_copy(&z.view, &split.view);
            truth_mark(&split);
            truth_ok(posenc_relative_values(&t.index, t.mask, t.query_start, &p.view, &table.view, &z.view,
                                            posenc_range_all()));
            check_values(&t, &p, &table, &z);
            for (int64_t end = t.n_q * t.n_heads * t.n_batch; end > 0;) {
                int64_t begin = truth_below(end);
                truth_ok(posenc_relative_values(&t.index, t.mask, t.query_start, &p.view, &table.view, &split.view,
                                                (posenc_range){begin, end}));
                end = begin;
            }
            truth_same_views(&split.view, &z.view, "values, split");
            truth_nothing_else_changed(&split, 0, t.dim, "values");
            truth_tensor *all[] = {&p, &table, &z, &split};
            for (int k = 0; k < 4; k++)
                truth_tensor_free(all[k]);
        }
    }
}

/* Probabilities of a row of 131072 keys, nearly all in the first row of the table. */
static void test_long_run(void **state) {
    (void)state;
    enum { N = 131072, K = 8 };
    static float p[N];
    static int32_t index_data[N];
    float table[2 * K + 1], z = 0.0f;
    double want = 0.0;
    for (int r = 0; r <= 2 * K; r++)
        table[r] = (float)truth_uniform(1.0, 2.0);
    for (int j = 0; j < N; j++) {
        p[j] = (float)(truth_uniform(0.0, 2.0) / N);
        want += (double)p[j] * (double)table[j < N - K ? 0 : j - (N - 1 - K)];
    }
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, K, 0);
    posenc_rel_index index = {index_data, 1 - N, N, 0};
    truth_ok(posenc_rel_index_fill(&rule, &index));
    posenc_view rows = posenc_view_dense(p, POSENC_F32, N, 1, 1, 1);
    posenc_view values = posenc_view_dense(table, POSENC_F32, 1, 1, 2 * K + 1, 1);
    posenc_view out = posenc_view_dense(&z, POSENC_F32, 1, 1, 1, 1);
    truth_ok(posenc_relative_values(&index, posenc_mask_causal(), N - 1, &rows, &values, &out, posenc_range_all()));
    truth_close((double)z, want, 1e-6, "a run of 131064 keys");
}

/* ---- Shifts ---- */

static void test_shifts(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        posenc_dtype type = random_type();
        int64_t n_q = 1 + truth_below(12), n_k = n_q + truth_below(20), n_heads = 1 + truth_below(3), n_batch = 2;
        if (round == 0)
            n_q = n_k = n_heads = n_batch = 1;
        truth_tensor x = truth_numbers(type, 2.0, n_k, n_q, n_heads, n_batch),
                     wide = truth_numbers(type, 2.0, 2 * n_q - 1, n_q, n_heads, n_batch);
        truth_tensor y = truth_tensor_random_of(type, x.view.ne);
        truth_tensor square = truth_tensor_random_of(type, (int64_t[4]){n_q, n_q, n_heads, n_batch});
        truth_ok(posenc_relative_shift(&x.view, &y.view));
        truth_ok(posenc_relative_skew(&wide.view, &square.view));
        TRUTH_EACH(&y.view, j, i, h, b) {
            int64_t flat = n_q + i * n_k + j, row = flat / (n_k + 1), column = flat % (n_k + 1);
            float want = column == 0 ? 0.0f : truth_get(&x.view, column - 1, row, h, b);
            if (j <= i + n_k - n_q) /* the part that means something */
                assert_true(row == i && column == j + n_q - i);
            truth_close((double)truth_get(&y.view, j, i, h, b), (double)want, 0.0, "shift");
        }
        TRUTH_EACH(&square.view, j, i, h, b)
        truth_close((double)truth_get(&square.view, j, i, h, b),
                    (double)truth_get(&wide.view, j - i + n_q - 1, i, h, b), 0.0, "skew");
        truth_nothing_else_changed(&y, 0, n_k, "shift");
        truth_nothing_else_changed(&square, 0, n_q, "skew");
        truth_tensor *all[] = {&x, &wide, &y, &square};
        for (int k = 0; k < 4; k++)
            truth_tensor_free(all[k]);
    }
}

/* ---- Entries that only masked keys meet ---- */

/* Entries of an index that only masked keys meet may hold anything: products are not read by them, and end here before
 * memory that must not be read. In logits of one query, whose window begins within a group of keys, by numbers and by
 * given positions. */
static void test_unmet_entries(void **state) {
    (void)state;
    enum { N_KEYS = 64, SIDE = 9, N_PRODUCT_ROWS = 3, N_OFFSETS = 128 };
    static test_guarded memory;
    static int32_t entries[N_OFFSETS], k_pos[N_KEYS], q_pos[1] = {N_KEYS - 1};
    for (int i = 0; i < N_OFFSETS; i++) /* offset i - 63 */
        entries[i] = i >= N_KEYS - 1 - SIDE && i < N_KEYS ? i % N_PRODUCT_ROWS : i % 2 ? 1 << 20 : -(1 << 20);
    for (int j = 0; j < N_KEYS; j++)
        k_pos[j] = j;
    posenc_rel_index index = {entries, 1 - N_KEYS, N_OFFSETS, N_PRODUCT_ROWS};
    for (int by_key = 0; by_key < 2; by_key++)
        for (int given = 0; given < 2; given++) {
            int64_t n = by_key ? N_KEYS : 1;
            float *numbers = test_guarded_place(&memory, (size_t)(n * N_PRODUCT_ROWS) * sizeof(float),
                                                (test_placement){.at_end = 1});
            for (int64_t i = 0; i < n * N_PRODUCT_ROWS; i++)
                numbers[i] = (float)i;
            posenc_view products = posenc_view_dense(numbers, POSENC_F32, N_PRODUCT_ROWS, n, 1, 1);
            posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_window(SIDE + 1));
            *(by_key ? &params.bias.by_key : &params.bias.by_query) = (posenc_relative){&products, &index};
            params.positions.query_start = given ? 0 : N_KEYS - 1;
            params.positions.queries = given ? q_pos : NULL;
            params.positions.keys = given ? k_pos : NULL;
            for (int tier = -1; truth_next_tier(&tier);) {
                float logits[N_KEYS];
                posenc_view y = posenc_view_dense(logits, POSENC_F32, N_KEYS, 1, 1, 1);
                truth_ok(posenc_logits(&params, NULL, &y, posenc_range_all()));
                for (int j = 0; j < N_KEYS; j++) {
                    float row = numbers[(by_key ? j * N_PRODUCT_ROWS : 0) + j % N_PRODUCT_ROWS];
                    assert_true(logits[j] == (j < N_KEYS - 1 - SIDE ? -INFINITY : row));
                }
            }
        }
    test_guarded_free(&memory);
}

/* A table without rows goes with keys of which none is seen, and is not read, wherever its view says that it lies: by
 * given positions every key is looked at. */
static void test_no_rows(void **state) {
    (void)state;
    enum { N_KEYS = 40 };
    static int32_t entries[N_KEYS], k_pos[N_KEYS], q_pos[1] = {0};
    for (int j = 0; j < N_KEYS; j++)
        k_pos[j] = j + 1;
    static test_guarded memory;
    float *numbers = test_guarded_place(&memory, sizeof *numbers, (test_placement){.at_end = 0});
    posenc_rel_index index = {entries, 0, N_KEYS, 0};
    for (int by_key = 0; by_key < 2; by_key++) {
        posenc_view products = posenc_view_dense(numbers, POSENC_F32, 0, by_key ? N_KEYS : 1, 1, 1);
        if (by_key)
            products.nb[1] = (int64_t)1 << 40;
        posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal());
        *(by_key ? &params.bias.by_key : &params.bias.by_query) = (posenc_relative){&products, &index};
        params.positions.queries = q_pos;
        params.positions.keys = k_pos;
        for (int tier = -1; truth_next_tier(&tier);) {
            float logits[N_KEYS];
            posenc_view y = posenc_view_dense(logits, POSENC_F32, N_KEYS, 1, 1, 1);
            truth_ok(posenc_logits(&params, NULL, &y, posenc_range_all()));
            for (int j = 0; j < N_KEYS; j++)
                assert_true(logits[j] == -INFINITY);
        }
    }
    test_guarded_free(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_rules),          truth_test(test_products),      truth_test(test_schemes),
        truth_test(test_values),         truth_test(test_long_run),      truth_test(test_shifts),
        truth_test(test_strict_buckets), truth_test(test_unmet_entries), truth_test(test_no_rows),
    };
    return truth_run(tests);
}
