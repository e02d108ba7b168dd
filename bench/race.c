/* Machines drift: clocks change, neighbours come and go. So the racers take turns in slices of a fraction of a
 * millisecond, and a ratio is the median over slices of neighbours in time, never a quotient of two long runs. */
#define _POSIX_C_SOURCE 200809L
#include "race.h"

#include <stdlib.h>
#include <time.h>

/* Long against reading the clock, short against what happens to a machine. A call that takes longer is a slice. */
#define SLICE_SECONDS 200e-6

/* Calls after which the input is written anew. Turning by cos and sin rounded to float32 changes a length by at
 * most 1e-7, so it stays within a few percent. */
#define CALLS_PER_FILL 500000

/* Slices remembered; of longer runs, the last ones. */
#define MAX_SLICES 4096

typedef struct samples {
    size_t n;
    double value[MAX_SLICES];
} samples;

typedef struct racer {
    bench_call *call;
    int64_t calls; /* in a slice */
    double spent;  /* seconds */
    samples times; /* ours: seconds per call; the others: how many times ours */
} racer;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add_sample(samples *s, double value) {
    s->value[s->n++ % MAX_SLICES] = value;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(samples *s) {
    size_t n = s->n < MAX_SLICES ? s->n : MAX_SLICES;
    qsort(s->value, n, sizeof s->value[0], compare);
    return (s->value[n / 2] + s->value[(n - 1) / 2]) / 2;
}

/* Makes `calls` calls; seconds per call. */
static double time_calls(const racer *r, int64_t calls, bench_job *job) {
    double start = now();
    for (int64_t i = 0; i < calls; i++)
        r->call(job);
    return (now() - start) / (double)calls;
}

/* Finds the number of calls that fill a slice; warms up on the way. */
static void set_calls(racer *r, bench_job *job) {
    double seconds = 0.0;
    for (r->calls = 1; r->calls < 1 << 24; r->calls *= 2) {
        seconds = time_calls(r, r->calls, job);
        if (seconds * (double)r->calls >= SLICE_SECONDS / 4)
            break;
    }
    if (seconds * (double)r->calls < SLICE_SECONDS)
        r->calls = (int64_t)(SLICE_SECONDS / seconds) + 1;
}

static double run_slice(racer *r, bench_job *job) {
    double seconds = time_calls(r, r->calls, job);
    r->spent += seconds * (double)r->calls;
    return seconds;
}

/* The baselines answer our slice, unless they have already been given more time than we had. */
static void run_baselines(racer *racers, double ours, bench_job *job) {
    for (int i = BENCH_PLAIN; i < BENCH_RACERS; i++)
        if (racers[i].spent < racers[BENCH_OURS].spent)
            add_sample(&racers[i].times, run_slice(&racers[i], job) / ours);
}

static void run_race(shim_state *state, racer *racers, const bench_race *race, bench_job *job) {
    racer *ours = &racers[BENCH_OURS];
    int64_t calls_since_fill = 0;
    while (shim_next(state, ours->calls)) {
        double seconds = run_slice(ours, job);
        shim_pause(state);
        add_sample(&ours->times, seconds);
        run_baselines(racers, seconds, job);
        calls_since_fill += ours->calls;
        if (calls_since_fill > CALLS_PER_FILL) {
            race->fill(job);
            calls_since_fill = 0;
        }
        shim_resume(state);
    }
}

static void report(shim_state *state, racer *racers, const bench_job *job) {
    double seconds = median(&racers[BENCH_OURS].times);
    shim_column(state, "ns/elem", 1e9 * seconds / job->elements);
    shim_column(state, "bytes/s", job->bytes / seconds);
    shim_column(state, "x_libm", median(&racers[BENCH_PLAIN].times));
    shim_column(state, "x_limit", 1.0 / median(&racers[BENCH_LIMIT].times));
}

static bench_job *open_job(const bench_entry *entry) {
    bench_job *job = calloc(1, entry->race->job_size);
    if (job == NULL)
        bench_check(POSENC_ERR_MEMORY);
    job->shape = entry->shape;
    job->kernels = posenc_tier_kernels(entry->tier);
    job->limits = bench_limits_of(entry->tier);
    entry->race->open(job);
    entry->race->fill(job);
    return job;
}

static void close_job(const bench_race *race, bench_job *job) {
    if (race->close != NULL)
        race->close(job);
    while (job->n_blocks > 0)
        free(job->blocks[--job->n_blocks]);
    free(job);
}

void bench_run(shim_state *state, void *context) {
    const bench_entry *entry = context;
    static racer racers[BENCH_RACERS];
    bench_check(posenc_select_isa(entry->tier));
    bench_job *job = open_job(entry);
    for (int i = 0; i < BENCH_RACERS; i++) {
        racers[i] = (racer){.call = entry->race->racers[i]};
        set_calls(&racers[i], job);
    }
    run_race(state, racers, entry->race, job);
    report(state, racers, job);
    close_job(entry->race, job);
}
