/* SPDX-License-Identifier: MIT */
/* Counts of the trained parameters and of the arithmetic of a scheme. */
#include <posenc/analysis.h>

#include "core/for_python.h"
#include "core/view.h"

#define MAX_SIZE ((int64_t)1 << 40)

/* A sum of products that notices when it leaves int64. */
typedef struct tally {
    int64_t sum;
    int overflow;
} tally;

static void add(tally *t, int64_t a, int64_t b, int64_t c) {
    int64_t product;
    t->overflow |= __builtin_mul_overflow(a, b, &product) || __builtin_mul_overflow(product, c, &product) ||
                   __builtin_add_overflow(t->sum, product, &t->sum);
}

/* A formula adds its terms; it answers 0 for a scheme that it does not know. */
typedef int (*formula)(posenc_scheme scheme, const posenc_sizes *s, tally *t);

static int parameters(posenc_scheme scheme, const posenc_sizes *s, tally *t) {
    switch (scheme) {
    case POSENC_SCHEME_SINUSOIDAL:
    case POSENC_SCHEME_ROPE:
    case POSENC_SCHEME_ALIBI:
    case POSENC_SCHEME_SANDWICH: break;
    case POSENC_SCHEME_LEARNED: add(t, s->length, s->dim, 1); break;
    case POSENC_SCHEME_SHAW: add(t, 2, 2 * s->max_distance + 1, s->head_dim); break;
    case POSENC_SCHEME_T5: add(t, s->n_buckets, s->n_heads, 1); break;
    case POSENC_SCHEME_TRANSFORMER_XL:
        add(t, 2, s->n_heads, s->head_dim);
        add(t, s->dim, s->n_heads, s->head_dim);
        break;
    case POSENC_SCHEME_DEBERTA: add(t, 2, s->max_distance, s->dim); break;
    case POSENC_SCHEME_KERPLE: add(t, 2, s->n_heads, 1); break;
    case POSENC_SCHEME_FIRE:
        add(t, 2, s->hidden, 1);
        add(t, s->hidden, s->n_heads, 1);
        add(t, s->n_heads, 1, 1);
        add(t, 2, 1, 1);
        break;
    case POSENC_SCHEME_COPE: add(t, s->n_positions, s->head_dim, 1); break;
    case POSENC_SCHEME_SWIN:
        if (s->window_h > 0 && s->window_w > 0)
            add(t, 2 * s->window_h - 1, 2 * s->window_w - 1, s->n_heads);
        break;
    case POSENC_SCHEME_CPE:
        add(t, s->dim, s->kernel, s->kernel);
        add(t, s->dim, 1, 1);
        break;
    default: return 0;
    }
    return 1;
}

static int flops(posenc_scheme scheme, const posenc_sizes *s, tally *t) {
    switch (scheme) {
    case POSENC_SCHEME_SINUSOIDAL:
    case POSENC_SCHEME_LEARNED: add(t, s->dim, 1, 1); return 1;
    case POSENC_SCHEME_ROPE: add(t, 6, s->n_heads, s->head_dim); return 1;
    case POSENC_SCHEME_ALIBI: add(t, 2, s->n_heads, s->length); return 1;
    case POSENC_SCHEME_SHAW: add(t, 4 * s->n_heads, s->length, s->head_dim); return 1;
    default: return 0;
    }
}

static int rule_of_thumb(posenc_scheme scheme, const posenc_sizes *s, tally *t) {
    switch (scheme) {
    case POSENC_SCHEME_SINUSOIDAL:
    case POSENC_SCHEME_LEARNED: add(t, s->dim, 1, 1); return 1;
    case POSENC_SCHEME_ROPE: add(t, 4, s->head_dim, 1); return 1;
    case POSENC_SCHEME_ALIBI: add(t, s->length, 1, 1); return 1;
    case POSENC_SCHEME_SHAW: add(t, 2, s->length, s->head_dim); return 1;
    default: return 0;
    }
}

static int is_size(int64_t x) {
    return x >= 0 && x <= MAX_SIZE;
}

static int are_sizes(const posenc_sizes *s) {
    return is_size(s->length) && is_size(s->dim) && is_size(s->head_dim) && is_size(s->n_heads) &&
           is_size(s->max_distance) && is_size(s->n_buckets) && is_size(s->hidden) && is_size(s->n_positions) &&
           is_size(s->window_h) && is_size(s->window_w) && is_size(s->kernel);
}

static posenc_status evaluate(formula terms, posenc_scheme scheme, const posenc_sizes *sizes, int64_t *result) {
    if (sizes == NULL || result == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (!are_sizes(sizes))
        return posenc_refused(POSENC_ERR_SHAPE);
    tally t = {0, 0};
    if (!terms(scheme, sizes, &t))
        return scheme == POSENC_SCHEME_UNSET ? posenc_refused(POSENC_ERR_UNSET) : posenc_refused(POSENC_ERR_ENUM);
    if (t.overflow)
        return posenc_refused(POSENC_ERR_SHAPE);
    *result = t.sum;
    return POSENC_OK;
}

posenc_status posenc_parameter_count(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *count) {
    return evaluate(parameters, scheme, sizes, count);
}

posenc_status posenc_flops(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *result) {
    return evaluate(flops, scheme, sizes, result);
}

posenc_status posenc_flops_rule_of_thumb(posenc_scheme scheme, const posenc_sizes *sizes, int64_t *result) {
    return evaluate(rule_of_thumb, scheme, sizes, result);
}
