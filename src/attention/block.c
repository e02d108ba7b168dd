/* SPDX-License-Identifier: MIT */
/* Attention, fused: what the pairs of a unit see of a block of keys, where its rows are, and which are fetched next. */
#include "attention/block.h"

#include "core/minmax.h"
#include "core/view.h"
#include "softmax/visible.h"

/* ---- What is seen ---- */

static int has_hole(posenc_seen seen) {
    return seen.hole_begin < seen.hole_end;
}

typedef struct key_range {
    size_t begin, end;
} key_range;

/* Clips keys [begin, end) to the n keys from `first` on, counted from there, and trims biases of -inf at its ends. */
static key_range clip(const posenc_softmax_row_args *row, size_t begin, size_t end, size_t first, size_t n) {
    key_range part = {posenc_max_size(begin, first), posenc_min_size(end, first + n)};
    if (part.begin < part.end)
        posenc_skip_masked(row, &part.begin, &part.end);
    return part.begin < part.end ? (key_range){part.begin - first, part.end - first} : (key_range){0, 0};
}

/* Clips what a row sees to the n keys from `first` on. */
static posenc_seen seen_of(const posenc_softmax_row_args *row, size_t first, size_t n) {
    if (!has_hole(row->seen)) {
        key_range all = clip(row, row->seen.begin, row->seen.end, first, n);
        return (posenc_seen){.begin = all.begin, .end = all.end};
    }
    key_range before = clip(row, row->seen.begin, row->seen.hole_begin, first, n),
              behind = clip(row, row->seen.hole_end, row->seen.end, first, n);
    if (before.end == 0)
        return (posenc_seen){.begin = behind.begin, .end = behind.end};
    if (behind.end == 0)
        return (posenc_seen){.begin = before.begin, .end = before.end};
    return (posenc_seen){before.begin, before.end, behind.begin, behind.end};
}

/* A bit for each panel with keys begin .. end - 1. */
static uint32_t panels_with(size_t begin, size_t end) {
    return begin < end ? (UINT32_C(2) << ((end - 1) / POSENC_PANEL)) - (UINT32_C(1) << (begin / POSENC_PANEL)) : 0;
}

int posenc_attention_find_seen(posenc_attention_block *b) {
    b->seen_first = b->n;
    b->seen_end = 0;
    b->has_hole = 0;
    b->panels = 0;
    for (int64_t pair = 0; pair < posenc_attention_pairs(b->unit); pair++) {
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

size_t posenc_attention_run_end(const posenc_attention_block *b, size_t begin) {
    size_t end = begin;
    do
        end = (end / POSENC_PANEL + 1) * POSENC_PANEL;
    while (end < b->seen_end && posenc_attention_has_panel(b, end) == posenc_attention_has_panel(b, begin));
    return posenc_min_size(end, b->seen_end);
}

/* ---- Addresses ---- */

/* From the panel of the first seen key on, and of some keys behind the block. */
static void find_keys(posenc_attention_block *b) {
    size_t begin = b->seen_first / POSENC_PANEL * POSENC_PANEL;
    b->rows_end = posenc_min_size(b->n + POSENC_KEYS_PACKED, b->seen_limit - b->first);
    posenc_attention_row_addresses(b->unit, &b->unit->call->args->k, (int64_t)(b->first + begin),
                                   (int64_t)(b->rows_end - begin), b->unit->key_rows + begin);
}

/* Gives values begin .. end - 1 of the block, of which no pair sees one, the address of any. */
static void set_unseen(const posenc_attention_unit *u, size_t begin, size_t end, const void *any) {
    for (size_t j = begin; j < end; j++)
        u->value_rows[j] = any;
}

/* In panels that no pair sees, and behind the last to the end of its panel, of any value: groups read it for all of
 * them, with a weight of 0. */
static void find_values(const posenc_attention_block *b) {
    const posenc_attention_unit *u = b->unit;
    const posenc_view *v = &u->call->args->v;
    const void *any;
    posenc_attention_row_addresses(u, v, (int64_t)(b->first + b->seen_first), 1, &any);
    set_unseen(u, 0, b->seen_first, any);
    for (size_t begin = b->seen_first, end; begin < b->seen_end; begin = end) {
        end = posenc_attention_run_end(b, begin);
        if (posenc_attention_has_panel(b, begin))
            posenc_attention_row_addresses(u, v, (int64_t)(b->first + begin), (int64_t)(end - begin),
                                           u->value_rows + begin);
        else
            set_unseen(u, begin, end, any);
    }
    set_unseen(u, b->seen_end, (b->seen_end + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL, any);
}

void posenc_attention_find_rows(posenc_attention_block *b) {
    find_keys(b);
    find_values(b);
}

/* The addresses of another head's rows, if it is not the first. */
static const void *const *rows_of_head(const posenc_view *x, const void *const *rows, int64_t head, size_t n,
                                       const void **to) {
    if (head == 0)
        return rows;
    for (size_t t = 0; t < n; t++)
        to[t] = (const char *)rows[t] + head * x->nb[1];
    return to;
}

/* Units of so few pairs wait for memory. */
enum { FEW_PAIRS = 16 };

/* 1 if the unit waits for memory, so that values are fetched ahead. Values that the caches hold anyway would pay 4 % for
 * it. */
static int waits(const posenc_attention_unit *u) {
    return u->n <= FEW_PAIRS && posenc_is_far(posenc_view_count(&u->call->args->v));
}

/* 1 if values are fetched while others are summed, and not with their keys: a block of them, and the keys that pass by,
 * are more than a second cache of 512 KB holds. float32 then takes 0.66 to 0.81 of the time, and f16, of half the size,
 * 1.04 to 1.1 (AMD Zen 3). */
static int streams_values(const posenc_attention_unit *u) {
    enum { BLOCK_BYTES = 1 << 17 };
    return u->n_heads > 1 ||
           (waits(u) && POSENC_KEY_BLOCK * posenc_attention_row_bytes(&u->call->args->v) > BLOCK_BYTES);
}

/* Tokens of so many bytes are at work while as many are fetched: whole tokens often lie a power of two apart, and then
 * have few sets of a second cache of 512 KB. Twice as many: float32 takes 1.1 to 1.25 times as long (AMD Zen 3). */
enum { RUN_BYTES = 1 << 16, SHORTEST_RUN = 8 };

/* Tokens of heads that are visited together. */
static size_t run_of_tokens(const posenc_view *x) {
    size_t run = POSENC_PANEL;
    while (run > SHORTEST_RUN && run * (size_t)x->nb[2] > RUN_BYTES)
        run /= 2;
    return run;
}

/* Keys that are multiplied at a time. */
static size_t key_run(const posenc_attention_block *b) {
    const posenc_attention_unit *u = b->unit;
    if (u->n_heads == 1)
        return POSENC_KEYS_PACKED;
    int are_packed = u->n > POSENC_FEW || b->steps->multiply != posenc_attention_multiply_floats;
    return posenc_max_size(run_of_tokens(&u->call->args->k), are_packed ? POSENC_PANEL : POSENC_FEW_ROWS);
}

/* Values that are summed at a time. */
static size_t value_run(const posenc_attention_block *b) {
    const posenc_attention_unit *u = b->unit;
    const posenc_view *v = &u->call->args->v;
    if (!b->steps->sums_in_runs)
        return POSENC_KEY_BLOCK;
    size_t run = u->n_heads > 1 ? run_of_tokens(v) : streams_values(u) ? POSENC_KEYS_PACKED : POSENC_KEY_BLOCK;
    if (b->steps->value_group == 1)
        return posenc_min_size(run, posenc_attention_values_at_a_time(u));
    return posenc_max_size(run, b->steps->value_group);
}

void posenc_attention_find_runs(posenc_attention_block *b) {
    b->key_run = key_run(b);
    b->value_run = value_run(b);
}

/* ---- Rows that are fetched ---- */

/* Up to `most` rows from number j of the block on, up to `end`. */
static posenc_rows_ahead ahead_of_one(const posenc_view *x, const void *const *rows, size_t j, size_t end,
                                      size_t most) {
    size_t n = j < end ? posenc_min_size(end - j, most) : 0;
    return (posenc_rows_ahead){rows + j, posenc_attention_row_bytes(x), n};
}

/* A head's share of n tokens, all heads' rows in the order of memory: n pieces, the first head's first. */
static posenc_rows_ahead ahead_of_all(const posenc_attention_unit *u, const posenc_view *x, const void *const *rows,
                                      size_t n, int64_t head, const void *pieces[POSENC_KEYS_PACKED]) {
    size_t n_heads = (size_t)u->n_heads, first = n * (size_t)head, token = first / n_heads, of_token = first % n_heads;
    for (size_t i = 0; i < n; token++, of_token = 0)
        for (; i < n && of_token < n_heads; of_token++)
            pieces[i++] = (const char *)rows[token] + (int64_t)of_token * x->nb[1];
    return (posenc_rows_ahead){pieces, posenc_attention_row_bytes(x), n};
}

/* Values of the block from number j on, or behind the last, the next block's keys. */
static posenc_rows_ahead values_ahead(const posenc_attention_block *b, size_t j, int64_t head,
                                      const void *pieces[POSENC_KEYS_PACKED]) {
    const posenc_attention_unit *u = b->unit;
    if (j < b->seen_end)
        return ahead_of_all(u, &u->call->args->v, u->value_rows + j,
                            posenc_min_size(b->seen_end - j, b->value_run % POSENC_KEY_BLOCK), head, pieces);
    size_t n = b->rows_end > b->n ? posenc_min_size(b->rows_end - b->n, b->key_run) : 0;
    return ahead_of_all(u, &u->call->args->k, u->key_rows + b->n, n, head, pieces);
}

posenc_attention_keys posenc_attention_keys_at(const posenc_attention_block *b, int64_t head, size_t j, size_t n,
                                               const void *rows[POSENC_KEYS_PACKED],
                                               const void *pieces[POSENC_KEYS_PACKED]) {
    const posenc_attention_unit *u = b->unit;
    const posenc_view *k = &u->call->args->k, *v = &u->call->args->v;
    posenc_attention_keys keys = {
        .first = (int64_t)(b->first + j),
        .n = (int64_t)n,
        .rows = rows_of_head(k, u->key_rows + j, head, n, rows),
    };
    if (streams_values(u)) {
        size_t next = j + n;
        keys.ahead[0] = next < b->seen_end ? ahead_of_all(u, k, u->key_rows + next,
                                                          posenc_min_size(b->seen_end - next, n), head, pieces)
                                           : values_ahead(b, b->seen_first, head, pieces);
        return keys;
    }
    keys.ahead[0] = ahead_of_one(k, u->key_rows, j + n, b->rows_end, POSENC_KEYS_PACKED);
    if (waits(u)) /* values of these keys */
        keys.ahead[1] = ahead_of_one(v, u->value_rows, j, b->seen_end, POSENC_KEYS_PACKED);
    else if (j + n >= b->seen_end) /* the values that are summed first */
        keys.ahead[1] = ahead_of_one(v, u->value_rows, b->seen_first, b->seen_end, b->value_run);
    return keys;
}

posenc_attention_values posenc_attention_values_at(const posenc_attention_block *b, int64_t head, size_t begin,
                                                   size_t end, int is_last, const void *rows[POSENC_KEY_BLOCK],
                                                   const void *pieces[POSENC_KEYS_PACKED]) {
    const posenc_attention_unit *u = b->unit;
    const posenc_view *v = &u->call->args->v;
    int64_t pair = head * u->n;
    posenc_attention_values values = {
        .begin = begin,
        .end = end,
        .rows = rows_of_head(v, u->value_rows + begin, head, end - begin, rows),
        .seen = b->seen + pair,
        .has_hole = b->has_hole,
        .is_last = is_last,
        .keep = b->keep + pair,
        .sums = {posenc_attention_sum_row(u, b->sums, pair), b->sums.stride, b->sums.head_stride},
    };
    if (end >= b->seen_end && b->first + b->n >= b->seen_limit)
        for (int i = 0; i < 2; i++)
            values.ahead[i] = u->after[i];
    else if (streams_values(u))
        values.ahead[0] = values_ahead(b, end, head, pieces);
    else if (!waits(u))
        values.ahead[0] = ahead_of_one(v, u->value_rows, end, b->seen_end, b->value_run);
    return values;
}
