/* SPDX-License-Identifier: MIT */
/* SOFT_MAX and DIAG_MASK_INF. */
#include <string.h>

#include "ops.h"
#include "softmax/scores.h"
#include "core/view.h"

typedef struct scores_job {
    posenc_score_params params;
    posenc_view x, y, mask; /* mask.data NULL: none */
    posenc_status (*call)(const posenc_score_params *, const posenc_view *, const posenc_view *, posenc_range);
} scores_job;

/* ggml repeats a mask over heads and batches. Once for all, or one each, posenc takes as it is; anything between is
 * taken block by block. */
static posenc_status scores_part(const void *node, int ith, int nth) {
    const scores_job *job = node;
    const int64_t *ne = job->x.ne;
    bool repeats_heads = job->mask.data != NULL && job->mask.ne[2] != 1;
    bool repeats_batch = job->mask.data != NULL && job->mask.ne[3] != 1;
    int64_t n_heads = repeats_heads ? job->mask.ne[2] : ne[2], n_batch = repeats_batch ? job->mask.ne[3] : ne[3];
    for (int64_t batch = 0; batch < ne[3]; batch += n_batch) {
        for (int64_t head = 0; head < ne[2]; head += n_heads) {
            posenc_score_params params = job->params;
            params.bias.tensor = job->mask.data != NULL ? &job->mask : NULL;
            params.bias.tensor_slopes = params.bias.tensor_slopes != NULL ? params.bias.tensor_slopes + head : NULL;
            params.sinks = params.sinks != NULL ? params.sinks + head : NULL;
            params.n_heads = n_heads;
            posenc_view x = block_of(&job->x, head, batch, n_heads, n_batch);
            posenc_view y = block_of(&job->y, head, batch, n_heads, n_batch);
            posenc_status status =
                job->call(&params, &x, &y, posenc_range_of_thread(ne[1] * n_heads * n_batch, ith, nth));
            if (status != POSENC_OK)
                return status;
        }
    }
    return POSENC_OK;
}

/* ---- Common to all nodes of scores ---- */

posenc_view mask_of(posenc_view mask, int64_t n_queries) {
    mask.ne[1] = n_queries;
    return mask;
}

posenc_status check_mask(const struct ggml_tensor *node, const struct ggml_tensor *mask, int64_t n_keys,
                         const struct ggml_tensor *queries) {
    if (mask == NULL)
        return POSENC_OK;
    if (!is_f32_or_f16(mask))
        return POSENC_ERR_DTYPE;
    if (mask->ne[0] != n_keys || mask->ne[1] < queries->ne[1] || mask->ne[2] < 1 || mask->ne[3] < 1 ||
        queries->ne[2] % mask->ne[2] != 0 || queries->ne[3] % mask->ne[3] != 0)
        return POSENC_ERR_SHAPE;
    posenc_view view = view_to_check(node, mask);
    return posenc_check_input(&view);
}

posenc_status check_sinks(const struct ggml_tensor *node, const struct ggml_tensor *sinks, int64_t n_heads) {
    if (sinks != NULL && sinks->ne[0] != n_heads)
        return POSENC_ERR_N_HEADS;
    return sinks == NULL ? POSENC_OK : check_list(node, sinks, GGML_TYPE_F32, n_heads);
}

posenc_status check_slopes(float max_bias, int64_t n_heads) {
    if (!(max_bias >= 0.0f && max_bias <= 100.0f))
        return POSENC_ERR_SCALE;
    return max_bias > 0.0f && n_heads > MAX_HEADS ? POSENC_ERR_N_HEADS : POSENC_OK;
}

posenc_status set_slopes(posenc_score_params *params, float max_bias, int64_t n_heads, float *slopes) {
    posenc_status status = check_slopes(max_bias, n_heads);
    if (status != POSENC_OK || max_bias == 0.0f)
        return status;
    params->bias.tensor_slopes = slopes;
    return posenc_alibi_slopes(n_heads, (double)max_bias, slopes);
}

/* Scores and what becomes of them, by these parameters. */
static posenc_status check_score_tensors(const struct ggml_tensor *node, const posenc_score_params *params) {
    if (node->src[0]->type != GGML_TYPE_F32 || node->type != GGML_TYPE_F32)
        return POSENC_ERR_DTYPE;
    posenc_view x = view_to_check(node, node->src[0]), y = view_to_check(node, node);
    posenc_status status = posenc_check_elementwise(&x, &y);
    if (status == POSENC_OK)
        status = posenc_check_scale(params);
    return status == POSENC_OK ? posenc_check_scores(params, &y) : status;
}

/* ---- SOFT_MAX ---- */

static posenc_score_params soft_max_params(const struct ggml_tensor *node) {
    return posenc_score_params_of(float_param(node, 0), posenc_mask_none());
}

posenc_status check_soft_max(const struct ggml_tensor *node) {
    const struct ggml_tensor *x = node->src[0];
    posenc_score_params params = soft_max_params(node);
    posenc_status status = check_score_tensors(node, &params);
    if (status == POSENC_OK)
        status = check_mask(node, node->src[1], x->ne[0], x);
    if (status == POSENC_OK)
        status = check_sinks(node, node->src[2], x->ne[2]);
    return status == POSENC_OK ? check_slopes(float_param(node, 1), x->ne[2]) : status;
}

posenc_status compute_soft_max(backend_state *state, struct ggml_tensor *node) {
    const struct ggml_tensor *mask = node->src[1], *sinks = node->src[2];
    scores_job job = {soft_max_params(node), view_of(node->src[0]), view_of(node), {.data = NULL}, posenc_softmax};
    float slopes[MAX_HEADS];
    job.params.sinks = sinks != NULL ? sinks->data : NULL;
    if (mask != NULL) {
        job.mask = mask_of(view_of(mask), node->ne[1]);
        if (posenc_check_apart(&job.mask, &job.y) != POSENC_OK) { /* ggml-alloc may put the node in its place */
            if ((job.mask.data = scratch_of(state, ggml_nbytes(mask))) == NULL)
                return POSENC_ERR_MEMORY;
            memcpy(job.mask.data, mask->data, ggml_nbytes(mask));
        }
        posenc_status status = set_slopes(&job.params, float_param(node, 1), node->ne[2], slopes);
        if (status != POSENC_OK)
            return status;
    }
    return run_parts(state, scores_part, &job, ggml_nelements(node));
}

/* ---- DIAG_MASK_INF: keys later than the query, with so many of the past before it ---- */

static posenc_score_params diag_mask_params(const struct ggml_tensor *node) {
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal());
    params.positions.query_start = node->op_params[0];
    return params;
}

posenc_status check_diag_mask_inf(const struct ggml_tensor *node) {
    posenc_score_params params = diag_mask_params(node);
    return params.positions.query_start >= 0 ? check_score_tensors(node, &params) : POSENC_ERR_POSITION;
}

posenc_status compute_diag_mask_inf(backend_state *state, struct ggml_tensor *node) {
    scores_job job = {diag_mask_params(node), view_of(node->src[0]), view_of(node), {.data = NULL}, posenc_logits};
    return run_parts(state, scores_part, &job, ggml_nelements(node));
}
