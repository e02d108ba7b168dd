/* SPDX-License-Identifier: MIT */
/* Inside of attention: checks, units of work, and the steps of their arithmetic.
 *
 *     attention.c   the calls: units, or parts of units, in turn
 *     unit.c        what a unit is, and its scratch
 *     segment.c     a unit's keys, block by block: products, softmax, weighted sums
 *     block.c       what a block's pairs see, where its rows are, and which are fetched next
 *     math.c        which steps a call's arithmetic has: floats.c, quants.c (integers), pairs.c (bf16)
 *     combine.c     sums of segments joined, results written */
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

enum {
    POSENC_UNIT_PAIRS = 96,                    /* pairs of a unit: whole tiles of all bodies */
    POSENC_MOST_PAIRS = 2 * POSENC_UNIT_PAIRS, /* of units that are visited together, and share the packing of keys */
    POSENC_KEY_BLOCK = POSENC_SUM_BLOCK,       /* keys of a block; attention.h says so */
    POSENC_KEYS_PACKED =
        2 * POSENC_PANEL,       /* keys that are packed at a time: with head_dim 128 they stay in the first cache */
    POSENC_VALUES_PACKED = 256, /* values that are packed at a time: with 128 channels 64 KB */
    POSENC_FEW_PAIRS = 16,      /* pairs of a head that wait for memory, and sum values where these stand */
    POSENC_KEYS_EXACT = 128     /* first keys, in float32 whatever their type; attention.h says so of INT16 */
};

/* ---- Calls and units ---- */

typedef struct posenc_attention_unit posenc_attention_unit;
typedef struct posenc_attention_keys posenc_attention_keys;
typedef struct posenc_attention_values posenc_attention_values;

typedef void posenc_attention_multiply(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at);
typedef void posenc_attention_sum(const posenc_attention_unit *u, const posenc_attention_values *values);

/* The arithmetic of a block of keys. */
typedef struct posenc_attention_steps {
    /* Products of the unit's queries with keys, to its scores from number `at` on. */
    posenc_attention_multiply *multiply;
    /* Adds weighted values to the block's sums. */
    posenc_attention_sum *sum;
    /* Values are summed by groups of so many keys, counted from the block's first: `values` then has whole groups, and
     * masked keys a weight of 0. 1: each key by itself. */
    size_t value_group;
    int sums_in_runs; /* a block's values may come in several runs */
} posenc_attention_steps;

/* What a call works on. */
typedef struct posenc_attention_call {
    const posenc_attention_args *args;
    const posenc_kernels *kernels;
    posenc_view scores;  /* as softmax sees them: never written, so they lie nowhere */
    int64_t group;       /* heads that share a head of keys and values */
    int64_t per_kv_head; /* (query, head) pairs that do */
    int64_t n_segments;
    size_t n_exact;                                 /* keys of a first block that is computed in float32; 0: none */
    void (*prepare)(const posenc_attention_unit *); /* the unit's queries for `steps`; NULL: they stay float32 */
    posenc_attention_steps steps, exact;            /* of all blocks, of that first one */
} posenc_attention_call;

/* Sets the steps and n_exact. (math.c) */
void posenc_attention_choose_steps(posenc_attention_call *call);

/* A unit, or n_units of them that are visited together: pairs of one head of keys and values, or the same of several.
 * Pair p is pair first + p % n of head kv_head + p / n; pair i of a head is query i / group, head i % group of the
 * group. */
struct posenc_attention_unit {
    const posenc_attention_call *call;
    int64_t batch;
    int64_t kv_head, n_heads; /* heads of keys and values */
    int64_t first, n;         /* of each; n_heads * n <= POSENC_MOST_PAIRS */
    int64_t n_units;
    const int32_t *list; /* key j is number list[j] of the sequence; NULL: number j */
    size_t n_keys;
    posenc_rows_ahead after[2]; /* fetched with its last values: its rows of out, and the next unit's of q */
    /* In the caller's scratch, for each pair: */
    posenc_softmax_row_args *rows; /* how the scores of all its keys become exponentials */
    float *queries;                /* in float32 or bf16, posenc_query_floats(head_dim) apart */
    int16_t *query_numbers;        /* as integers, head_dim apart, with a scale for each block */
    float *query_scales;
    float *scores; /* of a block's keys, POSENC_KEY_BLOCK apart, then their exponentials */
    float *side;   /* weighted sums of a block's values while its runs go by, posenc_sums_floats(v_dim) apart */
    /* For a block, the addresses of the first head's keys, and of some behind them, and of its values: */
    const void **key_rows, **value_rows;
    /* For POSENC_KEYS_PACKED keys of one head: */
    float *panels;  /* packed */
    float *rotated; /* in float32; query_numbers have the same memory: keys that are rotated are no integers */
    float *staged;  /* packed values, in float32 or bf16: the memory of both */
};

/* Floats from query to query, in whole blocks of pairs: both parts of each number have room where it stands. */
static inline size_t posenc_query_floats(int64_t head_dim) {
    return (size_t)((head_dim + POSENC_BF16_BLOCK - 1) / POSENC_BF16_BLOCK * POSENC_BF16_BLOCK);
}

/* Floats from row to row in the scratch, in whole lines of the caches. */
static inline size_t posenc_padded(int64_t n) {
    return (size_t)((n + 15) / 16 * 16);
}

/* Floats from panel to panel of n packed values. A line of the caches lies between panels: rows that are written to all
 * of them would otherwise share a set of the first cache. */
static inline size_t posenc_value_panel_floats(size_t n) {
    return (n + 1) * POSENC_VALUE_PANEL;
}

/* Floats from sum to sum in the scratch: v_dim, the largest logit and the sum of exponentials. */
static inline size_t posenc_sums_floats(int64_t v_dim) {
    return posenc_padded(v_dim + 2);
}

/* Units that so many pairs of one head of keys are cut into. */
static inline int64_t posenc_units_of(int64_t n_pairs) {
    return n_pairs / POSENC_UNIT_PAIRS + (n_pairs % POSENC_UNIT_PAIRS > 0);
}

static inline int64_t posenc_attention_pairs(const posenc_attention_unit *u) {
    return u->n_heads * u->n;
}

/* Unit `number`, visited together with up to most - 1 that follow it: its n_units are how many. (unit.c) */
posenc_attention_unit posenc_attention_unit_at(const posenc_attention_call *call, int64_t number, int64_t most);

posenc_row_place posenc_attention_place(const posenc_attention_unit *u, int64_t pair);

/* Fetches the row of q or out that is some pairs behind `pair`, and with pair 0 those between: where heads lie side by
 * side, rows are pages apart, and prefill of 1024 tokens took 1.04 to 1.07 times as long (AMD Zen 3). */
void posenc_attention_fetch_ahead(const posenc_attention_unit *u, const posenc_view *x, int64_t pair);

/* Floats of a unit's scratch, and of its staged values. */
size_t posenc_attention_unit_floats(int64_t head_dim, int64_t v_dim);
size_t posenc_attention_staged_floats(int64_t head_dim, int64_t v_dim);

/* Puts the unit into its scratch, with what stands there before the first key: rows and queries. */
void posenc_attention_begin_unit(posenc_attention_unit *u, float *scratch);

/* Weighted sums so far: a row for each pair, v_dim sums, then the largest logit and the sum of exponentials. */
typedef struct posenc_attention_sums {
    float *rows;
    size_t stride; /* in floats */
} posenc_attention_sums;

/* Sums of one segment of keys alone. (segment.c) */
void posenc_attention_segment(const posenc_attention_unit *u, int64_t segment, posenc_attention_sums sums);

/* ---- Lists of keys (lists.c) ---- */

/* After softmax's parameters and pages are checked; scores as above. */
posenc_status posenc_check_lists(const posenc_attention_args *args, const posenc_view *scores);

/* The unit's pairs from pair `done` of each head on that share their keys. */
posenc_attention_unit posenc_attention_share(const posenc_attention_unit *unit, int64_t done);

/* ---- Rows of keys and values (row_addresses.c, rotated.c) ---- */

/* Addresses of keys or values j .. j + n - 1 of the unit's first head, and the bytes of each. */
void posenc_attention_row_addresses(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t n,
                                    const void **rows);
size_t posenc_attention_row_bytes(const posenc_view *x);

/* Address of row j in its page or list; *n becomes the number of rows, up to *n, that follow at x's stride. */
const void *posenc_attention_row_run(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t *n);

/* n rows of x, of which `rows` is the first, as rows of float32. */
void posenc_attention_widen(const posenc_attention_unit *u, const posenc_view *x, const void *rows, int64_t n,
                            float *to);

/* Keys at work, n <= POSENC_KEYS_PACKED, where `first` is a multiple of a panel; and rows of all heads that are fetched
 * meanwhile. */
struct posenc_attention_keys {
    int64_t first, n;
    const void *const *rows;      /* the address of each, of the unit's first head */
    int64_t first_pair, end_pair; /* no pair before or behind these sees one of them */
    posenc_rows_ahead ahead[2];
};

/* Keys as they are multiplied: where they stand, or rotated. */
typedef struct posenc_attention_stored {
    const void *const *rows;
    posenc_dtype type;
} posenc_attention_stored;

/* Rotates keys if the call says so: rows then has the addresses of what is in `rotated`. */
posenc_attention_stored posenc_attention_rotated(const posenc_attention_unit *u, const posenc_attention_keys *keys,
                                                 const void *rows[POSENC_KEYS_PACKED]);

/* Values begin .. end - 1 of a block; rows has the address of each, of the unit's first head, or of any value where no
 * pair sees it. */
struct posenc_attention_values {
    size_t begin, end;
    const void *const *rows;
    const posenc_visible *visible; /* by each pair, counted from the block's first */
    int has_hole;                  /* in what any pair sees */
    int is_first, is_last;         /* of the block's */
    const float *keep;             /* what the sums before this block are multiplied by, for each pair */
    posenc_attention_sums sums;
    posenc_rows_ahead ahead[2]; /* fetched meanwhile, of all heads */
};

/* Calls a step whose kernels know one head for each of the unit's heads, with its rows and its share of those that are
 * fetched. (heads.c) */
void posenc_attention_multiply_by_heads(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at,
                                        posenc_attention_multiply *multiply);
void posenc_attention_sum_by_heads(const posenc_attention_unit *u, const posenc_attention_values *values,
                                   posenc_attention_sum *sum);

/* ---- Steps: in float32 (floats.c), in integers (quants.c), in bf16 (pairs.c) ---- */

void posenc_attention_multiply_floats(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at);
void posenc_attention_sum_floats(const posenc_attention_unit *u, const posenc_attention_values *values);

/* Values that the float32 step takes at a time: those that it packs, or all. */
size_t posenc_attention_values_at_a_time(const posenc_attention_unit *u);

void posenc_attention_quantise_queries(const posenc_attention_unit *u);
void posenc_attention_multiply_quants(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at);
void posenc_attention_sum_quants(const posenc_attention_unit *u, const posenc_attention_values *values);

void posenc_attention_round_queries(const posenc_attention_unit *u);
void posenc_attention_multiply_bf16(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at);
void posenc_attention_sum_bf16(const posenc_attention_unit *u, const posenc_attention_values *values);

/* ---- Rows of sums: what a head starts from, a segment's added, and the result written. (combine.c) ---- */

void posenc_attention_start(const posenc_attention_call *call, int64_t head, float *total);
void posenc_attention_add(const posenc_attention_call *call, const float *segment, float *total);
void posenc_attention_finish(const posenc_attention_call *call, posenc_row_place at, const float *total);

#endif
