/* SPDX-License-Identifier: MIT */
/* Biases, masks and relative terms of posenc_score_params, with their memory, for races of softmax and attention. */
#ifndef POSENC_BENCH_TERMS_H
#define POSENC_BENCH_TERMS_H

#include <posenc/softmax.h>

#include "bench.h"

enum { MAX_HEADS = 128 };

typedef struct bench_terms {
    posenc_score_params params; /* what the call is given */
    bench_job *job;
    int64_t n_heads, n_q, n_k;
    float slopes[MAX_HEADS];
    posenc_rel_bias rel_bias;
    posenc_rel_index index;
    posenc_view bias, by_query, by_key;
    posenc_bool_mask bytes;
    posenc_block_mask blocks;
    int64_t n_visible; /* pairs of query and key that a block mask leaves; 0: bench_count_visible counts them */
} bench_terms;

/* A scale, and queries that are the last of the keys. */
void terms_open(bench_terms *t, bench_job *job, int64_t n_heads, int64_t n_q, int64_t n_k);

/* Adds one term. Terms by offset cover the offsets that the mask leaves. */
typedef void terms_add(bench_terms *t);

terms_add terms_alibi, terms_rel_bias;
terms_add terms_t5;                       /* constant beyond its max_distance */
terms_add terms_mask_f32, terms_mask_f16; /* ggml's: one for all heads */
terms_add terms_cap, terms_causal, terms_window_256, terms_window_512;
terms_add terms_bytes;           /* which mask no key */
terms_add terms_tenth_of_blocks; /* of 128 by 128, full */
terms_add terms_blocks_of_mask;  /* the mask as blocks of 128 by 128, in its place; bytes in the partial ones */

/* Products with a table's rows are there. Rows by offset: as many as Shaw's keys have, in turns; Transformer-XL's, one
 * for each key; those of DeBERTa v3, by the query, by the key (p2c), or both. */
terms_add terms_by_query, terms_transformer_xl, terms_by_key, terms_deberta;

#endif
