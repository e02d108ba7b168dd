/* RoPE against a plain double reference with MPFR angles (FORMULAS B.2, B.3, B.5, B.6), and its properties.
 *
 * Bounds. Let u = 2^-24. The library's cosine and sine are within one ulp of the truth (angles.h), at most u each
 * since |cos|, |sin| <= 1. y0 = fma(x0, c, -(x1 s)) rounds the product and the sum, each by u relative at most, so
 *     |error of y0| <= u (|x0| + |x1|) + u |x1 s| + u |y0|, y1 alike, up to terms in u^2.
 * With r = |(x0, x1)|: |x0| + |x1| <= sqrt(2) r, the others at most r: at most 3.42 u r per component and
 * sqrt(2) * 3.42 u r < 5 u r per pair. That is TURN, for one rotation; k rotations in a row add up to k TURN.
 */
#include "truth.h"
#include "truth_mpfr.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define U 0x1p-24
#define SECOND_ORDER 1.0001 /* covers the terms in u^2 */
#define TURN (5.0 * U * SECOND_ORDER)

enum { MAX_TOKENS = 40, MAX_DIM = 1024 };

typedef struct head {
    posenc_rope_params params;
    posenc_rope *rope;
    truth_table truth;
} head;

static head new_head(posenc_rope_layout layout, int64_t head_dim, int64_t n_rot, int64_t n_offs, double base) {
    head h = {{layout, head_dim, n_rot, n_offs, base}, NULL, {0, NULL}};
    truth_ok(posenc_rope_create(&h.params, &h.rope));
    h.truth = truth_powers(1.0, base, 2, n_rot, n_rot / 2);
    return h;
}

static void free_head(head *h) {
    truth_table_free(&h->truth);
    posenc_rope_free(h->rope);
}

static posenc_rope_layout random_layout(void) {
    return truth_below(2) ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED;
}

/* Small and odd shapes mostly, now and then wider than one slice of the angle engine. */
static head random_head(void) {
    int64_t head_dim = truth_below(8) ? 1 + truth_below(160) : 300 + truth_below(MAX_DIM - 300);
    int64_t n_rot = truth_below(3) ? head_dim / 2 * 2 : 2 * truth_below(head_dim / 2 + 1);
    return new_head(random_layout(), head_dim, n_rot, truth_below(head_dim - n_rot + 1), truth_log_uniform(1e4, 1e7));
}

static void random_positions(int32_t *positions, int64_t n) {
    int32_t p = truth_position();
    for (int64_t t = 0; t < n; t++) {
        positions[t] = p;
        p = truth_below(5) == 0 || p == INT32_MAX ? truth_position() : p + 1;
    }
}

/* Channels of pair i. */
static void pair_channels(const head *h, int64_t i, int64_t *first, int64_t *second) {
    int half = h->params.layout == POSENC_ROPE_HALF;
    *first = h->params.n_offs + (half ? i : 2 * i);
    *second = h->params.n_offs + (half ? i + h->params.n_rot / 2 : 2 * i + 1);
}

/* ---- Against the reference ---- */

/* Token (j = head, t, b) of y against x turned by +-position. */
static void check_head(const head *h, const truth_tensor *x, const posenc_view *y, int64_t j, int64_t t, int64_t b,
                       const double *cosines, const double *sines, double sign) {
    for (int64_t i = 0; i < h->truth.n; i++) {
        int64_t first, second;
        pair_channels(h, i, &first, &second);
        double x0 = truth_was(x, first, j, t, b), x1 = truth_was(x, second, j, t, b);
        double c = cosines[i], s = sign * sines[i];
        double y0 = x0 * c - x1 * s, y1 = x1 * c + x0 * s;
        double turned = U * (fabs(x0) + fabs(x1));
        truth_close(*truth_at(y, first, j, t, b), y0, (turned + U * (fabs(x1 * s) + fabs(y0))) * SECOND_ORDER,
                    "pair %lld of %lld, first channel", (long long)i, (long long)h->truth.n);
        truth_close(*truth_at(y, second, j, t, b), y1, (turned + U * (fabs(x0 * s) + fabs(y1))) * SECOND_ORDER,
                    "pair %lld of %lld, second channel", (long long)i, (long long)h->truth.n);
    }
    for (int64_t channel = 0; channel < h->params.head_dim; channel++)
        if (channel < h->params.n_offs || channel >= h->params.n_offs + h->params.n_rot) {
            float was = truth_was(x, channel, j, t, b);
            truth_same_bits(truth_at(y, channel, j, t, b), &was, 1, "unrotated channel %lld", (long long)channel);
        }
}

static void check_all(const head *h, const truth_tensor *x, const posenc_view *y, const int32_t *positions,
                      posenc_direction direction) {
    double cosines[MAX_DIM / 2], sines[MAX_DIM / 2];
    for (int64_t t = 0; t < y->ne[2]; t++) {
        for (int64_t i = 0; i < h->truth.n; i++)
            truth_angle_d(&h->truth, i, positions[t], &cosines[i], &sines[i]);
        for (int64_t b = 0; b < y->ne[3]; b++)
            for (int64_t j = 0; j < y->ne[1]; j++)
                check_head(h, x, y, j, t, b, cosines, sines, direction == POSENC_INVERSE ? -1.0 : 1.0);
    }
}

static void test_reference(void **state) {
    (void)state;
    long long n_values = 0;
    for (int round = 0; round < 120; round++) {
        head h = random_head();
        int64_t ne[4] = {h.params.head_dim, 1 + truth_below(5), 1 + truth_below(6), 1 + truth_below(3)};
        posenc_direction direction = truth_below(2) ? POSENC_INVERSE : POSENC_FORWARD;
        int32_t positions[MAX_TOKENS];
        random_positions(positions, ne[2]);
        truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne), first = truth_tensor_random(ne);
        for (int tier = -1, n_tiers = 0; truth_next_tier(&tier); n_tiers++) {
            truth_ok(posenc_rope_apply(h.rope, &x.view, positions, &y.view, direction, posenc_all_rows()));
            truth_same_bits(x.buffer, x.before, x.n_floats, "input");
            truth_nothing_else_changed(&y, 0, ne[0], "out of place");
            if (n_tiers == 0)
                truth_copy(&y.view, &first.view);
            truth_same_views(&y.view, &first.view, "tiers differ");
        }
        check_all(&h, &x, &y.view, positions, direction);
        for (int tier = -1; truth_next_tier(&tier);) {
            memcpy(x.buffer, x.before, x.n_floats * sizeof(float));
            truth_ok(posenc_rope_apply(h.rope, &x.view, positions, &x.view, direction, posenc_all_rows()));
            truth_same_views(&x.view, &y.view, "in place");
            truth_nothing_else_changed(&x, h.params.n_offs, h.params.n_rot, "in place");
        }
        n_values += ne[0] * ne[1] * ne[2] * ne[3];
        truth_tensor_free(&x);
        truth_tensor_free(&y);
        truth_tensor_free(&first);
        free_head(&h);
    }
    print_message("%lld values against the reference\n", n_values);
}

/* One head broadcast to many: input strides of 0. */
static void test_broadcast_input(void **state) {
    (void)state;
    head h = new_head(POSENC_ROPE_HALF, 48, 32, 8, 10000.0);
    truth_tensor x = truth_tensor_dense(48, 1, 1, 1), y = truth_tensor_dense(48, 3, 4, 2);
    x.view.ne[1] = 3;
    x.view.ne[2] = 4;
    x.view.ne[3] = 2;
    x.view.nb[1] = x.view.nb[2] = x.view.nb[3] = 0;
    int32_t positions[4] = {0, -7, 1000000, INT32_MIN};
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_rope_apply(h.rope, &x.view, positions, &y.view, POSENC_FORWARD, posenc_all_rows()));
        check_all(&h, &x, &y.view, positions, POSENC_FORWARD);
    }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    free_head(&h);
}

/* ---- Properties, at positions up to 2^31 ---- */

/* One head at one position. */
static void turn(const head *h, const float *x, int32_t position, posenc_direction direction, float *y) {
    posenc_view from = posenc_view_dense((float *)(uintptr_t)x, POSENC_F32, h->params.head_dim, 1, 1, 1);
    posenc_view to = posenc_view_dense(y, POSENC_F32, h->params.head_dim, 1, 1, 1);
    truth_ok(posenc_rope_apply(h->rope, &from, &position, &to, direction, posenc_all_rows()));
}

static double radius(const head *h, const float *x, int64_t i) {
    int64_t first, second;
    pair_channels(h, i, &first, &second);
    return hypot((double)x[first], (double)x[second]);
}

static double distance(const head *h, const float *x, const float *y, int64_t i) {
    int64_t first, second;
    pair_channels(h, i, &first, &second);
    return hypot((double)x[first] - (double)y[first], (double)x[second] - (double)y[second]);
}

static double dot(const float *x, const float *y, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* Two positions whose sum is a position. */
static void random_sum(int32_t *a, int32_t *b) {
    do {
        *a = truth_position();
        *b = truth_position();
    } while ((int64_t)*a + *b < INT32_MIN || (int64_t)*a + *b > INT32_MAX);
}

static void check_properties(const head *h) {
    float x[MAX_DIM], xa[MAX_DIM], xab[MAX_DIM], sum[MAX_DIM], back[MAX_DIM];
    int32_t a, b;
    random_sum(&a, &b);
    truth_fill(x, (size_t)h->params.head_dim);
    turn(h, x, a, POSENC_FORWARD, xa);
    turn(h, xa, b, POSENC_FORWARD, xab);
    turn(h, x, a + b, POSENC_FORWARD, sum);
    turn(h, xa, a, POSENC_INVERSE, back);
    for (int64_t i = 0; i < h->truth.n; i++) {
        double r = radius(h, x, i);
        truth_close(radius(h, xa, i), r, TURN * r, "norm of pair %lld at %d", (long long)i, a);
        truth_close(distance(h, xab, sum, i), 0.0, 3.0 * TURN * r, "R_%d R_%d against R_sum, pair %lld", b, a,
                    (long long)i);
        truth_close(distance(h, back, x, i), 0.0, 2.0 * TURN * r, "inverse at %d, pair %lld", a, (long long)i);
    }
}

/* <R_m q, R_n k> is <R_(m+d) q, R_(n+d) k>: each of four rotations is off by TURN times a radius. */
static void check_score(const head *h) {
    float q[MAX_DIM], k[MAX_DIM], qm[MAX_DIM], kn[MAX_DIM];
    int64_t dim = h->params.head_dim;
    truth_fill(q, (size_t)dim);
    truth_fill(k, (size_t)dim);
    int32_t m, n, shift;
    do {
        random_sum(&m, &shift);
        n = truth_below(2) ? m - (int32_t)truth_below(100) * (m > 0 ? 1 : -1) : truth_position();
    } while ((int64_t)n + shift < INT32_MIN || (int64_t)n + shift > INT32_MAX);
    turn(h, q, m, POSENC_FORWARD, qm);
    turn(h, k, n, POSENC_FORWARD, kn);
    double score = dot(qm, kn, dim);
    turn(h, q, m + shift, POSENC_FORWARD, qm);
    turn(h, k, n + shift, POSENC_FORWARD, kn);
    double bound = 0.0;
    for (int64_t i = 0; i < h->truth.n; i++)
        bound += 4.0 * TURN * SECOND_ORDER * radius(h, q, i) * radius(h, k, i);
    truth_close(dot(qm, kn, dim), score, bound + 1e-12, "score of %d and %d shifted by %d", m, n, shift);
}

static void test_properties(void **state) {
    (void)state;
    enum { ROUNDS = 300 };
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < ROUNDS; round++) {
            head h = random_head();
            check_properties(&h);
            check_score(&h);
            free_head(&h);
        }
    }
    print_message("%d random heads per tier\n", ROUNDS);
}

/* ---- The same bits however it is called ---- */

typedef struct whole {
    head h;
    int32_t positions[MAX_TOKENS];
    truth_tensor x, y; /* y: the whole call's result */
} whole;

static whole random_whole(void) {
    whole w = {.h = random_head()};
    int64_t ne[4] = {w.h.params.head_dim, 1 + truth_below(7), 1 + truth_below(MAX_TOKENS), 1 + truth_below(2)};
    random_positions(w.positions, ne[2]);
    w.x = truth_tensor_random(ne);
    w.y = truth_tensor_random(ne);
    truth_ok(posenc_rope_apply(w.h.rope, &w.x.view, w.positions, &w.y.view, POSENC_FORWARD, posenc_all_rows()));
    return w;
}

static void free_whole(whole *w) {
    truth_tensor_free(&w->x);
    truth_tensor_free(&w->y);
    free_head(&w->h);
}

/* Random row ranges, last first, some empty: no row is written by a range that does not hold it. */
static void check_splits(const whole *w, const float *cos_rows, const float *sin_rows, int64_t stride) {
    truth_tensor z = truth_tensor_random(w->x.view.ne);
    int64_t n_heads = z.view.ne[1], n_tokens = z.view.ne[2], end = n_heads * n_tokens * z.view.ne[3];
    while (end > 0) {
        posenc_rows rows = {end - truth_below(end + 1) % 20, end};
        posenc_status status =
            cos_rows == NULL ? posenc_rope_apply(w->h.rope, &w->x.view, w->positions, &z.view, POSENC_FORWARD, rows)
                             : posenc_rope_apply_rows(w->h.rope, &w->x.view, cos_rows, sin_rows, stride, &z.view,
                                                      POSENC_FORWARD, rows);
        truth_ok(status);
        for (int64_t row = 0; row < rows.begin; row++)
            for (int64_t channel = 0; channel < z.view.ne[0]; channel++) {
                int64_t j = row % n_heads, t = row / n_heads % n_tokens, b = row / n_heads / n_tokens;
                float was = truth_was(&z, channel, j, t, b);
                truth_same_bits(truth_at(&z.view, channel, j, t, b), &was, 1, "row before the range");
            }
        end = rows.begin;
    }
    truth_same_views(&z.view, &w->y.view, cos_rows == NULL ? "split" : "split, with ready rows");
    truth_nothing_else_changed(&z, 0, z.view.ne[0], "split");
    truth_tensor_free(&z);
}

static void check_ready_rows(const whole *w) {
    const posenc_freq *freq = posenc_rope_freq(w->h.rope);
    int64_t n = posenc_freq_count(freq), stride = 2 * n + truth_below(5), n_tokens = w->x.view.ne[2];
    float *rows = malloc((size_t)(n_tokens * stride + 1) * sizeof(float));
    assert_non_null(rows);
    truth_ok(posenc_angle_rows(freq, w->positions, n_tokens, rows, rows + n, stride));
    check_splits(w, rows, rows + n, stride);
    free(rows);
}

/* One token, one head at a time, from views of their own. */
static void check_decode(const whole *w) {
    truth_tensor z = truth_tensor_random(w->x.view.ne);
    for (int64_t b = 0; b < z.view.ne[3]; b++)
        for (int64_t t = 0; t < z.view.ne[2]; t++) {
            posenc_view x = w->x.view, y = z.view;
            x.data = truth_at(&w->x.view, 0, 0, t, b);
            y.data = truth_at(&z.view, 0, 0, t, b);
            x.ne[2] = x.ne[3] = y.ne[2] = y.ne[3] = 1;
            truth_ok(posenc_rope_apply(w->h.rope, &x, w->positions + t, &y, POSENC_FORWARD, posenc_all_rows()));
        }
    truth_same_views(&z.view, &w->y.view, "token by token");
    truth_tensor_free(&z);
}

static void test_ways_to_call(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 40; round++) {
            whole w = random_whole();
            check_splits(&w, NULL, NULL, 0);
            check_ready_rows(&w);
            check_decode(&w);
            free_whole(&w);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_reference),
        truth_test(test_broadcast_input),
        truth_test(test_properties),
        truth_test(test_ways_to_call),
    };
    return truth_run(tests);
}
