/* SPDX-License-Identifier: MIT */
/* Attention, fused: a unit of queries that share keys and values, walked over the blocks of one segment of keys. */
#include "attention/attention.h"

#include <math.h>
#include <string.h>

#include "core/minmax.h"
#include "core/view.h"
#include "kernels/exp_scalar.h"
#include "kernels/fma.h"
#include "softmax/visible.h"

_Static_assert(POSENC_UNIT_ROWS % 16 == 0, "as pairs_of_unit rounds up");

_Static_assert(POSENC_KEYS_EXACT % POSENC_KEYS_PACKED == 0 && POSENC_KEYS_EXACT % POSENC_QUANT_GROUP == 0,
               "the block behind the exact keys begins with a panel and a group");

enum { UNIT_ROWS = POSENC_UNIT_ROWS, BLOCK = POSENC_KEY_BLOCK };

/* One block of keys at work. */
typedef struct block {
    const posenc_attention_unit *unit;
    posenc_attention_sums sums;
    size_t first, n;             /* keys of the block */
    size_t last_seen;            /* no pair sees a key of the segment from here on */
    posenc_seen seen[UNIT_ROWS]; /* of them by each pair, counted from the first */
    size_t seen_first, seen_end; /* by any pair */
    int has_hole;                /* in what any pair sees */
    uint32_t panels;             /* that hold a key which any pair sees, a bit for each */
    int in_integers;             /* with INT16: products of quantised keys, sums of quantised values */
    size_t rows_end;             /* so many keys from the block's first have addresses */
    float keep[UNIT_ROWS];       /* what the sums are to be multiplied by */
} block;

/* ---- Units ---- */

posenc_row_place posenc_attention_place(const posenc_attention_unit *u, int64_t pair) {
    int64_t group = u->call->group;
    return (posenc_row_place){
        .query = (u->first + pair) / group,
        .head = u->kv_head * group + (u->first + pair) % group,
        .batch = u->batch,
    };
}

/* Pairs of each unit of a head but the last: much the same for all, in whole rows of AMX's tiles. */
static int64_t pairs_of_unit(int64_t n_pairs, int64_t n_units) {
    enum { ROWS = 16 };
    int64_t share = (n_pairs - 1) / n_units + 1;
    return (share + ROWS - 1) / ROWS * ROWS;
}

posenc_attention_unit posenc_attention_unit_at(const posenc_attention_call *call, int64_t number) {
    int64_t per_head = posenc_units_of(call->per_kv_head), n_kv_heads = call->args->k.ne[1];
    int64_t most = pairs_of_unit(call->per_kv_head, per_head), first = number % per_head * most;
    return (posenc_attention_unit){
        .call = call,
        .kv_head = number / per_head % n_kv_heads,
        .batch = number / per_head / n_kv_heads,
        .first = first,
        .n = posenc_min(call->per_kv_head - first, most),
        .n_keys = (size_t)call->scores.ne[0],
    };
}

/* The rows begin where a line of the caches does, whatever the caller's scratch. */
enum {
    LINE = 64,
    ROW_FLOATS = UNIT_ROWS * sizeof(posenc_softmax_row_args) / sizeof(float),
    KEY_ROWS = BLOCK + POSENC_KEYS_PACKED,
    ADDRESS_FLOATS = (KEY_ROWS + BLOCK) * sizeof(void *) / sizeof(float)
};

/* Half of them panels, of 16 channels at least: as bf16 they are filled up to 32. Together room for 32 values of bf16,
 * filled up to whole panels. */
size_t posenc_attention_panel_floats(int64_t head_dim, int64_t v_dim) {
    int64_t of_keys = 2 * POSENC_KEYS_PACKED * posenc_max(head_dim, POSENC_PAIR_BLOCK / 2);
    return (size_t)posenc_max(of_keys, POSENC_PAIR_BLOCK / 2 * (v_dim + POSENC_PANEL));
}

size_t posenc_attention_unit_floats(int64_t head_dim, int64_t v_dim) {
    return LINE / sizeof(float) + ROW_FLOATS + ADDRESS_FLOATS +
           UNIT_ROWS * (posenc_query_floats(head_dim) + BLOCK + posenc_padded(v_dim + 2)) +
           posenc_attention_panel_floats(head_dim, v_dim);
}

static void set_row(const posenc_attention_unit *u, posenc_row_place at, posenc_softmax_row_args *row) {
    *row = (posenc_softmax_row_args){.form = POSENC_EXPONENTIALS};
    posenc_score_args_begin(u->call->args->params, &u->call->scores, row);
    posenc_score_args_at(u->call->args->params, &u->call->scores, at, row);
    if (u->list != NULL)
        posenc_score_args_listed(u->call->args->params, u->list, u->n_keys, row);
    row->sink = -INFINITY; /* it joins the segments, not a block */
    row->exp_lowest = POSENC_WEIGHT_LOWEST;
}

static void load_query(const posenc_attention_unit *u, posenc_row_place at, float *query) {
    const posenc_view *q = &u->call->args->q;
    posenc_convert_args copy = {
        .x = posenc_token_at(q, at),
        .y = query,
        .x_type = q->dtype,
        .factor = 1.0f,
        .n = (size_t)q->ne[0],
        .n_heads = 1,
    };
    u->call->kernels->convert_rows(&copy);
}

void posenc_attention_begin_unit(posenc_attention_unit *u, float *scratch) {
    int64_t head_dim = u->call->args->q.ne[0];
    size_t query_floats = posenc_query_floats(head_dim), beyond = (uintptr_t)scratch % LINE;
    float *floats = scratch + (beyond == 0 ? 0 : LINE - beyond) / sizeof(float);
    u->rows = (posenc_softmax_row_args *)(void *)floats;
    u->key_rows = (const void **)(void *)(floats + ROW_FLOATS);
    u->value_rows = u->key_rows + KEY_ROWS;
    u->queries = floats + ROW_FLOATS + ADDRESS_FLOATS;
    u->scores = u->queries + UNIT_ROWS * query_floats;
    u->side = u->scores + UNIT_ROWS * BLOCK;
    u->panels = u->side + UNIT_ROWS * posenc_padded(u->call->args->v.ne[0] + 2);
    u->stage = u->panels + POSENC_KEYS_PACKED * (size_t)posenc_max(head_dim, POSENC_PAIR_BLOCK / 2);
    for (int64_t pair = 0; pair < u->n; pair++) {
        posenc_row_place at = posenc_attention_place(u, pair);
        set_row(u, at, &u->rows[pair]);
        load_query(u, at, u->queries + (size_t)pair * query_floats);
    }
    if (posenc_attention_has_quant_keys(u->call))
        posenc_attention_quantise_queries(u);
    if (posenc_attention_has_pairs(u->call))
        posenc_attention_round_queries(u);
}

/* ---- What is seen ---- */

static int has_hole(posenc_seen seen) {
    return seen.hole_begin < seen.hole_end;
}

typedef struct key_range {
    size_t begin, end;
} key_range;

/* Of keys begin .. end - 1, those that lie in first .. first + n - 1, counted from there, without those that a bias of
 * -inf hides at either end. */
static key_range part_of(const posenc_softmax_row_args *row, size_t begin, size_t end, size_t first, size_t n) {
    key_range part = {posenc_max_size(begin, first), posenc_min_size(end, first + n)};
    if (part.begin < part.end)
        posenc_skip_masked(row, &part.begin, &part.end);
    return part.begin < part.end ? (key_range){part.begin - first, part.end - first} : (key_range){0, 0};
}

/* What a row sees of keys first .. first + n - 1, counted from there. */
static posenc_seen seen_of(const posenc_softmax_row_args *row, size_t first, size_t n) {
    if (!has_hole(row->seen)) {
        key_range all = part_of(row, row->seen.begin, row->seen.end, first, n);
        return (posenc_seen){.begin = all.begin, .end = all.end};
    }
    key_range before = part_of(row, row->seen.begin, row->seen.hole_begin, first, n),
              behind = part_of(row, row->seen.hole_end, row->seen.end, first, n);
    if (before.end == 0)
        return (posenc_seen){.begin = behind.begin, .end = behind.end};
    if (behind.end == 0)
        return (posenc_seen){.begin = before.begin, .end = before.end};
    return (posenc_seen){before.begin, before.end, behind.begin, behind.end};
}

/* The panels with keys begin .. end - 1, a bit for each. */
static uint32_t panels_with(size_t begin, size_t end) {
    return begin < end ? (UINT32_C(2) << ((end - 1) / POSENC_PANEL)) - (UINT32_C(1) << (begin / POSENC_PANEL)) : 0;
}

/* Whether any pair sees a key of the block, and which. */
static int find_seen(block *b) {
    b->seen_first = b->n;
    b->seen_end = 0;
    b->has_hole = 0;
    b->panels = 0;
    for (int64_t pair = 0; pair < b->unit->n; pair++) {
        posenc_seen seen = b->seen[pair] = seen_of(&b->unit->rows[pair], b->first, b->n);
        if (seen.begin == seen.end)
            continue;
        b->has_hole |= has_hole(seen);
        b->panels |= panels_with(seen.begin, has_hole(seen) ? seen.hole_begin : seen.end);
        b->panels |= has_hole(seen) ? panels_with(seen.hole_end, seen.end) : 0;
        b->seen_first = posenc_min_size(b->seen_first, seen.begin);
        b->seen_end = posenc_max_size(b->seen_end, seen.end);
    }
    return b->seen_first < b->seen_end;
}

/* ---- Blocks of keys ---- */

static int has_groups(const block *b) {
    return (b->in_integers && posenc_attention_has_quant_values(b->unit->call)) ||
           posenc_attention_has_pairs(b->unit->call);
}

static int has_panel(const block *b, size_t j) {
    return b->panels >> (j / POSENC_PANEL) & 1;
}

/* Where the run of panels ends, all seen or all not, that has key `begin`. */
static size_t end_of_run(const block *b, size_t begin) {
    size_t end = begin;
    do
        end = (end / POSENC_PANEL + 1) * POSENC_PANEL;
    while (end < b->seen_end && has_panel(b, end) == has_panel(b, begin));
    return posenc_min_size(end, b->seen_end);
}

/* From the panel of the first that is seen on. */
static void find_keys(block *b) {
    size_t begin = b->seen_first / POSENC_PANEL * POSENC_PANEL;
    b->rows_end = posenc_min_size(b->n + POSENC_KEYS_PACKED, b->last_seen - b->first);
    posenc_attention_row_addresses(b->unit, &b->unit->call->args->k, (int64_t)(b->first + begin),
                                   (int64_t)(b->rows_end - begin), b->unit->key_rows + begin);
}

/* Values begin .. end - 1 of the block are any value: no pair sees one of them. */
static void set_unseen(const posenc_attention_unit *u, size_t begin, size_t end, const void *any) {
    for (size_t j = begin; j < end; j++)
        u->value_rows[j] = any;
}

/* In panels that no pair sees, and behind the last to the end of its panel, of any value: groups read it for all of
 * them, with a weight of 0. */
static void find_values(const block *b) {
    const posenc_attention_unit *u = b->unit;
    const posenc_view *v = &u->call->args->v;
    const void *any;
    posenc_attention_row_addresses(u, v, (int64_t)(b->first + b->seen_first), 1, &any);
    set_unseen(u, 0, b->seen_first, any);
    for (size_t begin = b->seen_first, end; begin < b->seen_end; begin = end) {
        end = end_of_run(b, begin);
        if (has_panel(b, begin))
            posenc_attention_row_addresses(u, v, (int64_t)(b->first + begin), (int64_t)(end - begin),
                                           u->value_rows + begin);
        else
            set_unseen(u, begin, end, any);
    }
    set_unseen(u, b->seen_end, (b->seen_end + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL, any);
}

/* Keys, or values, from number j of the block on. */
static posenc_rows_ahead keys_ahead(const block *b, size_t j) {
    size_t n = j < b->rows_end ? posenc_min_size(b->rows_end - j, POSENC_KEYS_PACKED) : 0;
    return (posenc_rows_ahead){b->unit->key_rows + j, posenc_attention_row_bytes(&b->unit->call->args->k), n};
}

static posenc_rows_ahead values_ahead(const block *b, size_t j) {
    size_t n = posenc_min_size(b->seen_end - j, POSENC_KEYS_PACKED);
    return (posenc_rows_ahead){b->unit->value_rows + j, posenc_attention_row_bytes(&b->unit->call->args->v), n};
}

/* Keys j .. j + n - 1 of the block. What is needed next is fetched meanwhile: the keys behind them, and the values of
 * these if the unit waits for memory. With values fetched while others are summed, sparse decode took as long, and
 * dense decode 1.08 times. */
static posenc_attention_keys keys_at(const block *b, size_t j, size_t n) {
    posenc_attention_keys keys = {.first = (int64_t)(b->first + j), .n = (int64_t)n, .rows = b->unit->key_rows + j};
    keys.ahead[0] = keys_ahead(b, j + n);
    if (posenc_attention_waits(b->unit))
        keys.ahead[1] = values_ahead(b, j);
    return keys;
}

/* q . k for keys begin .. end - 1 of the block; begin is a whole number of panels. */
static void multiply_keys(const block *b, size_t begin, size_t end) {
    const posenc_attention_unit *u = b->unit;
    const posenc_view *q = &u->call->args->q;
    for (size_t j = begin; j < end; j += POSENC_KEYS_PACKED) {
        size_t left = end - j;
        posenc_dot_rows_args dot = {
            .x = u->queries,
            .x_stride = (ptrdiff_t)(posenc_query_floats(q->ne[0]) * sizeof(float)),
            .panels = u->panels,
            .y = u->scores + j,
            .y_stride = (ptrdiff_t)(BLOCK * sizeof(float)),
            .dim = (size_t)q->ne[0],
            .n_x = (size_t)u->n,
            .n_rows = posenc_min_size(left, POSENC_KEYS_PACKED),
        };
        posenc_attention_keys keys = keys_at(b, j, dot.n_rows);
        if (b->in_integers && posenc_attention_has_quant_keys(u->call)) {
            posenc_attention_multiply_quants(u, &keys, u->scores + j);
            continue;
        }
        if (posenc_attention_has_pairs(u->call)) {
            posenc_attention_multiply_pairs(u, &keys, u->scores + j);
            continue;
        }
        if (posenc_attention_multiplies_few(u, keys.n)) {
            posenc_attention_multiply_few(u, &keys, u->scores + j);
            continue;
        }
        posenc_attention_pack(u, &keys);
        u->call->kernels->dot_rows(&dot);
    }
}

/* The panels that hold unmasked keys, in runs. */
static void multiply(const block *b) {
    for (size_t begin = 0, end; begin < b->seen_end; begin = end) {
        end = end_of_run(b, begin);
        if (has_panel(b, begin))
            multiply_keys(b, begin, end);
    }
}

/* Softmax's arguments for the block's keys of a row: everything that counts keys, counted from the first. */
static posenc_softmax_row_args scores_of(const block *b, int64_t pair, uint8_t *bytes) {
    const posenc_attention_unit *u = b->unit;
    posenc_softmax_row_args args = u->rows[pair];
    args.n = b->n;
    args.seen = b->seen[pair];
    if (args.k_pos != NULL)
        args.k_pos += b->first;
    else
        args.position -= (int32_t)b->first;
    if (args.bias != NULL)
        args.bias = (const char *)args.bias + b->first * (size_t)posenc_dtype_size(args.bias_type);
    if (args.bytes != NULL)
        args.bytes += b->first;
    if (args.by_key.product != NULL)
        args.by_key.product += (ptrdiff_t)b->first * args.by_key.key_stride;
    posenc_score_args_tree(u->call->args->params, &u->call->scores, posenc_attention_place(u, pair), b->first, b->n,
                           bytes, &args);
    args.x = args.y = u->scores + (size_t)pair * BLOCK;
    return args;
}

/* Scores to exponentials, and what was summed before to the new maximum. */
static void soften(block *b, int64_t pair) {
    float *state = b->sums.rows + (size_t)pair * b->sums.stride + b->unit->call->args->v.ne[0], max = state[0];
    b->keep[pair] = 1.0f;
    if (b->seen[pair].begin == b->seen[pair].end)
        return;
    uint8_t bytes[2][POSENC_TREE_BYTES];
    posenc_softmax_row_args args = scores_of(b, pair, bytes[0]);
    posenc_softmax_sum sum;
    posenc_softmax_row_args next;
    if (args.by_query.product != NULL && pair + 1 < b->unit->n) { /* each has products of its own, often far away */
        next = scores_of(b, pair + 1, bytes[1]);
        args.next = &next;
    }
    args.least = max;
    args.sum = &sum;
    b->unit->call->kernels->softmax_row(&args);
    if (sum.sum == 0.0f) /* nothing but -inf */
        return;
    b->keep[pair] = max == -INFINITY ? 0.0f : posenc_exp_above(max - sum.max, POSENC_WEIGHT_LOWEST);
    state[1] = posenc_fmaf(state[1], b->keep[pair], sum.sum);
    state[0] = sum.max;
}

/* Of the keys that each pair sees before a hole (pass 0) or behind it, those in a run of n rows from key j of the block
 * on. */
static void cut(const block *b, int pass, int64_t j, int64_t n, int32_t begin[UNIT_ROWS], int32_t end[UNIT_ROWS]) {
    for (int64_t pair = 0; pair < b->unit->n; pair++) {
        posenc_seen seen = b->seen[pair];
        int64_t from = (int64_t)(pass == 0 ? seen.begin : has_hole(seen) ? seen.hole_end : seen.end) - j;
        int64_t to = (int64_t)(pass == 0 && has_hole(seen) ? seen.hole_begin : seen.end) - j;
        begin[pair] = (int32_t)posenc_min(posenc_max(from, 0), n);
        end[pair] = (int32_t)posenc_min(posenc_max(to, 0), n);
    }
}

/* Pairs whose sums are taken between two fetches of values: whole tiles. */
enum { BAND = 48 };

/* Fetches values begin .. end - 1 of the block into the second cache. */
static void fetch_values(const block *b, size_t begin, size_t end) {
    size_t bytes = posenc_attention_row_bytes(&b->unit->call->args->v);
    for (size_t j = begin; j < end; j++)
        for (size_t byte = 0; byte < bytes; byte += LINE)
            __builtin_prefetch((const char *)b->unit->value_rows[j] + byte, 0, 2);
}

/* Weighted sums of a run of values, while the n_next values from number `next` of the block on are fetched. */
static void sum_run(const block *b, const posenc_attend_rows_args *run, size_t next, size_t n_next) {
    size_t n_pairs = run->n;
    posenc_attend_rows_args band = *run;
    for (size_t done = 0; done < n_pairs; done += band.n) {
        band.n = posenc_min_size(n_pairs - done, BAND);
        fetch_values(b, next + n_next * done / n_pairs, next + n_next * (done + band.n) / n_pairs);
        b->unit->call->kernels->attend_rows(&band);
        band.weights += band.n * band.weight_stride;
        band.begin += band.n;
        band.end += band.n;
        band.y += band.n * band.y_stride;
        if (band.from != NULL)
            band.from += band.n * band.y_stride;
        if (band.keep != NULL)
            band.keep += band.n;
    }
}

/* The block's weighted values, joined to the sums so far. Those that are staged, and those behind a hole, come in runs;
 * all but the last leave their sums on the side, so that the runs are one chain. */
static void mix(const block *b) {
    const posenc_attention_unit *u = b->unit;
    int n_passes = b->has_hole ? 2 : 1, is_first = 1, are_staged = posenc_attention_stages_values(u);
    for (int pass = 0; pass < n_passes; pass++) {
        int64_t last = (int64_t)b->seen_end;
        for (int64_t j = (int64_t)b->seen_first, n; j < last; j += n, is_first = 0) {
            const void *staged[BLOCK];
            n = last - j;
            if (are_staged)
                n = posenc_attention_stage_values(u, (int64_t)b->first + j, n, staged);
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
                .rows = are_staged ? staged : u->value_rows + j,
                .rows_type = are_staged ? POSENC_F32 : u->call->args->v.dtype,
                .y = is_last ? b->sums.rows : u->side,
                .y_stride = b->sums.stride,
                .dim = (size_t)u->call->args->v.ne[0],
                .n = (size_t)u->n,
            };
            sum_run(b, &args, (size_t)(j + n), are_staged ? (size_t)posenc_min(last - j - n, n) : 0);
        }
    }
}

/* Weights begin .. end - 1 of a pair that are not those of unmasked keys become 0. */
static void clear_weights(const block *b, int64_t pair, size_t begin, size_t end) {
    if (begin < end)
        memset(b->unit->scores + (size_t)pair * BLOCK + begin, 0, (end - begin) * sizeof(float));
}

/* Weights of the block's first n keys are 0 where a pair does not see them. */
static void clear_unseen(const block *b, size_t n) {
    for (int64_t pair = 0; pair < b->unit->n; pair++) {
        posenc_seen seen = b->seen[pair];
        clear_weights(b, pair, 0, seen.begin);
        clear_weights(b, pair, seen.hole_begin, seen.hole_end);
        clear_weights(b, pair, seen.end, n);
    }
}

/* The same in integers or in bf16, whose groups of keys are counted from the block's first. */
static void mix_groups(const block *b) {
    const posenc_attention_unit *u = b->unit;
    if (posenc_attention_has_pairs(u->call)) {
        clear_unseen(b, (b->seen_end + POSENC_PAIR_BLOCK - 1) / POSENC_PAIR_BLOCK * POSENC_PAIR_BLOCK);
        posenc_attention_sum_pairs(u, u->value_rows, b->seen_first, b->seen_end, b->keep, b->sums);
        return;
    }
    size_t n = (b->seen_end + POSENC_QUANT_GROUP - 1) / POSENC_QUANT_GROUP * POSENC_QUANT_GROUP;
    clear_unseen(b, n);
    posenc_attention_sum_quants(u, u->value_rows, n, b->keep, b->sums);
}

static void attend_block(block *b) {
    if (!find_seen(b))
        return;
    find_keys(b);
    find_values(b);
    multiply(b);
    for (int64_t pair = 0; pair < b->unit->n; pair++)
        soften(b, pair);
    if (has_groups(b))
        mix_groups(b);
    else
        mix(b);
}

/* Keys of the block that begins with key `first`. If others are in integers, the first ones are a block. */
static size_t keys_of_block(const posenc_attention_call *call, size_t first) {
    int has_quants = posenc_attention_has_quant_keys(call) || posenc_attention_has_quant_values(call);
    return first == 0 && has_quants ? POSENC_KEYS_EXACT : BLOCK - first % BLOCK;
}

void posenc_attention_segment(const posenc_attention_unit *u, int64_t segment, posenc_attention_sums sums) {
    size_t dim = (size_t)u->call->args->v.ne[0], n_k = u->n_keys;
    for (int64_t pair = 0; pair < u->n; pair++) {
        float *row = sums.rows + (size_t)pair * sums.stride;
        for (size_t c = 0; c < dim; c++)
            row[c] = 0.0f;
        row[dim] = -INFINITY;
        row[dim + 1] = 0.0f;
    }
    size_t first = (size_t)segment * POSENC_ATTENTION_SEGMENT, end = first + POSENC_ATTENTION_SEGMENT;
    block b = {.unit = u, .sums = sums};
    for (int64_t pair = 0; pair < u->n; pair++)
        b.last_seen = posenc_max_size(b.last_seen, posenc_min_size(u->rows[pair].seen.end, end));
    for (b.first = first; b.first < end && b.first < n_k; b.first += b.n) {
        b.n = posenc_min_size(n_k - b.first, keys_of_block(u->call, b.first));
        b.in_integers = b.first >= POSENC_KEYS_EXACT;
        attend_block(&b);
    }
}
