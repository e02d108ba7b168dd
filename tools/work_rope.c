/* SPDX-License-Identifier: MIT */
#include "negate.h"
#include "work.h"

static posenc_status run(const work *w, int ith, int nth) {
    int64_t n_heads = w->tensors[0].x.ne[1] + w->tensors[1].x.ne[1];
    return posenc_rope_apply_tensors(w->rope, w->tensors, 2, w->positions, &w->table, POSENC_FORWARD,
                                     posenc_range_of_thread(n_heads * w->n_tokens, ith, nth));
}

/* All at once where every channel is rotated. */
static void negate_all(const work *w, int ith, int nth) {
    int64_t n_rot = 2 * posenc_rope_pair_count(w->rope);
    for (int t = 0; t < 2; t++) {
        const posenc_view *x = &w->tensors[t].x;
        posenc_range heads = posenc_range_of_thread(x->ne[1] * x->ne[2], ith, nth);
        if (n_rot == x->ne[0]) {
            char *first = (char *)x->data + heads.begin * x->nb[1];
            negate(first, first, (heads.end - heads.begin) * n_rot, w->type);
            continue;
        }
        for (int64_t h = heads.begin; h < heads.end; h++)
            negate((char *)x->data + h * x->nb[1], (char *)x->data + h * x->nb[1], n_rot, w->type);
    }
}

/* Q and K one after the other, so that they are compared as one. */
static posenc_status allocate(work *w, const bench_shape *shape, random_state *random) {
    w->x = work_tensor(w, shape->head_dim, shape->n_heads + shape->n_kv_heads, w->n_tokens, random);
    int32_t *positions = work_alloc(w, (size_t)w->n_tokens * sizeof *positions);
    float *rows = work_alloc(w, (size_t)posenc_rope_table_bytes(shape->rope, w->n_tokens));
    if (w->x.data == NULL || positions == NULL || rows == NULL)
        return POSENC_ERR_MEMORY;
    for (int64_t i = 0; i < w->n_tokens; i++)
        positions[i] = (int32_t)(w->n_keys - w->n_tokens + i);
    w->positions = positions;
    w->table = posenc_rope_table_dense(shape->rope, rows);
    return POSENC_OK;
}

posenc_status work_create_rope(work *w, const bench_shape *shape, random_state *random) {
    w->name = "RoPE of Q and K, first layer";
    w->run = run;
    w->limit = negate_all;
    w->rope = shape->rope;
    posenc_status status = allocate(w, shape, random);
    if (status != POSENC_OK)
        return status;
    w->data = w->x.data;
    w->size = (size_t)(w->x.ne[0] * w->x.ne[1] * w->x.ne[2]) * work_type_size(w->type);
    w->traffic = 2.0 * (double)w->size;
    char *keys = (char *)w->data + shape->n_heads * w->n_tokens * w->x.nb[1];
    posenc_view q = posenc_view_dense(w->data, w->type, shape->head_dim, shape->n_heads, w->n_tokens, 1);
    posenc_view k = posenc_view_dense(keys, w->type, shape->head_dim, shape->n_kv_heads, w->n_tokens, 1);
    w->tensors[0] = (posenc_rope_tensor){.x = q, .y = q, .rotates = 1, .scale = 1.0f, .eps = 1e-6f};
    w->tensors[1] = (posenc_rope_tensor){.x = k, .y = k, .rotates = 1, .scale = 1.0f, .eps = 1e-6f};
    return POSENC_OK;
}

posenc_status work_create_rope_table(work *w, const bench_shape *shape, random_state *random) {
    posenc_status status = work_create_rope(w, shape, random);
    if (status != POSENC_OK)
        return status;
    w->name = "RoPE of Q and K, later layers";
    status = posenc_rope_table_fill(w->rope, w->positions, w->n_tokens, POSENC_FORWARD, &w->table);
    w->positions = NULL;
    return status;
}
