/* SPDX-License-Identifier: MIT */
/* Fused attention, one key block of a unit: addresses of its rows, how many are read at a time, rows to prefetch. */
#include "attention/block.h"

#include <string.h>

#include "core/minmax.h"
#include "core/view.h"

size_t posenc_attention_run_end(const posenc_attention_block *b, size_t begin) {
    size_t end = begin;
    do
        end = (end / POSENC_PANEL + 1) * POSENC_PANEL;
    while (end < b->visible_end && posenc_attention_has_panel(b, end) == posenc_attention_has_panel(b, begin));
    return posenc_min_size(end, b->visible_end);
}

/* ---- Addresses ---- */

/* 1 if the unit has several heads that lie apart. */
static int are_apart(const posenc_attention_unit *u, const posenc_view *x) {
    return u->n_heads > 1 && !posenc_attention_has_whole_tokens(x);
}

/* Addresses of the second head's rows. */
static void find_second(const posenc_view *x, const void *const *rows, size_t n, const void **second) {
    for (size_t j = 0; j < n; j++)
        second[j] = (const char *)rows[j] + x->nb[1];
}

/* Addresses of keys from the panel of the first visible key on, and of some keys behind the block to prefetch. */
static void find_keys(posenc_attention_block *b) {
    size_t begin = b->visible_first / POSENC_PANEL * POSENC_PANEL;
    b->rows_end = posenc_min_size(b->n + POSENC_KEYS_PACKED, b->visible_limit - b->first);
    posenc_attention_row_addresses(b->unit, &b->unit->call->args->k, (int64_t)(b->first + begin),
                                   (int64_t)(b->rows_end - begin), b->unit->key_rows + begin);
    if (are_apart(b->unit, &b->unit->call->args->k))
        find_second(&b->unit->call->args->k, b->unit->key_rows + begin, b->rows_end - begin,
                    b->unit->key_rows + POSENC_KEY_ROWS + begin);
}

/* 1 if a pair sees one of keys [begin, end). May also be 1 for keys of a hole. */
static int sees(posenc_visible visible, size_t begin, size_t end) {
    return visible.begin < visible.end && visible.begin < end && visible.end > begin;
}

/* Gives values [begin, end) of the block, which no pair sees, the address `any`. */
static void set_masked(const posenc_attention_unit *u, size_t begin, size_t end, const void *any) {
    for (size_t j = begin; j < end; j++)
        u->value_rows[j] = any;
}

/* Addresses of values. Values of panels that no pair sees, and behind the last visible one to the end of its panel, get
 * the address of a visible value: integers and bf16 read whole groups, with a weight of 0 for masked keys. */
static void find_values(const posenc_attention_block *b) {
    const posenc_attention_unit *u = b->unit;
    const posenc_view *v = &u->call->args->v;
    const void *any;
    posenc_attention_row_addresses(u, v, (int64_t)(b->first + b->visible_first), 1, &any);
    set_masked(u, 0, b->visible_first, any);
    for (size_t begin = b->visible_first, end; begin < b->visible_end; begin = end) {
        end = posenc_attention_run_end(b, begin);
        if (posenc_attention_has_panel(b, begin))
            posenc_attention_row_addresses(u, v, (int64_t)(b->first + begin), (int64_t)(end - begin),
                                           u->value_rows + begin);
        else
            set_masked(u, begin, end, any);
    }
    set_masked(u, b->visible_end, (b->visible_end + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL, any);
    if (are_apart(u, v))
        find_second(v, u->value_rows + b->visible_first, b->visible_end - b->visible_first,
                    u->value_rows + POSENC_KEY_BLOCK + b->visible_first);
}

void posenc_attention_find_rows(posenc_attention_block *b) {
    find_keys(b);
    find_values(b);
}

/* ---- Runs ---- */

/* 1 if the unit waits for memory, so that values are prefetched with their keys. Prefetching values that the caches
 * hold costs 4 %. */
static int waits(const posenc_attention_unit *u) {
    return u->n <= POSENC_FEW_PAIRS && posenc_is_far(posenc_view_count(&u->call->args->v));
}

/* 1 if values are prefetched while others are summed, not with their keys. A key block of large values and the keys
 * that pass by do not fit in a second cache of 512 KB: float32 takes 0.66 to 0.81 of the time. f16, of half the size,
 * would take 1.04 to 1.1 times as long (AMD Zen 3). */
static int streams_values(const posenc_attention_unit *u) {
    enum { BLOCK_BYTES = 1 << 17 };
    return u->n_heads > 1 || (waits(u) && POSENC_KEY_BLOCK * posenc_row_bytes(&u->call->args->v) > BLOCK_BYTES);
}

/* RUN_BYTES: bytes of tokens at work, while as many are prefetched. Whole tokens often lie a power of two apart, and
 * then share few sets of a second cache of 512 KB. With twice as many, float32 takes 1.1 to 1.25 times as long (AMD Zen
 * 3). */
enum { RUN_BYTES = 1 << 16, SHORTEST_RUN = 8 };

/* Tokens of a run of several heads. */
static size_t run_of_tokens(const posenc_view *x) {
    size_t run = POSENC_PANEL;
    if (!posenc_attention_has_whole_tokens(x))
        return run;
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

/* ---- Rows to prefetch ---- */

/* Bytes of a row that are read as one piece: from the first of the unit's heads to the end of its last, unless they lie
 * apart. */
static size_t piece_bytes(const posenc_attention_unit *u, const posenc_view *x) {
    return (are_apart(u, x) ? 0 : (size_t)((u->n_heads - 1) * x->nb[1])) + posenc_row_bytes(x);
}

/* Rows [j, end) of the block, at most n of them. */
static posenc_rows_ahead rows_ahead(const posenc_attention_unit *u, const posenc_view *x, const void *const *rows,
                                    size_t j, size_t n, size_t end) {
    return (posenc_rows_ahead){rows + j, piece_bytes(u, x), j < end ? posenc_min_size(end - j, n) : 0};
}

static posenc_rows_ahead keys_ahead(const posenc_attention_block *b, size_t j, size_t end) {
    return rows_ahead(b->unit, &b->unit->call->args->k, b->unit->key_rows, j, b->key_run, end);
}

static posenc_rows_ahead values_ahead(const posenc_attention_block *b, size_t j, size_t n) {
    return rows_ahead(b->unit, &b->unit->call->args->v, b->unit->value_rows, j, n, b->visible_end);
}

/* Second head's rows of a list of the first one's, for heads that lie apart; else none. */
static posenc_rows_ahead second_head(const posenc_attention_unit *u, const posenc_view *x, posenc_rows_ahead first,
                                     size_t distance) {
    if (!are_apart(u, x))
        return (posenc_rows_ahead){NULL, 0, 0};
    first.rows += distance;
    return first;
}

static void set_keys_ahead(const posenc_attention_block *b, size_t j, size_t end, posenc_rows_ahead ahead[2]) {
    ahead[0] = keys_ahead(b, j, end);
    ahead[1] = second_head(b->unit, &b->unit->call->args->k, ahead[0], POSENC_KEY_ROWS);
}

static void set_values_ahead(const posenc_attention_block *b, size_t j, size_t n, posenc_rows_ahead ahead[2]) {
    ahead[0] = values_ahead(b, j, n);
    ahead[1] = second_head(b->unit, &b->unit->call->args->v, ahead[0], POSENC_KEY_BLOCK);
}

/* Leaves out the first and the last pairs that see none of the keys. At the end of a causal prompt that is half of a
 * unit. */
static void find_pairs(const posenc_attention_block *b, size_t j, posenc_attention_keys *keys) {
    size_t end = j + (size_t)keys->n;
    keys->first_pair = b->first_pair;
    keys->end_pair = b->end_pair;
    while (keys->end_pair > keys->first_pair && !sees(b->visible[keys->end_pair - 1], j, end))
        keys->end_pair--;
    while (keys->first_pair < keys->end_pair && !sees(b->visible[keys->first_pair], j, end))
        keys->first_pair++;
}

posenc_attention_keys posenc_attention_keys_at(const posenc_attention_block *b, size_t j, size_t n) {
    const posenc_attention_unit *u = b->unit;
    size_t next = j + n;
    posenc_attention_keys keys = {.first = (int64_t)(b->first + j), .n = (int64_t)n, .rows = u->key_rows + j};
    find_pairs(b, j, &keys);
    if (streams_values(u)) {
        if (next < b->visible_end)
            set_keys_ahead(b, next, b->visible_end, keys.ahead);
        else
            set_values_ahead(b, b->visible_first, b->value_run, keys.ahead);
        return keys;
    }
    keys.ahead[0] = keys_ahead(b, next, b->rows_end);
    if (waits(u)) /* these keys' values */
        keys.ahead[1] = values_ahead(b, j, n);
    else if (next >= b->visible_end) /* the values that are summed first */
        keys.ahead[1] = values_ahead(b, b->visible_first, posenc_min_size(b->value_run, POSENC_VALUES_PACKED));
    return keys;
}

posenc_attention_values posenc_attention_values_at(const posenc_attention_block *b, size_t begin, size_t end,
                                                   int is_last) {
    const posenc_attention_unit *u = b->unit;
    posenc_attention_values values = {
        .begin = begin,
        .end = end,
        .rows = u->value_rows + begin,
        .visible = b->visible,
        .has_hole = b->has_hole,
        .first_pair = b->first_pair,
        .end_pair = b->end_pair,
        .is_last = is_last,
        .keep = b->keep,
        .sums = b->sums,
    };
    if (end < b->visible_end)
        set_values_ahead(b, end, b->value_run, values.ahead);
    else if (b->first + b->n >= b->visible_limit)
        memcpy(values.ahead, u->after, sizeof values.ahead);
    else if (streams_values(u)) /* the next block's keys */
        set_keys_ahead(b, b->n, b->rows_end, values.ahead);
    return values;
}
