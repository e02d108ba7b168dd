/* SPDX-License-Identifier: MIT */
#include "truth_score.h"

#include <assert.h>
#include <math.h>

#include "truth_view.h"

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static int document(const posenc_score_params *p, int64_t index) {
    for (int64_t d = 0; d < p->sequences.n_seqs; d++)
        if (p->sequences.cu_seqlens[d] <= index && index < p->sequences.cu_seqlens[d + 1])
            return (int)d;
    return -1;
}

int64_t truth_query(const posenc_score_params *p, int64_t i, int64_t b) {
    return i + (p->positions.query_starts != NULL ? p->positions.query_starts[b] : p->positions.query_start);
}

int truth_sees(const posenc_score_params *p, int64_t j, int64_t i, int64_t h, int64_t b) {
    int64_t at = p->positions.keys != NULL ? p->positions.keys[j] : j,
            query = p->positions.queries != NULL ? p->positions.queries[i] : truth_query(p, i, b);
    const posenc_mask *m = &p->mask;
    int64_t origin = p->sequences.origins != NULL ? p->sequences.origins[b] : 0;
    if (m->before >= 0 && query - at > m->before && (m->n_first == 0 || at >= origin + m->n_first))
        return 0;
    if (m->after >= 0 && at - query > m->after)
        return 0;
    if (m->chunk > 0 && floor_div(at - origin, m->chunk) != floor_div(query - origin, m->chunk))
        return 0;
    if (p->sequences.cu_seqlens != NULL) {
        int mine = document(p, truth_query(p, i, b));
        if (mine < 0 || mine != document(p, j))
            return 0;
    }
    if ((p->sequences.k_begin != NULL && j < p->sequences.k_begin[b]) ||
        (p->sequences.k_end != NULL && j >= p->sequences.k_end[b]))
        return 0;
    if (p->bool_mask == NULL)
        return 1;
    const int64_t *nb = p->bool_mask->nb;
    int is_set = p->bool_mask->data[b * nb[3] + h * nb[2] + i * nb[1] + j] != 0;
    return p->bool_mask->polarity == POSENC_KEEP ? is_set : !is_set;
}

static double rel_bias_value(const posenc_rel_bias *rel_bias, int64_t h, int64_t offset) {
    int64_t at = offset - rel_bias->first;
    if (rel_bias->is_clamped)
        at = at < 0 ? 0 : at >= rel_bias->n_offsets ? rel_bias->n_offsets - 1 : at;
    assert(at >= 0 && at < rel_bias->n_offsets);
    return (double)rel_bias->data[h * rel_bias->stride + at];
}

/* An element of what is shared where an extent is 1. */
static double shared(const posenc_view *view, int64_t c, int64_t i, int64_t h, int64_t b) {
    const int64_t *ne = view->ne;
    return (double)truth_get(view, c, ne[1] == 1 ? 0 : i, ne[2] == 1 ? 0 : h, ne[3] == 1 ? 0 : b);
}

static double relative_term(const posenc_relative *r, int64_t offset, int64_t row, int64_t h, int64_t b) {
    return shared(r->products, r->index->data[offset - r->index->first], row, h, b);
}

double truth_logit(const posenc_score_params *p, double score, int64_t j, int64_t i, int64_t h, int64_t b,
                   double *size) {
    *size = 0.0;
    if (!truth_sees(p, j, i, h, b))
        return -INFINITY;
    int64_t offset =
        p->positions.keys != NULL ? (int64_t)p->positions.keys[j] - p->positions.queries[i] : j - truth_query(p, i, b);
    double by_query = p->bias.by_query.products != NULL ? relative_term(&p->bias.by_query, offset, i, h, b) : 0.0;
    double by_key = p->bias.by_key.products != NULL ? relative_term(&p->bias.by_key, offset, j, h, b) : 0.0;
    double alibi = p->bias.alibi_slopes != NULL ? -(double)p->bias.alibi_slopes[h] * fabs((double)offset) : 0.0;
    double rel_bias = p->bias.relative != NULL ? rel_bias_value(p->bias.relative, h, offset) : 0.0, bias = 0.0;
    if (p->bias.tensor != NULL)
        bias = (p->bias.tensor_slopes != NULL ? (double)p->bias.tensor_slopes[h] : 1.0) *
               shared(p->bias.tensor, j, i, h, b);
    double scale = (double)p->scale, scaled = scale * (score + by_query + by_key);
    *size = fabs(scale) * (fabs(score) + fabs(by_query) + fabs(by_key)) + fabs(alibi) + fabs(rel_bias) + fabs(bias);
    return (p->cap != 0.0f ? (double)p->cap * tanh(scaled / (double)p->cap) : scaled) + (alibi + rel_bias + bias);
}
