/* SPDX-License-Identifier: MIT */
/* Refusals of calls on relative biases, on biases of images and on gradients. */
#include "truth_errors.h"

#include <float.h>
#include <math.h>

#include "core/for_python.h"

enum { N_HEADS = 3, N_OFFSETS = 11, N_ROWS = 5 };

static const float bad_floats[] = {INFINITY, -INFINITY, NAN};
static const double bad_doubles[] = {INFINITY, -INFINITY, NAN, POSENC_MAX_FREQUENCY * 1.001,
                                     -POSENC_MAX_FREQUENCY * 1.001};

static float numbers[N_HEADS] = {0.5f, 0.25f, 1.0f};
static double angles[N_HEADS] = {0.5, 0.25, 1.0};
static int32_t rows[N_OFFSETS];
static posenc_rel_bias rel_bias;
static posenc_rel_index rel_index;
static posenc_bias_table table;
static posenc_kerple kerple;

/* A line in `out`, an index over its offsets, a table in `in`. */
static void start(void) {
    rel_bias = (posenc_rel_bias){out, -5, N_OFFSETS, N_HEADS, N_OFFSETS, 0};
    rel_index = (posenc_rel_index){rows, -5, N_OFFSETS, N_ROWS};
    table = (posenc_bias_table){in, N_ROWS, N_HEADS, N_HEADS, 1};
    kerple = (posenc_kerple){POSENC_KERPLE_LOG, numbers, numbers, 0.01f};
}

/* ---- Lines: the same bad ones for every call that takes one ---- */

static void refused(posenc_status want, const posenc_rel_bias *bad) {
    const posenc_sandwich sandwich = POSENC_SANDWICH_DEFAULTS;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_view ds = posenc_view_dense(in, POSENC_F32, 4, 3, N_HEADS, 2);
    RETURNS(want, posenc_rel_bias_alibi, numbers, bad);
    RETURNS(want, posenc_rel_bias_mask, posenc_mask_causal(), bad);
    RETURNS(want, posenc_rel_bias_gather, &rel_index, &table, 1.0f, bad);
    RETURNS(want, posenc_rel_bias_kerple, &kerple, bad);
    RETURNS(want, posenc_rel_bias_rbf, numbers, bad);
    RETURNS(want, posenc_rel_bias_sandwich, &sandwich, bad);
    RETURNS(want, posenc_rel_bias_cosine, angles, NULL, NULL, bad);
    RETURNS(want, posenc_rel_bias_backward, &params, &ds, bad);
    RETURNS(want, posenc_bias_table_backward, &rel_index, bad, 1.0f, &table);
    RETURNS(want, posenc_alibi_backward, bad, in);
    RETURNS(want, posenc_kerple_backward, &kerple, POSENC_CLAMPED_PASSES, bad, in, in);
    start();
}

#define REFUSED(status, setting) (rel_bias.setting, refused(status, &rel_bias))

void test_rel_bias(void **state) {
    (void)state;
    static const int64_t bad_heads[] = {0, -1, ((int64_t)1 << 20) + 1, INT64_MIN, INT64_MAX};
    static const int64_t bad_firsts[] = {INT32_MIN, INT32_MAX - N_OFFSETS + 2, INT64_MIN, INT64_MAX};
    static const int64_t bad_strides[] = {-1, 1, N_OFFSETS - 1, INT64_MIN, INT64_MAX};
    static const int64_t bad_counts[] = {-1, (int64_t)1 << 31, (int64_t)1 << 33, INT64_MIN, INT64_MAX};
    start();
    refused(POSENC_ERR_NULL, NULL);
    REFUSED(POSENC_ERR_NULL, data = NULL);
    REFUSED(POSENC_ERR_STRIDE, data = shifted(out, 2));
    for (int i = 0; i < 5; i++) {
        REFUSED(POSENC_ERR_N_HEADS, n_heads = bad_heads[i]);
        REFUSED(POSENC_ERR_STRIDE, stride = bad_strides[i]);
    }
    for (int i = 0; i < 4; i++)
        REFUSED(POSENC_ERR_OFFSETS, first = bad_firsts[i]);
    for (int i = 0; i < 5; i++) {
        rel_bias.stride = 0;
        REFUSED(POSENC_ERR_OFFSETS, n_offsets = bad_counts[i]);
    }
    rel_bias.is_clamped = 1;
    REFUSED(POSENC_ERR_OFFSETS, n_offsets = 0);
}

/* ---- Parameters of lines ---- */

void test_rel_bias_parameters(void **state) {
    (void)state;
    start();
    posenc_mask window = posenc_mask_window(3);
    RETURNS(POSENC_ERR_NULL, posenc_rel_bias_alibi, NULL, &rel_bias);
    RETURNS(POSENC_ERR_STRIDE, posenc_rel_bias_alibi, shifted(numbers, 1), &rel_bias);
    RETURNS(POSENC_ERR_NULL, posenc_rel_bias_rbf, NULL, &rel_bias);
    RETURNS(POSENC_ERR_STRIDE, posenc_rel_bias_rbf, shifted(numbers, 1), &rel_bias);
    RETURNS(POSENC_ERR_NULL, posenc_rel_bias_kerple, NULL, &rel_bias);
    RETURNS(POSENC_ERR_NULL, posenc_rel_bias_cosine, NULL, NULL, NULL, &rel_bias);
    RETURNS(POSENC_ERR_STRIDE, posenc_rel_bias_cosine, shifted(angles, HALF_OF_8), NULL, NULL, &rel_bias);
    RETURNS(POSENC_ERR_STRIDE, posenc_rel_bias_cosine, angles, shifted(angles, HALF_OF_8), NULL, &rel_bias);
    RETURNS(POSENC_ERR_STRIDE, posenc_rel_bias_cosine, angles, NULL, shifted(numbers, 2), &rel_bias);
    for (int i = 0; i < 3; i++) {
        float bad[N_HEADS] = {0.5f, 0.5f, 0.5f};
        bad[i] = bad_floats[i];
        RETURNS(POSENC_ERR_SCALE, posenc_rel_bias_alibi, bad, &rel_bias);
        RETURNS(POSENC_ERR_SCALE, posenc_rel_bias_rbf, bad, &rel_bias);
        RETURNS(POSENC_ERR_SCALE, posenc_rel_bias_cosine, angles, NULL, bad, &rel_bias);
    }
    for (int i = 0; i < 5; i++) {
        static const float bad_sigmas[] = {0.0f, -1.0f, 1e-7f, 2e12f, -0.0f};
        double bad[N_HEADS] = {0.5, 0.5, 0.5};
        float sigma[N_HEADS] = {1.0f, 1.0f, 1.0f};
        bad[i % N_HEADS] = bad_doubles[i];
        sigma[i % N_HEADS] = bad_sigmas[i];
        RETURNS(POSENC_ERR_FREQUENCY, posenc_rel_bias_cosine, bad, NULL, NULL, &rel_bias);
        RETURNS(POSENC_ERR_FREQUENCY, posenc_rel_bias_cosine, angles, bad, NULL, &rel_bias);
        RETURNS(POSENC_ERR_SCALE, posenc_rel_bias_rbf, sigma, &rel_bias);
    }
    window.n_first = 2;
    RETURNS(POSENC_ERR_MASK, posenc_rel_bias_mask, window, &rel_bias);
    RETURNS(POSENC_ERR_MASK, posenc_rel_bias_mask, posenc_mask_chunked(8), &rel_bias);
    RETURNS(POSENC_ERR_MASK, posenc_rel_bias_mask, posenc_mask_window((int64_t)1 << 40), &rel_bias);

    /* Ends of an extended line that a window hides in part; what it hides or shows as a whole is for
     * test_rel_bias.c. */
    posenc_rel_bias extended = {out, -8, 11, N_HEADS, 11, 1}; /* -8 .. 2 */
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_bias_mask, posenc_mask_window(10), &extended);
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_bias_mask, posenc_mask_window(9), &extended);
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_bias_mask, posenc_mask_sides(2, 2), &extended);
    extended.first = 1; /* behind what is causal: its first speaks for offset 0 too */
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_bias_mask, posenc_mask_causal(), &extended);
    extended.first = -20; /* -20 .. -10 */
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_bias_mask, posenc_mask_causal(), &extended);
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_bias_mask, posenc_mask_window(4), &extended);
}

void test_kerple(void **state) {
    (void)state;
    static const float bad_mins[] = {0.0f, -0.01f, 1.001f, 1e-7f, INFINITY, NAN};
    float results[N_HEADS];
    posenc_rel_bias good = {in, -5, N_OFFSETS, N_HEADS, N_OFFSETS, 0};
    start();
#define KERPLE_REFUSED(status, setting)                                                                                \
    do {                                                                                                               \
        kerple.setting;                                                                                                \
        RETURNS(status, posenc_rel_bias_kerple, &kerple, &rel_bias);                                                   \
        RETURNS(status, posenc_kerple_backward, &kerple, POSENC_CLAMPED_PASSES, &good, out, out);                      \
        start();                                                                                                       \
    } while (0)
    KERPLE_REFUSED(POSENC_ERR_UNSET, kind = POSENC_KERPLE_UNSET);
    KERPLE_REFUSED(POSENC_ERR_ENUM, kind = (posenc_kerple_kind)3);
    KERPLE_REFUSED(POSENC_ERR_ENUM, kind = (posenc_kerple_kind)-1);
    KERPLE_REFUSED(POSENC_ERR_NULL, p = NULL);
    KERPLE_REFUSED(POSENC_ERR_NULL, a = NULL);
    KERPLE_REFUSED(POSENC_ERR_STRIDE, p = shifted(numbers, 1));
    KERPLE_REFUSED(POSENC_ERR_STRIDE, a = shifted(numbers, 2));
    for (int i = 0; i < 6; i++)
        KERPLE_REFUSED(POSENC_ERR_SCALE, min = bad_mins[i]);
    for (int i = 0; i < 5; i++) {
        float bad[N_HEADS] = {0.5f, 0.5f, 0.5f};
        bad[i % N_HEADS] = i < 3 ? bad_floats[i] : i == 3 ? 0x1.1p20f : -0x1.1p20f;
        KERPLE_REFUSED(POSENC_ERR_SCALE, p = bad);
        KERPLE_REFUSED(POSENC_ERR_SCALE, a = bad);
    }
    RETURNS(POSENC_ERR_NULL, posenc_kerple_backward, NULL, POSENC_CLAMPED_PASSES, &good, out, out);
    RETURNS(POSENC_ERR_ENUM, posenc_kerple_backward, &kerple, (posenc_clamped)2, &good, out, out);
    RETURNS(POSENC_ERR_ENUM, posenc_kerple_backward, &kerple, (posenc_clamped)-1, &good, out, out);
    RETURNS(POSENC_ERR_NULL, posenc_kerple_backward, &kerple, POSENC_CLAMPED_STOPS, &good, NULL, out);
    RETURNS(POSENC_ERR_NULL, posenc_kerple_backward, &kerple, POSENC_CLAMPED_STOPS, &good, out, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_kerple_backward, &kerple, POSENC_CLAMPED_STOPS, &good, shifted(out, 1), out);
    RETURNS(POSENC_ERR_STRIDE, posenc_kerple_backward, &kerple, POSENC_CLAMPED_STOPS, &good, out, shifted(out, 1));
    RETURNS(POSENC_ERR_NULL, posenc_alibi_backward, &good, NULL);
    good.is_clamped = 1; /* what its ends took has no distance */
    RETURNS(POSENC_ERR_OFFSETS, posenc_alibi_backward, &good, out);
    RETURNS(POSENC_ERR_OFFSETS, posenc_kerple_backward, &kerple, POSENC_CLAMPED_STOPS, &good, out, out);
    good.is_clamped = 0;
    RETURNS(POSENC_ERR_STRIDE, posenc_alibi_backward, &good, shifted(out, 3));
    truth_ok(posenc_kerple_backward(&kerple, POSENC_CLAMPED_STOPS, &good, results, results));
    for (int i = 0; i < 2; i++) {
        const float most[N_HEADS] = {0x1p20f, -0x1p20f, 0.5f};
        kerple.min = i == 0 ? 0x1p-20f : 1.0f;
        kerple.p = kerple.a = most;
        truth_ok(posenc_kerple_backward(&kerple, POSENC_CLAMPED_STOPS, &good, results, results));
    }
}

void test_sandwich(void **state) {
    (void)state;
    static const struct {
        posenc_sandwich params;
        posenc_status want;
    } bad[] = {
        {{0, 1e4, 0, 0}, POSENC_ERR_HEAD_DIM},
        {{-2, 1e4, 0, 0}, POSENC_ERR_HEAD_DIM},
        {{7, 1e4, 0, 0}, POSENC_ERR_HEAD_DIM},
        {{8194, 1e4, 0, 0}, POSENC_ERR_HEAD_DIM},
        {{INT64_MAX, 1e4, 0, 0}, POSENC_ERR_HEAD_DIM},
        {{INT64_MIN, 1e4, 0, 0}, POSENC_ERR_HEAD_DIM},
        {{8, 0.5, 0, 0}, POSENC_ERR_BASE},
        {{8, INFINITY, 0, 0}, POSENC_ERR_BASE},
        {{8, NAN, 0, 0}, POSENC_ERR_BASE},
        {{8, 1e4, 2, 0}, POSENC_ERR_SHAPE},
        {{8, 1e4, -1, 0}, POSENC_ERR_SHAPE},
    };
    start();
    RETURNS(POSENC_ERR_NULL, posenc_rel_bias_sandwich, NULL, &rel_bias);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        RETURNS(bad[i].want, posenc_rel_bias_sandwich, &bad[i].params, &rel_bias);
}

/* ---- Tables and indices ---- */

/* Both ways: from the table into the line, and from the line's gradient into the table. */
static void table_refused(posenc_status gather, posenc_status gradient, const posenc_rel_index *index,
                          const posenc_bias_table *bad) {
    RETURNS(gather, posenc_rel_bias_gather, index, bad, 1.0f, &rel_bias);
    if (gradient != POSENC_OK)
        RETURNS(gradient, posenc_bias_table_backward, index, &rel_bias, 1.0f, bad);
    start();
}

#define TABLE_REFUSED(status, setting) (table.setting, table_refused(status, status, &rel_index, &table))
#define INDEX_REFUSED(status, setting) (rel_index.setting, table_refused(status, status, &rel_index, &table))

void test_bias_tables(void **state) {
    (void)state;
    start();
    table_refused(POSENC_ERR_NULL, POSENC_ERR_NULL, NULL, &table);
    table_refused(POSENC_ERR_NULL, POSENC_ERR_NULL, &rel_index, NULL);
    TABLE_REFUSED(POSENC_ERR_NULL, data = NULL);
    TABLE_REFUSED(POSENC_ERR_STRIDE, data = shifted(in, 1));
    TABLE_REFUSED(POSENC_ERR_SHAPE, n_rows = N_ROWS + 1);
    TABLE_REFUSED(POSENC_ERR_SHAPE, n_rows = -1);
    TABLE_REFUSED(POSENC_ERR_SHAPE, n_rows = INT64_MAX);
    TABLE_REFUSED(POSENC_ERR_SHAPE, n_heads = N_HEADS - 1);
    TABLE_REFUSED(POSENC_ERR_STRIDE, row_stride = INT64_MIN);
    TABLE_REFUSED(POSENC_ERR_STRIDE, row_stride = INT64_MAX);
    TABLE_REFUSED(POSENC_ERR_STRIDE, head_stride = INT64_MIN);
    TABLE_REFUSED(POSENC_ERR_STRIDE, head_stride = (int64_t)1 << 45);
    rel_bias.stride = 0; /* one head */
    table_refused(POSENC_ERR_SHAPE, POSENC_ERR_SHAPE, &rel_index, &table);
    INDEX_REFUSED(POSENC_ERR_NULL, data = NULL);
    INDEX_REFUSED(POSENC_ERR_STRIDE, data = shifted(rows, 2));
    INDEX_REFUSED(POSENC_ERR_SHAPE, n_rows = N_ROWS - 1);
    INDEX_REFUSED(POSENC_ERR_OFFSETS, first = -4);
    INDEX_REFUSED(POSENC_ERR_OFFSETS, first = -6);
    INDEX_REFUSED(POSENC_ERR_OFFSETS, n_offsets = N_OFFSETS - 1);
    INDEX_REFUSED(POSENC_ERR_OFFSETS, n_offsets = -1);
    INDEX_REFUSED(POSENC_ERR_OFFSETS, n_offsets = (int64_t)1 << 31);
    INDEX_REFUSED(POSENC_ERR_OFFSETS, first = INT64_MIN);
    static const int32_t bad_rows[] = {-1, N_ROWS, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) {
        rows[N_OFFSETS - 1] = bad_rows[i];
        table_refused(POSENC_ERR_ROWS, POSENC_ERR_ROWS, &rel_index, &table);
        rows[N_OFFSETS - 1] = 0;
    }
    for (int i = 0; i < 3; i++) {
        RETURNS(POSENC_ERR_SCALE, posenc_rel_bias_gather, &rel_index, &table, bad_floats[i], &rel_bias);
        RETURNS(POSENC_ERR_SCALE, posenc_bias_table_backward, &rel_index, &rel_bias, bad_floats[i], &table);
    }
    /* A table that is written must not have two entries at one address. */
    table.row_stride = 2;
    RETURNS(POSENC_ERR_STRIDE, posenc_bias_table_backward, &rel_index, &rel_bias, 1.0f, &table);
    table.row_stride = 0;
    RETURNS(POSENC_ERR_STRIDE, posenc_bias_table_backward, &rel_index, &rel_bias, 1.0f, &table);
}

void test_buckets(void **state) {
    (void)state;
    static const posenc_t5_params bad[] = {
        {1, 128, 0},         {0, 128, 0}, {-1, 128, 0}, {3, 128, 1}, {4097, 10000, 0}, {INT64_MIN, 128, 1},
        {INT64_MAX, 128, 0}, {32, 16, 0}, {32, 8, 1},   {32, 0, 1},  {32, -1, 0},      {32, ((int64_t)1 << 30) + 1, 0},
        {32, INT64_MAX, 0},
    };
    const posenc_t5_params good = POSENC_T5_DECODER;
    int32_t *written = (int32_t *)(void *)out;
    posenc_rel_index index = {written, -5, N_OFFSETS, 32};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        RETURNS(POSENC_ERR_BUCKETS, posenc_t5_bucket, &bad[i], 5, written);
        RETURNS(POSENC_ERR_BUCKETS, posenc_rel_index_t5, &bad[i], &index);
    }
    RETURNS(POSENC_ERR_NULL, posenc_t5_bucket, NULL, 5, written);
    RETURNS(POSENC_ERR_NULL, posenc_t5_bucket, &good, 5, NULL);
    RETURNS(POSENC_ERR_NULL, posenc_rel_index_t5, NULL, &index);
    RETURNS(POSENC_ERR_NULL, posenc_rel_index_t5, &good, NULL);
    index.n_rows = 31;
    RETURNS(POSENC_ERR_SHAPE, posenc_rel_index_t5, &good, &index);
    index.n_rows = 32;
    index.data = NULL;
    RETURNS(POSENC_ERR_NULL, posenc_rel_index_t5, &good, &index);
    index.data = shifted(written, 2);
    RETURNS(POSENC_ERR_STRIDE, posenc_rel_index_t5, &good, &index);
    index = (posenc_rel_index){written, INT32_MIN, 1, 32};
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_index_t5, &good, &index);
}

/* ---- One row ---- */

void test_one_row(void **state) {
    (void)state;
    static const uint8_t keep[12 * BATCH];
    posenc_view bias = posenc_view_dense(out, POSENC_F32, 12, 1, N_HEADS, BATCH), bad = bias;
    posenc_alibi_row_form form = POSENC_ALIBI_ROW_FROM_FIRST;
    RETURNS(POSENC_ERR_UNSET, posenc_alibi_row, numbers, POSENC_ALIBI_ROW_UNSET, keep, &bias);
    RETURNS(POSENC_ERR_ENUM, posenc_alibi_row, numbers, (posenc_alibi_row_form)5, keep, &bias);
    RETURNS(POSENC_ERR_ENUM, posenc_alibi_row, numbers, (posenc_alibi_row_form)-1, keep, &bias);
    RETURNS(POSENC_ERR_NULL, posenc_alibi_row, NULL, form, keep, &bias);
    RETURNS(POSENC_ERR_NULL, posenc_alibi_row, numbers, form, keep, NULL);
    RETURNS(POSENC_ERR_NULL, posenc_alibi_row, numbers, POSENC_ALIBI_ROW_COUNTED, NULL, &bias);
    RETURNS(POSENC_ERR_NULL, posenc_alibi_row, numbers, POSENC_ALIBI_ROW_COUNTED_BF16, NULL, &bias);
    RETURNS(POSENC_ERR_STRIDE, posenc_alibi_row, shifted(numbers, 1), form, keep, &bias);
    bad.dtype = POSENC_F16;
    bad.nb[0] = 2;
    RETURNS(POSENC_ERR_DTYPE, posenc_alibi_row, numbers, form, keep, &bad);
    bad = posenc_view_dense(out, POSENC_F32, 6, 2, N_HEADS, BATCH);
    RETURNS(POSENC_ERR_SHAPE, posenc_alibi_row, numbers, form, keep, &bad);
    bad = posenc_view_dense(out, POSENC_F32, ((int64_t)1 << 30) + 1, 1, 1, 1);
    RETURNS(POSENC_ERR_SHAPE, posenc_alibi_row, numbers, form, keep, &bad);
    bad = bias, bad.nb[2] = 4;
    RETURNS(POSENC_ERR_STRIDE, posenc_alibi_row, numbers, form, keep, &bad);
    for (int i = 0; i < 3; i++) {
        float slope[N_HEADS] = {0.5f, 0.5f, 0.5f};
        slope[i] = bad_floats[i];
        RETURNS(POSENC_ERR_SCALE, posenc_alibi_row, slope, form, keep, &bias);
    }
}

/* ---- Images ---- */

void test_swin(void **state) {
    (void)state;
    static const int64_t bad_sides[] = {0, -1, 1025, INT64_MIN, INT64_MAX};
    posenc_bias_table swin = {in, 15, N_HEADS, N_HEADS, 1}; /* 2 x 3 */
    posenc_view bias = posenc_view_dense(out, POSENC_F32, 6, 6, N_HEADS, 1);
    int32_t *index = (int32_t *)(void *)out;
    for (int i = 0; i < 5; i++) {
        RETURNS(POSENC_ERR_SHAPE, posenc_swin_index, bad_sides[i], 3, index);
        RETURNS(POSENC_ERR_SHAPE, posenc_swin_index, 2, bad_sides[i], index);
        RETURNS(POSENC_ERR_SHAPE, posenc_swin_bias, bad_sides[i], 3, &swin, &bias);
        RETURNS(POSENC_ERR_SHAPE, posenc_swin_backward, 2, bad_sides[i], &bias, &swin);
        RETURNS(POSENC_ERR_SHAPE, posenc_swin_v2_coords, bad_sides[i], 3, 2, 3, out);
        RETURNS(POSENC_ERR_SHAPE, posenc_swin_v2_coords, 2, 3, bad_sides[i], 3, out);
        RETURNS(POSENC_ERR_SHAPE, posenc_swin_v2_coords, 2, 3, 2, bad_sides[i], out);
    }
    RETURNS(POSENC_ERR_SHAPE, posenc_swin_index, 1024, 1024, index);
    RETURNS(POSENC_ERR_SHAPE, posenc_swin_v2_coords, 2, 3, 1, 3, out);
    RETURNS(POSENC_ERR_SHAPE, posenc_swin_bias, 3, 3, &swin, &bias);
    RETURNS(POSENC_ERR_NULL, posenc_swin_index, 2, 3, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_swin_index, 2, 3, shifted(index, 1));
    RETURNS(POSENC_ERR_NULL, posenc_swin_v2_coords, 2, 3, 2, 3, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_swin_v2_coords, 2, 3, 2, 3, shifted(out, 2));
    RETURNS(POSENC_ERR_NULL, posenc_swin_bias, 2, 3, NULL, &bias);
    RETURNS(POSENC_ERR_NULL, posenc_swin_bias, 2, 3, &swin, NULL);
    RETURNS(POSENC_ERR_NULL, posenc_swin_backward, 2, 3, NULL, &swin);
    RETURNS(POSENC_ERR_NULL, posenc_swin_backward, 2, 3, &bias, NULL);
    swin.n_rows = 14;
    RETURNS(POSENC_ERR_SHAPE, posenc_swin_bias, 2, 3, &swin, &bias);
    swin = (posenc_bias_table){in, 15, N_HEADS, 0, 1};
    RETURNS(POSENC_ERR_STRIDE, posenc_swin_backward, 2, 3, &bias, &swin);
    swin.n_heads = 4;
    RETURNS(POSENC_ERR_SHAPE, posenc_swin_bias, 2, 3, &swin, &bias);
    posenc_view bad = posenc_view_dense(out, POSENC_F32, 6, 6, 0, 1);
    RETURNS(POSENC_ERR_N_HEADS, posenc_swin_bias, 2, 3, &swin, &bad);
    bad = posenc_view_dense(out, POSENC_F32, 6, 6, N_HEADS, 2);
    swin = (posenc_bias_table){in, 15, N_HEADS, N_HEADS, 1};
    RETURNS(POSENC_ERR_SHAPE, posenc_swin_bias, 2, 3, &swin, &bad);
    bad = posenc_view_dense(out, POSENC_BF16, 6, 6, N_HEADS, 1);
    RETURNS(POSENC_ERR_DTYPE, posenc_swin_bias, 2, 3, &swin, &bad);
    RETURNS(POSENC_ERR_DTYPE, posenc_swin_backward, 2, 3, &bad, &swin);

    RETURNS(POSENC_ERR_SHAPE, posenc_swin_v2_scale, in, -1, out);
    RETURNS(POSENC_ERR_SHAPE, posenc_swin_v2_scale, in, INT64_MAX, out);
    RETURNS(POSENC_ERR_NULL, posenc_swin_v2_scale, NULL, 5, out);
    RETURNS(POSENC_ERR_NULL, posenc_swin_v2_scale, in, 5, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_swin_v2_scale, shifted(in, 1), 5, out);
    RETURNS(POSENC_ERR_STRIDE, posenc_swin_v2_scale, in, 5, shifted(out, 2));
    RETURNS(POSENC_ERR_OVERLAP, posenc_swin_v2_scale, out, 5, out + 4);
    RETURNS(POSENC_OK, posenc_swin_v2_scale, NULL, 0, NULL);
}

void test_decomposed(void **state) {
    (void)state;
    posenc_view learned = posenc_view_dense(in, POSENC_F32, 4, 9, 1, 1), bad = learned;
    posenc_view chosen = posenc_view_dense(out, POSENC_F32, 4, 5, 3, 1);
    RETURNS(POSENC_ERR_NULL, posenc_decomposed_rows, NULL, &chosen);
    RETURNS(POSENC_ERR_NULL, posenc_decomposed_rows, &learned, NULL);
    bad.data = out + 8;
    RETURNS(POSENC_ERR_OVERLAP, posenc_decomposed_rows, &bad, &chosen);
    bad = learned;
    bad.ne[0] = 3;
    RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_rows, &bad, &chosen);
    bad = posenc_view_dense(in, POSENC_F32, 4, 9, 2, 1);
    RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_rows, &bad, &chosen);
    bad = posenc_view_dense(in, POSENC_F32, 4, 0, 1, 1);
    RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_rows, &bad, &chosen);
    bad = posenc_view_dense(in, POSENC_F32, 4, ((int64_t)1 << 20) + 1, 1, 1);
    RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_rows, &bad, &chosen);
    bad = posenc_view_dense(in, POSENC_F16, 4, 9, 1, 1);
    RETURNS(POSENC_ERR_DTYPE, posenc_decomposed_rows, &bad, &chosen);
    bad = posenc_view_dense(out, POSENC_F32, 4, 5, 0, 1);
    RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_rows, &learned, &bad);
    bad = posenc_view_dense(out, POSENC_F32, 4, 5, 3, 2);
    RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_rows, &learned, &bad);

    posenc_range all = posenc_range_all(), outside = {0, 2 * HEADS + 1}, backwards = {2, 1};
    posenc_view by_row = posenc_view_dense(in, POSENC_F32, 2, 1, HEADS, 2), by_column = by_row;
    by_column.ne[0] = 4;
    by_column.nb[2] = by_column.nb[3] = 0; /* one row for all: read only */
    posenc_view scores = posenc_view_dense(out, POSENC_F32, DIM, 1, HEADS, 2);
    RETURNS(POSENC_ERR_NULL, posenc_decomposed_add, NULL, &by_column, &scores, all);
    RETURNS(POSENC_ERR_NULL, posenc_decomposed_add, &by_row, NULL, &scores, all);
    RETURNS(POSENC_ERR_NULL, posenc_decomposed_add, &by_row, &by_column, NULL, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_add, &by_row, &by_row, &scores, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_add, &by_column, &by_column, &scores, all);
    RETURNS(POSENC_ERR_ROWS, posenc_decomposed_add, &by_row, &by_column, &scores, outside);
    RETURNS(POSENC_ERR_ROWS, posenc_decomposed_add, &by_row, &by_column, &scores, backwards);
    for (int i = 1; i < 4; i++) {
        bad = by_row;
        bad.ne[i]++;
        RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_add, &bad, &by_column, &scores, all);
    }
    bad = by_row;
    bad.data = out;
    RETURNS(POSENC_ERR_OVERLAP, posenc_decomposed_add, &bad, &by_column, &scores, all);
    bad = by_column;
    bad.data = out;
    RETURNS(POSENC_ERR_OVERLAP, posenc_decomposed_add, &by_row, &bad, &scores, all);
    bad = posenc_view_dense(in, POSENC_F16, 2, 1, HEADS, 2);
    RETURNS(POSENC_ERR_DTYPE, posenc_decomposed_add, &bad, &by_column, &scores, all);
    bad = posenc_view_dense(out, POSENC_BF16, DIM, 1, HEADS, 2);
    RETURNS(POSENC_ERR_DTYPE, posenc_decomposed_add, &by_row, &by_column, &bad, all);
    by_row = posenc_view_dense(in, POSENC_F32, (int64_t)1 << 40, 0, 1, 1); /* a product of extents beyond int64 */
    by_column = posenc_view_dense(in, POSENC_F32, (int64_t)1 << 40, 0, 1, 1);
    scores = posenc_view_dense(out, POSENC_F32, 0, 0, 1, 1);
    RETURNS(POSENC_ERR_SHAPE, posenc_decomposed_add, &by_row, &by_column, &scores, all);
}

/* ---- Gradients ---- */

void test_gradients(void **state) {
    (void)state;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_range all = posenc_range_all(), outside = {0, HEADS * TOKENS * BATCH + 1};
    posenc_view p = dense(in), dx = dense(out), beside = dense(rows_b), bad;
    RETURNS(POSENC_ERR_NULL, posenc_softmax_backward, NULL, &p, &p, NULL, &dx, NULL, NULL, all);
    RETURNS(POSENC_ERR_NULL, posenc_softmax_backward, &params, NULL, &p, NULL, &dx, NULL, NULL, all);
    RETURNS(POSENC_ERR_NULL, posenc_softmax_backward, &params, &p, NULL, NULL, &dx, NULL, NULL, all);
    RETURNS(POSENC_ERR_NULL, posenc_softmax_backward, &params, &p, &p, NULL, NULL, NULL, NULL, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_softmax_backward, &params, &p, &p, NULL, &dx, NULL, shifted(rows_b, 1), all);
    RETURNS(POSENC_ERR_ROWS, posenc_softmax_backward, &params, &p, &p, NULL, &dx, NULL, NULL, outside);
    RETURNS(POSENC_ERR_OVERLAP, posenc_softmax_backward, &params, &p, &p, NULL, &dx, &dx, NULL, all);
    for (int i = 0; i < 4; i++) {
        bad = dense(in);
        bad.ne[i]--;
        RETURNS(POSENC_ERR_SHAPE, posenc_softmax_backward, &params, &p, &bad, NULL, &dx, NULL, NULL, all);
        RETURNS(POSENC_ERR_SHAPE, posenc_softmax_backward, &params, &bad, &p, NULL, &dx, NULL, NULL, all);
        bad.data = rows_b;
        RETURNS(POSENC_ERR_SHAPE, posenc_softmax_backward, &params, &p, &p, NULL, &dx, &bad, NULL, all);
        params.cap = 30.0f;
        RETURNS(POSENC_ERR_SHAPE, posenc_softmax_backward, &params, &p, &p, &bad, &dx, NULL, NULL, all);
        params.cap = 0.0f;
    }
    bad = posenc_view_dense(in, POSENC_F16, DIM, HEADS, TOKENS, BATCH);
    RETURNS(POSENC_ERR_DTYPE, posenc_softmax_backward, &params, &bad, &p, NULL, &dx, NULL, NULL, all);
    RETURNS(POSENC_ERR_DTYPE, posenc_softmax_backward, &params, &p, &bad, NULL, &dx, NULL, NULL, all);
    bad.data = rows_b;
    RETURNS(POSENC_ERR_DTYPE, posenc_softmax_backward, &params, &p, &p, NULL, &dx, &bad, NULL, all);
    params.cap = 30.0f;
    RETURNS(POSENC_ERR_NULL, posenc_softmax_backward, &params, &p, &p, NULL, &dx, NULL, NULL, all);
    RETURNS(POSENC_ERR_DTYPE, posenc_softmax_backward, &params, &p, &p, &bad, &dx, NULL, NULL, all);
    bad = dense(out + 1); /* an input half over an output */
    RETURNS(POSENC_ERR_OVERLAP, posenc_softmax_backward, &params, &p, &p, &bad, &dx, NULL, NULL, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_softmax_backward, &params, &p, &bad, &beside, &dx, NULL, NULL, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_softmax_backward, &params, &bad, &p, &beside, &dx, NULL, NULL, all);
    bad = dense(in + 1);
    RETURNS(POSENC_ERR_OVERLAP, posenc_softmax_backward, &params, &p, &p, &beside, &dx, &bad, NULL, all);
    params.cap = -1.0f;
    RETURNS(POSENC_ERR_SCALE, posenc_softmax_backward, &params, &p, &p, &p, &dx, NULL, NULL, all);
    params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.mask.before = (int64_t)1 << 40;
    RETURNS(POSENC_ERR_MASK, posenc_softmax_backward, &params, &p, &p, &p, &dx, NULL, NULL, all);

    start();
    rel_bias = (posenc_rel_bias){out, 0, 4, TOKENS, 4, 0};
    RETURNS(POSENC_ERR_MASK, posenc_rel_bias_backward, &params, &p, &rel_bias);
    params = posenc_score_params_of(1.0f, posenc_mask_none());
    RETURNS(POSENC_ERR_NULL, posenc_rel_bias_backward, NULL, &p, &rel_bias);
    RETURNS(POSENC_ERR_NULL, posenc_rel_bias_backward, &params, NULL, &rel_bias);
    params.positions.query_start = (int64_t)1 << 40;
    RETURNS(POSENC_ERR_POSITION, posenc_rel_bias_backward, &params, &p, &rel_bias);
    params.positions.query_start = 0;
    bad = posenc_view_dense(in, POSENC_BF16, DIM, HEADS, TOKENS, BATCH);
    RETURNS(POSENC_ERR_DTYPE, posenc_rel_bias_backward, &params, &bad, &rel_bias);
    rel_bias.n_heads = TOKENS - 1;
    RETURNS(POSENC_ERR_N_HEADS, posenc_rel_bias_backward, &params, &p, &rel_bias);

    RETURNS(POSENC_ERR_NULL, posenc_sink_backward, NULL, 3, 2, 2, out);
    RETURNS(POSENC_ERR_NULL, posenc_sink_backward, in, 3, 2, 2, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_sink_backward, shifted(in, 1), 3, 2, 2, out);
    RETURNS(POSENC_ERR_STRIDE, posenc_sink_backward, in, 3, 2, 2, shifted(out, 2));
    RETURNS(POSENC_ERR_SHAPE, posenc_sink_backward, in, -1, 2, 2, out);
    RETURNS(POSENC_ERR_SHAPE, posenc_sink_backward, in, 3, -1, 2, out);
    RETURNS(POSENC_ERR_SHAPE, posenc_sink_backward, in, 3, 2, INT64_MAX, out);
    RETURNS(POSENC_OK, posenc_sink_backward, NULL, 3, 0, 2, NULL);
}
