/* SPDX-License-Identifier: MIT */
/* A small Llama-shaped block, once with ggml's own nodes and once with those of posenc_ggml.h: a prompt, then one token
 * after the other. Prints how far the two are apart, and fails if that is more than rounding. */
#include "posenc_ggml.h"
#include "random.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 256, HEADS = 8, KV_HEADS = 2, HEAD_DIM = 32, HIDDEN = 512, CELLS = 64, PROMPT = 16, STEPS = 8 };

#define BASE 10000.0f

/* Weights, and a cache of K and V: what lives longer than one graph. */
typedef struct block {
    struct ggml_tensor *attention_norm, *wq, *wk, *wv, *wo, *hidden_norm, *gate, *up, *down;
    struct ggml_tensor *k_cache, *v_cache; /* f16 [HEAD_DIM, KV_HEADS, CELLS] */
} block;

/* Inputs of both implementations for a batch of tokens. */
typedef struct batch {
    struct ggml_tensor *x;         /* f32 [WIDTH, n] */
    struct ggml_tensor *positions; /* i32 [n] */
    struct ggml_tensor *cells;     /* i64 [n] */
    struct ggml_tensor *mask;      /* f32 [n_past + n, n]: causal, and a bias by distance */
} batch;

/* posenc's side: a rope, and a relative bias in place of the mask. */
typedef struct positions_by_posenc {
    posenc_ggml_rope rope;
    posenc_score_params scores;
} positions_by_posenc;

static const float scale = 0.1767767f; /* 1 / sqrt(HEAD_DIM) */

static float bias_of(int64_t distance) {
    return -0.25f * sqrtf((float)distance);
}

/* ---- The graph ---- */

static struct ggml_tensor *normed(struct ggml_context *ctx, struct ggml_tensor *x, struct ggml_tensor *weight) {
    return ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-5f), weight);
}

static struct ggml_tensor *heads(struct ggml_context *ctx, struct ggml_tensor *w, struct ggml_tensor *x, int64_t n) {
    return ggml_reshape_3d(ctx, ggml_mul_mat(ctx, w, x), HEAD_DIM, n, x->ne[1]);
}

/* Rows of a cache [HEAD_DIM, KV_HEADS, CELLS] as ggml writes them. */
static struct ggml_tensor *stored(struct ggml_context *ctx, struct ggml_tensor *cache, struct ggml_tensor *x,
                                  struct ggml_tensor *cells) {
    int64_t width = HEAD_DIM * KV_HEADS;
    struct ggml_tensor *rows =
        ggml_set_rows(ctx, ggml_reshape_2d(ctx, cache, width, CELLS), ggml_reshape_2d(ctx, x, width, x->ne[2]), cells);
    return ggml_reshape_3d(ctx, rows, HEAD_DIM, KV_HEADS, CELLS);
}

/* The first n cells, [HEAD_DIM, n, KV_HEADS]. */
static struct ggml_tensor *first_cells(struct ggml_context *ctx, struct ggml_tensor *cache, int64_t n) {
    struct ggml_tensor *some = ggml_view_3d(ctx, cache, HEAD_DIM, KV_HEADS, n, cache->nb[1], cache->nb[2], 0);
    return ggml_permute(ctx, some, 0, 2, 1, 3);
}

/* ours NULL: ggml's own nodes. */
static struct ggml_tensor *attention(struct ggml_context *ctx, const block *b, const batch *in, struct ggml_tensor *x,
                                     int64_t n_keys, positions_by_posenc *ours) {
    struct ggml_tensor *q = heads(ctx, b->wq, x, HEADS), *k = heads(ctx, b->wk, x, KV_HEADS);
    struct ggml_tensor *v = stored(ctx, b->v_cache, heads(ctx, b->wv, x, KV_HEADS), in->cells);
    if (ours != NULL) {
        struct ggml_tensor *table = posenc_ggml_rope_table(ctx, in->positions, &ours->rope);
        q = posenc_ggml_rope_apply(ctx, q, table, GGML_TYPE_F32, &ours->rope);
        k = posenc_ggml_rope_to_cache(ctx, k, table, b->k_cache, in->cells, &ours->rope);
    } else {
        q = ggml_rope_ext(ctx, q, in->positions, NULL, HEAD_DIM, GGML_ROPE_TYPE_NEOX, 0, BASE, 1, 0, 1, 32, 1);
        k = ggml_rope_ext(ctx, k, in->positions, NULL, HEAD_DIM, GGML_ROPE_TYPE_NEOX, 0, BASE, 1, 0, 1, 32, 1);
        k = stored(ctx, b->k_cache, k, in->cells);
    }
    struct ggml_tensor *scores = ggml_mul_mat(ctx, first_cells(ctx, k, n_keys), ggml_permute(ctx, q, 0, 2, 1, 3));
    struct ggml_tensor *p = ours != NULL ? posenc_ggml_softmax(ctx, scores, NULL, &ours->scores)
                                         : ggml_soft_max_ext(ctx, scores, in->mask, scale, 0.0f);
    struct ggml_tensor *values = ggml_cont(ctx, ggml_transpose(ctx, first_cells(ctx, v, n_keys)));
    struct ggml_tensor *mixed = ggml_permute(ctx, ggml_mul_mat(ctx, values, p), 0, 2, 1, 3);
    return ggml_mul_mat(ctx, b->wo, ggml_cont_2d(ctx, mixed, WIDTH, x->ne[1]));
}

static struct ggml_tensor *whole_block(struct ggml_context *ctx, const block *b, const batch *in, int64_t n_keys,
                                       positions_by_posenc *ours) {
    struct ggml_tensor *x =
        ggml_add(ctx, in->x, attention(ctx, b, in, normed(ctx, in->x, b->attention_norm), n_keys, ours));
    struct ggml_tensor *h = normed(ctx, x, b->hidden_norm);
    struct ggml_tensor *gated =
        ggml_mul(ctx, ggml_silu(ctx, ggml_mul_mat(ctx, b->gate, h)), ggml_mul_mat(ctx, b->up, h));
    return ggml_add(ctx, x, ggml_mul_mat(ctx, b->down, gated));
}

/* ---- Data ---- */

static struct ggml_context *new_context(void) {
    struct ggml_init_params params = {ggml_tensor_overhead() * 512 + ggml_graph_overhead(), NULL, true};
    return ggml_init(params);
}

static void fill(struct ggml_tensor *tensor, unsigned seed, float size) {
    random_state state = {seed};
    int64_t n = ggml_nelements(tensor);
    float *values = malloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)random_symmetric(&state, (double)size);
    ggml_backend_tensor_set(tensor, values, 0, (size_t)n * sizeof *values);
    free(values);
}

static block new_block(struct ggml_context *ctx, ggml_backend_t backend) {
    block b = {
        .attention_norm = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, WIDTH),
        .wq = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, WIDTH),
        .wk = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, HEAD_DIM * KV_HEADS),
        .wv = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, HEAD_DIM * KV_HEADS),
        .wo = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, WIDTH),
        .hidden_norm = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, WIDTH),
        .gate = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, HIDDEN),
        .up = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, HIDDEN),
        .down = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, HIDDEN, WIDTH),
        .k_cache = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, HEAD_DIM, KV_HEADS, CELLS),
        .v_cache = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, HEAD_DIM, KV_HEADS, CELLS),
    };
    ggml_backend_buffer_clear(ggml_backend_alloc_ctx_tensors(ctx, backend), 0);
    struct ggml_tensor *weights[] = {b.attention_norm, b.wq, b.wk, b.wv, b.wo, b.hidden_norm, b.gate, b.up, b.down};
    for (unsigned i = 0; i < sizeof weights / sizeof weights[0]; i++)
        fill(weights[i], i + 1, weights[i]->ne[1] == 1 ? 1.0f : 0.15f);
    return b;
}

static void fill_batch(const batch *in, int64_t n_past, int64_t n) {
    fill(in->x, (unsigned)n_past + 100, 1.0f);
    for (int64_t t = 0; t < n; t++) {
        int32_t position = (int32_t)(n_past + t);
        int64_t cell = n_past + t;
        ggml_backend_tensor_set(in->positions, &position, (size_t)t * sizeof position, sizeof position);
        ggml_backend_tensor_set(in->cells, &cell, (size_t)t * sizeof cell, sizeof cell);
        for (int64_t j = 0; in->mask->buffer != NULL && j < n_past + n; j++) {
            float value = j > cell ? -INFINITY : bias_of(cell - j);
            ggml_backend_tensor_set(in->mask, &value, (size_t)(t * (n_past + n) + j) * sizeof value, sizeof value);
        }
    }
}

/* Runs n tokens behind n_past through the block; out [WIDTH * n]. */
static void run(ggml_backend_t backend, const block *b, int64_t n_past, int64_t n, positions_by_posenc *ours,
                float *out) {
    struct ggml_context *ctx = new_context();
    batch in = {
        .x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, n),
        .positions = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, n),
        .cells = ggml_new_tensor_1d(ctx, GGML_TYPE_I64, n),
        .mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, n_past + n, n),
    };
    if (ours != NULL)
        ours->scores.positions.query_start = n_past;
    struct ggml_tensor *y = whole_block(ctx, b, &in, n_past + n, ours);
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, y);
    ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(ctx, backend);
    fill_batch(&in, n_past, n);
    GGML_ASSERT(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(y, out, 0, ggml_nbytes(y));
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
}

/* ---- Both ways ---- */

static int compare(const float *a, const float *b, int64_t n, int64_t n_past) {
    double error = 0.0, size = 0.0;
    for (int64_t i = 0; i < n; i++) {
        error += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        size += (double)a[i] * (double)a[i];
    }
    printf("%3lld tokens behind %3lld: normalised square error %.1e\n", (long long)(n / WIDTH), (long long)n_past,
           error / size);
    return error <= 1e-7 * size ? 0 : 1;
}

static ggml_backend_t open_cpu(int n_threads) {
    ggml_backend_load_all();
    ggml_backend_t backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    GGML_ASSERT(backend != NULL);
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    ggml_backend_set_n_threads_t set = NULL;
    *(void **)&set = ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    set(backend, n_threads);
    return backend;
}

int main(void) {
    ggml_backend_t backend = open_cpu(2);
    struct ggml_context *contexts[2] = {new_context(), new_context()};
    block blocks[2] = {new_block(contexts[0], backend), new_block(contexts[1], backend)};

    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = HEAD_DIM;
    params.base = (double)BASE;
    posenc_rope *rope;
    GGML_ASSERT(posenc_rope_create(&params, &rope) == POSENC_OK);
    float line[CELLS];
    for (int64_t i = 0; i < CELLS; i++)
        line[i] = bias_of(CELLS - 1 - i);
    posenc_rel_bias biases = {line, 1 - CELLS, CELLS, HEADS, 0, 0};
    posenc_score_params scores = posenc_score_params_of(scale, posenc_mask_causal());
    scores.bias.relative = &biases;
    positions_by_posenc ours = {{rope, POSENC_FORWARD}, scores};

    static float out[2][WIDTH * PROMPT];
    int failed = 0;
    for (int64_t n_past = 0, n = PROMPT; n_past < PROMPT + STEPS; n_past += n, n = n_past < PROMPT ? PROMPT : 1) {
        run(backend, &blocks[0], n_past, n, NULL, out[0]);
        run(backend, &blocks[1], n_past, n, &ours, out[1]);
        failed |= compare(out[0], out[1], WIDTH * n, n_past);
    }
    posenc_rope_free(rope);
    puts(failed ? "the two ways differ" : "the two ways agree");
    return failed;
}
