/* SPDX-License-Identifier: MIT */
#include "work.h"

static posenc_status run(const work *w) {
    return posenc_attention(&w->params, &w->q, &w->k, &w->v, &w->x, w->scratch, posenc_range_all());
}

posenc_status work_create_attention(work *w, const bench_shape *shape, random_state *random) {
    int64_t d = shape->head_dim;
    w->name = shape->has_alibi ? "attention with ALiBi, whole" : "attention, whole";
    w->run = run;
    w->x = work_tensor(w, d, shape->n_heads, w->n_tokens, random);
    w->q = work_tensor(w, d, shape->n_heads, w->n_tokens, random);
    w->k = work_tensor(w, d, shape->n_kv_heads, w->n_keys, random);
    w->v = work_tensor(w, d, shape->n_kv_heads, w->n_keys, random);
    w->scratch = work_alloc(w, posenc_attention_workspace_bytes(d, d));
    w->data = w->x.data;
    w->size = (size_t)(d * shape->n_heads * w->n_tokens) * work_type_size(w->type);
    double of_cache = (double)(d * shape->n_kv_heads * w->n_keys) * (double)work_type_size(w->type);
    w->traffic = 2.0 * (double)w->size + 2.0 * of_cache;
    for (int i = 0; i < w->n_blocks; i++)
        if (w->blocks[i] == NULL)
            return POSENC_ERR_MEMORY;
    return work_set_params(w, shape);
}
