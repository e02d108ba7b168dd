/* SPDX-License-Identifier: MIT */
/* Fused attention over lists of keys (sparse attention): checks, and the pairs of a unit that share a list. */
#include "attention/attention.h"

#include "core/minmax.h"
#include "core/view.h"

static const int32_t *list_at(const posenc_attention_lists *lists, int64_t query, int64_t batch) {
    return lists->keys + batch * lists->batch_stride + query * lists->query_stride;
}

static int64_t length_of(const int32_t *list, int64_t n_max) {
    int64_t n = 0;
    while (n < n_max && list[n] != POSENC_LIST_END)
        n++;
    return n;
}

/* ---- Checks ---- */

/* Refuses per-key arrays with lists: they are not gathered. Terms by position are computed for listed keys. */
static posenc_status check_other_terms(const posenc_score_params *params) {
    if (params->positions.keys != NULL)
        return POSENC_ERR_POSITION;
    int is_refused = params->mask.n_first > 0 || params->bool_mask != NULL || params->tree != NULL ||
                     params->bias.tensor != NULL || params->bias.by_key.products != NULL ||
                     params->sequences.cu_seqlens != NULL;
    return is_refused ? POSENC_ERR_MASK : POSENC_OK;
}

static posenc_status check_extents(const posenc_attention_lists *lists, const posenc_view *scores) {
    if (lists->n_max < 0 || lists->n_max > POSENC_MAX_KEYS || lists->query_stride < 0 || lists->batch_stride < 0)
        return POSENC_ERR_SHAPE;
    if (lists->query_stride > POSENC_LIMIT / (scores->ne[1] + 1) ||
        lists->batch_stride > POSENC_LIMIT / (scores->ne[3] + 1))
        return POSENC_ERR_SHAPE;
    if (lists->keys == NULL)
        return lists->n_max > 0 ? POSENC_ERR_NULL : POSENC_OK;
    return posenc_is_aligned(lists->keys, 4) ? POSENC_OK : POSENC_ERR_STRIDE;
}

/* 1 if every entry before the end of the list is a key in [begin, end). */
static int is_inside(const int32_t *list, int64_t n_max, int64_t begin, int64_t end) {
    for (int64_t j = 0; j < n_max && list[j] != POSENC_LIST_END; j++)
        if (list[j] < begin || list[j] >= end)
            return 0;
    return 1;
}

posenc_status posenc_check_lists(const posenc_attention_args *args, const posenc_view *scores) {
    const posenc_attention_lists *lists = args->lists;
    if (lists == NULL)
        return POSENC_OK;
    posenc_status status = check_other_terms(args->params);
    if (status == POSENC_OK)
        status = check_extents(lists, scores);
    if (status != POSENC_OK || lists->n_max == 0 || posenc_view_count(&args->q) == 0)
        return status;
    const posenc_score_sequences *sequences = &args->params->sequences;
    int64_t n_lists = lists->query_stride == 0 ? 1 : scores->ne[1];
    for (int64_t b = 0; b < scores->ne[3]; b++) {
        int64_t begin = sequences->k_begin != NULL ? sequences->k_begin[b] : 0;
        int64_t end = sequences->k_end != NULL ? sequences->k_end[b] : scores->ne[0];
        for (int64_t i = 0; i < n_lists; i++)
            if (!is_inside(list_at(lists, i, b), lists->n_max, begin, end))
                return POSENC_ERR_ROWS;
    }
    return POSENC_OK;
}

/* ---- Units ---- */

posenc_attention_unit posenc_attention_share(const posenc_attention_unit *unit, int64_t done) {
    const posenc_attention_lists *lists = unit->call->args->lists;
    posenc_attention_unit share = *unit;
    if (lists == NULL)
        return share;
    int64_t group = unit->call->group;
    share.first += done;
    share.n = posenc_min(unit->n - done, group - share.first % group);
    share.list = lists->n_max > 0 ? list_at(lists, share.first / group, unit->batch) : NULL;
    share.n_keys = (size_t)length_of(share.list, lists->n_max);
    return share;
}
