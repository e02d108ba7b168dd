/* SPDX-License-Identifier: MIT */
/* Arguments of posenc bench: the shape of an attention layer, and how it is timed. */
#ifndef POSENC_TOOLS_SHAPE_H
#define POSENC_TOOLS_SHAPE_H

#include <posenc/posenc.h>

typedef enum bench_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV } bench_format;

typedef struct bench_shape {
    int64_t n_heads, n_kv_heads, head_dim, n_layers;
    int64_t n_tokens, n_keys; /* of the prefill; that the token sees which is decoded */
    int n_threads;            /* that share each call */
    int has_alibi;            /* and no RoPE */
    posenc_rope_params params;
    posenc_rope *rope;
    unsigned tiers; /* bit t: tier t is timed */
    double seconds; /* for each thing that is timed */
    bench_format format;
} bench_shape;

/* Ends the program where the arguments are wrong. shape->rope is the caller's to free. */
void bench_read_options(int argc, char **argv, bench_shape *shape);

static inline int bench_wants(const bench_shape *shape, int tier) {
    return (int)(shape->tiers >> tier & 1);
}

#endif
