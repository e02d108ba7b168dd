/* SPDX-License-Identifier: MIT */
/* Checks of softmax's parameters, and the arguments of each row of scores. */
#include "softmax/scores.h"

#include <float.h>
#include <math.h>

#include "bias/rel_bias.h"
#include "core/minmax.h"
#include "core/view.h"
#include "kernels/exp.h"
#include "softmax/block_mask.h"

/* ---- Checks ---- */

/* n finite numbers, or NULL. */
static posenc_status check_slopes(const float *slopes, int64_t n) {
    if (!posenc_is_aligned(slopes, 4))
        return posenc_refuse(POSENC_ERR_STRIDE, "not aligned to 4 bytes");
    for (int64_t h = 0; slopes != NULL && h < n; h++)
        if (!isfinite(slopes[h]))
            return posenc_refuse(POSENC_ERR_SCALE, "number %lld is %g, but finite ones are wanted", (long long)h,
                                 (double)slopes[h]);
    return POSENC_OK;
}

static posenc_status check_numbers(const posenc_score_params *params, int64_t n_heads) {
    if (!isfinite(params->scale))
        return posenc_refuse(POSENC_ERR_SCALE, "scale is %g, but a finite one is wanted", (double)params->scale);
    if (!isfinite(params->cap) || !(params->cap == 0.0f || params->cap >= FLT_MIN))
        return posenc_refuse(POSENC_ERR_SCALE, "cap is %g, but a positive one, or 0, is wanted", (double)params->cap);
    if (params->fully_masked < POSENC_FULLY_MASKED_ZEROS || params->fully_masked > POSENC_FULLY_MASKED_NAN ||
        params->masked_output < POSENC_MASKED_WRITTEN || params->masked_output > POSENC_MASKED_UNTOUCHED)
        return posenc_refused(POSENC_ERR_ENUM);
    if (!posenc_is_aligned(params->sinks, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t h = 0; params->sinks != NULL && h < n_heads; h++)
        if (!isfinite(params->sinks[h]) && params->sinks[h] != -INFINITY)
            return posenc_refuse(POSENC_ERR_SCALE, "sinks: number %lld is %g, but finite ones or -inf are wanted",
                                 (long long)h, (double)params->sinks[h]);
    return posenc_argument("bias.tensor_slopes", check_slopes(params->bias.tensor_slopes, n_heads));
}

/* Arrays by head, and by sequence, have an entry for each. */
static posenc_status check_counts(const posenc_score_params *params, const posenc_view *y) {
    int has_heads = params->sinks != NULL || params->bias.alibi_slopes != NULL || params->bias.tensor_slopes != NULL;
    if (has_heads && params->n_heads != y->ne[2])
        return posenc_refuse(POSENC_ERR_N_HEADS, "n_heads of sinks and slopes is %lld, but there are %lld heads",
                             (long long)params->n_heads, (long long)y->ne[2]);
    if (posenc_has_sequences(params) && params->n_batch != y->ne[3])
        return posenc_refuse(POSENC_ERR_SHAPE, "n_batch of starts and lengths is %lld, but there are %lld sequences",
                             (long long)params->n_batch, (long long)y->ne[3]);
    return POSENC_OK;
}

/* Checks the ALiBi slopes of every sequence. */
static posenc_status check_alibi(const posenc_score_bias *bias, int64_t n_heads, int64_t n_batch) {
    if (bias->alibi_slopes == NULL)
        return POSENC_OK;
    if (posenc_leaves_limit(bias->alibi_batch_stride, n_batch * (int64_t)sizeof *bias->alibi_slopes))
        return posenc_refuse(POSENC_ERR_STRIDE, "bias.alibi_batch_stride is %lld: too large",
                             (long long)bias->alibi_batch_stride);
    posenc_status status = POSENC_OK;
    for (int64_t b = 0; b < (bias->alibi_batch_stride == 0 ? 1 : n_batch) && status == POSENC_OK; b++)
        status = check_slopes(bias->alibi_slopes + b * bias->alibi_batch_stride, n_heads);
    return posenc_argument("bias.alibi_slopes", status);
}

/* Smallest and largest of n positions. */
static posenc_status check_positions(const int32_t *positions, int64_t n, posenc_offsets *range) {
    if (!posenc_is_aligned(positions, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    *range = (posenc_offsets){POSENC_MAX_KEYS, -POSENC_MAX_KEYS};
    for (int64_t t = 0; t < n; t++) {
        range->lowest = posenc_min(range->lowest, positions[t]);
        range->highest = posenc_max(range->highest, positions[t]);
    }
    int is_inside = n == 0 || (range->lowest > -POSENC_MAX_KEYS && range->highest < POSENC_MAX_KEYS);
    return is_inside ? POSENC_OK : posenc_refused(POSENC_ERR_POSITION);
}

/* 1 if the result depends on the positions of the queries. */
static int depends_on_positions(const posenc_score_params *params) {
    const posenc_mask *m = &params->mask;
    if (params->tree != NULL) /* it is at the last keys */
        return 1;
    if (params->positions.keys != NULL) /* positions are given; documents go by number */
        return params->sequences.cu_seqlens != NULL;
    return m->before >= 0 || m->after >= 0 || m->chunk > 0 || params->bias.alibi_slopes != NULL ||
           params->bias.relative != NULL || params->bias.by_query.products != NULL ||
           params->bias.by_key.products != NULL || params->sequences.cu_seqlens != NULL;
}

/* Aligned at the last key, a sequence that has keys has one for every query: else its queries are padded too, or the
 * first of them see nothing, and what is meant has to be said. */
static posenc_status check_alignment(const posenc_score_params *params, const posenc_view *y, int64_t batch) {
    if (params->positions.query_starts != NULL || params->positions.query_start != POSENC_ALIGN_LAST_KEY ||
        !depends_on_positions(params))
        return POSENC_OK;
    int64_t begin =
        params->sequences.k_begin != NULL && params->sequences.k_end != NULL ? params->sequences.k_begin[batch] : 0;
    int64_t end = params->sequences.k_end != NULL ? params->sequences.k_end[batch] : y->ne[0];
    return end > begin && end < y->ne[1]
               ? posenc_refuse(POSENC_ERR_POSITION,
                               "positions: sequence %lld has %lld keys for %lld queries; set query_start",
                               (long long)batch, (long long)end, (long long)y->ne[1])
               : POSENC_OK;
}

/* Positions of queries by query_start or query_starts: lowest to highest. */
static posenc_status check_query_starts(const posenc_score_params *params, const posenc_view *y,
                                        posenc_offsets *queries) {
    int64_t n_k = y->ne[0], n_q = y->ne[1], start = params->positions.query_start;
    posenc_status status = posenc_align_queries(&start, n_q, n_k);
    if (status != POSENC_OK)
        return status;
    if (params->positions.query_starts != NULL && params->positions.query_start != POSENC_ALIGN_LAST_KEY)
        return posenc_refused(POSENC_ERR_POSITION);
    if (!posenc_is_aligned(params->positions.query_starts, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    *queries = (posenc_offsets){start, start + n_q - 1};
    int is_shared = params->positions.query_starts == NULL &&
                    params->sequences.k_end == NULL; /* then one sequence speaks for all */
    for (int64_t batch = 0; batch < (is_shared ? 1 : y->ne[3]); batch++) {
        int64_t first = posenc_query_start(params, y, batch);
        status = posenc_align_queries(&first, n_q, n_k);
        if (status == POSENC_OK)
            status = check_alignment(params, y, batch);
        if (status != POSENC_OK)
            return status;
        queries->lowest = batch == 0 ? first : posenc_min(queries->lowest, first);
        queries->highest = batch == 0 ? first + n_q - 1 : posenc_max(queries->highest, first + n_q - 1);
    }
    return POSENC_OK;
}

/* Offsets of the call that the mask leaves visible. */
static posenc_status check_offsets(const posenc_score_params *params, const posenc_view *y, posenc_offsets *visible) {
    int64_t n_k = y->ne[0], n_q = y->ne[1];
    if ((params->positions.queries == NULL) != (params->positions.keys == NULL))
        return posenc_refused(POSENC_ERR_NULL);
    posenc_offsets queries;
    posenc_status status = check_query_starts(params, y, &queries);
    if (status != POSENC_OK)
        return status;
    posenc_offsets keys = {0, n_k - 1}; /* not before: the n_k of pages may have been any number */
    if (params->positions.keys != NULL) {
        if (params->positions.query_starts != NULL)
            return posenc_refused(POSENC_ERR_POSITION);
        if (params->mask.n_first > 0)
            return posenc_refused(POSENC_ERR_MASK);
        status = check_positions(params->positions.queries, n_q, &queries);
        if (status == POSENC_OK)
            status = check_positions(params->positions.keys, n_k, &keys);
    }
    if (status == POSENC_OK)
        *visible = posenc_offsets_visible(&params->mask, queries, keys);
    return status;
}

static posenc_status check_documents(const posenc_score_params *params) {
    if (params->sequences.n_seqs < 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (params->sequences.cu_seqlens == NULL)
        return params->sequences.n_seqs == 0 ? POSENC_OK : posenc_refused(POSENC_ERR_NULL);
    if (!posenc_is_aligned(params->sequences.cu_seqlens, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    if (params->sequences.cu_seqlens[0] != 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    for (int64_t d = 0; d < params->sequences.n_seqs; d++)
        if (params->sequences.cu_seqlens[d + 1] < params->sequences.cu_seqlens[d])
            return posenc_refused(POSENC_ERR_SHAPE);
    return POSENC_OK;
}

static posenc_status check_lengths(const int32_t *lengths, int64_t n_batch, int64_t n_k) {
    if (!posenc_is_aligned(lengths, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t b = 0; lengths != NULL && b < n_batch; b++)
        if (lengths[b] < 0 || lengths[b] > n_k)
            return posenc_refuse(POSENC_ERR_MASK, "number %lld is %d, but 0 .. %lld are wanted", (long long)b,
                                 lengths[b], (long long)n_k);
    return POSENC_OK;
}

static posenc_status check_origins(const int32_t *origins, int64_t n_batch) {
    if (!posenc_is_aligned(origins, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t b = 0; origins != NULL && b < n_batch; b++)
        if (origins[b] < -POSENC_MAX_KEYS || origins[b] > POSENC_MAX_KEYS)
            return posenc_refused(POSENC_ERR_POSITION);
    return POSENC_OK;
}

/* y's extents may be more than there is room for: of attention they are the scores that nobody makes. */
static posenc_status check_bool_mask(const posenc_bool_mask *mask, const posenc_view *y) {
    if (mask == NULL)
        return POSENC_OK;
    if (mask->polarity != POSENC_KEEP && mask->polarity != POSENC_DROP)
        return mask->polarity == POSENC_POLARITY_UNSET ? posenc_refused(POSENC_ERR_UNSET)
                                                       : posenc_refused(POSENC_ERR_ENUM);
    if (mask->nb[0] != 1 && y->ne[0] != 1)
        return posenc_refused(POSENC_ERR_STRIDE);
    int is_empty = 0;
    for (int i = 0; i < 4; i++) {
        if (posenc_leaves_limit(mask->nb[i], y->ne[i]))
            return posenc_refused(POSENC_ERR_STRIDE);
        is_empty |= y->ne[i] == 0;
    }
    return mask->data == NULL && !is_empty ? posenc_refused(POSENC_ERR_NULL) : POSENC_OK;
}

/* A tree excludes bool_mask and documents, and is at the end of the keys. Token numbers are not positions. */
static posenc_status check_tree(const posenc_score_params *params, const posenc_view *y) {
    const posenc_score_positions *at = &params->positions;
    if (params->tree == NULL)
        return POSENC_OK;
    if (params->bool_mask != NULL || params->sequences.cu_seqlens != NULL)
        return posenc_refused(POSENC_ERR_MASK);
    int counts = params->mask.before >= 0 || params->mask.chunk > 0 || params->bias.alibi_slopes != NULL ||
                 params->bias.relative != NULL || params->bias.by_query.products != NULL ||
                 params->bias.by_key.products != NULL;
    if (at->query_start != POSENC_ALIGN_LAST_KEY || at->query_starts != NULL || (counts && at->keys == NULL))
        return posenc_refused(POSENC_ERR_POSITION);
    if (at->keys != NULL && params->tree->batch_stride != 0 && y->ne[3] > 1) /* positions are those of all sequences */
        return posenc_refused(POSENC_ERR_POSITION);
    return posenc_check_tree(params->tree, y->ne[1], y->ne[3]);
}

/* The input has y's extents, or 1 where it is shared (not along keys). */
static posenc_status check_beside(const posenc_view *input, const posenc_view *y, const int64_t ne[4]) {
    posenc_status status = posenc_check_input(input);
    if (status != POSENC_OK)
        return status;
    for (int i = 0; i < 4; i++)
        if (input->ne[i] != ne[i] && (i == 0 || input->ne[i] != 1))
            return posenc_refused(POSENC_ERR_SHAPE);
    return posenc_check_apart(input, y);
}

/* Kernels multiply the stride by the lanes of a vector, and add the row, in int32. */
static posenc_status check_by_key(const posenc_view *products) {
    int64_t stride = products->nb[1] / (int64_t)sizeof(float);
    if (products->ne[1] <= 1 || posenc_view_count(products) == 0)
        return POSENC_OK;
    if (products->ne[0] > (int64_t)1 << 30)
        return posenc_refused(POSENC_ERR_SHAPE);
    return stride > -((int64_t)1 << 26) && stride < (int64_t)1 << 26 ? POSENC_OK : posenc_refused(POSENC_ERR_STRIDE);
}

/* products: [table rows, n, n_heads, n_batch], where n counts queries, or keys. */
static posenc_status check_relative(const posenc_relative *r, const posenc_view *y, int64_t n, posenc_offsets visible) {
    if (r->products == NULL && r->index == NULL)
        return POSENC_OK;
    if (r->products == NULL || r->index == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    int64_t ne[4] = {r->products->ne[0], n, y->ne[2], y->ne[3]};
    posenc_status status = check_beside(r->products, y, ne);
    if (status == POSENC_OK)
        status = posenc_require_f32(r->products);
    if (status != POSENC_OK)
        return status;
    return posenc_check_rel_index(r->index, ne[0], visible);
}

posenc_status posenc_check_scores(const posenc_score_params *params, const posenc_view *y) {
    int64_t n_k = y->ne[0], n_q = y->ne[1], n_heads = y->ne[2], n_batch = y->ne[3];
    posenc_offsets visible = {1, 0};
    posenc_status status = check_counts(params, y);
    if (status == POSENC_OK)
        status = check_numbers(params, n_heads);
    if (status == POSENC_OK)
        status = check_alibi(&params->bias, n_heads, n_batch);
    if (status == POSENC_OK)
        status = posenc_check_mask(&params->mask);
    if (status == POSENC_OK)
        status = posenc_argument("sequences.k_begin", check_lengths(params->sequences.k_begin, n_batch, n_k));
    if (status == POSENC_OK)
        status = posenc_argument("sequences.k_end", check_lengths(params->sequences.k_end, n_batch, n_k));
    if (status == POSENC_OK)
        status = check_origins(params->sequences.origins, n_batch);
    if (status == POSENC_OK)
        status = check_offsets(params, y, &visible);
    if (status == POSENC_OK)
        status = check_documents(params);
    if (status == POSENC_OK)
        status = posenc_argument("bool_mask", check_bool_mask(params->bool_mask, y));
    if (status == POSENC_OK)
        status = posenc_argument("tree", check_tree(params, y));
    if (status == POSENC_OK)
        status = posenc_argument("block_mask", posenc_check_block_mask(params, y));
    if (status == POSENC_OK)
        status = posenc_argument("bias.relative", posenc_check_rel_bias(params->bias.relative, n_heads, visible));
    if (status == POSENC_OK && params->bias.tensor != NULL)
        status = posenc_argument("bias.tensor", check_beside(params->bias.tensor, y, y->ne));
    if (status == POSENC_OK)
        status = posenc_argument("bias.by_query", check_relative(&params->bias.by_query, y, n_q, visible));
    if (status == POSENC_OK)
        status = posenc_argument("bias.by_key", check_relative(&params->bias.by_key, y, n_k, visible));
    if (status == POSENC_OK && params->bias.by_key.products != NULL)
        status = check_by_key(params->bias.by_key.products);
    return status;
}

posenc_status posenc_check_scale(const posenc_score_params *params) {
    return params->scale != 0.0f
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_UNSET, "scale is 0: set it (1 / sqrt(head_dim), or 1 where q has it)");
}

posenc_status posenc_check_scores_read(const posenc_score_params *params, const posenc_view *x) {
    posenc_view extents = *x;
    extents.data = NULL;
    return posenc_check_scores(params, &extents);
}

/* ---- One row ---- */

/* Keys of the document that the query belongs to; none if it lies behind the last. */
static posenc_offsets document_of(const posenc_score_params *params, int64_t query) {
    const int32_t *starts = params->sequences.cu_seqlens;
    int64_t low = 0,
            high = params->sequences.n_seqs; /* starts[low] <= query < starts[high], if there is such a document */
    if (query < 0 || query >= starts[high])
        return (posenc_offsets){0, -1};
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (starts[middle] <= query)
            low = middle;
        else
            high = middle;
    }
    return (posenc_offsets){starts[low], (int64_t)starts[high] - 1};
}

/* The bounds, from keys [begin, end), in which the mask makes a hole if the first keys stay visible beside a window. */
static void set_bounds(posenc_softmax_row_args *args, int64_t begin, int64_t hole_end, int64_t end, int64_t n_first) {
    int64_t hole_begin = posenc_max(begin, n_first);
    if (hole_end <= hole_begin) {
        hole_begin = hole_end = 0;
    } else if (hole_begin == begin) { /* nothing before the hole */
        begin = hole_end;
        hole_begin = hole_end = 0;
    } else if (hole_end >= end) { /* nothing behind it */
        end = posenc_min(end, hole_begin);
        hole_begin = hole_end = 0;
    }
    if (begin >= end)
        begin = end = 0;
    args->visible.begin = (size_t)begin;
    args->visible.hole_begin = (size_t)hole_begin;
    args->visible.hole_end = (size_t)hole_end;
    args->visible.end = (size_t)end;
}

/* Offsets that the mask leaves visible, for calls with positions of keys or lists of keys. */
static void set_offsets(posenc_softmax_row_args *args, posenc_offsets visible) {
    args->lowest = (int32_t)posenc_max(visible.lowest, -POSENC_ANY_OFFSET);
    args->highest = (int32_t)posenc_min(visible.highest, POSENC_ANY_OFFSET - 1);
}

static void set_mask(const posenc_score_params *params, int64_t query, posenc_row_place at,
                     posenc_softmax_row_args *args) {
    int64_t begin = params->sequences.k_begin != NULL ? params->sequences.k_begin[at.batch] : 0;
    int64_t end = params->sequences.k_end != NULL ? params->sequences.k_end[at.batch] : (int64_t)args->n;
    if (params->sequences.cu_seqlens != NULL) {
        posenc_offsets document = document_of(params, query);
        begin = posenc_max(begin, document.lowest);
        end = posenc_min(end, document.highest + 1);
    }
    int64_t origin = params->sequences.origins != NULL ? params->sequences.origins[at.batch] : 0;
    posenc_offsets visible = posenc_offsets_at(&params->mask, args->position - origin);
    set_offsets(args, visible);
    if (params->positions.keys != NULL) {
        set_bounds(args, begin, 0, end, 0);
    } else {
        end = posenc_min(end, args->position + visible.highest + 1);
        int64_t n_first = params->mask.n_first > 0 ? params->mask.n_first + origin : 0;
        set_bounds(args, begin, args->position + visible.lowest, end, n_first);
    }
    if (params->bool_mask != NULL && args->n > 0) {
        const posenc_bool_mask *m = params->bool_mask;
        args->bytes = m->data + at.query * m->nb[1] + at.head * m->nb[2] + at.batch * m->nb[3];
        args->keep = m->polarity == POSENC_KEEP;
    }
}

/* A relative bias without offsets, and a table without rows, are accepted if all keys are masked: there is nothing to
 * read. */
static posenc_rel_term relative_at(const posenc_relative *r, const float *products, int64_t key_stride) {
    if (r->index->n_offsets == 0 || r->index->n_rows == 0)
        return (posenc_rel_term){.product = NULL};
    return (posenc_rel_term){
        .product = products,
        .key_stride = (ptrdiff_t)key_stride,
        .index = r->index->data,
        .first = (int32_t)r->index->first,
        .last = (int32_t)(r->index->first + r->index->n_offsets - 1),
        .last_row = (int32_t)(posenc_min(r->index->n_rows, (int64_t)1 << 31) - 1),
    };
}

static float alibi_slope(const posenc_score_bias *bias, posenc_row_place at) {
    return bias->alibi_slopes[at.batch * bias->alibi_batch_stride + at.head];
}

static void set_biases(const posenc_score_params *params, posenc_row_place at, posenc_softmax_row_args *args) {
    const posenc_relative *q = &params->bias.by_query, *k = &params->bias.by_key;
    if (q->products != NULL)
        args->by_query = relative_at(q, posenc_shared_at(q->products, at.query, at.head, at.batch), 0);
    if (k->products != NULL) {
        int64_t stride = k->products->ne[1] == 1 ? 0 : k->products->nb[1] / (int64_t)sizeof(float);
        args->by_key = relative_at(k, posenc_shared_at(k->products, 0, at.head, at.batch), stride);
    }
    if (params->bias.alibi_slopes != NULL)
        args->slope = alibi_slope(&params->bias, at) + 0.0f; /* -0 is none too */
    if (params->bias.relative != NULL && params->bias.relative->n_offsets > 0) {
        const posenc_rel_bias *rel_bias = params->bias.relative;
        args->rel_bias.at = rel_bias->data + at.head * rel_bias->stride;
        args->rel_bias.first = (int32_t)rel_bias->first;
        args->rel_bias.last = (int32_t)(rel_bias->first + rel_bias->n_offsets - 1);
    }
    if (params->bias.tensor != NULL) {
        args->bias = posenc_shared_at(params->bias.tensor, at.query, at.head, at.batch);
        args->bias_type = params->bias.tensor->dtype;
        args->bias_slope = params->bias.tensor_slopes != NULL ? params->bias.tensor_slopes[at.head] : 1.0f;
    }
}

static float value_of_empty(posenc_fully_masked_row empty, int64_t n_k) {
    switch (empty) {
    case POSENC_FULLY_MASKED_UNIFORM: return 1.0f / (float)n_k;
    case POSENC_FULLY_MASKED_NAN: return NAN;
    default: return 0.0f;
    }
}

void posenc_score_args_begin(const posenc_score_params *params, const posenc_view *y, posenc_softmax_row_args *args) {
    args->n = (size_t)y->ne[0];
    args->k_pos = params->positions.keys;
    args->scale = params->scale;
    args->cap = params->cap;
    args->inv_cap = params->cap == 0.0f ? 0.0f : 1.0f / params->cap;
    args->exp_lowest = POSENC_EXP_LOWEST;
    args->sink = args->least = -INFINITY;
    /* Exponentials are a part of a row, of which others may not be empty. */
    args->empty = args->form == POSENC_PROBABILITIES ? value_of_empty(params->fully_masked, y->ne[0]) : 0.0f;
}

void posenc_score_args_at(const posenc_score_params *params, const posenc_view *y, const posenc_row_place *place,
                          posenc_softmax_row_args *args) {
    const posenc_row_place at = *place;
    int64_t query = posenc_query_start(params, y, at.batch) + at.query;
    args->position = params->positions.queries != NULL ? params->positions.queries[at.query] : (int32_t)query;
    if (params->sinks != NULL)
        args->sink = params->sinks[at.head];
    set_mask(params, query, at, args);
    set_biases(params, at, args);
}

/* Rows that do not depend on positions are faster without them. */
void posenc_score_args_listed(const posenc_score_params *params, const int32_t *keys, size_t n,
                              posenc_softmax_row_args *args) {
    const posenc_mask *m = &params->mask;
    int uses_positions = m->before >= 0 || m->after >= 0 || m->chunk > 0 || args->slope != 0.0f ||
                         args->rel_bias.at != NULL || args->by_query.product != NULL;
    args->n = n;
    args->visible = (posenc_visible){.end = n};
    args->k_pos = uses_positions ? keys : NULL;
}

void posenc_score_args_tree(const posenc_score_params *params, const posenc_view *y, const posenc_row_place *at,
                            size_t first, size_t n, uint8_t *bytes, posenc_softmax_row_args *args) {
    const posenc_tree *tree = params->tree;
    int64_t end = params->sequences.k_end != NULL ? params->sequences.k_end[at->batch] : y->ne[0];
    tree_span own = {end - y->ne[1], end}, keys = {(int64_t)first, (int64_t)(first + n)};
    tree_part part = posenc_tree_part(tree->parents + at->batch * tree->batch_stride, at->query, own, keys, bytes);
    args->bytes = part.bytes;
    args->bytes_begin = part.begin;
    args->keep = 1;
}
