/* SPDX-License-Identifier: MIT */
/* Relative indices: the table row of each offset. */
#include <posenc/relative.h>

#include <math.h>

#include "bias/rel_bias.h"
#include "core/dd.h"
#include "core/minmax.h"
#include "core/refuse.h"

#define MAX_BUCKETS ((int64_t)1 << 16)

static posenc_status check_rule(const posenc_rel_index_rule *rule) {
    if (rule->sign != 1 && rule->sign != -1)
        return posenc_refuse(POSENC_ERR_ENUM, "rule.sign is %d, but 1 or -1 is wanted: is the scheme set?", rule->sign);
    if (rule->n_rows < 1 || rule->n_rows > POSENC_MAX_KEYS || rule->zero < 0 || rule->zero >= rule->n_rows)
        return posenc_refuse(POSENC_ERR_SHAPE, "rule.n_rows is %lld and zero %lld: is n or m of the scheme in range?",
                             (long long)rule->n_rows, (long long)rule->zero);
    if (rule->log_buckets == 0)
        return POSENC_OK;
    if (rule->log_buckets < 4 || rule->log_buckets > MAX_BUCKETS || rule->log_buckets % 2 != 0)
        return posenc_refuse(POSENC_ERR_BUCKETS, "rule.log_buckets is %lld, but 4 .. 2^16, even, is wanted",
                             (long long)rule->log_buckets);
    return rule->max_position > rule->log_buckets / 2 + 1 && rule->max_position <= MAX_BUCKETS
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_BUCKETS,
                               "rule.max_position is %lld, but log_buckets / 2 + 2 .. 2^16 is wanted",
                               (long long)rule->max_position);
}

/* The least integer that is not below a. A value next to an integer differs from it by rounding only. */
static int64_t ceiling(posenc_dd a) {
    double nearest = rint(a.hi), above = (a.hi - nearest) + a.lo;
    return (int64_t)nearest + (above > 0x1p-70 ? 1 : 0);
}

/* A rule and what its logarithms have in common. */
typedef struct bucketing {
    const posenc_rel_index_rule *rule;
    posenc_dd log_middle, steps; /* ln(middle); buckets beyond the middle for each unit of the logarithm */
} bucketing;

static bucketing bucketing_of(const posenc_rel_index_rule *rule) {
    bucketing b = {.rule = rule};
    if (rule->log_buckets == 0)
        return b;
    double middle = (double)(rule->log_buckets / 2);
    b.log_middle = posenc_dd_log(middle);
    posenc_dd range = posenc_dd_sub(posenc_dd_log((double)(rule->max_position - 1)), b.log_middle);
    b.steps = posenc_dd_div(posenc_dd_from(middle - 1.0), range);
    return b;
}

/* FORMULAS C.15. */
static int64_t bucket(const bucketing *b, int64_t r) {
    int64_t distance = r < 0 ? -r : r, middle = b->rule->log_buckets / 2;
    if (b->rule->log_buckets == 0 || distance <= middle)
        return r;
    if (distance >= b->rule->max_position - 1 && !b->rule->is_unclipped) { /* all alike, without a logarithm */
        distance = b->rule->log_buckets - 1;
    } else {
        posenc_dd log = posenc_dd_sub(posenc_dd_log((double)distance), b->log_middle);
        distance = ceiling(posenc_dd_mul(log, b->steps)) + middle;
    }
    return r < 0 ? -distance : distance;
}

/* Row of an offset before clipping; it may lie outside the table. */
static int64_t wanted_row(const bucketing *b, int64_t offset) {
    return b->rule->zero + bucket(b, b->rule->sign * offset);
}

static int is_beyond(const bucketing *b, int64_t offset) {
    int64_t row = wanted_row(b, offset);
    return row < 0 || row >= b->rule->n_rows;
}

static int64_t row_of(const bucketing *b, int64_t offset) {
    return posenc_min(posenc_max(wanted_row(b, offset), 0), b->rule->n_rows - 1);
}

static void fill(const bucketing *b, const posenc_rel_index *index) {
    for (int64_t t = 0; t < index->n_offsets; t++)
        index->data[t] = (int32_t)row_of(b, index->first + t);
}

posenc_status posenc_rel_index_fill(const posenc_rel_index_rule *rule, posenc_rel_index *index) {
    if (rule == NULL || index == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = check_rule(rule);
    if (status == POSENC_OK)
        status = posenc_check_whole_index(index, index->n_rows);
    if (status != POSENC_OK)
        return status;
    int64_t last = index->first + index->n_offsets - 1;
    bucketing buckets = bucketing_of(rule);
    if (rule->is_strict && index->n_offsets > 0 && (is_beyond(&buckets, index->first) || is_beyond(&buckets, last)))
        return posenc_refused(POSENC_ERR_OFFSETS); /* rows go one way with the offset */
    fill(&buckets, index);
    index->n_rows = rule->n_rows;
    return POSENC_OK;
}

/* n; -1, of which no rule is accepted, if it is out of range. */
static int64_t size_of(int64_t n) {
    return n < 0 || n > POSENC_MAX_KEYS ? -1 : n;
}

posenc_rel_index_rule posenc_rel_index_rule_of(posenc_rel_scheme scheme, int64_t n, int64_t m) {
    n = size_of(n);
    switch (scheme) {
    case POSENC_REL_SHAW: return (posenc_rel_index_rule){2 * n + 1, n, 1, 0, 0, 0, 0};
    case POSENC_REL_RELATIVE_KEY: return (posenc_rel_index_rule){2 * n - 1, n - 1, -1, 1, 0, 0, 0};
    case POSENC_REL_TRANSFORMER_XL: return (posenc_rel_index_rule){n, n - 1, 1, 0, 0, 0, 0};
    case POSENC_REL_XLNET: return (posenc_rel_index_rule){size_of(m) + n, size_of(m), 1, 0, 0, 0, 0};
    case POSENC_REL_DEBERTA: return (posenc_rel_index_rule){2 * n, n, -1, 0, 0, 0, 0};
    case POSENC_REL_DEBERTA_LOG: return (posenc_rel_index_rule){2 * n, n, -1, 0, n, m, 0};
    case POSENC_REL_DEBERTA_LOG_UNCLIPPED: return (posenc_rel_index_rule){2 * n, n, -1, 0, n, m, 1};
    case POSENC_REL_UNSET: break;
    }
    return (posenc_rel_index_rule){0, 0, 0, 0, 0, 0, 0};
}
