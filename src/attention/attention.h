/* SPDX-License-Identifier: MIT */
/* Inside of attention: checks shared with the reference, and a unit of work. */
#ifndef POSENC_SRC_ATTENTION_H
#define POSENC_SRC_ATTENTION_H

#include <posenc/attention.h>

#include "core/view.h"
#include "softmax/scores.h"

/* The tensors, each alone and with each other. The batches of k and v are not compared with q's: they may be pages.
 * (check.c) */
posenc_status posenc_check_attention(const posenc_view *q, const posenc_view *k, const posenc_view *v,
                                     const posenc_view *out);

/* An output (NULL: none) overlaps none of the inputs, those of the softmax path included. (check.c) */
posenc_status posenc_check_inputs_apart(const posenc_attention_args *args, const posenc_view *output);

/* The arguments of a call; scores stands for the scores that it has. (check.c) */
posenc_status posenc_check_attention_args(const posenc_attention_args *args, const posenc_view *scores);

static inline int posenc_is_attention_dim(int64_t dim) {
    return dim >= 1 && dim <= POSENC_MAX_HEAD_DIM;
}

/* Rows in the scratch are this far apart, in floats. */
static inline size_t posenc_padded(int64_t n) {
    return (size_t)((n + 15) / 16 * 16);
}

/* Queries, in whole blocks of pairs: both parts of each number have room where it stands. */
static inline size_t posenc_query_floats(int64_t head_dim) {
    return (size_t)((head_dim + POSENC_PAIR_BLOCK - 1) / POSENC_PAIR_BLOCK * POSENC_PAIR_BLOCK);
}

enum {
    POSENC_UNIT_ROWS =
        96, /* (query, head) pairs of a unit, which share the packing of keys: whole tiles of all bodies */
    POSENC_KEY_BLOCK = POSENC_SUM_BLOCK, /* keys of a block; attention.h says so */
    POSENC_KEYS_PACKED =
        2 * POSENC_PANEL, /* keys that are packed at a time: with head_dim 128 they stay in the first cache */
    POSENC_KEYS_EXACT = 128 /* first keys, in float32 whatever their type; attention.h says so of INT16 */
};

/* What a call works on. */
typedef struct posenc_attention_call {
    const posenc_attention_args *args;
    const posenc_kernels *kernels;
    posenc_view scores;  /* as softmax sees them: never written, so they lie nowhere */
    int64_t group;       /* heads that share a head of keys and values */
    int64_t per_kv_head; /* (query, head) pairs that do */
    int64_t n_segments;
} posenc_attention_call;

/* A unit: pairs of one head of keys and values; pair p is query p / group, head p % group of the group. */
typedef struct posenc_attention_unit {
    const posenc_attention_call *call;
    int64_t batch, kv_head;
    int64_t first, n;    /* pairs first .. first + n - 1 of the head, n <= POSENC_UNIT_ROWS */
    const int32_t *list; /* key j is number list[j] of the sequence; NULL: number j */
    size_t n_keys;
    /* In the caller's scratch, a row for each pair: */
    posenc_softmax_row_args *rows; /* how the scores of all its keys become exponentials */
    float *queries;                /* in float32, posenc_query_floats(head_dim) apart */
    float *scores;                 /* of a block's keys, POSENC_KEY_BLOCK apart, then their exponentials */
    float *side;                   /* weighted sums of a block's values while its runs go by */
    /* of a block, addresses of keys and of some behind them, and of values: */
    const void **key_rows, **value_rows;
    /* and of keys, POSENC_KEYS_PACKED at a time: */
    float *panels; /* packed; with the memory of `stage` behind it, values in float32 or bf16 */
    float *stage;  /* rotated, in float32; or the queries as integers */
} posenc_attention_unit;

/* Weighted sums so far: a row for each pair, v_dim sums, then the largest logit and the sum of exponentials. */
typedef struct posenc_attention_sums {
    float *rows;
    size_t stride; /* in floats */
} posenc_attention_sums;

/* Keys at work, n <= POSENC_KEYS_PACKED, of which `first` is a multiple of a panel; and what is fetched meanwhile. */
typedef struct posenc_attention_keys {
    int64_t first, n;
    const void *const *rows; /* the address of each */
    posenc_rows_ahead ahead[2];
} posenc_attention_keys;

/* Keys as they are multiplied: where they stand, or rotated. */
typedef struct posenc_attention_stored {
    const void *const *rows;
    posenc_dtype type;
} posenc_attention_stored;

/* Rotates keys if the call says so: rows then has the addresses of what is in `stage`. (keys.c) */
posenc_attention_stored posenc_attention_rotated(const posenc_attention_unit *u, const posenc_attention_keys *keys,
                                                 const void *rows[POSENC_KEYS_PACKED]);

/* Keys as panels of float32. */
void posenc_attention_pack(const posenc_attention_unit *u, const posenc_attention_keys *keys);

/* 1 if the unit's pairs are so few that n keys are multiplied where they stand. */
int posenc_attention_multiplies_few(const posenc_attention_unit *u, int64_t n);

/* Then: the products of its queries with keys, to its scores from `scores` on. */
void posenc_attention_multiply_few(const posenc_attention_unit *u, const posenc_attention_keys *keys, float *scores);

/* 1 if values are summed in float32, where keys were packed: those of many pairs, whose queries are no integers. */
int posenc_attention_stages_values(const posenc_attention_unit *u);

/* Values j .. j + n - 1, or the first of them, in float32; rows then has their addresses. How many they are. */
int64_t posenc_attention_stage_values(const posenc_attention_unit *u, int64_t j, int64_t n, const void **rows);

/* 1 if the unit waits for memory, so that its values are fetched too. Values that the caches hold anyway would pay 4 %
 * for it. */
int posenc_attention_waits(const posenc_attention_unit *u);

/* Addresses of keys or values j .. j + n - 1 of the unit's head, and the bytes of each. */
void posenc_attention_row_addresses(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t n,
                                    const void **rows);
size_t posenc_attention_row_bytes(const posenc_view *x);

/* ---- Lists of keys (lists.c) ---- */

/* After softmax's parameters and pages are checked; scores as above. */
posenc_status posenc_check_lists(const posenc_attention_args *args, const posenc_view *scores);

/* Of a unit, the pairs from its pair `done` on that share their keys. */
posenc_attention_unit posenc_attention_share(const posenc_attention_unit *unit, int64_t done);

/* ---- In integers (quants.c) ---- */

/* 1 if the products with keys, or the sums of values, are. */
int posenc_attention_has_quant_keys(const posenc_attention_call *call);
int posenc_attention_has_quant_values(const posenc_attention_call *call);

/* The unit's queries as integers, in `stage`, where keys that are rotated would be: they are multiplied in float32. */
void posenc_attention_quantise_queries(const posenc_attention_unit *u);

/* The products of its queries with keys, as posenc_attention_multiply_few. */
void posenc_attention_multiply_quants(const posenc_attention_unit *u, const posenc_attention_keys *keys, float *scores);

/* The block's sums from key `first` on of the pairs' weighted values, to sums after they are multiplied by keep. rows:
 * the address of each of n_rows values, whole groups; where the weight is 0, of any. */
void posenc_attention_sum_quants(const posenc_attention_unit *u, const void *const *rows, size_t n_rows,
                                 const float *keep, posenc_attention_sums sums);

/* ---- In bf16 (pairs.c) ---- */

/* 1 if products with keys and sums of values are. */
int posenc_attention_has_pairs(const posenc_attention_call *call);

/* The unit's queries, where they stand. */
void posenc_attention_round_queries(const posenc_attention_unit *u);

/* The products of its queries with keys, as posenc_attention_multiply_few. */
void posenc_attention_multiply_pairs(const posenc_attention_unit *u, const posenc_attention_keys *keys, float *scores);

/* The block's sums of the pairs' weighted values, to sums after they are multiplied by keep. rows: the address of each
 * of n_rows values from the block's first on, of which those from `begin` on may have a weight; where it is 0, of any.
 * Weights up to the next multiple of 32 are 0. */
void posenc_attention_sum_pairs(const posenc_attention_unit *u, const void *const *rows, size_t begin, size_t n_rows,
                                const float *keep, posenc_attention_sums sums);

/* Units that so many (query, head) pairs of one head of keys are cut into. */
static inline int64_t posenc_units_of(int64_t n_pairs) {
    return n_pairs / POSENC_UNIT_ROWS + (n_pairs % POSENC_UNIT_ROWS > 0);
}

/* A unit, its scratch of so many floats, and what stands in it before the first key: rows and queries.
 * (tile.c) */
posenc_attention_unit posenc_attention_unit_at(const posenc_attention_call *call, int64_t number);
size_t posenc_attention_unit_floats(int64_t head_dim, int64_t v_dim);
size_t posenc_attention_panel_floats(int64_t head_dim, int64_t v_dim); /* of its panels and stage */
void posenc_attention_begin_unit(posenc_attention_unit *u, float *scratch);
posenc_row_place posenc_attention_place(const posenc_attention_unit *u, int64_t pair);

/* Sums of one segment of keys alone. */
void posenc_attention_segment(const posenc_attention_unit *u, int64_t segment, posenc_attention_sums sums);

/* Rows of sums: what a head starts from, a segment's added, and the result written. (combine.c) */
void posenc_attention_start(const posenc_attention_call *call, int64_t head, float *total);
void posenc_attention_add(const posenc_attention_call *call, const float *segment, float *total);
void posenc_attention_finish(const posenc_attention_call *call, posenc_row_place at, const float *total);

#endif
