/* SPDX-License-Identifier: MIT */
/* Times of nodes that test-backend-ops cannot be asked for (masks of its files are random, its threads its own): on
 * ggml's CPU backend with one thread, on the plugin with one and with two, in turns; the smallest time of each.
 * usage: ggml-scaling [WORD], for attention whose name contains the word */
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare.h"

enum { CPU_ONE, OURS_ONE, OURS_TWO, N_WAYS };

#define MAX_ROUNDS 200
#define BUDGET_US 3000000 /* for a node, unless two rounds take longer */

typedef struct way {
    ggml_backend_t backend;
    ggml_backend_set_n_threads_t set_n_threads;
    int n_threads;
} way;

static way ways[N_WAYS];

static way way_of(const char *name, int n_threads) {
    way w = {ggml_backend_init_by_name(name, NULL), NULL, n_threads};
    GGML_ASSERT(w.backend != NULL);
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(w.backend));
    *(void **)&w.set_n_threads = ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    GGML_ASSERT(w.set_n_threads != NULL);
    w.set_n_threads(w.backend, n_threads);
    return w;
}

/* Processor time of a single thread, which neighbours on the machine disturb less; else time that has passed. */
static double now_us(const way *w) {
    struct timespec t;
    clock_gettime(w->n_threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double time_once(const way *w, struct ggml_cgraph *graph) {
    double start = now_us(w);
    GGML_ASSERT(ggml_backend_graph_compute(w->backend, graph) == GGML_STATUS_SUCCESS);
    return now_us(w) - start;
}

static void measure(const char *name, struct ggml_context *ctx, struct ggml_tensor *node) {
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    double best[N_WAYS] = {INFINITY, INFINITY, INFINITY};
    int64_t start = ggml_time_us();
    for (int i = 0; i < MAX_ROUNDS && (i < 2 || ggml_time_us() - start < BUDGET_US); i++)
        for (int w = 0; w < N_WAYS; w++)
            best[w] = fmin(best[w], time_once(&ways[w], graph));
    printf("%-30s %12.0f %12.0f %7.2fx %12.0f %7.2fx\n", name, best[CPU_ONE], best[OURS_ONE],
           best[CPU_ONE] / best[OURS_ONE], best[OURS_TWO], best[OURS_ONE] / best[OURS_TWO]);
    fflush(stdout);
}

static struct ggml_context *new_context(void) {
    struct ggml_init_params params = {ggml_tensor_overhead() * 16 + ggml_graph_overhead(), NULL, true};
    return ggml_init(params);
}

/* Memory for all tensors of the context: zeros. */
static ggml_backend_buffer_t new_memory(struct ggml_context *ctx) {
    ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(ctx, ways[CPU_ONE].backend);
    GGML_ASSERT(memory != NULL);
    ggml_backend_buffer_clear(memory, 0);
    return memory;
}

static void measure_zeros(const char *name, struct ggml_context *ctx, struct ggml_tensor *node) {
    ggml_backend_buffer_t memory = new_memory(ctx);
    measure(name, ctx, node);
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
}

static void rope(const char *name, enum ggml_type type, int mode) {
    struct ggml_context *ctx = new_context();
    struct ggml_tensor *x = ggml_new_tensor_3d(ctx, type, 128, 32, 512);
    struct ggml_tensor *positions = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 512);
    measure_zeros(name, ctx, ggml_rope(ctx, x, positions, 128, mode));
}

static void soft_max(const char *name, int64_t n_keys, int64_t n_queries) {
    struct ggml_context *ctx = new_context();
    struct ggml_tensor *x = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, n_keys, n_queries, 32);
    struct ggml_tensor *mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, n_keys, n_queries);
    measure_zeros(name, ctx, ggml_soft_max_ext(ctx, x, mask, 0.1f, 0.0f));
}

/* ---- Attention ---- */

/* 0, and with is_causal -inf for keys later than the query, the last of which sees all. */
static void fill_mask(struct ggml_tensor *mask, int is_causal) {
    ggml_fp16_t hidden = ggml_fp32_to_fp16(-INFINITY);
    int64_t n_k = mask->ne[0], n_q = mask->ne[1];
    for (int64_t i = 0; i < n_q; i++)
        for (int64_t j = 0; j < n_k; j++)
            ((ggml_fp16_t *)mask->data)[i * n_k + j] = is_causal && j > n_k - n_q + i ? hidden : 0;
}

typedef struct attention {
    const char *name;
    enum ggml_type type; /* of keys and values */
    int64_t head_dim, v_dim, n_heads, n_kv_heads, n_q, n_k;
    int is_causal;
    int is_cache; /* the heads of a token lie side by side, as in llama.cpp's cache; else the tokens of a head do */
} attention;

static struct ggml_tensor *new_rows(struct ggml_context *ctx, const attention *a, int64_t dim) {
    return a->is_cache ? ggml_new_tensor_3d(ctx, a->type, dim, a->n_kv_heads, a->n_k)
                       : ggml_new_tensor_3d(ctx, a->type, dim, a->n_k, a->n_kv_heads);
}

static struct ggml_tensor *by_head(struct ggml_context *ctx, const attention *a, struct ggml_tensor *rows) {
    return a->is_cache ? ggml_permute(ctx, rows, 0, 2, 1, 3) : rows;
}

static void measure_attention(const attention *a) {
    struct ggml_context *ctx = new_context();
    struct ggml_tensor *q = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, a->head_dim, a->n_q, a->n_heads);
    struct ggml_tensor *k = new_rows(ctx, a, a->head_dim), *v = new_rows(ctx, a, a->v_dim);
    struct ggml_tensor *mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, a->n_k, a->n_q);
    float scale = 1.0f / sqrtf((float)a->head_dim);
    struct ggml_tensor *node =
        ggml_flash_attn_ext(ctx, q, by_head(ctx, a, k), by_head(ctx, a, v), mask, scale, 0.0f, 0.0f);
    ggml_backend_buffer_t memory = new_memory(ctx);
    random_state state = {1};
    fill_random(q, &state);
    fill_random(k, &state);
    fill_random(v, &state);
    fill_mask(mask, a->is_causal);
    measure(a->name, ctx, node);
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
}

static const attention attentions[] = {
    {"attention prefill", GGML_TYPE_F16, 128, 128, 8, 8, 4096, 4096, 0, 0},
    {"attention prefill causal", GGML_TYPE_F16, 128, 128, 8, 8, 4096, 4096, 1, 0},
    {"attention prefill causal 4:1", GGML_TYPE_F16, 128, 128, 32, 8, 512, 4096, 1, 0},
    {"attention decode 1:1, 4096", GGML_TYPE_F16, 128, 128, 32, 32, 1, 4096, 0, 0},
    {"attention decode 4:1, 4096", GGML_TYPE_F16, 128, 128, 32, 8, 1, 4096, 0, 0},
    {"attention decode 4:1, 16384", GGML_TYPE_F16, 128, 128, 32, 8, 1, 16384, 0, 0},
    {"attention decode 8:1, 4096", GGML_TYPE_F16, 128, 128, 32, 4, 1, 4096, 0, 0},
    {"attention decode 8:1, 16384", GGML_TYPE_F16, 128, 128, 32, 4, 1, 16384, 0, 0},
    {"attention decode MLA, 4096", GGML_TYPE_F16, 576, 512, 16, 1, 1, 4096, 0, 0},
    {"attention decode MLA, 16384", GGML_TYPE_F16, 576, 512, 16, 1, 1, 16384, 0, 0},
    {"cache f16, prefill causal", GGML_TYPE_F16, 128, 128, 32, 8, 512, 4096, 1, 1},
    {"cache f16, decode 4096", GGML_TYPE_F16, 128, 128, 32, 8, 1, 4096, 0, 1},
    {"cache f16, decode 16384", GGML_TYPE_F16, 128, 128, 32, 8, 1, 16384, 0, 1},
    {"cache q8_0, prefill causal", GGML_TYPE_Q8_0, 128, 128, 32, 8, 512, 4096, 1, 1},
    {"cache q8_0, decode 4096", GGML_TYPE_Q8_0, 128, 128, 32, 8, 1, 4096, 0, 1},
    {"cache q8_0, decode 16384", GGML_TYPE_Q8_0, 128, 128, 32, 8, 1, 16384, 0, 1},
    {"cache q4_0, prefill causal", GGML_TYPE_Q4_0, 128, 128, 32, 8, 512, 4096, 1, 1},
    {"cache q4_0, decode 4096", GGML_TYPE_Q4_0, 128, 128, 32, 8, 1, 4096, 0, 1},
    {"cache q4_0, decode 16384", GGML_TYPE_Q4_0, 128, 128, 32, 8, 1, 16384, 0, 1},
};

int main(int argc, char **argv) {
    ggml_backend_load_all();
    ways[CPU_ONE] = way_of("CPU", 1);
    ways[OURS_ONE] = way_of("POSENC", 1);
    ways[OURS_TWO] = way_of("POSENC", 2);
    printf("%-30s %12s %12s %8s %12s %8s\n", "node", "ggml us", "posenc us", "ratio", "2 threads us", "1 : 2");
    if (argc == 1) {
        rope("rope neox f32, 512 tokens", GGML_TYPE_F32, GGML_ROPE_TYPE_NEOX);
        rope("rope neox f16, 512 tokens", GGML_TYPE_F16, GGML_ROPE_TYPE_NEOX);
        rope("rope normal f32, 512 tokens", GGML_TYPE_F32, GGML_ROPE_TYPE_NORMAL);
        soft_max("soft_max 1024 x 128 x 32", 1024, 128);
    }
    for (size_t i = 0; i < sizeof attentions / sizeof attentions[0]; i++)
        if (argc == 1 || strstr(attentions[i].name, argv[1]) != NULL)
            measure_attention(&attentions[i]);
    for (int w = 0; w < N_WAYS; w++)
        ggml_backend_free(ways[w].backend);
    return 0;
}
