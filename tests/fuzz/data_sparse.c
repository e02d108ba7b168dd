/* SPDX-License-Identifier: MIT */
/* Scores of the indexer of sparse attention. */
#include "data.h"

#include <math.h>

typedef struct index_call {
    posenc_index_args args;
    void *scratch;
} index_call;

static posenc_status score(const void *arguments, posenc_range tiles) {
    const index_call *c = arguments;
    return posenc_index_scores(&c->args, c->scratch, posenc_index_workspace_bytes(c->args.q.ne[0]), tiles);
}

/* Drawn, one for each query or for all, or none; now and then beyond the keys. */
static void draw_bounds(posenc_key_bounds *bounds, int64_t n_q, int64_t n_k, int64_t n_batch) {
    int64_t n = n_q * n_batch, most = n_k + draw_rarely(20);
    *bounds = (posenc_key_bounds){.query_stride = draw(2), .batch_stride = draw(2) * n_q};
    bounds->begin = draw(2) ? data_int32s(n, 0, most / 2) : NULL;
    bounds->end = draw(2) ? data_int32s(n, 0, most) : NULL;
}

static int sees(const posenc_key_bounds *bounds, int64_t i, int64_t j, int64_t b) {
    int64_t at = b * bounds->batch_stride + i * bounds->query_stride;
    return (bounds->begin == NULL || j >= bounds->begin[at]) && (bounds->end == NULL || j < bounds->end[at]);
}

static void compare_score(const posenc_index_args *a, int64_t i, int64_t j, int64_t b) {
    double want = 0.0, size = 0.0, got = data_get(&a->scores, j, i, 0, b);
    if (!sees(&a->bounds, i, j, b)) {
        data_close(&a->scores, got, data_was(&a->scores, j, i, 0, b), 0.0, "a score not seen", j, i, 0, b);
        return;
    }
    for (int64_t h = 0; h < a->q.ne[1]; h++) {
        double product = 0.0, weight = data_was(&a->weights, 0, h, i, b);
        for (int64_t c = 0; c < a->q.ne[0]; c++) {
            double term = data_was(&a->q, c, h, i, b) * data_was(&a->k, c, 0, j, b);
            product += term;
            size += fabs(weight * term);
        }
        want += weight * fmax(product, 0.0);
    }
    data_close(&a->scores, got, want, (double)(a->q.ne[0] + a->q.ne[1]) * 0x1p-24 * size + 1e-36, "indexer", j, i, 0,
               b);
}

void data_sparse(void) {
    index_call c;
    int64_t dim = draw_size(160), n_heads = draw_size(110), n_q = draw_size(4), n_batch = draw_between(1, 2);
    int64_t n_k = draw_rarely(4) ? draw_between(1000, 1100) : draw_size(150);
    c.args.q = data_input(draw_type(), 2.0, dim, n_heads, n_q, n_batch);
    c.args.k = data_input(draw_type(), 2.0, dim, 1, n_k, n_batch);
    c.args.weights = data_input(POSENC_F32, 1.0, 1, n_heads, n_q, n_batch);
    c.args.scores = data_output(POSENC_F32, 2.0, n_k, n_q, 1, n_batch);
    draw_bounds(&c.args.bounds, n_q, n_k, n_batch);
    c.scratch = data_scratch(posenc_index_workspace_bytes(dim));
    if (data_run(score, &c, posenc_index_unit_count(&c.args)) != POSENC_OK || data_is_adversarial())
        return;
    for (int64_t b = 0; b < n_batch; b++)
        for (int64_t i = 0; i < n_q; i++)
            for (int64_t j = 0; j < n_k; j++)
                compare_score(&c.args, i, j, b);
}
