/* SPDX-License-Identifier: MIT */
/* ggml's CPU backend, through its public interface: peer-ggml NAME flash|graph [BACKEND], where BACKEND is a library
 * file that holds one, for a certain instruction set; without it ggml loads its best.
 *
 * ggml has no rows of cosines and sines: each rotation makes its own, whatever is asked for. The work `rows` is the
 * rotation of one head by them. Masks and ALiBi are tensors of f16, as llama.cpp has them.
 *
 * flash: attention is one operation. graph: products with keys, softmax and products with values that are stored
 * transposed, as llama.cpp builds it with -fa 0. */
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <posenc/rope.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/worker.h"
#include "kernels/formats.h"

typedef struct ggml_job {
    bench_job base;
    struct ggml_context *ctx;
    struct ggml_cgraph *graph;
    ggml_backend_buffer_t memory, cache_memory;
    cache cache;
    struct ggml_tensor *q, *k, *v; /* of attention; k and v lie in the cache */
} ggml_job;

/* Nodes of one graph: so many that what a graph costs does not count, of small work. */
enum { MAX_NODES = 64, NODES_ELEMENTS = 1 << 20 };

static ggml_backend_t backend;
static int by_graph; /* attention */
static ggml_job the_job;

static enum ggml_type ggml_type_of(posenc_dtype type) {
    switch (type) {
    case POSENC_F16: return GGML_TYPE_F16;
    case POSENC_BF16: return GGML_TYPE_BF16;
    case POSENC_Q8_0: return GGML_TYPE_Q8_0;
    case POSENC_Q4_0: return GGML_TYPE_Q4_0;
    case POSENC_Q5_0: return GGML_TYPE_Q5_0;
    case POSENC_Q4_1: return GGML_TYPE_Q4_1;
    case POSENC_Q5_1: return GGML_TYPE_Q5_1;
    case POSENC_IQ4_NL: return GGML_TYPE_IQ4_NL;
    case POSENC_F8_E4M3: return GGML_TYPE_COUNT; /* ggml has none */
    case POSENC_F32: break;
    }
    return GGML_TYPE_F32;
}

static struct ggml_tensor *positions_of(const work *w) {
    return ggml_new_tensor_1d(the_job.ctx, GGML_TYPE_I32, w->tokens);
}

static struct ggml_tensor *rope_node(const work *w, struct ggml_tensor *x, struct ggml_tensor *positions) {
    int mode = w->layout == POSENC_ROPE_INTERLEAVED ? GGML_ROPE_TYPE_NORMAL : GGML_ROPE_TYPE_NEOX;
    return ggml_rope_ext_inplace(the_job.ctx, x, positions, NULL, (int)w->dim, mode, 0, 1e4f, 1.0f, 0.0f, 1.0f, 0.0f,
                                 0.0f);
}

static struct ggml_tensor *softmax_node(const work *w, struct ggml_tensor *x, struct ggml_tensor *mask) {
    return ggml_soft_max_ext(the_job.ctx, x, mask, 0.0883883f, w->alibi ? 8.0f : 0.0f);
}

/* A query sees the keys up to its own; ALiBi is a slope times what the mask says. */
static float mask_value(const work *w, int64_t query, int64_t key) {
    int64_t distance = w->keys - w->queries + query - key;
    if ((w->causal && distance < 0) || (w->window > 0 && distance >= w->window))
        return -INFINITY;
    return w->alibi ? -fabsf((float)distance) : 0.0f;
}

static struct ggml_tensor *mask_of(const work *w) {
    return w->causal || w->alibi || w->window > 0 ? ggml_new_tensor_2d(the_job.ctx, GGML_TYPE_F16, w->keys, w->queries)
                                                  : NULL;
}

static void fill_mask(const work *w, struct ggml_tensor *mask) {
    if (mask == NULL)
        return;
    ggml_fp16_t *data = ggml_get_data(mask);
    for (int64_t i = 0; i < w->queries; i++)
        for (int64_t j = 0; j < w->keys; j++)
            data[i * w->keys + j] = ggml_fp32_to_fp16(mask_value(w, i, j));
}

static void fill(struct ggml_tensor *x, posenc_dtype type, float bound) {
    bench_random(ggml_get_data(x), type, (size_t)ggml_nelements(x), bound);
}

static void add_node(struct ggml_tensor *node) {
    ggml_build_forward_expand(the_job.graph, node);
}

/* The tensors get their memory when all of them are known. */
static void allocate(void) {
    the_job.memory = ggml_backend_alloc_ctx_tensors(the_job.ctx, backend);
}

static void open_rope(const work *w, int n_nodes) {
    posenc_dtype type = (posenc_dtype)w->type;
    int64_t heads = work_is(w, "rows") ? 1 : w->heads;
    struct ggml_tensor *x = ggml_new_tensor_3d(the_job.ctx, ggml_type_of(type), w->dim, heads, w->tokens);
    struct ggml_tensor *positions = positions_of(w);
    for (int i = 0; i < n_nodes; i++)
        add_node(x = rope_node(w, x, positions));
    allocate();
    fill(x, type, 1.0f);
    int32_t *p = ggml_get_data(positions);
    for (int64_t t = 0; t < w->tokens; t++)
        p[t] = (int32_t)(w->lone ? t * 40503 % (1 << 17) : 3000 + t);
}

/* Every node writes the same output again, as the others' calls do: outputs of their own would be megabytes a graph,
 * out of the cache that the others stay in. */
static void open_softmax(const work *w, int n_nodes) {
    struct ggml_tensor *x = ggml_new_tensor_3d(the_job.ctx, GGML_TYPE_F32, w->keys, w->queries, w->heads);
    struct ggml_tensor *mask = mask_of(w), *output = NULL;
    for (int i = 0; i < n_nodes; i++) {
        struct ggml_tensor *node = softmax_node(w, x, mask);
        node->view_src = output;
        output = i == 0 ? node : output;
        add_node(node);
    }
    allocate();
    fill(x, POSENC_F32, 16.0f);
    fill_mask(w, mask);
}

/* ---- Attention: keys and values lie in a cache (cache.h) ---- */

/* A tensor [dim, tokens, heads] at a view [dim, heads, tokens]; of transposed values [tokens, dim, heads]. */
static struct ggml_tensor *tensor_at(const posenc_view *view, int is_transposed) {
    posenc_view x = is_transposed ? *view : posenc_view_transpose(*view, 1, 2);
    struct ggml_tensor *tensor = ggml_new_tensor_3d(the_job.ctx, ggml_type_of(x.dtype), x.ne[0], x.ne[1], x.ne[2]);
    for (int i = 1; i < 3; i++)
        tensor->nb[i] = (size_t)x.nb[i];
    GGML_ASSERT(ggml_backend_tensor_alloc(the_job.cache_memory, tensor, x.data) == GGML_STATUS_SUCCESS);
    return tensor;
}

static void open_cache(const work *w) {
    cache_shape shape = work_cache(w);
    shape.is_v_transposed = by_graph;
    cache_open(&the_job.cache, &shape);
    the_job.cache_memory = ggml_backend_cpu_buffer_from_ptr(the_job.cache.memory, the_job.cache.memory_bytes);
    the_job.k = tensor_at(&the_job.cache.k, 0);
    if (w->dim_v > 0)
        the_job.v =
            ggml_view_3d(the_job.ctx, the_job.k, w->dim_v, w->keys, w->kv_heads, the_job.k->nb[1], the_job.k->nb[2], 0);
    else
        the_job.v = tensor_at(&the_job.cache.v, by_graph);
}

/* Queries in the cache's layout, as [dim, tokens, heads]. */
static struct ggml_tensor *new_queries(const work *w) {
    if (w->layout == CACHE_H)
        return ggml_new_tensor_3d(the_job.ctx, GGML_TYPE_F32, w->dim, w->queries, w->heads);
    struct ggml_tensor *q = ggml_new_tensor_3d(the_job.ctx, GGML_TYPE_F32, w->dim, w->heads, w->queries);
    return ggml_permute(the_job.ctx, q, 0, 2, 1, 3);
}

/* Values of MLA are transposed by the graph, as llama.cpp does it. */
static struct ggml_tensor *attention_graph(const work *w, struct ggml_tensor *q, struct ggml_tensor *mask) {
    struct ggml_context *ctx = the_job.ctx;
    struct ggml_tensor *scores = ggml_mul_mat(ctx, the_job.k, q);
    scores = ggml_soft_max_ext(ctx, scores, mask, 0.0883883f, 0.0f);
    struct ggml_tensor *v = w->dim_v > 0 ? ggml_cont(ctx, ggml_transpose(ctx, the_job.v)) : the_job.v;
    struct ggml_tensor *sums = ggml_mul_mat(ctx, v, scores);
    return ggml_cont(ctx, ggml_permute(ctx, sums, 0, 2, 1, 3)); /* a token's heads side by side */
}

static void open_attention(const work *w) {
    open_cache(w);
    struct ggml_tensor *q = new_queries(w), *mask = mask_of(w);
    the_job.q = q->view_src != NULL ? q->view_src : q;
    add_node(by_graph ? attention_graph(w, q, mask)
                      : ggml_flash_attn_ext(the_job.ctx, q, the_job.k, the_job.v, mask, 0.0883883f, 0.0f, 0.0f));
    allocate();
    fill(the_job.q, POSENC_F32, 1.0f);
    fill_mask(w, mask);
}

/* The tensor, and what is a view of it, to another place. */
static void move_tensor(struct ggml_tensor *tensor, void *data) {
    if (tensor->view_src == NULL)
        tensor->data = data;
    for (struct ggml_tensor *t = ggml_get_first_tensor(the_job.ctx); t != NULL;
         t = ggml_get_next_tensor(the_job.ctx, t))
        if (t->view_src == tensor)
            t->data = (char *)data + t->view_offs;
}

static void next_copy(void) {
    posenc_attention_args args;
    if (the_job.k == NULL || the_job.cache.n_copies == 1)
        return;
    cache_next(&the_job.cache, &args);
    move_tensor(the_job.k, args.k.data);
    move_tensor(the_job.v, args.v.data);
}

/* ---- Is it the same work? ---- */

/* Result of posenc for the same queries, keys and values; values are not transposed. The caller frees it. */
static float *our_result(const work *w, const float *q) {
    cache ours;
    cache_shape shape = work_cache(w);
    cache_open(&ours, &shape);
    int64_t v_dim = w->dim_v > 0 ? w->dim_v : w->dim;
    posenc_score_params params = posenc_score_params_of(0.0883883f, w->window > 0 ? posenc_mask_window(w->window)
                                                                    : w->causal   ? posenc_mask_causal()
                                                                                  : posenc_mask_none());
    posenc_view rows = posenc_view_dense((float *)(uintptr_t)q, POSENC_F32, w->dim, w->heads, w->queries, 1);
    if (w->layout == CACHE_H)
        rows = posenc_view_transpose(
            posenc_view_dense((float *)(uintptr_t)q, POSENC_F32, w->dim, w->queries, w->heads, 1), 1, 2);
    float *result = malloc((size_t)(v_dim * w->heads * w->queries) * sizeof *result);
    void *scratch = malloc(posenc_attention_workspace_bytes(w->dim, v_dim));
    if (result == NULL || scratch == NULL)
        bench_check(POSENC_ERR_MEMORY);
    posenc_view out = posenc_view_dense(result, POSENC_F32, v_dim, w->heads, w->queries, 1);
    bench_check(posenc_attention(&params, &rows, &ours.k, &ours.v, &out, scratch,
                                 posenc_attention_workspace_bytes(w->dim, v_dim), posenc_range_all()));
    free(scratch);
    cache_close(&ours);
    return result;
}

/* Larger prefill takes long; a smaller one has been checked. */
#define LARGEST_CHECKED ((int64_t)1 << 20)

/* f16 and blocks round queries as well; the largest result is about 1. */
#define TOLERANCE 2e-2f

/* NULL, or what is wrong. */
static const char *check_attention(const work *w, const struct ggml_tensor *q, const struct ggml_tensor *result) {
    if (w->queries * w->keys > LARGEST_CHECKED)
        return NULL;
    GGML_ASSERT(ggml_backend_graph_compute(backend, the_job.graph) == GGML_STATUS_SUCCESS);
    float *ours = our_result(w, ggml_get_data(q));
    const float *theirs = ggml_get_data(result);
    int is_alike = 1;
    for (int64_t i = 0; i < ggml_nelements(result); i++)
        is_alike &= fabsf(ours[i] - theirs[i]) <= TOLERANCE;
    free(ours);
    return is_alike ? NULL : "computes something else";
}

/* ---- A graph ---- */

static void compute(bench_job *base) {
    (void)base;
    next_copy();
    GGML_ASSERT(ggml_backend_graph_compute(backend, the_job.graph) == GGML_STATUS_SUCCESS);
}

static void close_graph(bench_job *base) {
    (void)base;
    ggml_backend_buffer_free(the_job.memory);
    if (the_job.k != NULL) {
        ggml_backend_buffer_free(the_job.cache_memory);
        cache_close(&the_job.cache);
    }
    ggml_free(the_job.ctx);
    memset(&the_job, 0, sizeof the_job);
}

static void start_graph(void) {
    struct ggml_init_params params = {ggml_tensor_overhead() * (2 * MAX_NODES + 8) + ggml_graph_overhead(), NULL, true};
    the_job.ctx = ggml_init(params);
    the_job.graph = ggml_new_graph(the_job.ctx);
}

/* NULL, or why the work is not done. */
static const char *why_not(const work *w) {
    int is_attention = work_is(w, "attention");
    if (!is_attention && (by_graph || !(work_is(w, "rope") || work_is(w, "rows") || work_is(w, "softmax"))))
        return by_graph ? "is raced with attention alone" : "has no operation for it";
    if (w->type == POSENC_BF16 && !is_attention)
        return "has none in bf16";
    if (ggml_type_of(w->type) == GGML_TYPE_COUNT)
        return "has no such type";
    if (w->page > 0)
        return "has no pages";
    if (by_graph && posenc_has_blocks(w->type))
        return "cannot store blocks transposed";
    return w->threads > 1 ? "is timed with one thread" : NULL;
}

static const char *open_graph(const work *w, worker_job *opened) {
    const char *reason = why_not(w);
    if (reason != NULL)
        return reason;
    int rotates = work_is(w, "rope") || work_is(w, "rows"), is_softmax = work_is(w, "softmax");
    int64_t elements = rotates ? w->tokens * w->heads * w->dim : w->heads * w->queries * w->keys;
    int n_nodes = elements * MAX_NODES <= NODES_ELEMENTS ? MAX_NODES : (int)(NODES_ELEMENTS / elements);
    n_nodes = n_nodes < 1 || work_is(w, "attention") ? 1 : n_nodes;
    start_graph();
    if (rotates)
        open_rope(w, n_nodes);
    else if (is_softmax)
        open_softmax(w, n_nodes);
    else
        open_attention(w);
    reason = work_is(w, "attention") ? check_attention(w, the_job.q, ggml_graph_node(the_job.graph, -1)) : NULL;
    if (reason != NULL) {
        close_graph(&the_job.base);
        return reason;
    }
    *opened = (worker_job){.job = &the_job.base, .call = compute, .close = close_graph, .works_a_call = n_nodes};
    return NULL;
}

static void use_one_thread(void) {
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    ggml_backend_set_n_threads_t set_n_threads = NULL;
    *(void **)&set_n_threads = ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    GGML_ASSERT(set_n_threads != NULL);
    set_n_threads(backend, 1);
}

static void stay_silent(enum ggml_log_level level, const char *text, void *context) {
    (void)level, (void)text, (void)context;
}

int main(int argc, char **argv) {
    ggml_log_set(stay_silent, NULL);
    if (argc < 3 || argc > 4 || (strcmp(argv[2], "flash") != 0 && strcmp(argv[2], "graph") != 0)) {
        fprintf(stderr, "usage: peer-ggml NAME flash|graph [BACKEND]\n");
        return 2;
    }
    by_graph = strcmp(argv[2], "graph") == 0;
    if (argc == 4)
        ggml_backend_load(argv[3]);
    else
        ggml_backend_load_all();
    backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    if (backend == NULL) {
        fprintf(stderr, "peer-ggml: ggml has no CPU backend that runs here\n");
        return 1;
    }
    use_one_thread();
    return worker_main(&(peer){argv[1], open_graph});
}
