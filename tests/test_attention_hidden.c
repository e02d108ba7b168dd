/* SPDX-License-Identifier: MIT */
/* Keys masked by a bias of -inf at either end of a query's row are not read (attention.h): the result is bit-identical
 * to that of bounds. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DIM = 24, HEADS = 4, KV_HEADS = 2, MAX_Q = 5, MAX_K = 1400 };

static posenc_score_params params;
static truth_tensor q, k, v, bias, out, want;
static void *scratch;
static int64_t n_q, n_k, first[MAX_Q], end[MAX_Q]; /* what each query sees */

static void set(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, float value) {
    posenc_view at = *view, single = posenc_view_dense(&value, POSENC_F32, 1, 1, 1, 1);
    at.data = truth_address(view, i0, i1, i2, 0);
    at.ne[0] = at.ne[1] = at.ne[2] = at.ne[3] = 1;
    truth_convert(&single, &at);
}

static truth_tensor random_tensor(int64_t ne0, int64_t ne1, int64_t ne2) {
    return truth_tensor_random_of((posenc_dtype)truth_below(3), (int64_t[4]){ne0, ne1, ne2, 1});
}

/* Rows of the bias are hidden at both ends, here and there between, and sometimes altogether. */
static void open_call(void) {
    params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    params.mask = posenc_mask_none();
    params.scale = 0.2f;
    n_q = 1 + truth_below(MAX_Q);
    n_k = 1 + truth_below(truth_below(4) ? 100 : MAX_K - 1);
    q = random_tensor(DIM, HEADS, n_q);
    k = random_tensor(DIM, KV_HEADS, n_k);
    v = random_tensor(DIM, KV_HEADS, n_k);
    bias = random_tensor(n_k, n_q, 1);
    out = truth_tensor_random((int64_t[4]){DIM, HEADS, n_q, 1});
    want = truth_tensor_random((int64_t[4]){DIM, HEADS, n_q, 1});
    for (int64_t i = 0; i < n_q; i++) {
        first[i] = truth_below(n_k + 1);
        end[i] = truth_below(6) ? first[i] + truth_below(n_k - first[i] + 1) : first[i];
        for (int64_t j = 0; j < n_k; j++) {
            int is_end = j == first[i] || j == end[i] - 1;
            if (j < first[i] || j >= end[i] || (!is_end && truth_below(8) == 0))
                set(&bias.view, j, i, 0, -INFINITY);
        }
    }
    params.bias.tensor = &bias.view;
    scratch = malloc(posenc_attention_workspace_bytes(DIM, DIM));
    assert_non_null(scratch);
}

static void close_call(void) {
    truth_tensor *all[] = {&q, &k, &v, &bias, &out, &want};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        truth_tensor_free(all[i]);
    free(scratch);
}

static void attend(const posenc_view *queries, const posenc_view *to) {
    truth_ok(posenc_attention(&params, queries, &k.view, &v.view, to, scratch, posenc_range_all()));
}

static posenc_view only_query(posenc_view tokens, int64_t i) {
    tokens.data = truth_address(&tokens, 0, 0, i, 0);
    tokens.ne[2] = 1;
    return tokens;
}

static posenc_view only_row(posenc_view scores, int64_t i) {
    scores.data = truth_address(&scores, 0, i, 0, 0);
    scores.ne[1] = 1;
    return scores;
}

/* Both ends given once by the bias and once by bounds. */
static void test_same_as_bounds(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 100; round++) {
            open_call();
            attend(&q.view, &out.view);
            for (int64_t i = 0; i < n_q; i++) {
                posenc_view row = only_row(bias.view, i), one = only_query(q.view, i), to = only_query(want.view, i);
                int32_t begin = (int32_t)first[i], stop = (int32_t)end[i];
                for (int64_t j = 0; j < n_k; j++)
                    if (j < begin || j >= stop)
                        set(&row, j, 0, 0, 1.0f);
                params.bias.tensor = &row;
                params.sequences.k_begin = &begin;
                params.sequences.k_end = &stop;
                attend(&one, &to);
            }
            truth_same_views(&out.view, &want.view, "bounds");
            close_call();
        }
}

/* NaN in keys and values that no query sees. */
static void test_nothing_there_matters(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 100; round++) {
            open_call();
            attend(&q.view, &want.view);
            for (int64_t j = 0; j < n_k; j++) {
                int is_visible = 0;
                for (int64_t i = 0; i < n_q; i++)
                    is_visible |= first[i] <= j && j < end[i];
                for (int64_t c = 0; c < DIM * KV_HEADS && !is_visible; c++) {
                    set(&k.view, c % DIM, c / DIM, j, NAN);
                    set(&v.view, c % DIM, c / DIM, j, NAN);
                }
            }
            attend(&q.view, &out.view);
            truth_same_views(&out.view, &want.view, "NaN under -inf");
            close_call();
        }
}

/* Times a slope that is not positive, -inf is NaN or inf, and no key is masked. */
static void test_slopes(void **state) {
    (void)state;
    static const float slopes[HEADS] = {0.5f, 0.0f, -1.0f, 2.0f};
    for (int round = 0; round < 20; round++) {
        open_call();
        set(&bias.view, 0, 0, 0, -INFINITY);
        params.bias.tensor_slopes = slopes;
        attend(&q.view, &out.view);
        for (int64_t h = 0; h < HEADS; h++)
            assert_int_equal(isnan(truth_get(&out.view, 0, h, 0, 0)) != 0, !(slopes[h] > 0.0f));
        close_call();
    }
}

/* ---- Beside a hole: the first keys, and a window ---- */

/* One query of one head over random keys and values of WIDTH channels, 4 first keys and a window of the last. */
enum { WIDTH = 32, HOLE_KEYS = 512 };

static float attend_around_hole(const float *keys, const float *values, int64_t window, const posenc_view *hiding) {
    float query[WIDTH], to[WIDTH];
    for (int c = 0; c < WIDTH; c++)
        query[c] = 0.01f * (float)c;
    posenc_score_params around = POSENC_SCORE_DEFAULTS;
    around.mask = posenc_mask_window(window);
    around.mask.n_first = 4;
    around.positions.query_start = HOLE_KEYS - 1;
    around.bias.tensor = hiding;
    posenc_view one = posenc_view_dense(query, POSENC_F32, WIDTH, 1, 1, 1), result = one;
    posenc_view all = posenc_view_dense((void *)(uintptr_t)keys, POSENC_F32, WIDTH, 1, HOLE_KEYS, 1), all_values = all;
    all_values.data = (void *)(uintptr_t)values;
    result.data = to;
    void *memory = malloc(posenc_attention_workspace_bytes(WIDTH, WIDTH));
    truth_ok(posenc_attention(&around, &one, &all, &all_values, &result, memory, posenc_range_all()));
    free(memory);
    return to[0];
}

/* Panels that nobody sees are not touched: there is no memory. */
static void test_nothing_in_the_hole(void **state) {
    (void)state;
    size_t size = sizeof(float) * WIDTH * HOLE_KEYS, page = (size_t)sysconf(_SC_PAGESIZE), row = sizeof(float) * WIDTH,
           gap = (64 * row + page - 1) / page * page, gap_end = 448 * row / page * page;
    float *keys = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(keys != MAP_FAILED);
    truth_fill(keys, WIDTH * HOLE_KEYS);
    for (int tier = -1; truth_next_tier(&tier);) {
        float expected = attend_around_hole(keys, keys, 16, NULL);
        if (gap < gap_end)
            assert_int_equal(mprotect((char *)keys + gap, gap_end - gap, PROT_NONE), 0);
        assert_true(attend_around_hole(keys, keys, 16, NULL) == expected);
        assert_int_equal(mprotect(keys, size, PROT_READ | PROT_WRITE), 0);
    }
    munmap(keys, size);
}

/* A bias of -inf hides the keys behind the hole too, whatever it has in the hole. */
static void test_masked_behind_the_hole(void **state) {
    (void)state;
    static float keys[WIDTH * HOLE_KEYS], values[WIDTH * HOLE_KEYS], hiding[HOLE_KEYS];
    posenc_view row = posenc_view_dense(hiding, POSENC_F32, HOLE_KEYS, 1, 1, 1);
    truth_fill(keys, WIDTH * HOLE_KEYS);
    truth_fill(values, WIDTH * HOLE_KEYS);
    for (int j = 0; j < 440 * WIDTH; j++)
        values[j] = NAN;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int in_hole = 0; in_hole < 2; in_hole++) { /* the window begins with key 412 */
            for (int j = 0; j < HOLE_KEYS; j++)
                hiding[j] = j < 4 || (j >= 412 && j < 440) || (j < 412 && in_hole) ? -INFINITY : 0.0f;
            assert_false(isnan(attend_around_hole(keys, values, 100, &row)));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_same_as_bounds),      truth_test(test_nothing_there_matters),  truth_test(test_slopes),
        truth_test(test_nothing_in_the_hole), truth_test(test_masked_behind_the_hole),
    };
    return truth_run(tests);
}
