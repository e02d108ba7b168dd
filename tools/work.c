/* SPDX-License-Identifier: MIT */
#include "work.h"

#include <math.h>

#include "core/memory.h"
#include "kernels/half.h"

void *work_alloc(work *w, size_t bytes) {
    enum { LINE = 64 };
    void *block = posenc_aligned_alloc(LINE, (bytes / LINE + 1) * LINE);
    w->blocks[w->n_blocks++] = block;
    return block;
}

void work_free(work *w) {
    while (w->n_blocks > 0)
        posenc_aligned_free(w->blocks[--w->n_blocks]);
}

void work_fill(void *data, posenc_dtype type, int64_t n, random_state *random) {
    for (int64_t i = 0; i < n; i++)
        posenc_store(data, (size_t)i, (float)random_between(random, -4.0, 4.0), type);
}

posenc_view work_tensor(work *w, int64_t head_dim, int64_t n_heads, int64_t n_tokens, random_state *random) {
    int64_t n = head_dim * n_heads * n_tokens;
    void *data = work_alloc(w, (size_t)n * work_type_size(w->type));
    if (data != NULL)
        work_fill(data, w->type, n, random);
    return posenc_view_dense(data, w->type, head_dim, n_heads, n_tokens, 1);
}

posenc_status work_set_params(work *w, const bench_shape *shape) {
    w->params = posenc_score_params_of((float)(1.0 / sqrt((double)shape->head_dim)), posenc_mask_causal());
    w->params.n_heads = shape->n_heads;
    w->params.positions.query_start = w->n_keys - w->n_tokens;
    if (!shape->has_alibi)
        return POSENC_OK;
    float *slopes = work_alloc(w, (size_t)shape->n_heads * sizeof *slopes);
    if (slopes == NULL)
        return POSENC_ERR_MEMORY;
    w->params.bias.alibi_slopes = slopes;
    return posenc_alibi_slopes(shape->n_heads, 8.0, slopes);
}
