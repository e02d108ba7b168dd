/* SPDX-License-Identifier: MIT */
/* The Hadamard transform of heads: against the matrix in double, its own inverse, scalar products preserved, the same
 * for any types, strides and ranges, and in place. */
#include "truth_blocks.h"
#include "truth_half.h"
#include "truth_view.h"

#include <math.h>
#include <string.h>

#include "kernels/formats.h"

/* Entry (i, j) of H_n: -1 where i and j have an odd number of bits in common. */
static double entry(int64_t i, int64_t j) {
    int odd = 0;
    for (uint64_t both = (uint64_t)(i & j); both != 0; both &= both - 1)
        odd = !odd;
    return odd ? -1.0 : 1.0;
}

static double log_2(int64_t n) {
    return log2((double)n);
}

/* Each channel of y, which is what stands in the view of an output, within the header's bound and y's rounding. */
static void check_transform(const posenc_view *x, const posenc_view *y, int64_t n) {
    double unit = y->dtype == POSENC_F32 ? 0x1p-24 : y->dtype == POSENC_F16 ? 0x1p-11 : 0x1p-8;
    TRUTH_EACH(y, i, h, t, b) {
        double sum = 0.0, sizes = 0.0;
        for (int64_t j = 0; j < n; j++) {
            double value = (double)truth_get(x, i / n * n + j, h, t, b);
            sum += entry(i % n, j) * value;
            sizes += fabs(value);
        }
        double factor = 1.0 / sqrt((double)n), bound = (log_2(n) + 2.0) * 0x1p-24 * factor * sizes;
        if (y->dtype != POSENC_F32)
            bound += unit * (fabs(sum) * factor + bound) + 0x1p-25;
        truth_close((double)truth_get(y, i, h, t, b), factor * sum, bound, "n %lld, channel %lld", (long long)n,
                    (long long)i);
    }
}

static void test_matrix(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int64_t n = 2; n <= POSENC_MAX_HADAMARD; n *= 2)
            for (int round = 0; round < 9; round++) {
                int64_t blocks = 1 + truth_below(n <= 32 ? 7 : POSENC_MAX_HEAD_DIM / n);
                int64_t ne[4] = {blocks * n, 1 + truth_below(n < 64 ? 40 : 4), 1 + truth_below(3), 1 + truth_below(2)};
                truth_tensor x = truth_tensor_random_of((posenc_dtype)(round % 3), ne),
                             y = truth_tensor_random_of((posenc_dtype)(round / 3), ne);
                truth_ok(posenc_hadamard(&x.view, &y.view, n, posenc_range_all()));
                check_transform(&x.view, &y.view, n);
                truth_nothing_changed(&x, "input");
                truth_nothing_else_changed(&y, 0, ne[0], "beside the output");
                truth_tensor_free(&x);
                truth_tensor_free(&y);
            }
}

/* The statement's bits, out of place, in place, and in ranges. */
static void test_bits(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 200; round++) {
            int64_t n = (int64_t)2 << truth_below(9), blocks = 1 + truth_below(POSENC_MAX_HEAD_DIM / n);
            int64_t ne[4] = {blocks * n, 1 + truth_below(5), 1 + truth_below(3), 1 + truth_below(2)};
            truth_tensor x = truth_tensor_random_of((posenc_dtype)truth_below(3), ne);
            truth_tensor want = truth_tensor_random_of(x.view.dtype, ne);
            for (int64_t b = 0; b < ne[3]; b++)
                for (int64_t t = 0; t < ne[2]; t++)
                    for (int64_t h = 0; h < ne[1]; h++) {
                        float head[POSENC_MAX_HEAD_DIM];
                        for (int64_t i = 0; i < ne[0]; i++)
                            head[i] = truth_get(&x.view, i, h, t, b);
                        truth_transform(head, ne[0], n);
                        for (int64_t i = 0; i < ne[0]; i++)
                            truth_store(truth_address(&want.view, i, h, t, b), head[i], want.view.dtype);
                    }
            if (round % 2) {
                truth_ok(posenc_hadamard(&x.view, &x.view, n, posenc_range_all()));
            } else
                for (int64_t end = ne[1] * ne[2] * ne[3]; end > 0;) {
                    posenc_range rows = {end - truth_below(end + 1) % 7, end};
                    truth_ok(posenc_hadamard(&x.view, &x.view, n, rows));
                    end = rows.begin;
                }
            truth_same_views(&x.view, &want.view, "in place");
            truth_tensor_free(&x);
            truth_tensor_free(&want);
        }
}

/* Twice is not at all; q.k is what it was. */
static void test_inverse_and_products(void **state) {
    (void)state;
    enum { DIM = 512 };
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 100; round++) {
            float q[DIM], k[DIM], before[2][DIM];
            int64_t n = (int64_t)2 << truth_below(9);
            posenc_view q_view = posenc_view_dense(q, POSENC_F32, DIM, 1, 1, 1), k_view = q_view;
            k_view.data = k;
            truth_fill(q, DIM);
            truth_fill(k, DIM);
            memcpy(before[0], q, sizeof q);
            memcpy(before[1], k, sizeof k);
            truth_ok(posenc_hadamard(&q_view, &q_view, n, posenc_range_all()));
            truth_ok(posenc_hadamard(&k_view, &k_view, n, posenc_range_all()));
            double got = 0.0, want = 0.0, sizes = 0.0;
            for (int i = 0; i < DIM; i++) {
                got += (double)q[i] * (double)k[i];
                want += (double)before[0][i] * (double)before[1][i];
            }
            sizes = DIM * 4.0 * sqrt((double)n); /* |y_i| <= sqrt(n) max |x|, and max |x| is 2 */
            truth_close(got, want, 2.0 * (log_2(n) + 2.0) * 0x1p-24 * sizes, "q.k, n %lld", (long long)n);
            truth_ok(posenc_hadamard(&q_view, &q_view, n, posenc_range_all()));
            for (int i = 0; i < DIM; i++)
                truth_close((double)q[i], (double)before[0][i],
                            2.0 * (log_2(n) + 2.0) * 0x1p-24 * 2.0 * sqrt((double)n), "twice, n %lld", (long long)n);
        }
}

/* ---- Purpose of the transform: large channels of blocks; 8-bit floats beside them ---- */

enum { OUTLIER_DIM = 128, OUTLIER_TOKENS = 256, OUTLIER_SIZE = OUTLIER_TOKENS * OUTLIER_DIM };

/* Root of the mean squared error of a cache of that type. */
static double loss_of(const posenc_rope *rope, float *x, posenc_dtype type, int64_t hadamard) {
    static float back[OUTLIER_SIZE];
    static unsigned char blocks[OUTLIER_SIZE * 2];
    double sum = 0.0;
    posenc_rope_tensor v = {.x = posenc_view_dense(x, POSENC_F32, OUTLIER_DIM, 1, OUTLIER_TOKENS, 1),
                            .y = posenc_view_dense(blocks, type, OUTLIER_DIM, 1, OUTLIER_TOKENS, 1),
                            .scale = 1.0f,
                            .hadamard = hadamard};
    truth_ok(posenc_rope_apply_tensors(rope, &v, 1, NULL, NULL, POSENC_FORWARD, posenc_range_all()));
    for (int64_t i = 0; i < OUTLIER_SIZE; i++)
        back[i] = truth_is_blocks(type) ? (float)truth_read_block(blocks, i, type) : truth_load(blocks + i, type);
    posenc_view read = posenc_view_dense(back, POSENC_F32, OUTLIER_DIM, 1, OUTLIER_TOKENS, 1);
    if (hadamard > 0)
        truth_ok(posenc_hadamard(&read, &read, hadamard, posenc_range_all()));
    for (int i = 0; i < OUTLIER_SIZE; i++)
        sum += ((double)back[i] - (double)x[i]) * ((double)back[i] - (double)x[i]);
    return sqrt(sum / OUTLIER_SIZE);
}

/* Numbers of variance 1, and four channels of 128 that are about 20, each of one sign, as keys of language models
 * are. */
static void draw_keys(float *x, int has_outliers) {
    for (int i = 0; i < OUTLIER_SIZE; i++) {
        double sum = 0.0;
        for (int k = 0; k < 12; k++)
            sum += truth_uniform(-0.5, 0.5);
        if (has_outliers && i % TRUTH_BLOCK == 5)
            sum = (i % OUTLIER_DIM < OUTLIER_DIM / 2 ? 20.0 : -20.0) + 2.0 * sum;
        x[i] = (float)sum;
    }
}

static void test_outliers(void **state) {
    (void)state;
    static float plain[OUTLIER_SIZE], outliers[OUTLIER_SIZE];
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    posenc_rope *rope;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = OUTLIER_DIM;
    truth_ok(posenc_rope_create(&params, &rope));
    draw_keys(plain, 0);
    draw_keys(outliers, 1);
    print_message(
        "bytes of a block, and root of the mean squared error: normal numbers, outliers, with the transform\n");
    for (int type = POSENC_FLOAT_TYPES; type < POSENC_TYPES; type++) {
        double without = loss_of(rope, outliers, (posenc_dtype)type, 0),
               with = loss_of(rope, outliers, (posenc_dtype)type, OUTLIER_DIM);
        print_message("%d: %d, %.4f, %.4f, %.4f\n", type, posenc_block_bytes((posenc_dtype)type),
                      loss_of(rope, plain, (posenc_dtype)type, 0), without, with);
        assert_true(with < 0.7 * without || !truth_is_blocks((posenc_dtype)type));
    }
    posenc_rope_free(rope);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_matrix),
        truth_test(test_bits),
        truth_test(test_inverse_and_products),
        truth_test(test_outliers),
    };
    return truth_run(tests);
}
