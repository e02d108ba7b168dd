/* SPDX-License-Identifier: MIT */
/* posenc bench: the positional work of one attention layer, checked against scalar and timed on every tier. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_compare.h"
#include "bench_report.h"
#include "commands.h"
#include "shape.h"
#include "timing.h"
#include "work.h"

enum { N_TYPES = POSENC_BF16 + 1 };

typedef posenc_status (*work_create)(work *w, const bench_shape *shape, random_state *random);

/* ---- Check ---- */

/* Runs the work on the tier, from a copy of the input. The output is in w->data. */
static posenc_status run_on(const work *w, posenc_isa_tier tier, const void *input) {
    memcpy(w->data, input, w->size);
    posenc_isa_select(tier);
    return w->run(w);
}

/* Bit t of *differ: tier t's output is not scalar's, bit for bit. */
static posenc_status compare_tiers(const bench_shape *shape, const work *w, unsigned *differ) {
    void *input = malloc(w->size), *expected = malloc(w->size);
    posenc_status status = input != NULL && expected != NULL ? POSENC_OK : POSENC_ERR_MEMORY;
    if (status == POSENC_OK) {
        memcpy(input, w->data, w->size);
        status = run_on(w, POSENC_ISA_SCALAR, input);
        memcpy(expected, w->data, w->size);
        for (int tier = POSENC_ISA_SCALAR + 1; tier < POSENC_ISA_COUNT && status == POSENC_OK; tier++)
            if (bench_wants(shape, tier)) {
                status = run_on(w, (posenc_isa_tier)tier, input);
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
    const work *w;
    int column;
} timed_job;

static void run_job(void *context) {
    const timed_job *job = context;
    if (job->column == LIMIT) {
        job->w->limit(job->w);
        return;
    }
    posenc_isa_select((posenc_isa_tier)job->column);
    job->w->run(job->w);
}

/* Microseconds of a token in each column; 0 where there is nothing. */
static posenc_status time_columns(const bench_shape *shape, const work *w, double *us) {
    timed_job jobs[N_COLUMNS];
    alternative timed[N_COLUMNS];
    int n = 0;
    for (int column = 0; column < N_COLUMNS; column++)
        if (column == LIMIT ? w->limit != NULL : bench_wants(shape, column)) {
            jobs[n] = (timed_job){w, column};
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
    posenc_status status = create(&w, p->shape, &p->random);
    if (status == POSENC_OK)
        status = compare_tiers(p->shape, &w, &differ);
    if (status == POSENC_OK)
        status = time_columns(p->shape, &w, us);
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
