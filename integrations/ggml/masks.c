/* SPDX-License-Identifier: MIT */
/* Tests cases that test-backend-ops does not have. FLASH_ATTN_EXT with masks for several heads and batches, and with
 * more threads than work units: as on ggml's CPU backend, and the same bits with one thread and with three. SOFT_MAX in
 * place of its mask. */
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

enum { DIM = 40, V_DIM = 24, HEADS = 12 };
enum { N = 96 }; /* keys, and queries, of SOFT_MAX */

typedef struct mask_case {
    int64_t n_q, n_k, n_batch, kv_heads, mask_heads, mask_batch;
    float max_bias;
} mask_case;

static const mask_case cases[] = {
    {37, 600, 4, 12, 1, 1, 0.0f}, {37, 600, 4, 4, 1, 4, 8.0f}, {37, 600, 4, 4, 6, 2, 0.0f},
    {37, 600, 4, 4, 12, 4, 8.0f}, {37, 600, 4, 6, 3, 1, 0.0f}, {37, 600, 4, 2, 4, 2, 8.0f},
    {37, 600, 4, 1, 12, 1, 0.0f}, {37, 600, 4, 1, 2, 4, 0.0f}, {1, 9000, 1, 1, 1, 1, 0.0f},
    {2, 12300, 2, 1, 1, 2, 8.0f}, {1, 9000, 1, 2, 2, 1, 0.0f},
};

static float next_number(void) {
    static random_state state = {1};
    return (float)random_symmetric(&state, 1.0);
}

/* Numbers between -1 and 1; of a mask a quarter of them -inf, never the first of a row. */
static void fill(struct ggml_tensor *tensor, int is_mask) {
    for (int64_t i = 0; i < ggml_nelements(tensor); i++) {
        float value = next_number();
        if (is_mask && value > 0.5f && i % tensor->ne[0] != 0)
            value = -INFINITY;
        if (tensor->type == GGML_TYPE_F16)
            ((ggml_fp16_t *)tensor->data)[i] = ggml_fp32_to_fp16(value);
        else
            ((float *)tensor->data)[i] = value;
    }
}

static int agrees(const mask_case *c) {
    struct ggml_init_params params = {(size_t)64 << 20, NULL, false};
    struct ggml_context *ctx = ggml_init(params);
    struct ggml_tensor *q = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, DIM, c->n_q, HEADS, c->n_batch);
    struct ggml_tensor *k = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, DIM, c->n_k, c->kv_heads, c->n_batch);
    struct ggml_tensor *v = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, V_DIM, c->n_k, c->kv_heads, c->n_batch);
    struct ggml_tensor *mask = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, c->n_k, c->n_q, c->mask_heads, c->mask_batch);
    struct ggml_tensor *node = ggml_flash_attn_ext(ctx, q, k, v, mask, 0.3f, c->max_bias, 0.0f);
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    fill(q, 0);
    fill(k, 0);
    fill(v, 0);
    fill(mask, 1);
    int64_t n = ggml_nelements(node);
    float *want = malloc((size_t)n * sizeof *want), *alone = malloc((size_t)n * sizeof *alone);
    GGML_ASSERT(want != NULL && alone != NULL);
    compute_on("CPU", 1, graph);
    for (int64_t i = 0; i < n; i++)
        want[i] = ((float *)node->data)[i];
    compute_on("POSENC", 1, graph);
    memcpy(alone, node->data, (size_t)n * sizeof *alone);
    ggml_set_zero(node);
    compute_on("POSENC", 3, graph);
    double off = difference(alone, want, n);
    int same = memcmp(alone, node->data, (size_t)n * sizeof *alone) == 0;
    printf("%d queries, %d keys, batch %d; kv heads %d; mask heads %d, batches %d; max_bias %g: %.2g, %s\n",
           (int)c->n_q, (int)c->n_k, (int)c->n_batch, (int)c->kv_heads, (int)c->mask_heads, (int)c->mask_batch,
           (double)c->max_bias, off, same ? "same bits with three threads" : "OTHER BITS with three threads");
    free(want);
    free(alone);
    ggml_free(ctx);
    return same && off < 5e-4; /* as in test-backend-ops: ggml rounds q and sums to f16 */
}

/* Scores that somebody else reads as well, and a mask that nobody does: ggml-alloc puts the node in the mask's
 * place. */
static void soft_max_over_mask(const char *name, float *probabilities) {
    struct ggml_init_params params = {(size_t)1 << 20, NULL, true};
    struct ggml_context *ctx = ggml_init(params);
    struct ggml_tensor *x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, N, N), *mask = ggml_dup_tensor(ctx, x);
    ggml_set_input(x);
    ggml_set_output(x);
    ggml_set_input(mask);
    struct ggml_tensor *node = ggml_soft_max_ext(ctx, x, mask, 0.5f, 0.0f);
    ggml_set_output(node);
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    ggml_backend_t backend = ggml_backend_init_by_name(name, NULL);
    ggml_gallocr_t memory = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
    GGML_ASSERT(ggml_gallocr_alloc_graph(memory, graph));
    GGML_ASSERT(node->data == mask->data);
    for (int i = 0; i < N * N; i++) {
        ((float *)x->data)[i] = (float)(i % 7) * 0.3f;
        ((float *)mask->data)[i] = i % N > i / N ? -INFINITY : (float)(i % 5) * 0.1f;
    }
    GGML_ASSERT(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
    memcpy(probabilities, node->data, (size_t)N * N * sizeof *probabilities);
    ggml_gallocr_free(memory);
    ggml_backend_free(backend);
    ggml_free(ctx);
}

static int in_place_of_mask_agrees(void) {
    static float got[N * N], want[N * N];
    soft_max_over_mask("CPU", want);
    soft_max_over_mask("POSENC", got);
    double off = difference(got, want, N * N);
    printf("SOFT_MAX in place of its mask: %.2g\n", off);
    return off < 1e-12;
}

int main(void) {
    int n_wrong = 0;
    ggml_backend_load_all();
    n_wrong += !in_place_of_mask_agrees();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        n_wrong += !agrees(&cases[i]);
    return n_wrong > 0;
}
