/* SPDX-License-Identifier: MIT */
/* posenc model: a model's RoPE, verified and timed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_report.h"
#include "rope_work.h"
#include "timing.h"

enum { N_TYPES = POSENC_BF16 + 1, DECODE = 0, PREFILL, N_BATCHES };

static const char *const type_names[N_TYPES] = {"f32", "f16", "bf16"};

/* One layer's work in every type, for one token and for many. */
typedef struct rope_batches {
    const model_options *o;
    const model_config *model;
    int n_ways;
    int64_t n_tokens[N_BATCHES];
    rope_work work[N_BATCHES][N_TYPES];
    /* nanoseconds per token */
    double ns[N_BATCHES][POSENC_ISA_COUNT][N_TYPES][ROPE_WAYS];
    double negate_ns[N_BATCHES][N_TYPES];
} rope_batches;

/* ---- Verification ---- */

/* Runs on the tier, from the same input, and keeps the output. */
static int run_from(const rope_work *work, posenc_isa_tier tier, rope_way way, const void *input, void *output) {
    memcpy(work->x, input, work->size);
    if (work->y != work->x)
        memset(work->y, 0, work->size);
    posenc_isa_select(tier);
    posenc_status status = rope_work_run(work, way);
    memcpy(output, work->y, work->size);
    return status == POSENC_OK;
}

/* The tier's bits against scalar's. */
static posenc_status compare_with_scalar(const rope_work *work, posenc_isa_tier tier, rope_way way, int *failures) {
    void *input = malloc(work->size), *expected = malloc(work->size), *actual = malloc(work->size);
    int has_memory = input != NULL && expected != NULL && actual != NULL;
    if (has_memory) {
        memcpy(input, work->x, work->size);
        int same = run_from(work, POSENC_ISA_SCALAR, way, input, expected) &&
                   run_from(work, tier, way, input, actual) && memcmp(expected, actual, work->size) == 0;
        memcpy(work->x, input, work->size);
        *failures += !same;
    }
    free(actual);
    free(expected);
    free(input);
    return has_memory ? POSENC_OK : POSENC_ERR_MEMORY;
}

static posenc_status verify_tier(const rope_batches *b, posenc_isa_tier tier, int *failures) {
    posenc_status status = POSENC_OK;
    for (int batch = 0; batch < N_BATCHES; batch++)
        for (int type = 0; type < N_TYPES; type++)
            for (int way = 0; way < b->n_ways && status == POSENC_OK; way++)
                status = compare_with_scalar(&b->work[batch][type], tier, (rope_way)way, failures);
    return status;
}

static posenc_status verify_tiers(const rope_batches *b, int *failures) {
    int n_tiers = 0;
    for (int tier = POSENC_ISA_SCALAR + 1; tier < POSENC_ISA_COUNT; tier++) {
        if (!model_wants(b->o, tier))
            continue;
        int differences = 0;
        posenc_status status = verify_tier(b, (posenc_isa_tier)tier, &differences);
        if (status != POSENC_OK)
            return status;
        printf("%s%s %s", n_tiers++ == 0 ? "  verified       " : ", ", posenc_isa_name((posenc_isa_tier)tier),
               differences == 0 ? "= scalar" : "FAILED: differs from scalar");
        *failures += differences;
    }
    if (n_tiers > 0)
        printf(" in every type, bit for bit\n");
    return POSENC_OK;
}

/* ---- Timing ---- */

/* way ROPE_WAYS: negation. */
typedef struct timed_job {
    const rope_work *work;
    posenc_isa_tier tier;
    int way;
    double *answer;
} timed_job;

static void run_job(void *context) {
    const timed_job *job = context;
    if (job->way == ROPE_WAYS) {
        rope_work_negate(job->work);
        return;
    }
    posenc_isa_select(job->tier);
    rope_work_run(job->work, (rope_way)job->way);
}

enum { MOST_JOBS = N_BATCHES * N_TYPES * (POSENC_ISA_COUNT * ROPE_WAYS + 1) };

static int list_jobs(rope_batches *b, timed_job *jobs) {
    int n = 0;
    for (int batch = 0; batch < N_BATCHES; batch++)
        for (int type = 0; type < N_TYPES; type++) {
            const rope_work *work = &b->work[batch][type];
            for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
                for (int way = 0; way < b->n_ways && model_wants(b->o, tier); way++)
                    jobs[n++] = (timed_job){work, (posenc_isa_tier)tier, way, &b->ns[batch][tier][type][way]};
            jobs[n++] = (timed_job){work, POSENC_ISA_SCALAR, ROPE_WAYS, &b->negate_ns[batch][type]};
        }
    return n;
}

static posenc_status time_all(rope_batches *b) {
    static timed_job jobs[MOST_JOBS];
    static alternative timed[MOST_JOBS];
    int n = list_jobs(b, jobs);
    for (int i = 0; i < n; i++)
        timed[i] = (alternative){run_job, &jobs[i], 0.0};
    if (!time_alternatives(timed, n, b->o->seconds))
        return POSENC_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        *jobs[i].answer = timed[i].median_ns / (double)jobs[i].work->n_tokens;
    return POSENC_OK;
}

/* ---- The table ---- */

/* Widths of a column of nanoseconds and of a ratio, and the space before a batch. */
enum { NS = 9, RATIO = 10, GAP = 3 };

static int has_norm(const rope_batches *b) {
    return b->n_ways > ROPE_WITH_NORM;
}

static void print_titles(const rope_batches *b) {
    int width = NS * b->n_ways + 2 * RATIO;
    char decode[64], prefill[64];
    snprintf(decode, sizeof decode, "decode, 1 token at position %d", (int)b->work[DECODE][POSENC_F32].positions[0]);
    snprintf(prefill, sizeof prefill, "prefill, %lld tokens", (long long)b->n_tokens[PREFILL]);
    printf("\nOne layer, Q and K in one call, ns per token\n\n  %-14s%*s%*s\n  %-9s%-5s", "", GAP + width, decode,
           GAP + width, prefill, "tier", "type");
    for (int batch = 0; batch < N_BATCHES; batch++)
        printf("%*s%*s%*s%*s%*s", GAP + NS, "first", NS, "later", has_norm(b) ? NS : 0, has_norm(b) ? "normed" : "",
               RATIO, "vs scalar", RATIO, "vs limit");
    printf("\n");
}

static void print_ns(double ns) {
    printf("%*.*f", NS, ns < 100.0 ? 1 : 0, ns);
}

static void print_ratio(double ratio) {
    printf("%*.*fx", RATIO - 1, ratio < 10.0 ? 2 : 0, ratio);
}

static void print_row(const rope_batches *b, int tier, int type) {
    printf("  %-9s%-5s", type == POSENC_F32 ? posenc_isa_name((posenc_isa_tier)tier) : "", type_names[type]);
    for (int batch = 0; batch < N_BATCHES; batch++) {
        const double *ns = b->ns[batch][tier][type];
        printf("%*s", GAP, "");
        for (int way = 0; way < b->n_ways; way++)
            print_ns(ns[way]);
        print_ratio(b->ns[batch][POSENC_ISA_SCALAR][type][ROPE_ROWS_READY] / ns[ROPE_ROWS_READY]);
        print_ratio(ns[ROPE_ROWS_READY] / b->negate_ns[batch][type]);
    }
    printf("\n");
}

static void print_limit(const rope_batches *b, int type) {
    printf("  %-9s%-5s", type == POSENC_F32 ? "limit" : "", type_names[type]);
    for (int batch = 0; batch < N_BATCHES; batch++) {
        double bytes = 2.0 * (double)rope_work_elements(&b->work[batch][type]) / (double)b->n_tokens[batch] *
                       (type == POSENC_F32 ? 4.0 : 2.0);
        char cell[32];
        snprintf(cell, sizeof cell, "%.0f GB/s", bytes / b->negate_ns[batch][type]);
        printf("%*s", GAP + NS, "");
        print_ns(b->negate_ns[batch][type]);
        printf("%*s", NS * (b->n_ways - ROPE_WITH_NORM) + 2 * RATIO, cell);
    }
    printf("\n");
}

/* Layers of the heads that are timed, and the lists of rows that a token needs for them: one of LongRoPE's two. */
static int64_t count_layers(const model_config *m, int *n_rows) {
    int64_t n = 0;
    int others = 0;
    *n_rows = 0;
    for (int k = 0; k < m->n_tables; k++) {
        int counts = model_same_heads(&m->tables[k], model_timed_table(m)) && !m->tables[k].is_alternative;
        n += counts ? m->tables[k].n_layers : 0;
        *n_rows += counts;
        others += !counts && !m->tables[k].is_alternative;
    }
    return others == 0 ? model_rotated_layers(m) : n;
}

/* What the whole model spends, on the last tier of the table. The first layer makes the rows for the others. */
static void print_all_layers(const rope_batches *b) {
    int last = POSENC_ISA_SCALAR, n_rows;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        last = model_wants(b->o, tier) ? tier : last;
    int way = b->n_ways - 1; /* with the norm where there is one */
    int64_t layers = count_layers(b->model, &n_rows), rotated = model_rotated_layers(b->model);
    if (layers < 2)
        return;
    const char *which = rotated < b->model->n_layers ? " with RoPE" : "";
    if (layers < rotated)
        which = " with these heads";
    printf("\n  All %lld layers%s on %s%s, %d list%s of rows, microseconds per token:\n", (long long)layers, which,
           posenc_isa_name((posenc_isa_tier)last), way == ROPE_WITH_NORM ? ", norms included" : "", n_rows,
           n_rows == 1 ? "" : "s");
    for (int batch = 0; batch < N_BATCHES; batch++) {
        printf("    %-8s", batch == DECODE ? "decode" : "prefill");
        for (int type = 0; type < N_TYPES; type++) {
            const double *ns = b->ns[batch][last][type];
            double rows = (ns[ROPE_ROWS_MADE] - ns[ROPE_ROWS_READY]) * n_rows;
            printf("%s%9.1f %s", type == 0 ? "" : ", ", (ns[way] * (double)layers + rows) * 1e-3, type_names[type]);
        }
        printf("\n");
    }
}

static void print_table(const rope_batches *b) {
    print_titles(b);
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        for (int type = 0; type < N_TYPES && model_wants(b->o, tier); type++)
            print_row(b, tier, type);
    for (int type = 0; type < N_TYPES; type++)
        print_limit(b, type);
    print_all_layers(b);
    printf(
        "\nMedians, one thread. first: cosines and sines computed in the call; later: precomputed table, as for all "
        "other layers%s.\nlimit: the same elements negated, which is what memory allows; the ratios are of 'later'.\n",
        has_norm(b) ? ";\nnormed: later, with the RMS-norm of each head before the rotation" : "");
}

/* ---- The report ---- */

static posenc_status create_batches(rope_batches *b, random_state *random) {
    posenc_status status = POSENC_OK;
    int64_t cached = model_cached_tokens(b->o, b->model);
    for (int batch = 0; batch < N_BATCHES; batch++)
        for (int type = 0; type < N_TYPES && status == POSENC_OK; type++)
            status = rope_work_create(&b->work[batch][type], model_timed_table(b->model), (posenc_dtype)type,
                                      b->n_tokens[batch], batch == DECODE ? cached : 0, random);
    return status;
}

posenc_status model_report_rope(const model_options *o, const model_config *m, int *failures) {
    random_state random = {1};
    static rope_batches b;
    b = (rope_batches){.o = o,
                       .model = m,
                       .n_ways = m->has_qk_norm ? ROPE_WITH_NORM + 1 : ROPE_ROWS_READY + 1,
                       .n_tokens = {1, o->n_tokens}};
    posenc_status status = create_batches(&b, &random);
    if (status == POSENC_OK)
        status = verify_tiers(&b, failures);
    if (status == POSENC_OK)
        status = time_all(&b);
    if (status == POSENC_OK)
        print_table(&b);
    for (int i = 0; i < N_BATCHES * N_TYPES; i++)
        rope_work_free(&b.work[i / N_TYPES][i % N_TYPES]);
    return status;
}
