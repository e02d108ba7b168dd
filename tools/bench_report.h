/* SPDX-License-Identifier: MIT */
/* Output of posenc bench: a table for people, or the same rows as JSON or CSV. */
#ifndef POSENC_TOOLS_BENCH_REPORT_H
#define POSENC_TOOLS_BENCH_REPORT_H

#include "shape.h"
#include "work.h"

/* Columns of a row of the table: the tiers, then the limit. */
enum { LIMIT = POSENC_ISA_COUNT, N_COLUMNS };

/* Times of a piece of work. */
typedef struct bench_row {
    const char *phase; /* decode or prefill */
    const work *w;
    const double *us; /* of a token in each column, microseconds; 0: not timed */
    unsigned differ;  /* bit t: tier t's output is not scalar's, bit for bit */
    int is_first;     /* of the types of its work */
} bench_row;

/* Name of float32, f16 or bf16. */
const char *report_type_name(posenc_dtype type);

/* Prints the machine and the shape. */
void report_begin(const bench_shape *shape);

/* Begins a phase, with its title in the table. */
void report_phase(const bench_shape *shape, const char *title);

void report_row(const bench_shape *shape, const bench_row *row);

/* Prints a line of the table; nothing in JSON and CSV. */
__attribute__((format(printf, 2, 3))) void report_note(const bench_shape *shape, const char *format, ...);

void report_end(const bench_shape *shape, unsigned differ);

#endif
