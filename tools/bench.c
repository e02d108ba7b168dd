/* SPDX-License-Identifier: MIT */
/* posenc bench: the positional work of one attention layer, checked against scalar and timed on every tier. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_compare.h"
#include "bench_report.h"
#include "commands.h"
#include "shape.h"
#include "threads.h"
#include "timing.h"
#include "work.h"

enum { N_TYPES = POSENC_BF16 + 1 };

typedef posenc_status (*work_create)(work *w, const bench_shape *shape, random_state *random);

/* ---- Check ---- */

/* A call that threads share. */
typedef struct shared_call {
    threads *pool;
    const work *w;
    int n_threads, is_limit;
    posenc_status statuses[MAX_THREADS];
} shared_call;

static void run_share(void *context, int thread) {
    shared_call *call = context;
    if (call->is_limit)
        call->w->limit(call->w, thread, call->n_threads);
    else
        call->statuses[thread] = call->w->run(call->w, thread, call->n_threads);
}

/* Runs the work on the tier by all threads, from a copy of the input. The output is in w->data. */
static posenc_status run_on(shared_call *call, posenc_isa_tier tier, const void *input) {
    memcpy(call->w->data, input, call->w->size);
    posenc_isa_select(tier);
    threads_run(call->pool);
    posenc_status status = POSENC_OK;
    for (int i = 0; i < call->n_threads && status == POSENC_OK; i++)
        status = call->statuses[i];
    return status;
}

/* Bit t of *differ: tier t's output is not that of scalar in one thread, bit for bit. */
static posenc_status compare_tiers(const bench_shape *shape, shared_call *call, unsigned *differ) {
    const work *w = call->w;
    void *input = malloc(w->size), *expected = malloc(w->size);
    posenc_status status = input != NULL && expected != NULL ? POSENC_OK : POSENC_ERR_MEMORY;
    if (status == POSENC_OK) {
        memcpy(input, w->data, w->size);
        posenc_isa_select(POSENC_ISA_SCALAR);
        status = w->run(w, 0, 1);
        memcpy(expected, w->data, w->size);
        int first = POSENC_ISA_SCALAR + (call->n_threads == 1);
        for (int tier = first; tier < POSENC_ISA_COUNT && status == POSENC_OK; tier++)
            if (bench_wants(shape, tier)) {
                status = run_on(call, (posenc_isa_tier)tier, input);
                *differ |= (unsigned)(memcmp(expected, w->data, w->size) != 0) << tier;
            }
        memcpy(w->data, input, w->size);
    }
    free(expected);
    free(input);
    return status;
}

/* ---- Times ---- */

typedef struct timed_job {
    shared_call *call;
    int column;
} timed_job;

static void run_job(void *context) {
    const timed_job *job = context;
    job->call->is_limit = job->column == LIMIT;
    if (!job->call->is_limit)
        posenc_isa_select((posenc_isa_tier)job->column);
    threads_run(job->call->pool);
}

/* Microseconds of a token in each column; 0 where there is nothing. */
static posenc_status time_columns(const bench_shape *shape, shared_call *call, double *us) {
    const work *w = call->w;
    timed_job jobs[N_COLUMNS];
    alternative timed[N_COLUMNS];
    int n = 0;
    for (int column = 0; column < N_COLUMNS; column++)
        if (column == LIMIT ? w->limit != NULL : bench_wants(shape, column)) {
            jobs[n] = (timed_job){call, column};
            timed[n] = (alternative){run_job, &jobs[n], 0.0};
            n++;
        }
    if (!time_alternatives(timed, n, shape->seconds))
        return POSENC_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        us[jobs[i].column] = timed[i].median_ns * 1e-3 / (double)w->n_tokens;
    return POSENC_OK;
}

/* ---- The report ---- */

/* Times of one phase, decode or prefill. */
typedef struct phase {
    const char *name;
    const bench_shape *shape;
    int64_t n_tokens, n_keys;
    random_state random;
    unsigned differ;
} phase;

static posenc_status bench_work(phase *p, work_create create, posenc_dtype type, int is_first, double *us) {
    work w = {.type = type, .n_tokens = p->n_tokens, .n_keys = p->n_keys};
    unsigned differ = 0;
    shared_call call = {.w = &w, .n_threads = p->shape->n_threads};
    call.pool = threads_new(call.n_threads, run_share, &call);
    posenc_status status = call.pool == NULL ? POSENC_ERR_MEMORY : create(&w, p->shape, &p->random);
    if (status == POSENC_OK)
        status = compare_tiers(p->shape, &call, &differ);
    if (status == POSENC_OK)
        status = time_columns(p->shape, &call, us);
    threads_free(call.pool);
    if (status == POSENC_OK)
        report_row(p->shape, &(bench_row){p->name, &w, us, differ, is_first});
    p->differ |= differ;
    work_free(&w);
    return status;
}

/* us: of each type. */
static posenc_status bench_types(phase *p, work_create create, int n_types, double us[N_TYPES][N_COLUMNS]) {
    posenc_status status = POSENC_OK;
    for (int type = 0; type < n_types && status == POSENC_OK; type++)
        status = bench_work(p, create, (posenc_dtype)type, type == 0, us[type]);
    return status;
}

/* Prints the time of RoPE in all layers. The first layer computes the cosines and sines. */
static void print_all_layers(const bench_shape *shape, double first[N_TYPES][N_COLUMNS],
                             double later[N_TYPES][N_COLUMNS]) {
    int last = POSENC_ISA_SCALAR;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        last = bench_wants(shape, tier) ? tier : last;
    report_note(shape, "  RoPE of all %lld layers, %s:", (long long)shape->n_layers,
                posenc_isa_name((posenc_isa_tier)last));
    for (int type = 0; type < N_TYPES; type++)
        report_note(shape, "%s %.2f %s", type == 0 ? "" : ",",
                    first[type][last] + (double)(shape->n_layers - 1) * later[type][last],
                    report_type_name((posenc_dtype)type));
    report_note(shape, "\n");
}

static posenc_status bench_phase(phase *p, const char *title) {
    double first[N_TYPES][N_COLUMNS] = {{0}}, later[N_TYPES][N_COLUMNS] = {{0}};
    double softmax[N_TYPES][N_COLUMNS] = {{0}}, attention[N_TYPES][N_COLUMNS] = {{0}};
    int has_rope = !p->shape->has_alibi;
    posenc_status status = POSENC_OK;
    report_phase(p->shape, title);
    if (has_rope)
        status = bench_types(p, work_create_rope, N_TYPES, first);
    if (has_rope && status == POSENC_OK)
        status = bench_types(p, work_create_rope_table, N_TYPES, later);
    if (has_rope && status == POSENC_OK && p->shape->n_layers > 0)
        print_all_layers(p->shape, first, later);
    if (status == POSENC_OK)
        status = bench_types(p, work_create_softmax, 1, softmax);
    if (status == POSENC_OK)
        status = bench_types(p, work_create_attention, N_TYPES, attention);
    report_note(p->shape, "\n");
    return status;
}

static posenc_status bench_phases(const bench_shape *shape, unsigned *differ) {
    char decode[64], prefill[64];
    snprintf(decode, sizeof decode, "decode, 1 token, %lld keys", (long long)shape->n_keys);
    snprintf(prefill, sizeof prefill, "prefill, %lld tokens", (long long)shape->n_tokens);
    phase p = {.name = "decode", .shape = shape, .n_tokens = 1, .n_keys = shape->n_keys, .random = {1}};
    posenc_status status = bench_phase(&p, decode);
    p.name = "prefill";
    p.n_tokens = p.n_keys = shape->n_tokens;
    if (status == POSENC_OK)
        status = bench_phase(&p, prefill);
    *differ = p.differ;
    return status;
}

int command_bench(int argc, char **argv) {
    bench_shape shape;
    if (argc == 4 && strcmp(argv[1], "--compare") == 0)
        return bench_compare(argv[0], (const char *const[]){argv[2], argv[3]});
    bench_read_options(argc, argv, &shape);
    posenc_isa_tier in_use = posenc_isa();
    unsigned differ = 0;
    report_begin(&shape);
    posenc_status status = bench_phases(&shape, &differ);
    posenc_isa_select(in_use);
    posenc_rope_free(shape.rope);
    if (status != POSENC_OK) {
        fprintf(stderr, "%s: %s; use a smaller --tokens or --context\n", argv[0], posenc_status_string(status));
        return EXIT_USAGE;
    }
    report_end(&shape, differ);
    return differ == 0 ? 0 : EXIT_CHECK_FAILED;
}
