/* SPDX-License-Identifier: MIT */
/* Block masks of attention and softmax: bit for bit the call with the same mask as bytes, for random calls of all
 * terms, every way to compute, units and parts; and keys of blocks in no list are not read. */
#include "truth_attention.h"
#include "truth_half.h"
#include "truth_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE, PARTIAL, FULL };

/* A block mask, its lists, and the same mask as bytes [batch][head][query][key]. */
typedef struct blocks {
    posenc_block_mask mask;
    posenc_bool_mask bytes;
    int64_t n_rows, n_columns, n_heads, n_batch; /* heads and sequences with lists of their own */
    uint8_t *kinds;
} blocks;

static void *memory_of(int64_t n, size_t size) {
    void *memory = calloc((size_t)n + 1, size);
    assert_true(memory != NULL);
    return memory;
}

/* Some rows of blocks see everything, some nothing, some a band, the rest here and there. */
static int draw_kind(int64_t row, int64_t column, int64_t style) {
    int64_t off = column - row < 0 ? row - column : column - row;
    switch (style) {
    case 0: return (int)truth_below(3);
    case 1: return truth_below(10) ? NONE : FULL;
    case 2: return FULL;
    case 3: return off <= 1 ? FULL : off == 2 ? PARTIAL : NONE;
    case 4: return NONE;
    default: return column % 3 == 0 ? FULL : truth_below(4) ? NONE : PARTIAL;
    }
}

/* One kind's lists of all rows. */
static void list(const blocks *c, int kind, const int32_t **counts, const int32_t **numbers) {
    int64_t n = c->n_batch * c->n_heads * c->n_rows;
    int32_t *count = memory_of(n, sizeof *count), *number = memory_of(n * c->mask.n_max, sizeof *number);
    for (int64_t r = 0; r < n; r++)
        for (int64_t column = 0; column < c->n_columns; column++)
            if (c->kinds[r * c->n_columns + column] == kind)
                number[r * c->mask.n_max + count[r]++] = (int32_t)column;
    *counts = count;
    *numbers = number;
}

static void set_sizes(blocks *c) {
    static const int64_t sizes[] = {16, 32, 64, 128}, query_sizes[] = {1, 3, 16, 128};
    int64_t k_block = sizes[truth_below(4)], q_block = query_sizes[truth_below(4)];
    c->n_rows = (s.n_q + q_block - 1) / q_block;
    c->n_columns = (s.n_k + k_block - 1) / k_block;
    c->n_heads = truth_below(2) ? s.n_heads : 1;
    c->n_batch = truth_below(2) ? s.n_batch : 1;
    c->mask = (posenc_block_mask){
        .n_max = c->n_columns + truth_below(2),
        .head_stride = c->n_heads > 1 ? c->n_rows : 0,
        .batch_stride = c->n_batch > 1 ? c->n_heads * c->n_rows : 0,
        .q_block = q_block,
        .k_block = k_block,
    };
}

static void open_blocks(blocks *c) {
    set_sizes(c);
    int64_t n = c->n_batch * c->n_heads * c->n_rows;
    c->kinds = memory_of(n * c->n_columns, 1);
    for (int64_t r = 0; r < n; r++) {
        int64_t style = truth_below(6);
        for (int64_t column = 0; column < c->n_columns; column++)
            c->kinds[r * c->n_columns + column] =
                (uint8_t)draw_kind(r % c->n_rows * c->mask.q_block / c->mask.k_block, column, style);
    }
    list(c, PARTIAL, &c->mask.partial_counts, &c->mask.partial_blocks);
    list(c, FULL, &c->mask.full_counts, &c->mask.full_blocks);
}

static int kind_of(const blocks *c, int64_t j, int64_t i, int64_t h, int64_t b) {
    int64_t row = b * c->mask.batch_stride + h * c->mask.head_stride + i / c->mask.q_block;
    return c->kinds[row * c->n_columns + j / c->mask.k_block];
}

static int is_kept(const posenc_bool_mask *m, int64_t j, int64_t i, int64_t h, int64_t b) {
    return m == NULL || (m->data[j + i * m->nb[1] + h * m->nb[2] + b * m->nb[3]] != 0) == (m->polarity == POSENC_KEEP);
}

static void make_bytes(blocks *c) {
    int64_t of_head = s.n_q * s.n_k, of_batch = s.n_heads * of_head;
    uint8_t *data = memory_of(s.n_batch * of_batch, 1);
    for (int64_t at = 0; at < s.n_batch * of_batch; at++) {
        int64_t j = at % s.n_k, i = at / s.n_k % s.n_q, h = at / of_head % s.n_heads, b = at / of_batch;
        int kind = kind_of(c, j, i, h, b);
        data[at] = kind == FULL || (kind == PARTIAL && is_kept(s.params.bool_mask, j, i, h, b));
    }
    c->bytes = (posenc_bool_mask){data, {1, s.n_k, of_head, of_batch}, POSENC_KEEP};
}

static void close_blocks(blocks *c) {
    const void *memory[] = {c->mask.partial_counts, c->mask.partial_blocks, c->mask.full_counts,
                            c->mask.full_blocks,    c->bytes.data,          c->kinds};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        free((void *)(uintptr_t)memory[i]);
}

/* ---- Calls ---- */

static size_t scratch_bytes(const posenc_attention_args *args) {
    return posenc_attention_workspace_bytes(args->q.ne[0], args->v.ne[0]);
}

/* All units at once, or part by part from the last. */
static void run(const posenc_attention_args *args, int in_parts) {
    if (!in_parts) {
        truth_ok(posenc_attention_run(args, scratch, scratch_bytes(args), posenc_range_all()));
        return;
    }
    size_t bytes = posenc_attention_split_bytes(args);
    void *parts = malloc(bytes);
    assert_true(parts != NULL);
    for (int64_t i = posenc_attention_split_count(args) - 1; i >= 0; i--)
        truth_ok(posenc_attention_split(args, scratch, scratch_bytes(args), parts, bytes, (posenc_range){i, i + 1}));
    truth_ok(posenc_attention_combine_splits(args, parts, bytes, posenc_range_all()));
    free(parts);
}

/* Compares attention with its mask as blocks and as bytes, for every way to compute. */
static void compare_attention(const blocks *c) {
    truth_tensor lse = truth_tensor_random((int64_t[4]){1, s.n_heads, s.n_q, s.n_batch});
    truth_tensor want_lse = truth_tensor_random(lse.view.ne);
    truth_tensor want = truth_tensor_random_of(out.view.dtype, out.view.ne);
    posenc_score_params as_bytes = s.params;
    as_bytes.bool_mask = &c->bytes;
    posenc_attention_args args = posenc_attention_args_of(&s.params, &q.view, &k.view, &v.view, &out.view);
    args.math = (posenc_attention_math)truth_below(POSENC_MATH_BF16X3 + 1);
    posenc_attention_args plain = args;
    plain.params = &as_bytes;
    plain.out = want.view;
    plain.lse = &want_lse.view;
    run(&plain, 0);
    s.params.block_mask = &c->mask;
    args.lse = &lse.view;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int in_parts = 0; in_parts < 2; in_parts++) {
            truth_reset(&out);
            truth_reset(&lse);
            run(&args, in_parts);
            truth_same_views(&out.view, &want.view, "block mask");
            truth_same_views(&lse.view, &want_lse.view, "lse of a block mask");
        }
    s.params.block_mask = NULL;
    truth_tensor_free(&lse);
    truth_tensor_free(&want_lse);
    truth_tensor_free(&want);
}

/* ---- Scores ---- */

/* A random call: softmax, logits or a partial softmax. */
typedef struct scores_call {
    int form;
    const posenc_view *x;
    posenc_softmax_sum *sums;
} scores_call;

static void run_scores(const scores_call *call, const posenc_score_params *params, const posenc_view *y) {
    posenc_range all = posenc_range_all();
    truth_ok(call->form == 0   ? posenc_softmax(params, call->x, y, all)
             : call->form == 1 ? posenc_logits(params, call->x, y, all)
                               : posenc_softmax_partial(params, call->x, y, call->sums, all));
}

/* 1 if a key of the group is in a block of a list, and not masked by position, lengths or documents. */
static int is_group_seen(const blocks *c, int64_t j, int64_t i, int64_t h, int64_t b) {
    posenc_score_params bounds = s.params;
    bounds.bool_mask = NULL;
    if (bounds.positions.keys != NULL)
        bounds.mask = posenc_mask_none();
    bounds.positions.queries = bounds.positions.keys = NULL;
    int64_t first = j / POSENC_MASKED_GROUP * POSENC_MASKED_GROUP;
    for (int64_t at = first; at < first + POSENC_MASKED_GROUP && at < s.n_k; at++)
        if (kind_of(c, at, i, h, b) != NONE && truth_sees(&bounds, at, i, h, b))
            return 1;
    return 0;
}

/* Gives keys of blocks in no list a score that must not be read. */
static void spoil(const blocks *c, const truth_tensor *x) {
    for (int64_t at = 0; at < s.n_k * s.n_q * s.n_heads * s.n_batch; at++) {
        int64_t j = at % s.n_k, i = at / s.n_k % s.n_q, h = at / s.n_k / s.n_q % s.n_heads,
                b = at / s.n_k / s.n_q / s.n_heads;
        if (kind_of(c, j, i, h, b) == NONE)
            truth_store(truth_address(&x->view, j, i, h, b), NAN, x->view.dtype);
    }
}

/* Compares softmax with its mask as blocks and as bytes, for every way to compute. With UNTOUCHED the groups that are
 * left keep what y held, and other keys get the same. */
static void compare_softmax(const blocks *c) {
    int64_t ne[] = {s.n_k, s.n_q, s.n_heads, s.n_batch}, n_rows = s.n_q * s.n_heads * s.n_batch;
    posenc_softmax_sum *sums = memory_of(2 * n_rows, sizeof *sums), *want_sums = sums + n_rows;
    truth_tensor x = truth_tensor_random_of((posenc_dtype)truth_below(3), ne),
                 y = truth_tensor_random_of((posenc_dtype)truth_below(3), ne);
    truth_tensor want = truth_tensor_random_of(y.view.dtype, ne);
    spoil(c, &x);
    scores_call call = {(int)truth_below(3), &x.view, want_sums};
    posenc_score_params as_bytes = s.params, as_blocks = s.params;
    as_bytes.masked_output = POSENC_MASKED_WRITTEN;
    as_bytes.bool_mask = &c->bytes;
    run_scores(&call, &as_bytes, &want.view);
    as_blocks.block_mask = &c->mask;
    as_blocks.masked_output = (posenc_masked_output)truth_below(2);
    int is_left = as_blocks.masked_output == POSENC_MASKED_UNTOUCHED;
    for (int64_t at = 0; is_left && at < n_rows * s.n_k; at++) {
        int64_t row = at / s.n_k, j = at % s.n_k, i = row % s.n_q, h = row / s.n_q % s.n_heads,
                b = row / s.n_q / s.n_heads;
        if (!is_group_seen(c, j, i, h, b))
            truth_store(truth_address(&want.view, j, i, h, b), truth_was(&y, j, i, h, b), y.view.dtype);
    }
    call.sums = sums;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reset(&y);
        memset(sums, 0, (size_t)n_rows * sizeof *sums);
        run_scores(&call, &as_blocks, &y.view);
        truth_same_views(&y.view, &want.view, "softmax of a block mask");
        assert_memory_equal(sums, want_sums, (size_t)n_rows * sizeof *sums);
    }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&want);
    free(sums);
}

static void test_bytes(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        blocks c = {.kinds = NULL};
        open_attention(1 + truth_below(round % 20 ? 1100 : SCENE_K - 1));
        if (s.params.tree == NULL) {
            open_blocks(&c);
            make_bytes(&c);
            compare_attention(&c);
            compare_softmax(&c);
            close_blocks(&c);
        }
        close_attention();
    }
}

/* Short rows, where bounds and blocks often meet within a group of keys. */
static void test_groups(void **state) {
    (void)state;
    for (int round = 0; round < 1500; round++) {
        blocks c = {.kinds = NULL};
        open_attention_of(1 + truth_below(200), 1, 1);
        if (s.params.tree == NULL) {
            open_blocks(&c);
            make_bytes(&c);
            compare_softmax(&c);
            close_blocks(&c);
        }
        close_attention();
    }
}

/* ---- Lists from masks ---- */

static int32_t *array_of(int64_t n) {
    int32_t *array = memory_of(n, sizeof *array);
    for (int64_t i = 0; i <= n; i++)
        array[i] = 77;
    return array;
}

/* 1 if an ascending list of n numbers has this one. */
static int has(const int32_t *list, int32_t n, int64_t number) {
    for (int32_t t = 0; t < n; t++) {
        assert_true(t == 0 || list[t] > list[t - 1]);
        if (list[t] == number)
            return 1;
    }
    return 0;
}

/* Kind of a block, by each key of it: for all heads and sequences that share its list. */
static int plain_kind(const blocks *c, int64_t row, int64_t column) {
    int64_t i0 = row % c->n_rows * c->mask.q_block, j0 = column * c->mask.k_block, seen = 0, masked = 0;
    for (int64_t b = 0; b < s.n_batch; b++)
        for (int64_t h = 0; h < s.n_heads; h++) {
            if ((c->n_heads > 1 && h != row / c->n_rows % c->n_heads) ||
                (c->n_batch > 1 && b != row / c->n_rows / c->n_heads))
                continue;
            for (int64_t i = i0; i < i0 + c->mask.q_block && i < s.n_q; i++)
                for (int64_t j = j0; j < j0 + c->mask.k_block && j < s.n_k; j++)
                    truth_sees(&s.params, j, i, h, b) ? seen++ : masked++;
        }
    return seen == 0 ? NONE : masked == 0 ? FULL : PARTIAL;
}

/* Blocks built from a random call's masks, and attention with them beside these masks. */
static void check_built(blocks *c) {
    int64_t n = c->n_batch * c->n_heads * c->n_rows, ne[] = {s.n_k, s.n_q, s.n_heads, s.n_batch};
    int32_t *arrays[] = {array_of(n), array_of(n * c->mask.n_max), array_of(n), array_of(n * c->mask.n_max)};
    c->mask.partial_counts = arrays[0], c->mask.partial_blocks = arrays[1];
    c->mask.full_counts = arrays[2], c->mask.full_blocks = arrays[3];
    truth_ok(posenc_block_mask_build(&s.params, ne, &c->mask));
    for (int64_t r = 0; r < n; r++)
        for (int64_t column = 0; column < c->n_columns; column++) {
            int is_full = has(arrays[3] + r * c->mask.n_max, arrays[2][r], column);
            int is_partial = has(arrays[1] + r * c->mask.n_max, arrays[0][r], column);
            int kind = is_full ? FULL : is_partial ? PARTIAL : NONE;
            assert_false(is_full && is_partial);
            assert_int_equal(kind, plain_kind(c, r, column));
        }
    assert_true(arrays[0][n] == 77 && arrays[1][n * c->mask.n_max] == 77 && arrays[2][n] == 77);
    assert_true(arrays[3][n * c->mask.n_max] == 77);
    truth_tensor want = truth_tensor_random_of(out.view.dtype, out.view.ne);
    attend(&want.view);
    s.params.block_mask = &c->mask;
    attend(&out.view);
    truth_same_views(&out.view, &want.view, "a block mask that was built");
    s.params.block_mask = NULL;
    truth_tensor_free(&want);
    for (int i = 0; i < 4; i++)
        free(arrays[i]);
    c->mask = (posenc_block_mask){.q_block = 1};
}

static void test_built(void **state) {
    (void)state;
    for (int round = 0; round < 300; round++) {
        blocks c = {.kinds = NULL};
        open_attention(1 + truth_below(500));
        if (s.params.tree == NULL) {
            set_sizes(&c);
            check_built(&c);
        }
        close_attention();
    }
}

/* Keys and values of blocks in no list are NaN, between two that are seen too. */
static void test_not_read(void **state) {
    (void)state;
    enum { N = 2048, BLOCK = 128, SEEN = 5, DIM = 64 };
    static float queries[96 * DIM], keys[N * DIM], values[N * DIM], result[96 * DIM], wanted[96 * DIM];
    static const int32_t count = 2, numbers[] = {SEEN, SEEN + 2};
    static const posenc_attention_math maths[] = {POSENC_MATH_F32, POSENC_MATH_BF16X3};
    truth_fill(queries, 96 * DIM);
    truth_fill(keys, N * DIM);
    truth_fill(values, N * DIM);
    static float listed_keys[2 * BLOCK * DIM], listed_values[2 * BLOCK * DIM];
    for (int64_t i = 0; i < N * DIM; i++) {
        int64_t block = i / DIM / BLOCK;
        if (block == SEEN || block == SEEN + 2) {
            int64_t to = (block - SEEN) / 2 * BLOCK * DIM + i % (BLOCK * DIM);
            listed_keys[to] = keys[i];
            listed_values[to] = values[i];
        } else {
            keys[i] = values[i] = NAN;
        }
    }
    const posenc_block_mask mask = {
        .full_counts = &count, .full_blocks = numbers, .n_max = 2, .q_block = 128, .k_block = BLOCK};
    posenc_score_params params = posenc_score_params_of(0.125f, posenc_mask_none());
    posenc_view q_view = posenc_view_dense(queries, POSENC_F32, DIM, 1, 96, 1), to = q_view;
    posenc_view k_view = posenc_view_dense(listed_keys, POSENC_F32, DIM, 1, 2 * BLOCK, 1), v_view = k_view;
    v_view.data = listed_values;
    size_t bytes = posenc_attention_workspace_bytes(DIM, DIM);
    void *memory = malloc(bytes);
    for (size_t m = 0; m < sizeof maths / sizeof maths[0]; m++) {
        to.data = wanted;
        posenc_attention_args args = posenc_attention_args_of(&params, &q_view, &k_view, &v_view, &to);
        args.math = maths[m];
        params.block_mask = NULL;
        truth_ok(posenc_attention_run(&args, memory, bytes, posenc_range_all()));
        args.k = posenc_view_dense(keys, POSENC_F32, DIM, 1, N, 1);
        args.v = posenc_view_dense(values, POSENC_F32, DIM, 1, N, 1);
        args.out.data = result;
        params.block_mask = &mask;
        truth_ok(posenc_attention_run(&args, memory, bytes, posenc_range_all()));
        for (int i = 0; i < 96 * DIM; i++)
            truth_close((double)result[i], (double)wanted[i], 3e-5, "channel %d", i);
    }
    free(memory);
}

/* Heads that are computed together, with enough queries that their values are packed, and lists of their own: each head
 * and query in turn sees none of the first, of the last and of the middle blocks. */
static void test_heads_together(void **state) {
    (void)state;
    enum { N = 512, BLOCK = 32, COLUMNS = N / BLOCK, DIM = 32, HEADS = 3, QUERIES = 24, ROWS = HEADS * QUERIES };
    static float queries[ROWS * DIM], keys[N * HEADS * DIM], values[N * HEADS * DIM], result[ROWS * DIM];
    static float wanted[ROWS * DIM];
    static int32_t counts[ROWS], numbers[ROWS * COLUMNS];
    static uint8_t bytes[ROWS * N];
    truth_fill(queries, ROWS * DIM);
    truth_fill(keys, N * HEADS * DIM);
    truth_fill(values, N * HEADS * DIM);
    const posenc_block_mask lists = {.full_counts = counts,
                                     .full_blocks = numbers,
                                     .n_max = COLUMNS,
                                     .head_stride = QUERIES,
                                     .q_block = 1,
                                     .k_block = BLOCK};
    const posenc_bool_mask plain = {bytes, {1, N, QUERIES * N, 0}, POSENC_KEEP};
    posenc_score_params params = posenc_score_params_of(0.2f, posenc_mask_none());
    posenc_view q_view = posenc_view_dense(queries, POSENC_F32, DIM, HEADS, QUERIES, 1), to = q_view;
    posenc_view k_view = posenc_view_dense(keys, POSENC_F32, DIM, HEADS, N, 1), v_view = k_view;
    v_view.data = values;
    size_t n_bytes = posenc_attention_workspace_bytes(DIM, DIM);
    void *memory = malloc(n_bytes);
    for (int round = 0; round < 100; round++) {
        for (int row = 0; row < ROWS; row++) {
            int first = (int)truth_below(COLUMNS), last = first + (int)truth_below(COLUMNS - first + 1);
            int sees_some = row / QUERIES != round % HEADS || row % 3 == round % 3;
            counts[row] = 0;
            for (int c = 0; c < COLUMNS; c++) {
                int is_visible = sees_some && c >= first && c < last && truth_below(3);
                memset(bytes + (row * COLUMNS + c) * BLOCK, is_visible, BLOCK);
                if (is_visible)
                    numbers[row * COLUMNS + counts[row]++] = c;
            }
        }
        params.block_mask = NULL, params.bool_mask = &plain;
        to.data = wanted;
        truth_ok(posenc_attention(&params, &q_view, &k_view, &v_view, &to, memory, n_bytes, posenc_range_all()));
        params.block_mask = &lists, params.bool_mask = NULL;
        to.data = result;
        for (int tier = -1; truth_next_tier(&tier);) {
            truth_ok(posenc_attention(&params, &q_view, &k_view, &v_view, &to, memory, n_bytes, posenc_range_all()));
            assert_memory_equal(result, wanted, sizeof result);
        }
    }
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_bytes),    truth_test(test_groups),         truth_test(test_built),
        truth_test(test_not_read), truth_test(test_heads_together),
    };
    return truth_run(tests);
}
