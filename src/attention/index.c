/* SPDX-License-Identifier: MIT */
/* Scores of a sparse-attention indexer: sum over heads of weight * max(0, q.k). A work unit is some queries of a
 * sequence and 1024 of its keys. */
#include "attention/index.h"

#include <string.h>

#include "attention/attention.h"
#include "core/minmax.h"
#include "core/view.h"
#include "kernels/kernels.h"

enum {
    PAIRS = POSENC_UNIT_PAIRS,
    KEYS = POSENC_KEYS_PACKED, /* keys packed and multiplied at a time */
    UNIT_KEYS = 1024           /* 128 units of a query with 131072 keys: enough to share between threads */
};

/* ---- Sizes ---- */

/* Queries of a unit: together at most PAIRS heads, or one query, whose heads go by blocks of PAIRS. */
static int64_t queries_of_unit(const posenc_index_args *args) {
    return posenc_max(1, PAIRS / posenc_max(1, args->q.ne[1]));
}

static int64_t pieces(int64_t n, int64_t size) {
    return n / size + (n % size > 0);
}

int64_t posenc_index_unit_count(const posenc_index_args *args) {
    if (args == NULL || posenc_view_is_too_large(&args->q) || posenc_view_is_too_large(&args->scores))
        return 0;
    const posenc_view *scores = &args->scores;
    return pieces(scores->ne[1], queries_of_unit(args)) * pieces(scores->ne[0], UNIT_KEYS) * scores->ne[3];
}

size_t posenc_index_workspace_bytes(int64_t dim) {
    if (!posenc_is_attention_dim(dim))
        return 0;
    return sizeof(float) * (PAIRS * posenc_padded(dim) + KEYS * (size_t)dim + PAIRS * KEYS);
}

/* ---- Checks ---- */

static int are_inside(const int32_t *numbers, int64_t n, int64_t stride, int64_t n_k) {
    for (int64_t i = 0; numbers != NULL && i < n; i++)
        if (numbers[i * stride] < 0 || numbers[i * stride] > n_k)
            return 0;
    return 1;
}

posenc_status posenc_check_key_bounds(const posenc_key_bounds *bounds, const posenc_view *scores) {
    if (bounds == NULL || (bounds->begin == NULL && bounds->end == NULL))
        return POSENC_OK;
    int64_t n_q = scores->ne[1], n_batch = scores->ne[3];
    if (bounds->query_stride < 0 || bounds->batch_stride < 0 || bounds->query_stride > POSENC_LIMIT / (n_q + 1) ||
        bounds->batch_stride > POSENC_LIMIT / (n_batch + 1))
        return posenc_refused(POSENC_ERR_SHAPE);
    if (!posenc_is_aligned(bounds->begin, 4) || !posenc_is_aligned(bounds->end, 4))
        return posenc_refused(POSENC_ERR_STRIDE);
    for (int64_t b = 0; b < n_batch; b++) {
        int64_t at = b * bounds->batch_stride;
        if (!are_inside(bounds->begin != NULL ? bounds->begin + at : NULL, n_q, bounds->query_stride, scores->ne[0]) ||
            !are_inside(bounds->end != NULL ? bounds->end + at : NULL, n_q, bounds->query_stride, scores->ne[0]))
            return posenc_refused(POSENC_ERR_MASK);
    }
    return POSENC_OK;
}

static posenc_status check_views(const posenc_index_args *args) {
    posenc_status status = posenc_check_input(&args->q);
    if (status == POSENC_OK)
        status = posenc_check_stored_input(&args->k);
    if (status == POSENC_OK)
        status = posenc_check_input_f32(&args->weights);
    return status == POSENC_OK ? posenc_check_output_f32(&args->scores) : status;
}

static posenc_status check_shapes(const posenc_index_args *args) {
    const posenc_view *q = &args->q, *k = &args->k, *scores = &args->scores;
    if (k->ne[0] != q->ne[0] || args->weights.ne[0] != 1 || !posenc_same_rows(&args->weights, q) ||
        k->ne[3] != q->ne[3])
        return posenc_refused(POSENC_ERR_SHAPE);
    if (scores->ne[0] != k->ne[2] || scores->ne[1] != q->ne[2] || scores->ne[2] != 1 || scores->ne[3] != q->ne[3] ||
        scores->ne[0] > POSENC_MAX_KEYS)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (k->ne[1] != 1)
        return posenc_refused(POSENC_ERR_N_HEADS);
    return posenc_is_attention_dim(q->ne[0]) ? POSENC_OK : posenc_refused(POSENC_ERR_HEAD_DIM);
}

static posenc_status check_args(const posenc_index_args *args) {
    if (args == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = check_views(args);
    if (status == POSENC_OK)
        status = check_shapes(args);
    if (status == POSENC_OK)
        status = posenc_check_key_bounds(&args->bounds, &args->scores);
    posenc_view inputs[] = {args->q, posenc_storage_of(&args->k), args->weights};
    for (int i = 0; i < 3 && status == POSENC_OK; i++)
        status = posenc_check_apart(&inputs[i], &args->scores);
    return status;
}

static posenc_status check_scratch(const posenc_index_args *args, const void *scratch, size_t bytes) {
    static const char *const names[] = {"q", "k", "weights", "scores"};
    const posenc_view *views[] = {&args->q, &args->k, &args->weights, &args->scores};
    size_t needed = posenc_index_workspace_bytes(args->q.ne[0]);
    posenc_status status = posenc_check_workspace(bytes, needed);
    for (int i = 0; i < 4 && status == POSENC_OK; i++)
        status = posenc_check_apart_from(views[i], names[i], scratch, needed);
    return status;
}

/* ---- A work unit ---- */

/* Queries of a sequence and a range of its keys. */
typedef struct index_unit {
    const posenc_index_args *args;
    const posenc_kernels *kernels;
    int64_t batch, first_query, n_queries;
    posenc_key_span keys;
    /* Scratch: */
    float *queries;  /* rows of a head block in float32, posenc_padded(dim) apart */
    float *panels;   /* KEYS packed keys */
    float *products; /* query rows times keys, KEYS apart */
} index_unit;

/* Heads [first, first + n) of all queries of the unit. */
typedef struct head_block {
    int64_t first, n;
} head_block;

static index_unit unit_at(const posenc_index_args *args, int64_t number, float *scratch) {
    int64_t n_q = args->q.ne[2], n_k = args->k.ne[2], per_query = queries_of_unit(args);
    int64_t n_key_units = pieces(n_k, UNIT_KEYS), n_query_units = pieces(n_q, per_query);
    int64_t first_key = number % n_key_units * UNIT_KEYS, first = number / n_key_units % n_query_units * per_query;
    index_unit t = {
        .args = args,
        .kernels = posenc_active_kernels(),
        .batch = number / n_key_units / n_query_units,
        .first_query = first,
        .n_queries = posenc_min(per_query, n_q - first),
        .keys = {first_key, posenc_min(first_key + UNIT_KEYS, n_k)},
    };
    t.queries = scratch;
    t.panels = t.queries + PAIRS * posenc_padded(args->q.ne[0]);
    t.products = t.panels + KEYS * args->q.ne[0];
    return t;
}

/* Clips keys to the bounds of query i of the unit. */
static posenc_key_span visible_of(const index_unit *t, int64_t i, posenc_key_span keys) {
    posenc_key_span visible = posenc_key_span_of(&t->args->bounds, t->args->k.ne[2], t->first_query + i, t->batch);
    return (posenc_key_span){posenc_max(visible.begin, keys.begin), posenc_min(visible.end, keys.end)};
}

static float *scores_at(const index_unit *t, int64_t i, int64_t key) {
    return (float *)posenc_view_at(&t->args->scores, t->first_query + i, 0, t->batch) + key;
}

/* Clears the scores within bounds. Returns the range of keys that any query of the unit sees. */
static posenc_key_span begin_scores(const index_unit *t) {
    posenc_key_span visible = {t->keys.end, t->keys.begin};
    for (int64_t i = 0; i < t->n_queries; i++) {
        posenc_key_span own = visible_of(t, i, t->keys);
        if (own.begin >= own.end)
            continue;
        memset(scores_at(t, i, own.begin), 0, (size_t)(own.end - own.begin) * sizeof(float));
        visible = (posenc_key_span){posenc_min(visible.begin, own.begin), posenc_max(visible.end, own.end)};
    }
    return visible;
}

static void stage_queries(const index_unit *t, head_block heads) {
    const posenc_view *q = &t->args->q;
    size_t stride = posenc_padded(q->ne[0]);
    for (int64_t i = 0; i < t->n_queries; i++) {
        posenc_convert_args copy = {
            .x = posenc_view_at(q, heads.first, t->first_query + i, t->batch),
            .y = t->queries + (size_t)(i * heads.n) * stride,
            .x_type = q->dtype,
            .x_stride = (ptrdiff_t)q->nb[1],
            .y_stride = (ptrdiff_t)(stride * sizeof(float)),
            .factor = 1.0f,
            .n = (size_t)q->ne[0],
            .n_heads = (size_t)heads.n,
        };
        t->kernels->convert_rows(&copy);
    }
}

static void multiply(const index_unit *t, head_block heads, posenc_key_span keys) {
    const posenc_view *k = &t->args->k;
    size_t dim = (size_t)k->ne[0], n = (size_t)(keys.end - keys.begin);
    /* Prefetches as many keys behind these: this unit or the next packs them. */
    size_t n_next = posenc_min_size(n, (size_t)(k->ne[2] - keys.end));
    const void *rows[2 * KEYS];
    for (size_t j = 0; j < n + n_next; j++)
        rows[j] = posenc_view_at(k, 0, keys.begin + (int64_t)j, t->batch);
    posenc_pack_rows_args pack = {
        .rows = rows,
        .rows_type = k->dtype,
        .panels = t->panels,
        .dim = dim,
        .n_rows = n,
        .ahead = {{rows + n, posenc_row_bytes(k), n_next}},
    };
    t->kernels->pack_rows(&pack);
    posenc_dot_rows_args dot = {
        .x = t->queries,
        .x_stride = (ptrdiff_t)(posenc_padded(k->ne[0]) * sizeof(float)),
        .panels = t->panels,
        .y = t->products,
        .y_stride = (ptrdiff_t)(KEYS * sizeof(float)),
        .dim = dim,
        .n_x = (size_t)(t->n_queries * heads.n),
        .n_rows = n,
    };
    t->kernels->dot_rows(&dot);
}

/* Adds the weighted, clamped products of a head block to the scores of visible keys. */
static void add_heads(const index_unit *t, head_block heads, posenc_key_span keys) {
    for (int64_t i = 0; i < t->n_queries; i++) {
        posenc_key_span visible = visible_of(t, i, keys);
        if (visible.begin >= visible.end)
            continue;
        posenc_weighted_rows_args sum = {
            .weights = posenc_view_at(&t->args->weights, heads.first, t->first_query + i, t->batch),
            .weight_stride = (ptrdiff_t)t->args->weights.nb[1],
            .factor = 1.0f,
            .rows = t->products + i * heads.n * KEYS + (visible.begin - keys.begin),
            .row_stride = (ptrdiff_t)(KEYS * sizeof(float)),
            .relu = 1,
            .y = scores_at(t, i, visible.begin),
            .dim = (size_t)(visible.end - visible.begin),
            .n = (size_t)heads.n,
        };
        t->kernels->weighted_rows(&sum);
    }
}

static void score_unit(const index_unit *t) {
    int64_t n_heads = t->args->q.ne[1];
    posenc_key_span visible = begin_scores(t);
    if (visible.begin >= visible.end)
        return;
    for (head_block heads = {0, 0}; heads.first < n_heads; heads.first += heads.n) {
        heads.n = posenc_min(PAIRS, n_heads - heads.first);
        stage_queries(t, heads);
        for (posenc_key_span keys = {visible.begin, 0}; keys.begin < visible.end; keys.begin = keys.end) {
            keys.end = posenc_min(keys.begin + KEYS, visible.end);
            multiply(t, heads, keys);
            add_heads(t, heads, keys);
        }
    }
}

posenc_status posenc_index_scores(const posenc_index_args *args, void *scratch, size_t scratch_bytes,
                                  posenc_range units) {
    posenc_status status = posenc_argument("scratch", posenc_check_array(scratch, sizeof(float)));
    if (status == POSENC_OK)
        status = check_args(args);
    if (status == POSENC_OK)
        status = posenc_check_rows(&units, posenc_index_unit_count(args));
    if (status == POSENC_OK)
        status = posenc_argument("scratch", check_scratch(args, scratch, scratch_bytes));
    if (status != POSENC_OK)
        return status;
    for (int64_t number = units.begin; number < units.end; number++) {
        index_unit unit = unit_at(args, number, scratch);
        score_unit(&unit);
    }
    return POSENC_OK;
}
