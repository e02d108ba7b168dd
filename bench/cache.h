/* SPDX-License-Identifier: MIT */
/* Keys and values as engines keep them: the layout in memory, pages of the cache and of the system, and whether the
 * processor's caches hold them when a call begins. */
#ifndef POSENC_BENCH_CACHE_H
#define POSENC_BENCH_CACHE_H

#include <posenc/attention.h>

#include "bench.h"

/* T: a token's heads side by side (llama.cpp, vLLM). H: a head's tokens side by side (PyTorch, ONNX Runtime). */
typedef enum cache_layout { CACHE_T, CACHE_H } cache_layout;

/* HOT: each call has the same keys and values. MEMORY: each has the next of so many copies that the caches hold none,
 * as the layers of a model. MEMORY_HUGE: the same in huge pages of the system, where it has them; the others are in
 * pages of 4 KB. */
typedef enum cache_place { CACHE_HOT, CACHE_HOT_HUGE, CACHE_MEMORY, CACHE_MEMORY_HUGE, CACHE_PLACES } cache_place;

typedef struct cache_shape {
    posenc_dtype type;
    int64_t head_dim, v_dim; /* v_dim: values are the first so many channels of the keys (MLA); 0: their own tensor */
    int64_t n_heads, n_keys;
    int64_t stride_heads; /* of layout t: heads from token to token, where the call sees a part of them; 0: n_heads */
    int64_t page_size;    /* keys of a page of a paged cache; 0: not paged */
    int is_v_transposed;  /* a channel's keys side by side, as llama.cpp has V without flash attention; not for calls */
    cache_layout layout;
    cache_place place;
} cache_shape;

typedef struct cache {
    posenc_view k, v; /* of copy 0 */
    int n_copies, turn;
    size_t copy_bytes;
    posenc_attention_pages pages; /* of a paged cache */
    char *memory;
    size_t memory_bytes;
    void *mapped; /* what memory is a part of */
    size_t mapped_bytes;
} cache;

/* "hot", "hot, huge pages", "memory", "memory, huge pages" */
const char *cache_place_name(cache_place place);

/* Allocates and fills. A head of a key has the same numbers in every layout, page and copy. */
void cache_open(cache *c, const cache_shape *shape);
void cache_close(cache *c);

/* Sets k, v and pages of the call to the next copy. */
void cache_next(cache *c, posenc_attention_args *args);

/* Bytes of one copy's keys and values; and 1 if the system gave the cache huge pages. */
size_t cache_bytes(const cache_shape *shape);
int cache_has_huge_pages(const cache *c);

#endif
