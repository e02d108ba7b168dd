/* posenc_attention: prefill against as many multiply-adds, decode against reading keys and values once (x_limit); each
 * bias, mask, rotation, type of keys and way through them against the plain call on f16 (x_alone). */
#include <posenc/alibi.h>
#include <posenc/attention.h>

#include <stdio.h>

#include "bench.h"
#include "serve.h"

enum { MAX_HEADS = 32 };

typedef struct attention_job {
    bench_job base;
    posenc_score_params params; /* of the task */
    posenc_attention_task task, plain;
    void *scratch, *parts; /* parts: NULL, or the task goes part by part */
    float slopes[MAX_HEADS];
    posenc_rope *rope;
    posenc_rope_table table;
    posenc_attention_pages pages;
    posenc_score_params plain_params;
} attention_job;

typedef struct attention_shape {
    const char *name;
    void (*add)(attention_job *job); /* what the call is given more than the plain one */
    int64_t head_dim, n_heads, n_kv_heads, n_q, n_k;
} attention_shape;

/* ---- What is added ---- */

static void add_nothing(attention_job *job) {
    (void)job;
}

static void add_causal(attention_job *job) {
    job->params.mask = posenc_mask_causal();
}

static void add_window(attention_job *job) {
    job->params.mask = posenc_mask_window(256);
}

static void add_alibi(attention_job *job) {
    bench_check(posenc_alibi_slopes(job->task.q.ne[2], 8.0, job->slopes));
    job->params.slopes = job->slopes;
}

static void add_rotation(attention_job *job) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    int64_t n_k = job->task.k.ne[1];
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = job->task.k.ne[0];
    bench_check(posenc_rope_create(&params, &job->rope));
    int32_t *positions = bench_alloc(&job->base, (size_t)n_k * sizeof *positions);
    for (int64_t t = 0; t < n_k; t++)
        positions[t] = (int32_t)t;
    job->table =
        posenc_rope_table_dense(job->rope, bench_alloc(&job->base, (size_t)posenc_rope_table_bytes(job->rope, n_k)));
    bench_check(posenc_rope_fill_table(job->rope, positions, n_k, POSENC_FORWARD, &job->table));
    job->task.k_rope = job->rope;
    job->task.k_table = &job->table;
}

static posenc_view new_blocks(attention_job *job, const posenc_view *like) {
    size_t n = (size_t)(like->ne[0] * like->ne[1] * like->ne[2]) / POSENC_Q8_BLOCK;
    unsigned char *memory = bench_alloc(&job->base, n * POSENC_Q8_BYTES);
    for (size_t i = 0; i < n * POSENC_Q8_BYTES; i++)
        memory[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t i = 0; i < n; i++)
        *(uint16_t *)(void *)(memory + i * POSENC_Q8_BYTES) = 0x2000; /* 2^-7 */
    return posenc_view_dense(memory, POSENC_Q8_0, like->ne[0], like->ne[1], like->ne[2], 1);
}

static void add_blocks(attention_job *job) {
    job->task.k = new_blocks(job, &job->plain.k);
    job->task.v = new_blocks(job, &job->plain.v);
}

static posenc_view as_pages(const posenc_view *x, int64_t size) {
    return posenc_view_dense(x->data, x->dtype, x->ne[0], size, x->ne[2], x->ne[1] / size);
}

static void add_pages(attention_job *job, int64_t size) {
    int64_t n = job->plain.k.ne[1] / size;
    int32_t *numbers = bench_alloc(&job->base, (size_t)n * sizeof *numbers);
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (int32_t)(i * 7 % n); /* n is a power of two */
    job->pages = (posenc_attention_pages){numbers, n, job->plain.k.ne[1]};
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
    job->parts = bench_alloc(&job->base, posenc_attention_parts_bytes(&job->task));
}

static const attention_shape shapes[] = {
    {"plain", add_nothing, 128, 4, 4, 1024, 1024},
    {"causal", add_causal, 128, 4, 4, 1024, 1024},
    {"alibi", add_alibi, 128, 4, 4, 1024, 1024},
    {"window_256", add_window, 128, 4, 4, 1024, 1024},
    {"rotation", add_rotation, 128, 4, 4, 1024, 1024},
    {"q8_0", add_blocks, 128, 4, 4, 1024, 1024},
    {"pages_16", add_pages_of_16, 128, 4, 4, 1024, 1024},
    {"plain", add_nothing, 64, 4, 4, 1024, 1024},
    {"plain", add_nothing, 128, 8, 8, 1, 4096},
    {"rotation", add_rotation, 128, 8, 8, 1, 4096},
    {"q8_0", add_blocks, 128, 8, 8, 1, 4096},
    {"pages_16", add_pages_of_16, 128, 8, 8, 1, 4096},
    {"pages_64", add_pages_of_64, 128, 8, 8, 1, 4096},
    {"plain", add_nothing, 128, 32, 8, 1, 4096},
    {"plain", add_nothing, 128, 32, 4, 1, 16384},
    {"parts", add_parts, 128, 32, 4, 1, 16384},
};

/* ---- The race ---- */

static posenc_view new_view(attention_job *job, posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2) {
    size_t n = (size_t)(ne0 * ne1 * ne2);
    posenc_view v =
        posenc_view_dense(bench_alloc(&job->base, n * (type == POSENC_F32 ? 4 : 2)), type, ne0, ne1, ne2, 1);
    bench_random(v.data, type, n, 1.0f);
    return v;
}

static void open_attention(bench_job *base) {
    attention_job *job = (attention_job *)base;
    const attention_shape *s = base->shape;
    job->params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    job->params.scale = 0.0883883f;
    job->params.q_off = s->n_k - s->n_q;
    job->plain_params = job->params;
    job->plain = (posenc_attention_task){
        .params = &job->plain_params,
        .q = new_view(job, POSENC_F32, s->head_dim, s->n_q, s->n_heads),
        .k = new_view(job, POSENC_F16, s->head_dim, s->n_k, s->n_kv_heads),
        .v = new_view(job, POSENC_F16, s->head_dim, s->n_k, s->n_kv_heads),
        .out = new_view(job, POSENC_F32, s->head_dim, s->n_q, s->n_heads),
    };
    job->task = job->plain;
    job->task.params = &job->params;
    job->scratch = bench_alloc(base, posenc_attention_scratch(s->head_dim, s->head_dim));
    s->add(job);
    base->elements = 2.0 * (double)(s->head_dim * s->n_heads * s->n_q * s->n_k);
    base->bytes = 2.0 * 2.0 * (double)(s->head_dim * s->n_kv_heads * s->n_k);
}

static void close_attention(bench_job *base) {
    posenc_rope_free(((attention_job *)base)->rope);
}

static void fill_nothing(bench_job *base) {
    (void)base; /* nothing is changed in place */
}

static void run_task(bench_job *base) {
    attention_job *job = (attention_job *)base;
    if (job->parts == NULL) {
        bench_check(posenc_attention_run(&job->task, job->scratch, posenc_all_rows()));
        return;
    }
    bench_check(posenc_attention_run_parts(&job->task, job->scratch, job->parts, posenc_all_rows()));
    bench_check(posenc_attention_join_parts(&job->task, job->parts, posenc_all_rows()));
}

static void run_plain(bench_job *base) {
    attention_job *job = (attention_job *)base;
    bench_check(posenc_attention_run(&job->plain, job->scratch, posenc_all_rows()));
}

/* Decode has little to multiply: what it cannot do without is reading the keys and values, once. */
static void run_limit(bench_job *base) {
    const attention_job *job = (attention_job *)base;
    if (job->plain.q.ne[1] > 1) {
        base->limits->multiply((size_t)base->elements);
    } else {
        base->limits->read(job->plain.k.data, (size_t)base->bytes / 2);
        base->limits->read(job->plain.v.data, (size_t)base->bytes / 2);
    }
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
    shape =
        (attention_shape){"", w->causal ? add_causal : add_nothing, w->dim, w->heads, w->kv_heads, w->queries, w->keys};
    return (bench_match){&race, &shape};
}

void bench_register_attention(void) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            if (tier == POSENC_ISA_SCALAR)
                continue; /* seconds a call: it is the specification */
            const attention_shape *s = &shapes[i];
            char name[128];
            snprintf(name, sizeof name, "posenc_attention/%s/%s/%dx%d/%dx%d/%d", posenc_isa_name(tier), s->name,
                     (int)s->n_heads, (int)s->n_kv_heads, (int)s->n_q, (int)s->n_k, (int)s->head_dim);
            bench_register(&race, s, tier, name);
        }
    }
}
