/* SPDX-License-Identifier: MIT */
/* Pieces of the positional work of one attention layer, on buffers of its real shape, to be checked and timed. */
#ifndef POSENC_TOOLS_WORK_H
#define POSENC_TOOLS_WORK_H

#include <stddef.h>

#include "random.h"
#include "shape.h"

enum { WORK_MOST_BLOCKS = 6 };

typedef struct work work;

struct work {
    const char *name;
    posenc_dtype type;
    int64_t n_tokens, n_keys; /* of the queries; n_keys - n_tokens keys are before them */
    /* Once over the data, on the tier selected: the share of thread ith of nth. */
    posenc_status (*run)(const work *w, int ith, int nth);
    /* Negates the elements that a run reads and writes, which is what memory allows; NULL for what computes longer. */
    void (*limit)(const work *w, int ith, int nth);
    /* Memory that a run writes. Equal bytes before a run give equal bytes after it. */
    void *data;
    size_t size;
    double traffic; /* bytes that a run reads and writes, each once */

    /* RoPE: Q and K in one call, in place. positions NULL: the table is filled already. */
    const posenc_rope *rope;
    posenc_rope_table table;
    posenc_rope_tensor tensors[2];
    const int32_t *positions;

    /* Softmax, of x in place, and attention, whose output is x */
    posenc_score_params params;
    posenc_view x, q, k, v;
    char *scratch; /* of each thread, scratch_bytes behind each other */
    size_t scratch_bytes;

    void *blocks[WORK_MOST_BLOCKS]; /* what work_free frees */
    int n_blocks;
};

/* Each fills *w, which has its type and numbers of tokens and keys and is else 0; work_free is for failures too. */
posenc_status work_create_rope(work *w, const bench_shape *shape, random_state *random);       /* computes cos/sin */
posenc_status work_create_rope_table(work *w, const bench_shape *shape, random_state *random); /* has them in a table */
posenc_status work_create_softmax(work *w, const bench_shape *shape, random_state *random);    /* float32 alone */
posenc_status work_create_attention(work *w, const bench_shape *shape, random_state *random);

void work_free(work *w);

/* Memory that work_free frees, at the start of a cache line; NULL if there is not so much. */
void *work_alloc(work *w, size_t bytes);

/* A tensor of that memory [head_dim, n_heads, n_tokens], with random numbers of -4 .. 4; data NULL: no memory. */
posenc_view work_tensor(work *w, int64_t head_dim, int64_t n_heads, int64_t n_tokens, random_state *random);
void work_fill(void *data, posenc_dtype type, int64_t n, random_state *random);

/* params of the shape, for softmax and attention. */
posenc_status work_set_params(work *w, const bench_shape *shape);

static inline size_t work_type_size(posenc_dtype type) {
    return type == POSENC_F32 ? sizeof(float) : sizeof(uint16_t);
}

#endif
