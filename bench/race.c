/* SPDX-License-Identifier: MIT */
/* Machines drift: clocks change, neighbours come and go. So the racers take turns in slices of a fraction of a
 * millisecond, and a ratio is the median over slices of neighbours in time, never a quotient of two long runs. */
#include "race.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half.h"
#include "slices.h"
#include "core/view.h"

/* Calls after which the input is written anew. Turning by cos and sin rounded to float32 changes a length by at
 * most 1e-7, so it stays within a few percent. */
#define CALLS_PER_FILL 500000

typedef struct racer {
    bench_call *call;
    int64_t calls; /* in a slice */
    double spent;  /* seconds */
    samples times; /* ours: seconds per call; the others: how many times ours */
} racer;

static double run_slice(racer *r, bench_job *job) {
    double seconds = time_calls(r->call, r->calls, job);
    r->spent += seconds * (double)r->calls;
    return seconds;
}

/* The others answer our slice, unless they have already been given more time than we had. */
static void run_others(racer *racers, double ours, bench_job *job) {
    for (int i = BENCH_OURS + 1; i < BENCH_RACERS; i++)
        if (racers[i].call != NULL && racers[i].spent < racers[BENCH_OURS].spent)
            samples_add(&racers[i].times, run_slice(&racers[i], job) / ours);
}

static void run_race(shim_state *state, racer *racers, const bench_race *race, bench_job *job) {
    racer *ours = &racers[BENCH_OURS];
    int64_t calls_since_fill = 0;
    while (shim_next(state, ours->calls)) {
        double seconds = run_slice(ours, job);
        shim_pause(state);
        samples_add(&ours->times, seconds);
        run_others(racers, seconds, job);
        calls_since_fill += ours->calls;
        if (calls_since_fill > CALLS_PER_FILL) {
            race->fill(job);
            calls_since_fill = 0;
        }
        shim_resume(state);
    }
}

/* Ratios are above 1 when a slower racer loses to us, and when we lose to what we are held to. */
static void report_ratios(shim_state *state, racer *racers) {
    static const struct {
        const char *name;
        int inverted;
    } columns[BENCH_RACERS] = {
        [BENCH_PLAIN] = {"x_libm", 0},
        [BENCH_LIMIT] = {"x_limit", 1},
        [BENCH_UNFUSED] = {"x_unfused", 0},
        [BENCH_ALONE] = {"x_alone", 1},
    };
    for (int i = BENCH_OURS + 1; i < BENCH_RACERS; i++) {
        if (racers[i].call == NULL)
            continue;
        double ratio = samples_median(&racers[i].times);
        shim_column(state, columns[i].name, columns[i].inverted ? 1.0 / ratio : ratio);
    }
}

static void report(shim_state *state, racer *racers, const bench_job *job) {
    double seconds = samples_median(&racers[BENCH_OURS].times);
    shim_column(state, "ns/elem", 1e9 * seconds / job->elements);
    shim_column(state, "bytes/s", job->bytes / seconds);
    report_ratios(state, racers);
}

/* ---- Is it the same work? ---- */

/* Tolerances, of the largest value. They only tell that the same thing is computed: at long positions the plain loop's
 * float32 angles are wrong in the second digit. Unfused calls have posenc's angles, but may round twice to bf16. */
#define PLAIN_TOLERANCE 0.1f
#define UNFUSED_TOLERANCE 0.01f

static float result_at(const bench_output *o, size_t k) {
    switch (o->type) {
    case ELEMENT_F64: return (float)((const double *)o->data)[k];
    case ELEMENT_I32: return (float)((const int32_t *)o->data)[k];
    case ELEMENT_U16: return (float)((const uint16_t *)o->data)[k];
    default: return posenc_load(o->data, k, (posenc_dtype)o->type);
    }
}

/* The outputs of one call on fresh input, as floats; what it does not write is NaN. The caller frees them. */
static float *results_of(const bench_race *race, int which, bench_job *job, size_t *n) {
    for (int i = 0; i < job->n_outputs; i++)
        memset(job->outputs[i].data, 0xff, job->outputs[i].n * element_size(job->outputs[i].type));
    race->fill(job);
    race->racers[which](job);

    *n = 0;
    for (int i = 0; i < job->n_outputs; i++)
        *n += job->outputs[i].n;
    float *results = malloc(*n * sizeof(float)), *next = results;
    if (results == NULL)
        bench_check(POSENC_ERR_MEMORY);
    for (int i = 0; i < job->n_outputs; i++)
        for (size_t k = 0; k < job->outputs[i].n; k++)
            *next++ = result_at(&job->outputs[i], k);
    return results;
}

static int is_alike(const float *x, const float *y, size_t n, float tolerance) {
    float largest = 0.0f;
    for (size_t i = 0; i < n; i++)
        if (fabsf(y[i]) > largest && isfinite(y[i]))
            largest = fabsf(y[i]);
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i] && !(fabsf(x[i] - y[i]) <= tolerance * largest))
            return 0;
    return 1;
}

/* Ends the program if another racer does not compute what our code does: their ratio would mean nothing. */
static void compare_results(const bench_race *race, int which, const char *name, float tolerance, bench_job *job) {
    if (race->racers[which] == NULL)
        return;
    size_t n;
    float *ours = results_of(race, BENCH_OURS, job, &n), *others = results_of(race, which, job, &n);
    if (!is_alike(ours, others, n, tolerance)) {
        fprintf(stderr, "posenc-bench: %s compute something else\n", name);
        exit(1);
    }
    free(ours);
    free(others);
}

/* ---- A run ---- */

/* Does once for all runs of a benchmark: compares the outputs. */
static void prepare(bench_entry *entry, bench_job *job) {
    if (job->n_outputs > 0) {
        compare_results(entry->race, BENCH_PLAIN, "the plain loops", PLAIN_TOLERANCE, job);
        compare_results(entry->race, BENCH_UNFUSED, "the unfused calls", UNFUSED_TOLERANCE, job);
    }
    entry->race->fill(job);
    for (int i = 0; i < BENCH_RACERS; i++)
        if (entry->race->racers[i] != NULL)
            entry->calls[i] = calls_in_slice(entry->race->racers[i], job);
    entry->prepared = 1;
}

void bench_run(shim_state *state, void *context) {
    bench_entry *entry = context;
    static racer racers[BENCH_RACERS]; /* static: large */
    bench_check(posenc_isa_select(entry->tier));
    bench_job *job = bench_open(entry->race, entry->shape, entry->tier);
    if (!entry->prepared)
        prepare(entry, job);
    entry->race->fill(job);
    for (int i = 0; i < BENCH_RACERS; i++) {
        racers[i].call = entry->race->racers[i];
        racers[i].calls = entry->calls[i];
        racers[i].spent = 0.0;
        racers[i].times.n = 0;
        if (racers[i].call != NULL)
            racers[i].call(job); /* warm up */
    }
    run_race(state, racers, entry->race, job);
    report(state, racers, job);
    bench_close(entry->race, job);
}
