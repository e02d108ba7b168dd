/* SPDX-License-Identifier: MIT */
/* Fused attention: work units, their (query, head) pairs, and the layout and first contents of a unit's scratch. */
#include "attention/attention.h"

#include <math.h>

#include "core/minmax.h"
#include "core/view.h"
#include "kernels/exp.h"

enum { UNIT_PAIRS = POSENC_UNIT_PAIRS, MOST_PAIRS = POSENC_MOST_PAIRS, BLOCK = POSENC_KEY_BLOCK };

_Static_assert(UNIT_PAIRS % 16 == 0, "as pairs_of_unit rounds up");

/* ---- Pairs ---- */

/* Pairs of each unit of a KV head but the last: an even share, rounded up to whole AMX tiles. */
static int64_t pairs_of_unit(int64_t n_pairs, int64_t n_units) {
    enum { ROWS = 16 };
    int64_t share = (n_pairs - 1) / n_units + 1;
    return (share + ROWS - 1) / ROWS * ROWS;
}

int posenc_attention_has_whole_tokens(const posenc_view *x) {
    return x->nb[1] > 0 && x->nb[1] <= x->nb[2] / x->ne[1];
}

/* Heads that lie apart and are computed together, so that a core reads several streams of memory: one stream of K or V
 * has 12 GB/s, two have 15. Decode of float32 takes 0.75 to 0.85 times as long with two heads, 0.8 to 0.95 with three,
 * whose rows share sets of a cache of 512 KB; rows of half as many bytes, or in the caches, 1.05 to 1.2 times (AMD Zen
 * 3). */
static int64_t heads_apart(const posenc_attention_call *call) {
    enum { ROW_BYTES = 512, FAR = 1 << 20 };
    const posenc_view *k = &call->args->k, *v = &call->args->v;
    return call->steps.multiply == posenc_attention_multiply_floats && call->per_kv_head <= POSENC_FEW &&
                   posenc_row_bytes(k) >= ROW_BYTES && posenc_row_bytes(v) >= ROW_BYTES && posenc_view_count(k) >= FAR
               ? POSENC_HEADS_APART
               : 1;
}

/* KV heads that are computed together. Where heads lie side by side, a token is read as one piece: head by head, a
 * cache is read in pieces of some hundred bytes, KB apart, and decode takes 1.4 to 2.7 times as long (AMD Zen 3). */
static int64_t heads_together(const posenc_attention_call *call, int64_t batch, int64_t kv_head, int64_t most) {
    const posenc_view *k = &call->args->k;
    if (call->per_kv_head > UNIT_PAIRS || (call->args->lists != NULL && call->args->q.ne[2] > 1))
        return 1; /* queries have lists of their own */
    int are_whole = posenc_attention_has_whole_tokens(k) && posenc_attention_has_whole_tokens(&call->args->v);
    int64_t n = are_whole ? UNIT_PAIRS / call->per_kv_head : heads_apart(call);
    n = posenc_min(posenc_min(n, k->ne[1] - kv_head), most);
    return posenc_attention_heads_with_one_list(call, batch, kv_head, n);
}

/* Units of one KV head that are computed together, from number of_head on: one but in float32, where they share the
 * packing of keys by threes. By twos, prompts take 0.96 to 0.99 times as long, and 0.85 where memory is slow (AMD
 * Zen 3); by threes 0.97 to 0.98 of that (AVX-512, Intel Emerald Rapids); by sixes as long as by twos: their scores do
 * not fit in its second cache of 2 MB. A block mask has them by twos: three hold more queries whose lists differ, and a
 * tenth of blocks takes 1.03 times as long. */
static int64_t units_together(const posenc_attention_call *call, int64_t of_head, int64_t per_head, int64_t most) {
    if (call->steps.multiply != posenc_attention_multiply_floats)
        return 1;
    int64_t n = call->args->params->block_mask != NULL ? 2 : POSENC_MOST_PAIRS / UNIT_PAIRS;
    return posenc_min(posenc_min(n, per_head - of_head), most);
}

posenc_attention_unit posenc_attention_unit_at(const posenc_attention_call *call, int64_t number, int64_t most) {
    int64_t per_head = posenc_units_of(call->per_kv_head), n_kv_heads = call->args->k.ne[1];
    int64_t pairs = pairs_of_unit(call->per_kv_head, per_head), first = number % per_head * pairs;
    int64_t kv_head = number / per_head % n_kv_heads, batch = number / per_head / n_kv_heads;
    int64_t n_heads = heads_together(call, batch, kv_head, most);
    int64_t n_units = n_heads > 1 ? 1 : units_together(call, number % per_head, per_head, most);
    return (posenc_attention_unit){
        .call = call,
        .kv_head = kv_head,
        .n_heads = n_heads,
        .n_units = n_heads * n_units,
        .batch = batch,
        .first = first,
        .n = posenc_min(call->per_kv_head - first, n_units * pairs),
        .n_keys = (size_t)call->scores.ne[0],
    };
}

/* ---- Scratch ---- */

enum { LINE = 64, LINE_FLOATS = LINE / sizeof(float) };

/* Offsets of the arrays in a unit's scratch, in floats from a cache line on. */
typedef struct layout {
    size_t rows_after, rows, key_rows, value_rows, queries, scores, side, panels, rotated, end;
} layout;

/* Floats of POSENC_KEYS_PACKED packed or rotated keys: at least 16 channels, because bf16 is padded to 32. */
static size_t key_floats(int64_t head_dim) {
    return POSENC_KEYS_PACKED * (size_t)posenc_max(head_dim, POSENC_BF16_BLOCK / 2);
}

/* Room for packed float32 values, or for 32 values of bf16, padded to whole panels. */
size_t posenc_attention_staged_floats(int64_t head_dim, int64_t v_dim) {
    size_t of_bf16 = POSENC_BF16_BLOCK / 2 * (size_t)(v_dim + POSENC_PANEL);
    size_t n_panels = ((size_t)v_dim - 1) / POSENC_VALUE_PANEL + 1;
    size_t of_panels = n_panels * posenc_value_panel_floats(POSENC_VALUES_PACKED);
    return posenc_max_size(2 * key_floats(head_dim), posenc_max_size(of_bf16, of_panels));
}

static layout layout_of(int64_t head_dim, int64_t v_dim) {
    layout at;
    at.rows_after = 0;
    at.rows = at.rows_after + 2 * MOST_PAIRS * sizeof(void *) / sizeof(float);
    at.key_rows = at.rows + MOST_PAIRS * sizeof(posenc_softmax_row_args) / sizeof(float);
    at.value_rows = at.key_rows + POSENC_HEADS_APART * POSENC_KEY_ROWS * sizeof(void *) / sizeof(float);
    at.queries = at.value_rows + POSENC_HEADS_APART * BLOCK * sizeof(void *) / sizeof(float);
    at.scores = at.queries + MOST_PAIRS * posenc_query_floats(head_dim);
    at.side = at.scores + MOST_PAIRS * BLOCK;
    at.panels = at.side + MOST_PAIRS * posenc_sums_floats(v_dim);
    at.rotated = at.panels + key_floats(head_dim);
    at.end = at.panels + posenc_attention_staged_floats(head_dim, v_dim);
    return at;
}

size_t posenc_attention_unit_floats(int64_t head_dim, int64_t v_dim) {
    return LINE_FLOATS + layout_of(head_dim, v_dim).end;
}

/* First cache line in the scratch, whatever its alignment. */
static float *first_line(float *scratch) {
    size_t beyond = (uintptr_t)scratch % LINE;
    return scratch + (beyond == 0 ? 0 : LINE - beyond) / sizeof(float);
}

static void place_parts(posenc_attention_unit *u, float *base) {
    int64_t head_dim = u->call->args->q.ne[0];
    layout at = layout_of(head_dim, u->call->args->v.ne[0]);
    u->rows_after = (const void **)(void *)(base + at.rows_after);
    u->rows = (posenc_softmax_row_args *)(void *)(base + at.rows);
    u->key_rows = (const void **)(void *)(base + at.key_rows);
    u->value_rows = (const void **)(void *)(base + at.value_rows);
    u->queries = base + at.queries;
    u->scores = base + at.scores;
    u->side = base + at.side;
    u->panels = u->staged = base + at.panels;
    u->rotated = base + at.rotated;
    u->query_numbers = (int16_t *)(void *)u->rotated;
    u->query_scales = (float *)(void *)(u->query_numbers + UNIT_PAIRS * head_dim);
    u->query_sums = u->query_scales + UNIT_PAIRS * head_dim / POSENC_QUANT_BLOCK;
}

/* ---- First contents of the scratch ---- */

static void set_row(const posenc_attention_unit *u, const posenc_softmax_row_args *of_all, posenc_row_place at,
                    posenc_softmax_row_args *row) {
    posenc_copy_row_args(of_all, row);
    posenc_score_args_at(u->call->args->params, &u->call->scores, &at, row);
    if (u->list != NULL)
        posenc_score_args_listed(u->call->args->params, u->list, u->n_keys, row);
    row->sink = -INFINITY; /* combined with the segments, not with a key block */
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

void posenc_attention_fetch_ahead(const posenc_attention_unit *u, const posenc_view *x, int64_t pair) {
    enum { AHEAD = 16 };
    size_t bytes = posenc_row_bytes(x);
    for (int64_t p = pair == 0 ? 0 : pair + AHEAD; p <= pair + AHEAD && p < posenc_attention_pairs(u); p++) {
        const char *row = posenc_token_at(x, posenc_attention_place(u, p));
        for (size_t byte = 0; byte < bytes; byte += LINE)
            __builtin_prefetch(row + byte, 0, 2);
    }
}

void posenc_attention_begin_unit(posenc_attention_unit *u, float *scratch) {
    place_parts(u, first_line(scratch));
    size_t query_floats = posenc_query_floats(u->call->args->q.ne[0]);
    posenc_softmax_row_args of_all = {.form = POSENC_EXPONENTIALS, .leaves_masked = 1}; /* sums clear what they read */
    posenc_score_args_begin(u->call->args->params, &u->call->scores, &of_all);
    for (int64_t pair = 0; pair < posenc_attention_pairs(u); pair++) {
        posenc_row_place at = posenc_attention_place(u, pair);
        posenc_attention_fetch_ahead(u, &u->call->args->q, pair);
        set_row(u, &of_all, at, &u->rows[pair]);
        load_query(u, at, u->queries + (size_t)pair * query_floats);
    }
    if (u->call->prepare != NULL)
        u->call->prepare(u);
}
