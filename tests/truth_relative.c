/* SPDX-License-Identifier: MIT */
#include "truth_relative.h"

void truth_shape_random(truth_shape *s, int64_t most_keys) {
    s->dim = 1 + truth_below(truth_below(3) ? 20 : 140);
    s->n_k = 1 + truth_below(most_keys);
    s->n_q = 1 + truth_below(s->n_k < 9 ? s->n_k : 9);
    s->n_heads = 1 + truth_below(4);
    s->n_batch = 1 + truth_below(2);
    s->query_start = truth_below(4) ? s->n_k - s->n_q : truth_below(s->n_k + 10) - 5;
    int64_t side = truth_below(2) ? -1 : 1 + truth_below(s->n_k);
    s->mask = truth_below(3) ? posenc_mask_causal() : posenc_mask_sides(side, side);
}

void truth_shape_set_rule(truth_shape *s, posenc_rel_index_rule rule) {
    s->rule = rule;
    s->index = (posenc_rel_index){s->index_data, 0, 0, 0};
    truth_ok(posenc_rel_bias_range(s->mask, s->query_start, s->n_q, s->n_k, &s->index.first, &s->index.n_offsets));
    assert_true(s->index.n_offsets <= TRUTH_MAX_OFFSETS);
    truth_ok(posenc_rel_index_fill(&rule, &s->index));
}

int truth_is_visible(const truth_shape *s, int64_t query, int64_t key) {
    int64_t offset = key - (s->query_start + query);
    return !(s->mask.before >= 0 && -offset > s->mask.before) && !(s->mask.after >= 0 && offset > s->mask.after);
}

int64_t truth_row(const truth_shape *s, int64_t query, int64_t key) {
    return s->index_data[key - (s->query_start + query) - s->index.first];
}

truth_tensor truth_numbers(posenc_dtype type, double size, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    const int64_t ne[4] = {ne0, ne1, ne2, ne3};
    truth_tensor t = truth_tensor_random_of(type, ne), source = truth_tensor_random(ne);
    TRUTH_EACH(&source.view, i0, i1, i2, i3)
    *truth_at(&source.view, i0, i1, i2, i3) = (float)truth_uniform(-size, size);
    truth_convert(&source.view, &t.view);
    truth_tensor_free(&source);
    truth_mark(&t);
    return t;
}
