/* SPDX-License-Identifier: MIT */
/* Shaw's keys as a whole: the products with a relative table, then the softmax that takes them, against the softmax of
 * the same scores without a relative term: x_alone is what the scheme costs. */
#include <posenc/relative.h>
#include <posenc/softmax.h>

#include <stdio.h>

#include "bench.h"
#include "plain.h"
#include "visible.h"

enum { REL_DIM = 64, REL_REACH = 32, REL_ROWS = 2 * REL_REACH + 1 };

typedef struct shaw_shape {
    int64_t n_heads, n_q, n_k;
} shaw_shape;

typedef struct shaw_job {
    bench_job base;
    float *rows; /* of the table */
    posenc_view q, products, x, y;
    posenc_relative_table *table;
    posenc_rel_index index;
    posenc_score_params with, without;
} shaw_job;

static void make_table(shaw_job *job) {
    bench_random(job->rows, POSENC_F32, REL_ROWS * REL_DIM, 1.0f);
    posenc_view rows = posenc_view_dense(job->rows, POSENC_F32, REL_DIM, 1, REL_ROWS, 1);
    bench_check(posenc_relative_table_create(&rows, &job->table));
}

static void open_shaw(bench_job *base) {
    shaw_job *job = (shaw_job *)base;
    const shaw_shape *s = base->shape;
    job->rows = bench_floats(base, REL_ROWS * REL_DIM);
    make_table(job);
    job->q = posenc_view_transpose(bench_view(base, POSENC_F32, REL_DIM, s->n_q, s->n_heads), 1, 2);
    job->products = bench_view(base, POSENC_F32, REL_ROWS, s->n_q, s->n_heads);
    job->x = bench_view(base, POSENC_F32, s->n_k, s->n_q, s->n_heads);
    job->y = bench_view(base, POSENC_F32, s->n_k, s->n_q, s->n_heads);
    job->without = posenc_score_params_of(0.125f, posenc_mask_causal());
    job->without.positions.query_start = s->n_k - s->n_q;
    posenc_rel_index *index = &job->index;
    bench_check(posenc_rel_bias_range(job->without.mask, job->without.positions.query_start, s->n_q, s->n_k,
                                      &index->first, &index->n_offsets));
    index->data = bench_alloc(base, (size_t)index->n_offsets * sizeof *index->data);
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, REL_REACH, 0);
    bench_check(posenc_rel_index_fill(&rule, index));
    job->with = job->without;
    job->with.bias.by_query = (posenc_relative){&job->products, &job->index};
}

static void fill_shaw(bench_job *base) {
    const shaw_job *job = (shaw_job *)base;
    bench_random_view(&job->q, 1.0f);
    bench_random_view(&job->x, 16.0f);
}

static void close_shaw(bench_job *base) {
    posenc_relative_table_free(((shaw_job *)base)->table);
}

static void run_products(bench_job *base) {
    const shaw_job *job = (shaw_job *)base;
    bench_check(posenc_relative_products(job->table, &job->q, NULL, &job->products, posenc_range_all()));
}

/* ---- The products alone ---- */

static void open_products(bench_job *base) {
    const shaw_shape *s = base->shape;
    open_shaw(base);
    base->elements = (double)(s->n_heads * s->n_q * REL_ROWS * REL_DIM);
    base->bytes = sizeof(float) * (double)(s->n_heads * s->n_q * (REL_ROWS + REL_DIM));
    bench_compare(base, ((shaw_job *)base)->products.data, POSENC_F32, (size_t)(s->n_heads * s->n_q * REL_ROWS));
}

static void plain_products(bench_job *base) {
    const shaw_job *job = (shaw_job *)base;
    plain_dots(job->q.data, job->rows, job->products.data, (size_t)(job->q.ne[1] * job->q.ne[2]), REL_ROWS, REL_DIM);
}

static void limit_products(bench_job *base) {
    base->limits->multiply((size_t)base->elements);
}

static const bench_race products_race = {
    .job_size = sizeof(shaw_job),
    .shape_size = sizeof(shaw_shape),
    .open = open_products,
    .fill = fill_shaw,
    .close = close_shaw,
    .racers = {run_products, plain_products, limit_products},
};

/* ---- With the softmax ---- */

static void open_softmax(bench_job *base) {
    const shaw_shape *s = base->shape;
    open_shaw(base);
    base->elements = (double)(s->n_heads * bench_count_visible(&((shaw_job *)base)->without, s->n_q, s->n_k));
    base->bytes = sizeof(float) * (base->elements + (double)(s->n_heads * s->n_q * s->n_k));
}

static void run_shaw(bench_job *base) {
    const shaw_job *job = (shaw_job *)base;
    run_products(base);
    bench_check(posenc_softmax(&job->with, &job->x, &job->y, posenc_range_all()));
}

static void run_alone(bench_job *base) {
    const shaw_job *job = (shaw_job *)base;
    bench_check(posenc_softmax(&job->without, &job->x, &job->y, posenc_range_all()));
}

static const bench_race softmax_race = {
    .job_size = sizeof(shaw_job),
    .shape_size = sizeof(shaw_shape),
    .open = open_softmax,
    .fill = fill_shaw,
    .close = close_shaw,
    .racers = {[BENCH_OURS] = run_shaw, [BENCH_ALONE] = run_alone},
};

/* Decode over a cache, then prefill. */
void bench_register_relative(void) {
    static const shaw_shape shapes[] = {{32, 1, 256}, {32, 1, 4096}, {1, 2048, 2048}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            char name[128], size[64];
            snprintf(size, sizeof size, "%dx%dx%d", (int)shapes[i].n_heads, (int)shapes[i].n_q, (int)shapes[i].n_k);
            snprintf(name, sizeof name, "posenc_relative_products/%s/%s", posenc_isa_name(tier), size);
            if (i != 1) /* the same queries as those before */
                bench_register(&products_race, &shapes[i], tier, name);
            snprintf(name, sizeof name, "shaw_softmax/%s/%s", posenc_isa_name(tier), size);
            bench_register(&softmax_race, &shapes[i], tier, name);
        }
    }
}
