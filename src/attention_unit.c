/* Attention, fused: a unit of queries that share keys and values, walked over the blocks of one segment of keys. */
#include "attention.h"

#include <math.h>

#include "hidden.h"
#include "scalar/exp.h"
#include "view.h"

enum { UNIT_ROWS = POSENC_UNIT_ROWS, BLOCK = POSENC_KEY_BLOCK };

/* Keys of the block that a pair sees, counted from the block's first: begin <= j < end, and next_begin <= j < next_end behind
 * a hole in the mask. */
typedef struct bounds {
    int32_t begin[UNIT_ROWS], end[UNIT_ROWS], next_begin[UNIT_ROWS], next_end[UNIT_ROWS];
    int has_hole;
    size_t first, last; /* of all pairs: first <= j < last */
} bounds;

/* One block at work. */
typedef struct block {
    const posenc_attention_unit *unit;
    size_t first, n; /* keys */
    posenc_attention_sums sums;
    bounds seen;
    float keep[UNIT_ROWS]; /* what the sums are to be multiplied by */
} block;

/* ---- Units ---- */

posenc_score_place posenc_attention_place(const posenc_attention_unit *u, int64_t pair) {
    int64_t group = u->call->group;
    return (posenc_score_place){
        .query = (u->first + pair) / group,
        .head = u->kv_head * group + (u->first + pair) % group,
        .batch = u->batch,
    };
}

posenc_attention_unit posenc_attention_unit_at(const posenc_attention_call *call, int64_t number) {
    int64_t per_head = (call->per_kv_head + UNIT_ROWS - 1) / UNIT_ROWS, n_kv_heads = call->task->k.ne[2];
    int64_t first = number % per_head * UNIT_ROWS, left = call->per_kv_head - first;
    return (posenc_attention_unit){
        .call = call,
        .kv_head = number / per_head % n_kv_heads,
        .batch = number / per_head / n_kv_heads,
        .first = first,
        .n = left < UNIT_ROWS ? left : UNIT_ROWS,
    };
}

size_t posenc_attention_unit_floats(int64_t head_dim, int64_t v_dim) {
    return UNIT_ROWS * (posenc_padded(head_dim) + BLOCK + posenc_padded(v_dim + 2)) +
           2 * POSENC_KEYS_PACKED * (size_t)head_dim;
}

void posenc_attention_load_queries(posenc_attention_unit *u, float *scratch) {
    const posenc_view *q = &u->call->task->q;
    u->queries = scratch;
    u->scores = u->queries + UNIT_ROWS * posenc_padded(q->ne[0]);
    u->side = u->scores + UNIT_ROWS * BLOCK;
    u->panels = u->side + UNIT_ROWS * posenc_padded(u->call->task->v.ne[0] + 2);
    u->stage = u->panels + POSENC_KEYS_PACKED * (size_t)q->ne[0];
    for (int64_t pair = 0; pair < u->n; pair++) {
        posenc_score_place at = posenc_attention_place(u, pair);
        posenc_convert_args copy = {
            .x = posenc_view_at(q, at.query, at.head, at.batch),
            .y = u->queries + (size_t)pair * posenc_padded(q->ne[0]),
            .x_type = q->dtype,
            .factor = 1.0f,
            .n = (size_t)q->ne[0],
            .n_heads = 1,
        };
        u->call->kernels->convert_rows(&copy);
    }
}

/* ---- What is seen ---- */

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

static void row_args(const block *b, int64_t pair, posenc_softmax_row_args *args) {
    const posenc_attention_call *call = b->unit->call;
    *args = (posenc_softmax_row_args){.form = POSENC_EXPONENTIALS};
    posenc_score_args_begin(call->task->params, &call->scores, args);
    posenc_score_args_at(call->task->params, posenc_attention_place(b->unit, pair), args);
    narrow(args, b->first, b->n);
}

/* Whether any pair sees a key of the block, and which. */
static int find_bounds(block *b) {
    bounds *s = &b->seen;
    s->first = b->n;
    s->last = 0;
    s->has_hole = 0;
    for (int64_t pair = 0; pair < b->unit->n; pair++) {
        posenc_softmax_row_args args;
        row_args(b, pair, &args);
        int has_hole = args.seen.hole_begin < args.seen.hole_end;
        s->begin[pair] = (int32_t)args.seen.begin;
        s->end[pair] = (int32_t)(has_hole ? args.seen.hole_begin : args.seen.end);
        s->next_begin[pair] = (int32_t)(has_hole ? args.seen.hole_end : 0);
        s->next_end[pair] = (int32_t)(has_hole ? args.seen.end : 0);
        s->has_hole |= has_hole;
        if (args.seen.begin == args.seen.end)
            continue;
        s->first = args.seen.begin < s->first ? args.seen.begin : s->first;
        s->last = args.seen.end > s->last ? args.seen.end : s->last;
    }
    return s->first < s->last;
}

/* ---- Blocks of keys ---- */

/* q . k for the panels that hold keys in sight. */
static void multiply(const block *b) {
    const posenc_attention_unit *u = b->unit;
    const posenc_view *q = &u->call->task->q;
    for (size_t j = b->seen.first / POSENC_PANEL * POSENC_PANEL; j < b->seen.last; j += POSENC_KEYS_PACKED) {
        size_t left = b->seen.last - j;
        posenc_dot_rows_args dot = {
            .x = u->queries,
            .x_stride = (ptrdiff_t)(posenc_padded(q->ne[0]) * sizeof(float)),
            .panels = u->panels,
            .y = u->scores + j,
            .y_stride = (ptrdiff_t)(BLOCK * sizeof(float)),
            .dim = (size_t)q->ne[0],
            .n_x = (size_t)u->n,
            .n_rows = left < POSENC_KEYS_PACKED ? left : POSENC_KEYS_PACKED,
        };
        int64_t first = (int64_t)(b->first + j), n = (int64_t)dot.n_rows, next = (int64_t)left - n;
        posenc_attention_pack(u, first, n, next < POSENC_KEYS_PACKED ? next : POSENC_KEYS_PACKED);
        u->call->kernels->dot_rows(&dot);
    }
}

/* Scores to exponentials, and what was summed before to the new maximum. */
static void soften(block *b, int64_t pair) {
    float *state = b->sums.rows + (size_t)pair * b->sums.stride + b->unit->call->task->v.ne[0], max = state[0];
    b->keep[pair] = 1.0f;
    if (b->seen.begin[pair] == b->seen.end[pair])
        return;
    posenc_softmax_row_args args;
    posenc_softmax_sum sum;
    row_args(b, pair, &args);
    args.x = args.y = b->unit->scores + (size_t)pair * BLOCK;
    args.sink = -INFINITY; /* it joins the segments, not a block */
    args.least = max;
    args.sum = &sum;
    b->unit->call->kernels->softmax_row(&args);
    if (sum.sum == 0.0f) /* nothing but -inf */
        return;
    b->keep[pair] = max == -INFINITY ? 0.0f : posenc_exp_nonpositive(max - sum.max);
    state[1] = fmaf(state[1], b->keep[pair], sum.sum);
    state[0] = sum.max;
}

/* The part of keys begin[pair] .. end[pair] - 1 that lies in a run of n rows from key j of the block on. */
static void cut(const block *b, int pass, int64_t j, int64_t n, int32_t begin[UNIT_ROWS], int32_t end[UNIT_ROWS]) {
    const int32_t *first = pass == 0 ? b->seen.begin : b->seen.next_begin;
    const int32_t *last = pass == 0 ? b->seen.end : b->seen.next_end;
    for (int64_t pair = 0; pair < b->unit->n; pair++) {
        int64_t from = first[pair] - j, to = last[pair] - j;
        begin[pair] = (int32_t)(from < 0 ? 0 : from < n ? from : n);
        end[pair] = (int32_t)(to < 0 ? 0 : to < n ? to : n);
    }
}

/* The block's weighted values, joined to the sums so far. Rows that do not stand one stride apart, and keys behind a hole, come
 * in runs; all but the last leave their sums on the side, so that the runs are one chain. */
static void mix(const block *b) {
    const posenc_attention_unit *u = b->unit;
    const posenc_view *v = &u->call->task->v;
    int n_passes = b->seen.has_hole ? 2 : 1, is_first = 1;
    for (int pass = 0; pass < n_passes; pass++) {
        int64_t n, last = (int64_t)b->seen.last;
        for (int64_t j = (int64_t)b->seen.first; j < last; j += n, is_first = 0) {
            n = last - j;
            const void *rows = posenc_attention_rows(u, v, (int64_t)b->first + j, &n);
            int is_last = pass == n_passes - 1 && j + n == last;
            int32_t begin[UNIT_ROWS], end[UNIT_ROWS];
            cut(b, pass, j, n, begin, end);
            posenc_attend_rows_args args = {
                .weights = u->scores + j,
                .weight_stride = BLOCK,
                .from = is_first ? NULL : u->side,
                .keep = is_last ? b->keep : NULL,
                .begin = begin,
                .end = end,
                .rows = rows,
                .rows_type = v->dtype,
                .row_stride = (ptrdiff_t)v->nb[1],
                .y = is_last ? b->sums.rows : u->side,
                .y_stride = b->sums.stride,
                .dim = (size_t)v->ne[0],
                .n = (size_t)u->n,
            };
            u->call->kernels->attend_rows(&args);
        }
    }
}

static void attend_block(block *b) {
    if (!find_bounds(b))
        return;
    multiply(b);
    for (int64_t pair = 0; pair < b->unit->n; pair++)
        soften(b, pair);
    mix(b);
}

void posenc_attention_segment(const posenc_attention_unit *u, int64_t segment, posenc_attention_sums sums) {
    size_t dim = (size_t)u->call->task->v.ne[0], n_k = (size_t)u->call->scores.ne[0];
    for (int64_t pair = 0; pair < u->n; pair++) {
        float *row = sums.rows + (size_t)pair * sums.stride;
        for (size_t c = 0; c < dim; c++)
            row[c] = 0.0f;
        row[dim] = -INFINITY;
        row[dim + 1] = 0.0f;
    }
    size_t first = (size_t)segment * POSENC_ATTENTION_SEGMENT, end = first + POSENC_ATTENTION_SEGMENT;
    block b = {.unit = u, .sums = sums};
    for (b.first = first; b.first < end && b.first < n_k; b.first += BLOCK) {
        b.n = n_k - b.first < BLOCK ? n_k - b.first : BLOCK;
        attend_block(&b);
    }
}
