/* SPDX-License-Identifier: MIT */
/* Biases of images against their formulas: Swin (FORMULAS C.20, E.4) and decomposed relative positions (C.21). */
#include "truth.h"
#include "truth_view.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Swin ---- */

/* As FORMULAS C.20 has it, a the query and b the key. */
static int64_t swin_row(int64_t height, int64_t width, int64_t a, int64_t b) {
    int64_t ya = a / width, xa = a % width, yb = b / width, xb = b % width;
    return (ya - yb + height - 1) * (2 * width - 1) + (xa - xb + width - 1);
}

typedef struct swin_case {
    int64_t height, width, n, n_rows, n_heads;
    posenc_bias_table table;
    float table_data[15 * 15 * 8];
} swin_case;

/* Sides 1 .. 7 and either layout. */
static void draw(swin_case *c) {
    c->height = 1 + truth_below(7);
    c->width = 1 + truth_below(7);
    c->n = c->height * c->width;
    c->n_rows = (2 * c->height - 1) * (2 * c->width - 1);
    c->n_heads = 1 + truth_below(4);
    c->table = (posenc_bias_table){c->table_data, c->n_rows, c->n_heads, c->n_heads, 1};
    if (truth_below(2))
        c->table = (posenc_bias_table){c->table_data, c->n_rows, c->n_heads, 1, c->n_rows};
    truth_fill(c->table_data, 15 * 15 * 8);
}

static float *table_at(const swin_case *c, int64_t row, int64_t head) {
    return c->table.data + row * c->table.row_stride + head * c->table.head_stride;
}

static void test_swin(void **state) {
    (void)state;
    static swin_case c;
    static int32_t index[49 * 49 + 1];
    for (int round = 0; round < 100; round++) {
        draw(&c);
        truth_tensor bias = truth_tensor_random((int64_t[4]){c.n, c.n, c.n_heads, 1});
        index[c.n * c.n] = 4711;
        truth_ok(posenc_swin_index(c.height, c.width, index));
        truth_ok(posenc_swin_bias(c.height, c.width, &c.table, &bias.view));
        assert_int_equal(index[c.n * c.n], 4711);
        for (int64_t a = 0; a < c.n; a++)
            for (int64_t b = 0; b < c.n; b++) {
                int64_t row = swin_row(c.height, c.width, a, b);
                assert_int_equal(index[a * c.n + b], row);
                for (int64_t h = 0; h < c.n_heads; h++)
                    truth_same_bits(truth_at(&bias.view, b, a, h, 0), table_at(&c, row, h), 1, "row %lld",
                                    (long long)row);
            }
        truth_nothing_else_changed(&bias, 0, c.n, "bias");
        truth_tensor_free(&bias);
    }
}

static void test_swin_gradient(void **state) {
    (void)state;
    static swin_case c;
    static double sums[15 * 15 * 8];
    for (int round = 0; round < 100; round++) {
        draw(&c);
        int64_t n_batch = 1 + truth_below(3);
        truth_tensor ds = truth_tensor_random((int64_t[4]){c.n, c.n, c.n_heads, n_batch});
        for (size_t i = 0; i < ds.n_elements; i += 2) /* what the order of the sum shows in */
            ((float *)ds.buffer)[i] *= truth_below(3) ? 1.0f : 0x1p60f;
        truth_mark(&ds);
        truth_ok(posenc_swin_backward(c.height, c.width, &ds.view, &c.table));
        memset(sums, 0, sizeof sums);
        TRUTH_EACH(&ds.view, b, a, h, batch)
        sums[swin_row(c.height, c.width, a, b) * c.n_heads + h] += (double)*truth_at(&ds.view, b, a, h, batch);
        for (int64_t i = 0; i < c.n_rows * c.n_heads; i++) {
            float want = (float)sums[i];
            truth_same_bits(table_at(&c, i / c.n_heads, i % c.n_heads), &want, 1, "row %lld",
                            (long long)(i / c.n_heads));
        }
        truth_nothing_changed(&ds, "ds");
        truth_tensor_free(&ds);
    }
}

static double ulp(double x) {
    float f = (float)fabs(x);
    return (double)(nextafterf(f, INFINITY) - f);
}

static void test_coords(void **state) {
    (void)state;
    enum { LARGEST = 24 };
    static float coords[2 * (2 * LARGEST - 1) * (2 * LARGEST - 1)];
    for (int round = 0; round < 50; round++) {
        int64_t side[2] = {1 + truth_below(LARGEST), 1 + truth_below(LARGEST)};
        int64_t trained[2] = {2 + truth_below(1023), 2 + truth_below(30)};
        truth_ok(posenc_swin_v2_coords(side[0], side[1], trained[0], trained[1], coords));
        for (int64_t i = 0; i < 2 * (2 * side[0] - 1) * (2 * side[1] - 1); i++) {
            int axis = (int)(i % 2);
            int64_t row = i / 2, wide = 2 * side[1] - 1,
                    o = axis ? row % wide - (side[1] - 1) : row / wide - (side[0] - 1);
            double u = 8.0 * (double)o / (double)(trained[axis] - 1), want = copysign(log2(fabs(u) + 1.0) / 3.0, u);
            truth_close((double)coords[i], want, ulp(want), "coordinate %lld", (long long)i);
        }
    }
}

static void test_sigmoid(void **state) {
    (void)state;
    static const float special[] = {0.0f,   -0.0f, INFINITY, -INFINITY, NAN,     1e30f,
                                    -1e30f, 90.0f, -90.0f,   700.0f,    -700.0f, FLT_MIN};
    float x[2000], y[2000];
    for (int i = 0; i < 2000; i++)
        x[i] = i < 12 ? special[i] : (float)truth_uniform(-120.0, 120.0) * (i % 3 ? 0.1f : 1.0f);
    truth_ok(posenc_swin_v2_scale(x, 2000, y));
    for (int i = 0; i < 2000; i++) {
        double want = 16.0 / (1.0 + exp(-(double)x[i]));
        if (isnan(x[i]))
            assert_true(isnan(y[i]));
        else
            truth_close((double)y[i], want < (double)FLT_MIN ? 0.0 : want, ulp(want), "x = %a", (double)x[i]);
    }
    memcpy(y, x, sizeof x);
    truth_ok(posenc_swin_v2_scale(y, 2000, y));
    for (int i = 0; i < 2000; i++) {
        float alone;
        truth_ok(posenc_swin_v2_scale(&x[i], 1, &alone));
        if (!isnan(alone))
            truth_same_bits(&y[i], &alone, 1, "in place, %d", i);
    }
}

/* ---- Decomposed ---- */

/* Channel c of row o of the table resized to n rows: FORMULAS A.12, align_corners false. */
static double resized(const posenc_view *table, int64_t o, int64_t n, int64_t c) {
    int64_t n_table = table->ne[1];
    if (n == n_table)
        return (double)*truth_at(table, c, o, 0, 0);
    double at = fmax(((double)o + 0.5) * (double)n_table / (double)n - 0.5, 0.0);
    int64_t low = (int64_t)at, high = low + 1 < n_table ? low + 1 : low;
    double weight = at - (double)low;
    return (1.0 - weight) * (double)*truth_at(table, c, low, 0, 0) + weight * (double)*truth_at(table, c, high, 0, 0);
}

/* floor(x / y) of integers, y > 0. */
static int64_t floor_of(int64_t x, int64_t y) {
    return x >= 0 ? x / y : -((-x + y - 1) / y);
}

static void test_rows(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        int64_t dim = 1 + truth_below(6), n_q = 1 + truth_below(20), n_k = round % 2 ? n_q : 1 + truth_below(20);
        int64_t larger = n_q > n_k ? n_q : n_k, n = 2 * larger - 1;
        truth_tensor table = truth_tensor_random((int64_t[4]){dim, round % 3 ? n : 1 + truth_below(50), 1, 1});
        truth_tensor rows = truth_tensor_random((int64_t[4]){dim, n_k, n_q, 1});
        truth_ok(posenc_decomposed_rows(&table.view, &rows.view));
        TRUTH_EACH(&rows.view, c, b, a, one) {
            /* floor(a max(k/q, 1) - b max(q/k, 1) + (k - 1) max(q/k, 1)), over the common denominator: both terms are
             * the same number of its parts */
            int64_t o = floor_of(a * n_k + (n_k - 1 - b) * n_q, n_q < n_k ? n_q : n_k);
            truth_close((double)*truth_at(&rows.view, c, b, a, one), resized(&table.view, o, n, c), 1e-6,
                        "query %lld, key %lld", (long long)a, (long long)b);
        }
        truth_nothing_changed(&table, "table");
        truth_nothing_else_changed(&rows, 0, dim, "rows");
        truth_tensor_free(&table);
        truth_tensor_free(&rows);
    }
}

/* A table of the right length is taken as it stands: no row has anything of its neighbour, be that NaN. */
static void test_not_resized(void **state) {
    (void)state;
    float table_data[5] = {1.0f, 2.0f, NAN, 3.0f, -0.0f}, got[9];
    posenc_view table = posenc_view_dense(table_data, POSENC_F32, 1, 5, 1, 1);
    posenc_view rows = posenc_view_dense(got, POSENC_F32, 1, 3, 3, 1);
    truth_ok(posenc_decomposed_rows(&table, &rows));
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            truth_same_bits(&got[3 * a + b], &table_data[a + 2 - b], 1, "query %d, key %d", a, b);
}

/* The most that each extent may be is taken, and one more is not. */
static void test_longest_sides(void **state) {
    (void)state;
    const int64_t most = 1 << 20;
    float *table_data = calloc((size_t)most + 1, sizeof(float)), *rows_data = calloc((size_t)most + 1, sizeof(float));
    assert_true(table_data != NULL && rows_data != NULL);
    for (int64_t i = 0; i <= most; i++)
        table_data[i] = 3.0f;
    for (int extent = 0; extent < 3; extent++)
        for (int64_t n = most; n <= most + 1; n++) {
            int64_t n_table = extent == 0 ? n : 1, n_k = extent == 1 ? n : 1, n_q = extent == 2 ? n : 1;
            posenc_view table = posenc_view_dense(table_data, POSENC_F32, 1, n_table, 1, 1);
            posenc_view rows = posenc_view_dense(rows_data, POSENC_F32, 1, n_k, n_q, 1);
            rows_data[0] = 7.0f;
            assert_int_equal(posenc_decomposed_rows(&table, &rows), n == most ? POSENC_OK : POSENC_ERR_SHAPE);
            truth_close((double)rows_data[0], n == most ? 3.0 : 7.0, 1e-6, "extent %d", extent);
        }
    free(table_data);
    free(rows_data);
}

/* Windows of the longest sides: the corners, which are each other's ends. */
static void test_longest_windows(void **state) {
    (void)state;
    enum { MOST = 1024 };
    int32_t *index = calloc((size_t)MOST * MOST, sizeof(int32_t));
    assert_non_null(index);
    for (int across = 0; across < 2; across++) {
        truth_ok(posenc_swin_index(across ? 1 : MOST, across ? MOST : 1, index));
        assert_int_equal(index[0], MOST - 1);
        assert_int_equal(index[MOST - 1], 0);
        assert_int_equal(index[MOST * (MOST - 1)], 2 * MOST - 2);
    }
    assert_int_equal(posenc_swin_index(MOST + 1, 1, index), POSENC_ERR_SHAPE);
    assert_int_equal(posenc_swin_index(1, MOST + 1, index), POSENC_ERR_SHAPE);
    free(index);
}

/* The sum, by the bits, whatever the strides, the range of rows and the tier. */
static void test_add(void **state) {
    (void)state;
    for (int round = 0; round < 100; round++) {
        int64_t height = 1 + truth_below(9), width = 1 + truth_below(40);
        int64_t ne[4] = {height * width, 1 + truth_below(4), 1 + truth_below(3), 1 + truth_below(3)};
        truth_tensor by_row = truth_tensor_random((int64_t[4]){height, ne[1], ne[2], ne[3]});
        truth_tensor by_column = truth_tensor_random((int64_t[4]){width, ne[1], ne[2], ne[3]});
        truth_tensor scores = truth_tensor_random(ne);
        int64_t n_rows = ne[1] * ne[2] * ne[3];
        for (int tier = -1; truth_next_tier(&tier);) {
            posenc_range rows = {truth_below(n_rows), 0};
            rows.end = rows.begin + truth_below(n_rows - rows.begin + 1);
            truth_reset(&scores);
            truth_ok(posenc_decomposed_add(&by_row.view, &by_column.view, &scores.view, rows));
            TRUTH_EACH(&scores.view, k, i, h, b) {
                int64_t row = (b * ne[2] + h) * ne[1] + i;
                float want = truth_was(&scores, k, i, h, b);
                if (row >= rows.begin && row < rows.end) {
                    want += *truth_at(&by_row.view, k / width, i, h, b);
                    want += *truth_at(&by_column.view, k % width, i, h, b);
                }
                truth_same_bits(truth_at(&scores.view, k, i, h, b), &want, 1, "key %lld", (long long)k);
            }
            truth_nothing_else_changed(&scores, 0, ne[0], "scores");
        }
        truth_nothing_changed(&by_row, "by_row");
        truth_nothing_changed(&by_column, "by_column");
        truth_tensor_free(&by_row);
        truth_tensor_free(&by_column);
        truth_tensor_free(&scores);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_swin),          truth_test(test_swin_gradient),
        truth_test(test_coords),        truth_test(test_sigmoid),
        truth_test(test_rows),          truth_test(test_not_resized),
        truth_test(test_longest_sides), truth_test(test_longest_windows),
        truth_test(test_add),
    };
    return truth_run(tests);
}
