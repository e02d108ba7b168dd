/* SPDX-License-Identifier: MIT */
/* Resizing tables (FORMULAS A.12): two passes in double, by the formula; what must not change; the transpose. */
#include "truth.h"
#include "truth_half.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>

static double kernel(double t, double a) {
    t = fabs(t);
    if (t <= 1.0)
        return (a + 2.0) * t * t * t - (a + 3.0) * t * t + 1.0;
    return t < 2.0 ? a * t * t * t - 5.0 * a * t * t + 8.0 * a * t - 4.0 * a : 0.0;
}

enum { MAX_OLD = 24 };

/* Every old coordinate under the filter, and their sum. */
static void antialiasing_weights(const posenc_resize_params *p, int64_t o, int64_t n_in, double r, double *weights) {
    double sum = 0.0;
    for (int64_t i = 0; i < n_in; i++) {
        double t = ((double)i + 0.5 - ((double)o + 0.5) * r) / (r < 1.0 ? 1.0 : r);
        double hat = fabs(t) < 1.0 ? 1.0 - fabs(t) : 0.0;
        weights[i] = p->method == POSENC_RESIZE_LINEAR ? hat : kernel(t, -0.5);
        sum += weights[i];
    }
    for (int64_t i = 0; i < n_in; i++)
        weights[i] /= sum;
}

/* One pass: weights[i] of the old coordinates for the new coordinate o. */
static void weights_of(const posenc_resize_params *p, int64_t o, int64_t n_in, int64_t n_out, double ratio,
                       double *weights) {
    double r = ratio > 0.0 ? ratio : (double)n_in / (double)n_out, s = ((double)o + 0.5) * r - 0.5;
    if (p->antialias) {
        antialiasing_weights(p, o, n_in, r, weights);
        return;
    }
    if (p->align_corners)
        s = n_out == 1 ? 0.0 : (double)o * (double)(n_in - 1) / (double)(n_out - 1);
    for (int64_t i = 0; i < n_in; i++)
        weights[i] = 0.0;
    if (p->method == POSENC_RESIZE_LINEAR && s < 0.0)
        s = 0.0;
    int64_t whole = (int64_t)floor(s);
    for (int64_t k = -1; k <= 2; k++) {
        double f = s - (double)whole, linear = k == 0 ? 1.0 - f : k == 1 ? f : 0.0;
        int64_t i = whole + k < 0 ? 0 : whole + k >= n_in ? n_in - 1 : whole + k;
        weights[i] += p->method == POSENC_RESIZE_LINEAR ? linear : kernel(f - (double)k, p->cubic_a);
    }
}

static posenc_resize_params draw(void) {
    posenc_resize_params p = POSENC_RESIZE_DEFAULTS;
    p.method = (posenc_resize_method)truth_below(2);
    p.antialias = (int)truth_below(2);
    p.align_corners = !p.antialias && truth_below(2) == 0;
    p.h_in = 1 + truth_below(6);
    p.w_in = 1 + truth_below(7);
    p.h_out = 1 + truth_below(9);
    p.w_out = 1 + truth_below(9);
    p.n_prefix = truth_below(3);
    if (!p.align_corners && truth_below(3) == 0) {
        p.h_ratio = (double)p.h_in / ((double)p.h_out + 0.1);
        p.w_ratio = (double)p.w_in / ((double)p.w_out + 0.1);
    }
    if (truth_below(3) == 0)
        p.cubic_a = -0.5;
    return p;
}

static double plain_value(const posenc_resize_params *p, const posenc_view *x, int64_t c, int64_t row) {
    double wy[MAX_OLD], wx[MAX_OLD], sum = 0.0;
    if (row < p->n_prefix)
        return (double)truth_get(x, c, row, 0, 0);
    int64_t o = row - p->n_prefix;
    weights_of(p, o / p->w_out, p->h_in, p->h_out, p->h_ratio, wy);
    weights_of(p, o % p->w_out, p->w_in, p->w_out, p->w_ratio, wx);
    for (int64_t y = 0; y < p->h_in; y++)
        for (int64_t i = 0; i < p->w_in; i++)
            sum += wy[y] * wx[i] * (double)truth_get(x, c, p->n_prefix + y * p->w_in + i, 0, 0);
    return sum;
}

static void check_resize(const posenc_resize_params *p, int64_t dim, posenc_dtype x_type, posenc_dtype y_type) {
    int64_t n_in = p->n_prefix + p->h_in * p->w_in, n_out = p->n_prefix + p->h_out * p->w_out;
    int64_t ne_in[4] = {dim, n_in, 1, 1}, ne_out[4] = {dim, n_out, 1, 1};
    truth_tensor x = truth_tensor_random_of(x_type, ne_in), y = truth_tensor_random_of(y_type, ne_out);
    truth_tensor single = truth_tensor_random(ne_out), first = truth_tensor_dense(dim, n_out, 1, 1);
    for (int tier = -1, n = 0; truth_next_tier(&tier); n++) {
        int64_t cut = truth_below(n_out + 1);
        truth_ok(posenc_table_resize(p, &x.view, &single.view, posenc_range_all()));
        truth_ok(posenc_table_resize(p, &x.view, &y.view, (posenc_range){cut, n_out}));
        truth_ok(posenc_table_resize(p, &x.view, &y.view, (posenc_range){0, cut}));
        if (n == 0)
            truth_copy(&single.view, &first.view);
        truth_same_views(&single.view, &first.view, "tiers differ");
        truth_rounded_views(&y.view, &single.view, "rounded once");
        truth_nothing_else_changed(&y, 0, dim, "resized");
    }
    TRUTH_EACH(&first.view, c, row, b, l)
    truth_close((double)*truth_at(&first.view, c, row, b, l), plain_value(p, &x.view, c, row), 3e-6, "row %d",
                (int)row);
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&single);
    truth_tensor_free(&first);
}

/* <resized x, dy> = <x, gradient>, which is added to what stands in dx. */
static void check_gradient(const posenc_resize_params *p, int64_t dim) {
    int64_t n_in = p->n_prefix + p->h_in * p->w_in, n_out = p->n_prefix + p->h_out * p->w_out;
    int64_t ne_in[4] = {dim, n_in, 1, 1}, ne_out[4] = {dim, n_out, 1, 1};
    truth_tensor x = truth_tensor_random(ne_in), dx = truth_tensor_random(ne_in), y = truth_tensor_random(ne_out);
    truth_tensor dy = truth_tensor_random_of((posenc_dtype)truth_below(3), ne_out);
    truth_ok(posenc_table_resize(p, &x.view, &y.view, posenc_range_all()));
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reset(&dx);
        truth_ok(posenc_table_resize_backward(p, &dy.view, &dx.view));
        double forward = 0.0, backward = 0.0;
        TRUTH_EACH(&y.view, c, row, b, l)
        forward += (double)*truth_at(&y.view, c, row, b, l) * (double)truth_get(&dy.view, c, row, b, l);
        TRUTH_EACH(&x.view, c, row, b, l)
        backward += (double)*truth_at(&x.view, c, row, b, l) *
                    ((double)*truth_at(&dx.view, c, row, b, l) - (double)truth_was(&dx, c, row, b, l));
        truth_close(backward, forward, 1e-3, "transpose");
        truth_nothing_else_changed(&dx, 0, dim, "gradient");
    }
    truth_tensor *all[] = {&x, &dx, &y, &dy};
    for (int i = 0; i < 4; i++)
        truth_tensor_free(all[i]);
}

static void test_resize(void **state) {
    (void)state;
    for (int round = 0; round < 300; round++) {
        posenc_resize_params p = draw();
        check_resize(&p, 1 + truth_below(70), (posenc_dtype)truth_below(3), (posenc_dtype)truth_below(3));
        check_gradient(&p, 1 + truth_below(40));
    }
}

/* Rows of more terms than one call of the kernel takes, and of more channels. */
static void test_many_terms(void **state) {
    (void)state;
    static const struct {
        int64_t h, w, h_out, w_out, dim;
    } cases[] = {{24, 24, 1, 1, 5}, {8, 8, 1, 1, 3}, {8, 16, 1, 2, 1024}, {24, 1, 1, 1, 1025}, {13, 24, 3, 5, 2100}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (int method = 0; method < 2; method++) {
            posenc_resize_params p = POSENC_RESIZE_DEFAULTS;
            p.method = (posenc_resize_method)method;
            p.antialias = 1;
            p.h_in = cases[k].h, p.w_in = cases[k].w;
            p.h_out = cases[k].h_out, p.w_out = cases[k].w_out;
            check_resize(&p, cases[k].dim, POSENC_F32, POSENC_BF16);
            check_resize(&p, cases[k].dim, POSENC_F16, POSENC_F32);
            check_gradient(&p, 7);
        }
}

/* The same size gives the same bits, NaN beside a weight of 0 or not; corners that are aligned stay. */
static void test_what_stays(void **state) {
    (void)state;
    enum { DIM = 5, SIDE = 6, LARGER = 11 };
    truth_tensor x = truth_tensor_dense(DIM, SIDE * SIDE, 1, 1), y = truth_tensor_dense(DIM, SIDE * SIDE, 1, 1);
    truth_tensor larger = truth_tensor_dense(DIM, LARGER * LARGER, 1, 1);
    posenc_resize_params p = POSENC_RESIZE_DEFAULTS;
    *truth_at(&x.view, 2, 7, 0, 0) = NAN;
    p.h_in = p.w_in = SIDE;
    for (int method = 0; method < 2; method++)
        for (int corners = 0; corners < 2; corners++) {
            p.method = (posenc_resize_method)method;
            p.align_corners = corners;
            p.h_out = p.w_out = SIDE;
            truth_ok(posenc_table_resize(&p, &x.view, &y.view, posenc_range_all()));
            truth_same_views(&y.view, &x.view, "the same size");
            p.h_out = p.w_out = LARGER;
            truth_ok(posenc_table_resize(&p, &x.view, &larger.view, posenc_range_all()));
            for (int corner = 0; corners && corner < 4; corner++) {
                int64_t from = corner / 2 * (SIDE - 1) * SIDE + corner % 2 * (SIDE - 1);
                int64_t to = corner / 2 * (LARGER - 1) * LARGER + corner % 2 * (LARGER - 1);
                truth_same_bits(truth_at(&larger.view, 0, to, 0, 0), truth_at(&x.view, 0, from, 0, 0), DIM, "corner");
            }
        }
    p.align_corners = 0;
    p.antialias = 1;
    p.h_out = p.w_out = SIDE;
    for (int method = 0; method < 2; method++) {
        p.method = (posenc_resize_method)method;
        truth_ok(posenc_table_resize(&p, &x.view, &y.view, posenc_range_all()));
        truth_same_views(&y.view, &x.view, "the same size, antialiased");
    }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&larger);
}

/* A position that meets an old row exactly takes nothing of its neighbours, NaN or not: their weights were some
 * 1e-16. */
static void test_row_met(void **state) {
    (void)state;
    static const struct { int64_t n_in, n_out; } met[] = {{2, 98}, {2, 206}, {2, 214}, {206, 154}, {100003, 3}};
    for (size_t k = 0; k < sizeof met / sizeof met[0]; k++)
        for (int method = 0; method < 2; method++) {
            int64_t n_in = met[k].n_in, n_out = met[k].n_out, n_met = 0;
            truth_tensor x = truth_tensor_dense(1, n_in, 1, 1), y = truth_tensor_dense(1, n_out, 1, 1);
            posenc_resize_params p = POSENC_RESIZE_DEFAULTS;
            p.method = (posenc_resize_method)method;
            p.w_in = n_in;
            p.h_out = 1;
            p.w_out = n_out;
            for (int64_t o = 0; o < n_out; o++) {
                int64_t numerator = (2 * o + 1) * n_in - n_out; /* over 2 n_out */
                if (numerator % (2 * n_out) != 0)
                    continue;
                n_met++;
                for (int64_t i = 0; i < n_in; i++)
                    *truth_at(&x.view, 0, i, 0, 0) = NAN;
                *truth_at(&x.view, 0, numerator / (2 * n_out), 0, 0) = 0.75f;
                truth_ok(posenc_table_resize(&p, &x.view, &y.view, (posenc_range){o, o + 1}));
                truth_close((double)*truth_at(&y.view, 0, o, 0, 0), 0.75, 0.0, "row %lld of %lld", (long long)o,
                            (long long)n_out);
            }
            assert_true(n_met > 0);
            truth_tensor_free(&x);
            truth_tensor_free(&y);
        }
}

/* Rows at the filter's zeros do not count, NaN or not: new rows of 3 old ones meet them. */
static void test_edge_of_filter(void **state) {
    (void)state;
    enum { N_IN = 21, N_OUT = 7, CENTRE = 10, WIDTH = 3 };
    truth_tensor x = truth_tensor_dense(1, N_IN, 1, 1), y = truth_tensor_dense(1, N_OUT, 1, 1);
    posenc_resize_params p = POSENC_RESIZE_DEFAULTS;
    p.antialias = 1;
    p.w_in = N_IN;
    p.h_out = 1;
    p.w_out = N_OUT;
    for (int method = 0; method < 2; method++) {
        p.method = (posenc_resize_method)method;
        for (int64_t i = 0; i < N_IN; i++) {
            int64_t distance = i < CENTRE ? CENTRE - i : i - CENTRE;
            int is_zero = distance >= (method + 1) * WIDTH || distance == WIDTH; /* the cubic is 0 at 1 too */
            *truth_at(&x.view, 0, i, 0, 0) = is_zero ? NAN : 0.75f;
        }
        truth_ok(posenc_table_resize(&p, &x.view, &y.view, (posenc_range){N_OUT / 2, N_OUT / 2 + 1}));
        truth_close((double)*truth_at(&y.view, 0, N_OUT / 2, 0, 0), 0.75, 1e-6, "method %d", method);
    }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
}

/* A ratio that leads beyond any row gives the last one; beyond double's range it gave NaN. */
static void test_far_beyond(void **state) {
    (void)state;
    enum { SIDE = 3, WIDE = 7 };
    truth_tensor x = truth_tensor_dense(1, SIDE * SIDE, 1, 1), y = truth_tensor_dense(1, SIDE * WIDE, 1, 1);
    static const double ratios[] = {1e10, 0x1p53, 0x1p61, 1e308};
    for (int method = 0; method < 2; method++)
        for (int k = 0; k < 4; k++) {
            posenc_resize_params p = POSENC_RESIZE_DEFAULTS;
            p.method = (posenc_resize_method)method;
            p.h_in = p.w_in = p.h_out = SIDE;
            p.w_out = WIDE;
            p.w_ratio = ratios[k];
            truth_ok(posenc_table_resize(&p, &x.view, &y.view, posenc_range_all()));
            for (int64_t to = 0; to < SIDE * WIDE; to++) {
                float last = *truth_at(&x.view, 0, to / WIDE * SIDE + SIDE - 1, 0, 0);
                truth_close((double)*truth_at(&y.view, 0, to, 0, 0), (double)last, 1e-6, "column %lld",
                            (long long)(to % WIDE));
            }
        }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_resize),         truth_test(test_what_stays),
                                       truth_test(test_row_met),        truth_test(test_many_terms),
                                       truth_test(test_edge_of_filter), truth_test(test_far_beyond)};
    return truth_run(tests);
}
