/* SPDX-License-Identifier: MIT */
/* Trees of draft tokens: the bits of the same mask as bytes, which are made here from the parents by another way. */
#include "truth.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/formats.h"

enum { MOST_Q = 70, MOST_K = 1300, HEADS = 2, BATCH = 2, DIM = 32 };

static int32_t parents[BATCH * POSENC_MAX_TREE], query_positions[MOST_Q], key_positions[MOST_K], ends[BATCH];
static uint8_t bytes[BATCH * MOST_Q * MOST_K];
static float slopes[HEADS] = {0.5f, 0.03f};

typedef struct tree_call {
    int64_t n_q, n_k, n_batch;
    posenc_tree tree;
    posenc_bool_mask mask;
    posenc_score_params params[2]; /* with the tree, and with bytes */
} tree_call;

/* Whether token t, or one that it descends from, is s. */
static int descends(const int32_t *of, int64_t t, int64_t s) {
    return t == s || (of[t] >= 0 && descends(of, of[t], s));
}

static void draw_parents(int32_t *to, int64_t n) {
    int64_t kind = truth_below(4);
    for (int64_t t = 0; t < n; t++)
        to[t] = (int32_t)(kind == 0   ? t - 1                      /* a chain */
                          : kind == 1 ? -1                         /* roots */
                          : kind == 2 ? (t > 0 ? (t - 1) / 3 : -1) /* three children each */
                                      : truth_below(t + 1) - 1);
}

static void write_bytes(const tree_call *c) {
    memset(bytes, 0, sizeof bytes);
    for (int64_t b = 0; b < c->n_batch; b++)
        for (int64_t i = 0; i < c->n_q; i++)
            for (int64_t j = 0; j < c->n_k; j++) {
                int64_t token = j - (ends[b] - c->n_q);
                bytes[(b * c->n_q + i) * c->n_k + j] =
                    token < 0 || (token < c->n_q && descends(parents + b * c->tree.batch_stride, i, token));
            }
}

/* Draft tokens at the end of each sequence, whose positions are given in some calls. */
static tree_call draw_call(void) {
    tree_call c = {.n_q = 1 + truth_below(MOST_Q), .n_batch = 1 + truth_below(BATCH)};
    c.n_k = c.n_q + truth_below(truth_below(2) ? 100 : MOST_K - c.n_q);
    c.tree = (posenc_tree){parents, truth_below(2) * c.n_q};
    for (int64_t b = 0; b < BATCH; b++) {
        draw_parents(parents + b * c.n_q, c.n_q);
        ends[b] = (int32_t)(c.n_q + truth_below(c.n_k - c.n_q + 1));
    }
    int has_ends = (int)truth_below(2);
    for (int64_t b = 0; b < BATCH && !has_ends; b++)
        ends[b] = (int32_t)c.n_k;
    write_bytes(&c);
    c.mask = (posenc_bool_mask){bytes, {1, c.n_k, 0, c.n_q * c.n_k}, POSENC_KEEP};
    posenc_score_params params =
        posenc_score_params_of(0.3f, truth_below(2) ? posenc_mask_none() : posenc_mask_causal());
    params.sequences.k_end = has_ends ? ends : NULL;
    params.n_heads = HEADS;
    params.n_batch = c.n_batch;
    if (!has_ends && c.tree.batch_stride == 0 && truth_below(2)) {
        int32_t start = (int32_t)(c.n_k - c.n_q);
        truth_ok(posenc_tree_positions(parents, c.n_q, start, query_positions));
        for (int32_t j = 0; j < c.n_k; j++)
            key_positions[j] = j < start ? j : query_positions[j - start];
        params.positions.queries = query_positions;
        params.positions.keys = key_positions;
        params.bias.alibi_slopes = slopes;
        params.mask = truth_below(2) ? posenc_mask_window(1 + truth_below(40)) : posenc_mask_causal();
    }
    params.fully_masked = truth_below(2) ? POSENC_FULLY_MASKED_ZEROS : POSENC_FULLY_MASKED_NAN;
    c.params[0] = c.params[1] = params;
    return c;
}

/* Points what was drawn at the call, which may have been copied. */
static void aim(tree_call *c) {
    c->params[0].tree = &c->tree;
    c->params[1].bool_mask = &c->mask;
}

/* ---- Softmax ---- */

static float scores[BATCH * HEADS * MOST_Q * MOST_K];
static char results[2][sizeof scores];
static posenc_softmax_sum sums[2][BATCH * HEADS * MOST_Q];

static void compare_softmax(tree_call *c, posenc_dtype type) {
    posenc_view x = posenc_view_dense(scores, POSENC_F32, c->n_k, c->n_q, HEADS, c->n_batch);
    truth_fill(scores, (size_t)(c->n_k * c->n_q * HEADS * c->n_batch));
    for (int form = 0; form < 3; form++) {
        for (int way = 0; way < 2; way++) {
            posenc_view y = posenc_view_dense(results[way], type, c->n_k, c->n_q, HEADS, c->n_batch);
            memset(results[way], 0, sizeof results[way]);
            truth_ok(form == 0   ? posenc_softmax(&c->params[way], &x, &y, posenc_range_all())
                     : form == 1 ? posenc_logits(&c->params[way], &x, &y, posenc_range_all())
                                 : posenc_softmax_partial(&c->params[way], &x, &y, sums[way], posenc_range_all()));
        }
        if (memcmp(results[0], results[1], sizeof results[0]) != 0 || memcmp(sums[0], sums[1], sizeof sums[0]) != 0)
            fail_msg("form %d, type %d, %lld tokens, %lld keys: not the bits of bytes", form, type, (long long)c->n_q,
                     (long long)c->n_k);
    }
}

static void test_softmax(void **state) {
    (void)state;
    for (int round = 0; round < 30; round++) {
        tree_call c = draw_call();
        aim(&c);
        for (int tier = -1; truth_next_tier(&tier);)
            compare_softmax(&c, (posenc_dtype)(round % 3));
    }
}

/* ---- Attention ---- */

static float queries[BATCH * HEADS * 2 * MOST_Q * DIM], outputs[2][BATCH * HEADS * 2 * MOST_Q * DIM];
static char keys[BATCH * HEADS * MOST_K * DIM * sizeof(float)];

/* Finite numbers of any type: f16 and bf16 alike below 2 in size, blocks with small scales. */
static void fill_keys(posenc_dtype type, int64_t n) {
    if (type == POSENC_F32) {
        truth_fill((float *)(void *)keys, (size_t)n);
        return;
    }
    for (size_t i = 0; i < sizeof keys; i++)
        keys[i] = (char)truth_below(256);
    uint16_t *halves = (uint16_t *)(void *)keys;
    for (int64_t i = 0; i < n && !posenc_has_blocks(type); i++)
        halves[i] &= 0xbfff;
    for (int64_t i = 0; i < n / POSENC_QUANT_BLOCK && posenc_has_blocks(type); i++)
        halves[i * posenc_block_bytes(type) / 2] = (uint16_t)(0x2000 + truth_below(512));
}

static void compare_attention(tree_call *c, posenc_dtype type, posenc_attention_math math) {
    int64_t n_heads = 2 * HEADS;
    c->params[0].bias.alibi_slopes = c->params[1].bias.alibi_slopes = NULL; /* of HEADS heads */
    truth_fill(queries, sizeof queries / sizeof *queries);
    fill_keys(type, DIM * HEADS * c->n_k * c->n_batch);
    size_t bytes_of_scratch = posenc_attention_workspace_bytes(DIM, DIM);
    void *scratch = malloc(bytes_of_scratch);
    assert_non_null(scratch);
    for (int way = 0; way < 2; way++) {
        memset(outputs[way], 0, sizeof outputs[way]);
        posenc_view k = posenc_view_dense(keys, type, DIM, HEADS, c->n_k, c->n_batch);
        posenc_attention_args args = {
            .params = &c->params[way],
            .q = posenc_view_dense(queries, POSENC_F32, DIM, n_heads, c->n_q, c->n_batch),
            .k = k,
            .v = k,
            .out = posenc_view_dense(outputs[way], POSENC_F32, DIM, n_heads, c->n_q, c->n_batch),
            .math = math,
        };
        truth_ok(posenc_attention_run(&args, scratch, bytes_of_scratch, posenc_range_all()));
    }
    free(scratch);
    truth_same_bits(outputs[0], outputs[1], sizeof outputs[0] / sizeof(float),
                    "math %d, type %d, %lld tokens, %lld keys", math, type, (long long)c->n_q, (long long)c->n_k);
}

static void test_attention(void **state) {
    (void)state;
    static const posenc_dtype types[] = {POSENC_F32, POSENC_F16, POSENC_BF16, POSENC_Q8_0};
    for (int round = 0; round < 8; round++) {
        tree_call c = draw_call();
        aim(&c);
        for (int tier = -1; truth_next_tier(&tier);)
            for (int math = POSENC_MATH_F32; math <= POSENC_MATH_BF16X3; math++)
                compare_attention(&c, types[round % 4], (posenc_attention_math)math);
    }
}

/* ---- The largest, positions, errors ---- */

/* The largest tree, a chain: causal. */
static void test_largest(void **state) {
    (void)state;
    enum { N = POSENC_MAX_TREE };
    static float x[N * N], with_tree[N * N], causal[N * N];
    for (int t = 0; t < N; t++)
        parents[t] = t - 1;
    truth_fill(x, N * N);
    posenc_tree tree = {parents, 0};
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.tree = &tree;
    posenc_view from = posenc_view_dense(x, POSENC_F32, N, N, 1, 1), y = from;
    for (int tier = -1; truth_next_tier(&tier);) {
        y.data = with_tree;
        params.mask = posenc_mask_none();
        params.tree = &tree;
        truth_ok(posenc_softmax(&params, &from, &y, posenc_range_all()));
        y.data = causal;
        params.mask = posenc_mask_causal();
        params.tree = NULL;
        truth_ok(posenc_softmax(&params, &from, &y, posenc_range_all()));
        truth_same_bits(with_tree, causal, N * N, "a chain is causal");
    }
}

static void test_positions(void **state) {
    (void)state;
    static const int32_t of[] = {-1, 0, 0, 1, 3, -1, 5}, want[] = {10, 11, 11, 12, 13, 10, 11};
    int32_t got[7];
    truth_ok(posenc_tree_positions(of, 7, 10, got));
    assert_memory_equal(got, want, sizeof want);
}

/* The call with the tree must be refused, and write nothing. */
static void refused(posenc_status status, const posenc_score_params *params, int64_t n_q, int64_t n_k) {
    posenc_view y = posenc_view_dense(results[0], POSENC_F32, n_k, n_q, 1, 2);
    posenc_view x = posenc_view_dense(scores, POSENC_F32, n_k, n_q, 1, 2);
    memset(results[0], 7, sizeof results[0]);
    assert_string_equal(posenc_status_string(posenc_softmax(params, &x, &y, posenc_range_all())),
                        posenc_status_string(status));
    for (size_t i = 0; i < 100 && status != POSENC_OK; i++)
        assert_int_equal(results[0][i], 7);
}

static void test_errors(void **state) {
    (void)state;
    int32_t of[] = {-1, 0, 1, -1, 0, 1}, document[] = {0, 8}, starts[] = {5, 5}, few[] = {8, 2}, none[] = {0},
            places[8] = {0};
    posenc_tree tree = {of, 3};
    posenc_bool_mask mask = {bytes, {1, 0, 0, 0}, POSENC_KEEP};
    posenc_score_params good = posenc_score_params_of(1.0f, posenc_mask_causal()), params;
    good.n_heads = 1;
    good.n_batch = 2;
    good.tree = &tree;
#define REFUSED(status, setting) (params = good, params.setting, refused(status, &params, 3, 8))
    REFUSED(POSENC_OK, scale = 1.0f);
    REFUSED(POSENC_ERR_MASK, bool_mask = &mask);
    REFUSED(POSENC_ERR_MASK, sequences = ((posenc_score_sequences){.cu_seqlens = document, .n_seqs = 1}));
    REFUSED(POSENC_ERR_POSITION, positions.query_start = 5);
    REFUSED(POSENC_ERR_POSITION, positions = ((posenc_score_positions){POSENC_ALIGN_LAST_KEY, starts, NULL, NULL}));
    REFUSED(POSENC_ERR_POSITION, mask = posenc_mask_window(2));
    REFUSED(POSENC_ERR_POSITION, mask = posenc_mask_chunked(2));
    REFUSED(POSENC_ERR_POSITION, bias.alibi_slopes = slopes);
    REFUSED(POSENC_ERR_POSITION, sequences.k_end = few);
    REFUSED(POSENC_ERR_POSITION, positions = ((posenc_score_positions){POSENC_ALIGN_LAST_KEY, NULL, of, places}));
    static const int32_t bad[][2] = {{0, 0}, {0, 1}, {1, 1}, {2, 2}, {1, -2}, {5, 2}, {4, INT32_MIN}, {3, INT32_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t before = of[bad[i][0]];
        of[bad[i][0]] = bad[i][1];
        refused(POSENC_ERR_MASK, &good, 3, 8);
        of[bad[i][0]] = before;
    }
    tree.parents = NULL;
    refused(POSENC_ERR_NULL, &good, 3, 8);
    tree = (posenc_tree){(const int32_t *)(const void *)((const char *)of + 1), 0};
    refused(POSENC_ERR_STRIDE, &good, 3, 8);
    tree = (posenc_tree){of, INT64_MAX};
    refused(POSENC_ERR_STRIDE, &good, 3, 8);
    tree = (posenc_tree){parents, 0};
    posenc_view y = posenc_view_dense(results[0], POSENC_F32, 1, POSENC_MAX_TREE + 1, 1, 1);
    assert_int_equal(posenc_logits(&good, NULL, &y, posenc_range_all()), POSENC_ERR_POSITION);
    good.mask = posenc_mask_none();
    good.n_batch = 1;
    good.sequences.k_end = none;
    assert_int_equal(posenc_logits(&good, NULL, &y, posenc_range_all()), POSENC_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_softmax), truth_test(test_attention), truth_test(test_largest),
                                       truth_test(test_positions), truth_test(test_errors)};
    return truth_run(tests);
}
