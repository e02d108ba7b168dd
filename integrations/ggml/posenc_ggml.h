/* SPDX-License-Identifier: MIT */
/* posenc_ggml.h - posenc inside a ggml graph, by ggml's public interface alone. Every function here adds one node
 * (ggml_custom_4d), which ggml's CPU backend computes with its own threads; link with posenc and ggml, no plugin
 * needed.
 *
 * Compared with ggml's own nodes: cosines and sines are computed once for a batch of tokens, exact at any position, and
 * serve Q and K of every layer; K is rotated, converted and scattered into its cache in one pass; biases that depend on
 * the offset of key and query need no tensor of their own.
 *
 *     posenc_ggml_rope rope = {posenc_rope_object, POSENC_FORWARD};   lives as long as the graph
 *     struct ggml_tensor *table = posenc_ggml_rope_table(ctx, positions, &rope);
 *     for each layer:
 *         q = posenc_ggml_rope_apply(ctx, q, table, GGML_TYPE_F32, &rope);
 *         k = posenc_ggml_rope_to_cache(ctx, k, table, k_cache, rows, &rope);
 *         kq = posenc_ggml_softmax(ctx, kq, NULL, &score_params);
 *
 * Objects handed over as pointers are not copied: they live until the graph has been computed for the last time.
 * Tensors of the wrong type, or that do not fit each other, abort as in ggml's own nodes: by GGML_ASSERT where the node
 * is made or, if it is posenc that refuses them, by GGML_ABORT with the reason where it is computed. Rows are split
 * between ggml's threads by row ranges, so the heads of a single token are shared between them. */
#ifndef POSENC_GGML_H
#define POSENC_GGML_H

#include <ggml.h>
#include <posenc/posenc.h>

/* A rope, and which way to turn: context of every rope node. */
typedef struct posenc_ggml_rope {
    const posenc_rope *rope;
    posenc_direction direction;
} posenc_ggml_rope;

static inline void posenc_ggml_must(posenc_status status, const struct ggml_tensor *node) {
    if (status != POSENC_OK)
        GGML_ABORT("posenc: node '%s': %s", node->name, posenc_status_string(status));
}

/* A tensor of f32, f16 or bf16 as a view. */
static inline posenc_view posenc_ggml_view(const struct ggml_tensor *tensor) {
    GGML_ASSERT(tensor->type == GGML_TYPE_F32 || tensor->type == GGML_TYPE_F16 || tensor->type == GGML_TYPE_BF16);
    posenc_dtype type = tensor->type == GGML_TYPE_F32   ? POSENC_F32
                        : tensor->type == GGML_TYPE_F16 ? POSENC_F16
                                                        : POSENC_BF16;
    posenc_view view = {
        tensor->data,
        type,
        {tensor->ne[0], tensor->ne[1], tensor->ne[2], tensor->ne[3]},
        {(int64_t)tensor->nb[0], (int64_t)tensor->nb[1], (int64_t)tensor->nb[2], (int64_t)tensor->nb[3]}};
    return view;
}

/* ---- The table ---- */

static inline void posenc_ggml_run_table(struct ggml_tensor *dst, int ith, int nth, void *context) {
    const posenc_ggml_rope *rope = (const posenc_ggml_rope *)context;
    const struct ggml_tensor *positions = dst->src[0];
    int64_t n_tokens = dst->ne[1];
    if (posenc_rope_axis_count(rope->rope) > 1) { /* planes of positions are not split */
        if (ith != 0)
            return;
        nth = 1;
    }
    posenc_range part = posenc_range_of_thread(n_tokens, ith, nth);
    posenc_rope_table table = posenc_rope_table_dense(rope->rope, (float *)dst->data + part.begin * dst->ne[0]);
    posenc_ggml_must(posenc_rope_table_fill(rope->rope, (const int32_t *)positions->data + part.begin,
                                            part.end - part.begin, rope->direction, &table),
                     dst);
}

/* Cosines and sines of positions, i32 [n_tokens] (several axes: [n_axes * n_tokens], plane after plane): f32
 * [2 * pairs, n_tokens]. */
static inline struct ggml_tensor *posenc_ggml_rope_table(struct ggml_context *ctx, struct ggml_tensor *positions,
                                                         posenc_ggml_rope *rope) {
    int64_t n_axes = posenc_rope_axis_count(rope->rope);
    GGML_ASSERT(positions->type == GGML_TYPE_I32 && ggml_is_vector(positions) && ggml_is_contiguous(positions));
    GGML_ASSERT(n_axes > 0 && positions->ne[0] % n_axes == 0);
    return ggml_custom_4d(ctx, GGML_TYPE_F32, 2 * posenc_rope_pair_count(rope->rope), positions->ne[0] / n_axes, 1, 1,
                          &positions, 1, posenc_ggml_run_table, GGML_N_TASKS_MAX, rope);
}

/* To posenc a table is pointers without an end, so nothing behind this compares it with what it rotates. */
static inline void posenc_ggml_check_table(const struct ggml_tensor *table, const struct ggml_tensor *x,
                                           const posenc_ggml_rope *rope) {
    GGML_ASSERT(table->type == GGML_TYPE_F32 && ggml_is_contiguous(table));
    GGML_ASSERT(table->ne[0] == 2 * posenc_rope_pair_count(rope->rope) && table->ne[1] == x->ne[2]);
}

/* ---- Rotation ---- */

static inline void posenc_ggml_run_apply(struct ggml_tensor *dst, int ith, int nth, void *context) {
    const posenc_ggml_rope *rope = (const posenc_ggml_rope *)context;
    posenc_view x = posenc_ggml_view(dst->src[0]), y = posenc_ggml_view(dst);
    posenc_rope_table table = posenc_rope_table_dense(rope->rope, (float *)dst->src[1]->data);
    posenc_ggml_must(posenc_rope_apply_table(rope->rope, &x, &table, &y, rope->direction,
                                             posenc_range_of_thread(ggml_nrows(dst), ith, nth)),
                     dst);
}

/* x [head_dim, n_heads, n_tokens, n_batch], rotated by the rows of the table, one for each token, as a new tensor of a
 * type of its own. */
static inline struct ggml_tensor *posenc_ggml_rope_apply(struct ggml_context *ctx, struct ggml_tensor *x,
                                                         struct ggml_tensor *table, enum ggml_type type,
                                                         posenc_ggml_rope *rope) {
    struct ggml_tensor *args[] = {x, table};
    posenc_ggml_check_table(table, x, rope);
    return ggml_custom_4d(ctx, type, x->ne[0], x->ne[1], x->ne[2], x->ne[3], args, 2, posenc_ggml_run_apply,
                          GGML_N_TASKS_MAX, rope);
}

/* Sources: cache, x, table, rows. The node is a view of the cache, so what reads the cache after it waits for it. */
static inline void posenc_ggml_run_to_cache(struct ggml_tensor *dst, int ith, int nth, void *context) {
    const posenc_ggml_rope *rope = (const posenc_ggml_rope *)context;
    const struct ggml_tensor *x = dst->src[1], *rows = dst->src[3];
    posenc_rope_tensor task = {posenc_ggml_view(x), posenc_ggml_view(dst), 1, 1.0f, NULL, 0.0f, NULL, NULL, 0, 0};
    if (rows->type == GGML_TYPE_I32)
        task.rows32 = (const int32_t *)rows->data;
    else
        task.rows64 = (const int64_t *)rows->data;
    posenc_rope_table table = posenc_rope_table_dense(rope->rope, (float *)dst->src[2]->data);
    posenc_ggml_must(posenc_rope_apply_tensors(rope->rope, &task, 1, NULL, &table, rope->direction,
                                               posenc_range_of_thread(x->ne[1] * x->ne[2], ith, nth)),
                     dst);
}

/* x [head_dim, n_heads, n_tokens] rotated, converted to the cache's type, and written to its rows: cache [head_dim,
 * n_heads, n_cells], rows i32 or i64 [n_tokens], no row twice. Returns the cache as the node leaves it; read that. */
static inline struct ggml_tensor *posenc_ggml_rope_to_cache(struct ggml_context *ctx, struct ggml_tensor *x,
                                                            struct ggml_tensor *table, struct ggml_tensor *cache,
                                                            struct ggml_tensor *rows, posenc_ggml_rope *rope) {
    struct ggml_tensor *args[] = {x, table, rows};
    posenc_ggml_check_table(table, x, rope);
    GGML_ASSERT(rows->type == GGML_TYPE_I32 || rows->type == GGML_TYPE_I64);
    GGML_ASSERT(ggml_is_contiguous(rows) && ggml_nelements(rows) == x->ne[2]);
    return ggml_custom_inplace(ctx, cache, args, 3, posenc_ggml_run_to_cache, GGML_N_TASKS_MAX, rope);
}

/* ---- Softmax ---- */

static inline void posenc_ggml_run_softmax(struct ggml_tensor *dst, int ith, int nth, void *context) {
    posenc_score_params params = *(const posenc_score_params *)context;
    posenc_view x = posenc_ggml_view(dst->src[0]), y = posenc_ggml_view(dst), bias;
    if (dst->src[1] != NULL) {
        bias = posenc_ggml_view(dst->src[1]);
        if (bias.ne[1] > x.ne[1]) /* a ggml mask may have more rows than there are queries */
            bias.ne[1] = x.ne[1];
        params.bias.tensor = &bias;
    }
    posenc_ggml_must(posenc_softmax(&params, &x, &y, posenc_range_of_thread(ggml_nrows(dst), ith, nth)), dst);
}

/* Probabilities of scores [n_keys, n_queries, n_heads, n_batch]. params has their biases and masks: a relative bias,
 * ALiBi, a causal mask or a window need no tensor; params->positions.query_start may be changed between two runs of a
 * graph. mask, or NULL, is a tensor of f32, f16 or bf16 that is added besides: [n_keys, n_queries or more, n_heads,
 * n_batch], of which one row is for all queries, one head for all heads, one batch for all of them. ggml_soft_max_ext
 * takes any divisor of the heads, and repeats them in turns; this node aborts. */
static inline struct ggml_tensor *posenc_ggml_softmax(struct ggml_context *ctx, struct ggml_tensor *scores,
                                                      struct ggml_tensor *mask, posenc_score_params *params) {
    struct ggml_tensor *args[] = {scores, mask};
    return ggml_custom_4d(ctx, GGML_TYPE_F32, scores->ne[0], scores->ne[1], scores->ne[2], scores->ne[3], args,
                          mask != NULL ? 2 : 1, posenc_ggml_run_softmax, GGML_N_TASKS_MAX, params);
}

#endif
