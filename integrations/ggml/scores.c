/* SOFT_MAX and DIAG_MASK_INF. */
#include <math.h>
#include <string.h>

#include "ops.h"

/* Slopes are made in each call, on the stack. */
#define MAX_HEADS 1024

typedef struct scores_job {
    posenc_score_params params;
    posenc_view x, y, mask; /* mask.data NULL: none */
    posenc_status (*call)(const posenc_score_params *, const posenc_view *, const posenc_view *, posenc_rows);
} scores_job;

/* Heads and batches from (head, batch) on, as many as a mask of that size covers. */
static posenc_view block_of(const posenc_view *view, int64_t head, int64_t batch, int64_t n_heads, int64_t n_batch) {
    posenc_view block = *view;
    block.data = (char *)view->data + head * view->nb[2] + batch * view->nb[3];
    block.ne[2] = n_heads;
    block.ne[3] = n_batch;
    return block;
}

/* ggml repeats a mask over heads and batches. Once for all, or one each, posenc takes as it is; anything between is taken
 * block by block. */
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

/* ---- SOFT_MAX ---- */

static bool takes_mask(const struct ggml_tensor *mask, const struct ggml_tensor *x) {
    return has_plain_rows(mask) && mask->ne[0] == x->ne[0] && mask->ne[1] >= x->ne[1] && mask->ne[2] > 0 &&
           mask->ne[3] > 0 && x->ne[2] % mask->ne[2] == 0 && x->ne[3] % mask->ne[3] == 0;
}

bool takes_soft_max(const struct ggml_tensor *node) {
    const struct ggml_tensor *x = node->src[0], *mask = node->src[1], *sinks = node->src[2];
    float max_bias = float_param(node, 1);
    if (!has_plain_rows(x) || !has_plain_rows(node) || x->type != GGML_TYPE_F32 || node->type != GGML_TYPE_F32)
        return false;
    if (mask != NULL && !takes_mask(mask, x))
        return false;
    if (sinks != NULL && (sinks->type != GGML_TYPE_F32 || !ggml_is_contiguous(sinks) || sinks->ne[0] != x->ne[2]))
        return false;
    return isfinite(float_param(node, 0)) && max_bias >= 0.0f && max_bias <= 100.0f &&
           (max_bias == 0.0f || x->ne[2] <= MAX_HEADS) && x->ne[0] <= 1 << 30 && x->ne[1] <= 1 << 30;
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
        double max_bias = (double)float_param(node, 1);
        if (max_bias > 0.0) {
            posenc_status status = posenc_alibi_slopes(node->ne[2], max_bias, slopes);
            if (status != POSENC_OK)
                return status;
            job.params.bias_slopes = slopes;
        }
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
