/* SPDX-License-Identifier: MIT */
/* FLASH_ATTN_EXT over K of every type that the plugin takes and V of three: how far it and ggml's CPU backend are from
 * the exact result for the numbers that K and V hold, as NMSE; and the same bits with one thread and with three. By
 * POSENC_GGML_ATTENTION_MATH, quantised types are computed in float32 or in integers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "ops.h"

enum { DIM = 128, V_DIM = 64, HEADS = 8, KV_HEADS = 2 };

/* Float32 arithmetic is below the first, integers are between both. ggml's tests allow 5e-4. */
#define FLOAT_BOUND 1e-12
#define INTEGER_BOUND 1e-9

/* Enough queries for a unit, and enough keys for threads to share those of one query. */
static const struct { int64_t n_q, n_k; } shapes[] = {{40, 600}, {1, 9000}};

static struct ggml_tensor *random_tensor(struct ggml_context *ctx, enum ggml_type type, int64_t dim, int64_t n_rows,
                                         int64_t n_heads) {
    static random_state state = {1};
    struct ggml_tensor *tensor = ggml_new_tensor_3d(ctx, type, dim, n_rows, n_heads);
    fill_random(tensor, &state);
    return tensor;
}

static posenc_view source_of(const struct ggml_tensor *node, int i) {
    return posenc_view_transpose(view_of(node->src[i]), 1, 2);
}

static void compute_exactly(const struct ggml_tensor *node, const struct ggml_tensor *out) {
    posenc_score_params params = posenc_score_params_of(float_param(node, 0), posenc_mask_none());
    posenc_view q = source_of(node, 0), k = source_of(node, 1), v = source_of(node, 2), o = view_of(out);
    GGML_ASSERT(posenc_attention_reference(&params, &q, &k, &v, &o, NULL) == POSENC_OK);
}

/* 1 if quantised K and V of so many queries are multiplied as integers; auto does it for fewer than 8. */
static int has_integers(int64_t n_q) {
    const char *math = getenv("POSENC_GGML_ATTENTION_MATH");
    if (math == NULL || strcmp(math, "auto") == 0)
        return n_q < 8;
    return strcmp(math, "int16") == 0;
}

static int is_as_expected(const struct ggml_tensor *node, double error, int as_integers) {
    if (as_integers && (ggml_is_quantized(node->src[1]->type) || ggml_is_quantized(node->src[2]->type)))
        return error > FLOAT_BOUND && error < INTEGER_BOUND;
    return error < FLOAT_BOUND;
}

static int passes(int64_t n_q, int64_t n_k, enum ggml_type k_type, enum ggml_type v_type, int as_integers) {
    struct ggml_init_params params = {(size_t)32 << 20, NULL, false};
    struct ggml_context *ctx = ggml_init(params);
    struct ggml_tensor *q = random_tensor(ctx, GGML_TYPE_F32, DIM, n_q, HEADS);
    struct ggml_tensor *k = random_tensor(ctx, k_type, DIM, n_k, KV_HEADS);
    struct ggml_tensor *v = random_tensor(ctx, v_type, V_DIM, n_k, KV_HEADS);
    struct ggml_tensor *node = ggml_flash_attn_ext(ctx, q, k, v, NULL, 1.0f / sqrtf(DIM), 0.0f, 0.0f);
    struct ggml_tensor *exact = ggml_dup_tensor(ctx, node), *shared = ggml_dup_tensor(ctx, node);
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    compute_exactly(node, exact);
    compute_on("CPU", 1, graph);
    double theirs = difference(node->data, exact->data, ggml_nelements(node));
    compute_on("POSENC", 3, graph);
    memcpy(shared->data, node->data, ggml_nbytes(node));
    compute_on("POSENC", 1, graph);
    double ours = difference(node->data, exact->data, ggml_nelements(node));
    int is_same = memcmp(shared->data, node->data, ggml_nbytes(node)) == 0;
    int is_right = is_as_expected(node, ours, as_integers);
    printf("%2d queries, %4d keys, K %-4s V %-4s: ggml %.1e, posenc %.1e%s%s\n", (int)n_q, (int)n_k,
           ggml_type_name(k_type), ggml_type_name(v_type), theirs, ours, is_right ? "" : ": WRONG",
           is_same ? "" : ": OTHER BITS with three threads");
    ggml_free(ctx);
    return is_right && is_same;
}

int main(void) {
    static const int steps[] = {0, 1, 4}; /* from the type of K to that of V: all pairs take minutes */
    int n_wrong = 0;
    ggml_backend_load_all();
    for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++)
        for (int k = 0; k < POSENC_FORMATS_END; k++)
            for (int step = 0; step < 3; step++) {
                posenc_dtype v = (posenc_dtype)((k + steps[step]) % POSENC_FORMATS_END);
                n_wrong += !passes(shapes[shape].n_q, shapes[shape].n_k, ggml_type_of((posenc_dtype)k), ggml_type_of(v),
                                   has_integers(shapes[shape].n_q));
            }
    return n_wrong > 0;
}
