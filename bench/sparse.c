/* SPDX-License-Identifier: MIT */
/* Sparse attention's indexer, one query: its scores against the multiply-adds alone, and top-k against a sort of all
 * scores, and reading them once. */
#include <posenc/sparse.h>

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

static void fill_nothing(bench_job *base) {
    (void)base; /* nothing is changed in place */
}

/* ---- Scores ---- */

enum { DIM = 128, HEADS = 64 };

typedef struct index_shape {
    posenc_dtype type; /* of q and k */
    int64_t n_k;
} index_shape;

typedef struct index_job {
    bench_job base;
    posenc_index_args args;
    void *scratch;
} index_job;

static void open_index(bench_job *base) {
    index_job *job = (index_job *)base;
    const index_shape *s = base->shape;
    job->args = (posenc_index_args){
        .q = bench_view(base, s->type, DIM, HEADS, 1),
        .k = bench_view(base, s->type, DIM, 1, s->n_k),
        .weights = bench_view(base, POSENC_F32, 1, HEADS, 1),
        .scores = bench_view(base, POSENC_F32, s->n_k, 1, 1),
    };
    bench_random_view(&job->args.q, 1.0f);
    bench_random_view(&job->args.k, 1.0f);
    bench_random_view(&job->args.weights, 1.0f);
    job->scratch = bench_alloc(base, posenc_index_workspace_bytes(DIM));
    base->elements = (double)(DIM * HEADS * s->n_k);
    base->bytes = (double)(DIM * s->n_k) * (double)element_size((element_type)s->type);
}

static void run_index(bench_job *base) {
    index_job *job = (index_job *)base;
    bench_check(posenc_index_scores(&job->args, job->scratch, posenc_index_workspace_bytes(job->args.q.ne[0]),
                                    posenc_range_all()));
}

static void limit_index(bench_job *base) {
    base->limits->multiply((size_t)base->elements);
}

static const bench_race index_race = {
    .job_size = sizeof(index_job),
    .shape_size = sizeof(index_shape),
    .open = open_index,
    .fill = fill_nothing,
    .racers = {[BENCH_OURS] = run_index, [BENCH_LIMIT] = limit_index},
};

static void register_index(posenc_isa_tier tier) {
    static const index_shape shapes[] = {{POSENC_F16, 131072}, {POSENC_BF16, 131072}, {POSENC_BF16, 4096}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char name[128];
        snprintf(name, sizeof name, "posenc_index_scores/%s/%s/%dx%d/%d", posenc_isa_name(tier),
                 bench_type_name(shapes[i].type, shapes[i].type), HEADS, (int)shapes[i].n_k, DIM);
        bench_register(&index_race, &shapes[i], tier, name);
    }
}

/* ---- Top-k ---- */

typedef struct top_k_shape {
    int64_t k, n_k;
} top_k_shape;

typedef struct sorted_key {
    float score;
    int32_t key;
} sorted_key;

typedef struct top_k_job {
    bench_job base;
    posenc_view scores;
    int32_t *keys;
    sorted_key *sorted;
    void *scratch;
} top_k_job;

static void open_top_k(bench_job *base) {
    top_k_job *job = (top_k_job *)base;
    const top_k_shape *s = base->shape;
    job->scores = bench_view(base, POSENC_F32, s->n_k, 1, 1);
    bench_random_view(&job->scores, 8.0f);
    job->keys = bench_alloc(base, (size_t)s->k * sizeof *job->keys);
    job->sorted = bench_alloc(base, (size_t)s->n_k * sizeof *job->sorted);
    job->scratch = bench_alloc(base, posenc_top_k_workspace_bytes(s->n_k, s->k));
    base->elements = (double)s->n_k;
    base->bytes = (double)s->n_k * sizeof(float);
    bench_compare_elements(base, job->keys, ELEMENT_I32, (size_t)s->k);
}

static void run_top_k(bench_job *base) {
    const top_k_job *job = (top_k_job *)base;
    const top_k_shape *s = base->shape;
    bench_check(posenc_top_k(&job->scores, NULL, s->k, job->keys, job->scratch,
                             posenc_top_k_workspace_bytes(job->scores.ne[0], s->k), posenc_range_all()));
}

static int compare_keys(const void *a, const void *b) {
    const sorted_key *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->key < y->key ? -1 : 1;
}

static void sort_all(bench_job *base) {
    const top_k_job *job = (top_k_job *)base;
    const top_k_shape *s = base->shape;
    const float *scores = job->scores.data;
    for (int64_t j = 0; j < s->n_k; j++)
        job->sorted[j] = (sorted_key){scores[j], (int32_t)j};
    qsort(job->sorted, (size_t)s->n_k, sizeof *job->sorted, compare_keys);
    for (int64_t t = 0; t < s->k; t++)
        job->keys[t] = job->sorted[t].key;
}

static void limit_top_k(bench_job *base) {
    base->limits->read(((const top_k_job *)base)->scores.data, (size_t)base->bytes);
}

static const bench_race top_k_race = {
    .job_size = sizeof(top_k_job),
    .shape_size = sizeof(top_k_shape),
    .open = open_top_k,
    .fill = fill_nothing,
    .racers = {run_top_k, sort_all, limit_top_k},
};

/* No tier has a code of its own for it; the limit has. */
static void register_top_k(posenc_isa_tier tier) {
    static const top_k_shape shapes[] = {{2048, 131072}, {256, 8192}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char name[128];
        snprintf(name, sizeof name, "posenc_top_k/%s/%dx%d", posenc_isa_name(tier), (int)shapes[i].k,
                 (int)shapes[i].n_k);
        bench_register(&top_k_race, &shapes[i], tier, name);
    }
}

void bench_register_sparse(void) {
    posenc_isa_tier tier, best = POSENC_ISA_SCALAR;
    for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
        best = tier;
        if (tier != POSENC_ISA_SCALAR) /* seconds a call: it is the specification */
            register_index(tier);
    }
    register_top_k(best);
}
