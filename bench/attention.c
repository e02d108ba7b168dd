/* posenc_attention: prefill, f16 keys and values, against as many multiply-adds (x_limit); decode against reading keys and
 * values once; and with each bias or mask against the plain call (x_alone). */
#include <posenc/alibi.h>
#include <posenc/attention.h>

#include <stdio.h>

#include "bench.h"
#include "serve.h"

enum { MAX_HEADS = 32 };

typedef struct attention_job {
    bench_job base;
    posenc_view q, k, v, out;
    void *scratch;
    float slopes[MAX_HEADS];
    posenc_score_params with, without;
} attention_job;

typedef struct attention_shape {
    const char *name;
    void (*add)(attention_job *job); /* what the call is given more than the plain one */
    int64_t head_dim, n_heads, n_kv_heads, n_q, n_k;
} attention_shape;

static void add_nothing(attention_job *job) {
    (void)job;
}

static void add_causal(attention_job *job) {
    job->with.mask = posenc_mask_causal();
}

static void add_window(attention_job *job) {
    job->with.mask = posenc_mask_window(256);
}

static void add_alibi(attention_job *job) {
    bench_check(posenc_alibi_slopes(job->q.ne[2], 8.0, job->slopes));
    job->with.slopes = job->slopes;
}

static const attention_shape shapes[] = {
    {"plain", add_nothing, 128, 4, 4, 1024, 1024}, {"causal", add_causal, 128, 4, 4, 1024, 1024},
    {"alibi", add_alibi, 128, 4, 4, 1024, 1024},   {"window_256", add_window, 128, 4, 4, 1024, 1024},
    {"plain", add_nothing, 64, 4, 4, 1024, 1024},  {"decode", add_nothing, 128, 8, 8, 1, 4096},
    {"decode", add_nothing, 128, 32, 8, 1, 4096},  {"decode", add_nothing, 128, 32, 4, 1, 16384},
};

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
    job->q = new_view(job, POSENC_F32, s->head_dim, s->n_q, s->n_heads);
    job->k = new_view(job, POSENC_F16, s->head_dim, s->n_k, s->n_kv_heads);
    job->v = new_view(job, POSENC_F16, s->head_dim, s->n_k, s->n_kv_heads);
    job->out = new_view(job, POSENC_F32, s->head_dim, s->n_q, s->n_heads);
    job->scratch = bench_alloc(base, posenc_attention_scratch(s->head_dim, s->head_dim));
    job->without = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    job->without.scale = 0.0883883f;
    job->without.q_off = s->n_k - s->n_q;
    job->with = job->without;
    s->add(job);
    base->elements = 2.0 * (double)(s->head_dim * s->n_heads * s->n_q * s->n_k);
    base->bytes = 2.0 * 2.0 * (double)(s->head_dim * s->n_kv_heads * s->n_k);
}

static void fill_nothing(bench_job *base) {
    (void)base; /* nothing is changed in place */
}

static void run_with(bench_job *base) {
    attention_job *job = (attention_job *)base;
    bench_check(posenc_attention(&job->with, &job->q, &job->k, &job->v, &job->out, job->scratch, posenc_all_rows()));
}

static void run_without(bench_job *base) {
    attention_job *job = (attention_job *)base;
    bench_check(posenc_attention(&job->without, &job->q, &job->k, &job->v, &job->out, job->scratch, posenc_all_rows()));
}

/* Decode has little to multiply: what it cannot do without is reading the keys and values, once. */
static void run_limit(bench_job *base) {
    const attention_job *job = (attention_job *)base;
    if (job->q.ne[1] > 1) {
        base->limits->multiply((size_t)base->elements);
    } else {
        base->limits->read(job->k.data, (size_t)base->bytes / 2);
        base->limits->read(job->v.data, (size_t)base->bytes / 2);
    }
}

static const bench_race race = {
    .job_size = sizeof(attention_job),
    .shape_size = sizeof(attention_shape),
    .open = open_attention,
    .fill = fill_nothing,
    .racers = {[BENCH_OURS] = run_with, [BENCH_LIMIT] = run_limit, [BENCH_ALONE] = run_without},
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
