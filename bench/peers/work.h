/* SPDX-License-Identifier: MIT */
/* A piece of work, as every peer is asked for it: one line of words.
 *
 *     rope       layout=half|interleaved type=f32|f16|bf16 rows=made|ready tokens= heads= dim=      in place
 *     rows       dim= tokens= lone=0|1         cosines and sines of dim/2 pairs
 *     softmax    heads= queries= keys= alibi=0|1 causal=0|1     float32, apart; queries are the last of the keys;
 *                untouched=1: masked keys are left alone by those who can
 *     logits     the same, nothing read: what bias and mask write
 *     attention  layout=t|h place=hot|hot_huge|memory|memory_huge type=f32|f16|bf16|q8_0 math=f32|int16 heads=
 *                kv_heads= queries= keys= dim= dim_v= causal=0|1 window= page= stride_heads=     float32 Q, K and V of
 *                the type, in a cache (cache.h); dim_v= says that values are the first channels of the keys (MLA)
 *     benchmark  NAME                          one of posenc-bench's own, in the shape that its name tells
 *     stretches  rows=made|ready type= heads= dim= stride_heads=   the limit only: written, or scaled in place, each
 *                head by itself, so many heads apart
 *
 * and of each: threads=, whose time is taken on the wall (without it one, in processor time), ms= to measure for (20),
 * elements= that a call is divided by (1). */
#ifndef POSENC_BENCH_PEERS_WORK_H
#define POSENC_BENCH_PEERS_WORK_H

#include <stdint.h>

#include "cache.h"

typedef struct work {
    char kind[16], shape[256]; /* the first word, and the others as they came */
    char name[128];            /* of a benchmark */
    int64_t layout, type;      /* posenc_rope_layout or cache_layout, posenc_dtype */
    int64_t place, math;       /* cache_place, posenc_attention_math */
    int64_t ready, lone, alibi, causal, untouched;
    int64_t tokens, heads, kv_heads, queries, keys, dim, dim_v, window, page, stride_heads;
    int64_t threads, ms, elements;
} work;

int work_is(const work *w, const char *kind);

/* NULL, or what is wrong with the line. */
const char *work_parse(work *w, const char *line);

/* The cache that attention is asked for. */
cache_shape work_cache(const work *w);

#endif
