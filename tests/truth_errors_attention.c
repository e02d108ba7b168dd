/* SPDX-License-Identifier: MIT */
/* Refusals of attention besides bad views (truth_errors_relative.c). */
#include "truth_errors.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { REL_K = 5, REL_Q = 3 };

static const int64_t limit = (int64_t)1 << 30;
static float attention_scratch[3 << 17], attention_parts[4096];

/* A macro: a failure tells the line of the case. */
#define EVERY_WAY_RETURNS(status, args)                                                                                \
    RETURNS(status, posenc_attention_run, args, attention_scratch, sizeof attention_scratch, all);                     \
    RETURNS(status, posenc_attention_split, args, attention_scratch, sizeof attention_scratch, attention_parts,        \
            sizeof attention_parts, all);                                                                              \
    RETURNS(status, posenc_attention_combine_splits, args, attention_parts, sizeof attention_parts, all)

void test_attention_params(void **state) {
    (void)state;
    posenc_view q = posenc_view_dense(in, POSENC_F32, 8, 3, REL_Q, 1),
                k = posenc_view_dense(in, POSENC_F32, 8, 2, REL_K, 1);
    posenc_view v = posenc_view_dense(rows_a, POSENC_F32, 8, 2, REL_K, 1),
                y = posenc_view_dense(out, POSENC_F32, 8, 3, REL_Q, 1);
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.mask = posenc_mask_none();
    RETURNS(POSENC_ERR_NULL, posenc_attention_reference, NULL, &q, &k, &v, &y, NULL);
    RETURNS(POSENC_ERR_N_HEADS, posenc_attention_reference, &params, &q, &k, &v, &y, NULL);
    q.ne[1] = y.ne[1] = 2;
    params.scale = NAN;
    posenc_view p = posenc_view_dense(rows_b, POSENC_F32, REL_K, REL_Q, 2, 1);
    RETURNS(POSENC_ERR_SCALE, posenc_attention_reference, &params, &q, &k, &v, &y, NULL);
    RETURNS(POSENC_ERR_SCALE, posenc_attention_reference, &params, &q, &k, &v, &y, &p);
    params.scale = 1.0f;
    params.positions.query_start = limit;
    RETURNS(POSENC_ERR_POSITION, posenc_attention_reference, &params, &q, &k, &v, &y, &p);
    posenc_view over = posenc_view_dense(out, POSENC_F32, REL_K, 1, 1, 1); /* in the result's memory */
    params.positions.query_start = 0;
    params.bias.tensor = &over;
    RETURNS(POSENC_ERR_OVERLAP, posenc_attention_reference, &params, &q, &k, &v, &y, NULL);
    over.ne[1] = REL_Q; /* a bad view, of which nobody should ask where it ends */
    over.nb[1] = INT64_MIN;
    RETURNS(POSENC_ERR_STRIDE, posenc_attention_reference, &params, &q, &k, &v, &y, NULL);
    params.bias.tensor = NULL;
    k.ne[3] = v.ne[3] = 2; /* one batch of queries */
    RETURNS(POSENC_ERR_SHAPE, posenc_attention_reference, &params, &q, &k, &v, &y, NULL);
    k.ne[3] = v.ne[3] = 1;

    float scratch[1];
    posenc_range all = posenc_range_all();
    params = posenc_score_params_of(1.0f, posenc_mask_none());
    RETURNS(POSENC_ERR_NULL, posenc_attention, NULL, &q, &k, &v, &y, scratch, sizeof attention_scratch, all);
    RETURNS(POSENC_ERR_NULL, posenc_attention, &params, &q, &k, &v, &y, NULL, sizeof attention_scratch, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_attention, &params, &q, &k, &v, &y, shifted(scratch, 1), sizeof attention_scratch,
            all);
    params.fully_masked = POSENC_FULLY_MASKED_UNIFORM;
    RETURNS(POSENC_ERR_ENUM, posenc_attention, &params, &q, &k, &v, &y, scratch, sizeof attention_scratch, all);
    params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.cap = NAN;
    RETURNS(POSENC_ERR_SCALE, posenc_attention, &params, &q, &k, &v, &y, scratch, sizeof attention_scratch, all);
    params.cap = 0.0f;
    posenc_view bias = posenc_view_dense(y.data, POSENC_F32, REL_K, 1, 1, 1);
    params.bias.tensor = &bias;
    RETURNS(POSENC_ERR_OVERLAP, posenc_attention, &params, &q, &k, &v, &y, scratch, sizeof attention_scratch, all);
    bias.data = attention_scratch;
    RETURNS(POSENC_ERR_OVERLAP, posenc_attention, &params, &q, &k, &v, &y, attention_scratch, sizeof attention_scratch,
            all);
    params.bias.tensor = NULL;
    static int32_t row_of_all[REL_K + REL_Q];
    const posenc_rel_index index = {row_of_all, -REL_Q, REL_K + REL_Q, 1};
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    posenc_view products = posenc_view_dense(y.data, POSENC_F32, 1, 1, 1, 1);
    params.bias.by_query = (posenc_relative){&products, &index};
    RETURNS(POSENC_ERR_OVERLAP, posenc_attention, &params, &q, &k, &v, &y, scratch, sizeof attention_scratch, all);
    products.data = attention_scratch;
    RETURNS(POSENC_ERR_OVERLAP, posenc_attention, &params, &q, &k, &v, &y, attention_scratch, sizeof attention_scratch,
            all);
    params.bias.by_key = params.bias.by_query;
    params.bias.by_query = (posenc_relative){NULL, NULL};
    RETURNS(POSENC_ERR_OVERLAP, posenc_attention, &params, &q, &k, &v, &y, attention_scratch, sizeof attention_scratch,
            all);
    products.data = y.data;
    RETURNS(POSENC_ERR_OVERLAP, posenc_attention, &params, &q, &k, &v, &y, scratch, sizeof attention_scratch, all);
    params.bias.by_key = params.bias.by_query;
    q.ne[1] = y.ne[1] = 3;
    RETURNS(POSENC_ERR_N_HEADS, posenc_attention, &params, &q, &k, &v, &y, scratch, sizeof attention_scratch, all);
    q.ne[1] = y.ne[1] = 2;
    q.ne[0] = k.ne[0] = 0;
    RETURNS(POSENC_ERR_HEAD_DIM, posenc_attention, &params, &q, &k, &v, &y, scratch, sizeof attention_scratch, all);
    ANSWERS(== 0, posenc_attention_unit_count, NULL, &k);
    ANSWERS(== 0, posenc_attention_unit_count, &q, NULL);
    ANSWERS(== 2, posenc_attention_unit_count, &q, &k);
    q.ne[0] = 1; /* not k's */
    ANSWERS(== 0, posenc_attention_unit_count, &q, &k);
    q.ne[0] = k.ne[0];
    q.ne[2] = -100;
    ANSWERS(== 0, posenc_attention_unit_count, &q, &k);
    q.ne[2] = INT64_MAX;
    ANSWERS(== 0, posenc_attention_unit_count, &q, &k);
    ANSWERS(== 0, posenc_attention_workspace_bytes, 0, 8);
    ANSWERS(== 0, posenc_attention_workspace_bytes, 8, POSENC_MAX_HEAD_DIM + 1);
    ANSWERS(< 3 << 19, posenc_attention_workspace_bytes, 128, 128);
}

/* Sizes of tasks that cannot be, or that are more than a size can say. */
static void test_sizes(void) {
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    const posenc_attention_args good_task = {
        .params = &params,
        .q = posenc_view_dense(in, POSENC_F32, 64, 32, 8192, 1),
        .k = posenc_view_dense(in, POSENC_F16, 64, 1, 33 * POSENC_ATTENTION_SEGMENT, 1),
        .v = posenc_view_dense(in, POSENC_F16, 126, 1, 33 * POSENC_ATTENTION_SEGMENT, 1),
    };
    posenc_attention_args t = good_task;
    static const uint64_t bytes = (uint64_t)33 * 8192 * 32 * 128 * sizeof(float);
    ANSWERS(== 33 * ((8192 * 32 + 95) / 96), posenc_attention_split_count, &t);
    ANSWERS(== (bytes <= SIZE_MAX ? bytes : 0), posenc_attention_split_bytes, &t);
    static const int64_t bad_dims[] = {-3, -1, 0, POSENC_MAX_HEAD_DIM + 1, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 6; i++) {
        t.v.ne[0] = bad_dims[i];
        ANSWERS(== 0, posenc_attention_split_bytes, &t);
    }
    t = good_task;
    static const int64_t bad_counts[] = {-1, -5000, 0, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 5; i++) {
        posenc_attention_pages pages = {NULL, 0, bad_counts[i]};
        t.pages = &pages;
        ANSWERS(== 0, posenc_attention_split_count, &t);
        ANSWERS(== 0, posenc_attention_split_bytes, &t);
    }
#if SIZE_MAX < UINT64_MAX
    /* Elsewhere there may be memory for the probabilities. */
    static float written[16384];
    posenc_view q = posenc_view_dense(in, POSENC_F32, 1, 1, 16384, 1);
    posenc_view k = posenc_view_dense(in, POSENC_F32, 1, 1, 65537, 1);
    posenc_view y = posenc_view_dense(written, POSENC_F32, 1, 1, 16384, 1);
    q.nb[2] = k.nb[2] = 0;
    RETURNS(POSENC_ERR_MEMORY, posenc_attention_reference, &params, &q, &k, &k, &y, NULL);
#endif
}

/* Views over the first and the last float of scratch and of partitions, and behind them; and the two on each other. */
static void refuse_memory_over_views(const posenc_attention_args *good) {
    posenc_view lse = posenc_view_dense(rows_a, POSENC_F32, 1, 2, REL_Q, 2);
    posenc_attention_args t = *good;
    t.lse = &lse;
    posenc_view *views[] = {&t.q, &t.k, &t.v, &t.out, &lse};
    posenc_range none = {0, 0};
    size_t sums = posenc_attention_split_bytes(&t), needed = posenc_attention_workspace_bytes(8, 8);
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        const posenc_view apart = *views[i];
        for (int place = 0; place < 3; place++) {
            const posenc_status want = place < 2 ? POSENC_ERR_OVERLAP : POSENC_OK;
            views[i]->data = (char *)attention_scratch + (place == 0   ? 0
                                                          : place == 1 ? needed - sizeof(float)
                                                                       : needed);
            RETURNS(want, posenc_attention_run, &t, attention_scratch, needed, none);
            RETURNS(want, posenc_attention_split, &t, attention_scratch, needed, attention_parts, sums, none);
            views[i]->data = (char *)attention_parts + (place == 0 ? 0 : place == 1 ? sums - sizeof(float) : sums);
            RETURNS(want, posenc_attention_split, &t, attention_scratch, needed, attention_parts, sums, none);
            RETURNS(want, posenc_attention_combine_splits, &t, attention_parts, sums, none);
        }
        *views[i] = apart;
    }
    RETURNS(POSENC_ERR_OVERLAP, posenc_attention_split, &t, attention_scratch, needed, attention_scratch, sums, none);
}

/* Refusals of fields that only tasks have. */
void test_attention_tasks(void **state) {
    (void)state;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.n_batch = 2;
    posenc_rope_table rows = posenc_rope_table_dense(rope, rows_b);
    static const int32_t numbers[] = {1, 0, -1, 2, 3, 0};
    const posenc_attention_pages pages = {numbers, 2, 5};
    const posenc_attention_args good_task = {
        .params = &params,
        .q = posenc_view_dense(in, POSENC_F32, 8, 2, REL_Q, 2),
        .k = posenc_view_dense(in, POSENC_F32, 8, 2, 3, 3),
        .v = posenc_view_dense(in, POSENC_F32, 8, 2, 3, 3),
        .out = posenc_view_dense(out, POSENC_F32, 8, 2, REL_Q, 2),
        .k_rope = rope,
        .k_table = &rows,
        .pages = &pages,
    };
    posenc_attention_args t = good_task;
    posenc_attention_pages p = pages;
    posenc_range all = posenc_range_all();
    float *memory = attention_scratch;
#define BAD_TASK(status, change)                                                                                       \
    change;                                                                                                            \
    EVERY_WAY_RETURNS(status, &t);                                                                                     \
    t = good_task;                                                                                                     \
    rows = posenc_rope_table_dense(rope, rows_b);                                                                      \
    p = pages
    BAD_TASK(POSENC_ERR_ROWS, (void)0); /* page -1 */
    static const int32_t right[] = {1, 0, 2, 2};
#define BAD_PAGES(status, change)                                                                                      \
    p.table = right;                                                                                                   \
    change;                                                                                                            \
    t.pages = &p;                                                                                                      \
    BAD_TASK(status, (void)0)
    BAD_PAGES(POSENC_ERR_ROWS, t.k.ne[3] = t.v.ne[3] = 2);
    BAD_PAGES(POSENC_ERR_ROWS, p.table = right + 1; p.stride = 1; p.n_k = 6; t.k.ne[3] = t.v.ne[3] = 2);
    static const int32_t last_is_longer[] = {6, 9};
    params.sequences.k_end = last_is_longer; /* one table for both, whose third page only the second has */
    BAD_PAGES(POSENC_ERR_ROWS, p.stride = 0; p.n_k = 9; t.k.ne[3] = t.v.ne[3] = 2; t.k_rope = NULL; t.k_table = NULL);
    params.sequences.k_end = NULL;
    BAD_PAGES(POSENC_ERR_NULL, p.table = NULL);
    BAD_PAGES(POSENC_ERR_STRIDE, p.table = shifted(right, 1));
    BAD_PAGES(POSENC_ERR_SHAPE, p.stride = -1);
    BAD_PAGES(POSENC_ERR_SHAPE, p.stride = INT64_MAX);
    BAD_PAGES(POSENC_ERR_SHAPE, p.n_k = -1);
    BAD_PAGES(POSENC_ERR_SHAPE, p.n_k = limit + 1);
    BAD_PAGES(POSENC_ERR_SHAPE, p.n_k = INT64_MIN);
    BAD_PAGES(POSENC_ERR_SHAPE, p.n_k = INT64_MAX);
    BAD_PAGES(POSENC_ERR_SHAPE, t.k.ne[2] = t.v.ne[2] = 0);
    BAD_PAGES(POSENC_ERR_SHAPE, t.k.ne[2] = t.v.ne[2] = 0; p.n_k = 1);
    BAD_PAGES(POSENC_ERR_SHAPE, t.v.ne[3] = 2);
    BAD_PAGES(POSENC_ERR_NULL, t.k_rope = NULL);
    BAD_PAGES(POSENC_ERR_NULL, t.k_table = NULL);
    BAD_PAGES(POSENC_ERR_SHAPE, t.q.ne[0] = t.k.ne[0] = 7);
    BAD_PAGES(POSENC_ERR_STRIDE, rows.step = 3);
    BAD_PAGES(POSENC_ERR_NULL, rows.cos = NULL);
    BAD_PAGES(POSENC_ERR_NULL, t.params = NULL);

    /* 2^30 keys of 2^34 queries are scores that int64 does not count; nobody makes them. On 64 bits, where that result
     * has room. */
    const int64_t wide = (int64_t)1 << 17;
    posenc_bool_mask no_bytes = {NULL, {1, 0, 0, 0}, POSENC_KEEP};
    posenc_score_params masked = posenc_score_params_of(1.0f, posenc_mask_none());
    masked.bool_mask = &no_bytes;
    posenc_view queries = {in, POSENC_F16, {1, wide, wide, 1}, {2, 0, 0, 0}};
    posenc_view keys = {in, POSENC_F16, {1, 1, limit, 1}, {2, 0, 0, 0}};
    posenc_view result = posenc_view_dense((void *)(uintptr_t)((uint64_t)1 << 40), POSENC_F16, 1, wide, wide, 1);
    if (sizeof(void *) == 8)
        RETURNS(POSENC_ERR_NULL, posenc_attention, &masked, &queries, &keys, &keys, &result, memory,
                sizeof attention_scratch, ((posenc_range){0, 0}));

    static const int32_t ends[] = {5, 0};
    const posenc_view near_keys = posenc_view_dense(in, POSENC_F32, 8, 2, 5, 2);
    params.sequences.k_end = ends; /* the second sequence has no keys, so nobody looks at its pages */
    p.table = numbers;
    t.pages = &p;
    RETURNS(POSENC_OK, posenc_attention_run, &t, memory, sizeof attention_scratch, ((posenc_range){0, 0}));
    RETURNS(POSENC_ERR_NULL, posenc_attention_run, &t, NULL, sizeof attention_scratch, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_attention_run, &t, shifted(memory, 2), sizeof attention_scratch, all);
    /* too few bytes: nothing is written, however many units */
    const size_t needed = posenc_attention_workspace_bytes(8, 8), all_sums = posenc_attention_split_bytes(&t);
    for (int i = 0; i < 2; i++) {
        size_t few = i == 0 ? needed - 1 : 0;
        posenc_range none = {0, 0};
        RETURNS(POSENC_ERR_WORKSPACE, posenc_attention, &params, &t.q, &near_keys, &near_keys, &t.out, memory, few,
                all);
        RETURNS(POSENC_ERR_WORKSPACE, posenc_attention_run, &t, memory, few, all);
        RETURNS(POSENC_ERR_WORKSPACE, posenc_attention_run, &t, memory, few, none);
        RETURNS(POSENC_ERR_WORKSPACE, posenc_attention_split, &t, memory, few, attention_parts, all_sums, all);
        few = i == 0 ? all_sums - 1 : 0;
        RETURNS(POSENC_ERR_WORKSPACE, posenc_attention_split, &t, memory, needed, attention_parts, few, all);
        RETURNS(POSENC_ERR_WORKSPACE, posenc_attention_combine_splits, &t, attention_parts, few, all);
    }
    RETURNS(POSENC_OK, posenc_attention_run, &t, memory, needed, ((posenc_range){0, 0}));
    refuse_memory_over_views(&t);
    RETURNS(POSENC_ERR_NULL, posenc_attention_split, &t, NULL, sizeof attention_scratch, attention_parts,
            sizeof attention_parts, all);
    RETURNS(POSENC_ERR_NULL, posenc_attention_split, &t, memory, sizeof attention_scratch, NULL, sizeof attention_parts,
            all);
    RETURNS(POSENC_ERR_STRIDE, posenc_attention_split, &t, memory, sizeof attention_scratch,
            shifted(attention_parts, 2), sizeof attention_parts, all);
    RETURNS(POSENC_ERR_NULL, posenc_attention_combine_splits, &t, NULL, sizeof attention_parts, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_attention_combine_splits, &t, shifted(attention_parts, 2), sizeof attention_parts,
            all);
    ANSWERS(== 4, posenc_attention_split_count, &t);
    ANSWERS(== 3 * 2 * 2 * 10 * sizeof(float), posenc_attention_split_bytes, &t);
    p.n_k = POSENC_ATTENTION_SEGMENT + 1;
    ANSWERS(== 8, posenc_attention_split_count, &t);
    t.q.ne[3] = (int64_t)1 << 44;
    ANSWERS(== 0, posenc_attention_split_bytes, &t);
    ANSWERS(== 0, posenc_attention_split_bytes, NULL);
    ANSWERS(== 0, posenc_attention_split_count, NULL);

    params.n_batch = 1; /* of `ends` */
    posenc_view blocks = posenc_view_dense(in, POSENC_Q8_0, 32, 1, REL_K, 1);
    posenc_view q = posenc_view_dense(rows_a, POSENC_F32, 32, 1, 1, 1),
                y = posenc_view_dense(out, POSENC_F32, 32, 1, 1, 1);
    RETURNS(POSENC_OK, posenc_attention, &params, &q, &blocks, &blocks, &y, memory, sizeof attention_scratch,
            ((posenc_range){0, 0}));
    blocks.nb[0] = 2;
    RETURNS(POSENC_ERR_STRIDE, posenc_attention, &params, &q, &blocks, &blocks, &y, memory, sizeof attention_scratch,
            all);
    blocks = posenc_view_dense(in, POSENC_Q8_0, 32, 1, REL_K, 1);
    blocks.nb[2] = 35;
    RETURNS(POSENC_ERR_STRIDE, posenc_attention, &params, &q, &blocks, &blocks, &y, memory, sizeof attention_scratch,
            all);
    blocks = posenc_view_dense(in, POSENC_Q8_0, 32, (int64_t)1 << 40, (int64_t)1 << 40, 1);
    blocks.nb[0] = 4; /* so many that counting them leaves int64 */
    RETURNS(POSENC_ERR_SHAPE, posenc_attention, &params, &q, &blocks, &blocks, &y, memory, sizeof attention_scratch,
            all);
    blocks = posenc_view_dense(shifted(in, 1), POSENC_Q8_0, 32, 1, REL_K, 1);
    RETURNS(POSENC_ERR_STRIDE, posenc_attention, &params, &q, &blocks, &blocks, &y, memory, sizeof attention_scratch,
            all);
    blocks = posenc_view_dense(shifted(out, -170 + 2), POSENC_Q8_0, 32, 1, REL_K, 1);
    RETURNS(POSENC_ERR_OVERLAP, posenc_attention, &params, &q, &blocks, &blocks, &y, memory, sizeof attention_scratch,
            all);

    blocks = posenc_view_dense(in, POSENC_Q4_0, 32, 1, REL_K, 1);
    RETURNS(POSENC_OK, posenc_attention, &params, &q, &blocks, &blocks, &y, memory, sizeof attention_scratch,
            ((posenc_range){0, 0}));
    posenc_attention_args integers = {.params = &params, .q = q, .k = blocks, .v = blocks, .out = y};
    for (int math = -1; math <= POSENC_MATH_BF16X3 + 1; math++) {
        integers.math = (posenc_attention_math)math;
        RETURNS(math >= POSENC_MATH_F32 && math <= POSENC_MATH_BF16X3 ? POSENC_OK : POSENC_ERR_ENUM,
                posenc_attention_run, &integers, memory, sizeof attention_scratch, ((posenc_range){0, 0}));
    }
    blocks.nb[0] = POSENC_Q8_BYTES;
    blocks.nb[2] = 2 * POSENC_Q4_BYTES - 1;
    RETURNS(POSENC_ERR_STRIDE, posenc_attention, &params, &q, &blocks, &blocks, &y, memory, sizeof attention_scratch,
            all);
    blocks = posenc_view_dense(in, POSENC_Q4_0, 48, 1, REL_K, 1);
    q.ne[0] = y.ne[0] = 48;
    RETURNS(POSENC_ERR_SHAPE, posenc_attention, &params, &q, &blocks, &blocks, &y, memory, sizeof attention_scratch,
            all);

    posenc_attention_state a = {posenc_view_dense(in, POSENC_F16, 8, 1, 3, 1),
                                posenc_view_dense(rows_a, POSENC_F32, 1, 1, 3, 1)};
    posenc_attention_state b = {posenc_view_dense(in, POSENC_F32, 8, 1, 3, 1), a.lse};
    posenc_attention_state to = {posenc_view_dense(out, POSENC_F32, 8, 1, 3, 1),
                                 posenc_view_dense(rows_b, POSENC_F32, 1, 1, 3, 1)};
    RETURNS(POSENC_ERR_DTYPE, posenc_attention_combine, &a, &b, &to, all);
    RETURNS(POSENC_ERR_NULL, posenc_attention_combine, NULL, &b, &to, all);
    b.out.dtype = a.out.dtype;
    b.out.nb[0] = 2;
    for (int dim = 0; dim < 4; dim++) { /* one log-sum-exp for each row of the result */
        int64_t ne[4] = {1, 1, 3, 1};
        ne[dim]++;
        a.lse = b.lse = posenc_view_dense(rows_a, POSENC_F32, ne[0], ne[1], ne[2], ne[3]);
        to.lse = posenc_view_dense(rows_b, POSENC_F32, ne[0], ne[1], ne[2], ne[3]);
        RETURNS(POSENC_ERR_SHAPE, posenc_attention_combine, &a, &b, &to, all);
    }
    test_sizes();
}

/* Refusals of a step; test_mistakes.c has its texts. */
void test_steps(void **state) {
    (void)state;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal());
    posenc_step good = {.rope = rope, .params = &params, .head_dim = 8, .n_heads = 2, .n_kv_heads = 1};
    good.q = out;
    good.out = out + 64;
    good.k = good.v = in;
    good.k_cache = rows_a, good.v_cache = rows_b, good.cache_bytes = 4 * 8 * sizeof(float);
    good.n_ctx = 4, good.n_past = 1, good.n_tokens = 2;
    posenc_step step = good;
#define BAD_STEP(status, change)                                                                                       \
    change;                                                                                                            \
    RETURNS(status, posenc_step_append, &step, 0, 1);                                                                  \
    RETURNS(status, posenc_step_attend, &step, attention_scratch, sizeof attention_scratch, 0, 1);                     \
    RETURNS(status, posenc_step_run, &step, attention_scratch, sizeof attention_scratch);                              \
    step = good
    RETURNS(POSENC_ERR_NULL, posenc_step_append, NULL, 0, 1);
    RETURNS(POSENC_ERR_NULL, posenc_step_attend, NULL, attention_scratch, sizeof attention_scratch, 0, 1);
    BAD_STEP(POSENC_ERR_NULL, step.rope = NULL);
    BAD_STEP(POSENC_ERR_NULL, step.params = NULL);
    BAD_STEP(POSENC_ERR_NULL, step.k_cache = NULL);
    BAD_STEP(POSENC_ERR_NULL, step.v_cache = NULL);
    static const int64_t bad_counts[] = {-1, 0, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        BAD_STEP(POSENC_ERR_HEAD_DIM, step.head_dim = bad_counts[i]);
        BAD_STEP(POSENC_ERR_N_HEADS, step.n_heads = bad_counts[i]);
        BAD_STEP(POSENC_ERR_N_HEADS, step.n_kv_heads = bad_counts[i]);
        BAD_STEP(POSENC_ERR_CONTEXT, step.n_past = i == 1 ? 3 : bad_counts[i]);
        BAD_STEP(POSENC_ERR_CONTEXT, step.n_tokens = i == 1 ? 4 : bad_counts[i]);
        BAD_STEP(POSENC_ERR_CONTEXT, step.n_ctx = bad_counts[i]);
        RETURNS(POSENC_ERR_ROWS, posenc_step_append, &step, 0, i < 2 ? bad_counts[i] : 0);
        RETURNS(POSENC_ERR_ROWS, posenc_step_append, &step, i == 0 ? -2 : i == 1 ? 1 : bad_counts[i], 1);
    }
    BAD_STEP(POSENC_ERR_WORKSPACE, step.cache_bytes--);
    BAD_STEP(POSENC_ERR_WORKSPACE, step.cache_type = POSENC_BF16);
    BAD_STEP(POSENC_ERR_DTYPE, step.cache_type = (posenc_dtype)99);
    BAD_STEP(POSENC_ERR_MASK, params.sequences.n_seqs = 1);
    params.sequences.n_seqs = 0;
    BAD_STEP(POSENC_ERR_POSITION, params.positions.keys = positions);
    params.positions.keys = NULL;
    posenc_tree tree = {positions, 0};
    BAD_STEP(POSENC_ERR_POSITION, params.tree = &tree);
    params.tree = NULL;
    step.q = NULL;
    RETURNS(POSENC_ERR_NULL, posenc_step_append, &step, 0, 1);
    step = good;
    step.v_cache = rows_a;
    RETURNS(POSENC_ERR_OVERLAP, posenc_step_append, &step, 0, 1);
    step = good;
    step.head_dim = 4;
    step.cache_bytes /= 2;
    RETURNS(POSENC_ERR_SHAPE, posenc_step_append, &step, 0, 1);
    step = good;
    RETURNS(POSENC_ERR_WORKSPACE, posenc_step_attend, &step, attention_scratch,
            posenc_attention_workspace_bytes(8, 8) - 1, 0, 1);
    ANSWERS(!= NULL, posenc_last_error, );
}

/* Lists of keys: what is wrong with them, and what does not go with them. */
void test_attention_lists(void **state) {
    (void)state;
    static const int32_t right[] = {1, 0, POSENC_LIST_END, 99, 2, 1, 0, -7}, ends[] = {2, 3},
                         last_is_shorter[] = {3, 2}, behind[] = {1, 3, 0, 0}, below[] = {0, -2, 0, 0},
                         starts[] = {0, 3};
    static int32_t query_positions[REL_Q], key_positions[3];
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.n_batch = 2;
    const posenc_score_params good_params = params;
    const posenc_attention_lists good_lists = {right, 3, 0, 4, 0, 0};
    posenc_attention_lists lists = good_lists;
    const posenc_attention_args t = {
        .params = &params,
        .q = posenc_view_dense(in, POSENC_F32, 8, 2, REL_Q, 2),
        .k = posenc_view_dense(in, POSENC_F32, 8, 2, 3, 2),
        .v = posenc_view_dense(in, POSENC_F32, 8, 2, 3, 2),
        .out = posenc_view_dense(out, POSENC_F32, 8, 2, REL_Q, 2),
        .lists = &lists,
    };
    posenc_range all = posenc_range_all();
    float *memory = attention_scratch;
#define BAD_LISTS(status, change)                                                                                      \
    change;                                                                                                            \
    EVERY_WAY_RETURNS(status, &t);                                                                                     \
    params = good_params;                                                                                              \
    lists = good_lists
    BAD_LISTS(POSENC_ERR_ROWS, lists.keys = behind);
    BAD_LISTS(POSENC_ERR_ROWS, lists.keys = below);
    BAD_LISTS(POSENC_ERR_ROWS, lists.n_max = 4); /* -7 */
    BAD_LISTS(POSENC_ERR_ROWS, params.sequences.k_end = ends; lists.keys = right + 4; lists.batch_stride = 0);
    BAD_LISTS(POSENC_ERR_ROWS, params.sequences.k_end = last_is_shorter; lists.keys = right + 4;
              lists.batch_stride = 0);
    BAD_LISTS(POSENC_ERR_ROWS, params.sequences.k_begin = starts; lists.keys = right + 4; lists.batch_stride = 0);
    BAD_LISTS(POSENC_ERR_ROWS, params.sequences.k_begin = ends);
    for (int i = 0; i < 2 * REL_Q; i++) { /* of each query and sequence */
        int32_t one_is_wrong[2 * REL_Q] = {0};
        one_is_wrong[i] = 3;
        BAD_LISTS(POSENC_ERR_ROWS, lists = ((posenc_attention_lists){one_is_wrong, 1, 1, REL_Q, 0, 0}));
        BAD_LISTS(POSENC_ERR_ROWS, lists = ((posenc_attention_lists){one_is_wrong, 1, 1, 0, REL_Q, 2}));
    }
    BAD_LISTS(POSENC_ERR_NULL, lists.keys = NULL);
    BAD_LISTS(POSENC_ERR_STRIDE, lists.keys = shifted(right, 1));
    BAD_LISTS(POSENC_ERR_SHAPE, lists.n_max = -1);
    BAD_LISTS(POSENC_ERR_SHAPE, lists.n_max = limit + 1);
    BAD_LISTS(POSENC_ERR_SHAPE, lists.query_stride = -1);
    BAD_LISTS(POSENC_ERR_SHAPE, lists.query_stride = INT64_MAX);
    BAD_LISTS(POSENC_ERR_SHAPE, lists.batch_stride = -1);
    BAD_LISTS(POSENC_ERR_SHAPE, lists.batch_stride = INT64_MAX);
    BAD_LISTS(POSENC_ERR_SHAPE, lists.head_stride = -1);
    BAD_LISTS(POSENC_ERR_SHAPE, lists.head_stride = INT64_MAX);
    static const int64_t bad_heads[] = {INT64_MIN, -2, 0, 1, 3, 4};
    for (size_t i = 0; i < sizeof bad_heads / sizeof bad_heads[0]; i++) {
        lists.head_stride = 1;
        BAD_LISTS(POSENC_ERR_N_HEADS, lists.n_heads = bad_heads[i]);
    }

    posenc_view bias = posenc_view_dense(in, POSENC_F32, 3, 1, 1, 1), products = bias;
    posenc_bool_mask bytes = {(const uint8_t *)right, {1, 0, 0, 0}, POSENC_KEEP};
    static int32_t rows[REL_Q + 3];
    const posenc_rel_index index = {rows, -REL_Q, REL_Q + 3, 3};
    BAD_LISTS(POSENC_ERR_MASK, params.mask.n_first = 1; params.mask.before = 1; params.mask.after = 0;
              params.positions.query_start = 0);
    BAD_LISTS(POSENC_ERR_MASK, params.bool_mask = &bytes);
    BAD_LISTS(POSENC_ERR_MASK, params.bias.tensor = &bias);
    BAD_LISTS(POSENC_ERR_MASK, params.bias.by_key = ((posenc_relative){&products, &index});
              params.positions.query_start = 0);
    BAD_LISTS(POSENC_ERR_MASK, params.sequences.cu_seqlens = starts; params.sequences.n_seqs = 1;
              params.positions.query_start = 0);
    BAD_LISTS(POSENC_ERR_POSITION, params.positions.keys = key_positions; params.positions.queries = query_positions);

    posenc_range none = {0, 0};
    RETURNS(POSENC_OK, posenc_attention_run, &t, memory, sizeof attention_scratch, none);
    lists = (posenc_attention_lists){NULL, 0, 7, 7, 0, 0}; /* all are empty */
    RETURNS(POSENC_OK, posenc_attention_run, &t, memory, sizeof attention_scratch, none);
    ANSWERS(== 0, posenc_attention_split_count, &t);
    lists.n_max = 2 * POSENC_ATTENTION_SEGMENT + 1; /* whatever n_k is */
    ANSWERS(== 3 * 4, posenc_attention_split_count, &t);
    lists.n_max = INT64_MIN;
    ANSWERS(== 0, posenc_attention_split_count, &t);
}

/* Ragged batches: ends, extents and strides, and terms that do not go with them. */
void test_attention_ragged(void **state) {
    (void)state;
    static const int32_t ends[] = {0, 0, REL_Q}, key_ends[] = {0, 1, 3}, behind[] = {0, 0, REL_Q + 1},
                         down[] = {0, REL_Q + 1, REL_Q}, later[] = {1, 1, REL_Q}, lengths[] = {3, 3}, pages[2] = {0};
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    const posenc_score_params good_params = params;
    const posenc_attention_ragged good_ragged = {ends, NULL, 2}, packed = {ends, key_ends, 2};
    posenc_attention_ragged ragged = good_ragged;
    posenc_view lse = posenc_view_dense(rows_a, POSENC_F32, 1, 2, REL_Q, 1);
    posenc_attention_args good = {
        .params = &params,
        .q = posenc_view_dense(in, POSENC_F32, 8, 2, REL_Q, 1),
        .k = posenc_view_dense(in, POSENC_F32, 8, 2, 3, 2),
        .v = posenc_view_dense(in, POSENC_F32, 8, 2, 3, 2),
        .out = posenc_view_dense(out, POSENC_F32, 8, 2, REL_Q, 1),
        .lse = &lse,
    };
    posenc_attention_args t = good;
    posenc_attention_pages in_pages = {pages, 1, 3};
    posenc_attention_lists lists = {pages, 1, 0, 0, 0, 0};
    float *memory = attention_scratch;
    posenc_range all = posenc_range_all();
#define RAGGED(status) RETURNS(status, posenc_attention_run_ragged, &t, &ragged, memory, sizeof attention_scratch, all)
#define BAD_RAGGED(status, change)                                                                                     \
    change;                                                                                                            \
    RAGGED(status);                                                                                                    \
    ANSWERS(== 0, posenc_attention_ragged_unit_count, &t, &ragged);                                                    \
    params = good_params;                                                                                              \
    ragged = good_ragged;                                                                                              \
    t = good
    ANSWERS(== 2, posenc_attention_ragged_unit_count, &t, &ragged);
    RETURNS(POSENC_ERR_NULL, posenc_attention_run_ragged, NULL, &ragged, memory, sizeof attention_scratch, all);
    RETURNS(POSENC_ERR_NULL, posenc_attention_run_ragged, &t, NULL, memory, sizeof attention_scratch, all);
    BAD_RAGGED(POSENC_ERR_NULL, t.params = NULL);
    BAD_RAGGED(POSENC_ERR_NULL, ragged.cu_q = NULL);
    BAD_RAGGED(POSENC_ERR_STRIDE, ragged.cu_q = shifted(ends, 1));
    BAD_RAGGED(POSENC_ERR_SHAPE, ragged.cu_q = behind);
    BAD_RAGGED(POSENC_ERR_SHAPE, ragged.cu_q = down);
    BAD_RAGGED(POSENC_ERR_SHAPE, ragged.cu_q = later);
    BAD_RAGGED(POSENC_ERR_SHAPE, ragged.n_batch = 1);
    BAD_RAGGED(POSENC_ERR_SHAPE, ragged.n_batch = -1);
    BAD_RAGGED(POSENC_ERR_SHAPE, ragged.n_batch = INT64_MAX);
    BAD_RAGGED(POSENC_ERR_SHAPE, ragged.cu_k = key_ends); /* k has two sequences */
    BAD_RAGGED(POSENC_ERR_SHAPE, ragged = packed; t.k.ne[3] = t.v.ne[3] = 1; t.k.ne[2] = t.v.ne[2] = 2);
    BAD_RAGGED(POSENC_ERR_SHAPE, ragged = packed; t.pages = &in_pages);
    BAD_RAGGED(POSENC_ERR_SHAPE, t.k.ne[3] = t.v.ne[3] = 1);
    BAD_RAGGED(POSENC_ERR_SHAPE, t.q.ne[3] = t.out.ne[3] = 2; t.lse = NULL);
    BAD_RAGGED(POSENC_ERR_SHAPE, params.sequences.k_end = lengths; params.n_batch = 1);
    in_pages.stride = -1;
    BAD_RAGGED(POSENC_ERR_SHAPE, t.pages = &in_pages);
    in_pages.stride = INT64_MAX;
    BAD_RAGGED(POSENC_ERR_SHAPE, t.pages = &in_pages);
    lists.query_stride = INT64_MAX;
    BAD_RAGGED(POSENC_ERR_SHAPE, t.lists = &lists);
    lists.query_stride = 0, lists.batch_stride = INT64_MAX;
    BAD_RAGGED(POSENC_ERR_SHAPE, t.lists = &lists);
    BAD_RAGGED(POSENC_ERR_STRIDE, params.bias.alibi_slopes = in; params.n_heads = 2;
               params.bias.alibi_batch_stride = INT64_MAX);

    posenc_view bias = posenc_view_dense(in, POSENC_F32, 3, 1, 1, 1);
    posenc_bool_mask bytes = {(const uint8_t *)ends, {1, 0, 0, 0}, POSENC_KEEP};
    static const int32_t parents[REL_Q] = {-1, -1};
    const posenc_tree tree = {parents, 0};
    BAD_RAGGED(POSENC_ERR_MASK, params.bool_mask = &bytes);
    BAD_RAGGED(POSENC_ERR_MASK, params.tree = &tree);
    const posenc_block_mask blocks = {.q_block = 16, .k_block = 16};
    BAD_RAGGED(POSENC_ERR_MASK, params.block_mask = &blocks);
    BAD_RAGGED(POSENC_ERR_MASK, params.bias.tensor = &bias);
    BAD_RAGGED(POSENC_ERR_MASK, params.bias.by_query.products = &bias);
    BAD_RAGGED(POSENC_ERR_MASK, params.bias.by_key.products = &bias);
    BAD_RAGGED(POSENC_ERR_MASK, params.sequences.cu_seqlens = ends; params.sequences.n_seqs = 2);
    BAD_RAGGED(POSENC_ERR_POSITION, params.positions.queries = params.positions.keys = ends);

    params.scale = 0.0f; /* refused with a sequence */
    RAGGED(POSENC_ERR_UNSET);
    params = good_params;
    RETURNS(POSENC_ERR_WORKSPACE, posenc_attention_run_ragged, &t, &ragged, memory, 1, all);
    posenc_range beyond = {0, 3}, none = {0, 0};
    RETURNS(POSENC_ERR_ROWS, posenc_attention_run_ragged, &t, &ragged, memory, sizeof attention_scratch, beyond);
    RETURNS(POSENC_OK, posenc_attention_run_ragged, &t, &ragged, memory, sizeof attention_scratch, none);
}

/* Block masks: sizes, lists of every row, head and sequence, and terms that do not go with them. */
void test_attention_blocks(void **state) {
    (void)state;
    enum { KEYS = 40, Q_BLOCKS = REL_Q, ROWS_OF_BLOCKS = Q_BLOCKS * 2 * 2, K_BLOCKS = 3 };
    static int32_t counts[ROWS_OF_BLOCKS + 1], numbers[ROWS_OF_BLOCKS * K_BLOCKS + 1], empty[ROWS_OF_BLOCKS + 1];
    for (int r = 0; r < ROWS_OF_BLOCKS; r++)
        for (int t = 0; t < K_BLOCKS; t++) {
            counts[r] = K_BLOCKS;
            numbers[r * K_BLOCKS + t] = t;
        }
    const posenc_block_mask good_mask = {.partial_counts = empty,
                                         .partial_blocks = numbers,
                                         .full_counts = counts,
                                         .full_blocks = numbers,
                                         .n_max = K_BLOCKS,
                                         .head_stride = Q_BLOCKS,
                                         .batch_stride = 2 * Q_BLOCKS,
                                         .q_block = 1,
                                         .k_block = 16};
    posenc_block_mask mask = good_mask;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.block_mask = &mask;
    const posenc_score_params good_params = params;
    const posenc_view scores = posenc_view_dense(out, POSENC_F32, KEYS, REL_Q, 2, 2);
    posenc_attention_args t = {
        .params = &params,
        .q = posenc_view_dense(in, POSENC_F32, 1, 2, REL_Q, 2),
        .k = posenc_view_dense(in, POSENC_F32, 1, 2, KEYS, 2),
        .v = posenc_view_dense(in, POSENC_F32, 1, 2, KEYS, 2),
        .out = posenc_view_dense(out, POSENC_F32, 1, 2, REL_Q, 2),
    };
    posenc_range all = posenc_range_all(), none = {0, 0};
    float *memory = attention_scratch;
#define BAD_BLOCKS(status, change)                                                                                     \
    change;                                                                                                            \
    EVERY_WAY_RETURNS(status, &t);                                                                                     \
    if (t.lists == NULL) {                                                                                             \
        RETURNS(status, posenc_softmax, &params, &scores, &scores, all);                                               \
    }                                                                                                                  \
    params = good_params;                                                                                              \
    t.lists = NULL;                                                                                                    \
    mask = good_mask
    RETURNS(POSENC_OK, posenc_attention_run, &t, memory, sizeof attention_scratch, none);
    static const int64_t sizes[] = {INT64_MIN, 0, 8, 17, 24, 256, INT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        BAD_BLOCKS(POSENC_ERR_SHAPE, mask.k_block = sizes[i]);
    }
    BAD_BLOCKS(POSENC_ERR_SHAPE, mask.q_block = 0);
    BAD_BLOCKS(POSENC_ERR_SHAPE, mask.n_max = -1);
    BAD_BLOCKS(POSENC_ERR_SHAPE, mask.n_max = INT64_MAX);
    BAD_BLOCKS(POSENC_ERR_SHAPE, mask.head_stride = -1);
    BAD_BLOCKS(POSENC_ERR_SHAPE, mask.head_stride = INT64_MAX);
    BAD_BLOCKS(POSENC_ERR_SHAPE, mask.batch_stride = -1);
    BAD_BLOCKS(POSENC_ERR_SHAPE, mask.batch_stride = INT64_MAX);
    BAD_BLOCKS(POSENC_ERR_NULL, mask.full_counts = NULL);
    BAD_BLOCKS(POSENC_ERR_NULL, mask.partial_blocks = NULL);
    BAD_BLOCKS(POSENC_ERR_STRIDE, mask.full_counts = shifted(counts, 1));
    BAD_BLOCKS(POSENC_ERR_STRIDE, mask.partial_blocks = shifted(numbers, 1));
    for (int r = 0; r < ROWS_OF_BLOCKS; r++) { /* of each row, head and sequence */
        const int32_t last = numbers[r * K_BLOCKS + 2];
        counts[r] = K_BLOCKS + 1;
        BAD_BLOCKS(POSENC_ERR_ROWS, (void)0);
        counts[r] = -1;
        BAD_BLOCKS(POSENC_ERR_ROWS, (void)0);
        counts[r] = K_BLOCKS;
        numbers[r * K_BLOCKS + 2] = K_BLOCKS; /* behind the keys */
        BAD_BLOCKS(POSENC_ERR_ROWS, (void)0);
        numbers[r * K_BLOCKS + 2] = 1; /* named twice */
        BAD_BLOCKS(POSENC_ERR_ROWS, (void)0);
        numbers[r * K_BLOCKS + 2] = last;
        numbers[r * K_BLOCKS] = -1;
        BAD_BLOCKS(POSENC_ERR_ROWS, (void)0);
        numbers[r * K_BLOCKS] = 0;
    }
    const posenc_attention_lists lists = {numbers, 1, 0, 0, 0, 0};
    static const int32_t parents[REL_Q] = {-1, -1};
    const posenc_tree tree = {parents, 0};
    BAD_BLOCKS(POSENC_ERR_MASK, t.lists = &lists);
    BAD_BLOCKS(POSENC_ERR_MASK, params.tree = &tree);
    RETURNS(POSENC_OK, posenc_attention_run, &t, memory, sizeof attention_scratch, none);
}

/* Lists built from masks: nothing is written where a size, a stride, an array or a mask is refused. */
void test_blocks_built(void **state) {
    (void)state;
    enum { KEYS = 40, K_BLOCKS = 3, N_LISTS = REL_Q * 2 * 2 };
    static const int64_t good_extents[] = {KEYS, REL_Q, 2, 2};
    int32_t *numbers = (int32_t *)(void *)out;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal());
    const posenc_score_params good_params = params;
    const posenc_block_mask good_mask = {.partial_counts = numbers,
                                         .full_counts = numbers + N_LISTS,
                                         .partial_blocks = numbers + 2 * N_LISTS,
                                         .full_blocks = numbers + (2 + K_BLOCKS) * N_LISTS,
                                         .n_max = K_BLOCKS,
                                         .head_stride = REL_Q,
                                         .batch_stride = 2 * REL_Q,
                                         .q_block = 1,
                                         .k_block = 16};
    posenc_block_mask mask = good_mask;
    int64_t extents[4];
    memcpy(extents, good_extents, sizeof extents);
#define BAD_BUILD(status, change)                                                                                      \
    change;                                                                                                            \
    RETURNS(status, posenc_block_mask_build, &params, extents, &mask);                                                 \
    params = good_params;                                                                                              \
    memcpy(extents, good_extents, sizeof extents);                                                                     \
    mask = good_mask
    RETURNS(POSENC_ERR_NULL, posenc_block_mask_build, NULL, extents, &mask);
    RETURNS(POSENC_ERR_NULL, posenc_block_mask_build, &params, NULL, &mask);
    RETURNS(POSENC_ERR_NULL, posenc_block_mask_build, &params, extents, NULL);
    BAD_BUILD(POSENC_ERR_NULL, mask.partial_counts = NULL);
    BAD_BUILD(POSENC_ERR_NULL, mask.partial_blocks = NULL);
    BAD_BUILD(POSENC_ERR_NULL, mask.full_counts = NULL);
    BAD_BUILD(POSENC_ERR_NULL, mask.full_blocks = NULL);
    BAD_BUILD(POSENC_ERR_STRIDE, mask.full_blocks = shifted(numbers, 1));
    BAD_BUILD(POSENC_ERR_SHAPE, mask.n_max = K_BLOCKS - 1);
    BAD_BUILD(POSENC_ERR_SHAPE, mask.n_max = INT64_MAX);
    BAD_BUILD(POSENC_ERR_SHAPE, mask.k_block = 8);
    BAD_BUILD(POSENC_ERR_SHAPE, mask.q_block = 0);
    BAD_BUILD(POSENC_ERR_SHAPE, mask.head_stride = REL_Q - 1); /* lists would overlap */
    BAD_BUILD(POSENC_ERR_SHAPE, mask.batch_stride = 2 * REL_Q - 1);
    BAD_BUILD(POSENC_ERR_SHAPE, mask.batch_stride = INT64_MAX);
    for (int i = 0; i < 4; i++) {
        BAD_BUILD(POSENC_ERR_SHAPE, extents[i] = -1);
        BAD_BUILD(POSENC_ERR_SHAPE, extents[i] = INT64_MAX);
    }
    BAD_BUILD(POSENC_ERR_SHAPE, extents[2] = extents[3] = (int64_t)1 << 30);
    BAD_BUILD(POSENC_ERR_MASK_UNSET, params.mask = (posenc_mask)POSENC_MASK_UNSET);
    static const int32_t parents[REL_Q] = {-1, -1};
    const posenc_tree tree = {parents, 0};
    BAD_BUILD(POSENC_ERR_MASK, params.tree = &tree);
}
