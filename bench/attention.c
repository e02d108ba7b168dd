/* SPDX-License-Identifier: MIT */
/* posenc_attention: prefill against the multiply-adds of the unmasked keys, decode against reading keys and values once
 * (x_limit); each bias, mask, rotation, type of keys and way through them against the plain call on f16 (x_alone); a
 * list of keys far apart against as many keys in the caches. Every line is there in layout t and in h. */
#include "attention.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visible.h"
#include "serve.h"

struct attention_job {
    bench_job base;
    cache cache, plain_cache; /* plain_cache: opened for posenc-bench's own lines */
    bench_terms terms, plain_terms;
    posenc_attention_args task, plain;
    void *scratch, *parts; /* parts: NULL, or the task goes part by part */
    posenc_rope *rope;
    posenc_rope_table table;
    posenc_attention_lists lists;
};

/* ---- Terms and sources of keys ---- */

static void add_rotation(attention_job *job) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    int64_t n_k = job->cache.k.ne[2];
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = job->cache.k.ne[0];
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

static void add_parts(attention_job *job) {
    cache_next(&job->cache, &job->task);
    job->parts = bench_alloc(&job->base, posenc_attention_split_bytes(&job->task));
}

enum { LISTED = 2048 };

/* So many keys from all of the cache, in no order; the plain call has as many, side by side. */
static void add_list(attention_job *job) {
    int64_t n_k = job->cache.k.ne[2]; /* a power of two */
    int32_t *keys = bench_alloc(&job->base, LISTED * sizeof *keys);
    for (int64_t t = 0; t < LISTED; t++)
        keys[t] = (int32_t)(t * 40503 % n_k);
    job->lists = (posenc_attention_lists){keys, LISTED, 0, 0, 0, 0};
    job->task.lists = &job->lists;
}

/* The same keys, in a list for each KV head. */
static void add_lists_of_heads(attention_job *job) {
    int64_t n_heads = job->cache.k.ne[1];
    add_list(job);
    int32_t *keys = bench_alloc(&job->base, (size_t)(n_heads * LISTED) * sizeof *keys);
    for (int64_t h = 0; h < n_heads; h++)
        memcpy(keys + h * LISTED, job->lists.keys, LISTED * sizeof *keys);
    job->lists = (posenc_attention_lists){keys, LISTED, 0, 0, LISTED, n_heads};
}

/* ---- The lines of posenc-bench: each is registered in layout t and in h ---- */

#define WINDOW_512                                                                                                     \
    { 511, 0, 0, 0 } /* as posenc_mask_window makes it */

/* Heads, KV heads, queries, keys, head_dim; and of the cache: v_dim, type, page_size. */
static const struct {
    const char *name;
    terms_add *term;
    void (*add)(attention_job *job);
    int64_t n_heads, n_kv_heads, n_q, n_k, head_dim, v_dim, page_size;
    posenc_dtype type;
    posenc_attention_math math;
    posenc_mask mask;
} lines[] = {
    {"plain", NULL, NULL, 4, 4, 1024, 1024, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"causal", terms_causal, NULL, 4, 4, 1024, 1024, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"alibi", terms_alibi, NULL, 4, 4, 1024, 1024, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"t5", terms_t5, NULL, 4, 4, 1024, 1024, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"window_256", terms_window_256, NULL, 4, 4, 1024, 1024, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"bytes", terms_bytes, NULL, 4, 4, 1024, 1024, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"tenth_of_blocks", terms_tenth_of_blocks, NULL, 4, 4, 2048, 2048, 128, 0, 0, POSENC_F16, POSENC_MATH_F32,
     POSENC_MASK_NONE},
    {"window_512_blocks", terms_blocks_of_mask, NULL, 4, 4, 2048, 2048, 128, 0, 0, POSENC_F16, POSENC_MATH_F32,
     WINDOW_512}, /* the plain call has the window */
    {"rotation", NULL, add_rotation, 4, 4, 1024, 1024, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"q8_0", NULL, NULL, 4, 4, 1024, 1024, 128, 0, 0, POSENC_Q8_0, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"q8_0_int16", NULL, NULL, 4, 4, 1024, 1024, 128, 0, 0, POSENC_Q8_0, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"q4_0_int16", NULL, NULL, 4, 4, 1024, 1024, 128, 0, 0, POSENC_Q4_0, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"pages_16", NULL, NULL, 4, 4, 1024, 1024, 128, 0, 16, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"plain", NULL, NULL, 4, 4, 1024, 1024, 64, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"transformer_xl", terms_transformer_xl, NULL, 8, 8, 512, 1024, 64, 0, 0, POSENC_F16, POSENC_MATH_F32,
     POSENC_MASK_CAUSAL}, /* enwik8, base */
    {"deberta", terms_deberta, NULL, 12, 12, 512, 512, 64, 0, 0, POSENC_F16, POSENC_MATH_F32,
     POSENC_MASK_NONE}, /* v3, base */
    {"plain", NULL, NULL, 8, 8, 1, 4096, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"rotation", NULL, add_rotation, 8, 8, 1, 4096, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"q8_0", NULL, NULL, 8, 8, 1, 4096, 128, 0, 0, POSENC_Q8_0, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"q8_0_int16", NULL, NULL, 8, 8, 1, 4096, 128, 0, 0, POSENC_Q8_0, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"pages_16", NULL, NULL, 8, 8, 1, 4096, 128, 0, 16, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"pages_64", NULL, NULL, 8, 8, 1, 4096, 128, 0, 64, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"plain", NULL, NULL, 32, 8, 1, 4096, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"q8_0", NULL, NULL, 32, 8, 1, 4096, 128, 0, 0, POSENC_Q8_0, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"f8_e4m3", NULL, NULL, 32, 8, 1, 4096, 128, 0, 0, POSENC_F8_E4M3, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"q8_0_int16", NULL, NULL, 32, 8, 1, 4096, 128, 0, 0, POSENC_Q8_0, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"q4_0_int16", NULL, NULL, 32, 8, 1, 4096, 128, 0, 0, POSENC_Q4_0, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"q5_0_int16", NULL, NULL, 32, 8, 1, 4096, 128, 0, 0, POSENC_Q5_0, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"q4_1_int16", NULL, NULL, 32, 8, 1, 4096, 128, 0, 0, POSENC_Q4_1, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"q5_1_int16", NULL, NULL, 32, 8, 1, 4096, 128, 0, 0, POSENC_Q5_1, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"iq4_nl_int16", NULL, NULL, 32, 8, 1, 4096, 128, 0, 0, POSENC_IQ4_NL, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"q8_0_int16", NULL, NULL, 32, 8, 1, 16384, 128, 0, 0, POSENC_Q8_0, POSENC_MATH_INT16, POSENC_MASK_NONE},
    {"plain", NULL, NULL, 32, 4, 1, 16384, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"parts", NULL, add_parts, 32, 4, 1, 16384, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"list_f16", NULL, add_list, 32, 8, 1, 131072, 128, 0, 0, POSENC_F16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"lists_of_heads_f16", NULL, add_lists_of_heads, 32, 8, 1, 131072, 128, 0, 0, POSENC_F16, POSENC_MATH_F32,
     POSENC_MASK_NONE},
    {"list_bf16", NULL, add_list, 32, 8, 1, 131072, 128, 0, 0, POSENC_BF16, POSENC_MATH_F32, POSENC_MASK_NONE},
    {"list_mla", NULL, add_list, 128, 1, 1, 131072, 576, 512, 0, POSENC_BF16, POSENC_MATH_F32, POSENC_MASK_NONE},
};

enum { N_LINES = sizeof lines / sizeof lines[0] };

static attention_shape shape_of_line(int i, cache_layout layout) {
    int has_list = lines[i].add == add_list || lines[i].add == add_lists_of_heads; /* whose keys are far apart anyway */
    int is_decode = lines[i].n_q == 1 && !has_list;
    return (attention_shape){
        .name = lines[i].name,
        .n_heads = lines[i].n_heads,
        .n_q = lines[i].n_q,
        .cache = {.type = lines[i].type,
                  .head_dim = lines[i].head_dim,
                  .v_dim = lines[i].v_dim,
                  .n_heads = lines[i].n_kv_heads,
                  .n_keys = lines[i].n_k,
                  .page_size = lines[i].page_size,
                  .layout = layout,
                  .place = is_decode ? CACHE_MEMORY_HUGE : CACHE_HOT},
        .math = lines[i].math,
        .mask = lines[i].mask,
        .term = lines[i].term,
        .add = lines[i].add,
    };
}

/* ---- The race ---- */

/* The same numbers in every layout. */
static void fill_queries(const posenc_view *q) {
    for (int64_t head = 0; head < q->ne[1]; head++)
        for (int64_t token = 0; token < q->ne[2]; token++)
            for (int64_t i = 0; i < q->ne[0]; i++)
                ((float *)((char *)q->data + head * q->nb[1] + token * q->nb[2]))[i] =
                    (float)((head * 131 + token * 17 + i * 7919) % 1021) / 510.5f - 1.0f;
}

static posenc_view new_rows(bench_job *job, const attention_shape *s, int64_t dim) {
    posenc_view rows = s->cache.layout == CACHE_T
                           ? bench_view(job, POSENC_F32, dim, s->n_heads, s->n_q)
                           : posenc_view_transpose(bench_view(job, POSENC_F32, dim, s->n_q, s->n_heads), 1, 2);
    fill_queries(&rows);
    return rows;
}

static int64_t v_dim_of(const cache_shape *s) {
    return s->v_dim > 0 ? s->v_dim : s->head_dim;
}

/* Keys that the call looks at. */
static int64_t keys_of(const attention_job *job, const attention_shape *s) {
    return job->task.lists != NULL ? LISTED : s->cache.n_keys;
}

static void open_task(bench_job *base) {
    attention_job *job = (attention_job *)base;
    const attention_shape *s = base->shape;
    int64_t v_dim = v_dim_of(&s->cache);
    cache_open(&job->cache, &s->cache);
    terms_open(&job->terms, base, s->n_heads, s->n_q, s->cache.n_keys);
    job->terms.params.mask = s->mask;
    job->plain_terms = job->terms;
    job->task = (posenc_attention_args){.params = &job->terms.params,
                                        .q = new_rows(base, s, s->cache.head_dim),
                                        .out = new_rows(base, s, v_dim),
                                        .math = s->math};
    job->scratch = bench_alloc(base, posenc_attention_workspace_bytes(s->cache.head_dim, v_dim));
    if (s->term != NULL)
        s->term(&job->terms);
    if (s->add != NULL)
        s->add(job);
    int64_t visible = job->terms.n_visible > 0 ? job->terms.n_visible
                                               : bench_count_visible(&job->terms.params, s->n_q, keys_of(job, s));
    base->elements = (double)((s->cache.head_dim + v_dim) * s->n_heads * visible);
    base->bytes = (double)(cache_bytes(&s->cache) / (size_t)s->cache.n_keys) * (double)keys_of(job, s);
}

/* The plain call has f16 where the task has blocks, and as many keys. */
static void open_both(bench_job *base) {
    attention_job *job = (attention_job *)base;
    const attention_shape *s = base->shape;
    open_task(base);
    cache_shape plain = s->cache;
    plain.type = s->cache.type == POSENC_BF16 ? POSENC_BF16 : POSENC_F16;
    plain.page_size = 0;
    plain.n_keys = keys_of(job, s);
    cache_open(&job->plain_cache, &plain);
    job->plain_terms.params.positions.query_start = plain.n_keys - s->n_q;
    job->plain = (posenc_attention_args){
        .params = &job->plain_terms.params, .q = job->task.q, .out = new_rows(base, s, v_dim_of(&plain))};
}

static void close_attention(bench_job *base) {
    attention_job *job = (attention_job *)base;
    posenc_rope_free(job->rope);
    cache_close(&job->cache);
    if (job->plain_cache.memory != NULL)
        cache_close(&job->plain_cache);
}

static void fill_nothing(bench_job *base) {
    (void)base; /* nothing is changed in place */
}

static void run_task(bench_job *base) {
    attention_job *job = (attention_job *)base;
    cache_next(&job->cache, &job->task);
    if (job->parts == NULL) {
        bench_check(posenc_attention_run(&job->task, job->scratch,
                                         posenc_attention_workspace_bytes(job->task.q.ne[0], job->task.v.ne[0]),
                                         posenc_range_all()));
        return;
    }
    bench_check(posenc_attention_split(&job->task, job->scratch,
                                       posenc_attention_workspace_bytes(job->task.q.ne[0], job->task.v.ne[0]),
                                       job->parts, posenc_attention_split_bytes(&job->task), posenc_range_all()));
    bench_check(posenc_attention_combine_splits(&job->task, job->parts, posenc_attention_split_bytes(&job->task),
                                                posenc_range_all()));
}

static void run_plain(bench_job *base) {
    attention_job *job = (attention_job *)base;
    cache_next(&job->plain_cache, &job->plain);
    bench_check(posenc_attention_run(&job->plain, job->scratch,
                                     posenc_attention_workspace_bytes(job->plain.q.ne[0], job->plain.v.ne[0]),
                                     posenc_range_all()));
}

/* Decode has little to multiply: what it cannot do without is reading the keys and values that it sees, once. */
static void run_limit(bench_job *base) {
    attention_job *job = (attention_job *)base;
    const attention_shape *s = base->shape;
    if (s->n_q > 1) {
        base->limits->multiply((size_t)base->elements);
        return;
    }
    cache_next(&job->cache, &job->task);
    int64_t visible = bench_count_visible(&job->terms.params, 1, keys_of(job, s)), n_keys = s->cache.n_keys;
    size_t bytes = cache_bytes(&s->cache) / (size_t)n_keys * (size_t)visible,
           of_keys = s->cache.v_dim > 0 ? bytes : bytes / 2;
    base->limits->read(job->task.k.data, of_keys / 16 * 16);
    base->limits->read(job->task.v.data, (bytes - of_keys) / 16 * 16);
}

const bench_race attention_race = {
    .job_size = sizeof(attention_job),
    .shape_size = sizeof(attention_shape),
    .open = open_task,
    .fill = fill_nothing,
    .close = close_attention,
    .racers = {[BENCH_OURS] = run_task, [BENCH_LIMIT] = run_limit},
};

/* ---- Parts of a job that other races use ---- */

void attention_compare(const bench_job *a, const bench_job *b) {
    posenc_view x = ((const attention_job *)a)->task.out, y = ((const attention_job *)b)->task.out;
    for (int64_t head = 0; head < x.ne[1]; head++)
        for (int64_t token = 0; token < x.ne[2]; token++)
            if (memcmp((char *)x.data + head * x.nb[1] + token * x.nb[2],
                       (char *)y.data + head * y.nb[1] + token * y.nb[2], (size_t)x.ne[0] * sizeof(float)) != 0) {
                fprintf(stderr, "posenc-bench: head %d of query %d differs between two layouts\n", (int)head,
                        (int)token);
                exit(1);
            }
}

int attention_has_huge_pages(const bench_job *job) {
    return cache_has_huge_pages(&((const attention_job *)job)->cache);
}

bench_match bench_match_attention(const work *w) {
    static attention_shape shape;
    if (!work_is(w, "attention") || w->heads < 1 || w->heads > MAX_HEADS)
        return (bench_match){NULL, NULL};
    shape = (attention_shape){.name = "",
                              .n_heads = w->heads,
                              .n_q = w->queries,
                              .cache = work_cache(w),
                              .math = (posenc_attention_math)w->math,
                              .mask = w->window > 0 ? posenc_mask_window(w->window)
                                      : w->causal   ? posenc_mask_causal()
                                                    : posenc_mask_none()};
    return (bench_match){&attention_race, &shape};
}

static void register_line(const bench_race *race, int i, cache_layout layout) {
    attention_shape s = shape_of_line(i, layout);
    posenc_isa_tier tier;
    for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
        if (tier == POSENC_ISA_SCALAR)
            continue; /* seconds a call: it is the specification */
        char name[128];
        snprintf(name, sizeof name, "posenc_attention/%s/%s/%s/%dx%d/%dx%d/%d", posenc_isa_name(tier), s.name,
                 layout == CACHE_T ? "t" : "h", (int)s.n_heads, (int)s.cache.n_heads, (int)s.n_q, (int)s.cache.n_keys,
                 (int)s.cache.head_dim);
        bench_register(race, &s, tier, name);
    }
}

void bench_register_attention(void) {
    static bench_race with_plain;
    with_plain = attention_race;
    with_plain.open = open_both;
    with_plain.racers[BENCH_ALONE] = run_plain;
    for (int i = 0; i < N_LINES; i++) {
        register_line(&with_plain, i, CACHE_T);
        if (lines[i].n_kv_heads > 1) /* with one head both layouts are the same */
            register_line(&with_plain, i, CACHE_H);
    }
}
