/* SPDX-License-Identifier: MIT */
/* Fused attention: sums of a unit over one segment of keys, key block by key block. A key block is multiplied (scores),
 * softened (exponentials, online softmax) and summed (weighted values). */
#include <math.h>
#include <string.h>

#include "attention/block.h"
#include "core/minmax.h"
#include "core/view.h"

_Static_assert(POSENC_KEYS_EXACT % POSENC_KEYS_PACKED == 0 && POSENC_KEYS_EXACT % POSENC_QUANT_GROUP == 0,
               "the key block behind the exact keys begins with a panel and a group");

enum { BLOCK = POSENC_KEY_BLOCK };

/* ---- Products ---- */

/* Multiplies keys begin .. end - 1 of the block; begin is a whole number of panels. */
static void multiply_run(const posenc_attention_block *b, size_t begin, size_t end) {
    for (size_t j = begin, n; j < end; j += n) {
        n = posenc_min_size(end - j, b->key_run);
        posenc_attention_keys keys = posenc_attention_keys_at(b, j, n);
        b->steps->multiply(b->unit, &keys, j);
    }
}

/* Multiplies the panels that hold unmasked keys, in runs. */
static void multiply(const posenc_attention_block *b) {
    for (size_t begin = 0, end; begin < b->visible_end; begin = end) {
        end = posenc_attention_run_end(b, begin);
        if (posenc_attention_has_panel(b, begin))
            multiply_run(b, begin, end);
    }
}

/* ---- Exponentials ---- */

/* Sets softmax's arguments for a pair and the block: keys are counted from the block's first. */
static void set_scores(const posenc_attention_block *b, int64_t pair, uint8_t *bytes, posenc_softmax_row_args *args) {
    const posenc_attention_unit *u = b->unit;
    posenc_copy_row_args(&u->rows[pair], args);
    args->n = b->n;
    args->visible = b->visible[pair];
    if (args->k_pos != NULL)
        args->k_pos += b->first;
    else
        args->position -= (int32_t)b->first;
    if (args->bias != NULL)
        args->bias = (const char *)args->bias + b->first * (size_t)posenc_dtype_size(args->bias_type);
    if (args->bytes != NULL)
        args->bytes += b->first;
    if (args->by_key.product != NULL)
        args->by_key.product += (ptrdiff_t)b->first * args->by_key.key_stride;
    const posenc_score_params *params = u->call->args->params;
    if (params->tree != NULL) {
        posenc_row_place at = posenc_attention_place(u, pair);
        posenc_score_args_tree(params, &u->call->scores, &at, b->first, b->n, bytes, args);
    }
    if (params->block_mask != NULL)
        posenc_block_cells_bytes(b->cells[pair], bytes, args);
    args->x = args->y = u->scores + (size_t)pair * BLOCK;
}

/* Largest logit and sum of exponentials of a pair, behind its weighted sums. */
static posenc_softmax_sum *state_of(const posenc_attention_block *b, int64_t pair) {
    return (posenc_softmax_sum *)(void *)(b->sums.rows + (size_t)pair * b->sums.stride + b->unit->call->args->v.ne[0]);
}

/* Replaces a pair's scores by exponentials, and rescales its sum of exponentials to the new maximum. Not inlined:
 * its arrays would lie on the stack during the rotation of keys too, which takes most of it. */
static __attribute__((noinline)) void soften(posenc_attention_block *b, int64_t pair) {
    const posenc_attention_unit *u = b->unit;
    b->keep[pair] = 1.0f;
    if (u->call->args->params->bool_mask != NULL && u->call->args->params->block_mask == NULL)
        posenc_attention_fetch_bytes(b, pair, UINT32_MAX);
    if (b->visible[pair].begin == b->visible[pair].end)
        return;
    uint8_t bytes[2][POSENC_TREE_BYTES];
    posenc_softmax_row_args args, next;
    set_scores(b, pair, bytes[0], &args);
    if (args.by_query.product != NULL &&
        pair + 1 < posenc_attention_pairs(u)) { /* each pair has products of its own, often far away */
        set_scores(b, pair + 1, bytes[1], &next);
        args.next = &next;
    }
    args.sum = state_of(b, pair);
    args.least = args.sum->max;
    args.rescale = &b->keep[pair];
    u->call->kernels->softmax_row(&args);
}

/* ---- Weighted sums ---- */

/* Clears weights begin .. end - 1 of a pair. */
static void clear_weights(const posenc_attention_block *b, int64_t pair, size_t begin, size_t end) {
    if (begin < end)
        memset(b->unit->scores + (size_t)pair * BLOCK + begin, 0, (end - begin) * sizeof(float));
}

/* Clears the weights of the block's first n keys that a pair does not see. */
static void clear_masked(const posenc_attention_block *b, size_t n) {
    for (int64_t pair = 0; pair < posenc_attention_pairs(b->unit); pair++) {
        posenc_visible visible = b->visible[pair];
        clear_weights(b, pair, 0, visible.begin);
        clear_weights(b, pair, visible.hole_begin, visible.hole_end);
        clear_weights(b, pair, visible.end, n);
    }
}

/* Adds the block's weighted values, run by run. Groups are summed whole; single values without the panels that no pair
 * sees. */
static void sum(const posenc_attention_block *b) {
    size_t group = b->steps->value_group, run = b->value_run;
    size_t first = b->visible_first / group * group, last = (b->visible_end + group - 1) / group * group;
    if (group > 1)
        clear_masked(b, last);
    for (size_t begin = first, end; begin < last; begin = end) {
        end = posenc_min_size((begin / run + 1) * run, last);
        if (group == 1) {
            end = posenc_min_size(end, posenc_attention_run_end(b, begin));
            if (!posenc_attention_has_panel(b, begin))
                continue;
        }
        posenc_attention_values values = posenc_attention_values_at(b, begin, end, end == last);
        values.is_first = begin == first;
        b->steps->sum(b->unit, &values);
    }
}

/* ---- Key blocks ---- */

static void attend_block(posenc_attention_block *b) {
    if (!posenc_attention_find_visible(b))
        return;
    posenc_attention_find_rows(b);
    multiply(b);
    for (int64_t pair = 0; pair < posenc_attention_pairs(b->unit); pair++)
        soften(b, pair);
    sum(b);
}

/* Sets the sums to no key. */
static void clear_sums(const posenc_attention_unit *u, posenc_attention_sums sums) {
    size_t dim = (size_t)u->call->args->v.ne[0];
    for (int64_t pair = 0; pair < posenc_attention_pairs(u); pair++) {
        float *row = sums.rows + (size_t)pair * sums.stride;
        for (size_t c = 0; c < dim; c++)
            row[c] = 0.0f;
        row[dim] = -INFINITY;
        row[dim + 1] = 0.0f;
    }
}

/* Begins a key block. The first one ends behind the keys computed in float32, the others at multiples of their size. */
static void begin_block(posenc_attention_block *b, size_t first) {
    const posenc_attention_unit *u = b->unit;
    int is_exact = first < u->call->n_exact;
    b->first = first;
    b->n = posenc_min_size(u->n_keys - first, is_exact ? u->call->n_exact : BLOCK - first % BLOCK);
    b->steps = is_exact ? &u->call->exact : &u->call->steps;
    posenc_attention_find_runs(b);
}

void posenc_attention_segment(const posenc_attention_unit *u, int64_t segment, posenc_attention_sums sums) {
    size_t first = (size_t)segment * POSENC_ATTENTION_SEGMENT, end = first + POSENC_ATTENTION_SEGMENT;
    posenc_attention_block b = {.unit = u, .sums = sums};
    clear_sums(u, sums);
    posenc_attention_find_limit(&b, end);
    for (; first < b.visible_limit; first += b.n) {
        begin_block(&b, first);
        attend_block(&b);
    }
}
