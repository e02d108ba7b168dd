/* SPDX-License-Identifier: MIT */
/* Fused attention over a ragged batch: each sequence is a call of its own over slices of the batch's arguments. */
#include <stdio.h>

#include "attention/attention.h"

#include "core/minmax.h"
#include "core/view.h"

/* ---- Checks ---- */

/* n_batch + 1 numbers, ascending from 0 to n. */
static posenc_status check_ends(const int32_t *ends, int64_t n_batch, int64_t n) {
    if (ends == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(ends, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t b = 0; b < n_batch; b++)
        if (ends[b + 1] < ends[b])
            return posenc_refuse(POSENC_ERR_SHAPE, "entry %lld is %d, below the one before", (long long)b + 1,
                                 ends[b + 1]);
    return ends[0] == 0 && ends[n_batch] == n
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_SHAPE, "from %d to %d, but 0 to %lld is wanted", ends[0], ends[n_batch],
                               (long long)n);
}

/* Refuses arrays that are shared by sequences of one number of queries. */
static posenc_status check_terms(const posenc_attention_args *args) {
    const posenc_score_params *params = args->params;
    if (params->positions.queries != NULL || params->positions.keys != NULL)
        return posenc_refuse(POSENC_ERR_POSITION, "ragged batches do not go with given positions");
    const posenc_attention_term terms[] = {
        {"bool_mask", params->bool_mask != NULL},
        {"block_mask", params->block_mask != NULL},
        {"tree", params->tree != NULL},
        {"bias.tensor", params->bias.tensor != NULL},
        {"bias.by_query", params->bias.by_query.products != NULL},
        {"bias.by_key", params->bias.by_key.products != NULL},
        {"sequences.cu_seqlens", params->sequences.cu_seqlens != NULL},
    };
    const char *name = posenc_attention_first_given(terms, sizeof terms / sizeof terms[0]);
    return name == NULL ? POSENC_OK
                        : posenc_refuse(POSENC_ERR_MASK,
                                        "ragged batches do not go with %s: it needs a call for each sequence", name);
}

/* Strides from sequence to sequence, and of lists from token to token. */
static posenc_status check_strides(const posenc_attention_args *args, int64_t n_batch) {
    const posenc_attention_lists *lists = args->lists;
    const posenc_attention_pages *pages = args->pages;
    const posenc_score_bias *bias = &args->params->bias;
    int64_t most = POSENC_LIMIT / (n_batch + args->q.ne[2] + 1);
    if (lists != NULL && (lists->query_stride < 0 || lists->query_stride > most || lists->batch_stride < 0 ||
                          lists->batch_stride > most))
        return posenc_refused(POSENC_ERR_SHAPE);
    if (pages != NULL && (pages->stride < 0 || pages->stride > most))
        return posenc_refused(POSENC_ERR_SHAPE);
    if (bias->alibi_slopes != NULL && (bias->alibi_batch_stride < -most || bias->alibi_batch_stride > most))
        return posenc_refused(POSENC_ERR_STRIDE);
    return POSENC_OK;
}

/* Keys are one sequence cut by cu_k, or as many sequences as the batch has, or in pages. */
static posenc_status check_keys(const posenc_attention_args *args, const posenc_attention_ragged *ragged) {
    int64_t n_sequences = ragged->cu_k != NULL ? 1 : ragged->n_batch;
    if (ragged->cu_k != NULL && args->pages != NULL)
        return posenc_refuse(POSENC_ERR_SHAPE, "cu_k does not go with pages: their lengths are sequences.k_end");
    if (args->pages == NULL && args->k.ne[3] != n_sequences)
        return posenc_refuse(POSENC_ERR_SHAPE, "k: ne[3] is %lld, but %lld is wanted", (long long)args->k.ne[3],
                             (long long)n_sequences);
    return ragged->cu_k != NULL ? posenc_argument("cu_k", check_ends(ragged->cu_k, ragged->n_batch, args->k.ne[2]))
                                : POSENC_OK;
}

static posenc_status check_extents(const posenc_attention_args *args, const posenc_attention_ragged *ragged) {
    if (ragged->n_batch < 0 || ragged->n_batch > POSENC_MAX_KEYS)
        return posenc_refuse(POSENC_ERR_SHAPE, "n_batch is %lld", (long long)ragged->n_batch);
    if (args->q.ne[3] != 1)
        return posenc_refuse(POSENC_ERR_SHAPE, "q: ne[3] is %lld, but all sequences lie in one",
                             (long long)args->q.ne[3]);
    if (posenc_has_sequences(args->params) && args->params->n_batch != ragged->n_batch)
        return posenc_refuse(POSENC_ERR_SHAPE, "n_batch of starts and lengths is %lld, but there are %lld sequences",
                             (long long)args->params->n_batch, (long long)ragged->n_batch);
    posenc_status status = posenc_argument("cu_q", check_ends(ragged->cu_q, ragged->n_batch, args->q.ne[2]));
    return status == POSENC_OK ? check_keys(args, ragged) : status;
}

/* Checks the batch as a whole: slices of it may then be made. */
static posenc_status check_batch(const posenc_attention_args *args, const posenc_attention_ragged *ragged) {
    if (args == NULL || args->params == NULL || ragged == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_attention(&args->q, &args->k, &args->v, &args->out);
    if (status == POSENC_OK)
        status = posenc_check_lse(args);
    if (status == POSENC_OK)
        status = check_terms(args);
    if (status == POSENC_OK)
        status = check_extents(args, ragged);
    if (status == POSENC_OK)
        status = check_strides(args, ragged->n_batch);
    if (status == POSENC_OK)
        status = posenc_check_inputs_apart(args, &args->out);
    return status == POSENC_OK ? posenc_check_inputs_apart(args, args->lse) : status;
}

/* ---- One sequence ---- */

/* Arguments of one sequence's call, and what they point to. */
typedef struct sequence {
    posenc_attention_args args;
    posenc_score_params params;
    posenc_view lse;
    posenc_attention_pages pages;
    posenc_attention_lists lists;
} sequence;

static const int32_t *entry(const int32_t *array, int64_t b) {
    return array != NULL ? array + b : NULL;
}

static void set_params(const posenc_score_params *batch, int64_t b, posenc_score_params *params) {
    *params = *batch;
    params->n_batch = 1;
    params->positions.query_starts = entry(batch->positions.query_starts, b);
    params->sequences.k_begin = entry(batch->sequences.k_begin, b);
    params->sequences.k_end = entry(batch->sequences.k_end, b);
    params->sequences.origins = entry(batch->sequences.origins, b);
    if (batch->bias.alibi_slopes != NULL)
        params->bias.alibi_slopes += b * batch->bias.alibi_batch_stride;
}

/* Sequence b's keys or values. */
static posenc_view rows_of(const posenc_attention_args *batch, const posenc_attention_ragged *ragged,
                           const posenc_view *x, int64_t b) {
    if (ragged->cu_k != NULL)
        return posenc_view_slice(*x, 2, ragged->cu_k[b], ragged->cu_k[b + 1] - ragged->cu_k[b]);
    return batch->pages != NULL ? *x : posenc_view_slice(*x, 3, b, 1);
}

static void set_sequence(const posenc_attention_args *batch, const posenc_attention_ragged *ragged, int64_t b,
                         sequence *s) {
    int64_t first = ragged->cu_q[b], n = ragged->cu_q[b + 1] - first;
    set_params(batch->params, b, &s->params);
    s->args = *batch;
    s->args.params = &s->params;
    s->args.q = posenc_view_slice(batch->q, 2, first, n);
    s->args.out = posenc_view_slice(batch->out, 2, first, n);
    s->args.k = rows_of(batch, ragged, &batch->k, b);
    s->args.v = rows_of(batch, ragged, &batch->v, b);
    if (batch->lse != NULL) {
        s->lse = posenc_view_slice(*batch->lse, 2, first, n);
        s->args.lse = &s->lse;
    }
    if (batch->pages != NULL) {
        s->pages = *batch->pages;
        s->pages.table = entry(s->pages.table, b * s->pages.stride);
        s->args.pages = &s->pages;
    }
    if (batch->lists != NULL) {
        s->lists = *batch->lists;
        s->lists.keys = entry(s->lists.keys, b * s->lists.batch_stride + first * s->lists.query_stride);
        s->args.lists = &s->lists;
    }
}

/* ---- Calls ---- */

static int64_t units_of(const posenc_attention_args *args, const posenc_attention_ragged *ragged, int64_t b) {
    int64_t n_kv_heads = args->k.ne[1], n_q = ragged->cu_q[b + 1] - ragged->cu_q[b];
    return n_kv_heads > 0 ? posenc_units_of(n_q * (args->q.ne[1] / n_kv_heads)) * n_kv_heads : 0;
}

static int64_t count_units(const posenc_attention_args *args, const posenc_attention_ragged *ragged) {
    int64_t n = 0;
    for (int64_t b = 0; b < ragged->n_batch; b++)
        n += units_of(args, ragged, b);
    return n;
}

int64_t posenc_attention_ragged_unit_count(const posenc_attention_args *args, const posenc_attention_ragged *ragged) {
    return check_batch(args, ragged) == POSENC_OK ? count_units(args, ragged) : 0;
}

/* Checks the call of every sequence, so that one that is refused writes nothing of any. */
static posenc_status check_sequences(const posenc_attention_args *args, const posenc_attention_ragged *ragged,
                                     void *scratch, size_t scratch_bytes) {
    for (int64_t b = 0; b < ragged->n_batch; b++) {
        sequence s;
        set_sequence(args, ragged, b, &s);
        posenc_status status = posenc_attention_run(&s.args, scratch, scratch_bytes, (posenc_range){0, 0});
        if (status != POSENC_OK) {
            char name[32];
            snprintf(name, sizeof name, "sequence %lld", (long long)b);
            return posenc_argument(name, status);
        }
    }
    return POSENC_OK;
}

posenc_status posenc_attention_run_ragged(const posenc_attention_args *args, const posenc_attention_ragged *ragged,
                                          void *scratch, size_t scratch_bytes, posenc_range units) {
    posenc_status status = check_batch(args, ragged);
    if (status == POSENC_OK)
        status = posenc_argument("units", posenc_check_rows(&units, count_units(args, ragged)));
    if (status == POSENC_OK)
        status = check_sequences(args, ragged, scratch, scratch_bytes);
    for (int64_t b = 0, base = 0, n; status == POSENC_OK && base < units.end; b++, base += n) {
        n = units_of(args, ragged, b);
        posenc_range own = {posenc_max(units.begin - base, 0), posenc_min(units.end - base, n)};
        if (own.begin >= own.end)
            continue;
        sequence s;
        set_sequence(args, ragged, b, &s);
        status = posenc_attention_run(&s.args, scratch, scratch_bytes, own);
    }
    return status;
}
