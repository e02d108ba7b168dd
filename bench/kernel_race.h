/* Races of single kernels: one for each line of kernels.def, on working sets from L1 to DRAM. */
#ifndef POSENC_BENCH_KERNEL_RACE_H
#define POSENC_BENCH_KERNEL_RACE_H

#include "bench.h"
#include "plain.h"

enum { POSITION = 4096 };

/* What a race is registered with. */
typedef struct kernel_shape {
    size_t n; /* units */
    posenc_dtype x_type, y_type;
    int in_place;
} kernel_shape;

typedef struct kernel_job {
    bench_job base;
    kernel_shape shape;
    size_t n;
    union {
#define KERNEL(name, type) type name;
#include "kernels/kernels.def"
#undef KERNEL
    } args;
    float *x;                  /* softmax: the scores */
    bench_rows heads, results; /* rope, norm, convert: what is read and what is written */
    float *cos_row, *sin_row;  /* rope: ready rows */
    float *inv_freq;           /* angle_rows: what the plain loop starts from */
    float *table;              /* dot_rows: rows as they are, not packed */
    float *factors;            /* norm */
    float *weight;             /* of rows that are summed; of a gradient, what comes in */
    double *frequency, *zeros; /* angle_anchors: tables */
    double *cos, *sin;         /* angle_rows: anchors */
    posenc_turn_column *offsets;
} kernel_job;

typedef struct kernel_types {
    posenc_dtype x, y;
} kernel_types;

typedef struct kernel_race {
    bench_race race;
    const char *unit;          /* what n counts */
    size_t bytes_per_unit;     /* memory that one unit touches: so much whatever the types, */
    size_t elements_per_unit;  /* and so many elements of x and of y */
    int apart;                 /* y is never x; otherwise it is where the types are the same */
    const kernel_types *types; /* NULL: float32 */
    size_t n_types;
} kernel_race;

#define KERNEL_JOB .job_size = sizeof(kernel_job), .shape_size = sizeof(kernel_shape)

/* The kernel of the job's tier with the job's arguments, and its race. */
#define KERNEL(name, type)                                                                                             \
    bench_call run_##name;                                                                                             \
    extern const kernel_race race_##name;
#include "kernels/kernels.def"
#undef KERNEL

/* What open begins with: sets n, elements and bytes, the latter two given per unit. */
kernel_job *kernel_start(bench_job *base, double elements, double bytes);

#endif
