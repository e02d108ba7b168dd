/* SPDX-License-Identifier: MIT */
/* A random call on the softmax path with everything that posenc_score_params may hold, and what its masks mean. */
#ifndef TRUTH_SCENE_H
#define TRUTH_SCENE_H

#include "truth.h"
#include "truth_view.h"

enum { SCENE_K = 9000, SCENE_Q = 40, SCENE_HEADS = 4, SCENE_BATCH = 2, SCENE_ROWS = 7, SCENE_OFFSETS = 2 * 10000 };

/* Everything a call may be given; what it is given, params says. */
typedef struct scene {
    int64_t n_k, n_q, n_heads, n_batch;
    posenc_score_params params;
    truth_tensor x, y, bias, by_query, by_key;
    float slopes[SCENE_HEADS], bias_slopes[SCENE_HEADS], sinks[SCENE_HEADS];
    float rel_bias_data[SCENE_HEADS][SCENE_OFFSETS];
    int32_t index_data[SCENE_OFFSETS];
    posenc_rel_bias rel_bias;
    posenc_rel_index index;
    int32_t q_pos[SCENE_Q], k_pos[SCENE_K], cu_seqlens[4];
    int32_t k_begin[SCENE_BATCH], k_end[SCENE_BATCH], query_starts[SCENE_BATCH], origins[SCENE_BATCH];
    uint8_t bytes[SCENE_BATCH * SCENE_K + 4096];
    posenc_bool_mask bool_mask;
} scene;

/* Extents and parameters drawn anew; the tensors are freed by scene_close. */
void scene_open(scene *s, int64_t n_k);
void scene_close(scene *s);

/* truth_score.h's, of the scene's call: the position of a query by query_start and query_starts; */
int64_t scene_query(const scene *s, int64_t i, int64_t b);

/* whether a key is seen; */
int scene_sees(const scene *s, int64_t j, int64_t i, int64_t h, int64_t b);

/* the logit of a key with this score, in double; -inf if it is not seen. */
double scene_logit(const scene *s, double score, int64_t j, int64_t i, int64_t h, int64_t b);

#endif
