/* SPDX-License-Identifier: MIT */
#include "work.h"

static posenc_status run(const work *w, int ith, int nth) {
    posenc_range units = posenc_range_of_thread(posenc_attention_unit_count(&w->q, &w->k), ith, nth);
    char *scratch = w->scratch + (size_t)ith * w->scratch_bytes;
    return posenc_attention(&w->params, &w->q, &w->k, &w->v, &w->x, scratch, w->scratch_bytes, units);
}

posenc_status work_create_attention(work *w, const bench_shape *shape, random_state *random) {
    int64_t d = shape->head_dim;
    w->name = shape->has_alibi ? "attention with ALiBi, whole" : "attention, whole";
    w->run = run;
    w->x = work_tensor(w, d, shape->n_heads, w->n_tokens, random);
    w->q = work_tensor(w, d, shape->n_heads, w->n_tokens, random);
    w->k = work_tensor(w, d, shape->n_kv_heads, w->n_keys, random);
    w->v = work_tensor(w, d, shape->n_kv_heads, w->n_keys, random);
    w->scratch_bytes = (posenc_attention_workspace_bytes(d, d) + 63) / 64 * 64; /* no cache line of two threads */
    w->scratch = work_alloc(w, (size_t)shape->n_threads * w->scratch_bytes);
    w->data = w->x.data;
    w->size = (size_t)(d * shape->n_heads * w->n_tokens) * work_type_size(w->type);
    double of_cache = (double)(d * shape->n_kv_heads * w->n_keys) * (double)work_type_size(w->type);
    w->traffic = 2.0 * (double)w->size + 2.0 * of_cache;
    for (int i = 0; i < w->n_blocks; i++)
        if (w->blocks[i] == NULL)
            return POSENC_ERR_MEMORY;
    return work_set_params(w, shape);
}
