/* Index lines: which row of a relative table an offset stands for. */
#include <posenc/relative.h>

#include <math.h>

#include "dd.h"
#include "scores.h"

#define MAX_BUCKETS ((int64_t)1 << 16)

static posenc_status check_rule(const posenc_index_rule *rule) {
    if (rule->sign != 1 && rule->sign != -1)
        return POSENC_ERR_ENUM;
    if (rule->n_rows < 1 || rule->n_rows > POSENC_MAX_KEYS || rule->zero < 0 || rule->zero >= rule->n_rows)
        return POSENC_ERR_SHAPE;
    if (rule->log_buckets == 0)
        return POSENC_OK;
    if (rule->log_buckets < 4 || rule->log_buckets > MAX_BUCKETS || rule->log_buckets % 2 != 0)
        return POSENC_ERR_SHAPE;
    return rule->max_position > rule->log_buckets / 2 + 1 && rule->max_position <= MAX_BUCKETS ? POSENC_OK
                                                                                               : POSENC_ERR_SHAPE;
}

/* The least integer that is not below a; what is next to one differs from it by rounding only. */
static int64_t ceiling(posenc_dd a) {
    double nearest = rint(a.hi), above = (a.hi - nearest) + a.lo;
    return (int64_t)nearest + (above > 0x1p-70 ? 1 : 0);
}

static posenc_dd log_ratio(int64_t a, int64_t b) {
    return posenc_dd_add(posenc_dd_log((double)a), posenc_dd_mul(posenc_dd_from(-1.0), posenc_dd_log((double)b)));
}

/* FORMULAS C.15, for 0 <= distance < max_position. */
static int64_t log_bucket(const posenc_index_rule *rule, int64_t distance) {
    int64_t middle = rule->log_buckets / 2, farthest = rule->max_position - 1;
    if (distance <= middle)
        return distance;
    posenc_dd share = posenc_dd_div(log_ratio(distance, middle), log_ratio(farthest, middle));
    return ceiling(posenc_dd_mul(share, posenc_dd_from((double)(middle - 1)))) + middle;
}

static int64_t bucket(const posenc_index_rule *rule, int64_t r) {
    int64_t distance = r < 0 ? -r : r, farthest = rule->max_position - 1;
    if (rule->log_buckets == 0)
        return r;
    if (distance >= farthest) /* all alike, and the logarithm is not needed */
        distance = rule->log_buckets - 1;
    else
        distance = log_bucket(rule, distance);
    return r < 0 ? -distance : distance;
}

static int is_beyond(const posenc_index_rule *rule, int64_t offset) {
    int64_t row = rule->zero + rule->sign * offset;
    return row < 0 || row >= rule->n_rows;
}

static int64_t row_of(const posenc_index_rule *rule, int64_t offset) {
    int64_t row = rule->zero + bucket(rule, rule->sign * offset);
    return row < 0 ? 0 : row >= rule->n_rows ? rule->n_rows - 1 : row;
}

posenc_status posenc_index_line_fill(const posenc_index_rule *rule, posenc_index_line *line) {
    if (rule == NULL || line == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = check_rule(rule);
    if (status == POSENC_OK)
        status = posenc_check_index_line(line, line->n_rows, (posenc_offsets){1, 0});
    if (status != POSENC_OK)
        return status;
    int64_t last = line->first + line->n_offsets - 1;
    if (rule->is_strict && line->n_offsets > 0 && (is_beyond(rule, line->first) || is_beyond(rule, last)))
        return POSENC_ERR_OFFSETS;
    for (int64_t offset = line->first; offset <= last; offset++)
        line->data[offset - line->first] = (int32_t)row_of(rule, offset);
    line->n_rows = rule->n_rows;
    return POSENC_OK;
}
