/* SPDX-License-Identifier: MIT */
/* Attention by lists of keys: bit for bit the call without lists over those keys and values gathered, for all types,
 * ways to compute, pages, RoPE on load and parts; the identity list against the call without; and in double. */
#include "truth_attention.h"
#include "truth_blocks.h"
#include "truth_half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Calls of dense tensors ---- */

enum { N_TYPES = 5, N_MATHS = 4, MOST_PAGE = 70, MOST_MEMORY = 12 };

/* A call with lists, and what it is made of. Its keys are dense; pages are a copy. */
typedef struct sparse_call {
    posenc_score_params params;
    posenc_attention_args args;
    posenc_view keys, values, lse; /* not in pages */
    posenc_attention_lists lists;
    posenc_attention_pages pages;
    posenc_rope *rope;
    posenc_rope_table table;
    int32_t *numbers, *page_numbers;
    void *scratch, *memory[MOST_MEMORY];
    int n_memory;
} sparse_call;

static void *memory_of(sparse_call *c, size_t bytes) {
    void *memory = malloc(bytes + 1);
    assert_true(memory != NULL && c->n_memory < MOST_MEMORY);
    memset(memory, 0, bytes + 1);
    return c->memory[c->n_memory++] = memory;
}

static size_t bytes_of_row(posenc_dtype type, int64_t dim) {
    return truth_is_blocks(type) ? (size_t)dim / TRUTH_BLOCK * truth_block_bytes(type)
                                 : (size_t)dim * (type == POSENC_F32 ? 4 : 2);
}

static void store_row(const float *x, int64_t dim, posenc_dtype type, void *y) {
    if (truth_is_blocks(type)) {
        truth_quantise(x, dim, type, y);
        return;
    }
    for (int64_t c = 0; c < dim; c++)
        if (type == POSENC_F32)
            ((float *)y)[c] = x[c];
        else
            ((uint16_t *)y)[c] = truth_narrow(x[c], type);
}

static posenc_view random_dense(sparse_call *c, posenc_dtype type, const int64_t ne[4]) {
    int64_t n_rows = ne[1] * ne[2] * ne[3];
    size_t bytes = bytes_of_row(type, ne[0]);
    char *data = memory_of(c, (size_t)n_rows * bytes);
    float row[1024];
    for (int64_t r = 0; r < n_rows; r++) {
        truth_fill(row, (size_t)ne[0]);
        store_row(row, ne[0], type, data + (size_t)r * bytes);
    }
    return posenc_view_dense(data, type, ne[0], ne[1], ne[2], ne[3]);
}

/* Different keys in random order, a random number of them, then the end of the list and nonsense. */
static void draw_list(int32_t *list, int64_t n_max, int64_t n_k) {
    int32_t *all = malloc((size_t)n_k * sizeof *all);
    assert_true(all != NULL);
    for (int64_t j = 0; j < n_k; j++)
        all[j] = (int32_t)j;
    int64_t n = truth_below(4) ? truth_below(n_max + 1) : truth_below(2) ? n_max : 0;
    for (int64_t t = 0; t < n_max; t++) {
        if (t >= n) {
            list[t] = t == n ? POSENC_LIST_END : (int32_t)truth_random();
            continue;
        }
        int64_t other = t + truth_below(n_k - t);
        list[t] = all[other];
        all[other] = all[t];
    }
    free(all);
}

static void add_pages_to(sparse_call *c) {
    int64_t size = 1 + truth_below(MOST_PAGE), n_k = c->keys.ne[2], n_batch = c->keys.ne[3],
            per = (n_k + size - 1) / size, n = per * n_batch;
    const posenc_view *from[] = {&c->keys, &c->values};
    posenc_view *to[] = {&c->args.k, &c->args.v};
    c->page_numbers = memory_of(c, (size_t)n * sizeof(int32_t));
    for (int64_t i = 0; i < n; i++)
        c->page_numbers[i] = (int32_t)(n - 1 - i);
    for (int x = 0; x < 2; x++) {
        const posenc_view *f = from[x];
        size_t bytes = (size_t)f->nb[2];
        char *pages = memory_of(c, (size_t)(n * size) * bytes);
        *to[x] = posenc_view_dense(pages, f->dtype, f->ne[0], f->ne[1], size, n);
        for (int64_t b = 0; b < n_batch; b++)
            for (int64_t j = 0; j < n_k; j++)
                memcpy(pages + (size_t)(c->page_numbers[b * per + j / size] * size + j % size) * bytes,
                       (const char *)f->data + (size_t)(b * n_k + j) * bytes, bytes);
    }
    c->pages = (posenc_attention_pages){c->page_numbers, per, n_k};
    c->args.pages = &c->pages;
}

static void add_rotation_to(sparse_call *c) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    int64_t n_k = c->keys.ne[2];
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = c->keys.ne[0];
    truth_ok(posenc_rope_create(&params, &c->rope));
    int32_t *positions = memory_of(c, (size_t)n_k * sizeof *positions);
    for (int64_t j = 0; j < n_k; j++)
        positions[j] = (int32_t)truth_below(100000);
    c->table = posenc_rope_table_dense(c->rope, memory_of(c, (size_t)posenc_rope_table_bytes(c->rope, n_k)));
    truth_ok(posenc_rope_table_fill(c->rope, positions, n_k, POSENC_FORWARD, &c->table));
    c->args.k_rope = c->rope;
    c->args.k_table = &c->table;
}

/* Heads with lists of their own: one for all, each KV head, each query head, or as many between. */
static int64_t draw_list_heads(int64_t n_kv, int64_t group) {
    int64_t of_group = 1 + truth_below(group);
    while (group % of_group != 0)
        of_group--;
    switch (truth_below(4)) {
    case 0: return n_kv;
    case 1: return n_kv * group;
    case 2: return n_kv * of_group;
    default: return 1;
    }
}

static void open_call(sparse_call *c, int round) {
    *c = (sparse_call){.rope = NULL};
    posenc_dtype k_type = (posenc_dtype)(round % N_TYPES), v_type = (posenc_dtype)truth_below(N_TYPES);
    int64_t n_k = 1 + truth_below(round % 8 ? 700 : 5200), n_max = 1 + truth_below(n_k), n_q = 1 + truth_below(4),
            n_batch = 1 + truth_below(2), n_kv = 1 + truth_below(3),
            group = truth_below(6) ? 1 + truth_below(9) : 90 + truth_below(20);
    int64_t dim = truth_below(3) ? 32 * (1 + truth_below(4)) : 128, v_dim = 32 * (1 + truth_below(5));
    int is_mla = round % 7 == 3;
    c->keys = random_dense(c, k_type, (int64_t[4]){dim, n_kv, n_k, n_batch});
    v_dim = is_mla ? 32 * (1 + truth_below(dim / 32)) : v_dim;
    c->values = c->keys;
    if (!is_mla)
        c->values = random_dense(c, v_type, (int64_t[4]){v_dim, n_kv, n_k, n_batch});
    c->params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    c->params.scale = 0.3f;
    c->params.cap = truth_below(3) ? 0.0f : 5.0f;
    c->params.mask = posenc_mask_none();
    int64_t n_heads = draw_list_heads(n_kv, group), n_lists = n_heads * n_q * n_batch;
    c->numbers = memory_of(c, (size_t)(n_lists * n_max) * sizeof(int32_t));
    int has_equal = truth_below(2) > 0; /* heads name the same keys, most of them */
    for (int64_t i = 0; i < n_lists; i++)
        if (has_equal && i % (n_heads * n_q) >= n_q && truth_below(4))
            memcpy(c->numbers + i * n_max, c->numbers + (i - n_q) * n_max, (size_t)n_max * sizeof(int32_t));
        else
            draw_list(c->numbers + i * n_max, n_max, n_k);
    c->lists = (posenc_attention_lists){c->numbers, n_max, n_max, n_heads * n_q * n_max, n_heads > 1 ? n_q * n_max : 0,
                                        n_heads};
    if (truth_below(5) == 0)
        c->lists.query_stride = 0;
    if (truth_below(5) == 0)
        c->lists.batch_stride = 0;
    c->args = (posenc_attention_args){
        .params = &c->params, .k = c->keys, .v = c->values, .math = (posenc_attention_math)(round / 2 % N_MATHS)};
    c->args.q = random_dense(c, POSENC_F32, (int64_t[4]){dim, n_kv * group, n_q, n_batch});
    c->args.lists = &c->lists;
    if (round % 3 == 1)
        add_rotation_to(c);
    if (!is_mla && round % 4 >= 2)
        add_pages_to(c);
    if (is_mla)
        c->args.v.ne[0] = c->values.ne[0] = v_dim;
    c->scratch = malloc(posenc_attention_workspace_bytes(dim, v_dim));
    assert_true(c->scratch != NULL);
}

static void close_call(sparse_call *c) {
    posenc_rope_free(c->rope);
    free(c->scratch);
    for (int i = 0; i < c->n_memory; i++)
        free(c->memory[i]);
}

/* ---- Gathered ---- */

/* The list's rows of x, one behind the other. */
static posenc_view gathered(const posenc_view *x, const int32_t *list, int64_t n, int64_t b) {
    size_t bytes = (size_t)x->nb[2];
    char *rows = malloc((size_t)n * bytes + 1);
    assert_true(rows != NULL);
    for (int64_t t = 0; t < n; t++)
        memcpy(rows + (size_t)t * bytes, (const char *)x->data + b * x->nb[3] + list[t] * x->nb[2], bytes);
    posenc_view y = *x;
    y.data = rows;
    y.ne[2] = n;
    y.ne[3] = 1;
    return y;
}

static posenc_rope_table gathered_table(const posenc_rope_table *table, const int32_t *list, int64_t n) {
    int64_t stride = table->row_stride;
    float *rows = malloc((size_t)(2 * n * stride) * sizeof *rows + 1);
    assert_true(rows != NULL);
    for (int64_t t = 0; t < n; t++) {
        memcpy(rows + t * stride, table->cos + list[t] * stride, (size_t)stride * sizeof *rows);
        memcpy(rows + (n + t) * stride, table->sin + list[t] * stride, (size_t)stride * sizeof *rows);
    }
    posenc_rope_table y = *table;
    y.cos = rows;
    y.sin = rows + n * stride;
    return y;
}

/* Query i of sequence b. */
static posenc_view one_query(const posenc_view *x, int64_t i, int64_t b, int64_t head, int64_t n_heads) {
    return posenc_view_slice(posenc_view_slice(posenc_view_slice(*x, 2, i, 1), 3, b, 1), 1, head, n_heads);
}

/* Query i of sequence b alone, in the heads that have list g, over its keys. */
static void attend_gathered(const sparse_call *c, int64_t i, int64_t g, int64_t b, const posenc_view *to,
                            const posenc_view *lse) {
    const int32_t *list = c->numbers + b * c->lists.batch_stride + g * c->lists.head_stride + i * c->lists.query_stride;
    int is_shared = c->lists.head_stride == 0;
    int64_t n_heads = c->args.q.ne[1] / (is_shared ? 1 : c->lists.n_heads), head = g * n_heads;
    int64_t n = 0;
    while (n < c->lists.n_max && list[n] != POSENC_LIST_END)
        n++;
    posenc_attention_args args = c->args;
    args.lists = NULL;
    args.pages = NULL;
    args.k = gathered(&c->keys, list, n, b);
    int is_mla = c->values.data == c->keys.data;
    args.v = is_mla ? args.k : gathered(&c->values, list, n, b);
    args.v.ne[0] = c->values.ne[0];
    void *rows[] = {args.k.data, args.v.data};
    if (!is_shared) {
        int64_t kv_head = head / (c->args.q.ne[1] / c->keys.ne[1]);
        args.k = posenc_view_slice(args.k, 1, kv_head, 1);
        args.v = posenc_view_slice(args.v, 1, kv_head, 1);
    }
    args.q = one_query(&c->args.q, i, b, head, n_heads);
    args.out = one_query(to, i, b, head, n_heads);
    posenc_view one = one_query(lse, i, b, head, n_heads);
    args.lse = &one;
    posenc_rope_table table;
    if (args.k_rope != NULL) {
        table = gathered_table(&c->table, list, n);
        args.k_table = &table;
    }
    truth_ok(posenc_attention_run(&args, c->scratch, posenc_attention_workspace_bytes(args.q.ne[0], args.v.ne[0]),
                                  posenc_range_all()));
    if (args.k_rope != NULL)
        free(table.cos);
    if (!is_mla)
        free(rows[1]);
    free(rows[0]);
}

/* The last of n units or partitions, a random number of them: units of several heads with one list are computed
 * together. */
static posenc_range last_of(int64_t n) {
    return (posenc_range){truth_below(n), n};
}

static void run_listed(const sparse_call *c, int in_parts) {
    size_t scratch_bytes = posenc_attention_workspace_bytes(c->args.q.ne[0], c->args.v.ne[0]);
    if (!in_parts) {
        for (int64_t n = posenc_attention_unit_count(&c->args.q, &c->args.k); n > 0;) {
            posenc_range units = last_of(n);
            truth_ok(posenc_attention_run(&c->args, c->scratch, scratch_bytes, units));
            n = units.begin;
        }
        return;
    }
    size_t bytes = posenc_attention_split_bytes(&c->args);
    void *parts = malloc(bytes);
    assert_true(parts != NULL);
    for (int64_t n = posenc_attention_split_count(&c->args); n > 0;) {
        posenc_range range = last_of(n);
        truth_ok(posenc_attention_split(&c->args, c->scratch, scratch_bytes, parts, bytes, range));
        n = range.begin;
    }
    truth_ok(posenc_attention_combine_splits(&c->args, parts, bytes, posenc_range_all()));
    free(parts);
}

static void test_gathered(void **state) {
    (void)state;
    for (int round = 0; round < 120; round++) {
        sparse_call c;
        open_call(&c, round);
        int64_t ne[4] = {c.values.ne[0], c.args.q.ne[1], c.args.q.ne[2], c.args.q.ne[3]};
        truth_tensor want = truth_tensor_random(ne), got = truth_tensor_random(ne);
        ne[0] = 1;
        truth_tensor want_lse = truth_tensor_random(ne), got_lse = truth_tensor_random(ne);
        int64_t n_heads = c.lists.head_stride == 0 ? 1 : c.lists.n_heads;
        for (int64_t b = 0; b < ne[3]; b++)
            for (int64_t i = 0; i < ne[2] * n_heads; i++)
                attend_gathered(&c, i % ne[2], i / ne[2], b, &want.view, &want_lse.view);
        c.args.out = got.view;
        c.args.lse = &got_lse.view;
        for (int tier = -1; truth_next_tier(&tier);)
            for (int in_parts = 0; in_parts < 2; in_parts++) {
                truth_reset(&got);
                truth_reset(&got_lse);
                run_listed(&c, in_parts);
                truth_same_views(&got.view, &want.view, in_parts ? "listed, in parts" : "listed");
                truth_same_views(&got_lse.view, &want_lse.view, "lse of listed");
                truth_nothing_else_changed(&got, 0, got.view.ne[0], "listed");
            }
        truth_tensor_free(&want);
        truth_tensor_free(&got);
        truth_tensor_free(&want_lse);
        truth_tensor_free(&got_lse);
        close_call(&c);
    }
}

/* ---- By position ---- */

/* A random call of all that goes with lists. */
static void open_listed(int64_t n_k) {
    open_attention(n_k);
    s.params.bias.tensor = NULL;
    s.params.bias.tensor_slopes = NULL;
    s.params.bias.by_key = (posenc_relative){NULL, NULL};
    s.params.bool_mask = NULL;
    s.params.positions.queries = s.params.positions.keys = NULL;
    s.params.sequences = (posenc_score_sequences){.n_seqs = 0};
    s.params.mask.n_first = 0;
}

static posenc_attention_args listed_args(const posenc_attention_lists *lists) {
    return (posenc_attention_args){
        .params = &s.params, .q = q.view, .k = k.view, .v = v.view, .out = out.view, .lists = lists};
}

/* Rounds whose relative biases need other offsets without what was taken away are left out. */
static int is_refused(const posenc_attention_args *args) {
    return posenc_attention_run(args, scratch, posenc_attention_workspace_bytes(args->q.ne[0], args->v.ne[0]),
                                (posenc_range){0, 0}) != POSENC_OK;
}

static void test_identity(void **state) {
    (void)state;
    static int32_t identity[SCENE_K];
    for (int32_t j = 0; j < SCENE_K; j++)
        identity[j] = j;
    int n_compared = 0;
    for (int round = 0; round < 80; round++) {
        open_listed(1 + truth_below(round % 10 ? 1200 : SCENE_K - 1));
        posenc_attention_lists lists = {identity, s.n_k, 0, 0, 0, 0};
        posenc_attention_args args = listed_args(&lists);
        if (!is_refused(&args)) {
            truth_tensor want = truth_tensor_random_of(out.view.dtype, out.view.ne);
            attend(&want.view);
            for (int tier = -1; truth_next_tier(&tier);) {
                truth_reset(&out);
                truth_ok(posenc_attention_run(
                    &args, scratch, posenc_attention_workspace_bytes(args.q.ne[0], args.v.ne[0]), posenc_range_all()));
                truth_same_views(&out.view, &want.view, "identity");
            }
            truth_tensor_free(&want);
            n_compared++;
        }
        close_attention();
    }
    assert_true(n_compared > 20);
}

/* Row (h, i, b) in double, over its list. */
static void exact_row(const int32_t *list, int64_t n, int64_t i, int64_t h, int64_t b, double *row) {
    int64_t kv = h / (s.n_heads / k.view.ne[1]), dim = v.view.ne[0];
    double sink = s.params.sinks != NULL ? (double)s.params.sinks[h] : -INFINITY, max = sink, sum = 0.0;
    double *logits = malloc((size_t)(n + 1) * sizeof *logits);
    assert_true(logits != NULL);
    for (int64_t t = 0; t < n; t++) {
        double score = 0.0;
        for (int64_t c = 0; c < q.view.ne[0]; c++)
            score += (double)truth_get(&q.view, c, h, i, b) * (double)truth_get(&k.view, c, kv, list[t], b);
        logits[t] = scene_logit(&s, score, list[t], i, h, b);
        max = fmax(max, logits[t]);
    }
    for (int64_t c = 0; c < dim; c++)
        row[c] = 0.0;
    for (int64_t t = 0; t < n; t++) {
        double weight = max == -INFINITY ? 0.0 : exp(logits[t] - max);
        sum += weight;
        for (int64_t c = 0; c < dim && weight > 0.0; c++)
            row[c] += weight * (double)truth_get(&v.view, c, kv, list[t], b);
    }
    sum += sink == -INFINITY ? 0.0 : exp(sink - max);
    for (int64_t c = 0; c < dim; c++)
        row[c] = sum > 0.0 ? row[c] / sum : s.params.fully_masked == POSENC_FULLY_MASKED_NAN ? (double)NAN : 0.0;
    free(logits);
}

static void compare_exact(const posenc_attention_lists *lists) {
    static const double rounding[] = {[POSENC_F32] = 0x1p-24, [POSENC_F16] = 0x1p-11, [POSENC_BF16] = 0x1p-8};
    double row[1024];
    for (int64_t b = 0; b < s.n_batch; b++)
        for (int64_t i = 0; i < s.n_q; i++) {
            const int32_t *list = lists->keys + b * lists->batch_stride + i * lists->query_stride;
            int64_t n = 0;
            while (n < lists->n_max && list[n] != POSENC_LIST_END)
                n++;
            for (int64_t h = 0; h < s.n_heads; h++) {
                exact_row(list, n, i, h, b, row);
                for (int64_t c = 0; c < v.view.ne[0]; c++) {
                    double got = (double)truth_get(&out.view, c, h, i, b);
                    if (isnan(row[c])) {
                        assert_true(isnan(got));
                        continue;
                    }
                    truth_close(got, row[c], 1e-4 * LARGEST_V + rounding[out.view.dtype] * LARGEST_V,
                                "channel %lld of query %lld", (long long)c, (long long)i);
                }
            }
        }
}

static void test_double(void **state) {
    (void)state;
    int n_compared = 0;
    for (int round = 0; round < 60; round++) {
        open_listed(1 + truth_below(200));
        int64_t n_max = 1 + truth_below(s.n_k), n_lists = s.n_q * s.n_batch;
        int32_t *numbers = malloc((size_t)(n_lists * n_max) * sizeof *numbers);
        assert_true(numbers != NULL);
        for (int64_t i = 0; i < n_lists; i++)
            draw_list(numbers + i * n_max, n_max, s.n_k);
        posenc_attention_lists lists = {numbers, n_max, n_max, s.n_q * n_max, 0, 0};
        posenc_attention_args args = listed_args(&lists);
        if (!is_refused(&args)) {
            truth_ok(posenc_attention_run(&args, scratch, posenc_attention_workspace_bytes(args.q.ne[0], args.v.ne[0]),
                                          posenc_range_all()));
            compare_exact(&lists);
            n_compared++;
        }
        free(numbers);
        close_attention();
    }
    assert_true(n_compared > 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_gathered),
        truth_test(test_identity),
        truth_test(test_double),
    };
    return truth_run(tests);
}
