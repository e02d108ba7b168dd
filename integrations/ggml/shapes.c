/* SPDX-License-Identifier: MIT */
/* Nodes of posenc_ggml.h from tensors that do not fit each other. posenc sees pointers where ggml has tensors, so the
 * nodes have to compare extents themselves: each form that does not fit ends in ggml's abort, none is computed. */
#include "posenc_ggml.h"

#include <ggml-backend.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DIM = 32, HEADS = 4, TOKENS = 16, AXES = 3, CELLS = 64, KEYS = 48 };

typedef enum outcome { COMPUTED, REFUSED, CRASHED } outcome;

static posenc_ggml_rope rope = {NULL, POSENC_FORWARD}, rope_of_axes = {NULL, POSENC_FORWARD};
static posenc_ggml_rope no_rope = {NULL, POSENC_FORWARD};
static posenc_score_params scores;

/* ---- Forms ---- */

/* One tensor of a node, which may fit the others or not. */
typedef struct form {
    const char *what;
    outcome expected;
    struct ggml_tensor *(*build)(struct ggml_context *ctx, struct ggml_tensor *given);
    enum ggml_type type;
    int64_t ne[4];
} form;

/* Zeros; of integers 0, 1, 2 ... */
static struct ggml_tensor *filled(struct ggml_context *ctx, enum ggml_type type, const int64_t *ne) {
    struct ggml_tensor *tensor = ggml_set_zero(ggml_new_tensor(ctx, type, 4, ne));
    for (int64_t i = 0; type == GGML_TYPE_I32 && i < ggml_nelements(tensor); i++)
        ((int32_t *)tensor->data)[i] = (int32_t)i;
    return tensor;
}

static struct ggml_tensor *heads_of_tokens(struct ggml_context *ctx) {
    return filled(ctx, GGML_TYPE_F32, (int64_t[]){DIM, HEADS, TOKENS, 1});
}

static struct ggml_tensor *cells(struct ggml_context *ctx) {
    return filled(ctx, GGML_TYPE_F16, (int64_t[]){DIM, HEADS, CELLS, 1});
}

static struct ggml_tensor *table_of_tokens(struct ggml_context *ctx) {
    return filled(ctx, GGML_TYPE_F32, (int64_t[]){DIM, TOKENS, 1, 1});
}

static struct ggml_tensor *rows_of_tokens(struct ggml_context *ctx) {
    return filled(ctx, GGML_TYPE_I32, (int64_t[]){TOKENS, 1, 1, 1});
}

static struct ggml_tensor *table_from(struct ggml_context *ctx, struct ggml_tensor *positions) {
    return posenc_ggml_rope_table(ctx, positions, &rope);
}

static struct ggml_tensor *table_without_rope(struct ggml_context *ctx, struct ggml_tensor *positions) {
    return posenc_ggml_rope_table(ctx, positions, &no_rope);
}

static struct ggml_tensor *table_of_axes_from(struct ggml_context *ctx, struct ggml_tensor *positions) {
    return posenc_ggml_rope_table(ctx, positions, &rope_of_axes);
}

static struct ggml_tensor *apply_by(struct ggml_context *ctx, struct ggml_tensor *table) {
    return posenc_ggml_rope_apply(ctx, heads_of_tokens(ctx), table, GGML_TYPE_F32, &rope);
}

static struct ggml_tensor *apply_by_transposed(struct ggml_context *ctx, struct ggml_tensor *table) {
    return apply_by(ctx, ggml_transpose(ctx, table));
}

static struct ggml_tensor *to_cache_by(struct ggml_context *ctx, struct ggml_tensor *table) {
    return posenc_ggml_rope_to_cache(ctx, heads_of_tokens(ctx), table, cells(ctx), rows_of_tokens(ctx), &rope);
}

static struct ggml_tensor *to_cache_at(struct ggml_context *ctx, struct ggml_tensor *rows) {
    return posenc_ggml_rope_to_cache(ctx, heads_of_tokens(ctx), table_of_tokens(ctx), cells(ctx), rows, &rope);
}

static struct ggml_tensor *to_cache_from(struct ggml_context *ctx, struct ggml_tensor *x) {
    return posenc_ggml_rope_to_cache(ctx, x, table_of_tokens(ctx), cells(ctx), rows_of_tokens(ctx), &rope);
}

static struct ggml_tensor *to_cache_of(struct ggml_context *ctx, struct ggml_tensor *cache) {
    return posenc_ggml_rope_to_cache(ctx, heads_of_tokens(ctx), table_of_tokens(ctx), cache, rows_of_tokens(ctx),
                                     &rope);
}

static struct ggml_tensor *softmax_under(struct ggml_context *ctx, struct ggml_tensor *mask) {
    scores = posenc_score_params_of(1.0f, posenc_mask_none());
    return posenc_ggml_softmax(ctx, filled(ctx, GGML_TYPE_F32, (int64_t[]){KEYS, TOKENS, HEADS, 1}), mask, &scores);
}

static const form forms[] = {
    {"positions", COMPUTED, table_from, GGML_TYPE_I32, {TOKENS, 1, 1, 1}},
    {"positions of a batch", REFUSED, table_from, GGML_TYPE_I32, {TOKENS, 2, 1, 1}},
    {"positions without a rope", REFUSED, table_without_rope, GGML_TYPE_I32, {TOKENS, 1, 1, 1}},
    {"planes of positions", COMPUTED, table_of_axes_from, GGML_TYPE_I32, {AXES * TOKENS, 1, 1, 1}},
    {"planes of positions, one short", REFUSED, table_of_axes_from, GGML_TYPE_I32, {AXES * TOKENS - 1, 1, 1, 1}},
    {"planes of positions as a matrix", REFUSED, table_of_axes_from, GGML_TYPE_I32, {TOKENS, AXES, 1, 1}},
    {"table", COMPUTED, apply_by, GGML_TYPE_F32, {DIM, TOKENS, 1, 1}},
    {"table of fewer tokens", REFUSED, apply_by, GGML_TYPE_F32, {DIM, TOKENS - 1, 1, 1}},
    {"table of more tokens", REFUSED, apply_by, GGML_TYPE_F32, {DIM, TOKENS + 1, 1, 1}},
    {"table of fewer pairs", REFUSED, apply_by, GGML_TYPE_F32, {DIM - 2, TOKENS, 1, 1}},
    {"table of f16", REFUSED, apply_by, GGML_TYPE_F16, {DIM, TOKENS, 1, 1}},
    {"table in other strides", REFUSED, apply_by_transposed, GGML_TYPE_F32, {TOKENS, DIM, 1, 1}},
    {"cache by a table", COMPUTED, to_cache_by, GGML_TYPE_F32, {DIM, TOKENS, 1, 1}},
    {"cache by a table of fewer tokens", REFUSED, to_cache_by, GGML_TYPE_F32, {DIM, TOKENS - 1, 1, 1}},
    {"cache at fewer rows than tokens", REFUSED, to_cache_at, GGML_TYPE_I32, {TOKENS - 1, 1, 1, 1}},
    {"cache at more rows than tokens", REFUSED, to_cache_at, GGML_TYPE_I32, {TOKENS + 1, 1, 1, 1}},
    {"cache at rows of f32", REFUSED, to_cache_at, GGML_TYPE_F32, {TOKENS, 1, 1, 1}},
    {"cache from a batch", REFUSED, to_cache_from, GGML_TYPE_F32, {DIM, HEADS, TOKENS, 2}},
    {"cache of fewer heads", REFUSED, to_cache_of, GGML_TYPE_F16, {DIM, HEADS - 1, CELLS, 1}},
    {"cache of fewer cells", REFUSED, to_cache_of, GGML_TYPE_F16, {DIM, HEADS, TOKENS - 1, 1}},
    {"mask", COMPUTED, softmax_under, GGML_TYPE_F16, {KEYS, TOKENS, 1, 1}},
    {"mask of more rows than queries", COMPUTED, softmax_under, GGML_TYPE_F16, {KEYS, TOKENS + 5, 1, 1}},
    {"mask of one row", COMPUTED, softmax_under, GGML_TYPE_F32, {KEYS, 1, 1, 1}},
    {"mask for each head", COMPUTED, softmax_under, GGML_TYPE_F32, {KEYS, TOKENS, HEADS, 1}},
    {"mask of fewer rows than queries", REFUSED, softmax_under, GGML_TYPE_F32, {KEYS, 2, 1, 1}},
    {"mask of fewer keys", REFUSED, softmax_under, GGML_TYPE_F32, {KEYS - 1, TOKENS, 1, 1}},
    {"mask of some heads", REFUSED, softmax_under, GGML_TYPE_F32, {KEYS, TOKENS, 2, 1}},
};

/* ---- Running them ---- */

static struct ggml_context *new_context(void) {
    struct ggml_init_params params = {(size_t)1 << 20, NULL, false};
    return ggml_init(params);
}

static void compute(struct ggml_context *ctx, struct ggml_tensor *node) {
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    ggml_backend_t cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    GGML_ASSERT(cpu != NULL && ggml_backend_graph_compute(cpu, graph) == GGML_STATUS_SUCCESS);
    ggml_backend_free(cpu);
}

/* In place of ggml's abort, which would print a stack and leave a core. */
static void end_as_refused(const char *message) {
    printf("  %s\n", message);
    fflush(stdout);
    _exit(REFUSED);
}

/* In a process of its own, before this one has threads, which a fork would not take along. */
static outcome outcome_of(const form *f) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        ggml_set_abort_callback(end_as_refused);
        struct ggml_context *ctx = new_context();
        compute(ctx, f->build(ctx, filled(ctx, f->type, f->ne)));
        _exit(COMPUTED);
    }
    int status;
    GGML_ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? (outcome)WEXITSTATUS(status) : CRASHED;
}

static int is_as_expected(const form *f) {
    static const char *names[] = {"computed", "refused", "crashed"};
    outcome got = outcome_of(f);
    printf("%s: %s%s\n", f->what, names[got], got == f->expected ? "" : ", WRONG");
    return got == f->expected;
}

/* The row of a mask is that of every query, whatever lies behind it. */
static int one_row_is_for_all_queries(void) {
    struct ggml_context *ctx = new_context();
    struct ggml_tensor *rows = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, KEYS, TOKENS),
                       *repeated = ggml_dup_tensor(ctx, rows);
    for (int i = 0; i < KEYS * TOKENS; i++) {
        ((float *)rows->data)[i] = (float)(i % 7);
        ((float *)repeated->data)[i] = (float)(i % KEYS % 7);
    }
    struct ggml_tensor *one = softmax_under(ctx, ggml_view_2d(ctx, rows, KEYS, 1, rows->nb[1], 0));
    struct ggml_tensor *all = softmax_under(ctx, repeated);
    compute(ctx, one);
    compute(ctx, all);
    int same = memcmp(one->data, all->data, ggml_nbytes(all)) == 0;
    printf("probabilities under a mask of one row: %s\n", same ? "as under it repeated" : "WRONG");
    ggml_free(ctx);
    return same;
}

static posenc_rope *new_rope(posenc_rope_axes axes) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = DIM;
    params.axes = axes;
    posenc_rope *made;
    GGML_ASSERT(posenc_rope_create(&params, &made) == POSENC_OK);
    return made;
}

int main(void) {
    posenc_rope *of_one_axis = new_rope((posenc_rope_axes){POSENC_AXES_SINGLE, 1, {0}});
    posenc_rope *of_axes = new_rope((posenc_rope_axes){POSENC_AXES_MROPE, AXES, {4, 6, 6}});
    rope.rope = of_one_axis;
    rope_of_axes.rope = of_axes;
    ggml_backend_load_all();
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        n_wrong += !is_as_expected(&forms[i]);
    n_wrong += !one_row_is_for_all_queries();
    posenc_rope_free(of_one_axis);
    posenc_rope_free(of_axes);
    return n_wrong > 0;
}
