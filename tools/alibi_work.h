/* SPDX-License-Identifier: MIT */
/* The softmax with ALiBi of one layer of a model: scores of n_tokens queries against n_keys keys, causal, in place. */
#ifndef POSENC_TOOLS_ALIBI_WORK_H
#define POSENC_TOOLS_ALIBI_WORK_H

#include <posenc/posenc.h>

#include "model.h"
#include "random.h"

typedef struct alibi_work {
    int64_t n_heads, n_tokens, n_keys;
    posenc_score_params params;
    float *slopes;
    posenc_view scores;
} alibi_work;

/* n_cached: keys before the queries. */
posenc_status alibi_work_create(alibi_work *work, const model_config *model, int64_t n_tokens, int64_t n_cached,
                                random_state *random);
void alibi_work_free(alibi_work *work);

/* Once over the scores, on the tier selected. */
posenc_status alibi_work_run(const alibi_work *work);

/* Negates the scores of keys that may be seen. */
void alibi_work_negate(const alibi_work *work);

/* Scores of keys that may be seen, and all. */
int64_t alibi_work_elements(const alibi_work *work);
int64_t alibi_work_count(const alibi_work *work);

#endif
