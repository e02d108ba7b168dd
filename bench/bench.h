/* SPDX-License-Identifier: MIT */
/* A benchmark of posenc is a race: our code, a plain loop and the limit take turns on the same data. */
#ifndef POSENC_BENCH_H
#define POSENC_BENCH_H

#include "bench_limits.h"
#include "call.h"

/* Output of a call, for the check that all racers do the same work. */
typedef struct bench_output {
    void *data;
    element_type type;
    size_t n;
} bench_output;

/* The data of one run. A race puts it first in a struct of its own. */
typedef struct bench_job {
    const void *shape;             /* what the race was registered with */
    const posenc_kernels *kernels; /* of the tier, which also is the selected one */
    const bench_limits *limits;
    double elements; /* the work of one call, for ns/elem */
    double bytes;    /* what one call has to move, for bytes/s */
    int n_outputs;   /* none if what is written is not comparable */
    bench_output outputs[3];
    int n_blocks;
    void *blocks[16];
} bench_job;

typedef void bench_call(bench_job *job);

/* Who competes. The last two stand for the public calls that a fused one replaces, and for a part of its work: most
 * races have neither. */
enum { BENCH_OURS, BENCH_PLAIN, BENCH_LIMIT, BENCH_UNFUSED, BENCH_ALONE, BENCH_RACERS };

typedef struct bench_race {
    size_t job_size, shape_size;
    bench_call *open;  /* allocates, and sets elements, bytes and outputs; the job arrives zeroed */
    bench_call *fill;  /* writes the input; again from time to time, as rounding piles up in place */
    bench_call *close; /* frees what did not come from bench_alloc; may be NULL */
    bench_call *racers[BENCH_RACERS];
} bench_race;

/* Registers the race, with a copy of the shape, on one tier. */
void bench_register(const bench_race *race, const void *shape, posenc_isa_tier tier, const char *name);

/* The tiers that run here, best last: tier i, or POSENC_ISA_COUNT after the last. */
posenc_isa_tier bench_tier(int i);

/* A job of the race on a tier, which must be the selected one; and its end. */
bench_job *bench_open(const bench_race *race, const void *shape, posenc_isa_tier tier);
void bench_close(const bench_race *race, bench_job *job);

/* Memory until the end of the job, aligned to 64 bytes. No two blocks start at the same place in a 4 KiB page, which
 * would make loads from one wait for stores to the other. Ends the program when there is none. */
void *bench_alloc(bench_job *job, size_t bytes);
float *bench_floats(bench_job *job, size_t n);
void bench_free_blocks(bench_job *job);

/* Adds an output to be compared. */
void bench_compare(bench_job *job, void *data, posenc_dtype type, size_t n);
void bench_compare_elements(bench_job *job, void *data, element_type type, size_t n);

/* Ends the program with a message unless status is POSENC_OK: a call that refuses its input must not be timed. */
void bench_check(posenc_status status);

/* n values of the type in [-bound, bound], the same every time. */
void bench_random(void *x, posenc_dtype type, size_t n, float bound);

/* A dense tensor of one sequence in memory of the job's, and random values for one. */
posenc_view bench_view(bench_job *job, posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2);
void bench_random_view(const posenc_view *v, float bound);

/* "f16", or for a pair "f32_f16". */
const char *bench_type_name(posenc_dtype x_type, posenc_dtype y_type);

/* The families, each a file. */
void bench_register_kernels(void);
void bench_register_rope(void);
void bench_register_fused(void);
void bench_register_tables(void);
void bench_register_encodings(void);
void bench_register_softmax(void);
void bench_register_score_bias(void);
void bench_register_attention(void);
void bench_register_sparse(void);
void bench_register_relative(void);
void bench_register_gradients(void);
void bench_register_calls(void);

#endif
