/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "cache.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/view.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

/* More than the last caches of most CPUs hold. */
#define COPIES_BYTES ((size_t)160 << 20)

#define HUGE_PAGE ((size_t)2 << 20)

/* Values do not begin at the place in a page at which keys do: loads of one would wait for stores to the other. */
enum { STAGGER = 5 * 64 };

static int is_from_memory(cache_place place) {
    return place == CACHE_MEMORY || place == CACHE_MEMORY_HUGE;
}

static int is_huge(cache_place place) {
    return place == CACHE_HOT_HUGE || place == CACHE_MEMORY_HUGE;
}

const char *cache_place_name(cache_place place) {
    static const char *const names[CACHE_PLACES] = {"hot", "hot, huge pages", "memory", "memory, huge pages"};
    return names[place];
}

/* ---- Memory ---- */

/* Begins at a huge page, and has huge pages or none, where the system can be asked for either. */
static void map_memory(cache *c, int huge) {
#ifdef MADV_HUGEPAGE
    c->mapped_bytes = c->memory_bytes + HUGE_PAGE;
    c->mapped = mmap(NULL, c->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c->mapped == MAP_FAILED)
        bench_check(POSENC_ERR_MEMORY);
    c->memory = (char *)c->mapped + (HUGE_PAGE - (uintptr_t)c->mapped % HUGE_PAGE);
    (void)madvise(c->memory, c->memory_bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
    (void)huge;
    c->memory = c->mapped = malloc(c->memory_bytes);
    if (c->memory == NULL)
        bench_check(POSENC_ERR_MEMORY);
#endif
}

static void unmap_memory(cache *c) {
#ifdef MADV_HUGEPAGE
    munmap(c->mapped, c->mapped_bytes);
#else
    free(c->mapped);
#endif
}

int cache_has_huge_pages(const cache *c) {
    unsigned long begin, end, kb = 0;
    int is_inside = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            is_inside = begin <= (uintptr_t)c->memory && (uintptr_t)c->memory < end;
        else if (is_inside && sscanf(line, "AnonHugePages: %lu", &kb) == 1)
            break;
    }
    if (maps != NULL)
        fclose(maps);
    return is_inside && kb * 1024 >= c->memory_bytes / 2;
}

/* ---- Layout ---- */

static size_t row_bytes(posenc_dtype type, int64_t dim) {
    posenc_view row = posenc_view_dense(NULL, type, dim, 1, 1, 1);
    return (size_t)row.nb[1];
}

static int64_t heads_of_token(const cache_shape *s) {
    return s->stride_heads > 0 ? s->stride_heads : s->n_heads;
}

static size_t tensor_bytes(const cache_shape *s) {
    return row_bytes(s->type, s->head_dim) * (size_t)(heads_of_token(s) * s->n_keys);
}

size_t cache_bytes(const cache_shape *s) {
    size_t rows = (size_t)(s->n_heads * s->n_keys) * (s->v_dim > 0 ? 1 : 2);
    return rows * row_bytes(s->type, s->head_dim);
}

/* [dim, n_heads, n_keys, 1], or of a paged cache [dim, n_heads, page_size, n_pages]. */
static posenc_view view_of(const cache_shape *s, void *data) {
    int64_t n_tokens = s->page_size > 0 ? s->page_size : s->n_keys, n_pages = s->n_keys / n_tokens;
    if (s->layout == CACHE_H)
        return posenc_view_transpose(posenc_view_dense(data, s->type, s->head_dim, n_tokens, s->n_heads, n_pages), 1,
                                     2);
    posenc_view all = posenc_view_dense(data, s->type, s->head_dim, heads_of_token(s), n_tokens, n_pages);
    return posenc_view_slice(all, 1, 0, s->n_heads);
}

/* [n_keys, dim, n_heads, 1] */
static posenc_view transposed_view(const cache_shape *s, void *data) {
    return posenc_view_dense(data, s->type, s->n_keys, s->head_dim, s->n_heads, 1);
}

/* Pages in no order. */
static void add_pages(cache *c, const cache_shape *s) {
    int64_t n = s->n_keys / s->page_size;
    int32_t *numbers = malloc((size_t)n * sizeof *numbers);
    if (numbers == NULL)
        bench_check(POSENC_ERR_MEMORY);
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (int32_t)(i * 7 % n); /* n is a power of two */
    c->pages = (posenc_attention_pages){numbers, n, s->n_keys};
}

/* ---- Numbers ---- */

/* Different rows: random numbers take longer to draw than to copy. */
enum { N_ROWS = 1021, FIRST_VALUE = 17 };

static void fill_blocks(unsigned char *rows, size_t bytes, posenc_dtype type) {
    size_t size = (size_t)posenc_block_bytes(type);
    uint16_t scale = size > POSENC_QUANT_BLOCK ? 0x2000 : 0x3000; /* 2^-7, 2^-3 */
    for (size_t i = 0; i < bytes; i++)
        rows[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t i = 0; i + size <= bytes; i += size)
        for (size_t k = 0; k < posenc_header_bytes(type); k += sizeof scale)
            memcpy(rows + i + k, &scale, sizeof scale);
}

static void *new_rows(posenc_dtype type, int64_t dim) {
    size_t bytes = row_bytes(type, dim) * N_ROWS;
    void *rows = malloc(bytes);
    if (rows == NULL)
        bench_check(POSENC_ERR_MEMORY);
    if (posenc_has_blocks(type))
        fill_blocks(rows, bytes, type);
    else
        bench_random(rows, type, (size_t)(dim * N_ROWS), 1.0f);
    return rows;
}

static void fill_tensor(const cache *c, const cache_shape *s, posenc_view x, const char *rows, int64_t first) {
    size_t bytes = row_bytes(s->type, x.ne[0]);
    for (int64_t key = 0; key < s->n_keys; key++) {
        int64_t page = s->page_size > 0 ? c->pages.table[key / s->page_size] : 0;
        int64_t token = s->page_size > 0 ? key % s->page_size : key;
        for (int64_t head = 0; head < s->n_heads; head++)
            memcpy((char *)x.data + head * x.nb[1] + token * x.nb[2] + page * x.nb[3],
                   rows + bytes * (size_t)((first + key + 131 * head) % N_ROWS), bytes);
    }
}

static void fill_transposed(const cache_shape *s, posenc_view v, const char *rows, int64_t first) {
    size_t size = row_bytes(s->type, 1), bytes = size * (size_t)s->head_dim;
    for (int64_t head = 0; head < s->n_heads; head++)
        for (int64_t c = 0; c < s->head_dim; c++)
            for (int64_t key = 0; key < s->n_keys; key++)
                memcpy((char *)v.data + head * v.nb[2] + c * v.nb[1] + key * v.nb[0],
                       rows + bytes * (size_t)((first + key + 131 * head) % N_ROWS) + size * (size_t)c, size);
}

/* ---- A cache ---- */

static void open_values(cache *c, const cache_shape *s, void *data, const char *rows) {
    if (s->v_dim > 0) {
        c->v = posenc_view_slice(c->k, 0, 0, s->v_dim);
    } else if (s->is_v_transposed) {
        c->v = transposed_view(s, data);
        fill_transposed(s, c->v, rows, FIRST_VALUE);
    } else {
        c->v = view_of(s, data);
        fill_tensor(c, s, c->v, rows, FIRST_VALUE);
    }
}

void cache_open(cache *c, const cache_shape *s) {
    size_t k_bytes = tensor_bytes(s) + STAGGER, v_bytes = s->v_dim > 0 ? 0 : k_bytes;
    *c = (cache){.n_copies = 1, .copy_bytes = (k_bytes + v_bytes + 63) / 64 * 64};
    if (is_from_memory(s->place))
        c->n_copies += (int)(COPIES_BYTES / c->copy_bytes);
    c->memory_bytes = (c->copy_bytes * (size_t)c->n_copies + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    map_memory(c, is_huge(s->place));
    if (s->page_size > 0)
        add_pages(c, s);
    void *rows = new_rows(s->type, s->head_dim);
    c->k = view_of(s, c->memory);
    fill_tensor(c, s, c->k, rows, 0);
    open_values(c, s, c->memory + k_bytes, rows);
    free(rows);
    for (int i = 1; i < c->n_copies; i++)
        memcpy(c->memory + c->copy_bytes * (size_t)i, c->memory, c->copy_bytes);
}

void cache_close(cache *c) {
    unmap_memory(c);
    free((void *)c->pages.table);
}

void cache_next(cache *c, posenc_attention_args *args) {
    size_t offset = c->copy_bytes * (size_t)(c->turn++ % c->n_copies);
    args->k = c->k;
    args->v = c->v;
    args->k.data = (char *)c->k.data + offset;
    args->v.data = (char *)c->v.data + offset;
    args->pages = c->pages.table != NULL ? &c->pages : NULL;
}
