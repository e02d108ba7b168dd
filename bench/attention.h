/* SPDX-License-Identifier: MIT */
/* Attention over a cache (cache.h), as posenc-bench, other programs (serve.h) and `layout` time it. */
#ifndef POSENC_BENCH_ATTENTION_H
#define POSENC_BENCH_ATTENTION_H

#include "cache.h"
#include "terms.h"

typedef struct attention_job attention_job;

typedef struct attention_shape {
    const char *name;
    int64_t n_heads, n_q;
    cache_shape cache; /* of the call; queries and outputs have its layout */
    posenc_attention_math math;
    posenc_mask mask;                /* of the plain call too; what the term hides comes on top */
    terms_add *term;                 /* what scores are given more than those of the plain call, or NULL */
    void (*add)(attention_job *job); /* what else the call is given more, or NULL */
} attention_shape;

/* Ours against the limit; the plain call has no part in it. */
extern const bench_race attention_race;

/* Ends the program if the outputs of two jobs differ in a bit; they may have different layouts. */
void attention_compare(const bench_job *a, const bench_job *b);

/* 1 if the job's cache lies in huge pages. */
int attention_has_huge_pages(const bench_job *job);

#endif
