/* SPDX-License-Identifier: MIT */
/* posenc_attention: prefill against the multiply-adds of the unmasked keys, decode against reading keys and values once
 * (x_limit); each bias, mask, rotation, type of keys and way through them against the plain call on f16 (x_alone); a
 * list of keys far apart against as many keys in the caches. Decode goes by layers, as a model does: the keys and
 * values of each call come from memory. */
#include <posenc/attention.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "core/view.h"
#include "seen.h"
#include "serve.h"
#include "terms.h"

/* Copies of keys and values, one behind the other; each call takes the next. */
typedef struct layers {
    int n, turn;
    size_t k_bytes, v_bytes; /* from copy to copy */
} layers;

typedef struct attention_job {
    bench_job base;
    bench_terms terms, plain_terms;
    posenc_attention_args task, plain;
    layers task_layers, plain_layers;
    void *scratch, *parts; /* parts: NULL, or the task goes part by part */
    posenc_rope *rope;
    posenc_rope_table table;
    posenc_attention_pages pages;
    posenc_attention_lists lists;
} attention_job;

typedef struct attention_shape {
    const char *name;
    terms_add *term;                 /* what its scores are given more than those of the plain call, or NULL */
    void (*add)(attention_job *job); /* what else it is given more, or NULL */
    int64_t head_dim, n_heads, n_kv_heads, n_q, n_k;
    posenc_mask mask;  /* of both calls; what the term hides comes on top */
    int64_t v_dim;     /* values are the first so many channels of the keys, as in MLA; 0: a tensor of their own */
    posenc_dtype type; /* of keys and values of the plain call */
} attention_shape;

/* Memory of [dim, n_tokens, n_heads, n_batch], as the peers have it. */
static posenc_view by_head(posenc_view memory) {
    return posenc_view_transpose(memory, 1, 2);
}

/* ---- Layers ---- */

/* More than the last caches of most CPUs hold. */
#define LAYERS_BYTES ((size_t)160 << 20)

static size_t bytes_of(const posenc_view *x) {
    posenc_view rows = posenc_storage_of(x);
    return (size_t)(rows.ne[0] * rows.ne[1] * rows.ne[2] * rows.ne[3]) * (size_t)posenc_dtype_size(rows.dtype);
}

/* Huge pages, where the system has them: docs/embedding.md advises caches to lie in such. */
static void ask_for_huge_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    uintptr_t page = 4096, beyond = (uintptr_t)memory % page;
    (void)madvise((char *)memory - beyond, bytes + beyond, MADV_HUGEPAGE); /* without them it is slower, not wrong */
#else
    (void)memory, (void)bytes;
#endif
}

static void *copy_of(bench_job *job, const void *data, size_t bytes, int n) {
    char *copies = bench_alloc(job, bytes * (size_t)n);
    ask_for_huge_pages(copies, bytes * (size_t)n);
    for (int i = 0; i < n; i++)
        memcpy(copies + bytes * (size_t)i, data, bytes);
    return copies;
}

/* The call's keys and values, in memory of their own, so often that the caches do not hold them. */
static void add_layers(bench_job *job, posenc_attention_args *args, layers *to) {
    to->k_bytes = bytes_of(&args->k);
    to->v_bytes = bytes_of(&args->v);
    to->n = (int)(LAYERS_BYTES / (to->k_bytes + to->v_bytes)) + 1;
    args->k.data = copy_of(job, args->k.data, to->k_bytes, to->n);
    args->v.data = copy_of(job, args->v.data, to->v_bytes, to->n);
}

/* The call with the next of its layers. */
static posenc_attention_args next_layer(const posenc_attention_args *args, layers *of) {
    posenc_attention_args layer = *args;
    if (of->n == 0)
        return layer;
    size_t turn = (size_t)(of->turn++ % of->n);
    layer.k.data = (char *)layer.k.data + turn * of->k_bytes;
    layer.v.data = (char *)layer.v.data + turn * of->v_bytes;
    return layer;
}

/* ---- What is added ---- */

static void add_rotation(attention_job *job) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    int64_t n_k = job->task.k.ne[2];
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = job->task.k.ne[0];
    bench_check(posenc_rope_create(&params, &job->rope));
    int32_t *positions = bench_alloc(&job->base, (size_t)n_k * sizeof *positions);
    for (int64_t t = 0; t < n_k; t++)
        positions[t] = (int32_t)t;
    job->table =
        posenc_rope_table_dense(job->rope, bench_alloc(&job->base, (size_t)posenc_rope_table_bytes(job->rope, n_k)));
    bench_check(posenc_rope_table_fill(job->rope, positions, n_k, POSENC_FORWARD, &job->table));
    job->task.k_rope = job->rope;
    job->task.k_table = &job->table;
}

static posenc_view new_blocks(attention_job *job, const posenc_view *like, posenc_dtype type) {
    size_t n = (size_t)(like->ne[0] * like->ne[1] * like->ne[2]) / POSENC_QUANT_BLOCK;
    size_t size = type == POSENC_Q8_0 ? POSENC_Q8_BYTES : POSENC_Q4_BYTES;
    unsigned char *memory = bench_alloc(&job->base, n * size);
    for (size_t i = 0; i < n * size; i++)
        memory[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t i = 0; i < n; i++)
        *(uint16_t *)(void *)(memory + i * size) = type == POSENC_Q8_0 ? 0x2000 : 0x3000; /* 2^-7, 2^-3 */
    return by_head(posenc_view_dense(memory, type, like->ne[0], like->ne[2], like->ne[1], 1));
}

static void add_blocks(attention_job *job, posenc_dtype type, posenc_attention_math math) {
    job->task.k = new_blocks(job, &job->plain.k, type);
    job->task.v = new_blocks(job, &job->plain.v, type);
    job->task.math = math;
}

static void add_q8_0(attention_job *job) {
    add_blocks(job, POSENC_Q8_0, POSENC_MATH_F32);
}

static void add_q8_0_int16(attention_job *job) {
    add_blocks(job, POSENC_Q8_0, POSENC_MATH_INT16);
}

static void add_q4_0_int16(attention_job *job) {
    add_blocks(job, POSENC_Q4_0, POSENC_MATH_INT16);
}

static posenc_view as_pages(const posenc_view *x, int64_t size) {
    return by_head(posenc_view_dense(x->data, x->dtype, x->ne[0], size, x->ne[1], x->ne[2] / size));
}

static void add_pages(attention_job *job, int64_t size) {
    int64_t n = job->plain.k.ne[2] / size;
    int32_t *numbers = bench_alloc(&job->base, (size_t)n * sizeof *numbers);
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (int32_t)(i * 7 % n); /* n is a power of two */
    job->pages = (posenc_attention_pages){numbers, n, job->plain.k.ne[2]};
    job->task.pages = &job->pages;
    job->task.k = as_pages(&job->plain.k, size);
    job->task.v = as_pages(&job->plain.v, size);
}

static void add_pages_of_16(attention_job *job) {
    add_pages(job, 16);
}

static void add_pages_of_64(attention_job *job) {
    add_pages(job, 64);
}

static void add_parts(attention_job *job) {
    job->parts = bench_alloc(&job->base, posenc_attention_split_bytes(&job->task));
}

/* A cache that grows by tokens. */
static posenc_view as_tokens(const posenc_view *x) {
    return posenc_view_dense(x->data, x->dtype, x->ne[0], x->ne[1], x->ne[2], 1);
}

/* So many keys from all of the cache, in no order; the plain call has its first. */
static void add_list(attention_job *job) {
    enum { LISTED = 2048 };
    int64_t n_k = job->plain.k.ne[2] /* a power of two */, v_dim = job->plain.v.ne[0];
    int is_mla = job->plain.v.data == job->plain.k.data;
    job->plain.k = as_tokens(&job->plain.k);
    job->plain.v = is_mla ? posenc_view_slice(job->plain.k, 0, 0, v_dim) : as_tokens(&job->plain.v);
    job->task.k = job->plain.k;
    job->task.v = job->plain.v;
    int32_t *keys = bench_alloc(&job->base, LISTED * sizeof *keys);
    for (int64_t t = 0; t < LISTED; t++)
        keys[t] = (int32_t)(t * 40503 % n_k);
    job->lists = (posenc_attention_lists){keys, LISTED, 0, 0};
    job->task.lists = &job->lists;
    job->plain.k.ne[2] = job->plain.v.ne[2] = LISTED;
}

static const attention_shape shapes[] = {
    {"plain", NULL, NULL, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"causal", terms_causal, NULL, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"alibi", terms_alibi, NULL, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"t5", terms_t5, NULL, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"window_256", terms_window_256, NULL, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"rotation", NULL, add_rotation, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"q8_0", NULL, add_q8_0, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"q8_0_int16", NULL, add_q8_0_int16, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"q4_0_int16", NULL, add_q4_0_int16, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"pages_16", NULL, add_pages_of_16, 128, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"plain", NULL, NULL, 64, 4, 4, 1024, 1024, POSENC_MASK_NONE, 0, POSENC_F16},
    {"transformer_xl", terms_transformer_xl, NULL, 64, 8, 8, 512, 1024, POSENC_MASK_CAUSAL, 0,
     POSENC_F16},                                                                            /* enwik8, base */
    {"deberta", terms_deberta, NULL, 64, 12, 12, 512, 512, POSENC_MASK_NONE, 0, POSENC_F16}, /* v3, base */
    {"plain", NULL, NULL, 128, 8, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"rotation", NULL, add_rotation, 128, 8, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"q8_0", NULL, add_q8_0, 128, 8, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"q8_0_int16", NULL, add_q8_0_int16, 128, 8, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"pages_16", NULL, add_pages_of_16, 128, 8, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"pages_64", NULL, add_pages_of_64, 128, 8, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"plain", NULL, NULL, 128, 32, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"q8_0", NULL, add_q8_0, 128, 32, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"q8_0_int16", NULL, add_q8_0_int16, 128, 32, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"q4_0_int16", NULL, add_q4_0_int16, 128, 32, 8, 1, 4096, POSENC_MASK_NONE, 0, POSENC_F16},
    {"q8_0_int16", NULL, add_q8_0_int16, 128, 32, 8, 1, 16384, POSENC_MASK_NONE, 0, POSENC_F16},
    {"plain", NULL, NULL, 128, 32, 4, 1, 16384, POSENC_MASK_NONE, 0, POSENC_F16},
    {"parts", NULL, add_parts, 128, 32, 4, 1, 16384, POSENC_MASK_NONE, 0, POSENC_F16},
    {"list_f16", NULL, add_list, 128, 32, 8, 1, 131072, POSENC_MASK_NONE, 0, POSENC_F16},
    {"list_bf16", NULL, add_list, 128, 32, 8, 1, 131072, POSENC_MASK_NONE, 0, POSENC_BF16},
    {"list_mla", NULL, add_list, 576, 128, 1, 1, 131072, POSENC_MASK_NONE, 512, POSENC_BF16},
};

/* ---- The race ---- */

static posenc_view random_view(bench_job *job, posenc_dtype type, int64_t dim, int64_t n_tokens, int64_t n_heads) {
    posenc_view v = bench_view(job, type, dim, n_tokens, n_heads);
    bench_random_view(&v, 1.0f);
    return by_head(v);
}

static posenc_view values_of(bench_job *job, const attention_shape *s, posenc_view keys) {
    return s->v_dim > 0 ? posenc_view_slice(keys, 0, 0, s->v_dim)
                        : random_view(job, s->type, s->head_dim, s->n_k, s->n_kv_heads);
}

static void open_attention(bench_job *base) {
    attention_job *job = (attention_job *)base;
    const attention_shape *s = base->shape;
    int64_t v_dim = s->v_dim > 0 ? s->v_dim : s->head_dim;
    posenc_view keys = random_view(base, s->type, s->head_dim, s->n_k, s->n_kv_heads);
    terms_open(&job->plain_terms, base, s->n_heads, s->n_q, s->n_k);
    job->plain_terms.params.mask = s->mask;
    job->terms = job->plain_terms;
    job->plain = (posenc_attention_args){
        .params = &job->plain_terms.params,
        .q = random_view(base, POSENC_F32, s->head_dim, s->n_q, s->n_heads),
        .k = keys,
        .v = values_of(base, s, keys),
        .out = random_view(base, POSENC_F32, v_dim, s->n_q, s->n_heads),
    };
    job->task = job->plain;
    job->task.params = &job->terms.params;
    job->scratch = bench_alloc(base, posenc_attention_workspace_bytes(s->head_dim, v_dim));
    if (s->term != NULL)
        s->term(&job->terms);
    if (s->add != NULL)
        s->add(job);
    int64_t seen = bench_count_seen(&job->terms.params, s->n_q, job->plain.k.ne[2]);
    base->elements = (double)((s->head_dim + v_dim) * s->n_heads * seen);
    base->bytes = (double)(bytes_of(&job->plain.k) + (s->v_dim > 0 ? 0 : bytes_of(&job->plain.v)));
}

static void open_in_layers(bench_job *base) {
    attention_job *job = (attention_job *)base;
    open_attention(base);
    add_layers(base, &job->task, &job->task_layers);
    add_layers(base, &job->plain, &job->plain_layers);
}

static void close_attention(bench_job *base) {
    posenc_rope_free(((attention_job *)base)->rope);
}

static void fill_nothing(bench_job *base) {
    (void)base; /* nothing is changed in place */
}

static void run_task(bench_job *base) {
    attention_job *job = (attention_job *)base;
    posenc_attention_args task = next_layer(&job->task, &job->task_layers);
    if (job->parts == NULL) {
        bench_check(posenc_attention_run(&task, job->scratch, posenc_range_all()));
        return;
    }
    bench_check(posenc_attention_split(&task, job->scratch, job->parts, posenc_range_all()));
    bench_check(posenc_attention_combine_splits(&task, job->parts, posenc_range_all()));
}

static void run_plain(bench_job *base) {
    attention_job *job = (attention_job *)base;
    posenc_attention_args plain = next_layer(&job->plain, &job->plain_layers);
    bench_check(posenc_attention_run(&plain, job->scratch, posenc_range_all()));
}

/* Decode has little to multiply: what it cannot do without is reading the keys and values, once. */
static void run_limit(bench_job *base) {
    attention_job *job = (attention_job *)base;
    if (job->plain.q.ne[2] > 1) {
        base->limits->multiply((size_t)base->elements);
        return;
    }
    posenc_attention_args plain = next_layer(&job->plain, &job->plain_layers);
    base->limits->read(plain.k.data, bytes_of(&plain.k));
    if (((const attention_shape *)base->shape)->v_dim == 0)
        base->limits->read(plain.v.data, bytes_of(&plain.v));
}

static const bench_race race = {
    .job_size = sizeof(attention_job),
    .shape_size = sizeof(attention_shape),
    .open = open_attention,
    .fill = fill_nothing,
    .close = close_attention,
    .racers = {[BENCH_OURS] = run_task, [BENCH_LIMIT] = run_limit, [BENCH_ALONE] = run_plain},
};

bench_match bench_match_attention(const work *w) {
    static attention_shape shape;
    if (!work_is(w, "attention") || w->heads < 1 || w->heads > MAX_HEADS)
        return (bench_match){NULL, NULL};
    shape = (attention_shape){"",
                              w->causal ? terms_causal : NULL,
                              NULL,
                              w->dim,
                              w->heads,
                              w->kv_heads,
                              w->queries,
                              w->keys,
                              POSENC_MASK_NONE,
                              w->dim_v,
                              (posenc_dtype)w->type};
    return (bench_match){&race, &shape};
}

/* Decode goes by layers. A list's keys are far apart anyway, and values that are part of the keys have no copy of their
 * own. Other programs, which bench_match_attention is compared with, have one layer. */
void bench_register_attention(void) {
    static bench_race layered_race;
    layered_race = race;
    layered_race.open = open_in_layers;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            if (tier == POSENC_ISA_SCALAR)
                continue; /* seconds a call: it is the specification */
            attention_shape shape = shapes[i], *s = &shape;
            const bench_race *of = s->n_q == 1 && s->add != add_list ? &layered_race : &race;
            char name[128];
            snprintf(name, sizeof name, "posenc_attention/%s/%s/%dx%d/%dx%d/%d", posenc_isa_name(tier), s->name,
                     (int)s->n_heads, (int)s->n_kv_heads, (int)s->n_q, (int)s->n_k, (int)s->head_dim);
            bench_register(of, s, tier, name);
        }
    }
}
