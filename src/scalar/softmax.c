/* SPDX-License-Identifier: MIT */
/* Scalar softmax of attention logits: the specification. docs/numerics.md has the order and the bounds. */
#include <stdlib.h>

#include "kernels/exp_scalar.h"
#include "kernels/fma.h"
#include "kernels/variant.h"

typedef posenc_softmax_row_args row;

/* ---- The logit of one key ---- */

static int32_t offset_of(const row *a, size_t j) {
    return (a->k_pos != NULL ? a->k_pos[j] : (int32_t)j) - a->position;
}

/* True if an ascending list has the number. */
static int has_number(const int32_t *list, size_t n, size_t number) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((size_t)list[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && (size_t)list[low] == number;
}

static int is_full(const row *a, size_t j) {
    const posenc_row_blocks *b = a->blocks;
    return b == NULL || has_number(b->full, b->n_full, (a->blocks_begin + j) / b->size);
}

static int is_partial(const row *a, size_t j) {
    const posenc_row_blocks *b = a->blocks;
    return b == NULL || has_number(b->partial, b->n_partial, (a->blocks_begin + j) / b->size);
}

/* True if key j is inside the bounds of the loops. */
static int is_inside(const row *a, size_t j) {
    if (!is_full(a, j) && !is_partial(a, j))
        return 0;
    return j >= a->visible.begin && j < a->visible.end && !(j >= a->visible.hole_begin && j < a->visible.hole_end);
}

/* True if key j is in a group that is not written: no key of the group is inside the bounds. */
static int is_left(const row *a, size_t j) {
    size_t first = j / POSENC_SUM_LANES * POSENC_SUM_LANES;
    for (j = first; a->leaves_masked && j < first + POSENC_SUM_LANES; j++)
        if (is_inside(a, j))
            return 0;
    return a->leaves_masked;
}

static int is_visible(const row *a, size_t j) {
    if (!is_inside(a, j))
        return 0;
    if (a->k_pos != NULL && (offset_of(a, j) < a->lowest || offset_of(a, j) > a->highest))
        return 0;
    if (a->bytes == NULL || j < a->bytes_begin || (a->blocks != NULL && is_full(a, j)))
        return 1;
    return (a->bytes[j - a->bytes_begin] != 0) == (a->keep != 0);
}

static float rel_term_value(const posenc_rel_term *r, size_t j, int32_t offset) {
    return r->product[(ptrdiff_t)j * r->key_stride + r->index[offset - r->first]];
}

/* Offsets beyond a relative bias have the values of its ends. */
static float rel_bias_value(const posenc_head_rel_bias *rel_bias, int32_t offset) {
    int32_t at = offset < rel_bias->first ? rel_bias->first : offset > rel_bias->last ? rel_bias->last : offset;
    return rel_bias->at[at - rel_bias->first];
}

/* Logit l_j (docs/numerics.md); -inf for a masked key. */
static float logit(const row *a, size_t j) {
    if (!is_visible(a, j))
        return -INFINITY;
    int32_t offset = offset_of(a, j);
    float s = a->x != NULL ? posenc_load(a->x, j, a->x_type) : 0.0f;
    if (a->by_query.product != NULL)
        s += rel_term_value(&a->by_query, j, offset);
    if (a->by_key.product != NULL)
        s += rel_term_value(&a->by_key, j, offset);
    float b = -(a->slope * (float)abs(offset));
    if (a->rel_bias.at != NULL)
        b += rel_bias_value(&a->rel_bias, offset);
    if (a->bias != NULL)
        b = posenc_fmaf(a->bias_slope, posenc_load(a->bias, j, a->bias_type), b);
    if (a->cap == 0.0f)
        return posenc_fmaf(s, a->scale, b);
    return posenc_fmaf(posenc_tanh(s * a->scale * a->inv_cap), a->cap, b);
}

/* ---- The row ---- */

static void store(const row *a, size_t j, float y) {
    if (!is_left(a, j))
        posenc_store(a->y, j, y, a->y_type);
}

static float max_logit(const row *a) {
    float max = a->sink > a->least ? a->sink : a->least;
    for (size_t j = 0; j < a->n; j++) {
        float l = logit(a, j);
        max = l > max ? l : max; /* a NaN is passed over here and spoils the sum instead */
    }
    return max + 0.0f; /* of zeros, +0: which comes first differs */
}

/* The sum of exponentials in the canonical order. */
static double sum_exponentials(const row *a, float max) {
    double lanes[POSENC_SUM_LANES] = {0.0};
    for (size_t block = 0; block < a->n; block += POSENC_SUM_BLOCK) {
        float partial[POSENC_SUM_LANES] = {0.0f};
        for (size_t j = block; j < a->n && j < block + POSENC_SUM_BLOCK; j++)
            partial[j % POSENC_SUM_LANES] += posenc_exp_above(logit(a, j) - max, a->exp_lowest);
        for (size_t k = 0; k < POSENC_SUM_LANES; k++)
            lanes[k] += (double)partial[k];
    }
    for (size_t width = POSENC_SUM_LANES / 2; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++)
            lanes[k] += lanes[k + width];
    return lanes[0] + (double)posenc_exp_nonpositive(a->sink - max);
}

/* Writes the largest logit and the sum. With rescale the sum so far is rescaled to the new maximum. */
static void finish_sum(const row *a, float max, float base, double sum) {
    float all = (float)sum;
    if (a->rescale != NULL) {
        *a->rescale = sum != 0.0 ? posenc_exp_above(a->least - base, a->exp_lowest) : 1.0f;
        all = posenc_fmaf(a->sum->sum, *a->rescale, all);
    }
    *a->sum = (posenc_softmax_sum){max, all};
}

/* Writes the exponential or probability of each key. A NaN or +inf in the row makes inverse NaN, and so every visible
 * key. */
static void finish(const row *a, float max, double sum) {
    float inverse = a->form == POSENC_PROBABILITIES ? (float)(1.0 / sum) : 1.0f;
    /* Below, the product would be denormal. */
    float smallest = a->form == POSENC_PROBABILITIES ? (float)(sum * POSENC_SOFTMAX_FLOOR) : 0.0f;
    for (size_t j = 0; j < a->n; j++) {
        float e = posenc_exp_above(logit(a, j) - max, a->exp_lowest);
        float y = (e < smallest ? 0.0f : e) * inverse;
        store(a, j, is_visible(a, j) ? y : 0.0f);
    }
}

void VARIANT(softmax_row)(const row *a) {
    if (a->form == POSENC_LOGITS) {
        for (size_t j = 0; j < a->n; j++)
            store(a, j, logit(a, j));
        return;
    }
    float max = max_logit(a);
    float base = max == -INFINITY ? 0.0f : max; /* so that -inf - base is -inf and every term 0 */
    double sum = sum_exponentials(a, base);
    if (a->sum != NULL)
        finish_sum(a, max, base, sum);
    if (sum != 0.0)
        finish(a, base, sum);
    else
        for (size_t j = 0; j < a->n; j++)
            store(a, j, a->empty);
}
