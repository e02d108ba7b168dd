/* SOFT_MAX and DIAG_MASK_INF. */
#include <math.h>
#include <string.h>

#include "ops.h"

typedef struct scores_job {
    posenc_score_params params;
    posenc_view x, y, mask; /* mask.data NULL: none */
    posenc_status (*call)(const posenc_score_params *, const posenc_view *, const posenc_view *, posenc_rows);
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
            params.bias = job->mask.data != NULL ? &job->mask : NULL;
            params.bias_slopes = params.bias_slopes != NULL ? params.bias_slopes + head : NULL;
            params.sinks = params.sinks != NULL ? params.sinks + head : NULL;
            posenc_view x = block_of(&job->x, head, batch, n_heads, n_batch);
            posenc_view y = block_of(&job->y, head, batch, n_heads, n_batch);
            posenc_status status = job->call(&params, &x, &y, part_of_rows(ne[1] * n_heads * n_batch, ith, nth));
            if (status != POSENC_OK)
                return status;
        }
    }
    return POSENC_OK;
}

/* ---- What the nodes of scores have in common ---- */

bool takes_mask(const struct ggml_tensor *mask, int64_t n_keys, const struct ggml_tensor *of) {
    return mask == NULL ||
           (has_plain_rows(mask) && mask->ne[0] == n_keys && mask->ne[1] >= of->ne[1] && mask->ne[2] > 0 &&
            mask->ne[3] > 0 && of->ne[2] % mask->ne[2] == 0 && of->ne[3] % mask->ne[3] == 0);
}

bool takes_sinks(const struct ggml_tensor *sinks, int64_t n_heads) {
    return sinks == NULL || (sinks->type == GGML_TYPE_F32 && ggml_is_contiguous(sinks) && sinks->ne[0] == n_heads);
}

bool takes_slopes(float max_bias, int64_t n_heads) {
    return max_bias >= 0.0f && max_bias <= 100.0f && (max_bias == 0.0f || n_heads <= MAX_HEADS);
}

posenc_status set_slopes(posenc_score_params *params, float max_bias, int64_t n_heads, float *slopes) {
    params->bias_slopes = max_bias > 0.0f ? slopes : NULL;
    return max_bias > 0.0f ? posenc_alibi_slopes(n_heads, (double)max_bias, slopes) : POSENC_OK;
}

/* ---- SOFT_MAX ---- */

bool takes_soft_max(const struct ggml_tensor *node) {
    const struct ggml_tensor *x = node->src[0], *mask = node->src[1], *sinks = node->src[2];
    if (!has_plain_rows(x) || !has_plain_rows(node) || x->type != GGML_TYPE_F32 || node->type != GGML_TYPE_F32)
        return false;
    return takes_mask(mask, x->ne[0], x) && takes_sinks(sinks, x->ne[2]) &&
           takes_slopes(float_param(node, 1), x->ne[2]) && isfinite(float_param(node, 0)) && x->ne[0] <= 1 << 30 &&
           x->ne[1] <= 1 << 30;
}

posenc_status compute_soft_max(backend_state *state, struct ggml_tensor *node) {
    const struct ggml_tensor *mask = node->src[1], *sinks = node->src[2];
    scores_job job = {POSENC_SCORE_DEFAULTS, view_of(node->src[0]), view_of(node), {.data = NULL}, posenc_softmax};
    float slopes[MAX_HEADS];
    job.params.scale = float_param(node, 0);
    job.params.sinks = sinks != NULL ? sinks->data : NULL;
    if (mask != NULL) {
        job.mask = view_of(mask);
        job.mask.ne[1] = node->ne[1]; /* masks may have more rows than there are queries */
        if (mask->data == node->data) { /* ggml-alloc may have put the node in place of either input */
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

bool takes_diag_mask_inf(const struct ggml_tensor *node) {
    const struct ggml_tensor *x = node->src[0];
    return has_plain_rows(x) && has_plain_rows(node) && x->type == GGML_TYPE_F32 && node->type == GGML_TYPE_F32 &&
           node->op_params[0] >= 0 && node->op_params[0] <= 1 << 29 && x->ne[0] <= 1 << 30 && x->ne[1] <= 1 << 29;
}

posenc_status compute_diag_mask_inf(backend_state *state, struct ggml_tensor *node) {
    scores_job job = {POSENC_SCORE_DEFAULTS, view_of(node->src[0]), view_of(node), {.data = NULL}, posenc_logits};
    job.params.mask = posenc_mask_causal();
    job.params.q_off = node->op_params[0];
    return run_parts(state, scores_part, &job, ggml_nelements(node));
}
