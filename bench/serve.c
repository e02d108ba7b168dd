/* SPDX-License-Identifier: MIT */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/worker.h"
#include "../tools/threads.h"

/* Set once, by the command line. */
static posenc_isa_tier tier;
static int racer;

/* One job for each thread, its part of the work. */
typedef struct shared_job {
    bench_job base;
    const bench_race *race;
    bench_job *parts[MAX_THREADS];
    threads *pool;
} shared_job;

static bench_match match(const work *w) {
    static bench_match (*const families[])(const work *) = {bench_match_rope,      bench_match_rows,
                                                            bench_match_softmax,   bench_match_attention,
                                                            bench_match_stretches, bench_match_benchmark};
    bench_match found = {NULL, NULL};
    for (size_t i = 0; found.race == NULL && i < sizeof families / sizeof families[0]; i++)
        found = families[i](w);
    return found;
}

/* Share of one thread: some of the tokens, heads or queries. */
static work part_of(const work *w, int n_threads) {
    work part = *w;
    if (work_is(w, "rope") || work_is(w, "rows"))
        part.tokens /= n_threads;
    else if (work_is(w, "attention"))
        part.queries /= n_threads;
    else
        part.heads /= n_threads;
    return part;
}

static void run_part(void *context, int thread) {
    shared_job *job = context;
    job->race->racers[racer](job->parts[thread]);
}

static void run(bench_job *base) {
    shared_job *job = (shared_job *)base;
    if (job->pool == NULL)
        run_part(job, 0);
    else
        threads_run(job->pool);
}

static void close_shared(bench_job *base) {
    shared_job *job = (shared_job *)base;
    threads_free(job->pool);
    for (int i = 0; i < MAX_THREADS && job->parts[i] != NULL; i++)
        bench_close(job->race, job->parts[i]);
    free(job);
}

static const char *open_shared(const work *w, worker_job *opened) {
    if (w->threads > MAX_THREADS)
        return "not this many threads";
    int n_threads = w->threads > 1 ? (int)w->threads : 1;
    work part = part_of(w, n_threads);
    bench_match found = match(&part);
    if (found.race == NULL || found.race->racers[racer] == NULL)
        return "no race does this";
    shared_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return "no memory";
    job->race = found.race;
    for (int i = 0; i < n_threads; i++) {
        job->parts[i] = bench_open(found.race, found.shape, tier);
        found.race->fill(job->parts[i]);
    }
    if (n_threads > 1 && (job->pool = threads_new(n_threads, run_part, job)) == NULL) {
        close_shared(&job->base);
        return "no threads";
    }
    *opened = (worker_job){.job = &job->base, .call = run, .close = close_shared};
    return NULL;
}

/* Finds a racer by its name in reports. */
static int find_racer(const char *name) {
    static const char *const names[] = {[BENCH_OURS] = "ours", [BENCH_PLAIN] = "plain", [BENCH_LIMIT] = "limit"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}

int bench_serve(const char *tier_name, const char *racer_name) {
    racer = find_racer(racer_name);
    for (int i = 0; (tier = bench_tier(i)) != POSENC_ISA_COUNT; i++)
        if (strcmp(posenc_isa_name(tier), tier_name) == 0)
            break;
    if (racer < 0 || tier == POSENC_ISA_COUNT) {
        fprintf(stderr, "posenc-bench: %s of %s cannot run here\n", racer_name, tier_name);
        return 2;
    }
    bench_check(posenc_isa_select(tier));
    char name[64];
    snprintf(name, sizeof name, "%s %s", racer_name, tier_name);
    return worker_main(&(peer){name, open_shared});
}
