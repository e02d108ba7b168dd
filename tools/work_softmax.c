/* SPDX-License-Identifier: MIT */
#include "negate.h"
#include "work.h"

static posenc_status run(const work *w, int ith, int nth) {
    posenc_range rows = posenc_range_of_thread(w->x.ne[1] * w->x.ne[2], ith, nth);
    return posenc_softmax(&w->params, &w->x, &w->x, rows);
}

/* Negates the scores of unmasked keys. */
static void negate_visible(const work *w, int ith, int nth) {
    posenc_range rows = posenc_range_of_thread(w->x.ne[1] * w->x.ne[2], ith, nth);
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *row = (float *)w->x.data + i * w->n_keys;
        negate(row, row, w->n_keys - w->n_tokens + i % w->n_tokens + 1, POSENC_F32);
    }
}

posenc_status work_create_softmax(work *w, const bench_shape *shape, random_state *random) {
    w->name = shape->has_alibi ? "scale, ALiBi, mask, softmax" : "scale, mask, softmax";
    w->run = run;
    w->limit = negate_visible;
    w->x = work_tensor(w, w->n_keys, w->n_tokens, shape->n_heads, random);
    w->data = w->x.data;
    w->size = (size_t)(w->n_keys * w->n_tokens * shape->n_heads) * sizeof(float);
    double masked = (double)(w->n_tokens - 1) / 2.0; /* keys of a query, on average */
    w->traffic = 2.0 * (double)w->size * (1.0 - masked / (double)w->n_keys);
    return w->data == NULL ? POSENC_ERR_MEMORY : work_set_params(w, shape);
}
