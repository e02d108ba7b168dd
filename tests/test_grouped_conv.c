/* SPDX-License-Identifier: MIT */
/* Grouped convolution over tokens (FORMULAS A.24) against plain loops: the order that the header states bit for bit,
 * the formula in double, and the gradients, which are the transposes. */
#include "truth.h"
#include "truth_half.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>

typedef struct setting {
    posenc_grouped_conv_params params;
    int64_t width, n_tokens, n_batch;
    float *weights, *bias;
    int has_bias;
    posenc_grouped_conv *conv;
} setting;

static size_t weight_count(const setting *s) {
    return (size_t)(s->params.kernel * s->width * s->params.n_channels);
}

static setting setting_of(int64_t n_groups, int64_t width, int64_t kernel, int64_t n_tokens) {
    setting s = {
        .params = {.n_channels = n_groups * width, .n_groups = n_groups, .kernel = kernel, .has_backward = 1},
        .width = width,
        .n_tokens = n_tokens,
        .n_batch = 1 + truth_below(3),
        .has_bias = (int)truth_below(2),
    };
    s.weights = malloc(weight_count(&s) * sizeof(float));
    s.bias = malloc((size_t)s.params.n_channels * sizeof(float));
    assert_true(s.weights != NULL && s.bias != NULL);
    truth_fill(s.weights, weight_count(&s));
    truth_fill(s.bias, (size_t)s.params.n_channels);
    truth_ok(posenc_grouped_conv_create(&s.params, s.weights, s.has_bias ? s.bias : NULL, &s.conv));
    return s;
}

static void setting_free(setting *s) {
    posenc_grouped_conv_free(s->conv);
    free(s->weights);
    free(s->bias);
}

/* Weight of tap u, from channel i of a group to channel c of the tensor. */
static float weight(const setting *s, int64_t u, int64_t i, int64_t c) {
    return s->weights[(u * s->width + i) * s->params.n_channels + c];
}

/* As the header states it, in float32. */
static float ordered_value(const setting *s, const posenc_view *x, int64_t c, int64_t t, int64_t b) {
    int64_t group = c / s->width * s->width;
    float sum = s->has_bias ? s->bias[c] : 0.0f;
    for (int64_t u = 0; u < s->params.kernel; u++) {
        int64_t from = t + u - s->params.kernel / 2;
        float tap = 0.0f;
        if (from < 0 || from >= s->n_tokens)
            continue;
        for (int64_t i = 0; i < s->width; i++)
            tap = fmaf(truth_get(x, group + i, from, b, 0), weight(s, u, i, c), tap);
        sum += tap;
    }
    return sum;
}

static double plain_value(const setting *s, const posenc_view *x, int64_t c, int64_t t, int64_t b) {
    double sum = s->has_bias ? (double)s->bias[c] : 0.0;
    for (int64_t from = 0; from < s->n_tokens; from++) {
        int64_t u = from - t + s->params.kernel / 2;
        for (int64_t i = 0; u >= 0 && u < s->params.kernel && i < s->width; i++)
            sum += (double)weight(s, u, i, c) * (double)truth_get(x, c - c % s->width + i, from, b, 0);
    }
    return sum;
}

static void check_forward(const setting *s, posenc_dtype x_type, posenc_dtype y_type) {
    int64_t ne[4] = {s->params.n_channels, s->n_tokens, s->n_batch, 1};
    truth_tensor x = truth_tensor_random_of(x_type, ne), y = truth_tensor_random_of(y_type, ne);
    truth_tensor single = truth_tensor_random(ne);
    for (int tier = -1; truth_next_tier(&tier);) {
        int64_t rows = s->n_tokens * s->n_batch, cut = truth_below(rows + 1);
        truth_ok(posenc_grouped_conv_apply(s->conv, &x.view, &single.view, posenc_range_all()));
        truth_ok(posenc_grouped_conv_apply(s->conv, &x.view, &y.view, (posenc_range){cut, rows}));
        truth_ok(posenc_grouped_conv_apply(s->conv, &x.view, &y.view, (posenc_range){0, cut}));
        TRUTH_EACH(&single.view, c, t, b, l) {
            float want = ordered_value(s, &x.view, c, t, b);
            truth_same_bits(truth_at(&single.view, c, t, b, l), &want, 1, "order");
        }
        truth_rounded_views(&y.view, &single.view, "rounded once");
        truth_nothing_else_changed(&y, 0, ne[0], "grouped convolution");
        truth_nothing_changed(&x, "x");
    }
    double bound = 1e-6 * (double)(s->width + s->params.kernel);
    TRUTH_EACH(&single.view, c, t, b, l)
    truth_close((double)*truth_at(&single.view, c, t, b, l), plain_value(s, &x.view, c, t, b), bound, "convolution");
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&single);
}

static double plain_dx(const setting *s, const posenc_view *dy, int64_t c, int64_t t, int64_t b) {
    int64_t i = c % s->width, group = c - i;
    double sum = 0.0;
    for (int64_t u = 0; u < s->params.kernel; u++) {
        int64_t to = t - u + s->params.kernel / 2;
        for (int64_t o = 0; to >= 0 && to < s->n_tokens && o < s->width; o++)
            sum += (double)weight(s, u, i, group + o) * (double)truth_get(dy, group + o, to, b, 0);
    }
    return sum;
}

static double plain_dw(const setting *s, const posenc_view *x, const posenc_view *dy, int64_t u, int64_t i, int64_t c) {
    double sum = 0.0;
    for (int64_t b = 0; b < s->n_batch; b++)
        for (int64_t t = 0; t < s->n_tokens; t++) {
            int64_t from = t + u - s->params.kernel / 2;
            if (from >= 0 && from < s->n_tokens)
                sum += (double)truth_get(x, c - c % s->width + i, from, b, 0) * (double)truth_get(dy, c, t, b, 0);
        }
    return sum;
}

static void check_weights(const setting *s, const posenc_view *x, const posenc_view *dy, double bound) {
    int64_t n = s->params.n_channels, taps = s->params.kernel, cut = truth_below(taps + 1);
    float *dw = malloc(weight_count(s) * sizeof(float)), *db = malloc((size_t)n * sizeof(float));
    assert_true(dw != NULL && db != NULL);
    for (size_t k = 0; k < weight_count(s); k++)
        dw[k] = 0.5f; /* to be added to */
    for (int64_t c = 0; c < n; c++)
        db[c] = -0.25f;
    truth_ok(posenc_grouped_conv_backward_weights(s->conv, x, dy, dw, db, (posenc_range){cut, taps}));
    truth_ok(posenc_grouped_conv_backward_weights(s->conv, x, dy, dw, db, (posenc_range){0, cut}));
    for (int64_t u = 0; u < taps; u++)
        for (int64_t i = 0; i < s->width; i++)
            for (int64_t c = 0; c < n; c++)
                truth_close((double)dw[(u * s->width + i) * n + c], 0.5 + plain_dw(s, x, dy, u, i, c), bound, "dw");
    for (int64_t c = 0; c < n; c++) {
        double sum = -0.25;
        for (int64_t b = 0; b < s->n_batch; b++)
            for (int64_t t = 0; t < s->n_tokens; t++)
                sum += (double)truth_get(dy, c, t, b, 0);
        truth_close((double)db[c], sum, bound, "db");
    }
    free(dw);
    free(db);
}

static void check_gradients(const setting *s) {
    int64_t ne[4] = {s->params.n_channels, s->n_tokens, s->n_batch, 1};
    truth_tensor x = truth_tensor_random(ne), dy = truth_tensor_random(ne);
    truth_tensor dx = truth_tensor_random_of((posenc_dtype)truth_below(3), ne), single = truth_tensor_random(ne);
    double bound = 1e-6 * (double)(s->width + s->params.kernel + s->n_tokens * s->n_batch);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_grouped_conv_backward_input(s->conv, &dy.view, &single.view, posenc_range_all()));
        truth_ok(posenc_grouped_conv_backward_input(s->conv, &dy.view, &dx.view, posenc_range_all()));
        TRUTH_EACH(&single.view, c, t, b, l)
        truth_close((double)*truth_at(&single.view, c, t, b, l), plain_dx(s, &dy.view, c, t, b), bound, "dx");
        truth_rounded_views(&dx.view, &single.view, "rounded once");
        truth_nothing_else_changed(&dx, 0, ne[0], "gradient");
        check_weights(s, &x.view, &dy.view, bound);
    }
    truth_tensor *all[] = {&x, &dy, &dx, &single};
    for (int k = 0; k < 4; k++)
        truth_tensor_free(all[k]);
}

static void test_convolutions(void **state) {
    (void)state;
    static const int64_t widths[] = {1, 2, 6, 31, 33, 48, 70, 130}; /* panels of 32, 64 channels at a time */
    for (int round = 0; round < 40; round++) {
        int64_t width = widths[round % 8], kernel = round % 5 == 0 ? 19 : 1 + truth_below(9);
        setting s = setting_of(width > 40 ? 1 + truth_below(2) : 1 + truth_below(4), width, kernel,
                               round % 3 == 0 ? 20 + truth_below(40) : 1 + truth_below(12));
        check_forward(&s, (posenc_dtype)truth_below(3), (posenc_dtype)truth_below(3));
        check_gradients(&s);
        setting_free(&s);
    }
}

/* The published kernel of 128 taps, over fewer tokens and more. */
static void test_published_kernel(void **state) {
    (void)state;
    for (int64_t n_tokens = 1; n_tokens < 300; n_tokens = n_tokens * 7 + 3) {
        setting s = setting_of(2, 6, 128, n_tokens);
        check_forward(&s, POSENC_F32, POSENC_F32);
        check_gradients(&s);
        setting_free(&s);
    }
}

/* Tokens out of reach, and other groups, do not matter, NaN or not. */
static void test_reach(void **state) {
    (void)state;
    enum { TOKENS = 30, AT = 15, WIDTH = 3, KERNEL = 8 };
    setting s = setting_of(3, WIDTH, KERNEL, TOKENS);
    truth_tensor x = truth_tensor_dense(3 * WIDTH, TOKENS, 1, 1), y = truth_tensor_dense(3 * WIDTH, TOKENS, 1, 1);
    TRUTH_EACH(&x.view, c, t, b, l)
    *truth_at(&x.view, c, t, b, l) = t == AT && c / WIDTH == 1 ? NAN : 1.0f;
    truth_ok(posenc_grouped_conv_apply(s.conv, &x.view, &y.view, posenc_range_all()));
    TRUTH_EACH(&y.view, c, t, b, l) {
        int reaches = c / WIDTH == 1 && AT - t >= -KERNEL / 2 && AT - t < KERNEL / 2;
        assert_int_equal(!!isnan(*truth_at(&y.view, c, t, b, l)), reaches);
    }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    setting_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_convolutions), truth_test(test_published_kernel),
                                       truth_test(test_reach)};
    return truth_run(tests);
}
