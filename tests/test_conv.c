/* SPDX-License-Identifier: MIT */
/* Conditional positional encoding against plain double loops (FORMULAS A.20, E.2), and its gradients, which are the
 * transposes. */
#include "truth.h"
#include "truth_half.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_CHANNELS = 320, MAX_WEIGHTS = MAX_CHANNELS * 5 * 5 };

typedef struct setting {
    posenc_conv_params params;
    posenc_conv_grid grid;
    float weights[MAX_WEIGHTS], bias[MAX_CHANNELS];
    int has_bias;
    posenc_conv *conv;
    int64_t n_tokens, n_batch, height, pad_y, pad_x; /* height: of the kernel */
} setting;

static void draw(setting *s) {
    int64_t n_channels = truth_below(10) ? 1 + truth_below(40) : 257 + truth_below(60); /* more than one slice of 256 */
    s->params = (posenc_conv_params){.n_channels = n_channels, .n_dims = 1 + (int)truth_below(2)};
    s->params.is_causal = s->params.n_dims == 1 && truth_below(2);
    s->params.kernel = s->params.is_causal ? 1 + truth_below(8) : 1 + 2 * truth_below(3);
    s->params.has_residual = (int)truth_below(2);
    s->grid = (posenc_conv_grid){truth_below(3), s->params.n_dims == 1 ? 1 : 1 + truth_below(6), 1 + truth_below(8)};
    s->height = s->params.n_dims == 2 ? s->params.kernel : 1;
    s->pad_y = (s->height - 1) / 2;
    s->pad_x = s->params.is_causal ? s->params.kernel - 1 : (s->params.kernel - 1) / 2;
    s->n_tokens = s->grid.n_prefix + s->grid.height * s->grid.width;
    s->n_batch = 1 + truth_below(3);
    s->has_bias = (int)truth_below(2);
    truth_fill(s->weights, (size_t)(s->params.n_channels * s->height * s->params.kernel));
    truth_fill(s->bias, (size_t)s->params.n_channels);
    truth_ok(posenc_conv_create(&s->params, s->weights, s->has_bias ? s->bias : NULL, &s->conv));
}

static double weight(const setting *s, int64_t c, int64_t uy, int64_t ux) {
    return (double)s->weights[(c * s->height + uy) * s->params.kernel + ux];
}

/* Token of x that tap (uy, ux) of a token reads, or -1. */
static int64_t partner(const setting *s, int64_t token, int64_t uy, int64_t ux) {
    int64_t at = token - s->grid.n_prefix, y = at / s->grid.width + uy - s->pad_y,
            x = at % s->grid.width + ux - s->pad_x;
    return y < 0 || y >= s->grid.height || x < 0 || x >= s->grid.width ? -1 : s->grid.n_prefix + y * s->grid.width + x;
}

/* for every tap */
#define EACH_TAP(s, uy, ux)                                                                                            \
    for (int64_t uy = 0; uy < (s)->height; uy++)                                                                       \
        for (int64_t ux = 0; ux < (s)->params.kernel; ux++)

static double plain_value(const setting *s, const posenc_view *x, int64_t c, int64_t token, int64_t b) {
    double own = (double)truth_get(x, c, token, b, 0), sum = s->has_bias ? (double)s->bias[c] : 0.0;
    if (token < s->grid.n_prefix)
        return own;
    EACH_TAP(s, uy, ux) {
        int64_t from = partner(s, token, uy, ux);
        if (from >= 0)
            sum += weight(s, c, uy, ux) * (double)truth_get(x, c, from, b, 0);
    }
    return s->params.has_residual ? sum + own : sum;
}

static void check_forward(const setting *s, posenc_dtype x_type, posenc_dtype y_type) {
    int64_t ne[4] = {s->params.n_channels, s->n_tokens, s->n_batch, 1};
    truth_tensor x = truth_tensor_random_of(x_type, ne), y = truth_tensor_random_of(y_type, ne);
    truth_tensor single = truth_tensor_random(ne), first = truth_tensor_dense(ne[0], ne[1], ne[2], 1);
    for (int tier = -1, n = 0; truth_next_tier(&tier); n++) {
        int64_t rows = s->n_tokens * s->n_batch, cut = truth_below(rows + 1);
        truth_ok(posenc_conv_apply(s->conv, s->grid, &x.view, &single.view, posenc_range_all()));
        truth_ok(posenc_conv_apply(s->conv, s->grid, &x.view, &y.view, (posenc_range){cut, rows}));
        truth_ok(posenc_conv_apply(s->conv, s->grid, &x.view, &y.view, (posenc_range){0, cut}));
        if (n == 0)
            truth_copy(&single.view, &first.view);
        truth_same_views(&single.view, &first.view, "tiers differ");
        truth_rounded_views(&y.view, &single.view, "rounded once");
        truth_nothing_else_changed(&y, 0, ne[0], "convolution");
        truth_nothing_changed(&x, "x");
    }
    TRUTH_EACH(&first.view, c, t, b, l)
    truth_close((double)*truth_at(&first.view, c, t, b, l), plain_value(s, &x.view, c, t, b), 2e-5, "convolution");
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&single);
    truth_tensor_free(&first);
}

static double inner_product(const posenc_view *a, const posenc_view *b) {
    double sum = 0.0;
    TRUTH_EACH(a, i, j, k, l)
    sum += (double)*truth_at(a, i, j, k, l) * (double)*truth_at(b, i, j, k, l);
    return sum;
}

/* <conv(x) - conv(0), dy> = <x, dx>, and dw and db from their sums. */
static void check_gradients(const setting *s) {
    int64_t ne[4] = {s->params.n_channels, s->n_tokens, s->n_batch, 1}, taps = s->height * s->params.kernel;
    truth_tensor x = truth_tensor_random(ne), dy = truth_tensor_random(ne), dx = truth_tensor_random(ne);
    truth_tensor y = truth_tensor_random(ne), at_zero = truth_tensor_random(ne),
                 zero = truth_tensor_dense(ne[0], ne[1], ne[2], 1);
    float *dw = calloc((size_t)(ne[0] * taps), sizeof(float)), *db = calloc((size_t)ne[0], sizeof(float));
    TRUTH_EACH(&zero.view, i, j, k, l)
    *truth_at(&zero.view, i, j, k, l) = 0.0f;
    truth_ok(posenc_conv_apply(s->conv, s->grid, &x.view, &y.view, posenc_range_all()));
    truth_ok(posenc_conv_apply(s->conv, s->grid, &zero.view, &at_zero.view, posenc_range_all()));
    truth_ok(posenc_conv_backward_input(s->conv, s->grid, &dy.view, &dx.view, posenc_range_all()));
    truth_close(inner_product(&y.view, &dy.view) - inner_product(&at_zero.view, &dy.view),
                inner_product(&x.view, &dx.view), 1e-3, "transpose");
    int64_t cut = truth_below(taps + 1);
    truth_ok(posenc_conv_backward_weights(s->conv, s->grid, &x.view, &dy.view, dw, db, (posenc_range){cut, taps}));
    truth_ok(posenc_conv_backward_weights(s->conv, s->grid, &x.view, &dy.view, dw, db, (posenc_range){0, cut}));
    for (int64_t c = 0; c < ne[0]; c++) {
        double bias = 0.0;
        for (int64_t b = 0; b < ne[2]; b++)
            for (int64_t t = s->grid.n_prefix; t < ne[1]; t++)
                bias += (double)*truth_at(&dy.view, c, t, b, 0);
        truth_close((double)db[c], bias, 1e-4, "db, channel %d", (int)c);
        EACH_TAP(s, uy, ux) {
            double sum = 0.0;
            for (int64_t b = 0; b < ne[2]; b++)
                for (int64_t t = s->grid.n_prefix; t < ne[1]; t++) {
                    int64_t from = partner(s, t, uy, ux);
                    if (from >= 0)
                        sum += (double)*truth_at(&dy.view, c, t, b, 0) * (double)*truth_at(&x.view, c, from, b, 0);
                }
            truth_close((double)dw[c * taps + uy * s->params.kernel + ux], sum, 1e-4, "dw, channel %d", (int)c);
        }
    }
    free(dw);
    free(db);
    truth_tensor *all[] = {&x, &dy, &dx, &y, &at_zero, &zero};
    for (int i = 0; i < 6; i++)
        truth_tensor_free(all[i]);
}

static void test_convolutions(void **state) {
    (void)state;
    static setting s;
    for (int round = 0; round < 300; round++) {
        draw(&s);
        check_forward(&s, (posenc_dtype)truth_below(3), (posenc_dtype)truth_below(3));
        check_gradients(&s);
        posenc_conv_free(s.conv);
    }
}

/* Gradients of the weights have the same bits on every tier; more channels than are summed at a time. */
static void test_bits_of_gradients(void **state) {
    (void)state;
    enum { CHANNELS = 1100, TOKENS = 150, KERNEL = 3 };
    static float weights[CHANNELS * KERNEL], first[CHANNELS * KERNEL], dw[CHANNELS * KERNEL];
    posenc_conv_params params = {.n_channels = CHANNELS, .n_dims = 1, .kernel = KERNEL};
    posenc_conv_grid grid = {1, 1, TOKENS - 1};
    posenc_conv *conv;
    truth_ok(posenc_conv_create(&params, weights, NULL, &conv));
    truth_tensor x = truth_tensor_dense(CHANNELS, TOKENS, 1, 1), dy = truth_tensor_dense(CHANNELS, TOKENS, 1, 1);
    for (int tier = -1, n = 0; truth_next_tier(&tier); n++) {
        for (int i = 0; i < CHANNELS * KERNEL; i++)
            dw[i] = 0.25f;
        truth_ok(posenc_conv_backward_weights(conv, grid, &x.view, &dy.view, dw, NULL, posenc_range_all()));
        for (int i = 0; n == 0 && i < CHANNELS * KERNEL; i++)
            first[i] = dw[i];
        truth_same_bits(dw, first, CHANNELS * KERNEL, "dw");
    }
    double sum = 0.25;
    for (int64_t t = 1; t < TOKENS - 1; t++) /* the last tap of the last channel */
        sum +=
            (double)*truth_at(&dy.view, CHANNELS - 1, t, 0, 0) * (double)*truth_at(&x.view, CHANNELS - 1, t + 1, 0, 0);
    truth_close((double)dw[CHANNELS * KERNEL - 1], sum, 1e-4, "dw");
    truth_tensor_free(&x);
    truth_tensor_free(&dy);
    posenc_conv_free(conv);
}

/* Gradients of zeros are exactly 0. */
static void test_gradients_of_nothing(void **state) {
    (void)state;
    enum { CHANNELS = 3, TOKENS = 5, KERNEL = 3 };
    const float weights[CHANNELS * KERNEL] = {0.0f}, zeros[CHANNELS * TOKENS] = {0.0f};
    float dw[CHANNELS * KERNEL] = {0.0f}, db[CHANNELS] = {0.0f};
    posenc_conv_params params = {.n_channels = CHANNELS, .n_dims = 1, .kernel = KERNEL};
    posenc_conv *conv;
    truth_ok(posenc_conv_create(&params, weights, NULL, &conv));
    posenc_view x = posenc_view_dense((void *)(uintptr_t)zeros, POSENC_F32, CHANNELS, TOKENS, 1, 1);
    truth_ok(posenc_conv_backward_weights(conv, (posenc_conv_grid){0, 1, TOKENS}, &x, &x, dw, db, posenc_range_all()));
    truth_same_bits(dw, zeros, CHANNELS * KERNEL, "dw");
    truth_same_bits(db, zeros, CHANNELS, "db");
    posenc_conv_free(conv);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_convolutions), truth_test(test_bits_of_gradients),
                                       truth_test(test_gradients_of_nothing)};
    return truth_run(tests);
}
