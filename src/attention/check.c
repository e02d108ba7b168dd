/* SPDX-License-Identifier: MIT */
/* Checks of attention's arguments: tensors, extents, rotation, pages, outputs apart from inputs. */
#include "attention/attention.h"

#include "core/view.h"
#include "rope/rope.h"

posenc_status posenc_check_attention(const posenc_view *q, const posenc_view *k, const posenc_view *v,
                                     const posenc_view *out) {
    posenc_status status = posenc_check_input(q);
    if (status == POSENC_OK)
        status = posenc_check_stored_input(k);
    if (status == POSENC_OK)
        status = posenc_check_stored_input(v);
    if (status == POSENC_OK)
        status = posenc_check_output(out);
    if (status != POSENC_OK)
        return status;
    if (k->ne[0] != q->ne[0] || out->ne[0] != v->ne[0] || !posenc_same_rows(v, k) || !posenc_same_rows(out, q))
        return POSENC_ERR_SHAPE;
    if (q->ne[1] > 0 && (k->ne[1] == 0 || q->ne[1] % k->ne[1] != 0))
        return POSENC_ERR_N_HEADS;
    posenc_view inputs[] = {*q, posenc_storage_of(k), posenc_storage_of(v)};
    for (int i = 0; i < 3 && status == POSENC_OK; i++)
        status = posenc_check_apart(&inputs[i], out);
    return status;
}

static posenc_status check_lse(const posenc_attention_args *t) {
    if (t->lse == NULL)
        return POSENC_OK;
    posenc_status status = posenc_check_output_f32(t->lse);
    if (status != POSENC_OK)
        return status;
    if (t->lse->ne[0] != 1 || !posenc_same_rows(t->lse, &t->q))
        return POSENC_ERR_SHAPE;
    return posenc_check_apart(&t->out, t->lse);
}

posenc_status posenc_check_inputs_apart(const posenc_attention_args *t, const posenc_view *output) {
    const posenc_score_params *p = t->params;
    posenc_view k = posenc_storage_of(&t->k), v = posenc_storage_of(&t->v);
    const posenc_view *inputs[] = {&t->q, &k, &v, p->bias.tensor, p->bias.by_query.products, p->bias.by_key.products};
    posenc_status status = POSENC_OK;
    for (int i = 0; i < 6 && status == POSENC_OK; i++)
        if (inputs[i] != NULL && output != NULL)
            status = posenc_check_apart(inputs[i], output);
    return status;
}

static posenc_status check_rotation(const posenc_attention_args *t, int64_t n_k) {
    if (t->k_rope == NULL && t->k_table == NULL)
        return POSENC_OK;
    if (t->k_rope == NULL || t->k_table == NULL)
        return POSENC_ERR_NULL;
    if (t->k_rope->params.head_dim != t->k.ne[0])
        return POSENC_ERR_SHAPE;
    return t->k_table->per_channel ? POSENC_ERR_ENUM : posenc_check_table(t->k_rope, t->k_table, n_k);
}

/* Checks pages. The sequences' lengths must have been checked. */
static posenc_status check_pages(const posenc_attention_args *t) {
    const posenc_attention_pages *pages = t->pages;
    if (pages == NULL)
        return t->k.ne[3] == t->q.ne[3] ? POSENC_OK : POSENC_ERR_SHAPE;
    if (pages->n_k < 0 || pages->stride < 0 || pages->stride > POSENC_LIMIT / (t->q.ne[3] + 1))
        return POSENC_ERR_SHAPE;
    int64_t page_size = t->k.ne[2];
    if (pages->n_k > 0 && page_size == 0)
        return POSENC_ERR_SHAPE;
    if (pages->n_k > 0 && pages->table == NULL)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(pages->table, 4))
        return POSENC_ERR_STRIDE;
    int64_t n_batch = posenc_view_count(&t->q) > 0 ? t->q.ne[3] : 0; /* without queries no page is read */
    for (int64_t b = 0; b < n_batch; b++) {
        int64_t n_k = t->params->sequences.k_end != NULL ? t->params->sequences.k_end[b] : pages->n_k;
        for (int64_t page = 0; page * page_size < n_k; page++) {
            int32_t number = pages->table[b * pages->stride + page];
            if (number < 0 || number >= t->k.ne[3])
                return POSENC_ERR_ROWS;
        }
    }
    return POSENC_OK;
}

posenc_status posenc_check_attention_args(const posenc_attention_args *t, const posenc_view *scores) {
    posenc_status status = posenc_check_attention(&t->q, &t->k, &t->v, &t->out);
    if (status != POSENC_OK)
        return status;
    if (!posenc_is_attention_dim(t->q.ne[0]) || !posenc_is_attention_dim(t->v.ne[0]))
        return POSENC_ERR_HEAD_DIM;
    if (t->params->output.fully_masked == POSENC_FULLY_MASKED_UNIFORM || (unsigned)t->math > POSENC_MATH_BF16X3)
        return POSENC_ERR_ENUM;
    status = posenc_check_scores(t->params, scores);
    if (status == POSENC_OK)
        status = check_pages(t);
    if (status == POSENC_OK)
        status = posenc_check_lists(t, scores);
    if (status == POSENC_OK)
        status = check_rotation(t, scores->ne[0]);
    if (status == POSENC_OK)
        status = check_lse(t);
    if (status == POSENC_OK)
        status = posenc_check_inputs_apart(t, &t->out);
    return status == POSENC_OK ? posenc_check_inputs_apart(t, t->lse) : status;
}
