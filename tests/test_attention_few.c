/* SPDX-License-Identifier: MIT */
/* Attention with so few queries that keys of 16 bits are multiplied where they stand: the bits of a call with many,
 * whose keys are packed; in pages, rotated on load, and the last key before memory that must not be read. */
#include "harness.h"
#include "kernels/kernels.h"
#include "truth_half.h"
#include "truth_view.h"

#include <posenc/posenc.h>
#include <stdlib.h>

enum { MANY = 2 * POSENC_FEW, LARGEST_DIM = 72, LARGEST_WIDTH = 96, MOST_KEYS = 600 }; /* of all heads */

/* A call: of keys, or of pages of page_size keys if that is not 0. */
typedef struct few_call {
    posenc_dtype type;
    int64_t dim, n_heads, n_k, page_size;
    int rotates;
} few_call;

static test_guarded memory;
static float queries[MANY * LARGEST_WIDTH], outputs[2][MANY * LARGEST_WIDTH];
static float table_rows[MOST_KEYS * LARGEST_DIM];
static int32_t numbers[MOST_KEYS];

static int64_t n_pages(const few_call *c) {
    return (c->n_k + c->page_size - 1) / c->page_size;
}

/* Keys drawn anew, in memory that ends with the last of them, and the same as values; pages in descending order. */
static void draw(const few_call *c, posenc_attention_args *task, posenc_attention_pages *pages) {
    int64_t n_rows = c->page_size > 0 ? n_pages(c) * c->page_size : c->n_k;
    size_t n = (size_t)(n_rows * c->n_heads * c->dim);
    uint16_t *halves = test_guarded_place(&memory, n * sizeof *halves, (test_placement){.at_end = 1});
    for (size_t i = 0; i < n; i++)
        halves[i] = truth_narrow((float)truth_uniform(-1.0, 1.0), c->type);
    for (int64_t i = 0; i < MANY * LARGEST_WIDTH; i++)
        queries[i] = (float)truth_uniform(-1.0, 1.0);
    task->k = posenc_view_dense(halves, c->type, c->dim, c->n_heads, c->n_k, 1);
    if (c->page_size > 0) {
        task->k = posenc_view_dense(halves, c->type, c->dim, c->n_heads, c->page_size, n_pages(c));
        for (int64_t i = 0; i < n_pages(c); i++)
            numbers[i] = (int32_t)(n_pages(c) - 1 - i);
        *pages = (posenc_attention_pages){numbers, n_pages(c), c->n_k};
        task->pages = pages;
    }
    task->v = task->k;
}

static void attend_some(posenc_attention_args *task, const few_call *c, int64_t n_q, float *to, void *scratch) {
    task->q = posenc_view_dense(queries, POSENC_F32, c->dim, c->n_heads, n_q, 1);
    task->out = posenc_view_dense(to, POSENC_F32, c->dim, c->n_heads, n_q, 1);
    truth_ok(posenc_attention_run(task, scratch, posenc_attention_workspace_bytes(task->q.ne[0], task->v.ne[0]),
                                  posenc_range_all()));
}

static void check(const few_call *c) {
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_attention_args task = {.params = &params};
    posenc_attention_pages pages;
    posenc_rope_params rope_params = POSENC_ROPE_DEFAULTS;
    rope_params.layout = POSENC_ROPE_HALF;
    rope_params.head_dim = rope_params.n_rot = c->dim;
    posenc_rope *rope = NULL;
    posenc_rope_table table;
    draw(c, &task, &pages);
    if (c->rotates) {
        int32_t positions[MOST_KEYS];
        for (int64_t j = 0; j < c->n_k; j++)
            positions[j] = (int32_t)(7 * j);
        truth_ok(posenc_rope_create(&rope_params, &rope));
        table = posenc_rope_table_dense(rope, table_rows);
        truth_ok(posenc_rope_table_fill(rope, positions, c->n_k, POSENC_FORWARD, &table));
        task.k_rope = rope;
        task.k_table = &table;
    }
    void *scratch = malloc(posenc_attention_workspace_bytes(c->dim, c->dim));
    assert_true(scratch != NULL);
    for (int tier = -1; truth_next_tier(&tier);) {
        attend_some(&task, c, MANY, outputs[0], scratch);
        for (int64_t n_q = 1; n_q <= POSENC_FEW + 1; n_q++) {
            attend_some(&task, c, n_q, outputs[1], scratch);
            for (int64_t i = 0; i < n_q * c->n_heads * c->dim; i++)
                if (!test_same_float(outputs[0][i], outputs[1][i]))
                    fail_msg("%s, type %d, dim %lld, %lld heads, %lld keys, pages of %lld, rotated %d: %lld queries "
                             "differ from %d",
                             posenc_isa_name(posenc_isa()), c->type, (long long)c->dim, (long long)c->n_heads,
                             (long long)c->n_k, (long long)c->page_size, c->rotates, (long long)n_q, MANY);
        }
    }
    free(scratch);
    posenc_rope_free(rope);
}

static void test_few(void **state) {
    (void)state;
    static const int64_t dims[][2] = {{8, 1}, {64, 1}, {LARGEST_DIM, 1}, {12, 1}, {12, LARGEST_WIDTH / 12}},
                         counts[] = {1, 16, 31, 32, 33, 48, 64, 95, 97, 112, 160, MOST_KEYS};
    static const int64_t page_sizes[] = {0, 32, 64, 96, 48};
    for (int type = POSENC_F16; type <= POSENC_BF16; type++)
        for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++)
            for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++)
                for (size_t p = 0; p < sizeof page_sizes / sizeof page_sizes[0]; p++)
                    for (int rotates = 0; rotates < 2; rotates++)
                        check(
                            &(few_call){(posenc_dtype)type, dims[d][0], dims[d][1], counts[n], page_sizes[p], rotates});
    test_guarded_free(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_few)};
    return truth_run(tests);
}
