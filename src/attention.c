/* Attention, fused: units of queries that share keys and values, walked over blocks of keys. */
#include "attention.h"

#include <math.h>

#include "hidden.h"
#include "scalar/exp.h"
#include "scores.h"
#include "view.h"

enum {
    UNIT_ROWS = 64,           /* (query, head) pairs of a unit: they share the packing of keys */
    BLOCK = POSENC_SUM_BLOCK, /* keys of a block; attention.h says so */
    PACKED = 4 * POSENC_PANEL /* keys that are packed at a time */
};

/* ---- Checks ---- */

posenc_status posenc_check_attention(const posenc_view *q, const posenc_view *k, const posenc_view *v,
                                     const posenc_view *out) {
    posenc_status status = posenc_check_input(q);
    if (status == POSENC_OK)
        status = posenc_check_input(k);
    if (status == POSENC_OK)
        status = posenc_check_input(v);
    if (status == POSENC_OK)
        status = posenc_check_output(out);
    if (status != POSENC_OK)
        return status;
    if (k->ne[0] != q->ne[0] || v->ne[1] != k->ne[1] || v->ne[2] != k->ne[2] || out->ne[0] != v->ne[0] ||
        out->ne[1] != q->ne[1] || out->ne[2] != q->ne[2])
        return POSENC_ERR_SHAPE;
    if (k->ne[3] != q->ne[3] || v->ne[3] != q->ne[3] || out->ne[3] != q->ne[3])
        return POSENC_ERR_SHAPE;
    if (q->ne[2] > 0 && (k->ne[2] == 0 || q->ne[2] % k->ne[2] != 0))
        return POSENC_ERR_N_HEADS;
    const posenc_view *inputs[] = {q, k, v};
    for (int i = 0; i < 3 && status == POSENC_OK; i++)
        status = posenc_check_apart(inputs[i], out);
    return status;
}

/* Scores as the score path sees them: never written, so they lie nowhere. */
static posenc_view score_view(const posenc_view *q, const posenc_view *k) {
    return (posenc_view){.dtype = POSENC_F32, .ne = {k->ne[1], q->ne[1], q->ne[2], q->ne[3]}};
}

static posenc_status check_call(const posenc_score_params *params, const posenc_view *q, const posenc_view *k,
                                const posenc_view *v, const posenc_view *out, const void *scratch, posenc_rows *units) {
    if (params == NULL || scratch == NULL)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(scratch, (int64_t)sizeof(float)))
        return POSENC_ERR_STRIDE;
    posenc_status status = posenc_check_attention(q, k, v, out);
    if (status != POSENC_OK)
        return status;
    if (q->ne[0] < 1 || q->ne[0] > POSENC_MAX_HEAD_DIM || v->ne[0] < 1 || v->ne[0] > POSENC_MAX_HEAD_DIM)
        return POSENC_ERR_HEAD_DIM;
    if (params->empty == POSENC_EMPTY_UNIFORM)
        return POSENC_ERR_ENUM;
    posenc_view scores = score_view(q, k);
    status = posenc_check_scores(params, &scores);
    const posenc_view *beside[] = {params->bias, params->by_query.products, params->by_key.products};
    for (int i = 0; i < 3 && status == POSENC_OK; i++)
        if (beside[i] != NULL)
            status = posenc_check_apart(beside[i], out);
    return status == POSENC_OK ? posenc_check_rows(units, posenc_attention_units(q, k)) : status;
}

/* ---- Units ---- */

/* Pairs (query, head of the group) that share a head of keys and values. */
static int64_t pairs_per_kv_head(const posenc_view *q, const posenc_view *k) {
    return k->ne[2] > 0 ? q->ne[1] * (q->ne[2] / k->ne[2]) : 0;
}

int64_t posenc_attention_units(const posenc_view *q, const posenc_view *k) {
    if (q == NULL || k == NULL || k->ne[2] <= 0 || q->ne[2] % k->ne[2] != 0)
        return 0;
    return (pairs_per_kv_head(q, k) + UNIT_ROWS - 1) / UNIT_ROWS * k->ne[2] * k->ne[3];
}

/* What a unit works in; the arrays lie in the caller's scratch. */
typedef struct unit {
    const posenc_score_params *params;
    const posenc_view *q, *k, *v, *out;
    const posenc_kernels *kernels;
    int64_t batch, kv_head;
    int64_t first, n; /* pairs: pair p is query p / group of head p % group */
    float *queries;   /* [UNIT_ROWS][head_dim] */
    float *panels;    /* PACKED keys */
    float *scores;    /* [UNIT_ROWS][BLOCK] */
    float *sums;      /* [UNIT_ROWS][v_dim] */
    float max[UNIT_ROWS], sum[UNIT_ROWS], keep[UNIT_ROWS];
    /* Keys of the block that the pair sees, counted from its first: begin <= j < end, and next_begin <= j < next_end behind a
     * hole in the mask. */
    int32_t begin[UNIT_ROWS], end[UNIT_ROWS], next_begin[UNIT_ROWS], next_end[UNIT_ROWS];
    int has_hole;
} unit;

static size_t padded(int64_t n) {
    return (size_t)((n + 15) / 16 * 16);
}

size_t posenc_attention_scratch(int64_t head_dim, int64_t v_dim) {
    if (head_dim < 1 || head_dim > POSENC_MAX_HEAD_DIM || v_dim < 1 || v_dim > POSENC_MAX_HEAD_DIM)
        return 0;
    return sizeof(float) *
           (UNIT_ROWS * padded(head_dim) + PACKED * (size_t)head_dim + UNIT_ROWS * BLOCK + UNIT_ROWS * padded(v_dim));
}

static posenc_score_place place_of(const unit *u, int64_t pair) {
    int64_t group = u->q->ne[2] / u->k->ne[2];
    return (posenc_score_place){
        .query = (u->first + pair) / group,
        .head = u->kv_head * group + (u->first + pair) % group,
        .batch = u->batch,
    };
}

static void begin_unit(unit *u, int64_t number, float *scratch) {
    int64_t pairs = pairs_per_kv_head(u->q, u->k), per_head = (pairs + UNIT_ROWS - 1) / UNIT_ROWS;
    u->first = number % per_head * UNIT_ROWS;
    u->n = pairs - u->first < UNIT_ROWS ? pairs - u->first : UNIT_ROWS;
    u->kv_head = number / per_head % u->k->ne[2];
    u->batch = number / per_head / u->k->ne[2];
    u->queries = scratch;
    u->scores = u->queries + UNIT_ROWS * padded(u->q->ne[0]);
    u->sums = u->scores + UNIT_ROWS * BLOCK;
    u->panels = u->sums + UNIT_ROWS * padded(u->v->ne[0]);
    for (int64_t pair = 0; pair < u->n; pair++) {
        posenc_score_place at = place_of(u, pair);
        float *sums = u->sums + (size_t)pair * padded(u->v->ne[0]);
        for (int64_t c = 0; c < u->v->ne[0]; c++)
            sums[c] = 0.0f;
        u->max[pair] = u->params->sinks != NULL ? u->params->sinks[at.head] : -INFINITY;
        u->sum[pair] = u->max[pair] == -INFINITY ? 0.0f : 1.0f;
        posenc_convert_args copy = {
            .x = posenc_view_at(u->q, at.query, at.head, at.batch),
            .y = u->queries + (size_t)pair * padded(u->q->ne[0]),
            .x_type = u->q->dtype,
            .factor = 1.0f,
            .n = (size_t)u->q->ne[0],
            .n_heads = 1,
        };
        u->kernels->convert_rows(&copy);
    }
}

/* ---- Blocks of keys ---- */

/* The score path's arguments for keys first .. first + n - 1 of a row: everything that counts keys, counted from there. */
static void narrow(posenc_softmax_row_args *args, size_t first, size_t n) {
    size_t end = args->seen.end < first + n ? args->seen.end : first + n,
           begin = args->seen.begin > first ? args->seen.begin : first;
    if (begin < end)
        posenc_skip_hidden(args, &begin, &end);
    size_t hole_begin = args->seen.hole_begin > begin ? args->seen.hole_begin : begin;
    size_t hole_end = args->seen.hole_end < end ? args->seen.hole_end : end;
    if (hole_begin < hole_end && hole_begin == begin) /* as in src/scores.c */
        begin = hole_end;
    else if (hole_begin < hole_end && hole_end == end)
        end = hole_begin;
    int has_hole = hole_begin < hole_end && begin < hole_begin && hole_end < end, sees = begin < end;
    args->seen.begin = sees ? begin - first : 0;
    args->seen.end = sees ? end - first : 0;
    args->seen.hole_begin = has_hole ? hole_begin - first : 0;
    args->seen.hole_end = has_hole ? hole_end - first : 0;
    args->n = n;
    if (args->k_pos != NULL)
        args->k_pos += first;
    else
        args->position -= (int32_t)first;
    if (args->bias != NULL)
        args->bias = (const char *)args->bias + first * (size_t)posenc_dtype_size(args->bias_type);
    if (args->bytes != NULL)
        args->bytes += first;
    if (args->by_key.product != NULL)
        args->by_key.product += (ptrdiff_t)first * args->by_key.key_stride;
}

static void row_args(const unit *u, int64_t pair, size_t first, size_t n, posenc_softmax_row_args *args) {
    posenc_view scores = score_view(u->q, u->k);
    *args = (posenc_softmax_row_args){.form = POSENC_EXPONENTIALS};
    posenc_score_args_begin(u->params, &scores, args);
    posenc_score_args_at(u->params, place_of(u, pair), args);
    narrow(args, first, n);
}

/* Which keys of the block each pair sees; the first and the last of all, and whether there is one. */
static int find_bounds(unit *u, size_t first, size_t n, size_t *begin, size_t *end) {
    *begin = n;
    *end = 0;
    u->has_hole = 0;
    for (int64_t pair = 0; pair < u->n; pair++) {
        posenc_softmax_row_args args;
        row_args(u, pair, first, n, &args);
        int has_hole = args.seen.hole_begin < args.seen.hole_end;
        u->begin[pair] = (int32_t)args.seen.begin;
        u->end[pair] = (int32_t)(has_hole ? args.seen.hole_begin : args.seen.end);
        u->next_begin[pair] = (int32_t)(has_hole ? args.seen.hole_end : 0);
        u->next_end[pair] = (int32_t)(has_hole ? args.seen.end : 0);
        u->has_hole |= has_hole;
        if (args.seen.begin == args.seen.end)
            continue;
        *begin = args.seen.begin < *begin ? args.seen.begin : *begin;
        *end = args.seen.end > *end ? args.seen.end : *end;
    }
    return *begin < *end;
}

/* q . k for the panels that hold keys begin .. end - 1 of the block. */
static void multiply(unit *u, size_t first, size_t begin, size_t end) {
    for (size_t j = begin / POSENC_PANEL * POSENC_PANEL; j < end; j += PACKED) {
        posenc_pack_rows_args pack = {
            .rows = posenc_view_at(u->k, (int64_t)(first + j), u->kv_head, u->batch),
            .rows_type = u->k->dtype,
            .row_stride = (ptrdiff_t)u->k->nb[1],
            .panels = u->panels,
            .dim = (size_t)u->k->ne[0],
            .n_rows = end - j < PACKED ? end - j : PACKED,
        };
        u->kernels->pack_rows(&pack);
        posenc_dot_rows_args dot = {
            .x = u->queries,
            .x_stride = (ptrdiff_t)(padded(u->q->ne[0]) * sizeof(float)),
            .panels = u->panels,
            .y = u->scores + j,
            .y_stride = (ptrdiff_t)(BLOCK * sizeof(float)),
            .dim = pack.dim,
            .n_x = (size_t)u->n,
            .n_rows = pack.n_rows,
        };
        u->kernels->dot_rows(&dot);
    }
}

/* Scores to exponentials, and what was summed before to the new maximum. */
static void soften(unit *u, int64_t pair, size_t first, size_t n) {
    u->keep[pair] = 1.0f;
    if (u->begin[pair] == u->end[pair])
        return;
    posenc_softmax_row_args args;
    posenc_softmax_sum block;
    row_args(u, pair, first, n, &args);
    args.x = args.y = u->scores + (size_t)pair * BLOCK;
    args.sink = -INFINITY; /* it is in the sum already */
    args.least = u->max[pair];
    args.sum = &block;
    u->kernels->softmax_row(&args);
    if (block.max == -INFINITY)
        return;
    u->keep[pair] = u->max[pair] == -INFINITY ? 0.0f : posenc_exp_nonpositive(u->max[pair] - block.max);
    u->sum[pair] = fmaf(u->sum[pair], u->keep[pair], block.sum);
    u->max[pair] = block.max;
}

static void attend_block(unit *u, size_t first, size_t n) {
    size_t begin, end;
    if (!find_bounds(u, first, n, &begin, &end))
        return;
    multiply(u, first, begin, end);
    for (int64_t pair = 0; pair < u->n; pair++)
        soften(u, pair, first, n);
    posenc_attend_rows_args mix = {
        .weights = u->scores,
        .weight_stride = BLOCK,
        .keep = u->keep,
        .begin = u->begin,
        .end = u->end,
        .rows = posenc_view_at(u->v, (int64_t)first, u->kv_head, u->batch),
        .rows_type = u->v->dtype,
        .row_stride = (ptrdiff_t)u->v->nb[1],
        .y = u->sums,
        .y_stride = padded(u->v->ne[0]),
        .dim = (size_t)u->v->ne[0],
        .n = (size_t)u->n,
    };
    u->kernels->attend_rows(&mix);
    if (!u->has_hole)
        return;
    for (int64_t pair = 0; pair < u->n; pair++)
        u->keep[pair] = 1.0f;
    mix.begin = u->next_begin;
    mix.end = u->next_end;
    u->kernels->attend_rows(&mix);
}

static void end_unit(const unit *u) {
    for (int64_t pair = 0; pair < u->n; pair++) {
        posenc_score_place at = place_of(u, pair);
        float of_empty = u->params->empty == POSENC_EMPTY_NAN ? NAN : 0.0f;
        posenc_convert_args copy = {
            .x = u->sums + (size_t)pair * padded(u->v->ne[0]),
            .y = posenc_view_at(u->out, at.query, at.head, at.batch),
            .y_type = u->out->dtype,
            .factor = u->sum[pair] == 0.0f ? of_empty : 1.0f / u->sum[pair],
            .n = (size_t)u->v->ne[0],
            .n_heads = 1,
        };
        u->kernels->convert_rows(&copy);
    }
}

posenc_status posenc_attention(const posenc_score_params *params, const posenc_view *q, const posenc_view *k,
                               const posenc_view *v, const posenc_view *out, void *scratch, posenc_rows units) {
    posenc_status status = check_call(params, q, k, v, out, scratch, &units);
    if (status != POSENC_OK)
        return status;
    unit u = {.params = params, .q = q, .k = k, .v = v, .out = out, .kernels = posenc_active_kernels()};
    size_t n_k = (size_t)k->ne[1];
    for (int64_t number = units.begin; number < units.end; number++) {
        begin_unit(&u, number, scratch);
        for (size_t first = 0; first < n_k; first += BLOCK)
            attend_block(&u, first, n_k - first < BLOCK ? n_k - first : BLOCK);
        end_unit(&u);
    }
    return POSENC_OK;
}
