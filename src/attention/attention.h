/* SPDX-License-Identifier: MIT */
/* Internals of fused attention. A call is cut into work units: up to 96 (query, head) pairs of one KV head. A unit
 * walks its keys segment by segment, a segment key block by key block (512 keys).
 *
 *     attention.c      calls: the walk over units, or over split-KV partitions of them
 *     check.c          checks of a call's arguments; lists.c: checks of lists of keys, and their units
 *     unit.c           the pairs of a unit and its scratch; heads.c: several heads of one unit, one by one
 *     segment.c        a unit's keys, key block by key block: products, softmax, weighted sums
 *     block.c          visible keys of a key block, addresses of its rows, rows to prefetch
 *     blocks.c         block masks: what a query sees of a key block
 *     math.c           arithmetic of a call: floats.c (float32), quants.c (integers), bf16.c
 *     rotated.c        RoPE applied to K on load; row_addresses.c: rows by stride, page or list
 *     ragged.c         batches of sequences with different numbers of queries: a call for each
 *     combine.c        sums of segments and results of calls combined, results written
 *     reference.c      attention with its probabilities in memory; index.c, top_k.c: the indexer of sparse.h */
#ifndef POSENC_SRC_ATTENTION_H
#define POSENC_SRC_ATTENTION_H

#include <string.h>

#include <posenc/attention.h>

#include "core/view.h"
#include "softmax/scores.h"

/* Checks each tensor, and their extents against each other. The batches of k and v are not compared with q's: they may
 * be pages. (check.c) */
posenc_status posenc_check_attention(const posenc_view *q, const posenc_view *k, const posenc_view *v,
                                     const posenc_view *out);

/* Checks the log-sum-exp's view, if there is one. (check.c) */
posenc_status posenc_check_lse(const posenc_attention_args *args);

/* Checks that an output (NULL: none) overlaps no input of attention or of its softmax. (check.c) */
posenc_status posenc_check_inputs_apart(const posenc_attention_args *args, const posenc_view *output);

/* Checks that scratch or partitions overlap no view of the call, whose arguments have been checked. (check.c) */
posenc_status posenc_check_views_apart_from(const posenc_attention_args *args, const void *memory, size_t bytes);

/* Checks all arguments of a call. scores: extents of its scores, without memory. (check.c) */
posenc_status posenc_check_attention_args(const posenc_attention_args *args, const posenc_view *scores);

static inline int posenc_is_attention_dim(int64_t dim) {
    return dim >= 1 && dim <= POSENC_MAX_HEAD_DIM;
}

enum {
    POSENC_UNIT_PAIRS = 96,                    /* (query, head) pairs of a work unit: whole tiles of all kernels */
    POSENC_MOST_PAIRS = 3 * POSENC_UNIT_PAIRS, /* pairs of units that are computed together and share packed keys */
    POSENC_KEY_BLOCK = POSENC_SUM_BLOCK,       /* keys of a key block (posenc/attention.h) */
    POSENC_KEYS_PACKED = 2 * POSENC_PANEL, /* keys packed at a time: with head_dim 128 they fit in the first cache */
    POSENC_KEY_ROWS = POSENC_KEY_BLOCK + POSENC_KEYS_PACKED, /* addresses of a key block and of keys behind it */
    POSENC_HEADS_APART = 2,     /* KV heads that lie apart and are computed together at most */
    POSENC_VALUES_PACKED = 256, /* values packed at a time: 64 KB with 128 channels */
    POSENC_FEW_PAIRS = 16,      /* up to so many pairs of a head wait for memory, and do not pack values */
    POSENC_KEYS_EXACT = 128     /* first keys that INT16 computes in float32 (posenc/attention.h) */
};

/* ---- Calls and units ---- */

typedef struct posenc_attention_unit posenc_attention_unit;
typedef struct posenc_attention_keys posenc_attention_keys;
typedef struct posenc_attention_values posenc_attention_values;

typedef void posenc_attention_multiply(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at);
typedef void posenc_attention_sum(const posenc_attention_unit *u, const posenc_attention_values *values);

/* Arithmetic of a key block. */
typedef struct posenc_attention_steps {
    /* Multiplies the unit's queries with keys; results go to its scores from number `at` on. */
    posenc_attention_multiply *multiply;
    /* Adds weighted values to the block's sums. */
    posenc_attention_sum *sum;
    /* Keys whose values are summed as one, counted from the block's first. More than 1: `values` has a multiple of
     * them, and masked keys have a weight of 0. */
    size_t value_group;
    int sums_in_runs; /* a block's values may come in several runs */
} posenc_attention_steps;

/* A call after its checks. */
typedef struct posenc_attention_call {
    const posenc_attention_args *args;
    const posenc_kernels *kernels;
    posenc_view scores;  /* extents for softmax; has no memory */
    int64_t group;       /* query heads that share a KV head */
    int64_t per_kv_head; /* (query, head) pairs that share a KV head */
    int64_t n_segments;
    size_t n_exact;                                 /* keys of a first key block computed in float32; 0: none */
    void (*prepare)(const posenc_attention_unit *); /* the unit's queries for `steps`; NULL: they stay float32 */
    posenc_attention_steps steps, exact;            /* of all blocks, of that first one */
} posenc_attention_call;

/* Sets the steps and n_exact. (math.c) */
void posenc_attention_choose_steps(posenc_attention_call *call);

/* A work unit, or n_units of them that are computed together: (query, head) pairs of one KV head, or the same pairs of
 * n_heads KV heads. Pair p is pair first + p % n of KV head kv_head + p / n. Pair i of a KV head is query i / group,
 * head i % group of the group. */
struct posenc_attention_unit {
    const posenc_attention_call *call;
    int64_t batch;
    int64_t kv_head, n_heads; /* KV heads */
    int64_t first, n;         /* pairs of each KV head; n_heads * n <= POSENC_MOST_PAIRS */
    int64_t n_units;
    const int32_t *list; /* key j is number list[j] of the sequence; NULL: number j */
    size_t n_keys;
    posenc_rows_ahead after[2]; /* prefetched with the last values: the unit's rows of out, the next unit's of q */
    /* Scratch for each pair: */
    const void **rows_after;          /* rows of `after`: POSENC_MOST_PAIRS of out, as many of q */
    posenc_softmax_row_args *rows;    /* softmax's arguments for all keys */
    float *queries;                   /* float32 or bf16, posenc_query_floats(head_dim) apart */
    int16_t *query_numbers;           /* integers, head_dim apart, with a scale for each block */
    float *query_scales, *query_sums; /* sums: of a block's integers, times its scale */
    float *scores;                    /* scores of a key block, then their exponentials; POSENC_KEY_BLOCK apart */
    float *side; /* weighted sums of a key block until its last run, posenc_sums_floats(v_dim) apart */
    /* Scratch for a key block: addresses of the first head's keys, of some keys behind the block, and of its values.
     * The second head's, where heads lie apart, follow POSENC_KEY_ROWS and POSENC_KEY_BLOCK addresses later. */
    const void **key_rows, **value_rows;
    /* Scratch for POSENC_KEYS_PACKED keys of one head: */
    float *panels;  /* packed keys */
    float *rotated; /* rotated keys in float32; shares memory with query_numbers: integers are never rotated */
    float *staged;  /* packed values, in float32 or bf16; shares memory with panels and rotated */
};

/* Floats from query to query: whole blocks of bf16, so that both bf16 parts of a number fit in its place. */
static inline size_t posenc_query_floats(int64_t head_dim) {
    return (size_t)((head_dim + POSENC_BF16_BLOCK - 1) / POSENC_BF16_BLOCK * POSENC_BF16_BLOCK);
}

/* Floats from row to row in the scratch: whole cache lines. */
static inline size_t posenc_padded(int64_t n) {
    return (size_t)((n + 15) / 16 * 16);
}

/* Floats from panel to panel of n packed values. A cache line lies between panels: rows that are written to all of them
 * would otherwise share a set of the first cache. */
static inline size_t posenc_value_panel_floats(size_t n) {
    return (n + 1) * POSENC_VALUE_PANEL;
}

/* Floats from row to row of sums in the scratch: v_dim sums, the largest logit, the sum of exponentials. */
static inline size_t posenc_sums_floats(int64_t v_dim) {
    return posenc_padded(v_dim + 2);
}

/* Work units of n_pairs pairs of one KV head. */
static inline int64_t posenc_units_of(int64_t n_pairs) {
    return n_pairs / POSENC_UNIT_PAIRS + (n_pairs % POSENC_UNIT_PAIRS > 0);
}

static inline int64_t posenc_attention_pairs(const posenc_attention_unit *u) {
    return u->n_heads * u->n;
}

/* Unit `number`, together with up to most - 1 units that follow it; n_units says how many. (unit.c) */
posenc_attention_unit posenc_attention_unit_at(const posenc_attention_call *call, int64_t number, int64_t most);

/* KV heads from kv_head on, at most n, whose lists of the first query name the same keys in the same order: n where all
 * heads share one. (lists.c) */
int64_t posenc_attention_heads_with_one_list(const posenc_attention_call *call, int64_t batch, int64_t kv_head,
                                             int64_t n);

/* 1 if a token's heads, with gaps or without, come before the next token's, as engines append them to a cache.
 * (unit.c) */
int posenc_attention_has_whole_tokens(const posenc_view *x);

/* Query, head and sequence of a pair. Inlined: a place that is returned in memory is read by wider loads than it is
 * stored, which then wait for all stores before. Divides only where there is something to divide: divisions take as
 * long as the rest of a pair's set-up. */
static inline posenc_row_place posenc_attention_place(const posenc_attention_unit *u, int64_t pair) {
    int64_t group = u->call->group, head = pair < u->n ? 0 : pair / u->n, of_head = u->first + pair - head * u->n;
    int64_t query = group == 1 ? of_head : of_head / group;
    return (posenc_row_place){
        .query = query,
        .head = (u->kv_head + head) * group + of_head - query * group,
        .batch = u->batch,
    };
}

/* Copies by 64 bytes: gcc copies a struct of this size with an instruction that takes 35 ns. */
static inline void posenc_copy_row_args(const posenc_softmax_row_args *from, posenc_softmax_row_args *to) {
    enum { PIECE = 64, REST = sizeof *to % PIECE };
    for (size_t byte = 0; byte < sizeof *to - REST; byte += PIECE)
        memcpy((char *)to + byte, (const char *)from + byte, PIECE);
    memcpy((char *)to + sizeof *to - REST, (const char *)from + sizeof *to - REST, REST);
}

/* Prefetches the row of q or out that is 16 pairs behind `pair`; for pair 0 also the rows between. Where heads lie side
 * by side, rows are pages apart, and prefill of 1024 tokens took 1.04 to 1.07 times as long without (AMD Zen 3). */
void posenc_attention_fetch_ahead(const posenc_attention_unit *u, const posenc_view *x, int64_t pair);

/* Floats of a unit's scratch, and of the staged values in it. */
size_t posenc_attention_unit_floats(int64_t head_dim, int64_t v_dim);
size_t posenc_attention_staged_floats(int64_t head_dim, int64_t v_dim);

/* Places the unit in its scratch, and fills in softmax's arguments and the queries. */
void posenc_attention_begin_unit(posenc_attention_unit *u, float *scratch);

/* Weighted sums so far. The row of a pair has v_dim sums, the largest logit and the sum of exponentials. */
typedef struct posenc_attention_sums {
    float *rows;
    size_t stride; /* in floats */
} posenc_attention_sums;

/* Computes the sums of one segment of keys. (segment.c) */
void posenc_attention_segment(const posenc_attention_unit *u, int64_t segment, posenc_attention_sums sums);

/* ---- Lists of keys (lists.c) ---- */

/* An argument that does not go with another. */
typedef struct posenc_attention_term {
    const char *name;
    int is_given;
} posenc_attention_term;

/* Name of the first term that is given; NULL: none. (check.c) */
const char *posenc_attention_first_given(const posenc_attention_term *terms, size_t n);

/* Checks lists of keys. Softmax's parameters and pages must have been checked. */
posenc_status posenc_check_lists(const posenc_attention_args *args, const posenc_view *scores);

/* Pairs of the unit, from pair `done` of each head on, that have one list of keys; all pairs without lists. */
posenc_attention_unit posenc_attention_share(const posenc_attention_unit *unit, int64_t done);

/* ---- Rows of keys and values (row_addresses.c, rotated.c) ---- */

/* Sets rows to the addresses of keys or values [j, j + n) of the unit's first head. */
void posenc_attention_row_addresses(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t n,
                                    const void **rows);

/* Returns the address of row j in its page or list. Lowers *n to the rows from j on that lie at x's stride. */
const void *posenc_attention_row_run(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t *n);

/* Widens n rows of x, the first at `rows`, to float32. */
void posenc_attention_widen(const posenc_attention_unit *u, const posenc_view *x, const void *rows, int64_t n,
                            float *to);

/* Keys [first, first + n) that are multiplied at a time. n <= POSENC_KEYS_PACKED, `first` is a multiple of a panel. */
struct posenc_attention_keys {
    int64_t first, n;
    const void *const *rows;      /* addresses in the unit's first head */
    int64_t first_pair, end_pair; /* pairs outside [first_pair, end_pair) see none of the keys */
    posenc_rows_ahead ahead[2];   /* rows of all heads, prefetched meanwhile */
};

/* Rows and type of keys that are multiplied: the cache's own, or rotated copies in float32. */
typedef struct posenc_attention_stored {
    const void *const *rows;
    posenc_dtype type;
} posenc_attention_stored;

/* Rotates keys into u->rotated if the call applies RoPE on load, and sets rows to the copies. */
posenc_attention_stored posenc_attention_rotated(const posenc_attention_unit *u, const posenc_attention_keys *keys,
                                                 const void *rows[POSENC_KEYS_PACKED]);

/* Values [begin, end) of a key block that are summed at a time. */
struct posenc_attention_values {
    size_t begin, end;
    const void *const *rows;       /* addresses in the unit's first head; of any value where no pair sees one */
    const posenc_visible *visible; /* keys visible to each pair, counted from the block's first */
    int has_hole;                  /* 1 if the visible keys of a pair have a hole */
    int64_t first_pair, end_pair;  /* pairs outside [first_pair, end_pair) see no key of the block */
    int is_first, is_last;         /* first or last values of the block */
    const float *keep;             /* factor of each pair's sums before this block */
    posenc_attention_sums sums;
    posenc_rows_ahead ahead[2]; /* rows of all heads, prefetched meanwhile */
};

/* Calls a step once for each of the unit's heads, for kernels that know one head. Each call has the head's rows and its
 * share of the rows to prefetch. (heads.c) */
void posenc_attention_multiply_by_heads(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at,
                                        posenc_attention_multiply *multiply);
void posenc_attention_sum_by_heads(const posenc_attention_unit *u, const posenc_attention_values *values,
                                   posenc_attention_sum *sum);

/* ---- Steps: in float32 (floats.c), in integers (quants.c), in bf16 (bf16.c) ---- */

void posenc_attention_multiply_floats(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at);
void posenc_attention_sum_floats(const posenc_attention_unit *u, const posenc_attention_values *values);

/* Values that the float32 step sums at a time: as many as it packs, or a key block. */
size_t posenc_attention_values_at_a_time(const posenc_attention_unit *u);

void posenc_attention_quantise_queries(const posenc_attention_unit *u);
void posenc_attention_multiply_quants(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at);
void posenc_attention_sum_quants(const posenc_attention_unit *u, const posenc_attention_values *values);

void posenc_attention_round_queries(const posenc_attention_unit *u);
void posenc_attention_multiply_bf16(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at);
void posenc_attention_sum_bf16(const posenc_attention_unit *u, const posenc_attention_values *values);

/* ---- Rows of sums (combine.c) ---- */

/* Sets a total to no key, and to the head's sink. */
void posenc_attention_start(const posenc_attention_call *call, int64_t head, float *total);

/* Combines a total with the sums of a segment. */
void posenc_attention_add(const posenc_attention_call *call, const float *segment, float *total);

/* Normalises the total of a pair and writes it to out, and its logarithm to lse. */
void posenc_attention_finish(const posenc_attention_unit *u, int64_t pair, const float *total);

#endif
