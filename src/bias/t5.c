/* SPDX-License-Identifier: MIT */
/* T5's buckets: boundaries as exact integers (FORMULAS C.5). */
#include <posenc/bias.h>

#include <math.h>

#include "bias/rel_bias.h"
#include "core/dd.h"
#include "core/for_python.h"
#include "core/refuse.h"

#define MAX_BUCKETS 4096
#define MAX_DISTANCE ((int64_t)1 << 30)

/* One direction: bucket d for d < exact, then `steps` buckets up to max_distance and beyond. */
typedef struct t5_side {
    int64_t exact, steps, max_distance;
} t5_side;

static posenc_status check_params(const posenc_t5_params *params, t5_side *side) {
    if (params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (params->num_buckets < 0 || params->num_buckets > MAX_BUCKETS)
        return posenc_refused(POSENC_ERR_BUCKETS);
    int64_t n = params->bidirectional ? params->num_buckets / 2 : params->num_buckets;
    *side = (t5_side){n / 2, n - n / 2, params->max_distance};
    if (n < 2 || params->max_distance <= side->exact || params->max_distance > MAX_DISTANCE)
        return posenc_refused(POSENC_ERR_BUCKETS);
    return POSENC_OK;
}

/* ---- Products of powers, exactly ---- */

/* A number of at most 30 * steps bits, in limbs of 32 bits, lowest first. */
typedef struct big {
    uint32_t limb[MAX_BUCKETS / 2 * 30 / 32 + 1];
    int n;
} big;

static void multiply_by_power(big *b, uint32_t factor, int64_t exponent) {
    for (int64_t e = 0; e < exponent; e++) {
        uint64_t carry = 0;
        for (int i = 0; i < b->n; i++) {
            carry += (uint64_t)b->limb[i] * factor;
            b->limb[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry != 0)
            b->limb[b->n++] = (uint32_t)carry;
    }
}

static int is_at_most(const big *a, const big *b) {
    if (a->n != b->n)
        return a->n < b->n;
    for (int i = a->n - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i];
    return 1;
}

/* max_distance^k exact^(steps-k) <= d^steps */
static int has_reached(const t5_side *side, int64_t k, int64_t d) {
    big left = {{1}, 1}, right = {{1}, 1};
    multiply_by_power(&left, (uint32_t)side->max_distance, k);
    multiply_by_power(&left, (uint32_t)side->exact, side->steps - k);
    multiply_by_power(&right, (uint32_t)d, side->steps);
    return is_at_most(&left, &right);
}

/* ---- Boundaries ---- */

/* The first distance of bucket exact + k, k < steps: the least integer that is not below max_distance^(k/steps)
 * exact^(1-k/steps). Double-double tells it, unless that number may be an integer. */
static int64_t boundary(const t5_side *side, int64_t k) {
    posenc_dd far = posenc_dd_mul(posenc_dd_log((double)side->max_distance), posenc_dd_from((double)k));
    posenc_dd near = posenc_dd_mul(posenc_dd_log((double)side->exact), posenc_dd_from((double)(side->steps - k)));
    posenc_dd x = posenc_dd_exp(posenc_dd_div(posenc_dd_add(far, near), posenc_dd_from((double)side->steps)));
    double nearest = rint(x.hi), beyond = (x.hi - nearest) + x.lo;
    int64_t d = (int64_t)nearest;
    if (fabs(beyond) < 0x1p-40) /* the error is below 2^-60 */
        return has_reached(side, k, d) ? d : d + 1;
    return beyond < 0.0 ? d : d + 1;
}

static int64_t bucket_of(const t5_side *side, int64_t distance) {
    if (distance < side->exact)
        return distance;
    int64_t low = 0, high = side->steps; /* boundary(low) <= distance < boundary(high) */
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (boundary(side, middle) <= distance)
            low = middle;
        else
            high = middle;
    }
    return side->exact + low;
}

posenc_status posenc_t5_bucket(const posenc_t5_params *params, int32_t offset, int32_t *bucket) {
    t5_side side;
    posenc_status status = check_params(params, &side);
    if (status != POSENC_OK)
        return status;
    if (bucket == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    int64_t n = side.exact + side.steps;
    if (offset <= 0)
        *bucket = (int32_t)bucket_of(&side, -(int64_t)offset);
    else
        *bucket = params->bidirectional ? (int32_t)(n + bucket_of(&side, offset)) : 0;
    return POSENC_OK;
}

/* Offsets first .. last, as far as the index has them. */
static void fill(const posenc_rel_index *index, int64_t first, int64_t last, int64_t row) {
    int64_t begin = first > index->first ? first - index->first : 0;
    int64_t end = last < index->first + index->n_offsets ? last - index->first + 1 : index->n_offsets;
    for (int64_t t = begin; t < end; t++)
        index->data[t] = (int32_t)row;
}

posenc_status posenc_rel_index_t5(const posenc_t5_params *params, const posenc_rel_index *index) {
    t5_side side;
    posenc_status status = check_params(params, &side);
    if (status == POSENC_OK)
        status = posenc_check_whole_index(index, params->num_buckets);
    if (status != POSENC_OK)
        return status;
    int64_t n = side.exact + side.steps;
    if (!params->bidirectional)
        fill(index, 1, INT32_MAX, 0);
    for (int64_t b = 0, nearest = 0; b < n; b++) {
        int64_t next = b + 1 < side.exact ? b + 1
                       : b + 1 < n        ? boundary(&side, b + 1 - side.exact)
                                          : INT32_MAX + (int64_t)1;
        fill(index, 1 - next, -nearest, b);
        if (params->bidirectional)
            fill(index, nearest > 1 ? nearest : 1, next - 1, n + b);
        nearest = next;
    }
    return POSENC_OK;
}
