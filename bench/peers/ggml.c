/* SPDX-License-Identifier: MIT */
/* ggml's CPU backend, through its public interface: peer-ggml NAME [BACKEND], where BACKEND is a library file that
 * holds one, for a certain instruction set; without it ggml loads its best.
 *
 * ggml has no rows of cosines and sines: each rotation makes its own, whatever is asked for. The work `rows` is the
 * rotation of one head by them. Masks and ALiBi are tensors of f16, as llama.cpp has them. */
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <posenc/rope.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "peers/worker.h"

typedef struct ggml_job {
    bench_job base;
    struct ggml_context *ctx;
    struct ggml_cgraph *graph;
    ggml_backend_buffer_t memory;
} ggml_job;

/* Nodes of one graph: so many that what a graph costs does not count, of small work. */
enum { MAX_NODES = 64, NODES_ELEMENTS = 1 << 20 };

static ggml_backend_t backend;
static ggml_job the_job;

static enum ggml_type ggml_type_of(posenc_dtype type) {
    return type == POSENC_F16 ? GGML_TYPE_F16 : type == POSENC_BF16 ? GGML_TYPE_BF16 : GGML_TYPE_F32;
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
    if (w->causal && distance < 0)
        return -INFINITY;
    return w->alibi ? -fabsf((float)distance) : 0.0f;
}

static struct ggml_tensor *mask_of(const work *w) {
    return w->causal || w->alibi ? ggml_new_tensor_2d(the_job.ctx, GGML_TYPE_F16, w->keys, w->queries) : NULL;
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

static struct ggml_tensor *values_of(const work *w, struct ggml_tensor *k) {
    if (w->dim_v > 0)
        return ggml_view_3d(the_job.ctx, k, w->dim_v, w->keys, w->kv_heads, k->nb[1], k->nb[2], 0);
    return ggml_new_tensor_3d(the_job.ctx, k->type, w->dim, w->keys, w->kv_heads);
}

static void open_attention(const work *w) {
    posenc_dtype type = (posenc_dtype)w->type;
    struct ggml_tensor *q = ggml_new_tensor_3d(the_job.ctx, GGML_TYPE_F32, w->dim, w->queries, w->heads);
    struct ggml_tensor *k = ggml_new_tensor_3d(the_job.ctx, ggml_type_of(type), w->dim, w->keys, w->kv_heads);
    struct ggml_tensor *v = values_of(w, k);
    struct ggml_tensor *mask = mask_of(w);
    add_node(ggml_flash_attn_ext(the_job.ctx, q, k, v, mask, 0.0883883f, 0.0f, 0.0f));
    allocate();
    fill(q, POSENC_F32, 1.0f);
    fill(k, type, 1.0f);
    if (w->dim_v == 0)
        fill(v, type, 1.0f);
    fill_mask(w, mask);
}

static void compute(bench_job *base) {
    (void)base;
    GGML_ASSERT(ggml_backend_graph_compute(backend, the_job.graph) == GGML_STATUS_SUCCESS);
}

static void close_graph(bench_job *base) {
    (void)base;
    ggml_backend_buffer_free(the_job.memory);
    ggml_free(the_job.ctx);
    memset(&the_job, 0, sizeof the_job);
}

static void start_graph(void) {
    struct ggml_init_params params = {ggml_tensor_overhead() * (2 * MAX_NODES + 8) + ggml_graph_overhead(), NULL, true};
    the_job.ctx = ggml_init(params);
    the_job.graph = ggml_new_graph(the_job.ctx);
}

static const char *open_graph(const work *w, worker_job *opened) {
    int rotates = work_is(w, "rope") || work_is(w, "rows"), is_softmax = work_is(w, "softmax");
    if (!rotates && !is_softmax && !work_is(w, "attention"))
        return "has no operation for it";
    if (w->type == POSENC_BF16 && !work_is(w, "attention"))
        return "has none in bf16";
    if (w->threads > 1)
        return "is timed with one thread";
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
    if (argc == 3)
        ggml_backend_load(argv[2]);
    else
        ggml_backend_load_all();
    backend = argc < 2 ? NULL : ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    if (backend == NULL) {
        fprintf(stderr, "peer-ggml: ggml has no CPU backend that runs here\n");
        return 1;
    }
    use_one_thread();
    return worker_main(&(peer){argv[1], open_graph});
}
