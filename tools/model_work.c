#include "model_work.h"

#include <stdlib.h>
#include <string.h>

/* Compiled once per vector length, so that memory and not SSE2 is the limit. */
#if defined(__x86_64__)
#define EVERY_VECTOR_LENGTH __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define EVERY_VECTOR_LENGTH
#endif

static int is_rope(const model_work *work) {
    return work->model->kind == POSITION_ROPE;
}

posenc_rope_params model_rope_params(const model_config *model, const rotated_tensor *tensor) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = model->layout;
    params.head_dim = tensor->head_dim;
    params.n_rot = model->n_rot;
    params.n_offs = tensor->n_offs;
    params.base = model->base;
    return params;
}

/* ---- Buffers ---- */

static float *new_floats(int64_t n) {
    enum { LINE = 64 };
    size_t size = ((size_t)n * sizeof(float) / LINE + 1) * LINE;
    return aligned_alloc(LINE, size);
}

static posenc_status create_rope(model_work *work, int64_t first_position) {
    const model_config *m = work->model;
    int64_t n_pairs = m->n_rot / 2, n_q = m->q.n_heads * m->q.head_dim, n_k = m->k.n_heads * m->k.head_dim;
    posenc_rope_params q_params = model_rope_params(m, &m->q), k_params = model_rope_params(m, &m->k);
    float *data = new_floats(work->n_tokens * (n_q + n_k));
    work->q = posenc_view_dense(data, POSENC_F32, m->q.head_dim, m->q.n_heads, work->n_tokens, 1);
    if (data == NULL)
        return POSENC_ERR_MEMORY;
    work->k =
        posenc_view_dense(data + work->n_tokens * n_q, POSENC_F32, m->k.head_dim, m->k.n_heads, work->n_tokens, 1);
    work->cos_rows = new_floats(work->n_tokens * n_pairs);
    work->sin_rows = new_floats(work->n_tokens * n_pairs);
    work->positions = malloc((size_t)work->n_tokens * sizeof *work->positions);
    if (work->cos_rows == NULL || work->sin_rows == NULL || work->positions == NULL)
        return POSENC_ERR_MEMORY;
    for (int64_t t = 0; t < work->n_tokens; t++)
        work->positions[t] = (int32_t)(first_position + t);
    posenc_status status = posenc_rope_create(&q_params, &work->q_rope);
    if (status == POSENC_OK)
        status = posenc_rope_create(&k_params, &work->k_rope);
    if (status == POSENC_OK)
        status = posenc_angle_rows(posenc_rope_freq(work->q_rope), work->positions, work->n_tokens, work->cos_rows,
                                   work->sin_rows, n_pairs);
    return status;
}

static posenc_status create_alibi(model_work *work) {
    const model_config *m = work->model;
    float *data = new_floats(work->n_keys * work->n_tokens * m->n_heads);
    work->scores = posenc_view_dense(data, POSENC_F32, work->n_keys, work->n_tokens, m->n_heads, 1);
    work->slopes = new_floats(m->n_heads);
    if (data == NULL || work->slopes == NULL)
        return POSENC_ERR_MEMORY;
    work->softmax = (posenc_softmax_params)POSENC_SOFTMAX_DEFAULTS;
    work->softmax.scale = (float)(1.0 / sqrt((double)m->head_dim));
    work->softmax.slopes = work->slopes;
    work->softmax.mask = POSENC_MASK_CAUSAL;
    work->softmax.q_off = work->n_keys - work->n_tokens;
    return posenc_alibi_slopes(m->n_heads, 8.0, work->slopes);
}

posenc_status model_work_create(model_work *work, const model_config *model, int64_t n_tokens, int64_t first_position,
                                random_state *random) {
    *work = (model_work){.model = model, .n_tokens = n_tokens, .n_keys = first_position + n_tokens};
    posenc_status status = is_rope(work) ? create_rope(work, first_position) : create_alibi(work);
    int64_t n = 0;
    float *data = status == POSENC_OK ? model_work_data(work, &n) : NULL;
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)random_between(random, -4.0, 4.0);
    return status;
}

void model_work_free(model_work *work) {
    posenc_rope_free(work->q_rope);
    posenc_rope_free(work->k_rope);
    free(work->q.data); /* and k's with it */
    free(work->cos_rows);
    free(work->sin_rows);
    free(work->positions);
    free(work->slopes);
    free(work->scores.data);
}

/* ---- Work ---- */

posenc_status model_work_rope(const model_work *work) {
    const posenc_view *q = &work->q, *k = &work->k;
    posenc_status status = posenc_rope_apply(work->q_rope, q, work->positions, q, POSENC_FORWARD, posenc_all_rows());
    if (status == POSENC_OK)
        status = posenc_rope_apply(work->k_rope, k, work->positions, k, POSENC_FORWARD, posenc_all_rows());
    return status;
}

posenc_status model_work_rope_rows(const model_work *work) {
    const posenc_view *q = &work->q, *k = &work->k;
    int64_t stride = work->model->n_rot / 2;
    posenc_status status = posenc_rope_apply_rows(work->q_rope, q, work->cos_rows, work->sin_rows, stride, q,
                                                  POSENC_FORWARD, posenc_all_rows());
    if (status == POSENC_OK)
        status = posenc_rope_apply_rows(work->k_rope, k, work->cos_rows, work->sin_rows, stride, k, POSENC_FORWARD,
                                        posenc_all_rows());
    return status;
}

posenc_status model_work_softmax(const model_work *work) {
    return posenc_softmax(&work->softmax, &work->scores, &work->scores, posenc_all_rows());
}

EVERY_VECTOR_LENGTH
static void scale(float *p, int64_t n, float by) {
    typedef float block __attribute__((vector_size(64)));
    int64_t i = 0, lanes = (int64_t)(sizeof(block) / sizeof(float));
    for (; i + lanes <= n; i += lanes) {
        block values;
        memcpy(&values, p + i, sizeof values);
        values *= by;
        memcpy(p + i, &values, sizeof values);
    }
    for (; i < n; i++)
        p[i] *= by;
}

/* The rotated channels of every head; all at once where that is all of them. */
static void scale_rotated(const posenc_view *view, const rotated_tensor *tensor, int64_t n_rot, float by) {
    float *data = view->data;
    int64_t n_heads = view->ne[1] * view->ne[2];
    if (n_rot == tensor->head_dim) {
        scale(data, n_heads * n_rot, by);
        return;
    }
    for (int64_t h = 0; h < n_heads; h++)
        scale(data + h * tensor->head_dim + tensor->n_offs, n_rot, by);
}

/* Keys that query t may see. */
static int64_t allowed(const model_work *work, int64_t t) {
    return work->n_keys - work->n_tokens + t + 1;
}

void model_work_scale(const model_work *work) {
    const model_config *m = work->model;
    if (is_rope(work)) {
        scale_rotated(&work->q, &m->q, m->n_rot, -1.0f);
        scale_rotated(&work->k, &m->k, m->n_rot, -1.0f);
        return;
    }
    float *row = work->scores.data;
    for (int64_t h = 0; h < m->n_heads; h++)
        for (int64_t t = 0; t < work->n_tokens; t++, row += work->n_keys)
            scale(row, allowed(work, t), -1.0f);
}

int64_t model_work_elements(const model_work *work) {
    const model_config *m = work->model;
    if (is_rope(work))
        return work->n_tokens * m->n_rot * (m->q.n_heads + m->k.n_heads);
    return m->n_heads * work->n_tokens * (allowed(work, 0) + allowed(work, work->n_tokens - 1)) / 2;
}

float *model_work_data(const model_work *work, int64_t *n) {
    const model_config *m = work->model;
    *n = is_rope(work) ? work->n_tokens * (m->q.n_heads * m->q.head_dim + m->k.n_heads * m->k.head_dim)
                       : m->n_heads * work->n_tokens * work->n_keys;
    return is_rope(work) ? work->q.data : work->scores.data;
}
