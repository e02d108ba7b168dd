/* SPDX-License-Identifier: MIT */
/* Services for a running race: tiers, memory, inputs, and comparison of outputs. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half.h"
#include "random.h"
#include "core/view.h"

posenc_isa_tier bench_tier(int i) {
    int tier = 0;
    for (; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_isa_supported((posenc_isa_tier)tier) && i-- == 0)
            break;
    return (posenc_isa_tier)tier;
}

const bench_limits *bench_limits_of(posenc_isa_tier tier) {
    static const bench_limits *const limits[POSENC_ISA_COUNT] = {
#define TIER(name, NAME, ...) [POSENC_ISA_##NAME] = POSENC_IF_BUILT(POSENC_HAVE_##name, &bench_limits_##name),
#include "tiers.def"
    };
    return limits[tier] != NULL ? limits[tier] : &bench_limits_scalar;
}

bench_job *bench_open(const bench_race *race, const void *shape, posenc_isa_tier tier) {
    bench_job *job = calloc(1, race->job_size);
    if (job == NULL)
        bench_check(POSENC_ERR_MEMORY);
    job->shape = shape;
    job->kernels = posenc_tier_kernels(tier);
    job->limits = bench_limits_of(tier);
    race->open(job);
    return job;
}

void bench_free_blocks(bench_job *job) {
    while (job->n_blocks > 0)
        free(job->blocks[--job->n_blocks]);
}

void bench_close(const bench_race *race, bench_job *job) {
    if (race->close != NULL)
        race->close(job);
    bench_free_blocks(job);
    free(job);
}

void *bench_alloc(bench_job *job, size_t bytes) {
    size_t stagger = (size_t)job->n_blocks * (256 + 64);
    char *block = aligned_alloc(4096, (stagger + bytes + 4095) / 4096 * 4096);
    if (block == NULL || job->n_blocks == (int)(sizeof job->blocks / sizeof job->blocks[0]))
        bench_check(POSENC_ERR_MEMORY);
    job->blocks[job->n_blocks++] = block;
    return block + stagger;
}

float *bench_floats(bench_job *job, size_t n) {
    return bench_alloc(job, n * sizeof(float));
}

void bench_check(posenc_status status) {
    if (status == POSENC_OK)
        return;
    fprintf(stderr, "posenc-bench: %s\n", posenc_status_string(status));
    exit(1);
}

void bench_compare_elements(bench_job *job, void *data, element_type type, size_t n) {
    if (job->n_outputs == (int)(sizeof job->outputs / sizeof job->outputs[0]))
        bench_check(POSENC_ERR_MEMORY);
    job->outputs[job->n_outputs++] = (bench_output){data, type, n};
}

void bench_compare(bench_job *job, void *data, posenc_dtype type, size_t n) {
    bench_compare_elements(job, data, (element_type)type, n);
}

void bench_random(void *x, posenc_dtype type, size_t n, float bound) {
    random_state random = {1};
    for (size_t i = 0; i < n; i++)
        posenc_store_plain(x, i, (float)random_symmetric(&random, (double)bound), type);
}

posenc_view bench_view(bench_job *job, posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2) {
    size_t bytes = (size_t)(ne0 * ne1 * ne2) * (size_t)posenc_dtype_size(type);
    return posenc_view_dense(bench_alloc(job, bytes), type, ne0, ne1, ne2, 1);
}

void bench_random_view(const posenc_view *v, float bound) {
    bench_random(v->data, v->dtype, (size_t)(v->ne[0] * v->ne[1] * v->ne[2]), bound);
}

const char *bench_type_name(posenc_dtype x_type, posenc_dtype y_type) {
#define NAME(type, name, ...) #name,
    static const char *const names[] = {POSENC_EACH_TYPE(NAME)};
#undef NAME
    static char pairs[POSENC_FLOAT_TYPES][POSENC_TYPES][16];
    snprintf(pairs[x_type][y_type], sizeof pairs[x_type][y_type], x_type == y_type ? "%s" : "%s_%s", names[x_type],
             names[y_type]);
    return pairs[x_type][y_type];
}
