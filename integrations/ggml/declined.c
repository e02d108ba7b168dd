/* SPDX-License-Identifier: MIT */
/* Tests nodes at the edge of what the plugin takes. The plugin declines a node that posenc would refuse when ggml asks,
 * and computes every node that it takes. Declined nodes are then pinned to it, as a host may do without asking: the
 * graph fails, with one line in the log. */
#include <ggml-backend.h>
#include <ggml.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { DIM = 64, QUERIES = 32, KEYS = 256, HEADS = 4 };

typedef struct form {
    const char *what;
    bool is_taken;
    struct ggml_tensor *(*make)(struct ggml_context *ctx, const struct form *f);
    int64_t n;        /* what make says */
    float scale, cap; /* of FLASH_ATTN_EXT */
} form;

static struct ggml_tensor *zeros(struct ggml_context *ctx, enum ggml_type type, int64_t dim, int64_t n_rows,
                                 int64_t n_heads) {
    return ggml_set_zero(ggml_new_tensor_3d(ctx, type, dim, n_rows, n_heads));
}

/* ---- FLASH_ATTN_EXT ---- */

/* n rows of V. */
static struct ggml_tensor *attention(struct ggml_context *ctx, const form *f) {
    struct ggml_tensor *q = zeros(ctx, GGML_TYPE_F32, DIM, QUERIES, HEADS);
    struct ggml_tensor *k = zeros(ctx, GGML_TYPE_F16, DIM, KEYS, HEADS);
    struct ggml_tensor *v = zeros(ctx, GGML_TYPE_F16, DIM, f->n, HEADS);
    return ggml_flash_attn_ext(ctx, q, k, v, NULL, f->scale, 0.0f, f->cap);
}

static struct ggml_tensor *attention_of_types(struct ggml_context *ctx, enum ggml_type k_type, enum ggml_type v_type) {
    struct ggml_tensor *q = zeros(ctx, GGML_TYPE_F32, DIM, QUERIES, HEADS);
    struct ggml_tensor *k = zeros(ctx, k_type, DIM, KEYS, HEADS), *v = zeros(ctx, v_type, DIM, KEYS, HEADS);
    return ggml_flash_attn_ext(ctx, q, k, v, NULL, 0.125f, 0.0f, 0.0f);
}

/* K of type n. */
static struct ggml_tensor *attention_of_keys(struct ggml_context *ctx, const form *f) {
    return attention_of_types(ctx, (enum ggml_type)f->n, GGML_TYPE_Q8_0);
}

/* V of type n. */
static struct ggml_tensor *attention_of_values(struct ggml_context *ctx, const form *f) {
    return attention_of_types(ctx, GGML_TYPE_F16, (enum ggml_type)f->n);
}

/* Slopes for n heads. */
static struct ggml_tensor *attention_alibi(struct ggml_context *ctx, const form *f) {
    struct ggml_tensor *q = zeros(ctx, GGML_TYPE_F32, 8, 1, f->n), *k = zeros(ctx, GGML_TYPE_F16, 8, 4, f->n);
    struct ggml_tensor *mask = zeros(ctx, GGML_TYPE_F16, 4, 1, 1);
    return ggml_flash_attn_ext(ctx, q, k, k, mask, 1.0f, 8.0f, 0.0f);
}

/* ggml itself divides by the heads of K where it makes a node, so extents become 0 after that. */
static struct ggml_tensor *attention_without(struct ggml_context *ctx, int q_extent, int k_extent) {
    static const form plain = {"", true, attention, KEYS, 0.125f, 0.0f};
    struct ggml_tensor *node = attention(ctx, &plain);
    if (q_extent >= 0)
        node->src[0]->ne[q_extent] = 0;
    if (k_extent >= 0)
        node->src[1]->ne[k_extent] = node->src[2]->ne[k_extent] = 0;
    return node;
}

static struct ggml_tensor *attention_without_channels(struct ggml_context *ctx, const form *f) {
    (void)f;
    struct ggml_tensor *node = attention_without(ctx, 0, -1);
    node->src[1]->ne[0] = 0;
    return node;
}

/* Extent n of Q is 0. */
static struct ggml_tensor *attention_without_q(struct ggml_context *ctx, const form *f) {
    return attention_without(ctx, (int)f->n, -1);
}

/* Extent n of K and V is 0. */
static struct ggml_tensor *attention_without_k(struct ggml_context *ctx, const form *f) {
    return attention_without(ctx, -1, (int)f->n);
}

/* Word n of its arguments is set. */
static struct ggml_tensor *attention_with_word(struct ggml_context *ctx, const form *f) {
    static const form plain = {"", true, attention, KEYS, 0.125f, 0.0f};
    struct ggml_tensor *node = attention(ctx, &plain);
    node->op_params[f->n] = 100;
    return node;
}

/* ---- SOFT_MAX ---- */

/* With n more sources than ggml has. */
static struct ggml_tensor *soft_max_of_sources(struct ggml_context *ctx, const form *f) {
    struct ggml_tensor *scores = zeros(ctx, GGML_TYPE_F32, KEYS, QUERIES, HEADS), *node = ggml_soft_max(ctx, scores);
    for (int64_t i = 0; i < f->n; i++)
        node->src[3 + i] = scores;
    return node;
}

/* Slopes for n heads. */
static struct ggml_tensor *soft_max_alibi(struct ggml_context *ctx, const form *f) {
    return ggml_soft_max_ext(ctx, zeros(ctx, GGML_TYPE_F32, 4, 1, f->n), zeros(ctx, GGML_TYPE_F16, 4, 1, 1), 1.0f,
                             8.0f);
}

/* A mask whose extent n is 0. */
static struct ggml_tensor *soft_max_without_mask(struct ggml_context *ctx, const form *f) {
    struct ggml_tensor *mask = zeros(ctx, GGML_TYPE_F16, KEYS, QUERIES, 1);
    struct ggml_tensor *node =
        ggml_soft_max_ext(ctx, zeros(ctx, GGML_TYPE_F32, KEYS, QUERIES, HEADS), mask, 1.0f, 0.0f);
    mask->ne[f->n] = 0;
    return node;
}

/* ---- ROPE ---- */

static struct ggml_tensor *rope(struct ggml_context *ctx, struct ggml_tensor *x, bool is_in_place,
                                struct ggml_tensor *factors) {
    struct ggml_tensor *positions = ggml_set_zero(ggml_new_tensor_1d(ctx, GGML_TYPE_I32, x->ne[2]));
    return (is_in_place ? ggml_rope_ext_inplace : ggml_rope_ext)(
        ctx, x, positions, factors, (int)x->ne[0], GGML_ROPE_TYPE_NEOX, 0, 10000.0f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
}

/* n pairs, with frequency factors. */
static struct ggml_tensor *rope_pairs(struct ggml_context *ctx, const form *f) {
    struct ggml_tensor *factors = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, f->n);
    for (int64_t i = 0; i < f->n; i++)
        ((float *)factors->data)[i] = 1.0f;
    return rope(ctx, zeros(ctx, GGML_TYPE_F32, 2 * f->n, HEADS, QUERIES), false, factors);
}

/* Rows of 64 f32, n bytes apart. */
static struct ggml_tensor *rows_apart(struct ggml_context *ctx, size_t n, size_t offset) {
    struct ggml_tensor *all = ggml_set_zero(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 2 * DIM * HEADS * QUERIES));
    return ggml_view_3d(ctx, all, DIM, HEADS, QUERIES, n, HEADS * n, offset);
}

static struct ggml_tensor *rope_of_rows_apart(struct ggml_context *ctx, const form *f) {
    return rope(ctx, rows_apart(ctx, (size_t)f->n, 0), false, NULL);
}

static struct ggml_tensor *rope_in_rows_apart(struct ggml_context *ctx, const form *f) {
    return rope(ctx, rows_apart(ctx, (size_t)f->n, 0), true, NULL);
}

static struct ggml_tensor *rope_at_offset(struct ggml_context *ctx, const form *f) {
    return rope(ctx, rows_apart(ctx, sizeof(float[DIM]), (size_t)f->n), false, NULL);
}

/* By the first of n positions. ggml makes nodes only with as many as there are tokens. */
static struct ggml_tensor *rope_of_positions(struct ggml_context *ctx, const form *f) {
    struct ggml_tensor *node = rope(ctx, zeros(ctx, GGML_TYPE_F32, DIM, HEADS, QUERIES), false, NULL);
    node->src[1] = ggml_set_zero(ggml_new_tensor_1d(ctx, GGML_TYPE_I32, f->n));
    return node;
}

/* ---- Operations that the backend does not have ---- */

static struct ggml_tensor *square(struct ggml_context *ctx, const form *f) {
    (void)f;
    return ggml_sqr(ctx, zeros(ctx, GGML_TYPE_F32, DIM, 1, 1));
}

/* To type n. */
static struct ggml_tensor *copy(struct ggml_context *ctx, const form *f) {
    return ggml_cpy(ctx, zeros(ctx, GGML_TYPE_F32, DIM, KEYS, HEADS),
                    zeros(ctx, (enum ggml_type)f->n, DIM, KEYS, HEADS));
}

/* SET_ROWS into a cache of type n. */
static struct ggml_tensor *set_rows(struct ggml_context *ctx, const form *f) {
    struct ggml_tensor *rows = ggml_set_zero(ggml_new_tensor_1d(ctx, GGML_TYPE_I64, 1));
    return ggml_set_rows(ctx, zeros(ctx, (enum ggml_type)f->n, DIM, KEYS, 1), zeros(ctx, GGML_TYPE_F32, DIM, 1, 1),
                         rows);
}

/* ---- All of them ---- */

static const form forms[] = {
    {"plain", true, attention, KEYS, 0.125f, 0.0f},
    {"K of Q4_0", true, attention_of_keys, GGML_TYPE_Q4_0, 0.0f, 0.0f},
    {"K of Q4_1", true, attention_of_keys, GGML_TYPE_Q4_1, 0.0f, 0.0f},
    {"K of Q8_1", false, attention_of_keys, GGML_TYPE_Q8_1, 0.0f, 0.0f},
    {"V of Q4_0", true, attention_of_values, GGML_TYPE_Q4_0, 0.0f, 0.0f},
    {"V of Q5_0", true, attention_of_values, GGML_TYPE_Q5_0, 0.0f, 0.0f},
    {"V of IQ4_NL", true, attention_of_values, GGML_TYPE_IQ4_NL, 0.0f, 0.0f},
    {"V of MXFP4", false, attention_of_values, GGML_TYPE_MXFP4, 0.0f, 0.0f},
    {"more rows of V than of K", false, attention, KEYS + 8, 0.125f, 0.0f},
    {"soft cap", true, attention, KEYS, 0.125f, 30.0f},
    {"least soft cap", true, attention, KEYS, 0.125f, 0x1p-126f},
    {"soft cap below normal numbers", false, attention, KEYS, 0.125f, 1e-40f},
    {"negative soft cap", false, attention, KEYS, 0.125f, -1.0f},
    {"soft cap of NaN", false, attention, KEYS, 0.125f, NAN},
    {"infinite soft cap", false, attention, KEYS, 0.125f, INFINITY},
    {"negative scale", true, attention, KEYS, -1.0f, 0.0f},
    {"infinite scale", false, attention, KEYS, INFINITY, 0.0f},
    {"FLASH_ATTN_EXT, 1024 slopes", true, attention_alibi, 1024, 0.0f, 0.0f},
    {"FLASH_ATTN_EXT, 1200 slopes", false, attention_alibi, 1200, 0.0f, 0.0f},
    {"0 channels of Q and K", false, attention_without_channels, 0, 0.0f, 0.0f},
    {"0 channels of Q", false, attention_without_q, 0, 0.0f, 0.0f},
    {"0 queries for rows of output", false, attention_without_q, 1, 0.0f, 0.0f},
    {"0 heads of Q for heads of output", false, attention_without_q, 2, 0.0f, 0.0f},
    {"0 batches of Q for a batch of output", false, attention_without_q, 3, 0.0f, 0.0f},
    {"0 channels of K and V", false, attention_without_k, 0, 0.0f, 0.0f},
    {"0 keys", true, attention_without_k, 1, 0.0f, 0.0f},
    {"0 heads of K and V", false, attention_without_k, 2, 0.0f, 0.0f},
    {"0 batches of K and V", false, attention_without_k, 3, 0.0f, 0.0f},
    {"FLASH_ATTN_EXT, a hint of precision", true, attention_with_word, 3, 0.0f, 0.0f},
    {"FLASH_ATTN_EXT, a hint of the number of keys", true, attention_with_word, 4, 0.0f, 0.0f},
    {"FLASH_ATTN_EXT, an unknown argument", false, attention_with_word, 5, 0.0f, 0.0f},
    {"FLASH_ATTN_EXT, the last word of its arguments", false, attention_with_word, 15, 0.0f, 0.0f},
    {"SOFT_MAX, known sources", true, soft_max_of_sources, 0, 0.0f, 0.0f},
    {"SOFT_MAX, an unknown source", false, soft_max_of_sources, 1, 0.0f, 0.0f},
    {"SOFT_MAX, 1024 slopes", true, soft_max_alibi, 1024, 0.0f, 0.0f},
    {"SOFT_MAX, 1200 slopes", false, soft_max_alibi, 1200, 0.0f, 0.0f},
    {"mask of 0 keys", false, soft_max_without_mask, 0, 0.0f, 0.0f},
    {"mask of 0 queries", false, soft_max_without_mask, 1, 0.0f, 0.0f},
    {"mask of 0 heads", false, soft_max_without_mask, 2, 0.0f, 0.0f},
    {"mask of 0 batches", false, soft_max_without_mask, 3, 0.0f, 0.0f},
    {"ROPE, 512 pairs with factors", true, rope_pairs, 512, 0.0f, 0.0f},
    {"ROPE, 600 pairs with factors", false, rope_pairs, 600, 0.0f, 0.0f},
    {"rows 260 bytes apart", true, rope_of_rows_apart, 260, 0.0f, 0.0f},
    {"rows 258 bytes apart", false, rope_of_rows_apart, 258, 0.0f, 0.0f},
    {"rows that overlap", false, rope_of_rows_apart, 128, 0.0f, 0.0f},
    {"in place, rows 260 bytes apart", true, rope_in_rows_apart, 260, 0.0f, 0.0f},
    {"in place, rows that overlap", false, rope_in_rows_apart, 128, 0.0f, 0.0f},
    {"4 bytes further", true, rope_at_offset, 4, 0.0f, 0.0f},
    {"3 bytes further", false, rope_at_offset, 3, 0.0f, 0.0f},
    {"a position too few", false, rope_of_positions, QUERIES - 1, 0.0f, 0.0f},
    {"as many positions as tokens", true, rope_of_positions, QUERIES, 0.0f, 0.0f},
    {"more, of which the first are kept", true, rope_of_positions, 100000, 0.0f, 0.0f},
    {"SQR", false, square, 0, 0.0f, 0.0f},
    {"CPY to Q8_0", false, copy, GGML_TYPE_Q8_0, 0.0f, 0.0f},
    {"SET_ROWS of Q8_0", false, set_rows, GGML_TYPE_Q8_0, 0.0f, 0.0f},
};

static void count_line(enum ggml_log_level level, const char *text, void *n_lines) {
    (void)text;
    *(int *)n_lines += level == GGML_LOG_LEVEL_ERROR;
}

/* With so many lines in the log. */
static bool computes(ggml_backend_t backend, struct ggml_context *ctx, struct ggml_tensor *node, int *n_lines) {
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    ggml_log_set(count_line, n_lines);
    enum ggml_status status = ggml_backend_graph_compute(backend, graph);
    ggml_log_set(NULL, NULL);
    return status == GGML_STATUS_SUCCESS;
}

static bool is_as_expected(ggml_backend_t backend, const form *f) {
    struct ggml_init_params params = {(size_t)4 << 20, NULL, false};
    struct ggml_context *ctx = ggml_init(params);
    struct ggml_tensor *node = f->make(ctx, f);
    int n_lines = 0;
    bool is_taken = ggml_backend_supports_op(backend, node), is_computed = computes(backend, ctx, node, &n_lines);
    bool is_right = is_taken == f->is_taken && is_computed == is_taken && n_lines == !is_computed;
    printf("%s: %s, %s, %d lines%s\n", f->what, is_taken ? "taken" : "declined", is_computed ? "computed" : "failed",
           n_lines, is_right ? "" : ": WRONG");
    ggml_free(ctx);
    return is_right;
}

int main(void) {
    int n_wrong = 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash leaves the lines before it */
    ggml_backend_load_all();
    ggml_backend_t backend = ggml_backend_init_by_name("POSENC", NULL);
    GGML_ASSERT(backend != NULL);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        n_wrong += !is_as_expected(backend, &forms[i]);
    ggml_backend_free(backend);
    return n_wrong > 0;
}
