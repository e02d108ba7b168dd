/* SPDX-License-Identifier: MIT */
#include "rope_work.h"

#include <stdlib.h>

#include "core/memory.h"
#include "kernels/half.h"
#include "negate.h"

static void *new_lines(size_t size) {
    enum { LINE = 64 };
    return posenc_aligned_alloc(LINE, (size / LINE + 1) * LINE);
}

static size_t size_of(posenc_dtype type) {
    return type == POSENC_F32 ? sizeof(float) : sizeof(uint16_t);
}

static int64_t elements(const rotated_tensor *tensor, int64_t n_tokens) {
    return tensor->n_heads * tensor->head_dim * n_tokens;
}

/* What of each head is shown to the library. */
static rotated_tensor shown(const model_table *layer, const rotated_tensor *tensor) {
    int64_t n_rot = layer->params.n_rot;
    int is_slice = layer->q.n_offs > 0 || layer->q.head_dim != layer->k.head_dim;
    return is_slice ? (rotated_tensor){tensor->n_heads, n_rot, 0} : *tensor;
}

/* The tensor's heads, which begin at element `first` of the buffer. */
static posenc_view view_of(const rope_work *work, const model_table *layer, const rotated_tensor *tensor, void *buffer,
                           int64_t first) {
    rotated_tensor part = shown(layer, tensor);
    int64_t size = (int64_t)size_of(work->type);
    char *data = (char *)buffer + (first + tensor->n_offs - part.n_offs) * size;
    posenc_view view = posenc_view_dense(data, work->type, part.head_dim, part.n_heads, work->n_tokens, 1);
    view.nb[1] = tensor->head_dim * size;
    view.nb[2] = tensor->n_heads * view.nb[1];
    view.nb[3] = work->n_tokens * view.nb[2];
    return view;
}

static posenc_status allocate(rope_work *work, const model_table *layer) {
    int in_place = layer->params.layout != POSENC_ROPE_DEINTERLEAVE;
    int64_t n = elements(&layer->q, work->n_tokens) + elements(&layer->k, work->n_tokens);
    int64_t head_dim = shown(layer, &layer->q).head_dim;
    work->size = (size_t)n * size_of(work->type);
    work->x = new_lines(work->size);
    work->y = in_place ? work->x : new_lines(work->size);
    work->weight = new_lines((size_t)head_dim * sizeof(float));
    work->positions = new_lines((size_t)(work->n_tokens * posenc_rope_axis_count(work->rope)) * sizeof(int32_t));
    void *rows = new_lines((size_t)posenc_rope_table_bytes(work->rope, work->n_tokens));
    work->table = posenc_rope_table_dense(work->rope, rows);
    int complete =
        work->x != NULL && work->y != NULL && work->weight != NULL && work->positions != NULL && rows != NULL;
    return complete ? POSENC_OK : POSENC_ERR_MEMORY;
}

static void fill(rope_work *work, const model_table *layer, int64_t first_position, random_state *random) {
    size_t n = work->size / size_of(work->type);
    for (size_t i = 0; i < n; i++) {
        float value = (float)random_between(random, -4.0, 4.0);
        posenc_store(work->x, i, value, work->type);
        posenc_store(work->y, i, value, work->type);
    }
    /* Of size 1: the norm's output is its next input, and what shrinks a little each time ends as subnormal numbers,
     * which take a hundred times as long. */
    for (int64_t i = 0; i < shown(layer, &layer->q).head_dim; i++)
        work->weight[i] = i % 3 == 0 ? -1.0f : 1.0f;
    for (int64_t i = 0; i < work->n_tokens * posenc_rope_axis_count(work->rope); i++)
        work->positions[i] = (int32_t)(first_position + i % work->n_tokens);
    const rotated_tensor *tensors[] = {&layer->q, &layer->k};
    int64_t first = 0;
    for (int k = 0; k < 2; first += elements(tensors[k++], work->n_tokens))
        work->tasks[k] = (posenc_rope_tensor){
            .x = view_of(work, layer, tensors[k], work->x, first),
            .y = view_of(work, layer, tensors[k], work->y, first),
            .rotates = 1,
            .scale = 1.0f,
            .eps = 1e-6f,
        };
}

posenc_status rope_work_create(rope_work *work, const model_table *layer, posenc_dtype type, int64_t n_tokens,
                               int64_t first_position, random_state *random) {
    rotated_tensor part = shown(layer, &layer->q);
    posenc_rope_params params = model_rope_params(layer, &part);
    params.scaling.attention_factor = 1.0;
    params.scaling.attn_factor = 0.0;
    *work = (rope_work){.type = type, .n_tokens = n_tokens, .n_pairs = params.n_rot / 2};
    posenc_status status = posenc_rope_create(&params, &work->rope);
    if (status == POSENC_OK)
        status = allocate(work, layer);
    if (status != POSENC_OK)
        return status;
    fill(work, layer, first_position, random);
    return posenc_rope_table_fill(work->rope, work->positions, n_tokens, POSENC_FORWARD, &work->table);
}

void rope_work_free(rope_work *work) {
    posenc_rope_free(work->rope);
    if (work->y != work->x)
        posenc_aligned_free(work->y);
    posenc_aligned_free(work->x);
    posenc_aligned_free(work->weight);
    posenc_aligned_free(work->positions);
    posenc_aligned_free(work->table.cos);
}

posenc_status rope_work_run(const rope_work *work, rope_way way) {
    posenc_rope_tensor tasks[2] = {work->tasks[0], work->tasks[1]};
    if (way == ROPE_WITH_NORM)
        tasks[0].weight = tasks[1].weight = work->weight;
    return posenc_rope_apply_tensors(work->rope, tasks, 2, way == ROPE_ROWS_MADE ? work->positions : NULL, &work->table,
                                     POSENC_FORWARD, posenc_range_all());
}

/* All at once where heads hold nothing else. */
void rope_work_negate(const rope_work *work) {
    int64_t n_rot = 2 * work->n_pairs;
    for (int k = 0; k < 2; k++) {
        const posenc_view *x = &work->tasks[k].x, *y = &work->tasks[k].y;
        int64_t n_heads = x->ne[1] * x->ne[2];
        if (x->nb[1] == n_rot * x->nb[0]) {
            negate(y->data, x->data, n_heads * n_rot, work->type);
            continue;
        }
        for (int64_t h = 0; h < n_heads; h++)
            negate((char *)y->data + h * y->nb[1], (char *)x->data + h * x->nb[1], n_rot, work->type);
    }
}

int64_t rope_work_elements(const rope_work *work) {
    return 2 * work->n_pairs * work->n_tokens * (work->tasks[0].x.ne[1] + work->tasks[1].x.ne[1]);
}
