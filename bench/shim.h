/* SPDX-License-Identifier: MIT */
/* The part of Google Benchmark that posenc-bench uses, for C. */
#ifndef POSENC_BENCH_SHIM_H
#define POSENC_BENCH_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One run of one benchmark (benchmark::State). */
typedef struct shim_state shim_state;

typedef void shim_function(shim_state *state, void *context);

/* Adds a benchmark: function(state, context) is called for every run of it. */
void shim_register(const char *name, shim_function *function, void *context);

/* In a run: 1 while more calls are wanted; the caller then makes `calls` of them. The clock of the Time and CPU
 * columns starts with the first shim_next, and stands still between shim_pause and shim_resume. */
int shim_next(shim_state *state, int64_t calls);
void shim_pause(shim_state *state);
void shim_resume(shim_state *state);

/* In a run: adds a column to the report, rounded to three digits: more are noise. */
void shim_column(shim_state *state, const char *name, double value);

/* Adds a line to the head of the report. */
void shim_note(const char *key, const char *value);

/* Runs what the command line asks for. Returns the exit status. */
int shim_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
