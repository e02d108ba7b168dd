/* SPDX-License-Identifier: MIT */
/* KV heads that lie one behind the other, large enough that attention computes two at a time: the bits of a call for
 * each head; with values on two sides of a hole, in pages, rotated on load, and an odd number of heads. */
#include "harness.h"
#include "truth_half.h"
#include "truth_view.h"

#include <posenc/posenc.h>
#include <stdlib.h>
#include <string.h>

enum { N_HEADS = 3, N_KEYS = 2816, PAGE = 64, N_PAGES = N_KEYS / PAGE, MOST_GROUP = 4, MOST_QUERIES = 2 };

typedef struct apart_call {
    posenc_dtype type;
    int64_t dim, v_dim, group, n_queries;
    posenc_mask mask;
    int is_paged, rotates;
} apart_call;

/* [dim, N_HEADS, N_KEYS] or, in pages, [dim, N_HEADS, PAGE, N_PAGES], each head one piece of memory. */
static posenc_view heads_apart(const apart_call *c, int64_t dim) {
    int64_t size = c->type == POSENC_F32 ? 4 : 2, n_rows = c->is_paged ? PAGE : N_KEYS;
    size_t n = (size_t)(dim * N_HEADS * N_KEYS);
    char *rows = malloc(n * (size_t)size);
    assert_true(rows != NULL);
    for (size_t i = 0; i < n; i++) {
        float x = (float)truth_uniform(-1.0, 1.0);
        uint16_t half = truth_narrow(x, c->type == POSENC_F32 ? POSENC_F16 : c->type);
        memcpy(rows + i * (size_t)size, c->type == POSENC_F32 ? (const void *)&x : &half, (size_t)size);
    }
    posenc_view view = posenc_view_dense(rows, c->type, dim, n_rows, N_HEADS, c->is_paged ? N_PAGES : 1);
    posenc_view apart = view;
    apart.ne[1] = view.ne[2], apart.ne[2] = view.ne[1];
    apart.nb[1] = view.nb[2], apart.nb[2] = view.nb[1];
    return apart;
}

/* Heads first .. first + n - 1 of a view. */
static posenc_view some_heads(posenc_view view, int64_t first, int64_t n) {
    view.data = (char *)view.data + first * view.nb[1];
    view.ne[1] = n;
    return view;
}

static void attend_heads(const posenc_attention_args *all, int64_t group, int64_t first, int64_t n, void *scratch,
                         size_t scratch_bytes) {
    posenc_attention_args some = *all;
    some.q = some_heads(all->q, first * group, n * group);
    some.out = some_heads(all->out, first * group, n * group);
    some.k = some_heads(all->k, first, n);
    some.v = some_heads(all->v, first, n);
    truth_ok(posenc_attention_run(&some, scratch, scratch_bytes, posenc_range_all()));
}

static void check_bits(const apart_call *c, posenc_attention_args *args) {
    static float outputs[2][512 * N_HEADS * MOST_GROUP * MOST_QUERIES];
    size_t n = (size_t)(c->v_dim * N_HEADS * c->group * c->n_queries);
    size_t scratch_bytes = posenc_attention_workspace_bytes(c->dim, c->v_dim);
    void *scratch = malloc(scratch_bytes);
    assert_true(scratch != NULL && n <= sizeof outputs[0] / sizeof outputs[0][0]);
    for (int tier = -1; truth_next_tier(&tier);) {
        memset(outputs, 0xff, sizeof outputs);
        args->out = posenc_view_dense(outputs[0], POSENC_F32, c->v_dim, N_HEADS * c->group, c->n_queries, 1);
        attend_heads(args, c->group, 0, N_HEADS, scratch, scratch_bytes);
        args->out.data = outputs[1];
        for (int64_t h = 0; h < N_HEADS; h++)
            attend_heads(args, c->group, h, 1, scratch, scratch_bytes);
        for (size_t i = 0; i < n; i++)
            if (!test_same_float(outputs[0][i], outputs[1][i]))
                fail_msg(
                    "%s, type %d, dim %lld and %lld, group %lld, %lld queries, paged %d, rotated %d: output %zu is "
                    "%g, a head alone has %g",
                    posenc_isa_name(posenc_isa()), c->type, (long long)c->dim, (long long)c->v_dim, (long long)c->group,
                    (long long)c->n_queries, c->is_paged, c->rotates, i, (double)outputs[0][i], (double)outputs[1][i]);
    }
    free(scratch);
}

static void check(const apart_call *c) {
    static float queries[256 * N_HEADS * MOST_GROUP * MOST_QUERIES];
    static float table_rows[N_KEYS * 256];
    static int32_t pages_of[N_PAGES], positions[N_KEYS];
    posenc_score_params params = posenc_score_params_of(0.125f, c->mask);
    posenc_attention_args args = {.params = &params, .k = heads_apart(c, c->dim), .v = heads_apart(c, c->v_dim)};
    posenc_attention_pages pages = {pages_of, N_PAGES, N_KEYS};
    posenc_rope *rope = NULL;
    posenc_rope_table table;
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        queries[i] = (float)truth_uniform(-1.0, 1.0);
    args.q = posenc_view_dense(queries, POSENC_F32, c->dim, N_HEADS * c->group, c->n_queries, 1);
    for (int i = 0; i < N_PAGES; i++)
        pages_of[i] = N_PAGES - 1 - i;
    if (c->is_paged)
        args.pages = &pages;
    if (c->rotates) {
        posenc_rope_params rope_params = POSENC_ROPE_DEFAULTS;
        rope_params.layout = POSENC_ROPE_HALF;
        rope_params.head_dim = rope_params.n_rot = c->dim;
        for (int j = 0; j < N_KEYS; j++)
            positions[j] = 7 * j;
        truth_ok(posenc_rope_create(&rope_params, &rope));
        table = posenc_rope_table_dense(rope, table_rows);
        truth_ok(posenc_rope_table_fill(rope, positions, N_KEYS, POSENC_FORWARD, &table));
        args.k_rope = rope;
        args.k_table = &table;
    }
    check_bits(c, &args);
    posenc_rope_free(rope);
    free(args.k.data);
    free(args.v.data);
}

static void test_apart(void **state) {
    (void)state;
    posenc_mask around_hole = posenc_mask_window(700), causal = posenc_mask_causal(), none = posenc_mask_none();
    around_hole.n_first = 5;
    const apart_call calls[] = {
        {POSENC_F32, 128, 128, 1, 1, none, 0, 0},        {POSENC_F32, 128, 160, 2, 2, causal, 0, 0},
        {POSENC_F32, 160, 128, 4, 1, around_hole, 0, 0}, {POSENC_F32, 128, 128, 1, 2, causal, 1, 0},
        {POSENC_F32, 128, 128, 2, 1, none, 0, 1},        {POSENC_F16, 256, 256, 1, 1, around_hole, 1, 0},
        {POSENC_BF16, 256, 260, 4, 1, none, 0, 0},
    };
    truth_reseed(NULL);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        check(&calls[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_apart)};
    return truth_run(tests);
}
