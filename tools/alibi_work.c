/* SPDX-License-Identifier: MIT */
#include "alibi_work.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "negate.h"

static float *new_floats(int64_t n) {
    enum { LINE = 64 };
    return posenc_aligned_alloc(LINE, ((size_t)n * sizeof(float) / LINE + 1) * LINE);
}

posenc_status alibi_work_create(alibi_work *work, const model_config *model, int64_t n_tokens, int64_t n_cached,
                                random_state *random) {
    *work = (alibi_work){.n_heads = model->n_heads, .n_tokens = n_tokens, .n_keys = n_cached + n_tokens};
    float *scores = new_floats(alibi_work_count(work));
    work->scores = posenc_view_dense(scores, POSENC_F32, work->n_keys, n_tokens, work->n_heads, 1);
    work->slopes = new_floats(work->n_heads);
    if (scores == NULL || work->slopes == NULL)
        return POSENC_ERR_MEMORY;
    for (int64_t i = 0; i < alibi_work_count(work); i++)
        scores[i] = (float)random_between(random, -4.0, 4.0);
    work->params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    work->params.scale = (float)(1.0 / sqrt((double)model->head_dim));
    work->params.bias.alibi_slopes = work->slopes;
    work->params.mask = posenc_mask_causal();
    work->params.positions.query_start = n_cached;
    return posenc_alibi_slopes(work->n_heads, model->max_bias, work->slopes);
}

void alibi_work_free(alibi_work *work) {
    posenc_aligned_free(work->slopes);
    posenc_aligned_free(work->scores.data);
}

posenc_status alibi_work_run(const alibi_work *work) {
    return posenc_softmax(&work->params, &work->scores, &work->scores, posenc_range_all());
}

/* Keys that query t may see. */
static int64_t allowed(const alibi_work *work, int64_t t) {
    return work->n_keys - work->n_tokens + t + 1;
}

void alibi_work_negate(const alibi_work *work) {
    float *row = work->scores.data;
    for (int64_t h = 0; h < work->n_heads; h++)
        for (int64_t t = 0; t < work->n_tokens; t++, row += work->n_keys)
            negate(row, row, allowed(work, t), POSENC_F32);
}

int64_t alibi_work_elements(const alibi_work *work) {
    return work->n_heads * work->n_tokens * (allowed(work, 0) + allowed(work, work->n_tokens - 1)) / 2;
}

int64_t alibi_work_count(const alibi_work *work) {
    return work->n_heads * work->n_tokens * work->n_keys;
}
