/* SPDX-License-Identifier: MIT */
/* Passes of the softmax over a row of float32 results: logits and their maximum, exponentials and their sum,
 * probabilities, and values of masked keys. Needs: vec.h. Used by: softmax, softmax_16bit.
 *
 * Each pass walks steps of 32 keys, STEP vectors side by side: the lanes of the canonical sum, and enough of them to
 * hide the latency of the arithmetic. The result holds the logits, then the exponentials, between the passes: reading
 * them back costs less than making them again. */
#ifndef POSENC_SIMD_SOFTMAX_PASSES_H
#define POSENC_SIMD_SOFTMAX_PASSES_H

#include "vec.h"

#include <math.h>

#include "simd/exp.h"
#include "simd/softmax_logits.h"
#include "simd/softmax_runs.h"
#include "simd/typed.h"

/* ---- First pass: logits and their maximum ---- */

/* One step of 32 unmasked keys, `rest` of them in the row; distances are moved to the next step. */
V_INLINE void plain_step(const plain_terms *t, float *y, size_t j, size_t rest, const logit_kind kind,
                         const int has_scores, vf *distances, vf *max) {
    for (int k = 0; k < STEP; k++) {
        size_t at = j + (size_t)k * VF, n = lanes_left(rest, k);
        vf l = plain_logits(t, distances[k], at, n, kind, has_scores);
        distances[k] = v_add(distances[k], t->step);
        store_typed(y, at, l, n, POSENC_F32);
        max[k] = v_max(n == VF ? l : v_first_or(l, n, max[k]), max[k]);
    }
}

/* Logits of run r of a row whose terms are plain: a product, a constant, and a slope times the distance to the query,
 * which is counted in `direction` (1: keys up to the query's own, -1: keys behind it). */
V_INLINE void plain_run(const row *a, run r, const logit_kind kind, const int has_scores, float constant,
                        int32_t direction, vf *total) {
    plain_terms terms = plain_terms_of(a, constant, direction);
    float *y = a->y;
    vf max[STEP], distances[STEP]; /* a copy stays in registers */
    for (int k = 0; k < STEP; k++) {
        vi offsets = vi_sub(key_numbers(r.begin + (size_t)k * VF), vi_set1(a->position));
        distances[k] = v_from_int(vi_mul(offsets, vi_set1(-direction)));
        max[k] = total[k];
    }
    size_t j = r.begin;
    for (; j + LANES <= r.end; j += LANES)
        plain_step(&terms, y, j, LANES, kind, has_scores, distances, max);
    if (j < r.end)
        plain_step(&terms, y, j, r.end - j, kind, has_scores, distances, max);
    for (int k = 0; k < STEP; k++)
        total[k] = max[k];
}

static __attribute__((noinline)) void any_run(const row *a, run r, vf *max) {
    for (size_t j = r.begin; j < r.end; j += LANES)
        for (int k = 0; k < STEP; k++) {
            size_t at = j + (size_t)k * VF, n = lanes_left(r.end - j, k);
            vf l = any_logits(a, at, n, &r);
            store_typed(a->y, at, l, n, POSENC_F32);
            max[k] = v_max(v_first_or(l, n, max[k]), max[k]);
        }
}

/* Step in which the relative bias begins or ends. */
V_INLINE void rel_bias_step(const row *a, run r, vf *max) {
    for (int k = 0; k < STEP; k++) {
        size_t at = r.begin + (size_t)k * VF, n = lanes_left(r.end - r.begin, k);
        keys here = keys_at(a, at, n, &r);
        vf l = v_fma(scores_at(a->x, at, n, a->x != NULL), v_set1(a->scale), rel_bias_values(a, &here));
        store_typed(a->y, at, l, n, POSENC_F32);
        max[k] = v_max(v_first_or(l, n, max[k]), max[k]);
    }
}

/* Run with a relative bias that may cover a part of it: keys beyond an end have one bias. */
V_INLINE void rel_bias_run(const row *a, run r, const int has_scores, vf *max) {
    ptrdiff_t begin = (ptrdiff_t)a->position + a->rel_bias.first, end = (ptrdiff_t)a->position + a->rel_bias.last + 1;
    for (size_t j = r.begin; j < r.end;) {
        ptrdiff_t at = (ptrdiff_t)j, step_end = (ptrdiff_t)(j + LANES < r.end ? j + LANES : r.end);
        run part = r;
        part.begin = j;
        if (step_end <= begin) { /* so begin is positive */
            part.end = (ptrdiff_t)r.end <= begin ? r.end : step_of((size_t)begin);
            plain_run(a, part, WITH_CONSTANT, has_scores, a->rel_bias.at[0], 0, max);
        } else if (at >= end) {
            plain_run(a, part, WITH_CONSTANT, has_scores, a->rel_bias.at[a->rel_bias.last - a->rel_bias.first], 0, max);
        } else if (at >= begin && step_end <= end) {
            part.end = (ptrdiff_t)r.end <= end ? r.end : step_of((size_t)end);
            plain_run(a, part, WITH_REL_BIAS, has_scores, 0.0f, 0, max);
        } else {
            part.end = (size_t)step_end;
            rel_bias_step(a, part, max);
        }
        j = part.end;
    }
}

/* Run with ALiBi, cut at the query's own key: distances on each side are counted in float32, while that is exact, not
 * converted from integers one by one. */
V_INLINE void alibi_run(const row *a, run r, const int has_scores, vf *max) {
    const ptrdiff_t exact = 1 << 24, position = a->position, begin = (ptrdiff_t)r.begin, end = (ptrdiff_t)r.end;
    if (position - begin >= exact || end - position >= exact) {
        any_run(a, r, max);
        return;
    }
    ptrdiff_t middle = position < begin ? begin : position < end ? position + 1 : end;
    if (begin < middle)
        plain_run(a, (run){.begin = r.begin, .end = (size_t)middle}, WITH_ALIBI, has_scores, 0.0f, 1, max);
    if (middle < end)
        plain_run(a, (run){.begin = (size_t)middle, .end = r.end}, WITH_ALIBI, has_scores, 0.0f, -1, max);
}

/* Run whose terms are plain, without its bytes. */
V_INLINE void unmasked_run(const row *a, run r, const logit_kind kind, const int has_scores, vf *max) {
    if (kind == WITH_REL_BIAS)
        rel_bias_run(a, r, has_scores, max);
    else if (kind == WITH_ALIBI)
        alibi_run(a, r, has_scores, max);
    else
        plain_run(a, r, kind, has_scores, 0.0f, 0, max);
}

/* Masks one step of 32 logits in y by its bytes, `rest` of them in the run. */
V_INLINE void mask_step(float *y, const uint8_t *bytes, size_t rest, int keep, vf *max) {
    for (int k = 0; k < STEP; k++) {
        size_t at = (size_t)k * VF, n = lanes_left(rest, k);
        vf l = mask_bytes(bytes + at, n, keep, load_typed(y, at, n, POSENC_F32));
        store_typed(y, at, l, n, POSENC_F32);
        max[k] = v_max(n == VF ? l : v_first_or(l, n, max[k]), max[k]);
    }
}

/* Masks the stored logits of a run by its bytes. A pass of its own serves every kind of logits; one vector after
 * another in any_run took 3.4 times as long. */
static __attribute__((noinline)) void mask_run(const row *a, run r, vf *total) {
    float *y = a->y;
    const uint8_t *bytes = a->bytes;
    size_t begin = a->bytes_begin, j = r.begin;
    int keep = a->keep;
    vf max[STEP];
    for (int k = 0; k < STEP; k++)
        max[k] = total[k];
    for (; j + LANES <= r.end; j += LANES)
        mask_step(y + j, bytes + (j - begin), LANES, keep, max);
    if (j < r.end)
        mask_step(y + j, bytes + (j - begin), r.end - j, keep, max);
    for (int k = 0; k < STEP; k++)
        total[k] = max[k];
}

/* Stores the logits. Returns the largest of them and the sink. */
V_INLINE float make_logits(const row *a, const logit_kind kind, const int has_scores) {
    vf max[STEP];
    for (int k = 0; k < STEP; k++)
        max[k] = v_set1(a->sink > a->least ? a->sink : a->least);
    list_cursor at = {0, 0};
    for (run r = row_run(a, step_of(a->visible.begin), &at); r.begin < a->visible.end; r = row_run(a, r.end, &at)) {
        int by_bytes = r.cells[0] == CELL_BY_BYTES;
        if (r.is_ragged || kind == WITH_ANYTHING) {
            any_run(a, r, max);
            continue;
        }
        if (by_bytes && r.end - r.begin > POSENC_SUM_BLOCK) /* in the first cache between the passes */
            r.end = r.begin + POSENC_SUM_BLOCK;
        vf masked_max[STEP];
        for (int k = 0; k < STEP; k++)
            masked_max[k] = max[k];
        unmasked_run(a, r, kind, has_scores, max);
        if (by_bytes) { /* masked logits do not count for the maximum */
            mask_run(a, r, masked_max);
            for (int k = 0; k < STEP; k++)
                max[k] = masked_max[k];
        }
    }
    for (int k = 1; k < STEP; k++)
        max[0] = v_max(max[k], max[0]);
    return v_max_lanes(max[0]) + 0.0f; /* -0 becomes +0 */
}

V_INLINE float logits_of_kind(const row *a, const int has_scores) {
    switch (kind_of(a)) {
    case SCALED: return make_logits(a, SCALED, has_scores);
    case WITH_ALIBI: return make_logits(a, WITH_ALIBI, has_scores);
    case WITH_REL_BIAS: return make_logits(a, WITH_REL_BIAS, has_scores);
    case WITH_BIAS: return make_logits(a, WITH_BIAS, has_scores);
    case WITH_QUERY_TERM: return make_logits(a, WITH_QUERY_TERM, has_scores);
    case WITH_CAP: return make_logits(a, WITH_CAP, has_scores);
    default: return make_logits(a, WITH_ANYTHING, has_scores);
    }
}

/* Logits without scores: biases and terms alone. */
static __attribute__((noinline)) float store_biases(const row *a) {
    return logits_of_kind(a, 0);
}

static __attribute__((noinline)) float store_scored(const row *a) {
    return logits_of_kind(a, 1);
}

static float store_logits(const row *a) {
    return a->x != NULL ? store_scored(a) : store_biases(a);
}

/* ---- Second pass: exponentials and their sum ---- */

/* Prefetches the product of an offset. Offsets of masked keys may have any index: a prefetch of any address is
 * allowed. */
V_INLINE void fetch_product(const posenc_rel_term *r, ptrdiff_t offset) {
    if (r->product == NULL || offset < r->first || offset > r->last)
        return;
    uintptr_t away = (uintptr_t)(r->index[offset - r->first] * (ptrdiff_t)sizeof(float));
    __builtin_prefetch((const void *)((uintptr_t)r->product + away), 0, 2);
}

/* Prefetches the inputs of the next row for keys j .. j + LANES - 1, while the exponentials of this row keep the
 * arithmetic units busy; not into the first cache, which holds this row. 4 million scores with a mask took 1.4 times as
 * long without, 32 rows of 32768 keys with a relative bias each 1.06 times, attention with DeBERTa's terms 1.1
 * times. */
V_INLINE void fetch_next(const row *next, size_t j) {
    fetch_typed(next->x, j, LANES, POSENC_F32);
    fetch_typed(next->y, j, LANES, POSENC_F32);
    if (next->bias != NULL)
        fetch_typed(next->bias, j, LANES, next->bias_type);
    ptrdiff_t offset = (ptrdiff_t)j - next->position;
    if (next->rel_bias.at != NULL && offset >= next->rel_bias.first && offset <= next->rel_bias.last)
        fetch_typed(next->rel_bias.at + (offset - next->rel_bias.first), 0, LANES, POSENC_F32);
    fetch_product(&next->by_query, offset);
    fetch_product(&next->by_query, offset + LANES / 2);
}

/* Vectors of exponentials side by side. On NEON more than one takes a fifth more instructions. */
enum { SIDE_BY_SIDE = VF == 4 ? 1 : STEP };

V_INLINE void exp_step(float *y, size_t j, size_t rest, vf max, vf lowest, vf *partial) {
    for (int first = 0; first < STEP; first += SIDE_BY_SIDE) {
        vf e[SIDE_BY_SIDE];
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            int k = first + i;
            e[i] = v_sub(load_typed(y, j + (size_t)k * VF, lanes_left(rest, k), POSENC_F32), max);
        }
        exp_each(e, lowest, SIDE_BY_SIDE);
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            int k = first + i;
            size_t n = lanes_left(rest, k);
            partial[k] = v_add(partial[k], n == VF ? e[i] : v_first_or(e[i], n, v_set1(0.0f)));
            store_typed(y, j + (size_t)k * VF, e[i], n, POSENC_F32);
        }
    }
}

/* Adds one block of the canonical sum, from key j on, to the lanes. Returns the key that follows. */
V_INLINE size_t sum_block(const row *a, size_t j, list_cursor *at, vf max, vd *lanes) {
    size_t block_end = (j / POSENC_SUM_BLOCK + 1) * POSENC_SUM_BLOCK;
    float *y = a->y;
    vf partial[STEP], lowest = v_set1(a->exp_lowest);
    for (int k = 0; k < STEP; k++)
        partial[k] = v_set1(0.0f);
    while (j < block_end && j < a->visible.end) {
        run r = row_run(a, j, at);
        size_t end = r.end < block_end ? r.end : block_end;
        for (j = r.begin; j + LANES <= end; j += LANES) {
            if (a->next != NULL)
                fetch_next(a->next, j);
            exp_step(y, j, LANES, max, lowest, partial);
        }
        if (j < end) {
            exp_step(y, j, end - j, max, lowest, partial);
            j = end;
        }
    }
    add_block(lanes, partial);
    return j;
}

/* Replaces logits by exponentials of logit - max, and adds them to the lanes. */
static __attribute__((noinline)) void make_exponentials(const row *a, float max, vd *lanes) {
    list_cursor at = {0, 0};
    for (size_t j = step_of(a->visible.begin); j < a->visible.end;)
        j = sum_block(a, j, &at, v_set1(max), lanes);
}

/* Adds the lanes, and the sink's exponential last. */
V_INLINE double sum_of(const row *a, float max, vd *lanes) {
    double sum = sum_lanes(lanes);
    if (a->sink == -INFINITY)
        return sum;
    float of_sink[VF];
    v_store(of_sink, exp_nonpositive(v_set1(a->sink - max)));
    return sum + (double)of_sink[0];
}

/* ---- Third pass: probabilities ---- */

V_INLINE vf normalised(vf e, vf inverse, vf smallest) {
    return v_mul(v_zero_if(v_lt(e, smallest), e), inverse);
}

V_INLINE void finish_run(float *y, run r, vf inverse, vf smallest) {
    size_t j = r.begin;
    for (; j + VF <= r.end; j += VF)
        v_store(y + j, normalised(v_load(y + j), inverse, smallest));
    v_store_n(y + j, normalised(v_load_n(y + j, r.end - j), inverse, smallest), r.end - j);
}

/* Finishes a row with an unmasked logit of NaN or +inf: every unmasked key gets NaN. Keys masked by bytes or positions
 * get 0, which a product with NaN would not be. */
static __attribute__((noinline)) void finish_nan(const row *a) {
    list_cursor at = {0, 0};
    for (run r = row_run(a, step_of(a->visible.begin), &at); r.begin < a->visible.end; r = row_run(a, r.end, &at))
        for (size_t j = r.begin; j < r.end; j += VF) {
            keys k = keys_at(a, j, lanes_left(r.end - j, 0), &r);
            vm is_masked = v_lt(mask_keys(a, &k, v_set1(0.0f)), v_set1(0.0f));
            store_typed(a->y, j, v_zero_if(is_masked, v_set1(NAN)), k.n, POSENC_F32);
        }
}

/* Replaces exponentials by probabilities, if the row is asked for them. */
static __attribute__((noinline)) void finish(const row *a, double sum) {
    if (a->form != POSENC_PROBABILITIES)
        return;
    if (RARELY(isnan(sum))) {
        finish_nan(a);
        return;
    }
    vf inverse = v_set1((float)(1.0 / sum)), smallest = v_set1((float)(sum * POSENC_SOFTMAX_FLOOR));
    list_cursor at = {0, 0};
    for (run r = row_run(a, step_of(a->visible.begin), &at); r.begin < a->visible.end; r = row_run(a, r.end, &at))
        finish_run(a->y, r, inverse, smallest);
}

/* ---- The row ---- */

V_INLINE void fill_typed(const row *a, size_t begin, size_t end, float value, const posenc_dtype type) {
    for (; begin + VF <= end; begin += VF)
        store_typed(a->y, begin, v_set1(value), VF, type);
    if (begin < end)
        store_typed(a->y, begin, v_set1(value), end - begin, type);
}

static void fill(const row *a, size_t begin, size_t end, float value) {
    switch (a->y_type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: fill_typed(a, begin, end, value, POSENC_F32); break;
    case POSENC_F16: fill_typed(a, begin, end, value, POSENC_F16); break;
    case POSENC_BF16: fill_typed(a, begin, end, value, POSENC_BF16); break;
    }
}

/* Fills masked keys [begin, end). With leaves_masked whole steps stay unwritten. */
static void fill_gap(const row *a, size_t begin, size_t end, float value) {
    size_t first = step_of(begin + LANES - 1), last = end == a->n ? end : step_of(end);
    if (a->leaves_masked && first < last) {
        fill(a, begin, first, value);
        fill(a, last, end, value);
    } else {
        fill(a, begin, end, value);
    }
}

V_INLINE void fill_masked(const row *a, float value) {
    if (a->visible.begin > 0)
        fill_gap(a, 0, a->visible.begin, value);
    if (a->visible.hole_begin < a->visible.hole_end)
        fill_gap(a, a->visible.hole_begin, a->visible.hole_end, value);
    if (a->visible.end < a->n)
        fill_gap(a, a->visible.end, a->n, value);
}

static void fill_visible(const row *a, float value) {
    int has_hole = a->visible.hole_begin < a->visible.hole_end;
    fill(a, a->visible.begin, has_hole ? a->visible.hole_begin : a->visible.end, value);
    if (has_hole)
        fill(a, a->visible.hole_end, a->visible.end, value);
}

/* Fills keys outside the runs of a row with a block mask, and with is_empty the others too. */
static __attribute__((noinline)) void fill_unlisted(const row *a, float value, int is_empty) {
    size_t end = 0;
    list_cursor at = {0, 0};
    for (run r = row_run(a, step_of(a->visible.begin), &at); r.begin < a->visible.end; r = row_run(a, r.end, &at)) {
        if (end < r.begin)
            fill_gap(a, end, r.begin, value);
        if (is_empty)
            fill(a, r.begin, r.end, value);
        end = r.end;
    }
    if (end < a->n)
        fill_gap(a, end, a->n, value);
}

/* Reference of the exponentials: the maximum, or 0 if all keys are masked. */
V_INLINE float base_of(float max) {
    return max == -INFINITY ? 0.0f : max;
}

/* Writes the largest logit and the sum. With rescale the sum so far is rescaled to the new maximum. */
V_INLINE void finish_sum(const row *a, float max, double sum) {
    if (a->rescale == NULL) {
        *a->sum = (posenc_softmax_sum){max, (float)sum};
        return;
    }
    vf rescale = sum != 0.0 ? exp_above(v_set1(a->least - base_of(max)), v_set1(a->exp_lowest)) : v_set1(1.0f);
    v_store_n(a->rescale, rescale, 1);
    v_store_n(&a->sum->sum, v_fma(v_set1(a->sum->sum), rescale, v_set1((float)sum)), 1);
    a->sum->max = max;
}

/* Writes the sum, an empty row, and the masked keys. */
V_INLINE void finish_row(const row *a, float max, double sum) {
    if (a->sum != NULL)
        finish_sum(a, max, sum);
    if (a->blocks != NULL) {
        fill_unlisted(a, sum == 0.0 ? a->empty : 0.0f, sum == 0.0);
        return;
    }
    if (sum == 0.0)
        fill_visible(a, a->empty);
    fill_masked(a, sum == 0.0 ? a->empty : 0.0f);
}

#endif
