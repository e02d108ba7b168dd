/* SPDX-License-Identifier: MIT */
/* Checks of attention's arguments: tensors, extents, rotation, pages, outputs apart from inputs. */
#include "attention/attention.h"

#include "core/view.h"
#include "rope/rope.h"

/* Two extents of views that have to be equal. */
static posenc_status same_extent(const char *name, int64_t is, const char *wanted, int64_t want) {
    return is == want ? POSENC_OK
                      : posenc_refuse(POSENC_ERR_SHAPE, "%s is %lld, but %s is %lld", name, (long long)is, wanted,
                                      (long long)want);
}

static posenc_status check_extents(const posenc_view *q, const posenc_view *k, const posenc_view *v,
                                   const posenc_view *out) {
    static const char *const of_v[] = {"", "v: ne[1]", "v: ne[2]", "v: ne[3]"};
    static const char *const of_k[] = {"", "k's", "k's", "k's"}, *const of_q[] = {"", "q's", "q's", "q's"};
    static const char *const of_out[] = {"", "out: ne[1]", "out: ne[2]", "out: ne[3]"};
    posenc_status status = same_extent("k: ne[0]", k->ne[0], "q's", q->ne[0]);
    if (status == POSENC_OK)
        status = same_extent("out: ne[0]", out->ne[0], "v's", v->ne[0]);
    for (int i = 1; i < 4 && status == POSENC_OK; i++)
        status = same_extent(of_v[i], v->ne[i], of_k[i], k->ne[i]);
    for (int i = 1; i < 4 && status == POSENC_OK; i++)
        status = same_extent(of_out[i], out->ne[i], of_q[i], q->ne[i]);
    return status;
}

posenc_status posenc_check_attention(const posenc_view *q, const posenc_view *k, const posenc_view *v,
                                     const posenc_view *out) {
    static const char *const names[] = {"q", "k", "v"};
    posenc_status status = posenc_argument("q", posenc_check_input(q));
    if (status == POSENC_OK)
        status = posenc_argument("k", posenc_check_stored_input(k));
    if (status == POSENC_OK)
        status = posenc_argument("v", posenc_check_stored_input(v));
    if (status == POSENC_OK)
        status = posenc_argument("out", posenc_check_output(out));
    if (status == POSENC_OK)
        status = check_extents(q, k, v, out);
    if (status != POSENC_OK)
        return status;
    if (q->ne[1] > 0 && (k->ne[1] == 0 || q->ne[1] % k->ne[1] != 0))
        return posenc_refuse(POSENC_ERR_N_HEADS, "k: %lld heads, which do not divide the %lld of q",
                             (long long)k->ne[1], (long long)q->ne[1]);
    posenc_view inputs[] = {*q, posenc_storage_of(k), posenc_storage_of(v)};
    for (int i = 0; i < 3 && status == POSENC_OK; i++)
        status = posenc_argument(names[i], posenc_check_apart(&inputs[i], out));
    return status;
}

const char *posenc_attention_first_given(const posenc_attention_term *terms, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (terms[i].is_given)
            return terms[i].name;
    return NULL;
}

posenc_status posenc_check_lse(const posenc_attention_args *t) {
    if (t->lse == NULL)
        return POSENC_OK;
    posenc_status status = posenc_argument("lse", posenc_check_output_f32(t->lse));
    if (status != POSENC_OK)
        return status;
    if (t->lse->ne[0] != 1 || !posenc_same_rows(t->lse, &t->q))
        return posenc_refused(POSENC_ERR_SHAPE);
    return posenc_check_apart(&t->out, t->lse);
}

enum { N_INPUTS = 6 };

/* Views that a call reads, with their names; NULL: not given. */
typedef struct named_views {
    const char *names[N_INPUTS];
    const posenc_view *views[N_INPUTS];
} named_views;

static named_views inputs_of(const posenc_attention_args *t) {
    const posenc_score_bias *bias = &t->params->bias;
    return (named_views){{"q", "k", "v", "bias.tensor", "bias.by_query.products", "bias.by_key.products"},
                         {&t->q, &t->k, &t->v, bias->tensor, bias->by_query.products, bias->by_key.products}};
}

posenc_status posenc_check_inputs_apart(const posenc_attention_args *t, const posenc_view *output) {
    named_views in = inputs_of(t);
    posenc_status status = POSENC_OK;
    for (int i = 0; i < N_INPUTS && output != NULL && status == POSENC_OK; i++)
        if (in.views[i] != NULL) {
            posenc_view storage = posenc_storage_of(in.views[i]);
            status = posenc_argument(in.names[i], posenc_check_apart(&storage, output));
        }
    return status;
}

posenc_status posenc_check_views_apart_from(const posenc_attention_args *t, const void *memory, size_t bytes) {
    named_views in = inputs_of(t);
    posenc_status status = posenc_check_apart_from(&t->out, "out", memory, bytes);
    if (status == POSENC_OK)
        status = posenc_check_apart_from(t->lse, "lse", memory, bytes);
    for (int i = 0; i < N_INPUTS && status == POSENC_OK; i++)
        status = posenc_check_apart_from(in.views[i], in.names[i], memory, bytes);
    return status;
}

static posenc_status check_rotation(const posenc_attention_args *t, int64_t n_k) {
    if (t->k_rope == NULL && t->k_table == NULL)
        return POSENC_OK;
    if (t->k_rope == NULL || t->k_table == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (t->k_rope->params.head_dim != t->k.ne[0])
        return posenc_refuse(POSENC_ERR_SHAPE, "k_rope: head_dim is %lld, but k has %lld",
                             (long long)t->k_rope->params.head_dim, (long long)t->k.ne[0]);
    return t->k_table->per_channel ? posenc_refused(POSENC_ERR_ENUM) : posenc_check_table(t->k_rope, t->k_table, n_k);
}

/* Checks pages. The sequences' lengths must have been checked. */
static posenc_status check_pages(const posenc_attention_args *t) {
    const posenc_attention_pages *pages = t->pages;
    if (pages == NULL)
        return same_extent("k: ne[3]", t->k.ne[3], "q's", t->q.ne[3]);
    if (pages->n_k < 0 || pages->stride < 0 || pages->stride > POSENC_LIMIT / (t->q.ne[3] + 1))
        return posenc_refused(POSENC_ERR_SHAPE);
    int64_t page_size = t->k.ne[2];
    if (pages->n_k > 0 && page_size == 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (pages->n_k > 0 && pages->table == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(pages->table, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    int64_t n_batch = posenc_view_count(&t->q) > 0 ? t->q.ne[3] : 0; /* without queries no page is read */
    for (int64_t b = 0; b < n_batch; b++) {
        int64_t n_k = t->params->sequences.k_end != NULL ? t->params->sequences.k_end[b] : pages->n_k;
        for (int64_t page = 0; page * page_size < n_k; page++) {
            int32_t number = pages->table[b * pages->stride + page];
            if (number < 0 || number >= t->k.ne[3])
                return posenc_refuse(POSENC_ERR_ROWS, "pages: page %lld of sequence %lld is %d, but there are %lld",
                                     (long long)page, (long long)b, number, (long long)t->k.ne[3]);
        }
    }
    return POSENC_OK;
}

posenc_status posenc_check_attention_args(const posenc_attention_args *t, const posenc_view *scores) {
    posenc_status status = posenc_check_attention(&t->q, &t->k, &t->v, &t->out);
    if (status != POSENC_OK)
        return status;
    if (!posenc_is_attention_dim(t->q.ne[0]) || !posenc_is_attention_dim(t->v.ne[0]))
        return posenc_refuse(POSENC_ERR_HEAD_DIM, "head_dim is %lld and v_dim %lld, but 1 .. %d are wanted",
                             (long long)t->q.ne[0], (long long)t->v.ne[0], POSENC_MAX_HEAD_DIM);
    if (t->params->fully_masked == POSENC_FULLY_MASKED_UNIFORM)
        return posenc_refuse(POSENC_ERR_ENUM, "fully_masked: POSENC_FULLY_MASKED_UNIFORM is not for attention");
    if ((unsigned)t->math > POSENC_MATH_BF16X3)
        return posenc_refuse(POSENC_ERR_ENUM, "math is %d, which does not exist", (int)t->math);
    status = posenc_check_scores(t->params, scores);
    if (status == POSENC_OK)
        status = posenc_check_scale(t->params);
    if (status == POSENC_OK)
        status = check_pages(t);
    if (status == POSENC_OK)
        status = posenc_check_lists(t, scores);
    if (status == POSENC_OK)
        status = check_rotation(t, scores->ne[0]);
    if (status == POSENC_OK)
        status = posenc_check_lse(t);
    if (status == POSENC_OK)
        status = posenc_check_inputs_apart(t, &t->out);
    return status == POSENC_OK ? posenc_check_inputs_apart(t, t->lse) : status;
}
