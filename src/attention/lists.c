/* SPDX-License-Identifier: MIT */
/* Fused attention over lists of keys (sparse attention): checks, and the pairs of a unit that share a list. */
#include "attention/attention.h"

#include <string.h>

#include "core/minmax.h"
#include "core/view.h"

static const int32_t *list_at(const posenc_attention_lists *lists, int64_t query, int64_t head, int64_t batch) {
    return lists->keys + batch * lists->batch_stride + head * lists->head_stride + query * lists->query_stride;
}

/* Heads with lists of their own: 1 if all share one. */
static int64_t n_heads_of(const posenc_attention_lists *lists) {
    return lists->head_stride == 0 ? 1 : lists->n_heads;
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
        return posenc_refuse(POSENC_ERR_POSITION, "lists do not go with positions.keys: a listed key has its number");
    const posenc_attention_term terms[] = {
        {"bool_mask", params->bool_mask != NULL},
        {"block_mask", params->block_mask != NULL},
        {"tree", params->tree != NULL},
        {"bias.tensor", params->bias.tensor != NULL},
        {"bias.by_key", params->bias.by_key.products != NULL},
        {"sequences.cu_seqlens", params->sequences.cu_seqlens != NULL},
        {"mask.n_first", params->mask.n_first > 0},
    };
    const char *name = posenc_attention_first_given(terms, sizeof terms / sizeof terms[0]);
    return name == NULL
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_MASK, "lists do not go with %s: list only the keys that it leaves", name);
}

/* Heads of q share lists evenly, and each list is of one KV head. */
static posenc_status check_heads(const posenc_attention_lists *lists, int64_t n_heads, int64_t n_kv_heads) {
    if (lists->head_stride == 0)
        return POSENC_OK;
    int64_t n = lists->n_heads;
    return n > 0 && n_heads % n == 0 && n % posenc_max(n_kv_heads, 1) == 0
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_N_HEADS, "lists: n_heads is %lld, between %lld KV heads and %lld of q",
                               (long long)n, (long long)n_kv_heads, (long long)n_heads);
}

static posenc_status check_extents(const posenc_attention_lists *lists, const posenc_view *scores) {
    if (lists->n_max < 0 || lists->n_max > POSENC_MAX_KEYS || lists->query_stride < 0 || lists->batch_stride < 0 ||
        lists->head_stride < 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (lists->query_stride > POSENC_LIMIT / (scores->ne[1] + 1) ||
        lists->head_stride > POSENC_LIMIT / (scores->ne[2] + 1) ||
        lists->batch_stride > POSENC_LIMIT / (scores->ne[3] + 1))
        return posenc_refused(POSENC_ERR_SHAPE);
    if (lists->keys == NULL)
        return lists->n_max > 0 ? posenc_refused(POSENC_ERR_NULL) : POSENC_OK;
    return posenc_is_aligned(lists->keys, 4) ? POSENC_OK : posenc_refused(POSENC_ERR_STRIDE);
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
    if (status == POSENC_OK)
        status = check_heads(lists, scores->ne[2], args->k.ne[1]);
    if (status != POSENC_OK || lists->n_max == 0 || posenc_view_count(&args->q) == 0)
        return status;
    const posenc_score_sequences *sequences = &args->params->sequences;
    int64_t n_lists = lists->query_stride == 0 ? 1 : scores->ne[1], n_heads = n_heads_of(lists);
    for (int64_t b = 0; b < scores->ne[3]; b++) {
        int64_t begin = sequences->k_begin != NULL ? sequences->k_begin[b] : 0;
        int64_t end = sequences->k_end != NULL ? sequences->k_end[b] : scores->ne[0];
        for (int64_t i = 0; i < n_heads * n_lists; i++)
            if (!is_inside(list_at(lists, i % n_lists, i / n_lists, b), lists->n_max, begin, end))
                return posenc_refuse(POSENC_ERR_ROWS,
                                     "lists: query %lld of sequence %lld names a key outside %lld .. %lld",
                                     (long long)(i % n_lists), (long long)b, (long long)begin, (long long)end - 1);
    }
    return POSENC_OK;
}

/* ---- Units ---- */

int64_t posenc_attention_heads_with_one_list(const posenc_attention_call *call, int64_t batch, int64_t kv_head,
                                             int64_t n) {
    const posenc_attention_lists *lists = call->args->lists;
    if (n <= 1 || lists == NULL || lists->head_stride == 0 || lists->n_max == 0)
        return n;
    int64_t per_kv_head = lists->n_heads / call->args->k.ne[1], equal = 1;
    if (per_kv_head > 1)
        return 1;
    const int32_t *first = list_at(lists, 0, kv_head, batch);
    int64_t n_entries = posenc_min(length_of(first, lists->n_max) + 1, lists->n_max); /* with the end */
    while (equal < n &&
           memcmp(first, list_at(lists, 0, kv_head + equal, batch), (size_t)n_entries * sizeof *first) == 0)
        equal++;
    return equal;
}

posenc_attention_unit posenc_attention_share(const posenc_attention_unit *unit, int64_t done) {
    const posenc_attention_lists *lists = unit->call->args->lists;
    posenc_attention_unit share = *unit;
    if (lists == NULL)
        return share;
    int64_t group = unit->call->group, n_heads = n_heads_of(lists);
    int64_t sharing = unit->call->args->q.ne[1] / n_heads; /* query heads with one list */
    int64_t run = posenc_min(sharing, group);
    share.first += done;
    share.n = posenc_min(unit->n - done, run - share.first % run);
    int64_t head = unit->kv_head * group + share.first % group;
    share.list = lists->n_max > 0 ? list_at(lists, share.first / group, head / sharing, unit->batch) : NULL;
    share.n_keys = (size_t)length_of(share.list, lists->n_max);
    return share;
}
