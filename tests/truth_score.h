/* SPDX-License-Identifier: MIT */
/* Meaning of posenc_score_params for one key: masks and logits by their definitions (mask.h, softmax.h), in double. */
#ifndef TRUTH_SCORE_H
#define TRUTH_SCORE_H

#include <stdint.h>

#include <posenc/softmax.h>

/* Position of a query by query_start and query_starts. */
int64_t truth_query(const posenc_score_params *p, int64_t i, int64_t b);

/* Whether a key is seen, by the definition of each mask, with no thought of loops. */
int truth_sees(const posenc_score_params *p, int64_t j, int64_t i, int64_t h, int64_t b);

/* The logit of a key with this score, -inf if it is not seen; *size: the sum of the sizes of its terms. */
double truth_logit(const posenc_score_params *p, double score, int64_t j, int64_t i, int64_t h, int64_t b,
                   double *size);

#endif
