/* SPDX-License-Identifier: MIT */
/* Shared by the parts of test_errors: watched memory, objects to call with, macros of table rows. */
#ifndef TRUTH_ERRORS_H
#define TRUTH_ERRORS_H

#include "truth.h"

/* ---- Memory: everything a call could write to ---- */

enum { DIM = 8, HEADS = 3, TOKENS = 4, BATCH = 2, N = DIM * HEADS * TOKENS * BATCH, PAIRS = DIM / 2, ARENA = 8192 };

extern float arena[ARENA];

/* Places in the arena, with room around each. */
extern float *const in, *const out, *const rows_a, *const rows_b;

extern const int32_t positions[TOKENS * BATCH];
extern const float slopes[TOKENS];

/* Made for every test: head_dim or dim 8, base 10000; the rope HALF, all rotated. */
extern posenc_freq *freq;
extern posenc_rope *rope;
extern posenc_encoding *pe;

/* The parameters of that rope. */
posenc_rope_params good_params(void);

/* [DIM, HEADS, TOKENS, BATCH] in float32. */
posenc_view dense(float *data);

/* By how much elements of 8 bytes are misaligned at least: 4, but on 32-bit x86, which has them at multiples of 4. */
struct truth_eight {
    char before;
    double number;
};
enum { HALF_OF_8 = offsetof(struct truth_eight, number) / 2 };

/* The address some bytes further: misaligned. */
void *shifted(const void *p, int bytes);

/* ---- Checks ---- */

extern int n_checks;

/* Remembers that the function has a row. */
void name(const char *function);

void nothing_written(const char *what);
void check(posenc_status got, posenc_status want, const char *what);

/* The call returns the status and writes nothing; what it may write lies in the arena. */
#define RETURNS(status, function, ...)                                                                                 \
    (name(#function), check(function(__VA_ARGS__), status, #function "(" #__VA_ARGS__ ")"))

/* The call creates nothing: the status, and a pointer that is NULL afterwards. */
#define CREATES_NOTHING(type, status, function, ...)                                                                   \
    do {                                                                                                               \
        type *made = (type *)(void *)arena;                                                                            \
        RETURNS(status, function, __VA_ARGS__, &made);                                                                 \
        assert_null(made);                                                                                             \
    } while (0)

/* A call that cannot fail, and what it answers. */
#define ANSWERS(condition, function, ...)                                                                              \
    do {                                                                                                               \
        name(#function);                                                                                               \
        n_checks++;                                                                                                    \
        assert_true(function(__VA_ARGS__) condition);                                                                  \
    } while (0)

/* ---- The tests of truth_errors_*.c ---- */

void test_views(void **state);
void test_half_views(void **state);
void test_huge_products(void **state);
void test_strides_of_one(void **state);
void test_empty(void **state);
void test_empty_rows(void **state);
void test_rows_of_nothing(void **state);
void test_nothing(void **state);
void test_overlap(void **state);
void test_overlap_between_rows(void **state);
void test_row_ranges(void **state);

void test_scores(void **state);
void test_score_positions(void **state);
void test_score_masks(void **state);
void test_score_rel_bias(void **state);
void test_score_relative(void **state);

void test_relative_views(void **state);
void test_relative_rules(void **state);
void test_relative_tables(void **state);
void test_rel_index_use(void **state);
void test_fire_params(void **state);
void test_cope_params(void **state);
void test_attention_params(void **state);
void test_attention_tasks(void **state);
void test_steps(void **state);
void test_attention_lists(void **state);
void test_attention_ragged(void **state);
void test_attention_blocks(void **state);
void test_blocks_built(void **state);
void test_index_scores(void **state);
void test_top_k(void **state);
void test_rel_bias(void **state);
void test_rel_bias_parameters(void **state);
void test_kerple(void **state);
void test_sandwich(void **state);
void test_bias_tables(void **state);
void test_buckets(void **state);
void test_one_row(void **state);
void test_swin(void **state);
void test_decomposed(void **state);
void test_gradients(void **state);

void test_rope_params(void **state);
void test_rope_questions(void **state);
void test_rope_apply(void **state);
void test_rope_coords(void **state);
void test_rope_coords_of_all(void **state);
void test_rope_tables(void **state);
void test_blocks(void **state);
void test_hadamard(void **state);
void test_rope_tasks(void **state);
void test_rope_config(void **state);
void test_positions(void **state);

void test_encoding_apply(void **state);
void test_encoding_parts(void **state);
void test_encoding_params(void **state);
void test_tables(void **state);
void test_conv(void **state);
void test_grouped_conv(void **state);
void test_more_positions(void **state);

void test_analysis_of_rows(void **state);
void test_analysis_of_frequencies(void **state);
void test_costs(void **state);

#endif
