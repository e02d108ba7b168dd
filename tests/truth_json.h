/* SPDX-License-Identifier: MIT */
/* The golden vectors (tests/vectors, FORMULAS 0.5): reading a case, comparing with it, and going through files. */
#ifndef TRUTH_JSON_H
#define TRUTH_JSON_H

#include "truth.h"

#include <cjson/cJSON.h>

#define TRUTH_TOLERANCE 2e-6 /* FORMULAS 0.5, for unit-size data and sums of at most 64 terms */

enum { MAX_VALUES = 1024, MAX_POSITIONS = 64 };

/* One case of a file. */
typedef struct example {
    const char *where;
    const cJSON *inputs;
    double expected[MAX_VALUES];
    int n_expected;
} example;

double number(const cJSON *item);

/* An input: it must be there. */
const cJSON *input(const example *e, const char *name);
double value(const example *e, const char *name);
int is(const example *e, const char *name, const char *text);

/* 1 unless the input is missing, null or 0. */
int has(const example *e, const char *name);

/* Numbers of an array, whatever its nesting; returns how many. */
int floats(const example *e, const char *name, float *x);
int64_t integers(const example *e, const char *name, int32_t *x);

/* Length of the innermost arrays of an input. */
int64_t width(const example *e, const char *name);

/* Compares n values with expected[first ..]; returns n. */
int match(const example *e, const float *got, int first, int n);

/* A file, and what checks a case of it: returns the number of values compared, 0 for a case that is left out. */
typedef struct vector_file {
    const char *name;
    int (*check)(const example *e);
} vector_file;

/* Every case of every file on every tier. A file of which nothing was checked is a failure; so are other numbers of
 * cases and values than these. */
void check_vector_files(const vector_file *files, size_t n_files, int n_cases, int n_values, int n_left_out);

#endif
