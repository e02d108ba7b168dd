/* SPDX-License-Identifier: MIT */
/* FIRE and CoPE (fire.h, cope.h) against FORMULAS C.17 and C.19 in double, and the same bits however rows are split. */
#include "truth.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>

/* ---- FIRE ---- */

enum { MAX_HIDDEN = 40, MAX_FIRE_HEADS = 3 };

typedef struct perceptron {
    float w1[MAX_HIDDEN], b1[MAX_HIDDEN], w2[MAX_FIRE_HEADS * MAX_HIDDEN], b2[MAX_FIRE_HEADS];
    posenc_fire_params params;
} perceptron;

/* Some weights are 0, some hidden units turn at the same place. */
static void random_perceptron(perceptron *m) {
    m->params = (posenc_fire_params)POSENC_FIRE_DEFAULTS;
    m->params.n_hidden = 1 + truth_below(MAX_HIDDEN);
    m->params.n_heads = 1 + truth_below(MAX_FIRE_HEADS);
    truth_fill(m->w1, MAX_HIDDEN);
    truth_fill(m->b1, MAX_HIDDEN);
    truth_fill(m->w2, MAX_FIRE_HEADS * MAX_HIDDEN);
    truth_fill(m->b2, MAX_FIRE_HEADS);
    for (int k = 0; k < MAX_HIDDEN; k++) {
        m->w1[k] = truth_below(8) == 0 ? 0.0f : m->w1[k];
        m->b1[k] = truth_below(8) == 0 ? 0.0f : truth_below(4) == 0 ? -0.5f * m->w1[k] : m->b1[k];
    }
    m->params.w1 = m->w1;
    m->params.b1 = m->b1;
    m->params.w2 = m->w2;
    m->params.b2 = m->b2;
    m->params.c = truth_below(2) ? 0.1 : truth_uniform(-3.0, 3.0);
    m->params.threshold = truth_below(2) ? 512.0 : truth_uniform(0.0, 60.0);
}

static double fire_psi(const perceptron *m, double x) {
    return log1p(fabs(m->params.c * x));
}

/* The bias, and in *size what its error is measured by. */
static double fire_bias(const perceptron *m, int64_t head, int64_t i, int64_t j, double *size) {
    const posenc_fire_params *p = &m->params;
    double x = fire_psi(m, (double)(i - j)) / (fire_psi(m, fmax((double)i, p->threshold)) + p->eps);
    double bias = (double)p->b2[head];
    *size = 1.0 + fabs(bias);
    for (int64_t k = 0; k < p->n_hidden; k++) {
        double weight = (double)p->w2[head * p->n_hidden + k], w1 = (double)p->w1[k], b1 = (double)p->b1[k];
        bias += weight * fmax(w1 * x + b1, 0.0);
        *size += fabs(weight) * (fabs(w1 * x) + fabs(b1));
    }
    return bias;
}

static void check_fire(const perceptron *m, int64_t query_start, const truth_tensor *y, int add) {
    TRUTH_EACH(&y->view, j, i, h, b) {
        double size, want = fire_bias(m, h, query_start + i, j, &size);
        want += add ? (double)truth_was(y, j, i, h, b) : 0.0;
        double error = fabs((double)truth_get(&y->view, j, i, h, b) - want) / size;
        truth_close(error, 0.0, 2e-7, "FIRE, query %lld, key %lld", (long long)(query_start + i), (long long)j);
    }
}

/* The smallest and the largest numbers that are taken. */
static void test_fire_limits(void **state) {
    (void)state;
    static perceptron m;
    static const double c[] = {0x1p-100, -0x1p-100, 0x1p20, -0x1p20}, eps[] = {0x1p-100, 1.0, 0x1p-100, 1.0},
                        thresholds[] = {0.0, 0x1p30, 0x1p30, 0.0};
    random_perceptron(&m);
    m.params.max_distance = 10;
    for (int i = 0; i < 4; i++) {
        m.params.c = c[i];
        m.params.eps = eps[i];
        m.params.threshold = thresholds[i];
        posenc_fire *fire;
        truth_ok(posenc_fire_create(&m.params, &fire));
        posenc_fire_free(fire);
    }
}

/* A slope beyond float's range, at a distance of 0: infinity times 0 was NaN. */
static void test_steep_fire(void **state) {
    (void)state;
    static perceptron m;
    random_perceptron(&m);
    m.params.n_hidden = m.params.n_heads = 1;
    m.params.max_distance = 3;
    m.params.threshold = 0.0;
    m.params.eps = 0x1p-100;
    m.w1[0] = m.w2[0] = 1e5f;
    m.b1[0] = 0.0f;
    m.b2[0] = 1.0f;
    posenc_fire *fire;
    truth_ok(posenc_fire_create(&m.params, &fire));
    for (int tier = -1; truth_next_tier(&tier);) {
        float y = 0.0f;
        posenc_view view = posenc_view_dense(&y, POSENC_F32, 1, 1, 1, 1);
        truth_ok(posenc_fire_write(fire, 0, &view, posenc_range_all()));
        assert_true(y == 1.0f);
    }
    posenc_fire_free(fire);
}

/* A piece whose constant float32 does not hold: it is cut to what it holds. */
static void test_large_fire(void **state) {
    (void)state;
    static perceptron m;
    random_perceptron(&m);
    m.params.n_hidden = m.params.n_heads = 1;
    m.params.c = 0.1;
    m.params.threshold = 512.0;
    m.params.max_distance = 511;
    m.w1[0] = -3e38f;
    m.b1[0] = 3e38f;
    m.w2[0] = 2.0f;
    m.b2[0] = 0.0f;
    posenc_fire *fire;
    truth_ok(posenc_fire_create(&m.params, &fire));
    for (int tier = -1; truth_next_tier(&tier);) {
        static float y[512];
        posenc_view view = posenc_view_dense(y, POSENC_F32, 512, 1, 1, 1);
        truth_ok(posenc_fire_write(fire, 511, &view, posenc_range_all()));
        for (int j = 0; j < 512; j++)
            assert_true(isfinite(y[j]));
    }
    posenc_fire_free(fire);
}

static void test_fire(void **state) {
    (void)state;
    static perceptron m;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 80; round++) {
            random_perceptron(&m);
            m.params.max_distance = truth_below(round % 8 ? 100 : 1500);
            int64_t most = m.params.max_distance + 1, n_k = 1 + truth_below(most),
                    n_q = 1 + truth_below(most < 8 ? most : 8);
            int64_t query_start = truth_below(most - n_q + 1);
            posenc_fire *fire;
            truth_ok(posenc_fire_create(&m.params, &fire));
            int64_t ne[4] = {n_k, n_q, m.params.n_heads, 1 + truth_below(2)};
            truth_tensor y = truth_tensor_random(ne), split = truth_tensor_random(ne);
            truth_copy(&y.view, &split.view);
            truth_mark(&split);
            truth_ok(posenc_fire_add(fire, query_start, &y.view, posenc_range_all()));
            check_fire(&m, query_start, &y, 1);
            for (int64_t row = n_q * ne[2] * ne[3] - 1; row >= 0; row--)
                truth_ok(posenc_fire_add(fire, query_start, &split.view, (posenc_range){row, row + 1}));
            truth_same_views(&split.view, &y.view, "FIRE, split");
            truth_ok(posenc_fire_write(fire, query_start, &y.view, posenc_range_all()));
            check_fire(&m, query_start, &y, 0);
            truth_nothing_else_changed(&y, 0, n_k, "FIRE");
            posenc_fire_free(fire);
            truth_tensor_free(&y);
            truth_tensor_free(&split);
        }
    }
}

/* ---- CoPE ---- */

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

/* The logit of every key of a row, and how far its position may be off. */
static void cope_row(const posenc_cope_params *p, const posenc_view *x, const posenc_view *gates, const posenc_view *z,
                     int64_t i, int64_t h, int64_t b, double *l, double *bound) {
    double position = 0.0, last = (double)(z->ne[0] - 1);
    for (int64_t j = x->ne[0] - 1; j >= 0; j--) {
        l[j] = -INFINITY;
        if (j > p->query_start + i)
            continue;
        position += sigmoid((double)p->scale * (double)truth_get(gates, j, i, h, b));
        double at = fmin(position, last), low = floor(at), high = ceil(at), w = at - low;
        double zl = (double)truth_get(z, (int64_t)low, i, h, b), zh = (double)truth_get(z, (int64_t)high, i, h, b);
        double term = w * zh + (1.0 - w) * zl, score = (double)truth_get(x, j, i, h, b), scale = (double)p->scale;
        l[j] = p->form == POSENC_COPE_SCALED ? scale * (score + term) : scale * score + term;
        /* 3 ulp of each gate move the position, and that moves the term by the slope of z: neighbours differ by 4 at
         * most. */
        bound[j] = 4.0 * 4.0 * 0x1p-24 * position + 4e-6 + 0x1p-23 * fabs(l[j]);
    }
}

static void check_cope(const posenc_cope_params *p, const posenc_view *x, const posenc_view *gates,
                       const posenc_view *z, const posenc_view *y) {
    static double l[2000], bound[2000];
    for (int64_t b = 0; b < y->ne[3]; b++)
        for (int64_t h = 0; h < y->ne[2]; h++)
            for (int64_t i = 0; i < y->ne[1]; i++) {
                cope_row(p, x, gates, z, i, h, b, l, bound);
                for (int64_t j = 0; j < y->ne[0]; j++) {
                    double got = (double)truth_get(y, j, i, h, b);
                    if (l[j] == -INFINITY)
                        assert_true(got == -INFINITY);
                    else
                        truth_close(got, l[j], bound[j], "CoPE, key %lld of %lld, query %lld", (long long)j,
                                    (long long)y->ne[0], (long long)i);
                }
            }
}

static void test_cope(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 120; round++) {
            int64_t n_k = 1 + truth_below(round % 8 ? 150 : 1900), n_q = 1 + truth_below(6);
            int64_t ne[4] = {n_k, n_q, 1 + truth_below(3), 1 + truth_below(2)};
            truth_tensor x = truth_tensor_random(ne), gates = truth_tensor_random(ne), y = truth_tensor_random(ne);
            ne[0] = 1 + truth_below(truth_below(2) ? 80 : 1000);
            truth_tensor z = truth_tensor_random(ne);
            posenc_cope_params params = POSENC_COPE_DEFAULTS;
            params.scale = (float)truth_uniform(0.1, 3.0);
            params.form = truth_below(2) ? POSENC_COPE_SCALED : POSENC_COPE_LISTING;
            params.query_start = truth_below(3) ? n_k - n_q : truth_below(n_k + 20) - 10;
            const posenc_view *own = truth_below(2) ? &gates.view : NULL;
            truth_ok(posenc_cope_logits(&params, &x.view, own, &z.view, &y.view, posenc_range_all()));
            check_cope(&params, &x.view, own ? own : &x.view, &z.view, &y.view);
            truth_nothing_else_changed(&y, 0, n_k, "CoPE");
            for (int64_t row = n_q * ne[2] * ne[3] - 1; row >= 0; row--) /* in place, row by row */
                truth_ok(posenc_cope_logits(&params, &x.view, own, &z.view, &x.view, (posenc_range){row, row + 1}));
            truth_same_views(&x.view, &y.view, "CoPE, in place");
            truth_tensor *all[] = {&x, &gates, &y, &z};
            for (int k = 0; k < 4; k++)
                truth_tensor_free(all[k]);
        }
    }
}

/* Gates of 0 leave the position where it is, gates of 1 count keys; integers read one product only. */
static void test_cope_integers(void **state) {
    (void)state;
    enum { N = 40, POSITIONS = 30 };
    for (int tier = -1; truth_next_tier(&tier);) {
        float x[N] = {0.0f}, gates[N], z[POSITIONS], y[N];
        for (int n = 0; n < POSITIONS; n++)
            z[n] = n % 2 ? INFINITY : (float)n;
        for (int j = 0; j < N; j++)
            gates[j] = j % 2 ? 200.0f : j % 4 ? -200.0f : -INFINITY;
        posenc_view from = posenc_view_dense(x, POSENC_F32, N, 1, 1, 1),
                    to = posenc_view_dense(y, POSENC_F32, N, 1, 1, 1);
        posenc_view by = posenc_view_dense(gates, POSENC_F32, N, 1, 1, 1);
        posenc_view terms = posenc_view_dense(z, POSENC_F32, POSITIONS, 1, 1, 1);
        posenc_cope_params params = POSENC_COPE_DEFAULTS;
        params.query_start = N - 1;
        truth_ok(posenc_cope_logits(&params, &from, &by, &terms, &to, posenc_range_all()));
        for (int j = 0; j < N; j++) {
            int position = (N - j + 1) / 2; /* odd keys from j on */
            position = position < POSITIONS - 1 ? position : POSITIONS - 1;
            truth_same_bits(&y[j], &z[position], 1, "key %d", j);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_fire_limits), truth_test(test_fire),
                                       truth_test(test_cope),        truth_test(test_cope_integers),
                                       truth_test(test_steep_fire),  truth_test(test_large_fire)};
    return truth_run(tests);
}
