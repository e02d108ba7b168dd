/* SPDX-License-Identifier: MIT */
/* Convolutions: every parameter of every call, bad. */
#include "truth_errors.h"

#include <limits.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Grids of more tokens than memory holds, which tensors without channels have: up to the limits, and one beyond. */
static void test_huge_grids(void) {
    const int64_t most = (int64_t)1 << 46, side = (int64_t)1 << 23, last = INT32_MAX;
    const struct {
        posenc_conv_grid grid;
        posenc_status want;
    } rows[] = {
        {{0, side, side}, POSENC_OK}, {{0, side, side + 1}, POSENC_ERR_SHAPE},
        {{most, 0, 0}, POSENC_OK},    {{most + 1, 0, 0}, POSENC_ERR_SHAPE},
        {{0, last, 1}, POSENC_OK},    {{0, last + 1, 1}, POSENC_ERR_SHAPE},
        {{0, 1, last}, POSENC_OK},    {{0, 1, last + 1}, POSENC_ERR_SHAPE},
    };
    const posenc_conv_params params = {0, 2, 3, 0, 1};
    posenc_conv *conv;
    truth_ok(posenc_conv_create(&params, NULL, NULL, &conv));
    for (size_t i = 0; i < COUNT(rows); i++) {
        posenc_conv_grid g = rows[i].grid;
        posenc_view x = posenc_view_dense(NULL, POSENC_F32, 0, g.n_prefix + g.height * g.width, 1, 1);
        RETURNS(rows[i].want, posenc_conv_apply, conv, g, &x, &x, posenc_range_all());
    }
    posenc_conv_free(conv);
}

void test_conv(void **state) {
    (void)state;
    static const float weights[DIM * 9];
    const struct {
        posenc_conv_params params;
        posenc_status want;
    } bad[] = {
        {{-1, 1, 3, 0, 1}, POSENC_ERR_HEAD_DIM},       {{((int64_t)1 << 21) + 1, 1, 3, 0, 1}, POSENC_ERR_HEAD_DIM},
        {{DIM, 0, 3, 0, 1}, POSENC_ERR_SECTIONS},      {{DIM, 3, 3, 0, 1}, POSENC_ERR_SECTIONS},
        {{DIM, 2, 3, 1, 1}, POSENC_ERR_ENUM},          {{DIM, 1, 0, 0, 1}, POSENC_ERR_SHAPE},
        {{DIM, 1, 2, 0, 1}, POSENC_ERR_SHAPE},         {{DIM, 1, 33, 0, 1}, POSENC_ERR_SHAPE},
        {{DIM, 1, 32, 1, 1}, POSENC_ERR_SHAPE},        {{DIM, 2, 17, 0, 1}, POSENC_ERR_SHAPE},
        {{DIM, 1, INT64_MIN, 0, 1}, POSENC_ERR_SHAPE},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        CREATES_NOTHING(posenc_conv, bad[i].want, posenc_conv_create, &bad[i].params, weights, NULL);
    posenc_conv_params params = {DIM, 2, 3, 0, 1};
    RETURNS(POSENC_ERR_NULL, posenc_conv_create, &params, weights, NULL, NULL);
    CREATES_NOTHING(posenc_conv, POSENC_ERR_NULL, posenc_conv_create, NULL, weights, NULL);
    CREATES_NOTHING(posenc_conv, POSENC_ERR_NULL, posenc_conv_create, &params, NULL, NULL);
    CREATES_NOTHING(posenc_conv, POSENC_ERR_STRIDE, posenc_conv_create, &params, shifted(weights, 1), NULL);
    CREATES_NOTHING(posenc_conv, POSENC_ERR_STRIDE, posenc_conv_create, &params, weights, shifted(weights, 2));
    posenc_conv *conv, *line;
    truth_ok(posenc_conv_create(&params, weights, NULL, &conv));
    params.n_dims = 1;
    truth_ok(posenc_conv_create(&params, weights, NULL, &line));
    name("posenc_conv_free");
    posenc_conv_free(NULL);

    posenc_view x = posenc_view_dense(in, POSENC_F32, DIM, TOKENS, BATCH, 1), y = x, half, close = x;
    posenc_conv_grid grid = {0, 2, 2};
    posenc_range all = posenc_range_all();
    float *dw = rows_a, *db = rows_b;
    y.data = out;
    close.data = in + DIM;
    half = posenc_view_dense(in, POSENC_F16, DIM, TOKENS, BATCH, 1);
    static const posenc_conv_grid grids[] = {{1, 2, 2},
                                             {-1, 1, 5},
                                             {0, -2, -2},
                                             {0, 2, 3},
                                             {TOKENS + 3, 1, -3},
                                             {TOKENS + 3, -1, 3},
                                             {INT64_MAX, 1, 1},
                                             {0, INT64_MAX, INT64_MAX},
                                             {4, INT32_MAX, INT32_MAX},
                                             {INT64_MIN, 0, 0}};
#define BOTH(status, ...)                                                                                              \
    do {                                                                                                               \
        RETURNS(status, posenc_conv_apply, __VA_ARGS__);                                                               \
        RETURNS(status, posenc_conv_backward_input, __VA_ARGS__);                                                      \
    } while (0)
    for (size_t i = 0; i < COUNT(grids); i++) {
        BOTH(POSENC_ERR_SHAPE, conv, grids[i], &x, &y, all);
        RETURNS(POSENC_ERR_SHAPE, posenc_conv_backward_weights, conv, grids[i], &x, &y, dw, db, all);
    }
    BOTH(POSENC_ERR_SHAPE, line, grid, &x, &y, all);
    BOTH(POSENC_ERR_NULL, NULL, grid, &x, &y, all);
    BOTH(POSENC_ERR_NULL, conv, grid, NULL, &y, all);
    BOTH(POSENC_ERR_NULL, conv, grid, &x, NULL, all);
    BOTH(POSENC_ERR_OVERLAP, conv, grid, &x, &x, all);
    BOTH(POSENC_ERR_OVERLAP, conv, grid, &x, &close, all);
    BOTH(POSENC_ERR_ROWS, conv, grid, &x, &y, (posenc_range){0, TOKENS * BATCH + 1});
    RETURNS(POSENC_ERR_NULL, posenc_conv_backward_weights, NULL, grid, &x, &y, dw, db, all);
    RETURNS(POSENC_ERR_NULL, posenc_conv_backward_weights, conv, grid, NULL, &y, dw, db, all);
    RETURNS(POSENC_ERR_NULL, posenc_conv_backward_weights, conv, grid, &x, NULL, dw, db, all);
    RETURNS(POSENC_ERR_NULL, posenc_conv_backward_weights, conv, grid, &x, &y, NULL, db, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_conv_backward_weights, conv, grid, &x, &y, shifted(dw, 2), db, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_conv_backward_weights, conv, grid, &x, &y, dw, shifted(db, 1), all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_conv_backward_weights, conv, grid, &x, &y, in, db, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_conv_backward_weights, conv, grid, &x, &y, out, db, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_conv_backward_weights, conv, grid, &x, &y, dw, dw + DIM * 9 - 1, all);
    RETURNS(POSENC_ERR_DTYPE, posenc_conv_backward_weights, conv, grid, &half, &y, dw, db, all);
    RETURNS(POSENC_ERR_DTYPE, posenc_conv_backward_weights, conv, grid, &y, &half, dw, db, all);
    RETURNS(POSENC_ERR_ROWS, posenc_conv_backward_weights, conv, grid, &x, &y, dw, db, (posenc_range){0, 10});
    y.ne[0] = DIM - 1;
    BOTH(POSENC_ERR_SHAPE, conv, grid, &x, &y, all);
    test_huge_grids();
    posenc_conv_free(conv);
    posenc_conv_free(line);
}

/* ---- In groups ---- */

static void test_grouped_params(void) {
    enum { MOST = 1 << 21 };
    static const float weights[DIM * DIM * 3];
    static const struct {
        posenc_grouped_conv_params params;
        posenc_status want;
    } bad[] = {
        {{-1, 1, 3, 0}, POSENC_ERR_HEAD_DIM},
        {{MOST + 1, 1, 3, 0}, POSENC_ERR_HEAD_DIM},
        {{DIM, 0, 3, 0}, POSENC_ERR_SHAPE},
        {{DIM, -2, 3, 0}, POSENC_ERR_SHAPE},
        {{DIM, 3, 3, 0}, POSENC_ERR_SHAPE},
        {{DIM, 2 * DIM, 3, 0}, POSENC_ERR_SHAPE},
        {{0, MOST + 1, 3, 0}, POSENC_ERR_SHAPE},
        {{DIM, 2, 0, 0}, POSENC_ERR_SHAPE},
        {{DIM, 2, INT64_MIN, 0}, POSENC_ERR_SHAPE},
        {{DIM, 2, POSENC_MAX_GROUPED_KERNEL + 1, 0}, POSENC_ERR_SHAPE},
#if SIZE_MAX < UINT64_MAX
        {{MOST, 1, POSENC_MAX_GROUPED_KERNEL, 0}, POSENC_ERR_MEMORY},
#endif
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        CREATES_NOTHING(posenc_grouped_conv, bad[i].want, posenc_grouped_conv_create, &bad[i].params, weights, NULL);
    const posenc_grouped_conv_params params = {DIM, 2, 3, 0};
    RETURNS(POSENC_ERR_NULL, posenc_grouped_conv_create, &params, weights, NULL, NULL);
    CREATES_NOTHING(posenc_grouped_conv, POSENC_ERR_NULL, posenc_grouped_conv_create, NULL, weights, NULL);
    CREATES_NOTHING(posenc_grouped_conv, POSENC_ERR_NULL, posenc_grouped_conv_create, &params, NULL, NULL);
    CREATES_NOTHING(posenc_grouped_conv, POSENC_ERR_STRIDE, posenc_grouped_conv_create, &params, shifted(weights, 1),
                    NULL);
    CREATES_NOTHING(posenc_grouped_conv, POSENC_ERR_STRIDE, posenc_grouped_conv_create, &params, weights,
                    shifted(weights, 2));
    const posenc_grouped_conv_params none = {0, MOST, 3, 1};
    posenc_grouped_conv *empty;
    truth_ok(posenc_grouped_conv_create(&none, NULL, NULL, &empty));
    posenc_view nothing = posenc_view_dense(NULL, POSENC_F32, 0, 3, 1, 1);
    RETURNS(POSENC_OK, posenc_grouped_conv_apply, empty, &nothing, &nothing, posenc_range_all());
    RETURNS(POSENC_OK, posenc_grouped_conv_backward_input, empty, &nothing, &nothing, posenc_range_all());
    posenc_grouped_conv_free(empty);
    name("posenc_grouped_conv_free");
    posenc_grouped_conv_free(NULL);
}

static void test_grouped_weights(const posenc_grouped_conv *conv, const posenc_view *x, const posenc_view *dy) {
    posenc_range all = posenc_range_all();
    float *dw = rows_a, *db = rows_b;
    posenc_view half = posenc_view_dense(in, POSENC_F16, DIM, TOKENS, BATCH, 1), fewer = *dy;
    fewer.ne[1]--;
    RETURNS(POSENC_ERR_NULL, posenc_grouped_conv_backward_weights, NULL, x, dy, dw, db, all);
    RETURNS(POSENC_ERR_NULL, posenc_grouped_conv_backward_weights, conv, NULL, dy, dw, db, all);
    RETURNS(POSENC_ERR_NULL, posenc_grouped_conv_backward_weights, conv, x, NULL, dw, db, all);
    RETURNS(POSENC_ERR_NULL, posenc_grouped_conv_backward_weights, conv, x, dy, NULL, db, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_grouped_conv_backward_weights, conv, x, dy, shifted(dw, 2), db, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_grouped_conv_backward_weights, conv, x, dy, dw, shifted(db, 1), all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_grouped_conv_backward_weights, conv, x, dy, in, db, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_grouped_conv_backward_weights, conv, x, dy, dw, out, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_grouped_conv_backward_weights, conv, x, dy, dw, dw + 3 * DIM * DIM / 2 - 1, all);
    RETURNS(POSENC_ERR_DTYPE, posenc_grouped_conv_backward_weights, conv, &half, dy, dw, db, all);
    RETURNS(POSENC_ERR_DTYPE, posenc_grouped_conv_backward_weights, conv, x, &half, dw, db, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_grouped_conv_backward_weights, conv, x, &fewer, dw, db, all);
    RETURNS(POSENC_ERR_ROWS, posenc_grouped_conv_backward_weights, conv, x, dy, dw, db, (posenc_range){0, 4});
}

void test_grouped_conv(void **state) {
    (void)state;
    test_grouped_params();
    static const float weights[DIM * DIM * 3];
    posenc_grouped_conv_params params = {DIM, 2, 3, 1};
    posenc_grouped_conv *conv, *forward_only;
    truth_ok(posenc_grouped_conv_create(&params, weights, NULL, &conv));
    params.has_backward = 0;
    truth_ok(posenc_grouped_conv_create(&params, weights, NULL, &forward_only));
    posenc_view x = posenc_view_dense(in, POSENC_F32, DIM, TOKENS, BATCH, 1), y = x, close = x, narrow, volume;
    posenc_range all = posenc_range_all();
    y.data = out;
    close.data = in + DIM;
    narrow = y;
    narrow.ne[0]--;
    volume = posenc_view_dense(out, POSENC_F32, DIM, 2, 2, BATCH);
#define BOTH_WAYS(status, ...)                                                                                         \
    do {                                                                                                               \
        RETURNS(status, posenc_grouped_conv_apply, __VA_ARGS__);                                                       \
        RETURNS(status, posenc_grouped_conv_backward_input, __VA_ARGS__);                                              \
    } while (0)
    BOTH_WAYS(POSENC_ERR_NULL, NULL, &x, &y, all);
    BOTH_WAYS(POSENC_ERR_NULL, conv, NULL, &y, all);
    BOTH_WAYS(POSENC_ERR_NULL, conv, &x, NULL, all);
    BOTH_WAYS(POSENC_ERR_OVERLAP, conv, &x, &x, all);
    BOTH_WAYS(POSENC_ERR_OVERLAP, conv, &x, &close, all);
    BOTH_WAYS(POSENC_ERR_SHAPE, conv, &x, &narrow, all);
    BOTH_WAYS(POSENC_ERR_SHAPE, conv, &narrow, &narrow, all);
    BOTH_WAYS(POSENC_ERR_SHAPE, conv, &volume, &volume, all);
    BOTH_WAYS(POSENC_ERR_ROWS, conv, &x, &y, (posenc_range){0, TOKENS * BATCH + 1});
    RETURNS(POSENC_ERR_UNSET, posenc_grouped_conv_backward_input, forward_only, &x, &y, all);
    test_grouped_weights(conv, &x, &y);
    posenc_grouped_conv_free(conv);
    posenc_grouped_conv_free(forward_only);
}
